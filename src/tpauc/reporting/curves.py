"""The curves of a report as plain numbers: the ROC curve, thinned, and the densities of the scores.

**ROC.** With thresholds ``t`` in falling order the curve joins the points

    FPR = #{s- >= t} / n-,      TPR = #{s+ >= t} / n+,

from (0, 0) to (1, 1); examples with equal scores share a point. Inside a window (the whole plot, or the corner of a
:class:`~tpauc.region.Region`) coordinates are shares of the window's sides, so ``x`` and ``y`` run from 0 to 1.

**Thinning.** The curve rises in both directions. It is cut where ``x + y`` passes a multiple of ``2/1000``, and the
first and the last point of each piece are kept. The other points of a piece lie in a rectangle between these two, whose
sides add up to at most ``2/1000``. So the drawn line passes them within ``2/1000 / sqrt(8)``, less than a thousandth of
the plot's side. At most 2,000 points remain, and each is a point of the exact curve.

**Density.** The histogram of a class is smoothed by a Gaussian of width ``0.9 min(sd, IQR/1.34) n^(-1/5)`` (Silverman).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray
from tpauc.region import Region
from tpauc.reporting.panels import padded
from tpauc.reporting.ranking import score_steps

MAX_POINTS = 2000

_BINS = 256
_WIDEST_SMOOTHING = 24.0  # in bins; keeps the kernel shorter than the histogram
_BEYOND = 0.001  # share of a class, at each end, that may lie beyond the axis, so that outliers do not stretch it
_MIDDLE = 0.05, 0.95  # quantiles of a class; the axis ends at most as far beyond them as they are apart
_NEAREST_TO_END = (1e-15, 1e-3)  # bounds of ScoreScale.nearest; floats near 1 are 1e-16 apart


# ------------------------------------------------------------------------------------------------------ ROC curve


def roc_vertices(
    positive: BoolArray, scores: FloatArray, weight: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the exact vertices of the ROC curve, without points inside a straight piece.

    Parameters
    ----------
    positive : bool array of shape (n,)
        ``True`` for the positive class; both classes must be present.
    scores : float array of shape (n,)
    weight : float array of shape (n,), optional
        Above 0; the rates are then shares of the weight of a class.

    Returns
    -------
    fpr, tpr : float arrays of equal shape (m,)
        Both rise from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> roc_vertices(np.array([True, True, False, False]), np.array([0.9, 0.4, 0.4, 0.1]))
    (array([0. , 0. , 0.5, 1. ]), array([0. , 0.5, 1. , 1. ]))
    """
    ranked = score_steps(positive, scores, weight)
    right, up = ranked.negatives, ranked.positives
    # Counts are whole numbers, so this cross product is exactly zero if two steps have the same direction.
    turns = right[1:] * up[:-1] != up[1:] * right[:-1]
    kept = np.append(turns, True)
    false_positives, true_positives = np.cumsum(right), np.cumsum(up)
    fpr = np.append(0.0, false_positives[kept] / false_positives[-1])
    tpr = np.append(0.0, true_positives[kept] / true_positives[-1])
    return fpr, tpr


def spread_ties(positive: BoolArray, scores: FloatArray) -> FloatArray:
    """Return scores that rank alike, but for ties of both classes, in which each class is spread out evenly.

    The ROC curve has a straight line where both classes share a score, as if such rows were in random order. So the
    band that belongs to the drawn curve is that of the spread scores; the band of the scores themselves is for
    thresholds, which cannot divide equal scores, and lies below the line.

    Examples
    --------
    >>> import numpy as np
    >>> spread_ties(np.array([True, False, False, True]), np.array([0.5, 0.5, 0.5, 0.9]))
    array([0.5 , 0.25, 0.75, 1.5 ])
    """
    values, step = np.unique(scores, return_inverse=True)
    sizes = {side: np.bincount(step[positive == side], minlength=values.size) for side in (True, False)}
    if not (sizes[True] * sizes[False]).any():
        return scores
    places = np.empty(scores.size)
    for side, size in sizes.items():
        rows = np.flatnonzero(positive == side)
        rows = rows[np.argsort(step[rows], kind="stable")]
        earlier = np.cumsum(size) - size
        within = np.arange(rows.size) - earlier[step[rows]]
        places[rows] = step[rows] + (within + 0.5) / size[step[rows]]
    return places


