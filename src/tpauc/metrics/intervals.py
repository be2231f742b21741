"""Confidence intervals of TPAUC: how they can be made, and which way suits the data.

There are two methods. ``"bootstrap"`` is stratified: ``n+`` positives and ``n-`` negatives are drawn with replacement,
each class on its own, and the statistic is the exact TPAUC of the drawn rows, ties counted half (`_bootstrap` says how
to do that quickly). ``"delong"`` takes TPAUC to be normally distributed, with the variance that follows from the
influence of each row (`_delong`). With many rows they agree, and resampling takes long. Where few rows decide,
``"delong"`` claims too much, however many rows there are: with 5,000 negatives and 20 positives, 2 of them hard, it
told equal models apart at 5 % in 28 % of 300 simulated cases, the bootstrap in 4 %.

``"auto"`` therefore takes the bootstrap unless it takes long and many rows decide. With few positives it is quick: all
that then matters of the negatives is their places between the positives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tpauc._notebook import html_table, limits_text
from tpauc._validation import (
    BoolArray,
    FloatArray,
    check_choice,
    check_count,
    check_groups,
    check_labels_and_scores,
    check_moderate_weight,
    check_open_share,
    check_random_state,
    check_same_length,
    check_scores,
)
from tpauc.metrics._bootstrap import ROWS_PER_GROUP, percentile_limits, two_sided_resamples
from tpauc.metrics._delong import (
    Moments,
    contributions,
    contributions_of_runs,
    influences,
    quantile,
    units_inside,
    weighted_influences,
)
from tpauc.metrics._pairs import repeats_rows, scaled_by_class
from tpauc.metrics._unit_bootstrap import Units, two_sided_unit_resamples
from tpauc.metrics.area import area_in_region, check_region
from tpauc.metrics.large_sample import logit_limits
from tpauc.region import Region

IntArray = npt.NDArray[np.intp]

METHODS = ("auto", "bootstrap", "delong")
HARD_EXAMPLES_NEEDED = 5
"""Hard examples of a class below which intervals cover too seldom: see the notes of :func:`tpauc_interval`."""

_LEAST_COVERAGE = {1: 44, 2: 78, 3: 85, 4: 89}  # in %, by the number of hard positives, in `benchmarks/coverage.py`
_MOST_DRAWS = 40_000_000  # rows drawn in all resamples together; takes about two seconds
_FAR_TOO_MANY_DRAWS = 10 * _MOST_DRAWS
_MANY = 100  # rows that decide, as their effective number has it


@dataclass(frozen=True)
class Interval:
    """An estimated TPAUC and the limits of its confidence interval; what :func:`tpauc_interval` returns.

    Attributes
    ----------
    estimate, low, high : float
        The estimate and its limits.
    method : str
        The method that was taken, "bootstrap" or "delong".
    hard_positives, hard_negatives : int
        How many positives and negatives the region selects; with groups, how many groups they make up, counted by the
        weight of each.
    caution : str
        What to know about an interval from fewer than 5 of either; empty otherwise.
    """

    estimate: float
    low: float
    high: float
    method: str = field(repr=False)
    hard_positives: int = field(default=0, repr=False)
    hard_negatives: int = field(default=0, repr=False)

    @property
    def caution(self) -> str:
        """What to know about an interval from few hard examples; empty if there are enough of them."""
        return caution_of(self.hard_positives, self.hard_negatives)

    def __repr__(self) -> str:
        caution = f", caution={self.caution!r}" if self.caution else ""
        return f"Interval(estimate={self.estimate!r}, low={self.low!r}, high={self.high!r}{caution})"

    def __str__(self) -> str:
        hard = f"{self.hard_positives:,} hard positives, {self.hard_negatives:,} hard negatives; "
        counted = hard if self.hard_positives else ""  # a rate has none
        line = f"{self.estimate:.4f} in {limits_text(self.low, self.high)} ({counted}{self.method})"
        return f"{line}\n  {self.caution}" if self.caution else line

    def _repr_html_(self) -> str:
        rows = [["estimate", f"{self.estimate:.4f}"], ["interval", limits_text(self.low, self.high)]]
        if self.hard_positives:
            hard = f"{self.hard_positives:,} positives, {self.hard_negatives:,} negatives"
            rows.append(["in the region", hard])
        return html_table("Confidence interval", [*rows, ["method", self.method]], notes=[self.caution])


def caution_of(hard_positives: int, hard_negatives: int) -> str:
    """Return what to know about an interval from so many hard examples; empty if that is nothing, or they are 0."""
    few = min(hard_positives, hard_negatives)
    if few == 0 or few >= HARD_EXAMPLES_NEEDED:  # a rate has no hard examples
        return ""
    return (
        f"the region selects {hard_positives:,} positives and {hard_negatives:,} negatives; with fewer than "
        f"{HARD_EXAMPLES_NEEDED} of either the interval is too narrow: with {few}, 95 % intervals held the truth in "
        f"as little as {_LEAST_COVERAGE[few]} % of simulated samples"
    )


@dataclass(frozen=True)
class IntervalOptions:
    """How intervals are made, checked; the parameters of :func:`tpauc_interval` and :func:`tpauc.compare_tpauc`."""

    confidence: float = 0.95
    method: str = "auto"
    n_resamples: int = 2000
    random_state: int | np.random.Generator | None = None

    def __post_init__(self) -> None:
        check_choice(self.method, "method", METHODS)
        confidence = check_open_share(self.confidence, "confidence")
        n_resamples = check_count(self.n_resamples, "n_resamples")
        # 2 / (1 - 0.9) is 20.000000000000004, which must not ask for 21.
        needed = math.ceil(2.0 / (1.0 - confidence) * (1.0 - 1e-12)) - 1
        if n_resamples < needed and self.method != "delong":
            raise ValueError(
                f"n_resamples must be at least {needed} for confidence={confidence}, got {self.n_resamples!r}"
            )
        check_random_state(self.random_state)
        object.__setattr__(self, "confidence", confidence)
        object.__setattr__(self, "n_resamples", n_resamples)

    def generator(self) -> np.random.Generator:
        """Return the source of draws: a new one for a seed, so that each interval is reproducible on its own."""
        return check_random_state(self.random_state)

    def chosen_method(self, drawn: Callable[[], int], n_deciding: Callable[[], float]) -> str:
        """Return "bootstrap" or "delong", given how many rows a resample draws, and how many decide."""
        if self.method != "auto":
            return self.method
        draws = drawn() * self.n_resamples
        if draws <= _MOST_DRAWS:
            return "bootstrap"
        return "delong" if draws > _FAR_TOO_MANY_DRAWS or n_deciding() >= _MANY else "bootstrap"


def tpauc_interval(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
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
) -> Interval:
    """Confidence interval of :func:`~tpauc.metrics.area.tpauc_score`, by a stratified bootstrap or for large samples.

    ``"bootstrap"``: the limits are percentiles of resamples, and each allows for what the sample may have missed. For
    the lower limit the hardest row of each class is put into the data once more before resampling, for the upper limit
    the easiest (as the exact interval of a proportion counts one failure more, then one success more). Then, in
    ``log(x / (1 - x))``, each limit moves away from the estimate, by the ratio of Student's quantile to the normal one.
    The degrees of freedom are the effective number of rows that decide, ``m = (sum of l^2)^2 / (sum of l^4)`` with
    ``l`` the influence of a row on TPAUC: so many equal influences would vary as much. Both corrections lose their
    weight as the data grow, and the interval becomes the percentile interval.

    ``"delong"``: the limits are quantiles of Student's distribution in ``log(x / (1 - x))``, which keeps them within
    (0, 1), with ``m`` degrees of freedom and the variance by the method of DeLong, DeLong and Clarke-Pearson (1988),
    extended to the region. No resampling, no randomness.

    ``"auto"``: the bootstrap, unless it takes long (more than about two seconds) and at least 100 rows decide, as ``m``
    has it, where the two methods agree; or unless it takes ten times as long.

    Where the region is ranked perfectly, no method sees any spread to read a limit from. The lower limit is then
    ``((1 - confidence) / 2) ** (1 / min(k+, k-))``, the exact one of a proportion without a failure among that many;
    where TPAUC is 0, the upper limit is 1 minus this number.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1, as bool, int or float; any two labels with ``pos_label``.
    y_score : array-like of shape (n,)
        Scores, higher for the positive class.
    alpha, beta : float
        The region, as in :func:`~tpauc.metrics.area.tpauc_score`; each in (0, 1].
    confidence : float, default=0.95
        In (0, 1).
    method : {"auto", "bootstrap", "delong"}, default="auto"
        How the interval is made.
    n_resamples : int, default=2000
        Of the bootstrap. At least ``2 / (1 - confidence) - 1``, so that a resample lies beyond each limit.
    groups : array-like of shape (n,), optional
        The patient, card or site of each row. Rows of a group may be alike, so groups are what varies: the variance is
        over groups, whose rows add up their influences, and the bootstrap draws whole groups, those that hold a
        positive and those that hold none apart. The hardest and easiest group, rather than row, is the one that is put
        in once more. Each class needs rows in at least two groups. If every row is its own group, the variance is the
        same as without groups.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights. Whole numbers stand for repeated rows, and give what the repeated rows give, by either
        method. Other weights count as in :func:`~tpauc.metrics.area.tpauc_score`, and a row is one observation
        whatever its weight: its influence is multiplied by the weight, and the bootstrap draws rows with their weights.
    pos_label : label, optional
        The label of the positive class, needed if labels are not 0/1, -1/1 or booleans.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or source of the draws of the bootstrap. An int gives the same interval each time; None a new one.

    Returns
    -------
    Interval
        With ``estimate``, ``low`` and ``high``, where ``low <= estimate <= high``; ``method``, the one that was taken,
        "bootstrap" or "delong"; ``hard_positives`` and ``hard_negatives``, how many the region selects; and
        ``caution``, a sentence if these are fewer than 5.

    Notes
    -----
    The bootstrap was chosen by its coverage of the truth in simulations (`benchmarks/coverage.py`: normal scores of
    equal and unequal variance, with and without ties, 95 % wanted, 300 or 400 repetitions). In 173 settings with at
    least 6 hard positives (TPAUC from 0.02 to 0.99, 20 to 1,000 positives, three regions, up to 500,000 rows) it covers
    91 % to 100 %: less than 93 % in two of them, both at 0.99 with positives of twice the spread, and more than 98 % in
    74, mostly with up to 100 positives. Without the move by Student's quantile it is 65 % to 99 %, the less the closer
    to 1, since the loss is then due to a few rows that another sample may not hold. By ``"delong"`` 95 % to 100 % are
    covered in 12 settings from 0.2 to 0.95 with at least 15 hard positives.

    With ``groups`` (60 groups of positives, half of the variance in common) the bootstrap covers 97 % to 100 %,
    ``"delong"`` 95 % to 99 %.

    What the sample does not show it cannot allow for. With 5 hard positives 91 % or more are covered, with 4 in the
    worst case 89 %, with 3 85 %, with 2 78 %, with a single one 44 %. ``caution`` says so.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(1000) < 100
    >>> score = rng.normal(size=1000) + 2 * y
    >>> interval = tpauc_interval(y, score, alpha=0.3, beta=0.3, random_state=0)
    >>> print(f"{interval.estimate:.2f} in {interval.low:.2f} to {interval.high:.2f} by {interval.method}")
    0.52 in 0.33 to 0.67 by bootstrap
    """
    return partial_auc_interval(
        y_true,
        y_score,
        region=Region(alpha, beta),
        confidence=confidence,
        method=method,
        n_resamples=n_resamples,
        groups=groups,
        sample_weight=sample_weight,
        pos_label=pos_label,
        random_state=random_state,
    )


def partial_auc_interval(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    region: Region,
    confidence: float = 0.95,
    method: Literal["auto", "bootstrap", "delong"] = "auto",
    n_resamples: int = 2000,
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Confidence interval of :func:`~tpauc.metrics.area.partial_auc_score` in any rectangle of the ROC plot.

    The methods are those of :func:`tpauc_interval`, which is the case of a corner. A rectangle that leaves out the
    hardest rows has a second border; rows beyond it have the influence of the row on it.

    Parameters
    ----------
    y_true, y_score, confidence, method, n_resamples, groups, sample_weight, pos_label, random_state
        As in :func:`tpauc_interval`.
    region : tpauc.Region
        The rectangle.

    Returns
    -------
    Interval
        As in :func:`tpauc_interval`.

    Notes
    -----
    In `benchmarks/coverage.py` (normal scores; the lower left, TPR up to 0.5; a middle band of both rates; a
    band of the FPR; areas from 0.5 to 0.95, 50 or 200 positives, 95 % wanted, 300 repetitions) the bootstrap covers
    95 % to 99 % in 18 settings, ``"delong"`` 94 % to 99 %.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(1000) < 100
    >>> score = rng.normal(size=1000) + 2 * y
    >>> lower_left = Region(alpha=1, beta=0.2, min_alpha=0.5)  # TPR <= 0.5
    >>> interval = partial_auc_interval(y, score, region=lower_left, random_state=0)
    >>> print(f"{interval.estimate:.2f} in {interval.low:.2f} to {interval.high:.2f}")
    0.98 in 0.94 to 0.99
    """
    options = IntervalOptions(confidence, method, n_resamples, random_state)
    check_region(region)
    rows = check_rows(y_true, {"y_score": y_score}, sample_weight, groups, pos_label)
    return intervals_in_regions(
        rows.positive, rows.scores[0], [region], options, weight=rows.weight, groups=rows.groups
    )[0]


