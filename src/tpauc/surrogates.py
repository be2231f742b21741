"""Pair losses l(t), and their mean over all pairs of a batch without the pair matrix.

With ``t = s_i - s_j`` the margin by which positive ``i`` beats negative ``j``, write ``t = c - x_i - x_j``: on sigmoid
scores ``x`` is the hardness (``1 - f`` or ``f``) and ``c = 1``, on logits ``x`` is the hardness logit and ``c = 0``.
Every surrogate computes

    R = 1/(n+ n-) sum_ij w_i w_j l(c - x_i - x_j)

together with its derivative in every example's logit, in the cheapest way its shape allows:

| surrogate | l(t) | way | cost |
| --- | --- | --- | --- |
| `Square` | (1 - t)^2 | moments | O(n) |
| `ExponentialPair` | exp(-t) | moments | O(n) |
| `Hinge` | max(0, m - t) | moments if always active, else sorting | O(n) / O(n log n) |
| `SquaredHinge` | max(0, m - t)^2 | likewise | likewise |
| `Logistic` | log(1 + exp(-t)) | blocks of pairs | O(n+ n-), bounded memory |
| `FromCallable` | the user's | blocks of pairs | likewise |

For the square on scores the moments are the whole story: with ``P_k = mean over positives of w x^k`` and ``N_k``
likewise, ``R = P2 N0 + 2 P1 N1 + P0 N2``, all terms non-negative, so nothing cancels.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F

from tpauc.distributed import gather_columns, process_count, sum_over_processes
from tpauc.duality import derivatives
from tpauc.validation import check_choice, check_positive
from tpauc.weighting import Hardness, Weights, constant

Kernel = tuple[tuple[float, ...], ...]

_BLOCK_PAIRS = 1 << 20  # pairs in memory at once: 8 MB a matrix in float64


class Batch(NamedTuple):
    """The examples of this process, and what a pair is made of."""

    hardness: Hardness
    weights: Weights
    members: torch.Tensor  # shape (2, n): 1.0 for the positives, 1.0 for the negatives, else 0.0
    scores: str  # "sigmoid": x is the hardness; "logit": x is its logit
    across_processes: bool  # whether pairs are those of all processes' examples together

    @property
    def y(self) -> torch.Tensor:
        """The labels: 1.0 for a positive, 0.0 for a negative."""
        return self.members[0]

    @property
    def x(self) -> torch.Tensor:
        """What pairs add up."""
        return self.hardness.value if self.scores == "sigmoid" else self.hardness.logit

    @property
    def offset(self) -> float:
        """The margin ``c`` of a pair with ``x_i = x_j = 0``."""
        return 1.0 if self.scores == "sigmoid" else 0.0

    def chain_rule(self, by_x: torch.Tensor, by_weight: torch.Tensor) -> torch.Tensor:
        """Return the derivative in the logit, given those in ``x`` and ``w``, both negated for positives."""
        if self.scores == "sigmoid":
            by_x = by_x * self.hardness.value * self.hardness.rest
        slope = self.weights.slope()
        return by_x if slope is None else by_x + by_weight * self.hardness.rest * slope


class PairMean(NamedTuple):
    """The mean over all pairs of the global batch, and its derivative in the logits of this process."""

    value: torch.Tensor  # shape ()
    by_logit: torch.Tensor  # shape (n,)


class Surrogate(ABC):
    """A pair loss l(t)."""

    @abstractmethod
    def __call__(self, t: torch.Tensor) -> torch.Tensor:
        """Return ``l(t)``, elementwise."""

    @abstractmethod
    def pair_mean(self, batch: Batch) -> PairMean:
        """Return the weighted mean of ``l(c - x_i - x_j)`` over all pairs, with its derivative."""


# --------------------------------------------------------------------------------------------------------- moments


class Moments(NamedTuple):
    """Means of rows such as ``w x^k`` over each class of the global batch."""

    value: torch.Tensor  # shape (2, rows): positives, negatives; 0 for an empty class
    sizes: torch.Tensor  # shape (2, 1): how many examples each class has
    divisors: torch.Tensor  # shape (2, 1): the sizes, at least 1

    def per_example(self, by_moment: torch.Tensor) -> torch.Tensor:
        """Return what an example's rows are worth, by class, given the derivatives in the moments; both (2, rows).

        Negated for a positive, whose hardness logit is minus its logit.
        """
        return by_moment / (self.divisors * constant(((-1.0,), (1.0,)), by_moment))


def class_moments(rows: torch.Tensor, batch: Batch) -> Moments:
    """Average each row, shape (rows, n), over the positives and over the negatives of all processes."""
    sums, sizes = batch.members @ rows.T, batch.members.sum(1, keepdim=True)
    if process_count(batch.across_processes) > 1:
        total = sum_over_processes(torch.cat((sums, sizes), dim=1))
        sums, sizes = total[:, :-1], total[:, -1:]
    divisors = sizes.clamp_min(1.0)
    return Moments(sums / divisors, sizes, divisors)


class PowerRows:
    """The rows ``w x^k``, ``k = 0, 1, 2``, of a batch, and on sigmoid scores what they turn by.

    ``d(w x^k)/du = (1 - t) [ (elasticity + k) w x^k + bend x^k ]``, as ``dx/du = x (1 - x)``: a linear combination of
    the rows themselves and, where the weights bend, of three more.
    """

    def __init__(self, batch: Batch) -> None:
        self._elasticity, bend = batch.weights.elasticity, batch.weights.bend
        x = batch.x
        factors = (batch.weights.value,) if bend is None else (batch.weights.value, bend)
        self.all = x.new_empty((3 * len(factors), x.shape[0]))
        rows = self.all.unbind()
        for k, factor in enumerate(factors):
            rows[3 * k].copy_(factor)
            torch.mul(factor, x, out=rows[3 * k + 1])
            torch.mul(rows[3 * k + 1], x, out=rows[3 * k + 2])
        self.powers = self.all if bend is None else self.all[:3]

    def turned(self, coefficients: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Return each example's derivative, given what its rows are worth by class, shape (2, 3)."""
        steps = (self._elasticity, self._elasticity + 1.0, self._elasticity + 2.0)
        by_row = coefficients * constant(steps, coefficients)
        if self.all.shape[0] == 6:
            by_row = torch.cat((by_row, coefficients), dim=1)
        for_positives, for_negatives = (by_row @ self.all).unbind()
        # lerp is exact at its two ends
        return torch.lerp(for_negatives, for_positives, batch.y).mul_(batch.hardness.rest)


