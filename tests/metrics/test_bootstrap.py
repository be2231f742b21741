"""Resamples are those of a plain loop, and their TPAUC is exact to 1e-12: pairs are counted in whole numbers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, ks_2samp

import reference
from scored_samples import SEED, SHARE, binormal, samples
from tpauc.metrics import _bootstrap as resampling
from tpauc.metrics.area import partial_auc_score, tpauc_score
from tpauc.region import Region, hard_mass

PART = st.sampled_from([0.0, 0.0, 0.25, 0.5, 0.8])  # of a share, for the minimum of a rectangle


def sides(y, region):
    return (y, region.min_alpha, region.alpha), (~y, region.min_beta, region.beta)


@given(sample=samples(), alpha=SHARE, beta=SHARE, parts=st.tuples(PART, PART), seed=SEED)
@settings(deadline=None, max_examples=100)
def test_counts_of_rows_give_the_score_of_those_rows(sample, alpha, beta, parts, seed):
    y, s = sample
    region, generator = Region(alpha, beta, alpha * parts[0], beta * parts[1]), np.random.default_rng(seed)
    assume(all(hard_mass(side.sum(), low) < hard_mass(side.sum(), high) for side, low, high in sides(y, region)))
    counts = np.zeros((5, y.size), dtype=np.intp)
    for side in (y, ~y):
        counts[:, side] = generator.multinomial(side.sum(), np.full(side.sum(), 1 / side.sum()), size=5)
    ranks = region.ranks_of_positives(int(y.sum())), region.ranks_of_negatives(int((~y).sum()))
    values = resampling._tpauc_of_draws(
        resampling._levels_of(s[y], s[~y]),
        resampling._running_sum_to(ranks[0][1], counts[:, y], np.argsort(s[y])),
        resampling._running_sum_to(ranks[1][1], counts[:, ~y], np.argsort(-s[~y])),
        *ranks,
    )
    for value, weight in zip(values, counts, strict=True):
        assert abs(value - partial_auc_score(y, s, region=region, sample_weight=weight)) <= 1e-12


def test_sums_go_on_until_enough_rows_are_drawn():
    n, k = 1000, 10
    order = np.arange(n)
    usual = np.ones((2, n), dtype=np.intp)
    assert resampling._running_sum_to(k, usual, order).shape[1] < 50
    all_draws_on_the_easiest = np.zeros((1, n), dtype=np.intp)
    all_draws_on_the_easiest[0, -1] = n
    sums = resampling._running_sum_to(k, np.concatenate((usual[:1], all_draws_on_the_easiest)), order)
    np.testing.assert_array_equal(sums[0], np.arange(n + 1))
    np.testing.assert_array_equal(sums[1], [0] * n + [n])


def completed(hardest, n, generator):
    """Complete the hardest rows to a whole resample of ``n``: the others fall on the border or beyond it."""
    counts = np.zeros(n, dtype=np.intp)
    counts[: hardest.size] = hardest
    border = np.flatnonzero(hardest)[-1]
    np.add.at(counts, generator.integers(border, n, size=n - hardest.sum()), 1)
    return counts


@given(sample=samples(), alpha=SHARE, beta=SHARE, seed=SEED)
@settings(deadline=None, max_examples=60)
def test_interval_resamples_are_scores_of_doubled_rows(sample, alpha, beta, seed):
    y, s = sample
    region, generator = Region(alpha, beta), np.random.default_rng(0)
    values = resampling.two_sided_resamples(np.random.default_rng(seed), y, s, region, 4)
    # The same draws again, and the whole resamples that they stand for.
    twin = np.random.default_rng(seed)
    n = int(y.sum()) + 1, int((~y).sum()) + 1
    hardest = [
        resampling._hardest_counts(twin, n[0], region.hard_positives(n[0]), 4),
        resampling._hardest_counts(twin, n[1], region.hard_negatives(n[1]), 4),
    ]
    doubled = [
        (np.append(s[y], s[y].min()), np.append(s[~y], s[~y].max())),
        (np.append(s[y], s[y].max()), np.append(s[~y], s[~y].min())),
    ]
    for side, (positives, negatives) in enumerate(doubled):
        scores = np.concatenate((np.sort(positives), np.sort(negatives)[::-1]))
        labels = np.arange(scores.size) < n[0]
        for resample in range(4):
            weight = np.concatenate([completed(hardest[i][resample], n[i], generator) for i in (0, 1)])
            expected = tpauc_score(labels, scores, alpha=alpha, beta=beta, sample_weight=weight)
            assert abs(values[side, resample] - expected) <= 1e-12
    assert (values[0] <= values[1]).all()


@pytest.mark.parametrize(("n", "k"), [(3, 1), (4, 2), (4, 4)])
def test_hardest_rows_have_the_distribution_of_a_resample(n, k):
    probability = {}
    for drawn in product(range(n), repeat=n):
        counts = tuple(np.bincount(sorted(drawn)[:k], minlength=n))
        probability[counts] = probability.get(counts, 0.0) + n**-n
    trials = 20_000
    found = resampling._hardest_counts(np.random.default_rng(0), n, k, trials)
    found = np.pad(found, ((0, 0), (0, n - found.shape[1])))
    outcomes, times = np.unique(found, axis=0, return_counts=True)
    observed = dict(zip(map(tuple, outcomes), times, strict=True))
    assert set(observed) <= set(probability)
    fit = chisquare([observed.get(outcome, 0) for outcome in probability], [p * trials for p in probability.values()])
    assert fit.pvalue > 1e-3
    # As likely to reject what it should: the same outcomes, all equally likely.
    if k > 1:
        assert chisquare([observed.get(outcome, 0) for outcome in probability]).pvalue < 1e-6


def test_resamples_have_the_distribution_of_a_plain_loop():
    y, s = binormal(np.random.default_rng(1), 30, 70, 1.3)
    s = s.round(1)  # ties
    generator = np.random.default_rng(2)
    loop = []
    for _ in range(1000):
        rows = np.concatenate([generator.choice(np.flatnonzero(side), side.sum()) for side in (y, ~y)])
        loop.append(reference.tpauc(y[rows], s[rows], 0.3, 0.3))
    paired = resampling.paired_resamples(generator, y, (s, -s), Region(0.3, 0.3), 4000)
    assert ks_2samp(loop, paired[0]).pvalue > 1e-3
    assert ks_2samp(loop, paired[0] * 0.9).pvalue < 1e-3
    np.testing.assert_array_equal(paired[1], 0.0)


# ------------------------------------------------------------------------------------------------ negatives in groups


def always_in_groups(monkeypatch):
    monkeypatch.setattr(resampling, "ROWS_PER_GROUP", 0)


@given(sample=samples(n_models=2), alpha=SHARE, beta=SHARE, seed=SEED)
@settings(deadline=None, max_examples=60)
def test_paired_resamples_of_groups_are_scores_of_rows(sample, alpha, beta, seed):
    y, *models = sample
    region, generator = Region(alpha, beta), np.random.default_rng(0)
    with pytest.MonkeyPatch.context() as monkeypatch:
        always_in_groups(monkeypatch)
        values = resampling.paired_resamples(np.random.default_rng(seed), y, models, region, 3)
    # The same draws again, and rows that they may stand for.
    twin, n = np.random.default_rng(seed), (int(y.sum()), int((~y).sum()))
    by_class = [(s[y], s[~y]) for s in models]
    enough = resampling._usually_enough(region.hard_positives(n[0]))
    row, size = resampling._groups(by_class, enough)
    weight = np.zeros((3, y.size), dtype=np.intp)
    weight[:, y] = resampling._counts(twin.integers(n[0], size=(3, n[0])), n[0])
    drawn = resampling._Negatives.of(by_class, row, size).drawn(twin, 3)
    members = members_of_groups(by_class, enough, row)
    for resample in range(3):
        of_negatives = np.zeros(n[1], dtype=np.intp)
        for group, times in zip(members, drawn[resample], strict=True):
            np.add.at(of_negatives, generator.choice(group, times), 1)
        weight[resample, ~y] = of_negatives
        for model, s in enumerate(models):
            expected = tpauc_score(y, s, alpha=alpha, beta=beta, sample_weight=weight[resample])
            assert abs(values[model, resample] - expected) <= 1e-12


def members_of_groups(by_class, n_hardest, rows):
    """List the negatives that compare with the hardest positives as a given row does, in all models; by brute force."""
    compared = [np.sign(negatives[:, np.newaxis] - np.sort(positives)[:n_hardest]) for positives, negatives in by_class]
    return [
        np.flatnonzero(np.logical_and.reduce([(signs == signs[row]).all(axis=1) for signs in compared])) for row in rows
    ]


def test_groups_are_all_negatives_once():
    y, s = binormal(np.random.default_rng(0), 5, 400, 1.0)
    by_class = [(s[y], s[~y]), (-s[y], -s[~y].round(1))]
    row, size = resampling._groups(by_class, 3)
    members = members_of_groups(by_class, 3, row)
    assert sorted(np.concatenate(members)) == list(range(400))
    assert [group.size for group in members] == size.tolist()
    assert len(size) < 20


@pytest.mark.parametrize("kind", ["interval", "paired"])
def test_groups_have_the_distribution_of_rows(kind, monkeypatch):
    y, s = binormal(np.random.default_rng(1), 20, 300, 1.3)
    s, region = s.round(1), Region(0.3, 0.3)

    def resamples(seed):
        generator = np.random.default_rng(seed)
        if kind == "interval":
            return resampling.two_sided_resamples(generator, y, s, region, 4000)[0]
        first, second = resampling.paired_resamples(generator, y, (s, s + np.sin(9 * s)), region, 4000)
        return first - second

    one_by_one = resamples(2)
    always_in_groups(monkeypatch)
    in_groups = resamples(3)
    assert ks_2samp(one_by_one, in_groups).pvalue > 1e-3
    assert ks_2samp(one_by_one, in_groups + 0.02).pvalue < 1e-3


@pytest.mark.parametrize("n_positive", [3, 300])
def test_few_positives_are_drawn_among_groups(n_positive, monkeypatch):
    y, s = binormal(np.random.default_rng(1), n_positive, 3000, 1.3)
    drawn = []
    monkeypatch.setattr(resampling, "resample_blocks", lambda n, rows: drawn.append(rows) or iter([slice(0, n)]))
    resampling.two_sided_resamples(np.random.default_rng(0), y, s, Region(0.5, 0.5), 2)
    resampling.paired_resamples(np.random.default_rng(0), y, (s, -s), Region(0.5, 0.5), 2)
    few = n_positive == 3
    assert [rows < 30 for rows in drawn] == [few, few]


def test_resamples_that_need_easier_positives_draw_rows_one_by_one(monkeypatch):
    y, s = binormal(np.random.default_rng(1), 40, 2000, 1.3)
    usual = resampling.paired_resamples(np.random.default_rng(0), y, (s, -s), Region(0.2, 0.3), 500)
    monkeypatch.setattr(resampling, "_usually_enough", lambda k: k)  # half of the resamples need more
    found = resampling.paired_resamples(np.random.default_rng(1), y, (s, -s), Region(0.2, 0.3), 500)
    assert ks_2samp(usual[0], found[0]).pvalue > 1e-3


@pytest.mark.parametrize(("n_resamples", "drawn"), [(1, 1), (2000, 10**9), (2000, 7), (5, resampling._BLOCK // 2)])
def test_blocks_cover_all_resamples_once_within_bounds(n_resamples, drawn):
    blocks = list(resampling.resample_blocks(n_resamples, drawn))
    assert [i for block in blocks for i in range(n_resamples)[block]] == list(range(n_resamples))
    assert all(
        block.stop - block.start == 1 or (block.stop - block.start) * drawn <= resampling._BLOCK for block in blocks
    )