@dataclass(frozen=True)
class CheckedRows:
    """Labels and scores of some models, with weights above 0 and numbers of groups where a user gave them."""

    positive: BoolArray
    scores: list[FloatArray]
    weight: FloatArray | None
    groups: IntArray | None


def check_rows(
    y_true: npt.ArrayLike,
    scores: Mapping[str, npt.ArrayLike],
    sample_weight: npt.ArrayLike | None,
    groups: npt.ArrayLike | None,
    pos_label: Any,
) -> CheckedRows:
    """Check what a user gave, and return it without the rows of weight 0."""
    (first, values), *others = scores.items()
    positive, checked = check_labels_and_scores(y_true, values, score_name=first, pos_label=pos_label)
    all_scores = [checked]
    for name, values in others:
        all_scores.append(check_scores(values, name))
        check_same_length("y_true", positive, name, all_scores[-1])
    weight = None if sample_weight is None else check_moderate_weight(sample_weight, positive)
    codes = None if groups is None else check_groups(groups, positive)
    if weight is not None and not weight.all():
        present = weight > 0.0
        positive, weight, all_scores = positive[present], weight[present], [s[present] for s in all_scores]
        codes = None if codes is None else check_groups(codes[present], positive)
    return CheckedRows(positive, all_scores, weight, codes)


