"""Variances by cluster equal a plain loop over rows and clusters."""

import math

import numpy as np
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference import hard_count, pair_credit
from scored_samples import SHARE, samples
from tpauc import frames
from tpauc.frames import _counting


def row_influences(y, scores, alpha, beta):
    """Return the influence of each row by definition, O(n^2): -U / k+ and -V / k-, less the mean over the class."""
    positives, negatives = np.flatnonzero(y), np.flatnonzero(~y)
    hard_positives = sorted(positives, key=lambda i: scores[i])[: hard_count(positives.size, alpha)]
    hard_negatives = sorted(negatives, key=lambda j: -scores[j])[: hard_count(negatives.size, beta)]
    found = np.zeros(y.size)
    for own, others, sign in ((hard_positives, hard_negatives, 1), (hard_negatives, hard_positives, -1)):
        share = [np.mean([pair_credit(sign * scores[i], sign * scores[j], "half") for j in others]) for i in own]
        found[own] = (np.array(share) - share[-1]) / len(own)  # the last one is the easiest
    for rows in (positives, negatives):
        found[rows] -= found[rows].mean()
    return found


def clustered_variance(influence, groups):
    """Add up the influences of each cluster; return the variance of the sum of all."""
    totals = [influence[groups == group].sum() for group in np.unique(groups)]
    return len(totals) / max(len(totals) - 1, 1) * sum(total**2 for total in totals)


def variance_of(interval):
    """Return the variance that a 95 % interval, symmetric on the logit scale, was made from."""
    reach = (math.log(interval.high / (1 - interval.high)) - math.log(interval.low / (1 - interval.low))) / 2
    return (reach / 1.959963984540054 * interval.estimate * (1 - interval.estimate)) ** 2


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    sample=samples(n_models=2), alpha=SHARE, beta=SHARE, n_groups=st.integers(2, 30), most=st.sampled_from([1, 10**6])
)
def test_intervals_and_comparisons_by_cluster(on_embedded, monkeypatch, sample, alpha, beta, n_groups, most):
    monkeypatch.setattr(_counting, "MOST_ROWS", most)
    y, first, second = sample
    groups = np.random.default_rng(0).integers(0, n_groups, y.size)
    table = on_embedded(pyarrow.table({"y": y, "s": first, "t": second, "g": groups}))
    influences = [row_influences(y, scores, alpha, beta) for scores in (first, second)]
    found = frames.evaluate(table, label="y", score=["s", "t"], groups="g", alpha=alpha, beta=beta)
    for one, influence in zip(found, influences, strict=True):
        assert one.n_clusters == np.unique(groups).size
        if 0.01 < one.interval.low < one.interval.high < 0.99:
            expected = clustered_variance(influence, groups)
            assert variance_of(one.interval) == pytest.approx(expected, rel=1e-9)
    compared = frames.compare(table, label="y", score=["s", "t"], groups="g", alpha=alpha, beta=beta)
    reach = 1.959963984540054 * math.sqrt(clustered_variance(influences[0] - influences[1], groups))
    assert compared.difference == found[0].interval.estimate - found[1].interval.estimate
    if compared.p_value > 2.0 ** (1 - min(n_groups, y.sum(), (~y).sum())):
        assert compared.high == pytest.approx(min(compared.difference + reach, 1.0), rel=1e-9)
        assert compared.low == pytest.approx(max(compared.difference - reach, -1.0), rel=1e-9)


def test_clusters_in_subgroups(on_engine):
    generator = np.random.default_rng(3)
    y = generator.random(300) < 0.4
    scores, groups = np.round(generator.normal(size=300) + y, 1), generator.integers(0, 40, 300)
    site = generator.choice(["a", None], 300)
    columns = {
        "y": y,
        "s": scores,
        "g": [f"patient {g}" for g in groups],
        "site": pyarrow.array(site, pyarrow.string()),
    }
    region = {"alpha": 0.6, "beta": 0.5}
    found = frames.evaluate(on_engine(pyarrow.table(columns)), label="y", score="s", by="site", groups="g", **region)
    assert [one.by["site"] for one in found] == ["a", None]
    for one in found:
        rows = site == one.by["site"]
        expected = clustered_variance(row_influences(y[rows], scores[rows], **region), groups[rows])
        assert variance_of(one.interval) == pytest.approx(expected, rel=1e-9)


def test_rows_without_a_cluster_are_counted():
    table = pyarrow.table({"y": [0, 1] * 5, "s": [0.1] * 10, "g": [None, None, *range(8)]})
    with pytest.raises(ValueError, match="groups='g' has 2 null values"):
        frames.evaluate(table, label="y", score="s", groups="g", alpha=0.5, beta=0.5)
