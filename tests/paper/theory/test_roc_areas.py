"""Areas under curves that are given by their vertices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc import auc_score, opauc_score, tpauc_score
from tpauc.metrics.area import tpr_dependent_opauc
from tpauc.paper.theory.inconsistency import (
    REGION,
    curve_opauc,
    curve_tpauc,
    curve_tpr_dependent_opauc,
    entry_rate,
    printed_tpauc,
)
from tpauc.region import Region
from tpauc.reporting.curves import roc_vertices

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
