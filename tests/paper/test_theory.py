"""Propositions 1 to 3 and Theorem 1 of the paper against code that was written from their statements."""

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
from tpauc.losses.minimax import FORMS, players
from tpauc.losses.weighting import Weighting
from tpauc.paper.theory.bounds import BoundCheck, check_bound, gaussian_trial
from tpauc.paper.theory.duality_checks import duality_errors, penalty_by_quadrature, weight_by_search
from tpauc.paper.theory.saddle import (
    SCALE_A,
    SCALE_B,
    Means,
    algorithm_1,
    boxes,
    class_means,
    saddle_function,
    saddle_point,
    zeta_1,
    zeta_2,
)
from tpauc.paper.theory.selection import (
    penalty_strength,
    selected_by_linear_programme,
    selected_by_penalty,
    top_k,
)

# ------------------------------------------------------------------------------------------------------ Proposition 1


@st.composite
def hardness_and_count(draw):
    # Whole numbers apart by at least 1/1000, so that no solver's tolerance can make two of them tie.
    values = draw(st.lists(st.integers(0, 1000), min_size=2, max_size=30, unique=True))
    return np.array(values) / 1000, draw(st.integers(1, len(values) - 1))


@settings(deadline=None, max_examples=60)
@given(hardness_and_count())
def test_linear_programme_and_penalty_select_the_top(case):
    hardness, k = case
    expected = np.zeros(hardness.size)
    expected[np.argsort(hardness)[::-1][:k]] = 1.0
    np.testing.assert_array_equal(top_k(hardness, k), expected)
    # 1e-6 is the feasibility tolerance of the solver.
    np.testing.assert_allclose(selected_by_linear_programme(hardness, k), expected, atol=1e-6)
    np.testing.assert_array_equal(selected_by_penalty(hardness, penalty_strength(hardness, k)), expected)


@settings(deadline=None, max_examples=60)
@given(hardness_and_count(), st.floats(0.01, 0.99))
def test_every_strength_between_the_two_border_values_selects_the_same(case, share):
    hardness, k = case
    below, kth = np.sort(hardness)[hardness.size - k - 1 : hardness.size - k + 1]
    strength = below + share * (kth - below)
    np.testing.assert_array_equal(selected_by_penalty(hardness, strength), top_k(hardness, k))
    for outside in (np.nextafter(below, -1.0), kth):
        assert selected_by_penalty(hardness, outside).sum() != k


def test_neighbouring_floats_are_separated():
    hardness = np.array([0.5, np.nextafter(0.5, 1.0), 0.1])
    np.testing.assert_array_equal(selected_by_penalty(hardness, penalty_strength(hardness, 1)), [0.0, 1.0, 0.0])


def test_the_selected_pairs_give_the_truncated_risk():
    rng = np.random.default_rng(0)
    positive, negative = rng.random(20), rng.random(30)
    v_positive = selected_by_linear_programme(1.0 - positive, 6)
    v_negative = selected_by_linear_programme(negative, 9)
    pair_loss = (1.0 - np.subtract.outer(positive, negative)) ** 2
    expected = float(v_positive @ pair_loss @ v_negative) / 600
    logits = torch.logit(torch.from_numpy(np.concatenate((positive, negative))))
    risks = empirical_risks(logits, torch.arange(50) < 20, Uniform(), alpha=0.3, beta=0.3)
    assert risks.truncated == pytest.approx(expected, rel=1e-10)


def test_no_strength_separates_ties_at_the_border():
    with pytest.raises(ValueError, match=r"^hardness must not be tied .* values 1 and 2 from the top are both 0.5"):
        penalty_strength([0.5, 0.5, 0.1], 1)
    assert penalty_strength([0.5, 0.5, 0.1], 2) == pytest.approx(0.3)


@pytest.mark.parametrize("k", [3, 4])
@pytest.mark.parametrize("select", [top_k, selected_by_linear_programme, penalty_strength])
def test_a_selection_of_everybody_is_refused(select, k):
    with pytest.raises(ValueError, match=rf"^k must be below the number of examples, 3, got {k}$"):
        select([0.1, 0.2, 0.3], k)


def test_wrong_selection_arguments():
    with pytest.raises(ValueError, match=r"^k must be at least 1, got 0$"):
        top_k([0.1, 0.2], 0)
    with pytest.raises(ValueError, match=r"^hardness must be finite"):
        selected_by_penalty([0.1, np.nan], 0.5)


# ------------------------------------------------------------------------------------------------------ Proposition 2


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


# ------------------------------------------------------------------------------------------------------ Proposition 3


@pytest.mark.parametrize(
    "weighting",
    [
        Polynomial(3.0),
        Polynomial(2.2),
        Polynomial(11.0),
        Polynomial(1.5),
        Exponential(1.0),
        Exponential(5.0),
        Weighting.from_function(lambda t: torch.sin(t * torch.pi / 2)),
        Weighting.from_penalty(lambda v: v**3 / 3),
    ],
    ids=["poly 3", "poly 2.2", "poly 11", "convex", "exp 1", "exp 5", "sine", "from a penalty"],
)
def test_weighting_and_penalty_determine_each_other(weighting):
    errors = duality_errors(weighting, points=11)
    # The search sees values of phi with an error of 1e-16, so the top of its parabola to 1e-8 over the curvature's
    # root.
    assert errors.weighting < 1e-5
    assert errors.penalty < 1e-9


def test_the_check_of_duality_can_fail():
    class Wrong(Polynomial):
        def penalty(self, weight):
            return weight.pow(self.gamma)

    errors = duality_errors(Wrong(3.0))
    assert errors.weighting > 0.1
    assert errors.penalty > 0.1


