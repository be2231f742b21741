"""The normalised risk: its bounds on random samples, its minimisers on known populations, and its saddle."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc import Exponential, Polynomial, TPAUCLoss, Uniform, tpauc_score
from tpauc.losses.weighting import Weighting
from tpauc.paper.theory.bayes import bayes_tpauc
from tpauc.paper.theory.normalised import LIMIT, check_normalised_bound, stationary_odds, weighted_means
from tpauc.paper.theory.populations import FinitePopulation
from tpauc.region import Region

SEEDS = st.integers(0, 2**32 - 1)
WEIGHTINGS = st.one_of(
    st.floats(0.02, 20.0).map(Polynomial.from_exponent), st.floats(0.5, 30.0).map(Exponential), st.just(Uniform())
)
# ------------------------------------------------------------------------------------------------------------ bounds


def random_scores(seed):
    rng = np.random.default_rng(seed)
    shapes = rng.uniform(0.3, 6.0, 4)
    return tuple(rng.beta(*shapes[k : k + 2], size).clip(1e-6, 1 - 1e-6) for k, size in ((0, 12), (2, 17)))


@settings(deadline=None, max_examples=150)
@given(SEEDS, WEIGHTINGS, st.floats(0.15, 0.95), st.floats(0.15, 0.95), st.sampled_from(["square", "exponential"]))
def test_it_bounds_the_auc_risk_and_the_truncated_risk_without_a_condition(seed, weighting, alpha, beta, surrogate):
    positive, negative = random_scores(seed)
    bound = check_normalised_bound(positive, negative, weighting, alpha=alpha, beta=beta, surrogate=surrogate)
    once = 1 + 1e-12  # rounding of sums of 204 terms
    assert bound.auc_risk <= bound.normalised * once
    assert bound.truncated <= bound.limit * once
    region = Region(alpha, beta)
    assert region.hard_positives(12) / 12 <= bound.positive_mass * once <= once**2
    assert region.hard_negatives(17) / 17 <= bound.negative_mass * once <= once**2
    if surrogate == "square":  # above the 0-1 loss
        labels = np.arange(29) < 12
        tpauc = tpauc_score(labels, np.concatenate((positive, negative)), alpha=alpha, beta=beta)
        assert 1 - tpauc <= bound.limit * once


def test_the_bound_of_the_truncated_risk_becomes_an_equality():
    """Nothing is gained by hiding a factor: the bound is reached with flat weights where easy pairs cost nothing."""
    positive, negative = [0.5, 0.5, 0.999999, 0.999999], [0.5, 0.5, 1e-6, 1e-6]
    step = Weighting.from_function(lambda t: (t > 0.1).to(t.dtype))
    bound = check_normalised_bound(positive, negative, step, alpha=0.5, beta=0.5)
    assert bound.limit == pytest.approx(bound.truncated) == 1.0
    flat = check_normalised_bound(positive, negative, Uniform(), alpha=0.5, beta=0.5)
    assert (flat.positive_mass, flat.negative_mass, flat.truncated) == (0.5, 0.5, 1.0)
    assert flat.normalised == pytest.approx(flat.auc_risk)


def test_sharper_weights_put_more_mass_on_the_hard_examples():
    positive, negative = random_scores(0)
    masses = [
        check_normalised_bound(positive, negative, Polynomial.from_exponent(e), alpha=0.3, beta=0.3).positive_mass
        for e in (0.01, 0.3, 1.0, 3.0, 30.0)
    ]
    assert masses == sorted(masses)
    assert masses[0] == pytest.approx(0.25, abs=0.01)  # 3 of 12
    assert masses[-1] > 0.9


@pytest.mark.parametrize("weighting", [Polynomial.from_exponent(0.1), Polynomial(2.0), Exponential(5.0)])
@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_it_does_not_vanish_when_all_scores_go_to_one_side(weighting, direction):
    labels = torch.arange(60) < 20
    logits = torch.randn(60, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    far = logits + 400.0 * direction
    assert TPAUCLoss(weighting)(far, labels) < 1e-10
    assert TPAUCLoss(weighting, normalize=True)(far, labels).item() == pytest.approx(1.0)


def test_the_value_is_that_of_the_loss():
    positive, negative = random_scores(1)
    scores = torch.logit(torch.from_numpy(np.concatenate((positive, negative))))
    for weighting in (Polynomial.from_exponent(0.7), Exponential(4.0)):
        bound = check_normalised_bound(positive, negative, weighting, alpha=0.3, beta=0.3)
        loss = TPAUCLoss(weighting, normalize=True)(scores, torch.arange(29) < 12)
        assert bound.normalised == pytest.approx(loss.item(), rel=1e-10)


def test_weights_of_zero_are_refused():
    step = Weighting.from_function(lambda t: (t - 0.9).relu())
    with pytest.raises(ValueError, match="at least one example of each class a positive weight"):
        check_normalised_bound([0.9, 0.8], [0.1, 0.3], step, alpha=0.5, beta=0.5)


# ------------------------------------------------------------------------------------------------------- calibration


def random_population(rng, m):
    return FinitePopulation(rng.uniform(0.05, 1.0, m), rng.uniform(0.05, 1.0, m))


def risk_of(population, f, exponent):
    """Return the risk over all pairs of kinds, as a tensor; ``f`` may have rows of scorers."""
    w = torch.from_numpy(population.positive) * (1 - f) ** exponent
    v = torch.from_numpy(population.negative) * f**exponent
    loss = (1 - f[..., :, None] + f[..., None, :]) ** 2
    pairs = w[..., :, None] * v[..., None, :]
    return (pairs * loss).sum((-1, -2)) / pairs.sum((-1, -2))


def stationary_scores(population, exponent, seed):
    """Descend from six random starts; return the scores of all, and the largest derivative of each."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(6, len(population.eta), generator=generator, dtype=torch.float64).requires_grad_()
    options = {"tolerance_grad": 1e-10, "tolerance_change": 0.0, "line_search_fn": "strong_wolfe"}
    optimizer = torch.optim.LBFGS([z], max_iter=400, **options)

    def closure():
        optimizer.zero_grad()
        total = risk_of(population, torch.sigmoid(z), exponent).sum()
        total.backward()
        return total

    optimizer.step(closure)
    return torch.sigmoid(z).detach().numpy(), z.grad.abs().amax(1).numpy()


