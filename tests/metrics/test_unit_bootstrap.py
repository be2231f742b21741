"""Resamples of groups and of weighted rows: exact to 1e-12, drawn as a plain loop draws them, honest coverage."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import ks_2samp

import reference
from scored_samples import SEED, SHARE, assert_rate, binormal, binormal_tpauc, samples, shift_for
from tpauc.metrics import _unit_bootstrap as resampling
from tpauc.metrics._bootstrap import paired_resamples
from tpauc.metrics.area import tpauc_score
from tpauc.metrics.comparison import compare_tpauc
from tpauc.metrics.intervals import tpauc_interval
from tpauc.region import Region

CORNER = {"alpha": 0.3, "beta": 0.3}


@given(sample=samples(), alpha=SHARE, beta=SHARE, seed=SEED)
@settings(deadline=None, max_examples=60)
def test_counts_of_units_give_the_score_of_their_rows(sample, alpha, beta, seed):
    y, s = sample
    generator, region = np.random.default_rng(seed), Region(alpha, beta)
    groups = np.unique(generator.integers(8, size=y.size), return_inverse=True)[1]
    counts = 1 + generator.integers(3, size=(4, groups.max() + 1))  # no class is without rows
    for weight in (None, generator.integers(1, 4, size=y.size) * 1.0, generator.uniform(0.5, 2.0, size=y.size)):
        model = resampling._Model.of(resampling.Units.of(y, weight, groups), s)
        for count, value in zip(counts, model.tpauc(counts, region), strict=True):
            of_rows = count[groups] * (1.0 if weight is None else weight)
            expected = tpauc_score(y, s, alpha=alpha, beta=beta, sample_weight=of_rows)
            assert abs(value - expected) <= 1e-12


def test_sums_go_on_until_enough_rows_are_drawn():
    """The first rows that are looked at are all in a unit that is not drawn."""
    y, s = binormal(np.random.default_rng(0), 400, 4_000, 1.0)
    hard = np.where(y, s < np.quantile(s[y], 0.6), s > np.quantile(s[~y], 0.4))
    units = resampling.Units.of(y, None, hard.astype(np.intp))
    found = resampling._Model.of(units, s).tpauc(np.array([[1, 0], [1, 1]]), Region(0.1, 0.1))
    expected = [tpauc_score(y[rows], s[rows], alpha=0.1, beta=0.1) for rows in (~hard, slice(None))]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_class_that_selects_nobody_counts_one_row():
    y, s = np.array([True] * 3 + [False] * 3), np.array([0.2, 0.4, 0.9, 0.1, 0.3, 0.8])
    model = resampling._Model.of(resampling.Units.of(y, None, np.arange(6)), s)
    assert model.tpauc(np.ones((1, 6), dtype=np.intp), Region(0.1, 0.1)) == [0.0]  # 0.2 against 0.8


def test_strata_are_the_units_with_a_positive_and_those_without():
    y = np.array([True, False, False, True, False])
    units = resampling.Units.of(y, None, np.array([0, 0, 1, 2, 3]))
    assert [stratum.tolist() for stratum in units.strata] == [[0, 2], [1, 3]]
    counts, of_extra = resampling._draw(np.random.default_rng(0), units, 500, extra=1)
    assert (counts[:, [0, 2]].sum(axis=1) + of_extra[:, 0] == 3).all()
    assert (counts[:, [1, 3]].sum(axis=1) + of_extra[:, 1] == 3).all()
    assert resampling.Units.of(y, None, np.zeros(5, dtype=np.intp)).strata[0].tolist() == [0]


def test_resamples_without_a_negative_are_drawn_again():
    y = np.array([True] * 6 + [False] * 2)
    units = resampling.Units.of(y, None, np.array([0, 1, 2, 3, 4, 5, 0, 1]))
    counts, _ = resampling._draw(np.random.default_rng(0), units, 2_000)
    assert (counts[:, :2].sum(axis=1) > 0).all()
    assert (counts.sum(axis=1) == 6).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_resamples_have_the_distribution_of_a_plain_loop(weighted):
    generator = np.random.default_rng(2)
    y, s = binormal(np.random.default_rng(1), 30, 70, 1.3)
    s = s.round(1)  # ties
    groups = generator.integers(25, size=100)
    weight = generator.uniform(0.5, 2.0, size=100) if weighted else np.ones(100)
    with_positive = [g for g in range(25) if y[groups == g].any()]
    strata = [with_positive, [g for g in range(25) if g not in with_positive]]
    loop = []
    for _ in range(800):
        drawn = np.concatenate([generator.choice(stratum, len(stratum)) for stratum in strata if stratum])
        rows = np.concatenate([np.flatnonzero(groups == g) for g in drawn])
        loop.append(reference.weighted_tpauc(y[rows], s[rows], weight[rows], 0.3, 0.3))
    units = resampling.Units.of(y, weight, groups)
    found = resampling.paired_unit_resamples(generator, units, (s, -s), Region(0.3, 0.3), 4_000)
    assert ks_2samp(loop, found[0]).pvalue > 1e-3
    assert ks_2samp(loop, found[0] * 0.9).pvalue < 1e-3
    np.testing.assert_array_equal(found[1], 0.0)


def test_rows_of_their_own_are_resampled_like_rows():
    y, s = binormal(np.random.default_rng(1), 40, 160, 1.3)
    region = Region(0.3, 0.3)
    units = resampling.Units.of(y, None, np.random.default_rng(0).permutation(200))
    by_unit = resampling.paired_unit_resamples(np.random.default_rng(2), units, (s,), region, 4_000)
    by_row = paired_resamples(np.random.default_rng(3), y, (s,), region, 4_000)
    assert ks_2samp(by_unit[0], by_row[0]).pvalue > 1e-3
    groups = np.arange(200)
    plain, grouped = (
        tpauc_interval(y, s, **CORNER, method="bootstrap", groups=g, random_state=0) for g in (None, groups)
    )
    assert (grouped.low, grouped.high) == pytest.approx((plain.low, plain.high), abs=0.02)
    assert (grouped.hard_positives, grouped.hard_negatives) == (12, 48) == (plain.hard_positives, plain.hard_negatives)


def test_the_hardest_and_the_easiest_group_are_doubled():
    y, s = binormal(np.random.default_rng(1), 40, 160, 1.3)
    groups = np.random.default_rng(0).integers(50, size=200)
    units = resampling.Units.of(y, None, groups)
    contribution = np.random.default_rng(3).normal(size=50)
    low, high = resampling.two_sided_unit_resamples(
        np.random.default_rng(2), units, s, Region(0.3, 0.3), 3, contribution
    )
    drawn, of_extra = resampling._draw(np.random.default_rng(2), units, 3, extra=1)
    for values, find in ((low, np.argmin), (high, np.argmax)):
        counts = drawn.copy()
        for stratum, extra in zip(units.strata, of_extra.T, strict=True):
            counts[:, stratum[find(contribution[stratum])]] += extra
        expected = [tpauc_score(y, s, **CORNER, sample_weight=count[groups]) for count in counts]
        np.testing.assert_allclose(values, expected, rtol=1e-12)


# ------------------------------------------------------------------------------------------------- what a user sees


@pytest.mark.parametrize("method", ["bootstrap", "delong"])
def test_whole_weights_are_repeated_rows(method):
    generator = np.random.default_rng(0)
    y, s = binormal(generator, 60, 300, 1.3)
    other = s + generator.normal(size=360)
    times = generator.integers(0, 4, size=360)
    rows = np.repeat(np.arange(360), times)
    options = {**CORNER, "method": method, "n_resamples": 199, "random_state": 5}
    by_weight = tpauc_interval(y, s, **options, sample_weight=times)
    repeated = tpauc_interval(y[rows], s[rows], **options)
    compared = compare_tpauc(y, s, other, **options, sample_weight=times)
    compared_rows = compare_tpauc(y[rows], s[rows], other[rows], **options)
    for found, expected in ((by_weight, repeated), (compared, compared_rows)):
        for name, value in vars(expected).items():
            assert getattr(found, name) == (value if name == "method" else pytest.approx(value, rel=1e-10))


def test_whole_weights_give_the_resamples_of_repeated_rows_to_the_last_bit():
    generator = np.random.default_rng(0)
    for n_positive, n_negative in ((60, 300), (5, 3_000)):  # rows one by one, and in groups
        y, s = binormal(generator, n_positive, n_negative, 1.3)
        s, times = s.round(2), generator.integers(0, 4, size=y.size)
        rows = np.repeat(np.arange(y.size), times)
        options = {"alpha": 0.5, "beta": 0.3, "method": "bootstrap", "n_resamples": 199, "random_state": 5}
        assert tpauc_interval(y, s, **options, sample_weight=times) == tpauc_interval(y[rows], s[rows], **options)


def test_other_weights_are_carried_by_the_rows_that_are_drawn():
    y, s = binormal(np.random.default_rng(0), 400, 4_000, 1.5)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=y.size)
    options = {**CORNER, "sample_weight": weight, "n_resamples": 800, "random_state": 0}
    by_resamples, analytic = (tpauc_interval(y, s, **options, method=method) for method in ("bootstrap", "delong"))
    assert by_resamples.estimate == analytic.estimate == tpauc_score(y, s, **CORNER, sample_weight=weight)
    assert by_resamples.low == pytest.approx(analytic.low, abs=0.04)
    assert by_resamples.high == pytest.approx(analytic.high, abs=0.04)
    compared = compare_tpauc(y, s, s + np.random.default_rng(2).normal(size=y.size), **options)
    assert compared.low <= compared.difference <= compared.high
    assert compared.p_value < 0.05


def clustered(generator, n_groups, rows_each, shift, share):
    """Labels, scores and groups; ``share`` of the variance of normal scores is common to a group, of one class."""
    groups = np.repeat(np.arange(n_groups), rows_each)
    y = groups < n_groups // 4
    common = generator.normal(size=n_groups)[groups]
    return y, math.sqrt(share) * common + math.sqrt(1 - share) * generator.normal(size=y.size) + shift * y, groups


@pytest.mark.parametrize("method", ["bootstrap", "delong"])
@pytest.mark.parametrize("weight", [[1, 1.4e-271, 1.4e-271], [1, 5e-324, 5e-324], [1e130, 1e-300, 5e-324]])
def test_rows_of_hardly_any_weight_give_an_interval(weight, method):
    """Found by fuzzing: the product of two tiny weights was 0, and divided by."""
    options = {"alpha": 0.5, "beta": 0.5, "sample_weight": weight, "method": method, "random_state": 0}
    interval = tpauc_interval([1, 0, 1], [0, 0, 0], **options)
    assert (interval.estimate, interval.low, interval.high) == (0.5, 0.5, 0.5)
    assert compare_tpauc([1, 0, 1], [0, 0, 0], [0, 0, 0], **options).difference == 0.0


def test_scaling_by_powers_of_two_changes_no_bit():
    y, s = binormal(np.random.default_rng(0), 20, 60, 1.0)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=y.size)
    expected = tpauc_interval(y, s, **CORNER, sample_weight=weight, random_state=0)
    for power in (-200, 7, 200):
        assert tpauc_interval(y, s, **CORNER, sample_weight=np.ldexp(weight, power), random_state=0) == expected


@pytest.mark.parametrize("method", ["bootstrap", "delong"])
def test_groups_cover_the_truth_where_rows_do_not(method):
    generator = np.random.default_rng(0)
    shift = shift_for(0.6)
    truth = binormal_tpauc(shift, 1.0, **CORNER)
    by_group = by_row = 0
    for _ in range(200):
        y, s, groups = clustered(generator, 240, 5, shift, 0.5)
        options = {**CORNER, "method": method, "n_resamples": 199, "random_state": generator}
        grouped, plain = (tpauc_interval(y, s, **options, groups=g) for g in (groups, None))
        by_group += grouped.low <= truth <= grouped.high
        by_row += plain.low <= truth <= plain.high
    assert_rate(by_group, 200, 0.92, 0.97)
    assert by_row < 0.85 * 200


@pytest.mark.parametrize("method", ["bootstrap", "delong"])
def test_comparison_of_groups_keeps_its_level(method):
    generator = np.random.default_rng(0)
    by_group = by_row = 0
    for _ in range(150):
        y, a, groups = clustered(generator, 120, 5, 1.5, 0.5)
        _, b, _ = clustered(generator, 120, 5, 1.5, 0.5)
        options = {**CORNER, "method": method, "n_resamples": 99, "random_state": generator}
        grouped, plain = (compare_tpauc(y, a, b, **options, groups=g) for g in (groups, None))
        by_group += grouped.p_value <= 0.05
        by_row += plain.p_value <= 0.05
    assert_rate(by_group, 150, 0.01, 0.07)
    assert by_row > 0.12 * 150


def test_few_groups_do_not_tell_models_apart():
    y = np.repeat([1, 0], [50, 50])
    groups = np.arange(100) // 10  # 5 groups of each class
    for method in ("bootstrap", "delong"):
        options = {"alpha": 1.0, "beta": 1.0, "method": method, "random_state": 0}
        assert compare_tpauc(y, y, -y, **options, groups=groups).p_value == 2.0**-4
        assert compare_tpauc(y, y, -y, **options).p_value < 0.01


def test_a_perfect_ranking_is_as_sure_as_there_are_groups():
    y = np.repeat([1, 0], [50, 50])
    interval = tpauc_interval(y, y, alpha=1.0, beta=1.0, groups=np.arange(100) // 10, n_resamples=99)
    assert (interval.estimate, interval.high) == (1.0, 1.0)
    assert interval.low == pytest.approx(0.025 ** (1 / 5))
    assert interval.hard_positives == interval.hard_negatives == 5


@pytest.mark.parametrize("method", ["bootstrap", "delong"])
def test_groups_may_have_any_names_and_rows_any_order(method):
    generator = np.random.default_rng(0)
    y, s, groups = clustered(generator, 60, 4, 1.5, 0.5)
    options = {**CORNER, "method": method, "n_resamples": 99, "random_state": 0}
    expected = tpauc_interval(y, s, **options, groups=groups)
    assert tpauc_interval(y, s, **options, groups=[f"patient {g:02}" for g in groups]) == expected
    named = tpauc_interval(np.where(y, "ill", "well"), s, **options, groups=groups, pos_label="ill")
    assert named == expected


CALLS = {
    "interval": lambda y, s, **options: tpauc_interval(y, s, **CORNER, **options),
    "comparison": lambda y, s, **options: compare_tpauc(y, s, -s, **CORNER, **options),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": [1] * 9}, "y_true and groups must have equal length, got 40 and 9"),
        ({"groups": [None] + [1] * 39}, "groups must name the group of every row, found None"),
        ({"groups": [1] * 40}, "groups must hold at least 2 groups with a positive row, or none shows their spread"),
        ({"groups": list(range(20)) + [20] * 20}, "groups must hold at least 2 groups with a negative row"),
        ({"sample_weight": [1] * 9}, "y_true and sample_weight must have equal length, got 40 and 9"),
        ({"sample_weight": [-1] + [1] * 39}, "sample_weight must not be negative, found -1"),
        ({"sample_weight": [0] * 20 + [1] * 20}, "sample_weight is zero for every positive example"),
        (
            {"sample_weight": [1] + [0] * 19 + [1] * 20, "groups": range(40)},
            "groups must hold at least 2 groups with a positive row",
        ),
        ({"pos_label": "ill"}, "pos_label='ill' is not among the labels of y_true, which are False, True"),
    ],
)
def test_mistakes_are_named(call, options, message):
    y, s = binormal(np.random.default_rng(0), 20, 20, 1.0)
    with pytest.raises(ValueError, match=rf"^{message}"):
        call(y, s, **options)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_labels_that_need_a_name_say_so(call):
    y, s = binormal(np.random.default_rng(0), 20, 20, 1.0)
    with pytest.raises(ValueError, match=r"of 'fraud' and 'ok' name the positive label, pos_label='fraud' or pos_lab"):
        call(np.where(y, "fraud", "ok"), s)
