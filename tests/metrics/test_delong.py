"""Intervals and comparisons for large samples, against the definition in plain loops, other formulas, simulation."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

import reference
from tpauc.metrics._delong import (
    Moments,
    contributions,
    influences,
    quantile,
    row_influences,
    two_sided_p_value,
    units_inside,
    weighted_influences,
)
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


def plain_quantile(*classes):
    """Student's quantile at 97.5 %; its degrees of freedom are the effective number of rows that decide."""
    second = fourth = 0.0
    for values in classes:
        mean, factor = math.fsum(values) / len(values), len(values) / (len(values) - 1)
        second += math.fsum(factor * (x - mean) ** 2 for x in values)
        fourth += math.fsum((factor * (x - mean) ** 2) ** 2 for x in values)
    return student.ppf(0.975, max(second**2 / fourth, 1.0)) if fourth > 0 else student.ppf(0.975, math.inf)


def half_width_in_logits(interval):
    return (math.log(interval.high / (1 - interval.high)) - math.log(interval.low / (1 - interval.low))) / 2


def expected_half_width(y, s, region, estimate):
    found = plain_influences(y, s, region)
    return plain_quantile(*found) * math.sqrt(plain_variance(*found)) / (estimate * (1 - estimate))


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
    width = math.sqrt(delong) / (interval.estimate * (1 - interval.estimate))
    width *= plain_quantile(*plain_influences(y, s, WHOLE))
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
    differences = [[x - z for x, z in zip(*pair, strict=True)] for pair in pairs]
    deviation, quantile = math.sqrt(plain_variance(*differences)), plain_quantile(*differences)
    assert found.difference == pytest.approx(difference, rel=1e-10)
    assert found.high - found.difference == pytest.approx(quantile * deviation, rel=1e-10)
    assert found.difference - found.low == pytest.approx(quantile * deviation, rel=1e-10)
    n_deciding = Moments.of(*contributions(row_influences(y, a, region) - row_influences(y, b, region), y))
    tail = student.sf(abs(difference) / deviation, n_deciding.effective_number)
    assert found.p_value == pytest.approx(2 * tail, rel=1e-8)


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


# --------------------------------------------------------------------------------------------------- weights and groups


def test_effective_number_counts_equal_contributions():
    assert Moments.of(np.array([0.0, 2.0, -2.0, 2.0])).effective_number == pytest.approx(3.0)
    assert 1.0 < Moments.of(np.array([1.0, 0.1, 0.1])).effective_number < 1.1
    assert Moments.of(np.zeros(3)).effective_number == math.inf
    assert Moments.of(np.array([2.0, 1.0]), np.array([3.0, 0.0])).effective_number == pytest.approx(3.0)


def test_quantiles_and_p_values_are_those_of_students_distribution():
    for n in (1.0, 7.5, 200.0, math.inf):
        assert quantile(0.9, n) == pytest.approx(student.ppf(0.95, n), rel=1e-10)
        assert two_sided_p_value(2.5, n) == pytest.approx(2 * student.sf(2.5, n), rel=1e-10)


@given(labelled, st.sampled_from(REGIONS[:4]))
@settings(deadline=None, max_examples=60)
def test_weights_of_one_have_the_influences_of_rows(rows, region):
    y, s = np.array([label for label, _ in rows]), np.array([float(score) for _, score in rows])
    assume(y.sum() >= 4 and (~y).sum() >= 4)
    found = weighted_influences(y, s, np.ones(y.size), region)
    np.testing.assert_allclose(found.influence, row_influences(y, s, region), rtol=1e-10, atol=1e-14)
    for side, share in ((y, region.alpha), (~y, region.beta)):
        ones = np.ones(np.count_nonzero(side))
        assert units_inside(found.inside[side], ones, None, True) == reference.hard_count(int(side.sum()), share)


def test_the_order_of_tied_rows_does_not_change_the_number_of_groups_inside():
    y, groups = np.arange(40) % 2 == 0, np.arange(40) // 4
    scores = np.where(y, 3.0, 1.0)
    order = np.argsort(groups % 3, kind="stable")
    options = {"alpha": 0.3, "beta": 0.3, "method": "delong"}
    found = tpauc_interval(y, scores, groups=groups, **options)
    assert tpauc_interval(y[order], scores[order], groups=groups[order], **options) == found
    assert 4 <= found.hard_positives <= 6  # 6 of 20 rows, which ten groups of two share


def test_weighted_influence_is_the_derivative_by_the_weight_of_a_row():
    y, s = normal_scores(60)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=60)
    region = Region(0.5, 0.4)
    influence, inside = weighted_influences(y, s, weight, region)
    assert inside[y].sum() == pytest.approx(0.5 * weight[y].sum())
    score = tpauc_score(y, s, alpha=0.5, beta=0.4, sample_weight=weight)
    for row in range(60):
        changed = weight + 1e-6 * (np.arange(60) == row)
        slope = (tpauc_score(y, s, alpha=0.5, beta=0.4, sample_weight=changed) - score) / 1e-6
        assert slope == pytest.approx(influence[row], abs=1e-6)  # rounding adds 1e-16 / step
    assert np.ptp(influence) > 0.01
    assert weight[y] @ influence[y] == pytest.approx(0.0, abs=1e-12)


