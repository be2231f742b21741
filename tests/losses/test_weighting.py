import math
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc.losses._hardness import Hardness
from tpauc.losses.duality import Calibration, derivatives
from tpauc.losses.rank_weighting import Anchored, TruncatedSide, mid_ranks
from tpauc.losses.weighting import Exponential, Polynomial, Uniform, Weighting, as_weighting

GRID = torch.linspace(0.0, 1.0, 201, dtype=torch.float64)
INSIDE = GRID[1:-1]
CLOSED_FORM = [Polynomial(1.5), Polynomial(3.0), Polynomial(11.0), Exponential(0.5), Exponential(10.0)]


def test_polynomial_is_the_power_of_the_paper():
    assert torch.equal(Polynomial(3.0)(GRID), GRID**0.5)
    assert Polynomial.from_exponent(0.1).exponent == pytest.approx(0.1, rel=1e-15)
    assert Polynomial.from_exponent(0.5) == Polynomial(3.0)


def test_exponential_does_not_reach_one():
    assert Exponential(2.0).supremum() == pytest.approx(1 - math.exp(-2.0), rel=1e-15)
    torch.testing.assert_close(Exponential(2.0)(GRID), 1 - torch.exp(-2.0 * GRID))


@pytest.mark.parametrize("weighting", [*CLOSED_FORM, Uniform(), Weighting.from_function(torch.sin)])
def test_weigh_is_psi_of_the_sigmoid_with_its_derivative(weighting):
    u = torch.linspace(-12, 12, 97, dtype=torch.float64)
    hardness = Hardness.of(u)
    weights = weighting.weigh(hardness)
    torch.testing.assert_close(weights.value, weighting(torch.sigmoid(u)), rtol=1e-12, atol=1e-15)
    (expected,) = derivatives(lambda v: weighting(torch.sigmoid(v)), u, order=1)
    slope = weights.slope()
    found = torch.zeros_like(u) if slope is None else slope * hardness.rest
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("psi", [lambda t: 1 - torch.sqrt(1 - t), lambda t: torch.sqrt(t), lambda t: t])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_infinite_slope_at_an_end_gives_no_infinite_derivative(psi, dtype):
    u = torch.tensor([-800.0, -20.0, 0.0, 20.0, 800.0], dtype=dtype)
    weights = Weighting.from_function(psi).weigh(Hardness.of(u))
    assert weights.value.isfinite().all()
    assert weights.bend.isfinite().all()
    assert weights.bend[2] > 0


def test_polynomial_weight_survives_where_the_hardness_underflows():
    u = torch.tensor([-200.0, -1e4], dtype=torch.float32)
    assert torch.equal(torch.sigmoid(u), torch.zeros(2))
    weights = Polynomial.from_exponent(0.01).weigh(Hardness.of(u))
    torch.testing.assert_close(weights.value[0].item(), math.exp(-2.0), rtol=1e-6, atol=0.0)
    assert torch.isfinite(weights.slope()).all()


