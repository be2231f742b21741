"""The documentation site: the reference has every public name, and the check of the built site can fail.

`make docs` builds the site, and checks it with `docs/_sphinx/check_site.py`.
"""

import subprocess
import sys
from pathlib import Path

import pytest

import tpauc
from tpauc import frames

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_sphinx"))

import check_site  # noqa: E402 - after the path
import room_reference  # noqa: E402

# ------------------------------------------------------------------------------------------------------- the reference


def test_every_public_name_is_in_the_reference():
    rooms = room_reference.public_names()
    documented = {full_name for names in rooms.values() for full_name in names.values()}
    assert documented == {f"tpauc.{name}" for name in tpauc.__all__} | {
        f"tpauc.frames.{name}" for name in frames.__all__
    }
    for room, names in rooms.items():
        listed = room_reference.room_page(room, names).splitlines()
        assert {f"   {name}" for name in names} <= set(listed)
        assert f"   {room}" in room_reference.index_page(list(rooms)).splitlines()


def test_what_a_function_returns_is_in_the_reference():
    names = room_reference.public_names()["metrics"]
    assert "tpauc.metrics.intervals.Interval" in room_reference.result_classes(names)
    assert "tpauc.metrics.operating_points.OperatingPoint" not in room_reference.result_classes(names)  # public


def test_a_room_without_a_title_has_a_page():
    page = room_reference.room_page("attic", {"tpauc_score": "tpauc.tpauc_score"})
    assert page.startswith("attic\n=====\n")


# ------------------------------------------------------------------------------------------------------ the built site

PAGE = '<html><head>{head}</head><body><h1 id="top">Title</h1>{body}</body></html>'


def site_with(folder, head="", body="", style=""):
    (folder / "index.html").write_text(PAGE.format(head=head, body=body))
    (folder / "other.html").write_text(PAGE.format(head="", body=""))
    (folder / "own.css").write_text(style)
    return folder


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"body": '<a href="other.html#top">x</a><a href="#top">y</a><a href="https://a.org/b">z</a>'}, None),
        ({"body": '<img src="data:image/png;base64,AA=="><a href="./">x</a>'}, None),
        ({"body": '<a href="gone.html">x</a>'}, "index.html links to gone.html, which is not there"),
        ({"body": '<a href="other.html#gone">x</a>'}, "index.html links to other.html#gone, which is not there"),
        ({"body": '<img src="gone.png">'}, "index.html links to gone.png, which is not there"),
        ({"head": '<script src="https://cdn.org/a.js"></script>'}, "loads https://cdn.org/a.js from the network"),
        ({"head": '<link href="//fonts.org/f.css" rel="stylesheet">'}, "loads //fonts.org/f.css from the network"),
        ({"style": "a { background: url(https://a.org/b.png) }"}, "own.css loads https://a.org/b.png from the network"),
        ({"style": "@import '//a.org/b.css';"}, "own.css loads //a.org/b.css from the network"),
    ],
)
def test_links_and_what_is_loaded(tmp_path, parts, problem):
    found = check_site.problems(site_with(tmp_path, **parts))
    assert (not found) if problem is None else (len(found) == 1 and problem in found[0])


def test_an_empty_site_and_missing_names_are_problems(tmp_path):
    assert check_site.problems(tmp_path) == [f"there is no page in {tmp_path}"]
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "x.html").write_text('<dt id="tpauc.tpauc_score"></dt>')
    missing = check_site.undocumented(tmp_path)
    assert "tpauc.auc_score is not in the reference" in missing
    assert "tpauc.tpauc_score is not in the reference" not in missing


def test_the_check_exits_with_1(tmp_path):
    command = [sys.executable, ROOT / "docs" / "_sphinx" / "check_site.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "there is no page" in done.stdout
