"""Areas under curves given by their vertices, and crossing curves that OPAUC and TPAUC order differently."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc import auc_score, opauc_score, tpauc_score
from tpauc.metrics.area import tpr_dependent_opauc
from tpauc.paper.theory.inconsistency import (
    CROSSING_CURVES,
    REGION,
    Curve,
    both_below,
    compare,
    curve_opauc,
    curve_tpauc,
    curve_tpr_dependent_opauc,
    entry_rate,
    order_by_opauc,
    pair_against,
    pieces,
    printed_tpauc,
)
from tpauc.region import Region
from tpauc.reporting.curves import roc_vertices

# ---------------------------------------------------------------------------------------------------------------- areas


ROUNDING = 1e-12  # of sums of at most a few thousand shares
shares = st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.7, 1.0])


@given(seed=st.integers(0, 10**6), alpha=shares, beta=shares)
@settings(deadline=None, max_examples=40)
def test_areas_under_a_curve_equal_the_metrics_of_its_scores(seed, alpha, beta):
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [20, 30])  # all shares select whole numbers of both classes
    scores = rng.permutation(50) + 10.5 * y
    curve, region = roc_vertices(y == 1, scores), Region(alpha, beta)
    # The curve of distinct scores is made of steps, where mean over pairs and area agree.
    assert curve_tpauc(*curve, region) == pytest.approx(
        tpauc_score(y, scores, alpha=alpha, beta=beta, normalize=False), abs=ROUNDING
    )
    assert curve_opauc(*curve, lower=0.0, upper=beta) == pytest.approx(
        opauc_score(y, scores, beta=beta, normalize=False), abs=ROUNDING
    )
    assert curve_opauc(*curve, lower=0.0, upper=1.0) == pytest.approx(auc_score(y, scores), abs=ROUNDING)
    assert curve_tpr_dependent_opauc(*curve, region) == pytest.approx(
        tpr_dependent_opauc(y, scores, alpha=alpha, beta=beta, normalize=False), abs=ROUNDING
    )


@given(height=st.floats(0.05, 0.95), alpha=shares, beta=st.sampled_from([0.2, 0.5, 0.9]))
@settings(deadline=None, max_examples=40)
def test_the_printed_formula_is_right_only_for_curves_that_reach_the_region(height, alpha, beta):
    curve, region = ([0.0, 0.5, 1.0], [0.0, height, 1.0]), Region(alpha, beta)
    printed, area = printed_tpauc(*curve, region), curve_tpauc(*curve, region)
    if entry_rate(*curve, region) <= beta:
        assert printed == pytest.approx(area, abs=ROUNDING)
    else:
        assert area == 0.0
        assert printed > 0.0


def test_by_the_printed_formula_chance_is_nearly_perfect():
    region = Region(0.3, 0.3)
    assert printed_tpauc([0, 1], [0, 1], region) / region.area == pytest.approx(8 / 9)
    # ... and a worse curve better than it
    worse = [0.0, 0.6, 1.0], [0.0, 0.1, 1.0]
    assert printed_tpauc(*worse, region) > region.area


@pytest.mark.parametrize(
    ("fpr", "tpr", "message"),
    [
        ([0.0, 0.5], [0.0, 1.0], "fpr must rise from 0 to 1"),
        ([0.0, 1.0], [0.1, 1.0], "tpr must rise from 0 to 1"),
        ([0.0, 0.6, 0.4, 1.0], [0.0, 0.1, 0.2, 1.0], "fpr must rise"),
        ([0.0, 1.0], [0.0, 0.5, 1.0], "equal length"),
        ([0.0, float("nan"), 1.0], [0.0, 0.5, 1.0], "finite"),
    ],
)
def test_what_is_no_curve_is_refused(fpr, tpr, message):
    with pytest.raises(ValueError, match=message):
        curve_tpauc(fpr, tpr, REGION)


@pytest.mark.parametrize(("lower", "upper"), [(-0.1, 0.5), (0.6, 0.5), (0.0, 1.1)])
def test_limits_outside_the_plot_are_refused(lower, upper):
    with pytest.raises(ValueError, match="0 <= lower <= upper <= 1"):
        curve_opauc([0, 1], [0, 1], lower=lower, upper=upper)


# ------------------------------------------------------------------------------------------------------ crossing curves


def test_the_two_measures_order_the_crossing_curves_differently():
    found = compare(*CROSSING_CURVES)
    assert found.tpauc[0] > found.tpauc[1]
    assert found.tpr_dependent_opauc[0] < found.tpr_dependent_opauc[1]
    assert found.inconsistent
    assert not compare(CROSSING_CURVES[0], CROSSING_CURVES[0]).inconsistent


def test_scores_drawn_from_the_curves_show_the_same():
    n = 2000
    y = np.repeat([1, 0], n)
    values = []
    for curve in CROSSING_CURVES:
        places = (np.arange(n) + 0.5) / n
        # With negatives spread evenly, a positive at quantile q of its class scores 1 - FPR where TPR = q.
        positives = 1.0 - np.interp(places, curve.tpr, curve.fpr)
        scores = np.append(positives, places)
        settings_ = {"alpha": REGION.alpha, "beta": REGION.beta, "normalize": False}
        values.append((tpauc_score(y, scores, **settings_), tpr_dependent_opauc(y, scores, **settings_)))
    found = compare(*CROSSING_CURVES)
    for (tpauc, opauc), *expected in zip(values, found.tpauc, found.tpr_dependent_opauc, strict=True):
        assert [tpauc, opauc] == pytest.approx(expected, abs=2 / n)  # a step of the sample's curve is 1/n wide


def test_the_areas_of_the_sketch_add_up():
    s5, s6, s7, s8 = pieces(*CROSSING_CURVES)
    found = compare(*CROSSING_CURVES)
    assert found.tpauc == pytest.approx((s6 + s7, s5 + s7))
    assert s5 < s6 < s5 + s8
    # S9, the rest of both rectangles, is common, so the difference is that of the paper's condition.
    assert found.tpr_dependent_opauc[1] - found.tpr_dependent_opauc[0] == pytest.approx(s5 + s8 - s6)


def areas_on_a_grid(first, second, n):
    """S5, S6 and S7 from the heights in the middles of ``n`` equal steps."""
    x = (np.arange(n) + 0.5) / n
    one, two = (np.interp(x, curve.fpr, curve.tpr) for curve in (first, second))
    both, *each = (
        np.where(x < REGION.beta, np.maximum(y - (1.0 - REGION.alpha), 0.0), 0.0).mean()
        for y in (np.minimum(one, two), two, one)
    )
    return each[0] - both, each[1] - both, both


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_the_areas_of_the_curves_of_samples(seed):
    rng, y = np.random.default_rng(seed), np.arange(60) < 30
    curves = [
        Curve(*(tuple(rates.tolist()) for rates in roc_vertices(y, rng.normal(size=60) + 1.5 * y))) for _ in range(2)
    ]
    second, first = sorted(curves, key=lambda curve: entry_rate(*curve, REGION))
    if entry_rate(*first, REGION) < REGION.beta:
        # All steps end at multiples of 1/30, beta is one of them, and so the grid is exact.
        assert pieces(first, second)[:3] == pytest.approx(areas_on_a_grid(first, second, 30), abs=ROUNDING)


def test_the_areas_of_slanted_curves_with_a_step():
    first = Curve((0.0, 0.3, 0.3, 1.0), (0.0, 0.3, 0.95, 1.0))
    second = Curve((0.0, 0.1, 0.1, 1.0), (0.0, 0.2, 0.7, 1.0))
    # A step of the grid is 1e-5 wide, and a step of a curve 0.65 high.
    assert pieces(first, second)[:3] == pytest.approx(areas_on_a_grid(first, second, 100_000), abs=1e-5)


def test_the_lower_of_two_curves_with_steps_by_hand():
    early, late = Curve((0.0, 0.0, 1.0), (0.0, 0.5, 1.0)), Curve((0.0, 0.2, 0.2, 1.0), (0.0, 0.1, 0.7, 1.0))
    assert both_below(early, late) == Curve((0.0, 0.2, 0.2, 1.0), (0.0, 0.1, 0.6, 1.0))
    # They cross where one of them is vertical: no vertex more.
    corner = Curve((0.0, 0.5, 0.5, 1.0), (0.0, 0.0, 1.0, 1.0))
    assert both_below(corner, Curve((0.0, 1.0), (0.0, 1.0))) == Curve((0.0, 0.5, 0.5, 1.0), (0.0, 0.0, 0.5, 1.0))


def test_the_sketch_needs_the_second_curve_to_enter_first():
    with pytest.raises(ValueError, match="enter the region first"):
        pieces(*reversed(CROSSING_CURVES))


@given(lower=st.floats(0.0, 0.59), alpha=st.floats(0.05, 0.95))
@settings(deadline=None, max_examples=60)
def test_no_fixed_lower_limit_agrees_with_tpauc(lower, alpha):
    region = Region(alpha, 0.6)
    first, second = pair_against(lower, region)
    assert curve_tpauc(*first, region) > curve_tpauc(*second, region)
    assert order_by_opauc(first, second, lower=lower, upper=0.6) < 0.0
    # entry_rate forgives 1e-12 of the height, on slopes of at least 0.05 / 0.6.
    entries = entry_rate(*first, region), entry_rate(*second, region)
    assert entries == pytest.approx(((lower + 0.6) / 2, lower), abs=1e-9)


def test_a_lower_limit_beyond_beta_is_refused():
    with pytest.raises(ValueError, match="lower must be in"):
        pair_against(0.6)


def test_a_curve_gives_its_heights():
    assert Curve((0.0, 1.0), (0.0, 1.0)).height(np.array([0.25])).tolist() == [0.25]