def _power_pair_mean(batch: Batch, kernel: Kernel) -> PairMean:
    """Pair mean of ``sum_kl kernel[k][l] x_i^k x_j^l``, powers 0 to 2, from six moments."""
    rows = PowerRows(batch)
    moments = class_moments(rows.powers, batch)
    # The kernel is symmetric, so one matrix turns both classes' moments into the derivatives in the other's.
    by_moment = torch.mm(moments.value.flip(0), constant(kernel, moments.value))  # rows: dR/dP_k, dR/dN_k
    value = torch.dot(moments.value[0], by_moment[0])
    coefficients = moments.per_example(by_moment)
    if batch.scores == "sigmoid":
        return PairMean(value, rows.turned(coefficients, batch))
    c0, c1, c2 = (torch.lerp(negative, positive, batch.y) for positive, negative in coefficients.T)
    by_x = batch.weights.value * (c1 + 2.0 * c2 * batch.x)
    return PairMean(value, batch.chain_rule(by_x, c0 + (c1 + c2 * batch.x) * batch.x))


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

    def pair_mean(self, batch: Batch) -> PairMean:
        return _power_pair_mean(batch, _power_kernel(2, 1.0 - batch.offset))


def _power_kernel(power: int, shift: float) -> Kernel:
    """Coefficients of ``(x_i + x_j + shift)^power`` in powers of ``x_i`` (rows) and ``x_j`` (columns)."""
    if power == 1:
        return (shift, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    return (shift * shift, 2.0 * shift, 1.0), (2.0 * shift, 2.0, 0.0), (1.0, 0.0, 0.0)


@dataclass(frozen=True)
class ExponentialPair(Surrogate):
    """``l(t) = exp(-t)``, which separates into one moment a class. On sigmoid scores only: on logits it overflows.

    Examples
    --------
    >>> ExponentialPair()(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.3679])
    """

    def __call__(self, t: torch.Tensor) -> torch.Tensor:
        return torch.exp(-t)

    def pair_mean(self, batch: Batch) -> PairMean:
        if batch.scores == "logit":
            raise ValueError("surrogate='exponential' overflows on logits; use scores='sigmoid' or 'logistic'")
        growth = torch.exp(batch.x)
        weighted = batch.weights.value * growth
        moments = class_moments(weighted[None], batch)
        scale = math.exp(-batch.offset)
        by_positive, by_negative = moments.per_example(scale * moments.value.flip(0))[:, 0]
        by_moment = torch.lerp(by_negative, by_positive, batch.y)
        return PairMean(scale * moments.value.prod(), batch.chain_rule(by_moment * weighted, by_moment * growth))


# --------------------------------------------------------------------------------- pairs that need to see each other


class _Side(NamedTuple):
    """The examples of one class."""

    x: torch.Tensor
    weight: torch.Tensor


class _Coupling(NamedTuple):
    """What one class gets from the other: for each of its examples, sum_j w_j l(t_ij) and sum_j w_j dl/dx(t_ij)."""

    loss: torch.Tensor
    slope: torch.Tensor


class _GatheredSurrogate(Surrogate):
    """A surrogate whose pair sums do not split into sums over classes: processes gather each other's examples."""

    @abstractmethod
    def _couple(self, positive: _Side, negative: _Side, offset: float) -> tuple[_Coupling, _Coupling]:
        """Return what the positives get from the negatives, and the negatives from the positives."""

    def pair_mean(self, batch: Batch) -> PairMean:
        everyone, own = gather_columns(torch.stack((batch.x, batch.weights.value, batch.y)), batch.across_processes)
        members = everyone[2] > 0.5
        positive = _Side(everyone[0][members], everyone[1][members])
        negative = _Side(everyone[0][~members], everyone[1][~members])
        by_x, by_weight = torch.zeros_like(everyone[0]), torch.zeros_like(everyone[0])
        value = everyone.new_zeros(())
        n_pairs = positive.x.numel() * negative.x.numel()
        if n_pairs:
            to_positive, to_negative = self._couple(positive, negative, batch.offset)
            value = (positive.weight @ to_positive.loss) / n_pairs
            by_x[members] = positive.weight * to_positive.slope / -n_pairs
            by_weight[members] = to_positive.loss / -n_pairs
            by_x[~members] = negative.weight * to_negative.slope / n_pairs
            by_weight[~members] = to_negative.loss / n_pairs
        return PairMean(value, batch.chain_rule(by_x[own], by_weight[own]))


@dataclass(frozen=True)
class Hinge(_GatheredSurrogate):
    """``l(t) = max(0, margin - t)``.

    On sigmoid scores with a margin of at least 1 every pair is active and the hinge is linear; with a smaller margin
    it is piecewise linear, summed by sorting one class and suffix sums.

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

    def pair_mean(self, batch: Batch) -> PairMean:
        shift = self.margin - batch.offset
        if batch.scores == "sigmoid" and shift >= 0.0:  # hardness is never negative, so no pair is beyond the margin
            return _power_pair_mean(batch, _power_kernel(self.power, shift))
        return super().pair_mean(batch)

    def _couple(self, positive: _Side, negative: _Side, offset: float) -> tuple[_Coupling, _Coupling]:
        shift = self.margin - offset
        return self._from_others(positive, negative, shift), self._from_others(negative, positive, shift)

    def _from_others(self, own: _Side, others: _Side, shift: float) -> _Coupling:
        # The expansion below subtracts nearly equal sums where most excesses are small; float64 makes up for it.
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
            return _Coupling(linear.to(own.x.dtype), mass.to(own.x.dtype))
        second = _suffix_sums(others_weight[order] * ordered.square())[first]
        square = second - threshold * (mean + linear)
        return _Coupling(square.clamp_min(0.0).to(own.x.dtype), (2.0 * linear).to(own.x.dtype))


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
    """A surrogate of any shape: pairs are formed in blocks of bounded size and forgotten again."""

    @abstractmethod
    def value_and_slope(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ``l(t)`` and ``l'(t)``, elementwise."""

    def _couple(self, positive: _Side, negative: _Side, offset: float) -> tuple[_Coupling, _Coupling]:
        to_positive = _Coupling(torch.zeros_like(positive.x), torch.zeros_like(positive.x))
        to_negative = _Coupling(torch.zeros_like(negative.x), torch.zeros_like(negative.x))
        width = min(negative.x.numel(), _BLOCK_PAIRS)
        height = max(1, _BLOCK_PAIRS // width)
        for top in range(0, positive.x.numel(), height):
            rows = slice(top, top + height)
            for left in range(0, negative.x.numel(), width):
                columns = slice(left, left + width)
                t = offset - positive.x[rows, None] - negative.x[None, columns]
                loss, slope = self.value_and_slope(t)
                slope = -slope  # x enters t with a minus
                to_positive.loss[rows] += loss @ negative.weight[columns]
                to_positive.slope[rows] += slope @ negative.weight[columns]
                to_negative.loss[columns] += positive.weight[rows] @ loss
                to_negative.slope[columns] += positive.weight[rows] @ slope
        return to_positive, to_negative


@dataclass(frozen=True)
class Logistic(_BlockSurrogate):
    """``l(t) = log(1 + exp(-t))``; at home on logits (``scores="logit"``).

    Examples
    --------
    >>> Logistic()(torch.tensor([0.0, 1.0]))
    tensor([0.6931, 0.3133])
    """

    def __call__(self, t: torch.Tensor) -> torch.Tensor:
        return -F.logsigmoid(t)  # softplus(-t) would be linear from t = -20 on

    def value_and_slope(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self(t), -torch.sigmoid(-t)


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
        return self.function(t)

    def value_and_slope(self, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            value = self.function(t)
        if value.shape != t.shape:
            raise ValueError(
                f"surrogate must be elementwise: given shape {tuple(t.shape)}, it returned {tuple(value.shape)}"
            )
        (slope,) = derivatives(self.function, t, order=1)
        return value, slope


SURROGATES: dict[str, Surrogate] = {
    "square": Square(),
    "exponential": ExponentialPair(),
    "logistic": Logistic(),
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
