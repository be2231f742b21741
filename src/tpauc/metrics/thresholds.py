"""Rules that pick a threshold, and the threshold whose rate on new data can be promised.

A row raises an alarm when its score is at least the threshold. Candidates are the distinct scores and infinity. The
rules, each with what decides among equally good candidates:

    max_tpr    highest TPR at FPR <= beta, then lowest FPR
    min_fpr    lowest FPR at TPR >= 1 - alpha, then highest TPR
    cost       lowest miss_cost * missed positives + alarm_cost * false alarms, per row
    capacity   highest TPR with at most so many alarms per so many rows, then lowest FPR

Candidates that still tie differ in which rows they alarm; the one with the widest gap to the next lower score wins.

**Guarantee.** The threshold with FPR ``beta`` in the sample has a higher FPR on new data about half of the time. Take
the negative score that ``r`` of ``n`` negatives exceed (at most ``r`` where scores tie), and alarm above it. Its FPR on
new data is above ``beta`` with probability at most ``P(Bin(n, beta) <= r)``, whatever the distribution, and exactly
that for a continuous one (order statistics; the Neyman-Pearson umbrella of Tong, Feng and Li, 2018). So ``r`` is the
largest number for which this is at most ``1 - guarantee``. Even ``r = 0`` needs ``(1 - beta)^n <= 1 - guarantee``,
which gives the fewest examples that can promise anything. The mirror image holds for the TPR and ``alpha``: the
threshold is the positive score with ``r`` of the positives below it.

Rows in groups are not independent, groups are. One score then stands for each group, its highest negative (lowest
positive). The promise is that at most the share ``beta`` of new groups has a false alarm at all. So the mean over
groups of the FPR within a group is at most ``beta`` too; it may be far below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc._validation import (
    BoolArray,
    FloatArray,
    brief,
    check_choice,
    check_non_negative,
    check_number,
    check_open_share,
    check_positive,
)
from tpauc.metrics._proportions import ScoredRows
from tpauc.region import Region, hard_mass

MAX_TPR, MIN_FPR, COST, CAPACITY = "max_tpr", "min_fpr", "cost", "capacity"
RULES = (MAX_TPR, MIN_FPR, COST, CAPACITY)
_RULE_OF_OPTION = {"miss_cost": COST, "alarm_cost": COST, "capacity": CAPACITY}

ROUNDING = 1e-12  # relative; sums of weights, costs and probabilities that differ by less are equal


@dataclass(frozen=True)
class ThresholdRule:
    """What a threshold is picked for, checked; the parameters of :func:`tpauc.operating_point`."""

    name: str = MAX_TPR
    guarantee: float | None = None
    miss_cost: float | None = None
    alarm_cost: float | None = None
    capacity: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_choice(self.name, "rule", RULES)
        for option, rule in _RULE_OF_OPTION.items():
            given = getattr(self, option) is not None
            if given and rule != self.name:
                raise ValueError(f"{option} has a meaning for rule={rule!r} only, got rule={self.name!r}")
            if not given and rule == self.name:
                raise ValueError(f"rule={self.name!r} needs {option}, which was not given")
        if self.name == COST:
            costs = [check_non_negative(getattr(self, name), name) for name in ("miss_cost", "alarm_cost")]
            if not any(costs):
                raise ValueError("miss_cost and alarm_cost must not both be 0; every threshold would cost the same")
        if self.name == CAPACITY:
            _check_capacity(self.capacity)
        if self.guarantee is not None:
            object.__setattr__(self, "guarantee", check_open_share(self.guarantee, "guarantee"))
            if self.name not in (MAX_TPR, MIN_FPR):
                raise ValueError(
                    f"guarantee has a meaning for rule={MAX_TPR!r} and rule={MIN_FPR!r} only, got rule={self.name!r}"
                )


def _check_capacity(capacity: Sequence[float] | None) -> None:
    is_pair = isinstance(capacity, Sequence | np.ndarray) and getattr(capacity, "ndim", 1) == 1 and len(capacity) == 2
    if capacity is None or isinstance(capacity, str | bytes) or not is_pair:
        raise ValueError(f"capacity must be two numbers, (alarms, rows), got {brief(capacity)}")
    alarms, rows = check_non_negative(capacity[0], "capacity[0]"), check_positive(capacity[1], "capacity[1]")
    if alarms > rows:
        raise ValueError(f"capacity must not have more alarms than rows, got {brief(capacity)}")


def check_threshold(value: float) -> float:
    """Return ``value`` as a number or an infinity: no row, or every row, raises an alarm."""
    if isinstance(value, float | np.floating) and math.isinf(value):
        return float(value)
    return check_number(value, "threshold")


def pick_threshold(rows: ScoredRows, rule: ThresholdRule, region: Region, prevalence: float | None = None) -> float:
    """Return the threshold that a rule picks; infinity if no row may raise an alarm."""
    if rule.guarantee is not None:
        return _promised(rows, rule.name, rule.guarantee, region)
    if rows.weight is None and rule.name in (MAX_TPR, MIN_FPR):
        positives, negatives = rows.scores[rows.positive], rows.scores[~rows.positive]
        pick = _highest_tpr if rule.name == MAX_TPR else _lowest_fpr
        return pick(positives, negatives, region)
    return _best_candidate(rows, rule, region, prevalence)


def allowed_mass(total: float, share: float, counts_alike: bool) -> float:
    """Return how many rows of a class, or which sum of weights, may be on the wrong side; immune to rounding."""
    return hard_mass(total, share) if counts_alike else total * min(share * (1.0 + ROUNDING), 1.0)


def _highest_tpr(positives: FloatArray, negatives: FloatArray, region: Region) -> float:
    """Return the threshold of "max_tpr" in O(n): the lowest positive above all negatives that may not alarm."""
    caught = positives
    false_alarms_allowed = hard_mass(negatives.size, region.beta)
    if false_alarms_allowed < negatives.size:
        first_too_many = negatives.size - 1 - false_alarms_allowed
        caught = positives[positives > np.partition(negatives, first_too_many)[first_too_many]]
    return float(caught.min()) if caught.size else math.inf


def _lowest_fpr(positives: FloatArray, negatives: FloatArray, region: Region) -> float:
    """Return the threshold of "min_fpr" in O(n): the lowest positive above all negatives that need not alarm."""
    misses_allowed = hard_mass(positives.size, region.alpha)
    quiet = negatives
    if misses_allowed < positives.size:
        quiet = negatives[negatives < np.partition(positives, misses_allowed)[misses_allowed]]
    caught = positives[positives > quiet.max()] if quiet.size else positives
    return float(caught.min()) if caught.size else math.inf


# --------------------------------------------------------------------------------------------------- all candidates


def _best_candidate(rows: ScoredRows, rule: ThresholdRule, region: Region, prevalence: float | None) -> float:
    """Return the best of all candidates by the definition of the rule."""
    thresholds, caught, alarmed = _candidates(rows)
    n_positive, n_negative = caught[0], alarmed[0]
    missed, alike = n_positive - caught, rows.counts_alike
    if rule.name == MAX_TPR:
        possible = alarmed <= allowed_mass(n_negative, region.beta, alike)
        best = _best(possible, -caught, alarmed)
    elif rule.name == MIN_FPR:
        possible = missed <= allowed_mass(n_positive, region.alpha, alike)
        best = _best(possible, alarmed, -caught)
    elif rule.name == CAPACITY:
        assert rule.capacity is not None
        share = float(rule.capacity[0]) / float(rule.capacity[1])
        if prevalence is None:
            possible = caught + alarmed <= allowed_mass(n_positive + n_negative, share, alike)
        else:
            rate = prevalence * caught / n_positive + (1.0 - prevalence) * alarmed / n_negative
            possible = rate <= share * (1.0 + ROUNDING)
        best = _best(possible, -caught, alarmed)
    else:
        assert rule.miss_cost is not None
        assert rule.alarm_cost is not None
        # At a given prevalence the classes have the weights of that population.
        per_miss = 1.0 if prevalence is None else prevalence / n_positive
        per_alarm = 1.0 if prevalence is None else (1.0 - prevalence) / n_negative
        cost = rule.miss_cost * per_miss * missed + rule.alarm_cost * per_alarm * alarmed
        best = cost <= cost.min() * (1.0 + ROUNDING)
    with np.errstate(over="ignore"):
        gaps = np.diff(thresholds, prepend=-np.inf)  # infinite below the lowest score, and above the highest
    widest = best & (gaps == gaps[best].max())
    return float(thresholds[widest][-1])


def _candidates(rows: ScoredRows) -> tuple[FloatArray, npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return all thresholds from the lowest up, and how many positives and negatives raise an alarm at each."""
    scores, place = np.unique(rows.scores.astype(np.float64, copy=False), return_inverse=True)

    def at_or_above(side: BoolArray) -> npt.NDArray[np.float64]:
        weight = None if rows.weight is None else rows.weight[side]
        at_score = np.bincount(place[side], weights=weight, minlength=scores.size + 1)
        return np.cumsum(at_score[::-1], dtype=np.float64)[::-1]

    return np.append(scores, np.inf), at_or_above(rows.positive), at_or_above(~rows.positive)


