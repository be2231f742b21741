"""Nothing is lost at any call that changes files: see `crash_points`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc")
NAMES = ["csv", "parquet", "histogram", "run", "run by two renames", "checkpoint", "results", "scores", "download"]
NAMES += ["zip", "tar", "report"]

pytestmark = [
    pytest.mark.skipif(
        COMPILER is None or not sys.platform.startswith("linux"), reason="needs a C compiler and LD_PRELOAD"
    ),
    pytest.mark.timeout(1800),  # half a minute of work, mostly forks, which wait on a machine that is busy
]


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crashes")
    shim = folder / "shim.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", shim, HERE / "crash_shim.c", "-ldl"], check=True)
    without_proxy = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment = without_proxy | {"LD_PRELOAD": str(shim), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, HERE / "crash_points.py", folder / "cases"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_all_scenarios_are_looked_at(searched):
    assert set(searched) == {*NAMES, "in place"}


def test_the_search_finds_what_is_written_in_place(searched):
    found = searched["in place"]
    assert any("killed half-way through" in problem for problem in found["problems"])
    assert any("ENOSPC" in problem for problem in found["problems"])


@pytest.mark.parametrize("name", NAMES)
def test_the_old_or_the_new_state_is_whole_after_every_call(searched, name):
    found = searched[name]
    assert found["calls"] >= 4
    assert 3 * found["calls"] + 1 < found["cases"] <= 4 * found["calls"] + 1  # only writes end half-way
    assert not found["problems"], "\n".join(found["problems"])
