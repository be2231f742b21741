"""What the wheel does without extras; run by `make dist` in a new environment in which nothing else is installed."""

import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from sysconfig import get_path

import tpauc

MOST_MEGABYTES = 250
CORE = {"tpauc", "numpy", "scipy"}
TOOLS = {"pip", "setuptools"}  # a new environment has them by itself


def megabytes(folder):
    """Return the size of all files in a folder but those of pip and setuptools."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files if path.relative_to(folder).parts[0] not in TOOLS) / 1e6


def main():
    site = Path(get_path("purelib"))
    assert Path(tpauc.__file__).is_relative_to(site), f"{tpauc.__file__} is not what was installed"
    installed = {distribution.metadata["Name"].lower() for distribution in distributions()} - TOOLS
    assert installed == CORE, f"{installed} is installed, expected {CORE}"

    y, scores = [1, 1, 1, 1, 0, 0, 0, 0] * 5, [0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1] * 5
    region = {"alpha": 0.5, "beta": 0.5}
    print("TPAUC", tpauc.tpauc_score(y, scores, **region))
    print(tpauc.tpauc_interval(y, scores, random_state=0, **region))
    print(tpauc.compare_tpauc(y, scores, scores[::-1], random_state=0, **region))
    print(tpauc.operating_point(y, scores, **region))
    assert "<table" in tpauc.operating_point(y, scores, **region)._repr_html_()  # notebooks need no template engine
    missing = subprocess.run([sys.executable, "-c", "import tpauc; tpauc.TPAUCLoss"], capture_output=True, text=True)
    assert "run: pip install 'tpauc[torch]'" in missing.stderr, missing

    program = Path(get_path("scripts")) / "tpauc"
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert tpauc.__version__ in answer, answer
    without_extra = subprocess.run([program, "evaluate", "x.csv"], capture_output=True, text=True, check=False)
    assert without_extra.returncode == 1, without_extra
    assert "pip install 'tpauc[cli]'" in without_extra.stderr, without_extra

    size = megabytes(site)
    print(f"tpauc --version: {answer.strip()}; {', '.join(sorted(CORE))} take {size:.0f} MB")
    assert size < MOST_MEGABYTES, f"{size:.0f} MB are installed, at most {MOST_MEGABYTES} are aimed at"


if __name__ == "__main__":
    sys.exit(main())
