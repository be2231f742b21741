"""Propositions 1 and 3: hard examples as the solution of a penalised problem, with a linear and with a smooth penalty.

**Proposition 1.** For hardness ``t_i`` (``1 - f`` of a positive, ``f`` of a negative) without ties and ``1 <= k < n``
three problems have the same solution:

    top k                v_i = [t_i is among the k largest]
    linear programme     v = argmax over v in [0, 1]^n, sum v <= k, of  sum v_i t_i
    penalty              v = argmax over v in [0, 1]^n of  sum v_i (t_i - lambda),    t_(k+1) < lambda < t_(k)

The paper says that a suitable ``lambda`` exists. It is any number between the k-th and the (k+1)-th largest hardness,
so it depends on the scores and changes while a model learns. With ties at that border there is none.

**Proposition 3.** A weighting ``psi`` and a smooth penalty ``phi`` determine each other:

    psi(t) = argmax over v in [0, 1] of  v t - phi(v)  = (phi')^-1(t),        phi(v) = integral_0^v psi^-1

Both directions are checked without derivatives: the maximum by golden-section search, the integral of ``psi^-1`` by a
quadrature rule.

The paper does not say that the first equation needs ``phi'(0) <= t <= phi'(1)``, and the conditions (A) to (D) of a
calibrated smooth penalty do not imply it. ``phi(v) = v + v^2 + v^3`` meets all four, but its slope begins at 1, so the
maximum is at ``v = 0`` for every ``t`` in [0, 1] and its weighting is zero everywhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy import optimize

from tpauc._validation import BoolArray, FloatArray, check_count, check_number, check_scores
from tpauc.losses.weighting import WeightingFunction

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_SEARCH_STEPS = 60  # each keeps 0.618 of the interval, so 3e-13 of it remain
_NODES = 64

# ------------------------------------------------------------------------------------------------------ Proposition 1


def top_k(hardness: npt.ArrayLike, k: int) -> FloatArray:
    """Return 1 for the ``k`` largest of ``n`` values and 0 for the others; ``1 <= k < n``, here and below.

    Examples
    --------
    >>> top_k([0.2, 0.9, 0.5], 2)
    array([0., 1., 1.])
    """
    values, count = _checked(hardness, k)
    weights = np.zeros_like(values)
    weights[np.argpartition(values, values.size - count)[values.size - count :]] = 1.0
    return weights


def selected_by_linear_programme(hardness: npt.ArrayLike, k: int) -> FloatArray:
    """Return the solution of the paper's inner problem, by a general solver that does not sort.

    Examples
    --------
    >>> np.allclose(selected_by_linear_programme([0.2, 0.9, 0.5], 2), top_k([0.2, 0.9, 0.5], 2))
    True
    """
    values, count = _checked(hardness, k)
    # linprog minimises.
    solution = optimize.linprog(-values, A_ub=np.ones((1, values.size)), b_ub=[count], bounds=(0.0, 1.0))
    if solution.status != 0:
        raise RuntimeError(f"the linear programme was not solved: {solution.message}")
    weights: FloatArray = np.asarray(solution.x, dtype=np.float64)
    return weights


def penalty_strength(hardness: npt.ArrayLike, k: int) -> float:
    """Return a ``lambda`` with which `selected_by_penalty` selects the ``k`` largest: the middle of all such values.

    The k-th and the (k+1)-th largest value must differ.

    Examples
    --------
    >>> penalty_strength([0.2, 0.9, 0.5], 1)
    0.7
    """
    values, count = _checked(hardness, k)
    below, kth = np.sort(values)[values.size - count - 1 : values.size - count + 1]
    if below == kth:
        raise ValueError(
            f"hardness must not be tied at the border of the selection: values {count} and {count + 1} "
            f"from the top are both {kth}, so no penalty separates them"
        )
    middle = (below + kth) / 2.0
    # Neighbouring floats have no middle; then the lower one separates them.
    return float(middle if middle < kth else below)


def selected_by_penalty(hardness: npt.ArrayLike, strength: float) -> FloatArray:
    """Return ``argmax over v in [0, 1]^n of sum v_i (t_i - strength)``, found example by example.

    Examples
    --------
    >>> selected_by_penalty([0.2, 0.9, 0.5], 0.7)
    array([0., 1., 0.])
    """
    chosen: BoolArray = check_scores(hardness, "hardness") > check_number(strength, "strength")
    return chosen.astype(np.float64)


def _checked(hardness: npt.ArrayLike, k: int) -> tuple[FloatArray, int]:
    values = check_scores(hardness, "hardness").astype(np.float64)
    count = check_count(k, "k")
    if count >= values.size:
        raise ValueError(f"k must be below the number of examples, {values.size}, got {k!r}")
    return values, count


# ------------------------------------------------------------------------------------------------------ Proposition 3


class DualityErrors(NamedTuple):
    """The largest differences on a grid between each side of Proposition 3 and its value from the other side.

    Attributes
    ----------
    weighting : float
        ``psi(t)`` against the place of the maximum of ``v t - phi(v)``. A search by values finds the top of a parabola
        only to the square root of the rounding error, about 1e-7.
    penalty : float
        ``phi(v)`` against the integral of ``psi^-1``.
    """

    weighting: float
    penalty: float


def duality_errors(weighting: WeightingFunction, *, points: int = 21) -> DualityErrors:
    """Compare both sides of Proposition 3 on a grid of hardness in [0, 1], for a weighting with ``psi(0) = 0``.

    Its penalty may be known in closed form or found numerically.

    Examples
    --------
    >>> from tpauc import Polynomial
    >>> errors = duality_errors(Polynomial(gamma=3.0))
    >>> errors.weighting < 1e-6, errors.penalty < 1e-9
    (True, True)
    """
    hardness = np.linspace(0.0, 1.0, check_count(points, "points", at_least=2))
    weights: FloatArray = weighting(torch.from_numpy(hardness)).detach().numpy()
    by_search = weight_by_search(weighting, hardness)
    by_quadrature = penalty_by_quadrature(weighting, weights)
    return DualityErrors(
        weighting=float(np.abs(weights - by_search).max()),
        penalty=float(np.abs(penalty_of(weighting, weights) - by_quadrature).max()),
    )


def weight_by_search(weighting: WeightingFunction, hardness: npt.ArrayLike) -> FloatArray:
    """Return ``argmax over v in [0, 1] of v t - phi(v)`` for each ``t``, from values of ``phi`` only.

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

    By the Gauss-Legendre rule in ``s``, with ``v = weight s^2 (3 - 2 s)``. The substitution smooths an inverse that
    begins or ends like a square root, such as the inverse of a sine. The weighting has ``psi(0) = 0``, and weights are
    at most ``psi(1)``.

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
    """Return ``phi`` of each weight."""
    penalties: FloatArray = weighting.penalty(torch.from_numpy(weights)).detach().numpy()
    return penalties
