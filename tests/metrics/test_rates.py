"""TPR at an FPR and FPR at a TPR: exact small cases, the formula by plain loops, invariances, groups, coverage.

Limits are found by halving [0, 1] 30 times, so they are compared to 1e-8 with values that are found otherwise.
"""

import math
import time
from dataclasses import FrozenInstanceError, astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import beta, binom, t

from scored_samples import SEED, SHARE, binormal, samples
from tpauc.metrics._rate_limits import METHODS, effective_sizes, rows_by_class
from tpauc.metrics.operating_points import operating_point
from tpauc.metrics.rates import RateInterval, fpr_at_tpr, tpr_at_fpr

Y = [1, 1, 1, 1, 0, 0, 0, 0, 0]
S = [0.9, 0.8, 0.6, 0.3, 0.7, 0.5, 0.4, 0.2, 0.1]


def plain_distributions(y, s, fpr, value):
    """F_low and F_high at a value, by a loop over all numbers of negatives above the threshold."""
    positives, negatives = s[y], sorted(s[~y], reverse=True)
    m, n = positives.size, len(negatives)
    edges = [math.inf, *negatives, -math.inf]
    low = high = 0.0
    for j in range(n + 1):
        fewest, most = (int(np.count_nonzero(positives > edge)) for edge in (edges[j], edges[j + 1]))
        low += binom.pmf(j, n, fpr) * (beta.cdf(value, fewest, m - fewest + 1) if fewest else 1.0)
        high += binom.pmf(j, n, fpr) * (beta.cdf(value, most + 1, m - most) if most < m else 0.0)
    return low, high


# ------------------------------------------------------------------------------------------------------- exact values


@pytest.mark.parametrize(
    ("fpr", "estimate", "threshold"),
    [(0.1, 0.5, 0.8), (0.2, 0.75, 0.6), (0.4, 0.75, 0.6), (0.59, 0.75, 0.6), (0.6, 1.0, 0.3), (1, 1.0, 0.3)],
)
def test_estimate_of_a_tpr_and_its_threshold(fpr, estimate, threshold):
    found = tpr_at_fpr(Y, S, fpr=fpr)
    assert (found.estimate, found.threshold) == (estimate, threshold)


@pytest.mark.parametrize(
    ("tpr", "estimate", "threshold"),
    [(0.2, 0.0, 0.9), (0.25, 0.0, 0.9), (0.26, 0.0, 0.8), (0.75, 0.2, 0.6), (0.76, 0.6, 0.3), (1, 0.6, 0.3)],
)
def test_estimate_of_an_fpr_and_its_threshold(tpr, estimate, threshold):
    found = fpr_at_tpr(Y, S, tpr=tpr)
    assert (found.estimate, found.threshold) == (estimate, threshold)


def test_no_threshold_catches_a_positive_where_all_are_tied():
    found = tpr_at_fpr([1, 1, 0, 0], [5, 5, 5, 5], fpr=0.5)
    assert (found.estimate, found.low, found.threshold) == (0.0, 0.0, math.inf)
    found = fpr_at_tpr([1, 1, 0, 0], [5, 5, 5, 5], tpr=0.5)
    assert (found.estimate, found.high, found.threshold) == (1.0, 1.0, 5.0)


@given(sample=samples(), fpr=SHARE, method=st.sampled_from(METHODS), confidence=st.sampled_from([0.5, 0.9, 0.95]))
@settings(deadline=None, max_examples=40)
def test_limits_are_quantiles_of_the_plain_sums(sample, fpr, method, confidence):
    y, s = sample
    found = tpr_at_fpr(y, s, fpr=fpr, method=method, confidence=confidence)
    tail = (1 - confidence) / 2
    for limit, level, side in ((found.low, tail, 0), (found.high, 1 - tail, 1)):
        if fpr == 1 or limit in (0.0, found.estimate, 1.0):
            continue
        around = [plain_distributions(y, s, fpr, limit + shift) for shift in (-1e-8, 1e-8)]
        below, above = (pair[side] if method == "conservative" else sum(pair) / 2 for pair in around)
        assert below - 1e-9 <= level <= above + 1e-9


