"""The house: imports point one way, private modules stay in their room, a basename stands in one place."""

import pytest

from house import FLOORS, import_problems, imported_modules, repeated_basenames, room, sources


def test_imports_point_one_way_and_private_modules_stay_in_their_room():
    problems = import_problems(sources())
    assert not problems, "\n".join(problems)


def test_a_basename_stands_in_one_place():
    assert repeated_basenames(sources()) == {}


def test_all_modules_are_looked_at():
    found = sources()
    assert {room(module) for module in found} == set.union(*FLOORS)
    imported = imported_modules("metrics.area", found["metrics.area"], found)
    own = {"metrics._pairs", "metrics._row_areas", "metrics.label_columns"}
    assert imported == ({"region", "_validation", *own}, [])


@pytest.mark.parametrize(
    ("module", "source", "problem"),
    [
        ("region", "from tpauc.metrics import tpauc_score", "region imports metrics, which is not on a lower floor"),
        ("region", "import tpauc.metrics", "region imports metrics, which is not on a lower floor"),
        ("region", "import numpy, tpauc.metrics as m", "region imports metrics, which is not on a lower floor"),
        ("region", "from tpauc import metrics", "region imports metrics, which is not on a lower floor"),
        ("region", "from . import metrics", "region imports metrics, which is not on a lower floor"),
        ("region", "from .metrics import tpauc_score", "region imports metrics, which is not on a lower floor"),
        ("region", "def late():\n    import tpauc.metrics", "region imports metrics, which is not on a lower floor"),
        ("region", "if TYPE_CHECKING:\n    from tpauc import cli", "region imports cli, which is not on a lower floor"),
        ("samplers", "from tpauc import losses", "samplers imports losses, which is not on a lower floor"),
        ("paper.data.sets", "from tpauc.cli import main", "paper.data.sets imports cli, which is not on a lower floor"),
        ("paper.data.sets", "from ...cli import main", "paper.data.sets imports cli, which is not on a lower floor"),
        ("_validation", "import tpauc", "_validation imports tpauc: name the module that it is defined in"),
        ("cli", "from tpauc import Region", "cli imports tpauc.Region: name the module that it is defined in"),
        ("helper", "", "helper is in no floor: add it to FLOORS in tests/house.py"),
        ("cli", "from tpauc.losses._sums import total", "cli imports losses._sums, which is private to losses"),
        ("losses", "from tpauc.paper._io import read", "losses imports paper._io, which is not on a lower floor"),
        (
            "paper",
            "from tpauc.paper.data._io import rows",
            "paper imports paper.data._io, which is private to paper.data",
        ),
        ("losses._sums", "from tpauc.losses.kl import KL\nimport tpauc.losses._sums", "imports form a cycle: "),
        ("losses.kl", "from tpauc.losses._sums import total", None),
        ("paper.data.sets", "from tpauc.paper.data._io import rows\nfrom ._io import columns", None),
        ("paper.data.sets", "from tpauc.paper._io import rows\nfrom .._io import columns", None),
        ("cli", "from tpauc import __version__\nfrom tpauc.paper.data.sets import rows\nimport numpy", None),
        ("metrics", "from tpauc.region import Region\nfrom ._validation import check_share", None),
    ],
)
def test_the_check_of_imports_can_fail(module, source, problem):
    others = dict.fromkeys(
        [
            "_validation",
            "metrics",
            "losses",
            "losses._sums",
            "losses.kl",
            "cli",
            "paper",
            "paper._io",
            "paper.data",
            "paper.data._io",
            "paper.data.sets",
        ],
        "",
    )
    found = import_problems({**others, "region": "import tpauc._validation", module: source})
    if problem is None:
        assert found == []
    else:
        assert found[0].startswith(problem)


def test_the_check_of_basenames_can_fail():
    modules = ["metrics", "metrics.area", "report.area", "report.page", "paper.metrics"]
    assert repeated_basenames(dict.fromkeys(modules, "")) == {"area": ["metrics.area", "report.area"]}
    assert repeated_basenames({"metrics.area": "", "report.page": ""}) == {}


def test_no_module_is_a_grab_bag():
    parts = {part.removeprefix("_") for name in sources() for part in name.split(".")}
    assert not parts & {"util", "utils", "helper", "helpers", "misc", "common"}