def within_region(fpr: FloatArray, tpr: FloatArray, region: Region) -> tuple[FloatArray, FloatArray]:
    """Return the part of the curve inside the region, in shares of its sides; empty if the curve misses it.

    Examples
    --------
    >>> import numpy as np
    >>> within_region(np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.6, 1.0]), Region(alpha=0.5, beta=0.5))
    (array([0., 0., 1.]), array([0. , 0.2, 0.6]))
    """
    lowest, farthest = 1.0 - region.alpha, region.beta
    first = int(np.searchsorted(tpr, lowest, side="left"))
    last = int(np.searchsorted(fpr, farthest, side="right")) - 1
    x, y = fpr[first : last + 1], tpr[first : last + 1]
    if first > 0:
        entry = _between(tpr[first - 1], tpr[first], fpr[first - 1], fpr[first], at=lowest)
        if entry > farthest:
            return np.empty(0), np.empty(0)
        x, y = np.append(entry, x), np.append(lowest, y)
    if last < fpr.size - 1:
        leave = _between(fpr[last], fpr[last + 1], tpr[last], tpr[last + 1], at=farthest)
        x, y = np.append(x, farthest), np.append(y, leave)
    return np.clip(x / region.beta, 0.0, 1.0), np.clip((y - lowest) / region.alpha, 0.0, 1.0)


def _between(a: float, b: float, value_a: float, value_b: float, *, at: float) -> float:
    """Return the value at ``at`` on the straight line from ``(a, value_a)`` to ``(b, value_b)``."""
    return float(value_a + (value_b - value_a) * (at - a) / (b - a))