def test_limits_with_so_many_negatives_that_they_fix_the_threshold_are_those_of_a_proportion():
    """With 10**7 negatives the 10 % mark is where it is, and of 40 positives 30 lie above it."""
    score = np.concatenate([np.full(30, 2.0), np.zeros(10), [3.0, 1.0]])
    weight = np.concatenate([np.ones(40), [999_999, 9_000_001]])
    found = tpr_at_fpr(np.arange(42) < 40, score, fpr=0.11, method="conservative", sample_weight=weight)
    assert found.estimate == 0.75
    np.testing.assert_allclose([found.low, found.high], [beta.ppf(0.025, 30, 11), beta.ppf(0.975, 31, 10)], rtol=1e-6)


def test_the_limits_for_every_negative_are_certain():
    found = tpr_at_fpr(Y, S, fpr=1.0)
    assert (found.low, found.estimate, found.high) == (1.0, 1.0, 1.0)
    lows = [tpr_at_fpr(*binormal(np.random.default_rng(0), 100, 100, 1.0), fpr=fpr).low for fpr in (0.5, 0.9, 0.99)]
    assert lows == sorted(lows)
    assert lows[-1] > 0.9


def test_without_a_miss_the_fpr_is_bounded_from_below_alone():
    sample = binormal(np.random.default_rng(0), 100, 100, 1.0)
    found = fpr_at_tpr(*sample, tpr=1.0)
    assert 0.0 < found.low < found.estimate < found.high == 1.0


# -------------------------------------------------------------------------------------------------------- invariances


@given(sample=samples(), share=SHARE, seed=SEED, method=st.sampled_from(METHODS))
@settings(deadline=None, max_examples=30)
def test_only_the_order_of_the_scores_counts(sample, share, seed, method):
    y, s = sample
    groups = np.random.default_rng(seed).integers(8, size=y.size)
    order = np.random.default_rng(seed).permutation(y.size)
    for function, name in ((tpr_at_fpr, "fpr"), (fpr_at_tpr, "tpr")):
        for by in (None, groups):
            options = {name: share, "method": method}
            found = function(y, s, groups=by, **options)
            assert 0.0 <= found.low <= found.estimate <= found.high <= 1.0
            assert all(type(value) is float for value in vars(found).values())
            shuffled = function(y[order], s[order], groups=None if by is None else by[order], **options)
            # Sums over groups are rounded in another order, which may move a limit by one step of its search.
            np.testing.assert_allclose(astuple(shuffled), astuple(found), rtol=0, atol=0 if by is None else 1e-8)
            monotone = function(2 * y - 1, np.exp(s), groups=by, **options)
            assert (monotone.estimate, monotone.low, monotone.high) == (found.estimate, found.low, found.high)


@given(sample=samples(), share=SHARE, seed=SEED)
@settings(deadline=None, max_examples=30)
def test_a_whole_weight_is_a_repeated_row(sample, share, seed):
    y, s = sample
    generator = np.random.default_rng(seed)
    weight, groups = generator.integers(4, size=y.size), generator.integers(6, size=y.size)
    weight[[np.argmax(y), np.argmin(y)]] = 1
    groups[:] = np.where(np.arange(y.size) % 2, groups, 6)
    rows = np.repeat(np.arange(y.size), weight)
    for function, name in ((tpr_at_fpr, "fpr"), (fpr_at_tpr, "tpr")):
        assert function(y, s, sample_weight=weight, **{name: share}) == function(y[rows], s[rows], **{name: share})
        assert function(y, s, sample_weight=np.ones(y.size), **{name: share}) == function(y, s, **{name: share})
        if min(np.unique(groups[rows][y[rows] == side]).size for side in (0, 1)) > 1:
            weighted = function(y, s, sample_weight=weight, groups=groups, **{name: share})
            repeated = function(y[rows], s[rows], groups=groups[rows], **{name: share})
            np.testing.assert_allclose(astuple(weighted), astuple(repeated), rtol=0, atol=1e-8)


@given(sample=samples(), share=SHARE)
@settings(deadline=None, max_examples=30)
def test_groups_of_one_row_are_no_groups(sample, share):
    y, s = sample
    assert tpr_at_fpr(y, s, fpr=share, groups=np.arange(y.size)) == tpr_at_fpr(y, s, fpr=share)
    assert fpr_at_tpr(y, s, tpr=share, groups=np.arange(y.size)) == fpr_at_tpr(y, s, tpr=share)


