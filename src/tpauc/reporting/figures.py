"""The panels of a report: the ROC curve and its corner, the scores of each model, the course of training.

Their input, the scores of named models and the histories of trainings, is checked here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray, check_labels_and_scores, check_number, check_text
from tpauc.metrics.bands import ROCBand
from tpauc.metrics.operating_points import OperatingPoint
from tpauc.region import Region
from tpauc.reporting.curves import ScoreDensity, roc_vertices, score_density, thinned, within_region
from tpauc.reporting.panels import Area, Axis, Line, Look, Mark, Panel, Rule, look_of, padded

History = Sequence[Mapping[str, object]]  # one mapping per epoch
_Curves = Mapping[str, tuple[FloatArray, FloatArray]]

_DIAGONAL = np.array([0.0, 1.0])
_CHANCE = Look("faint", dash=(3, 3))
_OPERATING_RULE, _POSITIVE_RULE, _NEGATIVE_RULE = (), (2.0, 2.5), (7.0, 3.0)
_TINT, _BAND = 0.32, 0.16  # opacity of the area inside the region, and of confidence bands
_AROUND = 1.5  # how much larger the enlarged corner is than the region that a curve would just touch
_AROUND_THE_REGION = (
    "Around the region",
    "No curve reaches the region. The plot shows where the curves are closest to it.",
)
_CURVE_HEIGHT = 0.46  # share of a score panel, in which positives rise and negatives hang from the middle
_MEASURES = ("loss", "tpauc", "opauc", "auc", "risk")
_COUNTERS = ("epoch", "step")  # keys of a history that are times, not measures
_LARGEST_DRAWN = 1e300


def roc_panels(
    positive: BoolArray,
    scores: Mapping[str, FloatArray],
    points: Mapping[str, OperatingPoint],
    region: Region,
    *,
    weight: FloatArray | None = None,
    bands: Mapping[str, ROCBand] | None = None,
    focus: str | None = None,
) -> list[Panel]:
    """Return the whole ROC plot with the region, and the region alone, both with the operating points.

    The area under the curve of the model ``focus`` inside the region is tinted, by default under that of the only
    model, and its band is drawn.
    """
    curves = {name: roc_vertices(positive, values, weight) for name, values in scores.items()}
    focus = next(iter(scores)) if len(scores) == 1 else focus
    window = roc_window(curves.values(), region)
    texts, corner = "; ".join(_point_text(name, points[name]) for name in curves), _corner_text(region)
    whole = "Whole curve", f"ROC curves and the region ({corner}). Operating points: {texts}."
    inside = "Inside the region", f"The same curves, enlarged to the region ({corner})."
    panels = []
    for seen, titles in (
        (Region(1.0, 1.0), whole),
        (window, inside if window == region else _AROUND_THE_REGION),
    ):
        panel = _roc_panel(curves, points, region, focus, seen, titles)
        if bands and focus is not None and focus in bands:
            panel.areas.append(_band(bands[focus], look_of(list(scores).index(focus)), seen))
        panels.append(panel)
    return panels


def roc_window(curves: Iterable[tuple[FloatArray, FloatArray]], region: Region) -> Region:
    """Return the corner to enlarge: the region; if no curve reaches it, one of its shape that is large enough."""
    curves = list(curves)
    inside = [within_region(*curve, region) for curve in curves]
    if any(_area(x, y) > 0.0 for x, y in inside):
        return region
    times = _AROUND * min(_times_larger(fpr, tpr, region) for fpr, tpr in curves)
    return Region(min(1.0, times * region.alpha), min(1.0, times * region.beta))


def _times_larger(fpr: FloatArray, tpr: FloatArray, region: Region) -> float:
    """Return how many times larger a region of this shape must be for its lower right end to touch the curve."""
    across, down = fpr / region.beta, (1.0 - tpr) / region.alpha
    return float(np.interp(0.0, across - down, across))


def _area(x: FloatArray, y: FloatArray) -> float:
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]))) / 2.0


def _roc_panel(
    curves: _Curves,
    points: Mapping[str, OperatingPoint],
    region: Region,
    focus: str | None,
    window: Region,
    titles: tuple[str, str],
) -> Panel:
    """Return the curves in a corner of the ROC plot; ``titles`` are the title and the description."""
    x_axis = Axis("false positive rate", 0.0, window.beta)
    y_axis = Axis("true positive rate", 1.0 - window.alpha, 1.0)
    panel = Panel(
        title=titles[0],
        description=titles[1],
        x_axis=x_axis,
        y_axis=y_axis,
        region=(region.beta / window.beta, region.alpha / window.alpha),
        lines=[Line(*within_region(_DIAGONAL, _DIAGONAL, window), _CHANCE, width=1.0)],
    )
    for number, (name, curve) in enumerate(curves.items()):
        look, point = look_of(number), points[name]
        panel.lines.append(Line(*thinned(*within_region(*curve, window)), look, name))
        place = x_axis.share(point.fpr), y_axis.share(point.tpr)
        if place[0] <= 1.0 and place[1] >= 0.0:
            panel.marks.append(Mark(*place, look, bool(point.feasible), _point_text(name, point)))
        if name == focus:
            x, y = thinned(*within_region(*curve, region))
            width, height = panel.region or (1.0, 1.0)
            panel.areas.append(Area(x * width, 1.0 - height + y * height, 1.0 - height, "region", _TINT, "inside"))
    return panel


def _band(band: ROCBand, look: Look, window: Region) -> Area:
    """Return the confidence band of a curve inside a corner."""
    lowest = 1.0 - window.alpha
    grid = np.append(band.fpr[band.fpr < window.beta], window.beta)
    low, high = (np.interp(grid, band.fpr, values) for values in (band.low, band.high))
    shares = [np.clip((values - lowest) / window.alpha, 0.0, 1.0) for values in (high, low)]
    return Area(grid / window.beta, shares[0], shares[1], look.colour, _BAND, "band")


def _corner_text(region: Region) -> str:
    return f"FPR at most {region.beta:g}, TPR at least {1.0 - region.alpha:g}"


def score_text(score: float) -> str:
    """Return a score with four digits and a typographic minus sign; the zero has none."""
    return f"{score + 0.0:#.4g}".replace("-", "\N{MINUS SIGN}").replace("inf", "\N{INFINITY}")


def _point_text(name: str, point: OperatingPoint) -> str:
    return f"{name}: FPR {point.fpr:.4f}, TPR {point.tpr:.4f}{'' if point.feasible else ' (outside the region)'}"


# ---------------------------------------------------------------------------------------------------------- scores


def score_panel(
    name: str,
    positive: BoolArray,
    scores: FloatArray,
    point: OperatingPoint,
    region: Region,
    weight: FloatArray | None = None,
) -> Panel:
    """Return the score densities of one model: positives rise from the middle, negatives hang from it.

    The hard examples are filled darker, up to the two thresholds that delimit them.
    """
    density = score_density(positive, scores, region, weight)
    label = "score (logit scale)" if density.scale.nearest is not None else "score"
    panel = Panel(
        title=name,
        description=(
            f"Score densities of {name}. Hard positives score at most {score_text(density.hard_positive)}, hard "
            f"negatives at least {score_text(density.hard_negative)}, the operating threshold is "
            f"{score_text(point.threshold)}."
        ),
        x_axis=Axis(
            label if not density.beyond else f"{label}; {density.beyond:,} beyond the axis",
            density.low,
            density.high,
            logit=density.scale.nearest is not None,
        ),
        bands=[("positives", "positive"), ("negatives", "negative")],
    )
    _add_class(panel, density, density.positives, "positive", up=True)
    _add_class(panel, density, density.negatives, "negative", up=False)
    for score, dash, text, kind in (
        (point.threshold, _OPERATING_RULE, "operating threshold", "operating"),
        (density.hard_positive, _POSITIVE_RULE, "hard positives score at most", "of-region"),
        (density.hard_negative, _NEGATIVE_RULE, "hard negatives score at least", "of-region"),
    ):
        if np.isfinite(score):
            place = density.share(score)
            beyond = "" if 0.0 <= place <= 1.0 else " (beyond the axis)"
            panel.rules.append(Rule(min(max(place, 0.0), 1.0), dash, text, score_text(score) + beyond, kind))
    return panel


def rule_legend() -> list[tuple[str, Look]]:
    """Return the legend of the vertical lines in the score panels."""
    return [
        ("operating threshold", Look("ink", _OPERATING_RULE, "")),
        ("hard positives lie to its left", Look("ink", _POSITIVE_RULE, "")),
        ("hard negatives lie to its right", Look("ink", _NEGATIVE_RULE, "")),
    ]


def _add_class(panel: Panel, density: ScoreDensity, heights: FloatArray, colour: str, *, up: bool) -> None:
    x = density.position
    y = 0.5 + (_CURVE_HEIGHT if up else -_CURVE_HEIGHT) * heights
    border = min(max(density.share(density.hard_positive if up else density.hard_negative), 0.0), 1.0)
    hard = x < border if up else x > border
    at_border = np.interp(border, x, y)
    hard_x = np.append(x[hard], border) if up else np.append(border, x[hard])
    hard_y = np.append(y[hard], at_border) if up else np.append(at_border, y[hard])
    panel.areas.append(Area(x, y, 0.5, colour, opacity=0.16))
    panel.areas.append(Area(hard_x, hard_y, 0.5, colour, opacity=0.55, kind="of-region"))
    panel.lines.append(Line(x, y, Look(colour), width=1.5))


# -------------------------------------------------------------------------------------------------------- training


def training_panels(runs: Mapping[str, History], looks: Mapping[str, Look]) -> list[Panel]:
    """Return one panel per measure in the histories, with one line per run.

    Loss comes first, then TPAUC, OPAUC, AUC, the risks, and all others. The best epoch of each TPAUC is marked. Where a
    number is missing or not finite, the line goes straight to the next number.
    """
    keys = dict.fromkeys(key for rows in runs.values() for row in rows for key in row if key not in _COUNTERS)
    panels = []
    for key in sorted(keys, key=_rank):
        series = {name: _series(rows, key) for name, rows in runs.items()}
        if drawn := {name: points for name, points in series.items() if points[0].size}:
            panels.append(_training_panel(key, drawn, looks))
    return panels


def _training_panel(key: str, runs: Mapping[str, tuple[FloatArray, FloatArray]], looks: Mapping[str, Look]) -> Panel:
    title = " ".join(word.upper() if word in ("tpauc", "opauc", "auc") else word for word in _words(key))
    epochs, values = (np.concatenate(column) for column in zip(*runs.values(), strict=True))
    first, last = float(epochs.min()), float(epochs.max())
    ends = (first, last) if last > first else padded(first, last)
    x_axis = Axis("epoch", *ends, whole=True)
    title = title[:1].upper() + title[1:]
    y_axis = Axis(title, *padded(float(values.min()), float(values.max())))
    panel = Panel(
        title=title,
        description=f"{title} by epoch for {', '.join(runs)}.",
        x_axis=x_axis,
        y_axis=y_axis,
    )
    for name, (epoch, value) in runs.items():
        x = (epoch - x_axis.low) / (x_axis.high - x_axis.low)
        y = (value - y_axis.low) / (y_axis.high - y_axis.low)
        panel.lines.append(Line(x, y, looks[name], name))
        best = int(np.argmax(value))
        # A line through a single point is invisible without a mark.
        if "tpauc" in _words(key) or value.size == 1:
            text = f"{name}: {value[best]:.4g} at epoch {epoch[best]:g}"
            panel.marks.append(Mark(float(x[best]), float(y[best]), looks[name], filled=True, text=text))
    return panel


def _series(rows: History, key: str) -> tuple[FloatArray, FloatArray]:
    """Return the epochs that have a number under ``key``, and the numbers."""
    drawn = [(row["epoch"], row[key]) for row in rows if is_drawable(row.get(key))]
    series = np.array(drawn, dtype=np.float64).reshape(-1, 2)
    return series[:, 0], series[:, 1]


def _words(key: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", key.lower()) if word]


def _rank(key: str) -> int:
    return min((_MEASURES.index(word) for word in _words(key) if word in _MEASURES), default=len(_MEASURES))


# --------------------------------------------------------------------------------------------------------------- checks


def check_named_scores(
    y_true: npt.ArrayLike, scores: Mapping[str, npt.ArrayLike]
) -> tuple[BoolArray, dict[str, FloatArray]]:
    """Return boolean labels and the scores of each model, of equal length, finite, and small enough to be drawn."""
    if not isinstance(scores, Mapping):
        raise TypeError(f"scores must map the name of each model to its scores, got {type(scores).__name__}")
    if not scores:
        raise ValueError("scores must hold at least one model, got an empty mapping")
    checked = {}
    for name, values in scores.items():
        check_text(name, "the name of a model in scores")
        where = f"scores[{name!r}]"
        positive, checked[name] = check_labels_and_scores(y_true, values, score_name=where)
        largest = float(np.abs(checked[name]).max())
        if largest > _LARGEST_DRAWN:
            raise ValueError(f"{where} must lie within +-{_LARGEST_DRAWN:g} to be drawn, found {largest:g}")
    return positive, checked


def check_history(history: History | Mapping[str, History], *, only_run: str) -> dict[str, History]:
    """Return the rows of each run; a plain list of rows becomes the run ``only_run``."""
    runs = dict(history) if isinstance(history, Mapping) else {only_run: history}
    for name, rows in runs.items():
        check_text(name, "the name of a run in history")
        if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Sequence):
            raise TypeError(f"history of {name!r} must be a list with a mapping for each epoch, got {rows!r:.80}")
        if not rows:
            raise ValueError(f"history of {name!r} must hold at least one epoch, got an empty list")
        for number, row in enumerate(rows):
            where = f"history of {name!r}, row {number}"
            if not isinstance(row, Mapping) or not all(isinstance(key, str) for key in row):
                raise TypeError(f"{where} must be a mapping with strings as keys, got {row!r:.80}")
            if "epoch" not in row:
                raise ValueError(f"{where} must have the key 'epoch', found {', '.join(map(repr, row)) or 'no key'}")
            check_number(row["epoch"], f"epoch of {where}")  # type: ignore[arg-type]  # any object: this is the check
    if not any(is_drawable(row[key]) for rows in runs.values() for row in rows for key in row if key not in _COUNTERS):
        raise ValueError("history must hold a finite number besides the epoch, found none")
    return runs


def is_drawable(value: object) -> bool:
    """Tell whether a value is a number that fits on an axis."""
    plain = value.item() if isinstance(value, np.generic) else value
    return isinstance(plain, int | float) and abs(plain) <= _LARGEST_DRAWN
