"""What is in the wheel and the sdist, and a smoke test inside the sdist; run by `make dist`.

The unpacked sdist must pass a part of its own tests with its own source: that it holds source, tests and settings.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email import message_from_bytes
from pathlib import Path

SMOKE = ["tests/test_region.py", "tests/test_release.py", "src/tpauc/metrics/area.py", "src/tpauc/_notebook.py"]
IN_WHEEL = ["tpauc/__init__.pyi", "tpauc/py.typed", "tpauc/reporting/templates/report.html.jinja"]
IN_SDIST = ["CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "constraints.txt", "pyproject.toml", ".ci/run"]
ONLY_PACKAGE = {"tpauc"}


def only(folder, pattern):
    """Return the only file of a pattern in a folder."""
    found = sorted(folder.glob(pattern))
    assert len(found) == 1, f"{folder} must hold one {pattern}, found {found}"
    return found[0]


def check_wheel(path):
    """Return the metadata of a wheel that holds the package, its licence and nothing else."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        info = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(wheel.read(info))
    missing = [name for name in IN_WHEEL if name not in names]
    assert not missing, f"{path.name} lacks {missing}"
    folder = info.partition("/")[0]
    strange = sorted({name.partition("/")[0] for name in names} - ONLY_PACKAGE - {folder})
    assert not strange, f"{path.name} also holds {strange}"
    assert f"{folder}/licenses/LICENSE" in names, f"{path.name} has no licence"
    return metadata


def check_sdist(path, folder):
    """Unpack an sdist, run its smoke test, and return its root."""
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
    root = folder / path.name.removesuffix(".tar.gz")
    missing = [name for name in IN_SDIST if not (root / name).exists()]
    assert not missing, f"{path.name} lacks {missing}"
    source = {**os.environ, "PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1"}
    asked = [sys.executable, "-c", "import tpauc; print(tpauc.__file__)"]
    where = subprocess.run(asked, env=source, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(where).is_relative_to(root), f"{where} is not the source of the sdist"
    smoke = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SMOKE]
    subprocess.run(smoke, cwd=root, env=source, check=True)
    return root


def main(folder):
    wheel, sdist = only(folder, "*.whl"), only(folder, "*.tar.gz")
    metadata = check_wheel(wheel)
    version = metadata["Version"]
    assert sdist.name == f"tpauc-{version}.tar.gz", sdist.name
    with tempfile.TemporaryDirectory() as place:
        root = check_sdist(sdist, Path(place).resolve())
        assert f'__version__ = "{version}"' in (root / "src/tpauc/__init__.py").read_text(encoding="utf-8")
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in (wheel, sdist))
    print(f"released: {sizes}; version {version}, Python {metadata['Requires-Python']}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
