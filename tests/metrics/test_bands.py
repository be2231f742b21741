"""ROC bands: the pointwise one is tpr_at_fpr along a grid, the simultaneous one its joint form."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from scored_samples import SEED, binormal, samples
from tpauc.metrics import bands
from tpauc.metrics._rate_limits import METHODS
from tpauc.metrics.bands import KINDS, roc_band
from tpauc.metrics.rates import tpr_at_fpr

GRID = np.array([0.0, 0.01, 0.05, 0.1, 0.3, 0.7, 1.0])


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    """Levels from 2,000 draws are about as exact as the tests need."""
    monkeypatch.setattr(bands, "_FEWEST_DRAWS", 2000)


@given(sample=samples(), method=st.sampled_from(METHODS))
@settings(deadline=None, max_examples=20)
def test_the_pointwise_band_is_the_interval_of_each_rate(sample, method):
    band = roc_band(*sample, fpr=GRID, method=method)
    assert band.fpr.tolist() == GRID.tolist()
    for place, fpr in enumerate(GRID[1:], start=1):
        rate = tpr_at_fpr(*sample, fpr=fpr, method=method)
        assert (band.tpr[place], band.low[place], band.high[place]) == (rate.estimate, rate.low, rate.high)


@given(sample=samples(), kind=st.sampled_from(KINDS), method=st.sampled_from(METHODS), seed=SEED)
@settings(deadline=None, max_examples=20)
def test_bands_are_ordered_rise_and_know_only_the_order_of_scores(sample, kind, method, seed):
    y, s = sample
    options = {"kind": kind, "method": method, "fpr": GRID}
    band = roc_band(y, s, **options)
    assert np.all((band.low >= 0.0) & (band.low <= band.tpr) & (band.tpr <= band.high) & (band.high <= 1.0))
    for side in (band.tpr, band.low, band.high):
        assert np.all(np.diff(side) >= -1e-9)
    assert band.low[0] == 0.0
    assert band.low[-1] == band.tpr[-1] == band.high[-1] == 1.0
    order = np.random.default_rng(seed).permutation(y.size)
    weight = np.random.default_rng(seed).integers(1, 4, size=y.size)
    rows = np.repeat(np.arange(y.size), weight)
    for same in (
        roc_band(y[order], s[order], **options),
        roc_band(np.where(y, "b", "a"), np.exp(s), pos_label="b", **options),
        roc_band(y, s, groups=np.arange(y.size), **options),
        roc_band(y, s, sample_weight=np.ones(y.size), **options),
    ):
        np.testing.assert_array_equal([same.tpr, same.low, same.high], [band.tpr, band.low, band.high])
    weighted, repeated = roc_band(y, s, sample_weight=weight, **options), roc_band(y[rows], s[rows], **options)
    np.testing.assert_array_equal([weighted.low, weighted.high], [repeated.low, repeated.high])


@pytest.mark.parametrize("method", METHODS)
def test_the_simultaneous_band_of_one_rate_is_pointwise_and_widens_with_more(method):
    y, s = binormal(np.random.default_rng(0), 100, 300, 1.5)
    point = roc_band(y, s, fpr=[0.2], method=method)
    alone = roc_band(y, s, fpr=[0.2], method=method, kind="simultaneous")
    # 2,000 draws give the level 0.025 to a standard error of 0.0035, which moves a limit by 0.06 standard deviations.
    np.testing.assert_allclose([alone.low, alone.high], [point.low, point.high], atol=0.02)
    many = roc_band(y, s, fpr=np.linspace(0.01, 1, 100), method=method, kind="simultaneous")
    assert many.low[19] < alone.low[0] - 0.01
    assert many.high[19] > alone.high[0] + 0.01


@pytest.mark.parametrize(("n_positive", "n_negative"), [(3, 7), (40, 25)])
def test_drawn_curves_have_the_distribution_behind_the_pointwise_limits(n_positive, n_negative):
    """The share of drawn values below a pointwise limit is its tail, at every FPR."""
    y, s = binormal(np.random.default_rng(1), n_positive, n_negative, 1.0)
    drawn = {}

    def keep(values, tail):
        drawn[len(drawn)] = values
        return tail

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bands, "_level", keep)
        patch.setattr(bands, "_FEWEST_DRAWS", 20_000)
        band = roc_band(y, s, kind="simultaneous", fpr=GRID[1:-1], method="conservative", confidence=0.8)
    for place, (low, high) in enumerate(zip(band.low, band.high, strict=True)):
        if low > 0.0:
            assert np.mean(drawn[0][:, place] < low) == pytest.approx(0.1, abs=0.01)
        if high < 1.0:
            assert np.mean(-drawn[1][:, place] > high) == pytest.approx(0.1, abs=0.01)


def test_limits_between_the_rates_of_the_grid():
    y, s = binormal(np.random.default_rng(0), 50, 50, 1.5)
    band = roc_band(y, s, fpr=[0.1, 0.2, 0.5])
    assert band.limits(0.2) == (band.low[1], band.high[1])
    assert band.limits(0.3) == (band.low[1], band.high[2])
    assert band.limits(0.05) == (0.0, band.high[0])
    assert band.limits(0.9) == (band.low[2], 1.0)
    for fpr in (-0.1, 1.1):
        with pytest.raises(ValueError, match=rf"^fpr must be in \[0, 1\], got {fpr}"):
            band.limits(fpr)
    with pytest.raises(TypeError, match=r"^fpr must be a number, got 'a'"):
        band.limits("a")


def test_the_default_grid_and_what_is_shown():
    y, s = binormal(np.random.default_rng(0), 50, 50, 1.5)
    band = roc_band(y, s, kind="simultaneous", confidence=0.9)
    assert band.fpr.shape == band.tpr.shape == band.low.shape == band.high.shape == (104,)
    assert repr(band).startswith("<ROC curve with a simultaneous 90 % band at 104 false positive rates: TPR 0.")
    assert repr(band).endswith(" at FPR 0.1>")
    band.fpr[0] = 0.5  # a copy of its own
    assert roc_band(y, s).fpr[0] == 0.0


def test_random_state():
    sample = binormal(np.random.default_rng(0), 50, 50, 1.5)

    def low(**options):
        return roc_band(*sample, kind="simultaneous", fpr=GRID, **options).low.tolist()

    assert low() == low() == low(random_state=0) == low(random_state=np.random.default_rng(0))
    assert low() != low(random_state=1)
    np.testing.assert_allclose(low(random_state=None), low(), atol=0.05)  # new draws give about the same level


def test_groups_widen_both_kinds():
    """Groups of one class each, whose rows are nearly copies."""
    generator = np.random.default_rng(0)
    y, s = binormal(generator, 60, 60, 1.5)
    rows = np.repeat(np.arange(120), 10)
    s = s[rows] + 0.01 * generator.normal(size=rows.size)
    for kind in KINDS:
        by_rows, by_groups = (roc_band(y[rows], s, kind=kind, fpr=[0.3], groups=by) for by in (None, rows))
        assert by_groups.high - by_groups.low > 2 * (by_rows.high - by_rows.low)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"kind": "both"}, ValueError, "kind must be one of 'pointwise', 'simultaneous', got 'both'"),
        ({"method": "exact"}, ValueError, "method must be one of 'mid-p', 'conservative', got 'exact'"),
        ({"confidence": 0.0}, ValueError, r"confidence must be in \(0, 1\), got 0\.0"),
        (
            {"kind": "simultaneous", "confidence": 0.9999},
            ValueError,
            r"confidence must be at most 0\.999 for a simultaneous band, got 0\.9999",
        ),
        ({"fpr": []}, ValueError, "fpr must hold at least one false positive rate, got none"),
        ({"fpr": [0.1, 1.5]}, ValueError, r"fpr must hold rates in \[0, 1\], found 1\.5"),
        ({"fpr": [-0.1]}, ValueError, r"fpr must hold rates in \[0, 1\], found -0\.1"),
        ({"fpr": [0.2, 0.1]}, ValueError, r"fpr must increase, found 0\.2 before 0\.1"),
        ({"fpr": [0.2, 0.2]}, ValueError, r"fpr must increase, found 0\.2 before 0\.2"),
        ({"fpr": [math.nan]}, ValueError, "fpr must be finite"),
        ({"y_true": [1, 1]}, ValueError, "y_true has no negative example"),
        ({"groups": [1, 1]}, ValueError, "groups must hold at least 2 groups with a positive row"),
        ({"sample_weight": [1, 0.5]}, ValueError, "sample_weight must hold whole numbers here"),
        ({"random_state": "a"}, TypeError, "random_state must be None, a whole number"),
    ],
)
def test_bad_input(changes, error, message):
    with pytest.raises(error, match=f"^{message}"):
        roc_band(**{"y_true": [0, 1], "y_score": [1.0, 2.0], **changes})


def test_high_confidence_is_allowed_for_a_pointwise_band():
    assert roc_band([0, 1], [1.0, 2.0], confidence=0.9999, fpr=[0.5]).high[0] == 1.0


def test_simultaneous_coverage():
    """At least 93 % less three standard errors; benchmarks/bands.py has more."""
    generator = np.random.default_rng(0)
    grid, repetitions, hits = np.array([0.02, 0.1, 0.3, 0.6, 0.9]), 60, 0
    truth = ndtr((2.0 + ndtri(grid)) / 2.0)
    for _ in range(repetitions):
        band = roc_band(*binormal(generator, 100, 100, 2.0, 2.0), kind="simultaneous", fpr=grid)
        hits += np.all((band.low <= truth) & (truth <= band.high))
    assert hits / repetitions >= 0.93 - 3 * math.sqrt(0.93 * 0.07 / repetitions)
