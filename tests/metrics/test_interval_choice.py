"""Which kind of interval is made, and that it is that of the library."""

import numpy as np
import pytest

from scored_samples import binormal
from tpauc.metrics import interval_choice
from tpauc.metrics._delong import SortedScores, large_sample_difference
from tpauc.metrics.interval_choice import BOOTSTRAP, LARGE_SAMPLE, IntervalMaker
from tpauc.metrics.intervals import compare_tpauc, operating_point, tpauc_interval
from tpauc.region import Region

CORNER = Region(0.1, 0.05)


def sample(n_positive, n_negative):
    y, s = binormal(np.random.default_rng(0), n_positive, n_negative, 2.0)
    return y, s, s + 0.5 * np.random.default_rng(1).normal(size=s.size)


@pytest.mark.parametrize(
    ("n_positive", "n_negative", "kinds", "difference"),
    [
        (100, 2_000, [BOOTSTRAP] * 3, BOOTSTRAP),
        (2_000, 30_000, [BOOTSTRAP, BOOTSTRAP, LARGE_SAMPLE], LARGE_SAMPLE),
        (2_000, 500_000, [LARGE_SAMPLE] * 3, LARGE_SAMPLE),
        (490, 500_000, [BOOTSTRAP, LARGE_SAMPLE, LARGE_SAMPLE], BOOTSTRAP),  # 49 hard positives
        (20, 500_000, [BOOTSTRAP] * 3, BOOTSTRAP),
    ],
)
def test_large_samples_where_resampling_takes_long_and_many_decide(n_positive, n_negative, kinds, difference):
    y = np.arange(n_positive + n_negative) < n_positive
    maker, regions = IntervalMaker(), (CORNER, Region(1.0, CORNER.beta), Region(1.0, 1.0))
    assert [maker._kind(y, region) for region in regions] == kinds
    assert maker._kind(y, CORNER, drawn=2 * y.size) == difference


@pytest.mark.parametrize("kind", [BOOTSTRAP, LARGE_SAMPLE])
def test_values_are_those_of_the_library(kind):
    y, a, b = sample(200, 2_000)
    options = {"n_resamples": 99, "random_state": 0}
    maker = IntervalMaker(**options, kind=kind)
    areas = maker.areas(y, a, CORNER)
    for name, region in (("tpauc", CORNER), ("opauc", Region(1.0, 0.05)), ("auc", Region(1.0, 1.0))):
        expected = (
            tpauc_interval(y, a, alpha=region.alpha, beta=region.beta, **options)
            if kind == BOOTSTRAP
            else SortedScores(y, a).interval(region)
        )
        assert (getattr(areas, name), areas.kinds[name]) == (expected, kind)
    assert areas.point == operating_point(y, a, alpha=0.1, beta=0.05)
    expected = (
        compare_tpauc(y, a, b, alpha=0.1, beta=0.05, **options)
        if kind == BOOTSTRAP
        else large_sample_difference(y, a, b, CORNER)
    )
    assert maker.difference(y, a, b, CORNER) == (expected, kind)


def test_both_kinds_may_meet_in_one_model(monkeypatch):
    y, a, _ = sample(600, 2_000)
    monkeypatch.setattr(interval_choice, "_MOST_DRAWS", 99 * 1_000)
    areas = IntervalMaker(n_resamples=99, random_state=0).areas(y, a, CORNER)
    assert areas.kinds == {"tpauc": BOOTSTRAP, "opauc": BOOTSTRAP, "auc": LARGE_SAMPLE}
    assert areas.auc == SortedScores(y, a).interval(Region(1.0, 1.0))
    assert areas.point == operating_point(y, a, alpha=0.1, beta=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "exact"}, "intervals must be one of"),
        ({"n_resamples": 5}, "n_resamples must be at least 39"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_mistakes_are_found_before_anything_is_measured(options, message):
    with pytest.raises(ValueError, match=message):
        IntervalMaker(**options)
