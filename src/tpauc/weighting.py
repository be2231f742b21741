"""Weighting functions psi and their dual penalties phi.

An example of hardness ``t`` in [0, 1] (``1 - f`` for a positive, ``f`` for a negative) gets the weight ``psi(t)``. By
the paper's Proposition 3 each weighting belongs to a penalty on the weights,

    psi(t) = argmax over v in [0, 1] of  v * t - phi(v),     psi = (phi')^-1,     phi = integral of psi^-1,

so either one may be given: `Weighting.from_function` takes psi, `Weighting.from_penalty` takes phi, and the other is
found numerically (`tpauc.duality`).

| class | psi(t) | phi(v) |
| --- | --- | --- |
| `Polynomial` | t^(1/(gamma-1)) | v^gamma / gamma |
| `Exponential` | 1 - exp(-gamma t) | ((1-v)(log(1-v) - 1) + 1) / gamma |
| `Uniform` | 1 | 0 |
| `Anchored` | by rank inside the class, not by t | - |

Losses start from logits, so a weighting is evaluated from the *hardness logit* ``u`` (``-z`` for a positive, ``z`` for
a negative) with ``t = sigmoid(u)``. That keeps ``psi`` and its slope exact where ``t`` itself underflows: `Hardness`
carries all three of ``u``, ``t`` and ``1 - t``, each computed without cancellation.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from tpauc.duality import (
    Calibration,
    calibration_of,
    calibration_of_penalty,
    derivatives,
    invert_increasing,
    legendre_penalty,
    weight_from_penalty,
)
from tpauc.region import Region, hard_mass
from tpauc.validation import check_positive

TensorFunction = Callable[[torch.Tensor], torch.Tensor]


@functools.cache
def _made_once(values: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    with torch.inference_mode(False):
        return torch.tensor(values, dtype=dtype, device=device)


def constant(values: float | tuple[Any, ...], like: torch.Tensor) -> torch.Tensor:
    """Return numbers as a tensor of the type and device of ``like``, made once; never to be written to.

    On small batches an operation with a Python number takes twice the time of one with a tensor that is there already.
    """
    return _made_once(values, like.dtype, like.device)


def _log_sigmoid(logit: torch.Tensor) -> torch.Tensor:
    """Return ``log sigmoid``; `F.logsigmoid` fills a second buffer for its gradient, which on large batches costs."""
    return F.softplus(logit, beta=-1.0, threshold=40.0)  # exp(-40) is below the rounding of 40 in float64


class Hardness(NamedTuple):
    """The hardness of examples in the three forms that formulas need, each of shape (n,)."""

    logit: torch.Tensor
    value: torch.Tensor  # sigmoid(logit)
    rest: torch.Tensor  # 1 - value, as sigmoid(-logit)

    @classmethod
    def of(cls, logit: torch.Tensor) -> Hardness:
        """Return all three forms of the given hardness logits."""
        return cls(logit, torch.sigmoid(logit), torch.neg(logit).sigmoid_())


class Weights(NamedTuple):
    """Weights ``w`` of examples and how they turn with the hardness logit: ``dw/du = (1 - t) (elasticity w + bend)``.

    A power ``t^e`` has elasticity ``e`` and no bend; a weight without gradient has neither. ``bend`` None stands for 0.
    """

    value: torch.Tensor
    elasticity: float = 0.0
    bend: torch.Tensor | None = None

    def slope(self) -> torch.Tensor | None:
        """Return ``elasticity w + bend``, the derivative up to the factor ``1 - t``; None for 0."""
        if self.elasticity == 0.0:
            return self.bend
        slope = self.value * self.elasticity
        return slope if self.bend is None else slope.add_(self.bend)


class Weighting(ABC):
    """How much each example of a class counts. A function of its hardness, or of its rank in the class.

    Examples
    --------
    >>> Weighting.from_function(torch.sqrt)(torch.tensor([0.25]))
    tensor([0.5000])
    """

    @abstractmethod
    def weigh(self, hardness: Hardness) -> Weights:
        """Return the weights of examples, with their derivative in the hardness logit."""

    def for_positives(self) -> Weighting:
        """Return the weighting of the positive class; the same one unless a class says otherwise."""
        return self

    def for_negatives(self) -> Weighting:
        """Return the weighting of the negative class; the same one unless a class says otherwise."""
        return self

    @staticmethod
    def from_function(psi: TensorFunction) -> WeightingFunction:
        """Return the weighting with the given ``psi``, a differentiable elementwise function on [0, 1].

        Examples
        --------
        >>> sine = Weighting.from_function(lambda t: torch.sin(t * torch.pi / 2))
        >>> sine(torch.tensor([0.0, 1.0]))
        tensor([0., 1.])
        >>> sine.calibration().calibrated
        True
        """
        return FromFunction(psi)

    @staticmethod
    def from_penalty(phi: TensorFunction) -> WeightingFunction:
        """Return the weighting whose dual penalty is ``phi``, strictly convex and twice differentiable on [0, 1].

        Examples
        --------
        >>> cubic = Weighting.from_penalty(lambda v: v**3 / 3)
        >>> cubic(torch.tensor([0.25, 1.0]))  # the square root
        tensor([0.5000, 1.0000])
        """
        return FromPenalty(phi)


class WeightingFunction(Weighting):
    """A weighting ``psi`` of the hardness, with its dual penalty ``phi``."""

    @abstractmethod
    def __call__(self, hardness: torch.Tensor) -> torch.Tensor:
        """Return ``psi(hardness)``, elementwise, for hardness in [0, 1]."""

    def penalty(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the dual penalty ``phi(weight)``, elementwise, with ``phi(psi(0)) = 0``."""
        return legendre_penalty(self, weight)

    def inverse(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the hardness ``psi^-1(weight)``, which is also the slope ``phi'(weight)``."""
        return invert_increasing(self, weight)

    def weigh(self, hardness: Hardness) -> Weights:
        """Return ``psi(t)`` with its derivative in the hardness logit; here by automatic differentiation of psi."""
        with torch.no_grad():
            weight = self(hardness.value)
        if weight.shape != hardness.value.shape:
            raise ValueError(
                f"a weighting must return one weight an example: given shape {tuple(hardness.value.shape)}, "
                f"it returned {tuple(weight.shape)}"
            )
        (slope,) = derivatives(self, hardness.value, order=1)
        # dt/du = t (1 - t): an infinite slope at either end, as the square root has at 0, meets a zero there.
        bend = (slope * hardness.value).nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)
        return Weights(weight, bend=bend)

    def calibration(self) -> Calibration:
        """Report the paper's conditions on a calibrated weighting function, and which of them fail.

        Examples
        --------
        >>> print(Polynomial(gamma=3.0).calibration())
        calibrated: smooth, increasing, concave
        >>> print(Polynomial(gamma=1.5).calibration())
        not calibrated: (C) psi is not strictly concave
        """
        return calibration_of(self)

    def supremum(self) -> float:
        """Return ``psi(1)``, the largest weight of an increasing psi."""
        return float(self(torch.ones(1, dtype=torch.float64)))


