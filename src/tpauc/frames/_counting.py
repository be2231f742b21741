"""Passes over a table: counts in cells, and cells cut again where they are too full.

1. One pass counts positives and negatives in 4,096 first cells, for each series (model and subgroup). The counts
   say which examples are selected, and which cells hold selected examples of both classes: the *wanted* cells.
2. Wanted cells with too many rows are cut again, in the exact range of their scores, until none is left.
3. The last pass, over the rows of wanted cells, is in :mod:`tpauc.frames._inside`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt

from tpauc.frames._columns import LABEL, LARGEST, NEGATIVE, SCORE, Columns, report_unsound
from tpauc.frames._engines import Frame, collect, is_duckdb
from tpauc.frames._partition import Partition, Piece, first_cell
from tpauc.metrics.histogram import BINS

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Key = tuple[Any, ...]

CELL = "tpauc_cell"
MOST_ROWS = 500_000  # in a cell; also keeps the parts of sums of powers inside a cell within 64 bits
FIRST_CELLS = 2**12  # their counts fit the cache: with 65,536 cells Spark and Polars took two to three times as long
_MOST_CUTS = 40  # six are enough for any distribution in one piece
_MOST_PIECES = 32  # cut in one pass, and ranges of scores that are looked at in one pass


class Counts(NamedTuple):
    """Positives and negatives of one series in the cells that are not empty, from the lowest scores up."""

    cells: IntArray
    positives: IntArray
    negatives: IntArray


@dataclass
class Counted:
    """A table with its counts in cells."""

    columns: Columns
    partition: Partition
    series: dict[Key, Counts]

    def rows(self) -> Frame:
        """Return the rows of all series."""
        return self.columns.rows()


def count(columns: Columns, bins: int = FIRST_CELLS) -> Counted:
    """Make the first pass; an error says how many rows are unsound."""
    cell_type = nw.UInt16 if bins <= BINS and is_duckdb(columns.frame) else nw.Int32
    found = collect(
        columns.by_model(
            lambda rows: (
                rows.select(
                    *columns.by_names,
                    first_cell(nw.col(SCORE), bins).cast(cell_type).alias(CELL),
                    one_if(LABEL).alias("positive"),
                    one_if(NEGATIVE).alias("negative"),
                )
                .group_by(*columns.by_names, CELL)
                .agg(nw.col("positive").count(), nw.col("negative").count(), nw.len().alias("rows"))
            )
        )
    )
    if not found[CELL]:
        raise ValueError("the table has no rows")
    # Scores that are null, NaN or infinite are in the first or the last cell.
    in_doubt = not {0, bins - 1}.isdisjoint(found[CELL])
    if in_doubt or sum(found["positive"]) + sum(found["negative"]) != sum(found["rows"]):
        report_unsound(columns)
    return Counted(columns, Partition(bins), _by_series(found, columns.keys, np.arange(bins)))


def one_if(condition: str) -> nw.Expr:
    """Return 1 where a column is true and null elsewhere: engines count such values faster than they add up 0 and 1."""
    return nw.when(nw.col(condition)).then(nw.lit(1))


def _by_series(found: Any, keys: Sequence[str], positions: IntArray) -> dict[Key, Counts]:
    """Sort the counts of all series by series and by the place of the cell."""
    cells = np.array(found[CELL], dtype=np.int64)
    positives = np.array(found["positive"], dtype=np.int64)
    negatives = np.array(found["rows"], dtype=np.int64) - positives
    places: dict[Key, list[int]] = {}
    if keys:
        for place, key in enumerate(zip(*(found[name] for name in keys), strict=True)):
            places.setdefault(key, []).append(place)
    else:
        places[()] = list(range(cells.size))
    series = {}
    for key, rows in places.items():
        chosen = np.array(rows)
        chosen = chosen[np.argsort(positions[cells[chosen]])]
        series[key] = Counts(cells[chosen], positives[chosen], negatives[chosen])
    return series


# --------------------------------------------------------------------------------------------------- cutting full cells


def cut_all_full_cells(counted: Counted, wanted: Callable[[], dict[Key, BoolArray]]) -> None:
    """Cut cells until none of those that are wanted, which may change with each cut, has too many rows."""
    for _ in range(_MOST_CUTS):
        if not _cut_full_cells(counted, wanted()):
            return
    raise RuntimeError(f"the scores are still crowded after {_MOST_CUTS} passes; spread or round them first")


def _cut_full_cells(counted: Counted, wanted: dict[Key, BoolArray]) -> bool:
    """Cut the wanted cells with too many rows again; return False if there is none."""
    partition = counted.partition
    full = sorted(_full_cells(counted, wanted))
    if not full:
        return False
    runs = _runs(np.array(full), partition.positions())
    ranges = _score_ranges(counted, runs)
    cuts = []
    for (start, stop), (low, high) in zip(runs, ranges, strict=True):
        if low == high:
            cells = [int(cell) for cell in partition.order[start:stop] if cell in full]
            partition.single_values |= dict.fromkeys(cells, low)
        else:
            cuts.append((start, stop, low, high))
    if cuts:
        _cut(counted, cuts)
    return True


def _full_cells(counted: Counted, wanted: dict[Key, BoolArray]) -> set[int]:
    full: set[int] = set()
    for key, counts in counted.series.items():
        crowded = wanted[key] & (counts.positives + counts.negatives > MOST_ROWS)
        full.update(counts.cells[crowded].tolist())
    return full - counted.partition.single_values.keys()


def _runs(cells: IntArray, positions: IntArray) -> list[tuple[int, int]]:
    """Join neighbouring cells; return at most so many runs as are cut in one pass, as places in the order."""
    places = np.sort(positions[cells])
    breaks = np.flatnonzero(np.diff(places) > 1)
    starts = np.concatenate(([places[0]], places[breaks + 1]))
    stops = np.concatenate((places[breaks], [places[-1]])) + 1
    return list(zip(starts.tolist(), stops.tolist(), strict=True))[:_MOST_PIECES]


def _score_ranges(counted: Counted, runs: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """Return the lowest and the highest score of all rows in each run of cells."""
    partition = counted.partition
    spans = [partition.range_of(int(partition.order[a]), int(partition.order[b - 1])) for a, b in runs]
    found = collect(
        counted.rows()
        .select(SCORE)
        .filter(in_any(spans))
        .select(SCORE, partition.cell(nw.col(SCORE)).alias(CELL))
        .group_by(CELL)
        .agg(nw.col(SCORE).min().alias("low"), nw.col(SCORE).max().alias("high"))
    )
    places = partition.positions()[np.array(found[CELL], dtype=np.int64)]
    low, high = np.array(found["low"]), np.array(found["high"])
    ranges = []
    for start, stop in runs:
        inside = (places >= start) & (places < stop)
        ranges.append((float(low[inside].min()), float(high[inside].max())))
    return ranges


def exact_range(counted: Counted, start: int, stop: int) -> tuple[float, float]:
    """Return the lowest and the highest score in the cells from one place of the order to another."""
    return _score_ranges(counted, [(start, stop)])[0]


def _cut(counted: Counted, cuts: list[tuple[int, int, float, float]]) -> None:
    """Count the rows of some ranges in new cells, which replace the old ones."""
    partition, columns = counted.partition, counted.columns
    share = BINS // len(cuts)
    pieces = [Piece(low, high, share, partition.n_ids + share * place) for place, (_, _, low, high) in enumerate(cuts)]
    new = nw.col(SCORE)
    number = pieces[0].number(new).cast(nw.Int32) + pieces[0].first
    for piece in pieces[1:]:
        number = nw.when(piece.contains(new)).then(piece.number(new).cast(nw.Int32) + piece.first).otherwise(number)
    found = collect(
        columns.by_model(
            lambda rows: (
                rows.filter(in_any([(piece.low, piece.high) for piece in pieces]))
                .select(*columns.by_names, number.alias(CELL), one_if(LABEL).alias("positive"))
                .group_by(*columns.by_names, CELL)
                .agg(nw.col("positive").count(), nw.len().alias("rows"))
            )
        )
    )
    old = np.concatenate([partition.order[start:stop] for start, stop, _, _ in cuts])
    for (start, stop, _, _), piece in sorted(zip(cuts, pieces, strict=True), key=lambda pair: -pair[0][0]):
        partition.cut(start, stop, piece)
    positions = partition.positions()
    added = _by_series(found, columns.keys, positions)
    for key, counts in counted.series.items():
        kept = ~np.isin(counts.cells, old)
        _check_unchanged(int((~kept * (counts.positives + counts.negatives)).sum()), added.get(key))
        parts = [Counts(*(column[kept] for column in counts)), *([added[key]] if key in added else [])]
        joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
        order = np.argsort(positions[joined[0]])
        counted.series[key] = Counts(*(column[order] for column in joined))


def _check_unchanged(expected: int, found: Counts | None) -> None:
    n_found = 0 if found is None else int(found.positives.sum() + found.negatives.sum())
    if n_found != expected:
        raise RuntimeError(f"the table changed between two passes: {expected} rows became {n_found}")


def in_any(spans: Iterable[tuple[float, float]]) -> nw.Expr:
    """Return whether a score lies in one of several closed ranges."""
    conditions = [(nw.col(SCORE) >= max(low, -LARGEST)) & (nw.col(SCORE) <= min(high, LARGEST)) for low, high in spans]
    found = conditions[0]
    for condition in conditions[1:]:
        found = found | condition
    return found


def wanted_spans(counted: Counted, wanted: dict[Key, BoolArray]) -> list[tuple[float, float]]:
    """Return ranges of scores that hold the wanted cells of all series, and few other rows."""
    partition = counted.partition
    positions = partition.positions()
    rows_at = np.zeros(partition.order.size, dtype=np.int64)
    is_wanted = np.zeros(partition.order.size, dtype=np.bool_)
    for key, counts in counted.series.items():
        places = positions[counts.cells]
        np.add.at(rows_at, places, counts.positives + counts.negatives)
        is_wanted[places[wanted[key]]] = True
    is_wanted[positions[list(partition.single_values)]] = False
    places = np.flatnonzero(is_wanted)
    if not places.size:
        return []
    total = np.concatenate(([0], np.cumsum(rows_at)))
    gaps = total[places[1:]] - total[places[:-1] + 1]
    # Rows between wanted cells cost only time, and many ranges would cost more of it.
    worth = int(rows_at[places].sum()) // 100
    if gaps.size >= _MOST_PIECES:
        worth = max(worth, int(np.sort(gaps)[-_MOST_PIECES]))
    breaks = np.flatnonzero(gaps > worth)
    starts = np.concatenate(([places[0]], places[breaks + 1]))
    stops = np.concatenate((places[breaks], [places[-1]]))
    return [
        partition.range_of(int(partition.order[first]), int(partition.order[last]))
        for first, last in zip(starts, stops, strict=True)
    ]


def series_condition(keys: Sequence[str], key: Key) -> nw.Expr:
    """Return whether a row belongs to a series."""
    condition: nw.Expr = nw.lit(True)
    for name, value in zip(keys, key, strict=True):
        condition = condition & (nw.col(name).is_null() if value is None else nw.col(name) == value)
    return condition


def series_number(keys: Sequence[str], series: Sequence[Key]) -> nw.Expr:
    """Return the place of a row's series in a list of all; a number can be joined on, null cannot."""
    found: nw.Expr = nw.lit(0, nw.Int32)
    for place, key in enumerate(series):
        if place:
            found = nw.when(series_condition(keys, key)).then(nw.lit(place, nw.Int32)).otherwise(found)
    return found
