"""The plots of a report as matplotlib figures, for papers, notebooks and PNG files. Needs ``tpauc[report]``.

Figures are made without pyplot, so no global state and no backend is touched; save a figure with ``figure.savefig``. A
notebook shows a figure that is the last value of a cell.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tpauc._validation import check_scores, import_extra
from tpauc.metrics.operating_points import operating_point_in_region
from tpauc.region import Region
from tpauc.reporting.figures import (
    History,
    check_history,
    check_named_scores,
    roc_panels,
    rule_legend,
    score_panel,
    training_panels,
)
from tpauc.reporting.panels import COLOURS, Look, Panel, look_of
from tpauc.reporting.region_artists import check_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_SHAPES = {"circle": "o", "square": "s", "diamond": "D", "triangle": "^"}
_PIXEL = 0.75  # points; the widths and dashes of a panel are in pixels of 1/96 inch
_LONGEST_NAME = 40  # letters; longer names do not fit into a figure
_LEGEND_COLUMNS = 3
_ONLY_MODEL = "model"  # how the only model is called
_TEXT: dict[str, Any] = {"size": 9, "color": COLOURS["ink"][0]}
_PNG_DPI = 150


def plot_roc(
    y_true: npt.ArrayLike,
    scores: npt.ArrayLike | Mapping[str, npt.ArrayLike],
    *,
    alpha: float,
    beta: float,
    ax: Axes | None = None,
) -> Figure:
    """Draw the ROC curves with the region, and beside them the region alone, with all operating points.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1.
    scores : array-like of shape (n,), or mapping of str to such arrays
        The scores of one model, or of each model by its name.
    alpha, beta : float
        The region, as in :func:`tpauc.tpauc_score`.
    ax : matplotlib Axes, optional
        Where to draw the whole curves; the region alone is then left out. By default both are on a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        The new figure, or the one of ``ax``.

    See Also
    --------
    ROCRegionDisplay : One curve on given axes, with a confidence band, from an estimator or a cross-validation.

    Examples
    --------
    >>> figure = plot_roc([1, 1, 0, 0], {"model": [0.9, 0.6, 0.5, 0.1]}, alpha=0.5, beta=0.5)
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['Whole curve', 'Inside the region']
    """
    region = Region(alpha, beta)
    positive, checked = check_named_scores(y_true, _named(scores))
    points = {name: operating_point_in_region(positive, s, region) for name, s in checked.items()}
    if ax is not None:
        return _drawn_on(check_axes(ax), roc_panels(positive, checked, points, region)[0], _model_legend(checked))
    return draw(roc_panels(positive, checked, points, region), columns=2, legend=_model_legend(checked))


def plot_scores(
    y_true: npt.ArrayLike,
    scores: npt.ArrayLike | Mapping[str, npt.ArrayLike],
    *,
    alpha: float,
    beta: float,
) -> Figure:
    """Draw the score densities of both classes with the thresholds, one panel per model.

    Positives rise from the middle and negatives hang from it; the hard examples of the region are filled darker.

    Parameters
    ----------
    y_true, scores, alpha, beta
        As in :func:`plot_roc`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> figure = plot_scores([1, 1, 0, 0], {"model": [0.9, 0.4, 0.5, 0.1]}, alpha=0.5, beta=0.5)
    >>> figure.axes[0].get_xlabel()
    'score (logit scale)'
    """
    region = Region(alpha, beta)
    positive, checked = check_named_scores(y_true, _named(scores))
    points = {name: operating_point_in_region(positive, s, region) for name, s in checked.items()}
    panels = [score_panel(name, positive, s, points[name], region) for name, s in checked.items()]
    return draw(panels, columns=min(2, len(panels)), legend=rule_legend())


def plot_training(history: History | Mapping[str, History]) -> Figure:
    """Draw the course of training: one panel per measure in the history, one line per run.

    Parameters
    ----------
    history : list of mappings, or mapping of str to such lists
        One mapping per epoch, with the key ``"epoch"``; or such a list per run, by the name of the run. Every other key
        with numbers except ``"step"`` (``loss``, ``tpauc``, ...) has a panel. The best epoch by TPAUC is marked.
        Numbers that are missing or not finite are skipped.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> rows = [{"epoch": 1, "loss": 0.7, "tpauc": 0.2}, {"epoch": 2, "loss": 0.5, "tpauc": 0.4}]
    >>> [axes.get_title(loc="left") for axes in plot_training(rows).axes]
    ['Loss', 'TPAUC']
    """
    runs = check_history(history, only_run="run")
    panels = training_panels(runs, {name: look_of(number) for number, name in enumerate(runs)})
    return draw(panels, columns=min(3, len(panels)), legend=_model_legend(runs) if len(runs) > 1 else [])


def _named(scores: npt.ArrayLike | Mapping[str, npt.ArrayLike]) -> Mapping[str, npt.ArrayLike]:
    """Return the scores of each model by its name; a single model gets a name."""
    return scores if isinstance(scores, Mapping) else {_ONLY_MODEL: check_scores(scores, "scores")}


# ------------------------------------------------------------------------------------------------------- rendering


def _model_legend(names: Mapping[str, object]) -> list[tuple[str, Look]]:
    return [(name, look_of(number)) for number, name in enumerate(names)]


def png_bytes(figure: Figure) -> bytes:
    """Return a matplotlib figure as a PNG file."""
    buffer = io.BytesIO()
    # Without the version of matplotlib, equal plots are equal files.
    figure.savefig(buffer, format="png", dpi=_PNG_DPI, metadata={"Software": None})
    return buffer.getvalue()


def draw(panels: Sequence[Panel], *, columns: int, legend: Sequence[tuple[str, Look]]) -> Figure:
    """Draw panels in a grid, and the legend above them."""
    figure_module = import_extra("matplotlib.figure", "report")
    rows = -(-len(panels) // columns)
    height = 4.6 if panels[0].region else 3.1
    legend_height = 0.3 + 0.25 * -(-len(legend) // _LEGEND_COLUMNS)
    figure: Figure = figure_module.Figure(figsize=(4.8 * columns, height * rows + legend_height), layout="constrained")
    for number, panel in enumerate(panels):
        _draw_panel(figure.add_subplot(rows, columns, number + 1), panel)
    if legend:
        _draw_legend(figure, legend, loc="outside upper left", ncols=_LEGEND_COLUMNS, fontsize=9)
    return figure


def _drawn_on(axes: Axes, panel: Panel, legend: Sequence[tuple[str, Look]]) -> Figure:
    """Draw a panel on the axes of another figure, with the legend inside them."""
    title = axes.get_title(loc="left")
    _draw_panel(axes, panel)
    axes.set_title(title, loc="left")  # the title of these axes is for their owner
    _draw_legend(axes, legend, loc="lower right", fontsize=8)
    return axes.figure  # type: ignore[return-value]  # a subfigure can be saved and shown as well


def _draw_panel(axes: Axes, panel: Panel) -> None:
    from matplotlib.patches import Rectangle

    _draw_axes(axes, panel)
    if panel.region is not None:
        width, height = panel.region
        colour = COLOURS["region-line"][0]
        axes.add_patch(Rectangle((0, 1 - height), width, height, edgecolor=colour, fill=False, lw=0.8, zorder=0))
    for area in panel.areas:
        axes.fill_between(area.x, area.y, area.base, color=COLOURS[area.colour][0], alpha=area.opacity, lw=0)
    for line in panel.lines:
        axes.add_line(_line2d(line.x, line.y, line.look, line.width))
    for rule in panel.rules:
        axes.add_line(_line2d(np.full(2, rule.x), np.array([0.0, 1.0]), Look("ink", rule.dash), 1.25))
    if panel.message:
        axes.text(0.5, 0.5, panel.message, ha="center", **_TEXT)
    for mark in panel.marks:
        colour = COLOURS[mark.look.colour][0]
        axes.plot(
            mark.x,
            mark.y,
            _SHAPES[mark.look.shape],
            markersize=7,
            markerfacecolor=colour if mark.filled else "white",
            markeredgecolor="white" if mark.filled else colour,
            clip_on=False,
            zorder=5,
        )


def _draw_axes(axes: Axes, panel: Panel) -> None:
    # The name of a model may contain a dollar sign, which matplotlib would read as a formula.
    axes.set_title(_shortened(panel.title), loc="left", weight="bold", parse_math=False, **_TEXT)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(COLOURS["faint"][0])
    axes.set_xlabel(panel.x_axis.label, **_TEXT)
    axes.set_xticks(*_transposed(panel.x_axis.ticks()))
    if panel.y_axis is not None:
        axes.set_ylabel(panel.y_axis.label, **_TEXT)
        axes.set_yticks(*_transposed(panel.y_axis.ticks()))
        axes.grid(color=COLOURS["faint"][0], alpha=0.25, lw=0.6)
    else:
        parts = len(panel.bands)
        middles = [1 - (number + 0.5) / parts for number in range(parts)]
        axes.set_yticks(middles, [name for name, _ in panel.bands], rotation=90, va="center")
        axes.axhline(0.5, color=COLOURS["faint"][0], lw=0.6)
    axes.tick_params(color=COLOURS["faint"][0], labelcolor=COLOURS["ink"][0], labelsize=8, length=0)
    if panel.region is not None:
        axes.set_aspect("equal")


def _line2d(x: npt.ArrayLike, y: npt.ArrayLike, look: Look, width: float) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D(
        x,
        y,
        color=COLOURS[look.colour][0],
        # matplotlib measures dashes in line widths.
        linestyle=(0, tuple(length / width for length in look.dash)) if look.dash else "solid",
        linewidth=width * _PIXEL,
        clip_on=False,
    )


def _draw_legend(place: Figure | Axes, legend: Sequence[tuple[str, Look]], **options: Any) -> None:
    handles = [_line2d([], [], look, 2.0) for _, look in legend]
    for handle, (_, look) in zip(handles, legend, strict=True):
        handle.set_marker(_SHAPES.get(look.shape, ""))
    drawn = place.legend(handles, ["name"] * len(legend), frameon=False, handlelength=3.2, **options)
    # Set afterwards: matplotlib leaves out labels that begin with an underscore and reads dollar signs as formulas.
    for text, (name, _) in zip(drawn.get_texts(), legend, strict=True):
        text.set_parse_math(False)
        text.set_text(_shortened(name))


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _transposed(ticks: Sequence[tuple[float, str]]) -> tuple[list[float], list[str]]:
    return [position for position, _ in ticks], [text for _, text in ticks]