@dataclass(frozen=True)
class Polynomial(WeightingFunction):
    """``psi(t) = t^(1/(gamma-1))`` with penalty ``phi(v) = v^gamma / gamma``.

    Parameters
    ----------
    gamma : float
        Above 1. Calibrated (strictly concave) for ``gamma > 2``; convex weightings are allowed, and reported by
        `Weighting.calibration`. The paper's tables give the exponent ``1/(gamma-1)``: see `from_exponent`.

    Examples
    --------
    >>> Polynomial(gamma=3.0)(torch.tensor([0.0, 0.25, 1.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    gamma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_positive(self.gamma, "gamma"))
        if self.gamma <= 1.0:
            raise ValueError(f"gamma must be above 1 for a polynomial weighting, got {self.gamma!r}")

    @classmethod
    def from_exponent(cls, exponent: float) -> Polynomial:
        """Return the weighting ``t^exponent``, that is ``gamma = 1 + 1/exponent``.

        Examples
        --------
        >>> Polynomial.from_exponent(0.5)
        Polynomial(gamma=3.0)
        """
        return cls(1.0 + 1.0 / check_positive(exponent, "exponent"))

    @property
    def exponent(self) -> float:
        """The exponent ``1/(gamma-1)``."""
        return 1.0 / (self.gamma - 1.0)

    def __call__(self, hardness: torch.Tensor) -> torch.Tensor:
        return hardness.pow(self.exponent)

    def penalty(self, weight: torch.Tensor) -> torch.Tensor:
        return weight.pow(self.gamma) / self.gamma

    def inverse(self, weight: torch.Tensor) -> torch.Tensor:
        return weight.pow(self.gamma - 1.0)

    def calibration(self) -> Calibration:
        return Calibration(smooth=True, increasing=True, concave=self.gamma > 2.0)

    def weigh(self, hardness: Hardness) -> Weights:
        # From the logit: sigmoid(-200) is 0 in float32, yet with exponent 0.01 its weight is exp(-2).
        exponent = constant(self.exponent, hardness.logit)
        return Weights(_log_sigmoid(hardness.logit).mul_(exponent).exp_(), elasticity=self.exponent)


@dataclass(frozen=True)
class Exponential(WeightingFunction):
    """``psi(t) = 1 - exp(-gamma t)`` with penalty ``phi(v) = ((1-v)(log(1-v) - 1) + 1) / gamma``.

    Parameters
    ----------
    gamma : float
        Above 0; calibrated for every such value. Its largest weight is ``1 - exp(-gamma)``, not 1.

    Examples
    --------
    >>> Exponential(gamma=10.0)(torch.tensor([0.0, 0.1, 1.0]))
    tensor([0.0000, 0.6321, 1.0000])
    """

    gamma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_positive(self.gamma, "gamma"))

    def __call__(self, hardness: torch.Tensor) -> torch.Tensor:
        return -torch.expm1(-self.gamma * hardness)

    def penalty(self, weight: torch.Tensor) -> torch.Tensor:
        rest = 1.0 - weight
        return (torch.xlogy(rest, rest) - rest + 1.0) / self.gamma

    def inverse(self, weight: torch.Tensor) -> torch.Tensor:
        return -torch.log1p(-weight) / self.gamma

    def calibration(self) -> Calibration:
        # Known in closed form; on a grid the slope gamma * exp(-gamma) would underflow for a large gamma.
        return Calibration(smooth=True, increasing=True, concave=True)

    def weigh(self, hardness: Hardness) -> Weights:
        scaled = hardness.value * constant(self.gamma, hardness.value)
        lost = torch.neg(scaled).expm1_()  # exp(-gamma t) - 1
        bend = torch.addcmul(scaled, scaled, lost)
        return Weights(lost.neg_(), bend=bend)


@dataclass(frozen=True)
class Uniform(WeightingFunction):
    """``psi = 1``: every example counts alike. On both sides it gives AUC, on the positive side alone OPAUC.

    Examples
    --------
    >>> Uniform()(torch.tensor([0.0, 0.5]))
    tensor([1., 1.])
    """

    def __call__(self, hardness: torch.Tensor) -> torch.Tensor:
        return torch.ones_like(hardness)

    def penalty(self, weight: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(weight)

    def weigh(self, hardness: Hardness) -> Weights:
        return Weights(torch.ones_like(hardness.value))


@dataclass(frozen=True)
class FromFunction(WeightingFunction):
    """A user's psi; see `Weighting.from_function`."""

    psi: TensorFunction

    def __post_init__(self) -> None:
        if not callable(self.psi):
            raise TypeError(f"psi must be a function of a tensor, got {self.psi!r}")

    def __call__(self, hardness: torch.Tensor) -> torch.Tensor:
        return self.psi(hardness)


