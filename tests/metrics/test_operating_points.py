"""The operating point is the best of all thresholds, and its rates have exact intervals."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution
from scipy.stats import binom
from scipy.stats import t as student

import reference
from scored_samples import SEED, SHARE, assert_rate, binormal, samples
from tpauc.metrics._proportions import clopper_pearson
from tpauc.metrics.operating_points import evaluate_threshold, operating_point, operating_point_in_region
from tpauc.region import Region

CORNER = {"alpha": 0.3, "beta": 0.3}


def plain_operating_point(y, s, alpha, beta):
    """Try every threshold; the shares are counted in exact decimals."""
    n_positive, n_negative = sum(y), len(y) - sum(y)
    best = None
    for threshold in [*sorted(set(s)), math.inf]:
        caught = sum(v >= threshold for v, label in zip(s, y, strict=True) if label)
        alarms = sum(v >= threshold for v, label in zip(s, y, strict=True) if not label)
        # Of equally good thresholds the highest one: it is the score of a positive, or none is caught.
        if alarms <= reference.hard_count(n_negative, beta) and (best is None or (caught, -alarms) >= best[:2]):
            best = caught, -alarms, threshold
    caught, alarms, threshold = best
    if caught == 0:
        threshold, alarms = math.inf, 0
    feasible = n_positive - caught <= reference.hard_count(n_positive, alpha)
    return threshold, caught / n_positive, -alarms / n_negative, feasible


@given(sample=samples(), alpha=SHARE, beta=SHARE)
@settings(deadline=None, max_examples=150)
def test_operating_point_is_the_best_threshold(sample, alpha, beta):
    y, s = sample
    point = operating_point(y, s, alpha=alpha, beta=beta)
    assert (point.threshold, point.tpr, point.fpr, point.feasible) == plain_operating_point(y, s, alpha, beta)
    assert [type(value) for value in (point.threshold, point.tpr, point.fpr, point.feasible)] == [
        float,
        float,
        float,
        bool,
    ]
    assert ((s >= point.threshold)[y].mean(), (s >= point.threshold)[~y].mean()) == pytest.approx(
        (point.tpr, point.fpr)
    )


def test_operating_point_is_not_lost_to_rounding():
    # 100 * 0.29 is 28.999999999999996, and 1 - 0.29 is 0.71 a little above 71 / 100.
    y = np.repeat([1, 0], 100)
    s = np.concatenate((np.repeat([3.0, 0.0], [71, 29]), np.repeat([4.0, 2.0], [29, 71])))
    point = operating_point(y, s, alpha=0.29, beta=0.29)
    assert (point.threshold, point.tpr, point.fpr, point.feasible) == (3.0, 0.71, 0.29, True)
    one_more_missed = operating_point(y, np.where(np.arange(200) == 0, 0.0, s), alpha=0.29, beta=0.29)
    assert not one_more_missed.feasible
    one_more_alarm = operating_point(y, np.where(np.arange(200) == 199, 4.0, s), alpha=0.29, beta=0.29)
    assert one_more_alarm.threshold == math.inf


def test_operating_point_where_nothing_can_be_caught():
    for s in ([0.5] * 8, [0.1] * 4 + [0.9] * 4):
        point = operating_point([1] * 4 + [0] * 4, s, alpha=0.5, beta=0.5)
        assert (point.threshold, point.tpr, point.fpr, point.feasible) == (math.inf, 0.0, 0.0, False)
    # Whoever may miss all positives is content even then.
    assert operating_point([1] * 4 + [0] * 4, [0.5] * 8, alpha=1.0, beta=0.5).feasible


def test_operating_point_needs_no_row_in_the_region():
    y, s = [1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1]
    strict = operating_point(y, s, alpha=0.1, beta=0.1)
    assert (strict.threshold, strict.tpr, strict.fpr, strict.feasible) == (0.9, 0.5, 0.0, False)
    lenient = operating_point(y, s, alpha=0.1, beta=1)
    assert (lenient.threshold, lenient.tpr, lenient.fpr, lenient.feasible) == (0.4, 1.0, 0.5, True)


def test_threshold_of_single_precision_scores_selects_the_same_rows():
    y, s = binormal(np.random.default_rng(0), 30, 300, 2.0)
    s = s.astype(np.float32)
    point = operating_point(y, s, **CORNER)
    assert (s >= point.threshold)[y].mean() == point.tpr


# --------------------------------------------------------------------------------------------------------------- rates

RATES = ("tpr", "fpr", "precision", "npv", "alarm_rate")


@given(
    sample=samples(),
    quantile=st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    prevalence=st.none() | SHARE.filter(lambda p: p < 1),
)
@settings(deadline=None, max_examples=80)
def test_rates_are_shares_of_the_rows(sample, quantile, prevalence):
    y, s = sample
    threshold = float(np.quantile(s, quantile))
    point = evaluate_threshold(y, s, threshold, prevalence=prevalence)
    caught, alarmed = reference.alarms_at(y, s, [1] * y.size, threshold)
    n_positive, n_negative = int(y.sum()), int((~y).sum())
    assert (point.true_positives, point.false_negatives) == (caught, n_positive - caught)
    assert (point.false_positives, point.true_negatives) == (alarmed, n_negative - alarmed)
    assert all(type(count) is int for count in (point.true_positives, point.false_negatives))
    # Rows of a population with this share of positives, each class weighted to it.
    p = n_positive / y.size if prevalence is None else prevalence
    tp, fn = p * caught / n_positive, p * (1 - caught / n_positive)
    fp, tn = (1 - p) * alarmed / n_negative, (1 - p) * (1 - alarmed / n_negative)
    assert point.alarm_rate == pytest.approx(tp + fp)
    assert point.alarms_per_1000 == pytest.approx(1000 * (tp + fp))
    assert point.precision == pytest.approx(tp / (tp + fp) if tp + fp else math.nan, nan_ok=True)
    assert point.npv == pytest.approx(tn / (tn + fn) if tn + fn else math.nan, nan_ok=True)
    for name in RATES:
        found = point.intervals[name]
        assert found.estimate == pytest.approx(getattr(point, name), nan_ok=True)
        assert 0 <= found.low <= found.high <= 1
        assert math.isnan(found.estimate) or found.low <= found.estimate <= found.high


def test_no_alarm_has_no_precision_and_an_interval_that_says_so():
    point = operating_point([1] * 4 + [0] * 4, [0.5] * 8, alpha=0.5, beta=0.5)
    assert math.isnan(point.precision)
    assert (point.intervals["precision"].low, point.intervals["precision"].high) == (0.0, 1.0)
    assert (point.npv, point.alarm_rate, point.alarms_per_1000) == (0.5, 0.0, 0.0)
    everywhere = evaluate_threshold([1] * 4 + [0] * 4, [0.5] * 8, -math.inf)
    assert math.isnan(everywhere.npv)
    assert (everywhere.tpr, everywhere.fpr, everywhere.precision) == (1.0, 1.0, 0.5)
    for threshold in (math.inf, -math.inf):
        rare = evaluate_threshold([1] * 4 + [0] * 4, [0.5] * 8, threshold, prevalence=0.01)
        for name in RATES:
            assert 0 <= rare.intervals[name].low <= rare.intervals[name].high <= 1


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n", [1, 2, 10, 57, 10**6, 10**9])
def test_limits_are_those_of_clopper_and_pearson(n, confidence):
    tail = (1 - confidence) / 2
    for x in sorted({0, 1, n // 3, n - 1, n}):
        low, high = clopper_pearson(x, n, confidence)
        assert low == pytest.approx(beta_distribution.ppf(tail, x, n - x + 1) if x else 0.0, rel=1e-9)
        assert high == pytest.approx(beta_distribution.isf(tail, x + 1, n - x) if x < n else 1.0, rel=1e-9)
        # By definition: at the lower limit, x or more are seen with the probability of a tail. A limit of 1 - 1 / n is
        # rounded by n * 2**-53 of its distance from 1.
        rounding = 1e-6 + n * 1e-13
        assert x == 0 or binom.sf(x - 1, n, low) == pytest.approx(tail, rel=rounding)
        assert x == n or binom.cdf(x, n, high) == pytest.approx(tail, rel=rounding)


def test_every_rate_has_the_interval_of_its_counts():
    y, s = binormal(np.random.default_rng(0), 40, 400, 2.0)
    point = evaluate_threshold(y, s, 1.5, confidence=0.9)
    tp, fn = point.true_positives, point.false_negatives
    fp, tn = point.false_positives, point.true_negatives
    shares = {
        "tpr": (tp, 40),
        "fpr": (fp, 400),
        "precision": (tp, tp + fp),
        "npv": (tn, tn + fn),
        "alarm_rate": (tp + fp, 440),
    }
    for name, (part, whole) in shares.items():
        found = point.intervals[name]
        assert (found.estimate, found.low, found.high) == (part / whole, *clopper_pearson(part, whole, 0.9))
        assert found.method == "clopper-pearson"


def test_limits_at_a_prevalence_follow_from_both_rates():
    y, s = binormal(np.random.default_rng(0), 40, 400, 2.0)
    point = evaluate_threshold(y, s, 1.5, prevalence=0.002)
    t, f = (
        clopper_pearson(part, n, math.sqrt(0.95))
        for part, n in ((point.true_positives, 40), (point.false_positives, 400))
    )
    odds = 0.002 / 0.998
    found = point.intervals["precision"]
    assert (found.low, found.high) == pytest.approx((1 / (1 + f[1] / t[0] / odds), 1 / (1 + f[0] / t[1] / odds)))
    found = point.intervals["npv"]
    assert found.low == pytest.approx(1 / (1 + odds * (1 - t[0]) / (1 - f[1])))
    assert found.high == pytest.approx(1 / (1 + odds * (1 - t[1]) / (1 - f[0])))
    found = point.intervals["alarm_rate"]
    assert (found.low, found.high) == pytest.approx((0.002 * t[0] + 0.998 * f[0], 0.002 * t[1] + 0.998 * f[1]))
    assert found.method == "from the limits of TPR and FPR"


def test_the_interval_of_precision_at_a_prevalence_covers():
    # TPR 0.9 and FPR 0.1 in the population, at a prevalence of 0.1: the precision is one half.
    rng, trials = np.random.default_rng(0), 400
    y = np.arange(600) < 200
    covered = 0
    for _ in range(trials):
        s = rng.random(600)
        s[y] = np.where(rng.random(200) < 0.9, 0.95, 0.5)
        found = evaluate_threshold(y, s, 0.9, prevalence=0.1).intervals["precision"]
        covered += found.low <= 0.5 <= found.high
    assert_rate(covered, trials, 0.95, 1.0)


# -------------------------------------------------------------------------------------------------- weights and groups


def fields_of(point):
    return {name: str(value) for name, value in vars(point).items()}  # as text, since NaN differs from itself


@given(sample=samples(), seed=SEED, grouped=st.booleans(), prevalence=st.sampled_from([None, 0.2]))
@settings(deadline=None, max_examples=80)
def test_whole_weights_are_repeated_rows(sample, seed, grouped, prevalence):
    y, s = sample
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, y.size)
    groups = rng.permutation(np.arange(y.size) % 7)
    weight[[np.flatnonzero(y & (groups == g))[0] for g in np.unique(groups[y])]] = 1
    weight[[np.flatnonzero(~y & (groups == g))[0] for g in np.unique(groups[~y])]] = 2
    by_weight, by_rows = ({"groups": g} if grouped else {} for g in (groups, np.repeat(groups, weight)))
    if grouped and min(np.unique(groups[side]).size for side in (y, ~y)) < 2:
        return
    options = {**CORNER, "prevalence": prevalence}
    weighted = operating_point(y, s, **options, sample_weight=weight, **by_weight)
    repeated = operating_point(np.repeat(y, weight), np.repeat(s, weight), **options, **by_rows)
    assert fields_of(weighted) == fields_of(repeated)
    floats = operating_point(y, s, **options, sample_weight=weight.astype(float), **by_weight)
    assert fields_of(floats) == fields_of(weighted)


def test_other_weights_count_as_the_effective_number_of_kish():
    y, s = binormal(np.random.default_rng(0), 40, 400, 2.0)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, y.size)
    point = evaluate_threshold(y, s, 1.5, sample_weight=weight)
    alarm = s >= 1.5
    for name, among, inside in (("tpr", y, alarm), ("fpr", ~y, alarm), ("precision", alarm, y), ("npv", ~alarm, ~y)):
        w = weight[among]
        size, share = w.sum() ** 2 / (w**2).sum(), w @ inside[among] / w.sum()
        found = point.intervals[name]
        assert found.estimate == pytest.approx(share)
        assert (found.low, found.high) == pytest.approx(clopper_pearson(share * size, size, 0.95))
        assert found.method == "clopper-pearson, effective number of weighted rows"
    assert point.true_positives == pytest.approx(weight[y & alarm].sum())
    halves = evaluate_threshold(y, s, 1.5, sample_weight=np.full(y.size, 0.5)).intervals["tpr"]
    alike = evaluate_threshold(y, s, 1.5).intervals["tpr"]
    assert (halves.low, halves.high) == pytest.approx((alike.low, alike.high))


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_count_by_their_design_effect(weighted):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), rng.integers(1, 12, 60))
    y = rng.random(groups.size) < 0.3
    s = rng.normal(size=60)[groups] + 0.5 * rng.normal(size=groups.size) + y
    weight = rng.uniform(0.5, 2.0, y.size) if weighted else np.ones(y.size)
    point = evaluate_threshold(y, s, 1.0, groups=groups, sample_weight=weight if weighted else None)
    alarm = s >= 1.0
    for name, among, inside in (
        ("tpr", y, alarm),
        ("fpr", ~y, alarm),
        ("precision", alarm, y),
        ("alarm_rate", y | ~y, alarm),
    ):
        total = sum(weight[among])
        share = sum(w for w, a, i in zip(weight, among, inside, strict=True) if a and i) / total
        names = sorted(set(groups[among]))
        squares = 0.0
        for group in names:
            rows = among & (groups == group)
            squares += sum(w * (i - share) for w, i in zip(weight[rows], inside[rows], strict=True)) ** 2
        variance = len(names) / (len(names) - 1) * squares / total**2
        n_rows = total**2 / sum(weight[among] ** 2)
        size = min(n_rows, share * (1 - share) / variance)
        size *= (student.ppf(0.975, n_rows - 1) / student.ppf(0.975, len(names) - 1)) ** 2
        found = point.intervals[name]
        assert (found.low, found.high) == pytest.approx(clopper_pearson(share * size, size, 0.95))
        assert found.method == "clopper-pearson, design effect of groups"
    by_rows = evaluate_threshold(y, s, 1.0).intervals["alarm_rate"]
    assert point.intervals["alarm_rate"].high - point.intervals["alarm_rate"].low > 1.5 * (by_rows.high - by_rows.low)


def test_groups_that_show_no_spread_count_once_each():
    groups = np.repeat(np.arange(20), 10)
    y = groups < 10
    point = evaluate_threshold(y, y.astype(float), 0.5, groups=groups)
    size = 10 * (student.ppf(0.975, 99) / student.ppf(0.975, 9)) ** 2
    assert point.intervals["tpr"].low == pytest.approx(clopper_pearson(size, size, 0.95)[0])
    single = evaluate_threshold(y, np.where(groups == 0, 1.0, 0.0), 0.5, groups=groups)
    assert single.intervals["precision"].low == pytest.approx(0.025)  # alarms in one group only


# ------------------------------------------------------------------------------------------------------ given threshold


def test_a_threshold_is_judged_on_other_rows():
    y, s = binormal(np.random.default_rng(0), 100, 1000, 2.0)
    picked = operating_point(y, s, **CORNER)
    judged = evaluate_threshold(y, s, picked.threshold, **CORNER)
    assert picked.picked_here
    assert not judged.picked_here
    differing = {name for name in vars(picked) if getattr(picked, name) != getattr(judged, name)}
    assert differing == {"picked_here", "rule"}
    assert operating_point_in_region(y, s, Region(0.3, 0.3)) == picked


@pytest.mark.parametrize(
    ("region", "feasible", "shortfall", "excess"),
    [
        ({}, None, None, None),
        ({"alpha": 0.5}, True, 0.0, None),
        ({"alpha": 0.25}, False, 0.25, None),
        ({"beta": 0.75}, True, None, 0.0),
        ({"beta": 0.25}, False, None, 0.5),
        ({"alpha": 0.25, "beta": 0.25}, False, 0.25, 0.5),
        ({"alpha": 0.5, "beta": 0.25}, False, 0.0, 0.5),
        ({"alpha": 0.5, "beta": 0.75}, True, 0.0, 0.0),
    ],
)
def test_it_says_by_how_much_the_region_is_missed(region, feasible, shortfall, excess):
    y, s = [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 1, 1, 1, 0]
    point = evaluate_threshold(y, s, 0.5, **region)
    assert (point.feasible, point.tpr_shortfall, point.fpr_excess) == (feasible, shortfall, excess)


def test_labels_of_any_kind_are_named():
    y, s = np.array(["fraud", "ok", "fraud", "ok"]), [0.9, 0.1, 0.8, 0.2]
    assert operating_point(y, s, **CORNER, pos_label="fraud").threshold == 0.8
    assert evaluate_threshold(y, s, 0.5, pos_label="ok").tpr == 0.0
    with pytest.raises(ValueError, match=r"name the positive label, pos_label='fraud' or pos_label='ok'"):
        operating_point(y, s, **CORNER)


@pytest.mark.parametrize("groups", [None, np.arange(8) // 2])
def test_a_point_reads_well_and_can_be_kept(groups):
    y, s = [1, 0] * 4, [0.9, 0.8, 0.7, 0.2, 0.6, 0.1, 0.5, 0.3]
    point = operating_point(y, s, alpha=0.1, beta=0.25, guarantee=0.5, prevalence=0.1, groups=groups)
    assert pickle.loads(pickle.dumps(point)) == point
    assert len({point, pickle.loads(pickle.dumps(point))}) == 1
    lines = repr(point).splitlines()
    assert lines[0].endswith("(rule max_tpr; FPR <= 0.25 on new data with probability 0.5)")
    assert "positives caught, 0.9 wanted" in lines[1]
    assert lines[3].endswith("of the alarms are positives at prevalence 0.1")
    assert "not in the region: TPR too low by" in repr(point)
    assert lines[-1] == "  judged on the rows that the threshold was picked on; evaluate_threshold takes others"
    promised = operating_point(y, s, alpha=0.25, beta=0.25, guarantee=0.5, rule="min_fpr")
    assert "TPR >= 0.75 on new data with probability 0.5" in repr(promised)
    given_point = repr(evaluate_threshold(y, s, 0.55))
    assert given_point.startswith("OperatingPoint: alarm at score >= 0.55 (given)\n")
    assert "region" not in given_point
    assert "picked on" not in given_point


GOOD = {"y_true": [1, 0] * 10, "y_score": np.arange(20) / 20}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"prevalence": 0}, ValueError, r"prevalence must be in \(0, 1\), got 0"),
        ({"prevalence": "rare"}, TypeError, "prevalence must be a number, got 'rare'"),
        ({"confidence": 1}, ValueError, r"confidence must be in \(0, 1\), got 1"),
        ({"sample_weight": [1] * 19}, ValueError, "y_true and sample_weight must have equal length, got 20 and 19"),
        ({"sample_weight": [-1] * 20}, ValueError, "sample_weight must not be negative, found -1"),
        ({"sample_weight": [1, 0] * 10}, ValueError, "sample_weight is zero for every negative example"),
        ({"sample_weight": [1e200] * 20}, ValueError, "sample_weight must hold numbers whose squares fit into float64"),
        (
            {"sample_weight": [1e-200] * 20},
            ValueError,
            "sample_weight must hold numbers whose squares fit into float64",
        ),
        ({"groups": [1] * 20}, ValueError, "groups must hold at least 2 groups with a positive row"),
        ({"groups": [1] * 19}, ValueError, "y_true and groups must have equal length, got 20 and 19"),
        ({"groups": [None] * 20}, ValueError, "groups must name the group of every row, found None"),
        ({"pos_label": "fraud"}, ValueError, "pos_label='fraud' is not among the labels of y_true"),
    ],
)
def test_bad_options_of_both_functions_are_named(options, error, message):
    with pytest.raises(error, match=rf"^{message}"):
        operating_point(**{**GOOD, **CORNER, **options})
    with pytest.raises(error, match=rf"^{message}"):
        evaluate_threshold(**{**GOOD, "threshold": 0.5, **options})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threshold": math.nan}, ValueError, "threshold must be finite, got nan"),
        ({"threshold": "high"}, TypeError, "threshold must be a number, got 'high'"),
        ({"threshold": True}, TypeError, "threshold must be a number, got True"),
        ({"alpha": 0}, ValueError, r"alpha must be a share in \(0, 1\], got 0"),
        ({"beta": 2}, ValueError, r"beta must be a share in \(0, 1\], got 2"),
        ({"y_score": [0.5] * 19}, ValueError, "y_true and y_score must have equal length, got 20 and 19"),
    ],
)
def test_bad_options_of_a_given_threshold_are_named(options, error, message):
    with pytest.raises(error, match=rf"^{message}"):
        evaluate_threshold(**{**GOOD, "threshold": 0.5, **options})
