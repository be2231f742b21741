"""Labels, scores and weights in NumPy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc.validation.values import check_count

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]


def _as_column(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Return a one-dimensional array; a single column of shape ``(n, 1)`` is flattened."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must have no masked entries; drop them, or fill them in")
    try:
        array = np.asarray(values)
    # Rows of unequal length, and tensors that NumPy cannot take over, each raise an error of their own kind.
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} cannot be read as an array: {error}") from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    return array


def check_labels(y_true: npt.ArrayLike, name: str = "y_true") -> BoolArray:
    """Return labels 0/1 or -1/1 of any numeric type as booleans, ``True`` for the positive class."""
    labels = _as_column(y_true, name)
    if labels.dtype == np.bool_:
        return labels
    if labels.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold 0/1 or -1/1 as numbers or booleans, got dtype {labels.dtype}")
    if labels.size == 0:
        return labels.astype(np.bool_)
    positive: BoolArray = labels > 0
    # What is above 0 must be 1; then what is not is 0 if nothing is below 0, and must else be -1. NaN is neither.
    if np.count_nonzero(labels == 1) == np.count_nonzero(positive) and (
        labels.min() >= 0 or np.count_nonzero(labels == -1) == np.count_nonzero(~positive)
    ):
        return positive
    found = np.unique(labels)
    shown = ", ".join(f"{value:g}" for value in found[:5]) + (", ..." if found.size > 5 else "")
    raise ValueError(f"{name} must hold only 0/1 or only -1/1, found the values {shown}")


def check_scores(y_score: npt.ArrayLike, name: str = "y_score") -> FloatArray:
    """Return finite scores as a floating array; float32 and float64 keep their type, others become float64."""
    scores = _as_column(y_score, name)
    if scores.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold real numbers, got dtype {scores.dtype}")
    if scores.dtype not in (np.float32, np.float64):
        scores = _to_float64(scores, name)
    # A sum is finite only if every term is, and costs a single pass without a temporary. Large finite scores may
    # overflow it, so a non-finite sum is looked into before anything is said.
    with np.errstate(over="ignore", invalid="ignore"):
        total = scores.sum()
    if not np.isfinite(total):
        bad = np.flatnonzero(~np.isfinite(scores))
        if bad.size:
            raise ValueError(
                f"{name} must be finite, found {bad.size} NaN or infinite values, the first is "
                f"{scores[bad[0]]} at position {bad[0]}"
            )
    return scores


def _to_float64(scores: npt.NDArray[Any], name: str) -> FloatArray:
    """Convert without merging scores that differ: 64-bit integers above 2**53 would tie as floats."""
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite, which the caller reports
        converted = scores.astype(np.float64)
    if scores.dtype.kind in "iu" and scores.size and float(np.abs(converted).max()) >= 2.0**53:
        raise ValueError(f"{name} holds integers of 2**53 or more, which float64 cannot tell apart; rescale them")
    return converted


def check_labels_and_scores(
    y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, score_name: str = "y_score"
) -> tuple[BoolArray, FloatArray]:
    """Return boolean labels and floating scores of equal length, with both classes present."""
    positive = check_labels(y_true)
    scores = check_scores(y_score, score_name)
    check_same_length("y_true", positive, score_name, scores)
    check_both_classes(positive, "y_true")
    return positive, scores


def check_same_length(name_a: str, a: npt.NDArray[Any], name_b: str, b: npt.NDArray[Any]) -> None:
    """Raise if two one-dimensional arrays differ in length."""
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"{name_a} and {name_b} must have equal length, got {a.shape[0]} and {b.shape[0]}")


def check_sample_weight(sample_weight: npt.ArrayLike, positive: BoolArray) -> FloatArray:
    """Return non-negative finite weights in float64 with a positive sum in each class."""
    weight = check_scores(sample_weight, "sample_weight").astype(np.float64, copy=False)
    check_same_length("y_true", positive, "sample_weight", weight)
    if weight.min() < 0:
        raise ValueError(f"sample_weight must not be negative, found {weight.min():g}")
    for side, name in ((positive, "positive"), (~positive, "negative")):
        if not weight[side].any():
            raise ValueError(f"sample_weight is zero for every {name} example")
    return weight


def check_both_classes(positive: BoolArray, name: str) -> tuple[int, int]:
    """Return the numbers of positives and negatives, each at least 1."""
    n_positive = int(np.count_nonzero(positive))
    check_class_counts(n_positive, positive.size - n_positive, name)
    return n_positive, positive.size - n_positive


def check_class_counts(n_positive: int, n_negative: int, name: str) -> None:
    """Raise if the labels called ``name`` lack a class."""
    if n_positive == 0 or n_negative == 0:
        missing = "positive" if n_positive == 0 else "negative"
        raise ValueError(
            f"{name} has no {missing} example among its {n_positive + n_negative}; both classes are needed"
        )


def check_resamples(n_resamples: int, confidence: float) -> int:
    """Return ``n_resamples`` as an int, enough of them for one to lie beyond each limit of an interval."""
    number = check_count(n_resamples, "n_resamples")
    # 2 / (1 - 0.9) is 20.000000000000004, which must not ask for 21.
    needed = math.ceil(2.0 / (1.0 - confidence) * (1.0 - 1e-12)) - 1
    if number < needed:
        raise ValueError(f"n_resamples must be at least {needed} for confidence={confidence}, got {n_resamples!r}")
    return number


def check_random_state(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """Return a generator of its own for a seed or for None, or the one that is given."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    try:
        seed = check_count(random_state, "random_state", at_least=0)
    except TypeError as error:
        raise TypeError(
            f"random_state must be None, a whole number or a numpy.random.Generator, got {random_state!r}"
        ) from error
    return np.random.default_rng(seed)
