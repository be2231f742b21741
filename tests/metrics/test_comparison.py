"""Comparisons of two models: exact values, honest level, plain references."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from scored_samples import SEED, SHARE, assert_rate, binormal, samples, shift_for
from tpauc.metrics._delong import row_influences
from tpauc.metrics.area import tpauc_score
from tpauc.metrics.comparison import compare_tpauc
from tpauc.region import Region

CORNER = {"alpha": 0.3, "beta": 0.3}


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
    influence = row_influences(y, s, Region(**CORNER))
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
    assert [type(value) for value in vars(comparison).values()] == [float] * 4 + [str]
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
        compare_tpauc(y, y, -y, alpha=1.0, beta=1.0, method="delong"),
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