def _best(possible: BoolArray, first: FloatArray, second: FloatArray) -> BoolArray:
    """Return the possible candidates with the lowest first number, and of these those with the lowest second."""
    for number in (first, second):
        possible = possible & (number == number[possible].min())
    return possible


# --------------------------------------------------------------------------------------------------------- guarantee


def _promised(rows: ScoredRows, rule: str, guarantee: float, region: Region) -> float:
    """Return the threshold whose FPR (rule "max_tpr") or TPR ("min_fpr") can be promised."""
    if not rows.counts_alike:
        raise ValueError(
            "guarantee needs a sample_weight of whole numbers, which stand for repeated rows; order statistics of rows "
            "with other weights promise nothing"
        )
    above = rule == MAX_TPR
    # The mirror image of the positives, so that in both cases the highest scores are on the wrong side.
    members = ~rows.positive if above else rows.positive
    scores = rows.scores[members] if above else -rows.scores[members]
    counts = None if rows.weight is None else rows.weight[members]
    if rows.groups is not None:
        scores, counts = _highest_of_group(scores, rows.groups[members]), None
    n = scores.size if counts is None else int(counts.sum())
    exceeding = wrong_side_allowed(n, rule, guarantee, region, grouped=rows.groups is not None)
    last = _of_rank(scores, counts, n - exceeding)
    return float(np.nextafter(last, np.inf, dtype=scores.dtype)) if above else -float(last)


