"""Files, columns and folders of the command line. A `UsageError` is a mistake in what was typed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any

import numpy as np

from tpauc.validation.arrays import BoolArray


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
            f"{where} has no column{'s' if many else ''} {_listed(missing)}; its columns are {_listed(found)}"
        )


def check_distinct_columns(names: Sequence[str], where: object) -> None:
    """Raise if two columns of the table called ``where`` share a name."""
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ValueError(f"{where} has more than one column called {_listed(twice)}; rename them")


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


def _listed(values: Sequence[object], most: int = 10) -> str:
    return ", ".join(repr(value) for value in values[:most]) + (", ..." if len(values) > most else "")


def check_two_values(values: Sequence[object], name: str) -> None:
    """Raise if the target column called ``name`` has not got exactly two values."""
    if len(values) == 1:
        raise ValueError(f"{name} has one value only, {values[0]!r}; both classes are needed")
    if len(values) > 2:
        raise ValueError(f"{name} must have two values, one for each class, found {len(values)}: {_listed(values)}")


def check_positive_value(typed: Any, values: Sequence[Any], name: str) -> Any:
    """Return the one of two values that is the positive class: 1 of 0/1 and of -1/1, or the one that was ``typed``.

    That may also be a value of another table, which is equal even if its type and its text are not: 1.0 and 1.
    """
    if typed is not None:
        text = str(typed)
        for value in values:
            spelled = isinstance(value, bool | float) and text.lower() in _spellings(value)
            if typed == value or text == str(value) or spelled:
                return value
        raise UsageError(f"--positive must be one of the values of {name}, {_listed(values)}, got {typed!r}")
    if any(set(values) == usual for usual in ({0, 1}, {-1, 1})):
        return max(values)
    raise UsageError(f"{name} holds {_listed(values)}; say with --positive which of them is the positive class")


def _spellings(value: bool | float) -> tuple[str, ...]:
    """How else a boolean or a float may be typed: true for True, 1 for 1.0."""
    return (str(value).lower(), f"{value:g}") if isinstance(value, float) else (str(value).lower(), str(int(value)))


def check_distinct_options(columns: Sequence[str], options: str) -> None:
    """Raise if two options that each need a column of their own name the same."""
    if twice := [name for name in dict.fromkeys(columns) if columns.count(name) > 1]:
        raise UsageError(f"{options} must name different columns, got {_listed(twice)} more than once")


def check_any_feature(names: Sequence[str]) -> None:
    """Raise if no column is left to learn from."""
    if not names:
        raise ValueError("no column is left to learn from, besides the target and those that are left out")


def check_usable_column(usable: bool, name: str, kind: object) -> None:
    """Raise if a column is of a kind that no feature is made of."""
    if not usable:
        raise ValueError(
            f"column {name!r} holds {kind}, of which no feature is made; turn it into numbers or text, "
            f"or leave it out with --drop {name!r}"
        )


def check_decimal_points(samples: Sequence[object], name: str) -> None:
    """Raise if the values of a text column are numbers with a decimal comma, which would pass for categories."""
    number = re.compile(r"\s*[+-]?\d+(,\d+)?\s*")
    # Whole numbers may be among them; without any comma it is a column of codes.
    with_comma = [value for value in samples if isinstance(value, str) and "," in value]
    if with_comma and all(isinstance(value, str) and number.fullmatch(value) for value in samples):
        raise ValueError(
            f"column {name!r} holds numbers with a decimal comma ({with_comma[0]!r}); write a point instead"
        )


def check_exact_integers(low: int | None, high: int | None, name: str) -> None:
    """Raise if integers from ``low`` to ``high``, the training values of a column, are not all exact as floats."""
    for value in (low, high):
        if value is not None and abs(value) > 2**53:
            raise ValueError(
                f"column {name!r} holds integers beyond 2**53, such as {value}, which floats cannot tell apart; "
                f"if it only names the rows, leave it out with --drop {name!r}"
            )


def check_known_columns(wanted: Sequence[str], found: Collection[str], where: object) -> None:
    """Raise if the table called ``where`` lacks columns that a model was trained on."""
    if missing := [name for name in wanted if name not in found]:
        raise ValueError(f"{where} lacks {len(missing)} of the columns the model was trained on: {_listed(missing)}")


def check_finite_numbers(infinite: BoolArray, name: str) -> None:
    """Raise if a number of the column called ``name`` is infinite."""
    if rows := int(np.count_nonzero(infinite)):
        raise ValueError(
            f"column {name!r} has infinite values in {rows} rows, the first is row {int(infinite.argmax()) + 1}"
        )


def check_run_folder_free(path: Path, *, overwrite: bool, is_run: bool, strangers: Sequence[str]) -> None:
    """Raise unless a run may be written to ``path``: nothing is there, an empty folder, or a run to be replaced."""
    check_existing(path.parent, "the folder of --out,")
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    if not is_run:
        raise UsageError(f"{path} exists and is not a run; choose another --out")
    if not overwrite:
        raise UsageError(f"{path} exists; choose another --out, or give --overwrite to replace that run")
    if strangers:
        raise UsageError(f"{path} holds more than a run, {_listed(strangers)}; move that away, or choose another --out")


def check_same_classes(training: tuple[object, object], test: tuple[object, object], where: object) -> None:
    """Raise if the test table called ``where`` has other classes than the training table."""
    if training != test:
        raise ValueError(
            f"{where} must have the classes of the training data, {_listed(training)}, found {_listed(test)}"
        )


def check_class_sizes(n_positive: int, n_negative: int, least: int, why: str) -> None:
    """Raise if a class has fewer than ``least`` rows."""
    if min(n_positive, n_negative) < least:
        raise ValueError(
            f"each class needs at least {least} rows {why}, found {n_positive} positive and {n_negative} negative; "
            "give more data"
        )


def check_other_file(path: Path | None, other: Path, rule: str) -> None:
    """Raise ``rule`` if two paths lead to the same file."""
    if path is not None and path.exists() and other.exists() and path.samefile(other):
        raise UsageError(f"{rule}, got {path} for both")


def check_card(card: Any, kind: str, fields: Mapping[str, type], where: object) -> dict[str, Any]:
    """Return the card of a run if it is one, with all ``fields``."""
    if not isinstance(card, dict) or card.get("kind") != kind:
        raise ValueError(f"{where} is not the card of a run of this version of tpauc")
    check_card_fields(card, fields, where)
    return card


def check_card_fields(part: Mapping[str, Any], fields: Mapping[str, type | UnionType], where: object) -> None:
    """Raise if a part of the card of a run lacks one of the ``fields``, or it is of another type."""
    if wrong := [name for name, sort in fields.items() if not isinstance(part.get(name), sort)]:
        raise ValueError(f"{where} is damaged: {_listed(wrong)} is missing or not what it should be")


def check_column_lists(columns: Mapping[str, Any], kinds: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of a model by kind, as its card lists them."""
    lists = {kind: columns.get(kind) for kind in kinds}
    for kind, names in lists.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"the card of the run is damaged: columns[{kind!r}] must be a list of names, got {names!r}"
            )
    return {kind: tuple(names) for kind, names in lists.items() if names is not None}
