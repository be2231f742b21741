"""The appendix's figure on the best gamma: which one has the largest TPAUC, for ``alpha = 0.2`` and growing ``beta``.

The losses know neither alpha nor beta, so one training serves every ``beta`` and only the choice among the trained
models differs. The grids are the paper's; on the plane every second value of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tpauc.paper.figures.canvas import label, legend_above, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.figures.plane_trials import measure_on_plane
from tpauc.paper.figures.small_training import Budget
from tpauc.paper.figures.trials import Experiment, Trial
from tpauc.region import Region

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA, BETAS = 0.2, (0.4, 0.6, 0.8)
GRIDS = {
    "TPAUC-Poly": (0.0001, 0.0003, 0.0005, 0.001, 0.003, 0.005, 0.01, 0.03, 0.05, 0.1),
    "TPAUC-Exp": (5.0, 10.0, 15.0, 20.0, 25.0, 35.0, 100.0, 350.0, 1000.0),
}
WARMUP = 0.3


def experiment(every: int) -> Experiment:
    """Return each value of the grids, or every second, third, ...

    Examples
    --------
    >>> len(experiment(every=1).trials)
    19
    """
    trials = [Trial(method, value, WARMUP) for method, grid in GRIDS.items() for value in grid[::every]]
    return Experiment(trials, [Region(ALPHA, beta) for beta in BETAS], dataset="cifar100-lt")


def rows(_full: bool) -> list[Row]:
    """Return TPAUC for each gamma, beta and seed."""
    return compute(Budget(seeds=4))


def compute(budget: Budget) -> list[Row]:
    """Return the rows for a budget.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=1, n_positive=5, n_negative=20, side=20)
    >>> len(compute(tiny))  # values, betas
    30
    """
    return measure_on_plane(experiment(every=2), budget)


def best_values(rows: Sequence[Row], method: str, beta: float) -> list[float]:
    """Return the value with the largest TPAUC, for each seed.

    Examples
    --------
    >>> table = [("TPAUC-Exp", 5.0, 0, 0.4, 0.7), ("TPAUC-Exp", 10.0, 0, 0.4, 0.8)]
    >>> best_values([dict(zip(("method", "value", "seed", "beta", "tpauc"), row)) for row in table], "TPAUC-Exp", 0.4)
    [10.0]
    """
    own = [row for row in rows if row["method"] == method and row["beta"] == beta]
    seeds = sorted({row["seed"] for row in own})
    best = [max((row for row in own if row["seed"] == seed), key=lambda row: row["tpauc"]) for seed in seeds]
    return [float(row["value"]) for row in best]


def draw(rows: Sequence[Row]) -> Figure:
    """Draw above TPAUC against gamma for each beta, below the best gamma of each seed against beta."""
    figure, panels = new_canvas(2, 2, width=4.4, height=3.1)
    measured = "TPAUC" if any(row["limit"] == "" for row in rows) else "TPAUC as a share of the limit"
    names = {"TPAUC-Poly": "exponent e = 1 / (gamma - 1)", "TPAUC-Exp": "gamma"}
    for column, (method, name) in enumerate(names.items()):
        above, below = panels[column], panels[column + 2]
        label(above, f"({'ab'[column]}) {method[6:]}, median over seeds", name, measured)
        label(below, f"({'cd'[column]}) {method[6:]}, best of each seed", "beta", f"best {name.split(' =')[0]}")
        own = [row for row in rows if row["method"] == method]
        values = sorted({row["value"] for row in own})
        for number, beta in enumerate(BETAS):
            groups = [[r for r in own if r["value"] == value and r["beta"] == beta] for value in values]
            medians = [float(np.median([r["tpauc"] / (r["limit"] or 1.0) for r in group])) for group in groups]
            above.plot(values, medians, marker="o", markersize=3, label=f"beta = {beta:g}", **line_style(number))
            best = best_values(own, method, beta)
            offsets = beta + 0.012 * (np.arange(len(best)) - (len(best) - 1) / 2.0)  # equal values side by side
            below.plot(offsets, best, "o", color=line_style(number)["color"], markersize=5)
        above.set_xscale("log")
        below.set(yscale="log", xticks=BETAS, ylim=(values[0] / 1.6, values[-1] * 1.6))
    legend_above(figure, panels[0])
    return figure


FIGURE = PaperFigure("the best gamma against beta", "Appendix, optimal gamma", rows, draw, experiment(every=1))
