"""Every check of user input, and every message.

A mistake is a ``ValueError`` (or ``TypeError`` where the kind of object is wrong) that names the argument, the rule
and the value found. Nothing is dropped or repaired. torch is only touched by functions that are handed tensors, so
this module imports without it.
"""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
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


def check_open_share(value: float, name: str) -> float:
    """Return ``value`` as a float in (0, 1)."""
    number = check_number(value, name)
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} must be in (0, 1), got {value!r}")
    return number


def check_number(value: float, name: str) -> float:
    """Return ``value`` as a finite float; strings and booleans are not numbers here.

    NumPy's float16 and float32 are read as they print: ``np.float32(0.7)`` is 0.7, not 0.699999988, so that a share
    selects as many examples as it says.
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
    low_precision = isinstance(scalar, np.float16 | np.float32)
    return float(np.format_float_scientific(scalar) if low_precision else scalar)


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
        if not weight[side].any():
            raise ValueError(f"sample_weight is zero for every {name} example")
    return weight


# -------------------------------------------------------------------------------------------------------- tensors


def check_logits_and_labels(
    logits: torch.Tensor, labels: torch.Tensor, *, logits_name: str = "logits"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return flat logits and flat labels in {0, 1} of the logits' computing type.

    Shapes ``(n,)`` and ``(n, 1)`` are accepted for each. Half-precision logits are computed on in float32. Labels may
    be bool, integer or float, 0/1 or -1/1. A look at the label values costs one synchronisation on an accelerator.
    """
    import torch

    for value, name in ((logits, logits_name), (labels, "labels")):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
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
    if flat_logits.device != flat_labels.device:
        raise ValueError(
            f"{logits_name} and labels must be on one device, got {flat_logits.device} and {flat_labels.device}"
        )
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
    if torch.equal(labels, 2 * zero_one - 1):
        return positive.to(dtype)
    found = torch.unique(labels)
    shown = ", ".join(f"{value:g}" for value in found[:5].tolist()) + (", ..." if found.numel() > 5 else "")
    raise ValueError(f"labels must hold only 0/1 or only -1/1, found the values {shown}")


# ------------------------------------------------------------------------------------------------------- sampling


def check_both_classes(positive: BoolArray, name: str) -> tuple[int, int]:
    """Return the numbers of positives and negatives, each at least 1."""
    n_positive = int(np.count_nonzero(positive))
    if n_positive == 0 or n_positive == positive.size:
        missing = "positive" if n_positive == 0 else "negative"
        raise ValueError(f"{name} has no {missing} example among its {positive.size}; both classes are needed")
    return n_positive, positive.size - n_positive


def check_ratio(ratio: Sequence[float], name: str = "ratio") -> tuple[float, float]:
    """Return ``(positive part, negative part)`` as two floats above 0."""
    if not isinstance(ratio, Sequence | np.ndarray) or len(ratio) != 2:
        raise ValueError(f"{name} must be two numbers, (positive part, negative part), got {ratio!r}")
    return check_positive(ratio[0], f"{name}[0]"), check_positive(ratio[1], f"{name}[1]")


def check_replica(num_replicas: int | None, rank: int | None) -> tuple[int, int] | None:
    """Return ``(num_replicas, rank)``, or None where both are to be asked of torch.distributed."""
    if num_replicas is None and rank is None:
        return None
    if num_replicas is None or rank is None:
        raise ValueError(f"give both num_replicas and rank or neither, got {num_replicas!r} and {rank!r}")
    replicas, number = check_count(num_replicas, "num_replicas"), check_count(rank, "rank", at_least=0)
    if number >= replicas:
        raise ValueError(f"rank must be below num_replicas={replicas}, got {rank!r}")
    return replicas, number


def check_batch_splits(batch_size: int, num_replicas: int) -> None:
    """Raise if a global batch has fewer examples than there are processes to share it."""
    if batch_size < num_replicas:
        raise ValueError(
            f"batch_size is that of all processes together and must be at least their number, {num_replicas}, "
            f"got {batch_size}"
        )


