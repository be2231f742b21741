"""The package as a whole: which module may import which, what an import costs, and the public names."""

import ast
import importlib
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tpauc

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tpauc"

# From the lowest layer to the highest. A module may import lower layers, and its own layer without a cycle.
LAYERS = [
    {"region", "validation", "distributed", "duality", "folds"},
    {"metrics", "weighting", "moments", "surrogates", "resampling", "uncertainty", "large_samples", "interval_choice"},
    {"objective", "streaming", "samplers", "sampling", "cross_validation", "held_out"},
    {"losses", "minimax", "baselines"},
    {"training"},
    {
        *("classifiers", "boosting", "advice", "estimator", "classifier"),
        *("tables", "linear", "ascent", "logistic", "fisher", "networks", "bagging"),
    },
    {"reporting"},
    {"paper"},
    {"cli", "commands", "__main__"},
]

# What takes long to import, or may be missing.
HEAVY = [
    *("torch", "torchmetrics", "lightning_fabric", "sklearn", "scipy", "pandas"),
    *("matplotlib", "jinja2", "lightgbm", "xgboost"),
]


# ------------------------------------------------------------------------------------------------------------- layers


def sources():
    """Return the source of each module by its name inside the package, ``paper.datasets`` for a nested one."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:  # the public names of the package itself are above all layers
            found[name] = path.read_text(encoding="utf-8")
    return found


def imported_names(module, source):
    """Dotted names that a module imports from the package, wherever the statement stands, the package included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "tpauc")
        elif isinstance(node, ast.ImportFrom):
            # One dot is the folder of the module, each further one the folder above.
            folder = ["tpauc", *module.split(".")][: -node.level] if node.level else []
            origin = ".".join([*folder, *([node.module] if node.module else [])])
            if origin.partition(".")[0] == "tpauc":
                yield from (f"{origin}.{alias.name}" for alias in node.names)


def imported_modules(module, source, known):
    """Modules of the package that ``module`` imports, and a list of what is imported past them."""
    modules, past_modules = set(), []
    for name in imported_names(module, source):
        inside = name.removeprefix("tpauc").removeprefix(".")
        owner = inside if inside in known else inside.rpartition(".")[0]
        if owner in known:
            modules.add(owner)
        elif not inside.startswith("__"):  # tpauc.__version__ depends on no module
            past_modules.append(name)
    return modules, past_modules


def layer_problems(modules):
    """Say what breaks the rule among ``modules``, a mapping from name to source."""
    height = {name: number for number, layer in enumerate(LAYERS) for name in layer}
    problems, graph = [], {}
    for module, source in modules.items():
        top = module.partition(".")[0]
        if top not in height:
            problems.append(f"{top} is in no layer: add it to LAYERS in tests/test_package.py, as low as it can be")
            continue
        graph[module], past_modules = imported_modules(module, source, modules)
        problems += [f"{module} imports {name}: name the module that it is defined in" for name in past_modules]
        problems += [
            f"{module} imports {other}, which is in a higher layer"
            for other in sorted(graph[module])
            if height.get(other.partition(".")[0], -1) > height[top]
        ]
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        problems.append(f"imports form a cycle: {' <- '.join(error.args[1])}")
    return list(dict.fromkeys(problems))


def test_imports_point_one_way_only():
    problems = layer_problems(sources())
    assert not problems, "\n".join(problems)


def test_all_modules_are_looked_at():
    found = sources()
    assert {"region", "validation", "metrics.area", "losses.minimax"} <= set(found)
    assert imported_modules("metrics.area", found["metrics.area"], found) == ({"region", "validation"}, [])


