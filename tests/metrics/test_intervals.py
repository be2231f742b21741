"""Intervals: exact values, honest coverage, and which method is taken.

Exactness is to 1e-12, as for the metrics: the fast path counts pairs in whole numbers and rounds once. Simulations ask
whether a rate (coverage, rejection) is where it should be; what they accept is that range and three standard errors of
a rate counted over so many repetitions. Seeds are fixed, so each gives the same answer every time.
"""

import math
import re
from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.special import ndtr

from scored_samples import SEED, SHARE, assert_rate, binormal, binormal_tpauc, samples, shift_for
from tpauc.metrics import _bootstrap as resampling
from tpauc.metrics.area import tpauc_score
from tpauc.metrics.comparison import compare_tpauc
from tpauc.metrics.intervals import Interval, IntervalOptions, tpauc_interval
from tpauc.metrics.operating_points import operating_point
from tpauc.region import Region

CORNER = {"alpha": 0.3, "beta": 0.3}


# ---------------------------------------------------------------------------------------------------- what is simulated


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


# ------------------------------------------------------------------------------------------------------------ bootstrap


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
        low, high = resampling.percentile_limits(plain[0], 0.95)
        hits += low <= truth <= high
    with pytest.raises(AssertionError, match=r"is not within 0\.92 to 0\.98"):
        assert_rate(hits, REPETITIONS, 0.92, 0.98)


# ----------------------------------------------------------------------------------------------------- choice of method


@pytest.mark.parametrize(
    ("drawn", "n_deciding", "chosen"),
    [
        (20_000, 99.0, "bootstrap"),
        (20_000, 1e6, "bootstrap"),
        (20_001, 100.0, "delong"),
        (20_001, 99.0, "bootstrap"),
        (200_000, 99.0, "bootstrap"),
        (200_001, 99.0, "delong"),  # takes far too long
    ],
)
def test_auto_is_delong_where_resampling_takes_long_and_many_decide(drawn, n_deciding, chosen):
    assert IntervalOptions().chosen_method(lambda: drawn, lambda: n_deciding) == chosen
    assert IntervalOptions(n_resamples=1000).chosen_method(lambda: drawn, lambda: n_deciding) == (
        "delong" if drawn > 40_000 and chosen == "delong" and n_deciding >= 100 else "bootstrap"
    )
    for method in ("bootstrap", "delong"):
        assert IntervalOptions(method=method).chosen_method(lambda: drawn, lambda: n_deciding) == method


@pytest.mark.parametrize(
    ("n_positive", "n_negative", "tpauc", "chosen"),
    [
        (200, 100_000, 0.9, "bootstrap"),  # few positives: negatives are drawn in groups
        (8_000, 60_000, 0.5, "delong"),
        (8_000, 60_000, 0.9999, "bootstrap"),  # hardly any of 2,400 hard positives loses a pair
    ],
)
def test_few_rows_that_decide_are_resampled(monkeypatch, n_positive, n_negative, tpauc, chosen):
    monkeypatch.setattr("tpauc.metrics.intervals._MOST_DRAWS", 50 * 20_000)
    y, s = binormal(np.random.default_rng(0), n_positive, n_negative, shift_for(tpauc))
    assert tpauc_interval(y, s, **CORNER, n_resamples=50, random_state=0).method == chosen


@pytest.mark.parametrize(("most_draws", "chosen"), [(10**9, "bootstrap"), (0, "delong")])
def test_auto_is_the_method_that_it_names(monkeypatch, most_draws, chosen):
    monkeypatch.setattr("tpauc.metrics.intervals._MOST_DRAWS", most_draws)
    monkeypatch.setattr("tpauc.metrics.intervals._MANY", 20)
    y, s = binormal(np.random.default_rng(0), 300, 1000, 1.5)
    other = s + np.random.default_rng(1).normal(size=s.size)
    for call in (
        lambda method: tpauc_interval(y, s, **CORNER, method=method, n_resamples=99, random_state=0),
        lambda method: compare_tpauc(y, s, other, **CORNER, method=method, n_resamples=99, random_state=0),
    ):
        found = {method: call(method) for method in ("auto", "bootstrap", "delong")}
        assert [found[method].method for method in found] == [chosen, "bootstrap", "delong"]
        assert found["auto"] == found[chosen]
        assert found["bootstrap"].low != found["delong"].low


