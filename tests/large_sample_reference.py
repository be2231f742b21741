"""Large-sample intervals of a TPAUC from all pairs, which the sums of `tpauc.frames` and of histograms must equal."""

from types import SimpleNamespace

import numpy as np

from reference import hard_count, influences, normal_variance, tpauc
from tpauc.metrics.large_sample import logit_limits, normal_comparison


def _by_class(y, scores, alpha, beta):
    y, scores = np.asarray(y, dtype=bool), np.asarray(scores, dtype=np.float64)
    counts = hard_count(int(y.sum()), alpha), hard_count(int((~y).sum()), beta)
    return counts, influences(scores[y], scores[~y], *counts)


def interval_by_pairs(y, scores, *, alpha, beta, confidence=0.95):
    counts, values = _by_class(y, scores, alpha, beta)
    estimate = tpauc(y, scores, alpha, beta)
    low, high = logit_limits(estimate, sum(map(normal_variance, values)), min(counts), confidence)
    return SimpleNamespace(estimate=estimate, low=low, high=high)


def comparison_by_pairs(y, first, second, *, alpha, beta, confidence=0.95):
    _, values = _by_class(y, first, alpha, beta)
    _, others = _by_class(y, second, alpha, beta)
    variance = sum(normal_variance(a - b) for a, b in zip(values, others, strict=True))
    difference = tpauc(y, first, alpha, beta) - tpauc(y, second, alpha, beta)
    n_rows = int(min(np.count_nonzero(y), np.count_nonzero(~np.asarray(y, dtype=bool))))
    return normal_comparison(difference, variance, n_rows, confidence)
