"""Passes over a table: counts in cells, cells cut again where they are too full, and sums over pairs inside cells.

1. One pass counts positives and negatives in the 65,536 first cells, for each series (model and subgroup). The counts
   say which examples are selected, and which cells hold selected examples of both classes: the *wanted* cells.
2. Wanted cells with too many rows are cut again, in the exact range of their scores, until none is left.
3. The rows of wanted cells are grouped by score, and cumulative sums inside each cell, which need no order between
   cells, give its pairs. Cells are added up in Python's whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt

from tpauc.frames._columns import LABEL, LARGEST, SCORE, Columns, report_unsound
from tpauc.frames._engines import Frame, collect, counts_by_perfect_hash
from tpauc.frames._partition import Partition, Piece, first_cell
from tpauc.metrics.histogram import BINS

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Key = tuple[Any, ...]

CELL = "tpauc_cell"
MOST_ROWS = 500_000  # in a cell; also keeps sums of squares inside a cell within 64 bits
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


def count(columns: Columns, bins: int = BINS) -> Counted:
    """Make the first pass; an error says how many rows are unsound."""
    rows = columns.rows()
    cell_type = nw.UInt16 if bins <= BINS and counts_by_perfect_hash(rows) else nw.Int32
    found = collect(
        rows.select(
            *columns.keys,
            first_cell(nw.col(SCORE), bins).cast(cell_type).alias(CELL),
            is_positive(),
            columns.unsound().alias("unsound"),
        )
        .group_by(*columns.keys, CELL)
        .agg(nw.col("positive").sum(), nw.len().alias("rows"), nw.col("unsound").max())
    )
    if not found[CELL]:
        raise ValueError("the table has no rows")
    if max(found["unsound"]):
        report_unsound(columns)
    partition = Partition()
    return Counted(columns, partition, _by_series(found, columns.keys, np.arange(bins)))


def is_positive() -> nw.Expr:
    """Return 1 for a positive and 0 for a negative."""
    return nw.when(nw.col(LABEL) == 1).then(nw.lit(1)).otherwise(nw.lit(0)).alias("positive")


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


def cut_full_cells(counted: Counted, wanted: dict[Key, BoolArray]) -> bool:
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
        .filter(_in_any(spans))
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
        columns.rows()
        .filter(_in_any([(piece.low, piece.high) for piece in pieces]))
        .select(*columns.keys, number.alias(CELL), is_positive())
        .group_by(*columns.keys, CELL)
        .agg(nw.col("positive").sum(), nw.len().alias("rows"))
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


def _in_any(spans: Iterable[tuple[float, float]]) -> nw.Expr:
    """Return whether a score lies in one of several closed ranges."""
    conditions = [(nw.col(SCORE) >= max(low, -LARGEST)) & (nw.col(SCORE) <= min(high, LARGEST)) for low, high in spans]
    found = conditions[0]
    for condition in conditions[1:]:
        found = found | condition
    return found


# ------------------------------------------------------------------------------------------------ sums inside the cells


class Border(NamedTuple):
    """How many examples of a class are left out at the lower end of a cell, and how many are selected above them."""

    key: Key
    cell: int
    skipped: int
    selected: int


class Need(NamedTuple):
    """From how many negatives of its cell a threshold must be above."""

    key: Key
    cell: int
    negatives: int


_UNLIMITED = 2**62


def sums_inside_cells(
    counted: Counted,
    wanted: dict[Key, BoolArray],
    *,
    positive_borders: list[Border],
    negative_borders: list[Border],
    needs: list[Need],
    squares: bool,
) -> dict[Key, dict[int, dict[str, Any]]]:
    """Make the last pass; return the sums of each series in each of its wanted cells.

    The sums are ``won`` and ``tied`` pairs; with ``squares`` also what :class:`tpauc.metrics.large_sample.CellSums`
    lists; for the cells in ``needs`` the lowest possible ``threshold`` and the positives and negatives ``below`` it.
    """
    spans = _wanted_spans(counted, wanted)
    if not spans:
        return {key: {} for key in counted.series}
    keys, by_cell = counted.columns.keys, [*counted.columns.keys, CELL]
    p, q, cum_p, cum_q = (nw.col(name) for name in ("p", "q", "cum_p", "cum_q"))
    grouped = (
        counted.rows()
        .filter(_in_any(spans))
        .select(*keys, SCORE, is_positive())
        .group_by(*keys, SCORE)
        .agg(nw.col("positive").sum().cast(nw.Int64).alias("p"), nw.len().cast(nw.Int64).alias("rows"))
        .with_columns((nw.col("rows") - p).alias("q"), counted.partition.cell(nw.col(SCORE)).alias(CELL))
        .with_columns(
            p.cum_sum().over(*by_cell, order_by=SCORE).cast(nw.Int64).alias("cum_p"),
            q.cum_sum().over(*by_cell, order_by=SCORE).cast(nw.Int64).alias("cum_q"),
        )
    )
    selected = grouped.with_columns(
        *_selected(keys, "p", cum_p, cum_p - p, positive_borders),
        *_selected(keys, "q", cum_q, cum_q - q, negative_borders),
        _constant(keys, [(n.key, n.cell, n.negatives) for n in needs], _UNLIMITED).alias("need"),
    )
    p_in, q_in = nw.col("p_upto") - nw.col("p_below"), nw.col("q_upto") - nw.col("q_below")
    w, v = nw.col("q_below") + nw.col("q_upto"), nw.col("p_below") + nw.col("p_upto")
    terms = {"n_positive": p, "n_negative": q, "won": p_in * nw.col("q_below"), "tied": p_in * q_in}
    sums = [nw.col(name).sum().cast(nw.Int64) for name in terms]
    if squares:
        terms |= {"w_squares": p_in * w * w, "v_squares": q_in * v * v}
        terms |= {"w_last": nw.when(p_in > 0).then(w), "v_first": nw.when(q_in > 0).then(v)}
        sums += [nw.col(name).sum().cast(nw.Int64) for name in ("w_squares", "v_squares")]
        sums += [nw.col("w_last").max(), nw.col("v_first").min()]
    if needs:
        enough = (p > 0) & (cum_q - q >= nw.col("need"))
        terms |= {"threshold": nw.when(enough).then(nw.col(SCORE))}
        terms |= {
            "positives_below": nw.when(enough).then(cum_p - p),
            "negatives_below": nw.when(enough).then(cum_q - q),
        }
        sums += [nw.col(name).min() for name in ("threshold", "positives_below", "negatives_below")]
    found = collect(
        selected.select(*by_cell, *(term.alias(name) for name, term in terms.items())).group_by(*by_cell).agg(*sums)
    )
    return _checked_sums(counted, wanted, found)


def _selected(
    keys: Sequence[str], name: str, upto: nw.Expr, below: nw.Expr, borders: list[Border]
) -> tuple[nw.Expr, nw.Expr]:
    """Return how many selected examples of the cell are not above and how many are below a score."""
    if borders:
        skipped = _constant(keys, [(b.key, b.cell, b.skipped) for b in borders], 0)
        selected = _constant(keys, [(b.key, b.cell, b.selected) for b in borders], _UNLIMITED)
        upto, below = _clipped(upto - skipped, selected), _clipped(below - skipped, selected)
    return upto.alias(f"{name}_upto"), below.alias(f"{name}_below")


def _clipped(value: nw.Expr, most: nw.Expr) -> nw.Expr:
    at_most = nw.when(value < most).then(value).otherwise(most)
    return nw.when(value > 0).then(at_most).otherwise(nw.lit(0, nw.Int64))


def _constant(keys: Sequence[str], values: list[tuple[Key, int, int]], default: int) -> nw.Expr:
    """Return a number that some cells of some series have, and a default for all others."""
    found: nw.Expr = nw.lit(default, nw.Int64)
    for key, cell, value in values:
        found = (
            nw.when(series_condition(keys, key) & (nw.col(CELL) == cell)).then(nw.lit(value, nw.Int64)).otherwise(found)
        )
    return found


def series_condition(keys: Sequence[str], key: Key) -> nw.Expr:
    """Return whether a row belongs to a series."""
    condition: nw.Expr = nw.lit(True)
    for name, value in zip(keys, key, strict=True):
        condition = condition & (nw.col(name).is_null() if value is None else nw.col(name) == value)
    return condition


def _wanted_spans(counted: Counted, wanted: dict[Key, BoolArray]) -> list[tuple[float, float]]:
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


def _checked_sums(counted: Counted, wanted: dict[Key, BoolArray], found: Any) -> dict[Key, dict[int, dict[str, Any]]]:
    """Sort the sums by series and cell; every wanted cell must hold the rows that were counted in it."""
    keys = counted.columns.keys
    names = [name for name in found if name not in keys]
    sums: dict[Key, dict[int, dict[str, Any]]] = {key: {} for key in counted.series}
    for place in range(len(found[CELL])):
        key = tuple(found[name][place] for name in keys)
        sums[key][int(found[CELL][place])] = {name: found[name][place] for name in names}
    for key, counts in counted.series.items():
        for place in np.flatnonzero(wanted[key]).tolist():
            cell = int(counts.cells[place])
            if cell in counted.partition.single_values:
                continue
            expected = int(counts.positives[place]), int(counts.negatives[place])
            inside = sums[key].get(cell)
            if inside is None or (inside["n_positive"], inside["n_negative"]) != expected:
                raise RuntimeError("the table changed between two passes: the counts of a range of scores differ")
    return sums
