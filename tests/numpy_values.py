"""Intervals, operating points and comparisons of tables equal those of the NumPy functions."""

from dataclasses import fields

import pytest


def assert_same_interval(found, expected):
    assert found.estimate == expected.estimate
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=0, abs=1e-12)
    assert (found.method, found.hard_positives, found.hard_negatives) == (
        expected.method,
        expected.hard_positives,
        expected.hard_negatives,
    )


def assert_same_point(found, expected):
    names = [field.name for field in fields(expected) if not field.name.startswith("_")]
    for name in names:
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert ours == theirs or (ours != ours and theirs != theirs), name  # NaN equals NaN
    assert found.picked_here
    assert found.intervals.keys() == expected.intervals.keys()
    for name, interval in expected.intervals.items():
        limits = found.intervals[name]
        assert limits.method == interval.method
        assert (limits.low, limits.high) == pytest.approx((interval.low, interval.high), rel=0, abs=1e-12), name


def assert_same_comparison(found, expected):
    for name in ("difference", "low", "high", "p_value"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=0, abs=1e-12), name
    assert found.method == expected.method
