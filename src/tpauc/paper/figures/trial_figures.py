"""Figures of trainings: how TPAUC depends on gamma and on the warm-up, and comparisons of losses.

Each point or field is the median over seeds, a band their range.

**Effect of gamma.** TPAUC against the exponent of Poly and the gamma of Exp, on the paper's grids. The paper's boxes
hold the different warm-ups, which are all trained on images. Square AUC has the flat weighting, the limit of small
exponents and of large gammas.

**One gamma per class** (appendix). TPAUC by the exponents of Poly, and by the gammas of Exp. On the diagonal both
classes have the same one, as in the rest of the paper. Grids and warm-up are the paper's; on the plane every second
value of the grids and a shorter warm-up.

**Effect of the warm-up** (appendix). TPAUC against the share of training that is ordinary AUC optimisation. On images
the paper's whole grid is trained, so median and range are over all exponents and gammas, as in the paper's boxes. It
shares its trainings with the figure ``gamma``, and adds truncation.

**Best gamma** (appendix). Which gamma has the largest TPAUC, for ``alpha = 0.2`` and growing ``beta``. The losses know
neither alpha nor beta, so one training serves every ``beta`` and only the choice among the trained models differs. The
grids are the paper's; on the plane every second value.

**OPAUC.** Models trained for OPAUC and for TPAUC, each measured by both. OPAUC over ``FPR <= beta`` is TPAUC with
``alpha = 1``, so one measure serves all panels. The paper compares losses for OPAUC by OPAUC; in its tables, which
measure by TPAUC, it attributes their results to inconsistency.

**Truncation.** The appendix's table and figure: square loss against cross-entropy, with and without warm-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tpauc.paper.experiments.cells import number_text, region_text
from tpauc.paper.experiments.published import EXPONENT_GRID, GAMMA_GRID, REGIONS
from tpauc.paper.figures.figure import (
    INK,
    Experiment,
    PaperFigure,
    Row,
    Trial,
    colour_of,
    column,
    distinct,
    draw_dots,
    draw_limit,
    draw_spread,
    draw_square_auc,
    having,
    label,
    legend_above,
    line_style,
    name_lines,
    new_canvas,
)
from tpauc.paper.figures.trials import EPOCHS, PAPER_WARMUPS, Budget, OnPlane
from tpauc.region import Region

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WARMUP = 0.3  # on the plane
VALUE_NAMES = {"TPAUC-Poly": "exponent e = 1 / (gamma - 1)", "TPAUC-Exp": "gamma"}

# ------------------------------------------------------------------------------------------------------------- gamma

GRIDS = {"TPAUC-Poly": EXPONENT_GRID, "TPAUC-Exp": GAMMA_GRID}


def grid_trials(warmups: Sequence[float]) -> list[Trial]:
    """Return both grids with each of the warm-ups."""
    return [Trial(method, value, warmup) for method, grid in GRIDS.items() for value in grid for warmup in warmups]


def gamma_experiment(warmups: Sequence[float]) -> Experiment:
    """Return both grids with each of the warm-ups, and SqAUC."""
    return Experiment([*grid_trials(warmups), Trial("SqAUC")], REGIONS)


def draw_gamma(rows: Sequence[Row]) -> Figure:
    """Draw one panel per weighting and one colour per region: the weighting, SqAUC, and the limit."""
    figure, panels = new_canvas(1, 2, width=4.4, height=4.2)
    titles = ("(a) Poly: psi(t) = t^e, concave below 1", "(b) Exp: psi(t) = 1 - exp(-gamma t)")
    for axes, title, (method, name) in zip(panels, titles, VALUE_NAMES.items(), strict=True):
        label(axes, title, name, "TPAUC")
        values = sorted(distinct(having(rows, method=method), "value"))
        for number, region in enumerate(REGIONS):
            own, colour = having(rows, alpha=region.alpha), colour_of(number)
            groups = [having(own, method=method, value=value) for value in values]
            draw_spread(axes, values, groups, number, f"alpha = beta = {region.alpha:g}")
            draw_square_auc(axes, own, colour=colour)
            draw_limit(axes, own, colour=colour)
        axes.set_xscale("log")
    panels[1].sharey(panels[0])
    panels[0].axvline(1.0, color=INK, lw=0.8)
    for place, text, side in ((0.9, "concave", "right"), (1.1, "convex", "left")):
        panels[0].text(place, 0.02, text, size=8, color=INK, ha=side, transform=panels[0].get_xaxis_transform())
    name_lines(panels[0], rows)
    legend_above(figure, panels[0], columns=3)
    return figure


GAMMA = PaperFigure(
    "TPAUC against gamma, for Poly and Exp",
    "Figures on the effect of gamma",
    OnPlane(gamma_experiment([WARMUP])),
    draw_gamma,
    gamma_experiment(PAPER_WARMUPS),
)

# ------------------------------------------------------------------------------------------------ one gamma per class

TWO_SIDED_GRIDS = {"TPAUC-Poly-two-sided": EXPONENT_GRID, "TPAUC-Exp-two-sided": GAMMA_GRID}
_FRAME_X, _FRAME_Y = np.array([-0.46, 0.46, 0.46, -0.46, -0.46]), np.array([-0.46, -0.46, 0.46, 0.46, -0.46])


def two_gammas_experiment(every: int, warmup: float) -> Experiment:
    """Return all pairs of the values of the grids, or of every second, third, ... value."""
    trials = [
        Trial(method, value, warmup, negative_value)
        for method, grid in TWO_SIDED_GRIDS.items()
        for value in grid[::every]
        for negative_value in grid[::every]
    ]
    return Experiment(trials, REGIONS, dataset="cifar100-lt")


def draw_two_gammas(rows: Sequence[Row]) -> Figure:
    """Draw one map per weighting and region, with a frame around the largest TPAUC."""
    figure, panels = new_canvas(len(TWO_SIDED_GRIDS), len(REGIONS), width=3.6, height=3.3)
    places = [(method, region) for method in TWO_SIDED_GRIDS for region in REGIONS]
    for axes, letter, (method, region) in zip(panels, "abcdef", places, strict=True):
        _draw_map(axes, having(rows, method=method, alpha=region.alpha))
        name = "exponent" if "Poly" in method else "gamma"
        title = f"({letter}) {method.split('-')[1]} in {region_text(region)}: TPAUC in %"
        label(axes, title, f"{name} of the negatives", f"{name} of the positives")
    return figure


def _draw_map(axes: Axes, rows: Sequence[Row]) -> None:
    values = sorted(distinct(rows, "value"))
    table = np.array([[_median_tpauc(rows, positive, negative) for negative in values] for positive in values])
    axes.imshow(table, cmap="cividis", origin="lower", aspect="auto")
    middle = (table.min() + table.max()) / 2.0
    for (row, place), tpauc in np.ndenumerate(table):
        colour = "white" if tpauc < middle else "black"  # on the dark and on the bright half of the colours
        axes.text(place, row, f"{100.0 * tpauc:.1f}", ha="center", va="center", size=7, color=colour)
    row, place = np.unravel_index(table.argmax(), table.shape)
    axes.plot(place + _FRAME_X, row + _FRAME_Y, color=colour_of(1), lw=2.2)
    axes.set_xticks(range(len(values)), map(number_text, values))
    axes.set_yticks(range(len(values)), map(number_text, values))
    axes.grid(visible=False)


def _median_tpauc(rows: Sequence[Row], positive: float, negative: float) -> float:
    return float(np.median(column(having(rows, value=positive, negative_value=negative), "tpauc")))


TWO_GAMMAS = PaperFigure(
    "TPAUC by a gamma for each class, for Poly and Exp",
    "Appendix, gamma of positives and negatives",
    OnPlane(two_gammas_experiment(every=2, warmup=WARMUP)),
    draw_two_gammas,
    two_gammas_experiment(every=1, warmup=35 / EPOCHS),
)

# ------------------------------------------------------------------------------------------------------------ warm-up

WARMED_UP = ("TPAUC-Poly", "TPAUC-Exp", "TruncTPAUC")
ONLY_WARMUP = Trial("SqAUC", warmup=1.0)
WARMUP_EXPERIMENT = Experiment(
    [*(Trial(m, warmup=warmup) for m in WARMED_UP for warmup in (0.0, 0.1, 0.3, 0.5, 0.7)), ONLY_WARMUP], REGIONS
)
WARMUP_WHOLE_GRID = Experiment(
    [*grid_trials(PAPER_WARMUPS), *(Trial("TruncTPAUC", warmup=warmup) for warmup in PAPER_WARMUPS), ONLY_WARMUP],
    REGIONS,
)


def draw_warmup(rows: Sequence[Row]) -> Figure:
    """Draw one panel per region, one line per method."""
    figure, panels = new_canvas(1, len(REGIONS), width=3.6, height=4.0)
    warmups = sorted({row["warmup"] for row in rows if row["method"] in WARMED_UP})
    for axes, letter, region in zip(panels, "abc", REGIONS, strict=True):
        title = f"({letter}) alpha = beta = {region.alpha:g}"
        label(axes, title, "share of the training that is warm-up", "TPAUC")
        own = having(rows, alpha=region.alpha)
        for number, method in enumerate(WARMED_UP):
            groups = [having(own, method=method, warmup=warmup) for warmup in warmups]
            draw_spread(axes, warmups, groups, number, method)
        draw_square_auc(axes, own)
        draw_limit(axes, own)
    name_lines(panels[0], rows)
    legend_above(figure, panels[0], columns=3)
    return figure


WARM_UP = PaperFigure(
    "TPAUC against the length of the warm-up",
    "Figures on the warm-up",
    OnPlane(WARMUP_EXPERIMENT),
    draw_warmup,
    WARMUP_WHOLE_GRID,
)

# --------------------------------------------------------------------------------------------------------- best gamma

ALPHA, BETAS = 0.2, (0.4, 0.6, 0.8)
WIDE_GRIDS = {
    "TPAUC-Poly": (0.0001, 0.0003, 0.0005, 0.001, 0.003, 0.005, 0.01, 0.03, 0.05, 0.1),
    "TPAUC-Exp": (5.0, 10.0, 15.0, 20.0, 25.0, 35.0, 100.0, 350.0, 1000.0),
}


def best_gamma_experiment(every: int) -> Experiment:
    """Return each value of the wide grids, or every second, third, ... value."""
    trials = [Trial(method, value, WARMUP) for method, grid in WIDE_GRIDS.items() for value in grid[::every]]
    return Experiment(trials, [Region(ALPHA, beta) for beta in BETAS], dataset="cifar100-lt")


def best_values(rows: Sequence[Row], method: str, beta: float) -> list[float]:
    """Return the value with the largest TPAUC, for each seed."""
    own = having(rows, method=method, beta=beta)
    best = [max(having(own, seed=seed), key=lambda row: row["tpauc"]) for seed in sorted(distinct(own, "seed"))]
    return [float(row["value"]) for row in best]


def draw_best_gamma(rows: Sequence[Row]) -> Figure:
    """Draw TPAUC against gamma for each beta, and below it the best gamma of each seed against beta."""
    figure, panels = new_canvas(2, 2, width=4.4, height=3.1)
    measured = "TPAUC" if any(row["limit"] == "" for row in rows) else "TPAUC as a share of the limit"
    for number, (method, name) in enumerate(VALUE_NAMES.items()):
        above, below = panels[number], panels[number + 2]
        label(above, f"({'ab'[number]}) {method[6:]}, median over seeds", name, measured)
        label(below, f"({'cd'[number]}) {method[6:]}, best of each seed", "beta", f"best {name.split(' =')[0]}")
        own = having(rows, method=method)
        values = sorted(distinct(own, "value"))
        for line, beta in enumerate(BETAS):
            groups = [having(own, value=value, beta=beta) for value in values]
            medians = [float(np.median([r["tpauc"] / (r["limit"] or 1.0) for r in group])) for group in groups]
            above.plot(values, medians, marker="o", markersize=3, label=f"beta = {beta:g}", **line_style(line))
            best = best_values(own, method, beta)
            offsets = beta + 0.012 * (np.arange(len(best)) - (len(best) - 1) / 2.0)  # equal values side by side
            below.plot(offsets, best, "o", color=colour_of(line), markersize=5)
        above.set_xscale("log")
        below.set(yscale="log", xticks=BETAS, ylim=(values[0] / 1.6, values[-1] * 1.6))
    legend_above(figure, panels[0])
    return figure


BEST_GAMMA = PaperFigure(
    "the best gamma against beta",
    "Appendix, optimal gamma",
    OnPlane(best_gamma_experiment(every=2), Budget(seeds=4)),
    draw_best_gamma,
    best_gamma_experiment(every=1),
)

# ------------------------------------------------------------------------------------------------- OPAUC and TPAUC

GROUPS = {
    "for AUC": ("SqAUC",),
    "for OPAUC": ("TruncOPAUC", "OP-Poly", "OP-Exp"),
    "for TPAUC": ("TruncTPAUC", "TPAUC-Poly", "TPAUC-Exp"),
}
MINIMAX = ("Minmax-OP-Poly", "Minmax-OP-Exp")  # only on images: they need their own optimiser


def opauc_experiment(warmup: float | None, extra: Sequence[str] = ()) -> Experiment:
    """Return the methods of all groups, and others.

    A loss that depends on the region is made for ``(beta, beta)``, whichever of the two measures is used.
    """
    methods = [*(method for group in GROUPS.values() for method in group), *extra]
    return Experiment([Trial(m, warmup=warmup) for m in methods], REGIONS, by_opauc=True, dataset="cifar100-lt")


def draw_opauc(rows: Sequence[Row]) -> Figure:
    """Draw OPAUC of each method and below it TPAUC, by region, coloured by what the method is trained for."""
    figure, panels = new_canvas(2, len(REGIONS), width=3.6, height=3.3)
    methods = distinct(rows, "method")
    groups = {name: [*members] for name, members in GROUPS.items()}
    groups["for OPAUC"] += [method for method in MINIMAX if method in methods]
    measures = {f"OPAUC({number_text(region.beta)})": Region(1.0, region.beta) for region in REGIONS}
    measures |= {f"TPAUC{region_text(region)}": region for region in REGIONS}
    for axes, letter, (name, region) in zip(panels, "abcdef", measures.items(), strict=True):
        label(axes, f"({letter}) {name}", name, "")
        own = having(rows, alpha=region.alpha, beta=region.beta)
        for number, (group, members) in enumerate(groups.items()):
            chosen = [having(own, method=m) if m in members else [] for m in methods]
            draw_dots(axes, methods, chosen, number, name=f"trained {group}")
        draw_limit(axes, own, upright=True)
    name_lines(panels[0], rows, square_auc=False)
    legend_above(figure, panels[0], columns=4)
    return figure


OPAUC = PaperFigure(
    "models trained for OPAUC and for TPAUC, by both measures",
    "Appendix, OPAUC",
    OnPlane(opauc_experiment(warmup=0.3), Budget(seeds=5)),
    draw_opauc,
    opauc_experiment(None, MINIMAX),
)

# --------------------------------------------------------------------------------------------------------- truncation

TRUNCATED = ("TruncOPAUC", "CE-TruncOPAUC", "TruncTPAUC", "CE-TruncTPAUC", "TPAUC-Poly")
WARMUPS = {"without warm-up": 0.0, "with warm-up": 0.2}
TRUNCATION_EXPERIMENT = Experiment(
    [
        *(Trial(method, warmup=warmup) for method in TRUNCATED for warmup in WARMUPS.values()),
        Trial("SqAUC", warmup=0.0),
    ],
    REGIONS,
    dataset="cifar100-lt",
)


def draw_truncation(rows: Sequence[Row]) -> Figure:
    """Draw one panel per region; for each loss dots without and with warm-up."""
    figure, panels = new_canvas(1, len(REGIONS), width=3.6, height=3.6)
    methods = (*TRUNCATED, "SqAUC")
    for axes, letter, region in zip(panels, "abc", REGIONS, strict=True):
        label(axes, f"({letter}) alpha = beta = {region.alpha:g}", "TPAUC", "")
        own = having(rows, alpha=region.alpha)
        for number, (name, warmup) in enumerate(WARMUPS.items()):
            groups = [having(own, method=method, warmup=warmup) for method in methods]
            draw_dots(axes, methods, groups, number, of=len(WARMUPS), name=name)
        draw_limit(axes, own, upright=True)
    name_lines(panels[0], rows, square_auc=False)
    legend_above(figure, panels[0])
    return figure


TRUNCATION = PaperFigure(
    "truncation with the square loss and with cross-entropy",
    "Appendix, warm-up table",
    OnPlane(TRUNCATION_EXPERIMENT),
    draw_truncation,
    TRUNCATION_EXPERIMENT,
)
