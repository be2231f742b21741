"""Intervals, comparisons and operating points: exact values, honest coverage and level, plain references.

Exactness is to 1e-12, as for the metrics: the fast path counts pairs in whole numbers and rounds once. Simulations ask
whether a rate (coverage, rejection) is where it should be; what they accept is that range and three standard errors of
a rate counted over so many repetitions. Seeds are fixed, so each gives the same answer every time.
"""

import math
from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.special import ndtr, ndtri

import reference
from scored_samples import SEED, SHARE, binormal, samples
from tpauc.metrics import _bootstrap as resampling
from tpauc.metrics import intervals as uncertainty
from tpauc.metrics._delong import large_sample_difference
from tpauc.metrics.area import tpauc_score
from tpauc.metrics.intervals import compare_tpauc, operating_point, tpauc_interval
from tpauc.region import Region

CORNER = {"alpha": 0.3, "beta": 0.3}


def binormal_tpauc(shift, spread, alpha, beta, steps=20_000):
    """Mean over the lowest share ``alpha`` of the positives of the share of the hard negatives below, by midpoints."""
    positives = shift + spread * ndtri((np.arange(steps) + 0.5) / steps * alpha)
    return np.clip(1.0 - ndtr(-positives) / beta, 0.0, 1.0).mean()


def shift_for(tpauc, spread=1.0, alpha=0.3, beta=0.3):
    """Mean of the positives that gives this TPAUC, by bisection."""
    low, high = -10.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if binormal_tpauc(middle, spread, alpha, beta, 2_000) < tpauc else (low, middle)
    return low


def assert_rate(hits, trials, at_least, at_most):
    """Fail unless a rate within these bounds explains the hits, to three standard errors."""
    low = at_least - 3 * math.sqrt(at_least * (1 - at_least) / trials)
    high = at_most + 3 * math.sqrt(at_most * (1 - at_most) / trials)
    assert low <= hits / trials <= high, f"{hits} of {trials} is not within {at_least} to {at_most}"


# ------------------------------------------------------------------------------------------------- what is simulated


def test_quadrature_has_the_known_values():
    assert abs(binormal_tpauc(0.0, 1.0, 1.0, 1.0) - 0.5) < 1e-9  # symmetric, so midpoints are exact
    # AUC of two normals; midpoints err by about 1 / steps**2 away from the ends, and less than 1 / steps in all.
    assert abs(binormal_tpauc(1.0, 2.0, 1.0, 1.0) - ndtr(1 / math.sqrt(5))) < 1e-6
    generator = np.random.default_rng(0)
    y, s = binormal(generator, 100_000, 100_000, 1.5, 0.8)
    # The standard error of this estimate is about 0.002.
    assert abs(tpauc_score(y, s, **CORNER) - binormal_tpauc(1.5, 0.8, **CORNER)) < 0.008
    assert abs(binormal_tpauc(shift_for(0.6, 2.0), 2.0, **CORNER) - 0.6) < 1e-3


def test_the_check_of_rates_can_fail():
    assert_rate(940, 1000, 0.92, 0.98)
    for hits in (850, 1000):
        with pytest.raises(AssertionError, match=rf"^{hits} of 1000 is not within 0\.92 to 0\.98"):
            assert_rate(hits, 1000, 0.92, 0.98)


# ----------------------------------------------------------------------------------------------------------- intervals


@given(sample=samples(), alpha=SHARE, beta=SHARE, seed=SEED)
@settings(deadline=None, max_examples=60)
def test_interval_holds_the_exact_score(sample, alpha, beta, seed):
    interval = tpauc_interval(*sample, alpha=alpha, beta=beta, n_resamples=99, random_state=seed)
    assert interval.estimate == tpauc_score(*sample, alpha=alpha, beta=beta)
    assert 0.0 <= interval.low <= interval.estimate <= interval.high <= 1.0
    assert all(type(value) is float for value in (interval.estimate, interval.low, interval.high))


