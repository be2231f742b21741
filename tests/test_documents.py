"""The code in README and docs runs, from top to bottom of each page, in one namespace."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks(text):
    """Return (line number, code) of every block that starts with ```python."""
    return [
        (text[: match.start()].count("\n") + 2, match.group(1))
        for match in re.finditer(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_on_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for line, code in python_blocks(page.read_text()):
        # Blank lines put the code where it stands on the page, so that an error names the right line.
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)


def test_blocks_are_found_and_an_error_in_one_shows():
    text = "x\n```python\nassert 1 == 2\n```\n```sh\nrm\n```\n```python\ny = 1\n```\n"
    assert python_blocks(text) == [(3, "assert 1 == 2\n"), (9, "y = 1\n")]
    with pytest.raises(AssertionError):
        exec(python_blocks(text)[0][1], {})


def test_the_readme_has_code():
    assert len(python_blocks((ROOT / "README.md").read_text())) >= 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_repository_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", page.read_text())
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing
