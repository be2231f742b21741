"""The normalised risk ``R / (P0 N0)``: what it bounds, which scorers minimise it, and its form as a saddle.

With weights ``w_i = psi(h_i) / sum psi`` of the positives and likewise ``v_j``, it is ``N = sum_ij w_i v_j l_ij``. Let
``psi`` be non-decreasing and ``l`` non-increasing in the margin, so that weights and losses grow with hardness.

**Bounds, without a condition.** By Chebyshev's sum inequality a mean under growing weights of a growing function is at
least the plain mean. Over all examples this gives ``N >= mean l_ij``, the AUC risk. Within the hard examples of a
region, whose weights add up to ``A`` over the positives and ``B`` over the negatives, it gives

    truncated <= N / (A B),        A >= k+ / n+,  B >= k- / n-

so ``TPAUC >= 1 - N / (A B) >= 1 - N / (alpha beta)`` for a surrogate above the 0-1 loss (counts that are whole). The
sharper ``psi``, the closer ``A`` and ``B`` are to 1. The printed risk has neither bound: its infimum is 0.

**Calibration, for the square loss and** ``psi(t) = t^e``, ``e >= 0``. Let ``a``, ``b`` be the weighted mean scores.
Then ``N = (1 - a + b)^2 + Var_w + Var_v``. On a population, ``N`` is stationary in the score ``f`` of a kind where

    p+(x) / p-(x) = rho(f) = (P0 / N0) G(f) / F(1 - f),
    F(t) = t^(e-1) [e ((b + t)^2 - m+) + 2 t (b + t)],                m+ = E_w (b + 1 - f)^2,
    G(y) = y^(e-1) [e ((1 - a + y)^2 - m-) + 2 y (1 - a + y)],        m- = E_v (1 - a + f)^2

``F`` is increasing where it is positive. For ``e >= 1`` both of its factors grow; for ``e <= 1``

    t^(2-e) F'(t) = (2 e^2 + 2 e) t b + (e^2 + 3 e + 2) t^2 + (1 - e) e (m+ - b^2)

has no negative term. Likewise ``G``. So ``rho`` is increasing, and the scores of a stationary point are an increasing
function of ``eta``, which has the largest TPAUC in every region. For ``e > 0`` it takes all values from 0 to
infinity, so each kind has a score inside (0, 1); for ``e = 0``, the square AUC risk, it ends at finite odds, and all
kinds beyond them share the score 0 or 1. The other way to solve the equation, ``F`` and ``G`` both negative, needs
``sqrt(m+) + sqrt(m-) > 2 - a + b``, which is impossible while ``Var_w + Var_v <= (a - b) (4 - 3 (a - b)) / 2``
(`WeightedMeans.certain`). As ``Var_w <= a (1 - a)`` and ``Var_v <= b (1 - b)``, this holds whenever ``N`` is below
``sqrt(1/2) + 1/4 = 0.957``; equal scores have ``N = 1``. So every such stationary point ranks as ``eta`` does.

**Saddle.** ``N = 1 + min over a, b of max over g of E_w[l+] + E_v[l-] - g^2`` with the ``l+``, ``l-`` of
`tpauc.losses.instancewise`. The means are ratios ``P[psi l+] / P0``. With constants ``c = E_w[l+]`` and ``P0``,

    c + P[psi (l+ - c)] / P0

is a sum over examples with the value and the gradient of the ratio. So the form exists with four more numbers, ``P0``,
``N0`` and the two means, to be tracked by moving averages; with constant weights ``P0`` and ``N0`` are enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from tpauc._validation import FloatArray, check_open_share, check_same_length, check_scores
from tpauc.losses.surrogates import as_surrogate
from tpauc.losses.tpauc_loss import SurrogateLike
from tpauc.losses.weighting import TensorFunction, WeightingFunction
from tpauc.paper.theory.bounds import scores_inside, weighting_function
from tpauc.paper.theory.populations import FinitePopulation
from tpauc.region import Region

LIMIT = 0.5**0.5 + 0.25  # below this risk every scorer is certain


class NormalisedBound(NamedTuple):
    """The normalised risk of a sample, and what it bounds."""

    normalised: float
    positive_mass: float  # A, the share of the weights on the hard positives
    negative_mass: float  # B
    auc_risk: float  # the mean loss over all pairs
    truncated: float  # the mean loss over the pairs of the region

    @property
    def limit(self) -> float:
        """The upper bound of the truncated risk."""
        return self.normalised / (self.positive_mass * self.negative_mass)


def check_normalised_bound(
    positive_scores: npt.ArrayLike,
    negative_scores: npt.ArrayLike,
    weighting: WeightingFunction | TensorFunction,
    *,
    alpha: float,
    beta: float,
    surrogate: SurrogateLike = "square",
) -> NormalisedBound:
    """Evaluate the normalised risk and its bounds on one sample, through the pair matrix.

    Parameters are those of `tpauc.paper.theory.bounds.check_bound`. In contrast to ``relaxed`` and ``truncated`` there,
    ``truncated`` here is a mean over the pairs of the region alone.

    Examples
    --------
    >>> from tpauc import Polynomial
    >>> how = {"alpha": 0.5, "beta": 0.5}
    >>> bound = check_normalised_bound([0.9, 0.6], [0.1, 0.5], Polynomial.from_exponent(2.0), **how)
    >>> bound.auc_risk <= bound.normalised, bound.truncated <= bound.limit
    (True, True)
    >>> round(bound.normalised, 4), round(bound.limit, 4), round(bound.truncated, 4)
    (0.7625, 0.8426, 0.81)
    """
    region = Region(check_open_share(alpha, "alpha"), check_open_share(beta, "beta"))
    positive, negative = (
        scores_inside(positive_scores, "positive_scores"),
        scores_inside(negative_scores, "negative_scores"),
    )
    psi = weighting_function(weighting)
    positive, negative = np.sort(positive), -np.sort(-negative)  # hardest first
    w, v = (_shares(psi(torch.from_numpy(hardness)).numpy()) for hardness in (1.0 - positive, negative))
    loss = as_surrogate(surrogate)(torch.from_numpy(np.subtract.outer(positive, negative))).numpy()
    hard_positives, hard_negatives = region.hard_positives(positive.size), region.hard_negatives(negative.size)
    return NormalisedBound(
        normalised=float(w @ loss @ v),
        positive_mass=float(w[:hard_positives].sum()),
        negative_mass=float(v[:hard_negatives].sum()),
        auc_risk=float(loss.mean()),
        truncated=float(loss[:hard_positives, :hard_negatives].mean()),
    )


class WeightedMeans(NamedTuple):
    """What the normalised square risk of a scorer is made of, for ``psi(t) = t^e`` on a population."""

    p0: float
    n0: float
    a: float  # the mean score of the positives under their weights
    b: float
    variance: float  # of the scores under the weights, both classes together
    m_positive: float  # E_w (b + 1 - f)^2
    m_negative: float  # E_v (1 - a + f)^2

    @property
    def risk(self) -> float:
        """The normalised risk."""
        return (1.0 - self.a + self.b) ** 2 + self.variance

    @property
    def certain(self) -> bool:
        """Whether the scorer ranks as ``eta`` if it is stationary."""
        gap = self.a - self.b
        return self.variance <= gap * (4.0 - 3.0 * gap) / 2.0


def weighted_means(population: FinitePopulation, scores: npt.ArrayLike, exponent: float) -> WeightedMeans:
    """Return the weighted means of a scorer with scores in (0, 1), one per kind.

    Examples
    --------
    >>> population = FinitePopulation([1, 3], [3, 1])
    >>> round(weighted_means(population, [0.3, 0.7], exponent=0.0).risk, 6)
    0.7
    """
    f = _scores_of_kinds(population, scores)
    w, v = population.positive * (1.0 - f) ** exponent, population.negative * f**exponent
    p0, n0 = float(w.sum()), float(v.sum())
    w, v = w / p0, v / n0
    a, b = float(w @ f), float(v @ f)
    variance = float(w @ (f - a) ** 2 + v @ (f - b) ** 2)
    return WeightedMeans(p0, n0, a, b, variance, float(w @ (b + 1.0 - f) ** 2), float(v @ (1.0 - a + f) ** 2))


def stationary_odds(means: WeightedMeans, f: npt.ArrayLike, exponent: float) -> FloatArray:
    """Return ``rho(f)``: the odds ``p+ / p-`` of a kind for which the score ``f`` is stationary; NaN outside its range.

    Examples
    --------
    >>> population = FinitePopulation([1, 3], [3, 1])
    >>> means = weighted_means(population, [0.3, 0.7], exponent=0.0)
    >>> stationary_odds(means, [0.3, 0.7], exponent=0.0).round(3)  # larger for the larger score
    array([0.636, 1.571])
    """
    y = np.asarray(f, dtype=np.float64)
    of_positives = _slope(1.0 - y, means.b, means.m_positive, exponent)
    of_negatives = _slope(y, 1.0 - means.a, means.m_negative, exponent)
    odds = means.p0 / means.n0 * of_negatives / np.where(of_positives == 0.0, np.nan, of_positives)
    inside: FloatArray = np.where((of_positives > 0.0) & (of_negatives > 0.0), odds, np.nan)
    return inside


def _slope(t: FloatArray, other: float, m: float, exponent: float) -> FloatArray:
    """Return ``F`` or ``G``."""
    total: FloatArray = t ** (exponent - 1.0) * (exponent * ((other + t) ** 2 - m) + 2.0 * t * (other + t))
    return total


def _shares(weights: FloatArray) -> FloatArray:
    if weights.sum() <= 0.0:
        raise ValueError("weighting must give at least one example of each class a positive weight, got 0 for all")
    shares: FloatArray = weights / weights.sum()
    return shares


def _scores_of_kinds(population: FinitePopulation, scores: npt.ArrayLike) -> FloatArray:
    values = check_scores(scores, "scores").astype(np.float64)
    check_same_length("scores", values, "positive", population.positive)
    return scores_inside(values, "scores")
