"""Pair means from class moments, in O(n).

With ``P_k = mean over positives of w x^k`` and ``N_k`` likewise over negatives, a pair loss that is a polynomial of
degree at most 2 in ``x_i + x_j`` has the mean over all pairs

    R = sum_kl K_kl P_k N_l,        k, l = 0, 1, 2

Moments are sums over examples, so they can be added over the parts of a large batch and over processes.

Normalised, it is the mean under the weights: ``R / (P_0 N_0) = sum_kl K_kl p_k n_l`` with ``p_k = P_k / P_0`` and
``n_l = N_l / N_0``. Its derivatives are

    d/dP_k = 1/P_0 sum_l K_kl n_l  for k > 0,        d/dP_0 = -1/P_0 sum_{k > 0} p_k sum_l K_kl n_l

and likewise in ``N_l``. In the second formula the terms with ``k = 0`` cancel exactly and are left out.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from contextlib import nullcontext
from typing import NamedTuple

import torch

from tpauc.losses._hardness import Hardness, Weights, constant, inference
from tpauc.losses.distributed import process_count, sum_over_processes

Kernel = tuple[tuple[float, ...], ...]  # K_kl, symmetric


class Batch(NamedTuple):
    """The examples of this process, and how pairs are formed from them."""

    hardness: Hardness
    weights: Weights
    y: torch.Tensor  # 1.0 for a positive, 0.0 for a negative
    members: torch.Tensor  # shape (2, n): y and 1 - y
    scores: str  # "sigmoid": x is the hardness; "logit": x is its logit
    across_processes: bool  # whether pairs are formed from the examples of all processes
    normalize: bool  # whether the pair mean is divided by the mean weights of both classes

    @property
    def x(self) -> torch.Tensor:
        """The summands of the margin ``c - x_i - x_j``."""
        return self.hardness.value if self.scores == "sigmoid" else self.hardness.logit

    @property
    def offset(self) -> float:
        """The margin ``c`` of a pair with ``x_i = x_j = 0``."""
        return 1.0 if self.scores == "sigmoid" else 0.0

    def chain_rule(self, by_x: torch.Tensor, by_weight: torch.Tensor) -> torch.Tensor:
        """Return the derivative in the logit from the derivatives in ``x`` and ``w``, both negated for positives."""
        if self.scores == "sigmoid":
            by_x = by_x * self.hardness.value * self.hardness.rest
        slope = self.weights.slope()
        return by_x if slope is None else by_x + by_weight * self.hardness.rest * slope


class PairMean(NamedTuple):
    """The mean over all pairs of the global batch, and its derivative in the logits of this process."""

    value: torch.Tensor  # shape ()
    by_logit: torch.Tensor  # shape (n,)


def power_kernel(power: int, shift: float) -> Kernel:
    """Coefficients of ``(x_i + x_j + shift)^power`` in powers of ``x_i`` (rows) and ``x_j`` (columns)."""
    if power == 1:
        return (shift, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    return (shift * shift, 2.0 * shift, 1.0), (2.0 * shift, 2.0, 0.0), (1.0, 0.0, 0.0)


class Moments(NamedTuple):
    """Means of rows such as ``w x^k`` over each class of the global batch, or means of ``x^k`` under the weights."""

    value: torch.Tensor  # shape (2, rows): positives, negatives; 0 for an empty class
    sizes: torch.Tensor  # shape (2, 1): number of examples per class
    divisors: torch.Tensor  # shape (2, 1): the sizes, or the sums of weights; 1 for an empty class
    normalize: bool  # whether these are means under the weights

    def per_example(self, by_moment: torch.Tensor) -> torch.Tensor:
        """Return the derivatives in the rows of one example per class from those in the moments; both (2, rows).

        Negated for a positive, whose hardness logit is minus its logit.
        """
        return by_moment / (self.divisors * constant(((-1.0,), (1.0,)), by_moment))


def class_moments(sums: torch.Tensor, sizes: torch.Tensor, *, across_processes: bool, normalize: bool) -> Moments:
    """Return the means of rows from their sums over each class, shape (2, rows), and the class sizes, shape (2, 1).

    With ``normalize`` they are means under the weights, whose sums are the first row.
    """
    if process_count(across_processes) > 1:
        total = sum_over_processes(torch.cat((sums, sizes), dim=1))
        sums, sizes = total[:, :-1], total[:, -1:]
    divisors = torch.where(sizes > 0.0, sums[:, :1], 1.0) if normalize else sizes.clamp_min(1.0)
    return Moments(sums / divisors, sizes, divisors, normalize)


class PowerRows:
    """The rows ``w x^k``, ``k = 0, 1, 2``, of a batch, and on sigmoid scores their derivatives.

    ``d(w x^k)/du = (1 - t) [ (elasticity + k) w x^k + bend x^k ]``, as ``dx/du = x (1 - x)``: a linear combination of
    the rows themselves and, if the weights have a bend, of the three rows ``bend x^k``. Keeps only these rows, ``y``
    and ``1 - t`` of the batch.
    """

    def __init__(self, batch: Batch) -> None:
        weights = batch.weights
        self._y, self._members, self._rest = batch.y, batch.members, batch.hardness.rest
        self._elasticity = weights.elasticity
        factors = (weights.value,) if weights.bend is None else (weights.value, weights.bend)
        self._rows = batch.x.new_empty((3, len(factors), batch.x.shape[0]))  # power, factor, example
        first, second, third = self._rows.unbind()
        torch.stack(factors, out=first)
        torch.mul(first, batch.x, out=second)
        torch.mul(second, batch.x, out=third)

    def sums(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the sums of the three powers over each class, shape (2, 3), and the class sizes, shape (2, 1)."""
        return self._members @ self._rows[:, 0].T, self._members.sum(1, keepdim=True)

    def gradient(self, coefficients: torch.Tensor) -> torch.Tensor:
        """Return the derivative in each logit, given the derivatives in the rows by class, shape (2, 3)."""
        by_row = coefficients @ constant(row_derivatives(self._elasticity, self._rows.shape[1]), coefficients)
        for_positives, for_negatives = (by_row @ self._rows.flatten(0, 1)).unbind()
        # lerp is exact at its two ends
        return torch.lerp(for_negatives, for_positives, self._y).mul_(self._rest)


