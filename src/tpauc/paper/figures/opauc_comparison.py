"""The OPAUC comparison: models trained for OPAUC and for TPAUC, each measured by both.

OPAUC over ``FPR <= beta`` is TPAUC with ``alpha = 1``, so one measure serves both panels. The paper compares losses for
OPAUC by OPAUC, and puts the tables' OPAUC methods, which it measures by TPAUC, down to inconsistency.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpauc.paper.figures.canvas import label, legend_above, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.figures.plane_trials import measure_on_plane
from tpauc.paper.figures.small_training import Budget
from tpauc.paper.figures.trial_drawing import draw_dots, draw_limit, name_lines
from tpauc.paper.figures.trials import Experiment, Trial
from tpauc.region import Region

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BETA = 0.3
OPAUC, TPAUC = Region(1.0, BETA), Region(0.3, BETA)
GROUPS = {
    "for AUC": ("SqAUC",),
    "for OPAUC": ("TruncOPAUC", "OP-Poly", "OP-Exp"),
    "for TPAUC": ("TruncTPAUC", "TPAUC-Poly", "TPAUC-Exp"),
}
MINIMAX = ("Minmax-OP-Poly", "Minmax-OP-Exp")  # on images alone: they need an optimiser of their own


def experiment(extra: Sequence[str] = ()) -> Experiment:
    """Return the methods of all groups, and others.

    A loss that is made for a region is made for ``(0.3, 0.3)``, whichever of the two measures it is held to.

    Examples
    --------
    >>> len(experiment().trials)
    7
    """
    methods = [*(method for group in GROUPS.values() for method in group), *extra]
    return Experiment([Trial(m) for m in methods], (TPAUC, OPAUC), made_for=TPAUC, dataset="cifar100-lt")


def rows(_full: bool) -> list[Row]:
    """Return OPAUC and TPAUC of each method and seed."""
    return compute(Budget(seeds=5))


def compute(budget: Budget) -> list[Row]:
    """Return the rows for a budget.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=1, n_positive=5, n_negative=20, side=20)
    >>> len(compute(tiny))  # methods, measures
    14
    """
    return measure_on_plane(experiment(), budget)


def draw(rows: Sequence[Row]) -> Figure:
    """Draw OPAUC and TPAUC of each method side by side, coloured by what it was trained for."""
    figure, panels = new_canvas(1, 2, width=4.5, height=3.7)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    groups = {name: [*members] for name, members in GROUPS.items()}
    groups["for OPAUC"] += [method for method in MINIMAX if method in methods]
    for axes, letter, name, region in zip(panels, "ab", ("OPAUC(0.3)", "TPAUC(0.3, 0.3)"), (OPAUC, TPAUC), strict=True):
        label(axes, f"({letter}) {name}", name, "")
        own = [row for row in rows if row["alpha"] == region.alpha]
        for number, (group, members) in enumerate(groups.items()):
            chosen = [[r for r in own if r["method"] == m and m in members] for m in methods]
            draw_dots(axes, methods, chosen, number, name=f"trained {group}")
        draw_limit(axes, own, upright=True)
    name_lines(panels[0], rows, square_auc=False)
    legend_above(figure, panels[0], columns=4)
    return figure


FIGURE = PaperFigure(
    "models trained for OPAUC and for TPAUC, by both measures", "Appendix, OPAUC", rows, draw, experiment(MINIMAX)
)
