"""The same figures for every subgroup of the rows, and the largest gap between two of them.

Each subgroup has its own areas, with its own region, and its own rates at a threshold that is common to all. The
largest gap between two TPAUCs is judged by the limits of both intervals (Zou and Donner, 2008): for ``a > b`` the
deviation of the difference is ``sqrt((a - low_a)^2 + (high_b - b)^2)`` over the normal quantile, so the p-value agrees
with the intervals that are shown. It is multiplied by the number of pairs of subgroups (Bonferroni).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tpauc._notebook import html_table, limits_text
from tpauc._validation import BoolArray, FloatArray, check_column, check_groups, check_labels_and_scores, check_number
from tpauc.metrics.intervals import IntArray, Interval, IntervalOptions, intervals_in_regions
from tpauc.metrics.operating_points import operating_point
from tpauc.region import Region

MOST_SUBGROUPS = 100
"""Subgroups that the command line takes: with more, each has few rows, and the correction leaves no gap to be seen."""


@dataclass(frozen=True)
class RateOfRows:
    """A share of some rows, with the exact (Clopper-Pearson) limits of a proportion."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Subgroup:
    """The figures of one subgroup; areas and rates are None where ``reason`` says why they have no meaning."""

    name: Any
    n_positive: int
    n_negative: int
    tpauc: Interval | None
    opauc: Interval | None
    auc: Interval | None
    tpr: RateOfRows | None
    fpr: RateOfRows | None
    reason: str = ""

    @property
    def n_rows(self) -> int:
        """Number of rows of the subgroup."""
        return self.n_positive + self.n_negative


@dataclass(frozen=True)
class Gap:
    """The two subgroups whose TPAUCs differ most; the p-value allows for having picked them among all pairs."""

    better: Any
    worse: Any
    difference: float
    p_value: float


@dataclass(frozen=True)
class SubgroupTable:
    """What :func:`evaluate_by` returns: subgroups from the smallest on, the common threshold, and the largest gap."""

    subgroups: list[Subgroup]
    threshold: float
    largest_gap: Gap | None

    def _repr_html_(self) -> str:
        rows = [
            [str(part.name), f"{part.n_positive:,}", f"{part.n_negative:,}"]
            + [_shown(value) for value in (part.tpauc, part.tpr, part.fpr)]
            for part in self.subgroups
        ]
        notes = [f"{part.name}: {part.reason}" for part in self.subgroups if part.reason]
        if self.largest_gap is not None:
            gap = self.largest_gap
            notes.append(f"Largest gap: {gap.better} minus {gap.worse} = {gap.difference:.4f}, p = {gap.p_value:.3g}.")
        header = ["subgroup", "positives", "negatives", "TPAUC", "TPR", "FPR"]
        return html_table(f"Subgroups, alarm at score >= {self.threshold:.6g}", rows, header=header, notes=notes)


def _shown(value: Interval | RateOfRows | None) -> str:
    return "" if value is None else f"{value.estimate:.4f} ({limits_text(value.low, value.high)})"


def evaluate_by(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    by: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    threshold: float | None = None,
    confidence: float = 0.95,
    method: Literal["auto", "bootstrap", "delong"] = "auto",
    n_resamples: int = 2000,
    groups: npt.ArrayLike | None = None,
    pos_label: Any = None,
    random_state: int | np.random.Generator | None = None,
) -> SubgroupTable:
    """Evaluate a model in every subgroup of the rows, and test the largest gap.

    Parameters
    ----------
    y_true, y_score : array-like of shape (n,)
        Labels and scores, as in :func:`tpauc_interval`.
    by : array-like of shape (n,)
        The subgroup of each row: age class, device, country.
    alpha, beta : float
        The region, taken within each subgroup: ``alpha`` of its positives, ``beta`` of its negatives.
    threshold : float, optional
        A row is predicted positive when its score is at least this. By default the threshold of
        :func:`operating_point` on all rows, which is then judged by the rows that it was picked on.
    confidence, method, n_resamples, groups, pos_label, random_state
        As in :func:`tpauc_interval`. The rates at the threshold take rows as independent; groups are for the areas.

    Returns
    -------
    SubgroupTable
        With ``subgroups``, the smallest first, ``threshold``, and ``largest_gap``, None if fewer than two subgroups
        have a TPAUC. A subgroup without a class, or in which the region selects no row, is listed with a ``reason``.

    References
    ----------
    G. Y. Zou and A. Donner (2008), Construction of confidence limits about effect measures: a general approach.
    Statistics in Medicine 27.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.2
    >>> site = np.where(np.arange(2000) < 500, "north", "south")
    >>> score = rng.normal(size=2000) + np.where(site == "north", 1, 3) * y
    >>> found = evaluate_by(y, score, site, alpha=0.3, beta=0.3, random_state=0)
    >>> [(part.name, part.n_rows) for part in found.subgroups]
    [('north', 500), ('south', 1500)]
    >>> found.largest_gap.worse, found.largest_gap.p_value < 0.01
    ('north', True)
    """
    options = IntervalOptions(confidence, method, n_resamples, random_state)
    region = Region(alpha, beta)
    positive, scores = check_labels_and_scores(y_true, y_score, pos_label=pos_label)
    codes = None if groups is None else check_groups(groups, positive)
    if threshold is None:
        threshold = operating_point(positive, scores, alpha=alpha, beta=beta).threshold
    else:
        threshold = check_number(threshold, "threshold")
    return subgroups_in_region(positive, scores, by, region, options, threshold, codes)


