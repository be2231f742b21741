"""Weighting functions psi and their dual penalties phi.

An example of hardness ``t`` in [0, 1] (``1 - f`` for a positive, ``f`` for a negative) gets the weight ``psi(t)``. By
the paper's Proposition 3 each weighting belongs to a penalty on the weights,

    psi(t) = argmax over v in [0, 1] of  v * t - phi(v),     psi = (phi')^-1,     phi = integral of psi^-1,

so a user may give either: `Weighting.from_function` takes psi, `Weighting.from_penalty` takes phi, and
`tpauc.losses.duality` computes the other.

| class | psi(t) | phi(v) |
| --- | --- | --- |
| `Polynomial` | t^(1/(gamma-1)) | v^gamma / gamma |
| `Exponential` | 1 - exp(-gamma t) | ((1-v)(log(1-v) - 1) + 1) / gamma |
| `Uniform` | 1 | 0 |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import torch

from tpauc._validation import brief, check_between, check_elementwise, check_positive
from tpauc.losses._hardness import Hardness, Weights, constant, log_sigmoid
from tpauc.losses.duality import (
    Calibration,
    calibration_of,
    calibration_of_penalty,
    derivatives,
    invert_increasing,
    legendre_penalty,
    weight_from_penalty,
)
from tpauc.losses.duality import TensorFunction as TensorFunction

_LEAST_WEIGHT = 2.0**30  # times the smallest normal number: 1e-29 in float32, whose inverse is far from overflow


class Weighting(ABC):
    """The weights of the examples of a class, by their hardness or by their rank in the class.

    Examples
    --------
    >>> Weighting.from_function(torch.sqrt)(torch.tensor([0.25]))
    tensor([0.5000])
    """

    @abstractmethod
    def weigh(self, hardness: Hardness) -> Weights:
        """Return the weights of examples, with their derivative in the hardness logit."""

    def weigh_relative(self, hardness: Hardness, hardest: torch.Tensor) -> Weights:
        """Return the weights up to one factor per class, for weighted means; the weights of a class are never all 0.

        The default adds a tiny number to every weight, so that a class whose weights are all 0 gets equal weights. A
        weighting with a known logarithm returns ``psi(t) / psi(hardest t)``.

        Parameters
        ----------
        hardness : Hardness
            Hardness of the examples.
        hardest : Tensor of shape (n,)
            The largest hardness logit in the class of each example.
        """
        weights = self.weigh(hardness)
        return weights._replace(value=weights.value + _LEAST_WEIGHT * torch.finfo(weights.value.dtype).tiny)

    def for_positives(self) -> Weighting:
        """Return the weighting of the positives; by default this one."""
        return self

    def for_negatives(self) -> Weighting:
        """Return the weighting of the negatives; by default this one."""
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
        """Return ``psi(t)`` with its derivative in the hardness logit, by default through automatic differentiation."""
        with torch.no_grad():
            weight = self(hardness.value)
        if weight.shape != hardness.value.shape:
            raise ValueError(
                f"a weighting must return one weight per example: given shape {tuple(hardness.value.shape)}, "
                f"it returned {tuple(weight.shape)}"
            )
        (slope,) = derivatives(self, hardness.value, order=1)
        # dt/du = t (1 - t) is 0 at both ends, where psi may have an infinite slope, like the square root at 0.
        bend = (slope * hardness.value).nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)
        return Weights(weight, bend=bend)

    def calibration(self) -> Calibration:
        """Return which of the paper's conditions on a calibrated weighting function hold.

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
        Above 1. Calibrated (strictly concave) for ``gamma > 2``; convex weightings are allowed, and `calibration`
        reports them. The paper's tables give the exponent ``1/(gamma-1)``: see `from_exponent`.

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
        """Return the weighting ``t^exponent``, with ``gamma = 1 + 1/exponent``.

        Examples
        --------
        >>> Polynomial.from_exponent(0.5)
        Polynomial(gamma=3.0)
        """
        return cls(1.0 + 1.0 / check_between(check_positive(exponent, "exponent"), "exponent", 1e-15, 1e15))

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
        # Computed from the logit: sigmoid(-200) is 0 in float32, but with exponent 0.01 its weight is exp(-2).
        exponent = constant(self.exponent, hardness.logit)
        return Weights(log_sigmoid(hardness.logit).mul_(exponent).exp_(), elasticity=self.exponent)

    def weigh_relative(self, hardness: Hardness, hardest: torch.Tensor) -> Weights:
        exponent = constant(self.exponent, hardness.logit)
        log_ratio = log_sigmoid(hardness.logit).sub_(log_sigmoid(hardest))
        return Weights(log_ratio.mul_(exponent).exp_(), elasticity=self.exponent)


