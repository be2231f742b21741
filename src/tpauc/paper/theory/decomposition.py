"""The paper's decomposition lemmas, on samples from a distribution with known risk.

With ``F+`` the distribution function of the positives' scores, ``S-`` the share of negatives at or above a score, and
``Q`` the inverse of ``S-``, the 0-1 risk inside the region, a mean over *all* pairs, is

    R = P(f(x-) >= f(x+), f(x+) <= t_{1-alpha}, f(x-) >= t_beta) = integral from 0 to beta of min(F+(Q(q)), alpha) dq,

which is at most ``alpha beta``; ``R^`` is the same for a sample. With ``D+ = sup |F+^ - F+|``, ``D- = sup |S-^ - S-|``:

    paper, Lemma 1     R - R^  <=  2 (D+ + D-)
    sharper           |R - R^| <=  beta max(D+, alpha - k+/n+) + alpha max(D-, beta - k-/n-)

The sharper bound holds because ``R`` is also the area of ``{(s, q): s < alpha, q < beta, s < F+(Q(q))}``: a change of
``F+`` by at most ``D+`` moves the border by at most ``D+`` over a width ``beta``, and a change of ``S-`` by at most
``D-`` over a height ``alpha``. The maxima are ``D+`` and ``D-`` if ``n+ alpha`` and ``n- beta`` are whole, and never
more than twice as large, since ``D >= 1/(2n)``. So the paper's lemma also holds for the rounded counts, which its proof
does not treat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc._validation import FloatArray, check_count, check_number, check_positive
from tpauc.metrics.area import area_in_region
from tpauc.paper.theory.populations import check_probabilities
from tpauc.region import Region


@dataclass(frozen=True)
class PowerScores:
    """Negatives score evenly in [0, 1], positives have ``F+(t) = t^theta``: every quantity has a closed form.

    Parameters
    ----------
    theta : float
        Above 0; 1 is chance, larger is better. The whole AUC is ``theta / (theta + 1)``.

    Examples
    --------
    >>> truth = PowerScores(theta=4.0)
    >>> round(1.0 - truth.risk(Region(1.0, 1.0)), 6)
    0.8
    """

    theta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", check_positive(self.theta, "theta"))

    def sample(self, n_positive: int, n_negative: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return independent scores of positives and of negatives."""
        positive = rng.random(check_count(n_positive, "n_positive")) ** (1.0 / self.theta)
        return positive, rng.random(check_count(n_negative, "n_negative"))

    def risk(self, region: Region) -> float:
        """Return ``R``, the integral of ``min((1 - q)^theta, alpha)``; up to ``q0`` the integrand is ``alpha``."""
        power = self.theta + 1.0
        q0 = min(1.0 - region.alpha ** (1.0 / self.theta), region.beta)
        beyond = ((1.0 - q0) ** power - (1.0 - region.beta) ** power) / power
        return float(region.alpha * q0 + beyond)


class Decomposition(NamedTuple):
    """The two sides of Lemma 1 and of its sharper form."""

    risk: float
    sample_risk: float
    positive_deviation: float
    negative_deviation: float
    printed_bound: float
    sharper_bound: float

    @property
    def excess(self) -> float:
        """``R - R^``."""
        return self.risk - self.sample_risk


def decompose(
    positive_scores: npt.ArrayLike, negative_scores: npt.ArrayLike, truth: PowerScores, region: Region
) -> Decomposition:
    """Compare the risk of a sample from ``truth`` with the truth, and the difference with both bounds.

    Examples
    --------
    >>> truth, region = PowerScores(4.0), Region(0.3, 0.3)
    >>> found = decompose(*truth.sample(100, 1000, np.random.default_rng(0)), truth, region)
    >>> abs(found.excess) <= found.sharper_bound <= found.printed_bound
    True
    """
    positives = check_probabilities(positive_scores, "positive_scores")
    negatives = check_probabilities(negative_scores, "negative_scores")
    shares = (
        region.hard_positives(positives.size) / positives.size,
        region.hard_negatives(negatives.size) / negatives.size,
    )
    labels = np.repeat([True, False], [positives.size, negatives.size])
    # The risk counts a tie as wrong; scores from a continuous distribution have no ties across the classes.
    value = area_in_region(labels, np.append(positives, negatives), region, tie=0.0)
    up = largest_deviation(positives**truth.theta)
    down = largest_deviation(negatives)
    sharper = region.beta * max(up, region.alpha - shares[0]) + region.alpha * max(down, region.beta - shares[1])
    return Decomposition(
        risk=truth.risk(region),
        sample_risk=shares[0] * shares[1] * (1.0 - value),
        positive_deviation=up,
        negative_deviation=down,
        printed_bound=2.0 * (up + down),
        sharper_bound=sharper,
    )


def largest_deviation(levels: FloatArray) -> float:
    """Return ``sup |F^ - F|`` of a sample, given ``F`` at each of its members.

    Examples
    --------
    >>> largest_deviation(np.array([0.25, 0.75]))
    0.25
    """
    ordered = np.sort(levels)
    steps = np.arange(ordered.size + 1) / ordered.size
    return float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))


class TwoSteps(NamedTuple):
    """The three suprema of the paper's second decomposition: ``whole <= first + second``."""

    whole: float
    first: float
    second: float


def two_step_decomposition(
    pair_terms: FloatArray, positive_rows: npt.NDArray[np.int64], negative_rows: npt.NDArray[np.int64], K: float
) -> TwoSteps:
    """Evaluate the decomposition behind Theorem 5 for a finite set of scorers on a finite population.

    With ``g`` the weighted pair loss of a scorer and ``c = K / (K - 1)``

        sup [E g - c^2 g^]  <=  sup [E g - c mean_i E_z g(x_i, z)] + sup [c mean_i E_z g(x_i, z) - c^2 g^].

    Parameters
    ----------
    pair_terms : float array of shape (scorers, N+, N-)
        ``g`` of each scorer on all pairs of the population, each pair equally likely.
    positive_rows, negative_rows : int arrays of shape (n+,) and (n-,)
        Which members of the population were drawn.
    K : float
        Above 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> steps = two_step_decomposition(rng.random((3, 20, 20)), rng.integers(20, size=5), rng.integers(20, size=9), 2.0)
    >>> steps.whole <= steps.first + steps.second
    True
    """
    if check_number(K, "K") <= 1.0:
        raise ValueError(f"K must be above 1, got {K!r}")
    factor = K / (K - 1.0)
    population = pair_terms.mean(axis=(1, 2))
    half = factor * pair_terms[:, positive_rows].mean(axis=(1, 2))
    sample = factor**2 * pair_terms[:, positive_rows][:, :, negative_rows].mean(axis=(1, 2))
    return TwoSteps(
        whole=float((population - sample).max()),
        first=float((population - half).max()),
        second=float((half - sample).max()),
    )
