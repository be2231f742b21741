"""Confidence intervals of TPAUC: how they can be made, and which way suits the data.

There are two methods. ``"bootstrap"`` is stratified: ``n+`` positives and ``n-`` negatives are drawn with replacement,
each class on its own, and the statistic is the exact TPAUC of the drawn rows, ties counted half (`_bootstrap` says how
to do that quickly). ``"delong"`` takes TPAUC to be normally distributed, with the variance that follows from the
influence of each row (`_delong`). With many rows they agree, and resampling takes long. Where the region selects few
examples of a class, ``"delong"`` claims too much, however many rows there are: with 5,000 negatives and 20 positives, 2
of them hard, it told equal models apart at 5 % in 28 % of 300 simulated cases, the bootstrap in 4 %.

``"auto"`` therefore takes the bootstrap unless it takes long and the region selects many examples of both classes. With
few positives it is quick: all that then matters of the negatives is their places between the positives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from tpauc._validation import (
    BoolArray,
    FloatArray,
    check_choice,
    check_count,
    check_labels_and_scores,
    check_open_share,
    check_random_state,
)
from tpauc.metrics._bootstrap import percentile_limits, two_sided_resamples
from tpauc.metrics._delong import influences, normal_quantile, variance_of_sum
from tpauc.metrics.area import area_in_region
from tpauc.region import Region

METHODS = ("auto", "bootstrap", "delong")
_MOST_DRAWS = 40_000_000  # rows drawn in all resamples together; takes about two seconds
_MANY = 50  # examples of a class in the region


@dataclass(frozen=True)
class Interval:
    """An estimated TPAUC and the limits of its confidence interval; what :func:`tpauc_interval` returns."""

    estimate: float
    low: float
    high: float
    method: str = field(repr=False)


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

    def chosen_method(self, positive: BoolArray, region: Region, *, drawn: int | None = None) -> str:
        """Return "bootstrap" or "delong"; ``drawn`` rows make a resample, by default those in the region."""
        if self.method != "auto":
            return self.method
        selected = _selected(positive, region)
        takes_long = (sum(selected) if drawn is None else drawn) * self.n_resamples > _MOST_DRAWS
        return "delong" if takes_long and min(selected) >= _MANY else "bootstrap"


def tpauc_interval(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    confidence: float = 0.95,
    method: Literal["auto", "bootstrap", "delong"] = "auto",
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Confidence interval of :func:`~tpauc.metrics.area.tpauc_score`, by a stratified bootstrap or for large samples.

    ``"bootstrap"``: the limits are percentiles of resamples, and each allows for what the sample may have missed. For
    the lower limit the hardest row of each class is put into the data once more before resampling, for the upper limit
    the easiest (as the exact interval of a proportion counts one failure more, then one success more). The extra row
    loses its weight as the data grow, and the interval becomes the percentile interval.

    ``"delong"``: the limits are normal quantiles in ``log(x / (1 - x))``, which keeps them within (0, 1), with the
    variance by the method of DeLong, DeLong and Clarke-Pearson (1988), extended to the region. No resampling, no
    randomness.

    ``"auto"``: the bootstrap, unless it takes long (more than about two seconds) and the region selects at least 50
    examples of each class, where the two methods agree.

    Where the region is ranked perfectly, no method sees any spread to read a limit from. The lower limit is then
    ``((1 - confidence) / 2) ** (1 / min(k+, k-))``, the exact one of a proportion without a failure among that many;
    where TPAUC is 0, the upper limit is 1 minus this number.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1, as bool, int or float.
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
    random_state : int, numpy.random.Generator or None, default=None
        Seed or source of the draws of the bootstrap. An int gives the same interval each time; None a new one.

    Returns
    -------
    Interval
        With ``estimate``, ``low`` and ``high``, where ``low <= estimate <= high``, and ``method``, the one that was
        taken, "bootstrap" or "delong".

    Notes
    -----
    The bootstrap was chosen by its coverage of the truth in simulations (normal scores, 40 and 60 positives, ten times
    as many negatives, TPAUC(0.3, 0.3) from 0.01 to 0.98; 95 % wanted). It covers 92 % to 98 %. Plain percentiles
    cover 79 % to 96 %, the less the closer to 1, since the loss is then due to a few rows that another sample may
    not hold. BCa mends half of that, and fails near 0 (86 %), where estimates of exactly 0 are common; on the logit
    scale 54 % to 87 % are covered near 0.

    With 50 rows in each class the interval is too wide rather than too narrow (97 % to 99 %). What the sample does not
    show it cannot allow for: if the positives spread twice as wide as the negatives, a TPAUC of 0.9 estimated from
    50 of them is covered in 87 % of the cases, and a class of a single row shows no spread at all. Nor do few
    hard positives show what lies beyond them: with 20 positives and 5,000 negatives, 46 % are covered if the region
    selects 1 positive, 66 % if 2, 88 % if 6; with 50 positives, 93 % if it selects 5 and 94 % if 10.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(1000) < 100
    >>> score = rng.normal(size=1000) + 2 * y
    >>> interval = tpauc_interval(y, score, alpha=0.3, beta=0.3, random_state=0)
    >>> print(f"{interval.estimate:.2f} in {interval.low:.2f} to {interval.high:.2f} by {interval.method}")
    0.52 in 0.34 to 0.66 by bootstrap
    """
    options = IntervalOptions(confidence, method, n_resamples, random_state)
    positive, scores = check_labels_and_scores(y_true, y_score)
    return intervals_in_regions(positive, scores, [Region(alpha, beta)], options)[0]


