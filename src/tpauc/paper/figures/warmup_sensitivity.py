"""The appendix's figures on the warm-up: TPAUC against the share of training that is ordinary AUC optimisation.

Each point of a line is the median over the seeds, the band their range. On images the paper's whole grid is trained, so
that both are over all exponents and gammas, as in the paper's boxes; the trainings are those of the figure ``gamma``,
and truncation besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpauc.paper.experiments.published import REGIONS
from tpauc.paper.figures.canvas import label, legend_above, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.figures.gamma_sensitivity import grid_trials
from tpauc.paper.figures.image_trials import PAPER_WARMUPS
from tpauc.paper.figures.plane_trials import measure_on_plane
from tpauc.paper.figures.small_training import Budget
from tpauc.paper.figures.trial_drawing import draw_limit, draw_spread, draw_square_auc, name_lines
from tpauc.paper.figures.trials import Experiment, Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("TPAUC-Poly", "TPAUC-Exp", "TruncTPAUC")
WARMUPS = (0.0, 0.1, 0.3, 0.5, 0.7)
SQUARE_AUC = Trial("SqAUC", warmup=1.0)  # nothing but warm-up


def experiment() -> Experiment:
    """Return each method with each of the warm-ups, and SqAUC.

    Examples
    --------
    >>> len(experiment().trials)
    16
    """
    return Experiment([*(Trial(m, warmup=warmup) for m in METHODS for warmup in WARMUPS), SQUARE_AUC], REGIONS)


def whole_grid() -> Experiment:
    """Return the paper's warm-ups with each exponent of Poly and gamma of Exp, and those of truncation; and SqAUC.

    Examples
    --------
    >>> len(whole_grid().trials)
    136
    """
    truncated = [Trial("TruncTPAUC", warmup=warmup) for warmup in PAPER_WARMUPS]
    return Experiment([*grid_trials(PAPER_WARMUPS), *truncated, SQUARE_AUC], REGIONS)


def rows(_full: bool) -> list[Row]:
    """Return TPAUC for each warm-up and seed."""
    return compute(Budget())


def compute(budget: Budget) -> list[Row]:
    """Return the rows for a budget.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=1, n_positive=5, n_negative=20, side=20)
    >>> len(compute(tiny))  # methods, warm-ups, regions, and SqAUC
    48
    """
    return measure_on_plane(experiment(), budget)


def draw(rows: Sequence[Row]) -> Figure:
    """Draw a panel for each region, a line for each method."""
    figure, panels = new_canvas(1, len(REGIONS), width=3.6, height=4.0)
    warmups = sorted({row["warmup"] for row in rows if row["method"] in METHODS})
    for axes, letter, region in zip(panels, "abc", REGIONS, strict=True):
        title = f"({letter}) alpha = beta = {region.alpha:g}"
        label(axes, title, "share of the training that is warm-up", "TPAUC")
        own = [row for row in rows if row["alpha"] == region.alpha]
        for number, method in enumerate(METHODS):
            groups = [[r for r in own if r["method"] == method and r["warmup"] == warmup] for warmup in warmups]
            draw_spread(axes, warmups, groups, number, method)
        draw_square_auc(axes, own)
        draw_limit(axes, own)
    name_lines(panels[0], rows)
    legend_above(figure, panels[0], columns=3)
    return figure


FIGURE = PaperFigure("TPAUC against the length of the warm-up", "Figures on the warm-up", rows, draw, whole_grid())
