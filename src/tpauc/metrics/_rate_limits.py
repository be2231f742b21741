"""Confidence limits of the TPR at a given FPR, from the order statistics of both classes.

Let ``Y_1 >= ... >= Y_n`` be the scores of ``n`` negatives, ``Y_0 = inf``, ``Y_{n+1} = -inf``, and let ``c`` be the
threshold whose FPR in the population is ``t``. How many negatives of the sample lie above ``c`` is a number ``J`` with
the distribution Bin(n, t), whatever the scores are, and ``c`` lies between ``Y_{J+1}`` and ``Y_J``. So of the ``m``
positives at least ``a_J = #{x > Y_J}`` and at most ``b_J = #{x > Y_{J+1}}`` lie above ``c``. The exact limits of a
proportion (Clopper and Pearson, 1934) are quantiles of a Beta distribution; averaged over ``J`` they become

    F_low(x)  = sum_j P(J = j) P(Beta(a_j, m - a_j + 1) <= x),
    F_high(x) = sum_j P(J = j) P(Beta(b_j + 1, m - b_j) <= x),

with Beta(0, .) = 0 and Beta(., 0) = 1. The method "conservative" takes the lower limit from ``F_low`` and the upper
from ``F_high``; "mid-p" takes both from the mean of the two, as the mid-P interval of a proportion does (Lancaster,
1961). Nothing is drawn at random and no density is estimated: ``J`` allows for the negatives, which decide where the
threshold lies, and the Beta distributions allow for the positives.

Rows in groups: each class counts as many rows as would vary as much if they were independent, its size over the design
effect (Korn and Graubard, 1998). To first order the error of a TPR at FPR ``t`` is a sum over the rows of

    d = ([x > c] - R) / m  for a positive,    d = -R' ([y > c] - t) / n  for a negative,

``R'`` the slope of the ROC curve there. The design effect is the sum over groups of ``(sum of d in the group)^2``
over the sum of ``d^2`` over rows, at least 1. So what shifts all scores of a group cancels. This is uncertain if few
groups decide, so the sizes shrink further by the squared ratio of two Student quantiles. The degrees of freedom are the
rows, and those of the variance by groups (Satterthwaite, 1946), ``2 D^2 / (G var(z^2))`` with ``z`` the sum of ``d`` in
a group and ``D`` the sum of ``z^2`` over the ``G`` groups, at most the number of groups less 1. Where all
rows of a class are on one side of ``c``, no spread is seen, and each group counts as one row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray, check_groups, check_labels_and_scores, check_row_counts
from tpauc.region import hard_mass

IntArray = npt.NDArray[np.int64]

MID_P, CONSERVATIVE = "mid-p", "conservative"
METHODS = (MID_P, CONSERVATIVE)

_Parts = tuple[FloatArray, FloatArray, FloatArray]  # weights, first and second shapes of some Beta distributions

_NEGLIGIBLE = 1e-10  # probability of all J that are left out on either side
_MOST_STEPS = 128  # values of J told apart, each of at most a tenth of its standard deviation
_HALVINGS = 30  # of [0, 1], which leave less than 1e-9


@dataclass(frozen=True)
class ClassRows:
    """The rows of a class in the order of their scores, each counted as often as its weight says.

    Attributes
    ----------
    scores : array of shape (n,)
        From the lowest up.
    up_to : array of shape (n + 1,)
        Number of counted rows before each place.
    groups : array of shape (n,) or None
        Number of the group of each row.
    """

    scores: FloatArray
    up_to: IntArray
    groups: npt.NDArray[np.intp] | None = None

    @classmethod
    def of(cls, scores: FloatArray, counts: IntArray | None, groups: npt.NDArray[Any] | None) -> ClassRows:
        """Return the rows of a class in order."""
        order = np.argsort(scores, kind="stable")
        steps = np.ones(scores.size, dtype=np.int64) if counts is None else counts[order]
        return cls(scores[order], np.concatenate(([0], np.cumsum(steps))), None if groups is None else groups[order])

    @property
    def total(self) -> int:
        """Number of counted rows."""
        return int(self.up_to[-1])

    def mirrored(self) -> ClassRows:
        """Return the rows with the opposite scores."""
        groups = None if self.groups is None else self.groups[::-1]
        return ClassRows(-self.scores[::-1], self.total - self.up_to[::-1], groups)

    def above(self, thresholds: npt.ArrayLike) -> Any:
        """Return how many rows score above a threshold, or above each of several."""
        return self.total - self.up_to[np.searchsorted(self.scores, thresholds, side="right")]

    def score_of_rank(self, ranks: IntArray | FloatArray) -> FloatArray:
        """Return the ``ranks``-th highest score; infinity for rank 0, minus infinity beyond the last."""
        places = np.searchsorted(self.up_to[1:], self.total - ranks, side="right")
        scores = self.scores[np.clip(places, 0, self.scores.size - 1)].astype(np.float64)
        return np.where(ranks <= 0, np.inf, np.where(ranks > self.total, -np.inf, scores))

    def sums_by_group(self, values: FloatArray, n_groups: int) -> FloatArray:
        """Return the sum of one value per row over the rows of each group."""
        assert self.groups is not None
        weights = np.diff(self.up_to) * values
        return np.bincount(self.groups, weights=weights, minlength=n_groups).astype(np.float64)


def rows_by_class(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    groups: npt.ArrayLike | None,
    sample_weight: npt.ArrayLike | None,
    pos_label: Any,
) -> tuple[ClassRows, ClassRows]:
    """Check what a user gave, and return the positives and the negatives in order."""
    positive, scores = check_labels_and_scores(y_true, y_score, pos_label=pos_label)
    counts = None if sample_weight is None else check_row_counts(sample_weight, positive)
    codes = None if groups is None else check_groups(groups, positive)
    if counts is not None and not counts.all():  # rows that are repeated 0 times
        present = counts > 0
        positive, scores, counts = positive[present], scores[present], counts[present]
        codes = None if codes is None else check_groups(codes[present], positive)

    def rows(side: BoolArray) -> ClassRows:
        return ClassRows.of(
            scores[side], None if counts is None else counts[side], None if codes is None else codes[side]
        )

    return rows(positive), rows(~positive)


def rate_limits(
    positives: ClassRows, negatives: ClassRows, fpr: FloatArray, tails: tuple[float, float], method: str
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper limits of the TPR at each FPR, each missed with about the probability of its tail."""
    lows: list[_Parts] = []
    highs: list[_Parts] = []
    sizes = effective_sizes(positives, negatives, fpr, min(tails))
    for share, (positive_size, negative_size) in zip(fpr, sizes, strict=True):
        weight, fewest, most = _positives_above(positives, negatives, float(share), int(negative_size + 1e-6))
        scale = positive_size / positives.total
        lows.append((weight, scale * fewest, scale * (positives.total - fewest) + 1.0))
        highs.append((weight, scale * most + 1.0, scale * (positives.total - most)))
    low_mixtures, high_mixtures = _Mixtures.of(lows), _Mixtures.of(highs)
    if method == MID_P:
        low_mixtures = high_mixtures = low_mixtures.mean_with(high_mixtures)
    low, high = low_mixtures.bracket(tails[0])[0], high_mixtures.bracket(1.0 - tails[1])[1]
    whole = fpr >= 1.0  # every row is above minus infinity
    return np.where(whole, 1.0, low), np.where(whole, 1.0, high)