def test_rows_count_less_if_few_groups_decide():
    """Two of 20 groups of positives hold all that are missed: their size by the formulas, with plain loops."""
    groups = np.concatenate((np.repeat(np.arange(20), 10), np.repeat(np.arange(20, 60), 10)))
    y = np.arange(600) < 200
    s = np.concatenate((np.full(200, 1.0), np.linspace(-3.0, 0.0, 400)))
    s[:15] = -9.0  # below every negative, so that the curve is flat and the negatives have no influence
    found = effective_sizes(*rows_by_class(y, s, groups, None, None), np.array([0.5]), 0.025)[0]
    d = [((x > 0) - 185 / 200) / 200 for x in s[:200]]
    z2 = [sum(d[10 * g : 10 * g + 10]) ** 2 for g in range(20)] + [0.0] * 40
    effect = sum(z2) / sum(value**2 for value in d)
    mean = sum(z2) / 60
    freedom = 2 * sum(z2) ** 2 / sum((value - mean) ** 2 for value in z2)
    assert effect > 5
    assert 1 < freedom < 5
    shrink = min(t.isf(0.025, n - 1) / t.isf(0.025, freedom) for n in (200, 400)) ** 2
    np.testing.assert_allclose(found, [200 / effect * shrink, 400 / effect * shrink], rtol=1e-12)


def test_rows_repeated_within_their_group_say_nothing_new():
    """Five copies of each row, marked as such, give the limits of the rows, up to the Student quantiles."""
    y, s = binormal(np.random.default_rng(0), 200, 400, 1.5)
    copies = np.repeat(np.arange(y.size), 5)
    once = tpr_at_fpr(y, s, fpr=0.2)
    five = tpr_at_fpr(y[copies], s[copies], fpr=0.2, groups=copies)
    blind = tpr_at_fpr(y[copies], s[copies], fpr=0.2)
    assert five.estimate == once.estimate
    assert five.high - five.low == pytest.approx(once.high - once.low, rel=0.03)
    assert blind.high - blind.low < 0.5 * (once.high - once.low)


@given(sample=samples(), share=SHARE, method=st.sampled_from(METHODS))
@settings(deadline=None, max_examples=30)
def test_the_two_rates_are_mirror_images(sample, share, method):
    y, s = sample
    fpr = fpr_at_tpr(y, s, tpr=share, method=method)
    mirrored = tpr_at_fpr(~y, -s, fpr=1 - share, method=method) if share < 1 else None
    if mirrored is not None:
        expected = (1 - mirrored.estimate, 1 - mirrored.high, 1 - mirrored.low)
        np.testing.assert_allclose((fpr.estimate, fpr.low, fpr.high), expected, atol=1e-12)


@given(sample=samples(), share=SHARE)
@settings(deadline=None, max_examples=30)
def test_the_estimate_is_the_rate_of_the_operating_point(sample, share):
    y, s = sample
    found, point = tpr_at_fpr(y, s, fpr=share), operating_point(y, s, alpha=1.0, beta=share)
    assert (found.estimate, found.threshold) == (point.tpr, point.threshold)
    found = fpr_at_tpr(y, s, tpr=share)
    assert found.estimate == np.mean(s[~y] >= found.threshold)
    assert np.mean(s[y] >= found.threshold) >= share - 1e-12


def test_more_confidence_and_more_caution_are_wider():
    sample = binormal(np.random.default_rng(0), 50, 100, 1.5)
    by_confidence = [tpr_at_fpr(*sample, fpr=0.1, confidence=c) for c in (0.5, 0.8, 0.95, 0.99)]
    careful = tpr_at_fpr(*sample, fpr=0.1, confidence=0.99, method="conservative")
    for narrow, wide in zip(by_confidence, [*by_confidence[1:], careful], strict=True):
        assert wide.low < narrow.low < narrow.high < wide.high


# ------------------------------------------------------------------------------------------- labels, speed, bad input


