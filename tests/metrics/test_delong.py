"""Intervals and comparisons for large samples, against the definition in plain loops, other formulas, simulation."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference
from tpauc.metrics._delong import influences, row_influences
from tpauc.metrics.area import tpauc_score
from tpauc.metrics.comparison import compare_tpauc
from tpauc.metrics.intervals import tpauc_interval
from tpauc.region import Region

REGIONS = [Region(0.3, 0.3), Region(1.0, 0.3), Region(0.3, 1.0), Region(1.0, 1.0), Region(0.2, 0.5)]
WHOLE = Region(1.0, 1.0)


def interval_of(y, s, region, **options):
    return tpauc_interval(y, s, alpha=region.alpha, beta=region.beta, method="delong", **options)


def difference_of(y, a, b, region):
    return compare_tpauc(y, a, b, alpha=region.alpha, beta=region.beta, method="delong")


def normal_scores(n, seed=0, share=0.3, shift=1.5):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    return y, rng.normal(size=n) + shift * y


def plain_influences(y, s, region):
    """U / k+ of every positive and V / k- of every negative, by the formulas, in the order of the rows."""
    rows = range(len(y))
    positives = sorted((i for i in rows if y[i]), key=lambda i: s[i])[: reference.hard_count(int(sum(y)), region.alpha)]
    negatives = sorted((i for i in rows if not y[i]), key=lambda i: -s[i])
    negatives = negatives[: reference.hard_count(len(negatives), region.beta)]
    a = {i: sum(reference.pair_credit(s[i], s[j], "half") for j in negatives) / len(negatives) for i in positives}
    b = {j: sum(reference.pair_credit(s[i], s[j], "half") for i in positives) / len(positives) for j in negatives}
    u = [(max(a.values()) - a[i]) / len(positives) if i in a else 0.0 for i in rows if y[i]]
    v = [(max(b.values()) - b[j]) / len(negatives) if j in b else 0.0 for j in rows if not y[j]]
    return u, v


def plain_variance(*classes):
    """Sum over classes of n times the sample variance."""
    return math.fsum(
        len(values) * math.fsum((x - math.fsum(values) / len(values)) ** 2 for x in values) / (len(values) - 1)
        for values in classes
    )


def half_width_in_logits(interval):
    return (math.log(interval.high / (1 - interval.high)) - math.log(interval.low / (1 - interval.low))) / 2


def expected_half_width(y, s, region, estimate):
    return 1.959963984540054 * math.sqrt(plain_variance(*plain_influences(y, s, region))) / (estimate * (1 - estimate))


# --------------------------------------------------------------------------------------------------------- one model


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("rounded", [False, True])
def test_estimate_and_variance_are_those_of_the_definition(region, rounded):
    y, s = normal_scores(300)
    s = s.round(1) if rounded else s
    interval = interval_of(y, s, region)
    assert interval.estimate == pytest.approx(reference.tpauc(y, s, region.alpha, region.beta), rel=1e-12)
    assert half_width_in_logits(interval) == pytest.approx(
        expected_half_width(y, s, region, interval.estimate), rel=1e-10
    )


labelled = st.lists(st.tuples(st.booleans(), st.integers(-4, 4)), min_size=6, max_size=40)


@given(labelled, st.sampled_from(REGIONS[:4]))
@settings(deadline=None, max_examples=150)
def test_any_scores_with_ties(rows, region):
    y, s = np.array([label for label, _ in rows]), np.array([float(score) for _, score in rows])
    assume(y.sum() >= 4 and (~y).sum() >= 4)
    interval = interval_of(y, s, region)
    assert interval.estimate == pytest.approx(reference.tpauc(y, s, region.alpha, region.beta), abs=1e-14)
    assert 0.0 <= interval.low <= interval.estimate <= interval.high <= 1.0
    if 0 < interval.estimate < 1:
        width = expected_half_width(y, s, region, interval.estimate)
        # Far out, a logit cannot be read back from a probability next to 1.
        if width < 10:
            assert half_width_in_logits(interval) == pytest.approx(width, rel=1e-7, abs=1e-12)
    assert interval.estimate == tpauc_score(y, s, alpha=region.alpha, beta=region.beta)  # to the last bit


def test_the_auc_has_the_variance_of_delong():
    y, s = normal_scores(400, shift=1.0)
    positives, negatives = s[y], s[~y]
    v10 = [np.mean([reference.pair_credit(p, n, "half") for n in negatives]) for p in positives]
    v01 = [np.mean([reference.pair_credit(p, n, "half") for p in positives]) for n in negatives]
    delong = np.var(v10, ddof=1) / len(v10) + np.var(v01, ddof=1) / len(v01)
    interval = interval_of(y, s, WHOLE)
    width = 1.959963984540054 * math.sqrt(delong) / (interval.estimate * (1 - interval.estimate))
    assert half_width_in_logits(interval) == pytest.approx(width, rel=1e-10)


def test_the_order_of_the_rows_does_not_matter():
    y, s = normal_scores(5_000)
    s = s.round(2)
    order = np.argsort(~y, kind="stable")
    assert interval_of(y[order], s[order], Region(0.3, 0.3)) == interval_of(y, s, Region(0.3, 0.3))


@pytest.mark.parametrize("region", REGIONS[:4])
def test_the_interval_is_that_of_the_bootstrap_for_many_rows(region):
    y, s = normal_scores(8_000, shift=1.8)
    found = interval_of(y, s, region)
    resampled = tpauc_interval(
        y, s, alpha=region.alpha, beta=region.beta, method="bootstrap", n_resamples=1000, random_state=0
    )
    # A limit of 1000 resamples is itself known to about a tenth of the width.
    tolerance = 0.15 * (resampled.high - resampled.low)
    assert found.low == pytest.approx(resampled.low, abs=tolerance)
    assert found.high == pytest.approx(resampled.high, abs=tolerance)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    y, s = normal_scores(2_000_000, seed=1)
    truth = interval_of(y, s, Region(0.3, 0.3)).estimate
    covered = 0
    for seed in range(400):
        y, s = normal_scores(2_000, seed=100 + seed)
        interval = interval_of(y, s, Region(0.3, 0.3))
        covered += interval.low <= truth <= interval.high
    # Of 400 intervals of 95 % that many are missed with a probability below 0.001.
    assert 365 <= covered <= 393


def test_perfect_and_hopeless_scores_have_an_interval():
    y = np.arange(100) < 20
    perfect, hopeless = (interval_of(y, sign * y.astype(float), Region(0.5, 0.5)) for sign in (1, -1))
    assert (perfect.estimate, perfect.high, hopeless.estimate, hopeless.low) == (1.0, 1.0, 0.0, 0.0)
    assert perfect.low == pytest.approx(0.025 ** (1 / 10)) == 1 - hopeless.high


def test_confidence_widens_the_interval_up_to_its_ends():
    sample = normal_scores(500)
    narrow, wide, widest = (interval_of(*sample, WHOLE, confidence=level) for level in (0.5, 0.99, 1 - 1e-15))
    assert 0.0 < widest.low < wide.low < narrow.low < narrow.high < wide.high < widest.high < 1.0


def test_limits_that_float64_cannot_tell_from_zero_and_one():
    # Of 50,000 hard positives only the one on the border wins: beyond it the sample holds as many that would win.
    s = np.repeat([0.0, 1.0, 2.0, 0.5], [49_999, 1, 50_000, 10])
    interval = interval_of(np.arange(s.size) < 100_000, s, Region(0.5, 1.0), confidence=1 - 1e-15)
    assert interval.estimate == 1 / 50_000
    assert 0.0 <= interval.low < 1e-300
    assert interval.high == 1.0


def test_mistakes_are_those_of_the_metrics():
    with pytest.raises(ValueError, match="y_true has no negative example"):
        interval_of([1, 1], [0.1, 0.2], WHOLE)
    with pytest.raises(ValueError, match="y_score must be finite"):
        interval_of([0, 1], [0.1, np.nan], WHOLE)
    with pytest.raises(ValueError, match="selects none of the 1 positive examples"):
        interval_of([0, 1], [0.1, 0.2], Region(0.5, 1.0))
    with pytest.raises(ValueError, match="score_b must be finite"):
        difference_of([0, 1], [0.1, 0.2], [0.1, np.inf], WHOLE)


# --------------------------------------------------------------------------------------------------------- influences


@given(labelled, st.sampled_from(REGIONS[:4]))
@settings(deadline=None, max_examples=100)
def test_influences_are_those_of_the_definition(rows, region):
    y, s = np.array([label for label, _ in rows]), np.array([float(score) for _, score in rows])
    assume(y.sum() >= 4 and (~y).sum() >= 4)
    u, v = plain_influences(y, s, region)
    hard = [np.array(sorted(scores)) for scores in reference.selected(y, s, region.alpha, region.beta)]
    found = influences(*hard)
    # The others, outside the region, have none.
    np.testing.assert_allclose(sorted(found.positives)[::-1], sorted(u)[::-1][: hard[0].size], rtol=1e-10, atol=1e-14)
    of_negatives = np.repeat(found.negatives, found.run_lengths)
    np.testing.assert_allclose(sorted(of_negatives)[::-1], sorted(v)[::-1][: hard[1].size], rtol=1e-10, atol=1e-14)
    by_row = row_influences(y, s, region)
    # Rows of equal score on the border are interchangeable: each has the influence 0 before the mean is taken off.
    np.testing.assert_allclose(by_row[y], np.mean(u) - u, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(by_row[~y], np.mean(v) - v, rtol=1e-10, atol=1e-14)


# -------------------------------------------------------------------------------------------------------- two models


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("rounded", [False, True])
def test_the_difference_is_that_of_the_definition(region, rounded):
    y, a = normal_scores(300)
    b = a + 0.7 * np.random.default_rng(5).normal(size=300)
    if rounded:
        a, b = a.round(), b.round()  # no ties at the border of a region, where rows of equal score are interchangeable
        region = Region(1.0, 1.0)
    found = difference_of(y, a, b, region)
    difference = reference.tpauc(y, a, region.alpha, region.beta) - reference.tpauc(y, b, region.alpha, region.beta)
    pairs = zip(plain_influences(y, a, region), plain_influences(y, b, region), strict=True)
    deviation = math.sqrt(plain_variance(*([x - z for x, z in zip(*pair, strict=True)] for pair in pairs)))
    assert found.difference == pytest.approx(difference, rel=1e-10)
    assert found.high - found.difference == pytest.approx(1.959963984540054 * deviation, rel=1e-10)
    assert found.difference - found.low == pytest.approx(1.959963984540054 * deviation, rel=1e-10)
    assert found.p_value == pytest.approx(math.erfc(abs(difference) / deviation / math.sqrt(2)), rel=1e-8)


def test_the_difference_is_that_of_the_bootstrap_for_many_rows():
    y, a = normal_scores(6_000)
    b = a + 0.5 * np.random.default_rng(5).normal(size=6_000)
    found = difference_of(y, a, b, Region(0.3, 0.3))
    resampled = compare_tpauc(y, a, b, alpha=0.3, beta=0.3, method="bootstrap", n_resamples=800, random_state=0)
    tolerance = 0.15 * (resampled.high - resampled.low)  # as above
    assert found.difference == pytest.approx(resampled.difference, rel=1e-12)
    assert found.low == pytest.approx(resampled.low, abs=tolerance)
    assert found.high == pytest.approx(resampled.high, abs=tolerance)


def test_a_model_does_not_differ_from_itself():
    y, s = normal_scores(500)
    found = difference_of(y, s, 2 * s + 1, Region(0.3, 0.3))
    assert (found.difference, found.low, found.high, found.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_all_right_against_all_wrong_is_a_difference():
    y, _ = normal_scores(500)
    found = difference_of(y, 1.0 * y, -1.0 * y, WHOLE)
    assert (found.difference, found.low, found.high) == (1.0, 1.0, 1.0)
    assert found.p_value == 2.0 ** (1 - min(y.sum(), (~y).sum())) < 1e-30


def test_swapping_the_models_turns_the_sign():
    y, a = normal_scores(500)
    b = a + np.random.default_rng(5).normal(size=500)
    one, other = difference_of(y, a, b, WHOLE), difference_of(y, b, a, WHOLE)
    assert (one.difference, one.p_value) == (-other.difference, other.p_value)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), rel=1e-12)
