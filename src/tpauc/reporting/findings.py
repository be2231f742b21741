"""The numbers of a report: areas with intervals, thresholds with rates, comparisons, bands, and how they were made."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tpauc._validation import BoolArray, FloatArray
from tpauc.metrics.bands import ROCBand, roc_band
from tpauc.metrics.comparison import Comparison, compare_in_region
from tpauc.metrics.intervals import IntArray, IntervalOptions
from tpauc.metrics.operating_points import OperatingPoint, operating_point_in_region
from tpauc.metrics.summary import Summary, summarise
from tpauc.metrics.thresholds import MIN_FPR, ThresholdRule
from tpauc.region import Region
from tpauc.reporting.curves import spread_ties
from tpauc.reporting.panels import Look, look_of
from tpauc.reporting.wording import Standing

_LARGE_SAMPLE = "large-sample (DeLong)"
# Where bands are computed: each place takes milliseconds, and between them the eye needs no more.
_BAND_GRID = np.array(
    [0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
)
_BAND_PLACES = 17  # inside the region
_MOST_REPEATED = 1_000_000


@dataclass(frozen=True)
class Rows:
    """Checked rows: labels, the scores of each model by its name, weights above 0 and numbers of groups."""

    positive: BoolArray
    scores: dict[str, FloatArray]
    weight: FloatArray | None = None
    groups: IntArray | None = None

    @property
    def counts_alike(self) -> bool:
        """Whether every row stands for a whole number of rows."""
        return self.weight is None or bool((self.weight == np.floor(self.weight)).all())

    @property
    def masses(self) -> tuple[float, float]:
        """The numbers of positives and negatives, or the sums of their weights."""
        if self.weight is None:
            n_positive = int(np.count_nonzero(self.positive))
            return n_positive, self.positive.size - n_positive
        return float(self.weight[self.positive].sum()), float(self.weight[~self.positive].sum())

    @property
    def prevalence(self) -> float:
        """The share of positives."""
        return self.masses[0] / sum(self.masses)


@dataclass(frozen=True)
class ModelResult:
    """The numbers of one model in the tables; ``given`` says whether its threshold was given."""

    name: str
    look: Look
    areas: Summary
    point: OperatingPoint
    versus_first: Comparison | None
    given: bool = False


def measured(
    rows: Rows, region: Region, options: IntervalOptions, points: Mapping[str, OperatingPoint]
) -> list[ModelResult]:
    """Return the numbers in the tables of every model; ``points`` are the thresholds that were given."""
    first = next(iter(rows.scores))
    results = []
    for number, (name, values) in enumerate(rows.scores.items()):
        areas = summarise(rows.positive, values, region, options, weight=rows.weight, groups=rows.groups)
        versus = None if name == first else _difference(rows, name, first, region, options)
        point = points.get(name)
        if point is None:  # the threshold of the summary, whose intervals do not know of groups
            picked = operating_point_in_region(rows.positive, values, region, weight=rows.weight, groups=rows.groups)
            point = dataclasses.replace(picked, confidence=options.confidence)
        results.append(ModelResult(name, look_of(number), areas, point, versus, given=name in points))
    return results


def _difference(rows: Rows, name: str, other: str, region: Region, options: IntervalOptions) -> Comparison:
    scores = rows.scores[name], rows.scores[other]
    return compare_in_region(rows.positive, *scores, region, options, weight=rows.weight, groups=rows.groups)


def leading(models: Sequence[ModelResult]) -> ModelResult:
    """Return the model with the highest TPAUC; among equal ones, such as 0, the one that catches most."""
    return max(models, key=lambda model: (model.areas.tpauc.estimate, model.areas.point.tpr))


def standings(models: Sequence[ModelResult], rows: Rows, region: Region, options: IntervalOptions) -> list[Standing]:
    """Return what the headline needs of every model: above all, whether the lead of the best one is beyond chance."""
    best = leading(models)
    nothing_reached = best.areas.tpauc.estimate == 0.0
    found = []
    for model in models:
        lead, fewest_alarms = None, np.nan
        if nothing_reached:
            rule = ThresholdRule(MIN_FPR)
            values = rows.scores[model.name]
            fewest_alarms = operating_point_in_region(rows.positive, values, region, rule, rows.weight).fpr
        elif model is not best:
            lead = model.versus_first if best is models[0] else None
            if lead is not None:  # the table has the difference the other way round
                lead = dataclasses.replace(lead, difference=-lead.difference, low=-lead.high, high=-lead.low)
            else:
                lead = _difference(rows, best.name, model.name, region, options)
        area = model.areas.tpauc
        caught = model.areas.point.tpr
        found.append(Standing(model.name, area.estimate, area.low, area.high, caught, fewest_alarms, lead))
    return found


def bands(rows: Rows, region: Region, confidence: float) -> dict[str, ROCBand]:
    """Return the pointwise band of every curve; none for weights that do not stand for repeated rows."""
    if not rows.counts_alike:
        return {}
    rows = _repeated(rows)
    grid = np.unique(np.append(_BAND_GRID, np.linspace(0.0, region.beta, _BAND_PLACES)))
    found = {}
    for name, values in rows.scores.items():
        spread, weight = spread_ties(rows.positive, values), rows.weight
        found[name] = roc_band(
            rows.positive, spread, confidence=confidence, fpr=grid, groups=rows.groups, sample_weight=weight
        )
    return found


def _repeated(rows: Rows) -> Rows:
    """Return rows as often as their weights say, so that ties can be spread; too many are left as they are."""
    if rows.weight is None or rows.weight.sum() > _MOST_REPEATED:
        return rows
    each = np.repeat(np.arange(rows.positive.size), rows.weight.astype(np.int64))
    scores = {name: values[each] for name, values in rows.scores.items()}
    return Rows(rows.positive[each], scores, groups=None if rows.groups is None else rows.groups[each])


def how_made(models: Sequence[ModelResult], n_resamples: int) -> str:
    """Return the text that says how the intervals were made."""
    methods = {
        area: {model.name: getattr(model.areas, area.lower()).method for model in models}
        for area in ("TPAUC", "OPAUC", "AUC")
    }
    compared = {model.name: model.versus_first.method for model in models if model.versus_first is not None}
    methods |= {"differences": compared} if compared else {}
    large = {area: [name for name, method in made.items() if method == "delong"] for area, made in methods.items()}
    if all(len(large[area]) == len(made) for area, made in methods.items()):
        return _LARGE_SAMPLE
    listed = [
        area if len(names) == len(methods[area]) else f"{area} of {' and '.join(names)}"
        for area, names in large.items()
        if names
    ]
    resamples = f"{n_resamples:,} resamples"
    return f"{resamples}; {_LARGE_SAMPLE} for {', '.join(listed)}" if listed else resamples
