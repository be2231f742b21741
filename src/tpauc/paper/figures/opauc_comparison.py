"""The OPAUC comparison: models trained for OPAUC and for TPAUC, each measured by both.

OPAUC over ``FPR <= beta`` is TPAUC with ``alpha = 1``, so one measure serves all panels. The paper compares losses for
OPAUC by OPAUC, and puts the tables' OPAUC methods, which it measures by TPAUC, down to inconsistency.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpauc.paper.experiments.cells import number_text, region_text
from tpauc.paper.experiments.published import REGIONS
from tpauc.paper.figures.canvas import label, legend_above, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.figures.plane_trials import measure_on_plane
from tpauc.paper.figures.small_training import Budget
from tpauc.paper.figures.trial_drawing import draw_dots, draw_limit, name_lines
from tpauc.paper.figures.trials import Experiment, Trial
from tpauc.region import Region

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BETAS = [region.beta for region in REGIONS]
WARMUP = 0.3
GROUPS = {
    "for AUC": ("SqAUC",),
    "for OPAUC": ("TruncOPAUC", "OP-Poly", "OP-Exp"),
    "for TPAUC": ("TruncTPAUC", "TPAUC-Poly", "TPAUC-Exp"),
}
MINIMAX = ("Minmax-OP-Poly", "Minmax-OP-Exp")  # on images alone: they need an optimiser of their own


def experiment(warmup: float | None, extra: Sequence[str] = ()) -> Experiment:
    """Return the methods of all groups, and others.

    A loss that is made for a region is made for ``(beta, beta)``, whichever of the two measures it is held to.

    Examples
    --------
    >>> len(experiment(warmup=0.3).trials)
    7
    """
    methods = [*(method for group in GROUPS.values() for method in group), *extra]
    return Experiment([Trial(m, warmup=warmup) for m in methods], REGIONS, by_opauc=True, dataset="cifar100-lt")


def rows(_full: bool) -> list[Row]:
    """Return OPAUC and TPAUC of each method and seed."""
    return compute(Budget(seeds=5))


def compute(budget: Budget) -> list[Row]:
    """Return the rows for a budget.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=1, n_positive=5, n_negative=20, side=20)
    >>> len(compute(tiny))  # methods, regions, measures
    42
    """
    return measure_on_plane(experiment(WARMUP), budget)


def draw(rows: Sequence[Row]) -> Figure:
    """Draw OPAUC of each method and below it TPAUC, for each region, coloured by what it was trained for."""
    figure, panels = new_canvas(2, len(REGIONS), width=3.6, height=3.3)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    groups = {name: [*members] for name, members in GROUPS.items()}
    groups["for OPAUC"] += [method for method in MINIMAX if method in methods]
    measures = {f"OPAUC({number_text(beta)})": Region(1.0, beta) for beta in BETAS}
    measures |= {f"TPAUC{region_text(region)}": region for region in REGIONS}
    for axes, letter, (name, region) in zip(panels, "abcdef", measures.items(), strict=True):
        label(axes, f"({letter}) {name}", name, "")
        own = [row for row in rows if Region(row["alpha"], row["beta"]) == region]
        for number, (group, members) in enumerate(groups.items()):
            chosen = [[r for r in own if r["method"] == m and m in members] for m in methods]
            draw_dots(axes, methods, chosen, number, name=f"trained {group}")
        draw_limit(axes, own, upright=True)
    name_lines(panels[0], rows, square_auc=False)
    legend_above(figure, panels[0], columns=4)
    return figure


FIGURE = PaperFigure(
    "models trained for OPAUC and for TPAUC, by both measures", "Appendix, OPAUC", rows, draw, experiment(None, MINIMAX)
)
