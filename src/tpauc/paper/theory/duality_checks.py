"""Proposition 3: a weighting ``psi`` and a penalty ``phi`` determine each other.

    psi(t) = argmax over v in [0, 1] of  v t - phi(v)  = (phi')^-1(t),        phi(v) = integral_0^v psi^-1

Both directions are checked by methods that know nothing of derivatives: the maximum by golden-section search, the
integral of ``psi^-1`` by a quadrature rule.

Where the paper is silent: the first equation needs ``phi'(0) <= t <= phi'(1)``, which the conditions (A) to (D) of a
calibrated smooth penalty do not give. ``phi(v) = v + v^2 + v^3`` meets all four, but its slope begins at 1, so the
maximum is at ``v = 0`` for every ``t`` in [0, 1] and its weighting is zero throughout.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from tpauc._validation import FloatArray, check_count, check_scores
from tpauc.losses.weighting import WeightingFunction

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_SEARCH_STEPS = 60  # each keeps 0.618 of the interval, so 3e-13 of it remain
_NODES = 64


class DualityErrors(NamedTuple):
    """The largest differences, on a grid, between each side of Proposition 3 and what the other side gives.

    Attributes
    ----------
    weighting : float
        ``psi(t)`` against the place of the maximum of ``v t - phi(v)``. A search by values finds the top of a parabola
        no better than to the root of the rounding error, about 1e-7.
    penalty : float
        ``phi(v)`` against the integral of ``psi^-1``.
    """

    weighting: float
    penalty: float


def duality_errors(weighting: WeightingFunction, *, points: int = 21) -> DualityErrors:
    """Compare both sides of Proposition 3 on a grid of hardness, the ends included.

    Parameters
    ----------
    weighting : WeightingFunction
        With ``psi(0) = 0``; its penalty may be known in closed form or found numerically.
    points : int, default=21
        Size of the grid in [0, 1].

    Examples
    --------
    >>> from tpauc import Polynomial
    >>> errors = duality_errors(Polynomial(gamma=3.0))
    >>> errors.weighting < 1e-6, errors.penalty < 1e-9
    (True, True)
    """
    hardness = np.linspace(0.0, 1.0, check_count(points, "points", at_least=2))
    weights = _evaluated(weighting, hardness)
    by_search = weight_by_search(weighting, hardness)
    by_quadrature = penalty_by_quadrature(weighting, weights)
    return DualityErrors(
        weighting=float(np.abs(weights - by_search).max()),
        penalty=float(np.abs(penalty_of(weighting, weights) - by_quadrature).max()),
    )


def weight_by_search(weighting: WeightingFunction, hardness: npt.ArrayLike) -> FloatArray:
    """Return ``argmax over v in [0, 1] of v t - phi(v)`` for each ``t``, from values of ``phi`` alone.

    Parameters
    ----------
    weighting : WeightingFunction
    hardness : array-like of shape (n,)

    Examples
    --------
    >>> from tpauc import Polynomial
    >>> weight_by_search(Polynomial(gamma=3.0), [0.25, 1.0]).round(6)
    array([0.5, 1. ])
    """
    t = check_scores(hardness, "hardness").astype(np.float64)
    low, high = np.zeros_like(t), np.ones_like(t)
    for _ in range(_SEARCH_STEPS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        values = [v * t - penalty_of(weighting, v) for v in (left, right)]
        go_right = values[0] < values[1]
        low, high = np.where(go_right, left, low), np.where(go_right, high, right)
    middle: FloatArray = (low + high) / 2.0
    return middle


def penalty_by_quadrature(weighting: WeightingFunction, weights: npt.ArrayLike) -> FloatArray:
    """Return ``integral_0^v psi^-1`` for each weight ``v``, the penalty of the weighting up to a constant.

    By the Gauss-Legendre rule, after ``v = weight s^2 (3 - 2 s)`` has smoothed an inverse that begins or ends like a
    root, as that of a sine does.

    Parameters
    ----------
    weighting : WeightingFunction
        With ``psi(0) = 0``.
    weights : array-like of shape (n,)
        At most ``psi(1)``.

    Examples
    --------
    >>> from tpauc import Polynomial
    >>> penalty_by_quadrature(Polynomial(gamma=3.0), [0.5]).round(9), round(0.5**3 / 3, 9)
    (array([0.04166667]), 0.041666667)
    """
    ends = check_scores(weights, "weights").astype(np.float64)[:, None]
    nodes, masses = np.polynomial.legendre.leggauss(_NODES)
    s = (nodes + 1.0) / 2.0
    inverse = weighting.inverse(torch.from_numpy(ends * s**2 * (3.0 - 2.0 * s))).detach().numpy()
    integrals: FloatArray = (inverse * ends * 6.0 * s * (1.0 - s)) @ (masses / 2.0)
    return integrals


def penalty_of(weighting: WeightingFunction, weights: FloatArray) -> FloatArray:
    """Return ``phi`` of each weight.

    Examples
    --------
    >>> from tpauc import Polynomial
    >>> penalty_of(Polynomial(gamma=2.0), np.array([0.0, 1.0]))
    array([0. , 0.5])
    """
    penalties: FloatArray = weighting.penalty(torch.from_numpy(weights)).detach().numpy()
    return penalties


def _evaluated(weighting: WeightingFunction, hardness: FloatArray) -> FloatArray:
    weights: FloatArray = weighting(torch.from_numpy(hardness)).detach().numpy()
    return weights