def intervals_in_regions(
    positive: BoolArray,
    scores: FloatArray,
    regions: Sequence[Region],
    options: IntervalOptions,
    *,
    weight: FloatArray | None = None,
    groups: IntArray | None = None,
) -> list[Interval]:
    """Return the interval of each region for rows that are checked already; large data are sorted once.

    Weights are above 0, and groups are numbers from 0 on.
    """
    if weight is not None or groups is not None:
        return [_of_units(positive, scores, region, options, weight, groups) for region in regions]
    ordered = cache(partial(_sorted_by_class, positive, scores))
    return [_of_rows(positive, scores, region, options, ordered) for region in regions]


def _of_rows(
    positive: BoolArray,
    scores: FloatArray,
    region: Region,
    options: IntervalOptions,
    ordered: Callable[[], tuple[FloatArray, FloatArray]],
) -> Interval:
    """Return the interval of independent rows, given how to sort the scores of each class."""
    n_positive = int(np.count_nonzero(positive))
    n_negative = positive.size - n_positive
    harder_positives, k_positive = region.ranks_of_positives(n_positive)
    harder_negatives, k_negative = region.ranks_of_negatives(n_negative)
    selected = k_positive - harder_positives, k_negative - harder_negatives

    @cache
    def moments() -> Moments:
        positives, negatives = ordered()
        found = influences(
            positives[harder_positives:k_positive],
            negatives[n_negative - k_negative : n_negative - harder_negatives],
            (harder_positives, harder_negatives),
        )
        return contributions_of_runs(found, n_positive, n_negative)

    method = options.chosen_method(
        lambda: _drawn_rows(n_positive, k_positive, k_negative), lambda: moments().effective_number
    )
    estimate = area_in_region(positive, scores, region)
    if method == "delong":
        limits = logit_limits(estimate, moments(), options.confidence)
    else:
        resampled = two_sided_resamples(options.generator(), positive, scores, region, options.n_resamples)
        limits = _stretched_percentiles(estimate, resampled, moments(), options.confidence)
    return _interval(estimate, limits, method, selected, options.confidence, region)


