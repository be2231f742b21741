"""The calculator of excess-risk terms (Theorems 4 and 5, the corollary)."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc.losses.rank_weighting import Anchored
from tpauc.losses.weighting import Exponential, Polynomial, Uniform
from tpauc.paper.data.datasets import DATASETS
from tpauc.paper.theory.decomposition import PowerScores
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