@dataclass(frozen=True)
class FromPenalty(WeightingFunction):
    """The weighting of a user's phi; see `Weighting.from_penalty`."""

    phi: TensorFunction

    def __post_init__(self) -> None:
        if not callable(self.phi):
            raise TypeError(f"phi must be a function of a tensor, got {self.phi!r}")

    def __call__(self, hardness: torch.Tensor) -> torch.Tensor:
        return weight_from_penalty(self.phi, hardness)

    def penalty(self, weight: torch.Tensor) -> torch.Tensor:
        """Return ``phi(weight)`` as it was given: ``phi(psi(0))`` need not be 0, as a constant moves no weight."""
        return self.phi(weight)

    def calibration(self) -> Calibration:
        return calibration_of_penalty(self.phi)


# ------------------------------------------------------------------------------------------------- weights by rank


_LEAST_LOG_WEIGHT = 40.0  # minus the logarithm of a weight that float32 can still divide by the size of a class


class RankWeighting(Weighting):
    """Weights by rank inside the class, without gradient: the same for every increasing transform of the scores."""

    def __call__(self, hardness: torch.Tensor) -> torch.Tensor:
        """Return the weights of the examples of one class, given their hardness or anything that orders them alike."""
        weight = self.of_rank(mid_ranks(hardness), hardness.shape[-1])
        return weight / weight.mean().clamp_min(torch.finfo(weight.dtype).tiny)

    @abstractmethod
    def of_rank(self, rank: torch.Tensor, n: int) -> torch.Tensor:
        """Return the weight, up to a factor, of rank ``rank`` in (0, 1) among ``n``; near 1 is the hardest."""

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
        # The hardest rank is at least 1/2. Where even its weight could underflow, it is the unit of all others.
        if n == 0 or 0.5 - self.share <= _LEAST_LOG_WEIGHT * self.tau:
            return torch.sigmoid((rank - (1.0 - self.share)) / self.tau)
        tau = max(self.tau, torch.finfo(rank.dtype).tiny)  # below that a quotient may be infinite
        log_weight = _log_sigmoid((rank - (1.0 - self.share)) / tau)
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
    """Weights anchored to the region: by rank inside the class instead of by absolute score.

    A positive of rank ``r`` in (0, 1), 1 the hardest, weighs ``sigmoid((r - (1 - alpha)) / tau)``, a negative likewise
    with ``beta``; the weights of a class are scaled to mean 1 and carry no gradient. The region enters directly, there
    is no gamma to search, and ``tau -> 0`` is the exact selection of the region.

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


def as_weighting(weighting: Weighting | TensorFunction, name: str = "weighting") -> Weighting:
    """Return a `Weighting`; a plain function is taken as psi."""
    if isinstance(weighting, Weighting):
        return weighting
    if isinstance(weighting, type) or not callable(weighting):
        raise TypeError(f"{name} must be a Weighting such as Polynomial(3.0), or a function psi, got {weighting!r}")
    return FromFunction(weighting)
