"""The counts of large data equal plain loops, whatever the scores; the values are whole numbers and equal exactly."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc.metrics import _binning, _pairs
from tpauc.metrics._binning import count_pairs
from tpauc.metrics._pairs import selected_pairs
from tpauc.metrics.area import auc_score, opauc_score, tpauc_score

KINDS = {
    "few values": st.integers(-2, 2).map(float),
    "any finite": st.floats(allow_nan=False, allow_infinity=False),
    "huge": st.sampled_from([-1.7e308, -1e308, 0.0, 1e308, 1.7e308]),
    "denormal": st.integers(-3, 3).map(lambda n: n * 5e-324),
    "neighbours": st.integers(0, 5).map(lambda n: 1.0 + n * 2.0**-52),
    "one far off": st.sampled_from([0.1, 0.2, 0.3, 0.4, 1e300]),
    "one value": st.just(0.5),
    "zeros": st.sampled_from([0.0, -0.0]),
    "unit interval": st.floats(0, 1),
}


def plain_counts(y, s, k_positive, k_negative):
    positives = sorted(v for v, label in zip(s, y, strict=True) if label)[:k_positive]
    negatives = sorted((v for v, label in zip(s, y, strict=True) if not label), reverse=True)[:k_negative]
    return sum(p > n for p in positives for n in negatives), sum(p == n for p in positives for n in negatives)


@st.composite
def labelled(draw):
    y = draw(st.lists(st.booleans(), min_size=2, max_size=60).filter(lambda y: 0 < sum(y) < len(y)))
    values = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    s = np.array(draw(st.lists(values, min_size=len(y), max_size=len(y))))
    if draw(st.booleans()):
        with np.errstate(over="ignore"):
            s = np.clip(s, -3e38, 3e38).astype(np.float32)
    n_positive = sum(y)
    shares = st.sampled_from([0.0, 0.3, 0.5, 1.0])
    k = [max(1, int(n * draw(shares))) for n in (n_positive, len(y) - n_positive)]
    return np.array(y), s, *k


@given(sample=labelled(), size=st.sampled_from([4, 16, 1 << 13]), block=st.sampled_from([3, 1 << 14]))
@settings(deadline=None, max_examples=300)
def test_counts_equal_the_plain_loops(sample, size, block):
    """Small samples and blocks, so that brackets miss their borders and rows cross blocks."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(_binning, "_SAMPLE", size)
        monkeypatch.setattr(_binning, "_BLOCK", block)
        monkeypatch.setattr(_binning, "_ERRORS", 0.5)
        assert count_pairs(*sample) == plain_counts(*sample)


@given(sample=labelled())
@settings(deadline=None, max_examples=100)
def test_all_pairs_by_every_way(sample):
    y, s, *_ = sample
    expected = plain_counts(y, s, y.size, y.size)
    assert _binning._count_all(s[y], s[~y]) == expected
    assert _binning._count_by_value(s[y], s[~y]) == expected
    assert _binning._count_by_sorting(s[y], s[~y]) == expected
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(_binning, "_MOST_BINS", 0)
        assert _binning._count_by_value(s[y], s[~y]) == expected


def test_the_comparison_can_fail():
    y, s = np.array([True, False, True]), np.array([1.0, 0.5, 0.5])
    assert plain_counts(y, s, 2, 1) == (1, 1) == count_pairs(y, s, 2, 1)
    assert plain_counts(y, -s, 2, 1) != count_pairs(y, s, 2, 1)


def large(kind, n=50_000, share=0.1):
    generator = np.random.default_rng(0)
    y = generator.random(n) < share
    s = generator.normal(size=n) + 2 * y
    if kind == "ties":
        s = s.round(1)
    elif kind == "sorted":
        order = np.argsort(s)
        y, s = y[order], s[order]
    elif kind == "reversed":
        order = np.argsort(-s)
        y, s = y[order], s[order]
    elif kind == "sigmoid":
        s = 1 / (1 + np.exp(-8 * s))
    elif kind == "far off":
        s[np.flatnonzero(~y)[:2]] = 1e300, -1e300
        s[np.flatnonzero(y)[:2]] = 1e301, -1e301
    elif kind == "huge":
        s = s * 1e307
    elif kind == "float32":
        s = s.astype(np.float32)
    elif kind == "one value":
        s = np.full(n, 0.25)
    elif kind == "perfect":
        s = s + 100 * y
    elif kind == "wrong":
        s = s - 100 * y
    elif kind == "periodic":  # a sample sees only one of two populations
        s[:: n // _binning._SAMPLE] += 50
    return y, s


LARGE = [
    "normal",
    "ties",
    "sorted",
    "reversed",
    "sigmoid",
    "far off",
    "huge",
    "float32",
    "one value",
    "perfect",
    "wrong",
    "periodic",
]


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("share", [0.001, 0.1, 0.6])
def test_large_data_equal_the_path_of_small_data(kind, share, monkeypatch):
    y, s = large(kind, share=share)
    n_positive = int(y.sum())
    n_negative = y.size - n_positive
    for k_positive in {1, n_positive // 3, n_positive - 1, n_positive}:
        for k_negative in {1, n_negative // 3, n_negative - 1, n_negative}:
            monkeypatch.setattr(_pairs, "_MANY_ROWS", 10**9)
            expected = selected_pairs(y, s, k_positive, k_negative)
            monkeypatch.setattr(_pairs, "_MANY_ROWS", 0)
            assert selected_pairs(y, s, k_positive, k_negative) == expected


@pytest.mark.parametrize("kind", LARGE)
def test_metrics_are_the_same_to_the_last_bit(kind, monkeypatch):
    y, s = large(kind)
    found = []
    for many in (0, 10**9):
        monkeypatch.setattr(_pairs, "_MANY_ROWS", many)
        found.append(
            [
                *(tpauc_score(y, s, alpha=0.3, beta=0.3, ties=t) for t in ("half", "optimistic", "pessimistic")),
                opauc_score(y, s, beta=0.1),
                opauc_score(y, s, beta=0.1, min_fpr=0.02),
                auc_score(y, s),
            ]
        )
    assert found[0] == found[1]


def test_scores_are_not_modified():
    y, s = large("normal")
    before = y.copy(), s.copy()
    for k in ((100, 1_000), (int(y.sum()), int((~y).sum()))):
        count_pairs(y, s, *k)
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(s, before[1])


@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("shares", [(0.3, 0.3), (1.0, 0.1), (1.0, 1.0)])
def test_memory_is_at_most_four_vectors(share, shares):
    y, s = large("normal", n=400_000, share=share)
    k = int(shares[0] * y.sum()), int(shares[1] * (~y).sum())
    tracemalloc.start()
    count_pairs(y, s, *k)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 4 * s.nbytes


def test_a_bracket_holds_the_border():
    sample = np.random.default_rng(0).normal(size=1_000)
    low, high = _binning._bracket(sample, 0.3)
    assert low < np.quantile(sample, 0.3) < high
    assert _binning._bracket(sample, 1.0) == (math.inf, math.inf)
    assert _binning._bracket(sample[:3], 0.3) == (-math.inf, math.inf)
    assert _binning._bracket(sample[:0], 0.3) == (-math.inf, math.inf)
