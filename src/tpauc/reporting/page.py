"""The HTML page of a report: its facts go into ``templates/report.html.jinja``, which says how they are laid out.

Everything that comes from a user (names, titles) is escaped by the template engine, never by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tpauc import __version__
from tpauc._validation import FloatArray, import_extra
from tpauc.metrics.comparison import Comparison
from tpauc.metrics.summary import Summary
from tpauc.region import Region
from tpauc.reporting.figures import rule_legend, score_text
from tpauc.reporting.panels import COLOURS, Area, Look, Panel

if TYPE_CHECKING:
    from jinja2 import Environment

_LARGE_SAMPLE = "large-sample (DeLong)"
_SHAPES = {
    "circle": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "square": "M-4 -4h8v8h-8z",
    "diamond": "M0 -5.5L5.5 0L0 5.5L-5.5 0z",
    "triangle": "M0 -5.5L5 4H-5z",
}


@dataclass(frozen=True)
class ModelResult:
    """What the tables say of one model."""

    name: str
    look: Look
    areas: Summary
    versus_first: Comparison | None


@dataclass(frozen=True)
class Contents:
    """All that the page shows, in its order; ``runs`` is the legend of the training curves."""

    title: str
    region: Region
    n_positive: int
    n_negative: int
    confidence: float
    n_resamples: int
    models: list[ModelResult]
    roc_panels: list[Panel]
    score_panels: list[Panel]
    training_panels: list[Panel]
    runs: list[tuple[str, Look]]


def rendered(contents: Contents) -> str:
    """Return the page as HTML."""
    compared = [model.versus_first for model in contents.models if model.versus_first is not None]
    return (
        _environment()
        .get_template("report.html.jinja")
        .render(
            vars(contents),
            best=max(contents.models, key=lambda model: model.areas.tpauc.estimate),
            hard_positives=contents.region.hard_positives(contents.n_positive),
            hard_negatives=contents.region.hard_negatives(contents.n_negative),
            level=f"{100 * contents.confidence:g}%",
            how_made=_how_made(contents),
            # The bars of the differences share one scale; without any difference every scale will do.
            widest=max((abs(end) for versus in compared for end in (versus.low, versus.high)), default=0.0) or 1.0,
            rule_legend=rule_legend(),
            version=__version__,
        )
    )


def _how_made(contents: Contents) -> str:
    """Say how the intervals were made."""
    last = contents.models[-1]  # the methods are the same for all models, and the first has no difference
    methods = {"TPAUC": last.areas.tpauc.method, "OPAUC": last.areas.opauc.method, "AUC": last.areas.auc.method}
    methods |= {} if last.versus_first is None else {"differences": last.versus_first.method}
    large = [name for name, method in methods.items() if method == "delong"]
    if len(large) == len(methods):
        return _LARGE_SAMPLE
    resamples = f"{contents.n_resamples:,} resamples"
    return f"{resamples}; {_LARGE_SAMPLE} for {', '.join(large)}" if large else resamples


def _environment() -> Environment:
    jinja2 = import_extra("jinja2", "report")
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tpauc.reporting"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"colours": COLOURS, "shapes": _SHAPES}
    environment.filters |= {
        "four": lambda value: f"{value:.4f}",
        "signed": lambda value: f"{value:+.4f}".replace("-", "\N{MINUS SIGN}"),
        "short": lambda value: f"{value:.4g}",
        "score": score_text,
        "rate": lambda value: f"{100 * value:.1f}%",
        "count": lambda value: f"{value:,}",
        "p_value": lambda value: "< 0.001" if value < 0.001 else f"{value:.3f}",
        "percent": lambda share: f"{round(100 * share, 3):g}%",
        "line_path": lambda line: _line_path(line.x, line.y),
        "area_path": _area_path,
    }
    return environment


def _line_path(x: FloatArray, y: FloatArray) -> str:
    """Return SVG path data in a square of 1000 x 1000, where heights are measured from the top."""
    points = zip((1000.0 * x).round(2).tolist(), (1000.0 * (1.0 - y)).round(2).tolist(), strict=True)
    return "M" + "L".join(f"{across:g} {down:g}" for across, down in points)


def _area_path(area: Area) -> str:
    base = np.full(2, area.base)
    ends = np.array([area.x[-1], area.x[0]])
    return _line_path(np.append(area.x, ends), np.append(area.y, base)) + "Z"
