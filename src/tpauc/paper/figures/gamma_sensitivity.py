"""The paper's figures on the effect of gamma: TPAUC against the exponent of Poly and the gamma of Exp.

The grids are the paper's. Each point of a line is the median over the seeds, the band their range; the paper's boxes
hold the different warm-ups, which ``full`` goes through as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpauc.paper.figures.canvas import INK, label, legend_above, new_canvas
from tpauc.paper.figures.experiments import PAPER_WARMUPS, Trial, draw_limit, draw_spread, measure
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.figures.small_training import Budget, square
from tpauc.paper.parameters import EXPONENT_GRID, GAMMA_GRID

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REGIONS = tuple(square(share) for share in (0.3, 0.4, 0.5))
GRIDS = {"TPAUC-Poly": EXPONENT_GRID, "TPAUC-Exp": GAMMA_GRID}
WARMUP = 0.3


def rows(full: bool) -> list[Row]:
    """Return TPAUC for each gamma; with ``full`` on images, for each warm-up of the paper."""
    return compute(Budget(seeds=1) if full else Budget(), full=full)


def compute(budget: Budget, *, full: bool = False) -> list[Row]:
    """Return the rows for a budget.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=1, n_positive=5, n_negative=20, side=10)
    >>> len(compute(tiny))  # values of both grids, regions, and SqAUC
    45
    """
    trials = [
        Trial(method, value, warmup)
        for method, grid in GRIDS.items()
        for value in grid
        for warmup in (PAPER_WARMUPS if full else (WARMUP,))
    ]
    return measure([*trials, Trial("SqAUC")], REGIONS, budget=budget, full=full)


def draw(rows: Sequence[Row]) -> Figure:
    """Draw a panel for each weighting, a line for each region; SqAUC, the flat weighting, is in the rows alone."""
    figure, panels = new_canvas(1, 2, width=4.4, height=3.8)
    names = {
        "TPAUC-Poly": ("(a) Poly: psi(t) = t^e, concave below 1", "exponent e = 1 / (gamma - 1)"),
        "TPAUC-Exp": ("(b) Exp: psi(t) = 1 - exp(-gamma t)", "gamma"),
    }
    for axes, (method, (title, x)) in zip(panels, names.items(), strict=True):
        label(axes, title, x, "TPAUC")
        own = [row for row in rows if row["method"] == method]
        values = sorted({row["value"] for row in own})
        for number, region in enumerate(REGIONS):
            groups = [[r for r in own if r["value"] == value and r["alpha"] == region.alpha] for value in values]
            draw_spread(axes, values, groups, number, f"alpha = beta = {region.alpha:g}")
        draw_limit(axes, own)
        axes.set_xscale("log")
        axes.set_ylim(0.0, 1.0)
    panels[0].axvline(1.0, color=INK, lw=0.8, linestyle=(0, (1, 2)))
    panels[0].text(0.9, 0.02, "concave", size=8, color=INK, ha="right")
    panels[0].text(1.1, 0.02, "convex", size=8, color=INK)
    legend_above(figure, panels[1], columns=4)
    return figure


FIGURE = PaperFigure("TPAUC against gamma, for Poly and Exp", "Figures on the effect of gamma", rows, draw)
