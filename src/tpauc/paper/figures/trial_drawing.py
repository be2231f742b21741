"""How figures of trials draw their rows: medians over seeds with their range, dots, and lines to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tpauc.paper.figures.canvas import INK, line_style
from tpauc.paper.figures.figure import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = "os^D"
_ETA: dict[str, Any] = {"linestyle": (0, (4, 3)), "lw": 0.9}
_SQUARE_AUC: dict[str, Any] = {"linestyle": (0, (1, 1.5)), "lw": 1.4}


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
    colour = line_style(number)["color"]
    # Told apart by their marks: dashes and dots are those of the lines to compare with.
    look = {"color": colour, "lw": 1.5, "marker": _MARKS[number % len(_MARKS)], "markersize": 4}
    axes.plot(places, [float(np.median(group)) for group in values], label=name, **look)
    axes.fill_between(places, [min(g) for g in values], [max(g) for g in values], color=colour, alpha=0.13, lw=0)


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
    colour, marker = line_style(number)["color"], _MARKS[number % len(_MARKS)]
    axes.plot(x, y, marker, color=colour, markersize=4, alpha=0.85, label=name)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.locator_params(axis="x", nbins=5)  # more than that run into each other where they have four digits


def draw_limit(axes: Axes, rows: Sequence[Row], *, colour: str = INK, upright: bool = False) -> None:
    """Mark the largest TPAUC possible in the region of the rows by a dashed line, where it is known.

    Examples
    --------
    >>> from tpauc.paper.figures.canvas import new_canvas
    >>> _, (axes,) = new_canvas(1, 1)
    >>> draw_limit(axes, [{"limit": 0.7}])
    >>> len(axes.lines)
    1
    """
    for limit in {row["limit"] for row in rows if row["limit"] != ""}:
        (axes.axvline if upright else axes.axhline)(limit, color=colour, **_ETA)


def draw_square_auc(axes: Axes, rows: Sequence[Row], *, colour: str = INK) -> None:
    """Mark what plain square AUC reaches in the region of the rows, the median over seeds, by a dotted line.

    Examples
    --------
    >>> from tpauc.paper.figures.canvas import new_canvas
    >>> _, (axes,) = new_canvas(1, 1)
    >>> draw_square_auc(axes, [{"method": "SqAUC", "tpauc": 0.4}, {"method": "TPAUC-Exp", "tpauc": 0.6}])
    >>> axes.lines[0].get_ydata()
    [0.4, 0.4]
    """
    reached = np.median([row["tpauc"] for row in rows if row["method"] == "SqAUC"])
    axes.axhline(float(reached), color=colour, **_SQUARE_AUC)


def name_lines(axes: Axes, rows: Sequence[Row], *, square_auc: bool = True) -> None:
    """Give the dotted and the dashed line their names in the legend; the latter where the limit is known.

    Examples
    --------
    >>> from tpauc.paper.figures.canvas import new_canvas
    >>> _, (axes,) = new_canvas(1, 1)
    >>> name_lines(axes, [{"limit": ""}])
    >>> axes.get_legend_handles_labels()[1]
    ['SqAUC']
    """
    names = {"SqAUC": _SQUARE_AUC} if square_auc else {}
    if any(row["limit"] != "" for row in rows):
        names["eta, the limit"] = _ETA
    for name, style in names.items():
        axes.plot([], [], color=INK, label=name, **style)