@given(sample=samples(), seed=SEED)
@settings(deadline=None, max_examples=30)
def test_interval_depends_on_the_ranking_alone(sample, seed):
    y, s = sample
    fixed = {**CORNER, "n_resamples": 99, "random_state": seed}
    interval = tpauc_interval(y, s, **fixed)
    order = np.random.default_rng(seed).permutation(y.size)
    assert tpauc_interval(y[order], s[order], **fixed) == interval
    assert tpauc_interval(2 * y - 1, np.exp(s), **fixed) == interval
    assert tpauc_interval(y[:, np.newaxis], s.astype(np.float32), **fixed) == interval


def test_more_confidence_is_a_wider_interval():
    sample = binormal(np.random.default_rng(0), 100, 1000, 1.8)
    low_to_high = [tpauc_interval(*sample, **CORNER, confidence=c, random_state=0) for c in (0.5, 0.8, 0.95, 0.99)]
    for narrow, wide in pairwise(low_to_high):
        assert wide.low < narrow.low < narrow.estimate < narrow.high < wide.high


def test_random_state_reproduces_and_touches_nothing_else():
    sample = binormal(np.random.default_rng(0), 50, 200, 1.5)
    others = sample[1] + np.random.default_rng(1).normal(size=250)
    for call in (
        lambda random_state: tpauc_interval(*sample, **CORNER, random_state=random_state),
        lambda random_state: compare_tpauc(*sample, others, **CORNER, random_state=random_state),
    ):
        before = np.random.get_state(legacy=False)  # noqa: NPY002  # it must not be used
        assert call(7) == call(7) == call(np.int64(7)) == call(np.random.default_rng(7))
        assert call(7) != call(8)
        assert call(None) != call(None)
        generator = np.random.default_rng(7)
        assert call(generator) != call(generator)
        np.testing.assert_equal(np.random.get_state(legacy=False), before)  # noqa: NPY002


def test_a_perfect_and_a_hopeless_ranking_are_not_certain():
    y = np.repeat([1, 0], [20, 200])
    k = 6
    perfect = tpauc_interval(y, y, **CORNER, n_resamples=200)
    assert (perfect.estimate, perfect.low, perfect.high) == (1.0, ((1 - 0.95) / 2) ** (1 / k), 1.0)
    hopeless = tpauc_interval(y, -y, **CORNER, n_resamples=200, confidence=0.8)
    assert (hopeless.estimate, hopeless.low, hopeless.high) == (0.0, 0.0, 1 - ((1 - 0.8) / 2) ** (1 / k))
    # With all the data in the world the rule loses its weight.
    y = np.repeat([1, 0], [20_000, 20_000])
    assert tpauc_interval(y, y, **CORNER, n_resamples=50, confidence=0.9).low > 0.999


def test_equal_scores_are_a_certain_half():
    interval = tpauc_interval([1] * 9 + [0] * 9, [0.5] * 18, **CORNER, n_resamples=99)
    assert (interval.estimate, interval.low, interval.high) == (0.5, 0.5, 0.5)


def test_the_smallest_data():
    interval = tpauc_interval([1, 0], [0.2, 0.7], alpha=1, beta=1, n_resamples=99)
    assert (interval.estimate, interval.low) == (0.0, 0.0)
    assert interval.high == pytest.approx(0.975)  # one row: anything up to 97.5 % is believable


COVERED = [
    *[(40, 400, tpauc, 1.0) for tpauc in (0.02, 0.5, 0.95)],
    *[(60, 600, tpauc, 1.0) for tpauc in (0.1, 0.9)],
    (50, 50, 0.6, 2.0),
]
REPETITIONS = 400


@pytest.mark.parametrize(("n_positive", "n_negative", "tpauc", "spread"), COVERED)
def test_interval_covers_the_truth(n_positive, n_negative, tpauc, spread):
    generator = np.random.default_rng(3)
    shift = shift_for(tpauc, spread)
    truth = binormal_tpauc(shift, spread, **CORNER)
    hits = 0
    for _ in range(REPETITIONS):
        sample = binormal(generator, n_positive, n_negative, shift, spread)
        interval = tpauc_interval(*sample, **CORNER, n_resamples=399, random_state=generator)
        hits += interval.low <= truth <= interval.high
    assert_rate(hits, REPETITIONS, 0.92, 0.98)


