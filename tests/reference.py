"""Plain O(n^2) loops that every fast path is compared with. Imports nothing from tpauc."""

import math
from fractions import Fraction

import numpy as np

TIE = {"half": 0.5, "optimistic": 1.0, "pessimistic": 0.0}


def hard_count(n, share):
    """floor(n * share) in exact decimal arithmetic, the share read as it is printed."""
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


def partial_auc(y, s, alpha, beta, min_alpha, min_beta, ties="half"):
    """Return the mean over the pairs of a rectangle: hard examples, without the hardest ones of them."""
    positives, negatives = selected(y, s, alpha, beta)
    n_positive = sum(label > 0 for label in y)
    positives = positives[hard_count(n_positive, min_alpha) if min_alpha else 0 :]
    negatives = negatives[hard_count(len(y) - n_positive, min_beta) if min_beta else 0 :]
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


def weighted_selection(ordered, share, whole):
    """(score, weight inside) of the first examples of ``ordered`` that make up the share of the weight, exactly."""
    total = sum(weight for _, weight in ordered)
    room = Fraction(repr(float(share))) * total
    if whole:
        room = Fraction(math.floor(room))
    inside = []
    for score, weight in ordered:
        part = min(weight, room)
        room -= part
        inside.append((score, part))
    return inside


def weighted_tpauc(y, s, w, alpha, beta, ties="half"):
    """TPAUC whose region may cut an example; if all weights are whole numbers its masses are rounded down instead."""
    rows = [(score, Fraction(float(weight)), label) for score, weight, label in zip(s, w, y, strict=True)]
    positives = sorted((score, weight) for score, weight, label in rows if label > 0)
    negatives = sorted(((score, weight) for score, weight, label in rows if label <= 0), reverse=True)
    whole = all(weight.denominator == 1 for _, weight, _ in rows)
    positives, negatives = weighted_selection(positives, alpha, whole), weighted_selection(negatives, beta, whole)
    won = sum(u * v * Fraction(pair_credit(p, n, ties)) for p, u in positives for n, v in negatives)
    return float(won / (sum(u for _, u in positives) * sum(v for _, v in negatives)))


def weighted_opauc(y, s, w, min_fpr, beta, ties="half"):
    """OPAUC between two rates, from the exact weight of each negative inside either of them."""
    rows = [(score, Fraction(float(weight)), label) for score, weight, label in zip(s, w, y, strict=True)]
    positives = [(score, weight) for score, weight, label in rows if label > 0]
    negatives = sorted(((score, weight) for score, weight, label in rows if label <= 0), reverse=True)
    whole = all(weight.denominator == 1 for _, weight, _ in rows)
    last, first = (weighted_selection(negatives, share, whole) for share in (beta, min_fpr))
    between = [(score, up_to - before) for (score, up_to), (_, before) in zip(last, first, strict=True)]
    won = sum(u * v * Fraction(pair_credit(p, n, ties)) for p, u in positives for n, v in between)
    return float(won / (sum(u for _, u in positives) * sum(v for _, v in between)))


def weighted_tpr_dependent_opauc(y, s, w, alpha, beta, ties="half"):
    """Return the normalised area; the lowest easy positive is the first with weight that is not inside."""
    rows = [(score, Fraction(float(weight)), label) for score, weight, label in zip(s, w, y, strict=True)]
    positives = sorted((score, weight) for score, weight, label in rows if label > 0)
    negatives = sorted(((score, weight) for score, weight, label in rows if label <= 0), reverse=True)
    whole = all(weight.denominator == 1 for _, weight, _ in rows)
    hard, inside = weighted_selection(positives, alpha, whole), weighted_selection(negatives, beta, whole)
    easy = [(p, weight - u) for (p, weight), (_, u) in zip(positives, hard, strict=True) if weight > u]
    won = sum(u * v * Fraction(pair_credit(p, n, ties)) for p, u in hard for n, v in inside)
    if easy:
        left = sum(u for _, u in easy)
        won += left * sum(v * Fraction(pair_credit(easy[0][0], n, ties)) for n, v in inside)
    return float(won / (sum(u for _, u in positives) * sum(v for _, v in inside)))


def repeated(values, counts):
    return np.repeat(np.asarray(values), np.asarray(counts))


def exact(share):
    """Return the share as it is printed, as a fraction."""
    return Fraction(repr(float(share)))


def alarms_at(y, s, w, threshold):
    """Weights of the positives and of the negatives whose score is at least the threshold."""
    caught = sum(weight for label, v, weight in zip(y, s, w, strict=True) if label and v >= threshold)
    alarmed = sum(weight for label, v, weight in zip(y, s, w, strict=True) if not label and v >= threshold)
    return caught, alarmed


def picked_threshold(y, s, w, rule, alpha, beta, *, costs=(1, 1), capacity=(0, 1), prevalence=None):
    """Try every threshold with whole weights; ties go to the widest gap below, then to the higher threshold."""
    w = [int(weight) for weight in w]
    n_positive, n_negative = alarms_at(y, s, w, -math.inf)
    p = Fraction(n_positive, n_positive + n_negative) if prevalence is None else exact(prevalence)
    thresholds = [*sorted({v for v, weight in zip(s, w, strict=True) if weight}), math.inf]
    best = None
    for place, threshold in enumerate(thresholds):
        caught, alarmed = alarms_at(y, s, w, threshold)
        missed = n_positive - caught
        rate = p * Fraction(caught, n_positive) + (1 - p) * Fraction(alarmed, n_negative)
        possible, objective = {
            "max_tpr": (alarmed <= hard_count(n_negative, beta), (-caught, alarmed)),
            "min_fpr": (missed <= hard_count(n_positive, alpha), (alarmed, -caught)),
            "capacity": (rate <= exact(capacity[0]) / exact(capacity[1]), (-caught, alarmed)),
            "cost": (
                True,
                exact(costs[0]) * p * Fraction(missed, n_positive)
                + exact(costs[1]) * (1 - p) * Fraction(alarmed, n_negative),
            ),
        }[rule]
        gap = threshold - thresholds[place - 1] if place else math.inf
        if possible and (best is None or (objective, -gap, -threshold) < best):
            best = objective, -gap, -threshold
    return -best[2]


def most_exceeding(n, share, guarantee):
    """Largest r with P(Bin(n, share) <= r) <= 1 - guarantee, in fractions; None if there is none."""
    p, total = exact(share), Fraction(0)
    for r in range(n + 1):
        total += math.comb(n, r) * p**r * (1 - p) ** (n - r)
        if total > 1 - exact(guarantee):
            return r - 1 if r else None
    return n


# ---------------------------------------------------------------------------------------------------- large samples


def influences(positive_scores, negative_scores, k_positive, k_negative):
    """Return U / k+ of each positive and V / k- of each negative as in DeLong's variance, by comparing all pairs."""

    def losses(own, others, k_own, k_other, sign):
        order = np.argsort(sign * own, kind="stable")
        hard_own, hard_other = order[:k_own], np.sort(-sign * others)[:k_other] * -sign
        won = [np.mean((sign * own[i] > sign * hard_other) + 0.5 * (own[i] == hard_other)) for i in hard_own]
        values = np.zeros(own.size)
        values[hard_own] = (max(won) - np.array(won)) / k_own
        return values

    positives = losses(positive_scores, negative_scores, k_positive, k_negative, 1.0)
    return positives, losses(negative_scores, positive_scores, k_negative, k_positive, -1.0)


def normal_variance(values):
    """Return the variance of the sum of independent rows with these values."""
    return values.size * np.var(values, ddof=1) if values.size > 1 else 0.0
