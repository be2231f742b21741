"""Intervals and comparisons in rectangles: against plain loops, derivatives, other corners, and simulation."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy.special import betaincinv
from scipy.stats import t as student

import reference
from scored_samples import SEED, assert_rate, binormal, samples
from tpauc.metrics import _unit_bootstrap as unit_resampling
from tpauc.metrics._bootstrap import paired_resamples, two_sided_resamples
from tpauc.metrics._delong import Moments, contributions, row_influences, weighted_influences
from tpauc.metrics.area import partial_auc_score
from tpauc.metrics.comparison import compare_partial_auc, compare_tpauc
from tpauc.metrics.intervals import partial_auc_interval, tpauc_interval
from tpauc.region import Region

LOWER_LEFT, BAND = Region(1.0, 0.3, min_alpha=0.5), Region(0.7, 0.6, min_alpha=0.3, min_beta=0.2)
RECTANGLES = [LOWER_LEFT, BAND, Region(1.0, 0.3, min_beta=0.1), Region(1.0, 1.0, 0.3, 0.2)]
OPTIONS = [{}, {"groups": 1}, {"sample_weight": 1.0}, {"sample_weight": 0.5}]


def plain_influences(y, s, region):
    """U / k+ of every positive and V / k- of every negative, by the formulas; a harder row counts like the hardest."""
    rows = range(len(y))
    positives = sorted((i for i in rows if y[i]), key=lambda i: s[i])
    negatives = sorted((i for i in rows if not y[i]), key=lambda i: -s[i])
    cuts = []
    for of_class, low, high in (
        (positives, region.min_alpha, region.alpha),
        (negatives, region.min_beta, region.beta),
    ):
        n = len(of_class)
        cuts.append((reference.hard_count(n, low) if low else 0, reference.hard_count(n, high)))
    chosen, others = positives[slice(*cuts[0])], negatives[slice(*cuts[1])]
    a = {i: sum(reference.pair_credit(s[i], s[j], "half") for j in others) / len(others) for i in chosen}
    b = {j: sum(reference.pair_credit(s[i], s[j], "half") for i in chosen) / len(chosen) for j in others}
    a |= dict.fromkeys(positives[: cuts[0][0]], min(a.values()))
    b |= dict.fromkeys(negatives[: cuts[1][0]], min(b.values()))
    return (
        [(max(a.values()) - a[i]) / len(chosen) if i in a else 0.0 for i in rows if y[i]],
        [(max(b.values()) - b[j]) / len(others) if j in b else 0.0 for j in rows if not y[j]],
    )


def plain_variance(*classes):
    return math.fsum(len(values) * float(np.var(values, ddof=1)) for values in classes)


@pytest.mark.parametrize("region", RECTANGLES)
@pytest.mark.parametrize("rounded", [False, True])
def test_the_variance_is_that_of_the_definition(region, rounded):
    y, s = binormal(np.random.default_rng(0), 90, 150, 1.0)
    s = s.round(1) if rounded else s
    found = plain_influences(y, s, region)
    interval = partial_auc_interval(y, s, region=region, method="delong", confidence=0.5)
    corner = reference.partial_auc(y, s, region.alpha, region.beta, region.min_alpha, region.min_beta)
    assert interval.estimate == pytest.approx(corner, rel=1e-12)
    influence = row_influences(y, s, region)
    for side, values in ((y, found[0]), (~y, found[1])):
        np.testing.assert_allclose(influence[side], np.mean(values) - values, rtol=1e-9, atol=1e-15)
    moments = Moments.of(*contributions(influence, y))
    assert moments.variance == pytest.approx(plain_variance(*found), rel=1e-10)
    half = (math.log(interval.high / (1 - interval.high)) - math.log(interval.low / (1 - interval.low))) / 2
    quantile = student.ppf(0.75, moments.effective_number)
    width = quantile * math.sqrt(moments.variance) / (corner * (1 - corner))
    assert half == pytest.approx(width, rel=1e-9)


@pytest.mark.parametrize("region", RECTANGLES)
def test_weighted_influence_is_the_derivative_by_the_weight_of_a_row(region):
    y, s = binormal(np.random.default_rng(0), 25, 35, 0.7)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=60)
    influence, inside = weighted_influences(y, s, weight, region)
    assert inside[y].sum() == pytest.approx((region.alpha - region.min_alpha) * weight[y].sum())
    score = partial_auc_score(y, s, region=region, sample_weight=weight)
    for row in range(60):
        changed = weight + 1e-6 * (np.arange(60) == row)
        slope = (partial_auc_score(y, s, region=region, sample_weight=changed) - score) / 1e-6
        assert slope == pytest.approx(influence[row], abs=1e-6)  # rounding adds 1e-16 / step
    assert np.ptp(influence) > 0.01


@given(sample=samples(), seed=SEED)
@settings(deadline=None, max_examples=60)
def test_units_are_resampled_in_rectangles(sample, seed):
    y, s = sample
    assume(y.sum() >= 10 and (~y).sum() >= 10)
    generator = np.random.default_rng(seed)
    groups = np.unique(generator.integers(8, size=y.size), return_inverse=True)[1]
    counts = 1 + generator.integers(3, size=(4, groups.max() + 1))
    for region in RECTANGLES:
        for weight in (None, generator.integers(1, 4, size=y.size) * 1.0, generator.uniform(0.5, 2.0, size=y.size)):
            model = unit_resampling._Model.of(unit_resampling.Units.of(y, weight, groups), s)
            for count, value in zip(counts, model.tpauc(counts, region), strict=True):
                of_rows = count[groups] * (1.0 if weight is None else weight)
                assert abs(value - partial_auc_score(y, s, region=region, sample_weight=of_rows)) <= 1e-12


@pytest.mark.parametrize("region", RECTANGLES[:3])
def test_resamples_have_the_distribution_of_a_plain_loop(region):
    generator = np.random.default_rng(0)
    y, s = binormal(generator, 60, 3_000, 0.8)  # few positives: negatives are drawn in groups
    loop = []
    for _ in range(1_500):
        rows = np.concatenate([generator.choice(np.flatnonzero(side), side.sum()) for side in (y, ~y)])
        loop.append(partial_auc_score(y[rows], s[rows], region=region))
    hard, easy = two_sided_resamples(generator, y, s, region, 1_500)
    paired = paired_resamples(generator, y, [s, -s], region, 1_500)[0]
    assert np.mean(paired) == pytest.approx(np.mean(loop), abs=5 * np.std(loop) / math.sqrt(750))
    assert np.std(paired) == pytest.approx(np.std(loop), rel=0.1)
    assert (hard <= easy).all()
    assert np.mean(hard) < np.mean(easy)
    assert np.std(hard) == pytest.approx(np.std(loop), rel=0.15)


@pytest.mark.parametrize("region", RECTANGLES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_methods_agree_for_many_rows(region, options):
    generator = np.random.default_rng(1)
    y, s = binormal(generator, 800, 3_000, 0.8)
    other = s + generator.normal(size=y.size)
    given_rows = {name: np.arange(y.size) if name == "groups" else np.full(y.size, x) for name, x in options.items()}
    by_delong, by_bootstrap = (
        partial_auc_interval(y, s, region=region, method=method, n_resamples=400, random_state=0, **given_rows)
        for method in ("delong", "bootstrap")
    )
    assert by_delong.estimate == by_bootstrap.estimate
    assert (by_delong.hard_positives, by_delong.hard_negatives) == (
        region.hard_positives(800),
        region.hard_negatives(3_000),
    )
    width = by_bootstrap.high - by_bootstrap.low
    assert by_delong.high - by_delong.low == pytest.approx(width, rel=0.3)
    first, second = (
        compare_partial_auc(y, s, other, region=region, method=method, n_resamples=400, random_state=0, **given_rows)
        for method in ("delong", "bootstrap")
    )
    assert first.difference == second.difference > 0.0
    assert first.high - first.low == pytest.approx(second.high - second.low, rel=0.2)


@pytest.mark.parametrize("method", ["bootstrap", "delong"])
def test_whole_weights_are_repeated_rows(method):
    generator = np.random.default_rng(2)
    y, s = binormal(generator, 60, 200, 0.8)
    times = generator.integers(1, 4, size=y.size)
    options = {"region": BAND, "method": method, "n_resamples": 99, "random_state": 0}
    repeated = partial_auc_interval(np.repeat(y, times), np.repeat(s, times), **options)
    weighted = partial_auc_interval(y, s, sample_weight=times, **options)
    for name in ("estimate", "low", "high", "hard_positives", "hard_negatives"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-9)


@pytest.mark.parametrize("method", ["bootstrap", "delong"])
@pytest.mark.parametrize("corner", [(0.3, 0.2), (1.0, 1.0)])
def test_a_corner_is_the_interval_and_comparison_of_tpauc(method, corner):
    alpha, beta = corner
    y, s = binormal(np.random.default_rng(3), 60, 300, 1.0)
    options = {"method": method, "n_resamples": 99, "random_state": 0}
    assert partial_auc_interval(y, s, region=Region(alpha, beta), **options) == tpauc_interval(
        y, s, alpha=alpha, beta=beta, **options
    )
    assert compare_partial_auc(y, s, s.round(1), region=Region(alpha, beta), **options) == compare_tpauc(
        y, s, s.round(1), alpha=alpha, beta=beta, **options
    )


def test_the_mirrored_rectangle_has_the_same_interval():
    y, s = binormal(np.random.default_rng(4), 100, 150, 1.0)
    mirrored = Region(BAND.beta, BAND.alpha, BAND.min_beta, BAND.min_alpha)
    found = partial_auc_interval(y, s, region=BAND, method="delong")
    other = partial_auc_interval(~y, -s, region=mirrored, method="delong")
    assert (found.estimate, found.low, found.high) == pytest.approx((other.estimate, other.low, other.high), rel=1e-12)


@pytest.mark.parametrize("method", ["bootstrap", "delong"])
def test_a_perfect_band_is_as_sure_as_its_border(method):
    y = np.arange(400) < 200
    s = np.where(y, 1.0, 0.0) + np.arange(400) / 1_000
    interval = partial_auc_interval(y, s, region=LOWER_LEFT, method=method, n_resamples=99, random_state=0)
    assert interval.estimate == interval.high == 1.0
    if method == "bootstrap":  # resamples show that no positive is near the border
        assert interval.low == pytest.approx(0.025 ** (1 / 60))
    else:  # the true border may be where 111 or so of 200 positives are
        highest = betaincinv(101.0, 100.0, 0.975)
        assert interval.low == pytest.approx(1 - (highest - 0.5) / 0.5)


def test_the_interval_of_a_rectangle_covers_the_truth_as_often_as_it_says():
    generator, hits = np.random.default_rng(5), 0
    large = binormal(generator, 200_000, 200_000, 1.0)
    truth = partial_auc_score(*large, region=BAND)
    for _ in range(200):
        y, s = binormal(generator, 150, 300, 1.0)
        interval = partial_auc_interval(y, s, region=BAND, method="delong")
        hits += interval.low <= truth <= interval.high
    assert_rate(hits, 200, 0.92, 0.995)


@pytest.mark.parametrize("call", [partial_auc_interval, compare_partial_auc])
def test_mistakes_are_named(call):
    y, s = binormal(np.random.default_rng(6), 20, 20, 1.0)
    models = (s,) if call is partial_auc_interval else (s, -s)
    with pytest.raises(TypeError, match=r"region must be a tpauc\.Region, got \(0\.3, 0\.3\)"):
        call(y, *models, region=(0.3, 0.3))
    with pytest.raises(ValueError, match=r"no positive lies between miss rates of 0\.3 and 0\.31"):
        call(y, *models, region=Region(0.31, 1, min_alpha=0.3))


def test_the_edge_of_a_region_may_vanish_in_a_resample():
    y, s = np.arange(40) % 2, np.random.default_rng(0).normal(size=40)
    region = Region(math.nextafter(0.3, 1), 0.5, min_alpha=0.3)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=40)
    with pytest.raises(ValueError, match="alpha and beta select less weight than float64 can hold"):
        partial_auc_interval(y, s, region=region, sample_weight=weight, random_state=0)
