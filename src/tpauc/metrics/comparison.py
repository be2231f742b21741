"""The paired comparison of two models on the same rows: the difference of their TPAUCs, its interval, and a p-value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tpauc._notebook import html_table
from tpauc._validation import BoolArray, FloatArray
from tpauc.metrics._bootstrap import paired_draws, paired_resamples, percentile_limits
from tpauc.metrics._delong import (
    Moments,
    contributions,
    quantile,
    row_influences,
    two_sided_p_value,
    weighted_influences,
)
from tpauc.metrics._pairs import repeats_rows, scaled_by_class
from tpauc.metrics._unit_bootstrap import Units, paired_unit_resamples
from tpauc.metrics.area import area_in_region, check_region
from tpauc.metrics.intervals import IntArray, IntervalOptions, check_rows
from tpauc.region import Region

_STRETCH = 3.0  # Student's 97.5 % quantile with m degrees of freedom is about sqrt(1 + 3/m) times the normal one


@dataclass(frozen=True)
class Comparison:
    """The TPAUC of one model minus the TPAUC of another; what :func:`compare_tpauc` returns."""

    difference: float
    low: float
    high: float
    p_value: float
    method: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.difference:+.4f} in {self.low:+.4f} to {self.high:+.4f} (p = {self.p_value:.3g}; {self.method})"

    def _repr_html_(self) -> str:
        contains = self.low <= 0.0 <= self.high
        note = "The interval contains 0: no difference is shown." if contains else "The interval does not contain 0."
        rows = [
            ["first minus second", f"{self.difference:+.4f}"],
            ["interval", f"{self.low:+.4f} to {self.high:+.4f}"],
            ["p-value", f"{self.p_value:.3g}"],
            ["method", self.method],
        ]
        return html_table("Difference of two models", rows, notes=[note])


def compare_tpauc(
    y_true: npt.ArrayLike,
    score_a: npt.ArrayLike,
    score_b: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    confidence: float = 0.95,
    method: Literal["auto", "bootstrap", "delong"] = "auto",
    n_resamples: int = 2000,
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
    random_state: int | np.random.Generator | None = None,
) -> Comparison:
    """Compare two models on the same rows: TPAUC of ``score_a`` minus TPAUC of ``score_b``.

    ``"bootstrap"`` is paired: a resample holds the same rows for both models, so what makes rows hard for both cancels.
    The resampled differences are moved away from the observed one by the factor ``sqrt(1 + 3/m)``, where ``m`` is the
    effective number of rows that make the difference: the ``m`` equal contributions that would vary as much,
    ``(sum of l^2)^2 / (sum of l^4)`` with ``l`` the influence of a row. The interval lies between percentiles of these
    values, and the p-value is their two-sided tail,

        p = min(1, 2 (1 + min(#{value <= 0}, #{value >= 0})) / (n_resamples + 1)).

    ``"delong"`` takes the difference to have Student's distribution with ``m`` degrees of freedom, and the variance of
    the influences ``l`` over the rows of each class. ``"auto"`` chooses as in :func:`tpauc_interval`.

    ``n`` rows of a class say no more than ``n`` signs do: p is at least ``2^(1 - n)`` for the smaller class, so that
    with fewer than 6 rows (or groups) no difference shows at 5 %.

    Interval and p-value agree: ``p_value <= 1 - confidence`` exactly where 0 is outside ``[low, high]``. The p-value of
    the bootstrap is never 0; ``2 / (n_resamples + 1)`` says that no value was on the other side. Equal scores give
    difference 0 and p-value 1.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1, as bool, int or float; any two labels with ``pos_label``.
    score_a, score_b : array-like of shape (n,)
        Scores of the two models for the same rows, higher for the positive class; their scales may differ.
    alpha, beta, confidence, method, n_resamples, groups, sample_weight, pos_label, random_state
        As in :func:`tpauc_interval`. With whole weights the bootstrap repeats the rows in memory.

    Returns
    -------
    Comparison
        With ``difference``, ``low``, ``high``, ``p_value``, and ``method``, the one that was taken, "bootstrap" or
        "delong".

    Notes
    -----
    Bootstrap tests at 5 % of two models of equal TPAUC(0.3, 0.3), simulated 1,000 times (`benchmarks/coverage.py`),
    reject in about 3 % of the cases with 50 positives and a TPAUC of 0.2 or 0.6. At 0.95, and if the positives of one
    model spread twice as wide as those of the other, it is 4 % with 50 and 5 % with 200 positives, and 7 % if they
    spread three times as wide: there the loss of one model is due to a few rows that the sample may not hold.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(2000) < 200
    >>> noise = rng.normal(size=2000)
    >>> better, worse = noise + 2.5 * y, noise + rng.normal(size=2000) + 2 * y
    >>> comparison = compare_tpauc(y, better, worse, alpha=0.3, beta=0.3, random_state=0)
    >>> comparison.low > 0, comparison.p_value < 0.01
    (True, True)
    """
    return compare_partial_auc(
        y_true,
        score_a,
        score_b,
        region=Region(alpha, beta),
        confidence=confidence,
        method=method,
        n_resamples=n_resamples,
        groups=groups,
        sample_weight=sample_weight,
        pos_label=pos_label,
        random_state=random_state,
    )


def compare_partial_auc(
    y_true: npt.ArrayLike,
    score_a: npt.ArrayLike,
    score_b: npt.ArrayLike,
    *,
    region: Region,
    confidence: float = 0.95,
    method: Literal["auto", "bootstrap", "delong"] = "auto",
    n_resamples: int = 2000,
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
    random_state: int | np.random.Generator | None = None,
) -> Comparison:
    """Compare two models on the same rows in any rectangle of the ROC plot: area of ``score_a`` minus ``score_b``.

    Parameters
    ----------
    y_true, score_a, score_b, confidence, method, n_resamples, groups, sample_weight, pos_label, random_state
        As in :func:`compare_tpauc`, which is the case of a corner.
    region : tpauc.Region
        The rectangle.

    Returns
    -------
    Comparison
        As in :func:`compare_tpauc`.

    Notes
    -----
    At 5 % two models of equal area, the positives of one twice as wide as those of the other, were told apart in 2 % to
    5 % of 1,000 simulated cases, in 9 settings of three rectangles (`benchmarks/coverage.py`).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(2000) < 200
    >>> noise = rng.normal(size=2000)
    >>> better, worse = noise + 2.5 * y, noise + rng.normal(size=2000) + 2 * y
    >>> band = Region(alpha=1, beta=0.3, min_beta=0.1)  # 0.1 <= FPR <= 0.3
    >>> comparison = compare_partial_auc(y, better, worse, region=band, random_state=0)
    >>> comparison.low > 0, comparison.p_value < 0.01
    (True, True)
    """
    options = IntervalOptions(confidence, method, n_resamples, random_state)
    check_region(region)
    rows = check_rows(y_true, {"score_a": score_a, "score_b": score_b}, sample_weight, groups, pos_label)
    first, second = rows.scores
    return compare_in_region(rows.positive, first, second, region, options, weight=rows.weight, groups=rows.groups)


def compare_in_region(
    positive: BoolArray,
    first: FloatArray,
    second: FloatArray,
    region: Region,
    options: IntervalOptions,
    *,
    weight: FloatArray | None = None,
    groups: IntArray | None = None,
) -> Comparison:
    """Return :func:`compare_tpauc` for rows that are checked already, with weights above 0 and numbers of groups."""
    models = first, second
    weight = None if weight is None else scaled_by_class(weight, positive)
    difference, other = (area_in_region(positive, scores, region, weight=weight) for scores in models)
    difference -= other
    moments = Moments.of(*contributions(_influence(positive, models, weight, groups, region), positive, weight, groups))
    repeated_rows = groups is None and weight is not None and repeats_rows(weight)
    in_units = groups is not None or not (weight is None or repeated_rows)

    def drawn() -> int:
        # Rows that are easy for one model may be hard for the other, so a resample draws all rows, for both models.
        return 2 * (positive.size if in_units else paired_draws(positive, models, region, weight))

    method = options.chosen_method(drawn, lambda: moments.effective_number)
    if method == "delong":
        found = _by_delong(difference, moments, options.confidence)
    else:
        source, n_resamples = options.generator(), options.n_resamples
        if in_units:
            resampled = paired_unit_resamples(source, Units.of(positive, weight, groups), models, region, n_resamples)
        else:
            times = 1 if weight is None else weight.astype(np.intp)
            repeated = [np.repeat(scores, times) for scores in models]
            resampled = paired_resamples(source, np.repeat(positive, times), repeated, region, n_resamples)
        found = _by_bootstrap(difference, moments, resampled[0] - resampled[1], options.confidence)
    fewest = min(_n_units(side, weight if repeated_rows else None, groups) for side in (positive, ~positive))
    return _floor_p_value(found, fewest, options.confidence)


def _influence(
    positive: BoolArray,
    models: tuple[FloatArray, FloatArray],
    weight: FloatArray | None,
    groups: IntArray | None,
    region: Region,
) -> FloatArray:
    """Return the influence of each row on the difference, per weight."""
    if weight is None and groups is None:
        first, second = (row_influences(positive, scores, region) for scores in models)
    else:
        weight = np.ones(positive.size) if weight is None else weight
        first, second = (weighted_influences(positive, scores, weight, region).influence for scores in models)
    return first - second


def _by_bootstrap(difference: float, moments: Moments, resampled: FloatArray, confidence: float) -> Comparison:
    stretched = difference + math.sqrt(1.0 + _STRETCH / moments.effective_number) * (resampled - difference)
    low, high = percentile_limits(np.clip(stretched, -1.0, 1.0), confidence)
    fewer = int(min(np.count_nonzero(stretched <= 0.0), np.count_nonzero(stretched >= 0.0)))
    p_value = min(1.0, 2.0 * (1 + fewer) / (resampled.size + 1))
    return Comparison(difference, low, high, p_value, "bootstrap")


def _by_delong(difference: float, moments: Moments, confidence: float) -> Comparison:
    deviation = math.sqrt(moments.variance)
    if deviation == 0.0:  # the same order of all rows that count, or all pairs right in one and wrong in the other
        return Comparison(difference, difference, difference, 1.0 if difference == 0.0 else 0.0, "delong")
    reach = quantile(confidence, moments.effective_number) * deviation
    p_value = two_sided_p_value(abs(difference) / deviation, moments.effective_number)
    return Comparison(difference, max(difference - reach, -1.0), min(difference + reach, 1.0), p_value, "delong")


def large_sample_comparison(difference: float, moments: Moments, n_units: int, confidence: float) -> Comparison:
    """Return the comparison by "delong", given how many rows or groups hold the smaller class."""
    return _floor_p_value(_by_delong(difference, moments, confidence), n_units, confidence)


def _n_units(side: BoolArray, times: FloatArray | None, groups: IntArray | None) -> int:
    """Return how many independent units hold rows of a class."""
    if groups is not None:
        return int(np.unique(groups[side]).size)
    return int(np.count_nonzero(side) if times is None else times[side].sum())


def _floor_p_value(found: Comparison, n_units: int, confidence: float) -> Comparison:
    """Return a comparison with a p-value of at least ``2^(1 - n)``, ``n`` the rows or groups of the smaller class.

    This is the p-value of a sign test on ``n`` rows that all agree. Few rows may show no spread, or hardly any, from
    which resamples and variances would conclude more.
    """
    least = 2.0 ** (1 - n_units)
    if found.p_value >= least:
        return found
    low, high = found.low, found.high
    if least > 1.0 - confidence:
        low, high = min(low, 0.0), max(high, 0.0)
    return replace(found, low=low, high=high, p_value=least)
