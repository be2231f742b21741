"""Checks of user input that several rooms share, and their messages.

A mistake is a ``ValueError`` (or ``TypeError`` where the kind of object is wrong) that names the argument, the rule and
the value found. Nothing is dropped or repaired. Only functions that receive tensors import torch. A check with one
caller lives with its caller.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from importlib import import_module
from numbers import Real
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

_LOW_PRECISION: dict[str, type[np.floating[Any]]] = {"float16": np.float16, "float32": np.float32}
# Sums of 1e20 weights can be squared within float64.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-130, 1e130

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]


def check_share(value: float, name: str) -> float:
    """Return ``value`` as a float in (0, 1]."""
    number = check_number(value, name)
    if not 0.0 < number <= 1.0:
        raise ValueError(f"{name} must be a share in (0, 1], got {brief(value)}")
    return number


def check_open_share(value: float, name: str) -> float:
    """Return ``value`` as a float in (0, 1)."""
    number = check_number(value, name)
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} must be in (0, 1), got {brief(value)}")
    return number


def check_number(value: float, name: str) -> float:
    """Return ``value`` as a finite float; strings and booleans are not numbers here.

    A float16 or float32 of NumPy or torch is read as NumPy prints it: ``np.float32(0.7)`` is 0.7, not 0.699999988. A
    share then selects as many examples as its decimals say.
    """
    try:
        scalar: Any = value
        if hasattr(value, "shape"):
            if value.shape != ():  # of an array of shape (1,) NumPy would make a number
                raise TypeError
            scalar = scalar[()]
        if not _is_real(scalar):
            raise TypeError
        number = _as_printed(scalar)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name} must be a number, got {brief(value)}") from error
    except OverflowError as error:
        raise ValueError(f"{name} must be finite, got a number beyond the range of float64") from error
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {brief(value)}")
    return number


def _is_real(scalar: Any) -> bool:
    """Return whether a value is a real number. To NumPy a time difference is one, and a boolean is one to Python."""
    if isinstance(scalar, bool | np.bool_ | np.timedelta64):
        return False
    kind = str(getattr(scalar, "dtype", "")).removeprefix("torch.")  # of a tensor of shape ()
    return isinstance(scalar, Real | Decimal) or kind.startswith(("float", "bfloat", "int", "uint"))


def brief(value: Any) -> str:
    """Return a wrong value for an error message: on one line, cut, and with the type of what has no short text."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # what is wrong may also fail to print itself
        return f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}... ({type(value).__name__})"


def _as_printed(scalar: Any) -> float:
    # Compared by name, since the dtype of a tensor is torch.float32, and a number should not import torch.
    kind = _LOW_PRECISION.get(str(getattr(scalar, "dtype", "")).removeprefix("torch."))
    return float(scalar if kind is None else np.format_float_scientific(kind(float(scalar))))


def check_positive(value: float, name: str) -> float:
    """Return ``value`` as a float above 0."""
    number = check_number(value, name)
    if number <= 0.0:
        raise ValueError(f"{name} must be above 0, got {brief(value)}")
    return number


def check_non_negative(value: float, name: str) -> float:
    """Return ``value`` as a float of at least 0."""
    number = check_number(value, name)
    if number < 0.0:
        raise ValueError(f"{name} must be at least 0, got {brief(value)}")
    return number


def check_momentum(value: float, name: str = "momentum") -> float:
    """Return ``value`` as a float in [0, 1); steps with a momentum of 1 or more grow without end."""
    number = check_non_negative(value, name)
    if number >= 1.0:
        raise ValueError(f"{name} must be below 1, got {brief(value)}")
    return number


def check_count(value: int, name: str, *, at_least: int = 1, at_most: int = 2**63 - 1) -> int:
    """Return ``value`` as an int of at least ``at_least`` and at most ``at_most``, by default what 64 bits can hold."""
    try:
        if isinstance(value, bool | np.bool_ | np.timedelta64):
            raise TypeError
        number = operator.index(value)
    except (TypeError, RuntimeError) as error:
        raise TypeError(f"{name} must be a whole number, got {brief(value)}") from error
    if number < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {brief(value)}")
    if number > at_most:
        raise ValueError(f"{name} must be at most {at_most}, got {brief(value)}")
    return number


