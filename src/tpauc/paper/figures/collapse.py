"""What the paper does not say: where ``psi(0) = 0`` the relaxed risk has infimum 0, whatever the ranking.

All logits are lowered by the same amount. The order of the examples, so TPAUC and the 0-1 risk, cannot change. But the
hardness of every negative goes to 0, its weight with it, and the relaxed risk vanishes while the truncated risk does
not. Weights by rank (`tpauc.Anchored`) have no such way down: their sum does not depend on where the scores are. Their
mean is 1, so once the scores differ no longer their risk is 1, the square loss of a pair of equal scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from tpauc.losses.rank_weighting import Anchored
from tpauc.losses.tpauc_loss import empirical_risks
from tpauc.losses.weighting import Exponential, Polynomial, Weighting
from tpauc.paper.figures.canvas import INK, label, legend_above, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHA = BETA = 0.3
WEIGHTINGS: dict[str, Weighting] = {
    "Poly, exponent 0.1": Polynomial.from_exponent(0.1),
    "Poly, exponent 0.5": Polynomial.from_exponent(0.5),
    "Exp, gamma 5": Exponential(5.0),
    "Anchored": Anchored(ALPHA, BETA),
}
LARGEST_SHIFT = 40.0


def rows(_full: bool) -> list[Row]:
    """Return the three risks of each weighting as all logits are lowered.

    Examples
    --------
    >>> first, last = rows(False)[0], rows(False)[40]
    >>> last["shift"], first["zero_one"] == last["zero_one"], first["relaxed"] > 10 * last["relaxed"]
    (40.0, True, True)
    """
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(1100) < 100
    logits = torch.randn(1100, generator=generator, dtype=torch.float64) + 2.0 * labels
    return [
        {"weighting": name, "shift": float(shift)}
        | empirical_risks(logits - shift, labels, weighting, alpha=ALPHA, beta=BETA)._asdict()
        for name, weighting in WEIGHTINGS.items()
        for shift in np.linspace(0.0, LARGEST_SHIFT, 41)
    ]


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the relaxed risk of each weighting, and the two risks that have nothing to do with it."""
    figure, (axes,) = new_canvas(1, 1, width=5.6, height=4.2)
    names = list(dict.fromkeys(row["weighting"] for row in rows))
    for number, name in enumerate(names):
        own = [row for row in rows if row["weighting"] == name]
        shifts, risks = ([row[column] for row in own] for column in ("shift", "relaxed"))
        axes.plot(shifts, risks, label=f"relaxed, {name}", **line_style(number))
    own = [row for row in rows if row["weighting"] == names[0]]
    shifts = [row["shift"] for row in own]
    axes.plot(shifts, [row["truncated"] for row in own], label="truncated surrogate", **line_style(len(names)))
    axes.plot(shifts, [row["zero_one"] for row in own], label="0-1 risk", **line_style(len(names) + 1) | {"color": INK})
    axes.set_yscale("log")
    axes.set_ylim(1e-8, 2.0)
    label(axes, "The same ranking throughout", "all logits lowered by", "risk, a mean over all pairs")
    legend_above(figure, axes, columns=2)
    return figure


FIGURE = PaperFigure("the relaxed risk goes to 0 while the ranking stays as it is", "not in the paper", rows, draw)
