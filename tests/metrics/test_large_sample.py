"""Sums over cells give the estimate and the interval of the rows in them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from large_sample_reference import interval_by_pairs
from reference import repeated
from tpauc import tpauc_score
from tpauc.metrics.large_sample import PairSums, logit_limits, normal_comparison

COUNTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=12)


@settings(deadline=None)
@given(COUNTS)
def test_tied_cells_equal_rows(counts):
    positives, negatives = np.array(counts, dtype=np.int64).T
    if not positives.sum() or not negatives.sum():
        return
    n_positive, n_negative = int(positives.sum()), int(negatives.sum())
    values = np.arange(positives.size, dtype=float)
    y = np.arange(n_positive + n_negative) < n_positive
    scores = np.concatenate((repeated(values, positives), repeated(values, negatives)))
    sums = PairSums.of_tied_cells(n_positive, n_negative, positives, negatives)
    assert sums.estimate() == tpauc_score(y, scores, alpha=1.0, beta=1.0)
    expected = interval_by_pairs(y, scores, alpha=1.0, beta=1.0)
    limits = logit_limits(sums.estimate(), sums.variance(), min(n_positive, n_negative), 0.95)
    assert limits == pytest.approx((expected.low, expected.high), rel=0, abs=1e-12)


def test_counts_beyond_64_bits_are_exact():
    huge = np.array([2**40, 2**40], dtype=np.int64)
    sums = PairSums.of_tied_cells(2**41, 2**41, huge, huge)
    assert (sums.won, sums.tied) == (2**80, 2**81)
    assert sums.estimate() == 0.5
    assert 0.0 < sums.variance() < 1e-12


@pytest.mark.parametrize(
    ("difference", "variance", "p_value"), [(0.0, 0.0, 1.0), (0.5, 0.0, 2.0**-9), (0.1, 0.01, 0.3173)]
)
def test_p_values(difference, variance, p_value):
    found = normal_comparison(difference, variance, 10, 0.95)
    assert found.p_value == pytest.approx(p_value, abs=1e-4)


def test_few_rows_prove_nothing():
    found = normal_comparison(0.5, 1e-6, 3, 0.95)
    assert found.p_value == 0.25
    assert found.low == 0.0 < found.high
    assert math.isclose(found.high, 0.5, abs_tol=0.01)
