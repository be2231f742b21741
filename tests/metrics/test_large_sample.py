"""Sums over cells give the estimate and the interval of the rows in them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import repeated
from tpauc import tpauc_interval, tpauc_score
from tpauc.metrics.intervals import large_sample_interval
from tpauc.metrics.large_sample import PairSums

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
    expected = tpauc_interval(y, scores, alpha=1.0, beta=1.0, method="delong")
    found = large_sample_interval(sums.estimate(), sums.moments(), (n_positive, n_negative), 0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=0, abs=1e-12)


def test_counts_beyond_64_bits_are_exact():
    huge = np.array([2**40, 2**40], dtype=np.int64)
    sums = PairSums.of_tied_cells(2**41, 2**41, huge, huge)
    assert (sums.won, sums.tied) == (2**80, 2**81)
    assert sums.estimate() == 0.5
    assert 0.0 < sums.moments().variance < 1e-12
    assert 1e11 < sums.moments().effective_number < 1e13