def check_sampler_state(
    state: Mapping[str, Any], fields: Collection[str], fingerprint: Mapping[str, Any]
) -> tuple[int, int]:
    """Return the epoch and position of a sampler's state that has all ``fields`` and fits the sampler."""
    if not isinstance(state, Mapping):
        raise TypeError(f"state must be what state_dict() returns, got {type(state).__name__}")
    if missing := [field for field in fields if field not in state]:
        raise ValueError(f"state must hold {', '.join(fields)}; it lacks {', '.join(missing)}")
    found = state["fingerprint"]
    if found != fingerprint:
        found = found if isinstance(found, Mapping) else {}
        differences = ", ".join(
            f"{key}={fingerprint.get(key)!r} but the state has {found.get(key)!r}"
            for key in sorted({*fingerprint, *found})
            if fingerprint.get(key) != found.get(key)
        )
        raise ValueError(f"state comes from a sampler of other data or settings: this one has {differences}")
    epoch = check_count(state["epoch"], "state['epoch']", at_least=0)
    return epoch, check_count(state["position"], "state['position']", at_least=0)


def check_position(position: int, n_batches: int) -> None:
    """Raise if more batches are said to be done than an epoch has."""
    if position > n_batches:
        raise ValueError(f"position must be at most {n_batches}, the batches of an epoch, got {position}")


def check_length(values: npt.NDArray[Any], name: str, length: int, of: str) -> None:
    """Raise if a one-dimensional array has another length than ``of``."""
    if values.size != length:
        raise ValueError(f"{name} must have one value for each of the {length} {of}, got {values.size}")


def check_may_update(resuming: bool, epoch: int, position: int) -> None:
    """Raise if the hard examples of a half-finished epoch would be replaced."""
    if resuming:
        raise RuntimeError(
            f"update() must wait: epoch {epoch} is resumed at batch {position}, with the selection that it began with; "
            "write `if not sampler.resuming: sampler.update(scores)`"
        )


# ------------------------------------------------------------------------------------------------------- streaming


def check_finite(tensor: torch.Tensor, name: str) -> None:
    """Raise if a flat tensor holds NaN or infinite values; costs one synchronisation on an accelerator."""
    bad = ~tensor.isfinite()
    if bad.any():
        positions = bad.nonzero()[:, 0]
        raise ValueError(
            f"{name} must be finite, found {positions.numel()} NaN or infinite values, the first is "
            f"{tensor[positions[0]].item()} at position {positions[0].item()}"
        )


def check_class_counts(n_positive: int, n_negative: int, name: str) -> None:
    """Raise if the labels called ``name`` lack a class."""
    if n_positive == 0 or n_negative == 0:
        missing = "positive" if n_positive == 0 else "negative"
        raise ValueError(
            f"{name} has no {missing} example among its {n_positive + n_negative}; both classes are needed"
        )


def check_not_synced(synced: bool) -> None:
    """Raise if a batch would be added to the gathered state of all processes, and lost with it."""
    if synced:
        raise RuntimeError(
            "the metric holds the state of all processes since sync(); call unsync() before adding a batch"
        )


def check_pair_count(n_positive: int, n_negative: int) -> int:
    """Return the number of pairs if it fits in a signed 64-bit integer."""
    if n_positive * n_negative >= 2**63:
        raise ValueError(
            f"{n_positive} positives and {n_negative} negatives in the region make 2**63 pairs or more, too many to "
            "count; take smaller alpha or beta"
        )
    return n_positive * n_negative


# --------------------------------------------------------------------------------------------------------- reports

COUNTERS = ("epoch", "step")  # keys of a history that only say when
_LARGEST_DRAWN = 1e300