def test_plain_percentiles_would_not_cover_the_truth():
    generator = np.random.default_rng(3)
    shift = shift_for(0.95)
    truth = binormal_tpauc(shift, 1.0, **CORNER)
    hits = 0
    for _ in range(REPETITIONS):
        y, s = binormal(generator, 40, 400, shift)
        plain = resampling.paired_resamples(generator, y, (s,), Region(**CORNER), 399)
        low, high = uncertainty._limits(plain[0], 0.95)
        hits += low <= truth <= high
    with pytest.raises(AssertionError, match=r"is not within 0\.92 to 0\.98"):
        assert_rate(hits, REPETITIONS, 0.92, 0.98)


# --------------------------------------------------------------------------------------------------------- comparisons


def two_models(generator, n_positive, n_negative, shifts, spreads=(1.0, 1.0), shared=0.7):
    """Labels and two binormal scores whose noise has the given correlation."""
    y = np.arange(n_positive + n_negative) < n_positive
    common = generator.normal(size=y.size)
    models = []
    for shift, spread in zip(shifts, spreads, strict=True):
        s = math.sqrt(shared) * common + math.sqrt(1 - shared) * generator.normal(size=y.size)
        s[y] = shift + spread * s[y]
        models.append(s)
    return y, *models


def rejections(generator, repetitions, n_positive, n_negative, **models):
    return sum(
        compare_tpauc(
            *two_models(generator, n_positive, n_negative, **models), **CORNER, n_resamples=199, random_state=generator
        ).p_value
        <= 0.05
        for _ in range(repetitions)
    )


@pytest.mark.parametrize("spreads", [(1.0, 1.0), (0.7, 1.4)])
def test_comparison_keeps_its_level(spreads):
    shifts = [shift_for(0.5, spread) for spread in spreads]
    found = rejections(np.random.default_rng(4), 600, 60, 600, shifts=shifts, spreads=spreads)
    assert_rate(found, 600, 0.05, 0.05)


def test_influence_is_the_derivative_by_the_weight_of_a_row():
    # 0.3 of 40 and of 100 are whole rows, so that weights that are not whole numbers cut the region at the same border.
    y, s = binormal(np.random.default_rng(6), 40, 100, 1.6)
    influence = uncertainty._influence(y, s, Region(**CORNER))
    inside = np.where(y, s <= np.sort(s[y])[11], s >= np.sort(s[~y])[-30])
    score = tpauc_score(y, s, **CORNER)
    for row in range(y.size):
        # The derivative jumps at the border; these steps stay on the side of the last row inside.
        step = 1e-6 if inside[row] else -1e-6
        weight = np.where(np.arange(y.size) == row, 1.0 + step, 1.0)
        slope = (tpauc_score(y, s, **CORNER, sample_weight=weight) - score) / step
        # The step bends the slope by its own size, and rounding adds 1e-16 / step.
        assert slope == pytest.approx(influence[row], abs=1e-6)
    assert np.ptp(influence) > 0.01


def test_effective_number_counts_equal_influences():
    assert uncertainty._effective_number(np.array([0.0, 2.0, -2.0, 2.0])) == pytest.approx(3.0)
    assert 1.0 < uncertainty._effective_number(np.array([1.0, 0.1, 0.1])) < 1.1
    assert uncertainty._effective_number(np.zeros(3)) == math.inf


def test_comparison_finds_a_difference():
    shifts = [shift_for(tpauc) for tpauc in (0.65, 0.35)]
    assert rejections(np.random.default_rng(5), 50, 100, 1000, shifts=shifts) > 40


@given(sample=samples(n_models=2), alpha=SHARE, beta=SHARE, seed=SEED)
@settings(deadline=None, max_examples=60)
def test_comparison_is_exact_and_consistent(sample, alpha, beta, seed):
    y, a, b = sample
    fixed = {"alpha": alpha, "beta": beta, "n_resamples": 199, "random_state": seed}
    comparison = compare_tpauc(y, a, b, **fixed)
    assert comparison.difference == tpauc_score(y, a, alpha=alpha, beta=beta) - tpauc_score(
        y, b, alpha=alpha, beta=beta
    )
    assert -1.0 <= comparison.low <= comparison.high <= 1.0
    assert 2 / 200 <= comparison.p_value <= 1.0
    assert all(type(value) is float for value in vars(comparison).values())
    for confidence in (0.5, 0.9, 0.95, 0.99):
        other = compare_tpauc(y, a, b, **fixed, confidence=confidence)
        assert other.p_value == comparison.p_value
        # 1 - 0.9 is a little below 0.1, a p-value that can occur.
        assert (comparison.p_value <= 1 - confidence + 1e-12) == (not other.low <= 0 <= other.high)


