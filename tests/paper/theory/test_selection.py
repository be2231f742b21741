"""Propositions 1 and 3 against code that was written from their statements."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc import (
    Exponential,
    Polynomial,
    Uniform,
    empirical_risks,
)
from tpauc.losses.weighting import Weighting
from tpauc.paper.theory.selection import (
    duality_errors,
    penalty_by_quadrature,
    penalty_strength,
    selected_by_linear_programme,
    selected_by_penalty,
    top_k,
    weight_by_search,
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
