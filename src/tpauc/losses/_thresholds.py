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

from tpauc.losses._hardness import constant, inference
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

    Notes
    -----
    All tensors may have a leading axis of problems, each with thresholds of its own (`tpauc.MultiLabelLoss`).
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
    def forward(
        self, logits: torch.Tensor, y: torch.Tensor, update: bool, known: torch.Tensor | None = None
    ) -> Selection:
        """Return the selection by the current thresholds; with ``update``, learn from the batch afterwards.

        Examples whose ``known`` is 0.0 teach nothing; their weights are arbitrary.
        """
        members = class_members(y, known)
        positive = y > 0.5
        u = hardness_logits(logits, members)
        levels = self.levels.to(u)
        if bool(levels.max() == UNSET):  # a number would be compiled in by torch.compile, anew in every step
            levels = torch.where(levels == UNSET, self._quantiles(u, members), levels)
            if update:
                self._store(levels, u, members)
        own = _of_its_class(positive, levels)
        of_positives, of_negatives = constant(self._inverse_shares, u)
        selected = torch.where(u < own, 0.0, torch.lerp(of_negatives, of_positives, y))
        if update:
            with inference():  # nothing is returned that autograd may want to save
                self._step(u, members, own, selected)
        return Selection(selected, levels)  # a NaN is selected, so that it shows in the loss

    @torch.no_grad()
    def move_to_quantiles(self, logits: torch.Tensor, y: torch.Tensor) -> None:
        """Set the thresholds to the quantiles of the given examples, for classes that they have."""
        members = class_members(y)
        u = hardness_logits(logits, members)
        found = self._quantiles(u, members)
        self._store(torch.where(found == UNSET, self.levels.to(u), found), u, members)

    def _quantiles(self, u: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
        """Return the thresholds of the global batch, shape (2,); unset for a class without finite ones."""
        everyone, _ = gather_columns(torch.cat((u[..., None, :], members), -2), self._across_processes)
        found = [
            upper_quantile(values[inside > 0.5], share) if share < 1.0 else values.new_tensor(-UNSET)
            for values, *classes in everyone.view(math.prod(u.shape[:-1]), 3, everyone.shape[-1])
            for inside, share in zip(classes, self._shares, strict=True)
        ]
        levels = torch.stack(found).view(*u.shape[:-1], 2)
        usable = torch.isfinite(levels) | (constant(self._shares, u) == 1.0)
        return torch.where(usable, levels, UNSET)

    def _store(self, levels: torch.Tensor, u: torch.Tensor, members: torch.Tensor) -> None:
        """Set the thresholds that have changed, and the distances of their classes from the batch."""
        _, distances = self._class_means(u, members, _of_its_class(members[..., 0, :] > 0.5, levels))
        changed = torch.isfinite(levels) & torch.isfinite(distances) & (levels != self.levels)
        self._set(changed, levels, distances)

    def _step(self, u: torch.Tensor, members: torch.Tensor, own: torch.Tensor, weight: torch.Tensor) -> None:
        means, batch_distances = self._class_means(u, members, own, weight)
        levels, distances = self.levels.to(u), self.distances.to(u)
        steps = constant(tuple(self._rate * share for share in self._shares), u)
        moved = torch.addcmul(levels, steps * distances, means - constant(1.0, u))
        averaged = torch.lerp(distances, batch_distances, min(self._rate, 1.0))  # beyond 1 an average diverges
        # Infinite or NaN logits must not stay in the state; the means of a class without examples are NaN.
        self._set(torch.isfinite(moved + averaged), moved, averaged)

    def _set(self, where: torch.Tensor, levels: torch.Tensor, distances: torch.Tensor) -> None:
        self.levels.copy_(torch.where(where, levels.to(self.levels), self.levels))
        self.distances.copy_(torch.where(where, distances.to(self.distances), self.distances))

    def _class_means(
        self, u: torch.Tensor, members: torch.Tensor, own: torch.Tensor, weight: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean weight and the mean ``|u - t|`` of each class, NaN for a class without examples."""
        distance = (u - own).abs_()
        if 1.0 in self._shares:
            distance = torch.where(own == -UNSET, 0.0, distance)
        one = torch.ones_like(u)
        with full_precision(u.device):
            # Rows one after the other: columns side by side are several times as slow to write and to multiply.
            sums = members @ torch.stack((one if weight is None else weight, distance, one), -2).mT
        total, far, size = sum_over_processes(sums, self._across_processes).unbind(-1)
        return total / size, far / size


def class_members(y: torch.Tensor, known: torch.Tensor | None = None) -> torch.Tensor:
    """Return 1.0 for the members of each class, shape (2, n): positives, negatives."""
    return torch.stack((y, (constant(1.0, y) if known is None else known) - y), -2)


def hardness_logits(logits: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
    """Return ``-z`` for a positive and ``z`` for a negative."""
    return torch.sub(members[..., 1, :], members[..., 0, :]).mul_(logits)


def _of_its_class(positive: torch.Tensor, of_classes: torch.Tensor) -> torch.Tensor:
    """Return for every example the number of its class, from that of the positives and that of the negatives."""
    return torch.where(positive, of_classes[..., :1], of_classes[..., 1:])


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