def check_choice(value: str, name: str, choices: Collection[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {brief(value)}")
    return value


def check_text(value: str, name: str) -> str:
    """Return ``value`` if it is text that is not blank and can be written to a file."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {brief(value)}")
    if not value.strip():
        raise ValueError(f"{name} must not be empty, got {brief(value)}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} must be text that UTF-8 can encode, got {brief(value)}") from error
    return value


def import_extra(module: str, extra: str) -> ModuleType:
    """Return an optional module, or raise an error that names the extra to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{module} is needed here and is not installed; run: pip install 'tpauc[{extra}]'", name=error.name
        ) from error


def check_flag(value: bool, name: str) -> bool:
    """Return ``value`` if it is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {brief(value)}")
    return value


def check_seed(value: int, name: str = "seed") -> int:
    """Return ``value`` as an int in [0, 2**32), the seeds that every generator accepts."""
    number = check_count(value, name, at_least=0)
    if number >= 2**32:
        raise ValueError(f"{name} must be below 2**32, got {brief(value)}")
    return number


def check_between(value: float, name: str, low: float, high: float) -> float:
    """Return ``value`` as a float from ``low`` to ``high``."""
    number = check_number(value, name)
    if not low <= number <= high:
        raise ValueError(f"{name} must be from {low:g} to {high:g}, got {brief(value)}")
    return number


def check_path(value: str | os.PathLike[str], name: str) -> str:
    """Return a path as text."""
    if not isinstance(value, str | os.PathLike) or not isinstance(text := os.fspath(value), str):
        raise TypeError(f"{name} must be a path, got {brief(value)}")
    return check_text(text, name)


def check_not_masked(values: Any, name: str) -> None:
    """Raise if values are missing in a masked array, which other libraries take as if they were there."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must have no masked entries; drop them, or fill them in")


