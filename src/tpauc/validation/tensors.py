"""Logits, labels and modules of torch, which is imported only by functions that are handed its objects."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from tpauc.validation.values import check_positive

if TYPE_CHECKING:
    import torch

_RANGE_GRID = 1025


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
    if labels.dtype in (torch.uint16, torch.uint32, torch.uint64):  # torch can hold them, and do little else with them
        labels = labels.float()
    if torch.equal(labels, labels.sign().square_()):  # several times as fast as a comparison, which makes booleans
        return labels.to(dtype)
    positive = labels > 0
    if torch.equal(labels, 2 * positive.to(labels.dtype) - 1):
        return positive.to(dtype)
    found = torch.unique(labels)
    shown = ", ".join(f"{value:g}" for value in found[:5].tolist()) + (", ..." if found.numel() > 5 else "")
    raise ValueError(f"labels must hold only 0/1 or only -1/1, found the values {shown}")


def check_finite(tensor: torch.Tensor, name: str) -> None:
    """Raise if a flat tensor holds NaN or infinite values; costs one synchronisation on an accelerator."""
    bad = ~tensor.isfinite()
    if bad.any():
        positions = bad.nonzero()[:, 0]
        raise ValueError(
            f"{name} must be finite, found {positions.numel()} NaN or infinite values, the first is "
            f"{tensor[positions[0]].item()} at position {positions[0].item()}"
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
