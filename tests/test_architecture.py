"""docs/architecture.md: its diagram is the real import graph, and its walks name real functions."""

import importlib
import re
from pathlib import Path

import pytest

from house import import_graph, room, room_edges, sources

PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")


def drawn_edges(page):
    """Return the pairs (room, imported room) of the block whose lines read ``room -> room, room``."""
    block = re.search(r"^```text\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)[1]
    lines = [line.split("->") for line in block.splitlines() if "->" in line]
    return {(left.strip(), right.strip()) for left, rights in lines for right in rights.split(",")}


def walked_functions(page):
    """Return the functions of all walks, the numbered lines that begin with ``module.function``."""
    return re.findall(r"^\d+\. `([\w.]+)`", page, flags=re.MULTILINE)


def test_the_diagram_is_the_import_graph():
    real = room_edges(
        {module: names for module, names in import_graph(sources()).items() if room(module) != "__main__"}
    )
    assert drawn_edges(PAGE) == real


def test_the_look_at_the_diagram_can_fail():
    page = "```text\nmetrics -> region, _files\nregion\n```\n"
    assert drawn_edges(page) == {("metrics", "region"), ("metrics", "_files")}


def test_every_room_has_a_line():
    rooms = {room(module) for module in sources()} - {"__main__"}
    assert rooms <= set(re.findall(r"^\| `(\w+)`", PAGE, flags=re.MULTILINE))


def test_there_are_walks():
    assert PAGE.count("\n### ") >= 4
    assert len(walked_functions(PAGE)) >= 20


@pytest.mark.parametrize("name", walked_functions(PAGE))
def test_a_function_of_a_walk_exists(name):
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(["tpauc", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            found = getattr(found, attribute)
        assert callable(found)
        return
    pytest.fail(f"{name} is in no module of the package")
