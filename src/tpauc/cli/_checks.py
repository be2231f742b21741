"""Checks of paths, columns and options that several commands share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from tpauc._validation import BoolArray


class UsageError(ValueError):
    """A mistake in what was typed, as opposed to what the files hold: the command line exits with 2, not 1."""


def check_existing(path: Path, what: str) -> Path:
    """Return ``path`` if there is something there."""
    if not path.exists():
        raise UsageError(f"{what} {path} does not exist")
    return path


def check_output_path(path: Path, *, overwrite: bool, suffixes: Collection[str]) -> Path:
    """Return the path of a file that may be written: of a known kind, and not there yet unless ``overwrite``."""
    if path.suffix.lower() not in suffixes:
        raise UsageError(f"--out must end in {' or '.join(suffixes)}, got {path}")
    if path.is_dir():
        raise UsageError(f"--out must be a file, but {path} is a folder")
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists; choose another --out, or give --overwrite")
    return path


def check_columns(wanted: Sequence[str], found: Sequence[str], where: object) -> None:
    """Raise if a column that was asked for is not in the table called ``where``."""
    if missing := [name for name in wanted if name not in found]:
        many = len(missing) > 1
        raise UsageError(
            f"{where} has no column{'s' if many else ''} {listed(missing)}; its columns are {listed(found)}"
        )


def check_named_columns(names: Sequence[str], dropped: Sequence[str], where: object) -> None:
    """Raise if a column of the table called ``where`` has no name and is not dropped."""
    if "" in names and "" not in dropped:
        raise ValueError(
            f"{where}: column {names.index('') + 1} has no name (an index that pandas wrote?); "
            "name it, or leave it out with --drop ''"
        )


def check_no_missing(missing: BoolArray, name: str) -> None:
    """Raise if a value of the column called ``name`` is missing."""
    if rows := int(np.count_nonzero(missing)):
        raise ValueError(
            f"{name} has no value in {rows} of {missing.size} rows, the first is row {int(missing.argmax()) + 1}; "
            "drop these rows, or fill them in"
        )


def listed(values: Sequence[object], most: int = 10) -> str:
    return ", ".join(repr(value) for value in values[:most]) + (", ..." if len(values) > most else "")


def check_distinct_options(columns: Sequence[str], options: str) -> None:
    """Raise if two options that each need a column of their own name the same."""
    if twice := [name for name in dict.fromkeys(columns) if columns.count(name) > 1]:
        raise UsageError(f"{options} must name different columns, got {listed(twice)} more than once")
