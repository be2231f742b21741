"""Thresholds that follow the quantiles of the logits from batch to batch.

For a class with hardness logits ``u`` (``-z`` for a positive, ``z`` for a negative) and a share ``q`` of hard examples,
the threshold ``t`` approaches the ``1 - q`` quantile of ``u`` by

    t <- t + eta d (mean[u >= t] - q),        d <- d + eta (mean |u - t| - d)

The step is proportional to the average distance ``d`` of earlier batches, so the unit of the logits does not matter,
and the expected step vanishes at the quantile. The first batch sets ``t`` and ``d`` to its own values.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn

from tpauc.losses._hardness import constant
from tpauc.losses.distributed import gather_columns, sum_over_processes
from tpauc.region import Region, hard_mass

UNSET = float("inf")  # a level before the first training batch


class Selection(NamedTuple):
    """The hard examples of a batch."""

    weight: torch.Tensor  # shape (n,): [selected] / share
    levels: torch.Tensor  # shape (2,): the thresholds, in hardness logits; unset for a class that was never seen


class TrackedThresholds(nn.Module):
    """The thresholds of both classes; examples at or above them in hardness are selected.

    Parameters
    ----------
    region : Region
        The shares of hard positives and of hard negatives. A share of 1 selects all examples.
    rate : float
        The step size ``eta``.
    across_processes : bool
        Whether batches consist of the examples of all processes.
    """

    levels: torch.Tensor  # shape (2,): positives, negatives; -inf for a share of 1
    distances: torch.Tensor  # shape (2,)

    def __init__(self, region: Region, rate: float, across_processes: bool) -> None:
        super().__init__()
        self._shares, self._rate, self._across_processes = (region.alpha, region.beta), rate, across_processes
        self.register_buffer("levels", torch.tensor([-UNSET if share == 1.0 else UNSET for share in self._shares]))
        self.register_buffer("distances", torch.zeros(2))

    @torch.no_grad()
    def forward(self, logits: torch.Tensor, y: torch.Tensor, update: bool) -> Selection:
        """Return the selection by the current thresholds; with ``update``, learn from the batch afterwards."""
        u = (1.0 - 2.0 * y) * logits
        levels = self.levels.to(u)
        if bool((levels == UNSET).any()):
            levels = torch.where(levels == UNSET, self._quantiles(u, y), levels)
            if update:
                self._store(levels, u, y)
        selected = ~(u < _by_class(levels, y))  # a NaN is selected, so that it shows in the loss
        weight = selected / _by_class(constant(self._shares, u), y)
        if update:
            self._step(u, y, selected)
        return Selection(weight, levels)

    @torch.no_grad()
    def move_to_quantiles(self, logits: torch.Tensor, y: torch.Tensor) -> None:
        """Set the thresholds to the quantiles of the given examples, for classes that they have."""
        u = (1.0 - 2.0 * y) * logits
        found = self._quantiles(u, y)
        self._store(torch.where(found == UNSET, self.levels.to(u), found), u, y)

    def _quantiles(self, u: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the thresholds of the global batch, shape (2,); unset for a class without finite ones."""
        (everyone, labels), _ = gather_columns(torch.stack((u, y)), self._across_processes)
        found = [
            upper_quantile(everyone[members], share) if share < 1.0 else everyone.new_tensor(-UNSET)
            for members, share in zip((labels > 0.5, labels < 0.5), self._shares, strict=True)
        ]
        levels = torch.stack(found)
        usable = torch.isfinite(levels) | (constant(self._shares, u) == 1.0)
        return torch.where(usable, levels, UNSET)

    def _store(self, levels: torch.Tensor, u: torch.Tensor, y: torch.Tensor) -> None:
        _, distances, _ = self._class_means(u, y, levels, torch.zeros_like(u))
        changed = torch.isfinite(levels) & torch.isfinite(distances) & (levels != self.levels.to(u))
        self.distances.copy_(torch.where(changed, distances, self.distances.to(u)))
        self.levels.copy_(torch.where(changed, levels, self.levels.to(u)))

    def _step(self, u: torch.Tensor, y: torch.Tensor, selected: torch.Tensor) -> None:
        levels, distances = self.levels.to(u), self.distances.to(u)
        fraction, distance, present = self._class_means(u, y, levels, selected.to(u.dtype))
        moved = levels + self._rate * distances * (fraction - constant(self._shares, u))
        averaged = distances + self._rate * (distance - distances)
        # Infinite or NaN logits must not stay in the state.
        usable = present & torch.isfinite(moved) & torch.isfinite(averaged)
        self.levels.copy_(torch.where(usable, moved, levels))
        self.distances.copy_(torch.where(usable, averaged, distances))

    def _class_means(
        self, u: torch.Tensor, y: torch.Tensor, levels: torch.Tensor, selected: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the mean selection and the mean ``|u - t|`` of each class, and whether it has examples; shape (2,)."""
        own = _by_class(levels, y)
        distance = torch.where(torch.isfinite(own), (u - own).abs(), 0.0)
        rows = torch.stack((selected, distance, torch.ones_like(u)))
        total = sum_over_processes(torch.stack((rows @ y, rows @ (1.0 - y))), self._across_processes)
        size = total[:, 2].clamp_min(1.0)
        return total[:, 0] / size, total[:, 1] / size, total[:, 2] > 0.0


def _by_class(values: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the first of two values at positives and the second at negatives."""
    return torch.where(y > 0.5, values[0], values[1])


def upper_quantile(values: torch.Tensor, share: float) -> torch.Tensor:
    """Return, along the last axis, a number between the ``floor(n * share)`` largest values, at least 1, and the rest.

    It is ``inf`` without values. Halfway, so that rounding does not change which values are above it.
    """
    n = values.shape[-1]
    if n == 0:
        return values.new_full(values.shape[:-1], UNSET)
    count = max(1, hard_mass(n, share))
    if count == n:
        return values.min(-1).values - 1.0
    largest = values.topk(count + 1, dim=-1).values
    return (largest[..., -1] + largest[..., -2]) / 2
