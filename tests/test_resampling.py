"""Resamples are those of a plain loop, and their TPAUC is exact to 1e-12: pairs are counted in whole numbers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import chisquare, ks_2samp

import reference
from scored_samples import SEED, SHARE, binormal, samples
from tpauc import resampling
from tpauc.metrics import tpauc_score
from tpauc.region import Region


@given(sample=samples(), alpha=SHARE, beta=SHARE, seed=SEED)
@settings(deadline=None, max_examples=100)
def test_counts_of_rows_give_the_score_of_those_rows(sample, alpha, beta, seed):
    y, s = sample
    region, generator = Region(alpha, beta), np.random.default_rng(seed)
    counts = np.zeros((5, y.size), dtype=np.intp)
    for side in (y, ~y):
        counts[:, side] = generator.multinomial(side.sum(), np.full(side.sum(), 1 / side.sum()), size=5)
    k = region.hard_positives(int(y.sum())), region.hard_negatives(int((~y).sum()))
    values = resampling._tpauc_of_draws(
        resampling._ladder(s[y], s[~y]),
        resampling._running_sum_to(k[0], counts[:, y], np.argsort(s[y])),
        resampling._running_sum_to(k[1], counts[:, ~y], np.argsort(-s[~y])),
        *k,
    )
    for value, weight in zip(values, counts, strict=True):
        assert abs(value - tpauc_score(y, s, alpha=alpha, beta=beta, sample_weight=weight)) <= 1e-12


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


@pytest.mark.parametrize(("n_resamples", "drawn"), [(1, 1), (2000, 10**9), (2000, 7), (5, resampling._BLOCK // 2)])
def test_blocks_cover_all_resamples_once_within_bounds(n_resamples, drawn):
    blocks = list(resampling._blocks(n_resamples, drawn))
    assert [i for block in blocks for i in range(n_resamples)[block]] == list(range(n_resamples))
    assert all(
        block.stop - block.start == 1 or (block.stop - block.start) * drawn <= resampling._BLOCK for block in blocks
    )