def _of_units(
    positive: BoolArray,
    scores: FloatArray,
    region: Region,
    options: IntervalOptions,
    weight: FloatArray | None,
    groups: IntArray | None,
) -> Interval:
    """Return the interval of rows with weights or in groups."""
    weight = None if weight is None else scaled_by_class(weight, positive)
    full_weight = np.ones(scores.size) if weight is None else weight
    repeats = repeats_rows(full_weight)
    influence, inside = weighted_influences(positive, scores, full_weight, region)
    by_unit, times = contributions(influence, positive, weight, groups)
    moments = Moments.of(by_unit, times)
    selected = tuple(
        units_inside(inside[side], full_weight[side], None if groups is None else groups[side], repeats)
        for side in (positive, ~positive)
    )
    estimate = area_in_region(positive, scores, region, weight=weight)
    repeated_rows = repeats and groups is None

    def drawn() -> int:
        if repeated_rows:
            n_positive, n_negative = (int(full_weight[side].sum()) for side in (positive, ~positive))
            return _drawn_rows(
                n_positive, region.ranks_of_positives(n_positive)[1], region.ranks_of_negatives(n_negative)[1]
            )
        return 2 * (by_unit.size + int(np.count_nonzero(inside)))  # for each of the two limits

    method = options.chosen_method(drawn, lambda: moments.effective_number)
    if method == "delong":
        limits = logit_limits(estimate, moments, options.confidence)
    else:
        source, n_resamples = options.generator(), options.n_resamples
        if repeated_rows:
            counts = full_weight.astype(np.intp)
            resampled = two_sided_resamples(source, positive, scores, region, n_resamples, counts)
        else:
            units = Units.of(positive, weight, groups)
            resampled = two_sided_unit_resamples(source, units, scores, region, n_resamples, by_unit)
        limits = _stretched_percentiles(estimate, resampled, moments, options.confidence)
    return _interval(estimate, limits, method, selected, options.confidence, region)


