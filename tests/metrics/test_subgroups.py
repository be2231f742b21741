"""Figures per subgroup are those of its rows alone; the largest gap keeps its level."""

import math

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution
from scipy.stats import norm

from scored_samples import binormal, shift_for
from tpauc.metrics.intervals import tpauc_interval
from tpauc.metrics.operating_points import operating_point
from tpauc.metrics.subgroups import evaluate_by

CORNER = {"alpha": 0.3, "beta": 0.3}
FAST = {**CORNER, "method": "delong"}


def rows(seed=0, sizes=((200, 40), (600, 90)), shifts=(1.0, 3.0)):
    generator = np.random.default_rng(seed)
    parts = [binormal(generator, n, total - n, shift) for (total, n), shift in zip(sizes, shifts, strict=True)]
    by = np.repeat(np.arange(len(sizes)), [total for total, _ in sizes])
    order = generator.permutation(by.size)
    return tuple(
        values[order] for values in (np.concatenate([y for y, _ in parts]), np.concatenate([s for _, s in parts]), by)
    )


@pytest.mark.parametrize("method", ["bootstrap", "delong"])
def test_figures_are_those_of_the_rows_of_a_subgroup(method):
    y, s, by = rows()
    options = {"method": method, "n_resamples": 99, "random_state": 3}
    found = evaluate_by(y, s, by, **CORNER, **options)
    threshold = operating_point(y, s, **CORNER).threshold
    assert found.threshold == threshold
    assert [(part.name, part.n_rows, part.n_positive) for part in found.subgroups] == [(0, 200, 40), (1, 600, 90)]
    for part in found.subgroups:
        own = by == part.name
        for area, region in ((part.tpauc, (0.3, 0.3)), (part.opauc, (1.0, 0.3)), (part.auc, (1.0, 1.0))):
            assert area == tpauc_interval(y[own], s[own], alpha=region[0], beta=region[1], **options)
        for rate, side in ((part.tpr, y[own]), (part.fpr, ~y[own])):
            alarms, n = int((s[own][side] >= threshold).sum()), int(side.sum())
            assert rate.estimate == alarms / n
            assert rate.low == pytest.approx(beta_distribution.ppf(0.025, alarms, n - alarms + 1))
            assert rate.high == pytest.approx(beta_distribution.ppf(0.975, alarms + 1, n - alarms))
        assert part.reason == ""


def test_the_gap_is_tested_by_the_limits_of_both():
    y, s, by = rows(sizes=((200, 40), (600, 90), (300, 50)), shifts=(1.6, 2.0, 1.8))
    found = evaluate_by(y, s, by, **FAST)
    areas = {part.name: part.tpauc for part in found.subgroups}
    worse, better = min(areas, key=lambda n: areas[n].estimate), max(areas, key=lambda n: areas[n].estimate)
    gap = found.largest_gap
    assert (gap.worse, gap.better) == (worse, better)
    assert gap.difference == areas[better].estimate - areas[worse].estimate
    reach = math.hypot(areas[better].estimate - areas[better].low, areas[worse].high - areas[worse].estimate)
    expected = 3 * 2 * norm.sf(gap.difference / reach * norm.ppf(0.975))
    assert gap.p_value == pytest.approx(min(1.0, expected), rel=1e-9)


def test_a_gap_is_found_and_equal_subgroups_are_seldom_told_apart():
    assert evaluate_by(*rows(), **FAST).largest_gap.p_value < 0.01
    shift = shift_for(0.6)
    told_apart = sum(
        evaluate_by(*rows(seed, ((400, 80),) * 4, (shift,) * 4), **FAST).largest_gap.p_value <= 0.05
        for seed in range(60)
    )
    assert told_apart <= 8  # more has a probability below 0.01 at a level of 5 %


def test_subgroups_without_an_answer_are_listed_with_a_reason():
    y, s, by = rows()
    names = np.where(by == 0, "north", "south").astype(object)
    names[np.flatnonzero(y)[:2]] = "two positives"
    names[np.flatnonzero(~y)[:3]] = "three negatives"
    found = evaluate_by(y, s, names, **FAST)
    assert [part.name for part in found.subgroups] == ["two positives", "three negatives", "north", "south"]
    first, second, *others = found.subgroups
    assert (first.tpauc, first.auc, first.fpr) == (None, None, None)
    assert first.tpr is not None
    assert first.reason.startswith("alpha=0.3 selects none of the 2 positive examples; at least 4 are needed")
    assert second.reason.startswith("alpha=0.3 selects none of the 0 positive examples")
    assert all(part.reason == "" for part in others)
    assert evaluate_by(y, s, np.zeros(y.size), **FAST).largest_gap is None


def test_groups_threshold_and_labels():
    y, s, by = rows()
    groups = np.arange(y.size) // 4
    found = evaluate_by(np.where(y, "ill", "well"), s, by, **FAST, groups=groups, pos_label="ill", threshold=1.5)
    own = by == 0
    assert found.subgroups[0].tpauc == tpauc_interval(y[own], s[own], **FAST, groups=groups[own])
    assert found.threshold == 1.5
    assert found.subgroups[0].tpr.estimate == np.mean(s[own & y] >= 1.5)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"by": [0, 1]}, ValueError, r"by must hold one subgroup per row, shape \(800,\), got shape \(2,\)"),
        ({"by": [None] + [1] * 799}, ValueError, "by must name the subgroup of every row, found None at position 0"),
        ({"by": [math.nan] + [1] * 799}, ValueError, "by must name the subgroup of every row, found nan at position 0"),
        ({"threshold": "high"}, TypeError, "threshold must be a number, got 'high'"),
        ({"alpha": 0}, ValueError, r"alpha must be a share in \(0, 1\], got 0"),
        ({"confidence": 95}, ValueError, r"confidence must be in \(0, 1\), got 95"),
    ],
)
def test_mistakes_are_named(options, error, message):
    y, s, by = rows()
    with pytest.raises(error, match=rf"^{message}"):
        evaluate_by(y, s, **{"by": by, **FAST, **options})
