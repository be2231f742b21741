"""The package as a whole: what an import costs, and the public names."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import tpauc

ROOT = Path(__file__).parents[1]

# What takes long to import, or may be missing.
HEAVY = [
    *("torch", "torchmetrics", "lightning_fabric", "sklearn", "scipy", "pandas"),
    *("matplotlib", "jinja2", "lightgbm", "xgboost"),
]


# ------------------------------------------------------------------------------------------------- what imports cost


def run_python(code):
    """Run code in a new process in which warnings are errors."""
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)


def loaded_by(code):
    """Which of the heavy packages a new process has loaded after running ``code``."""
    finished = run_python(f"{code}\nimport sys\nprint(*(name for name in {HEAVY} if name in sys.modules))")
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.split()


USE_OF_METRICS = """
import tpauc
y, s, region = [1, 1, 0, 0] * 5, [0.9, 0.4, 0.5, 0.1] * 5, {"alpha": 0.5, "beta": 0.5}
assert tpauc.tpauc_score(y, s, **region) == 0.0
assert tpauc.opauc_score(y, s, beta=0.5) == tpauc.opauc_score(y, s, beta=0.5, ties="optimistic") == 0.5
assert tpauc.auc_score(y, s) == tpauc.tpr_dependent_opauc(y, s, alpha=1, beta=1) == 0.75
assert tpauc.Region(**region).hard_positives(10) == 5
tpauc.operating_point(y, s, **region)
assert "TPAUCLoss" in dir(tpauc)
"""
USE_OF_INTERVALS = f"""{USE_OF_METRICS}
tpauc.tpauc_interval(y, s, n_resamples=50, random_state=0, **region)
tpauc.compare_tpauc(y, s, s[::-1], n_resamples=50, random_state=0, **region)
tpauc.operating_point(y, s, **region).intervals
"""


def test_import_and_metrics_load_nothing_heavy():
    assert loaded_by("import tpauc") == []
    assert loaded_by(USE_OF_METRICS) == []
    assert loaded_by(USE_OF_INTERVALS) == ["scipy"]


def test_the_look_at_loaded_packages_can_fail():
    assert "torch" in loaded_by("import tpauc\ntpauc.TPAUCLoss")


ALONE = """
import sys

class Alone:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in {{*sys.stdlib_module_names, "tpauc", {packages}}} and not top.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"{{name}} is blocked", name=name)

sys.meta_path.insert(0, Alone())
"""
NUMPY_ALONE = ALONE.format(packages='"numpy"')
CORE_ALONE = ALONE.format(packages='"numpy", "scipy"')


@pytest.mark.parametrize("module", ["region", "_validation", "metrics.area", "metrics.intervals"])
def test_modules_that_need_numpy_alone(module):
    finished = run_python(f"{NUMPY_ALONE}\nimport tpauc.{module}")
    assert finished.returncode == 0, finished.stderr


def test_metrics_need_numpy_alone_and_intervals_scipy():
    for code in (NUMPY_ALONE + USE_OF_METRICS, CORE_ALONE + USE_OF_INTERVALS):
        finished = run_python(code)
        assert finished.returncode == 0, finished.stderr


def test_the_block_of_other_packages_can_fail():
    finished = run_python(f"{CORE_ALONE}\nimport tpauc.losses.minimax")
    assert finished.returncode == 1
    assert "torch is blocked" in finished.stderr


# ------------------------------------------------------------------------------------------------------- public names


def test_public_names_are_listed_once_and_in_order():
    assert tpauc.__all__ == sorted(set(tpauc.__all__))
    assert set(tpauc.__all__) <= set(dir(tpauc))


@pytest.mark.parametrize("name", tpauc.__all__)
def test_a_public_name_has_a_docstring_with_an_example(name):
    value = getattr(tpauc, name)
    assert value.__name__ == name
    assert value.__doc__, f"tpauc.{name} has no docstring"
    assert ">>>" in value.__doc__, f"the docstring of tpauc.{name} has no example"
    # Looked up again it is the same object, and it is that of its module.
    assert getattr(tpauc, name) is value is getattr(importlib.import_module(value.__module__), name)


def test_star_import_brings_the_public_names():
    namespace = {}
    exec("from tpauc import *", namespace)
    assert set(namespace) - {"__builtins__"} == set(tpauc.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'tpauc' has no attribute 'tpauc_scores'$"):
        tpauc.tpauc_scores  # noqa: B018  # the look-up is the test
    assert not hasattr(tpauc, "_MODULE")