@dataclass(frozen=True)
class Exponential(WeightingFunction):
    """``psi(t) = 1 - exp(-gamma t)`` with penalty ``phi(v) = ((1-v)(log(1-v) - 1) + 1) / gamma``.

    Parameters
    ----------
    gamma : float
        Above 0; always calibrated. The largest weight is ``1 - exp(-gamma)``, not 1.

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
        # In closed form; on a grid the slope gamma * exp(-gamma) would underflow for a large gamma.
        return Calibration(smooth=True, increasing=True, concave=True)

    def weigh(self, hardness: Hardness) -> Weights:
        scaled = hardness.value * constant(self.gamma, hardness.value)
        negative = torch.neg(scaled).expm1_()  # exp(-gamma t) - 1
        bend = torch.addcmul(scaled, scaled, negative)
        return Weights(negative.neg_(), bend=bend)

    def weigh_relative(self, hardness: Hardness, hardest: torch.Tensor) -> Weights:
        # psi(t) = gamma t c(gamma t) with c(s) = (1 - exp(-s)) / s; the ratio of two t is finite even if t underflows.
        scaled = self.gamma * hardness.value
        factor = _exponential_mean(scaled)
        log_ratio = log_sigmoid(hardness.logit).sub_(log_sigmoid(hardest))
        value = log_ratio.exp_().mul_(factor).div_(_exponential_mean(self.gamma * torch.sigmoid(hardest)))
        return Weights(value, bend=value * torch.exp(-scaled) / factor)  # d log psi / d log t = exp(-s) / c(s)


def _exponential_mean(scaled: torch.Tensor) -> torch.Tensor:
    """Return ``(1 - exp(-s)) / s``, the mean of ``exp(-x)`` over [0, s]; 1 at 0."""
    return torch.where(scaled > 0.0, -torch.expm1(-scaled) / scaled, 1.0)


@dataclass(frozen=True)
class Uniform(WeightingFunction):
    """``psi = 1``: equal weights. For both classes this gives the AUC risk, for the positives only the OPAUC risk.

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
    name: str = field(default="psi", repr=False, compare=False)  # what errors call it

    def __post_init__(self) -> None:
        if isinstance(self.psi, type) or not callable(self.psi):
            raise TypeError(f"{self.name} must be a function of a tensor, got {brief(self.psi)}")

    def __call__(self, hardness: torch.Tensor) -> torch.Tensor:
        return check_elementwise(self.psi(hardness), hardness, self.name, constant=True)


@dataclass(frozen=True)
class FromPenalty(WeightingFunction):
    """The weighting of a user's phi; see `Weighting.from_penalty`."""

    phi: TensorFunction

    def __post_init__(self) -> None:
        if isinstance(self.phi, type) or not callable(self.phi):
            raise TypeError(f"phi must be a function of a tensor, got {brief(self.phi)}")

    def __call__(self, hardness: torch.Tensor) -> torch.Tensor:
        return weight_from_penalty(self.penalty, hardness)

    def penalty(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the user's ``phi(weight)``; ``phi(psi(0))`` need not be 0, as a constant does not change psi."""
        return check_elementwise(self.phi(weight), weight, "phi", constant=True)

    def calibration(self) -> Calibration:
        return calibration_of_penalty(self.penalty)


def as_weighting(weighting: Weighting | TensorFunction, name: str = "weighting") -> Weighting:
    """Return a `Weighting`; a plain function is psi."""
    if isinstance(weighting, Weighting):
        return weighting
    if isinstance(weighting, type) or not callable(weighting):
        raise TypeError(f"{name} must be a Weighting such as Polynomial(3.0) or a function psi, got {brief(weighting)}")
    return FromFunction(weighting, name)
