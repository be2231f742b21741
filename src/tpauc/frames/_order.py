"""Scores of a given rank: the hardest positive that a region leaves out, the negative above which so many lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import narwhals as nw
import numpy as np

from tpauc.frames._columns import SCORE
from tpauc.frames._counting import CELL, Counted, Key
from tpauc.frames._engines import collect
from tpauc.frames._inside import SERIES, grouped_by_score, rows_in


class Rank(NamedTuple):
    """A place among the examples of a class, from the lowest score up and from 1 on."""

    key: Key
    positive: bool
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
    values = counts.positives if rank.positive else counts.negatives
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
    return ("upto_p", "p") if rank.positive else ("upto_q", "q")
