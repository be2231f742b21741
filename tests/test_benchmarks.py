"""The scripts in benchmarks/ run rarely, so what they import from the package is checked here."""

import ast
import importlib
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "benchmarks").rglob("*.py"))


def missing_names(source):
    """Return the names that ``from tpauc... import ...`` asks for and the package lacks."""
    return [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tpauc"
        for alias in node.names
        if not _has(node.module, alias.name)
    ]


def _has(module, name):
    if hasattr(importlib.import_module(module), name):
        return True
    return importlib.util.find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_import_what_there_is(script):
    assert not missing_names(script.read_text(encoding="utf-8"))


def test_a_name_that_is_gone_is_found():
    source = "from tpauc.region import Region\nfrom tpauc import metrics, tpauc_score, Territory"
    assert missing_names(source) == ["tpauc.Territory"]