def check_named_scores(
    y_true: npt.ArrayLike, scores: Mapping[str, npt.ArrayLike]
) -> tuple[BoolArray, dict[str, FloatArray]]:
    """Return boolean labels and the scores of each model, all of one length, finite, and small enough to be drawn."""
    if not isinstance(scores, Mapping):
        raise TypeError(f"scores must map the name of each model to its scores, got {type(scores).__name__}")
    if not scores:
        raise ValueError("scores must hold at least one model, got an empty mapping")
    checked = {}
    for name, values in scores.items():
        check_text(name, "the name of a model in scores")
        where = f"scores[{name!r}]"
        positive, checked[name] = check_labels_and_scores(y_true, values, score_name=where)
        largest = float(np.abs(checked[name]).max())
        if largest > _LARGEST_DRAWN:
            raise ValueError(f"{where} must lie within +-{_LARGEST_DRAWN:g} to be drawn, found {largest:g}")
    return positive, checked


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


def check_history(
    history: Sequence[Mapping[str, object]] | Mapping[str, Sequence[Mapping[str, object]]], *, only_run: str
) -> dict[str, Sequence[Mapping[str, object]]]:
    """Return the rows of each run; a bare list of rows becomes the run ``only_run``."""
    runs = dict(history) if isinstance(history, Mapping) else {only_run: history}
    for name, rows in runs.items():
        check_text(name, "the name of a run in history")
        if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Sequence):
            raise TypeError(f"history of {name!r} must be a list with a mapping for each epoch, got {rows!r:.80}")
        if not rows:
            raise ValueError(f"history of {name!r} must hold at least one epoch, got an empty list")
        for number, row in enumerate(rows):
            where = f"history of {name!r}, row {number}"
            if not isinstance(row, Mapping) or not all(isinstance(key, str) for key in row):
                raise TypeError(f"{where} must be a mapping with strings as keys, got {row!r:.80}")
            if "epoch" not in row:
                raise ValueError(f"{where} must have the key 'epoch', found {', '.join(map(repr, row)) or 'no key'}")
            check_number(row["epoch"], f"epoch of {where}")  # type: ignore[arg-type]  # any object: this is the check
    if not any(is_drawable(row[key]) for rows in runs.values() for row in rows for key in row if key not in COUNTERS):
        raise ValueError("history must hold a finite number besides the epoch, found none")
    return runs


def is_drawable(value: object) -> bool:
    """Whether a value is a number that fits on an axis."""
    plain = value.item() if isinstance(value, np.generic) else value
    return isinstance(plain, int | float) and abs(plain) <= _LARGEST_DRAWN


def check_page_path(out: str | os.PathLike[str]) -> Path:
    """Return the path of an HTML file that can be written; neither the file nor its folder is made yet."""
    path = Path(out)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"out must be the name of a file that ends in .html, got {str(out)!r}")
    if path.is_dir():
        raise IsADirectoryError(f"out must be a file, but {path} is a folder")
    existing = next(folder for folder in path.absolute().parents if folder.exists())
    if not existing.is_dir():
        raise NotADirectoryError(f"out: the folder {path.parent} cannot be made, because {existing} is a file")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise PermissionError(f"out: the folder {existing} is not writable")
    return path


def import_extra(module: str, extra: str) -> ModuleType:
    """Return an optional module, or say which extra of this package brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{module} is needed here and is not installed; run: pip install 'tpauc[{extra}]'", name=error.name
        ) from error


# -------------------------------------------------------------------------------------------------------- training


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


def check_momentum(momentum: float, nesterov: bool) -> float:
    """Return ``momentum`` in [0, 1), above 0 where Nesterov's step needs one."""
    number = check_non_negative(momentum, "momentum")
    if number >= 1.0:
        raise ValueError(f"momentum must be below 1, got {momentum!r}")
    if nesterov and number == 0.0:
        raise ValueError(f"nesterov=True needs a momentum above 0, got {momentum!r}")
    return number


def check_fields(given: Collection[str], known: Collection[str], what: str) -> None:
    """Raise if a mapping for ``what`` has a key that is not a field of it."""
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"{what} has no field {', '.join(map(repr, unknown))}; its fields are {', '.join(known)}")


def check_same_settings(saved: Mapping[str, Any], now: Mapping[str, Any], where: object) -> None:
    """Raise if a run is to be continued with other settings than it was begun with."""
    if differences := [f"{key}={now[key]!r} (there {saved.get(key)!r})" for key in now if saved.get(key) != now[key]]:
        raise ValueError(
            f"{where} holds a run with other settings: {', '.join(differences)}; "
            "go on with those, or choose another out"
        )


