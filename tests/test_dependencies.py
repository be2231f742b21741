"""Every imported package is declared in its extra, and a missing extra is named by the error."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tpauc
from house import room, sources

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DISTRIBUTION_OF = {"sklearn": "scikit-learn", "PIL": "pillow"}  # where it is not the name of the module

# The extras that a room may import from, besides NumPy and SciPy. Its modules may have others of their own.
EXTRAS_OF = {
    "__main__": {"cli"},
    "_validation": {"torch"},  # what is handed tensors
    "metrics.torchmetric": {"torch"},
    "metrics._tensor_columns": {"torch"},
    "metrics._tensor_pairs": {"torch"},
    "metrics.histogram": {"frames"},  # Parquet files
    "frames": {"frames", "polars", "spark"},
    "losses": {"torch"},
    "samplers": {"torch"},
    "training": {"train"},
    "classifiers": {"sklearn", "torch"},
    "classifiers.auto": {"lightgbm"},
    "classifiers.boosting": {"lightgbm", "xgboost"},
    "classifiers.advice": {"lightgbm"},
    "classifiers.folds": {"cli"},  # frames, where pandas is there
    "reporting": {"report"},
    "paper": {"paper"},
    "cli": {"cli", "lightgbm", "paper"},
}


def named(requirements):
    """Return the names of distributions and extras in a list of requirements."""
    plain = {re.match(r"[\w.-]+", line)[0].lower() for line in requirements if not line.startswith("tpauc[")}
    extras = {extra for line in requirements if line.startswith("tpauc[") for extra in line[6:-1].split(",")}
    return plain, extras


def distributions_of(extra, project=PROJECT):
    """Return all distributions that an extra brings by name, those of the extras in it included."""
    plain, extras = named(project["optional-dependencies"][extra])
    return plain.union(*(distributions_of(other, project) for other in extras))


def imported_packages(source):
    """Return the packages that a module imports, by a statement or by ``import_extra(module, extra)``."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "import_extra":
            found |= {arg.value.partition(".")[0] for arg in node.args[:1] if isinstance(arg, ast.Constant)}
    return found - set(sys.stdlib_module_names) - {"tpauc", "__future__"}


def undeclared(modules, project=PROJECT):
    """Say which packages are imported by modules whose extras do not bring them."""
    core = named(project["dependencies"])[0]
    problems = []
    for module, source in modules.items():
        extras = set().union(*(EXTRAS_OF[key] for key in EXTRAS_OF if f"{module}.".startswith(f"{key}.")))
        allowed = core.union(*(distributions_of(extra, project) for extra in extras))
        for package in sorted(imported_packages(source)):
            if DISTRIBUTION_OF.get(package, package).replace("_", "-") not in allowed:
                problems.append(f"{module} imports {package}, which none of its extras {sorted(extras)} declares")
    return problems


def test_every_imported_package_is_declared_in_an_extra_of_its_room():
    problems = undeclared(sources())
    assert not problems, "\n".join(problems)


def test_the_core_is_numpy_and_scipy():
    assert named(PROJECT["dependencies"]) == ({"numpy", "scipy"}, set())


@pytest.mark.parametrize(
    ("module", "source", "problem"),
    [
        ("metrics.area", "import torch", "metrics.area imports torch, which none of its extras [] declares"),
        ("metrics.area", "def late():\n    from pandas import DataFrame", "metrics.area imports pandas"),
        ("losses.kl", "import sklearn.svm", "losses.kl imports sklearn"),
        ("cli.fit", "import_extra('statsmodels', 'cli')", "cli.fit imports statsmodels"),
        ("metrics.area", "import numpy, scipy.stats, json\nfrom tpauc.region import Region", None),
        ("classifiers.linear", "import sklearn.svm, joblib", None),
        ("paper.data", "import PIL.Image", None),
    ],
)
def test_the_check_of_declarations_can_fail(module, source, problem):
    found = undeclared({module: source})
    assert found == [] if problem is None else len(found) == 1 and found[0].startswith(problem)


def test_every_room_with_extras_exists():
    rooms = {room(module) for module in sources()}
    assert {room(key) for key in EXTRAS_OF} <= rooms


# ------------------------------------------------------------------------------------------------------ missing extras