def test_the_method_is_not_part_of_what_is_printed():
    y, s = binormal(np.random.default_rng(0), 30, 100, 1.5)
    assert "method" not in repr(tpauc_interval(y, s, **CORNER, method="delong"))
    assert "method" not in repr(compare_tpauc(y, s, -s, **CORNER, method="delong"))


def test_delong_needs_no_randomness_and_no_resamples():
    y, s = binormal(np.random.default_rng(0), 30, 100, 1.5)
    options = {**CORNER, "method": "delong", "confidence": 0.9999}
    assert tpauc_interval(y, s, **options) == tpauc_interval(y, s, **options, n_resamples=1, random_state=3)
    assert compare_tpauc(y, s, -s, **options) == compare_tpauc(y, s, -s, **options, n_resamples=1, random_state=3)


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
        ({"method": "exact"}, ValueError, "method must be one of 'auto', 'bootstrap', 'delong', got 'exact'"),
        ({"method": None}, ValueError, "method must be one of 'auto', 'bootstrap', 'delong', got None"),
        ({"method": "delong", "confidence": 95}, ValueError, r"confidence must be in \(0, 1\), got 95"),
        ({"method": "delong", "n_resamples": 0}, ValueError, "n_resamples must be at least 1, got 0"),
        ({"method": "delong", "random_state": -1}, ValueError, "random_state must be at least 0, got -1"),
        ({"method": "delong", "alpha": 0.09}, ValueError, r"alpha=0\.09 selects none of the 10 positive examples"),
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
def test_options_name_the_mistake(call, options, error, message):
    with pytest.raises(error, match=rf"^{message}"):
        call(**options)


@pytest.mark.parametrize(("confidence", "n_resamples"), [(0.95, 39), (0.9, 19), (0.99, 199), (0.5, 3), (1e-13, 1)])
def test_the_fewest_resamples_reach_from_end_to_end(confidence, n_resamples):
    values = np.random.default_rng(0).normal(size=n_resamples)
    assert resampling.percentile_limits(values, confidence) == (values.min(), values.max())
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


# ---------------------------------------------------------------------------------------------------- few hard examples


@pytest.mark.parametrize(("n_positive", "hard", "least"), [(4, 1, "44 %"), (10, 3, "85 %"), (14, 4, "89 %")])
def test_an_interval_from_few_hard_examples_says_so(n_positive, hard, least):
    y, s = binormal(np.random.default_rng(0), n_positive, 100, 1.5, 1.0)
    found = tpauc_interval(y, s, **CORNER, random_state=0)
    assert (found.hard_positives, found.hard_negatives) == (hard, 30)
    expected = f"selects {hard} positives and 30 negatives; with fewer than 5 of either .* as little as {least}"
    assert re.search(expected, found.caution)
    assert found.caution in repr(found)
    mirrored = tpauc_interval(~y, -s, **CORNER, random_state=0)
    assert f"selects 30 positives and {hard} negatives" in mirrored.caution


def test_an_interval_from_enough_hard_examples_has_no_caution():
    y, s = binormal(np.random.default_rng(0), 17, 100, 1.5, 1.0)
    found = tpauc_interval(y, s, **CORNER, random_state=0)
    assert (found.hard_positives, found.caution) == (5, "")
    assert repr(found) == f"Interval(estimate={found.estimate!r}, low={found.low!r}, high={found.high!r})"
    assert Interval(0.5, 0.4, 0.6, "exact").caution == ""  # of a rate, which has no hard examples


def test_groups_count_as_hard_examples_rather_than_their_rows():
    y, s = binormal(np.random.default_rng(0), 40, 400, 1.5, 1.0)
    assert tpauc_interval(y, s, **CORNER, random_state=0).caution == ""
    groups = np.where(y, np.arange(440) % 4, np.arange(440))
    assert "selects 3 positives" in tpauc_interval(y, s, **CORNER, groups=groups, random_state=0).caution
