"""Two score columns of one table, compared on the same rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import narwhals as nw

from tpauc._validation import check_open_share
from tpauc.frames._clusters import with_influence
from tpauc.frames._columns import CLUSTER, LABEL, column_names, score_name
from tpauc.frames._counting import count
from tpauc.frames._engines import Frame, collect
from tpauc.frames._inside import SERIES
from tpauc.frames._selecting import add_up_pairs, check_classes, hard_selection
from tpauc.frames.evaluating import columns_of
from tpauc.metrics.comparison import Comparison
from tpauc.metrics.large_sample import PairSums, normal_comparison
from tpauc.region import Region


def compare(
    table: Any,
    *,
    label: str,
    score: Sequence[str],
    alpha: float,
    beta: float,
    groups: str | None = None,
    pos_label: Any = None,
    confidence: float = 0.95,
) -> Comparison:
    """Compare two score columns: TPAUC of the first minus TPAUC of the second, paired by row.

    Parameters
    ----------
    table, label, alpha, beta, groups, pos_label, confidence
        As in :func:`tpauc.frames.evaluate`.
    score : two names
        The score columns of the two models.

    Returns
    -------
    Comparison
        With ``difference``, ``low``, ``high`` and ``p_value``, from the normal distribution of the difference; its
        variance is that of the differences of the two models' influences, row by row.

    Examples
    --------
    >>> import numpy as np, pyarrow
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(10_000) < 0.1
    >>> noise = rng.normal(size=y.size)
    >>> table = pyarrow.table({"y": y, "new": noise + 2.5 * y, "old": noise + 2 * y})
    >>> found = compare(table, label="y", score=("new", "old"), alpha=0.3, beta=0.3)
    >>> found.low > 0, found.p_value < 0.01
    (True, True)
    """
    region = Region(alpha, beta)
    confidence = check_open_share(confidence, "confidence")
    names = column_names(score, "score")
    if len(names) != 2:
        raise ValueError(f"score must name two columns to compare, got {names}")
    columns = columns_of(table, label, names, pos_label, None, groups)
    counted = count(columns)
    check_classes(counted, label, dict.fromkeys(counted.series, ""))
    selections = {key: hard_selection(counts, region) for key, counts in counted.series.items()}
    pairs = add_up_pairs(counted, selections, squares=True)
    rows = columns.frame.with_columns(nw.lit(0, nw.Int32).alias(SERIES))
    for model in (0, 1):
        key = (model,)
        rows = with_influence(counted, rows, score_name(model), [key], pairs, f"influence_{model}")
    first, second = (pairs[(model,)].sums(squares=True) for model in (0, 1))
    difference = first.estimate() - second.estimate()
    rows = rows.with_columns((nw.col("influence_0") - nw.col("influence_1")).cast(nw.Float64).alias("between"))
    fewest = min(first.n_positive, first.n_negative)
    if columns.clustered:
        variance, n_clusters = _by_cluster(rows, first, second)
        return normal_comparison(difference, variance, min(fewest, n_clusters), confidence)
    return normal_comparison(difference, _by_row(rows, first), fewest, confidence)


def _by_row(rows: Frame, sums: PairSums) -> float:
    """Return the variance of the difference if all rows are independent."""
    between = nw.col("between") / float(sums.twice_pairs)
    found = collect(
        rows.select(LABEL, between.alias("between"), (between * between).alias("squares"))
        .group_by(LABEL)
        .agg(nw.col("between").sum(), nw.col("squares").sum(), nw.len().alias("n"))
    )
    variances = [
        max(squares - total**2 / n, 0.0) * n / max(n - 1, 1)
        for total, squares, n in zip(found["between"], found["squares"], found["n"], strict=True)
    ]
    return math.fsum(variances)


def _by_cluster(rows: Frame, first: PairSums, second: PairSums) -> tuple[float, int]:
    """Return the variance of the difference by cluster, and the number of clusters."""
    positive_mean = (first.positive_total - second.positive_total) / first.n_positive
    negative_mean = (first.negative_total - second.negative_total) / first.n_negative
    mean = nw.when(nw.col(LABEL)).then(nw.lit(positive_mean)).otherwise(nw.lit(negative_mean))
    total = nw.col("total")
    found = collect(
        rows.select(CLUSTER, ((nw.col("between") - mean) / float(first.twice_pairs)).alias("total"))
        .group_by(CLUSTER)
        .agg(total.sum())
        .select((total * total).alias("squares"))
        .select(nw.col("squares").sum(), nw.len().alias("clusters"))
    )
    squares, clusters = found["squares"][0], found["clusters"][0]
    return squares * clusters / max(clusters - 1, 1), int(clusters)
