"""The appendix's figures on the warm-up: TPAUC against the share of training that is ordinary AUC optimisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpauc.paper.figures.canvas import label, legend_above, new_canvas
from tpauc.paper.figures.experiments import PAPER_WARMUPS, Trial, draw_limit, draw_spread, measure
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.figures.small_training import Budget, square

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REGIONS = (square(0.3), square(0.5))
METHODS = ("TPAUC-Poly", "TPAUC-Exp", "TruncTPAUC")
WARMUPS = (0.0, 0.1, 0.3, 0.5, 0.7)


def rows(full: bool) -> list[Row]:
    """Return TPAUC for each warm-up; with ``full`` on images, for those of the paper."""
    return compute(Budget(seeds=1) if full else Budget(), full=full)


def compute(budget: Budget, *, full: bool = False) -> list[Row]:
    """Return the rows for a budget.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=1, n_positive=5, n_negative=20, side=10)
    >>> len(compute(tiny))  # methods, warm-ups, regions
    30
    """
    warmups = PAPER_WARMUPS if full else WARMUPS
    trials = [Trial(method, warmup=warmup) for method in METHODS for warmup in warmups]
    return measure(trials, REGIONS, budget=budget, full=full)


def draw(rows: Sequence[Row]) -> Figure:
    """Draw a panel for each region, a line for each method."""
    figure, panels = new_canvas(1, len(REGIONS), width=4.4, height=3.8)
    warmups = sorted({row["warmup"] for row in rows})
    for axes, letter, region in zip(panels, "ab", REGIONS, strict=True):
        title = f"({letter}) alpha = beta = {region.alpha:g}"
        label(axes, title, "share of the training that is warm-up", "TPAUC")
        own = [row for row in rows if row["alpha"] == region.alpha]
        for number, method in enumerate(METHODS):
            groups = [[r for r in own if r["method"] == method and r["warmup"] == warmup] for warmup in warmups]
            draw_spread(axes, warmups, groups, number, method)
        draw_limit(axes, own)
        axes.set_ylim(0.0, 1.0)
    legend_above(figure, panels[0], columns=4)
    return figure


FIGURE = PaperFigure("TPAUC against the length of the warm-up", "Figures on the warm-up", rows, draw)
