"""Scores in order: the score of a given rank, and each score with the rows up to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import narwhals as nw
import numpy as np

from tpauc.frames._columns import LABEL, SCORE
from tpauc.frames._counting import CELL, BoolArray, Counted, Key, one_if
from tpauc.frames._engines import Frame, collect
from tpauc.frames._inside import SERIES, grouped_by_score, rows_in


class Rank(NamedTuple):
    """A place among the examples of a class, or of both (None), from the lowest score up and from 1 on."""

    key: Key
    positive: bool | None
    number: int


class Ranked(NamedTuple):
    """A score, how many examples of its class are below it, and how many have it."""

    score: float
    below: int
    equal: int


def scores_of_ranks(counted: Counted, ranks: Sequence[Rank]) -> list[Ranked]:
    """Return the score of each rank, in one pass over the rows of the cells that hold them."""
    places = [_place(counted, rank) for rank in ranks]
    single, partition = counted.partition.single_values, counted.partition
    searched = [place for place in places if place.cell not in single]
    found = _searched(counted, ranks, places) if searched else {}
    scores = []
    for number, place in enumerate(places):
        if place.cell in single:
            scores.append(Ranked(partition.single_values[place.cell], place.before, place.inside))
        else:
            score, up_to, equal = found[number]
            scores.append(Ranked(score, place.before + up_to - equal, equal))
    return scores


class _Place(NamedTuple):
    """The cell of a rank, how many examples of the class are in lower cells and in it, and the rank inside it."""

    cell: int
    before: int
    inside: int
    rank: int


def _place(counted: Counted, rank: Rank) -> _Place:
    counts = counted.series[rank.key]
    of_side = {True: counts.positives, False: counts.negatives, None: counts.positives + counts.negatives}
    values = of_side[rank.positive]
    up_to = np.cumsum(values)
    place = int(np.searchsorted(up_to, rank.number))
    before = int(up_to[place] - values[place])
    return _Place(int(counts.cells[place]), before, int(values[place]), rank.number - before)


def _searched(counted: Counted, ranks: Sequence[Rank], places: Sequence[_Place]) -> dict[int, tuple[float, int, int]]:
    """Return the score of each rank, how many of its class are not above it in its cell, and how many have it."""
    series, single = list(counted.series), counted.partition.single_values
    keys = [SERIES] if counted.columns.keys else []
    spans = {counted.partition.range_of(place.cell, place.cell) for place in places if place.cell not in single}
    conditions = []
    for rank, place in zip(ranks, places, strict=True):
        up_to, equal = _columns(rank)
        here = (nw.col(CELL) == place.cell) & (nw.col(up_to) >= place.rank)
        here = here & (nw.col(up_to) - nw.col(equal) < place.rank)
        conditions.append(here & (nw.col(SERIES) == series.index(rank.key)) if keys else here)
    grouped = grouped_by_score(rows_in(counted, sorted(spans), series), keys)
    grouped = grouped.with_columns((nw.col("upto_p") + nw.col("upto_q")).alias("upto_n"))
    rows = collect(grouped.filter(nw.any_horizontal(*conditions, ignore_nulls=True)))
    found = {}
    for number, (rank, place) in enumerate(zip(ranks, places, strict=True)):
        up_to, equal = _columns(rank)
        for row, cell in enumerate(rows[CELL]):
            own = not keys or rows[SERIES][row] == series.index(rank.key)
            above = rows[up_to][row] - place.rank
            if own and cell == place.cell and 0 <= above < rows[equal][row]:
                found[number] = float(rows[SCORE][row]), int(rows[up_to][row]), int(rows[equal][row])
    return found


def _columns(rank: Rank) -> tuple[str, str]:
    return {True: ("upto_p", "p"), False: ("upto_q", "q"), None: ("upto_n", "n")}[rank.positive]


def cells_of_ranks(counted: Counted, ranks: Sequence[Rank]) -> dict[Key, BoolArray]:
    """Return which cells of each series hold one of the ranks."""
    return {
        key: np.isin(counts.cells, [_place(counted, rank).cell for rank in ranks if rank.key == key])
        for key, counts in counted.series.items()
    }


# ----------------------------------------------------------------------------------------------------- all scores


def counts_by_score(counted: Counted, rows: Frame, ends: tuple[float, float], start: int, keys: Sequence[Key]) -> Frame:
    """Return each score between two ends with its positives ``p`` and negatives ``q``, and with all up to it.

    The rows have SERIES, LABEL and SCORE. The lower end is the lowest score of the cells from place ``start`` of the
    order on. ``cum_p`` and ``cum_q`` count the rows of the series that are not above the score.
    """
    low, high = ends
    p, q = nw.col("p"), nw.col("q")
    grouped = (
        rows.filter((nw.col(SCORE) >= low) & (nw.col(SCORE) <= high))
        .select(SERIES, SCORE, one_if(LABEL).alias("positive"))
        .group_by(SERIES, SCORE)
        .agg(nw.col("positive").count().cast(nw.Int64).alias("p"), nw.len().cast(nw.Int64).alias("rows"))
        .with_columns((nw.col("rows") - p).alias("q"), counted.partition.cell(nw.col(SCORE)).alias(CELL))
        .select(SERIES, SCORE, CELL, "p", "q")
    )
    lowest = "tpauc_lowest"
    cells = (
        grouped.group_by(SERIES, CELL)
        .agg(p.sum().cast(nw.Int64), q.sum().cast(nw.Int64), nw.col(SCORE).min().alias(lowest))
        .with_columns(
            (p.cum_sum().over(SERIES, order_by=lowest).cast(nw.Int64) - p).alias("base_p"),
            (q.cum_sum().over(SERIES, order_by=lowest).cast(nw.Int64) - q).alias("base_q"),
        )
        .select(SERIES, CELL, "base_p", "base_q")
    )
    positions = counted.partition.positions()
    before = []
    for key in keys:
        counts = counted.series[key]
        lower = positions[counts.cells] < start
        before.append((int(counts.positives[lower].sum()), int(counts.negatives[lower].sum())))
    return (
        grouped.with_columns(
            p.cum_sum().over(SERIES, CELL, order_by=SCORE).cast(nw.Int64).alias("cum_p"),
            q.cum_sum().over(SERIES, CELL, order_by=SCORE).cast(nw.Int64).alias("cum_q"),
        )
        .join(cells, on=[SERIES, CELL], how="inner")
        .with_columns(
            (nw.col("cum_p") + nw.col("base_p") + of_series([n for n, _ in before])).alias("cum_p"),
            (nw.col("cum_q") + nw.col("base_q") + of_series([n for _, n in before])).alias("cum_q"),
        )
    )


def of_series(values: Sequence[float]) -> nw.Expr:
    """Return the value of a row's series."""
    kind = nw.Float64 if isinstance(values[0], float) else nw.Int64
    found: nw.Expr = nw.lit(values[0], kind)
    for place, value in enumerate(values):
        if place:
            found = nw.when(nw.col(SERIES) == place).then(nw.lit(value, kind)).otherwise(found)
    return found