def allowed(total: int, shares: FloatArray) -> IntArray:
    """Return ``floor(total * share)`` for each share, immune to rounding."""
    return np.array([hard_mass(total, float(share)) for share in shares], dtype=np.int64)


def effective_sizes(positives: ClassRows, negatives: ClassRows, fpr: FloatArray, tail: float) -> FloatArray:
    """Return as how many independent rows each class counts at each FPR, shape (fpr, 2)."""
    classes = positives, negatives
    sizes = np.tile([float(rows.total) for rows in classes], (fpr.size, 1))
    if positives.groups is None or negatives.groups is None:
        return sizes
    from scipy.stats import t as student

    n_groups = [np.unique(codes).size for codes in (positives.groups, negatives.groups)]
    thresholds = negatives.score_of_rank(allowed(negatives.total, fpr) + 1)
    for place, threshold in enumerate(thresholds):
        freedom = math.inf
        if any(rows.above(threshold) in (0, rows.total) for rows in classes):
            sizes[place] = n_groups
        else:
            effect, of_effect = _design_effect(positives, negatives, float(threshold), float(fpr[place]))
            if effect > 1.0 + 1e-9:  # rounding must not cost a row
                sizes[place] /= effect
                freedom = of_effect
        degrees = [[rows.total - 1, min(n - 1, freedom)] for rows, n in zip(classes, n_groups, strict=True)]
        by_rows, by_groups = student.isf(tail, degrees).T
        sizes[place] *= float((by_rows / by_groups).min()) ** 2
    at_least_one: FloatArray = np.maximum(sizes, 1.0)
    return at_least_one


