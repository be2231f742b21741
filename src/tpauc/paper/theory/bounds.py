"""Proposition 2: when the relaxed risk is an upper bound of the truncated one.

Let ``I1`` be the pairs of a *selected* (hard) positive and a selected negative, a share ``s = k+ k- / (n+ n-)`` of all
pairs, and ``I2`` all other pairs. With weights ``v`` and pair losses ``l``

    relaxed - truncated = (1 - s) E_I2[v+ v- l] - s E_I1[(1 - v+ v-) l]

exactly. By the reverse Hoelder inequality for the first term and the Cauchy-Schwarz inequality for the second, the
bound holds if for some ``p`` in (0, 1), with ``q = -p/(1-p)``,

    rho_p >= xi_q,    rho_p = E_I2[(v+ v-)^p]^(1/p) / E_I1[(1 - v+ v-)^2]^(1/2),
                      xi_q  = s/(1-s) * E_I1[l^2]^(1/2) / E_I2[l^q]^(1/q).

The paper's statement reverses the inequality signs of ``I1``, and exchanges ``I1`` and ``I2`` in ``xi_q``.
``sets="stated"`` computes this form; in some draws it holds and the bound does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from tpauc._validation import BoolArray, FloatArray, check_choice, check_count, check_open_share, check_scores
from tpauc.losses.surrogates import as_surrogate
from tpauc.losses.tpauc_loss import SurrogateLike, empirical_risks
from tpauc.losses.weighting import TensorFunction, WeightingFunction, as_weighting
from tpauc.paper.theory.selection import top_k
from tpauc.region import Region

SETS = ("corrected", "stated")
# Any p that satisfies the condition is a proof, so a grid can miss a proof but never gives a false one.
P_GRID = np.linspace(0.01, 0.99, 25)


class BoundCheck(NamedTuple):
    """The condition of Proposition 2 on one draw, and both risks, each a mean over all pairs."""

    margin: float  # the largest rho_p - xi_q over a grid of p; at least 0 where the sufficient condition holds
    p: float  # of the largest margin
    relaxed: float
    truncated: float

    @property
    def promised(self) -> bool:
        """Whether the sufficient condition holds."""
        return self.margin >= 0.0

    @property
    def holds(self) -> bool:
        """Whether the relaxed risk is at least the truncated one."""
        return self.relaxed >= self.truncated


def check_bound(
    positive_scores: npt.ArrayLike,
    negative_scores: npt.ArrayLike,
    weighting: WeightingFunction | TensorFunction,
    *,
    alpha: float,
    beta: float,
    surrogate: SurrogateLike = "square",
    sets: str = "corrected",
) -> BoundCheck:
    """Evaluate the sufficient condition of Proposition 2 and both risks on one sample, through the pair matrix.

    Parameters
    ----------
    positive_scores, negative_scores : array-like of shape (n+,) and (n-,)
        Scores in (0, 1), as the proposition assumes.
    weighting : WeightingFunction or callable
        ``psi`` of both classes.
    alpha, beta : float
        The region, each in (0, 1).
    surrogate : str, Surrogate or callable, default="square"
        As in `tpauc.TPAUCLoss`.
    sets : {"corrected", "stated"}, default="corrected"
        Whether the condition uses the sets of the proof or those of the printed statement.

    Examples
    --------
    >>> from tpauc import Polynomial
    >>> rng = np.random.default_rng(0)
    >>> positive, negative = gaussian_trial(rng)
    >>> check = check_bound(positive, negative, Polynomial.from_exponent(0.05), alpha=0.3, beta=0.3)
    >>> check.promised, check.holds
    (True, True)
    """
    check_choice(sets, "sets", SETS)
    region = Region(check_open_share(alpha, "alpha"), check_open_share(beta, "beta"))
    positive = scores_inside(positive_scores, "positive_scores")
    negative = scores_inside(negative_scores, "negative_scores")
    psi = weighting_function(weighting)
    counts = region.hard_positives(positive.size), region.hard_negatives(negative.size)
    share = counts[0] * counts[1] / (positive.size * negative.size)
    weight = np.outer(_weights(psi, 1.0 - positive), _weights(psi, negative))
    loss: FloatArray = as_surrogate(surrogate)(torch.from_numpy(np.subtract.outer(positive, negative))).numpy()
    if sets == "corrected":
        first = _selected_pairs(positive, negative, *counts)
        margins = _margins(_rho(weight, first), share / (1.0 - share) * _xi(loss, first))
    else:
        first = _stated_pairs(positive, negative, *counts)
        margins = _margins(_rho(weight, first), share / (1.0 - share) * _xi(loss, ~first))
    best = int(np.argmax(margins))
    scores = torch.logit(torch.from_numpy(np.concatenate((positive, negative))))
    labels = torch.arange(scores.numel()) < positive.size
    risks = empirical_risks(scores, labels, psi, alpha=alpha, beta=beta, surrogate=surrogate, across_processes=False)
    return BoundCheck(float(margins[best]), float(P_GRID[best]), risks.relaxed, risks.truncated)


def gaussian_trial(rng: np.random.Generator, n: int = 100) -> tuple[FloatArray, FloatArray]:
    """Draw scores as in the paper's experiment: positives from N(0.5, 0.08), negatives from N(0.3, 0.08).

    The paper does not say whether 0.08 is the standard deviation or the variance. It is taken as the standard
    deviation: as the variance it would put 15 % of the scores of the negatives outside (0, 1). The few scores that
    still lie outside, fewer than one in 10,000, are drawn again.

    Examples
    --------
    >>> positive, negative = gaussian_trial(np.random.default_rng(0), n=4)
    >>> positive.round(3)
    array([0.51 , 0.489, 0.551, 0.508])
    """
    check_count(n, "n")
    positive, negative = (_normal_inside(rng, mean, n) for mean in (0.5, 0.3))
    return positive, negative


def _normal_inside(rng: np.random.Generator, mean: float, n: int) -> FloatArray:
    values = rng.normal(mean, 0.08, n)
    while (outside := (values <= 0.0) | (values >= 1.0)).any():
        values[outside] = rng.normal(mean, 0.08, int(outside.sum()))
    return values


# ------------------------------------------------------------------------------------------------- the two sides


def _margins(rho: FloatArray, xi: FloatArray) -> FloatArray:
    """Return ``rho - xi``; if all weights of I1 are 1, the bound holds for all losses and the margin is infinite."""
    return np.subtract(rho, xi, out=np.full_like(rho, np.inf), where=np.isfinite(rho))


def _rho(weight: FloatArray, first: BoolArray) -> FloatArray:
    """Return ``rho_p`` for every p of the grid; infinite if all weights of I1 are 1."""
    shortfall = float(np.sqrt(np.mean((1.0 - weight[first]) ** 2)))
    means = _power_means(weight[~first], P_GRID)
    return means / shortfall if shortfall > 0.0 else np.full_like(means, np.inf)


def _xi(loss: FloatArray, first: BoolArray) -> FloatArray:
    """Return ``xi_q`` without its factor for every p of the grid; infinite if a loss of I2 is 0."""
    size = float(np.sqrt(np.mean(loss[first] ** 2)))
    means = _power_means(loss[~first], -P_GRID / (1.0 - P_GRID))
    return np.divide(size, means, out=np.full_like(means, np.inf), where=means > 0.0)


def _power_means(values: FloatArray, powers: FloatArray) -> FloatArray:
    """Return ``E[x^r]^(1/r)`` for every power, through logarithms: ``x^-199`` of a small x would overflow."""
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    if np.isneginf(logs).any():  # a zero makes every mean of a negative power zero
        return np.array([_mean_with_zeros(values, power) for power in powers])
    exponents = powers[:, None] * logs.reshape(1, -1)
    top = exponents.max(axis=1)
    means: FloatArray = np.exp((top + np.log(np.exp(exponents - top[:, None]).mean(axis=1))) / powers)
    return means


def _mean_with_zeros(values: FloatArray, power: float) -> float:
    return 0.0 if power < 0.0 else float(np.mean(values**power) ** (1.0 / power))


# ------------------------------------------------------------------------------------------------------- the sets


def _selected_pairs(positive: FloatArray, negative: FloatArray, k_positive: int, k_negative: int) -> BoolArray:
    """Return which pairs consist of two hard examples: the ``I1`` of the proof."""
    pairs: BoolArray = np.outer(top_k(1.0 - positive, k_positive), top_k(negative, k_negative)) > 0.0
    return pairs


def _stated_pairs(positive: FloatArray, negative: FloatArray, k_positive: int, k_negative: int) -> BoolArray:
    """Return the ``I1`` of the printed statement: positives from the k-th lowest up, negatives from the k-th down."""
    lowest_positive = np.sort(positive)[k_positive - 1]
    highest_negative = np.sort(negative)[negative.size - k_negative]
    pairs: BoolArray = np.logical_and.outer(positive >= lowest_positive, negative <= highest_negative)
    if pairs.all():
        raise ValueError(
            "sets='stated' needs a region that selects more than one example of a class: otherwise the printed I1 "
            f"holds all pairs and I2 none, got {k_positive} positives and {k_negative} negatives"
        )
    return pairs


def _weights(psi: WeightingFunction, hardness: FloatArray) -> FloatArray:
    weights: FloatArray = psi(torch.from_numpy(hardness)).numpy()
    return weights


def scores_inside(scores: npt.ArrayLike, name: str) -> FloatArray:
    """Return scores as float64, or raise if one is not in (0, 1)."""
    values = check_scores(scores, name).astype(np.float64)
    if values.min() <= 0.0 or values.max() >= 1.0:
        raise ValueError(f"{name} must lie in (0, 1), got values from {values.min()} to {values.max()}")
    return values


def weighting_function(weighting: WeightingFunction | TensorFunction) -> WeightingFunction:
    """Return a weighting by score, or raise if it is one by rank."""
    psi = as_weighting(weighting)
    if not isinstance(psi, WeightingFunction):
        raise ValueError(f"weighting must be a function of the score, got {weighting!r}")
    return psi
