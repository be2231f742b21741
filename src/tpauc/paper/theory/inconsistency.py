"""The paper's section on inconsistency: OPAUC and TPAUC may order two crossing ROC curves differently.

In the paper's sketch two curves cross inside the region. Curve 2 enters it earlier, at ``x2 < x1``, and curve 1 is
higher from the crossing on. Let ``S5`` be the area inside the region under curve 2 only, ``S6`` under curve 1 only,
``S7`` under both, and ``S8 = (1 - alpha) (x1 - x2)`` the rectangle below the entry of ``S5``. Then

    TPAUC_1 > TPAUC_2                             if S6 > S5,
    TPR-dependent OPAUC_1 < OPAUC_2               if S6 < S5 + S8.

`CROSSING_CURVES` is such a pair of concave curves. A plain OPAUC over ``[c, beta]`` may agree with TPAUC on that pair,
but no ``c`` agrees on all pairs: `pair_against` makes a counterexample for each.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from tpauc._validation import FloatArray, check_number
from tpauc.paper.theory.roc_areas import check_curve, curve_opauc, curve_tpauc, curve_tpr_dependent_opauc, entry_rate
from tpauc.region import Region

REGION = Region(alpha=0.4, beta=0.6)


class Curve(NamedTuple):
    """A ROC curve by its vertices."""

    fpr: tuple[float, ...]
    tpr: tuple[float, ...]

    def height(self, fpr: FloatArray, side: Literal["left", "right"] = "right") -> FloatArray:
        """Return the true positive rates at the given false positive rates, of shape (n,) and in [0, 1].

        Where the curve is vertical, ``side`` selects its lower end (left) or its upper end (right).

        Examples
        --------
        >>> CROSSING_CURVES[0].height(np.array([0.225])).tolist()
        [0.45]
        >>> step = Curve((0.0, 0.0, 1.0), (0.0, 0.5, 1.0))
        >>> step.height(np.zeros(1), "left").tolist(), step.height(np.zeros(1), "right").tolist()
        ([0.0], [0.5])
        """
        x, y = check_curve(self.fpr, self.tpr)
        vertex = np.searchsorted(x, fpr, side=side) - (side == "right")
        heights: FloatArray = np.where(x[vertex] == fpr, y[vertex], np.interp(fpr, x, y))
        return heights


# The sketch of the paper has no numbers. A concave curve belongs to the Bayes scorer of some distribution.
CROSSING_CURVES = (Curve((0.0, 0.45, 1.0), (0.0, 0.9, 1.0)), Curve((0.0, 0.15, 1.0), (0.0, 0.6, 1.0)))


class Comparison(NamedTuple):
    """Areas of two curves, each a pair (curve 1, curve 2), not normalised."""

    tpauc: tuple[float, float]
    tpr_dependent_opauc: tuple[float, float]
    entry: tuple[float, float]

    @property
    def inconsistent(self) -> bool:
        """Whether the two measures order the curves differently."""
        return (self.tpauc[0] - self.tpauc[1]) * (self.tpr_dependent_opauc[0] - self.tpr_dependent_opauc[1]) < 0.0


def compare(first: Curve, second: Curve, region: Region = REGION) -> Comparison:
    """Measure two curves in a region by TPAUC and by TPR-dependent OPAUC.

    Examples
    --------
    >>> found = compare(*CROSSING_CURVES)
    >>> [round(area, 3) for area in found.tpauc], [round(area, 3) for area in found.tpr_dependent_opauc]
    ([0.07, 0.048], [0.25, 0.318])
    >>> found.inconsistent
    True
    """
    return Comparison(
        tpauc=(curve_tpauc(*first, region), curve_tpauc(*second, region)),
        tpr_dependent_opauc=(curve_tpr_dependent_opauc(*first, region), curve_tpr_dependent_opauc(*second, region)),
        entry=(entry_rate(*first, region), entry_rate(*second, region)),
    )


class Pieces(NamedTuple):
    """The areas of the paper's sketch: only curve 2 (s5), only curve 1 (s6), both (s7), and the rectangle s8."""

    s5: float
    s6: float
    s7: float
    s8: float


