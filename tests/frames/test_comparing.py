"""The paired comparison of two score columns equals the NumPy function."""

import numpy as np
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numpy_values import assert_same_comparison
from scored_samples import SHARE, samples
from tpauc import compare_tpauc, frames
from tpauc.frames import _counting


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    sample=samples(n_models=2),
    alpha=SHARE,
    beta=SHARE,
    shift=st.sampled_from([0.0, 3.0, -3.0]),
    most=st.sampled_from([1, 10**6]),
)
def test_comparisons_equal_numpy(on_embedded, monkeypatch, sample, alpha, beta, shift, most):
    monkeypatch.setattr(_counting, "MOST_ROWS", most)
    y, first, second = sample
    second = second + shift * y  # perfect and reversed models as well
    table = on_embedded(pyarrow.table({"y": y, "s": first, "t": second}))
    found = frames.compare(table, label="y", score=("s", "t"), alpha=alpha, beta=beta)
    assert_same_comparison(found, compare_tpauc(y, first, second, alpha=alpha, beta=beta, method="delong"))


def test_the_two_zeros_are_equal(on_embedded):
    y = np.arange(40) % 3 == 0
    first = np.where(np.arange(40) % 2, -0.0, 0.0)
    first[:12] = np.linspace(-1.0, 1.0, 12)
    second = np.where(np.arange(40) % 4, 0.0, -0.0) + np.where(np.arange(40) > 30, 0.5, 0.0)
    table = on_embedded(pyarrow.table({"y": y, "s": first, "t": second}))
    found = frames.compare(table, label="y", score=("s", "t"), alpha=0.9, beta=0.8)
    assert_same_comparison(found, compare_tpauc(y, first, second, alpha=0.9, beta=0.8, method="delong"))


def test_comparisons_on_spark(spark):
    generator = np.random.default_rng(0)
    y = generator.random(300) < 0.4
    first = np.round(generator.normal(size=300) + y, 1)
    first[:20] = np.where(np.arange(20) % 2, -0.0, 0.0)
    second = first + generator.normal(size=300)
    table = spark.createDataFrame(pyarrow.table({"y": y, "s": first, "t": second}))
    found = frames.compare(table, label="y", score=("s", "t"), alpha=0.5, beta=0.5)
    assert_same_comparison(found, compare_tpauc(y, first, second, alpha=0.5, beta=0.5, method="delong"))


@pytest.mark.parametrize("score", ["s", ["s"], ["s", "s", "s"]])
def test_two_columns_are_compared(score):
    table = pyarrow.table({"y": [0, 1], "s": [0.1, 0.2]})
    with pytest.raises(ValueError, match="score must name two columns"):
        frames.compare(table, label="y", score=score, alpha=1.0, beta=1.0)