def test_labels_of_every_kind():
    found = tpr_at_fpr(Y, S, fpr=0.2)
    names = np.where(np.array(Y) == 1, "fraud", "ok")
    assert tpr_at_fpr(names, S, fpr=0.2, pos_label="fraud") == found
    assert tpr_at_fpr(1 - np.array(Y), S, fpr=0.2, pos_label=0) == found
    assert tpr_at_fpr(np.array(Y, dtype=bool), np.float32(S), fpr=0.2).estimate == found.estimate
    assert fpr_at_tpr(names, S, tpr=0.5, pos_label="fraud") == fpr_at_tpr(Y, S, tpr=0.5)
    with pytest.raises(ValueError, match=r"of 'fraud' and 'ok' name the positive label, pos_label='fraud' or "):
        tpr_at_fpr(names, S, fpr=0.2)


def test_a_million_rows_take_less_than_a_second_or_two():
    y, s = binormal(np.random.default_rng(0), 100_000, 900_000, 1.5)
    start = time.process_time()
    found = tpr_at_fpr(y, s, fpr=0.05)
    assert time.process_time() - start < 2.0
    assert found.high - found.low < 0.02


def test_the_result_cannot_be_changed():
    found = tpr_at_fpr(Y, S, fpr=0.2)
    assert isinstance(found, RateInterval)
    with pytest.raises(FrozenInstanceError):
        found.low = 0.0


@pytest.mark.parametrize(("function", "name"), [(tpr_at_fpr, "fpr"), (fpr_at_tpr, "tpr")])
@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"share": 0.0}, ValueError, r"SHARE must be a share in \(0, 1\], got 0\.0"),
        ({"share": 1.1}, ValueError, r"SHARE must be a share in \(0, 1\], got 1\.1"),
        ({"share": "a"}, TypeError, "SHARE must be a number, got 'a'"),
        ({"confidence": 1.0}, ValueError, r"confidence must be in \(0, 1\), got 1\.0"),
        ({"method": "delong"}, ValueError, "method must be one of 'mid-p', 'conservative', got 'delong'"),
        ({"y_true": [0] * 9}, ValueError, "y_true has no positive example"),
        ({"y_score": [math.nan] * 9}, ValueError, "y_score must be finite"),
        ({"y_score": [1, 2]}, ValueError, "y_true and y_score must have equal length, got 9 and 2"),
        ({"sample_weight": [0.5] * 9}, ValueError, "sample_weight must hold whole numbers here"),
        ({"groups": [1, 2]}, ValueError, "y_true and groups must have equal length, got 9 and 2"),
        ({"groups": [1] * 9}, ValueError, "groups must hold at least 2 groups with a positive row"),
        (
            {"groups": [1, 2, 2, 2, 1, 2, 3, 4, 5], "sample_weight": [1, 0, 0, 0, 1, 1, 1, 1, 1]},
            ValueError,
            "groups must hold at least 2 groups with a positive row",
        ),
        ({"pos_label": 2}, ValueError, "pos_label=2 is not among the labels of y_true, which are 0, 1"),
    ],
)
def test_bad_input(function, name, changes, error, message):
    share = changes.get("share", 0.5)
    arguments = {"y_true": Y, "y_score": S, **{key: value for key, value in changes.items() if key != "share"}}
    with pytest.raises(error, match=f"^{message.replace('SHARE', name)}"):
        function(**arguments, **{name: share})


# --------------------------------------------------------------------------- coverage (benchmarks/bands.py has more)


@pytest.mark.parametrize(
    ("n_positive", "n_negative", "fpr", "shift", "spread"), [(50, 50, 0.1, 1.5, 1), (50, 200, 0.02, 2, 2)]
)
def test_coverage(n_positive, n_negative, fpr, shift, spread):
    """Of 200 repetitions at least 93 % less three standard errors are covered; fixed seed."""
    generator = np.random.default_rng(0)
    truth, repetitions, hits = ndtr((shift + ndtri(fpr)) / spread), 200, 0
    for _ in range(repetitions):
        found = tpr_at_fpr(*binormal(generator, n_positive, n_negative, shift, spread), fpr=fpr)
        hits += found.low <= truth <= found.high
    assert hits / repetitions >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / repetitions)
