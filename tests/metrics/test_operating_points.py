"""The operating point is the best of all thresholds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import reference
from scored_samples import SHARE, binormal, samples
from tpauc.metrics.operating_points import operating_point

CORNER = {"alpha": 0.3, "beta": 0.3}


def plain_operating_point(y, s, alpha, beta):
    """Try every threshold; the shares are counted in exact decimals."""
    n_positive, n_negative = sum(y), len(y) - sum(y)
    best = None
    for threshold in [*sorted(set(s)), math.inf]:
        caught = sum(v >= threshold for v, label in zip(s, y, strict=True) if label)
        alarms = sum(v >= threshold for v, label in zip(s, y, strict=True) if not label)
        # Of equally good thresholds the highest one: it is the score of a positive, or none is caught.
        if alarms <= reference.hard_count(n_negative, beta) and (best is None or (caught, -alarms) >= best[:2]):
            best = caught, -alarms, threshold
    caught, alarms, threshold = best
    if caught == 0:
        threshold, alarms = math.inf, 0
    feasible = n_positive - caught <= reference.hard_count(n_positive, alpha)
    return threshold, caught / n_positive, -alarms / n_negative, feasible


@given(sample=samples(), alpha=SHARE, beta=SHARE)
@settings(deadline=None, max_examples=150)
def test_operating_point_is_the_best_threshold(sample, alpha, beta):
    y, s = sample
    point = operating_point(y, s, alpha=alpha, beta=beta)
    assert (point.threshold, point.tpr, point.fpr, point.feasible) == plain_operating_point(y, s, alpha, beta)
    assert [type(value) for value in vars(point).values()] == [float, float, float, bool]
    assert ((s >= point.threshold)[y].mean(), (s >= point.threshold)[~y].mean()) == pytest.approx(
        (point.tpr, point.fpr)
    )


def test_operating_point_is_not_lost_to_rounding():
    # 100 * 0.29 is 28.999999999999996, and 1 - 0.29 is 0.71 a little above 71 / 100.
    y = np.repeat([1, 0], 100)
    s = np.concatenate((np.repeat([3.0, 0.0], [71, 29]), np.repeat([4.0, 2.0], [29, 71])))
    point = operating_point(y, s, alpha=0.29, beta=0.29)
    assert (point.threshold, point.tpr, point.fpr, point.feasible) == (3.0, 0.71, 0.29, True)
    one_more_missed = operating_point(y, np.where(np.arange(200) == 0, 0.0, s), alpha=0.29, beta=0.29)
    assert not one_more_missed.feasible
    one_more_alarm = operating_point(y, np.where(np.arange(200) == 199, 4.0, s), alpha=0.29, beta=0.29)
    assert one_more_alarm.threshold == math.inf


def test_operating_point_where_nothing_can_be_caught():
    for s in ([0.5] * 8, [0.1] * 4 + [0.9] * 4):
        point = operating_point([1] * 4 + [0] * 4, s, alpha=0.5, beta=0.5)
        assert (point.threshold, point.tpr, point.fpr, point.feasible) == (math.inf, 0.0, 0.0, False)
    # Whoever may miss all positives is content even then.
    assert operating_point([1] * 4 + [0] * 4, [0.5] * 8, alpha=1.0, beta=0.5).feasible


def test_operating_point_needs_no_row_in_the_region():
    y, s = [1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1]
    strict = operating_point(y, s, alpha=0.1, beta=0.1)
    assert (strict.threshold, strict.tpr, strict.fpr, strict.feasible) == (0.9, 0.5, 0.0, False)
    lenient = operating_point(y, s, alpha=0.1, beta=1)
    assert (lenient.threshold, lenient.tpr, lenient.fpr, lenient.feasible) == (0.4, 1.0, 0.5, True)


def test_threshold_of_single_precision_scores_selects_the_same_rows():
    y, s = binormal(np.random.default_rng(0), 30, 300, 2.0)
    s = s.astype(np.float32)
    point = operating_point(y, s, **CORNER)
    assert (s >= point.threshold)[y].mean() == point.tpr
