"""The decomposition lemmas on samples, and the calculator of excess-risk terms (Theorems 4 and 5, the corollary)."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc.losses.rank_weighting import Anchored
from tpauc.losses.weighting import Exponential, Polynomial, Uniform
from tpauc.paper.data.datasets import DATASETS
from tpauc.paper.theory.decomposition import PowerScores, decompose, largest_deviation, two_step_decomposition
from tpauc.paper.theory.excess_risk import (
    SQUARE_LIPSCHITZ,
    SQUARE_SUPREMUM,
    corollary_cnn,
    fixed_scorer_bound,
    network_spread,
    pair_loss_lipschitz,
    theorem_4,
    theorem_4_term,
    theorem_5,
    theorem_5_best_k,
    weighting_lipschitz,
)
from tpauc.region import Region

ROUNDING = 1e-12


# ------------------------------------------------------------------------------------------------------- Lemma 1


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


# ------------------------------------------------------------------------------------------------------ calculator


def test_theorem_4_by_hand():
    expected = math.sqrt((10 * math.log(100) + math.log(20)) / 100) + math.sqrt(
        (10 * math.log(900) + math.log(20)) / 900
    )
    assert theorem_4(100, 900, vc_dimension=10, delta=0.05) == pytest.approx(expected)
    assert theorem_4(100, 900, vc_dimension=10, delta=0.05, constant=3.0) == pytest.approx(3.0 * expected)


def test_theorem_5_by_hand():
    assert theorem_5(100, 900, complexity=10, spread=2.0, delta=0.1) == pytest.approx(
        (10 * math.log(1800) + math.log(20)) / 100
    )


@given(n=st.integers(10, 10**6), factor=st.integers(2, 50))
@settings(deadline=None, max_examples=40)
def test_terms_fall_with_the_sample_and_rise_with_the_model(n, factor):
    assert theorem_4_term(n * factor, vc_dimension=5) < theorem_4_term(n, vc_dimension=5)
    assert theorem_4_term(n, vc_dimension=5 * factor) > theorem_4_term(n, vc_dimension=5)
    assert theorem_5(n * factor, n * factor, complexity=5) < theorem_5(n, n * factor, complexity=5)


@given(risk=st.floats(0.0, 1.0), term=st.floats(1e-6, 10.0))
@settings(deadline=None, max_examples=80)
def test_the_best_k_is_the_best(risk, term):
    best = theorem_5_best_k(risk, term)
    for K in np.append(1.0 + np.geomspace(1e-6, 1e6, 300), best.K * np.array([1.01, 1.1])):
        excess = ((K / (K - 1.0)) ** 2 - 1.0) * risk + K * term
        assert best.excess <= excess * (1.0 + 1e-9)


def test_without_empirical_risk_the_rate_is_fast_and_otherwise_slow():
    fast = [theorem_5_best_k(0.0, 10.0 / n).excess for n in (10**4, 10**6)]
    slow = [theorem_5_best_k(0.05, 10.0 / n).excess for n in (10**6, 10**8)]
    assert fast[0] / fast[1] == pytest.approx(100.0)
    assert slow[0] / slow[1] == pytest.approx(10.0, rel=0.05)  # sqrt(100), up to terms of lower order


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theorem_4(0, 10, vc_dimension=1), "n must be at least 1"),
        (lambda: theorem_4(10, 10, vc_dimension=0), "vc_dimension must be above 0"),
        (lambda: theorem_4(10, 10, vc_dimension=1, delta=1.0), "delta"),
        (lambda: theorem_4(10, 10, vc_dimension=1, constant=0.0), "constant"),
        (lambda: theorem_5(20, 10, complexity=1), "n_positive must not exceed n_negative"),
        (lambda: theorem_5(10, 20, complexity=1, spread=0.01), r"spread \* n_negative must be at least 1"),
        (lambda: theorem_5(10, 20, complexity=-1), "complexity"),
        (lambda: theorem_5_best_k(-0.1, 1.0), "empirical_risk"),
        (lambda: theorem_5_best_k(0.1, 0.0), "term"),
        (lambda: fixed_scorer_bound(2, 10, Region(0.3, 0.3)), "alpha=0.3 selects none"),
        (lambda: network_spread(layers=0, distance=1.0), "layers"),
        (lambda: network_spread(layers=2, distance=0.0), "distance"),
        (lambda: network_spread(layers=2, distance=1.0, initial_excess=-1.0), "initial_excess"),
        (lambda: network_spread(layers=1202, distance=1202.0), r"within float64, got layers=1202, distance=1202\.0"),
        (lambda: network_spread(layers=1, distance=1e200), r"within float64, got layers=1, distance=1e\+200"),
        (lambda: PowerScores(0.0), "theta"),
    ],
)
def test_wrong_inputs_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ------------------------------------------------------------------------------------------------- covering numbers


@pytest.mark.parametrize("weighting", [Uniform(), Exponential(5.0), Polynomial(1.5)])
def test_lipschitz_constants_hold_and_are_tight(weighting):
    t = torch.linspace(0.0, 1.0, 10_001, dtype=torch.float64)
    steepest = float(weighting(t).diff().abs().max() * 10_000)
    assert steepest <= weighting_lipschitz(weighting) + 1e-9
    assert steepest == pytest.approx(weighting_lipschitz(weighting), rel=1e-3, abs=1e-9)


def test_a_concave_polynomial_has_none():
    t = torch.tensor([0.0, 1e-12], dtype=torch.float64)
    assert float(Polynomial(3.0)(t).diff()) / 1e-12 > 1e5
    assert weighting_lipschitz(Polynomial(3.0)) == math.inf
    with pytest.raises(ValueError, match="must be Lipschitz"):
        corollary_cnn(10, 20, parameters=5, spread=1.0, weighting=Polynomial(3.0))


def test_a_weighting_by_rank_has_no_lipschitz_constant():
    for call in (
        weighting_lipschitz,
        pair_loss_lipschitz,
        lambda weighting: corollary_cnn(10, 20, parameters=5, spread=1.0, weighting=weighting),
    ):
        with pytest.raises(TypeError, match="Polynomial, Exponential or Uniform"):
            call(Anchored(0.3, 0.3))


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=40)
def test_a_pair_loss_moves_at_most_l_g_times_as_far_as_the_scorer(seed):
    rng = torch.Generator().manual_seed(seed)
    weighting = Exponential(3.0)
    f, other = torch.rand(2, 2, 500, generator=rng, dtype=torch.float64)
    other = f + 0.05 * (other - f)

    def pair_loss(scores):
        return weighting(1.0 - scores[0]) * weighting(scores[1]) * (1.0 - scores[0] + scores[1]) ** 2

    moved = (pair_loss(f) - pair_loss(other)).abs()
    assert bool((moved <= pair_loss_lipschitz(weighting) * (f - other).abs().max(dim=0).values + ROUNDING).all())
    assert float((1.0 - torch.tensor(-1.0)) ** 2) == SQUARE_SUPREMUM == SQUARE_LIPSCHITZ


@given(seed=st.integers(0, 10**6), layers=st.integers(1, 4), distance=st.floats(0.1, 3.0))
@settings(deadline=None, max_examples=40)
def test_a_net_moves_with_its_parameters_as_the_spread_says(seed, layers, distance):
    rng = np.random.default_rng(seed)
    start = [_of_norm(rng, 1.0) for _ in range(layers)]
    split = rng.dirichlet(np.ones(layers), size=2) * distance
    nets = [[w + _of_norm(rng, d) for w, d in zip(start, parts, strict=True)] for parts in split]
    x = rng.normal(size=3)
    x /= np.linalg.norm(x)
    apart = sum(np.linalg.norm(a - b, 2) for a, b in zip(*nets, strict=True))
    moved = np.linalg.norm(_forward(nets[0], x) - _forward(nets[1], x))
    # network_spread is 3 d times the slope; a ball of radius d has an eps-cover of (3 d / eps)^N points.
    slope = network_spread(layers=layers, distance=distance) / (3.0 * distance)
    assert moved <= slope * apart + ROUNDING


def _of_norm(rng, norm):
    matrix = rng.normal(size=(3, 3))
    return matrix * (norm / np.linalg.norm(matrix, 2))


def _forward(layers, x):
    for matrix in layers:
        x = np.maximum(matrix @ x, 0.0)
    return x


def test_the_corollary_is_theorem_5_with_the_constants_of_the_net():
    spread = network_spread(layers=3, distance=2.0)
    expected = theorem_5(100, 900, complexity=50, spread=spread * pair_loss_lipschitz(Exponential(2.0)))
    assert corollary_cnn(100, 900, parameters=50, spread=spread, weighting=Exponential(2.0)) == expected


def test_for_the_papers_own_data_no_term_says_anything():
    data, region = DATASETS["cifar10-lt"].subsets[1], Region(0.5, 0.5)
    sizes = data.paper_train_positives, data.paper_train_negatives
    spread = network_spread(layers=20, distance=20.0)
    assert theorem_4(*sizes, vc_dimension=65) > region.area
    assert theorem_5(*sizes, complexity=65) > region.area
    assert corollary_cnn(*sizes, parameters=269_137, spread=spread, weighting=Exponential(10.0)) > 1000.0