def thinned(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return at most ``MAX_POINTS`` points of a rising curve in the unit square, without visible change.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0.0, 1.0, 100_001)
    >>> few, _ = thinned(x, np.sqrt(x))
    >>> few.size <= MAX_POINTS, few[0], few[-1]
    (True, np.float64(0.0), np.float64(1.0))
    """
    if x.size <= MAX_POINTS:
        return x, y
    pieces = MAX_POINTS // 2
    piece = np.minimum(((x + y) * (pieces / 2)).astype(np.int64), pieces - 1)
    new_piece = piece[1:] != piece[:-1]
    kept = np.append(True, new_piece) | np.append(new_piece, True)
    return x[kept], y[kept]


# ------------------------------------------------------------------------------------------------- score densities


@dataclass(frozen=True)
class ScoreScale:
    """The coordinate of a score along an axis: the score itself, or its logit.

    Logits are for scores that all lie in [0, 1]: the scores of rare events crowd at 0, and a plain axis would show a
    spike. Scores closer to 0 or 1 than ``nearest`` are drawn at that distance, because 0 and 1 have no logit.

    Examples
    --------
    >>> ScoreScale(nearest=None).drawn([0.25]), ScoreScale(nearest=1e-6).drawn([0.5])
    (array([0.25]), array([0.]))
    """

    nearest: float | None

    @classmethod
    def fitting(cls, scores: FloatArray) -> ScoreScale:
        """Return the logit scale if all scores lie in [0, 1] and some in (0, 1), otherwise the plain scale."""
        if scores.min() < 0.0 or scores.max() > 1.0:
            return cls(None)
        inside = scores[(scores > 0.0) & (scores < 1.0)]
        if inside.size == 0:
            return cls(None)
        distance = min(float(inside.min()), 1.0 - float(inside.max()))
        return cls(min(max(distance / 2.0, _NEAREST_TO_END[0]), _NEAREST_TO_END[1]))

    def drawn(self, scores: npt.ArrayLike) -> FloatArray:
        """Return the coordinates of scores."""
        plain = np.asarray(scores, dtype=np.float64)
        if self.nearest is None:
            return plain
        inside = np.clip(plain, self.nearest, 1.0 - self.nearest)
        logits: FloatArray = np.log(inside) - np.log1p(-inside)
        return logits


@dataclass(frozen=True)
class ScoreDensity:
    """Densities of both classes over one axis, each divided by its own peak.

    Attributes
    ----------
    scale : ScoreScale
    low, high : float
        Ends of the axis, in the coordinates of ``scale``.
    position : float array of shape (256,)
        Positions along the axis, as shares of it.
    positives, negatives : float arrays of shape (256,)
        Heights in [0, 1].
    hard_positive, hard_negative : float
        The highest score among the hard positives, the lowest among the hard negatives.
    beyond : int
        Number of rows whose scores lie beyond the ends of the axis.
    """

    scale: ScoreScale
    low: float
    high: float
    position: FloatArray
    positives: FloatArray
    negatives: FloatArray
    hard_positive: float
    hard_negative: float
    beyond: int = 0

    def share(self, score: float) -> float:
        """Return the position of a score: 0 at the low end of the axis, 1 at the high end."""
        return float((self.scale.drawn(score) - self.low) / (self.high - self.low))


def score_density(
    positive: BoolArray, scores: FloatArray, region: Region, weight: FloatArray | None = None
) -> ScoreDensity:
    """Return the score densities of both classes, and the two thresholds that delimit the hard examples.

    Parameters
    ----------
    positive : bool array of shape (n,)
    scores : float array of shape (n,)
        Within +-1e300, so that their differences are finite.
    region : Region
    weight : float array of shape (n,), optional
        Above 0.

    Examples
    --------
    >>> import numpy as np
    >>> density = score_density(
    ...     np.array([True, True, False, False]), np.array([3.0, 1.0, 2.0, 0.0]), Region(alpha=0.5, beta=0.5)
    ... )
    >>> density.hard_positive, density.hard_negative
    (1.0, 2.0)
    """
    scores = scores.astype(np.float64, copy=False)
    sides = positive, ~positive
    weights = [None if weight is None else weight[side] for side in sides]
    hard_positive, hard_negative = _hard_thresholds(scores[positive], scores[~positive], weights, region)
    scale = ScoreScale.fitting(scores)
    drawn = scale.drawn(scores)
    classes = [drawn[side] for side in sides]
    low, high = _axis_ends(classes, scale.drawn([hard_positive, hard_negative]))
    positives, negatives = (
        _heights((values - low) / (high - low), heavy) for values, heavy in zip(classes, weights, strict=True)
    )
    return ScoreDensity(
        scale=scale,
        low=low,
        high=high,
        position=(np.arange(_BINS) + 0.5) / _BINS,
        positives=positives,
        negatives=negatives,
        hard_positive=hard_positive,
        hard_negative=hard_negative,
        beyond=int(np.count_nonzero((drawn < low) | (drawn > high))),
    )


def _hard_thresholds(
    positives: FloatArray, negatives: FloatArray, weights: Sequence[FloatArray | None], region: Region
) -> tuple[float, float]:
    """Return the highest score among the hard positives and the lowest among the hard negatives."""
    heavy_positives, heavy_negatives = weights
    if heavy_positives is not None and heavy_negatives is not None:
        return (
            _lowest_share(positives, heavy_positives, region.alpha),
            -_lowest_share(-negatives, heavy_negatives, region.beta),
        )
    last_positive = region.hard_positives(positives.size) - 1
    first_negative = negatives.size - region.hard_negatives(negatives.size)
    return (
        float(np.partition(positives, last_positive)[last_positive]),
        float(np.partition(negatives, first_negative)[first_negative]),
    )


def _lowest_share(scores: FloatArray, weight: FloatArray, share: float) -> float:
    """Return the highest among the lowest scores that make up this share of the weight."""
    order = np.argsort(scores)
    mass = np.cumsum(weight[order])
    # A billionth less, so that rounding does not add a row that is just beyond the share.
    last = int(np.searchsorted(mass, mass[-1] * share * (1.0 - 1e-9)))
    return float(scores[order][min(last, scores.size - 1)])


def _axis_ends(classes: Sequence[FloatArray], marks: FloatArray) -> tuple[float, float]:
    """Return the ends of an axis that holds nearly all scores of both classes and the marks, with some padding.

    The middle nine tenths of the two classes bound it: it ends at most their width beyond them, so that neither single
    outliers nor marks far out squeeze the rest.
    """
    quantiles = [np.quantile(values, [_BEYOND, 1.0 - _BEYOND]) for values in classes]
    values = np.concatenate([*quantiles, marks])
    low, high = float(values.min()), float(values.max())
    middles = [np.quantile(values, _MIDDLE) for values in classes]
    first, last = float(min(middle[0] for middle in middles)), float(max(middle[1] for middle in middles))
    if last > first:
        low, high = max(low, first - (last - first)), min(high, last + (last - first))
    return padded(low, high)


def _heights(positions: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Return the smoothed histogram over [0, 1] of positions along the axis, with its peak at 1."""
    shown = (positions >= 0.0) & (positions <= 1.0)
    inside, heavy = positions[shown], None if weight is None else weight[shown]
    counts = np.bincount(np.minimum((inside * _BINS).astype(np.int64), _BINS - 1), weights=heavy, minlength=_BINS)
    quarter, three_quarters = np.quantile(inside, [0.25, 0.75])
    # If half of the data have one value the quartiles are equal; the standard deviation says more then.
    spread = min(float(inside.std()), float(three_quarters - quarter) / 1.34) or float(inside.std())
    width = min(max(0.9 * spread * inside.size**-0.2 * _BINS, 1.0), _WIDEST_SMOOTHING)
    reach = math.ceil(3.0 * width)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    smooth = np.convolve(counts, kernel, mode="same")
    heights: FloatArray = smooth / smooth.max()
    return heights
