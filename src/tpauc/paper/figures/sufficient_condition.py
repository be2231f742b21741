"""The paper's Figure 4(a): the sufficient condition of Proposition 2 in 50 trials.

In each trial 100 scores a class are drawn (`gaussian_trial` in `theory.bounds`), and the largest ``rho_p - xi_q`` is
found; at least 0 proves that the relaxed risk bounds the truncated one. The paper names neither the weighting nor
the region of its experiment, so several weightings are shown, from concave to convex, for the region (0.3, 0.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tpauc.losses.weighting import Exponential, Polynomial, WeightingFunction
from tpauc.paper.figures.canvas import FAINT, INK, REGION, label, legend_above, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.theory.bounds import check_bound, gaussian_trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = BETA = 0.3
TRIALS = 50
WEIGHTINGS: dict[str, WeightingFunction] = {
    "Poly, exponent 0.1": Polynomial.from_exponent(0.1),
    "Poly, exponent 0.5": Polynomial.from_exponent(0.5),
    "Exp, gamma 5": Exponential(5.0),
    "linear": Polynomial.from_exponent(1.0),
    "convex, exponent 2": Polynomial.from_exponent(2.0),
}


def rows(full: bool) -> list[Row]:
    """Return a row for each weighting and trial: the margin, its ``p``, both risks; 1,000 trials with ``full``.

    Examples
    --------
    >>> first = rows(False)[0]
    >>> first["weighting"], first["condition"], first["bound"]
    ('Poly, exponent 0.1', True, True)
    """
    found: list[Row] = []
    for name, weighting in WEIGHTINGS.items():
        rng = np.random.default_rng(0)  # the same draws for every weighting
        for trial in range(1000 if full else TRIALS):
            positive, negative = gaussian_trial(rng)
            check = check_bound(positive, negative, weighting, alpha=ALPHA, beta=BETA)
            found.append(
                {
                    "weighting": name,
                    "trial": trial + 1,
                    "margin": check.margin,
                    "p": check.p,
                    "relaxed": check.relaxed,
                    "truncated": check.truncated,
                    "condition": check.promised,
                    "bound": check.holds,
                }
            )
    return found


def draw(rows: Sequence[Row]) -> Figure:
    """Draw margin against trial for each weighting, and beside it in how many trials condition and bound hold."""
    figure, (left, right) = new_canvas(1, 2, width=4.6, height=3.8)
    names = list(dict.fromkeys(row["weighting"] for row in rows))
    for number, name in enumerate(names):
        own = [row for row in rows if row["weighting"] == name]
        left.plot([row["trial"] for row in own], [row["margin"] for row in own], label=name, **line_style(number))
    left.axhline(0.0, color=INK, lw=0.8)
    left.set_yscale("symlog", linthresh=0.1)
    left.set_yticks([-0.1, 0.0, 0.1, 1.0, 10.0], ["-0.1", "0", "0.1", "1", "10"])
    label(left, "Condition: holds from 0 upwards", "trial", "largest rho - xi")
    trials = len(rows) // len(names)
    places = np.arange(len(names))
    for offset, column, colour in ((0.2, "condition", REGION), (-0.2, "bound", FAINT)):
        counts = [sum(row[column] for row in rows if row["weighting"] == name) for name in names]
        bars = right.barh(places[::-1] + offset, counts, height=0.36, color=colour, label=column)
        right.bar_label(bars, padding=2, size=8, color=INK)
    right.set_yticks(places[::-1], names)
    right.set_xlim(0, 1.12 * trials)
    right.grid(axis="y", visible=False)
    label(right, f"Of {trials} trials, condition and bound hold in", "trials", "")
    right.legend(loc="lower right", frameon=False, fontsize=8)
    legend_above(figure, left, columns=5)
    return figure


FIGURE = PaperFigure(
    "Proposition 2: the sufficient condition and the bound in 50 trials, several weightings", "Figure 4(a)", rows, draw
)
