"""Sums over pairs of exponentials of the square loss in O(n r) instead of O(n+ n-), by interpolation.

With the hardness ``h_i`` of positives, ``g_j`` of negatives and ``G = max g_j``, the square loss between sigmoid scores
is ``l_ij = (h_i + g_j)^2``, and

    exp(l_ij / lam) = exp((h_i + G)^2 / lam) exp((g_j^2 - G^2) / lam) k(h_i, G - g_j),    k(x, y) = exp(-2 x y / lam)

Only ``k`` couples a pair. For ``x`` and ``y`` in [0, 1] it is an entire function of ``x`` whose Chebyshev coefficients
are at most ``2 e^-c I_m(c)``, ``c = 1 / lam``, so a sum over ``j`` is known for every ``h_i`` from its values at ``r``
nodes, and a sum over ``i`` for every ``g_j``. ``r`` follows from ``lam`` alone: 14 for ``lam = 1``, 30 for 0.1. The
error of a sum is at most ``TOLERANCE`` times the number of its terms, beside the rounding of float64.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import ive

TOLERANCE = 1e-14
MOST_NODES = 256  # enough down to lam = 0.001; sharper sums are left to pairs


class RowSums(NamedTuple):
    """Sums over the negatives for each positive, shape (n,), in float64; values at negatives mean nothing."""

    log_mean: torch.Tensor  # log mean_j exp(l_ij / lam)
    weighted_loss: torch.Tensor  # the mean of l_ij under weights proportional to exp(l_ij / lam)
    weighted_slope: torch.Tensor  # the mean of dl_ij / dh_i under these weights


class SquareExponentials:
    """The sums for one batch, or for several problems if tensors have a leading axis.

    Parameters
    ----------
    hardness : Tensor of shape (n,)
        The hardness of the examples, in [0, 1].
    members : Tensor of shape (2, n)
        1.0 for the positives and for the negatives; an example may be in neither class.
    lam : float
        The temperature.
    """

    def __init__(self, hardness: torch.Tensor, members: torch.Tensor, lam: float) -> None:
        self._x, negative = hardness.double(), members[..., 1, :].double()
        self._n_negative = negative.sum(-1, keepdim=True)
        nodes, transform = (part.to(hardness.device) for part in _chebyshev(node_count(lam)))
        self._transform = transform
        hardest = torch.nn.functional.pad(self._x * negative, (0, 1)).amax(-1, keepdim=True)  # an empty batch has 0
        # Each example has one point: the kernel at it serves one sum, the polynomials at it the other.
        point = torch.where(negative > 0.5, hardest - self._x, self._x)
        self._kernel = torch.exp((nodes * (-2.0 / lam))[:, None] * point[..., None, :])  # (r, n)
        self._polynomials = _polynomials(2.0 * point - 1.0, len(nodes))
        self._hardest_loss = (self._x + hardest).square() / lam
        factor = torch.exp((self._x.square() - hardest.square()) / lam)  # may overflow at a positive
        self._column_factor = torch.where(negative > 0.5, factor, 0.0)
        # Of factor k g^0, g^1, g^2 over the negatives; the first is at least 1 at a positive.
        self._sums = self._interpolated(torch.stack([self._column_factor * self._x**k for k in range(3)], -2))

    def rows(self) -> RowSums:
        """Return the sums over the negatives."""
        total, first, second = self._sums.unbind(-2)
        first, second = first / total, second / total
        return RowSums(
            self._hardest_loss + torch.log(total) - torch.log(self._n_negative),
            self._x.square() + 2.0 * self._x * first + second,
            2.0 * (self._x + first),
        )

    def column_slopes(self, row_weight: torch.Tensor) -> torch.Tensor:
        """Return ``sum_i row_weight_i s_ij dl_ij / dg_j``, shape (n,), ``s`` the softmax of ``l / lam`` over j.

        ``row_weight``, shape (n,), is 0 outside the positives, the result outside the negatives.
        """
        weight = torch.where(row_weight == 0.0, 0.0, row_weight / self._sums[..., 0, :])
        zeroth, first = self._interpolated(torch.stack((weight, weight * self._x), -2)).unbind(-2)
        slopes: torch.Tensor = 2.0 * self._column_factor * (first + self._x * zeroth)
        return slopes

    def _interpolated(self, weights: torch.Tensor) -> torch.Tensor:
        """Return the sums of ``k`` over examples under the given weights, (c, n), at the points of all examples."""
        at_nodes = self._kernel @ weights.mT
        return (self._transform @ at_nodes).mT @ self._polynomials


@functools.cache
def node_count(lam: float) -> int:
    """Return the number of nodes for a temperature, more than ``MOST_NODES`` if those are not enough.

    Examples
    --------
    >>> node_count(1.0), node_count(0.1)
    (14, 30)
    """
    orders = np.arange(MOST_NODES + 200)
    # An interpolant differs by at most twice the sum of the coefficients that it leaves out.
    left_out = 4.0 * np.cumsum(ive(orders, 1.0 / lam)[::-1])[::-1]
    return max(2, int(np.argmax(left_out <= TOLERANCE))) if left_out[-1] <= TOLERANCE else MOST_NODES + 1


@functools.cache
def _chebyshev(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the Chebyshev nodes in [0, 1], and the matrix from values at the nodes to coefficients."""
    with torch.inference_mode(False):
        angle = math.pi * (torch.arange(count, dtype=torch.float64) + 0.5) / count
        transform = torch.cos(torch.outer(torch.arange(count, dtype=torch.float64), angle)) * (2.0 / count)
        transform[0] /= 2.0
        return (1.0 + torch.cos(angle)) / 2.0, transform


def _polynomials(x: torch.Tensor, count: int) -> torch.Tensor:
    """Return the Chebyshev polynomials of degree 0 to ``count - 1`` at points of [-1, 1], shape (count, n)."""
    values = torch.empty((*x.shape[:-1], count, x.shape[-1]), dtype=x.dtype, device=x.device)
    degrees = values.unbind(-2)
    degrees[0].fill_(1.0)
    degrees[1].copy_(x)
    twice = 2.0 * x
    for degree in range(2, count):
        torch.mul(twice, degrees[degree - 1], out=degrees[degree]).sub_(degrees[degree - 2])
    return values
