"""Print constraints with the oldest declared version of each direct dependency: ``make test-oldest`` installs them.

All other packages keep the versions of ``constraints.txt``. torch stays the pinned one, and so do the packages that
follow its releases; tools for tests are not what a user installs.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("sklearn", "report", "cli", "lightgbm", "frames", "polars")
OF_THEIR_AGE = {"pyparsing": "3.1.0"}  # later ones report what matplotlib 3.8 calls as deprecated


def floors():
    """Return the oldest version of each dependency of the package and of the extras above."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in EXTRAS for line in project["optional-dependencies"][extra])]
    found = (re.fullmatch(r"([\w-]+)>=([\d.]+)", line) for line in lines if not line.startswith("tpauc["))
    return {match[1]: match[2] for match in found}


def constraints():
    """Return the lines of constraints.txt with these versions."""
    oldest, lines = floors() | OF_THEIR_AGE, []
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        name = line.partition("==")[0].lower()
        lines.append(f"{name}=={oldest.pop(name)}" if name in oldest else line)
    assert not oldest, f"constraints.txt does not pin {', '.join(oldest)}"
    return lines


if __name__ == "__main__":
    print("\n".join(constraints()))
