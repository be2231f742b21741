"""The appendix's table and figure on truncation: square loss against cross-entropy, with and without warm-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpauc.paper.experiments.published import REGIONS
from tpauc.paper.figures.canvas import label, legend_above, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.figures.plane_trials import measure_on_plane
from tpauc.paper.figures.small_training import Budget
from tpauc.paper.figures.trial_drawing import draw_dots, draw_limit, name_lines
from tpauc.paper.figures.trials import Experiment, Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("TruncOPAUC", "CE-TruncOPAUC", "TruncTPAUC", "CE-TruncTPAUC", "TPAUC-Poly")
WARMUPS = {"without warm-up": 0.0, "with warm-up": 0.2}


TRIALS = [Trial(method, warmup=warmup) for method in METHODS for warmup in WARMUPS.values()]
EXPERIMENT = Experiment([*TRIALS, Trial("SqAUC", warmup=0.0)], REGIONS, dataset="cifar100-lt")


def rows(_full: bool) -> list[Row]:
    """Return TPAUC of each truncated loss and of TPAUC-Poly, with and without warm-up, and of SqAUC, by seed."""
    return compute(Budget())


def compute(budget: Budget) -> list[Row]:
    """Return the rows for a budget.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=1, n_positive=5, n_negative=20, side=20)
    >>> len(compute(tiny))  # methods, warm-ups, regions, and SqAUC
    33
    """
    return measure_on_plane(EXPERIMENT, budget)


def draw(rows: Sequence[Row]) -> Figure:
    """Draw a panel for each region; a pair of dots for each loss, without and with warm-up."""
    figure, panels = new_canvas(1, len(REGIONS), width=3.6, height=3.6)
    methods = (*METHODS, "SqAUC")
    for axes, letter, region in zip(panels, "abc", REGIONS, strict=True):
        label(axes, f"({letter}) alpha = beta = {region.alpha:g}", "TPAUC", "")
        own = [row for row in rows if row["alpha"] == region.alpha]
        for number, (name, warmup) in enumerate(WARMUPS.items()):
            groups = [[r for r in own if r["method"] == m and r["warmup"] == warmup] for m in methods]
            draw_dots(axes, methods, groups, number, of=len(WARMUPS), name=name)
        draw_limit(axes, own, upright=True)
    name_lines(panels[0], rows, square_auc=False)
    legend_above(figure, panels[0])
    return figure


FIGURE = PaperFigure(
    "truncation with the square loss and with cross-entropy", "Appendix, warm-up table", rows, draw, EXPERIMENT
)
