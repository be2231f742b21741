"""The paper's Figure 5: the weight ``psi(x) psi(y)`` of a pair by the hardness of its two examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from tpauc.losses.weighting import Exponential, Polynomial, WeightingFunction
from tpauc.paper.figures.canvas import INK, label, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WEIGHTINGS: dict[str, WeightingFunction] = {
    "Poly, 1/(gamma - 1) = 0.3": Polynomial.from_exponent(0.3),
    "Poly, 1/(gamma - 1) = 0.5": Polynomial.from_exponent(0.5),
    "Exp, gamma = 5": Exponential(5.0),
    "Exp, gamma = 10": Exponential(10.0),
}
POINTS = 41


def rows(_full: bool) -> list[Row]:
    """Return the pair weight of every weighting on a grid.

    Examples
    --------
    >>> rows(False)[-1]["x"], round(rows(False)[-1]["pair_weight"], 4)
    (1.0, 0.9999)
    """
    grid = np.linspace(0.0, 1.0, POINTS)
    found: list[Row] = []
    for name, weighting in WEIGHTINGS.items():
        weights = weighting(torch.from_numpy(grid)).numpy()
        found += [
            {"weighting": name, "x": float(x), "y": float(y), "pair_weight": float(weight_x * weight_y)}
            for x, weight_x in zip(grid, weights, strict=True)
            for y, weight_y in zip(grid, weights, strict=True)
        ]
    return found


def draw(rows: Sequence[Row]) -> Figure:
    """Draw a map for each weighting, all on one scale of colours."""
    figure, panels = new_canvas(1, len(WEIGHTINGS), width=3.1, height=2.9)
    for axes, letter, name in zip(panels, "abcd", WEIGHTINGS, strict=True):
        own = [row for row in rows if row["weighting"] == name]
        x, y = (sorted({row[side] for row in own}) for side in ("x", "y"))
        surface = np.array([row["pair_weight"] for row in own]).reshape(len(x), len(y)).T
        filled = axes.contourf(x, y, surface, levels=np.linspace(0.0, 1.0, 21), cmap="cividis")
        lines = axes.contour(x, y, surface, levels=[0.2, 0.4, 0.6, 0.8], colors="white", linewidths=0.8)
        axes.clabel(lines, fmt="%g", fontsize=7)
        axes.grid(visible=False)
        axes.set_aspect("equal")
        label(axes, f"({letter}) {name}", "hardness of the positive", "hardness of the negative")
    bar = figure.colorbar(filled, ax=panels, shrink=0.75, ticks=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    bar.set_label("weight of the pair", size=9, color=INK)
    bar.ax.tick_params(labelsize=8, length=0)
    return figure


FIGURE = PaperFigure("the weight of a pair by the hardness of its examples, Poly and Exp", "Figure 5", rows, draw)
