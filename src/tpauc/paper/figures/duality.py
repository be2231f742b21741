"""Proposition 3 as a picture: penalties, and the weightings that belong to them.

Lines are the closed forms of `weighting`; crosses are computed from the *other* side of the duality alone, the
penalty by integrating ``psi^-1``, the weighting by searching the maximum of ``v t - phi(v)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from tpauc.losses.weighting import Exponential, Polynomial, WeightingFunction
from tpauc.paper.figures.canvas import INK, label, legend_above, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.theory.duality_checks import penalty_by_quadrature, penalty_of, weight_by_search

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WEIGHTINGS: dict[str, WeightingFunction] = {
    "Poly, gamma = 3": Polynomial(3.0),
    "Poly, gamma = 11": Polynomial(11.0),
    "Exp, gamma = 5": Exponential(5.0),
}
POINTS = 201
CROSS_EVERY = 20


def rows(_full: bool) -> list[Row]:
    """Return, by hardness, the weight and its penalty in closed form and from the other side.

    Examples
    --------
    >>> row = rows(False)[50]
    >>> row["hardness"], row["weight"], round(row["penalty"], 6)
    (0.25, 0.5, 0.041667)
    """
    hardness = np.linspace(0.0, 1.0, POINTS)
    found: list[Row] = []
    for name, weighting in WEIGHTINGS.items():
        weights = weighting(torch.from_numpy(hardness)).numpy()
        columns = zip(
            hardness,
            weights,
            weight_by_search(weighting, hardness),
            penalty_of(weighting, weights),
            penalty_by_quadrature(weighting, weights),
            strict=True,
        )
        found += [
            {
                "weighting": name,
                "hardness": float(t),
                "weight": float(weight),
                "weight_by_search": float(searched),
                "penalty": float(penalty),
                "penalty_by_quadrature": float(integrated),
            }
            for t, weight, searched, penalty, integrated in columns
        ]
    return found


def draw(rows: Sequence[Row]) -> Figure:
    """Draw penalties on the left and weightings on the right."""
    figure, (left, right) = new_canvas(1, 2, width=4.2, height=3.7)
    for number, name in enumerate(dict.fromkeys(row["weighting"] for row in rows)):
        own = [row for row in rows if row["weighting"] == name]
        crosses = own[::CROSS_EVERY]
        for axes, x, y, check in (
            (left, "weight", "penalty", "penalty_by_quadrature"),
            (right, "hardness", "weight", "weight_by_search"),
        ):
            axes.plot([row[x] for row in own], [row[y] for row in own], label=name, **line_style(number))
            axes.plot([row[x] for row in crosses], [row[check] for row in crosses], "x", color=INK, ms=5, mew=1.0)
    left.plot([], [], "x", color=INK, ms=5, mew=1.0, label="from the other side")
    label(left, "Penalty", "weight v", "phi(v)")
    label(right, "Weighting", "hardness t", "psi(t)")
    legend_above(figure, left, columns=4)
    return figure


FIGURE = PaperFigure("Proposition 3: penalties and weightings, each found from the other", "Proposition 3", rows, draw)
