"""Theorem 1 against code that was written from its statement."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc import (
    Exponential,
    Polynomial,
    Uniform,
)
from tpauc.losses.minimax import FORMS, players
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

WEIGHTINGS = st.one_of(
    st.floats(0.02, 3.0).map(Polynomial.from_exponent),
    st.floats(0.5, 30.0).map(Exponential),
)


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
