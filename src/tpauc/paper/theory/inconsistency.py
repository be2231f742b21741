"""ROC curves by their vertices: exact areas, and curves that OPAUC and TPAUC order differently.

A curve ``y(x)`` joins its vertices ``(FPR, TPR)`` by straight lines from (0, 0) to (1, 1). With ``x0`` the first FPR at
which it reaches ``1 - alpha``,

    TPAUC               = integral from x0 to beta of y(x) - (1 - alpha), 0 if x0 >= beta
    OPAUC over [c, beta] = integral from c to beta of y(x)
    TPR-dependent OPAUC = integral from x0 to beta of y(x) = TPAUC + (1 - alpha) (beta - x0)

all without normalisation. A vertical piece of the curve has two vertices with the same FPR.

**The paper's section on inconsistency.** In its sketch two curves cross inside the region. Curve 2 enters it earlier,
at ``x2 < x1``, and curve 1 is higher from the crossing on. Let ``S5`` be the area inside the region under curve 2 only,
``S6`` under curve 1 only,
``S7`` under both, and ``S8 = (1 - alpha) (x1 - x2)`` the rectangle below the entry of ``S5``. Then

    TPAUC_1 > TPAUC_2                             if S6 > S5,
    TPR-dependent OPAUC_1 < OPAUC_2               if S6 < S5 + S8.

`CROSSING_CURVES` is such a pair of concave curves. A plain OPAUC over ``[c, beta]`` may agree with TPAUC on that pair,
but no ``c`` agrees on all pairs: `pair_against` makes a counterexample for each.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.integrate import trapezoid

from tpauc._validation import FloatArray, check_number, check_same_length, check_scores
from tpauc.region import Region
from tpauc.reporting.curves import within_region

REGION = Region(alpha=0.4, beta=0.6)

# In floats 1 - 0.7 is above 0.3; a flat piece at 0.3 must still count as reaching 1 - 0.7.
_ROUNDING = 1e-12


# ---------------------------------------------------------------------------------------------------------------- areas


def curve_tpauc(fpr: npt.ArrayLike, tpr: npt.ArrayLike, region: Region, *, normalize: bool = False) -> float:
    """Return the area between the curve and the lower border of the region, with ``normalize`` as a share of it.

    Examples
    --------
    >>> round(curve_tpauc([0.0, 0.0, 1.0], [0.0, 0.5, 1.0], Region(alpha=0.5, beta=0.5)), 4)
    0.0625
    """
    x, y = within_region(*check_curve(fpr, tpr), region)
    share = float(trapezoid(y, x)) if x.size else 0.0
    return share if normalize else share * region.area


def curve_opauc(fpr: npt.ArrayLike, tpr: npt.ArrayLike, *, lower: float, upper: float) -> float:
    """Return the area under the curve between two false positive rates.

    Examples
    --------
    >>> curve_opauc([0.0, 1.0], [0.0, 1.0], lower=0.0, upper=1.0)
    0.5
    """
    start, end = check_number(lower, "lower"), check_number(upper, "upper")
    if not 0.0 <= start <= end <= 1.0:
        raise ValueError(f"lower and upper must satisfy 0 <= lower <= upper <= 1, got {lower!r} and {upper!r}")
    x, y = check_curve(fpr, tpr)
    inside = (x > start) & (x < end)
    heights = np.concatenate(([_height(x, y, start, "right")], y[inside], [_height(x, y, end, "left")]))
    return float(trapezoid(heights, np.concatenate(([start], x[inside], [end]))))


def entry_rate(fpr: npt.ArrayLike, tpr: npt.ArrayLike, region: Region) -> float:
    """Return ``x0``, the first false positive rate at which the curve reaches ``TPR = 1 - alpha``.

    Examples
    --------
    >>> round(entry_rate([0.0, 1.0], [0.0, 1.0], Region(alpha=0.4, beta=0.6)), 4)
    0.6
    """
    x, y = check_curve(fpr, tpr)
    return _height(y, x, max(1.0 - region.alpha - _ROUNDING, 0.0), "left")


def curve_tpr_dependent_opauc(fpr: npt.ArrayLike, tpr: npt.ArrayLike, region: Region) -> float:
    """Return the area under the curve from its entry into the region to ``beta``; 0 if it misses the region.

    Examples
    --------
    >>> round(curve_tpr_dependent_opauc([0.0, 0.2, 1.0], [0.0, 0.6, 1.0], Region(alpha=0.4, beta=0.6)), 4)
    0.28
    """
    start = entry_rate(fpr, tpr, region)
    return curve_opauc(fpr, tpr, lower=start, upper=region.beta) if start < region.beta else 0.0


def printed_tpauc(fpr: npt.ArrayLike, tpr: npt.ArrayLike, region: Region) -> float:
    """Return the paper's formula for TPAUC as printed, which does not treat curves that miss the region.

    For such a curve ``x0 > beta``, the integral runs backwards over ``y < 1 - alpha``, and the result is positive.

    Examples
    --------
    >>> region = Region(alpha=0.3, beta=0.3)  # of area 0.09
    >>> diagonal = [0.0, 1.0], [0.0, 1.0]
    >>> round(printed_tpauc(*diagonal, region), 4), curve_tpauc(*diagonal, region)
    (0.08, 0.0)
    """
    start = entry_rate(fpr, tpr, region)
    sign = 1.0 if start <= region.beta else -1.0
    area = sign * curve_opauc(fpr, tpr, lower=min(start, region.beta), upper=max(start, region.beta))
    return area - (1.0 - region.alpha) * (region.beta - start)


def _height(x: FloatArray, y: FloatArray, at: float, side: str) -> float:
    """Return the height of the curve; on a vertical piece its lower ("left") or upper ("right") end."""
    # mypy: NumPy types `side` as a literal.
    number = int(np.searchsorted(x, at, side=side))  # type: ignore[call-overload]
    if side == "left":
        if number < x.size and x[number] == at:
            return float(y[number])
    elif number > 0 and x[number - 1] == at:
        return float(y[number - 1])
    before, after = number - 1, number
    return float(y[before] + (y[after] - y[before]) * (at - x[before]) / (x[after] - x[before]))


def check_curve(fpr: npt.ArrayLike, tpr: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the vertices of a ROC curve, whose coordinates must both rise from 0 to 1."""
    x, y = (check_scores(values, name).astype(np.float64) for values, name in ((fpr, "fpr"), (tpr, "tpr")))
    check_same_length("fpr", x, "tpr", y)
    for values, name in ((x, "fpr"), (y, "tpr")):
        if values.size < 2 or values[0] != 0.0 or values[-1] != 1.0 or (np.diff(values) < 0.0).any():
            raise ValueError(f"{name} must rise from 0 to 1, got {values.tolist()!r:.80}")
    return x, y


# ------------------------------------------------------------------------------------------------------ crossing curves


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
    TPAUC does not. ``lower`` is in [0, beta), and ``alpha`` and ``beta`` are below 1.

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