def _design_effect(positives: ClassRows, negatives: ClassRows, threshold: float, share: float) -> tuple[float, float]:
    """Return the variance by groups over the variance by rows of the TPR at this FPR, and its degrees of freedom."""
    n_groups = 1 + max(int(rows.groups.max()) for rows in (positives, negatives) if rows.groups is not None)
    by_group, by_rows = np.zeros(n_groups), 0.0
    for rows, factor in ((positives, 1.0), (negatives, -_slope(positives, negatives, share))):
        above = rows.scores > threshold
        influence = factor * (above - int(rows.above(threshold)) / rows.total) / rows.total
        by_group += rows.sums_by_group(influence, n_groups)
        by_rows += float(np.diff(rows.up_to) @ influence**2)
    squares = by_group**2
    spread = float(squares.var())
    freedom = 2.0 * float(squares.sum()) ** 2 / (n_groups * spread) if spread > 0.0 else math.inf
    return float(squares.sum()) / by_rows, max(freedom, 1.0)


def _slope(positives: ClassRows, negatives: ClassRows, share: float) -> float:
    """Return how much the TPR rises with the FPR, within about two standard errors of the FPR on either side."""
    reach = 2.0 * math.sqrt(share * (1.0 - share) / negatives.total) + 1.0 / negatives.total
    ends = np.clip([share - reach, share + reach], 0.0, 1.0)
    caught = positives.above(negatives.score_of_rank(allowed(negatives.total, ends) + 1))
    return float((caught[1] - caught[0]) / positives.total / (ends[1] - ends[0]))


def _positives_above(
    positives: ClassRows, negatives: ClassRows, share: float, size: int
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the probabilities of J, and the fewest and the most positives above the threshold for each.

    ``size`` negatives count as independent, each of which stands for ``negatives.total / size`` rows.
    """
    from scipy.stats import binom

    first, last = (int(end) for end in binom.ppf([_NEGLIGIBLE, 1.0 - _NEGLIGIBLE], size, share))
    steps = np.unique(np.linspace(first, last + 1, min(last + 2 - first, _MOST_STEPS + 1)).astype(np.int64))
    probability = np.diff(binom.cdf(steps - 1, size, share))
    rows_each = negatives.total / size
    fewest = positives.above(negatives.score_of_rank(np.floor(steps[:-1] * rows_each)))
    most = positives.above(negatives.score_of_rank(np.ceil(steps[1:] * rows_each)))
    changes = np.flatnonzero(np.diff(fewest, prepend=-1) + np.diff(most, prepend=-1))
    return np.add.reduceat(probability, changes), fewest[changes], most[changes]


@dataclass(frozen=True)
class _Mixtures:
    """Several mixtures of Beta distributions, one after the other in flat arrays."""

    weight: FloatArray
    first: FloatArray
    second: FloatArray
    mixture: npt.NDArray[np.intp]
    n_mixtures: int

    @classmethod
    def of(cls, parts: list[_Parts]) -> _Mixtures:
        """Return the mixtures whose weights and shapes are given one by one."""
        weight, first, second = (np.concatenate(column) for column in zip(*parts, strict=True))
        sizes = [part[0].size for part in parts]
        return cls(weight, first, second, np.repeat(np.arange(len(parts)), sizes), len(parts))

    def mean_with(self, other: _Mixtures) -> _Mixtures:
        """Return the mixtures in which both sides have half of the weight."""
        return _Mixtures(
            np.concatenate((self.weight, other.weight)) / 2.0,
            np.concatenate((self.first, other.first)),
            np.concatenate((self.second, other.second)),
            np.concatenate((self.mixture, other.mixture)),
            self.n_mixtures,
        )

    def bracket(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return values just below and just above the quantile of each mixture; exactly 0 and 1 at its ends."""
        from scipy.special import betainc

        at_zero, at_one = self.first <= 0.0, self.second <= 0.0
        first, second = np.where(at_zero, 1.0, self.first), np.where(at_one, 1.0, self.second)
        low, high = np.zeros(self.n_mixtures), np.ones(self.n_mixtures)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            below = betainc(first, second, middle[self.mixture])
            below = np.where(at_zero, 1.0, np.where(at_one, 0.0, below))
            reached = np.bincount(self.mixture, weights=self.weight * below, minlength=self.n_mixtures) >= level
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return low, high
