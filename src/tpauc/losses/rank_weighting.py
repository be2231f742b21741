"""Weightings by rank in the class, without gradient: the region determines which examples count.

`Anchored` has a soft border of the region, `TruncatedSide` (for truncated losses) a sharp one.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import torch

from tpauc._validation import check_positive
from tpauc.losses._hardness import Hardness, Weights, log_sigmoid
from tpauc.losses.weighting import Weighting
from tpauc.region import Region, hard_mass

_LEAST_LOG_WEIGHT = 40.0  # minus the logarithm of a weight that float32 can divide by any class size


class RankWeighting(Weighting):
    """Weights by rank in the class, without gradient; an increasing transform of the scores does not change them."""

    def __call__(self, hardness: torch.Tensor) -> torch.Tensor:
        """Return the weights of the examples of one class, given their hardness or any increasing function of it."""
        weight = self.of_rank(mid_ranks(hardness), hardness.shape[-1])
        return weight / weight.mean().clamp_min(torch.finfo(weight.dtype).tiny)

    @abstractmethod
    def of_rank(self, rank: torch.Tensor, n: int) -> torch.Tensor:
        """Return the weights, up to a factor, of ranks in (0, 1) among ``n`` examples; the hardest rank is near 1."""

    def weigh(self, hardness: Hardness) -> Weights:
        return Weights(self(hardness.logit))

    def in_rows(self, hardness: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
        """Return the weights of the members of each row, 0 for others; both tensors have shape (k, n)."""
        weight = self._of_members(hardness.detach(), members) * members
        mean = weight.sum(1, keepdim=True) / members.sum(1, keepdim=True).clamp_min(1)
        return weight / mean.clamp_min(torch.finfo(weight.dtype).tiny)

    @abstractmethod
    def _of_members(self, hardness: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
        """Return the weights, up to a factor, of the members of each row."""

    def __repr__(self) -> str:
        return _text(self)


def _text(weighting: Any) -> str:
    """Return a dataclass as Python writes it, without minima of 0: the text of a corner does not mention them."""
    values = ((field.name, getattr(weighting, field.name)) for field in fields(weighting))
    given = (f"{name}={value!r}" for name, value in values if not (name.startswith("min_") and value == 0.0))
    return f"{type(weighting).__name__}({', '.join(given)})"


def mid_ranks(hardness: torch.Tensor) -> torch.Tensor:
    """Return ranks in (0, 1), the hardest near 1; examples of equal hardness share the middle of their ranks."""
    ordered = hardness.detach().sort().values
    below = torch.searchsorted(ordered, hardness.detach())
    up_to = torch.searchsorted(ordered, hardness.detach(), right=True)
    return (below + up_to).to(hardness.dtype) / (2 * max(hardness.shape[-1], 1))


def mid_ranks_in_rows(hardness: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
    """Return `mid_ranks` among the members of each row, shape (k, n); the values at others are not used."""
    size = members.sum(1, keepdim=True)
    hidden = torch.where(members, hardness, torch.inf)  # behind all members
    ordered = hidden.sort(1).values
    below = torch.searchsorted(ordered, hidden)
    up_to = torch.searchsorted(ordered, hidden, right=True).minimum(size)
    return (below + up_to).to(hardness.dtype) / (2 * size.clamp_min(1))


@dataclass(frozen=True, repr=False)
class AnchoredSide(RankWeighting):
    """One class of `Anchored`: ``sigmoid((rank - (1 - share)) / tau)``, in a rectangle with a second border."""

    share: float
    tau: float
    min_share: float = 0.0

    def of_rank(self, rank: torch.Tensor, n: int) -> torch.Tensor:
        # The hardest rank is at least 1/2. If its weight could underflow, weights are relative to the largest one.
        if n == 0 or not self._may_underflow:
            return torch.sigmoid((rank - (1.0 - self.share)) / self.tau)
        log_weight = self._log_weight(rank)
        return (log_weight - log_weight.max()).exp_()

    @property
    def _may_underflow(self) -> bool:
        return 0.5 - self.share > _LEAST_LOG_WEIGHT * self.tau or self.min_share > 0.0

    def _log_weight(self, rank: torch.Tensor) -> torch.Tensor:
        tau = max(self.tau, torch.finfo(rank.dtype).tiny)  # a smaller tau may give an infinite quotient
        log_weight = log_sigmoid((rank - (1.0 - self.share)) / tau)
        if self.min_share:
            log_weight = log_weight + log_sigmoid(((1.0 - self.min_share) - rank) / tau)
        return log_weight

    def _of_members(self, hardness: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
        rank = mid_ranks_in_rows(hardness, members)
        if hardness.shape[1] == 0 or not self._may_underflow:
            return torch.sigmoid((rank - (1.0 - self.share)) / self.tau)
        lowest = torch.finfo(rank.dtype).min
        log_weight = torch.where(members, self._log_weight(rank), lowest)
        return (log_weight - log_weight.amax(1, keepdim=True)).exp_()


@dataclass(frozen=True, repr=False)
class TruncatedSide(RankWeighting):
    """One class of a truncated loss: 1 for the examples in the region, at least one, 0 for the rest.

    They are the ``floor(n * share)`` hardest ones without the ``floor(n * min_share)`` hardest.
    """

    share: float
    min_share: float = 0.0

    def of_rank(self, rank: torch.Tensor, n: int) -> torch.Tensor:
        weight = torch.zeros_like(rank)
        if n:
            first, last = self.selected(n)
            weight[rank.topk(last).indices[first:]] = 1.0
        return weight

    def _of_members(self, hardness: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
        order = torch.where(members, hardness, -torch.inf).argsort(1, descending=True)
        borders = [self.selected(n) for n in members.sum(1).tolist()]
        first, last = torch.tensor(borders, device=hardness.device).reshape(-1, 2).T.unsqueeze(2)
        places = torch.arange(hardness.shape[1], device=hardness.device)
        chosen = ((places >= first) & (places < last)).to(hardness.dtype)
        return torch.zeros_like(hardness).scatter_(1, order, chosen)

    def selected(self, n: int) -> tuple[int, int]:
        """Return the first selected place among ``n`` examples, 0 for the hardest, and the first one beyond."""
        last = max(1, hard_mass(n, self.share))
        return min(hard_mass(n, self.min_share) if self.min_share else 0, last - 1), last


@dataclass(frozen=True, repr=False)
class Anchored(Weighting):
    """Weights anchored to the region: by rank in the class instead of by absolute score.

    A positive of rank ``r`` in (0, 1), 1 the hardest, has the weight ``sigmoid((r - (1 - alpha)) / tau)``, a negative
    likewise with ``beta``; the weights of a class are scaled to mean 1 and have no gradient. The region is a parameter,
    so there is no gamma to search; ``tau -> 0`` selects exactly the region.

    A rectangle has a second border: with ``min_alpha`` above 0 the weight of a positive is also multiplied by
    ``sigmoid((1 - min_alpha - r) / tau)``. The lower-left partial AUC of recommenders, ``TPR <= a``, has ``alpha = 1``
    and ``min_alpha = 1 - a``: the users' hardest items, which no list would show, do not count.

    Parameters
    ----------
    alpha, beta : float
        The region, as in `tpauc.Region`.
    tau : float, default=0.1
        Width of the border, as a share of the class.
    min_alpha, min_beta : float, default=0.0
        Shares of the hardest positives and negatives that do not count, as in `tpauc.Region`.

    Examples
    --------
    >>> hardness = torch.tensor([0.1, 0.4, 0.6, 0.9])
    >>> Anchored(alpha=0.5, beta=0.5, tau=0.1).for_positives()(hardness)
    tensor([0.0460, 0.4454, 1.5546, 1.9540])
    """

    alpha: float
    beta: float
    tau: float = 0.1
    min_alpha: float = 0.0
    min_beta: float = 0.0

    def __post_init__(self) -> None:
        region = Region(self.alpha, self.beta, self.min_alpha, self.min_beta)
        for name in ("alpha", "beta", "min_alpha", "min_beta"):
            object.__setattr__(self, name, getattr(region, name))
        object.__setattr__(self, "tau", check_positive(self.tau, "tau"))

    def __repr__(self) -> str:
        return _text(self)

    def weigh(self, hardness: Hardness) -> Weights:
        raise TypeError("Anchored weighs each class by its own share: call for_positives() or for_negatives() first")

    def for_positives(self) -> Weighting:
        return AnchoredSide(self.alpha, self.tau, self.min_alpha)

    def for_negatives(self) -> Weighting:
        return AnchoredSide(self.beta, self.tau, self.min_beta)
