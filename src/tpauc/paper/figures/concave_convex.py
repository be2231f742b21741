"""The paper's Figure 3: a concave and a convex weighting beside the hard threshold that they stand for.

For the threshold ``[x > 1/2]`` and a weighting ``psi``

    S1 = integral of max(psi - threshold, 0),        S2 = integral of max(threshold - psi, 0).

The relaxed risk bounds the truncated one where ``S1`` is large and ``S2`` small: ``x^0.05`` has S1/S2 of about 60,
``x^2`` of 0.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tpauc.paper.figures.canvas import REGION, label, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

THRESHOLD = 0.5
EXPONENTS = {"convex": 2.0, "concave": 0.05}
POINTS = 201


def gap_areas(exponent: float) -> tuple[float, float]:
    """Return ``S1`` and ``S2`` of the weighting ``x^exponent``, exactly.

    Examples
    --------
    >>> [round(area, 4) for area in gap_areas(2.0)], [round(area, 4) for area in gap_areas(0.05)]
    ([0.0417, 0.2083], [0.46, 0.0076])
    """
    left = THRESHOLD ** (exponent + 1.0) / (exponent + 1.0)
    right = 1.0 / (exponent + 1.0) - left
    return left, (1.0 - THRESHOLD) - right


def rows(_full: bool) -> list[Row]:
    """Return points of both weightings, each with the areas of its curve.

    Examples
    --------
    >>> rows(False)[-1]["weight"]
    1.0
    """
    found: list[Row] = []
    for shape, exponent in EXPONENTS.items():
        above, below = gap_areas(exponent)
        found += [
            {
                "shape": shape,
                "exponent": exponent,
                "x": float(x),
                "weight": float(x**exponent),
                "threshold": float(x > THRESHOLD),
                "s1": above,
                "s2": below,
            }
            for x in np.linspace(0.0, 1.0, POINTS)
        ]
    return found


def draw(rows: Sequence[Row]) -> Figure:
    """Draw a panel for each shape, S1 and S2 filled."""
    figure, panels = new_canvas(1, 2, width=4.0)
    for axes, shape in zip(panels, EXPONENTS, strict=True):
        own = [row for row in rows if row["shape"] == shape]
        x, weight, threshold = (np.array([row[name] for row in own]) for name in ("x", "weight", "threshold"))
        first = own[0]
        above, below = weight > threshold, weight < threshold
        axes.fill_between(x, weight, threshold, where=above, color=REGION, alpha=0.6, lw=0, label="S1, above it")
        axes.fill_between(x, weight, threshold, where=below, color="#8b8794", alpha=0.5, lw=0, label="S2, below it")
        axes.plot(x, weight, label=f"x^{first['exponent']:g}", **line_style(0))
        axes.plot(x, threshold, label="[x > 0.5]", **line_style(1))
        title = f"{shape}: S1 = {first['s1']:.3f}, S2 = {first['s2']:.3f}"
        label(axes, title, "hardness x", "weight")
        axes.set(xlim=(0, 1), ylim=(0, 1.03))
        # Beside the step, on the side that neither curve nor area passes through; lower left corner of the legend.
        axes.legend(loc=(0.03, 0.68) if shape == "convex" else (0.55, 0.1), frameon=False, fontsize=8)
    return figure


FIGURE = PaperFigure("a concave and a convex weighting against the hard threshold", "Figure 3", rows, draw)
