"""Pair losses l(t), and their mean over all pairs of a batch without the pair matrix.

The margin of positive ``i`` over negative ``j`` is ``t = s_i - s_j = c - x_i - x_j``: on sigmoid scores ``x`` is the
hardness (``1 - f`` or ``f``) and ``c = 1``, on logits ``x`` is the hardness logit and ``c = 0``. Every surrogate
computes

    R = 1/(n+ n-) sum_ij w_i w_j l(c - x_i - x_j)

or with ``normalize`` the mean under the weights, ``R`` divided by the mean weights of both classes, with its derivative
in every logit:

| surrogate | l(t) | computed by | cost |
| --- | --- | --- | --- |
| `Square` | (1 - t)^2 | moments | O(n) |
| `ExponentialPair` | exp(-t) | moments | O(n) |
| `Hinge` | max(0, m - t) | moments if always active, else sorting | O(n) / O(n log n) |
| `SquaredHinge` | max(0, m - t)^2 | as `Hinge` | as `Hinge` |
| `Logistic` | log(1 + exp(-t)) | blocks of pairs | O(n+ n-), bounded memory |
| `Sigmoid` | 1 / (1 + exp(t)) | blocks of pairs | as `Logistic` |
| `FromCallable` | the user's | blocks of pairs | as `Logistic` |

For the square on sigmoid scores, with ``P_k = mean over positives of w x^k`` and ``N_k`` likewise,
``R = P2 N0 + 2 P1 N1 + P0 N2``. All terms are non-negative, so nothing cancels.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F

from tpauc._validation import check_choice, check_elementwise, check_positive
from tpauc.losses._moments import (
    Batch,
    Kernel,
    PairMean,
    bilinear_mean,
    class_moments,
    power_kernel,
    power_pair_mean,
    power_pair_mean_of_logits,
)
from tpauc.losses.distributed import gather_columns
from tpauc.losses.duality import derivatives

BLOCK_PAIRS = 1 << 17  # pairs in memory at once: a few such matrices fit into a processor's cache


class Surrogate(ABC):
    """A pair loss l(t)."""

    @abstractmethod
    def __call__(self, t: torch.Tensor) -> torch.Tensor:
        """Return ``l(t)``, elementwise."""

    @abstractmethod
    def pair_mean(self, batch: Batch) -> PairMean:
        """Return the weighted mean of ``l(c - x_i - x_j)`` over all pairs, with its derivative."""

    def value_and_slope(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ``l(t)`` and ``l'(t)``, elementwise, by default through automatic differentiation."""
        with torch.no_grad():
            value = self(t)
        (slope,) = derivatives(self, t, order=1)
        return value, slope

    def kernel_on_scores(self) -> Kernel | None:
        """Return the coefficients of ``l(1 - x_i - x_j)`` in powers 0 to 2 of ``x`` in [0, 1]; None otherwise."""
        return None


