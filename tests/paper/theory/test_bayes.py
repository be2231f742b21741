"""Bayes scoring (Theorems 2 and 3) on known populations."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc import auc_score, tpauc_score
from tpauc.paper.theory.bayes import (
    bayes_tpauc,
    middle_order_loss,
    risk_terms,
    shuffled_within,
    three_sets,
    uncut_region,
    weakly_consistent,
)
from tpauc.paper.theory.inconsistency import (
    REGION,
    curve_tpauc,
    entry_rate,
)
from tpauc.paper.theory.populations import BENT_BORDER, TWO_KINDS_OF_HARD, FinitePopulation, NormalBlob, PlaneMixture
from tpauc.region import Region

ROUNDING = 1e-12  # of sums of at most a few thousand shares
shares = st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.7, 1.0])


def random_population(seed, kinds=8):
    rng = np.random.default_rng(seed)
    return FinitePopulation(rng.random(kinds), rng.random(kinds))


def test_no_order_of_five_kinds_passes_eta_in_any_region():
    population = random_population(0, kinds=5)
    regions = [Region(a, b) for a in (0.1, 0.35, 0.8, 1.0) for b in (0.1, 0.35, 0.8, 1.0)]
    limits = [bayes_tpauc(population, region) for region in regions]
    for order in itertools.permutations(range(5)):
        for region, limit in zip(regions, limits, strict=True):
            assert population.tpauc(np.array(order), region) <= limit + ROUNDING


@given(seed=st.integers(0, 10**6), levels=st.integers(1, 8), alpha=shares, beta=shares)
@settings(deadline=None, max_examples=60)
def test_no_scorer_passes_eta_ties_included(seed, levels, alpha, beta):
    population, region = random_population(seed), Region(alpha, beta)
    scores = np.random.default_rng(seed + 1).integers(levels, size=8)
    assert population.tpauc(scores, region) <= bayes_tpauc(population, region) + ROUNDING


def test_a_scorer_other_than_eta_is_worse_where_it_counts():
    population = FinitePopulation([1, 2, 3, 4], [4, 3, 2, 1])
    assert population.tpauc([0, 2, 1, 3], Region(0.8, 0.8)) < bayes_tpauc(population, Region(0.8, 0.8)) - 0.01


@pytest.mark.parametrize("mixture", [TWO_KINDS_OF_HARD, BENT_BORDER])
def test_the_cells_stand_for_the_distribution(mixture):
    region = Region(0.3, 0.3)
    points, population = mixture.cells(120)
    sample, labels = mixture.sample(4000, 4000, np.random.default_rng(0))
    estimate = tpauc_score(labels, mixture.eta(sample), alpha=0.3, beta=0.3)
    # The standard error with 1200 hard positives is about 0.012.
    assert bayes_tpauc(population, region) == pytest.approx(estimate, abs=0.05)
    # Only the order of eta counts, and it does not depend on the prior.
    assert population.tpauc(mixture.eta(points), region) == pytest.approx(bayes_tpauc(population, region), abs=1e-9)
    assert bayes_tpauc(mixture.cells(60)[1], region) == pytest.approx(bayes_tpauc(population, region), abs=1e-3)


@pytest.mark.parametrize(
    ("left", "right", "spread"),
    [(10.0, 12.0, 1.0), (0.0, 20.0, 10.0), (0.0, 0.02, 0.01)],
    ids=["far", "wide", "narrow"],
)
def test_cells_that_miss_a_part_of_the_distribution_are_refused(left, right, spread):
    mixture = PlaneMixture((NormalBlob(1.0, (right, 0.0), spread),), (NormalBlob(1.0, (left, 0.0), spread),), prior=0.1)
    with pytest.raises(ValueError, match=r"^side=250 cells .* must hold a mass of 1 of the (posi|nega)tives, got "):
        mixture.cells()
    scaled = PlaneMixture((NormalBlob(1.0, (2.0, 0.0), 1.0),), (NormalBlob(1.0, (0.0, 0.0), 1.0),), prior=0.1)
    assert bayes_tpauc(scaled.cells()[1], Region(0.3, 0.3)) == pytest.approx(0.383, abs=1e-3)


def test_eta_where_no_density_is_above_zero():
    mixture = PlaneMixture((NormalBlob(1.0, (2.0, 0.0), 1.0),), (NormalBlob(1.0, (0.0, 0.0), 1.0),), prior=0.1)
    # Both classes are equally far from (1, 70), where the prior decides; the others are nearer to one of them.
    assert mixture.eta(np.array([[1.0, 70.0], [60.0, 0.0], [-900.0, 0.0]])) == pytest.approx([0.1, 1.0, 0.0])
    points = np.random.default_rng(0).normal(size=(50, 2))
    positive, negative = (
        sum(blob.density(points) for blob in blobs) for blobs in (BENT_BORDER.positives, BENT_BORDER.negatives)
    )
    np.testing.assert_allclose(BENT_BORDER.eta(points), 0.1 * positive / (0.1 * positive + 0.9 * negative), rtol=1e-10)


def test_a_population_equals_itself_alone_and_can_be_a_key():
    population, other = FinitePopulation([1, 2], [2, 1]), FinitePopulation([1, 2], [2, 1])
    assert population == population
    assert population != other
    assert {population: 1}[population] == 1


def test_population_agrees_with_repeated_rows():
    population, scores = FinitePopulation([1, 3, 2], [4, 1, 1]), np.array([0.1, 0.7, 0.4])
    rows = np.repeat(np.tile(scores, 2), [1, 3, 2, 4, 1, 1])
    assert population.tpauc(scores, Region(1.0, 1.0)) == pytest.approx(auc_score([1] * 6 + [0] * 6, rows))


@pytest.mark.parametrize(
    ("positive", "negative", "message"),
    [
        ([1, -1], [1, 1], "positive must be non-negative"),
        ([0, 0], [1, 1], "positive must be non-negative with a positive sum"),
        ([1, 1], [1, 1, 1], "equal length"),
        ([], [], "positive must be non-negative"),
    ],
)
def test_what_is_no_population_is_refused(positive, negative, message):
    with pytest.raises(ValueError, match=message):
        FinitePopulation(positive, negative)


def test_a_mixture_checks_its_shares_and_prior():
    blob = NormalBlob(0.5, (0.0, 0.0), 1.0)
    with pytest.raises(ValueError, match=r"shares of positives must add up to 1, got 0\.5"):
        PlaneMixture((blob,), (blob, blob), prior=0.1)
    with pytest.raises(ValueError, match="share must be a share"):
        NormalBlob(0.0, (0.0, 0.0), 1.0)
    with pytest.raises(ValueError, match="spread must be above 0"):
        NormalBlob(0.5, (0.0, 0.0), 0.0)
    with pytest.raises(ValueError, match="prior"):
        PlaneMixture((blob, blob), (blob, blob), prior=1.0)


def test_scores_of_another_length_are_refused():
    with pytest.raises(ValueError, match="equal length"):
        random_population(0).tpauc([1.0, 2.0], REGION)


# ---------------------------------------------------------------------------------------------- Theorems 2 and 3


def uncut(seed):
    population = random_population(seed, kinds=30)
    return population, uncut_region(population, Region(0.5, 0.5))


@given(seed=st.integers(0, 10**6), part=st.sampled_from(["top", "bottom"]))
@settings(deadline=None, max_examples=30)
def test_the_order_outside_the_middle_does_not_count(seed, part):
    population, region = uncut(seed)
    scores = shuffled_within(population, region, part, 200, np.random.default_rng(seed))
    assert weakly_consistent(population, scores, region)
    assert population.tpauc(scores, region) == pytest.approx(bayes_tpauc(population, region), abs=ROUNDING)
    assert middle_order_loss(population, scores, region) == 0.0


@given(seed=st.integers(0, 10**6), moves=st.integers(0, 300))
@settings(deadline=None, max_examples=40)
def test_the_order_inside_the_middle_costs_what_theorem_3_says(seed, moves):
    population, region = uncut(seed)
    scores = shuffled_within(population, region, "middle", moves, np.random.default_rng(seed))
    loss = bayes_tpauc(population, region) - population.tpauc(scores, region)
    assert middle_order_loss(population, scores, region) == pytest.approx(loss, abs=ROUNDING)
    changed = not np.array_equal(np.argsort(scores), np.argsort(population.eta))
    assert (loss > ROUNDING) == changed


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=40)
def test_theorem_2_counts_the_pairs_of_top_and_bottom_twice(seed):
    population, region = uncut(seed)
    scores = shuffled_within(population, region, "middle", 50, np.random.default_rng(seed))
    terms = risk_terms(population, scores, region)
    risk = region.area * (1.0 - population.tpauc(scores, region))
    assert terms.risk == pytest.approx(risk, abs=ROUNDING)
    assert terms.printed - risk == pytest.approx(terms.top_and_bottom, abs=ROUNDING)
    assert terms.top_and_bottom > 0.0


def test_eta_minimises_the_printed_sum_as_well():
    population = FinitePopulation([0.5, 1.0, 2.0, 3.0, 3.5], [3.5, 3.0, 2.0, 1.0, 0.5])
    region = uncut_region(population, Region(0.5, 0.5))
    best = risk_terms(population, population.eta, region).printed
    others = 0
    for order in itertools.permutations(range(5)):
        scores = np.array(order)
        fpr, tpr = population.roc(scores)
        cut = min(abs(tpr - (1 - region.alpha))) > ROUNDING or min(abs(fpr - region.beta)) > ROUNDING
        if not cut and curve_tpauc(fpr, tpr, region) > 0.0:
            others += 1
            assert risk_terms(population, scores, region).printed >= best - ROUNDING
    assert others > 1


def test_a_curve_that_misses_the_region_has_no_three_sets():
    population = random_population(0)
    with pytest.raises(ValueError, match="misses"):
        three_sets(population, -population.eta, Region(0.2, 0.2))


@given(seed=st.integers(0, 10**6), alpha=shares, beta=shares)
@settings(deadline=None, max_examples=100)
def test_a_kind_that_a_threshold_cuts_is_in_the_middle_and_a_curve_that_misses_is_refused(seed, alpha, beta):
    rng, region = np.random.default_rng(seed), Region(alpha, beta)
    population, scores = random_population(seed, kinds=4), rng.permutation(4)
    fpr, tpr = population.roc(scores)
    if entry_rate(fpr, tpr, region) > beta:
        with pytest.raises(ValueError, match=r"^scores must have t_beta <= t_\(1-alpha\): their curve misses Region"):
            three_sets(population, scores, region)
        return
    sets = three_sets(population, scores, region)
    for kind, number in zip(np.argsort(-scores), range(4), strict=True):
        in_two = [
            curve[number] + ROUNDING < cut < curve[number + 1] - ROUNDING
            for curve, cut in ((tpr, 1 - alpha), (fpr, beta))
        ]
        if any(in_two):
            assert sets.middle[kind]
    assert (np.sum(sets, axis=0) == 1).all()


@pytest.mark.parametrize(
    ("population", "scores", "share"),
    [
        (FinitePopulation([1, 1], [1, 1]), [0, 1], 0.3),  # a threshold cuts each kind
        (FinitePopulation([0, 1, 1, 2], [2, 1, 1, 0]), [3, 2, 1, 0], 0.5),
        (FinitePopulation([1, 0, 0, 1], [3, 2, 3, 2]), [3, 2, 1, 0], 0.5),  # along the lower border of the region
        (FinitePopulation([2, 3, 5], [1, 0, 1]), [2, 1, 0], 0.5),  # through its corner, along the right border
    ],
)
def test_scores_whose_curve_misses_the_region(population, scores, share):
    region = Region(share, share)
    assert population.tpauc(scores, region) == 0.0
    for function in (three_sets, risk_terms):
        with pytest.raises(ValueError, match="misses"):
            function(population, scores, region)


def test_scores_whose_curve_misses_the_region_are_not_weakly_consistent():
    population = FinitePopulation([0, 1, 1, 2], [2, 1, 1, 0])
    assert not weakly_consistent(population, [3, 2, 1, 0], Region(0.5, 0.5))
    # Here even eta misses the region, and there are no three sets to compare with.
    with pytest.raises(ValueError, match="misses"):
        weakly_consistent(FinitePopulation([1, 1], [1, 1]), [0, 1], Region(0.3, 0.3))


@pytest.mark.parametrize("scores", [[3, 1, 2, 0], [0, 3, 1, 2]], ids=["misses the region", "other sets"])
def test_theorem_3_says_nothing_of_scorers_that_are_not_weakly_consistent(scores):
    population, region = FinitePopulation([0, 1, 2, 3], [3, 2, 1, 0]), Region(0.5, 0.5)
    with pytest.raises(ValueError, match=r"^scores must be weakly consistent: their three sets .* not those of eta$"):
        middle_order_loss(population, scores, region)


def test_an_unknown_set_and_scores_of_another_length_are_refused():
    population, region = uncut(0)
    with pytest.raises(ValueError, match="part must be one of 'top', 'middle', 'bottom', got 'left'"):
        shuffled_within(population, region, "left", 1, np.random.default_rng(0))
    for function in (three_sets, middle_order_loss, risk_terms):
        with pytest.raises(ValueError, match="equal length"):
            function(population, [1.0, 2.0], region)


def test_every_kind_is_in_one_set():
    population, region = uncut(3)
    sets = three_sets(population, population.eta, region)
    assert (np.sum(sets, axis=0) == 1).all()
    assert population.positive[sets.top].sum() == pytest.approx(1.0 - region.alpha)
    assert population.negative[sets.bottom].sum() == pytest.approx(1.0 - region.beta)
