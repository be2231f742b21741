"""Exact limits of a proportion, for rows that count alike, for weighted rows and for rows in groups.

With ``x`` of ``n`` rows the limits of Clopper and Pearson (1934) are quantiles of Beta distributions:

    low = Beta(x, n - x + 1) at (1 - confidence) / 2,    high = Beta(x + 1, n - x) at 1 - (1 - confidence) / 2.

Weights that are not whole numbers: ``n`` becomes the effective number of Kish, ``(sum w)^2 / sum w^2``.

Rows in groups: ``n`` becomes ``n / d`` with the design effect ``d``, at least 1, the variance of the proportion by
groups over its variance by rows, and shrinks further by the squared ratio of two Student quantiles, with rows and with
groups as degrees of freedom (Korn and Graubard, 1998). With ``G`` groups, and ``z`` the sum over a group of ``w *
([row is inside] - share)``, the variance by groups is ``G / (G - 1) * sum z^2 / (sum w)^2``. A share of 0 or 1 shows no
spread; each group then counts as one row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tpauc._validation import (
    BoolArray,
    FloatArray,
    check_groups,
    check_labels_and_scores,
    check_sample_weight,
)
from tpauc.metrics.intervals import Interval

IntArray = npt.NDArray[np.int64]

EXACT = "clopper-pearson"
BY_WEIGHTS = "clopper-pearson, effective number of weighted rows"
BY_GROUPS = "clopper-pearson, design effect of groups"


@dataclass(frozen=True)
class ScoredRows:
    """Checked rows.

    Attributes
    ----------
    positive, scores : array of shape (n,)
    weight : array of shape (n,) or None
        Above 0. Whole numbers (int64) stand for repeated rows, others (float64) do not.
    groups : array of shape (n,) or None
        Number of the group of each row.
    """

    positive: BoolArray
    scores: FloatArray
    weight: IntArray | FloatArray | None = None
    groups: npt.NDArray[np.intp] | None = None

    @property
    def counts_alike(self) -> bool:
        """Whether every row stands for a whole number of rows."""
        return self.weight is None or self.weight.dtype.kind == "i"

    def mass(self, rows: BoolArray) -> float:
        """Return the number of these rows, or the sum of their weights."""
        if self.weight is None:
            return int(np.count_nonzero(rows))
        total = self.weight[rows].sum()
        return int(total) if self.counts_alike else float(total)


def scored_rows(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    groups: npt.ArrayLike | None = None,
    pos_label: object = None,
) -> ScoredRows:
    """Check what a user gave, and return the rows without those of weight 0."""
    positive, scores = check_labels_and_scores(y_true, y_score, pos_label=pos_label)
    codes = None if groups is None else check_groups(groups, positive)
    if sample_weight is None:
        return ScoredRows(positive, scores, None, codes)
    weight = check_sample_weight(sample_weight, positive)
    if not weight.all():
        present = weight > 0
        positive, scores, weight = positive[present], scores[present], weight[present]
        codes = None if codes is None else check_groups(codes[present], positive)
    return weighted_rows(positive, scores, weight, codes)


def weighted_rows(
    positive: BoolArray, scores: FloatArray, weight: FloatArray, groups: npt.NDArray[np.intp] | None = None
) -> ScoredRows:
    """Return checked rows whose weights are all above 0; an error if the weights cannot be squared."""
    with np.errstate(over="ignore"):
        if bool((weight == np.floor(weight)).all()) and weight.sum() <= 2.0**53:
            return ScoredRows(positive, scores, weight.astype(np.int64), groups)
        if not np.isfinite(np.square(weight).sum()) or not np.square(weight).all():
            raise ValueError(
                "sample_weight must hold numbers whose squares fit into float64, found "
                f"{weight.min():g} to {weight.max():g}; multiply them by a constant"
            )
    return ScoredRows(positive, scores, weight, groups)


def clopper_pearson(part: float, size: float, confidence: float) -> tuple[float, float]:
    """Return the exact limits of a proportion of ``part`` in ``size``; neither needs to be a whole number.

    Examples
    --------
    >>> low, high = clopper_pearson(8, 10, 0.95)
    >>> print(f"{low:.4f} to {high:.4f}")
    0.4439 to 0.9748
    """
    from scipy.special import betainccinv, betaincinv

    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(part, size - part + 1.0, tail)) if part > 0.0 else 0.0
    high = float(betainccinv(part + 1.0, size - part, tail)) if part < size else 1.0
    return low, high


@dataclass(frozen=True)
class Proportion:
    """A share of some rows, and as how many independent rows they count.

    Attributes
    ----------
    estimate : float
        The share; NaN if there are no rows.
    part, size : float
        Effective numbers of rows that make up the share, and of all.
    method : str
        How the limits are made.
    n_rows, n_groups : float, int or None
        Of rows in groups: their number (the effective one if they are weighted), and the number of groups.
    """

    estimate: float
    part: float
    size: float
    method: str
    n_rows: float
    n_groups: int | None = None

    def interval(self, confidence: float) -> Interval:
        """Return the share with its limits; 0 and 1 if there are no rows."""
        if self.size == 0:
            return Interval(self.estimate, 0.0, 1.0, self.method)
        factor = self._shrinkage(confidence)
        low, high = clopper_pearson(self.part * factor, self.size * factor, confidence)
        return Interval(self.estimate, min(low, self.estimate), max(high, self.estimate), self.method)

    def _shrinkage(self, confidence: float) -> float:
        """Return by what factor the size shrinks because the design effect of few groups is uncertain."""
        if self.n_groups is None or self.n_groups == 1:
            return 1.0
        from scipy.special import stdtrit

        by_rows, by_groups = (stdtrit(n - 1.0, (1.0 + confidence) / 2.0) for n in (self.n_rows, self.n_groups))
        return max(min(float(by_rows / by_groups) ** 2, 1.0), 1.0 / self.size)  # at least one row is left


def proportion(rows: ScoredRows, among: BoolArray, inside: BoolArray, part: float, whole: float) -> Proportion:
    """Return the share ``part / whole`` of the rows ``among`` that are ``inside``."""
    method = BY_GROUPS if rows.groups is not None else EXACT if rows.counts_alike else BY_WEIGHTS
    if whole == 0:
        return Proportion(np.nan, 0, 0, method, 0)
    share = min(part / whole, 1.0)
    if method == EXACT:
        return Proportion(share, part, whole, method, whole)
    weight = np.ones(rows.scores.size) if rows.weight is None else rows.weight
    weight = weight[among].astype(np.float64)
    n_rows = whole if rows.counts_alike else whole**2 / float(weight @ weight)
    if rows.groups is None:
        return Proportion(share, share * n_rows, n_rows, method, n_rows)
    size, n_groups = _size_by_groups(rows.groups[among], weight, inside[among], share, n_rows)
    return Proportion(share, share * size, size, method, n_rows, n_groups)


def _size_by_groups(
    groups: npt.NDArray[np.intp], weight: FloatArray, inside: BoolArray, share: float, n_rows: float
) -> tuple[float, int]:
    """Return the number of rows over the design effect, and the number of groups."""
    names, codes = np.unique(groups, return_inverse=True)
    # Sums of whole weights are exact, so repeated rows give the same size to the last bit.
    in_group = np.bincount(codes, weights=weight)
    residual = np.bincount(codes, weights=weight * inside) - share * in_group
    squares = float(residual @ residual) / float(in_group.sum()) ** 2
    return _size_of_groups(share, n_rows, names.size, squares)


def _size_of_groups(share: float, n_rows: float, n_groups: int, squares: float) -> tuple[float, int]:
    """Return the number of rows over the design effect from the sum over groups of ``(z / sum w)^2``."""
    if n_groups == 1 or n_rows <= 1.0:
        return 1.0, 1
    if not 0.0 < share < 1.0:
        return min(n_rows, float(n_groups)), n_groups
    variance = n_groups / (n_groups - 1.0) * squares
    return (min(n_rows, share * (1.0 - share) / variance) if variance > 0.0 else n_rows), n_groups


def proportion_of_counts(part: int, whole: int, groups: tuple[int, float] | None = None) -> Proportion:
    """Return the share ``part / whole`` of rows that count alike.

    ``groups`` is how many groups they are in, and the sum over groups of ``(z / whole)^2``.
    """
    method = EXACT if groups is None else BY_GROUPS
    if whole == 0:
        return Proportion(np.nan, 0, 0, method, 0)
    share = part / whole
    if groups is None:
        return Proportion(share, part, whole, method, whole)
    size, n_groups = _size_of_groups(share, float(whole), *groups)
    return Proportion(share, share * size, size, method, whole, n_groups)
