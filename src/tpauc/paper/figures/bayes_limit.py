"""Bayes scoring: no scorer passes ``eta``, in no region, and how near trained models come to it.

(a) The largest TPAUC, that of ``eta``, over regions with ``alpha = beta``, and the best of many other scorers of each
kind: linear ones, random waves, and ``eta`` itself after a disturbance. (b) Linear scorers and small nets after
training with cross-entropy and with losses for the region, on a distribution where a line cannot follow ``eta``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tpauc._validation import FloatArray
from tpauc.paper.figures.canvas import INK, label, line_style, new_canvas
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.figures.small_training import MODELS, Budget, cells, loss_of, parameters_of, square, trained_scores
from tpauc.paper.theory.bayes import bayes_tpauc
from tpauc.paper.theory.populations import TWO_KINDS_OF_HARD

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DIRECTIONS, OTHERS = 72, 60
SHARES = tuple(number / 20 for number in range(2, 21))
TRAINED = ("CE", "CE-RW", "SqAUC", "TPAUC-Poly", "TPAUC-Exp", "TruncTPAUC", "anchored")
CORNER = square(0.3)


def rows(full: bool) -> list[Row]:
    """Return TPAUC of ``eta``, of many scorers and of trained models; with ``full`` ten seeds and longer training."""
    return compute(Budget(seeds=10, steps=3000, warmup=1000, side=200) if full else Budget(steps=300))


def compute(budget: Budget) -> list[Row]:
    """Return the rows for a budget.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=1, n_positive=5, n_negative=20, side=20)
    >>> found = compute(tiny)
    >>> limit = {row["share"]: row["tpauc"] for row in found if row["series"] == "eta"}
    >>> all(row["tpauc"] <= limit[row["share"]] + 1e-12 for row in found)
    True
    """
    points, population = cells(budget.side, TWO_KINDS_OF_HARD)
    others = list(other_scorers(points, population.eta, np.random.default_rng(0)))
    found = []
    for share in SHARES:
        found.append(_row("eta", "", 0, share, bayes_tpauc(population, square(share))))
        values = [(kind, population.tpauc(scores, square(share))) for kind, scores in others]
        found += [_row(f"other: {kind}", "", number, share, value) for number, (kind, value) in enumerate(values)]
    for method in TRAINED:
        parameters = parameters_of(method, CORNER, budget)
        warmup = budget.warmup if "warmup_epochs" in parameters else 0
        for model in MODELS:
            for seed in budget.seed_list:
                loss = loss_of(method, parameters, budget)
                scores = trained_scores(model, loss, warmup=warmup, seed=seed, budget=budget, mixture=TWO_KINDS_OF_HARD)
                found.append(_row(method, model, seed, CORNER.alpha, population.tpauc(scores, CORNER)))
    return found


def _row(series: str, model: str, number: int, share: float, tpauc: float) -> Row:
    return {"series": series, "model": model, "number": number, "share": share, "tpauc": tpauc}


def other_scorers(points: FloatArray, eta: FloatArray, rng: np.random.Generator) -> Iterator[tuple[str, FloatArray]]:
    """Yield scorers that are not ``eta``, by kind: linear ones, random waves, and disturbed copies of ``eta``.

    Examples
    --------
    >>> points = np.zeros((4, 2))
    >>> kinds = [kind for kind, _ in other_scorers(points, np.zeros(4), np.random.default_rng(0))]
    >>> {kind: kinds.count(kind) for kind in kinds}
    {'linear': 72, 'waves': 60, 'eta disturbed': 60}
    """
    for angle in np.arange(DIRECTIONS) * (2.0 * np.pi / DIRECTIONS):
        yield "linear", points @ np.array([np.cos(angle), np.sin(angle)])
    for _ in range(OTHERS):
        yield "waves", np.sin(points @ rng.normal(size=(2, 5)) + rng.uniform(0.0, 6.0, size=5)) @ rng.normal(size=5)
    for strength in np.geomspace(1e-3, 1.0, OTHERS):
        yield "eta disturbed", eta + strength * np.sin(points @ rng.normal(size=(2, 3))) @ rng.normal(size=3)


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the limit over regions, and trained models beside the limit of one region."""
    figure, (left, right) = new_canvas(1, 2, width=4.6, height=3.9)
    _draw_limit(left, rows)
    limits = {row["share"]: row["tpauc"] for row in rows if row["series"] == "eta"}
    best_line = max(row["tpauc"] for row in rows if row["series"] == "other: linear" and row["share"] == CORNER.alpha)
    label(right, "(b) trained, in the region alpha = beta = 0.3", "TPAUC", "")
    for place, text in ((limits[CORNER.alpha], "eta"), (best_line, "best line")):
        right.axvline(place, color=INK, lw=0.8, linestyle=(0, (4, 3)))
        right.text(place + 0.01, len(TRAINED) - 0.3, text, size=8, color=INK, va="center")
    for number, (model, marker, name) in enumerate(
        zip(MODELS, ("o", "^"), ("linear scorer", "small net"), strict=True)
    ):
        chosen = [row for row in rows if row["model"] == model]
        places = [TRAINED.index(row["series"]) + 0.24 * number - 0.12 for row in chosen]
        colour = line_style(number)["color"]
        right.plot([row["tpauc"] for row in chosen], places, marker, color=colour, markersize=5, label=name, alpha=0.8)
    right.set_yticks(range(len(TRAINED)), TRAINED)
    right.set(xlim=(0, 1), ylim=(len(TRAINED), -0.5))
    right.legend(loc="lower left", bbox_to_anchor=(0.0, 1.07), ncols=2, frameon=False, fontsize=8)
    return figure


def _draw_limit(axes: Axes, rows: Sequence[Row]) -> None:
    label(axes, "(a) eta and 192 other scorers", "alpha = beta", "TPAUC")
    shares = sorted({row["share"] for row in rows})
    limit = {row["share"]: row["tpauc"] for row in rows if row["series"] == "eta"}
    axes.plot(shares, [limit[share] for share in shares], label="eta", **line_style(0))
    for number, kind in enumerate(("linear", "waves", "eta disturbed"), start=1):
        best = [
            max(row["tpauc"] for row in rows if row["series"] == f"other: {kind}" and row["share"] == share)
            for share in shares
        ]
        axes.plot(shares, best, label=f"best of: {kind}", **line_style(number))
    axes.set(xlim=(0, 1), ylim=(0, 1.01))
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.07), ncols=2, frameon=False, fontsize=8, handlelength=3)


FIGURE = PaperFigure("eta attains the largest TPAUC; trained models beside that limit", "Theorem 2", rows, draw)