@settings(deadline=None, max_examples=100)
@given(SEEDS, st.floats(0.0, 6.0))
def test_the_risk_is_a_gap_and_two_variances(seed, exponent):
    rng = np.random.default_rng(seed)
    population, f = random_population(rng, 4), rng.uniform(0.01, 0.99, 4)
    expected = risk_of(population, torch.from_numpy(f), exponent).item()
    assert weighted_means(population, f, exponent).risk == pytest.approx(expected, rel=1e-10)


@settings(deadline=None, max_examples=200)
@given(SEEDS, st.floats(0.0, 8.0))
def test_the_odds_of_stationary_scores_grow_with_the_score(seed, exponent):
    rng = np.random.default_rng(seed)
    population, f = random_population(rng, 4), rng.uniform(0.01, 0.99, 4)
    means = weighted_means(population, f, exponent)
    odds = stationary_odds(means, np.linspace(1e-3, 1 - 1e-3, 400), exponent)
    inside = odds[~np.isnan(odds)]
    assert (np.diff(inside) > 0).all()
    assert means.certain or means.risk >= LIMIT
    if means.certain:
        assert inside.size > 1
        # No score has both slopes negative.
        grid = np.linspace(1e-3, 1 - 1e-3, 400)
        positive, negative = 1 - grid + means.b, grid + 1 - means.a
        bracket = [
            exponent * (root**2 - m) + 2 * t * root
            for root, m, t in ((positive, means.m_positive, 1 - grid), (negative, means.m_negative, grid))
        ]
        assert ((bracket[0] > 0) | (bracket[1] > 0)).all()


def test_without_weights_the_odds_are_limited_and_with_them_they_are_not():
    population, f = FinitePopulation([1, 9], [9, 1]), [0.4, 0.6]
    ends = [1e-9, 1 - 1e-9]
    low, high = stationary_odds(weighted_means(population, f, 0.0), ends, 0.0)
    assert 1 / 9 < low < high < 9  # these kinds go to the scores 0 and 1, and so would any beyond them
    for exponent in (0.01, 0.5, 1.0, 3.0):
        odds = stationary_odds(weighted_means(population, f, exponent), np.linspace(0, 1, 100_001)[1:-1], exponent)
        assert np.nanmin(odds) < 0.02
        assert np.nanmax(odds) > 50


