"""What the script of a report computes with: the ranking of every model, thresholds, bands and looks, as JSON.

Rankings are counts, never rounded coordinates, so the page computes the areas that the library computes
(`tpauc.reporting.ranking`). All models together have a budget of steps, which keeps the page below 3 MB.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from tpauc.metrics.bands import ROCBand
from tpauc.metrics.operating_points import OperatingPoint
from tpauc.region import Region
from tpauc.reporting.findings import ModelResult, Rows
from tpauc.reporting.panels import Panel
from tpauc.reporting.ranking import (
    ScoreSteps,
    Steps,
    encoded,
    exact_steps,
    listed_thresholds,
    reduced,
    score_steps,
)

# A step of counts takes about six letters, one of weights 32, a threshold about forty.
_MOST_STEPS = {True: 300_000, False: 50_000}
_MOST_THRESHOLDS = 1500  # per model, with fewer models than ten
_FEWEST = 200  # steps and thresholds of a model, however many models there are


def embedded(
    rows: Rows,
    models: Sequence[ModelResult],
    region: Region,
    *,
    bands: Mapping[str, ROCBand],
    score_panels: Sequence[Panel],
    focus: str,
    confidence: float,
) -> str:
    """Return the data of the script as JSON that is safe inside a ``<script>`` element."""
    positives, negatives = rows.masses
    data = {
        "alpha": region.alpha,
        "beta": region.beta,
        "confidence": confidence,
        "positives": positives,
        "negatives": negatives,
        "weighted": rows.weight is not None,
        "grouped": rows.groups is not None,
        "focus": [model.name for model in models].index(focus),
        "models": [
            _model(rows, model, region, bands.get(model.name), panel)
            for model, panel in zip(models, score_panels, strict=True)
        ],
    }
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A model may be called "</script>"; JSON has another way of writing this letter.
    return text.replace("<", "\\u003c")


def _model(rows: Rows, model: ModelResult, region: Region, band: ROCBand | None, panel: Panel) -> dict[str, object]:
    ranked = score_steps(rows.positive, rows.scores[model.name], rows.weight)
    n_models, point = len(rows.scores), model.point
    steps = steps_within_budget(ranked, n_models, region)
    most_thresholds = max(min(_MOST_THRESHOLDS, 10 * _MOST_THRESHOLDS // n_models), _FEWEST)
    axis = panel.x_axis
    return {
        "name": model.name,
        "colour": model.look.colour,
        "dash": list(model.look.dash),
        "shape": model.look.shape,
        "steps": encoded(steps),
        "exact": steps.is_exact,
        "thresholds": listed_thresholds(ranked, most_thresholds, [point.threshold]),
        "allThresholds": ranked.scores.size <= most_thresholds,
        "point": _point(point),
        "band": None if band is None else _band(band),
        "axis": {"low": axis.low, "high": axis.high, "logit": axis.logit},
    }


def steps_within_budget(ranked: ScoreSteps, n_models: int, region: Region) -> Steps:
    """Return the ranking of one of ``n_models`` models, reduced if it has more steps than its share of the budget."""
    most = max(_MOST_STEPS[ranked.counts_alike] // n_models, _FEWEST)
    return reduced(exact_steps(ranked), most, region)


def _point(point: OperatingPoint) -> dict[str, object]:
    """Return the threshold of the tables; an infinite one raises no alarm and is None."""
    return {
        "threshold": point.threshold if math.isfinite(point.threshold) else None,
        "pickedHere": point.picked_here,
        "tpr": point.tpr,
        "fpr": point.fpr,
        "feasible": bool(point.feasible),
    }


def _band(band: ROCBand) -> dict[str, list[float]]:
    return {name: getattr(band, name).round(6).tolist() for name in ("fpr", "low", "high")}