@pytest.mark.parametrize(
    ("module", "source", "problem"),
    [
        ("region", "from tpauc.metrics import tpauc_score", "region imports metrics, which is in a higher layer"),
        ("region", "import tpauc.metrics", "region imports metrics, which is in a higher layer"),
        ("region", "import numpy, tpauc.metrics as m", "region imports metrics, which is in a higher layer"),
        ("region", "from tpauc import metrics", "region imports metrics, which is in a higher layer"),
        ("region", "from . import metrics", "region imports metrics, which is in a higher layer"),
        ("region", "from .metrics import tpauc_score", "region imports metrics, which is in a higher layer"),
        ("region", "def late():\n    import tpauc.metrics", "region imports metrics, which is in a higher layer"),
        ("region", "if TYPE_CHECKING:\n    from tpauc import cli", "region imports cli, which is in a higher layer"),
        ("paper.tables", "from tpauc.cli import main", "paper.tables imports cli, which is in a higher layer"),
        ("paper.tables", "from ..cli import main", "paper.tables imports cli, which is in a higher layer"),
        ("validation", "from tpauc.region import Region", "imports form a cycle: "),
        ("validation", "import tpauc", "validation imports tpauc: name the module that it is defined in"),
        ("cli", "from tpauc import Region", "cli imports tpauc.Region: name the module that it is defined in"),
        ("helper", "", "helper is in no layer: add it to LAYERS in tests/test_package.py"),
        ("cli", "from tpauc import __version__\nfrom tpauc.paper.tables import rows\nimport numpy", None),
        ("metrics", "from tpauc.region import Region\nfrom .validation import check_share", None),
        ("paper.figures", "from .tables import rows\nfrom ..metrics import tpauc_score", None),
    ],
)
def test_the_check_of_layers_can_fail(module, source, problem):
    others = {"region": "import tpauc.validation", "validation": "", "metrics": "", "cli": "", "paper.tables": ""}
    found = layer_problems({**others, module: source})
    if problem is None:
        assert found == []
    else:
        assert len(found) == 1
        assert found[0].startswith(problem)


def test_no_module_is_a_grab_bag():
    parts = {part for name in sources() for part in name.split(".")}
    assert not parts & {"util", "utils", "helper", "helpers", "misc", "common"}


# ------------------------------------------------------------------------------------------------- what imports cost


def run_python(code):
    """Run code in a new process in which warnings are errors."""
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)


def loaded_by(code):
    """Which of the heavy packages a new process has loaded after running ``code``."""
    finished = run_python(f"{code}\nimport sys\nprint(*(name for name in {HEAVY} if name in sys.modules))")
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.split()


USE_OF_NUMPY_ALONE = """
import tpauc
y, s, region = [1, 1, 0, 0] * 5, [0.9, 0.4, 0.5, 0.1] * 5, {"alpha": 0.5, "beta": 0.5}
assert tpauc.tpauc_score(y, s, **region) == 0.0
assert tpauc.opauc_score(y, s, beta=0.5) == tpauc.opauc_score(y, s, beta=0.5, ties="optimistic") == 0.5
assert tpauc.auc_score(y, s) == tpauc.tpr_dependent_opauc(y, s, alpha=1, beta=1) == 0.75
assert tpauc.Region(**region).hard_positives(10) == 5
tpauc.tpauc_interval(y, s, n_resamples=50, random_state=0, **region)
tpauc.compare_tpauc(y, s, s[::-1], n_resamples=50, random_state=0, **region)
tpauc.operating_point(y, s, **region)
assert "TPAUCLoss" in dir(tpauc)
"""


def test_import_and_metrics_load_nothing_heavy():
    assert loaded_by("import tpauc") == []
    assert loaded_by(USE_OF_NUMPY_ALONE) == []


def test_the_look_at_loaded_packages_can_fail():
    assert "torch" in loaded_by("import tpauc\ntpauc.TPAUCLoss")


NUMPY_ALONE = """
import sys

class NumpyAlone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "numpy", "tpauc"}:
            raise ModuleNotFoundError(f"{name} is not NumPy", name=name)

sys.meta_path.insert(0, NumpyAlone())
"""


@pytest.mark.parametrize("module", ["region", "validation", "metrics.area", "metrics.intervals"])
def test_modules_that_need_numpy_alone(module):
    finished = run_python(f"{NUMPY_ALONE}\nimport tpauc.{module}")
    assert finished.returncode == 0, finished.stderr


def test_public_names_that_need_numpy_alone():
    finished = run_python(NUMPY_ALONE + USE_OF_NUMPY_ALONE)
    assert finished.returncode == 0, finished.stderr


def test_the_block_of_other_packages_can_fail():
    finished = run_python(f"{NUMPY_ALONE}\nimport tpauc.losses.minimax")
    assert finished.returncode == 1
    assert "torch is not NumPy" in finished.stderr


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


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == tpauc.__version__