@given(sample=samples(n_models=2), seed=SEED)
@settings(deadline=None, max_examples=30)
def test_comparison_is_antisymmetric_and_depends_on_rankings_alone(sample, seed):
    y, a, b = sample
    fixed = {**CORNER, "n_resamples": 99, "random_state": seed}
    comparison = compare_tpauc(y, a, b, **fixed)
    swapped = compare_tpauc(y, b, a, **fixed)
    assert (swapped.difference, swapped.low, swapped.high) == (
        -comparison.difference,
        -comparison.high,
        -comparison.low,
    )
    assert swapped.p_value == comparison.p_value
    assert compare_tpauc(y, np.exp(a), 3 * b - 1, **fixed) == comparison


@given(sample=samples())
@settings(deadline=None, max_examples=20)
def test_equal_scores_do_not_differ(sample):
    y, s = sample
    comparison = compare_tpauc(y, s, s.copy(), **CORNER, n_resamples=99)
    assert (comparison.difference, comparison.low, comparison.high, comparison.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_no_resample_for_the_other_model_is_the_smallest_p_value():
    y = np.repeat([1, 0], [20, 200])
    comparison = compare_tpauc(y, y, -y, **CORNER, n_resamples=999, random_state=0)
    assert (comparison.difference, comparison.low, comparison.high) == (1.0, 1.0, 1.0)
    assert comparison.p_value == 2 / 1000


@pytest.mark.parametrize(("n_positive", "n_negative", "least"), [(1, 50, 1.0), (3, 50, 0.25), (50, 5, 0.0625)])
def test_few_rows_do_not_tell_models_apart(n_positive, n_negative, least):
    y = np.repeat([1, 0], [n_positive, n_negative])
    for found in (
        compare_tpauc(y, y, -y, alpha=1.0, beta=1.0, n_resamples=999, random_state=0),
        large_sample_difference(y, y, -y, Region(1.0, 1.0)),
    ):
        assert found.p_value == least
        assert (found.difference, found.low, found.high) == (1.0, 0.0, 1.0)
    swapped = compare_tpauc(y, -y, y, alpha=1.0, beta=1.0, n_resamples=999, random_state=0)
    assert (swapped.low, swapped.high) == (-1.0, 0.0)


def test_six_rows_that_agree_tell_models_apart_at_five_percent_and_not_at_one():
    y = np.repeat([1, 0], [6, 50])
    found = {c: compare_tpauc(y, y, -y, alpha=1.0, beta=1.0, confidence=c, random_state=0) for c in (0.95, 0.99)}
    assert found[0.95].p_value == found[0.99].p_value == 2**-5
    assert (found[0.95].low, found[0.99].low) == (1.0, 0.0)


def test_equal_models_with_few_positives_are_seldom_told_apart():
    found = rejections(np.random.default_rng(5), 300, 4, 200, shifts=(1.0, 1.0))
    assert found == 0  # 17 without the limit of the p-value


# ----------------------------------------------------------------------------------------------------- operating point


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
    assert [type(value) for value in vars(point).values()] == [float, float, float, bool]
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


# ------------------------------------------------------------------------------------------------------------- mistakes

GOOD = {"y_true": [1, 0] * 10, "y_score": np.arange(20) / 20, **CORNER}


def interval_of(**options):
    return tpauc_interval(**{**GOOD, **options})


def comparison_of(y_score=None, **options):
    scores = GOOD["y_score"] if y_score is None else y_score
    rest = {key: value for key, value in GOOD.items() if key != "y_score"}
    return compare_tpauc(**{**rest, "score_a": GOOD["y_score"], "score_b": scores, **options})


def point_of(**options):
    return operating_point(**{**GOOD, **options})


@pytest.mark.parametrize("call", [interval_of, comparison_of])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"confidence": 1.0}, ValueError, r"confidence must be in \(0, 1\), got 1\.0"),
        ({"confidence": 95}, ValueError, r"confidence must be in \(0, 1\), got 95"),
        ({"confidence": "high"}, TypeError, "confidence must be a number, got 'high'"),
        ({"n_resamples": 38}, ValueError, r"n_resamples must be at least 39 for confidence=0\.95, got 38"),
        (
            {"n_resamples": 18, "confidence": 0.9},
            ValueError,
            "n_resamples must be at least 19 for confidence=0.9, got 18",
        ),
        ({"n_resamples": 2000, "confidence": 0.9999}, ValueError, "n_resamples must be at least 19999 for"),
        ({"n_resamples": 0, "confidence": 0.1}, ValueError, "n_resamples must be at least 1, got 0"),
        ({"n_resamples": 100.0}, TypeError, "n_resamples must be a whole number, got 100.0"),
        ({"random_state": -1}, ValueError, "random_state must be at least 0, got -1"),
        (
            {"random_state": 0.5},
            TypeError,
            "random_state must be None, a whole number or a numpy.random.Generator, got",
        ),
        (
            {"random_state": True},
            TypeError,
            "random_state must be None, a whole number or a numpy.random.Generator, got",
        ),
        ({"random_state": np.random}, TypeError, "random_state must be None, a whole number or a numpy.random.Gen"),
        ({"alpha": 0.09}, ValueError, r"alpha=0\.09 selects none of the 10 positive examples; at least 12 are needed"),
        ({"beta": 0.05}, ValueError, r"beta=0\.05 selects none of the 10 negative examples; at least 20 are needed"),
    ],
)
def test_resampling_names_the_mistake(call, options, error, message):
    with pytest.raises(error, match=rf"^{message}"):
        call(**options)


