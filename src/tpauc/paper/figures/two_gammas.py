"""The appendix's figures on a gamma for each class: TPAUC by the exponents of Poly, and by the gammas of Exp.

On the diagonal both classes have the same one, as in the rest of the paper. Each field is the median over the seeds.
The grids and the warm-up are the paper's; on the plane every second value of the grids, and a shorter warm-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tpauc.paper.experiments.cells import number_text, region_text
from tpauc.paper.experiments.parameters import EXPONENT_GRID, GAMMA_GRID
from tpauc.paper.experiments.published import REGIONS
from tpauc.paper.figures.canvas import label, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.figures.image_trials import EPOCHS
from tpauc.paper.figures.plane_trials import measure_on_plane
from tpauc.paper.figures.small_training import Budget
from tpauc.paper.figures.trials import Experiment, Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GRIDS = {"TPAUC-Poly-two-sided": EXPONENT_GRID, "TPAUC-Exp-two-sided": GAMMA_GRID}
WARMUP = 0.3
PAPER_WARMUP = 35 / EPOCHS
_FRAME_X, _FRAME_Y = np.array([-0.46, 0.46, 0.46, -0.46, -0.46]), np.array([-0.46, -0.46, 0.46, 0.46, -0.46])


def experiment(every: int, warmup: float) -> Experiment:
    """Return all pairs of the values of the grids, or of every second, third, ...

    Examples
    --------
    >>> len(experiment(every=1, warmup=0.3).trials)
    98
    """
    trials = [
        Trial(method, value, warmup, negative_value)
        for method, grid in GRIDS.items()
        for value in grid[::every]
        for negative_value in grid[::every]
    ]
    return Experiment(trials, REGIONS, dataset="cifar100-lt")


def rows(_full: bool) -> list[Row]:
    """Return TPAUC for each pair of gammas, region and seed."""
    return compute(Budget())


def compute(budget: Budget) -> list[Row]:
    """Return the rows for a budget.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=1, n_positive=5, n_negative=20, side=20)
    >>> len(compute(tiny))  # pairs of both grids, regions
    96
    """
    return measure_on_plane(experiment(every=2, warmup=WARMUP), budget)


def draw(rows: Sequence[Row]) -> Figure:
    """Draw a map for each weighting and region, the largest TPAUC of each framed."""
    figure, panels = new_canvas(len(GRIDS), len(REGIONS), width=3.6, height=3.3)
    places = [(method, region) for method in GRIDS for region in REGIONS]
    for axes, letter, (method, region) in zip(panels, "abcdef", places, strict=True):
        own = [row for row in rows if row["method"] == method and row["alpha"] == region.alpha]
        _draw_map(axes, own)
        name = "exponent" if "Poly" in method else "gamma"
        title = f"({letter}) {method.split('-')[1]} in {region_text(region)}: TPAUC in %"
        label(axes, title, f"{name} of the negatives", f"{name} of the positives")
    return figure


def _draw_map(axes: Axes, rows: Sequence[Row]) -> None:
    values = sorted({row["value"] for row in rows})
    table = np.array([[_median_tpauc(rows, positive, negative) for negative in values] for positive in values])
    axes.imshow(table, cmap="cividis", origin="lower", aspect="auto")
    middle = (table.min() + table.max()) / 2.0
    for (row, column), tpauc in np.ndenumerate(table):
        colour = "white" if tpauc < middle else "black"  # on the dark and on the bright half of the colours
        axes.text(column, row, f"{100.0 * tpauc:.1f}", ha="center", va="center", size=7, color=colour)
    row, column = np.unravel_index(table.argmax(), table.shape)
    axes.plot(column + _FRAME_X, row + _FRAME_Y, color=line_style(1)["color"], lw=2.2)
    axes.set_xticks(range(len(values)), map(number_text, values))
    axes.set_yticks(range(len(values)), map(number_text, values))
    axes.grid(visible=False)


def _median_tpauc(rows: Sequence[Row], positive: float, negative: float) -> float:
    found = [row["tpauc"] for row in rows if (row["value"], row["negative_value"]) == (positive, negative)]
    return float(np.median(found))


FIGURE = PaperFigure(
    "TPAUC by a gamma for each class, for Poly and Exp",
    "Appendix, gamma of positives and negatives",
    rows,
    draw,
    experiment(every=1, warmup=PAPER_WARMUP),
)
