"""Theorem 3: among weakly consistent scorers only the order inside the middle set counts.

Scorers that split the examples into the same three sets as ``eta`` are made by swapping neighbours inside one set.
What they lose against ``eta`` in TPAUC is drawn against what the theorem predicts, the weight of the pairs of the
middle that stand in the wrong order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tpauc.paper.figures.canvas import INK, label, legend_above, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.theory.bayes import ThreeSets, bayes_tpauc, middle_order_loss, shuffled_within, uncut_region
from tpauc.paper.theory.populations import FinitePopulation
from tpauc.region import Region

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS, SCORERS = 60, 12  # kinds of examples, scorers for each set
MOVES = (0, 10, 30, 100, 300, 1000, 3000)
_MARKERS = {"top": "^", "middle": "o", "bottom": "v"}


def rows(_full: bool) -> list[Row]:
    """Return predicted and actual loss of scorers shuffled within each of the three sets.

    Examples
    --------
    >>> shuffled_outside = [row for row in rows(False) if row["part"] != "middle"]
    >>> max(abs(row["loss"]) for row in shuffled_outside) < 1e-12
    True
    """
    rng = np.random.default_rng(0)
    level = np.sort(rng.random(KINDS))
    mass = rng.random(KINDS)
    population = FinitePopulation(mass * level, mass * (1.0 - level))
    region = uncut_region(population, Region(0.5, 0.5))
    best = bayes_tpauc(population, region)
    found = []
    for part in ThreeSets._fields:
        for number in range(SCORERS * len(MOVES)):
            moves = MOVES[number % len(MOVES)]
            scores = shuffled_within(population, region, part, moves, rng)
            loss = best - population.tpauc(scores, region)
            predicted = middle_order_loss(population, scores, region)
            found.append({"part": part, "moves": moves, "predicted": predicted, "loss": loss})
    return found


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the loss against the prediction, and against the number of swaps."""
    figure, (left, right) = new_canvas(1, 2, width=4.4, height=3.7)
    label(left, "(a) the loss is what Theorem 3 says", "predicted from the order in the middle", "loss of TPAUC")
    label(right, "(b) swaps outside the middle cost nothing", "swaps of neighbours", "loss of TPAUC")
    largest = max(row["loss"] for row in rows)
    left.plot([0.0, largest], [0.0, largest], color=INK, lw=0.8, zorder=1)
    for number, part in enumerate(ThreeSets._fields):
        chosen = [row for row in rows if row["part"] == part]
        losses = [row["loss"] for row in chosen]
        style = {"color": line_style(number)["color"], "marker": _MARKERS[part], "linestyle": "none", "markersize": 4}
        left.plot([row["predicted"] for row in chosen], losses, label=f"shuffled within the {part} set", **style)
        # Swap counts are spread over decades, and 0 is one of them.
        right.plot([row["moves"] + 1.0 for row in chosen], losses, **style)
    right.set_xscale("log")
    right.set_xlabel("1 + swaps of neighbours")
    legend_above(figure, left)
    return figure


FIGURE = PaperFigure("only the order inside the middle set counts", "Theorem 3", rows, draw)
