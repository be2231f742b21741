"""Every check of user input, and every message.

A mistake is a ``ValueError`` (or ``TypeError`` where the kind of object is wrong) that names the argument, the rule
and the value found. Nothing is dropped or repaired. torch is only touched by functions that are handed tensors, so
this module imports without it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]


# ---------------------------------------------------------------------------------------------------- plain values


def check_share(value: float, name: str) -> float:
    """Return ``value`` as a float in (0, 1]."""
    number = check_number(value, name)
    if not 0.0 < number <= 1.0:
        raise ValueError(f"{name} must be a share in (0, 1], got {value!r}")
    return number


def check_number(value: float, name: str) -> float:
    """Return ``value`` as a finite float; strings and booleans are not numbers here."""
    if isinstance(value, bool | str | bytes):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number, got {value!r}") from error
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return number


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


# --------------------------------------------------------------------------------------------------- NumPy arrays


def _as_column(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Return a one-dimensional array; a single column of shape ``(n, 1)`` is flattened."""
    array = np.asarray(values)
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
    # One counting pass settles the usual case; NaN and 0.5 fail it because they equal neither value.
    n_positive = np.count_nonzero(positive)
    if labels.min() >= 0:
        if np.count_nonzero(labels == 1) == n_positive and _zeros(labels) == labels.size - n_positive:
            return positive
    elif np.count_nonzero(labels == 1) == n_positive and np.count_nonzero(labels == -1) == labels.size - n_positive:
        return positive
    found = np.unique(labels)
    shown = ", ".join(f"{value:g}" for value in found[:5]) + (", ..." if found.size > 5 else "")
    raise ValueError(f"{name} must hold only 0/1 or only -1/1, found the values {shown}")


def _zeros(labels: npt.NDArray[Any]) -> int:
    return labels.size - int(np.count_nonzero(labels))


def check_scores(y_score: npt.ArrayLike, name: str = "y_score") -> FloatArray:
    """Return finite scores as a floating array; float32 and float64 keep their type."""
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
    converted = scores.astype(np.float64)
    if scores.dtype.kind in "iu" and scores.size and float(np.abs(converted).max()) > 2.0**53:
        raise ValueError(f"{name} holds integers above 2**53, which float64 cannot tell apart; rescale them")
    return converted


def check_labels_and_scores(
    y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, score_name: str = "y_score"
) -> tuple[BoolArray, FloatArray]:
    """Return boolean labels and floating scores of equal length, with both classes present."""
    positive = check_labels(y_true)
    scores = check_scores(y_score, score_name)
    check_same_length("y_true", positive, score_name, scores)
    n_positive = int(np.count_nonzero(positive))
    if n_positive == 0 or n_positive == positive.size:
        missing = "positive" if n_positive == 0 else "negative"
        raise ValueError(f"y_true has no {missing} example among its {positive.size}; both classes are needed")
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
        if not weight[side].sum() > 0:
            raise ValueError(f"sample_weight is zero for every {name} example")
    return weight


# -------------------------------------------------------------------------------------------------------- tensors


def check_logits_and_labels(logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return flat logits and flat labels in {0, 1} of the logits' computing type.

    Shapes ``(n,)`` and ``(n, 1)`` are accepted for each. Half-precision logits are computed on in float32. Labels may
    be bool, integer or float, 0/1 or -1/1. A look at the label values costs one synchronisation on an accelerator.
    """
    import torch

    for value, name in ((logits, "logits"), (labels, "labels")):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating point, got {logits.dtype}")
    if labels.is_complex():
        raise TypeError(f"labels must be bool, integer or floating point, got {labels.dtype}")
    flat_logits, flat_labels = _flat(logits, "logits"), _flat(labels, "labels")
    if flat_logits.shape != flat_labels.shape:
        raise ValueError(
            f"logits and labels must have equal length, got shapes {tuple(logits.shape)} and {tuple(labels.shape)}"
        )
    if flat_logits.device != flat_labels.device:
        raise ValueError(f"logits and labels must be on one device, got {flat_logits.device} and {flat_labels.device}")
    if flat_logits.dtype in (torch.float16, torch.bfloat16):
        flat_logits = flat_logits.float()
    return flat_logits, _zero_one(flat_labels, flat_logits.dtype)


def _flat(tensor: torch.Tensor, name: str) -> torch.Tensor:
    if tensor.ndim == 1:
        return tensor
    if tensor.ndim == 2 and tensor.shape[1] == 1:
        return tensor[:, 0]
    raise ValueError(f"{name} must have shape (n,) or (n, 1), got {tuple(tensor.shape)}")


def _zero_one(labels: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Labels as 0.0 and 1.0, or an error that shows what else was found."""
    import torch

    if labels.dtype == torch.bool:
        return labels.to(dtype)
    positive = labels > 0
    zero_one = positive.to(labels.dtype)
    if torch.equal(labels, zero_one):
        return zero_one.to(dtype)
    if labels.dtype != torch.uint8 and torch.equal(labels, 2 * zero_one - 1):
        return positive.to(dtype)
    found = torch.unique(labels)
    shown = ", ".join(f"{value:g}" for value in found[:5].tolist()) + (", ..." if found.numel() > 5 else "")
    raise ValueError(f"labels must hold only 0/1 or only -1/1, found the values {shown}")
