"""Thresholds that follow the quantiles of the logits from batch to batch.

For a class with hardness logits ``u`` (``-z`` for a positive, ``z`` for a negative) and a share ``q`` of hard examples,
the threshold ``t`` approaches the ``1 - q`` quantile of ``u`` by

    t <- t + eta d (mean[u >= t] - q),        d <- d + eta (mean |u - t| - d)

The step is proportional to the average distance ``d`` of earlier batches, so the unit of the logits does not matter,
and the expected step vanishes at the quantile. The first batch sets ``t`` and ``d`` to its own values.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import nn

from tpauc.losses._hardness import constant
from tpauc.losses._objective import full_precision
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
        self._inverse_shares = tuple(1.0 / share for share in self._shares)
        self.register_buffer("levels", torch.tensor([-UNSET if share == 1.0 else UNSET for share in self._shares]))
        self.register_buffer("distances", torch.zeros(2))

    @torch.no_grad()
    def forward(self, logits: torch.Tensor, y: torch.Tensor, update: bool) -> Selection:
        """Return the selection by the current thresholds; with ``update``, learn from the batch afterwards."""
        positive = y > 0.5
        u = torch.where(positive, -logits, logits)
        levels = self.levels.to(u)
        if UNSET in levels.tolist():
            levels = torch.where(levels == UNSET, self._quantiles(u, y), levels)
            if update:
                self._store(levels, u, y)
        own = _of_its_class(positive, levels)
        selected = torch.where(u < own, 0.0, _of_its_class(positive, constant(self._inverse_shares, u)))
        if update:
            self._step(u, y, own, selected)
        return Selection(selected, levels)  # a NaN is selected, so that it shows in the loss

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
        """Set the thresholds that have changed, and the distances of their classes from the batch."""
        means = self._class_means(u, y, _of_its_class(y > 0.5, levels), torch.zeros_like(u))
        for k, (new, old, mean) in enumerate(zip(levels.tolist(), self.levels.tolist(), means, strict=True)):
            distance = 0.0 if mean is None else mean[1]
            if math.isfinite(new) and math.isfinite(distance) and new != old:
                self.levels[k], self.distances[k] = new, distance

    def _step(self, u: torch.Tensor, y: torch.Tensor, own: torch.Tensor, weight: torch.Tensor) -> None:
        levels, distances = self.levels.tolist(), self.distances.tolist()
        for k, mean in enumerate(self._class_means(u, y, own, weight)):
            if mean is None:
                continue
            moved = levels[k] + self._rate * distances[k] * self._shares[k] * (mean[0] - 1.0)
            averaged = distances[k] + self._rate * (mean[1] - distances[k])
            # Infinite or NaN logits must not stay in the state.
            if math.isfinite(moved) and math.isfinite(averaged):
                levels[k], distances[k] = moved, averaged
        self.levels.copy_(self.levels.new_tensor(levels))
        self.distances.copy_(self.distances.new_tensor(distances))

    def _class_means(
        self, u: torch.Tensor, y: torch.Tensor, own: torch.Tensor, weight: torch.Tensor
    ) -> list[tuple[float, float] | None]:
        """Return the mean weight and the mean ``|u - t|`` of each class, None for a class without examples."""
        distance = (u - own).abs_()
        if 1.0 in self._shares:
            distance = torch.where(own == -UNSET, 0.0, distance)
        with full_precision(u.device):
            sums = torch.stack((y, 1.0 - y)) @ torch.stack((weight, distance, torch.ones_like(u)), 1)
        totals: list[list[float]] = sum_over_processes(sums, self._across_processes).tolist()
        return [(total / size, far / size) if size > 0.0 else None for total, far, size in totals]


def _of_its_class(positive: torch.Tensor, of_classes: torch.Tensor) -> torch.Tensor:
    """Return for every example the number of its class, from that of the positives and that of the negatives."""
    return torch.where(positive, of_classes[0], of_classes[1])


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
