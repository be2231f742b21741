"""How the paper's figures look: axes, lines and legends in the colours of the report.

Figures are made without pyplot, so no global state and no backend is touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tpauc._validation import import_extra
from tpauc.reporting.panels import COLOURS, look_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, REGION = (COLOURS[name][0] for name in ("ink", "faint", "region"))


def new_canvas(rows: int, columns: int, *, width: float = 4.2, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """Return an empty figure and its axes, row by row; ``width`` and ``height`` in inches are those of one panel.

    Examples
    --------
    >>> figure, axes = new_canvas(1, 2)
    >>> len(axes), figure.get_size_inches().tolist()
    (2, [8.4, 3.4])
    """
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
    """Write the title of a panel and the names of its axes.

    Examples
    --------
    >>> _, (axes,) = new_canvas(1, 1)
    >>> label(axes, "ROC", "false positive rate", "true positive rate")
    >>> axes.get_xlabel()
    'false positive rate'
    """
    axes.set_title(title, loc="left", weight="bold", size=9, color=INK)
    axes.set_xlabel(x, size=9, color=INK)
    axes.set_ylabel(y, size=9, color=INK)


def line_style(number: int) -> dict[str, Any]:
    """Return colour and dashes of the line with that number, counted from 0, as options of ``axes.plot``.

    Examples
    --------
    >>> line_style(0)["color"], line_style(0)["linestyle"]
    ('#2245ca', 'solid')
    """
    look = look_of(number)
    dashes = (0, tuple(length / 2.0 for length in look.dash)) if look.dash else "solid"
    return {"color": COLOURS[look.colour][0], "linestyle": dashes, "linewidth": 1.5}


def legend_above(figure: Figure, axes: Axes, *, columns: int = 3) -> None:
    """Write the names of the lines of ``axes`` above all panels, where they cover nothing.

    Examples
    --------
    >>> figure, (axes,) = new_canvas(1, 1)
    >>> _ = axes.plot([0, 1], [0, 1], label="diagonal")
    >>> legend_above(figure, axes)
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['diagonal']
    """
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=columns, frameon=False, fontsize=9, handlelength=3.2)
