"""Metrics and intervals for millions of rows: one sort, no resampling.

With enough rows a TPAUC is normally distributed, and its variance follows from the influence of each row. Let ``A_i``
be the share of the ``k-`` hard negatives that the hard positive ``i`` beats, and ``B_j`` the share of the ``k+`` hard
positives that beat the hard negative ``j``, ties counted half. The easiest example that the region selects has the
highest share, ``A_max`` and ``B_max``. Call ``U_i = A_max - A_i`` for the hard positives and ``V_j = B_max - B_j`` for
the hard negatives, 0 for all other rows. Then, over all rows of each class,

    var(TPAUC) = var(U) n+ / k+^2 + var(V) n- / k-^2.

The maxima account for the border of the region, which moves with the sample. With ``k+ = n+`` and ``k- = n-`` this is
the variance of the AUC by DeLong, DeLong and Clarke-Pearson (1988). For the difference of two models ``U`` and ``V``
are the differences of theirs, row by row. The interval of a TPAUC is symmetric in ``log(x / (1 - x))``, so that it
stays within (0, 1).
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from tpauc._validation import FloatArray, check_labels_and_scores, check_open_share
from tpauc.metrics.intervals import Comparison, Interval, OperatingPoint, no_surer_than_signs
from tpauc.region import Region, hard_mass

IntArray = npt.NDArray[np.intp]

_MOST_THREADS = 4
_FEWEST_ROWS = 100_000  # for a thread to be worth its start


class SortedScores:
    """The positives of a model in order, and where the negatives are among them: all that metrics of a region need.

    Parameters
    ----------
    y_true, y_score : array-likes of shape (n,)
        As in :func:`tpauc.tpauc_score`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(100_000) < 0.1
    >>> model = SortedScores(y, rng.normal(size=y.size) + 2 * y)
    >>> interval = model.interval(Region(0.3, 0.3))
    >>> print(f"{interval.estimate:.3f} in {interval.low:.3f} to {interval.high:.3f}")
    0.379 in 0.363 to 0.395
    """

    def __init__(self, y_true: npt.ArrayLike, y_score: npt.ArrayLike) -> None:
        positive, scores = check_labels_and_scores(y_true, y_score)
        self.positives = np.sort(scores[positive])
        self.n_negative = scores.size - self.positives.size

        def count(rows: slice) -> tuple[IntArray, IntArray]:
            negatives = scores[rows][~positive[rows]]
            negatives.sort()
            return _counts(negatives, self.positives)

        with ThreadPoolExecutor(_MOST_THREADS) as pool:  # NumPy sorts without holding up other threads
            parts = list(pool.map(count, _parts(scores.size)))
        self._below, self._up_to = (np.sum(counts, axis=0) for counts in zip(*parts, strict=True))

    def interval(self, region: Region, *, confidence: float = 0.95) -> Interval:
        """Return the TPAUC of a region and its confidence interval."""
        confidence = check_open_share(confidence, "confidence")
        k_positive, k_negative, below, up_to = self._within(region)
        beaten_twice = below + up_to
        estimate = float(beaten_twice.sum() / (2 * k_positive * k_negative))
        if not 0.0 < estimate < 1.0:
            return _without_spread(estimate, min(k_positive, k_negative), confidence)
        less = (beaten_twice[-1] - beaten_twice) / (2 * k_negative)
        variance = _variance(float(less.sum()), float(less @ less), self.positives.size) / k_positive**2
        variance += _variance(*_sums_of_steps(below, up_to, k_negative), self.n_negative) / k_negative**2
        reach = _quantile(confidence) * math.sqrt(variance) / (estimate * (1.0 - estimate))
        logit = math.log(estimate / (1.0 - estimate))
        return Interval(estimate, _sigmoid(logit - reach), _sigmoid(logit + reach))

    def operating_point(self, region: Region) -> OperatingPoint:
        """Return what :func:`tpauc.operating_point` returns."""
        n_positive = self.positives.size
        allowed = hard_mass(self.n_negative, region.beta)
        missed = int(np.searchsorted(self._below, self.n_negative - allowed))
        found = missed < n_positive
        return OperatingPoint(
            threshold=float(self.positives[missed]) if found else math.inf,
            tpr=(n_positive - missed) / n_positive,
            fpr=(self.n_negative - int(self._below[missed])) / self.n_negative if found else 0.0,
            feasible=missed <= hard_mass(n_positive, region.alpha),
        )

    def _within(self, region: Region) -> tuple[int, int, IntArray, IntArray]:
        """Return k+ and k-, and for each hard positive how many hard negatives are below it and not above it."""
        k_positive, k_negative = region.hard_positives(self.positives.size), region.hard_negatives(self.n_negative)
        easy = self.n_negative - k_negative
        below, up_to = (np.maximum(count[:k_positive] - easy, 0) for count in (self._below, self._up_to))
        return k_positive, k_negative, below, up_to


def large_sample_difference(
    y_true: npt.ArrayLike, score_a: npt.ArrayLike, score_b: npt.ArrayLike, region: Region, *, confidence: float = 0.95
) -> Comparison:
    """Compare two models on the same rows, as :func:`tpauc.compare_tpauc` does by resampling.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(100_000) < 0.1
    >>> noise = rng.normal(size=y.size)
    >>> found = large_sample_difference(y, noise + 2 * y, noise + 1.9 * y, Region(0.3, 0.3))
    >>> found.low > 0, found.p_value < 0.01
    (True, True)
    """
    confidence = check_open_share(confidence, "confidence")
    values, on_positives, on_negatives = [], [], []
    for name, scores in (("score_a", score_a), ("score_b", score_b)):
        positive, checked = check_labels_and_scores(y_true, scores, score_name=name)
        value, of_positives, of_negatives = _influences(checked[positive], checked[~positive], region)
        values.append(value)
        on_positives.append(of_positives)
        on_negatives.append(of_negatives)
    difference = values[0] - values[1]
    variance = sum(
        _variance(float(between.sum()), float(between @ between), between.size)
        for between in (on_positives[0] - on_positives[1], on_negatives[0] - on_negatives[1])
    )
    if variance == 0.0:  # the same order of all that counts, or all pairs right in one and wrong in the other
        found = Comparison(difference, difference, difference, 1.0 if difference == 0.0 else 0.0)
    else:
        deviation = math.sqrt(variance)
        reach = _quantile(confidence) * deviation
        p_value = math.erfc(abs(difference) / deviation / math.sqrt(2.0))
        found = Comparison(difference, max(difference - reach, -1.0), min(difference + reach, 1.0), p_value)
    return no_surer_than_signs(found, positive, confidence)


def _influences(positives: FloatArray, negatives: FloatArray, region: Region) -> tuple[float, FloatArray, FloatArray]:
    """Return the TPAUC, U / k+ of each positive and V / k- of each negative, in the order of the rows."""
    k_positive, k_negative = region.hard_positives(positives.size), region.hard_negatives(negatives.size)
    hard_positives = np.argsort(positives, kind="stable")[:k_positive]
    hard_negatives = np.argsort(negatives, kind="stable")[negatives.size - k_negative :]
    low, high = positives[hard_positives], negatives[hard_negatives]
    beaten = _half_tied(high, low) / k_negative
    beating = 1.0 - _half_tied(low, high) / k_positive
    on_positives, on_negatives = np.zeros(positives.size), np.zeros(negatives.size)
    on_positives[hard_positives] = (beaten[-1] - beaten) / k_positive
    on_negatives[hard_negatives] = (beating[0] - beating) / k_negative
    return float(beaten.mean()), on_positives, on_negatives


def _half_tied(ordered: FloatArray, queries: FloatArray) -> FloatArray:
    """Return how many ordered values are below each query, those equal to it counted half."""
    return (np.searchsorted(ordered, queries, side="left") + np.searchsorted(ordered, queries, side="right")) / 2.0


def _parts(n_rows: int) -> list[slice]:
    """Cut the rows into as many parts as there are threads for, each of some size."""
    n_parts = max(1, min(_MOST_THREADS, os.cpu_count() or 1, n_rows // _FEWEST_ROWS))
    borders = [n_rows * part // n_parts for part in range(n_parts + 1)]
    return [slice(*ends) for ends in pairwise(borders)]


def _counts(negatives: FloatArray, positives: FloatArray) -> tuple[IntArray, IntArray]:
    """Return for each positive how many of some negatives are below it, and how many are not above it; all in order."""
    below = np.searchsorted(negatives, positives)
    if not negatives.size:
        return below, below
    up_to = below.copy()
    # The two differ only where there are ties, which most scores have none of.
    tied = np.flatnonzero(negatives[np.minimum(below, negatives.size - 1)] == positives)
    up_to[tied] = np.searchsorted(negatives, positives[tied], side="right")
    return below, up_to


def _sums_of_steps(below: IntArray, up_to: IntArray, k_negative: int) -> tuple[float, float]:
    """Return the sums of V and of its square over the hard negatives.

    V rises by ``1 / (2 k+)`` at every count in ``below`` and ``up_to`` and holds from there to the end, so that the
    step number ``t`` at ``s`` adds ``(k- - s) (t^2 - (t-1)^2)`` to the sum of squares. Without ties the steps are twice
    as high and half as many.
    """
    if np.array_equal(below, up_to):
        steps, height = below, 1.0 / below.size
    else:
        steps, height = np.sort(np.concatenate((below, up_to)), kind="stable"), 0.5 / below.size
    steps = steps[np.searchsorted(steps, 0, side="right") :]  # those at the border are part of the maximum
    beyond = k_negative - steps.astype(np.float64)
    odd_numbers = np.arange(1.0, 2.0 * steps.size, 2.0)
    return float(beyond.sum()) * height, float(beyond @ odd_numbers) * height**2


def _variance(total: float, squares: float, n: int) -> float:
    """Return n times the variance of values from their sum and sum of squares, as the sum of n such rows has."""
    return max(squares - total**2 / n, 0.0) * n / max(n - 1, 1)


def _without_spread(estimate: float, fewest: int, confidence: float) -> Interval:
    """Return the interval of a TPAUC of 0 or 1, as it is for a share among the fewer examples of the region."""
    unseen = ((1.0 - confidence) / 2.0) ** (1.0 / fewest)
    return Interval(estimate, 0.0, 1.0 - unseen) if estimate == 0.0 else Interval(estimate, unseen, 1.0)


def _quantile(confidence: float) -> float:
    return NormalDist().inv_cdf((1.0 + confidence) / 2.0)


def _sigmoid(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0.0 else math.exp(logit) / (1.0 + math.exp(logit))