@dataclass(frozen=True)
class Square(Surrogate):
    """``l(t) = (1 - t)^2``, the paper's choice.

    Examples
    --------
    >>> Square()(torch.tensor([1.0, 0.0, -1.0]))
    tensor([0., 1., 4.])
    """

    def __call__(self, t: torch.Tensor) -> torch.Tensor:
        return (1.0 - t).square()

    def value_and_slope(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rest = 1.0 - t
        return rest.square(), -2.0 * rest

    def pair_mean(self, batch: Batch) -> PairMean:
        if batch.scores == "sigmoid":
            return power_pair_mean([batch], self.kernel_on_scores())
        return power_pair_mean_of_logits(batch, power_kernel(2, 1.0))

    def kernel_on_scores(self) -> Kernel:
        return power_kernel(2, 0.0)


@dataclass(frozen=True)
class ExponentialPair(Surrogate):
    """``l(t) = exp(-t)``, a product of one moment per class. For sigmoid scores only: it overflows on logits.

    Examples
    --------
    >>> ExponentialPair()(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.3679])
    """

    def __call__(self, t: torch.Tensor) -> torch.Tensor:
        return torch.exp(-t)

    def value_and_slope(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        value = self(t)
        return value, -value

    def pair_mean(self, batch: Batch) -> PairMean:
        if batch.scores == "logit":
            raise ValueError("surrogate='exponential' overflows on logits; use scores='sigmoid' or 'logistic'")
        growth = torch.exp(batch.x)
        rows = torch.stack((batch.weights.value, batch.weights.value * growth))
        sums, sizes = batch.members @ rows.T, batch.members.sum(1, keepdim=True)
        moments = class_moments(sums, sizes, across_processes=batch.across_processes, normalize=batch.normalize)
        mean = bilinear_mean(moments, ((0.0, 0.0), (0.0, math.exp(-batch.offset))))
        c0, c1 = (torch.lerp(negative, positive, batch.y) for positive, negative in mean.coefficients.T)
        return PairMean(mean.value, batch.chain_rule(c1 * rows[1], c0 + c1 * growth))


class _Side(NamedTuple):
    """The examples of one class, with weights divided by their number or by their sum."""

    x: torch.Tensor
    weight: torch.Tensor
    divisor: torch.Tensor


class _PairSums(NamedTuple):
    """For each example of one class, the sums over the other class ``sum_j w_j l(t_ij)`` and ``sum_j w_j dl/dx``."""

    loss: torch.Tensor
    slope: torch.Tensor


class _GatheredSurrogate(Surrogate):
    """A surrogate whose pair sums are not functions of moments: every process gathers the examples of all."""

    @abstractmethod
    def _pair_sums(self, positive: _Side, negative: _Side, offset: float) -> tuple[_PairSums, _PairSums]:
        """Return the sums for the positives and for the negatives."""

    def pair_mean(self, batch: Batch) -> PairMean:
        everyone, own = gather_columns(torch.stack((batch.x, batch.weights.value, batch.y)), batch.across_processes)
        x, weight, y = everyone
        by_x, by_weight = torch.zeros_like(x), torch.zeros_like(x)
        value = everyone.new_zeros(())
        places = [y > 0.5, y < 0.5]
        divisors = [weight[place].sum() if batch.normalize else place.sum().clamp_min(1) for place in places]
        if batch.weights.slope() is None:  # constant weights: an example of weight 0 changes nothing
            places = [place & (weight != 0.0) for place in places]
        if all(place.any() for place in places):
            positive, negative = (
                _Side(x[place], weight[place] / divisor, divisor)
                for place, divisor in zip(places, divisors, strict=True)
            )
            of_positives, of_negatives = self._pair_sums(positive, negative, batch.offset)
            value = positive.weight @ of_positives.loss
            # d/dw_i of sum_i w_i l_i / sum_i w_i is (l_i - mean) / sum_i w_i.
            mean = value if batch.normalize else 0.0
            by_x[places[0]] = -positive.weight * of_positives.slope
            by_weight[places[0]] = (mean - of_positives.loss) / positive.divisor
            by_x[places[1]] = negative.weight * of_negatives.slope
            by_weight[places[1]] = (of_negatives.loss - mean) / negative.divisor
        return PairMean(value, batch.chain_rule(by_x[own], by_weight[own]))


@dataclass(frozen=True)
class Hinge(_GatheredSurrogate):
    """``l(t) = max(0, margin - t)``.

    On sigmoid scores with a margin of at least 1 every pair is active and the hinge is linear. With a smaller margin
    it is piecewise linear and computed from suffix sums over one sorted class.

    Parameters
    ----------
    margin : float, default=1.0
        Above 0.

    Examples
    --------
    >>> Hinge(margin=0.5)(torch.tensor([0.0, 0.25, 1.0]))
    tensor([0.5000, 0.2500, 0.0000])
    """

    margin: float = 1.0
    power = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", check_positive(self.margin, "margin"))

    def __call__(self, t: torch.Tensor) -> torch.Tensor:
        return (self.margin - t).clamp_min(0.0).pow(self.power)

    def value_and_slope(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        excess = (self.margin - t).clamp_min(0.0)
        return (excess, -excess.sign()) if self.power == 1 else (excess.square(), -2.0 * excess)

    def pair_mean(self, batch: Batch) -> PairMean:
        kernel = self.kernel_on_scores()
        if batch.scores == "sigmoid" and kernel is not None:
            return power_pair_mean([batch], kernel)
        return super().pair_mean(batch)

    def kernel_on_scores(self) -> Kernel | None:
        # Hardness is never negative, so with a margin of at least 1 no pair is inactive.
        return power_kernel(self.power, self.margin - 1.0) if self.margin >= 1.0 else None

    def _pair_sums(self, positive: _Side, negative: _Side, offset: float) -> tuple[_PairSums, _PairSums]:
        shift = self.margin - offset
        return self._sums_over(positive, negative, shift), self._sums_over(negative, positive, shift)

    def _sums_over(self, own: _Side, others: _Side, shift: float) -> _PairSums:
        # In float64, because the expansion below subtracts nearly equal sums if most excesses are small.
        wide = torch.float64 if own.x.device.type != "mps" else own.x.dtype
        x, others_x, others_weight = own.x.to(wide), others.x.to(wide), others.weight.to(wide)
        ordered, order = others_x.sort()
        # excess = x_j - threshold > 0 holds for a suffix of the sorted others
        threshold = -shift - x
        first = torch.searchsorted(ordered, threshold, right=True)
        mass = _suffix_sums(others_weight[order])[first]
        mean = _suffix_sums(others_weight[order] * ordered)[first]
        linear = mean - threshold * mass
        if self.power == 1:
            return _PairSums(linear.to(own.x.dtype), mass.to(own.x.dtype))
        second = _suffix_sums(others_weight[order] * ordered.square())[first]
        square = second - threshold * (mean + linear)
        return _PairSums(square.clamp_min(0.0).to(own.x.dtype), (2.0 * linear).to(own.x.dtype))


def _suffix_sums(values: torch.Tensor) -> torch.Tensor:
    """Return the sums of ``values[k:]`` for ``k = 0 ... n``."""
    return F.pad(values.flip(0).cumsum(0).flip(0), (0, 1))


@dataclass(frozen=True)
class SquaredHinge(Hinge):
    """``l(t) = max(0, margin - t)^2``; see `Hinge`.

    Examples
    --------
    >>> SquaredHinge(margin=0.5)(torch.tensor([0.0, 0.25, 1.0]))
    tensor([0.2500, 0.0625, 0.0000])
    """

    power = 2


class _BlockSurrogate(_GatheredSurrogate):
    """A surrogate of any shape: pairs are formed in blocks of bounded size."""

    def _pair_sums(self, positive: _Side, negative: _Side, offset: float) -> tuple[_PairSums, _PairSums]:
        of_positives = _PairSums(torch.zeros_like(positive.x), torch.zeros_like(positive.x))
        of_negatives = _PairSums(torch.zeros_like(negative.x), torch.zeros_like(negative.x))
        width = min(negative.x.numel(), BLOCK_PAIRS)
        height = max(1, BLOCK_PAIRS // width)
        for top in range(0, positive.x.numel(), height):
            rows = slice(top, top + height)
            for left in range(0, negative.x.numel(), width):
                columns = slice(left, left + width)
                t = offset - positive.x[rows, None] - negative.x[None, columns]
                loss, slope = self.value_and_slope(t)
                slope = -slope  # dt/dx = -1
                of_positives.loss[rows] += loss @ negative.weight[columns]
                of_positives.slope[rows] += slope @ negative.weight[columns]
                of_negatives.loss[columns] += positive.weight[rows] @ loss
                of_negatives.slope[columns] += positive.weight[rows] @ slope
        return of_positives, of_negatives


@dataclass(frozen=True)
class Logistic(_BlockSurrogate):
    """``l(t) = log(1 + exp(-t))``, usually on logits (``scores="logit"``).

    Examples
    --------
    >>> Logistic()(torch.tensor([0.0, 1.0]))
    tensor([0.6931, 0.3133])
    """

    def __call__(self, t: torch.Tensor) -> torch.Tensor:
        return -F.logsigmoid(t)  # F.softplus(-t) is exactly linear for t < -20

    def value_and_slope(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self(t), -torch.sigmoid(-t)


@dataclass(frozen=True)
class Sigmoid(_BlockSurrogate):
    """``l(t) = 1 / (1 + exp(t))``, a smooth count of wrong pairs: bounded and not convex, usually on logits.

    Examples
    --------
    >>> Sigmoid()(torch.tensor([0.0, 1.0]))
    tensor([0.5000, 0.2689])
    """

    def __call__(self, t: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(-t)

    def value_and_slope(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        value = torch.sigmoid(-t)
        return value, -value * torch.sigmoid(t)


@dataclass(frozen=True)
class FromCallable(_BlockSurrogate):
    """A user's pair loss: a differentiable elementwise function of the margin ``t``.

    Examples
    --------
    >>> FromCallable(lambda t: torch.relu(1 - t))(torch.tensor([0.0, 2.0]))
    tensor([1., 0.])
    """

    function: Callable[[torch.Tensor], torch.Tensor]

    def __call__(self, t: torch.Tensor) -> torch.Tensor:
        return check_elementwise(self.function(t), t, "surrogate")


SURROGATES: dict[str, Surrogate] = {
    "square": Square(),
    "exponential": ExponentialPair(),
    "logistic": Logistic(),
    "sigmoid": Sigmoid(),
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
}


def as_surrogate(surrogate: str | Surrogate | Callable[[torch.Tensor], torch.Tensor]) -> Surrogate:
    """Return a `Surrogate` for a name, a `Surrogate`, or a plain function ``l(t)``.

    Examples
    --------
    >>> as_surrogate("square")
    Square()
    """
    if isinstance(surrogate, Surrogate):
        return surrogate
    if callable(surrogate) and not isinstance(surrogate, type):
        return FromCallable(surrogate)
    return SURROGATES[check_choice(surrogate, "surrogate", SURROGATES)]  # type: ignore[arg-type]
