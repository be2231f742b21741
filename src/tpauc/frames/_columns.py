"""The columns of a table that a metric needs, checked: labels, scores, subgroups and clusters.

A row is sound if its label is one of the two classes and its score a finite number. Unsound rows are counted by kind
and reported; none is dropped or repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np

from tpauc._validation import brief, check_pos_label, check_text
from tpauc.frames._engines import Frame, collect

LABEL, NEGATIVE = "tpauc_positive", "tpauc_negative"
SCORE, MODEL, CLUSTER = "tpauc_score", "tpauc_model", "tpauc_cluster"
LARGEST = 1.7976931348623157e308
_LARGEST_INTEGER = 2.0**53 - 1.0  # float64 cannot tell larger ones apart


@dataclass(frozen=True)
class Columns:
    """The checked columns of a table.

    ``frame`` has whether a row is positive and whether it is negative (LABEL and NEGATIVE), the score columns as
    float64 (``score_name(i)``), the subgroups (``by_name(i)``) and the cluster. ``limits`` are the largest sound
    absolute scores.
    """

    frame: Frame
    scores: tuple[str, ...]
    by: tuple[str, ...]
    clustered: bool
    limits: tuple[float, ...]
    label: str
    numeric_label: bool
    source: Frame

    @property
    def keys(self) -> list[str]:
        """Columns that tell series apart: the model where there are several, and the subgroups."""
        return ([MODEL] if len(self.scores) > 1 else []) + self.by_names

    @property
    def by_names(self) -> list[str]:
        """Columns of the subgroups."""
        return [by_name(place) for place in range(len(self.by))]

    def rows(self) -> Frame:
        """Return one row per row and model, with the columns of ``keys``, the label and the score."""
        return self.by_model(lambda rows: rows)

    def by_model(self, query: Callable[[Frame], Frame]) -> Frame:
        """Return what a query finds in the rows of each model, which have the subgroups, the label and the score.

        Where there are several models MODEL says which one a result belongs to. Engines count the cells of each model
        on its own faster than all of them by model and cell.
        """
        others = [LABEL, NEGATIVE, *self.by_names]
        found = [
            query(self.frame.select(*others, nw.col(score_name(model)).alias(SCORE)))
            for model in range(len(self.scores))
        ]
        if len(found) == 1:
            return found[0]
        return nw.concat([rows.with_columns(nw.lit(n, nw.Int32).alias(MODEL)) for n, rows in enumerate(found)])


def number_of(condition: nw.Expr) -> nw.Expr:
    """Return the number of rows that meet a condition; Spark does not add up booleans."""
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0)).sum()


def score_name(model: int) -> str:
    """Return the name of a score column in :attr:`Columns.frame`."""
    return f"{SCORE}_{model}"


def by_name(place: int) -> str:
    """Return the name of a subgroup column in :attr:`Columns.frame`."""
    return f"tpauc_by_{place}"


def check_columns(
    table: Frame,
    *,
    label: str,
    scores: Sequence[str],
    by: Sequence[str] = (),
    groups: str | None = None,
    pos_label: Any = None,
) -> Columns:
    """Return the columns of a table if they are there and of a kind that can be used."""
    schema = table.collect_schema()
    if pos_label is not None:
        check_pos_label(pos_label)
    wanted = {"label": [label], "score": list(scores), "by": list(by), "groups": [] if groups is None else [groups]}
    for argument, names in wanted.items():
        for name in names:
            if check_text(name, argument) not in schema:
                raise ValueError(f"{argument}={name!r} is not a column of the table; it has {_listed(list(schema))}")
    for argument in ("score", "by"):
        if len(set(wanted[argument])) < len(wanted[argument]):
            raise ValueError(f"{argument} must name each column once, got {wanted[argument]}")
    for name in scores:
        _check_score_type(table, name, schema[name])
    numeric = _check_label_type(table, label, schema[label], pos_label)
    limits = tuple(_LARGEST_INTEGER if schema[name].is_integer() else LARGEST for name in scores)
    frame = table.select(
        *_classes(schema[label], nw.col(label), pos_label),
        *(nw.col(name).cast(nw.Float64).alias(score_name(place)) for place, name in enumerate(scores)),
        *(nw.col(name).alias(by_name(place)) for place, name in enumerate(by)),
        *([nw.col(groups).alias(CLUSTER)] if groups is not None else []),
    )
    found = Columns(frame, tuple(scores), tuple(by), groups is not None, limits, label, numeric, table)
    if groups is not None:
        missing = collect(table.select(number_of(nw.col(groups).is_null()).alias("missing")))["missing"][0]
        if missing:
            raise ValueError(f"groups={groups!r} has {missing} null values; give each row a group")
    return found


def report_unsound(columns: Columns) -> None:
    """Count the unsound rows by kind and raise an error, or return if labels turn out to be -1/1."""
    problems = _score_problems(columns) + _label_problems(columns)
    if problems:
        raise ValueError("; ".join(problems))


def _check_score_type(table: Frame, name: str, dtype: nw.dtypes.DType) -> None:
    if dtype.is_numeric():
        return
    n_rows = collect(table.select(nw.len().alias("n")))["n"][0]
    raise ValueError(f"score={name!r} must hold numbers, got {n_rows} rows of type {dtype}")


def _check_label_type(table: Frame, name: str, dtype: nw.dtypes.DType, pos_label: Any) -> bool:
    """Return whether the labels are numbers that have to be 0/1 or -1/1."""
    label = nw.col(name)
    if pos_label is not None:
        if not _can_hold(dtype, pos_label):
            raise ValueError(f"pos_label={brief(pos_label)} is not among the labels of {name!r}, which are {dtype}")
        _check_two_classes(table, name, pos_label)
        return False
    if dtype == nw.Boolean:
        return False
    if dtype.is_numeric():
        return True
    found = collect(table.select(label.min().alias("low"), label.max().alias("high"), label.count().alias("n")))
    raise ValueError(
        f"label={name!r} must hold 0/1 or -1/1 as numbers or booleans, got {found['n'][0]} rows of type {dtype}, for "
        f"example {found['low'][0]!r} and {found['high'][0]!r}; say which one is positive with pos_label"
    )


def _can_hold(dtype: nw.dtypes.DType, label: Any) -> bool:
    """Return whether a column may hold a label. Engines convert what they compare: to DuckDB "0.3" equals 0."""
    if dtype.is_numeric() or dtype == nw.Boolean:
        kinds = int | float | Decimal | np.integer | np.floating | np.bool_
        number: Any = label
        return isinstance(label, kinds) and bool(number != number or abs(number) < 2**63)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return isinstance(label, str) and not any("\ud800" <= letter <= "\udfff" for letter in label)
    return not isinstance(label, str | Real)


def column_names(value: Any, argument: str) -> list[str]:
    """Return one or several names of columns as a list."""
    if value is None or isinstance(value, str):
        return [] if value is None else [value]
    if not isinstance(value, list | tuple):
        raise TypeError(f"{argument} must be the name of a column or a list of names, got {brief(value)}")
    return list(value)


def _check_two_classes(table: Frame, name: str, pos_label: Any) -> None:
    """Raise unless the labels are ``pos_label`` and one other value."""
    label = nw.col(name)
    others = table.filter(label != pos_label)
    found = collect(others.select(label.min().alias("low"), label.max().alias("high"), label.count().alias("n")))
    low, high, n_others = found["low"][0], found["high"][0], found["n"][0]
    if n_others and low != high:
        n_third = collect(others.filter(label != low).select(nw.len().alias("n")))["n"][0]
        raise ValueError(
            f"label={name!r} must hold two classes, found {low!r} and {high!r} besides pos_label={pos_label!r}; "
            f"{n_third} rows are neither {pos_label!r} nor {low!r}"
        )


def _classes(dtype: nw.dtypes.DType, label: nw.Expr, pos_label: Any) -> tuple[nw.Expr, nw.Expr]:
    """Return whether a row is positive and whether it is negative; labels of -1 are judged later."""
    if pos_label is not None:
        positive, negative = label == pos_label, label != pos_label
    elif dtype == nw.Boolean:
        positive, negative = label, ~label
    else:
        positive, negative = label == 1, label == 0
    return positive.alias(LABEL), negative.alias(NEGATIVE)


def _score_problems(columns: Columns) -> list[str]:
    """Describe the scores that are no finite numbers, column by column."""
    kinds = []
    for place, limit in enumerate(columns.limits):
        score = nw.col(score_name(place))
        kinds += [
            number_of(score.is_null()).alias(f"null_{place}"),
            number_of(score.is_nan()).alias(f"nan_{place}"),
            # NaN is above everything on some engines, and neither above nor below on others.
            number_of(~score.is_nan() & (score.abs() > LARGEST)).alias(f"infinite_{place}"),
            number_of(~score.is_nan() & (score.abs() > limit) & (score.abs() <= LARGEST)).alias(f"large_{place}"),
        ]
    counted = collect(columns.frame.select(*kinds))
    problems = []
    for place, name in enumerate(columns.scores):
        null, nan, infinite, large = (
            int(counted[f"{k}_{place}"][0] or 0) for k in ("null", "nan", "infinite", "large")
        )
        if null or nan or infinite:
            parts = [f"{n} {kind}" for n, kind in ((null, "null"), (nan, "NaN"), (infinite, "infinite")) if n]
            problems.append(f"score={name!r} must be finite, found {' and '.join(parts)} values")
        if large:
            problems.append(
                f"score={name!r} holds {large} integers of 2**53 or more, which float64 cannot tell apart; rescale them"
            )
    return problems


def _label_problems(columns: Columns) -> list[str]:
    """Describe the labels that are neither class."""
    label = nw.col(columns.label)
    counts = {"null": number_of(label.is_null()), "n": nw.len()}
    if columns.numeric_label:
        counts |= {f"equal_{value}": number_of(label == value) for value in (-1, 0, 1)}
    counted = {
        name: int(values[0] or 0)
        for name, values in collect(columns.source.select(*(e.alias(name) for name, e in counts.items()))).items()
    }
    problems = []
    if counted["null"]:
        problems.append(f"label={columns.label!r} has {counted['null']} null values")
    if columns.numeric_label:
        minus, zero, one = (counted[f"equal_{value}"] for value in (-1, 0, 1))
        others = counted["n"] - counted["null"] - minus - zero - one
        if others or (minus and zero):
            found = f"{zero} rows with 0, {minus} with -1, {one} with 1 and {others} with other values"
            problems.append(f"label={columns.label!r} must hold only 0/1 or only -1/1, found {found}")
    return problems


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "") if names else "no columns"