def check_module(value: torch.nn.Module, name: str) -> torch.nn.Module:
    """Return ``value`` if it is a torch module."""
    import torch

    if not isinstance(value, torch.nn.Module):
        raise TypeError(f"{name} must be a torch.nn.Module, got {value!r:.80}")
    return value


def check_trainable(model: torch.nn.Module) -> None:
    """Raise if no parameter of ``model`` can be trained."""
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError("model has no parameter with requires_grad=True, so there is nothing to train")


def check_rows(n_inputs: int, n_labels: int, name: str) -> None:
    """Raise if the inputs and the labels of the data called ``name`` differ in number, or there are none."""
    if n_inputs != n_labels:
        raise ValueError(f"{name} must have as many labels as inputs, got {n_labels} labels and {n_inputs} inputs")
    if n_inputs == 0:
        raise ValueError(f"{name} must hold at least one example, got none")


def check_logit_count(logits: torch.Tensor, n_inputs: int) -> torch.Tensor:
    """Return what a model made of ``n_inputs`` examples as a flat tensor, one floating-point logit for each."""
    import torch

    if not isinstance(logits, torch.Tensor) or not logits.is_floating_point():
        found = logits.dtype if isinstance(logits, torch.Tensor) else type(logits).__name__
        raise TypeError(f"model must return a floating-point tensor of logits, got {found}")
    flat = _flat(logits, "the output of model")
    if flat.shape[0] != n_inputs:
        raise ValueError(f"model must return one logit for each of {n_inputs} inputs, got shape {tuple(logits.shape)}")
    return flat


def check_path(value: str | os.PathLike[str], name: str) -> str:
    """Return a path as text."""
    if not isinstance(value, str | os.PathLike) or not isinstance(text := os.fspath(value), str):
        raise TypeError(f"{name} must be a path, got {value!r}")
    return check_text(text, name)


# --------------------------------------------------------------------------------------------------------- minimax

_RANGE_GRID = 1025


def check_weight_range(psi: Callable[[torch.Tensor], torch.Tensor], name: str) -> None:
    """Raise unless ``0 <= psi(t) <= psi(1) < inf`` on a fine grid in [0, 1]: the boxes of the saddle end at psi(1)."""
    import torch

    with torch.no_grad():
        weight = psi(torch.linspace(0.0, 1.0, _RANGE_GRID, dtype=torch.float64))
    smallest, largest, last = weight.min().item(), weight.max().item(), weight[-1].item()
    # The slack is for a psi found numerically, far below what would matter in a box.
    if not (smallest >= 0.0 and largest <= last * (1.0 + 1e-12) and math.isfinite(last)):
        raise ValueError(
            f"{name} must satisfy 0 <= psi(t) <= psi(1) for the minimax form, found psi(1) = {last:g} and values from "
            f"{smallest:g} to {largest:g}"
        )


def check_step_sizes(value: float | tuple[float, ...] | list[float], name: str) -> tuple[float, float]:
    """Return the step sizes of ``a`` and ``b``, each above 0, from one number for both or from two."""
    if not isinstance(value, tuple | list):
        size = check_positive(value, name)
        return size, size
    if len(value) != 2:
        raise ValueError(f"{name} must be one number or two, the steps of a and of b, got {value!r}")
    return check_positive(value[0], f"{name}[0]"), check_positive(value[1], f"{name}[1]")


def check_single_warmup(loss_warms_up: bool, warmup_epochs: int) -> None:
    """Raise if a loss that has a warm-up of its own is to get another."""
    if loss_warms_up and warmup_epochs:
        raise ValueError(f"loss is a WarmUp already; warmup_epochs must then be 0, got {warmup_epochs}")


