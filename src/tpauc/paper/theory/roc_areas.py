"""Exact areas under ROC curves that are given by their vertices.

A curve ``y(x)`` joins its vertices ``(FPR, TPR)`` by straight lines from (0, 0) to (1, 1). With ``x0`` the first FPR at
which it reaches ``1 - alpha``,

    TPAUC               = integral from x0 to beta of y(x) - (1 - alpha), 0 if x0 >= beta
    OPAUC over [c, beta] = integral from c to beta of y(x)
    TPR-dependent OPAUC = integral from x0 to beta of y(x) = TPAUC + (1 - alpha) (beta - x0)

all without normalisation. A vertical piece of the curve has two vertices with the same FPR.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tpauc._validation import FloatArray, check_number, check_same_length, check_scores
from tpauc.region import Region
from tpauc.reporting.curves import within_region

# In floats 1 - 0.7 is above 0.3; a flat piece at 0.3 must still count as reaching 1 - 0.7.
_ROUNDING = 1e-12


def curve_tpauc(fpr: npt.ArrayLike, tpr: npt.ArrayLike, region: Region, *, normalize: bool = False) -> float:
    """Return the area between the curve and the lower border of the region.

    Parameters
    ----------
    fpr, tpr : array-like of shape (m,)
        Vertices of the curve, from (0, 0) to (1, 1).
    region : Region
    normalize : bool, default=False
        Divide by ``alpha * beta``, so a perfect curve has area 1.

    Examples
    --------
    >>> round(curve_tpauc([0.0, 0.0, 1.0], [0.0, 0.5, 1.0], Region(alpha=0.5, beta=0.5)), 4)
    0.0625
    """
    x, y = within_region(*check_curve(fpr, tpr), region)
    share = float(np.trapezoid(y, x)) if x.size else 0.0
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
    return float(np.trapezoid(heights, np.concatenate(([start], x[inside], [end]))))


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
