"""What the figures of experiments share: trials, their measurement on the plane or on images, and their drawing.

By default a trial is a small net on the plane (`tpauc.paper.figures.small_training`). With ``full`` it is a cell of the
paper's tables: a ResNet-20 on CIFAR-10-LT-1 by the paper's protocol, trained in the folder that ``tpauc reproduce
table`` uses, so that finished cells are shared and an interrupted figure goes on where it was. The images are looked
for where ``TPAUC_DATA`` says, or in ``data``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from torch import nn

from tpauc.losses import TPAUCLoss
from tpauc.paper.cells import Request
from tpauc.paper.figures.canvas import INK, line_style
from tpauc.paper.figures.figure import Row
from tpauc.paper.figures.small_training import LOSSES, Budget, cells, trained_scores
from tpauc.paper.methods import METHODS, Place
from tpauc.paper.parameters import WARMUP_GRID
from tpauc.paper.tables import TableFolder
from tpauc.paper.theory.bayes import bayes_tpauc
from tpauc.region import Region
from tpauc.weighting import Exponential, Polynomial

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DATASET, SUBSET, EPOCHS = "cifar10-lt", 1, 50
TABLE = Path("table")
PAPER_WARMUPS = tuple(epochs / EPOCHS for epochs in WARMUP_GRID)
_REGION_ENTERS = ("Trunc", "anchored")  # what a loss is called that is made for a region


class Trial(NamedTuple):
    """One way of training.

    Attributes
    ----------
    method : str
        A key of `tpauc.paper.figures.small_training.LOSSES`.
    value : float or None
        Exponent of a polynomial, gamma of an exponential weighting; None for the usual one.
    warmup : float
        Share of the training that is ordinary AUC optimisation.
    """

    method: str
    value: float | None = None
    warmup: float = 0.3


def measure(
    trials: Iterable[Trial],
    regions: Sequence[Region],
    *,
    budget: Budget,
    full: bool,
    made_for: Region | None = None,
) -> list[Row]:
    """Train each trial and measure it in each region.

    Parameters
    ----------
    trials : iterable of Trial
    regions : sequence of Region
        A loss that is made for a region is trained once for each, unless ``made_for`` is given.
    budget : Budget
        Of the small trainings; ``full`` uses its seeds alone.
    full : bool
        Whether to train on images.
    made_for : Region, optional
        The region that such losses are made for, whatever they are measured in.

    Returns
    -------
    list of Row
        Columns ``data``, ``method``, ``value``, ``warmup``, ``seed``, ``alpha``, ``beta``, ``tpauc``, and ``limit``,
        the largest TPAUC possible where it is known.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=2, n_positive=10, n_negative=20, side=10)
    >>> (row,) = measure([Trial("SqAUC")], [Region(0.5, 0.5)], budget=tiny, full=False)
    >>> row["method"], 0.0 <= row["tpauc"] <= row["limit"]
    ('SqAUC', True)
    """
    found = []
    for trial in trials:
        for seed in budget.seed_list:
            if full:
                found += _on_images(trial, regions, seed, made_for)
            else:
                found += _on_plane(trial, regions, seed, made_for, budget)
    return found


def _row(data: str, trial: Trial, seed: int, region: Region, tpauc: float, limit: float | str) -> Row:
    value = "" if trial.value is None else trial.value
    return {
        "data": data,
        "method": trial.method,
        "value": value,
        "warmup": trial.warmup,
        "seed": seed,
        "alpha": region.alpha,
        "beta": region.beta,
        "tpauc": tpauc,
        "limit": limit,
    }


def _on_plane(trial: Trial, regions: Sequence[Region], seed: int, made_for: Region | None, budget: Budget) -> list[Row]:
    _, population = cells(budget.side)
    warmup = round(trial.warmup * budget.steps)
    found, scores = [], None
    for region in regions:
        if scores is None or (made_for is None and trial.method.removeprefix("CE-").startswith(_REGION_ENTERS)):
            loss = loss_of(trial, made_for or region)
            scores = trained_scores("net", loss, warmup=warmup, seed=seed, budget=budget)
        found.append(
            _row("plane", trial, seed, region, population.tpauc(scores, region), bayes_tpauc(population, region))
        )
    return found


def loss_of(trial: Trial, region: Region) -> nn.Module:
    """Return the loss of a trial.

    Examples
    --------
    >>> loss_of(Trial("TPAUC-Exp", 5.0), Region(0.3, 0.3)).objective.positive
    Exponential(gamma=5.0)
    """
    if trial.value is None:
        return LOSSES[trial.method](region)
    return TPAUCLoss(
        Polynomial.from_exponent(trial.value) if trial.method == "TPAUC-Poly" else Exponential(trial.value)
    )


def _on_images(trial: Trial, regions: Sequence[Region], seed: int, made_for: Region | None) -> list[Row]:
    request = request_of(trial, regions, seed, made_for)
    folder = TableFolder(TABLE, Path(os.environ.get("TPAUC_DATA", "data")))
    outcome = folder.fill(request, say=lambda text: print(text, file=sys.stderr))
    if outcome.elsewhere or outcome.diverged:
        raise RuntimeError(f"not all cells of the figure are trained: {outcome.elsewhere or outcome.diverged}")
    return [_row(f"{DATASET}-{SUBSET}", trial, seed, result.region, result.tpauc, "") for result in outcome.results]


def request_of(trial: Trial, regions: Sequence[Region], seed: int, made_for: Region | None = None) -> Request:
    """Return the cells of the paper's tables that a trial stands for.

    Examples
    --------
    >>> request = request_of(Trial("TPAUC-Poly", 0.5, warmup=0.2), [Region(0.3, 0.3)], seed=0)
    >>> request.parameters
    {'warmup_epochs': 10, 'exponent': 0.5}
    """
    known = METHODS[trial.method].parameters(Place(DATASET, SUBSET, regions[0], EPOCHS))
    parameters: dict[str, float] = {}
    if made_for is not None:
        shares = {"alpha": made_for.alpha, "beta": made_for.beta}
        parameters |= {name: share for name, share in shares.items() if name in known}
    if "warmup_epochs" in known:
        parameters["warmup_epochs"] = round(trial.warmup * EPOCHS)
    if trial.value is not None:
        parameters["exponent" if trial.method == "TPAUC-Poly" else "gamma"] = trial.value
    return Request(
        dataset=DATASET,
        subset=SUBSET,
        methods=(trial.method,),
        seeds=(seed,),
        epochs=EPOCHS,
        regions=tuple(regions),
        per_region=True,
        parameters=parameters,
    )


# ---------------------------------------------------------------------------------------------------------- drawing


def draw_spread(axes: Axes, places: Sequence[float], groups: Sequence[Sequence[Row]], number: int, name: str) -> None:
    """Draw the median over seeds of each group of rows as a line, and their range as a band.

    Examples
    --------
    >>> from tpauc.paper.figures.canvas import new_canvas
    >>> _, (axes,) = new_canvas(1, 1)
    >>> draw_spread(axes, [0.0, 1.0], [[{"tpauc": 0.4}, {"tpauc": 0.6}], [{"tpauc": 0.7}]], 0, "method")
    >>> axes.lines[0].get_ydata().tolist()
    [0.5, 0.7]
    """
    values = [[row["tpauc"] for row in group] for group in groups]
    style = line_style(number)
    axes.plot(places, [float(np.median(group)) for group in values], label=name, marker="o", markersize=3, **style)
    axes.fill_between(
        places, [min(g) for g in values], [max(g) for g in values], color=style["color"], alpha=0.13, lw=0
    )


def draw_dots(
    axes: Axes, names: Sequence[str], groups: Sequence[Sequence[Row]], number: int, *, name: str, of: int = 1
) -> None:
    """Draw a dot for each row, one line of dots for each group; with ``of`` above 1, so many sets side by side.

    Examples
    --------
    >>> from tpauc.paper.figures.canvas import new_canvas
    >>> _, (axes,) = new_canvas(1, 1)
    >>> draw_dots(axes, ["SqAUC"], [[{"tpauc": 0.4}, {"tpauc": 0.6}]], 0, name="region")
    >>> [text.get_text() for text in axes.get_yticklabels()]
    ['SqAUC']
    """
    shift = (number - (of - 1) / 2.0) * 0.6 / of if of > 1 else 0.0
    x = [row["tpauc"] for group in groups for row in group]
    y = [place + shift for place, group in enumerate(groups) for _ in group]
    colour, marker = line_style(number)["color"], "os^D"[number % 4]
    axes.plot(x, y, marker, color=colour, markersize=4, alpha=0.85, label=name)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)


def draw_limit(axes: Axes, rows: Sequence[Row], *, upright: bool = False) -> None:
    """Mark the largest TPAUC possible, where it is known, by a dashed line, in the legend called eta.

    Examples
    --------
    >>> from tpauc.paper.figures.canvas import new_canvas
    >>> _, (axes,) = new_canvas(1, 1)
    >>> draw_limit(axes, [{"limit": 0.7}])
    >>> len(axes.lines)
    1
    """
    limits = sorted({row["limit"] for row in rows if row["limit"] != ""})
    for number, limit in enumerate(limits):
        line = axes.axvline if upright else axes.axhline
        line(limit, color=INK, lw=0.8, linestyle=(0, (4, 3)), label="eta" if number == 0 else None)
