"""Losses and gradients of the last steps, kept on the device, looked at all together.

Asking a GPU for a number at every step would make it wait for the answer. So each step only notes its loss and the
largest magnitude in the gradient of each parameter; every now and then all notes are read at once, and the first one
that is NaN or infinite is found with its step and its cause. Nothing is saved before the notes have been read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn


class TrainingDivergedError(FloatingPointError):
    """A loss, a gradient, a weight or a score has become NaN or infinite.

    Parameters
    ----------
    epoch, step : int
        Where, each counted from 1; the step within its epoch.
    cause : str
        What was found.
    checkpoint : Path or None
        The last checkpoint with finite weights, None if there is none.

    Examples
    --------
    >>> print(TrainingDivergedError(2, 7, "the loss is nan", None))
    training stopped in epoch 2 at step 7: the loss is nan; nothing was saved before
    """

    def __init__(self, epoch: int, step: int, cause: str, checkpoint: Path | None) -> None:
        super().__init__(epoch, step, cause, checkpoint)
        self.epoch, self.step, self.cause, self.checkpoint = epoch, step, cause, checkpoint

    def __str__(self) -> str:
        kept = "nothing was saved before"
        if self.checkpoint is not None:
            kept = f"the last good checkpoint is {self.checkpoint}"
        return f"training stopped in epoch {self.epoch} at step {self.step}: {self.cause}; {kept}"


class NonFiniteError(Exception):
    """Raised by `VitalSigns.read`: how many steps ago, and what was wrong."""

    def __init__(self, steps_ago: int, cause: str) -> None:
        super().__init__(steps_ago, cause)
        self.steps_ago, self.cause = steps_ago, cause


class VitalSigns:
    """Notes of loss and gradient, one for each step.

    Parameters
    ----------
    parameters : iterable of (str, Parameter)
        Whose gradients to watch.

    Examples
    --------
    >>> weight = nn.Parameter(torch.ones(2))
    >>> signs = VitalSigns([("weight", weight)])
    >>> for factor in (1.0, float("inf")):
    ...     loss = (factor * weight).clamp_max(1.0).sum()
    ...     weight.grad = torch.full((2,), factor)
    ...     signs.note(loss)
    >>> signs.read(several_processes=False)
    Traceback (most recent call last):
    ...
    tpauc.training.vital_signs.NonFiniteError: (0, "the gradient of 'weight' is inf, at a loss of 2")
    """

    def __init__(self, parameters: Iterable[tuple[str, nn.Parameter]]) -> None:
        self._parameters = list(parameters)
        self._losses: list[torch.Tensor] = []
        self._gradients: list[torch.Tensor] = []

    def note(self, loss: torch.Tensor) -> None:
        """Note the loss and the gradients of a step, without waiting for them."""
        self._losses.append(loss.detach())
        if not self._parameters:
            return
        found = [_values(parameter.grad) for _, parameter in self._parameters]
        gradients = [values for values in found if values is not None]
        # The largest magnitude, not a sum of squares: that may overflow where every value is finite.
        largest = list(torch._foreach_norm(gradients, math.inf)) if gradients else []
        if len(gradients) < len(found):
            # Which parameters have a gradient may change from step to step; the others count as 0.
            nothing, rest = loss.detach().new_zeros(()), iter(largest)
            largest = [nothing if values is None else next(rest) for values in found]
        self._gradients.append(torch.stack(largest))

    def read(self, *, several_processes: bool) -> list[float]:
        """Return the losses noted since the last time, averaged over processes, or raise `NonFiniteError`."""
        if not self._losses:
            return []
        stacked = torch.stack(self._losses)
        if several_processes:
            # Losses of this package are those of the global batch already; of others the mean is.
            dist.all_reduce(stacked)
            stacked /= dist.get_world_size()
        losses: list[float] = stacked.tolist()
        gradients = torch.stack(self._gradients) if self._gradients else None
        self._losses, self._gradients = [], []
        bad_loss = next((note for note, loss in enumerate(losses) if not math.isfinite(loss)), len(losses))
        if gradients is not None and not gradients[:bad_loss].isfinite().all():
            # A gradient that is not finite spoils the weights, and so the next loss: the first of the two is the cause.
            bad = int((~gradients.isfinite()).any(dim=1).int().argmax())
            raise NonFiniteError(len(losses) - 1 - bad, self._gradient_at_fault(gradients[bad], losses[bad]))
        if bad_loss < len(losses):
            raise NonFiniteError(len(losses) - 1 - bad_loss, f"the loss is {losses[bad_loss]}")
        return losses

    def _gradient_at_fault(self, largest: torch.Tensor, loss: float) -> str:
        number = int((~largest.isfinite()).int().argmax())
        return f"the gradient of {self._parameters[number][0]!r} is {largest[number].item()}, at a loss of {loss:.6g}"


def _values(gradient: torch.Tensor | None) -> torch.Tensor | None:
    """Return the numbers of a gradient, None if there are none."""
    if gradient is not None and gradient.is_sparse:
        gradient = gradient.coalesce().values()
    return None if gradient is None or gradient.numel() == 0 else gradient


def first_not_finite(named: Iterable[tuple[str, Any]]) -> str | None:
    """Return the name of the first floating-point tensor that holds a NaN or an infinite value.

    Examples
    --------
    >>> first_not_finite([("good", torch.ones(2)), ("step", 3), ("bad", torch.tensor([1.0, float("nan")]))])
    'bad'
    """
    tensors = [(name, value) for name, value in named if isinstance(value, torch.Tensor) and value.is_floating_point()]
    for name, tensor in tensors:
        if not tensor.isfinite().all():
            return name
    return None
