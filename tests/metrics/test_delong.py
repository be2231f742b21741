"""Large-sample intervals, against the definition in plain loops, other formulas, and simulation."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference
from tpauc.metrics import _delong as large_samples
from tpauc.metrics._delong import SortedScores, large_sample_difference
from tpauc.metrics.intervals import compare_tpauc, operating_point, tpauc_interval
from tpauc.region import Region

REGIONS = [Region(0.3, 0.3), Region(1.0, 0.3), Region(0.3, 1.0), Region(1.0, 1.0), Region(0.2, 0.5)]
WHOLE = Region(1.0, 1.0)


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
    interval = SortedScores(y, s).interval(region)
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
    model = SortedScores(y, s)
    interval = model.interval(region)
    assert interval.estimate == pytest.approx(reference.tpauc(y, s, region.alpha, region.beta), abs=1e-14)
    assert 0.0 <= interval.low <= interval.estimate <= interval.high <= 1.0
    if 0 < interval.estimate < 1:
        width = expected_half_width(y, s, region, interval.estimate)
        # Far out, a logit cannot be read back from a probability next to 1.
        if width < 10:
            assert half_width_in_logits(interval) == pytest.approx(width, rel=1e-7, abs=1e-12)
    assert model.operating_point(region) == operating_point(y, s, alpha=region.alpha, beta=region.beta)


def test_the_auc_has_the_variance_of_delong():
    y, s = normal_scores(400, shift=1.0)
    positives, negatives = s[y], s[~y]
    v10 = [np.mean([reference.pair_credit(p, n, "half") for n in negatives]) for p in positives]
    v01 = [np.mean([reference.pair_credit(p, n, "half") for p in positives]) for n in negatives]
    delong = np.var(v10, ddof=1) / len(v10) + np.var(v01, ddof=1) / len(v01)
    interval = SortedScores(y, s).interval(WHOLE)
    width = 1.959963984540054 * math.sqrt(delong) / (interval.estimate * (1 - interval.estimate))
    assert half_width_in_logits(interval) == pytest.approx(width, rel=1e-10)


def test_the_rows_may_be_cut_anywhere(monkeypatch):
    y, s = normal_scores(5_000)
    s = s.round(2)
    whole = SortedScores(y, s).interval(Region(0.3, 0.3))
    monkeypatch.setattr(large_samples, "_FEWEST_ROWS", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert len(large_samples._parts(5_000)) == 4
    assert SortedScores(y, s).interval(Region(0.3, 0.3)) == whole
    # Parts without a negative, or without a positive.
    order = np.argsort(~y, kind="stable")
    assert SortedScores(y[order], s[order]).interval(Region(0.3, 0.3)) == whole


@pytest.mark.parametrize("region", REGIONS[:4])
def test_the_interval_is_that_of_the_bootstrap_for_many_rows(region):
    y, s = normal_scores(8_000, shift=1.8)
    found = SortedScores(y, s).interval(region)
    resampled = tpauc_interval(y, s, alpha=region.alpha, beta=region.beta, n_resamples=1000, random_state=0)
    # A limit of 1000 resamples is itself known to about a tenth of the width.
    tolerance = 0.15 * (resampled.high - resampled.low)
    assert found.low == pytest.approx(resampled.low, abs=tolerance)
    assert found.high == pytest.approx(resampled.high, abs=tolerance)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    y, s = normal_scores(2_000_000, seed=1)
    truth = SortedScores(y, s).interval(Region(0.3, 0.3)).estimate
    covered = 0
    for seed in range(400):
        y, s = normal_scores(2_000, seed=100 + seed)
        interval = SortedScores(y, s).interval(Region(0.3, 0.3))
        covered += interval.low <= truth <= interval.high
    # Of 400 intervals of 95 % that many are missed with a probability below 0.001.
    assert 365 <= covered <= 393


def test_perfect_and_hopeless_scores_have_an_interval():
    y = np.arange(100) < 20
    perfect, hopeless = (SortedScores(y, sign * y.astype(float)).interval(Region(0.5, 0.5)) for sign in (1, -1))
    assert (perfect.estimate, perfect.high, hopeless.estimate, hopeless.low) == (1.0, 1.0, 0.0, 0.0)
    assert perfect.low == pytest.approx(0.025 ** (1 / 10)) == 1 - hopeless.high


def test_confidence_widens_the_interval_and_is_checked():
    model = SortedScores(*normal_scores(500))
    narrow, wide = (model.interval(WHOLE, confidence=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high
    with pytest.raises(ValueError, match=r"confidence must be in \(0, 1\)"):
        model.interval(WHOLE, confidence=95)


def test_mistakes_are_those_of_the_metrics():
    with pytest.raises(ValueError, match="y_true has no negative example"):
        SortedScores([1, 1], [0.1, 0.2])
    with pytest.raises(ValueError, match="y_score must be finite"):
        SortedScores([0, 1], [0.1, np.nan])
    with pytest.raises(ValueError, match="selects none of the 1 positive examples"):
        SortedScores([0, 1], [0.1, 0.2]).interval(Region(0.5, 1.0))
    with pytest.raises(ValueError, match="score_b must be finite"):
        large_sample_difference([0, 1], [0.1, 0.2], [0.1, np.inf], WHOLE)


# -------------------------------------------------------------------------------------------------------- two models


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("rounded", [False, True])
def test_the_difference_is_that_of_the_definition(region, rounded):
    y, a = normal_scores(300)
    b = a + 0.7 * np.random.default_rng(5).normal(size=300)
    if rounded:
        a, b = a.round(), b.round()  # no ties at the border of a region, where rows of equal score are interchangeable
        region = Region(1.0, 1.0)
    found = large_sample_difference(y, a, b, region)
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
    found = large_sample_difference(y, a, b, Region(0.3, 0.3))
    resampled = compare_tpauc(y, a, b, alpha=0.3, beta=0.3, n_resamples=800, random_state=0)
    tolerance = 0.15 * (resampled.high - resampled.low)  # as above
    assert found.difference == pytest.approx(resampled.difference, rel=1e-12)
    assert found.low == pytest.approx(resampled.low, abs=tolerance)
    assert found.high == pytest.approx(resampled.high, abs=tolerance)


def test_a_model_does_not_differ_from_itself():
    y, s = normal_scores(500)
    found = large_sample_difference(y, s, 2 * s + 1, Region(0.3, 0.3))
    assert (found.difference, found.low, found.high, found.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_all_right_against_all_wrong_is_a_difference():
    y, _ = normal_scores(500)
    found = large_sample_difference(y, 1.0 * y, -1.0 * y, WHOLE)
    assert (found.difference, found.low, found.high) == (1.0, 1.0, 1.0)
    assert found.p_value == 2.0 ** (1 - min(y.sum(), (~y).sum())) < 1e-30


def test_swapping_the_models_turns_the_sign():
    y, a = normal_scores(500)
    b = a + np.random.default_rng(5).normal(size=500)
    one, other = large_sample_difference(y, a, b, WHOLE), large_sample_difference(y, b, a, WHOLE)
    assert (one.difference, one.p_value) == (-other.difference, other.p_value)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), rel=1e-12)
