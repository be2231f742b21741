"""The decomposition lemmas on samples."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc.losses.weighting import Exponential, Polynomial, Uniform
from tpauc.paper.theory.decomposition import PowerScores, decompose, largest_deviation, two_step_decomposition
from tpauc.paper.theory.excess_risk import (
    SQUARE_SUPREMUM,
    fixed_scorer_bound,
)
from tpauc.region import Region

ROUNDING = 1e-12


@given(
    seed=st.integers(0, 10**6),
    n_positive=st.integers(5, 60),
    n_negative=st.integers(5, 200),
    alpha=st.floats(0.21, 1.0),
    beta=st.floats(0.21, 1.0),
    theta=st.floats(0.3, 20.0),
)
@settings(deadline=None, max_examples=150)
def test_both_decompositions_hold_on_samples(seed, n_positive, n_negative, alpha, beta, theta):
    truth, region = PowerScores(theta), Region(alpha, beta)
    found = decompose(*truth.sample(n_positive, n_negative, np.random.default_rng(seed)), truth, region)
    assert abs(found.excess) <= found.sharper_bound + ROUNDING
    assert found.sharper_bound <= found.printed_bound + ROUNDING


def test_the_rounding_of_counts_is_needed_in_the_sharper_bound():
    # Evenly spread positives deviate by a tenth, the least that five can. But 5 * 0.399 selects one of them: the sample
    # has half the region, and nearly all negatives in it are above the positives.
    levels, many = (np.arange(5) + 0.5) / 5, (np.arange(2000) + 0.5) / 2000
    region = Region(0.399, 0.5)
    found = decompose(levels**20, many, PowerScores(0.05), region)
    assert found.excess <= found.sharper_bound < 1.01 * found.excess
    assert region.beta * found.positive_deviation + region.alpha * found.negative_deviation < 0.6 * found.excess


@pytest.mark.parametrize("scores", [[-0.1, 0.5], [0.5, 1.1], []])
def test_scores_outside_the_unit_interval_are_refused(scores):
    with pytest.raises(ValueError, match=r"negative_scores must hold numbers in \[0, 1\]"):
        decompose([0.5], scores, PowerScores(2.0), Region(1.0, 1.0))


def test_a_sample_of_one_pair_by_hand():
    # At chance R = 1/2; the only pair is in the wrong order, and each half of its class is on one side of it.
    truth, region = PowerScores(1.0), Region(1.0, 1.0)
    found = decompose([0.5], [0.5 + 1e-9], truth, region)
    assert found.sample_risk == 1.0
    assert abs(found.excess) == pytest.approx(0.5)
    assert (found.positive_deviation, found.negative_deviation) == pytest.approx((0.5, 0.5))
    assert (found.sharper_bound, found.printed_bound) == pytest.approx((1.0, 2.0))


@pytest.mark.parametrize("theta", [1.0, 4.0, 0.5])
@pytest.mark.parametrize("region", [Region(0.3, 0.3), Region(1.0, 1.0), Region(0.2, 0.9), Region(0.9, 0.05)])
def test_the_risk_in_closed_form_is_that_of_a_large_even_sample(theta, region):
    n = 2000
    levels = (np.arange(n) + 0.5) / n
    found = decompose(levels ** (1.0 / theta), levels - 1e-9, PowerScores(theta), region)
    assert found.risk == pytest.approx(found.sample_risk, abs=2.0 / n)
    assert found.risk <= region.area


def test_the_largest_deviation_is_that_of_kolmogorov_and_smirnov():
    levels = np.random.default_rng(0).random(50)
    grid = np.append(levels, levels - 1e-12)
    expected = max(abs((levels <= place).mean() - place) for place in grid)
    assert largest_deviation(levels) == pytest.approx(expected, abs=1e-9)


def test_the_fixed_scorer_bound_by_hand():
    # 50 * 0.3 and 300 * 0.4 are whole, so no rounding of counts. Its coverage would not tell: it is far from tight.
    expected = 0.4 * math.sqrt(math.log(20) / 100) + 0.3 * math.sqrt(math.log(20) / 600)
    assert fixed_scorer_bound(50, 300, Region(0.3, 0.4), delta=0.2) == pytest.approx(expected)


def test_the_bound_follows_the_rounding_of_counts():
    # 9 * 0.22 selects 1 of 9: the sample's region is 0.109 narrower than the one asked for.
    assert fixed_scorer_bound(9, 10**12, Region(0.22, 1.0), delta=0.99) > 1.0 * (0.22 - 1 / 9)


# --------------------------------------------------------------------------------------- decomposition of Theorem 5


@given(seed=st.integers(0, 10**6), K=st.floats(1.01, 100.0))
@settings(deadline=None, max_examples=40)
def test_the_two_steps_against_plain_loops(seed, K):
    rng = np.random.default_rng(seed)
    terms = rng.random((4, 6, 5))  # four scorers, six positives and five negatives
    positives, negatives = rng.integers(6, size=3), rng.integers(5, size=4)
    factor, columns = K / (K - 1.0), []
    for of_scorer in terms:
        everyone = np.mean([of_scorer[i, j] for i in range(6) for j in range(5)])
        half = factor * np.mean([of_scorer[i, j] for i in positives for j in range(5)])
        drawn = factor**2 * np.mean([of_scorer[i, j] for i in positives for j in negatives])
        columns.append((everyone - drawn, everyone - half, half - drawn))
    steps = two_step_decomposition(terms, positives, negatives, K)
    # The factor is 101 at most, and its square multiplies the rounding of a mean.
    np.testing.assert_allclose(steps, np.max(columns, axis=0), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("K", [1.0, 0.5])
def test_k_must_be_above_one(K):
    with pytest.raises(ValueError, match="K must be above 1"):
        two_step_decomposition(np.ones((1, 2, 2)), np.array([0]), np.array([0]), K)


@pytest.mark.parametrize("weighting", [Polynomial(3.0), Exponential(0.5), Exponential(5.0), Uniform()])
def test_the_printed_condition_on_variances_is_the_wrong_way_round(weighting):
    # The proof prints E g / Var g <= v^2 l; local complexities need Var g <= v^2 l E g, which is what holds.
    largest = weighting.supremum() ** 2 * SQUARE_SUPREMUM

    def pair_loss(positive, negative):
        return weighting(1.0 - positive) * weighting(negative) * (1.0 - positive + negative) ** 2

    ends = torch.tensor([0.0, 1.0], dtype=torch.float64)
    worst, best = pair_loss(*ends), pair_loss(*ends.flip(0))
    assert (float(worst), float(best)) == pytest.approx((largest, 0.0))
    # A scorer that is wrong about every tenth pair comes near the limit; one whose pairs are all alike is far from it.
    wrong_at_times, alike = torch.stack([worst, *[best] * 9]), pair_loss(0.5 + 0.01 * ends, 0.5 - 0.01 * ends)
    for g in (wrong_at_times, alike):
        assert 0.0 < g.var(correction=0) <= largest * g.mean()
    assert float(wrong_at_times.var(correction=0)) == pytest.approx(0.9 * largest * float(wrong_at_times.mean()))
    assert alike.mean() / alike.var(correction=0) > largest