@pytest.mark.parametrize("weighting", [*CLOSED_FORM, Uniform(), Weighting.from_function(torch.sin)])
def test_relative_weights_are_the_weights_up_to_a_factor(weighting):
    u = torch.linspace(-12, 9, 97, dtype=torch.float64)
    hardness = Hardness.of(u)
    weights, relative = weighting.weigh(hardness), weighting.weigh_relative(hardness, u.max().expand_as(u))
    factor = weights.value[-1] / relative.value[-1]
    torch.testing.assert_close(factor * relative.value, weights.value, rtol=1e-12, atol=0.0)
    slopes = [torch.zeros_like(u) if found.slope() is None else found.slope() for found in (weights, relative)]
    torch.testing.assert_close(factor * slopes[1], slopes[0], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("weighting", [Polynomial(2.0), Polynomial(1.5), Exponential(35.0)])
def test_relative_weights_survive_where_the_hardness_underflows(weighting):
    """There both weightings are powers of the hardness, so the logarithm of a quotient is a difference of logits."""
    u = torch.tensor([-1e4, -1e4 - 1.0], dtype=torch.float32)
    relative = weighting.weigh_relative(Hardness.of(u), u.max().expand_as(u))
    power = weighting.exponent if isinstance(weighting, Polynomial) else 1.0
    expected = torch.tensor([1.0, math.exp(-power)])
    torch.testing.assert_close(relative.value, expected)
    torch.testing.assert_close(relative.slope(), power * expected)


def test_relative_weights_of_a_function_are_never_all_0():
    u = torch.full((2,), -1e4)
    relative = Weighting.from_function(torch.sqrt).weigh_relative(Hardness.of(u), u)
    assert relative.value[0] == relative.value[1] > 0
    assert torch.isfinite(1.0 / relative.value).all()


# ---------------------------------------------------------------------------------------------------------- duality


@pytest.mark.parametrize("weighting", CLOSED_FORM)
def test_penalty_found_from_psi_is_the_closed_form_with_two_derivatives(weighting):
    numeric = Weighting.from_function(weighting.__call__)
    v = INSIDE * weighting.supremum()
    torch.testing.assert_close(numeric.penalty(v), weighting.penalty(v), rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(numeric.inverse(v), weighting.inverse(v), rtol=1e-8, atol=1e-10)
    for found, expected in zip(
        derivatives(numeric.penalty, v, order=2), derivatives(weighting.penalty, v, order=2), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("weighting", CLOSED_FORM)
def test_psi_found_from_the_penalty_is_the_closed_form_with_its_gradient(weighting):
    numeric = Weighting.from_penalty(weighting.penalty)
    torch.testing.assert_close(numeric(INSIDE), weighting(INSIDE), rtol=1e-8, atol=1e-10)
    (found,), (expected,) = derivatives(numeric, INSIDE, order=1), derivatives(weighting, INSIDE, order=1)
    torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("weighting", [Polynomial(3.0), Exponential(5.0)])
def test_round_trip_from_psi_over_phi_to_psi(weighting):
    phi = Weighting.from_function(weighting.__call__).penalty
    back = Weighting.from_penalty(phi)
    t = torch.linspace(0.05, 0.95, 7, dtype=torch.float64)
    torch.testing.assert_close(back(t), weighting(t), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("gamma", [1.5, 3.0, 11.0])
def test_round_trip_from_phi_over_psi_to_phi(gamma):
    phi = Polynomial(gamma).penalty
    psi = Weighting.from_penalty(phi)
    v = torch.linspace(0.1, 0.95, 5, dtype=torch.float64)
    back = Weighting.from_function(psi.__call__).penalty(v)
    torch.testing.assert_close(back, phi(v), rtol=1e-8, atol=1e-8)


def test_duality_in_inference_mode():
    """There nothing has a graph, and derivatives taken as they are would all be 0."""
    root, square = Weighting.from_penalty(lambda v: v**3 / 3), Weighting.from_function(torch.square)
    with torch.inference_mode():
        inside = root(GRID.clone()), square.inverse(GRID.clone()), square.penalty(GRID.clone())
        made_there, calibration = GRID.clone(), root.calibration()
    assert calibration.calibrated
    expected = root(GRID), square.inverse(GRID), square.penalty(GRID)
    torch.testing.assert_close(expected[0], GRID.sqrt(), rtol=1e-10, atol=1e-10)
    for found, outside in zip(inside, expected, strict=True):
        assert torch.equal(found, outside)
    assert torch.equal(root(made_there), expected[0])  # an inference tensor in ordinary mode


@settings(deadline=None, max_examples=40)
@given(gamma=st.floats(1.2, 20.0), t=st.floats(0.0, 1.0), v=st.floats(0.0, 1.0))
def test_psi_attains_the_maximum_that_defines_it(gamma, t, v):
    weighting = Polynomial(gamma)
    t, v = torch.tensor(t, dtype=torch.float64), torch.tensor(v, dtype=torch.float64)
    best = weighting(t)
    assert best * t - weighting.penalty(best) >= v * t - weighting.penalty(v) - 1e-14


def test_a_penalty_without_curvature_selects_by_threshold():
    step = Weighting.from_penalty(lambda v: 0.4 * v)
    t = torch.tensor([0.1, 0.39, 0.41, 0.9], dtype=torch.float64, requires_grad=True)
    weight = step(t)
    assert torch.equal(weight.detach(), torch.tensor([0.0, 0.0, 1.0, 1.0], dtype=torch.float64))
    weight.sum().backward()
    assert torch.equal(t.grad, torch.zeros(4, dtype=torch.float64))


def test_weights_outside_the_range_go_to_the_nearer_end():
    weighting = Weighting.from_function(lambda t: 0.2 + 0.5 * t)
    weight = torch.tensor([0.0, 0.2, 0.45, 0.7, 1.0], dtype=torch.float64)
    torch.testing.assert_close(weighting.inverse(weight), torch.tensor([0, 0, 0.5, 1, 1], dtype=torch.float64))


# ------------------------------------------------------------------------------------------------------ calibration


def test_calibration_says_which_condition_fails():
    assert Polynomial(2.5).calibration().calibrated
    assert Exponential(1000.0).calibration().calibrated
    convex = Polynomial(1.5).calibration()
    assert not convex.concave
    assert "(C)" in str(convex)
    assert not Polynomial(2.0).calibration().concave  # linear is not strictly concave


@pytest.mark.parametrize(
    ("psi", "expected"),
    [
        (lambda t: torch.sqrt(t), Calibration(True, True, True)),
        (lambda t: t**2, Calibration(True, True, False)),
        (lambda t: 1 - t**2, Calibration(True, False, True)),
        (lambda t: torch.where(t < 0.5, torch.sqrt(t), 2 * torch.sqrt(t)), Calibration(False, True, True)),
        (
            lambda t: torch.where(t < 0.5, 1.5 * t - 0.5 * t * t, -0.0625 + 1.75 * t - 0.75 * t * t),
            Calibration(False, True, True),
        ),
        (lambda t: torch.full_like(t, 0.5), Calibration(True, False, False)),
    ],
)
def test_calibration_of_a_users_function(psi, expected):
    assert Weighting.from_function(psi).calibration() == expected


def test_calibration_of_a_users_penalty_agrees_with_its_weighting():
    assert Weighting.from_penalty(Polynomial(3.0).penalty).calibration().calibrated
    assert Weighting.from_penalty(Polynomial(1.5).penalty).calibration() == Calibration(True, True, False)


# ------------------------------------------------------------------------------------------------------------ ranks


@settings(deadline=None, max_examples=60)
@given(values=st.lists(st.integers(0, 6), min_size=1, max_size=30))
def test_mid_ranks_average_over_ties(values):
    hardness = torch.tensor(values, dtype=torch.float64)
    expected = [
        (sum(v < value for v in values) + (1 + sum(v == value for v in values) - 1) / 2) / len(values)
        for value in values
    ]
    torch.testing.assert_close(mid_ranks(hardness), torch.tensor(expected, dtype=torch.float64))


def test_anchored_weights_follow_the_region_of_each_class():
    u = torch.randn(200, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weighting = Anchored(alpha=0.2, beta=0.4, tau=0.05)
    for side, share in ((weighting.for_positives(), 0.2), (weighting.for_negatives(), 0.4)):
        weight = side(u)
        ranks = mid_ranks(u)
        expected = torch.sigmoid((ranks - (1 - share)) / 0.05)
        torch.testing.assert_close(weight, expected / expected.mean())
        assert weight.mean().item() == pytest.approx(1.0, abs=1e-12)
        torch.testing.assert_close(side(torch.exp(3 * u) + 1), weight)  # any increasing transform


def test_anchored_with_a_tiny_tau_is_the_truncation():
    u = torch.randn(50, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    sharp = Anchored(alpha=0.3, beta=0.3, tau=1e-6).for_positives()(u)
    torch.testing.assert_close(sharp, TruncatedSide(0.3)(u), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("tau", [1e-3, 1e-6, 1e-30, 1e-300, 5e-324])
def test_anchored_with_a_tiny_tau_never_loses_the_hardest(dtype, tau):
    """The hardest of three has rank 5/6, far from a border at 0.95 that is so narrow."""
    side = Anchored(0.05, 0.05, tau=tau).for_positives()
    assert side(torch.tensor([0.5, 0.9, 0.1], dtype=dtype)).tolist() == pytest.approx([0.0, 3.0, 0.0], abs=1e-30)
    assert side(torch.tensor([0.5, 0.5], dtype=dtype)).tolist() == [1.0, 1.0]
    assert side(torch.empty(0, dtype=dtype)).tolist() == []


@pytest.mark.parametrize("tau", [0.3, 0.1, 0.02, 0.012, 0.01, 0.005])
def test_anchored_weights_are_sigmoids_on_both_sides_of_the_switch(tau):
    hardness = torch.randn(101, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = torch.sigmoid((mid_ranks(hardness) - 0.95) / tau)
    weight = Anchored(0.05, 0.05, tau=tau).for_positives()(hardness)
    torch.testing.assert_close(weight, expected / expected.mean(), rtol=1e-12, atol=0.0)


def test_truncation_keeps_at_least_one_and_breaks_ties_by_choosing():
    assert TruncatedSide(0.1)(torch.tensor([0.3, 0.7])).tolist() == [0.0, 2.0]
    assert (TruncatedSide(0.5)(torch.zeros(4)) > 0).sum() == 2
    assert TruncatedSide(0.5)(torch.zeros(0)).shape == (0,)


# ----------------------------------------------------------------------------------------------------- input checks


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Polynomial(1.0), ValueError, "gamma must be above 1"),
        (lambda: Polynomial("3"), TypeError, "gamma must be a number"),
        (lambda: Polynomial(float("nan")), ValueError, "gamma must be finite"),
        (lambda: Polynomial.from_exponent(0.0), ValueError, "exponent must be above 0"),
        (lambda: Exponential(-1.0), ValueError, "gamma must be above 0"),
        (lambda: Anchored(0.0, 0.3), ValueError, "alpha must be a share"),
        (lambda: Anchored(0.3, 1.3), ValueError, "beta must be a share"),
        (lambda: Anchored(0.3, 0.3, tau=0.0), ValueError, "tau must be above 0"),
        (lambda: Anchored(0.3, 0.3).weigh(Hardness.of(torch.zeros(2))), TypeError, "for_positives"),
        (lambda: Weighting.from_function(3.0), TypeError, "psi must be a function"),
        (lambda: Weighting.from_penalty("x"), TypeError, "phi must be a function"),
        (lambda: as_weighting(Polynomial, "weighting"), TypeError, r"weighting must be a Weighting"),
        (lambda: as_weighting(3.0, "negative_weighting"), TypeError, "negative_weighting"),
        (
            lambda: Weighting.from_function(lambda t: t.mean()).weigh(Hardness.of(torch.zeros(3))),
            ValueError,
            "one weight per example",
        ),
    ],
)
def test_bad_input_names_the_argument(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_weightings_are_values():
    assert Polynomial(3) == Polynomial(3.0)
    assert pickle.loads(pickle.dumps(Anchored(0.3, 0.2))) == Anchored(0.3, 0.2)
    assert as_weighting(Uniform()) == Uniform()
    assert as_weighting(torch.sqrt)(torch.tensor(4.0)) == 2.0