def calls_of_import_extra():
    """Yield the module, and the two arguments of each call ``import_extra("package", "extra")``."""
    for module, source in sources().items():
        for node in ast.walk(ast.parse(source)):
            is_call = isinstance(node, ast.Call) and ast.unparse(node.func) == "import_extra"
            if is_call and all(isinstance(argument, ast.Constant) for argument in node.args):
                yield module, *(argument.value for argument in node.args)


def test_an_extra_that_is_named_brings_the_package():
    found = list(calls_of_import_extra())
    assert len(found) > 5
    for module, package, extra in found:
        distribution = DISTRIBUTION_OF.get(package.partition(".")[0], package.partition(".")[0]).replace("_", "-")
        assert distribution in distributions_of(extra), f"{module}: {package} is not in the extra {extra}"


CORE_ALONE = """
import sys

class CoreAlone:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in {*sys.stdlib_module_names, "numpy", "scipy", "tpauc"} and not top.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, CoreAlone())
import tpauc
for name in tpauc.__all__:
    try:
        getattr(tpauc, name)
    except ModuleNotFoundError as error:
        print(name, error)
    else:
        print(name, "works")
"""
WORKS = {"Region", "auc_score", "opauc_score", "tpauc_score", "tpr_dependent_opauc"}
WORKS |= {"compare_partial_auc", "compare_tpauc", "operating_point", "partial_auc_interval", "tpauc_interval"}
WORKS |= {"DecisionCurve", "OperatingPoint", "evaluate_threshold", "net_benefit"}


def test_a_public_name_works_without_extras_or_says_which_one_it_needs():
    done = subprocess.run([sys.executable, "-W", "error", "-c", CORE_ALONE], capture_output=True, text=True, check=True)
    answers = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert set(answers) == set(tpauc.__all__)
    assert {name for name, answer in answers.items() if answer == "works"} >= WORKS
    for name, answer in answers.items():
        if answer != "works":
            form = rf"tpauc\.{name} needs (\w+), which is not installed; run: pip install 'tpauc\[(\w+)\]'"
            package, extra = re.fullmatch(form, answer).groups()
            assert DISTRIBUTION_OF.get(package, package).replace("_", "-") in distributions_of(extra)


# --------------------------------------------------------------------------------------------------------------- types

RIGHT = """
from tpauc import Polynomial, TPAUCClassifier, TPAUCLoss, TrainConfig, report, tpauc_interval, tpauc_score

value: float = tpauc_score([1, 0], [0.9, 0.1], alpha=0.5, beta=0.5)
low: float = tpauc_interval([1, 0], [0.9, 0.1], alpha=0.5, beta=0.5).low
loss: TPAUCLoss = TPAUCLoss(Polynomial(3.0))
config: TrainConfig = TrainConfig(alpha=0.5, beta=0.5)
classifier = TPAUCClassifier(alpha=0.5, beta=0.5)
"""
WRONG = {
    "from tpauc import tpauc_scores": 'Module "tpauc" has no attribute "tpauc_scores"',
    "import tpauc\ntpauc.tpauc_interval([1], [1], alpha=1, beta=1, gamma=1)": 'Unexpected keyword argument "gamma"',
    "import tpauc\ntext: str = tpauc.auc_score([1, 0], [1, 0])": "Incompatible types in assignment",
    "import tpauc\ntpauc.Polynomial('3')": 'Argument 1 to "Polynomial" has incompatible type "str"',
}


def test_type_checkers_know_the_public_names(tmp_path):
    files = {"right.py": RIGHT} | {f"wrong_{number}.py": text for number, text in enumerate(WRONG)}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    root = Path(__file__).parents[1]
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        root / "pyproject.toml",
        "--cache-dir",
        root / ".mypy_cache",
    ]
    found = subprocess.run(
        [*command, *files],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"MYPYPATH": str(root / "src")},
    )
    lines = found.stdout.splitlines()
    assert not [line for line in lines if line.startswith("right.py")], found.stdout
    for number, message in enumerate(WRONG.values()):
        errors = [line for line in lines if line.startswith(f"wrong_{number}.py") and "error" in line]
        assert len(errors) == 1, found.stdout + found.stderr
        assert message in errors[0]
