"""Variances, rates and comparisons by cluster equal those of the NumPy functions with groups."""

import numpy as np
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tpauc
from numpy_values import assert_same_comparison, assert_same_interval, assert_same_point
from scored_samples import SHARE, samples
from tpauc import frames
from tpauc.frames import _counting


def assert_equals_numpy(found, y, scores, groups, **region):
    assert found.n_clusters == np.unique(groups).size
    expected = tpauc.tpauc_interval(y, scores, groups=groups, method="delong", **region)
    assert_same_interval(found.interval, expected)
    assert_same_point(found.point, tpauc.operating_point(y, scores, groups=groups, **region))


def in_groups(y, n_groups):
    """Return a group for each row, such that each class is in at least two."""
    groups = np.random.default_rng(0).integers(0, n_groups, y.size)
    for side in (y, ~y):
        groups[np.flatnonzero(side)[:2]] = 0, 1
    return groups


@settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
    deadline=None,
)
@given(
    sample=samples(n_models=2).filter(lambda found: 2 <= found[0].sum() <= found[0].size - 2),
    alpha=SHARE,
    beta=SHARE,
    n_groups=st.integers(2, 30),
    most=st.sampled_from([1, 10**6]),
)
def test_intervals_and_comparisons_by_cluster(on_embedded, monkeypatch, sample, alpha, beta, n_groups, most):
    monkeypatch.setattr(_counting, "MOST_ROWS", most)
    y, first, second = sample
    groups = in_groups(y, n_groups)
    table = on_embedded(pyarrow.table({"y": y, "s": first, "t": second, "g": groups}))
    options = {"alpha": alpha, "beta": beta}
    found = frames.evaluate(table, label="y", score=["s", "t"], groups="g", **options)
    for one, scores in zip(found, (first, second), strict=True):
        assert_equals_numpy(one, y, scores, groups, **options)
    compared = frames.compare(table, label="y", score=["s", "t"], groups="g", **options)
    expected = tpauc.compare_tpauc(y, first, second, groups=groups, method="delong", **options)
    assert_same_comparison(compared, expected)


def test_clusters_in_subgroups(on_engine):
    generator = np.random.default_rng(3)
    y = generator.random(300) < 0.4
    scores, groups = np.round(generator.normal(size=300) + y, 1), generator.integers(0, 40, 300)
    site = generator.choice(["a", None], 300)
    columns = {
        "y": y,
        "s": scores,
        "g": [f"patient {g}" for g in groups],
        "site": pyarrow.array(site, pyarrow.string()),
    }
    region = {"alpha": 0.6, "beta": 0.5}
    found = frames.evaluate(on_engine(pyarrow.table(columns)), label="y", score="s", by="site", groups="g", **region)
    assert [one.by["site"] for one in found] == ["a", None]
    for one in found:
        rows = site == one.by["site"]
        assert_equals_numpy(one, y[rows], scores[rows], groups[rows], **region)


def test_rows_tied_at_the_border_share_it_whatever_their_order(on_embedded):
    y = np.arange(40) % 2 == 0
    scores = np.where(y, 3.0, 1.0)  # perfect, and all scores of a class are equal
    groups = np.arange(40) // 4
    table = on_embedded(pyarrow.table({"y": y, "s": scores, "g": groups}))
    (found,) = frames.evaluate(table, label="y", score="s", groups="g", alpha=0.3, beta=0.3)
    assert_equals_numpy(found, y, scores, groups, alpha=0.3, beta=0.3)
    order = np.argsort(groups % 3, kind="stable")
    assert_equals_numpy(found, y[order], scores[order], groups[order], alpha=0.3, beta=0.3)
    assert 4 <= found.interval.hard_positives <= 6  # 6 of 20 rows, which ten groups of two share


@pytest.mark.parametrize("function", [frames.evaluate, frames.compare])
def test_a_class_in_a_single_cluster_is_refused(function):
    table = pyarrow.table({"y": [0, 1] * 5, "s": range(10), "t": range(10), "g": [1, 0] * 4 + [2, 0]})
    with pytest.raises(ValueError, match="groups must hold at least 2 groups with a positive row"):
        function(table, label="y", score=["s", "t"], groups="g", alpha=0.5, beta=0.5)


def test_rows_without_a_cluster_are_counted():
    table = pyarrow.table({"y": [0, 1] * 5, "s": [0.1] * 10, "g": [None, None, *range(8)]})
    with pytest.raises(ValueError, match="groups='g' has 2 null values"):
        frames.evaluate(table, label="y", score="s", groups="g", alpha=0.5, beta=0.5)