def pieces(first: Curve, second: Curve, region: Region = REGION) -> Pieces:
    """Return the areas of the paper's argument; the second curve must enter the region first.

    Examples
    --------
    >>> [round(area, 4) for area in pieces(*CROSSING_CURVES)]
    [0.0069, 0.0288, 0.0407, 0.09]
    """
    entry = compare(first, second, region).entry
    if not entry[1] <= entry[0] < region.beta:
        raise ValueError(f"the second curve must enter the region first, and both must; they enter at {entry}")
    lower = both_below(first, second)
    shared = curve_tpauc(*lower, region)
    areas = curve_tpauc(*first, region), curve_tpauc(*second, region)
    return Pieces(areas[1] - shared, areas[0] - shared, shared, (1.0 - region.alpha) * (entry[0] - entry[1]))


def both_below(first: Curve, second: Curve) -> Curve:
    """Return the lower of two curves at each false positive rate, with the points where they cross.

    Examples
    --------
    >>> both_below(Curve((0.0, 0.5, 1.0), (0.0, 1.0, 1.0)), Curve((0.0, 1.0), (0.0, 1.0)))
    Curve(fpr=(0.0, 0.5, 1.0), tpr=(0.0, 0.5, 1.0))
    """
    x = np.union1d(np.asarray(first.fpr), np.asarray(second.fpr))
    left, right = first.height(x, "left"), first.height(x, "right")
    other_left, other_right = second.height(x, "left"), second.height(x, "right")
    # Between two neighbours of x both curves are straight, so they cross once where the sign of the gap changes.
    start, end = (right - other_right)[:-1], (left - other_left)[1:]
    turns = np.flatnonzero(start * end < 0.0)
    crossings = x[turns] + (x[turns + 1] - x[turns]) * start[turns] / (start[turns] - end[turns])
    fpr = np.concatenate((x, x, crossings))
    tpr = np.concatenate(
        (
            np.minimum(left, other_left),
            np.minimum(right, other_right),
            np.minimum(first.height(crossings), second.height(crossings)),
        )
    )
    # Both coordinates rise along a curve, so each can be sorted by itself, whatever the rounding of a crossing.
    vertices = np.unique(np.stack((np.sort(fpr), np.sort(tpr)), axis=1), axis=0)
    return Curve(tuple(vertices[:, 0].tolist()), tuple(vertices[:, 1].tolist()))


def pair_against(lower: float, region: Region = REGION) -> tuple[Curve, Curve]:
    """Return two curves that TPAUC and OPAUC over ``[lower, beta]`` order differently.

    The first curve reaches ``TPR = 1 - alpha`` halfway between ``lower`` and ``beta`` and is higher from there on. The
    second reaches it at ``lower`` already and runs along the edge of the region; OPAUC counts the area below the edge,
    TPAUC does not.

    Parameters
    ----------
    lower : float
        Any fixed lower limit in [0, beta).
    region : Region
        With ``alpha`` and ``beta`` below 1.

    Examples
    --------
    >>> first, second = pair_against(0.2)
    >>> curve_tpauc(*first, REGION) > curve_tpauc(*second, REGION)
    True
    >>> curve_opauc(*first, lower=0.2, upper=0.6) > curve_opauc(*second, lower=0.2, upper=0.6)
    False
    """
    start, floor, beta = check_number(lower, "lower"), 1.0 - region.alpha, region.beta
    if not 0.0 <= start < beta < 1.0 or floor <= 0.0:
        raise ValueError(f"lower must be in [0, beta) with alpha and beta below 1, got {lower!r} for {region}")
    entry = 0.5 * (start + beta)
    # Below the region they differ by a triangle over [start, entry]; inside by far less.
    step = min(region.alpha, floor * (entry - start) / (beta - entry)) / 4.0
    first = Curve((0.0, start, entry, beta, 1.0), (0.0, 0.0, floor, floor + step, 1.0))
    second = Curve((0.0, start, entry, beta, 1.0), (0.0, floor, floor, floor + step / 2.0, 1.0))
    return first, second


def order_by_opauc(first: Curve, second: Curve, *, lower: float, upper: float) -> float:
    """Return OPAUC of the first curve minus OPAUC of the second, over ``[lower, upper]``.

    Examples
    --------
    >>> order_by_opauc(*CROSSING_CURVES, lower=0.0, upper=0.6) < 0.0
    True
    """
    return curve_opauc(*first, lower=lower, upper=upper) - curve_opauc(*second, lower=lower, upper=upper)
