"""The corrected test of repeated cross-validation, against the plain t-test and a plain formula."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tpauc.classifiers._candidates import tpauc_of_fold
from tpauc.classifiers.cross_validation import corrected_comparison, tpauc_step
from tpauc.region import Region


def test_the_corrected_test_is_the_t_test_with_a_larger_variance():
    differences = np.random.default_rng(0).normal(0.1, 0.2, size=10)
    found = corrected_comparison(differences, 1 / 4)
    plain = stats.ttest_1samp(differences, 0.0)
    shrink = np.sqrt((1 / 10) / (1 / 10 + 1 / 4))
    assert found.difference == pytest.approx(differences.mean())
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(plain.statistic) * shrink, 9))
    low, high = plain.confidence_interval(0.95)
    assert (found.high - found.low) == pytest.approx((high - low) / shrink)


@pytest.mark.parametrize(("value", "p_value"), [(0.0, 1.0), (0.1, 0.0)])
def test_equal_differences_leave_no_doubt(value, p_value):
    found = corrected_comparison(np.full(4, value), 1 / 3)
    assert (found.difference, found.low, found.high, found.p_value) == (value, value, value, p_value)


@pytest.mark.parametrize("differences", [np.full(4, 0.1), np.zeros(4), np.array([0.1, 0.1, 0.1, 0.1001])])
def test_differences_that_agree_within_a_step_leave_the_doubt_of_one(differences):
    found = corrected_comparison(differences, 1 / 3, step=0.02)
    half = stats.t.ppf(0.975, 3) * math.sqrt(1 / 4 + 1 / 3) * 0.02
    assert (found.high - found.low) / 2 == pytest.approx(half)
    assert found.p_value == pytest.approx(0.005 if differences.any() else 1.0, rel=0.5)


def test_tpaucs_of_a_fold_go_in_steps():
    random, region, y = np.random.default_rng(0), Region(0.3, 0.25), np.arange(60) % 3 == 0
    step = tpauc_step(np.tile(y, 5), 5, region)
    values = np.array([tpauc_of_fold(y, random.integers(9, size=60) + 4 * y, region) for _ in range(300)])
    assert values / step == pytest.approx(np.round(values / step))
    assert np.diff(np.unique(values)).min() == pytest.approx(step)


@given(st.lists(st.floats(-0.1, 0.1), min_size=2, max_size=30), st.floats(0.1, 3))
@settings(deadline=None, max_examples=100)
def test_the_interval_is_that_of_nadeau_and_bengio(differences, ratio):
    found = corrected_comparison(np.array(differences), ratio)
    k, mean = len(differences), math.fsum(differences) / len(differences)
    variance = math.fsum((d - mean) ** 2 for d in differences) / (k - 1)
    half = stats.t.ppf(0.975, k - 1) * math.sqrt((1 / k + ratio) * variance)
    assert found.difference == pytest.approx(mean, abs=1e-12)
    # A difference of two TPAUCs is never beyond 1.
    assert found.low == pytest.approx(max(mean - half, -1.0), rel=1e-6, abs=1e-9)
    assert found.high == pytest.approx(min(mean + half, 1.0), rel=1e-6, abs=1e-9)
