"""Confidence bands of the ROC curve, at each FPR on its own or for the whole curve at once.

A *pointwise* band holds the TPR at any one FPR with the given confidence: it consists of the intervals of
:func:`tpauc.tpr_at_fpr`, and the curve as a whole leaves it more often. A *simultaneous* band holds the whole curve.

The simultaneous band is the pointwise one at a higher confidence. `tpauc.metrics._rate_limits` derives each limit from
a distribution of the TPR at one FPR ``t``. Its joint form for all ``t`` is drawn many times: with ``n`` uniform numbers
``V`` and ``m`` uniform numbers ``W``, ordered from the lowest, ``J(t) = #{V <= t}`` negatives lie above the threshold
of FPR ``t``, and the TPR there is

    W_(a)      with a = #{positives > Y_J},           or
    W_(b + 1)  with b = #{positives > Y_{J+1}},       W_(0) = 0, W_(m+1) = 1,

the first for the lower limits of the method "conservative", the second for the upper ones, and one or the other by the
toss of a coin per draw for "mid-p". The level of a draw at ``t`` is the share of draws that are not above it there.
The lower limits are taken at the level that a share ``(1 - confidence) / 2`` of the drawn curves fall below at any
``t``, and the upper limits likewise, so that the curve is as likely to leave the band at one ``t`` as at another. Only
values at the grid are drawn, as multinomial and Gamma numbers. The true curve never falls, so a band that holds it at
the grid also holds it between, with the lower limit of the grid point before and the upper limit of the point after.

Chosen by coverage and width (`benchmarks/bands.py`: 100 and 1,000 positives, equal and unequal variances). It covers
the whole curve in 97 % to 99 % of the samples and is two thirds as wide as the joint Kolmogorov-Smirnov regions of
Campbell (1994), which cover in all; those have one width everywhere, and so say least in the corners. The pointwise
band holds the whole curve in 73 % to 86 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc._validation import (
    FloatArray,
    check_choice,
    check_number,
    check_open_share,
    check_random_state,
    check_scores,
)
from tpauc.metrics._rate_limits import METHODS, MID_P, ClassRows, allowed, rate_limits, rows_by_class

POINTWISE, SIMULTANEOUS = "pointwise", "simultaneous"
KINDS = (POINTWISE, SIMULTANEOUS)

_FEWEST_DRAWS = 10_000
_DRAWS_BEYOND = 50  # that pass the lower limits somewhere, and as many the upper ones
_HIGHEST_CONFIDENCE = 0.999  # of a simultaneous band; 0.9999 would need a million draws
_GRID = np.concatenate(([0.0, 0.001, 0.002, 0.005], np.arange(1, 101) / 100.0))


@dataclass(frozen=True, eq=False, repr=False)
class ROCBand:
    """A ROC curve and its confidence band; what :func:`roc_band` returns.

    Attributes
    ----------
    fpr : array of shape (k,)
        The grid, increasing.
    tpr : array of shape (k,)
        Highest TPR in the sample at an FPR of at most ``fpr``.
    low, high : arrays of shape (k,)
        Limits of the TPR in the population.
    kind : {"pointwise", "simultaneous"}
        What the band holds with the given confidence: the TPR at one FPR, or the whole curve.
    confidence : float
        In (0, 1).

    Examples
    --------
    >>> grid = np.array([0.1, 0.2])
    >>> band = ROCBand(grid, np.array([0.5, 0.7]), np.array([0.4, 0.6]), np.array([0.6, 0.8]), "pointwise", 0.95)
    >>> band
    <ROC curve with a pointwise 95 % band at 2 false positive rates: TPR 0.5 (0.4 to 0.6) at FPR 0.1>
    >>> band.limits(0.15)
    (0.4, 0.8)
    """

    fpr: FloatArray
    tpr: FloatArray
    low: FloatArray
    high: FloatArray
    kind: str
    confidence: float

    def limits(self, fpr: float) -> tuple[float, float]:
        """Return limits at any FPR: the lower one of the grid point before it, the upper one of the point after it."""
        share = check_number(fpr, "fpr")
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"fpr must be in [0, 1], got {fpr!r}")
        before = int(np.searchsorted(self.fpr, share, side="right")) - 1
        after = int(np.searchsorted(self.fpr, share, side="left"))
        low = float(self.low[before]) if before >= 0 else 0.0
        return low, float(self.high[after]) if after < self.fpr.size else 1.0

    def __repr__(self) -> str:
        shown = int(np.argmin(np.abs(self.fpr - 0.1)))
        return (
            f"<ROC curve with a {self.kind} {100 * self.confidence:g} % band at {self.fpr.size} false positive rates: "
            f"TPR {self.tpr[shown]:.3g} ({self.low[shown]:.3g} to {self.high[shown]:.3g}) at FPR {self.fpr[shown]:.3g}>"
        )


def roc_band(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    kind: str = "pointwise",
    confidence: float = 0.95,
    fpr: npt.ArrayLike | None = None,
    method: str = "mid-p",
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
    random_state: int | np.random.Generator | None = 0,
) -> ROCBand:
    """ROC curve with a confidence band, pointwise or simultaneous.

    Parameters
    ----------
    y_true, y_score, groups, sample_weight, pos_label
        As in :func:`~tpauc.metrics.rates.tpr_at_fpr`.
    kind : {"pointwise", "simultaneous"}, default="pointwise"
        "pointwise" holds the TPR at any one FPR, chosen before looking, with the given confidence, and equals
        :func:`~tpauc.metrics.rates.tpr_at_fpr` there. "simultaneous" holds the whole curve, and is wider.
    confidence : float, default=0.95
        In (0, 1).
    fpr : array-like of shape (k,), optional
        Increasing false positive rates in [0, 1] at which the curve is given; by default 0, 0.001, 0.002, 0.005, and
        0.01 to 1 in steps of 0.01.
    method : {"mid-p", "conservative"}, default="mid-p"
        As in :func:`~tpauc.metrics.rates.tpr_at_fpr`.
    random_state : int, numpy.random.Generator or None, default=0
        Source of the draws that set the level of a simultaneous band. The same number gives the same band; None a
        new one each time, which differs little.

    Returns
    -------
    ROCBand
        With arrays ``fpr``, ``tpr``, ``low`` and ``high`` of shape (k,), ``low <= tpr <= high``, and
        ``limits(fpr)`` for rates between those of the grid.

    References
    ----------
    G. Campbell (1994), Advances in statistical methodology for the evaluation of diagnostic and laboratory tests.
    Statistics in Medicine 13 (simultaneous bands from two Kolmogorov-Smirnov bands; compared).
    J. Gu, S. Ghosal and A. Roy (2008), Bayesian bootstrap estimation of ROC curve. Statistics in Medicine 27 (draws of
    curves from ordered uniform numbers).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(1100) < 100
    >>> score = rng.normal(size=1100) + 2 * y
    >>> roc_band(y, score)
    <ROC curve with a pointwise 95 % band at 104 false positive rates: TPR 0.84 (0.742 to 0.9) at FPR 0.1>
    >>> band = roc_band(y, score, kind="simultaneous", fpr=[0.05, 0.1, 0.2])
    >>> [f"{low:.2f} to {high:.2f}" for low, high in zip(band.low, band.high)]
    ['0.53 to 0.80', '0.72 to 0.91', '0.81 to 0.98']
    """
    check_choice(kind, "kind", KINDS)
    check_choice(method, "method", METHODS)
    confidence = check_open_share(confidence, "confidence")
    if kind == SIMULTANEOUS and confidence > _HIGHEST_CONFIDENCE:
        raise ValueError(f"confidence must be at most {_HIGHEST_CONFIDENCE} for a simultaneous band, got {confidence}")
    tail = (1.0 - confidence) / 2.0
    generator = check_random_state(random_state)
    grid = _GRID.copy() if fpr is None else _check_grid(fpr)
    positives, negatives = rows_by_class(y_true, y_score, groups, sample_weight, pos_label)
    tails = tail, tail
    if kind == SIMULTANEOUS:
        tails = _local_levels(generator, positives, negatives, grid, tail, method)
    low, high = rate_limits(positives, negatives, grid, tails, method)
    if kind == SIMULTANEOUS:  # the curve never falls, so neither must a band that holds all of it
        low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
    tpr = positives.above(negatives.score_of_rank(allowed(negatives.total, grid) + 1)) / positives.total
    return ROCBand(grid, tpr, np.minimum(low, tpr), np.maximum(high, tpr), kind, confidence)


def _check_grid(fpr: npt.ArrayLike) -> FloatArray:
    grid = check_scores(fpr, "fpr").astype(np.float64)
    if not grid.size:
        raise ValueError("fpr must hold at least one false positive rate, got none")
    if grid.min() < 0.0 or grid.max() > 1.0:
        wrong = grid[(grid < 0.0) | (grid > 1.0)][0]
        raise ValueError(f"fpr must hold rates in [0, 1], found {wrong:g}")
    falls = np.flatnonzero(np.diff(grid) <= 0.0)
    if falls.size:
        raise ValueError(f"fpr must increase, found {grid[falls[0]]:g} before {grid[falls[0] + 1]:g}")
    return grid


def _local_levels(
    generator: np.random.Generator,
    positives: ClassRows,
    negatives: ClassRows,
    grid: FloatArray,
    tail: float,
    method: str,
) -> tuple[float, float]:
    """Return the levels of lower and upper limits that drawn curves pass anywhere with the probability ``tail``.

    Rows in groups are drawn as if independent. The level hardly depends on the number of rows, and is lower with more.
    """
    inner = grid[grid < 1.0]  # at 1 the TPR is known
    if not inner.size:
        return tail, tail
    n_draws = max(_FEWEST_DRAWS, math.ceil(_DRAWS_BEYOND / tail))
    steps = np.diff(inner, prepend=0.0, append=1.0)
    ranks = np.cumsum(generator.multinomial(negatives.total, steps, size=n_draws)[:, :-1], axis=1)
    fewest = positives.above(negatives.score_of_rank(ranks))
    most = positives.above(negatives.score_of_rank(ranks + 1))
    if method == MID_P:
        lower = upper = np.where(generator.random((n_draws, 1)) < 0.5, fewest, most + 1)
    else:
        lower, upper = fewest, most + 1
    drawn_low = _uniform_of_rank(generator, lower, positives.total)
    drawn_high = drawn_low if method == MID_P else _uniform_of_rank(generator, upper, positives.total)
    return _level(drawn_low, tail), _level(-drawn_high, tail)


def _uniform_of_rank(generator: np.random.Generator, ranks: npt.NDArray[Any], n: int) -> FloatArray:
    """Draw ``n`` ordered uniform numbers per row of ``ranks``, and return those of these ranks; 0 of rank 0."""
    spaces = generator.standard_gamma(np.diff(ranks, axis=1, prepend=0, append=n + 1))
    sums = np.cumsum(spaces, axis=1)
    drawn: FloatArray = sums[:, :-1] / sums[:, -1:]
    return drawn


def _level(drawn: FloatArray, tail: float) -> float:
    """Return the level that a share ``tail`` of the drawn curves, one per row, falls below somewhere."""
    lowest = np.ones(drawn.shape[0])
    for values in drawn.T:
        level = np.searchsorted(np.sort(values), values, side="right") / values.size
        np.minimum(lowest, level, out=lowest)
    return min(tail, float(np.sort(lowest)[int(tail * lowest.size)]))
