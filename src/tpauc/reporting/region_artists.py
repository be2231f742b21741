"""What is drawn on the axes of a `ROCRegionDisplay`: the curve, the tinted area, the confidence band.

Only the area under the curve inside the region is tinted: that area, as a share of the corner, is TPAUC. With ``n``
curves each tint has the opacity ``1 - (1 - t)^(1/n)``, so that the area under all of them is as dark as the area under
a single curve, ``t``.

A confidence band is known on a grid of false positive rates. Between two of them it reaches from the lower limit of the
left one to the upper limit of the right one, which holds as the curve never falls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tpauc._validation import FloatArray, brief, check_flag, check_text, import_extra
from tpauc.metrics.bands import ROCBand
from tpauc.region import Region
from tpauc.reporting.curves import MAX_POINTS, thinned, within_region

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TINT, _BAND = 0.28, 0.12  # opacity


def shown_curve(fpr: FloatArray, tpr: FloatArray, region: Region) -> tuple[FloatArray, FloatArray]:
    """Return the curve, thinned without visible change in the whole plot and in the region."""
    if fpr.size <= MAX_POINTS:
        return fpr, tpr
    floor = 1.0 - region.alpha
    x, y = thinned(*within_region(fpr, tpr, region))
    inside = np.column_stack([region.beta * x, floor + region.alpha * y])
    whole = np.column_stack(thinned(fpr, tpr))
    below = whole[:, 1] < floor
    points = np.concatenate([whole[below], inside, whole[~below & (whole[:, 0] > region.beta)]])
    return points[:, 0], points[:, 1]


def plotted(ax: Axes, x: FloatArray, y: FloatArray, options: Mapping[str, Any]) -> Any:
    """Draw a line with a user's options."""
    try:
        return ax.plot(x, y, **options)[0]
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"curve_kwargs must be options of matplotlib's plot: {error}") from error


def tinted(ax: Axes, fpr: FloatArray, tpr: FloatArray, region: Region, colour: Any, *, n_curves: int) -> Any:
    """Tint the area under a curve inside the region; None if the curve does not reach it."""
    x, y = thinned(*within_region(fpr, tpr, region))
    if not x.size:
        return None
    floor = 1.0 - region.alpha
    opacity = 1.0 - (1.0 - _TINT) ** (1.0 / n_curves)
    return ax.fill_between(region.beta * x, floor + region.alpha * y, floor, color=colour, alpha=opacity, lw=0)


def banded(ax: Axes, band: ROCBand, colour: Any) -> Any:
    """Draw a confidence band: between two rates of its grid, the lower limit of the left, the upper of the right."""
    x = np.repeat(band.fpr, 2)[1:-1]
    low, high = np.repeat(band.low[:-1], 2), np.repeat(band.high[1:], 2)
    label = f"{100 * band.confidence:g} % band, {band.kind}"
    return ax.fill_between(x, low, high, color=colour, alpha=_BAND, lw=0.8, label=label)


def check_plot(
    ax: Any = None, *, name: Any, zoom: bool, curve_kwargs: Mapping[str, Any] | None, plot_chance_level: bool
) -> None:
    """Raise unless these can be arguments of a plot."""
    if ax is not None:
        check_axes(ax)
    if name is not None:
        check_text(name, "name")
    check_flag(zoom, "zoom")
    check_flag(plot_chance_level, "plot_chance_level")
    if curve_kwargs is not None and not isinstance(curve_kwargs, Mapping):
        raise TypeError(f"curve_kwargs must map names of matplotlib's options to values, got {brief(curve_kwargs)}")


def check_axes(ax: Any) -> Axes:
    """Return ``ax`` if it is an axes of matplotlib."""
    axes: type[Axes] = import_extra("matplotlib.axes", "report").Axes
    if not isinstance(ax, axes):
        raise TypeError(f"ax must be one matplotlib Axes, as plt.subplots() returns it, got {brief(ax)}")
    return ax