def wrong_side_allowed(n: int, rule: str, guarantee: float, region: Region, *, grouped: bool) -> int:
    """Return how many of ``n`` negatives (rule "max_tpr") or positives a promised threshold may have on the wrong side.

    With ``grouped`` they are groups. It is an error if there are too few to promise anything.
    """
    name, share, side = ("beta", region.beta, "negative") if rule == MAX_TPR else ("alpha", region.alpha, "positive")
    exceeding = most_exceeding(n, share, guarantee)
    if exceeding is None:
        units = f"groups with a {side} row" if grouped else f"{side} examples"
        raise ValueError(
            f"guarantee={guarantee} for {name}={share} needs at least {fewest_for_guarantee(share, guarantee)} "
            f"{units}, found {n}; give more, a larger {name} or a lower guarantee"
        )
    return exceeding


def most_exceeding(n: int, share: float, guarantee: float) -> int | None:
    """Return the largest ``r`` with ``P(Bin(n, share) <= r) <= 1 - guarantee``, None if not even 0 will do.

    Examples
    --------
    >>> most_exceeding(59, 0.05, 0.95), most_exceeding(58, 0.05, 0.95)
    (0, None)
    """
    from scipy.special import betaincc

    most = (1.0 - guarantee) * (1.0 + ROUNDING)
    low, high = -1, n  # the probability is at most 0 at -1, and 1 at n
    while high - low > 1:
        middle = (low + high) // 2
        # P(Bin(n, p) <= r) is a tail of a Beta distribution.
        low, high = (middle, high) if betaincc(middle + 1.0, n - middle, share) <= most else (low, middle)
    return low if low >= 0 else None


def fewest_for_guarantee(share: float, guarantee: float) -> int:
    """Return the fewest examples that can promise a rate: the least ``n`` with ``(1 - share)^n <= 1 - guarantee``.

    Examples
    --------
    >>> fewest_for_guarantee(0.05, 0.95), fewest_for_guarantee(0.5, 0.5)
    (59, 1)
    """
    if share == 1.0:
        return 1
    guess = math.floor(math.log1p(-guarantee) / math.log1p(-share))
    near = range(max(guess - 1, 1), guess + 3)
    return next((n for n in near if most_exceeding(n, share, guarantee) is not None), near[-1])


def _highest_of_group(scores: FloatArray, groups: npt.NDArray[np.intp]) -> FloatArray:
    """Return the highest score of each group that has one."""
    order = np.lexsort((scores, groups))
    last = np.append(np.flatnonzero(np.diff(groups[order])), order.size - 1)
    highest: FloatArray = scores[order][last]
    return highest


def _of_rank(scores: FloatArray, counts: npt.NDArray[np.int64] | FloatArray | None, rank: int) -> Any:
    """Return the ``rank``-th smallest score, from 1 on, each counted as often as ``counts`` says."""
    if counts is None:
        return np.partition(scores, rank - 1)[rank - 1]
    order = np.argsort(scores)
    return scores[order][np.searchsorted(np.cumsum(counts[order]), rank)]