@functools.cache
def row_derivatives(elasticity: float, n_factors: int) -> Kernel:
    """Return the coefficients of the derivative of each power: ``elasticity + k`` of ``w x^k``, 1 of ``bend x^k``."""
    own = [(elasticity + k, 1.0)[:n_factors] for k in range(3)]
    none = (0.0,) * n_factors
    return tuple(tuple(x for j in range(3) for x in (own[k] if j == k else none)) for k in range(3))


class BilinearMean(NamedTuple):
    """The pair mean of a sum of products, and its derivatives in the rows of one example per class, shape (2, rows)."""

    value: torch.Tensor
    coefficients: torch.Tensor


def bilinear_mean(moments: Moments, kernel: Kernel) -> BilinearMean:
    """Pair mean of ``sum_kl kernel[k][l] x_i^k x_j^l``, or of the same sum with other functions of ``x``."""
    # The kernel is symmetric, so one product gives the derivatives for both classes.
    by_moment = torch.mm(moments.value.flip(0), constant(kernel, moments.value))  # rows: dR/dP_k, dR/dN_k
    value = torch.dot(moments.value[0], by_moment[0])
    if moments.normalize:
        by_moment[:, 0] = -(moments.value[:, 1:] * by_moment[:, 1:]).sum(1)
    return BilinearMean(value, moments.per_example(by_moment))


def power_pair_mean(parts: Iterable[Batch], kernel: Kernel, *, without_autograd: bool = False) -> PairMean:
    """Pair mean on sigmoid scores of a batch that comes in parts: a part that fits the cache is several times cheaper.

    Of a processed part only its `PowerRows` are kept. If forming the parts needs no autograd, inference mode saves a
    fifth of the time of each operation.
    """
    with inference() if without_autograd else nullcontext():
        rows = []
        for part in parts:
            rows.append(PowerRows(part))
            across_processes, normalize = part.across_processes, part.normalize
        sums, sizes = rows[0].sums()
        for more_sums, more_sizes in (some.sums() for some in rows[1:]):
            sums, sizes = sums + more_sums, sizes + more_sizes
        moments = class_moments(sums, sizes, across_processes=across_processes, normalize=normalize)
        mean = bilinear_mean(moments, kernel)
    # Outside inference mode, so that autograd can save the results.
    gradients = [some.gradient(mean.coefficients) for some in rows]
    return PairMean(mean.value.clone(), gradients[0] if len(gradients) == 1 else torch.cat(gradients))


def power_pair_mean_of_logits(batch: Batch, kernel: Kernel) -> PairMean:
    """Pair mean where ``x`` is the hardness logit itself."""
    batch = _centred(batch)
    sums, sizes = PowerRows(batch).sums()
    moments = class_moments(sums, sizes, across_processes=batch.across_processes, normalize=batch.normalize)
    mean = bilinear_mean(moments, kernel)
    c0, c1, c2 = (torch.lerp(negative, positive, batch.y) for positive, negative in mean.coefficients.T)
    by_x = batch.weights.value * (c1 + 2.0 * c2 * batch.x)
    return PairMean(mean.value, batch.chain_rule(by_x, c0 + (c1 + c2 * batch.x) * batch.x))


def _centred(batch: Batch) -> Batch:
    """Return a batch with the same ``x_i + x_j``, its logits shifted by one constant to a weighted mean of 0.

    Logits of 10^4 with differences of 1 have second moments of 10^8, whose difference float32 cannot tell from 0. Pairs
    do not depend on the constant, so it has no part in the derivative.
    """
    x, weight, sign = batch.x, batch.weights.value, batch.members[1] - batch.y  # z = sign * x
    total = sum_over_processes(torch.stack((torch.dot(weight, sign * x), weight.sum())), batch.across_processes)
    centre = total[0] / total[1].clamp_min(torch.finfo(x.dtype).tiny)
    return batch._replace(hardness=batch.hardness._replace(logit=torch.addcmul(x, sign, centre, value=-1.0)))
