"""The summary of a model holds the values of the public functions."""

import numpy as np
import pytest

from scored_samples import binormal
from tpauc.metrics import intervals
from tpauc.metrics.intervals import IntervalOptions, tpauc_interval
from tpauc.metrics.operating_points import operating_point
from tpauc.metrics.summary import summarise
from tpauc.region import Region

CORNER = Region(0.1, 0.05)
REGIONS = {"tpauc": CORNER, "opauc": Region(1.0, 0.05), "auc": Region(1.0, 1.0)}


@pytest.mark.parametrize("method", ["bootstrap", "delong"])
def test_values_are_those_of_the_library(method):
    y, s = binormal(np.random.default_rng(0), 200, 2_000, 2.0)
    options = {"confidence": 0.9, "method": method, "n_resamples": 99, "random_state": 0}
    summary = summarise(y, s, CORNER, IntervalOptions(**options))
    for name, region in REGIONS.items():
        found = getattr(summary, name)
        assert found == tpauc_interval(y, s, alpha=region.alpha, beta=region.beta, **options)
        assert found.method == method
    assert summary.point == operating_point(y, s, alpha=0.1, beta=0.05)


def test_groups_widen_the_intervals_of_all_areas():
    y, s = binormal(np.random.default_rng(0), 200, 2_000, 2.0)
    groups = np.arange(y.size) % 700
    options = {"method": "delong", "n_resamples": 99, "random_state": 0}
    summary = summarise(y, s, CORNER, IntervalOptions(**options), groups=groups)
    for name, region in REGIONS.items():
        expected = tpauc_interval(y, s, alpha=region.alpha, beta=region.beta, **options, groups=groups)
        assert getattr(summary, name) == expected
    assert summary.point == operating_point(y, s, alpha=0.1, beta=0.05)


def test_both_methods_may_meet_in_one_model(monkeypatch):
    y, s = binormal(np.random.default_rng(0), 600, 2_000, 2.0)
    monkeypatch.setattr("tpauc.metrics.intervals._MOST_DRAWS", 99 * 1_000)
    monkeypatch.setattr("tpauc.metrics.intervals._MANY", 20)
    summary = summarise(y, s, CORNER, IntervalOptions(n_resamples=99, random_state=0))
    assert [getattr(summary, name).method for name in REGIONS] == ["bootstrap", "bootstrap", "delong"]
    assert summary.auc == tpauc_interval(y, s, alpha=1.0, beta=1.0, method="delong")
    assert summary.point == operating_point(y, s, alpha=0.1, beta=0.05)


@pytest.mark.parametrize("method", ["bootstrap", "delong"])
def test_rows_are_sorted_once_for_all_areas(monkeypatch, method):
    y, s = binormal(np.random.default_rng(0), 200, 2_000, 2.0)
    calls, sort = [], intervals._sorted_by_class
    monkeypatch.setattr(intervals, "_sorted_by_class", lambda *rows: calls.append(rows) or sort(*rows))
    summarise(y, s, CORNER, IntervalOptions(method=method, n_resamples=99))
    assert len(calls) == 1
