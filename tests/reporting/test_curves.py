"""ROC curves and score densities against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from tpauc.metrics.area import auc_score, tpauc_score
from tpauc.metrics.bands import roc_band
from tpauc.metrics.operating_points import operating_point
from tpauc.region import Region
from tpauc.reporting.curves import (
    MAX_POINTS,
    ScoreScale,
    roc_vertices,
    score_density,
    spread_ties,
    thinned,
    within_region,
)
from tpauc.reporting.figures import score_panel
from tpauc.reporting.panels import Axis

REGION = {"alpha": 0.3, "beta": 0.3}


def two_models(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.25
    return y, {"plain": y + rng.normal(size=n), "better": 2 * y + rng.normal(size=n)}


# ------------------------------------------------------------------------------------------------------- ROC curve


def plain_roc(y, s):
    """Every point of the curve, threshold by threshold."""
    positives = [v for v, label in zip(s, y, strict=True) if label]
    negatives = [v for v, label in zip(s, y, strict=True) if not label]
    points = [(0.0, 0.0)]
    for threshold in sorted(set(s), reverse=True):
        fpr = sum(v >= threshold for v in negatives) / len(negatives)
        tpr = sum(v >= threshold for v in positives) / len(positives)
        points.append((fpr, tpr))
    return points


def distance_to_line(points, x, y):
    """Largest distance of any of the points from the line through (x, y)."""
    largest = 0.0
    start, end = np.stack([x[:-1], y[:-1]], 1), np.stack([x[1:], y[1:]], 1)
    along = end - start
    for point in points:
        share = np.clip(((point - start) * along).sum(1) / np.maximum((along**2).sum(1), 1e-300), 0.0, 1.0)
        largest = max(largest, np.linalg.norm(start + share[:, None] * along - point, axis=1).min())
    return largest


labelled_scores = st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=2, max_size=40).filter(
    lambda rows: len({label for label, _ in rows}) == 2
)


@settings(deadline=None, max_examples=100)
@given(labelled_scores)
def test_vertices_lie_on_the_plain_curve_and_leave_out_only_straight_pieces(rows):
    y, s = np.array([label for label, _ in rows]), np.array([float(score) for _, score in rows])
    expected = plain_roc(y.tolist(), s.tolist())
    fpr, tpr = roc_vertices(y, s)
    assert set(zip(fpr.tolist(), tpr.tolist(), strict=True)) <= set(expected)
    # Coordinates are ratios of counts, rounded once; the foot of the perpendicular takes a few more operations.
    assert distance_to_line(np.array(expected), fpr, tpr) < 1e-15 * 10
    assert trapezoid(tpr, fpr) == pytest.approx(auc_score(y, s), abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(labelled_scores)
def test_spread_ties_keep_the_order_of_different_scores(rows):
    y, s = np.array([label for label, _ in rows]), np.array([float(score) for _, score in rows])
    spread = spread_ties(y, s)
    higher = s[:, None] > s
    assert (spread[:, None] > spread)[higher].all()
    for side in (y, ~y):
        # Inside a tie a class has its steps at equal distances, half of one from either end.
        for value in np.unique(s[side]) if not np.array_equal(spread, s) else ():
            places = np.sort(spread[side & (s == value)] % 1.0)
            assert places == pytest.approx((np.arange(places.size) + 0.5) / places.size)


def test_scores_without_ties_of_both_classes_are_left_alone():
    s = np.array([0.3, 0.3, 0.1, 0.2])
    assert spread_ties(np.array([True, True, False, True]), s) is s


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.5])
def test_the_band_of_spread_ties_holds_the_straight_lines_of_the_population(rate):
    """In 300 samples of four scores the line between two of them is held about as often as the band says."""
    shares = np.array([[0.1, 0.2, 0.3, 0.4], [0.6, 0.25, 0.1, 0.05]])  # of each score, among positives and negatives
    tpr, fpr = (np.append(0.0, np.cumsum(side[::-1])) for side in shares)
    rng = np.random.default_rng(0)
    y = np.arange(800) < 200
    held = 0
    for _ in range(300):
        score = np.append(rng.choice(4, 200, p=shares[0]), rng.choice(4, 600, p=shares[1])).astype(np.float64)
        band = roc_band(y, spread_ties(y, score), fpr=[rate])
        held += band.low[0] <= np.interp(rate, fpr, tpr) <= band.high[0]
    assert held >= 276  # 92 %; four standard deviations below 95 % would be 270


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 10), st.integers(1, 10))
def test_area_inside_the_region_is_the_metric(seed, tenths_alpha, tenths_beta):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(70) < 20)  # whole numbers of hard examples, and no ties: metric and area coincide
    s = rng.permutation(70) + 0.0
    region = Region(tenths_alpha / 10, tenths_beta / 10)
    x, height = within_region(*roc_vertices(y, s), region)
    area = trapezoid(height, x) if x.size else 0.0
    # Only the clipping rounds: 1 - alpha, and a division by alpha or beta.
    assert area == pytest.approx(tpauc_score(y, s, alpha=region.alpha, beta=region.beta), abs=1e-12)


def test_a_curve_that_misses_the_region_is_empty():
    x, y = within_region(np.array([0.0, 1.0]), np.array([0.0, 1.0]), Region(0.3, 0.3))
    assert x.size == y.size == 0


def test_a_line_through_two_borders_of_the_region_is_cut_at_both():
    x, y = within_region(np.array([0.0, 1.0]), np.array([0.0, 1.0]), Region(0.8, 0.6))
    np.testing.assert_allclose(x, [0.2 / 0.6, 1.0])
    np.testing.assert_allclose(y, [0.0, 0.5])


@pytest.mark.parametrize("window", [None, Region(0.3, 0.3), Region(0.05, 0.8)])
def test_thinning_is_bounded_exact_at_its_points_and_invisible(window):
    rng = np.random.default_rng(0)
    y = rng.random(200_000) < 0.3
    curve = roc_vertices(y, rng.normal(size=y.size) + 1.5 * y)
    x, height = curve if window is None else within_region(*curve, window)
    few_x, few_height = thinned(x, height)
    assert x.size > 2 * MAX_POINTS or window is not None
    assert few_x.size <= MAX_POINTS
    assert set(zip(few_x, few_height, strict=True)) <= set(zip(x, height, strict=True))
    assert (few_x[0], few_height[0]) == (x[0], height[0])
    assert (few_x[-1], few_height[-1]) == (x[-1], height[-1])
    sampled = rng.choice(x.size, size=min(500, x.size), replace=False)
    # The bound that the module derives: pieces of half-perimeter 2/1000 are passed within 2/1000 / sqrt(8).
    assert distance_to_line(np.stack([x, height], 1)[sampled], few_x, few_height) <= 0.002 / np.sqrt(8) + 1e-12


def test_the_distance_check_can_fail():
    assert distance_to_line(np.array([[0.5, 0.9]]), np.array([0.0, 1.0]), np.array([0.0, 1.0])) > 0.28


def test_a_short_curve_is_not_thinned():
    x = np.linspace(0, 1, MAX_POINTS)
    assert thinned(x, x)[0] is x


# --------------------------------------------------------------------------------------------------------- scores


def test_thresholds_delimit_the_hard_examples():
    y, scores = two_models()
    s = scores["plain"]
    density = score_density(y, s, Region(0.2, 0.1))
    positives, negatives = sorted(s[y]), sorted(s[~y], reverse=True)
    assert density.hard_positive == positives[int(0.2 * len(positives)) - 1]
    assert density.hard_negative == negatives[int(0.1 * len(negatives)) - 1]


def test_density_finds_the_modes_of_both_classes():
    rng = np.random.default_rng(0)
    y = np.arange(20_000) < 8_000
    s = rng.normal(size=y.size) + np.where(y, 10.0, 4.0)
    density = score_density(y, s, Region(0.3, 0.3))
    for heights, mode in ((density.positives, 10.0), (density.negatives, 4.0)):
        assert heights.max() == 1.0
        peak = density.low + density.position[heights.argmax()] * (density.high - density.low)
        # The mode of a smoothed sample of 8,000 strays by about n^(-1/5)/2 standard deviations.
        assert peak == pytest.approx(mode, abs=0.3)
    # A normal density falls to exp(-1/2) of its peak one standard deviation away.
    one_deviation = np.interp(density.share(11.0), density.position, density.positives)
    assert one_deviation == pytest.approx(np.exp(-0.5), abs=0.06)


@pytest.mark.parametrize(
    ("scores", "nearest"),
    [
        ([0.1, 0.9, 0.4], 1e-3),
        ([0.0, 0.0005, 1.0], 2.5e-4),
        ([0.0, 2e-12, 0.5], 1e-12),
        ([0.0, 1e-30, 0.5], 1e-15),
        ([0.0, 1.0, 1.0], None),
        ([-0.1, 0.5, 0.5], None),
        ([0.5, 1.5, 0.5], None),
    ],
)
def test_scores_in_the_unit_interval_get_a_logit_axis(scores, nearest):
    assert ScoreScale.fitting(np.array(scores)).nearest == nearest


def test_logits_of_0_and_1_are_drawn_at_the_ends():
    scale = ScoreScale(nearest=0.01)
    assert scale.drawn(0.0) == scale.drawn(0.01) == pytest.approx(np.log(0.01 / 0.99))
    assert scale.drawn(1.0) == pytest.approx(-scale.drawn(0.0))
    assert scale.drawn(0.5) == 0.0


@pytest.mark.parametrize("shift", [-18.0, 18.0])
def test_probabilities_near_an_end_are_told_apart(shift):
    """The densities are those of the logits, wherever these lie; near 1 a float holds 8 digits of the distance."""
    y, scores = two_models(4000)
    logits = scores["plain"]
    found, expected = (score_density(y, 1 / (1 + np.exp(-z)), Region(0.3, 0.3)) for z in (logits + shift, logits))
    assert found.low - shift == pytest.approx(expected.low, abs=1e-3)
    np.testing.assert_allclose(found.negatives, expected.negatives, atol=0.02)
    assert len(Axis("", found.low, found.high, logit=True).ticks()) > 2


def test_an_outlier_does_not_squeeze_the_axis():
    y, scores = two_models(4000)
    s = scores["plain"]
    s[0] = 1e9
    assert score_density(y, s, Region(0.3, 0.3)).high < 10


@pytest.mark.parametrize(
    "change",
    [
        lambda s: np.full_like(s, 0.5),
        lambda s: np.full_like(s, 1e200),
        lambda s: s * 1e299 / np.abs(s).max(),
        lambda s: -np.abs(s) * 1e-310,
        lambda s: np.round(s),
        lambda s: s.astype(np.float32),
        lambda s: (s > 0).astype(float),
    ],
)
def test_odd_scores_are_drawn(change):
    y, scores = two_models()
    s = change(scores["plain"])
    point = operating_point(y, s, **REGION)
    panel = score_panel("odd", y, s, point, Region(**REGION))
    assert len(panel.rules) == 2 + np.isfinite(point.threshold)
    for line in panel.lines:
        assert np.isfinite(line.y).all()
        assert (line.y >= 0).all()
        assert (line.y <= 1).all()
    assert all(-1e-9 <= place <= 1 + 1e-9 and text for place, text in panel.x_axis.ticks())
