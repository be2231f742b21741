"""What a figure of the paper is here: rows of numbers, and a drawing that is made from these rows alone.

The rows are written as a CSV file beside the PNG, so every line in a picture can be read, checked and drawn again
without running anything.

Some figures need trainings. An `Experiment` lists them: trials, and the regions in which they are measured. The same
trials can be small nets on the plane, which takes seconds, or networks on the paper's images, which takes hours to
days (`trials`).

Drawings have the colours of the report. They are made without pyplot, so neither global state nor a backend is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tpauc._validation import import_extra
from tpauc.region import Region
from tpauc.reporting.panels import COLOURS, look_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]  # column name -> text or number; all rows of a figure have the same columns

INK, FAINT, REGION = (COLOURS[name][0] for name in ("ink", "faint", "region"))
DASHES = (0, (4, 3))

_MARKERS = "os^D"
_LIMIT: dict[str, Any] = {"linestyle": DASHES, "lw": 0.9}
_SQUARE_AUC: dict[str, Any] = {"linestyle": (0, (1, 1.5)), "lw": 1.4}


class Trial(NamedTuple):
    """One way of training by a method of `tpauc.paper.experiments.methods`; None stands for the usual value.

    A method without a warm-up ignores ``warmup``. If the method takes one value per class, ``value`` is for the
    positives.

    Examples
    --------
    >>> Trial("TPAUC-Exp", 5.0).replacing({"gamma": 15.0, "warmup_epochs": 10}, epochs=50)
    {'gamma': 5.0}
    >>> Trial("TPAUC-Exp", warmup=0.3).replacing({"gamma": 15.0, "warmup_epochs": 10}, epochs=50)
    {'warmup_epochs': 15}
    >>> both = {"positive_gamma": 1.0, "negative_gamma": 1.0}
    >>> Trial("TPAUC-Exp-two-sided", 5.0, negative_value=9.0).replacing(both, epochs=50)
    {'positive_gamma': 5.0, 'negative_gamma': 9.0}
    """

    method: str
    value: float | None = None  # exponent of a polynomial or gamma of an exponential weighting
    warmup: float | None = None  # share of the training that optimises ordinary AUC
    negative_value: float | None = None

    def replacing(self, parameters: Mapping[str, float], epochs: int) -> dict[str, float]:
        """Return the parameters of the method that this trial replaces, for a training of ``epochs`` epochs."""
        found: dict[str, float] = {}
        if self.warmup is not None:
            found["warmup_epochs"] = round(self.warmup * epochs)
        if self.value is not None:
            name = "exponent" if any(known.endswith("exponent") for known in parameters) else "gamma"
            if self.negative_value is None:
                found[name] = self.value
            else:
                found |= {f"positive_{name}": self.value, f"negative_{name}": self.negative_value}
        return {name: value for name, value in found.items() if name in parameters}

    def row(self, *, data: str, seed: int, region: Region, tpauc: float, limit: float | str) -> Row:
        """Return the row of the result; ``limit`` is empty if it is not known."""
        return {
            "data": data,
            "method": self.method,
            "value": "" if self.value is None else self.value,
            "negative_value": "" if self.negative_value is None else self.negative_value,
            "warmup": "" if self.warmup is None else self.warmup,
            "seed": seed,
            "alpha": region.alpha,
            "beta": region.beta,
            "tpauc": tpauc,
            "limit": limit,
        }


@dataclass(frozen=True)
class Experiment:
    """The trials of a figure, and the regions in which they are measured.

    A loss that depends on the region is trained once per region.
    """

    trials: Sequence[Trial]
    regions: Sequence[Region]
    by_opauc: bool = False  # measure the training for a region (alpha, beta) also by OPAUC over FPR <= beta
    dataset: str = "cifar10-lt"  # of the paper's figure

    def measured_in(self, region: Region) -> tuple[Region, ...]:
        """Return the regions in which a training for ``region`` is measured.

        Examples
        --------
        >>> Experiment([Trial("SqAUC")], [Region(0.3, 0.3)], by_opauc=True).measured_in(Region(0.3, 0.3))
        (Region(alpha=0.3, beta=0.3), Region(alpha=1.0, beta=0.3))
        """
        return (region, Region(1.0, region.beta)) if self.by_opauc else (region,)


@dataclass(frozen=True)
class PaperFigure:
    """A figure that can be made: what it shows, its numbers, its drawing.

    ``rows(full)`` takes seconds if ``full`` is False, perhaps minutes if True. All random numbers come from fixed
    seeds, so the rows repeat exactly. ``draw(rows)`` draws the rows and nothing else. With ``--full`` what the paper
    trains for the figure is trained on images, which takes hours to days, and ``rows`` is not called.
    """

    shows: str  # one line for the list of figures
    place: str  # where the paper has it or claims it: "Figure 1", "Theorem 1"
    rows: Callable[[bool], list[Row]]
    draw: Callable[[Sequence[Row]], Figure]
    on_images: Experiment | None = None


# ----------------------------------------------------------------------------------------------------------------- rows


def having(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    """Return the rows with these values.

    >>> having([{"part": "top", "loss": 0.1}, {"part": "middle", "loss": 0.2}], part="middle")
    [{'part': 'middle', 'loss': 0.2}]
    """
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def column(rows: Sequence[Row], name: str) -> list[Any]:
    """Return a column of the rows."""
    return [row[name] for row in rows]


def distinct(rows: Sequence[Row], name: str) -> list[Any]:
    """Return the different values in a column, in the order of their first row."""
    return list(dict.fromkeys(column(rows, name)))


# --------------------------------------------------------------------------------------------------------------- axes


def new_canvas(rows: int, columns: int, *, width: float = 4.2, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """Return an empty figure and its axes, row by row; ``width`` and ``height`` are the size of one panel in inches."""
    module = import_extra("matplotlib.figure", "report")
    figure: Figure = module.Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = [figure.add_subplot(rows, columns, number + 1) for number in range(rows * columns)]
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
        panel.spines[["left", "bottom"]].set_color(FAINT)
        panel.tick_params(color=FAINT, labelcolor=INK, labelsize=8, length=0)
        panel.grid(color=FAINT, alpha=0.25, lw=0.6)
    return figure, axes


def label(axes: Axes, title: str, x: str, y: str) -> None:
    """Write the title of a panel and the names of its axes."""
    axes.set_title(title, loc="left", weight="bold", size=9, color=INK)
    axes.set_xlabel(x, size=9, color=INK)
    axes.set_ylabel(y, size=9, color=INK)


def legend_above(figure: Figure, axes: Axes, *, columns: int = 3) -> None:
    """Write the names of the lines of ``axes`` above all panels, where they cover nothing."""
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=columns, frameon=False, fontsize=9, handlelength=3.2)


# -------------------------------------------------------------------------------------------------------------- lines


def line_style(number: int) -> dict[str, Any]:
    """Return colour and dashes of line ``number``, counted from 0, as options of ``axes.plot``.

    >>> line_style(0)["color"], line_style(0)["linestyle"]
    ('#2245ca', 'solid')
    """
    look = look_of(number)
    dashes = (0, tuple(length / 2.0 for length in look.dash)) if look.dash else "solid"
    return {"color": COLOURS[look.colour][0], "linestyle": dashes, "linewidth": 1.5}


def colour_of(number: int) -> str:
    """Return the colour of line ``number``."""
    return str(line_style(number)["color"])


def draw_line(
    axes: Axes, rows: Sequence[Row], x: str, y: str, number: int, name: str | None = None, **changes: Any
) -> None:
    """Draw column ``y`` of the rows against column ``x`` as line ``number``."""
    axes.plot(column(rows, x), column(rows, y), label=name, **line_style(number) | changes)


# ------------------------------------------------------------------------------------------------- results of trials


def draw_spread(axes: Axes, places: Sequence[float], groups: Sequence[Sequence[Row]], number: int, name: str) -> None:
    """Draw the median over seeds of each group of rows as a line, and the range over seeds as a band."""
    values = [column(group, "tpauc") for group in groups]
    colour = colour_of(number)
    # Markers tell the lines apart: dashes and dots belong to the lines for comparison.
    look: dict[str, Any] = {"color": colour, "lw": 1.5, "marker": _MARKERS[number % len(_MARKERS)], "markersize": 4}
    axes.plot(places, [float(np.median(group)) for group in values], label=name, **look)
    axes.fill_between(places, [min(g) for g in values], [max(g) for g in values], color=colour, alpha=0.13, lw=0)


def draw_dots(
    axes: Axes, names: Sequence[str], groups: Sequence[Sequence[Row]], number: int, *, name: str, of: int = 1
) -> None:
    """Draw one dot per row and one line of dots per group; with ``of > 1``, ``of`` sets of dots side by side."""
    shift = (number - (of - 1) / 2.0) * 0.6 / of if of > 1 else 0.0
    x = [row["tpauc"] for group in groups for row in group]
    y = [place + shift for place, group in enumerate(groups) for _ in group]
    marker = _MARKERS[number % len(_MARKERS)]
    axes.plot(x, y, marker, color=colour_of(number), markersize=4, alpha=0.85, label=name)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.locator_params(axis="x", nbins=5)  # with four digits, more tick labels would overlap


def draw_limit(axes: Axes, rows: Sequence[Row], *, colour: str = INK, upright: bool = False) -> None:
    """Mark the largest possible TPAUC in the region of the rows by a dashed line, if it is known."""
    for limit in {row["limit"] for row in rows if row["limit"] != ""}:
        (axes.axvline if upright else axes.axhline)(limit, color=colour, **_LIMIT)


def draw_square_auc(axes: Axes, rows: Sequence[Row], *, colour: str = INK) -> None:
    """Mark the median TPAUC of plain square AUC over the seeds by a dotted line."""
    axes.axhline(float(np.median(column(having(rows, method="SqAUC"), "tpauc"))), color=colour, **_SQUARE_AUC)


def name_lines(axes: Axes, rows: Sequence[Row], *, square_auc: bool = True) -> None:
    """Add the lines for comparison to the legend."""
    names = {"SqAUC": _SQUARE_AUC} if square_auc else {}
    if any(row["limit"] != "" for row in rows):
        names["eta, the limit"] = _LIMIT
    for name, style in names.items():
        axes.plot([], [], color=INK, label=name, **style)
