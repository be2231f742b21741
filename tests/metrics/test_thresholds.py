"""The rules equal loops over all thresholds, and the guarantee equals the exact binomial distribution."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import reference
from scored_samples import SEED, SHARE, assert_rate, samples
from tpauc.metrics._proportions import ScoredRows
from tpauc.metrics.operating_points import operating_point
from tpauc.metrics.thresholds import (
    RULES,
    ThresholdRule,
    fewest_for_guarantee,
    most_exceeding,
    pick_threshold,
)
from tpauc.region import Region

CORNER = {"alpha": 0.3, "beta": 0.3}
OPTIONS = {"cost": {"miss_cost": 3.0, "alarm_cost": 0.5}, "capacity": {"capacity": (7, 20)}}


def rule_options(draw_costs, capacity):
    return {"cost": dict(zip(("miss_cost", "alarm_cost"), draw_costs, strict=True)), "capacity": {"capacity": capacity}}


COSTS = st.tuples(*[st.integers(0, 6).map(lambda halves: halves / 2)] * 2).filter(any)
CAPACITIES = st.tuples(st.integers(0, 20), st.just(20))
PREVALENCES = st.none() | st.sampled_from([0.01, 0.25, 0.7])


@pytest.mark.parametrize("rule", RULES)
@given(
    sample=samples(),
    alpha=SHARE,
    beta=SHARE,
    costs=COSTS,
    capacity=CAPACITIES,
    prevalence=PREVALENCES,
    weighted=st.booleans(),
    seed=SEED,
)
@settings(deadline=None, max_examples=80)
def test_a_rule_picks_the_best_of_all_thresholds(
    rule, sample, alpha, beta, costs, capacity, prevalence, weighted, seed
):
    y, s = sample
    weight = np.random.default_rng(seed).integers(0, 4, y.size) if weighted else np.ones(y.size, int)
    weight[[y.argmax(), (~y).argmax()]] = 1  # both classes have a row
    point = operating_point(
        y,
        s,
        alpha=alpha,
        beta=beta,
        rule=rule,
        **rule_options(costs, capacity).get(rule, {}),
        prevalence=prevalence,
        sample_weight=weight if weighted else None,
    )
    plain = reference.picked_threshold(
        y, s, weight, rule, alpha, beta, costs=costs, capacity=capacity, prevalence=prevalence
    )
    assert point.threshold == plain
    caught, alarmed = reference.alarms_at(y, s, weight.tolist(), plain)
    assert (point.true_positives, point.false_positives) == (caught, alarmed)


def test_equal_costs_go_to_the_widest_gap():
    y, s = [1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1]
    costs = {"rule": "cost", "miss_cost": 1, "alarm_cost": 1}
    # At 0.9 one positive is missed, at 0.7 there is one false alarm; below 0.9 the next score is near, below 0.7 far.
    assert operating_point(y, s, **CORNER, **costs).threshold == 0.7
    assert operating_point(y, [0.9, 0.3, 0.29, 0.2, 0.1], **CORNER, **costs).threshold == 0.9


def test_costs_tie_up_to_rounding():
    # One missed positive costs 0.3, three false alarms cost 0.30000000000000004.
    y, s = [1, 0, 0, 0, 1, 0], [1.0, 0.9, 0.8, 0.7, 0.1, -1.0]
    point = operating_point(y, s, **CORNER, rule="cost", miss_cost=0.3, alarm_cost=0.1)
    assert point.threshold == reference.picked_threshold(y, s, [1] * 6, "cost", 0.3, 0.3, costs=(0.3, 0.1)) == 0.1


@pytest.mark.parametrize("rule", ["max_tpr", "min_fpr", "capacity"])
@given(sample=samples(), seed=SEED)
@settings(deadline=None, max_examples=30)
def test_order_of_rows_and_monotone_maps_change_no_decision(rule, sample, seed):
    y, s = sample
    order = np.random.default_rng(seed).permutation(y.size)
    options = {**CORNER, "rule": rule, **OPTIONS.get(rule, {})}
    point = operating_point(y, s, **options)
    assert operating_point(y[order], s[order], **options) == point
    mapped = operating_point(y, np.exp(3 * s), **options)
    assert np.array_equal(np.exp(3 * s) >= mapped.threshold, s >= point.threshold)


@given(sample=samples(), seed=SEED)
@settings(deadline=None, max_examples=50)
def test_other_weights_keep_to_the_region(sample, seed):
    y, s = sample
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, y.size)
    for rule in ("max_tpr", "min_fpr"):
        point = operating_point(y, s, **CORNER, rule=rule, sample_weight=weight)
        rates = {}
        for threshold in [*np.unique(s), math.inf]:
            alarm = s >= threshold
            rates[threshold] = (weight[y] @ alarm[y] / weight[y].sum(), weight[~y] @ alarm[~y] / weight[~y].sum())
        if rule == "max_tpr":
            best = max(tpr for tpr, fpr in rates.values() if fpr <= 0.3 + 1e-12)
            assert point.fpr_excess == 0.0
            assert point.tpr == pytest.approx(best, abs=1e-12)
        else:
            best = min(fpr for tpr, fpr in rates.values() if tpr >= 0.7 - 1e-12)
            assert point.tpr_shortfall == 0.0
            assert point.fpr == pytest.approx(best, abs=1e-12)


# ----------------------------------------------------------------------------------------------------------- guarantee


@pytest.mark.parametrize("share", [0.05, 0.1, 0.29, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("guarantee", [0.05, 0.5, 0.9, 0.95, 0.999])
def test_the_rank_is_that_of_the_exact_distribution(share, guarantee):
    for n in [*range(1, 30), 58, 59, 60, 100]:
        assert most_exceeding(n, share, guarantee) == reference.most_exceeding(n, share, guarantee), n


@pytest.mark.parametrize("share", [1e-6, 0.01, 0.3, 0.999])
@pytest.mark.parametrize("n", [10**7, 10**9])
def test_the_rank_is_right_among_a_billion(n, share):
    found = most_exceeding(n, share, 0.95)
    assert found is not None
    below, above = binom.cdf([found, found + 1], n, share)
    assert below <= 0.05 * (1 + 1e-9)
    assert above >= 0.05 * (1 - 1e-9)
    assert below < above


@pytest.mark.parametrize("share", [0.001, 0.05, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("guarantee", [0.01, 0.5, 0.95, 0.999])
def test_the_fewest_examples_are_the_fewest(share, guarantee):
    n = fewest_for_guarantee(share, guarantee)
    assert most_exceeding(n, share, guarantee) is not None
    assert n == 1 or most_exceeding(n - 1, share, guarantee) is None
    assert n == (1 if share == 1 else max(math.ceil(math.log(1 - guarantee) / math.log(1 - share) - 1e-9), 1))


@given(sample=samples(), alpha=SHARE, beta=SHARE, seed=SEED, weighted=st.booleans())
@settings(deadline=None, max_examples=80)
def test_the_promised_threshold_is_the_order_statistic(sample, alpha, beta, seed, weighted):
    y, s = sample
    weight = np.random.default_rng(seed).integers(1, 4, y.size) if weighted else np.ones(y.size, int)
    given_weight = weight if weighted else None
    negatives, positives = (np.sort(np.repeat(s[side], weight[side])) for side in (~y, y))
    for rule, share, scores in (("max_tpr", beta, negatives), ("min_fpr", alpha, positives)):
        options = {"alpha": alpha, "beta": beta, "rule": rule, "guarantee": 0.9, "sample_weight": given_weight}
        r = reference.most_exceeding(scores.size, share, 0.9)
        if r is None:
            with pytest.raises(ValueError, match=rf"needs at least \d+ .* examples, found {scores.size}"):
                operating_point(y, s, **options)
            continue
        threshold = operating_point(y, s, **options).threshold
        if rule == "max_tpr":
            last = scores[scores.size - 1 - r]
            assert np.array_equal(s >= threshold, s > last)
            assert threshold == np.nextafter(last, math.inf)
        else:
            assert threshold == scores[r]


def test_the_promise_of_single_precision_scores_is_strict():
    y = np.arange(200) < 100
    s = np.linspace(0, 1, 200, dtype=np.float32)
    point = operating_point(~y, s, alpha=0.1, beta=0.1, guarantee=0.9)
    r = most_exceeding(100, 0.1, 0.9)
    assert point.false_positives == r
    assert (s[y] >= np.float32(point.threshold)).sum() == r


@pytest.mark.parametrize("rule", ["max_tpr", "min_fpr"])
def test_groups_stand_for_one_example_each(rule):
    rng = np.random.default_rng(0)
    y, groups = rng.random(400) < 0.5, rng.integers(40, size=400)
    s = rng.normal(size=400) + y
    point = operating_point(y, s, **CORNER, rule=rule, guarantee=0.9, groups=groups)
    if rule == "max_tpr":
        extremes = [max(s[~y & (groups == g)]) for g in np.unique(groups[~y])]
        r = reference.most_exceeding(len(extremes), 0.3, 0.9)
        assert point.threshold == np.nextafter(sorted(extremes)[-1 - r], math.inf)
        assert point.threshold > operating_point(y, s, **CORNER, guarantee=0.9).threshold
    else:
        extremes = [min(s[y & (groups == g)]) for g in np.unique(groups[y])]
        assert point.threshold == sorted(extremes)[reference.most_exceeding(len(extremes), 0.3, 0.9)]
        assert point.threshold < operating_point(y, s, **CORNER, rule=rule, guarantee=0.9).threshold


@pytest.mark.parametrize("rule", ["max_tpr", "min_fpr"])
def test_the_promise_is_broken_as_often_as_the_distribution_says(rule):
    # Uniform scores: the FPR of a threshold t on new data is 1 - t, the TPR likewise.
    rng, n, trials = np.random.default_rng(0), 90, 2000
    broken = empirical = 0
    positive = np.arange(2 * n) < n
    region, promise = Region(0.1, 0.1), ThresholdRule(rule, guarantee=0.9)
    for _ in range(trials):
        rows = ScoredRows(positive, rng.random(2 * n))
        for promised in (True, False):
            threshold = pick_threshold(rows, promise if promised else ThresholdRule(rule), region)
            is_broken = 1 - threshold > 0.1 if rule == "max_tpr" else 1 - min(threshold, 1.0) < 0.9
            broken, empirical = broken + (promised and is_broken), empirical + (not promised and is_broken)
    expected = binom.cdf(most_exceeding(n, 0.1, 0.9), n, 0.1)
    assert 0.04 < expected <= 0.1
    assert_rate(broken, trials, expected, expected)
    assert empirical / trials > 0.3


# ------------------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rule": "best"}, ValueError, "rule must be one of 'max_tpr', 'min_fpr', 'cost', 'capacity', got 'best'"),
        ({"rule": "cost", "miss_cost": 1}, ValueError, "rule='cost' needs alarm_cost, which was not given"),
        ({"rule": "capacity"}, ValueError, "rule='capacity' needs capacity, which was not given"),
        ({"miss_cost": 1}, ValueError, "miss_cost has a meaning for rule='cost' only, got rule='max_tpr'"),
        ({"capacity": (1, 2)}, ValueError, "capacity has a meaning for rule='capacity' only, got rule='max_tpr'"),
        ({"rule": "cost", "miss_cost": -1, "alarm_cost": 1}, ValueError, "miss_cost must be at least 0, got -1"),
        ({"rule": "cost", "miss_cost": 1, "alarm_cost": "1"}, TypeError, "alarm_cost must be a number, got '1'"),
        ({"rule": "cost", "miss_cost": 0, "alarm_cost": 0}, ValueError, "miss_cost and alarm_cost must not both be 0"),
        ({"rule": "capacity", "capacity": 5}, ValueError, r"capacity must be two numbers, \(alarms, rows\), got 5"),
        ({"rule": "capacity", "capacity": "ab"}, ValueError, "capacity must be two numbers"),
        ({"rule": "capacity", "capacity": (-1, 5)}, ValueError, r"capacity\[0\] must be at least 0, got -1"),
        ({"rule": "capacity", "capacity": (0, 0)}, ValueError, r"capacity\[1\] must be above 0, got 0"),
        ({"rule": "capacity", "capacity": (6, 5)}, ValueError, "capacity must not have more alarms than rows, got"),
        ({"guarantee": 1.0}, ValueError, r"guarantee must be in \(0, 1\), got 1.0"),
        ({"guarantee": "sure"}, TypeError, "guarantee must be a number, got 'sure'"),
        (
            {"guarantee": 0.9, "rule": "capacity", "capacity": (1, 2)},
            ValueError,
            "guarantee has a meaning for rule='max_tpr' and rule='min_fpr' only, got rule='capacity'",
        ),
        ({"guarantee": 0.9, "sample_weight": [0.5] * 40}, ValueError, "guarantee needs a sample_weight of whole"),
        (
            {"guarantee": 0.999},
            ValueError,
            "guarantee=0.999 for beta=0.3 needs at least 20 negative examples, found 19; give more, a larger beta or",
        ),
        (
            {"guarantee": 0.9999, "rule": "min_fpr"},
            ValueError,
            "guarantee=0.9999 for alpha=0.3 needs at least 26 positive examples, found 21; give more, a larger alpha",
        ),
        (
            {"guarantee": 0.95, "groups": [0, 1, 2, 3] * 10},
            ValueError,
            "guarantee=0.95 for beta=0.3 needs at least 9 groups with a negative row, found 4; give more,",
        ),
    ],
)
def test_bad_options_are_named(options, error, message):
    y = np.arange(40) < 21
    with pytest.raises(error, match=rf"^{message}"):
        operating_point(y, np.arange(40) / 40, **{**CORNER, **options})
