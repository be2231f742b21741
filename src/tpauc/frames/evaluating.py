"""Areas, intervals and operating points of tables on any engine: the values of the NumPy functions.

The estimate equals :func:`tpauc.tpauc_score` bit for bit. The interval is the large-sample one (``method="delong"`` of
:func:`tpauc.tpauc_interval`) whatever the number of rows: tables of this size need no resampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tpauc._validation import (
    brief,
    check_count,
    check_flag,
    check_number,
    check_open_share,
    check_positive,
    check_share,
)
from tpauc.frames._alarm_thresholds import alarms_at, picked_thresholds
from tpauc.frames._clusters import Clusters, by_cluster
from tpauc.frames._columns import Columns, check_columns, column_names
from tpauc.frames._counting import Counted, Key, count
from tpauc.frames._engines import as_frame, is_path
from tpauc.frames._selecting import Pairs, add_up_pairs, check_classes, hard_selection
from tpauc.frames.opening import open_files
from tpauc.metrics.area import tie_credit
from tpauc.metrics.histogram import BINS, Histogram
from tpauc.metrics.intervals import Interval, large_sample_interval
from tpauc.metrics.operating_points import AlarmCounts, OperatingPoint, point_of_counts
from tpauc.metrics.thresholds import MAX_TPR, ThresholdRule
from tpauc.region import Region


@dataclass(frozen=True)
class Evaluation:
    """What :func:`evaluate` finds for one score column in one subgroup.

    ``by`` maps the subgroup columns to their values. ``error`` is how far ``interval.estimate`` can be from the exact
    value: 0.0 unless a ``tolerance`` was given. ``n_clusters`` is None without ``groups``. ``point`` is what
    :func:`tpauc.operating_point` returns: judged on the rows that its threshold was picked on.
    """

    score: str
    by: dict[str, Any]
    n_positive: int
    n_negative: int
    interval: Interval
    point: OperatingPoint
    error: float = 0.0
    n_clusters: int | None = None


def tpauc_score(
    table: Any,
    *,
    label: str,
    score: str,
    alpha: float,
    beta: float,
    pos_label: Any = None,
    normalize: bool = True,
    ties: str = "half",
) -> float:
    """Two-way partial AUC of a table, as :func:`tpauc.tpauc_score` of arrays.

    Parameters
    ----------
    table : DuckDB relation, Polars frame, PySpark DataFrame, Ibis table, pandas DataFrame, pyarrow Table or Dataset,
        or a path, a glob, a folder or a list of paths of Parquet, CSV or CSV.GZ files
        The rows. Files are read by DuckDB.
    label : str
        Column with labels 0/1 or -1/1 as numbers or booleans; with ``pos_label`` any two values.
    score : str
        Column with scores, higher for the positive class: any finite numbers. Decimals are read as float64.
    alpha, beta, normalize, ties
        As in :func:`tpauc.tpauc_score`.
    pos_label : optional
        The label of the positive class; the other label is then the negative class.

    Returns
    -------
    float

    Examples
    --------
    >>> import pyarrow
    >>> y = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> table = pyarrow.table({"y": y, "model": [0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1]})
    >>> tpauc_score(table, label="y", score="model", alpha=0.5, beta=0.5)
    0.25
    """
    region = Region(alpha, beta)
    return partial_auc_score(
        table, label=label, score=score, region=region, pos_label=pos_label, normalize=normalize, ties=ties
    )


def partial_auc_score(
    table: Any,
    *,
    label: str,
    score: str,
    region: Region,
    pos_label: Any = None,
    normalize: bool = True,
    ties: str = "half",
) -> float:
    """Area inside any rectangle of the ROC plot, as :func:`tpauc.partial_auc_score` of arrays.

    Parameters
    ----------
    table, label, score, pos_label, normalize, ties
        As in :func:`tpauc_score`.
    region : tpauc.Region
        The rectangle.

    Returns
    -------
    float

    Examples
    --------
    >>> import pyarrow
    >>> from tpauc import Region
    >>> y = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> table = pyarrow.table({"y": y, "model": [0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1]})
    >>> partial_auc_score(table, label="y", score="model", region=Region(alpha=1, beta=0.5, min_alpha=0.5))
    1.0
    """
    if not isinstance(region, Region):
        raise TypeError(f"region must be a tpauc.Region, got {brief(region)}")
    check_flag(normalize, "normalize")
    tie = tie_credit(ties)
    counted = count(columns_of(table, label, [score], pos_label))
    check_classes(counted, label, {(): ""})
    selections = {(): hard_selection(counted.series[()], region)}
    value = add_up_pairs(counted, selections, powers=False)[()].sums.estimate(tie)
    return value if normalize else value * region.area


def opauc_score(
    table: Any,
    *,
    label: str,
    score: str,
    beta: float,
    min_fpr: float = 0.0,
    pos_label: Any = None,
    normalize: bool = True,
    ties: str = "half",
) -> float:
    """One-way partial AUC of a table, as :func:`tpauc.opauc_score` of arrays; the table as in :func:`tpauc_score`.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"y": [1, 1, 0, 0, 0, 0], "model": [0.9, 0.4, 0.5, 0.3, 0.2, 0.1]})
    >>> opauc_score(table, label="y", score="model", beta=0.5)
    0.75
    """
    upper, lower = check_share(beta, "beta"), check_number(min_fpr, "min_fpr")
    if not 0.0 <= lower < upper:
        raise ValueError(f"min_fpr must be in [0, beta) = [0, {upper}), got {min_fpr!r}")
    region = Region(1.0, upper, min_beta=lower)
    return partial_auc_score(
        table, label=label, score=score, region=region, pos_label=pos_label, normalize=normalize, ties=ties
    )


def auc_score(table: Any, *, label: str, score: str, pos_label: Any = None, ties: str = "half") -> float:
    """Area under the whole ROC curve of a table, as :func:`tpauc.auc_score` of arrays.

    Examples
    --------
    >>> import pyarrow
    >>> auc_score(pyarrow.table({"y": [1, 1, 0, 0], "model": [0.9, 0.4, 0.5, 0.4]}), label="y", score="model")
    0.625
    """
    return tpauc_score(table, label=label, score=score, alpha=1.0, beta=1.0, pos_label=pos_label, ties=ties)


def evaluate(
    table: Any,
    *,
    label: str,
    score: str | Sequence[str],
    alpha: float,
    beta: float,
    groups: str | None = None,
    by: str | Sequence[str] | None = None,
    pos_label: Any = None,
    tolerance: float | None = None,
    confidence: float = 0.95,
    rule: str = MAX_TPR,
    guarantee: float | None = None,
    miss_cost: float | None = None,
    alarm_cost: float | None = None,
    capacity: Sequence[float] | None = None,
) -> list[Evaluation]:
    """TPAUC with its interval and the operating point, for each score column and each subgroup of a table.

    Parameters
    ----------
    table, label, alpha, beta, pos_label
        As in :func:`tpauc_score`.
    score : str or sequence of str
        One or several score columns. All of them are evaluated by the same queries.
    groups : str, optional
        Column that says which rows belong together (the images of a patient). The variance is then by cluster: the
        influences of a cluster's rows are added first.
    by : str or sequence of str, optional
        Columns whose values make subgroups (site, month), each evaluated on its own.
    tolerance : float, optional
        How far an estimate may be from the exact value. If the first pass bounds all of them that well, it is the
        only one; otherwise the values are exact. Not with ``groups``, nor with another rule or a guarantee.
    confidence : float, default=0.95
        Of the intervals, in (0, 1).
    rule, guarantee, miss_cost, alarm_cost, capacity
        How the threshold is picked, as in :func:`tpauc.operating_point`. All but the default need two to four more
        passes. A guarantee with ``groups`` is for whole groups.

    Returns
    -------
    list of Evaluation
        Subgroups in ascending order, score columns in the order given.

    Examples
    --------
    >>> import numpy as np, pyarrow
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(10_000) < 0.1
    >>> table = pyarrow.table({"y": y, "model": rng.normal(size=y.size) + 2 * y})
    >>> found, = evaluate(table, label="y", score="model", alpha=0.3, beta=0.3)
    >>> print(f"{found.interval.estimate:.3f} in {found.interval.low:.3f} to {found.interval.high:.3f}")
    0.375 in 0.323 to 0.429
    """
    region = Region(alpha, beta)
    confidence = check_open_share(confidence, "confidence")
    if tolerance is not None and groups is not None:
        raise ValueError("tolerance cannot be combined with groups: a variance by cluster needs all passes")
    picked = ThresholdRule(rule, guarantee, miss_cost, alarm_cost, capacity)
    by_default = picked == ThresholdRule()
    if tolerance is not None and not by_default:
        raise ValueError(
            f"tolerance cannot be combined with rule={rule!r}, guarantee={guarantee!r}: they need all passes"
        )
    error = None if tolerance is None else check_positive(tolerance, "tolerance")
    columns = columns_of(table, label, _names(score, "score"), pos_label, _names(by, "by"), groups)
    counted = count(columns) if error is None else count(columns, BINS)
    names = {key: _series_name(columns, key) for key in counted.series}
    check_classes(counted, label, names)
    keys = _ordered(counted)
    if error is not None:
        histograms = {key: _as_histogram(counted, key) for key in keys}
        bounds = {key: histograms[key].bounds(alpha=alpha, beta=beta) for key in keys}
        if all(bound.error <= error for bound in bounds.values()):
            return [_bounded(columns, key, histograms[key], region, confidence) for key in keys]
    selections = {key: hard_selection(counts, region) for key, counts in counted.series.items()}
    thresholds = {} if by_default else picked_thresholds(counted, picked, region)
    point = region if by_default else None
    pairs = add_up_pairs(counted, selections, powers=True, point=point, borders=columns.clustered)
    alarms: dict[Key, AlarmCounts] = {}
    if by_default:
        found = {key: pairs[key].threshold(region) for key in keys}
        thresholds, alarms = {key: found[key].score for key in keys}, {key: found[key].alarms for key in keys}
    clusters = by_cluster(counted, pairs, thresholds) if columns.clustered else {}
    if clusters:
        alarms = {key: clusters[key].alarms for key in keys}
    elif not by_default:
        alarms = alarms_at(counted, thresholds)
    points = {key: point_of_counts(thresholds[key], alarms[key], region, confidence, picked) for key in keys}
    return [_exact(columns, key, pairs[key], points[key], clusters.get(key)) for key in keys]


def histogram(table: Any, *, label: str, score: str, pos_label: Any = None, bins: int = BINS) -> Histogram:
    """Histogram of a table's scores, made by its engine in one pass; one class may be missing.

    Examples
    --------
    >>> import pyarrow
    >>> histogram(pyarrow.table({"y": [1, 0, 0], "model": [0.9, 0.5, 0.1]}), label="y", score="model")
    Histogram(1 positives and 2 negatives in 65536 bins)
    """
    size = check_count(bins, "bins")
    return _as_histogram(count(columns_of(table, label, [score], pos_label), size), (), size)


# ----------------------------------------------------------------------------------------------------------- one series


def _exact(columns: Columns, key: Key, pairs: Pairs, point: OperatingPoint, clusters: Clusters | None) -> Evaluation:
    sums = pairs.sums
    moments = sums.moments() if clusters is None else clusters.moments
    selected = (sums.k_positive, sums.k_negative) if clusters is None else clusters.selected
    return Evaluation(
        _score_of(columns, key),
        _by_of(columns, key),
        pairs.n_positive,
        pairs.n_negative,
        large_sample_interval(sums.estimate(), moments, selected, point.confidence),
        point,
        n_clusters=None if clusters is None else clusters.number,
    )


def _bounded(columns: Columns, key: Key, counts: Histogram, region: Region, confidence: float) -> Evaluation:
    return Evaluation(
        _score_of(columns, key),
        _by_of(columns, key),
        int(counts.positives.sum()),
        int(counts.negatives.sum()),
        counts.interval(alpha=region.alpha, beta=region.beta, confidence=confidence),
        counts.operating_point(alpha=region.alpha, beta=region.beta, confidence=confidence),
        error=counts.bounds(alpha=region.alpha, beta=region.beta).error,
    )


def _as_histogram(counted: Counted, key: Key, bins: int = BINS) -> Histogram:
    """Return the counts of the first cells as a histogram."""
    found, counts = Histogram(bins), counted.series[key]
    found.positives[counts.cells] = counts.positives
    found.negatives[counts.cells] = counts.negatives
    return found


# --------------------------------------------------------------------------------------------------- tables and names


def columns_of(
    table: Any,
    label: str,
    scores: list[str],
    pos_label: Any,
    by: list[str] | None = None,
    groups: str | None = None,
) -> Columns:
    """Open a table that is given by paths, and check its columns."""
    others = [*(by or []), *([] if groups is None else [groups])]
    if is_path(table):
        table = open_files(table, label=label, scores=scores, others=others, pos_label=pos_label)
    return check_columns(as_frame(table), label=label, scores=scores, by=by or [], groups=groups, pos_label=pos_label)


def _names(value: str | Sequence[str] | None, argument: str) -> list[str]:
    """Return one or several names of columns as a list."""
    names = column_names(value, argument)
    if argument == "score" and not names:
        raise ValueError("score must name at least one column, got none")
    return names


def _score_of(columns: Columns, key: Key) -> str:
    return columns.scores[key[0] if len(columns.scores) > 1 else 0]


def _by_of(columns: Columns, key: Key) -> dict[str, Any]:
    return dict(zip(columns.by, key[len(key) - len(columns.by) :], strict=True))


def _series_name(columns: Columns, key: Key) -> str:
    return " and ".join(f"{name}={value!r}" for name, value in _by_of(columns, key).items())


def _ordered(counted: Counted) -> list[Key]:
    """Return the keys by subgroup and then by model; null comes last, values of unlike types in order of appearance."""
    n_by = len(counted.columns.by)

    def place(key: Key) -> tuple[Any, ...]:
        subgroup = key[len(key) - n_by :]
        return tuple((value is None, 0 if value is None else value) for value in subgroup) + key[: len(key) - n_by]

    try:
        return sorted(counted.series, key=place)
    except TypeError:
        return list(counted.series)
