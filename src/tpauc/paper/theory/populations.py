"""Known distributions, on which the TPAUC of a scorer is exact and not an estimate.

A `FinitePopulation` has ``m`` kinds of examples; kind ``x`` has the share ``p+(x)`` of the positives and ``p-(x)`` of
the negatives. With the prior ``pi = P(y = 1)`` the regression function is

    eta(x) = pi p+(x) / (pi p+(x) + (1 - pi) p-(x)),

whose order does not depend on ``pi``. The ROC curve of a scorer has one vertex per distinct score; examples with equal
scores share a straight piece. `PlaneMixture` is a distribution on the plane, a mixture of normal distributions for each
class; its `cells` are a finite population that approximates it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tpauc._validation import (
    FloatArray,
    check_count,
    check_open_share,
    check_positive,
    check_same_length,
    check_scores,
    check_share,
)
from tpauc.paper.theory.inconsistency import curve_tpauc
from tpauc.region import Region

_HALF_WIDTH = 8.0  # of the square of cells; less than 1e-6 of `TWO_KINDS_OF_HARD` lies outside


@dataclass(frozen=True, eq=False)  # arrays can be neither compared nor hashed: populations are compared by identity
class FinitePopulation:
    """The share of each kind among the positives and among the negatives.

    Parameters
    ----------
    positive, negative : array-like of shape (m,)
        Non-negative; scaled to add up to 1.

    Examples
    --------
    >>> population = FinitePopulation([1, 1, 2], [2, 1, 1])
    >>> population.eta.tolist()
    [0.3333333333333333, 0.5, 0.6666666666666666]
    >>> population.tpauc(population.eta, Region(alpha=1.0, beta=1.0))
    0.65625
    """

    positive: FloatArray
    negative: FloatArray

    def __init__(self, positive: npt.ArrayLike, negative: npt.ArrayLike) -> None:
        object.__setattr__(self, "positive", _check_masses(positive, "positive"))
        object.__setattr__(self, "negative", _check_masses(negative, "negative"))
        check_same_length("positive", self.positive, "negative", self.negative)

    @property
    def eta(self) -> FloatArray:
        """``P(y = 1 | x)`` of each kind at the prior 1/2; 0 for a kind that does not occur."""
        total = self.positive + self.negative
        eta: FloatArray = np.divide(self.positive, total, out=np.zeros_like(total), where=total > 0.0)
        return eta

    def roc(self, scores: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the vertices of the ROC curve of a scorer, given the score of each kind."""
        values = check_scores(scores, "scores")
        check_same_length("scores", values, "positive", self.positive)
        order = np.argsort(-values, kind="stable")
        last_of_score = np.append(np.diff(values[order]) != 0.0, True)
        fpr, tpr = (
            np.append(0.0, np.minimum(np.cumsum(mass[order])[last_of_score], 1.0))
            for mass in (self.negative, self.positive)
        )
        fpr[-1] = tpr[-1] = 1.0  # the sums of shares have rounding errors
        return fpr, tpr

    def tpauc(self, scores: npt.ArrayLike, region: Region) -> float:
        """Return the normalised TPAUC of a scorer, given the score of each kind."""
        return curve_tpauc(*self.roc(scores), region, normalize=True)


@dataclass(frozen=True)
class NormalBlob:
    """One part of a mixture: its share of the class, its centre, and its standard deviation in each direction.

    Examples
    --------
    >>> round(float(NormalBlob(1.0, (0.0, 0.0), 1.0).density(np.zeros((1, 2)))[0]), 4)  # 1 / (2 pi)
    0.1592
    """

    share: float
    centre: tuple[float, float]
    spread: float

    def __post_init__(self) -> None:
        check_share(self.share, "share")
        check_positive(self.spread, "spread")

    def density(self, points: FloatArray) -> FloatArray:
        """Return ``share`` times the density at points of shape (n, 2)."""
        squares = ((points - np.asarray(self.centre)) ** 2).sum(axis=1)
        values: FloatArray = self.share * np.exp(-squares / (2.0 * self.spread**2)) / (2.0 * np.pi * self.spread**2)
        return values

    def log_density(self, points: FloatArray) -> FloatArray:
        """Return the logarithm of `density`, which is finite even if the density is too small for a float."""
        squares = ((points - np.asarray(self.centre)) ** 2).sum(axis=1)
        values: FloatArray = np.log(self.share / (2.0 * np.pi * self.spread**2)) - squares / (2.0 * self.spread**2)
        return values


