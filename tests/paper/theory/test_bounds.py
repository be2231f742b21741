"""Proposition 2 against code that was written from its statement."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc import (
    Anchored,
    Exponential,
    Polynomial,
    TPAUCLoss,
    Uniform,
    empirical_risks,
    tpauc_score,
)
from tpauc.losses.weighting import Weighting
from tpauc.paper.theory.bounds import BoundCheck, check_bound, gaussian_trial

WEIGHTINGS = st.one_of(
    st.floats(0.02, 3.0).map(Polynomial.from_exponent),
    st.floats(0.5, 30.0).map(Exponential),
)


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    weighting=WEIGHTINGS,
    alpha=st.floats(0.15, 0.95),
    beta=st.floats(0.15, 0.95),
    surrogate=st.sampled_from(["square", "exponential"]),
)
def test_the_sufficient_condition_implies_the_bound(seed, weighting, alpha, beta, surrogate):
    rng = np.random.default_rng(seed)
    shapes = rng.uniform(0.3, 6.0, 4)
    positive, negative = (rng.beta(*shapes[k : k + 2], size).clip(1e-6, 1 - 1e-6) for k, size in ((0, 12), (2, 17)))
    check = check_bound(positive, negative, weighting, alpha=alpha, beta=beta, surrogate=surrogate)
    if check.promised:
        # Both risks are sums of 204 terms in float64.
        assert check.relaxed >= check.truncated * (1 - 1e-12)


def test_the_condition_is_neither_always_nor_never_met():
    rng = np.random.default_rng(0)
    positive, negative = gaussian_trial(rng)
    checks = [
        check_bound(positive, negative, Polynomial.from_exponent(e), alpha=0.4, beta=0.4) for e in (0.1, 0.5, 1.0, 2.0)
    ]
    assert [check.promised for check in checks] == [True, True, False, False]
    assert [check.holds for check in checks] == [True, True, False, False]


def test_both_sides_against_plain_loops():
    rng = np.random.default_rng(1)
    positive, negative = rng.random(10), rng.random(10)
    psi = Polynomial(3.0)
    check = check_bound(positive, negative, psi, alpha=0.3, beta=0.4)
    p, q = check.p, -check.p / (1 - check.p)
    hard_positive, hard_negative = np.sort(positive)[:3], np.sort(negative)[-4:]
    first, second = [], []
    for x in positive:
        for y in negative:
            pair = (np.sqrt(1 - x) * np.sqrt(y), (1 - (x - y)) ** 2)
            (first if x in hard_positive and y in hard_negative else second).append(pair)
    (v1, l1), (v2, l2) = np.array(first).T, np.array(second).T
    assert len(v1) == 12
    rho = np.mean(v2**p) ** (1 / p) / np.sqrt(np.mean((1 - v1) ** 2))
    xi = 0.12 / 0.88 * np.sqrt(np.mean(l1**2)) / np.mean(l2**q) ** (1 / q)
    assert check.margin == pytest.approx(rho - xi, rel=1e-10)
    assert check.relaxed - check.truncated == pytest.approx(0.88 * np.mean(v2 * l2) - 0.12 * np.mean((1 - v1) * l1))


def counterexample_to_the_printed_sets():
    """Three of ten examples of each class have weight 0.5, the others 0.2, under ``psi(t) = sqrt(t)``."""
    hardness = np.where(np.arange(10) < 3, 0.5**2, 0.2**2) * np.linspace(0.999, 1.001, 10)
    return 1.0 - hardness, hardness


def test_the_printed_condition_does_not_imply_the_bound():
    scores = counterexample_to_the_printed_sets()
    how = {"alpha": 0.3, "beta": 0.3, "surrogate": "exponential"}
    printed = check_bound(*scores, Polynomial(3.0), sets="stated", **how)
    corrected = check_bound(*scores, Polynomial(3.0), **how)
    assert printed.promised
    assert not printed.holds
    assert printed.truncated > 1.2 * printed.relaxed  # no rounding error
    assert not corrected.promised


def test_the_printed_sets_may_be_empty():
    with pytest.raises(ValueError, match=r"^sets='stated' needs a region .* got 1 positives and 1 negatives$"):
        check_bound([0.2, 0.6], [0.3, 0.5], Polynomial(3.0), alpha=0.5, beta=0.5, sets="stated")


def test_part_c_fails_for_exponential_and_holds_for_functions_that_end_at_one():
    positive, negative = gaussian_trial(np.random.default_rng(0))

    def check(weighting):
        return check_bound(positive, negative, weighting, alpha=0.3, beta=0.3)

    # Strictly concave, but psi(1) = 0.39: below the truncated risk, where the (weakly) convex psi(t) = t is above it.
    assert not check(Exponential(0.5)).holds
    assert check(Polynomial(2.0)).holds
    # Scaled to psi(1) = 1 the same function is above the line, as the proof needs.
    scaled = Weighting.from_function(lambda t: -torch.expm1(-0.5 * t) / -np.expm1(-0.5))
    assert check(scaled).relaxed > check(Polynomial(2.0)).relaxed


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.floats(0.02, 0.98), st.floats(1.0, 5.0))
def test_a_concave_power_has_the_larger_relaxed_risk(seed, concave, convex):
    positive, negative = gaussian_trial(np.random.default_rng(seed), n=10)
    risks = [
        check_bound(positive, negative, Polynomial.from_exponent(e), alpha=0.3, beta=0.3).relaxed
        for e in (concave, convex)
    ]
    assert risks[0] > risks[1]


def test_a_loss_of_zero_makes_no_promise_and_weights_of_one_always_do():
    positive, negative = [0.9, 0.8, 0.2], [0.1, 0.3, 0.7]
    hinge = check_bound(positive, negative, Polynomial(3.0), alpha=0.4, beta=0.4, surrogate=lambda t: (0.5 - t).relu())
    assert hinge.margin == -np.inf
    assert check_bound(positive, negative, Uniform(), alpha=0.4, beta=0.4).margin == np.inf
    both = check_bound(positive, negative, Uniform(), alpha=0.4, beta=0.4, surrogate=lambda t: (0.5 - t).relu())
    assert both.margin == np.inf
    assert both.holds


def test_weights_of_zero():
    step = Weighting.from_function(lambda t: (t - 0.5).relu())
    check = check_bound([0.9, 0.8, 0.2], [0.1, 0.3, 0.7], step, alpha=0.4, beta=0.4)
    assert np.isfinite(check.margin)
    assert not check.promised


def test_scores_of_a_trial_are_inside():
    rng = np.random.default_rng(0)
    positive, negative = gaussian_trial(rng, n=100_000)
    for values, mean in ((positive, 0.5), (negative, 0.3)):
        assert 0.0 < values.min() < values.max() < 1.0
        assert values.mean() == pytest.approx(mean, abs=0.002)  # five standard errors
        assert values.std() == pytest.approx(0.08, rel=0.02)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sets": "swapped"}, r"^sets must be one of 'corrected', 'stated', got 'swapped'$"),
        ({"alpha": 1.0}, r"^alpha must be in \(0, 1\)"),
        ({"positive_scores": [0.5, 1.0, 0.2]}, r"^positive_scores must lie in \(0, 1\), got values from 0.2 to 1.0$"),
        ({"weighting": Anchored(0.3, 0.3)}, r"^weighting must be a function of the score"),
    ],
)
def test_wrong_bound_arguments(changed, message):
    given_ = {
        "positive_scores": [0.9, 0.8, 0.2],
        "negative_scores": [0.1, 0.3, 0.7],
        "weighting": Polynomial(3.0),
        "alpha": 0.4,
        "beta": 0.4,
    } | changed
    with pytest.raises(ValueError, match=message):
        check_bound(given_.pop("positive_scores"), given_.pop("negative_scores"), given_.pop("weighting"), **given_)


def test_a_check_says_what_it_found():
    assert BoundCheck(margin=0.0, p=0.5, relaxed=0.2, truncated=0.1).promised
    assert not BoundCheck(margin=-1e-9, p=0.5, relaxed=0.2, truncated=0.1).promised
    assert not BoundCheck(margin=0.0, p=0.5, relaxed=0.1, truncated=0.2).holds


# --------------------------------------------------------------------------------------- what the paper does not say


@pytest.mark.parametrize("weighting", [Polynomial.from_exponent(0.1), Polynomial(3.0), Exponential(5.0)])
@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_the_relaxed_risk_vanishes_when_all_scores_go_to_one_side(weighting, direction):
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(60) < 20
    logits = torch.randn(60, generator=generator, dtype=torch.float64)
    region = {"alpha": 0.5, "beta": 0.5}
    start, far = (empirical_risks(logits + shift, labels, weighting, **region) for shift in (0.0, 400.0 * direction))
    assert far.relaxed < 1e-10 < start.relaxed
    assert far.zero_one == start.zero_one  # the ranking is the same
    # A selected pair costs 1 there, its score difference being 0.
    assert far.truncated == pytest.approx(0.25, abs=1e-6)


def test_anchored_weights_leave_no_such_way():
    labels = torch.arange(60) < 20
    logits = torch.linspace(-1.0, 1.0, 60, dtype=torch.float64)
    loss = TPAUCLoss(Anchored(0.5, 0.5))
    for shift in (-400.0, 400.0):
        assert loss(logits + shift, labels).item() == pytest.approx(1.0)


def test_constant_scores():
    y, constant = np.arange(40) < 10, np.full(40, 0.3)
    region = {"alpha": 0.3, "beta": 0.3}
    assert tpauc_score(y, constant, **region) == 0.5
    assert tpauc_score(y, constant, ties="optimistic", **region) == 1.0  # the paper's 0-1 loss: [x < 0]
