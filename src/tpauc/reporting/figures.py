"""Which panels a report has: the ROC and its corner, the scores of each model, the course of training."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from tpauc._validation import BoolArray, FloatArray
from tpauc.metrics.operating_points import OperatingPoint
from tpauc.region import Region
from tpauc.reporting._checks import COUNTERS, is_drawable
from tpauc.reporting.axes import Axis, with_room
from tpauc.reporting.curves import ScoreDensity, roc_vertices, score_density, thinned, within_region
from tpauc.reporting.panels import Area, Line, Look, Mark, Panel, Rule, look_of

_Curves = Mapping[str, tuple[FloatArray, FloatArray]]

_DIAGONAL = np.array([0.0, 1.0])
_CHANCE = Look("faint", dash=(3, 3))
_OPERATING_RULE, _POSITIVE_RULE, _NEGATIVE_RULE = (), (2.0, 2.5), (7.0, 3.0)
_CURVE_HEIGHT = 0.46  # of a panel in which positives rise and negatives hang from the middle
_MEASURES = ("loss", "tpauc", "opauc", "auc", "risk")


def roc_panels(
    positive: BoolArray, scores: Mapping[str, FloatArray], points: Mapping[str, OperatingPoint], region: Region
) -> tuple[Panel, Panel]:
    """Return the whole ROC plot with the region shaded, and the region alone, both with the operating points."""
    curves = {name: roc_vertices(positive, values) for name, values in scores.items()}
    return _whole_panel(curves, points, region), _corner_panel(curves, points, region)


def _whole_panel(curves: _Curves, points: Mapping[str, OperatingPoint], region: Region) -> Panel:
    told = "; ".join(_point_text(name, points[name]) for name in curves)
    panel = Panel(
        title="Whole curve",
        description=f"ROC curves with the region ({_corner_text(region)}) shaded. Operating points: {told}.",
        x_axis=Axis("false positive rate", 0.0, 1.0),
        y_axis=Axis("true positive rate", 0.0, 1.0),
        region=(region.beta, region.alpha),
        lines=[Line(_DIAGONAL, _DIAGONAL, _CHANCE, width=1.0)],
    )
    for number, (name, (fpr, tpr)) in enumerate(curves.items()):
        look, point = look_of(number), points[name]
        panel.lines.append(Line(*thinned(fpr, tpr), look, name))
        panel.marks.append(Mark(point.fpr, point.tpr, look, bool(point.feasible), _point_text(name, point)))
    return panel


def _corner_panel(curves: _Curves, points: Mapping[str, OperatingPoint], region: Region) -> Panel:
    inside = {name: thinned(*within_region(*curve, region)) for name, curve in curves.items()}
    x_axis = Axis("false positive rate", 0.0, region.beta)
    y_axis = Axis("true positive rate", 1.0 - region.alpha, 1.0)
    panel = Panel(
        title="Inside the region",
        description=f"The same curves, enlarged to the region ({_corner_text(region)}).",
        x_axis=x_axis,
        y_axis=y_axis,
        region=(1.0, 1.0),
        lines=[Line(*within_region(_DIAGONAL, _DIAGONAL, region), _CHANCE, width=1.0)],
        message="" if any(x.size for x, _ in inside.values()) else "No curve reaches the region",
    )
    for number, (name, (x, y)) in enumerate(inside.items()):
        look, point = look_of(number), points[name]
        panel.lines.append(Line(x, y, look, name))
        if len(curves) == 1:  # several areas over one another would hide which is which
            panel.areas.append(Area(x, y, 0.0, look.colour, opacity=0.14))
        if point.feasible:
            place = x_axis.share(point.fpr), y_axis.share(point.tpr)
            panel.marks.append(Mark(*place, look, filled=True, text=_point_text(name, point)))
    return panel


def _corner_text(region: Region) -> str:
    return f"FPR at most {region.beta:g}, TPR at least {1.0 - region.alpha:g}"


def score_text(score: float) -> str:
    """Return a score in four digits, with a true minus sign."""
    return f"{score:#.4g}".replace("-", "\N{MINUS SIGN}").replace("inf", "\N{INFINITY}")


def _point_text(name: str, point: OperatingPoint) -> str:
    return f"{name}: FPR {point.fpr:.4f}, TPR {point.tpr:.4f}{'' if point.feasible else ' (outside the region)'}"


# ---------------------------------------------------------------------------------------------------------- scores


def score_panel(name: str, positive: BoolArray, scores: FloatArray, point: OperatingPoint, region: Region) -> Panel:
    """Return the densities of one model's scores: positives rise from the middle, negatives hang from it.

    The hard examples are filled darker, up to the two thresholds that delimit them.
    """
    density = score_density(positive, scores, region)
    label = "score (logit scale)" if density.scale.nearest is not None else "score"
    panel = Panel(
        title=name,
        description=(
            f"Score densities of {name}. Hard positives score at most {score_text(density.hard_positive)}, hard "
            f"negatives at least {score_text(density.hard_negative)}, the operating threshold is "
            f"{score_text(point.threshold)}."
        ),
        x_axis=Axis(label, density.low, density.high, logit=density.scale.nearest is not None),
        bands=[("positives", "positive"), ("negatives", "negative")],
    )
    _add_class(panel, density, density.positives, "positive", up=True)
    _add_class(panel, density, density.negatives, "negative", up=False)
    for score, dash, text in (
        (point.threshold, _OPERATING_RULE, "operating threshold"),
        (density.hard_positive, _POSITIVE_RULE, "hard positives score at most"),
        (density.hard_negative, _NEGATIVE_RULE, "hard negatives score at least"),
    ):
        place = density.share(score) if np.isfinite(score) else -1.0
        if 0.0 <= place <= 1.0:
            panel.rules.append(Rule(place, dash, text, score_text(score)))
    return panel


def rule_legend() -> list[tuple[str, Look]]:
    """Return the legend of the vertical lines among the scores."""
    return [
        ("operating threshold", Look("ink", _OPERATING_RULE, "")),
        ("hard positives lie to its left", Look("ink", _POSITIVE_RULE, "")),
        ("hard negatives lie to its right", Look("ink", _NEGATIVE_RULE, "")),
    ]


def _add_class(panel: Panel, density: ScoreDensity, heights: FloatArray, colour: str, *, up: bool) -> None:
    x = density.position
    y = 0.5 + (_CURVE_HEIGHT if up else -_CURVE_HEIGHT) * heights
    border = density.share(density.hard_positive if up else density.hard_negative)
    hard = x < border if up else x > border
    at_border = np.interp(border, x, y)
    hard_x = np.append(x[hard], border) if up else np.append(border, x[hard])
    hard_y = np.append(y[hard], at_border) if up else np.append(at_border, y[hard])
    panel.areas.append(Area(x, y, 0.5, colour, opacity=0.16))
    panel.areas.append(Area(hard_x, hard_y, 0.5, colour, opacity=0.55))
    panel.lines.append(Line(x, y, Look(colour), width=1.5))


# -------------------------------------------------------------------------------------------------------- training


def training_panels(history: Mapping[str, Sequence[Mapping[str, object]]], looks: Mapping[str, Look]) -> list[Panel]:
    """Return one panel for every number that the runs' histories hold, with a line for each run.

    Loss comes first, then TPAUC, OPAUC, AUC and the risks, then what else there is. The best epoch of each TPAUC is
    marked. Where a number is missing or not finite the line goes straight on to the next one.
    """
    keys = dict.fromkeys(key for rows in history.values() for row in rows for key in row if key not in COUNTERS)
    panels = []
    for key in sorted(keys, key=_rank):
        runs = {name: _series(rows, key) for name, rows in history.items()}
        known = {name: series for name, series in runs.items() if series[0].size}
        if known:
            panels.append(_training_panel(key, known, looks))
    return panels


def _training_panel(key: str, runs: Mapping[str, tuple[FloatArray, FloatArray]], looks: Mapping[str, Look]) -> Panel:
    title = " ".join(word.upper() if word in ("tpauc", "opauc", "auc") else word for word in _words(key))
    epochs, values = (np.concatenate(column) for column in zip(*runs.values(), strict=True))
    first, last = float(epochs.min()), float(epochs.max())
    ends = (first, last) if last > first else with_room(first, last)
    x_axis = Axis("epoch", *ends, whole=True)
    y_axis = Axis("", *with_room(float(values.min()), float(values.max())))
    panel = Panel(
        title=title[:1].upper() + title[1:],
        description=f"{title} by epoch for {', '.join(runs)}.",
        x_axis=x_axis,
        y_axis=y_axis,
    )
    for name, (epoch, value) in runs.items():
        x = (epoch - x_axis.low) / (x_axis.high - x_axis.low)
        y = (value - y_axis.low) / (y_axis.high - y_axis.low)
        panel.lines.append(Line(x, y, looks[name], name))
        best = int(np.argmax(value))
        # A line through a single point would not be seen.
        if "tpauc" in _words(key) or value.size == 1:
            text = f"{name}: {value[best]:.4g} at epoch {epoch[best]:g}"
            panel.marks.append(Mark(float(x[best]), float(y[best]), looks[name], filled=True, text=text))
    return panel


def _series(rows: Sequence[Mapping[str, object]], key: str) -> tuple[FloatArray, FloatArray]:
    """Return the epochs at which the run has a number of that name to draw, and the numbers."""
    known = [(row["epoch"], row[key]) for row in rows if is_drawable(row.get(key))]
    series = np.array(known, dtype=np.float64).reshape(-1, 2)
    return series[:, 0], series[:, 1]


def _words(key: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", key.lower()) if word]


def _rank(key: str) -> int:
    return min((_MEASURES.index(word) for word in _words(key) if word in _MEASURES), default=len(_MEASURES))