@pytest.mark.parametrize(("confidence", "n_resamples"), [(0.95, 39), (0.9, 19), (0.99, 199), (0.5, 3), (1e-13, 1)])
def test_the_fewest_resamples_reach_from_end_to_end(confidence, n_resamples):
    values = np.random.default_rng(0).normal(size=n_resamples)
    assert uncertainty._limits(values, confidence) == (values.min(), values.max())
    y, s = binormal(np.random.default_rng(0), 50, 50, 1.0)
    interval = tpauc_interval(y, s, **CORNER, confidence=confidence, n_resamples=n_resamples)
    assert interval.low <= interval.estimate <= interval.high


@pytest.mark.parametrize("call", [interval_of, comparison_of, point_of])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alpha": 0}, ValueError, r"alpha must be a share in \(0, 1\], got 0"),
        ({"beta": 1.5}, ValueError, r"beta must be a share in \(0, 1\], got 1.5"),
        ({"y_true": [1] * 20}, ValueError, "y_true has no negative example among its 20"),
        ({"y_true": [0, 2] * 10}, ValueError, "y_true must hold only 0/1 or only -1/1, found the values 0, 2"),
        ({"y_true": []}, ValueError, r"y_true and (y_score|score_a) must have equal length, got 0 and 20"),
        ({"y_score": [math.nan] * 20}, ValueError, "(y_score|score_b) must be finite, found 20 NaN"),
        ({"y_score": [0.5] * 19}, ValueError, "y_true and (y_score|score_b) must have equal length, got 20 and 19"),
        ({"y_score": ["a"] * 20}, ValueError, "(y_score|score_b) must hold real numbers, got dtype <U1"),
    ],
)
def test_bad_rows_are_named(call, options, error, message):
    with pytest.raises(error, match=rf"^{message}"):
        call(**options)


def test_score_a_is_named_too():
    with pytest.raises(ValueError, match=r"^score_a must be finite"):
        comparison_of(score_a=[math.inf] * 20)


def test_huge_scores_do_not_overflow():
    y, s = binormal(np.random.default_rng(0), 20, 100, 2.0)
    s = np.sign(s) * np.exp(100 * np.abs(s))
    assert np.isfinite(s).all()
    assert tpauc_interval(y, s * 1e100, **CORNER, random_state=0) == tpauc_interval(y, s, **CORNER, random_state=0)


def test_results_cannot_be_changed():
    for result, field in ((interval_of(), "low"), (comparison_of(), "p_value"), (point_of(), "threshold")):
        with pytest.raises(FrozenInstanceError):
            setattr(result, field, 0.0)
