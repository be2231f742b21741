"""The code in README and docs runs, from top to bottom of each page, in one namespace and one folder.

Blocks that begin with ```python and ```bash run; what a block prints is compared with the block ```output that follows
it, if one does. Blocks of other kinds (```sh, ```py, ```text) are only shown: they install something, or need a package
or a cluster that is not there. The examples of the gallery are run by `make docs`.

``python tests/test_documents.py docs/index.md`` writes what the blocks of a page print into its blocks ```output.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
GENERATED = {"api", "auto_gallery", "reference"}  # written by `make docs`
PAGES = [
    ROOT / "README.md",
    *sorted(
        page for page in (ROOT / "docs").rglob("*.md") if page.relative_to(ROOT / "docs").parts[0] not in GENERATED
    ),
]
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```\n(?:\n*^```output\n(.*?)^```)?", flags=re.MULTILINE | re.DOTALL)


def name_of(page):
    return str(page.relative_to(ROOT))


def blocks(text):
    """Return (line number, language, code, expected output or None) of every block that runs."""
    found = BLOCK.finditer(text)
    return [(text[: match.start()].count("\n") + 2, match[1], match[2], match[3]) for match in found]


def run_python(code, page, line, namespace):
    """Run code and return what it prints; an error names the right line of the page."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)
    return printed.getvalue()


def run_shell(code):
    """Run commands in a shell that finds ``tpauc`` beside this Python, and return what they print."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["bash", "-e", "-o", "pipefail", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PATH": path})
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def run_page(text, page):
    """Run all blocks of a page, and compare what they print with what the page says."""
    namespace = {"__name__": "__main__"}
    for line, language, code, expected in blocks(text):
        printed = run_python(code, page, line, namespace) if language == "python" else run_shell(code)
        if expected is not None:
            assert printed.rstrip() == expected.rstrip(), f"{page}, line {line}, prints something else"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_on_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(encoding="utf-8"), page)


def test_blocks_are_found_and_an_error_in_one_shows():
    text = "x\n```python\nassert 1 == 2\n```\n```sh\nrm\n```\n```bash\nfalse\n```\n\n```output\nno\n```\n"
    assert blocks(text) == [(3, "python", "assert 1 == 2\n", None), (9, "bash", "false\n", "no\n")]
    with pytest.raises(AssertionError):
        run_page(text, "page")


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("```python\nprint(1)\n```\n\n```output\n1\n```\n", True),
        ("```python\nprint(1)\n```\n\n```output\n2\n```\n", False),
        ("```python\nprint(1)\n```\n\nText.\n\n```output\n2\n```\n", True),  # not the output of a block
        ("```bash\necho 1\n```\n\n```output\n1\n```\n", True),
        ("```bash\nfalse\necho 1\n```\n", False),
    ],
)
def test_the_look_at_outputs_can_fail(text, right):
    with contextlib.nullcontext() if right else pytest.raises(AssertionError):
        run_page(text, "page")


def test_the_readme_has_code():
    assert len(blocks((ROOT / "README.md").read_text())) >= 1


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_inside_the_repository_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", page.read_text())
    generated = tuple(f"{DOCS / folder}/" for folder in GENERATED)  # `make docs` follows these
    missing = [
        target
        for target in targets
        if not (page.parent / target).exists() and not os.path.normpath(page.parent / target).startswith(generated)
    ]
    assert not missing


def write_outputs(page):
    """Run a page, and write what its blocks print into the blocks ```output that follow them."""
    namespace, new, end = {"__name__": "__main__"}, "", 0
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for match in BLOCK.finditer(text):
            line = text[: match.start()].count("\n") + 2
            printed = run_python(match[2], page, line, namespace) if match[1] == "python" else run_shell(match[2])
            if match[3] is not None:
                new, end = f"{new}{text[end : match.start(3)]}{printed.rstrip()}\n", match.end(3)
    page.write_text(new + text[end:], encoding="utf-8")


def test_outputs_are_written(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```output\n```\n\nText.\n")
    write_outputs(page)
    assert page.read_text() == "```python\nprint(1)\n```\n\n```output\n1\n```\n\nText.\n"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        write_outputs(Path(argument).resolve())
