"""The paper's figure on inconsistency: two crossing ROC curves, ordered one way by TPAUC and the other by OPAUC.

The paper's is a sketch without numbers; this is a pair of curves for which its argument holds, with the areas ``S5`` to
``S8`` of `tpauc.paper.theory.inconsistency`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tpauc.paper.figures.canvas import FAINT, INK, REGION, label, legend_above, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.theory.inconsistency import CROSSING_CURVES, compare, order_by_opauc, pair_against, pieces
from tpauc.paper.theory.inconsistency import REGION as CORNER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LIMITS = np.linspace(0.0, 0.59, 60)
_PAIRS = {"this pair": "pair ROC 1, ROC 2", "a pair made for c": "another pair, made for each c"}
_PLACES = {"S5": (0.08, 0.73), "S6": (0.51, 0.84), "S7": (0.47, 0.66), "S8": (0.225, 0.15)}  # of the areas' names


def rows(_full: bool) -> list[Row]:
    """Return the vertices of the curves, the areas, and the order by OPAUC for each lower limit.

    Examples
    --------
    >>> [(row["series"], round(row["y"], 3)) for row in rows(False) if row["series"].startswith("TPAUC")]
    [('TPAUC', 0.07), ('TPAUC', 0.048)]
    """
    found = compare(*CROSSING_CURVES)
    table = [
        (f"ROC {number}", x, y)
        for number, curve in enumerate(CROSSING_CURVES, start=1)
        for x, y in zip(*curve, strict=True)
    ]
    for name, pair in (("TPAUC", found.tpauc), ("OPAUC from the entry", found.tpr_dependent_opauc)):
        table += [(name, float(number), area) for number, area in enumerate(pair, start=1)]
    table += [("entry", x, 1.0 - CORNER.alpha) for x in found.entry]
    table += [(name.upper(), 0.0, area) for name, area in pieces(*CROSSING_CURVES)._asdict().items()]
    for lower in _LIMITS.tolist():
        limits = {"lower": lower, "upper": CORNER.beta}
        table.append(("this pair", lower, order_by_opauc(*CROSSING_CURVES, **limits)))
        table.append(("a pair made for c", lower, order_by_opauc(*pair_against(lower), **limits)))
    return [{"series": series, "x": x, "y": y} for series, x, y in table]


def _points(rows: Sequence[Row], series: str) -> tuple[list[float], list[float]]:
    chosen = [row for row in rows if row["series"] == series]
    return [row["x"] for row in chosen], [row["y"] for row in chosen]


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the curves with the region, the areas of both measures, and OPAUC's verdict for each lower limit."""
    from matplotlib.patches import Rectangle

    figure, (left, middle, right) = new_canvas(1, 3, width=3.7, height=3.7)
    label(left, "(a) two curves that cross", "false positive rate", "true positive rate")
    floor = 1.0 - CORNER.alpha
    left.add_patch(Rectangle((0.0, floor), CORNER.beta, CORNER.alpha, color=REGION, alpha=0.35, lw=0))
    for number in (1, 2):
        left.plot(*_points(rows, f"ROC {number}"), label=f"ROC {number}", **line_style(number - 1))
    left.plot([0.1, 0.26], [0.7, 0.625], color=INK, lw=0.6)  # S5 is too small to be written into
    for number, (name, place) in enumerate(_PLACES.items()):
        left.text(*place, name, size=7, color=INK, ha="center", va="center")
        value = f"{name} = {_points(rows, name)[1][0]:.3f}"
        left.text(0.66, 0.36 - 0.09 * number, value, size=8, color=INK)
    entries = [row["x"] for row in rows if row["series"] == "entry"]
    left.vlines(entries, 0.0, floor, color=FAINT, lw=0.8, linestyle=(0, (4, 3)))
    left.set(xlim=(0, 1), ylim=(0, 1.01), aspect="equal")
    label(middle, "(b) what each measure says", "", "area")
    places, width = np.arange(2), 0.36
    names = ("TPAUC", "OPAUC from the entry")
    for number in (1, 2):
        heights = [_points(rows, name)[1][number - 1] for name in names]
        bars = middle.bar(places + (number - 1.5) * width, heights, width, color=line_style(number - 1)["color"])
        middle.bar_label(bars, fmt="%.3f", size=8, padding=2)
    middle.set_xticks(places, ["TPAUC", "TPR-dependent\nOPAUC"])
    middle.margins(y=0.12)
    label(right, "(c) OPAUC over [c, 0.6]", "lower limit c", "first curve of the pair minus second")
    right.axhline(0.0, color=INK, lw=0.8)
    for number, (series, name) in enumerate(_PAIRS.items(), start=2):
        right.plot(*_points(rows, series), **line_style(number))
        left.plot([], [], label=name, **line_style(number))
    right.text(0.02, 0.97, "above 0: as TPAUC", size=8, color=INK, transform=right.transAxes, va="top")
    legend_above(figure, left, columns=4)
    return figure


FIGURE = PaperFigure("TPAUC and OPAUC order two crossing ROC curves differently", "Figure on inconsistency", rows, draw)
