"""Comparisons of losses: trained for OPAUC or for TPAUC, and truncation by the square loss or by cross-entropy.

**OPAUC.** Models trained for OPAUC and for TPAUC, each measured by both. OPAUC over ``FPR <= beta`` is TPAUC with
``alpha = 1``, so one measure serves all panels. The paper compares losses for OPAUC by OPAUC; in its tables, which
measure by TPAUC, it attributes their results to inconsistency.

**Truncation.** The appendix's table and figure: square loss against cross-entropy, with and without warm-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tpauc.paper.experiments.cells import number_text, region_text
from tpauc.paper.experiments.published import REGIONS
from tpauc.paper.figures._drawing import (
    distinct,
    draw_dots,
    draw_limit,
    having,
    label,
    legend_above,
    name_lines,
    new_canvas,
)
from tpauc.paper.figures._plane_trials import Budget, OnPlane
from tpauc.paper.figures.figure import Experiment, PaperFigure, Row, Trial
from tpauc.region import Region

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