def test_a_steep_penalty_has_no_weighting_though_it_meets_all_conditions():
    steep = Weighting.from_penalty(lambda v: v + v**2 + v**3)
    assert steep.calibration().calibrated
    hardness = np.linspace(0.0, 1.0, 5)
    assert steep(torch.from_numpy(hardness)).abs().max() == 0.0
    # At t = 1 the derivative at 0 is 0 and the second is -2: known to 1e-8.
    np.testing.assert_allclose(weight_by_search(steep, hardness), 0.0, atol=1e-7)


def test_the_integral_of_the_inverse_at_the_ends():
    assert penalty_by_quadrature(Exponential(5.0), [0.0]) == 0.0
    assert penalty_by_quadrature(Polynomial(3.0), [1.0]) == pytest.approx(1 / 3, rel=1e-10)


def test_wrong_duality_arguments():
    with pytest.raises(ValueError, match=r"^points must be at least 2, got 1$"):
        duality_errors(Polynomial(3.0), points=1)


# ---------------------------------------------------------------------------------------------------------- Theorem 1


def sample(seed, n_positive=9, n_negative=14):
    rng = np.random.default_rng(seed)
    return rng.random(n_positive), rng.random(n_negative)


def pairwise_risk(positive, negative, psi):
    weights = [psi(torch.from_numpy(h)).numpy() for h in (1.0 - positive, negative)]
    total = 0.0
    for weight, score in zip(weights[0], positive, strict=True):
        total += float(np.sum(weight * weights[1] * (1.0 - (score - negative)) ** 2))
    return total / (positive.size * negative.size)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), psi=WEIGHTINGS)
def test_the_saddle_value_is_the_pairwise_risk(seed, psi):
    positive, negative = sample(seed)
    means = class_means(positive, negative, psi)
    a, b = saddle_point(means)
    value = saddle_function(a, b, means)
    # The 18 terms are of size 1 and partly cancel.
    assert value == pytest.approx(pairwise_risk(positive, negative, psi), rel=1e-10, abs=1e-13)
    upper_a, upper_b = boxes(psi.supremum())
    assert ((a >= 0) & (a <= upper_a)).all()
    assert ((b >= 0) & (b <= upper_b)).all()
    # A saddle: no a in the box is better for the one, no b for the other.
    rng = np.random.default_rng(seed)
    for _ in range(5):
        other_a, other_b = rng.random(10) * upper_a, rng.random(8) * upper_b
        assert saddle_function(a, other_b, means) <= value + 1e-12
        assert saddle_function(other_a, b, means) >= value - 1e-12


def test_the_printed_theorem_is_what_the_loss_derives():
    means = Means(*np.random.default_rng(0).random(6))
    moments = torch.tensor(means, dtype=torch.float64)[[0, 2, 4, 1, 3, 5]]  # the loss has the positives first
    psi_sup = 0.7
    descent, ascent = players(FORMS["paper"], torch.tensor([psi_sup, 1.0, 1.0] * 2, dtype=torch.float64))
    for player, zeta, scale, upper, sign in (
        (descent, zeta_1(means), SCALE_A, boxes(psi_sup)[0], 1.0),
        (ascent, zeta_2(means), SCALE_B, boxes(psi_sup)[1], -1.0),
    ):
        np.testing.assert_allclose(player.linear(moments).numpy(), zeta, rtol=1e-12)
        np.testing.assert_allclose(player.quadratic.numpy(), sign * scale**2, rtol=1e-12)
        np.testing.assert_allclose(player.upper.numpy(), upper, rtol=1e-12)


@pytest.mark.parametrize("psi", [Polynomial(3.0), Exponential(5.0)])
def test_algorithm_1_reaches_the_risk_and_starts_at_zero(psi):
    positive, negative = sample(0)
    values = algorithm_1(class_means(positive, negative, psi), step=0.2, steps=120, v_infinity=psi.supremum())
    assert values.shape == (121,)
    assert values[0] == 0.0
    # The slowest variables lose 0.8 of their distance a step, and the value is quadratic in it: 0.8^240.
    assert values[-1] == pytest.approx(pairwise_risk(positive, negative, psi), abs=1e-12)


def test_without_projection_a_step_leaves_the_boxes():
    means = class_means(*sample(0), Polynomial(3.0))
    unprojected = -1.9 * zeta_1(means)
    assert (unprojected > boxes(1.0)[0]).any()
    values = algorithm_1(means, step=1.9, steps=1, v_infinity=1.0)
    assert values[1] == pytest.approx(
        saddle_function(np.minimum(unprojected, boxes(1.0)[0]), np.minimum(1.9 * zeta_2(means), boxes(1.0)[1]), means)
    )


@pytest.mark.parametrize(
    ("positive", "negative", "name"),
    [([2.0], [0.5], "positive_scores"), ([0.5], [-3.0], "negative_scores"), ([], [0.5], "positive_scores")],
)
def test_means_of_what_is_no_score_are_refused(positive, negative, name):
    with pytest.raises(ValueError, match=rf"^{name} must hold numbers in \[0, 1\]"):
        class_means(positive, negative, Polynomial(3.0))
    assert class_means([1.0], [0.0], Uniform()).f_positive == 1.0  # the ends are scores


def test_wrong_saddle_arguments():
    means = Means(1.0, 1.0, 0.75, 0.25, 0.5, 0.125)
    with pytest.raises(ValueError, match=r"^step must be above 0, got 0$"):
        algorithm_1(means, step=0, steps=1, v_infinity=1.0)
    with pytest.raises(ValueError, match=r"^steps must be at least 1, got 0$"):
        algorithm_1(means, step=0.1, steps=0, v_infinity=1.0)
    with pytest.raises(ValueError, match=r"^v_infinity must be above 0, got -1.0$"):
        algorithm_1(means, step=0.1, steps=1, v_infinity=-1.0)
