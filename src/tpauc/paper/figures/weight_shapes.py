"""Shapes of weightings: against the hard threshold, as the weight of a pair, and beside their penalties.

**The paper's Figure 3.** A concave and a convex weighting beside the hard threshold ``[x > 1/2]`` that they replace.
For a weighting ``psi``

    S1 = integral of max(psi - threshold, 0),        S2 = integral of max(threshold - psi, 0).

The relaxed risk bounds the truncated one if ``S1`` is large and ``S2`` small: ``x^0.05`` has S1/S2 of about 60, ``x^2``
of 0.2.

**The paper's Figure 5.** The weight ``psi(x) psi(y)`` of a pair by the hardness of its two examples.

**Proposition 3.** Penalties and their weightings. Lines are the closed forms of `tpauc.losses.weighting`. Crosses are
computed from the *other* side of the duality alone: the penalty by integrating ``psi^-1``, the weighting by searching
the maximum of ``v t - phi(v)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from tpauc.losses.weighting import Exponential, Polynomial, WeightingFunction
from tpauc.paper.figures.figure import (
    INK,
    REGION,
    PaperFigure,
    Row,
    column,
    distinct,
    draw_line,
    having,
    label,
    legend_above,
    line_style,
    new_canvas,
)
from tpauc.paper.theory.selection import penalty_by_quadrature, penalty_of, weight_by_search

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 201

# ------------------------------------------------------------------------------------------------ concave and convex

THRESHOLD = 0.5
EXPONENTS = {"convex": 2.0, "concave": 0.05}


def gap_areas(exponent: float) -> tuple[float, float]:
    """Return ``S1`` and ``S2`` of the weighting ``x^exponent``, exactly.

    Examples
    --------
    >>> [round(area, 4) for area in gap_areas(2.0)], [round(area, 4) for area in gap_areas(0.05)]
    ([0.0417, 0.2083], [0.46, 0.0076])
    """
    left = THRESHOLD ** (exponent + 1.0) / (exponent + 1.0)
    right = 1.0 / (exponent + 1.0) - left
    return left, (1.0 - THRESHOLD) - right


def threshold_rows(_full: bool) -> list[Row]:
    """Return points of both weightings, each with the areas of its curve."""
    found: list[Row] = []
    for shape, exponent in EXPONENTS.items():
        above, below = gap_areas(exponent)
        found += [
            {
                "shape": shape,
                "exponent": exponent,
                "x": float(x),
                "weight": float(x**exponent),
                "threshold": float(x > THRESHOLD),
                "s1": above,
                "s2": below,
            }
            for x in np.linspace(0.0, 1.0, POINTS)
        ]
    return found


def draw_threshold(rows: Sequence[Row]) -> Figure:
    """Draw one panel per shape, S1 and S2 filled."""
    figure, panels = new_canvas(1, 2, width=4.0)
    for axes, shape in zip(panels, EXPONENTS, strict=True):
        own = having(rows, shape=shape)
        x, weight, threshold = (np.array(column(own, name)) for name in ("x", "weight", "threshold"))
        first = own[0]
        above, below = weight > threshold, weight < threshold
        axes.fill_between(x, weight, threshold, where=above, color=REGION, alpha=0.6, lw=0, label="S1, above it")
        axes.fill_between(x, weight, threshold, where=below, color="#8b8794", alpha=0.5, lw=0, label="S2, below it")
        axes.plot(x, weight, label=f"x^{first['exponent']:g}", **line_style(0))
        axes.plot(x, threshold, label="[x > 0.5]", **line_style(1))
        title = f"{shape}: S1 = {first['s1']:.3f}, S2 = {first['s2']:.3f}"
        label(axes, title, "hardness x", "weight")
        axes.set(xlim=(0, 1), ylim=(0, 1.03))
        # The lower left corner of the legend: beside the step, where neither a curve nor an area lies.
        axes.legend(loc=(0.03, 0.68) if shape == "convex" else (0.55, 0.1), frameon=False, fontsize=8)
    return figure


CONCAVE_CONVEX = PaperFigure(
    "a concave and a convex weighting against the hard threshold", "Figure 3", threshold_rows, draw_threshold
)

# ---------------------------------------------------------------------------------------------------- pairs' weights

PAIR_WEIGHTINGS: dict[str, WeightingFunction] = {
    "Poly, 1/(gamma - 1) = 0.3": Polynomial.from_exponent(0.3),
    "Poly, 1/(gamma - 1) = 0.5": Polynomial.from_exponent(0.5),
    "Exp, gamma = 5": Exponential(5.0),
    "Exp, gamma = 10": Exponential(10.0),
}
SIDE = 41


def pair_weight_rows(_full: bool) -> list[Row]:
    """Return the pair weight of every weighting on a grid."""
    grid = np.linspace(0.0, 1.0, SIDE)
    found: list[Row] = []
    for name, weighting in PAIR_WEIGHTINGS.items():
        weights = weighting(torch.from_numpy(grid)).numpy()
        found += [
            {"weighting": name, "x": float(x), "y": float(y), "pair_weight": float(weight_x * weight_y)}
            for x, weight_x in zip(grid, weights, strict=True)
            for y, weight_y in zip(grid, weights, strict=True)
        ]
    return found


def draw_pair_weights(rows: Sequence[Row]) -> Figure:
    """Draw one map per weighting, all on one colour scale."""
    figure, panels = new_canvas(1, len(PAIR_WEIGHTINGS), width=3.1, height=2.9)
    for axes, letter, name in zip(panels, "abcd", PAIR_WEIGHTINGS, strict=True):
        own = having(rows, weighting=name)
        x, y = (sorted(distinct(own, side)) for side in ("x", "y"))
        surface = np.array(column(own, "pair_weight")).reshape(len(x), len(y)).T
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


LANDSCAPES = PaperFigure(
    "the weight of a pair by the hardness of its examples, Poly and Exp",
    "Figure 5",
    pair_weight_rows,
    draw_pair_weights,
)

# ------------------------------------------------------------------------------------------------------------ duality

DUAL_WEIGHTINGS: dict[str, WeightingFunction] = {
    "Poly, gamma = 3": Polynomial(3.0),
    "Poly, gamma = 11": Polynomial(11.0),
    "Exp, gamma = 5": Exponential(5.0),
}
CROSS_EVERY = 20


def duality_rows(_full: bool) -> list[Row]:
    """Return, by hardness, the weight and its penalty in closed form and from the other side."""
    hardness = np.linspace(0.0, 1.0, POINTS)
    found: list[Row] = []
    for name, weighting in DUAL_WEIGHTINGS.items():
        weights = weighting(torch.from_numpy(hardness)).numpy()
        columns = {
            "hardness": hardness,
            "weight": weights,
            "weight_by_search": weight_by_search(weighting, hardness),
            "penalty": penalty_of(weighting, weights),
            "penalty_by_quadrature": penalty_by_quadrature(weighting, weights),
        }
        for values in zip(*columns.values(), strict=True):
            found.append({"weighting": name, **dict(zip(columns, map(float, values), strict=True))})
    return found


def draw_duality(rows: Sequence[Row]) -> Figure:
    """Draw penalties on the left and weightings on the right."""
    figure, (left, right) = new_canvas(1, 2, width=4.2, height=3.7)
    for number, name in enumerate(distinct(rows, "weighting")):
        own = having(rows, weighting=name)
        crosses = own[::CROSS_EVERY]
        for axes, x, y, check in (
            (left, "weight", "penalty", "penalty_by_quadrature"),
            (right, "hardness", "weight", "weight_by_search"),
        ):
            draw_line(axes, own, x, y, number, name)
            axes.plot(column(crosses, x), column(crosses, check), "x", color=INK, ms=5, mew=1.0)
    left.plot([], [], "x", color=INK, ms=5, mew=1.0, label="from the other side")
    label(left, "Penalty", "weight v", "phi(v)")
    label(right, "Weighting", "hardness t", "psi(t)")
    legend_above(figure, left, columns=4)
    return figure


DUALITY = PaperFigure(
    "Proposition 3: penalties and weightings, each found from the other", "Proposition 3", duality_rows, draw_duality
)
