"""Thresholds by every rule, and promised ones, equal those of the NumPy functions on every engine."""

import numpy as np
import polars
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tpauc
from numpy_values import assert_same_interval, assert_same_point
from scored_samples import SHARE, samples
from tpauc import frames
from tpauc.frames import _counting

REGION = {"alpha": 0.3, "beta": 0.2}
RULES = {
    "min_fpr": {"rule": "min_fpr"},
    "capacity": {"rule": "capacity", "capacity": (15, 100)},
    "no capacity": {"rule": "capacity", "capacity": (0, 100)},
    "full capacity": {"rule": "capacity", "capacity": (1, 1)},
    "cost": {"rule": "cost", "miss_cost": 3, "alarm_cost": 1},
    "free alarms": {"rule": "cost", "miss_cost": 1, "alarm_cost": 0},
    "free misses": {"rule": "cost", "miss_cost": 0, "alarm_cost": 1},
    "guaranteed fpr": {"guarantee": 0.9},
    "guaranteed tpr": {"rule": "min_fpr", "guarantee": 0.9},
}


def made_up(n=300, seed=0, decimals=1):
    generator = np.random.default_rng(seed)
    y = generator.random(n) < 0.4
    groups = generator.integers(0, 60, n)
    return y, np.round(generator.normal(size=n) + y, decimals), np.round(generator.normal(size=n) + 2 * y, 3), groups


def assert_equals_numpy(found, y, scores, rule, **more):
    assert_same_point(found.point, tpauc.operating_point(y, scores, **REGION, **rule, **more))
    assert_same_interval(found.interval, tpauc.tpauc_interval(y, scores, **REGION, method="delong", **more))


@pytest.mark.parametrize("name", RULES)
def test_every_rule_on_every_engine(on_embedded, name):
    y, first, second, groups = made_up()
    table = on_embedded(pyarrow.table({"y": y, "s": first, "t": second, "g": groups}))
    for more in ({}, {"groups": "g"}):
        found = frames.evaluate(table, label="y", score=["s", "t"], **REGION, **RULES[name], **more)
        in_memory = {"groups": groups} if more else {}
        for one, scores in zip(found, (first, second), strict=True):
            assert_equals_numpy(one, y, scores, RULES[name], **in_memory)


@pytest.mark.parametrize("name", ["min_fpr", "capacity", "cost", "guaranteed fpr"])
def test_rules_on_spark(spark, name):
    y, scores, _, groups = made_up()
    table = spark.createDataFrame(pyarrow.table({"y": y, "s": scores, "g": groups}))
    (found,) = frames.evaluate(table, label="y", score="s", **REGION, **RULES[name])
    assert_equals_numpy(found, y, scores, RULES[name])
    if name == "guaranteed fpr":
        (found,) = frames.evaluate(table, label="y", score="s", groups="g", **REGION, **RULES[name])
        assert_equals_numpy(found, y, scores, RULES[name], groups=groups)


@pytest.mark.parametrize("name", RULES)
def test_rules_in_subgroups_of_full_cells(monkeypatch, name):
    monkeypatch.setattr(_counting, "MOST_ROWS", 5)
    y, scores, _, groups = made_up(decimals=2)
    scores, site = 1e6 + 1e-6 * scores, np.where(groups % 3, "a", "b")
    table = polars.DataFrame({"y": y, "s": scores, "site": site})
    for one in frames.evaluate(table, label="y", score="s", by="site", **REGION, **RULES[name]):
        own = site == one.by["site"]
        assert_equals_numpy(one, y[own], scores[own], RULES[name])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    sample=samples(),
    alpha=SHARE,
    beta=SHARE,
    miss_cost=st.integers(0, 3),
    capacity=st.integers(0, 10),
    exponent=st.sampled_from([0, -300, 300]),
    most=st.sampled_from([1, 10**6]),
)
def test_any_table_equals_numpy(monkeypatch, sample, alpha, beta, miss_cost, capacity, exponent, most):
    monkeypatch.setattr(_counting, "MOST_ROWS", most)
    y, scores = sample
    scores = (scores - 0.5) * 10.0**exponent
    table, region = polars.DataFrame({"y": y, "s": scores}), {"alpha": alpha, "beta": beta}
    for rule in (
        {"rule": "min_fpr"},
        {"rule": "capacity", "capacity": (capacity, 10)},
        {"rule": "cost", "miss_cost": miss_cost, "alarm_cost": 1},
    ):
        (found,) = frames.evaluate(table, label="y", score="s", **region, **rule)
        assert_same_point(found.point, tpauc.operating_point(y, scores, **region, **rule))


def test_too_few_rows_for_a_guarantee():
    y, scores, _, groups = made_up(60)
    table = polars.DataFrame({"y": y, "s": scores, "g": groups % 10})
    options = {"label": "y", "score": "s", "alpha": 0.3, "beta": 0.05, "guarantee": 0.95}
    with pytest.raises(ValueError, match=r"guarantee=0\.95 for beta=0\.05 needs at least 59 negative examples, found"):
        frames.evaluate(table, **options)
    with pytest.raises(ValueError, match="needs at least 59 groups with a negative row, found 10"):
        frames.evaluate(table, groups="g", **options)


def test_rules_are_checked():
    y, scores, _, _ = made_up(60)
    table = polars.DataFrame({"y": y, "s": scores})
    with pytest.raises(ValueError, match="rule='cost' needs miss_cost, which was not given"):
        frames.evaluate(table, label="y", score="s", **REGION, rule="cost")
    with pytest.raises(ValueError, match="tolerance cannot be combined with rule='min_fpr'"):
        frames.evaluate(table, label="y", score="s", **REGION, rule="min_fpr", tolerance=0.1)
