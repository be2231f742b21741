"""Numbers, choices, texts and paths, and packages that may be missing."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Collection
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

_LOW_PRECISION: dict[str, type[np.floating[Any]]] = {"float16": np.float16, "float32": np.float32}


def check_share(value: float, name: str) -> float:
    """Return ``value`` as a float in (0, 1]."""
    number = check_number(value, name)
    if not 0.0 < number <= 1.0:
        raise ValueError(f"{name} must be a share in (0, 1], got {value!r}")
    return number


def check_open_share(value: float, name: str) -> float:
    """Return ``value`` as a float in (0, 1)."""
    number = check_number(value, name)
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} must be in (0, 1), got {value!r}")
    return number


def check_number(value: float, name: str) -> float:
    """Return ``value`` as a finite float; strings and booleans are not numbers here.

    A float16 or float32 of NumPy or torch is read as NumPy prints it: ``np.float32(0.7)`` is 0.7, not 0.699999988, so
    that a share selects as many examples as it says.
    """
    scalar = value[()] if isinstance(value, np.ndarray) else value  # an array of shape () holds a number, others do not
    if isinstance(scalar, bool | np.bool_ | str | bytes | np.ndarray):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        number = _as_printed(scalar)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number, got {value!r}") from error
    except OverflowError as error:
        raise ValueError(f"{name} must be finite, got a number beyond the range of float64") from error
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return number


def _as_printed(scalar: Any) -> float:
    # By name: a tensor's type is torch.float32, and torch is not to be imported for a number.
    kind = _LOW_PRECISION.get(str(getattr(scalar, "dtype", "")).removeprefix("torch."))
    return float(scalar if kind is None else np.format_float_scientific(kind(float(scalar))))


def check_positive(value: float, name: str) -> float:
    """Return ``value`` as a float above 0."""
    number = check_number(value, name)
    if number <= 0.0:
        raise ValueError(f"{name} must be above 0, got {value!r}")
    return number


def check_non_negative(value: float, name: str) -> float:
    """Return ``value`` as a float of at least 0."""
    number = check_number(value, name)
    if number < 0.0:
        raise ValueError(f"{name} must be at least 0, got {value!r}")
    return number


def check_count(value: int, name: str, *, at_least: int = 1) -> int:
    """Return ``value`` as an int of at least ``at_least``."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    try:
        number = operator.index(value)
    except TypeError as error:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from error
    if number < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {value!r}")
    return number


def check_choice(value: str, name: str, choices: Collection[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def check_text(value: str, name: str) -> str:
    """Return ``value`` if it is text with something to see in it that can be written to a file."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r}")
    if not value.strip():
        raise ValueError(f"{name} must not be empty, got {value!r}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} must be text that UTF-8 can encode, got {value!r}") from error
    return value


def import_extra(module: str, extra: str) -> ModuleType:
    """Return an optional module, or say which extra of this package brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{module} is needed here and is not installed; run: pip install 'tpauc[{extra}]'", name=error.name
        ) from error


def check_flag(value: bool, name: str) -> bool:
    """Return ``value`` if it is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value


def check_seed(value: int, name: str = "seed") -> int:
    """Return ``value`` as an int in [0, 2**32), what every generator accepts."""
    number = check_count(value, name, at_least=0)
    if number >= 2**32:
        raise ValueError(f"{name} must be below 2**32, got {value!r}")
    return number


def check_fields(given: Collection[str], known: Collection[str], what: str) -> None:
    """Raise if a mapping for ``what`` has a key that is not a field of it."""
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"{what} has no field {', '.join(map(repr, unknown))}; its fields are {', '.join(known)}")


def check_path(value: str | os.PathLike[str], name: str) -> str:
    """Return a path as text."""
    if not isinstance(value, str | os.PathLike) or not isinstance(text := os.fspath(value), str):
        raise TypeError(f"{name} must be a path, got {value!r}")
    return check_text(text, name)