def check_column(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Return a one-dimensional array; a single column of shape ``(n, 1)`` is flattened."""
    check_not_masked(values, name)
    if isinstance(values, AbstractSet | Iterator):
        raise TypeError(f"{name} must be an array or a list, in the order of the rows, got {brief(values)}")
    try:
        array = np.asarray(values)
    # Rows of unequal length raise a ValueError, tensors that NumPy cannot convert a TypeError or RuntimeError.
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} cannot be read as an array: {error}") from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    return array


def check_labels(y_true: npt.ArrayLike, name: str = "y_true", pos_label: Any = None) -> BoolArray:
    """Return two-class labels as booleans, ``True`` for the positive class.

    Without ``pos_label`` the labels are 0/1 or -1/1 of any numeric type, or booleans. With it they may be anything:
    rows equal to ``pos_label`` are positive, and all others must hold one and the same label.
    """
    labels = check_column(y_true, name)
    if pos_label is not None:
        return _equal_to_label(labels, name, pos_label)
    if labels.dtype == np.bool_:
        return labels
    if labels.dtype.kind not in "iuf":
        raise ValueError(
            f"{name} must hold 0/1 or -1/1 as numbers or booleans, got dtype {labels.dtype}{_label_choice(labels)}"
        )
    if labels.size == 0:
        return labels.astype(np.bool_)
    positive: BoolArray = labels > 0
    # Values above 0 must be 1. All others are 0 if nothing is below 0, and must be -1 otherwise. NaN fits neither rule.
    if np.count_nonzero(labels == 1) == np.count_nonzero(positive) and (
        labels.min() >= 0 or np.count_nonzero(labels == -1) == np.count_nonzero(~positive)
    ):
        return positive
    shown = _first_five(np.unique(labels))
    raise ValueError(f"{name} must hold only 0/1 or only -1/1, found the values {shown}{_label_choice(labels)}")


def _first_five(values: npt.NDArray[Any] | torch.Tensor) -> str:
    return ", ".join(f"{value:g}" for value in values[:5].tolist()) + (", ..." if len(values) > 5 else "")


def is_label(value: Any) -> bool:
    """Return whether a value can be a label: a real number, a boolean or text. To NumPy a time equals its number."""
    return np.isscalar(value) and not isinstance(value, complex | np.complexfloating | np.timedelta64 | np.datetime64)


def check_pos_label(pos_label: Any) -> None:
    """Raise unless ``pos_label`` can be a label."""
    if not is_label(pos_label):
        raise TypeError(f"pos_label must be a single label, got {brief(pos_label)}")


def _equal_to_label(labels: npt.NDArray[Any], name: str, pos_label: Any) -> BoolArray:
    """Return which labels equal ``pos_label``, if all others are the same."""
    check_pos_label(pos_label)
    if labels.dtype.kind in "cmMV":
        raise ValueError(f"{name} must hold numbers, booleans or text, got dtype {labels.dtype}")
    # NumPy compares text with numbers in ways that depend on its version.
    comparable = labels.dtype.kind == "O" or (labels.dtype.kind in "US") == isinstance(pos_label, str | bytes)
    positive = np.asarray(labels == pos_label, dtype=np.bool_) if comparable else np.zeros(labels.shape, np.bool_)
    others = labels[~positive]
    # NaN differs from itself, so that missing labels are never the negative class.
    if others.size == 0 or (not _is_missing(others[0]) and bool(np.all(others == others[0]))):
        return positive
    found = _distinct(labels)
    shown = ", ".join(map(repr, found[:5])) + (", ..." if len(found) > 5 else "")
    if not positive.any():
        raise ValueError(f"pos_label={pos_label!r} is not among the labels of {name}, which are {shown}")
    raise ValueError(f"{name} must hold pos_label={pos_label!r} and one other label, found {shown}")


def _label_choice(labels: npt.NDArray[Any]) -> str:
    """Return the end of an error that says how to name the positive one of two labels; empty if they are not two."""
    found = _distinct(labels)
    if len(found) != 2 or any(map(_is_missing, found)):
        return ""
    choices = " or ".join(f"pos_label={label!r}" for label in found)
    return f"; of {found[0]!r} and {found[1]!r} name the positive label, {choices}, or turn them into 0 and 1"


def _distinct(labels: npt.NDArray[Any]) -> list[Any]:
    """Return the distinct labels, in order if they have one."""
    return list(dict.fromkeys(labels.tolist())) if labels.dtype.kind == "O" else list(np.unique(labels).tolist())


def _is_missing(label: Any) -> bool:
    return not isinstance(label, str) and str(label).lower() in {"nan", "none", "nat", "<na>"}


def check_scores(y_score: npt.ArrayLike, name: str = "y_score") -> FloatArray:
    """Return finite scores as a floating array; float32 and float64 keep their type, others become float64."""
    scores = check_column(y_score, name)
    if scores.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold real numbers, got dtype {scores.dtype}")
    if scores.dtype not in (np.float32, np.float64):
        scores = _to_float64(scores, name)
    # A sum is finite only if every term is, and costs a single pass without a temporary array. Large finite scores may
    # overflow it, so the terms decide if the sum is not finite.
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
    """Convert without merging scores that differ, as 64-bit integers above 2**53 and long doubles would."""
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite, which the caller reports
        converted = scores.astype(np.float64)
    if scores.dtype.kind in "iu" and scores.size and float(np.abs(converted).max()) >= 2.0**53:
        raise ValueError(f"{name} holds integers of 2**53 or more, which float64 cannot tell apart; rescale them")
    if scores.dtype.kind == "f" and scores.itemsize > converted.itemsize:
        merged = np.unique(scores[np.isfinite(converted)]).size - np.unique(converted[np.isfinite(converted)]).size
        if merged > 0:
            raise ValueError(f"{name} holds long doubles, of which float64 cannot tell {merged} apart; rescale them")
    return converted


def check_labels_and_scores(
    y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, score_name: str = "y_score", pos_label: Any = None
) -> tuple[BoolArray, FloatArray]:
    """Return boolean labels and floating scores of equal length, with both classes present."""
    positive = check_labels(y_true, pos_label=pos_label)
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
            raise ValueError(f"sample_weight is zero for every {name} example; both classes are needed")
    return weight


def check_moderate_weight(sample_weight: npt.ArrayLike, positive: BoolArray) -> FloatArray:
    """Return weights that can be added up and multiplied with each other, as trainings and resampling do."""
    weight = check_sample_weight(sample_weight, positive)
    if not _LEAST_WEIGHT <= weight.max() <= _MOST_WEIGHT:
        raise ValueError(
            f"sample_weight must have its largest weight between {_LEAST_WEIGHT:g} and {_MOST_WEIGHT:g}, or products "
            f"of two weights are beyond float64, found {weight.max():g}; divide the weights by their mean"
        )
    return weight


def check_row_counts(sample_weight: npt.ArrayLike, positive: BoolArray) -> npt.NDArray[np.int64]:
    """Return weights that stand for repeated rows, as whole numbers; what counts rows has no meaning for others."""
    weight = check_sample_weight(sample_weight, positive)
    fractions = np.flatnonzero(weight != np.floor(weight))
    if fractions.size:
        raise ValueError(
            "sample_weight must hold whole numbers here, which stand for repeated rows, found "
            f"{weight[fractions[0]]:g} at position {fractions[0]}; the uncertainty of other weights is not defined"
        )
    if weight.sum() > 2.0**53:
        raise ValueError(f"sample_weight must stand for at most 2**53 rows, found {weight.sum():g}")
    return weight.astype(np.int64)


def check_groups(groups: npt.ArrayLike, positive: BoolArray) -> npt.NDArray[np.intp]:
    """Return the number of the group of each row, from 0 on; both classes must have rows in at least two groups."""
    names = check_column(groups, "groups")
    check_same_length("y_true", positive, "groups", names)
    missing = [label for label in _distinct(names) if _is_missing(label)]
    if missing:
        raise ValueError(f"groups must name the group of every row, found {missing[0]!r}")
    numbers = {name: number for number, name in enumerate(_distinct(names))}
    codes = np.array([numbers[name] for name in names.tolist()], dtype=np.intp)
    for side, of_class in ((positive, "positive"), (~positive, "negative")):
        if np.unique(codes[side]).size < 2:
            raise ValueError(f"groups must hold at least 2 groups with a {of_class} row, or none shows their spread")
    return codes


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


def check_random_state(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """Return the given generator, or a new one for a seed or None."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    try:
        seed = check_count(random_state, "random_state", at_least=0, at_most=2**128)
    except TypeError as error:
        raise TypeError(
            f"random_state must be None, a whole number or a numpy.random.Generator, got {brief(random_state)}"
        ) from error
    return np.random.default_rng(seed)


def check_logits_and_labels(
    logits: torch.Tensor, labels: torch.Tensor, *, logits_name: str = "logits"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return flat logits and flat labels, the labels as 0.0 and 1.0 in the dtype of the logits.

    Shapes ``(n,)`` and ``(n, 1)`` are accepted for each. Half-precision logits become float32. Labels may be bool,
    integer or float, 0/1 or -1/1. Checking their values costs one synchronisation on an accelerator.
    """
    import torch

    for value, name in ((logits, logits_name), (labels, "labels")):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    if logits.device != labels.device:
        raise ValueError(f"{logits_name} and labels must be on one device, got {logits.device} and {labels.device}")
    for value, name in ((logits, logits_name), (labels, "labels")):
        check_dense(value, name)
    if not logits.is_floating_point():
        raise TypeError(f"{logits_name} must be floating point, got {logits.dtype}")
    if labels.is_complex():
        raise TypeError(f"labels must be bool, integer or floating point, got {labels.dtype}")
    flat_logits, flat_labels = _flat(logits, logits_name), _flat(labels, "labels")
    if flat_logits.shape != flat_labels.shape:
        raise ValueError(
            f"{logits_name} and labels must have equal length, got shapes {tuple(logits.shape)} and "
            f"{tuple(labels.shape)}"
        )
    if flat_logits.dtype in (torch.float16, torch.bfloat16):
        flat_logits = flat_logits.float()
    return flat_logits, _zero_one(flat_labels, flat_logits.dtype)


def check_logit_matrix(
    logits: torch.Tensor, labels: torch.Tensor, *, logits_name: str = "logits"
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Return logits, labels as 0.0 and 1.0, and which are known (None for all), each of shape (n, k)."""
    import torch

    for value, name in ((logits, logits_name), (labels, "labels")):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
        check_dense(value, name)
    if logits.device != labels.device:
        raise ValueError(f"{logits_name} and labels must be on one device, got {logits.device} and {labels.device}")
    if not logits.is_floating_point():
        raise TypeError(f"{logits_name} must be floating point, got {logits.dtype}")
    if labels.is_complex():
        raise TypeError(f"labels must be bool, integer or floating point, got {labels.dtype}")
    if logits.ndim != 2 or logits.shape[1] == 0:
        raise ValueError(f"{logits_name} must have shape (n, k), one column per label, got {tuple(logits.shape)}")
    if labels.shape != logits.shape:
        raise ValueError(
            f"{logits_name} and labels must have equal shapes, got {tuple(logits.shape)} and {tuple(labels.shape)}"
        )
    wide = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    if not labels.is_floating_point():
        zero_one = _zero_one(labels.reshape(-1), wide.dtype).view(labels.shape)
        return wide, zero_one, None
    known = ~labels.isnan()
    if known.all():
        return wide, _zero_one(labels.reshape(-1), wide.dtype).view(labels.shape), None
    zero_one = torch.zeros_like(wide)
    zero_one[known] = _zero_one(labels[known], wide.dtype)
    return wide, zero_one, known


def check_dense(tensor: torch.Tensor, name: str) -> None:
    """Raise if a tensor has no values in memory (``meta``), or is sparse, quantised or nested."""
    import torch

    if tensor.layout != torch.strided or tensor.is_nested:
        kind = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
        raise TypeError(f"{name} must be a dense tensor, got a {kind} one; use to_dense(), or to_padded_tensor(...)")
    if tensor.is_quantized:
        raise TypeError(f"{name} must not be quantised, got {tensor.dtype}; use dequantize()")
    if tensor.is_meta:
        raise TypeError(f"{name} must hold values, got a tensor on the device 'meta', which holds none")


def _flat(tensor: torch.Tensor, name: str) -> torch.Tensor:
    if tensor.ndim == 1:
        return tensor
    if tensor.ndim == 2 and tensor.shape[1] == 1:
        return tensor[:, 0]
    raise ValueError(f"{name} must have shape (n,) or (n, 1), got {tuple(tensor.shape)}")


def _zero_one(labels: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return labels as 0.0 and 1.0, or raise an error that shows what else was found."""
    import torch

    if labels.dtype == torch.bool:
        return labels.to(dtype)
    if labels.dtype in (torch.uint16, torch.uint32, torch.uint64):  # torch has few operations for them
        labels = labels.float()
    if torch.equal(labels, labels.sign().square_()):  # several times as fast as a comparison, which allocates booleans
        return labels.to(dtype)
    positive = labels > 0
    if torch.equal(labels, 2 * positive.to(labels.dtype) - 1):
        return positive.to(dtype)
    raise ValueError(f"labels must hold only 0/1 or only -1/1, found the values {_first_five(torch.unique(labels))}")


def check_elementwise(result: Any, argument: torch.Tensor, name: str, *, constant: bool = False) -> torch.Tensor:
    """Return what a user's function made of ``argument``, if it is a floating-point tensor of the same shape.

    With ``constant`` it may also be one number for all elements, of shape ().
    """
    import torch

    if not isinstance(result, torch.Tensor) or not result.is_floating_point():
        found = result.dtype if isinstance(result, torch.Tensor) else brief(result)
        raise TypeError(f"{name} must return a floating-point tensor, got {found}")
    if result.shape != argument.shape and not (constant and result.ndim == 0):
        raise ValueError(
            f"{name} must be elementwise: given shape {tuple(argument.shape)}, it returned {tuple(result.shape)}"
        )
    return result


def check_module(value: torch.nn.Module, name: str) -> torch.nn.Module:
    """Return ``value`` if it is a torch module."""
    import torch

    if not isinstance(value, torch.nn.Module):
        raise TypeError(f"{name} must be a torch.nn.Module, got {brief(value)}")
    return value


def check_trainable(model: torch.nn.Module) -> None:
    """Raise if no parameter of ``model`` can be trained."""
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError("model has no parameter with requires_grad=True, so there is nothing to train")


def check_logit_count(logits: torch.Tensor, n_inputs: int) -> torch.Tensor:
    """Return the output of a model for ``n_inputs`` examples as a flat tensor, one floating-point logit per example."""
    import torch

    if isinstance(logits, torch.Tensor):
        check_dense(logits, "the output of model")
    if not isinstance(logits, torch.Tensor) or not logits.is_floating_point():
        found = logits.dtype if isinstance(logits, torch.Tensor) else type(logits).__name__
        raise TypeError(f"model must return a floating-point tensor of logits, got {found}")
    flat = _flat(logits, "the output of model")
    if flat.shape[0] != n_inputs:
        raise ValueError(f"model must return one logit for each of {n_inputs} inputs, got shape {tuple(logits.shape)}")
    return flat


def check_ratio(ratio: Sequence[float], name: str = "ratio") -> tuple[float, float]:
    """Return ``(positive part, negative part)`` as two floats above 0."""
    if not isinstance(ratio, Sequence | np.ndarray) or getattr(ratio, "ndim", 1) == 0 or len(ratio) != 2:
        raise ValueError(f"{name} must be two numbers, (positive part, negative part), got {brief(ratio)}")
    return check_positive(ratio[0], f"{name}[0]"), check_positive(ratio[1], f"{name}[1]")


def check_class_sizes(n_positive: int, n_negative: int, least: int, why: str) -> None:
    """Raise if a class has fewer than ``least`` rows."""
    if min(n_positive, n_negative) < least:
        raise ValueError(
            f"each class needs at least {least} rows {why}, found {n_positive} positive and {n_negative} negative; "
            "give more data"
        )
