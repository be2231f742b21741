"""Theorems 2 to 5: the best scorer, the order that counts, and the excess risk.

**Theorem 2.** No scorer has a larger TPAUC than ``eta``, in any region. (a) The TPAUC of ``eta`` over regions with
``alpha = beta``, and the best of many other scorers of each kind: linear ones, random waves, and disturbed copies of
``eta``. (b) Linear scorers and small nets after training with cross-entropy and with losses for the region, on a
distribution where a line cannot follow ``eta``.

**Theorem 3.** Scorers that split the examples into the same three sets as ``eta`` are made by swapping neighbours
inside one set. Their loss of TPAUC against ``eta`` is drawn against the prediction of the theorem, the weight of the
pairs of the middle set in the wrong order.

**Theorems 4 and 5.** The excess-risk terms against the sample size, beside the deviations of samples. Nine negatives
per positive, the region ``alpha = beta = 0.3``, confidence 95 %. Every constant that the paper leaves open is set to 1;
the bound for one fixed scorer leaves none open. A risk inside the region is at most ``alpha beta``, so a term above
that line says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tpauc._validation import FloatArray
from tpauc.losses.weighting import Exponential
from tpauc.paper.figures.figure import (
    DASHES,
    INK,
    PaperFigure,
    Row,
    colour_of,
    column,
    distinct,
    draw_line,
    having,
    label,
    legend_above,
    line_style,
    new_canvas,
)
from tpauc.paper.figures.trials import MODELS, Budget, cells, loss_of, parameters_of, square, trained_scores
from tpauc.paper.theory.bayes import ThreeSets, bayes_tpauc, middle_order_loss, shuffled_within, uncut_region
from tpauc.paper.theory.decomposition import PowerScores, decompose
from tpauc.paper.theory.excess_risk import (
    corollary_cnn,
    fixed_scorer_bound,
    network_spread,
    theorem_4,
    theorem_5,
    theorem_5_best_k,
)
from tpauc.paper.theory.populations import TWO_KINDS_OF_HARD, FinitePopulation
from tpauc.region import Region

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# ------------------------------------------------------------------------------------------------- the limit of TPAUC

DIRECTIONS, OTHERS = 72, 60
SHARES = tuple(number / 20 for number in range(2, 21))
TRAINED = ("CE", "CE-RW", "SqAUC", "TPAUC-Poly", "TPAUC-Exp", "TruncTPAUC", "anchored")
CORNER = square(0.3)
_KINDS = ("linear", "waves", "eta disturbed")


def limit_rows(full: bool) -> list[Row]:
    """Return TPAUC of ``eta``, of many scorers and of trained models; with ``full`` ten seeds and longer training."""
    return compute_limit(Budget(seeds=10, steps=3000, warmup=1000, side=200) if full else Budget(steps=300))


def compute_limit(budget: Budget) -> list[Row]:
    """Return the rows for a budget."""
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
            for seed in range(budget.seeds):
                loss = loss_of(method, parameters, budget)
                scores = trained_scores(model, loss, warmup=warmup, seed=seed, budget=budget, mixture=TWO_KINDS_OF_HARD)
                found.append(_row(method, model, seed, CORNER.alpha, population.tpauc(scores, CORNER)))
    return found


def _row(series: str, model: str, number: int, share: float, tpauc: float) -> Row:
    return {"series": series, "model": model, "number": number, "share": share, "tpauc": tpauc}


def other_scorers(points: FloatArray, eta: FloatArray, rng: np.random.Generator) -> Iterator[tuple[str, FloatArray]]:
    """Yield scorers other than ``eta``, by kind: linear ones, random waves, and disturbed copies of ``eta``.

    Examples
    --------
    >>> points = np.zeros((4, 2))
    >>> kinds = [kind for kind, _ in other_scorers(points, np.zeros(4), np.random.default_rng(0))]
    >>> {kind: kinds.count(kind) for kind in kinds}
    {'linear': 72, 'waves': 60, 'eta disturbed': 60}
    """
    linear, waves, disturbed = _KINDS
    for angle in np.arange(DIRECTIONS) * (2.0 * np.pi / DIRECTIONS):
        yield linear, points @ np.array([np.cos(angle), np.sin(angle)])
    for _ in range(OTHERS):
        yield waves, np.sin(points @ rng.normal(size=(2, 5)) + rng.uniform(0.0, 6.0, size=5)) @ rng.normal(size=5)
    for strength in np.geomspace(1e-3, 1.0, OTHERS):
        yield disturbed, eta + strength * np.sin(points @ rng.normal(size=(2, 3))) @ rng.normal(size=3)


def draw_limit_and_models(rows: Sequence[Row]) -> Figure:
    """Draw the limit over regions, and trained models beside the limit of one region."""
    figure, (left, right) = new_canvas(1, 2, width=4.6, height=3.9)
    _draw_other_scorers(left, rows)
    in_corner = having(rows, share=CORNER.alpha)
    (limit,) = column(having(in_corner, series="eta"), "tpauc")
    best_line = max(column(having(in_corner, series="other: linear"), "tpauc"))
    label(right, "(b) trained, in the region alpha = beta = 0.3", "TPAUC", "")
    for place, text in ((limit, "eta"), (best_line, "best line")):
        right.axvline(place, color=INK, lw=0.8, linestyle=DASHES)
        right.text(place + 0.01, len(TRAINED) - 0.3, text, size=8, color=INK, va="center")
    for number, (model, marker, name) in enumerate(
        zip(MODELS, ("o", "^"), ("linear scorer", "small net"), strict=True)
    ):
        own = having(rows, model=model)
        places = [TRAINED.index(row["series"]) + 0.24 * number - 0.12 for row in own]
        colour = colour_of(number)
        right.plot(column(own, "tpauc"), places, marker, color=colour, markersize=5, label=name, alpha=0.8)
    right.set_yticks(range(len(TRAINED)), TRAINED)
    right.set(xlim=(0, 1), ylim=(len(TRAINED), -0.5))
    right.legend(loc="lower left", bbox_to_anchor=(0.0, 1.07), ncols=2, frameon=False, fontsize=8)
    return figure


def _draw_other_scorers(axes: Axes, rows: Sequence[Row]) -> None:
    label(axes, "(a) eta and 192 other scorers", "alpha = beta", "TPAUC")
    shares = sorted(distinct(rows, "share"))
    for number, (series, name) in enumerate(
        {"eta": "eta", **{f"other: {kind}": f"best of: {kind}" for kind in _KINDS}}.items()
    ):
        best = [max(column(having(rows, series=series, share=share), "tpauc")) for share in shares]
        axes.plot(shares, best, label=name, **line_style(number))
    axes.set(xlim=(0, 1), ylim=(0, 1.01))
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.07), ncols=2, frameon=False, fontsize=8, handlelength=3)


BAYES_LIMIT = PaperFigure(
    "eta attains the largest TPAUC; trained models beside that limit", "Theorem 2", limit_rows, draw_limit_and_models
)

# -------------------------------------------------------------------------------------------- the order in the middle

KINDS, SCORERS = 60, 12  # kinds of examples, scorers per set
MOVES = (0, 10, 30, 100, 300, 1000, 3000)
_MARKERS = {"top": "^", "middle": "o", "bottom": "v"}


def middle_rows(_full: bool) -> list[Row]:
    """Return predicted and actual loss of scorers shuffled within each of the three sets."""
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


def draw_middle(rows: Sequence[Row]) -> Figure:
    """Draw the loss against the prediction, and against the number of swaps."""
    figure, (left, right) = new_canvas(1, 2, width=4.4, height=3.7)
    label(left, "(a) the loss is what Theorem 3 says", "predicted from the order in the middle", "loss of TPAUC")
    label(right, "(b) swaps outside the middle cost nothing", "1 + swaps of neighbours", "loss of TPAUC")
    largest = max(column(rows, "loss"))
    left.plot([0.0, largest], [0.0, largest], color=INK, lw=0.8, zorder=1)
    for number, part in enumerate(ThreeSets._fields):
        own = having(rows, part=part)
        losses = column(own, "loss")
        style: dict[str, Any] = {"color": colour_of(number), "marker": _MARKERS[part]}
        style |= {"linestyle": "none", "markersize": 4}
        left.plot(column(own, "predicted"), losses, label=f"shuffled within the {part} set", **style)
        # The number of swaps is drawn on a logarithmic scale, and may be 0.
        right.plot([row["moves"] + 1.0 for row in own], losses, **style)
    right.set_xscale("log")
    legend_above(figure, left)
    return figure


MIDDLE_ORDER = PaperFigure("only the order inside the middle set counts", "Theorem 3", middle_rows, draw_middle)

# -------------------------------------------------------------------------------------------------------- excess risk

RATIO, DIMENSION = 9, 65  # a linear scorer on the 64 features of a ResNet-20
PARAMETERS, LAYERS = 269_137, 20  # of the ResNet-20 itself
EMPIRICAL_RISK = 0.05
SIZES = tuple(round(10 ** (power / 2)) for power in range(4, 17))
MEASURED, REPEATS = SIZES[:5], 100
TRUTH = PowerScores(theta=6.0)

_BOUNDS = (
    "corollary, ResNet-20",
    "Theorem 4, linear",
    "Theorem 5, best K",
    "Theorem 5, as printed",
    "one fixed scorer",
)
_ON_SAMPLES = ("decomposition, as printed", "decomposition, sharper", "one fixed scorer", "measured")
_LOOK = {name: number for number, name in enumerate(dict.fromkeys((*_BOUNDS, *_ON_SAMPLES)))}  # the same in both panels
_AXES = ("positives n+  (negatives: 9 n+)", "excess risk, share of all pairs")


def excess_rows(_full: bool) -> list[Row]:
    """Return the terms for each number of positives, then the deviations measured on samples and their two bounds."""
    found = [row for n in SIZES for row in _bounds(n, n * RATIO)]
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


def _bounds(n_positive: int, n_negative: int) -> list[Row]:
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
        {"series": name, "n_positive": n_positive, "value": value} for name, value in zip(_BOUNDS, values, strict=True)
    ]


def draw_excess(rows: Sequence[Row]) -> Figure:
    """Draw the terms, and beside them the decomposition lemma with the deviations of samples."""
    figure, (left, right) = new_canvas(1, 2, width=4.6, height=4.6)
    label(left, "(a) the terms; constants left open are 1", *_AXES)
    label(right, "(b) Lemma 1 on samples, at 95 %", *_AXES)
    _draw_series(left, [row for row in rows if row["series"] in _BOUNDS])
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
