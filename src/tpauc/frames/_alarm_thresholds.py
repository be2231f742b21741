"""Thresholds by the rules of :func:`tpauc.operating_point` other than its default, and promised thresholds.

A rule that limits how many rows are on one side of the threshold is a rank: the negative, positive or row of any class
that is one too many. The threshold is the lowest positive above it. A promised threshold is a rank as well. The rule
"cost" needs the counts at every score, but only in cells that may hold the best: with ``P`` positives below a cell and
``N`` negatives above it, no threshold in it costs less than ``miss_cost P + alarm_cost N``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import narwhals as nw
import numpy as np

from tpauc.frames._columns import CLUSTER, LABEL, NEGATIVE, SCORE, by_name, score_name
from tpauc.frames._counting import (
    BoolArray,
    Counted,
    Key,
    count,
    cut_all_full_cells,
    exact_range,
    one_if,
    series_number,
)
from tpauc.frames._engines import Frame, collect
from tpauc.frames._inside import SERIES, one_zero
from tpauc.frames._order import Rank, cells_of_ranks, counts_by_score, of_series, scores_of_ranks
from tpauc.metrics.operating_points import AlarmCounts
from tpauc.metrics.thresholds import CAPACITY, COST, MAX_TPR, MIN_FPR, ROUNDING, ThresholdRule, wrong_side_allowed
from tpauc.region import Region, hard_mass


def picked_thresholds(counted: Counted, rule: ThresholdRule, region: Region) -> dict[Key, float]:
    """Return the threshold that a rule picks in each series, not for the default; full cells are cut for it."""
    if rule.guarantee is not None:
        return _promised(counted, rule.name, rule.guarantee, region)
    if rule.name == COST:
        return _cheapest(counted, rule)
    ranks = [
        Rank(key, positive, number)
        for key in counted.series
        for positive, number in [_first_too_many(counted, key, rule, region)]
        if number
    ]
    borders = dict.fromkeys(counted.series, -math.inf)
    if rule.name == MIN_FPR:
        caught = dict.fromkeys(counted.series, math.inf) | _scores(counted, ranks)
        borders |= _by_series(counted, ~nw.col(LABEL) & (nw.col(SCORE) < _of(counted, caught)), nw.col(SCORE).max())
    else:
        borders |= _scores(counted, ranks)
    above = _by_series(counted, nw.col(LABEL) & (nw.col(SCORE) > _of(counted, borders)), nw.col(SCORE).min())
    return dict.fromkeys(counted.series, math.inf) | above


def alarms_at(counted: Counted, thresholds: Mapping[Key, float]) -> dict[Key, AlarmCounts]:
    """Count the rows of each series on either side of its threshold."""
    found = collect(
        _with_series(counted)
        .filter(nw.col(SCORE) < _of(counted, thresholds))
        .select(SERIES, one_if(LABEL).alias("positive"))
        .group_by(SERIES)
        .agg(nw.col("positive").count(), nw.len().alias("rows"))
    )
    below = dict(zip(found[SERIES], zip(found["positive"], found["rows"], strict=True), strict=True))
    alarms = {}
    for place, (key, counts) in enumerate(counted.series.items()):
        missed, rows = map(int, below.get(place, (0, 0)))
        caught, alarmed = int(counts.positives.sum()) - missed, int(counts.negatives.sum()) - (rows - missed)
        alarms[key] = AlarmCounts(caught, missed, alarmed, rows - missed)
    return alarms


# --------------------------------------------------------------------------------------------------------------- ranks


def _first_too_many(counted: Counted, key: Key, rule: ThresholdRule, region: Region) -> tuple[bool | None, int]:
    """Return the class and the rank of the lowest positive that must alarm, or of the highest row that may not.

    The class is None for rows of both, the rank 0 if there is no such row.
    """
    counts = counted.series[key]
    n_positive, n_negative = int(counts.positives.sum()), int(counts.negatives.sum())
    if rule.name == MIN_FPR:
        misses = hard_mass(n_positive, region.alpha)
        return True, misses + 1 if misses < n_positive else 0
    assert rule.name == CAPACITY
    assert rule.capacity is not None
    share = float(rule.capacity[0]) / float(rule.capacity[1])
    return None, n_positive + n_negative - hard_mass(n_positive + n_negative, share)


def _promised(counted: Counted, rule: str, guarantee: float, region: Region) -> dict[Key, float]:
    """Return the threshold of each series whose FPR (rule "max_tpr") or TPR can be promised.

    The FPR is promised just above a negative's score, in float64.
    """
    above, grouped = rule == MAX_TPR, counted.columns.clustered
    units = _worst_of_clusters(counted, above) if grouped else counted
    ranks = []
    for key in counted.series:
        one_class = units.series.get(key)
        n = 0 if one_class is None else int((one_class.negatives if above else one_class.positives).sum())
        wrong = wrong_side_allowed(n, rule, guarantee, region, grouped=grouped)
        ranks.append(Rank(key, not above, n - wrong if above else wrong + 1))
    found = _scores(units, ranks)
    return {key: math.nextafter(score, math.inf) if above else score for key, score in found.items()}


def _worst_of_clusters(counted: Counted, negatives: bool) -> Counted:
    """Count one row per cluster, with its highest negative or its lowest positive."""
    columns = counted.columns
    keys = [by_name(place) for place in range(len(columns.by))]
    scores = [nw.col(score_name(model)) for model in range(len(columns.scores))]
    worst = (
        columns.frame.filter(nw.col(NEGATIVE if negatives else LABEL))
        .group_by(*keys, CLUSTER)
        .agg(*((score.max() if negatives else score.min()) for score in scores))
        .with_columns(nw.lit(not negatives).alias(LABEL), nw.lit(negatives).alias(NEGATIVE))
    )
    return count(replace(columns, frame=worst, clustered=False))


def _scores(counted: Counted, ranks: Sequence[Rank]) -> dict[Key, float]:
    """Return the scores of one rank per series."""
    if not ranks:
        return {}
    cut_all_full_cells(counted, lambda: cells_of_ranks(counted, ranks))
    return {rank.key: found.score for rank, found in zip(ranks, scores_of_ranks(counted, ranks), strict=True)}


# ---------------------------------------------------------------------------------------------------------------- costs


def _cheapest(counted: Counted, rule: ThresholdRule) -> dict[Key, float]:
    """Return the threshold of lowest cost; of equal ones that with the widest gap to the next lower score."""
    assert rule.miss_cost is not None
    assert rule.alarm_cost is not None
    miss_cost, alarm_cost = float(rule.miss_cost), float(rule.alarm_cost)
    never = dict.fromkeys(counted.series, math.inf)
    if miss_cost == 0.0:
        return never
    if alarm_cost == 0.0:
        return _by_series(counted, nw.col(SCORE).is_finite(), nw.col(SCORE).min())  # all are finite
    cut_all_full_cells(counted, lambda: _cells_of_best(counted, miss_cost, alarm_cost))
    start, stop = _looked_at(counted, _cells_of_best(counted, miss_cost, alarm_cost))
    ends = exact_range(counted, start, stop)
    rows = _with_series(counted).with_columns(one_zero(nw.col(SCORE)).alias(SCORE))
    n_negative = {key: int(counts.negatives.sum()) for key, counts in counted.series.items()}
    missed = (nw.col("cum_p") - nw.col("p")).cast(nw.Float64)
    alarmed = (_of(counted, n_negative) - nw.col("cum_q") + nw.col("q")).cast(nw.Float64)
    candidates = counts_by_score(counted, rows, ends, start, list(counted.series)).select(
        SERIES,
        SCORE,
        (missed * miss_cost + alarmed * alarm_cost).alias("cost"),
        (nw.col(SCORE) - nw.col(SCORE).shift(1).over(SERIES, order_by=SCORE)).alias("gap"),
    )
    lowest = collect(candidates.group_by(SERIES).agg(nw.col("cost").min()))
    best = dict(zip(lowest[SERIES], lowest["cost"], strict=True))
    most = {}
    for place, (key, counts) in enumerate(counted.series.items()):
        without_alarm = miss_cost * float(counts.positives.sum())
        within = min(best[place], without_alarm) * (1.0 + ROUNDING)
        most[key] = -1.0 if without_alarm <= within else within  # infinity has the widest gap
    found = collect(candidates.filter(nw.col("cost") <= _of(counted, most)))
    widest: dict[Key, tuple[float, float]] = {}
    series = list(counted.series)
    for place, score, gap in zip(found[SERIES], found[SCORE], found["gap"], strict=True):
        one = math.inf if gap is None or math.isnan(gap) else gap, score
        widest[series[place]] = max(widest.get(series[place], one), one)
    return never | {key: score for key, (_, score) in widest.items()}


def _cells_of_best(counted: Counted, miss_cost: float, alarm_cost: float) -> dict[Key, BoolArray]:
    """Return the cells of each series that may hold the threshold of lowest cost."""
    cells = {}
    for key, counts in counted.series.items():
        missed = np.cumsum(counts.positives) - counts.positives
        alarmed = np.cumsum(counts.negatives[::-1])[::-1]
        known = min(float((miss_cost * missed + alarm_cost * alarmed).min()), miss_cost * float(counts.positives.sum()))
        at_least = miss_cost * missed + alarm_cost * (alarmed - counts.negatives)
        cells[key] = at_least <= known * (1.0 + 2.0 * ROUNDING)
    return cells


def _looked_at(counted: Counted, cells: Mapping[Key, BoolArray]) -> tuple[int, int]:
    """Return between which places of the order some cells of all series lie, with one cell more at the lower end."""
    positions = counted.partition.positions()
    starts, stops = [], []
    for key, inside in cells.items():
        places = positions[counted.series[key].cells]
        first, last = np.flatnonzero(inside)[[0, -1]]
        starts.append(int(places[max(first - 1, 0)]))
        stops.append(int(places[last]) + 1)
    return min(starts), max(stops)


# --------------------------------------------------------------------------------------------------------------- series


def _with_series(counted: Counted) -> Frame:
    keys = counted.columns.keys
    return counted.rows().with_columns(series_number(keys, list(counted.series)).alias(SERIES))


def _of(counted: Counted, values: Mapping[Key, float]) -> nw.Expr:
    return of_series([values[key] for key in counted.series])


def _by_series(counted: Counted, condition: nw.Expr, value: nw.Expr) -> dict[Key, float]:
    """Return a value of the rows that meet a condition, for the series that have such rows."""
    found = collect(_with_series(counted).filter(condition).group_by(SERIES).agg(value.alias("value")))
    series = list(counted.series)
    return {series[place]: float(one) for place, one in zip(found[SERIES], found["value"], strict=True)}
