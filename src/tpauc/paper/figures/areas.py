"""Areas under ROC curves: AUC, OPAUC and TPAUC of one curve, and two curves that OPAUC and TPAUC order differently.

**The paper's Figure 1.** With the curve ``TPR(x)`` the three areas are

    AUC = integral_0^1 TPR,    OPAUC = integral_0^beta TPR,    TPAUC = integral_0^beta max(TPR - (1 - alpha), 0),

and each equals its ranking form, the mean over pairs of `tpauc.metrics`, if the counts ``n+ alpha`` and ``n- beta`` are
whole and no scores are tied.

**The paper's figure on inconsistency** is a sketch without numbers. The pair of curves drawn here fulfils its argument,
with the areas ``S5`` to ``S8`` of `tpauc.paper.theory.inconsistency`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tpauc.metrics.area import area_in_region
from tpauc.paper.figures.figure import (
    DASHES,
    FAINT,
    INK,
    REGION,
    PaperFigure,
    Row,
    colour_of,
    column,
    draw_line,
    having,
    label,
    legend_above,
    line_style,
    new_canvas,
)
from tpauc.paper.theory.inconsistency import CROSSING_CURVES, compare, order_by_opauc, pair_against, pieces
from tpauc.paper.theory.inconsistency import REGION as CORNER
from tpauc.region import Region
from tpauc.reporting.curves import roc_vertices

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# ------------------------------------------------------------------------------------------------------ three areas

ALPHA, BETA = 0.5, 0.4
EXAMPLES = 500  # per class
SHIFT = 1.2  # distance between the means of the classes, in standard deviations


def area_rows(_full: bool) -> list[Row]:
    """Return the points of the curve, then the three areas, not normalised."""
    rng = np.random.default_rng(0)
    positive = np.arange(2 * EXAMPLES) < EXAMPLES
    scores = rng.normal(size=positive.size) + SHIFT * positive
    curve: list[Row] = [
        {"series": "ROC", "fpr": float(x), "tpr": float(y), "area": ""}
        for x, y in zip(*roc_vertices(positive, scores), strict=True)
    ]
    regions = {"AUC": Region(1.0, 1.0), "OPAUC": Region(1.0, BETA), "TPAUC": Region(ALPHA, BETA)}
    areas = {name: area_in_region(positive, scores, region) * region.area for name, region in regions.items()}
    return curve + [{"series": name, "fpr": "", "tpr": "", "area": round(area, 6)} for name, area in areas.items()]


def draw_areas(rows: Sequence[Row]) -> Figure:
    """Draw the curve three times, each with one area filled."""
    fpr, tpr = (np.array(column(having(rows, series="ROC"), name)) for name in ("fpr", "tpr"))
    areas = {row["series"]: row["area"] for row in rows if row["series"] != "ROC"}
    figure, panels = new_canvas(1, 3, width=3.4, height=3.6)
    borders = {"AUC": (1.0, 0.0), "OPAUC": (BETA, 0.0), "TPAUC": (BETA, 1.0 - ALPHA)}
    for axes, letter, (name, (right, bottom)) in zip(panels, "abc", borders.items(), strict=True):
        label(axes, f"({letter}) {name} = {areas[name]:.3f}", "false positive rate", "true positive rate")
        inside = (fpr <= right) & (tpr >= bottom)
        x, y = np.append(fpr[inside], right), np.append(tpr[inside], tpr[inside].max())
        axes.fill_between(x, y, bottom, color=REGION, alpha=0.6, lw=0)
        axes.plot(fpr, tpr, **line_style(0))
        rule: dict[str, Any] = {"color": INK, "lw": 0.8, "linestyle": DASHES}
        if right < 1.0:
            axes.axvline(right, **rule)
            axes.text(right + 0.02, 0.03, f"FPR = beta = {right:g}", size=8, color=INK)
        if bottom > 0.0:
            axes.axhline(bottom, **rule)
            axes.text(0.98, bottom - 0.06, f"TPR = 1 - alpha = {bottom:g}", size=8, color=INK, ha="right")
        axes.set(xlim=(0, 1), ylim=(0, 1.01), aspect="equal")
    return figure


AREAS = PaperFigure("the areas AUC, OPAUC and TPAUC on one ROC curve", "Figure 1", area_rows, draw_areas)

# -------------------------------------------------------------------------------------------------- crossing curves

_LOWER_LIMITS = np.linspace(0.0, 0.59, 60)
_PAIRS = {"this pair": "pair ROC 1, ROC 2", "a pair made for c": "another pair, made for each c"}
_NAME_PLACES = {"S5": (0.08, 0.73), "S6": (0.51, 0.84), "S7": (0.47, 0.66), "S8": (0.225, 0.15)}
_MEASURES = {"TPAUC": "TPAUC", "OPAUC from the entry": "TPR-dependent\nOPAUC"}


def crossing_rows(_full: bool) -> list[Row]:
    """Return the vertices of the curves, the areas, and the order by OPAUC for each lower limit."""
    found = compare(*CROSSING_CURVES)
    table = [
        (f"ROC {number}", x, y)
        for number, curve in enumerate(CROSSING_CURVES, start=1)
        for x, y in zip(*curve, strict=True)
    ]
    for name, pair in zip(_MEASURES, (found.tpauc, found.tpr_dependent_opauc), strict=True):
        table += [(name, float(number), area) for number, area in enumerate(pair, start=1)]
    table += [("entry", x, 1.0 - CORNER.alpha) for x in found.entry]
    table += [(name.upper(), 0.0, area) for name, area in pieces(*CROSSING_CURVES)._asdict().items()]
    for lower in _LOWER_LIMITS.tolist():
        limits = {"lower": lower, "upper": CORNER.beta}
        table.append(("this pair", lower, order_by_opauc(*CROSSING_CURVES, **limits)))
        table.append(("a pair made for c", lower, order_by_opauc(*pair_against(lower), **limits)))
    return [{"series": series, "x": x, "y": y} for series, x, y in table]


def draw_crossing(rows: Sequence[Row]) -> Figure:
    """Draw the curves with the region, the areas by both measures, and the order by OPAUC for each lower limit."""
    figure, (left, middle, right) = new_canvas(1, 3, width=3.7, height=3.7)
    _draw_curves(left, rows)
    label(middle, "(b) what each measure says", "", "area")
    places, width = np.arange(2), 0.36
    for number in (1, 2):
        heights = [having(rows, series=name, x=float(number))[0]["y"] for name in _MEASURES]
        bars = middle.bar(places + (number - 1.5) * width, heights, width, color=colour_of(number - 1))
        middle.bar_label(bars, fmt="%.3f", size=8, padding=2)
    middle.set_xticks(places, list(_MEASURES.values()))
    middle.margins(y=0.12)
    label(right, "(c) OPAUC over [c, 0.6]", "lower limit c", "first curve of the pair minus second")
    right.axhline(0.0, color=INK, lw=0.8)
    for number, (series, name) in enumerate(_PAIRS.items(), start=2):
        draw_line(right, having(rows, series=series), "x", "y", number)
        left.plot([], [], label=name, **line_style(number))
    right.text(0.02, 0.97, "above 0: as TPAUC", size=8, color=INK, transform=right.transAxes, va="top")
    legend_above(figure, left, columns=4)
    return figure


def _draw_curves(axes: Axes, rows: Sequence[Row]) -> None:
    from matplotlib.patches import Rectangle

    label(axes, "(a) two curves that cross", "false positive rate", "true positive rate")
    floor = 1.0 - CORNER.alpha
    axes.add_patch(Rectangle((0.0, floor), CORNER.beta, CORNER.alpha, color=REGION, alpha=0.35, lw=0))
    for number in (1, 2):
        draw_line(axes, having(rows, series=f"ROC {number}"), "x", "y", number - 1, f"ROC {number}")
    axes.plot([0.1, 0.26], [0.7, 0.625], color=INK, lw=0.6)  # leads to S5, which is too small for its name
    for number, (name, place) in enumerate(_NAME_PLACES.items()):
        axes.text(*place, name, size=7, color=INK, ha="center", va="center")
        value = f"{name} = {having(rows, series=name)[0]['y']:.3f}"
        axes.text(0.66, 0.36 - 0.09 * number, value, size=8, color=INK)
    axes.vlines(column(having(rows, series="entry"), "x"), 0.0, floor, color=FAINT, lw=0.8, linestyle=DASHES)
    axes.set(xlim=(0, 1), ylim=(0, 1.01), aspect="equal")


CROSSING = PaperFigure(
    "TPAUC and OPAUC order two crossing ROC curves differently",
    "Figure on inconsistency",
    crossing_rows,
    draw_crossing,
)
