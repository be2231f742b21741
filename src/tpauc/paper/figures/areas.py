"""The paper's Figure 1: AUC, OPAUC and TPAUC as areas under one ROC curve.

With the curve ``TPR(x)`` the three areas are

    AUC = integral_0^1 TPR,    OPAUC = integral_0^beta TPR,    TPAUC = integral_0^beta max(TPR - (1 - alpha), 0),

and each equals its ranking form, the mean over pairs of `tpauc.metrics`, where the counts ``n+ alpha`` and ``n- beta``
are whole and no scores are tied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tpauc.metrics.area import area_in_region
from tpauc.paper.figures.canvas import INK, REGION, label, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.region import Region
from tpauc.reporting.curves import roc_vertices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA, BETA = 0.5, 0.4
EXAMPLES = 500  # of each class
SHIFT = 1.2  # distance of the classes' means, in standard deviations


def rows(_full: bool) -> list[Row]:
    """Return the points of the curve, then the three areas, not normalised.

    Examples
    --------
    >>> [(row["series"], row["area"]) for row in rows(False)[-3:]]
    [('AUC', 0.820384), ('OPAUC', 0.249028), ('TPAUC', 0.064332)]
    """
    rng = np.random.default_rng(0)
    positive = np.arange(2 * EXAMPLES) < EXAMPLES
    scores = rng.normal(size=positive.size) + SHIFT * positive
    fpr, tpr = roc_vertices(positive, scores)
    curve: list[Row] = [
        {"series": "ROC", "fpr": float(x), "tpr": float(y), "area": ""} for x, y in zip(fpr, tpr, strict=True)
    ]
    regions = {"AUC": Region(1.0, 1.0), "OPAUC": Region(1.0, BETA), "TPAUC": Region(ALPHA, BETA)}
    areas = {name: area_in_region(positive, scores, region) * region.area for name, region in regions.items()}
    return curve + [{"series": name, "fpr": "", "tpr": "", "area": round(area, 6)} for name, area in areas.items()]


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the curve three times, each with one area filled."""
    fpr, tpr = (np.array([row[name] for row in rows if row["series"] == "ROC"]) for name in ("fpr", "tpr"))
    areas = {row["series"]: row["area"] for row in rows if row["series"] != "ROC"}
    figure, panels = new_canvas(1, 3, width=3.4, height=3.6)
    borders = {"AUC": (1.0, 0.0), "OPAUC": (BETA, 0.0), "TPAUC": (BETA, 1.0 - ALPHA)}
    for axes, letter, (name, (right, bottom)) in zip(panels, "abc", borders.items(), strict=True):
        label(axes, f"({letter}) {name} = {areas[name]:.3f}", "false positive rate", "true positive rate")
        inside = (fpr <= right) & (tpr >= bottom)
        axes.fill_between(
            np.append(fpr[inside], right),
            np.append(tpr[inside], tpr[inside].max()),
            bottom,
            color=REGION,
            alpha=0.6,
            lw=0,
        )
        axes.plot(fpr, tpr, **line_style(0))
        rule: dict[str, Any] = {"color": INK, "lw": 0.8, "linestyle": (0, (4, 3))}
        if right < 1.0:
            axes.axvline(right, **rule)
            axes.text(right + 0.02, 0.03, f"FPR = beta = {right:g}", size=8, color=INK)
        if bottom > 0.0:
            axes.axhline(bottom, **rule)
            axes.text(0.98, bottom - 0.06, f"TPR = 1 - alpha = {bottom:g}", size=8, color=INK, ha="right")
        axes.set(xlim=(0, 1), ylim=(0, 1.01), aspect="equal")
    return figure


FIGURE = PaperFigure("the areas AUC, OPAUC and TPAUC on one ROC curve", "Figure 1", rows, draw)