def subgroups_in_region(
    positive: BoolArray,
    scores: FloatArray,
    by: npt.ArrayLike,
    region: Region,
    options: IntervalOptions,
    threshold: float,
    codes: IntArray | None = None,
) -> SubgroupTable:
    """Return :func:`evaluate_by` for labels and scores that are checked already, with groups as numbers from 0 on."""
    names, of_row = _subgroups(by, positive)
    found = []
    for place, name in enumerate(names):
        rows = of_row == place
        own_codes = None if codes is None else np.unique(codes[rows], return_inverse=True)[1].ravel()
        found.append(_subgroup(name, positive[rows], scores[rows], region, options, threshold, own_codes))
    found.sort(key=lambda part: part.n_rows)
    return SubgroupTable(found, threshold, largest_gap(found, options.confidence))


def _subgroups(by: npt.ArrayLike, positive: BoolArray) -> tuple[list[Any], IntArray]:
    """Return the names of the subgroups, and the number of the subgroup of each row."""
    values = check_column(by, "by")
    if values.shape != positive.shape:
        raise ValueError(f"by must hold one subgroup per row, shape {positive.shape}, got shape {values.shape}")
    rows = values.tolist()
    missing = [place for place, value in enumerate(rows) if value is None or value != value]
    if missing:
        raise ValueError(
            f"by must name the subgroup of every row, found {rows[missing[0]]!r} at position {missing[0]}; "
            "give missing values a name of their own"
        )
    numbers = {name: number for number, name in enumerate(dict.fromkeys(rows))}
    return list(numbers), np.array([numbers[name] for name in rows], dtype=np.intp)


def _subgroup(
    name: Any,
    positive: BoolArray,
    scores: FloatArray,
    region: Region,
    options: IntervalOptions,
    threshold: float,
    groups: IntArray | None,
) -> Subgroup:
    n_positive = int(np.count_nonzero(positive))
    n_negative = positive.size - n_positive
    alarm = scores >= threshold
    tpr, fpr = (
        share_of_rows(int(np.count_nonzero(alarm[side])), int(np.count_nonzero(side)), options.confidence)
        for side in (positive, ~positive)
    )
    reason, areas = "", None
    try:
        region.hard_positives(n_positive)
        region.hard_negatives(n_negative)
        if groups is not None:
            check_groups(groups, positive)
    except ValueError as error:
        reason = str(error)
    else:
        regions = region, Region(1.0, region.beta), Region(1.0, 1.0)
        areas = intervals_in_regions(positive, scores, regions, options, groups=groups)
    tpauc, opauc, auc = (None, None, None) if areas is None else areas
    return Subgroup(name, n_positive, n_negative, tpauc, opauc, auc, tpr, fpr, reason)


def share_of_rows(k: int, n: int, confidence: float) -> RateOfRows | None:
    """Return the share of ``k`` among ``n`` rows with its limits, None without rows.

    >>> found = share_of_rows(9, 10, 0.95)
    >>> print(f"{found.estimate} in {found.low:.3f} to {found.high:.3f}")
    0.9 in 0.555 to 0.997
    """
    from scipy.special import betaincinv

    tail = (1.0 - confidence) / 2.0
    if n == 0:
        return None
    low = float(betaincinv(k, n - k + 1, tail)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 1.0 - tail)) if k < n else 1.0
    return RateOfRows(k / n, low, high)


def largest_gap(found: list[Subgroup], confidence: float) -> Gap | None:
    """Return the largest gap between two subgroups that have a TPAUC, None if there are fewer than two."""
    from tpauc.metrics._delong import quantile, two_sided_p_value

    known = [(part.name, part.tpauc) for part in found if part.tpauc is not None]
    pairs = list(itertools.combinations(known, 2))
    if not pairs:
        return None
    largest = max(pairs, key=lambda pair: abs(pair[0][1].estimate - pair[1][1].estimate))
    (worse, below), (better, above) = sorted(largest, key=lambda part: part[1].estimate)
    difference = above.estimate - below.estimate
    reach = math.hypot(above.estimate - above.low, below.high - below.estimate)
    deviations = difference * quantile(confidence, math.inf) / reach if reach > 0.0 else 0.0
    p_value = min(1.0, len(pairs) * two_sided_p_value(deviations, math.inf))
    return Gap(better, worse, difference, p_value)
