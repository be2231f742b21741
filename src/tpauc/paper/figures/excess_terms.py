"""The excess-risk terms of Theorems 4 and 5 against the sample size, beside the deviations of samples.

Nine negatives per positive, the region ``alpha = beta = 0.3``, confidence 95 %. Every constant that the paper leaves
open is set to 1; the bound for one fixed scorer leaves none open. A risk inside the region is at most ``alpha beta``,
so a term above that line says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tpauc.losses.weighting import Exponential
from tpauc.paper.figures._drawing import INK, draw_line, having, label, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.theory.decomposition import PowerScores, decompose
from tpauc.paper.theory.excess_risk import (
    corollary_cnn,
    fixed_scorer_bound,
    network_spread,
    theorem_4,
    theorem_5,
    theorem_5_best_k,
)
from tpauc.region import Region

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CORNER, RATIO, DIMENSION = Region(0.3, 0.3), 9, 65  # a linear scorer on the 64 features of a ResNet-20
PARAMETERS, LAYERS = 269_137, 20  # of the ResNet-20 itself
EMPIRICAL_RISK = 0.05
SIZES = tuple(round(10 ** (power / 2)) for power in range(4, 17))
MEASURED, REPEATS = SIZES[:5], 100
TRUTH = PowerScores(theta=6.0)

_TERMS = ("corollary, ResNet-20", "Theorem 4, linear", "Theorem 5, best K", "Theorem 5, as printed", "one fixed scorer")
_ON_SAMPLES = ("decomposition, as printed", "decomposition, sharper", "one fixed scorer", "measured")
_LOOK = {name: number for number, name in enumerate(dict.fromkeys((*_TERMS, *_ON_SAMPLES)))}  # the same in both panels
_AXES = ("positives n+  (negatives: 9 n+)", "excess risk, share of all pairs")


def excess_rows(_full: bool) -> list[Row]:
    """Return the terms for each number of positives, then the deviations measured on samples and their two bounds.

    Examples
    --------
    >>> [row["value"] < CORNER.area for row in excess_rows(False) if row["series"] == "Theorem 4, linear"][:3]
    [False, False, False]
    """
    found = [row for n in SIZES for row in _terms(n, n * RATIO)]
    rng = np.random.default_rng(0)
    for n in MEASURED:
        samples = [decompose(*TRUTH.sample(n, n * RATIO, rng), TRUTH, CORNER) for _ in range(REPEATS)]
        measures = {
            "measured": [abs(sample.excess) for sample in samples],
            "decomposition, sharper": [sample.sharper_bound for sample in samples],
            "decomposition, as printed": [sample.printed_bound for sample in samples],
        }
        for name, values in measures.items():
            found.append({"series": name, "n_positive": n, "value": float(np.quantile(values, 0.95))})
    return found


def _terms(n_positive: int, n_negative: int) -> list[Row]:
    sizes = n_positive, n_negative
    fast = theorem_5(*sizes, complexity=DIMENSION)
    spread = network_spread(layers=LAYERS, distance=float(LAYERS))
    values = (
        corollary_cnn(*sizes, parameters=PARAMETERS, spread=spread, weighting=Exponential(10.0)),
        theorem_4(*sizes, vc_dimension=DIMENSION),
        theorem_5_best_k(EMPIRICAL_RISK, fast).excess,
        fast,
        fixed_scorer_bound(*sizes, CORNER),
    )
    return [
        {"series": name, "n_positive": n_positive, "value": value} for name, value in zip(_TERMS, values, strict=True)
    ]


def draw_excess(rows: Sequence[Row]) -> Figure:
    """Draw the terms, and beside them the decomposition lemma with the deviations of samples."""
    figure, (left, right) = new_canvas(1, 2, width=4.6, height=4.6)
    label(left, "(a) the terms; constants left open are 1", *_AXES)
    label(right, "(b) Lemma 1 on samples, at 95 %", *_AXES)
    _draw_series(left, [row for row in rows if row["series"] in _TERMS])
    _draw_series(right, [row for row in rows if row["series"] in _ON_SAMPLES and row["n_positive"] <= max(MEASURED)])
    left.text(min(SIZES), CORNER.area * 1.12, "largest risk", size=8, color=INK, va="bottom")
    right.text(max(MEASURED), CORNER.area * 1.12, "largest risk", size=8, color=INK, ha="right", va="bottom")
    return figure


def _draw_series(axes: Axes, rows: Sequence[Row]) -> None:
    for name, number in _LOOK.items():
        if own := having(rows, series=name):
            draw_line(axes, own, "n_positive", "value", number, name)
    axes.axhline(CORNER.area, color=INK, lw=0.8)
    axes.set(xscale="log", yscale="log")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.06), ncols=2, frameon=False, fontsize=8, handlelength=3)


EXCESS_RISK = PaperFigure("excess-risk terms against the sample size", "Theorems 4 and 5", excess_rows, draw_excess)
