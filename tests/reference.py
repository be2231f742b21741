"""Plain O(n^2) loops that every fast path is compared with. Imports nothing from tpauc."""

import math

import numpy as np

TIE = {"half": 0.5, "optimistic": 1.0, "pessimistic": 0.0}


def hard_count(n, share):
    """floor(n * share) in exact decimal arithmetic, the share read as it is printed."""
    from fractions import Fraction

    exact = Fraction(repr(float(share))) * n
    return math.floor(exact + Fraction(1, 10**12))


def selected(y, s, alpha, beta):
    positives = sorted(v for v, label in zip(s, y, strict=True) if label > 0)
    negatives = sorted((v for v, label in zip(s, y, strict=True) if label <= 0), reverse=True)
    return positives[: hard_count(len(positives), alpha)], negatives[: hard_count(len(negatives), beta)]


def pair_credit(p, n, ties):
    return 1.0 if p > n else TIE[ties] if p == n else 0.0


def tpauc(y, s, alpha, beta, ties="half"):
    positives, negatives = selected(y, s, alpha, beta)
    total = math.fsum(pair_credit(p, n, ties) for p in positives for n in negatives)
    return total / (len(positives) * len(negatives))


def opauc(y, s, min_fpr, beta, ties="half"):
    positives, negatives = selected(y, s, 1.0, beta)
    negatives = negatives[hard_count(sum(label <= 0 for label in y), min_fpr) if min_fpr else 0 :]
    total = math.fsum(pair_credit(p, n, ties) for p in positives for n in negatives)
    return total / (len(positives) * len(negatives))


def tpr_dependent_opauc(y, s, alpha, beta, ties="half"):
    """Geometric area, by the definition in counts."""
    positives = sorted(v for v, label in zip(s, y, strict=True) if label > 0)
    n_negative = len(y) - len(positives)
    hard, negatives = selected(y, s, alpha, beta)
    easy = positives[len(hard) :]
    total = math.fsum(pair_credit(p, n, ties) for p in hard for n in negatives)
    if easy:
        total += len(easy) * math.fsum(pair_credit(easy[0], n, ties) for n in negatives)
    return total / (len(positives) * n_negative)


def repeated(values, counts):
    return np.repeat(np.asarray(values), np.asarray(counts))