def intervals_in_regions(
    positive: BoolArray, scores: FloatArray, regions: Sequence[Region], options: IntervalOptions
) -> list[Interval]:
    """Return the interval of each region for labels and scores that are checked already; large data are sorted once."""
    ordered = cache(partial(_sorted_by_class, positive, scores))
    intervals = []
    for region in regions:
        method = options.chosen_method(positive, region)
        if method == "delong":
            estimate, low, high = _by_delong(*ordered(), region, options.confidence)
        else:
            estimate, low, high = _by_bootstrap(positive, scores, region, options)
        unseen = ((1.0 - options.confidence) / 2.0) ** (1.0 / min(_selected(positive, region)))
        low = unseen if low == 1.0 else low
        high = 1.0 - unseen if high == 0.0 else high
        intervals.append(Interval(estimate, min(low, estimate), max(high, estimate), method))
    return intervals


def _sorted_by_class(positive: BoolArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the scores of the positives and of the negatives, each from the lowest up."""
    positives, negatives = scores[positive], scores[~positive]
    positives.sort()
    negatives.sort()
    return positives, negatives


def _by_bootstrap(
    positive: BoolArray, scores: FloatArray, region: Region, options: IntervalOptions
) -> tuple[float, float, float]:
    """Return the estimate and its lower and upper limit."""
    estimate = area_in_region(positive, scores, region)
    pessimistic, optimistic = two_sided_resamples(options.generator(), positive, scores, region, options.n_resamples)
    confidence = options.confidence
    return estimate, percentile_limits(pessimistic, confidence)[0], percentile_limits(optimistic, confidence)[1]


def _by_delong(
    positives: FloatArray, negatives: FloatArray, region: Region, confidence: float
) -> tuple[float, float, float]:
    """Return the estimate and its lower and upper limit, from the sorted scores of each class."""
    hard_positives = positives[: region.hard_positives(positives.size)]
    hard_negatives = negatives[negatives.size - region.hard_negatives(negatives.size) :]
    found = influences(hard_positives, hard_negatives)
    estimate = found.tpauc
    if not 0.0 < estimate < 1.0:
        return estimate, estimate, estimate
    variance = variance_of_sum(found.positives, positives.size)
    variance += variance_of_sum(found.negatives, negatives.size, found.run_lengths)
    reach = normal_quantile(confidence) * math.sqrt(variance) / (estimate * (1.0 - estimate))
    factor = math.exp(min(reach, 700.0))  # of the odds; beyond, the limits are 0 and 1 in float64 anyway
    odds = estimate / (1.0 - estimate)
    return estimate, odds / (odds + factor), odds * factor / (odds * factor + 1.0)


def _selected(positive: BoolArray, region: Region) -> tuple[int, int]:
    """Return how many positives and how many negatives the region selects."""
    n_positive = int(np.count_nonzero(positive))
    return region.hard_positives(n_positive), region.hard_negatives(positive.size - n_positive)
