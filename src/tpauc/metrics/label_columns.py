"""The area of several labels or classes, from one column of scores each.

``k`` labels are an indicator matrix of shape ``(n, k)``, in which a row may have any number of them; NaN stands for a
label that is not known, and its row does not count for that column. ``k`` classes are one label per row, and a column
is the problem of its class against the rest. The values of the columns are averaged as scikit-learn does:

    macro     the mean over columns
    weighted  the mean over columns, each by the number (or weight) of its positives
    micro     one problem made of the rows of all columns; for labels only
    None      no average: one value per column

A column of which the region selects no positive or no negative has no value. Without an average it is NaN, and a mean
over columns is an error that names it: nothing is left out silently.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc._validation import (
    BoolArray,
    FloatArray,
    brief,
    check_choice,
    check_class_counts,
    check_column,
    check_labels,
    check_same_length,
    check_sample_weight,
    check_scores,
)

AVERAGES = ("macro", "weighted", "micro")
_MANY_ROWS = 30_000  # from here on a column alone is as fast as many together


def check_average(average: str | None, *, of_classes: bool = False) -> str | None:
    """Return the kind of average; None and "none" mean that there is none."""
    if average is None or check_choice(average, "average", (*AVERAGES, "none")) == "none":
        return None
    if of_classes and average == "micro":
        raise ValueError(
            "average='micro' is for several labels; one-vs-rest columns of classes are 'macro' or 'weighted'"
        )
    return average


def n_columns(values: Any) -> int:
    """Return how many columns a matrix has; 1 for anything else."""
    if isinstance(values, list | tuple):
        first = values[0] if values else None
        return len(first) if isinstance(first, list | tuple | np.ndarray) and np.ndim(first) == 1 else 1
    try:
        shape = getattr(values, "shape", ())
    except RuntimeError:  # of a nested tensor
        return 1
    return int(shape[1]) if isinstance(shape, tuple) and len(shape) == 2 else 1


class LabelColumns(NamedTuple):
    """Labels and scores, one row per column of the user's matrices; ``known`` is None if all labels are."""

    positive: BoolArray  # shape (k, n)
    scores: FloatArray  # shape (k, n)
    known: BoolArray | None  # shape (k, n)
    names: list[Any]

    def rows(self, column: int) -> tuple[BoolArray, FloatArray, BoolArray | slice]:
        """Return the labels and scores of a column, and which rows they are."""
        if self.known is None:
            return self.positive[column], self.scores[column], slice(None)
        chosen = self.known[column]
        return self.positive[column][chosen], self.scores[column][chosen], chosen


def label_columns(y_true: npt.ArrayLike, y_score: npt.ArrayLike, labels: npt.ArrayLike | None) -> LabelColumns:
    """Check an indicator matrix or a column of classes, and a matrix of scores."""
    matrix = _matrix(y_score, "y_score")
    n, k = matrix.shape
    scores = np.ascontiguousarray(check_scores(matrix.reshape(-1)).reshape(n, k).T)
    if n_columns(y_true) > 1:
        if labels is not None:
            raise ValueError("labels is for class labels, one per row; the columns of an indicator matrix are in order")
        indicators = _matrix(y_true, "y_true")
        if indicators.shape != (n, k):
            raise ValueError(f"y_true and y_score must have equal shapes, got {indicators.shape} and {(n, k)}")
        known = ~np.isnan(indicators) if indicators.dtype.kind == "f" else None
        if known is None or known.all():
            positive = check_labels(indicators.reshape(-1)).reshape(n, k)
            return LabelColumns(np.ascontiguousarray(positive.T), scores, None, list(range(k)))
        positive = np.zeros((n, k), dtype=np.bool_)
        positive[known] = check_labels(indicators[known])
        return LabelColumns(np.ascontiguousarray(positive.T), scores, np.ascontiguousarray(known.T), list(range(k)))
    classes = check_column(y_true, "y_true")
    if classes.shape[0] != n:
        raise ValueError(f"y_true and y_score must have equal length, got {classes.shape[0]} and {n}")
    names = np.unique(classes) if labels is None else check_column(labels, "labels")
    if names.size != k or np.unique(names).size != k:
        given = "distinct values in y_true" if labels is None else "distinct labels"
        raise ValueError(
            f"y_score must have one column per class, got {k} columns and {np.unique(names).size} {given}; labels= "
            "names the class of each column"
        )
    strangers = np.setdiff1d(classes, names)
    if strangers.size:
        raise ValueError(f"y_true holds {brief(strangers.tolist()[0])}, which is not among labels")
    return LabelColumns(classes[np.newaxis, :] == names[:, np.newaxis], scores, None, names.tolist())


def _matrix(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    try:
        matrix = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} cannot be read as an array: {error}") from error
    if matrix.ndim != 2 or np.ma.isMaskedArray(values):
        raise ValueError(f"{name} must be a matrix of shape (n, k) without masked values, got {brief(values)}")
    return matrix


Area = Callable[[BoolArray, FloatArray, FloatArray | None], float]  # of labels, scores and weights of one problem
Areas = Callable[
    [BoolArray, BoolArray, FloatArray], FloatArray
]  # of positives, negatives and scores of many; NaN if none


def areas_of_columns(
    columns: LabelColumns, area: Area, areas_at_once: Areas, average: str | None, sample_weight: npt.ArrayLike | None
) -> float | FloatArray:
    """Return the average of the columns' areas, or the areas, shape (k,), without one.

    ``areas_at_once`` does for many short columns what ``area`` does for one.
    """
    weight = None
    if sample_weight is not None:
        weight = check_scores(sample_weight, "sample_weight").astype(np.float64)
        check_same_length("y_score", columns.scores[0], "sample_weight", weight)
        if weight.size and weight.min() < 0:
            raise ValueError(f"sample_weight must not be negative, found {weight.min():g}")
    if average == "micro":
        everyone = np.ones_like(columns.positive) if columns.known is None else columns.known
        positive, scores = columns.positive[everyone], columns.scores[everyone]
        check_class_counts(int(positive.sum()), int((~positive).sum()), "y_true")
        of_rows = None if weight is None else np.broadcast_to(weight, everyone.shape)[everyone]
        return area(positive, scores, of_rows)
    areas, sizes = np.full(len(columns.names), np.nan), columns.positive.sum(1, dtype=np.float64)
    if weight is None and columns.scores.shape[1] < _MANY_ROWS:
        negative = ~columns.positive if columns.known is None else columns.positive < columns.known
        areas = areas_at_once(columns.positive, negative, columns.scores)
    for place in np.flatnonzero(np.isnan(areas)).tolist():
        positive, scores, chosen = columns.rows(place)
        of_rows = None if weight is None else weight[chosen]
        try:
            check_class_counts(int(positive.sum()), int((~positive).sum()), "the column")
            areas[place] = area(positive, scores, None if of_rows is None else check_sample_weight(of_rows, positive))
        except ValueError as error:
            if average is not None:
                raise ValueError(
                    f"label {columns.names[place]!r} has no value: {error}. average=None returns the values of all "
                    "labels, NaN for this"
                ) from error
        if of_rows is not None:
            sizes[place] = of_rows[positive].sum()
    if average is None:
        return areas
    return float(areas.mean() if average == "macro" else np.average(areas, weights=sizes))
