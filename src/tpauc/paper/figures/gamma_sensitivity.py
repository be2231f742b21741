"""The paper's figures on the effect of gamma: TPAUC against the exponent of Poly and the gamma of Exp.

The grids are the paper's. Each point of a line is the median over the seeds, the band their range; the paper's boxes
hold the different warm-ups, which are gone through on images. Square AUC has the flat weighting, the limit of small
exponents and of large gammas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpauc.paper.experiments.parameters import EXPONENT_GRID, GAMMA_GRID
from tpauc.paper.experiments.published import REGIONS
from tpauc.paper.figures.canvas import INK, label, legend_above, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.figures.image_trials import PAPER_WARMUPS
from tpauc.paper.figures.plane_trials import measure_on_plane
from tpauc.paper.figures.small_training import Budget
from tpauc.paper.figures.trial_drawing import draw_limit, draw_spread, draw_square_auc, name_lines
from tpauc.paper.figures.trials import Experiment, Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRIDS = {"TPAUC-Poly": EXPONENT_GRID, "TPAUC-Exp": GAMMA_GRID}
WARMUP = 0.3


def grid_trials(warmups: Sequence[float]) -> list[Trial]:
    """Return both grids with each of the warm-ups.

    Examples
    --------
    >>> len(grid_trials([0.0, 0.3]))
    28
    """
    return [Trial(method, value, warmup) for method, grid in GRIDS.items() for value in grid for warmup in warmups]


def experiment(warmups: Sequence[float]) -> Experiment:
    """Return both grids with each of the warm-ups, and SqAUC.

    Examples
    --------
    >>> len(experiment([0.0, 0.3]).trials)
    29
    """
    return Experiment([*grid_trials(warmups), Trial("SqAUC")], REGIONS)


def rows(_full: bool) -> list[Row]:
    """Return TPAUC for each gamma and seed."""
    return compute(Budget())


def compute(budget: Budget) -> list[Row]:
    """Return the rows for a budget.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=1, n_positive=5, n_negative=20, side=20)
    >>> len(compute(tiny))  # values of both grids, regions, and SqAUC
    45
    """
    return measure_on_plane(experiment([WARMUP]), budget)


def draw(rows: Sequence[Row]) -> Figure:
    """Draw a panel for each weighting, a colour for each region: the weighting, SqAUC, and the limit."""
    figure, panels = new_canvas(1, 2, width=4.4, height=4.2)
    names = {
        "TPAUC-Poly": ("(a) Poly: psi(t) = t^e, concave below 1", "exponent e = 1 / (gamma - 1)"),
        "TPAUC-Exp": ("(b) Exp: psi(t) = 1 - exp(-gamma t)", "gamma"),
    }
    for axes, (method, (title, x)) in zip(panels, names.items(), strict=True):
        label(axes, title, x, "TPAUC")
        values = sorted({row["value"] for row in rows if row["method"] == method})
        for number, region in enumerate(REGIONS):
            own, colour = [row for row in rows if row["alpha"] == region.alpha], line_style(number)["color"]
            groups = [[r for r in own if r["method"] == method and r["value"] == value] for value in values]
            draw_spread(axes, values, groups, number, f"alpha = beta = {region.alpha:g}")
            draw_square_auc(axes, own, colour=colour)
            draw_limit(axes, own, colour=colour)
        axes.set_xscale("log")
    panels[1].sharey(panels[0])
    panels[0].axvline(1.0, color=INK, lw=0.8)
    for place, text, side in ((0.9, "concave", "right"), (1.1, "convex", "left")):
        panels[0].text(place, 0.02, text, size=8, color=INK, ha=side, transform=panels[0].get_xaxis_transform())
    name_lines(panels[0], rows)
    legend_above(figure, panels[0], columns=3)
    return figure


FIGURE = PaperFigure(
    "TPAUC against gamma, for Poly and Exp", "Figures on the effect of gamma", rows, draw, experiment(PAPER_WARMUPS)
)
