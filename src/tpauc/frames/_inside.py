"""The last pass: pairs inside the wanted cells, from the places of their positives.

In a cell, let ``r`` be the rank of a positive's score among all rows (1 for the lowest, the lowest rank of equal
scores), ``P`` the number of positives below it, and ``t`` the number of negatives of equal score. Then
``r - 1 - P`` negatives are below it. There are two ways to these counts: group all rows by score and take cumulative
sums, or take ranks of rows, which handle ties by themselves, and join the negatives with the positives' scores for
``t``. Everything else is grouped by the scores of positives, which are few where events are rare.

Of the examples of a cell some are selected. A selected positive has twice ``w`` selected negatives below it, ties
counted half, and a selected negative has twice ``v`` selected positives below it. All negatives between the same two
scores of positives share their ``v``, so that sums over negatives are sums over scores of positives, too.

**Powers.** The sums of powers up to the fourth are whole numbers, beyond 64 bits. With at most 500,000 rows in a cell
``x = w`` or ``x = v`` is less than 2^20, and ``x^2 = 2^20 a + b`` with ``a`` and ``b`` less than 2^20, so that

    x^3 = 2^20 x a + x b,    x^4 = 2^40 a^2 + 2^21 a b + b^2

come in parts whose sums fit, and Python puts them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from tpauc.frames._columns import LABEL, SCORE
from tpauc.frames._counting import CELL, BoolArray, Counted, Key, in_any, one_if, series_number, wanted_spans
from tpauc.frames._engines import Frame, collect, is_duckdb

SERIES = "tpauc_series"
_UNLIMITED = 2**62
FEW_ROWS = 0.05  # share in wanted cells up to which DuckDB is faster by grouping, with one scan, than by ranking

_PART = 2**20
_HALVES = ("w", "v_tied", "v_gap")
_PARTS = ("2", "3a", "3b", "4aa", "4ab", "4bb")

Sums = dict[str, Any]


class Border(NamedTuple):
    """How many examples of a class are left out at the lower end of a cell, and how many are selected above them."""

    key: Key
    cell: int
    skipped: int
    selected: int


class Need(NamedTuple):
    """How many negatives of its cell must be below a threshold."""

    key: Key
    cell: int
    negatives: int


class Constants(NamedTuple):
    """What the last pass has to know of single cells."""

    positive_borders: list[Border]
    negative_borders: list[Border]
    needs: list[Need]


def sums_inside_cells(
    counted: Counted, wanted: dict[Key, BoolArray], constants: Constants, *, powers: bool
) -> dict[Key, dict[int, Sums]]:
    """Make the last pass; return the sums of each series in each of its wanted cells.

    The sums are ``won`` and ``tied`` pairs; with ``powers`` also ``w_last`` and ``v_first`` of
    :class:`tpauc.metrics.large_sample.CellSums` and what :func:`powers_of` reads, without the negatives above all
    positives, of which ``q_last`` says how many are not; for the cells in ``needs`` the lowest possible ``threshold``
    and the positives and negatives below it.
    """
    spans = wanted_spans(counted, wanted)
    if not spans:
        return {key: {} for key in counted.series}
    series = list(counted.series)
    keys = [SERIES] if counted.columns.keys else []
    rows = rows_in(counted, spans, series)
    ranking = is_duckdb(rows) and _share_of_rows(counted, wanted) > FEW_ROWS
    positives = _scores_by_ranking(rows, keys) if ranking else _scores_by_grouping(rows, keys)
    borders = constants.positive_borders, constants.negative_borders
    p, below_p, below_q, tied_q = (nw.col(name) for name in ("p", "below_p", "below_q", "tied_q"))
    selected = positives.with_columns(
        *_selected(series, keys, "p", below_p + p, below_p, borders[0]),
        *_selected(series, keys, "q", below_q + tied_q, below_q, borders[1]),
        _constant(series, keys, [(n.key, n.cell, n.negatives) for n in constants.needs], _UNLIMITED).alias("need"),
    )
    by_cell = [*keys, CELL]
    if powers:
        selected = _with_halves(selected, by_cell)
    terms, aggregates = _terms(powers=powers, point=bool(constants.needs))
    found = collect(
        selected.select(*by_cell, *(term.alias(name) for name, term in terms.items()))
        .group_by(*by_cell)
        .agg(*aggregates)
    )
    return _checked_sums(counted, wanted, series, found)


def _share_of_rows(counted: Counted, wanted: dict[Key, BoolArray]) -> float:
    """Return the share of the rows that are in wanted cells."""
    inside = sum(int((c.positives + c.negatives)[wanted[key]].sum()) for key, c in counted.series.items())
    return inside / sum(int((c.positives + c.negatives).sum()) for c in counted.series.values())


def rows_in(counted: Counted, spans: list[tuple[float, float]], series: list[Key]) -> Frame:
    """Return the rows of some ranges of scores, each with its series and its cell."""
    rows = counted.rows().filter(in_any(spans))
    columns = [nw.col(LABEL), one_zero(nw.col(SCORE)).alias(SCORE), counted.partition.cell(nw.col(SCORE)).alias(CELL)]
    if counted.columns.keys:
        columns.append(series_number(counted.columns.keys, series).alias(SERIES))
    return rows.select(*columns)


def one_zero(score: nw.Expr) -> nw.Expr:
    """Return a score with 0.0 in place of -0.0; engines differ in how they order, group and join the two."""
    return nw.when(score == 0.0).then(nw.lit(0.0)).otherwise(score)


def grouped_by_score(rows: Frame, keys: list[str]) -> Frame:
    """Return each score with its positives ``p`` and negatives ``q``, and with those of its cell up to this score."""
    by_cell = [*keys, CELL]
    p, q = nw.col("p"), nw.col("q")
    return (
        rows.select(*by_cell, SCORE, one_if(LABEL).alias("positive"))
        .group_by(*by_cell, SCORE)
        .agg(nw.col("positive").count().cast(nw.Int64).alias("p"), nw.len().cast(nw.Int64).alias("n"))
        .with_columns((nw.col("n") - p).alias("q"))
        .with_columns(
            p.cum_sum().over(*by_cell, order_by=SCORE).cast(nw.Int64).alias("upto_p"),
            q.cum_sum().over(*by_cell, order_by=SCORE).cast(nw.Int64).alias("upto_q"),
        )
    )


def _scores_by_grouping(rows: Frame, keys: list[str]) -> Frame:
    """Return each score of positives with the positives and the negatives below it and equal to it in its cell."""
    p, q = nw.col("p"), nw.col("q")
    return (
        grouped_by_score(rows, keys)
        .filter(p > 0)
        .with_columns(
            (nw.col("upto_p") - p).alias("below_p"), (nw.col("upto_q") - q).alias("below_q"), q.alias("tied_q")
        )
    )


def _scores_by_ranking(rows: Frame, keys: list[str]) -> Frame:
    """Return what :func:`_scores_by_grouping` returns; reads the rows three times and is faster for many rows."""
    by_cell, by_score = [*keys, CELL], [*keys, SCORE]
    rank, p = nw.col("rank"), nw.col("p")
    ranked = (
        rows.with_columns(nw.col(SCORE).rank(method="min").over(*by_cell).alias("rank"))
        .filter(nw.col(LABEL))
        .group_by(*by_cell, SCORE)
        .agg(rank.min().cast(nw.Int64), nw.len().cast(nw.Int64).alias("p"))
        .with_columns((p.cum_sum().over(*by_cell, order_by=SCORE).cast(nw.Int64) - p).alias("below_p"))
        .with_columns((rank - 1 - nw.col("below_p")).alias("below_q"))
    )
    scores = rows.filter(nw.col(LABEL)).select(*by_score).unique()
    tied = (
        rows.filter(~nw.col(LABEL))
        .select(*by_score)
        .join(scores, on=by_score, how="inner")
        .group_by(*by_score)
        .agg(nw.len().cast(nw.Int64).alias("tied_q"))
    )
    return ranked.join(tied, on=by_score, how="left").with_columns(nw.col("tied_q").fill_null(0))


def _with_halves(selected: Frame, by_cell: list[str]) -> Frame:
    """Add ``w``, ``v`` of the negatives tied with a score of positives and of the ``gap`` below it, and their squares.

    ``x_a`` and ``x_b`` are the parts of ``x^2`` for each ``x`` of these three.
    """
    p_below, p_upto, q_below, q_upto = (nw.col(name) for name in ("p_below", "p_upto", "q_below", "q_upto"))
    before = q_upto.shift(1).over(*by_cell, order_by=SCORE).fill_null(0).cast(nw.Int64)
    halves = selected.with_columns(
        (q_below + q_upto).alias("w"),
        (p_below + p_upto).alias("v_tied"),
        (2 * p_below).alias("v_gap"),
        (q_below - before).alias("gap"),
    )
    squared = [nw.col(name) * nw.col(name) for name in _HALVES]
    halves = halves.with_columns(
        *((x // _PART).cast(nw.Int64).alias(f"{name}_a") for x, name in zip(squared, _HALVES, strict=True))
    )
    return halves.with_columns(
        *((x - _PART * nw.col(f"{name}_a")).alias(f"{name}_b") for x, name in zip(squared, _HALVES, strict=True))
    )


def _parts(name: str) -> dict[str, nw.Expr]:
    """Return the parts of the powers of a number."""
    x, a, b = nw.col(name), nw.col(f"{name}_a"), nw.col(f"{name}_b")
    return {"2": x * x, "3a": x * a, "3b": x * b, "4aa": a * a, "4ab": a * b, "4bb": b * b}


def powers_of(name: str, sums: Sums) -> dict[int, int]:
    """Return the sums of the second, third and fourth powers of ``w`` or ``v`` in a cell."""
    part = {key: int(sums[f"{name}_{key}"]) for key in _PARTS}
    return {
        2: part["2"],
        3: _PART * part["3a"] + part["3b"],
        4: _PART**2 * part["4aa"] + 2 * _PART * part["4ab"] + part["4bb"],
    }


def _terms(*, powers: bool, point: bool) -> tuple[dict[str, nw.Expr], list[nw.Expr]]:
    """Return the terms of the sums for each score of positives, and how they are put together for a cell."""
    p_below, p_upto, q_below, q_upto = (nw.col(name) for name in ("p_below", "p_upto", "q_below", "q_upto"))
    h, tied = p_upto - p_below, q_upto - q_below
    terms = {"n_positive": nw.col("p"), "won": h * q_below, "tied": h * tied}
    aggregates = []
    if powers:
        terms |= {f"w_{key}": h * part for key, part in _parts("w").items()}
        of_gap = _parts("v_gap")
        terms |= {f"v_{key}": tied * part + nw.col("gap") * of_gap[key] for key, part in _parts("v_tied").items()}
        first = nw.when(q_below == 0).then(h).otherwise(nw.lit(0, nw.Int64))
        terms |= {"v_first": nw.when(q_upto == 0).then(2 * h).otherwise(first)}
    added = list(terms)
    if powers:
        terms |= {"w_last": nw.when(h > 0).then(nw.col("w")), "q_last": q_upto}
        aggregates += [nw.col("w_last").max(), nw.col("q_last").max()]
    if point:
        enough = nw.col("below_q") >= nw.col("need")
        least = {"threshold": SCORE, "positives_below": "below_p", "negatives_below": "below_q"}
        terms |= {name: nw.when(enough).then(nw.col(column)) for name, column in least.items()}
        aggregates += [nw.col(name).min() for name in least]
    return terms, [nw.col(name).sum().cast(nw.Int64) for name in added] + aggregates


def _selected(
    series: list[Key], keys: list[str], name: str, upto: nw.Expr, below: nw.Expr, borders: list[Border]
) -> tuple[nw.Expr, nw.Expr]:
    """Return how many selected examples of the cell are not above and how many are below a score."""
    if borders:
        skipped = _constant(series, keys, [(b.key, b.cell, b.skipped) for b in borders], 0)
        selected = _constant(series, keys, [(b.key, b.cell, b.selected) for b in borders], _UNLIMITED)
        upto, below = between(upto - skipped, selected), between(below - skipped, selected)
    return upto.alias(f"{name}_upto"), below.alias(f"{name}_below")


def between(value: nw.Expr, most: nw.Expr) -> nw.Expr:
    """Return a whole number, 0 where it is less and ``most`` where it is more."""
    at_most = nw.when(value < most).then(value).otherwise(most)
    return nw.when(value > 0).then(at_most).otherwise(nw.lit(0, nw.Int64))


def _constant(series: list[Key], keys: list[str], values: Sequence[tuple[Key, int, int]], default: int) -> nw.Expr:
    """Return a number that some cells of some series have, and a default for all others."""
    found: nw.Expr = nw.lit(default, nw.Int64)
    for key, cell, value in values:
        here = nw.col(CELL) == cell
        if keys:
            here = here & (nw.col(SERIES) == series.index(key))
        found = nw.when(here).then(nw.lit(value, nw.Int64)).otherwise(found)
    return found


def _checked_sums(
    counted: Counted, wanted: dict[Key, BoolArray], series: list[Key], found: Any
) -> dict[Key, dict[int, Sums]]:
    """Sort the sums by series and cell; every wanted cell must hold the rows that were counted in it."""
    sums: dict[Key, dict[int, Sums]] = {key: {} for key in series}
    for place, cell in enumerate(found[CELL]):
        key = series[found[SERIES][place] if SERIES in found else 0]
        sums[key][int(cell)] = {name: values[place] for name, values in found.items()}
    for key, counts in counted.series.items():
        for place in np.flatnonzero(wanted[key]).tolist():
            cell, n_positive = int(counts.cells[place]), int(counts.positives[place])
            if cell in counted.partition.single_values:
                continue
            inside = sums[key].get(cell)
            n_pairs = n_positive * int(counts.negatives[place])
            if inside is None or inside["n_positive"] != n_positive or inside["won"] + inside["tied"] > n_pairs:
                raise RuntimeError("the table changed between two passes: the counts of a range of scores differ")
    return sums