@pytest.mark.parametrize("exponent", [0.1, 0.5, 1.0, 2.0, 5.0])
def test_stationary_points_rank_as_eta(exponent):
    """From any start, also those which begin with the wrong order."""
    rng, found = np.random.default_rng(0), 0
    for seed in range(4):
        population = random_population(rng, 4)
        odds = population.positive / population.negative
        for scores, slope in zip(*stationary_scores(population, exponent, seed), strict=True):
            if slope > 1e-7:
                continue
            means = weighted_means(population, scores, exponent)
            assert means.certain  # in these populations; so is every scorer below the limit
            found += 1
            np.testing.assert_allclose(stationary_odds(means, scores, exponent), odds, rtol=1e-3)
            assert np.array_equal(np.argsort(scores), np.argsort(population.eta))
            for share in (0.3, 0.7, 1.0):
                region = Region(share, share)
                assert population.tpauc(scores, region) == pytest.approx(bayes_tpauc(population, region))
    assert found >= 12


@settings(deadline=None, max_examples=100)
@given(SEEDS, st.floats(0.0, 10.0))
def test_of_two_kinds_the_wrong_order_is_never_better_than_equal_scores(seed, exponent):
    rng = np.random.default_rng(seed)
    population = random_population(rng, 2)
    low, high = np.sort(rng.uniform(0.01, 0.99, 2))
    right = np.where(population.eta == population.eta.max(), high, low)
    assert weighted_means(population, right[::-1], exponent).risk >= 1.0 - 1e-12
    gap = abs(population.positive[0] - population.negative[0])
    near = 0.5 + 0.01 * gap * np.where(right == high, 1, -1)
    assert gap < 1e-3 or weighted_means(population, near, exponent).risk < 1.0


def test_scores_must_fit_the_population():
    population = FinitePopulation([1, 3], [3, 1])
    with pytest.raises(ValueError, match="equal length"):
        weighted_means(population, [0.5], 1.0)
    with pytest.raises(ValueError, match=r"scores must lie in \(0, 1\)"):
        weighted_means(population, [0.0, 0.5], 1.0)


# ------------------------------------------------------------------------------------------------------------ saddle


def saddle_terms(f, y, a, b, g):
    """Return the terms ``l+`` of positives and ``l-`` of negatives."""
    return torch.where(y, (f - a) ** 2 - 2 * (1 + g) * f, (f - b) ** 2 + 2 * (1 + g) * f)


@pytest.mark.parametrize("detach", [False, True])
def test_a_sum_over_examples_has_its_value_and_gradient(detach):
    """With the variables of the saddle, the mean weights and the mean terms held fixed at their own values."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(30) < 9
    z = (torch.randn(30, generator=generator, dtype=torch.float64) + y).requires_grad_()
    weighting = Polynomial.from_exponent(1.5)
    loss = TPAUCLoss(weighting, normalize=True, detach_weights=detach)
    value = loss(z, y)
    (expected,) = torch.autograd.grad(value, z)

    f = torch.sigmoid(z)
    psi = torch.where(y, 1 - f, f) ** 1.5
    psi = psi.detach() if detach else psi
    with torch.no_grad():
        shares = [psi * members / (psi * members).sum() for members in (y, ~y)]
        a, b = ((share * f).sum() for share in shares)
        terms = saddle_terms(f, y, a, b, b - a)
        constants = [(share * terms).sum() for share in shares]
        weights = [psi[members].mean() for members in (y, ~y)]
    terms = saddle_terms(f, y, a, b, b - a)
    total = 1.0 - (b - a) ** 2
    for members, constant, weight in zip((y, ~y), constants, weights, strict=True):
        total = total + constant + (psi * (terms - constant))[members].mean() / weight
    (found,) = torch.autograd.grad(total, z)
    assert total.item() == pytest.approx(value.item(), rel=1e-10)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)