def numbers(found):
    return {name: value for name, value in vars(found).items() if name != "method"}


@pytest.mark.parametrize("region", REGIONS)
def test_every_row_in_a_group_of_its_own_changes_nothing(region):
    y, s = normal_scores(300)
    s = s.round(1)
    other = s + np.random.default_rng(5).normal(size=300).round(1)
    groups = np.random.default_rng(1).permutation(300)
    for call in (
        lambda **options: interval_of(y, s, region, **options),
        lambda **options: compare_tpauc(y, s, other, alpha=region.alpha, beta=region.beta, method="delong", **options),
    ):
        plain, grouped = call(), call(groups=groups)
        assert numbers(grouped) == pytest.approx(numbers(plain), rel=1e-10)


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("n_models", [1, 2])
def test_the_variance_is_over_sums_of_groups(region, n_models):
    y, s = normal_scores(240)
    groups = np.random.default_rng(1).integers(40, size=240)
    other = s + np.random.default_rng(5).normal(size=240)
    found = [plain_influences(y, scores, region) for scores in (s, other)[:n_models]]
    sums = dict.fromkeys(groups.tolist(), 0.0)
    for label, of_models in zip((True, False), zip(*found, strict=True), strict=True):
        rows = np.flatnonzero(y == label)
        values = [of_models[0][i] - (of_models[1][i] if n_models == 2 else 0.0) for i in range(rows.size)]
        mean = math.fsum(values) / len(values)
        n_groups = len({groups[row] for row in rows})
        for row, value in zip(rows, values, strict=True):
            sums[groups[row]] += (value - mean) * math.sqrt(n_groups / (n_groups - 1))
    variance = math.fsum(x**2 for x in sums.values())
    reach = student.ppf(0.975, variance**2 / math.fsum(x**4 for x in sums.values())) * math.sqrt(variance)
    if n_models == 1:
        interval = interval_of(y, s, region, groups=groups)
        expected = reach / (interval.estimate * (1 - interval.estimate))
        assert half_width_in_logits(interval) == pytest.approx(expected, rel=1e-10)
    else:
        options = {"alpha": region.alpha, "beta": region.beta, "method": "delong"}
        compared = compare_tpauc(y, s, other, **options, groups=groups)
        assert compared.high - compared.difference == pytest.approx(reach, rel=1e-10)


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("grouped", [False, True])
def test_whole_weights_are_repeated_rows(region, grouped):
    y, s = normal_scores(200)
    s = s.round(1)
    other = s + np.random.default_rng(5).normal(size=200).round(1)
    times = np.random.default_rng(2).integers(0, 4, size=200)
    groups = np.random.default_rng(1).integers(60, size=200)
    rows = np.repeat(np.arange(200), times)
    options = {"alpha": region.alpha, "beta": region.beta, "method": "delong"}
    by_weight, repeated = ({"groups": groups}, {"groups": groups[rows]}) if grouped else ({}, {})
    found = tpauc_interval(y, s, **options, sample_weight=times, **by_weight)
    expected = tpauc_interval(y[rows], s[rows], **options, **repeated)
    assert found.estimate == expected.estimate
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-12)
    found = compare_tpauc(y, s, other, **options, sample_weight=times, **by_weight)
    expected = compare_tpauc(y[rows], s[rows], other[rows], **options, **repeated)
    assert found.difference == expected.difference
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-9)


def test_other_weights_multiply_the_influence_of_a_row():
    y, s = normal_scores(300)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=300)
    region = Region(0.5, 0.5)
    interval = interval_of(y, s, region, sample_weight=weight)
    assert interval.estimate == tpauc_score(y, s, alpha=0.5, beta=0.5, sample_weight=weight)
    influence, inside = weighted_influences(y, s, weight, region)
    parts = [weight[side] * influence[side] * math.sqrt(side.sum() / (side.sum() - 1)) for side in (y, ~y)]
    squares = np.concatenate(parts) ** 2
    reach = student.ppf(0.975, squares.sum() ** 2 / (squares**2).sum()) * math.sqrt(squares.sum())
    expected = reach / (interval.estimate * (1 - interval.estimate))
    assert half_width_in_logits(interval) == pytest.approx(expected, rel=1e-10)
    # The scale of such weights does not matter, and they count as fewer rows than equal ones.
    assert numbers(interval_of(y, s, region, sample_weight=weight / 7)) == pytest.approx(numbers(interval), rel=1e-9)
    assert interval.hard_positives <= np.count_nonzero(inside[y])
    equal = interval_of(y, s, region, sample_weight=np.full(300, 0.3))
    assert equal.low == pytest.approx(interval_of(y, s, region).low, rel=1e-2)