@dataclass(frozen=True)
class PlaneMixture:
    """A distribution on the plane with known ``eta``.

    Parameters
    ----------
    positives, negatives : tuples of NormalBlob
        The parts of each class; their shares add up to 1.
    prior : float
        Share of positives, ``P(y = 1)``.

    Examples
    --------
    >>> origin = np.zeros((1, 2))
    >>> mixture = PlaneMixture((NormalBlob(1.0, (1.0, 0.0), 1.0),), (NormalBlob(1.0, (-1.0, 0.0), 1.0),), prior=0.1)
    >>> [round(value, 6) for value in mixture.eta(origin).tolist()]
    [0.1]
    """

    positives: tuple[NormalBlob, ...]
    negatives: tuple[NormalBlob, ...]
    prior: float

    def __post_init__(self) -> None:
        check_open_share(self.prior, "prior")
        for name, blobs in (("positives", self.positives), ("negatives", self.negatives)):
            total = sum(blob.share for blob in blobs)
            if abs(total - 1.0) > 1e-12:
                raise ValueError(f"the shares of {name} must add up to 1, got {total!r}")

    def eta(self, points: FloatArray) -> FloatArray:
        """Return ``P(y = 1 | x)`` at points of shape (n, 2)."""
        positive, negative = (
            np.logaddexp.reduce([blob.log_density(points) for blob in blobs])
            for blobs in (self.positives, self.negatives)
        )
        log_odds_against = np.log((1.0 - self.prior) / self.prior) + negative - positive
        values: FloatArray = np.exp(-np.logaddexp(0.0, log_odds_against))
        return values

    def sample(
        self, n_positive: int, n_negative: int, rng: np.random.Generator
    ) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Return points of shape (n, 2) and labels, the positives first."""
        counts = check_count(n_positive, "n_positive"), check_count(n_negative, "n_negative")
        points = [_draw(blobs, n, rng) for blobs, n in zip((self.positives, self.negatives), counts, strict=True)]
        return np.concatenate(points), np.repeat(np.array([1, 0], dtype=np.int64), counts)

    def cells(self, side: int = 250) -> tuple[FloatArray, FinitePopulation]:
        """Return the centres of ``side * side`` square cells, shape (side^2, 2), and the population on them.

        The cells cover the square of coordinates from -8 to 8. They must hold both classes up to one part in a
        thousand: blobs outside the square, or narrower than its cells, are refused.
        """
        steps = (np.arange(check_count(side, "side")) + 0.5) / side
        ticks = _HALF_WIDTH * (2.0 * steps - 1.0)
        points = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
        densities = [_density(blobs, points) for blobs in (self.positives, self.negatives)]
        for name, density in zip(("positives", "negatives"), densities, strict=True):
            mass = float(density.sum()) * (2.0 * _HALF_WIDTH / side) ** 2
            if abs(mass - 1.0) > 1e-3:
                raise ValueError(
                    f"side={side} cells by {side} up to +-{_HALF_WIDTH:g} must hold a mass of 1 of the {name}, got "
                    f"{mass:.4g}: move or shrink the blobs into that square, and give narrow ones a larger side"
                )
        return points, FinitePopulation(*densities)


def _density(blobs: tuple[NormalBlob, ...], points: FloatArray) -> FloatArray:
    values: FloatArray = np.sum([blob.density(points) for blob in blobs], axis=0)
    return values


def _draw(blobs: tuple[NormalBlob, ...], n: int, rng: np.random.Generator) -> FloatArray:
    kind = rng.choice(len(blobs), size=n, p=[blob.share for blob in blobs])
    centres = np.array([blob.centre for blob in blobs])[kind]
    spreads = np.array([blob.spread for blob in blobs])[kind]
    points: FloatArray = centres + spreads[:, None] * rng.normal(size=(n, 2))
    return points


# A quarter of the positives lies near the negatives and a tenth on their far side: no line separates all of them, so a
# linear scorer has to choose, while a small net does not.
TWO_KINDS_OF_HARD = PlaneMixture(
    positives=(NormalBlob(0.65, (1.8, 0.0), 0.8), NormalBlob(0.25, (0.3, 1.5), 0.6), NormalBlob(0.1, (-4.0, 0.0), 0.6)),
    negatives=(NormalBlob(1.0, (-0.8, -0.8), 1.0),),
    prior=0.1,
)

# Two kinds of positives and two of negatives, each close to a kind of the other class: the border is bent, and all
# examples can be ranked well.
BENT_BORDER = PlaneMixture(
    positives=(NormalBlob(0.7, (1.8, 0.0), 0.8), NormalBlob(0.3, (-0.3, 1.6), 0.6)),
    negatives=(NormalBlob(0.8, (-1.0, -0.7), 1.0), NormalBlob(0.2, (1.5, -1.8), 0.6)),
    prior=0.1,
)


def _check_masses(masses: npt.ArrayLike, name: str) -> FloatArray:
    """Return non-negative finite masses with a positive sum, scaled to add up to 1."""
    values = check_scores(masses, name).astype(np.float64)
    if values.size == 0 or values.min() < 0.0 or values.sum() == 0.0:
        raise ValueError(f"{name} must be non-negative with a positive sum, got {values.tolist()!r:.80}")
    shares: FloatArray = values / values.sum()
    return shares


def check_probabilities(values: npt.ArrayLike, name: str) -> FloatArray:
    """Return finite numbers in [0, 1] as float64, at least one."""
    numbers = check_scores(values, name).astype(np.float64)
    if numbers.size == 0 or numbers.min() < 0.0 or numbers.max() > 1.0:
        raise ValueError(f"{name} must hold numbers in [0, 1], got {numbers.tolist()!r:.80}")
    return numbers
