"""Net benefit equals its definition in counts."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from scored_samples import SEED, samples
from tpauc.metrics.decision_curve import net_benefit
from tpauc.metrics.operating_points import evaluate_threshold

GOOD = {"y_true": [1, 0] * 10, "y_score": np.arange(20) / 20}


@given(sample=samples(), seed=SEED, prevalence=st.none() | st.sampled_from([0.01, 0.5]), weighted=st.booleans())
@settings(deadline=None, max_examples=60)
def test_net_benefit_counts_what_is_caught_and_what_is_alarmed(sample, seed, prevalence, weighted):
    y, s = sample
    s = s / 2
    weight = np.random.default_rng(seed).uniform(0.0, 2.0, y.size) if weighted else np.ones(y.size)
    thresholds = [0.0, 0.05, *s[:3], 0.5, 0.99]
    thresholds = [p for p in thresholds if p < 1]
    curve = net_benefit(y, s, thresholds=thresholds, prevalence=prevalence, sample_weight=weight if weighted else None)
    n_positive, n_negative = reference.alarms_at(y, s, weight, -math.inf)
    share = n_positive / (n_positive + n_negative) if prevalence is None else prevalence
    assert curve.prevalence == pytest.approx(share)
    for p, model, treat_all in zip(thresholds, curve.model, curve.treat_all, strict=True):
        caught, alarmed = reference.alarms_at(y, s, weight, p)
        benefit = share * caught / n_positive - (1 - share) * alarmed / n_negative * p / (1 - p)
        assert model == pytest.approx(benefit, abs=1e-12)
        assert treat_all == pytest.approx(share - (1 - share) * p / (1 - p))
    assert not curve.treat_none.any()
    assert curve.model[0] == pytest.approx(curve.treat_all[0])  # every row has at least the probability 0


def test_single_precision_probabilities_and_the_default_thresholds():
    rng = np.random.default_rng(0)
    y = rng.random(500) < 0.3
    s = rng.random(500).astype(np.float32)
    curve = net_benefit(y, s)
    assert curve.thresholds.tolist() == [k / 100 for k in range(1, 100)]
    point = evaluate_threshold(y, s.astype(np.float64), 0.4)
    assert curve.model[39] == pytest.approx((point.true_positives - point.false_positives * 2 / 3) / 500)
    assert net_benefit(y, s, thresholds=0.4).model.tolist() == [curve.model[39]]


def test_labels_of_any_kind_are_named():
    curve = net_benefit(["ok", "bad"], [0.1, 0.9], thresholds=[0.5], pos_label="bad")
    assert curve.model.tolist() == [0.5]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"y_score": np.arange(20)}, ValueError, r"y_score must hold probabilities in \[0, 1\] here, found 19"),
        (
            {"y_score": -np.arange(20) / 20},
            ValueError,
            r"y_score must hold probabilities in \[0, 1\] here, found -0.95",
        ),
        ({"thresholds": [0.5, 1.0]}, ValueError, r"thresholds must be probabilities in \[0, 1\), found 1"),
        ({"thresholds": [-0.1]}, ValueError, r"thresholds must be probabilities in \[0, 1\), found -0.1"),
        ({"thresholds": []}, ValueError, "thresholds must hold at least one probability, got none"),
        ({"thresholds": ["low"]}, ValueError, "thresholds must hold real numbers"),
        ({"thresholds": [math.nan]}, ValueError, "thresholds must be finite"),
        ({"prevalence": 1}, ValueError, r"prevalence must be in \(0, 1\), got 1"),
        ({"sample_weight": [-1] * 20}, ValueError, "sample_weight must not be negative, found -1"),
        ({"y_true": [1] * 20}, ValueError, "y_true has no negative example"),
    ],
)
def test_bad_input_is_named(options, error, message):
    with pytest.raises(error, match=rf"^{message}"):
        net_benefit(**{**GOOD, **options})
