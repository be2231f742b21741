"""The influence of each row on the engine: for rows that belong together, and for two models on the same rows.

With ``cum_p(s)`` and ``cum_q(s)`` the positives and negatives of a series with a score of at most ``s``, and ``p(s)``
and ``q(s)`` those of score ``s``, a positive of score ``s`` has twice

    W(s) = clip(cum_q(s) - (n- - k-), 0, k-) + clip(cum_q(s) - q(s) - (n- - k-), 0, k-)

hard negatives below it, ties counted half, and ``2 k- U = max(W_max - W(s), 0)``: the border needs no other treatment.
Negatives likewise. Inside the overlap of hard positives and hard negatives the engine makes a table of these values by
score, with cumulative sums inside each cell and over the cells, and joins it to the rows; outside they are constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import narwhals as nw

from tpauc.frames._columns import CLUSTER, LABEL, SCORE
from tpauc.frames._counting import Counted, Key, exact_range
from tpauc.frames._engines import Frame, collect
from tpauc.frames._inside import SERIES, between, one_zero
from tpauc.frames._order import counts_by_score, of_series
from tpauc.frames._selecting import Pairs
from tpauc.metrics.large_sample import Moments, PairSums


def with_influence(
    counted: Counted, rows: Frame, score: str, keys: Sequence[Key], pairs: Mapping[Key, Pairs], name: str
) -> Frame:
    """Add the column ``name`` with ``2 k- U`` of positives and ``2 k+ V`` of negatives to rows that have SERIES."""
    sums = [pairs[key].sums for key in keys]
    overlap = _overlap(counted, keys, pairs)
    if overlap is None:
        return rows.with_columns(nw.lit(0, nw.Int64).alias(name))
    rows = rows.with_columns(one_zero(nw.col(score)).alias(score))
    start, stop = overlap
    low, high = exact_range(counted, start, stop)
    table = _influence_table(counted, rows, score, (low, high), start, keys, sums)
    s, positive = nw.col(score), nw.col(LABEL)
    below = nw.when(positive).then(of_series([found.highest for found in sums])).otherwise(nw.lit(0, nw.Int64))
    above = (
        nw.when(positive)
        .then(nw.lit(0, nw.Int64))
        .otherwise(of_series([2 * found.k_positive - found.lowest for found in sums]))
    )
    inside = nw.when(positive).then(nw.col(f"{name}_u")).otherwise(nw.col(f"{name}_v"))
    joined = rows.join(
        table.rename({"u": f"{name}_u", "v": f"{name}_v", SCORE: f"{name}_score", SERIES: f"{name}_series"}),
        left_on=[SERIES, score],
        right_on=[f"{name}_series", f"{name}_score"],
        how="left",
    )
    value = nw.when(s < low).then(below).otherwise(nw.when(s > high).then(above).otherwise(inside))
    return joined.with_columns(value.alias(name)).drop(f"{name}_u", f"{name}_v")


def _overlap(counted: Counted, keys: Sequence[Key], pairs: Mapping[Key, Pairs]) -> tuple[int, int] | None:
    """Return the places of cells between which hard positives and hard negatives of any series mix."""
    positions = counted.partition.positions()
    ends = []
    for key in keys:
        places = positions[pairs[key].counts.cells]
        hard_positives, hard_negatives = pairs[key].selected()
        start = max(places[hard_positives > 0][0], places[hard_negatives > 0][0])
        stop = min(places[hard_positives > 0][-1], places[hard_negatives > 0][-1]) + 1
        if start < stop:
            ends.append((int(start), int(stop)))
    return (min(start for start, _ in ends), max(stop for _, stop in ends)) if ends else None


def _influence_table(
    counted: Counted,
    rows: Frame,
    score: str,
    ends: tuple[float, float],
    start: int,
    keys: Sequence[Key],
    sums: Sequence[PairSums],
) -> Frame:
    """Return ``2 k- U`` and ``2 k+ V`` of each score between two ends, for each series."""
    p, q = nw.col("p"), nw.col("q")
    joined = counts_by_score(counted, rows.select(SERIES, LABEL, nw.col(score).alias(SCORE)), ends, start, keys)
    easy = of_series([found.n_negative - found.k_negative for found in sums])
    k_positive, k_negative = (of_series([getattr(f, k) for f in sums]) for k in ("k_positive", "k_negative"))
    w = between(nw.col("cum_q") - easy, k_negative) + between(nw.col("cum_q") - q - easy, k_negative)
    v = between(nw.col("cum_p"), k_positive) + between(nw.col("cum_p") - p, k_positive)
    u_value = of_series([found.highest for found in sums]) - w
    v_value = v - of_series([found.lowest for found in sums])
    zero = nw.lit(0, nw.Int64)
    return joined.select(
        SERIES,
        SCORE,
        nw.when(u_value > 0).then(u_value).otherwise(zero).alias("u"),
        nw.when(v_value > 0).then(v_value).otherwise(zero).alias("v"),
    )


def contributed(
    rows: Frame,
    influence: str,
    positive_means: Sequence[float],
    negative_means: Sequence[float],
    sums: Sequence[PairSums],
    n_clusters: Sequence[tuple[int, int]],
) -> list[Moments]:
    """Add up the influences of each cluster, less their mean, then the squares and fourth powers of these sums.

    ``n_clusters`` are the numbers of clusters with positives and with negatives, for each series.
    """
    factors = [[math.sqrt(n / max(n - 1.0, 1.0)) for n in by_class] for by_class in n_clusters]
    scales = [[factor / one.twice_pairs for factor in of_class] for one, of_class in zip(sums, factors, strict=True)]
    value = nw.col(influence).cast(nw.Float64)
    of_positive = (value - of_series(positive_means)) * of_series([scale for scale, _ in scales])
    of_negative = (value - of_series(negative_means)) * of_series([scale for _, scale in scales])
    total = nw.col("total")
    found = collect(
        rows.select(SERIES, CLUSTER, nw.when(nw.col(LABEL)).then(of_positive).otherwise(of_negative).alias("total"))
        .group_by(SERIES, CLUSTER)
        .agg(total.sum())
        .select(SERIES, (total * total).alias("squares"))
        .with_columns((nw.col("squares") * nw.col("squares")).alias("fourths"))
        .group_by(SERIES)
        .agg(nw.col("squares").sum(), nw.col("fourths").sum())
    )
    moments = {
        int(series): Moments(variance, fourth)
        for series, variance, fourth in zip(found[SERIES], found["squares"], found["fourths"], strict=True)
    }
    return [moments[series] for series in sorted(moments)]