def _drawn_rows(n_positive: int, k_positive: int, k_negative: int) -> int:
    """Return how many rows a resample draws, or what takes as long: few positives put negatives into groups."""
    return k_positive + min(k_negative, ROWS_PER_GROUP * (n_positive + 2))


def _sorted_by_class(positive: BoolArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the scores of the positives and of the negatives, each from the lowest up."""
    positives, negatives = scores[positive], scores[~positive]
    positives.sort()
    negatives.sort()
    return positives, negatives


def _stretched_percentiles(
    estimate: float, resampled: FloatArray, moments: Moments, confidence: float
) -> tuple[float, float]:
    """Return the lower limit of the pessimistic resamples and the upper limit of the optimistic ones.

    Both are moved away from the estimate, in log-odds, as Student's quantile is wider than the normal one.
    """
    pessimistic, optimistic = resampled
    limits = percentile_limits(pessimistic, confidence)[0], percentile_limits(optimistic, confidence)[1]
    normal = quantile(confidence, math.inf)
    if not 0.0 < estimate < 1.0 or normal < 1e-6:
        return limits
    stretch = quantile(confidence, moments.effective_number) / normal
    low, high = (_moved(estimate, limit, stretch) for limit in limits)
    return low, high


def _moved(estimate: float, limit: float, stretch: float) -> float:
    """Return a limit whose log-odds are ``stretch`` times as far from those of the estimate."""
    if not 0.0 < limit < 1.0 or limit == estimate:
        return limit
    log_odds, of_limit = (math.log(value) - math.log1p(-value) for value in (estimate, limit))
    moved = log_odds + stretch * (of_limit - log_odds)
    return 1.0 / (1.0 + math.exp(-moved)) if moved > -700.0 else 0.0


def large_sample_interval(
    estimate: float, moments: Moments, selected: tuple[float, float], confidence: float
) -> Interval:
    """Return the interval by "delong", given how many examples or groups of each class the region selects."""
    return _interval(estimate, logit_limits(estimate, moments, confidence), "delong", selected, confidence)


def _interval(
    estimate: float,
    limits: tuple[float, float],
    method: str,
    selected: tuple[float, ...],
    confidence: float,
    region: Region | None = None,
) -> Interval:
    """Return the interval, with limits that allow for what was not seen where all pairs are right, or all wrong.

    Without a region it is a corner.
    """
    low, high = limits
    unseen = ((1.0 - confidence) / 2.0) ** (1.0 / min(selected))
    if region is not None and not region.is_corner and method == "delong" and low == high:
        shares = (region.min_alpha, region.alpha), (region.min_beta, region.beta)
        unseen = min(unseen, *(_beyond_border(k, *of, confidence) for k, of in zip(selected, shares, strict=True)))
    low = unseen if low == 1.0 else low
    high = 1.0 - unseen if high == 0.0 else high
    return Interval(estimate, min(low, estimate), max(high, estimate), method, *(int(k + 1e-9) for k in selected))


def _beyond_border(k: float, min_share: float, share: float, confidence: float) -> float:
    """Return how much of the selection surely lies in the region of the population, where a sample selects ``k`` rows.

    Resamples show how far the border moves; without them it is the exact limit of a proportion, ``min_share`` of
    ``k / (share - min_share)`` rows.
    """
    if min_share == 0.0:
        return 1.0
    from scipy.special import betaincinv  # takes longer to load than all else here takes to run

    n = k / (share - min_share)
    highest = float(betaincinv(n * min_share + 1.0, n * (1.0 - min_share), (1.0 + confidence) / 2.0))
    return max(1.0 - (highest - min_share) / (share - min_share), 0.0)
