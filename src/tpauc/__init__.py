"""Measure, maximise and certify the Two-way Partial AUC. The public names, nothing else.

Names are imported when first used, so ``import tpauc`` and the metrics need NumPy and SciPy alone and start at once.
The stub ``__init__.pyi`` says where each name is defined: type checkers read it, and so does this module.
"""

import ast
from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# The extra that brings what a room needs; the longest name that fits counts.
_EXTRA_OF_ROOM = {
    "metrics.torchmetric": "torch",
    "losses": "torch",
    "samplers": "torch",
    "training": "train",
    "classifiers": "sklearn",
    "classifiers.boosting": "lightgbm",
    "reporting": "report",
}


def _modules_by_name() -> dict[str, str]:
    """Return the module of each public name, as the stub has it."""
    stub = ast.parse(__spec__.loader.get_data(f"{__file__}i"))  # from a folder or an archive
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_MODULE_OF = _modules_by_name()
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'tpauc' has no attribute {name!r}")
    module = _MODULE_OF[name]
    try:
        value = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise _missing(error, name, module.removeprefix("tpauc.")) from error
    globals()[name] = value
    return value


def _missing(error: ModuleNotFoundError, name: str, module: str) -> ModuleNotFoundError:
    """Return the error that says which extra brings what ``name`` needs."""
    rooms = [room for room in _EXTRA_OF_ROOM if f"{module}.".startswith(f"{room}.")]
    if not rooms or str(error.name).partition(".")[0] == __name__:
        return error
    extra = _EXTRA_OF_ROOM[max(rooms, key=len)]
    message = f"tpauc.{name} needs {error.name}, which is not installed; run: pip install 'tpauc[{extra}]'"
    return ModuleNotFoundError(message, name=error.name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_OF])
