"""Two score columns of one table, compared on the same rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import narwhals as nw

from tpauc._validation import check_open_share
from tpauc.frames._clusters import check_spread, clusters_by_class
from tpauc.frames._columns import LABEL, column_names, score_name
from tpauc.frames._counting import count
from tpauc.frames._engines import Frame, collect
from tpauc.frames._influence import contributed, with_influence
from tpauc.frames._inside import SERIES
from tpauc.frames._selecting import add_up_pairs, check_classes, hard_selection
from tpauc.frames.evaluating import columns_of
from tpauc.metrics.comparison import Comparison, large_sample_comparison
from tpauc.metrics.large_sample import Moments, PairSums
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
        With ``difference``, ``low``, ``high`` and ``p_value``, as :func:`tpauc.compare_tpauc` by ``method="delong"``.

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
    pairs = add_up_pairs(counted, selections, powers=True)
    rows = columns.frame.with_columns(nw.lit(0, nw.Int32).alias(SERIES))
    for model in (0, 1):
        key = (model,)
        rows = with_influence(counted, rows, score_name(model), [key], pairs, f"influence_{model}")
    rows = rows.with_columns((nw.col("influence_0") - nw.col("influence_1")).cast(nw.Float64).alias("between"))
    first, second = (pairs[(model,)].sums for model in (0, 1))
    difference = first.estimate() - second.estimate()
    means = (
        (first.positive_powers[1] - second.positive_powers[1]) / first.n_positive,
        (first.negative_powers[1] - second.negative_powers[1]) / first.n_negative,
    )
    if columns.clustered:
        n_clusters = clusters_by_class(rows)
        check_spread(n_clusters)
        (moments,) = contributed(rows, "between", [means[0]], [means[1]], [first], [n_clusters])
        return large_sample_comparison(difference, moments, min(n_clusters), confidence)
    moments = _by_row(rows, means, first)
    return large_sample_comparison(difference, moments, min(first.n_positive, first.n_negative), confidence)


def _by_row(rows: Frame, means: tuple[float, float], sums: PairSums) -> Moments:
    """Return the moments of the difference if all rows are independent."""
    mean = nw.when(nw.col(LABEL)).then(nw.lit(means[0])).otherwise(nw.lit(means[1]))
    squares = nw.col("squares")
    found = collect(
        rows.select(LABEL, ((nw.col("between") - mean) / float(sums.twice_pairs)).alias("between"))
        .select(LABEL, (nw.col("between") * nw.col("between")).alias("squares"))
        .with_columns((squares * squares).alias("fourths"))
        .group_by(LABEL)
        .agg(squares.sum(), nw.col("fourths").sum(), nw.len().alias("n"))
    )
    factors = [n / max(n - 1, 1) for n in found["n"]]
    return Moments(
        math.fsum(factor * second for factor, second in zip(factors, found["squares"], strict=True)),
        math.fsum(factor**2 * fourth for factor, fourth in zip(factors, found["fourths"], strict=True)),
    )
