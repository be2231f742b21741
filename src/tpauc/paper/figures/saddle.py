"""Theorem 1 as a picture: the paper's descent and ascent reach the pairwise risk without looking at pairs.

The model is fixed; ``a`` and ``b`` start at zero and take the steps of Algorithm 1 on the whole sample. Their saddle
value, six class means, equals the risk over all 100 x 1,000 pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from tpauc.losses.tpauc_loss import TPAUCLoss
from tpauc.losses.weighting import Exponential, Polynomial, WeightingFunction
from tpauc.paper.figures.canvas import INK, label, legend_above, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.theory.saddle import algorithm_1, class_means

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WEIGHTINGS: dict[str, WeightingFunction] = {"Poly, gamma = 3": Polynomial(3.0), "Exp, gamma = 5": Exponential(5.0)}
STEP_SIZES = (0.02, 0.05, 0.2)
STEPS = 200


def rows(_full: bool) -> list[Row]:
    """Return the saddle function after every step, and the pairwise risk.

    Examples
    --------
    >>> last = rows(False)[STEPS]
    >>> last["step"], abs(last["saddle_function"] - last["pairwise_risk"]) < 0.01
    (200, True)
    """
    rng = np.random.default_rng(0)
    logits = np.concatenate((rng.normal(1.0, 1.0, 100), rng.normal(-1.0, 1.0, 1000)))
    labels = np.arange(logits.size) < 100
    scores = 1.0 / (1.0 + np.exp(-logits))
    found: list[Row] = []
    for name, weighting in WEIGHTINGS.items():
        risk = float(TPAUCLoss(weighting)(torch.from_numpy(logits), torch.from_numpy(labels)))
        means = class_means(scores[labels], scores[~labels], weighting)
        for size in STEP_SIZES:
            values = algorithm_1(means, step=size, steps=STEPS, v_infinity=weighting.supremum())
            found += [
                {
                    "weighting": name,
                    "step_size": size,
                    "step": step,
                    "saddle_function": float(value),
                    "pairwise_risk": risk,
                }
                for step, value in enumerate(values)
            ]
    return found


def draw(rows: Sequence[Row]) -> Figure:
    """Draw a panel for each weighting, a line for each step size, the risk as a rule across."""
    figure, panels = new_canvas(1, len(WEIGHTINGS), width=4.2, height=3.5)
    for axes, name in zip(panels, WEIGHTINGS, strict=True):
        own = [row for row in rows if row["weighting"] == name]
        risk = own[0]["pairwise_risk"]
        axes.axhline(risk, color=INK, lw=1.0, label="risk over all pairs")
        for number, size in enumerate(dict.fromkeys(row["step_size"] for row in own)):
            line = [row for row in own if row["step_size"] == size]
            steps, values = ([row[column] for row in line] for column in ("step", "saddle_function"))
            axes.plot(steps, values, label=f"step size {size:g}", **line_style(number))
        label(axes, f"{name}: risk {risk:.4f}", "steps of a and b", "saddle function F(a, b)")
    legend_above(figure, panels[0], columns=4)
    return figure


FIGURE = PaperFigure("Theorem 1: the saddle function reaches the pairwise risk", "Theorem 1", rows, draw)