def check_optimizer_fits(optimizer: str, n_minimax: int, loss_parameters: Collection[str]) -> None:
    """Raise if the optimiser would not move the parameters of the loss, or finds none to move by ascent."""
    if optimizer == "minimax" and n_minimax != 1:
        raise ValueError(f"optimizer='minimax' needs a MinimaxTPAUCLoss, found {n_minimax} in loss")
    if optimizer != "minimax" and n_minimax:
        raise ValueError(f"a MinimaxTPAUCLoss needs optimizer='minimax', got {optimizer!r}")
    if not n_minimax and loss_parameters:
        raise ValueError(f"loss has parameters that no optimizer here would move: {', '.join(loss_parameters)}")


def check_fresh_folder(resume: str, found: object) -> None:
    """Raise if a run that is not to be resumed would write over a checkpoint."""
    if resume == "never":
        raise FileExistsError(f"resume='never', but there is a checkpoint in {found}; choose another out, or remove it")


def check_patience(patience: int | None, has_validation: bool) -> None:
    """Raise if a run is to wait for a better validation TPAUC and has no validation data."""
    if patience is not None and not has_validation:
        raise ValueError(f"patience={patience} needs validation data, got validation=None")


# ---------------------------------------------------------------------------------------------------- command line


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


def check_named_columns(names: Sequence[str], where: object) -> None:
    """Raise if a column of the table called ``where`` has no name."""
    if "" in names:
        raise ValueError(
            f"{where}: column {names.index('') + 1} has no name (an index that pandas wrote?); name it, or leave it out"
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


def check_positive_value(typed: str | None, values: Sequence[Any], name: str) -> Any:
    """Return the one of two values that is the positive class: as typed by the user, or 1 of 0/1 and of -1/1."""
    if typed is not None:
        for value in values:
            if typed == str(value) or (isinstance(value, bool | float) and typed.lower() in _spellings(value)):
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
    if samples and all(isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d+,\d+\s*", value) for value in samples):
        raise ValueError(f"column {name!r} holds numbers with a decimal comma ({samples[0]!r}); write a point instead")


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


# ---------------------------------------------------------------------------------------------------- resampling


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


def check_real(is_real: bool, name: str, kind: object) -> None:
    """Raise if the column called ``name`` is of a kind that is no real number."""
    if not is_real:
        raise ValueError(f"{name} must hold real numbers, found {kind}")


def check_world_size(processes: int, environment: Mapping[str, str]) -> None:
    """Raise if ``torchrun`` has started another number of processes than are to train together."""
    started = environment.get("WORLD_SIZE")
    if "TORCHELASTIC_RUN_ID" in environment and started is not None and int(started) != processes:
        raise ValueError(f"torchrun has started {started} processes, but devices * nodes is {processes}")


def check_strategy(strategy: str, nodes: int) -> None:
    """Raise if processes on several machines are to be started from one of them."""
    if nodes > 1 and strategy in ("ddp_spawn", "ddp_fork"):
        raise ValueError(f"strategy={strategy!r} starts processes on one machine, got nodes={nodes}; use 'ddp'")


def check_other_file(path: Path | None, other: Path, rule: str) -> None:
    """Raise ``rule`` if two paths lead to the same file."""
    if path is not None and path.exists() and other.exists() and path.samefile(other):
        raise UsageError(f"{rule}, got {path} for both")


def check_card(card: Any, kind: str, fields: Mapping[str, type], where: object) -> dict[str, Any]:
    """Return the card of a run if it is one, with all ``fields``."""
    if not isinstance(card, dict) or card.get("kind") != kind:
        raise ValueError(f"{where} is not the card of a run of this version of tpauc")
    if wrong := [name for name, sort in fields.items() if not isinstance(card.get(name), sort)]:
        raise ValueError(f"{where} is damaged: {_listed(wrong)} is missing or not what it should be")
    return card


def check_column_lists(columns: Mapping[str, Any], kinds: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of a model by kind, as its card lists them."""
    lists = {kind: columns.get(kind) for kind in kinds}
    for kind, names in lists.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"the card of the run is damaged: columns[{kind!r}] must be a list of names, got {names!r}"
            )
    return {kind: tuple(names) for kind, names in lists.items() if names is not None}
