"""Weightings by rank in the class, without gradient: the region determines which examples count.

`Anchored` has a soft border of the region, `TruncatedSide` (for truncated losses) a sharp one.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

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


def mid_ranks(hardness: torch.Tensor) -> torch.Tensor:
    """Return ranks in (0, 1), the hardest near 1; examples of equal hardness share the middle of their ranks."""
    ordered = hardness.detach().sort().values
    below = torch.searchsorted(ordered, hardness.detach())
    up_to = torch.searchsorted(ordered, hardness.detach(), right=True)
    return (below + up_to).to(hardness.dtype) / (2 * max(hardness.shape[-1], 1))


@dataclass(frozen=True)
class AnchoredSide(RankWeighting):
    """One class of `Anchored`: ``sigmoid((rank - (1 - share)) / tau)``."""

    share: float
    tau: float

    def of_rank(self, rank: torch.Tensor, n: int) -> torch.Tensor:
        # The hardest rank is at least 1/2. If its weight could underflow, weights are relative to the largest one.
        if n == 0 or 0.5 - self.share <= _LEAST_LOG_WEIGHT * self.tau:
            return torch.sigmoid((rank - (1.0 - self.share)) / self.tau)
        tau = max(self.tau, torch.finfo(rank.dtype).tiny)  # a smaller tau may give an infinite quotient
        log_weight = log_sigmoid((rank - (1.0 - self.share)) / tau)
        return (log_weight - log_weight.max()).exp_()


@dataclass(frozen=True)
class TruncatedSide(RankWeighting):
    """One class of a truncated loss: 1 for the ``floor(n * share)`` hardest examples, at least one, 0 for the rest."""

    share: float

    def of_rank(self, rank: torch.Tensor, n: int) -> torch.Tensor:
        weight = torch.zeros_like(rank)
        if n:
            weight[rank.topk(max(1, hard_mass(n, self.share))).indices] = 1.0
        return weight


@dataclass(frozen=True)
class Anchored(Weighting):
    """Weights anchored to the region: by rank in the class instead of by absolute score.

    A positive of rank ``r`` in (0, 1), 1 the hardest, has the weight ``sigmoid((r - (1 - alpha)) / tau)``, a negative
    likewise with ``beta``; the weights of a class are scaled to mean 1 and have no gradient. The region is a parameter,
    so there is no gamma to search; ``tau -> 0`` selects exactly the region.

    Parameters
    ----------
    alpha, beta : float
        The region, as in `tpauc.Region`.
    tau : float, default=0.1
        Width of the border, as a share of the class.

    Examples
    --------
    >>> hardness = torch.tensor([0.1, 0.4, 0.6, 0.9])
    >>> Anchored(alpha=0.5, beta=0.5, tau=0.1).for_positives()(hardness)
    tensor([0.0460, 0.4454, 1.5546, 1.9540])
    """

    alpha: float
    beta: float
    tau: float = 0.1

    def __post_init__(self) -> None:
        region = Region(self.alpha, self.beta)
        object.__setattr__(self, "alpha", region.alpha)
        object.__setattr__(self, "beta", region.beta)
        object.__setattr__(self, "tau", check_positive(self.tau, "tau"))

    def weigh(self, hardness: Hardness) -> Weights:
        raise TypeError("Anchored weighs each class by its own share: call for_positives() or for_negatives() first")

    def for_positives(self) -> Weighting:
        return AnchoredSide(self.alpha, self.tau)

    def for_negatives(self) -> Weighting:
        return AnchoredSide(self.beta, self.tau)
