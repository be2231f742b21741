"""Variances of TPAUC from the influence of each row: no resampling.

With enough rows a TPAUC is normally distributed, and its variance follows from the influence of each row. Let ``A_i``
be the share of the ``k-`` hard negatives that the hard positive ``i`` beats, and ``B_j`` the share of the ``k+`` hard
positives that beat the hard negative ``j``, ties counted half (DeLong's placement values). The easiest example in the
region has the highest share, ``A_max`` and ``B_max``. Let ``U_i = A_max - A_i`` for the hard positives and ``V_j =
B_max - B_j`` for the hard negatives, 0 for all other rows. Then, over all rows of each class,

    var(TPAUC) = var(U) n+ / k+^2 + var(V) n- / k-^2.

The maxima account for the border of the region, which moves with the sample. With ``k+ = n+`` and ``k- = n-`` this is
the variance of the AUC by DeLong, DeLong and Clarke-Pearson (1988). For the difference of two models ``U`` and ``V``
are the differences of the two models' values, row by row.

A rectangle has a second border, beyond which lie the rows that are harder than it. ``A`` and ``B`` are shares of the
selected rows, and a harder row has the ``U`` or ``V`` of the hardest selected one: drawn once more, it pulls a row
across either border, just as that one would.

In general, let ``l`` be the influence of a row, ``-U / k+`` or ``-V / k-`` less its mean over the class. The variance
is the sum over independent units of the squares of what they contribute, each class times ``m / (m - 1)`` for its ``m``
units. A unit is a row, which contributes ``l``; a row of weight ``w`` that does not stand for repeated rows contributes
``w l``; a group of rows contributes the sum over its rows. If every row is its own group, this is the formula above.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray
from tpauc.metrics._pairs import NO_PAIRS, repeats_rows
from tpauc.region import Region

IntArray = npt.NDArray[np.intp]


class Influences(NamedTuple):
    """TPAUC, ``U / k+`` of each hard positive, and ``V / k-`` of the hard negatives in runs of equal values.

    Positives and negatives harder than a rectangle come first and last.
    """

    tpauc: float
    positives: FloatArray
    negatives: FloatArray
    run_lengths: IntArray


def influences(hard_positives: FloatArray, hard_negatives: FloatArray, harder: tuple[int, int] = (0, 0)) -> Influences:
    """Return the influence of each hard example; both arrays are sorted from the lowest score up.

    Takes a search for each positive. All negatives between the same two positives have the same influence. ``harder``
    are the numbers of positives and negatives that are harder than the region.
    """
    beaten = np.searchsorted(hard_negatives, hard_positives)
    beaten_or_tied = beaten.copy()
    # The two differ only where there are ties; most scores have none.
    tied = np.flatnonzero(hard_negatives[np.minimum(beaten, hard_negatives.size - 1)] == hard_positives)
    beaten_or_tied[tied] = np.searchsorted(hard_negatives, hard_positives[tied], side="right")
    twice_won = beaten + beaten_or_tied
    # A positive is below the negative at place j if it beats at most j of them, and no higher if it beats or ties with
    # at most j. So twice the number of positives below a negative, ties counted half, grows by 1 at each of these:
    edges = np.sort(np.concatenate((beaten, beaten_or_tied)), kind="stable")
    below_the_lowest = int(np.searchsorted(edges, 0, side="right"))
    edges = edges[below_the_lowest:]
    twice_pairs = 2 * hard_positives.size * hard_negatives.size
    run_lengths = np.diff(edges, prepend=0, append=hard_negatives.size)
    run_lengths[np.flatnonzero(run_lengths)[-1]] += harder[1]
    of_positives = (twice_won[-1] - twice_won) / twice_pairs
    return Influences(
        tpauc=int(twice_won.sum()) / twice_pairs,
        positives=np.concatenate((np.repeat(of_positives[:1], harder[0]), of_positives)),
        negatives=np.arange(edges.size + 1) / twice_pairs,
        run_lengths=run_lengths,
    )


def row_influences(positive: BoolArray, scores: FloatArray, region: Region) -> FloatArray:
    """Return for each row by how much, to first order, TPAUC would grow if the row were there once more.

    This is ``-U / k+`` or ``-V / k-`` less its mean over the class. A row outside the region counts like the row on the
    border, which it would push out.
    """
    rows_of_positives, rows_of_negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
    harder_positives, k_positive = region.ranks_of_positives(rows_of_positives.size)
    harder_negatives, k_negative = region.ranks_of_negatives(rows_of_negatives.size)
    hard_positives = rows_of_positives[_hardest(scores[rows_of_positives], k_positive)]
    hard_negatives = rows_of_negatives[_hardest(-scores[rows_of_negatives], k_negative)][::-1]
    found = influences(
        scores[hard_positives[harder_positives:]],
        scores[hard_negatives[: k_negative - harder_negatives]],
        (harder_positives, harder_negatives),
    )
    influence = np.zeros(scores.size)
    influence[hard_positives] = -found.positives
    influence[hard_negatives] = -np.repeat(found.negatives, found.run_lengths)
    for rows in (rows_of_positives, rows_of_negatives):
        influence[rows] -= influence[rows].mean()
    return influence


def _hardest(ease: FloatArray, k: int) -> IntArray:
    """Return the places of the ``k`` smallest values, in ascending order."""
    places = np.arange(ease.size) if k == ease.size else np.argpartition(ease, k - 1)[:k]
    return places[np.argsort(ease[places])]


class WeightedInfluences(NamedTuple):
    """The influence of each row per weight, and how much of its weight the region selects."""

    influence: FloatArray
    inside: FloatArray


def weighted_influences(
    positive: BoolArray, scores: FloatArray, weight: FloatArray, region: Region
) -> WeightedInfluences:
    """Return :func:`row_influences` for rows with weights above 0, all counts by weight."""
    classes = np.flatnonzero(positive), np.flatnonzero(~positive)
    totals = [float(weight[rows].sum()) for rows in classes]
    if repeats_rows(weight):
        borders: tuple[tuple[float, float], ...] = (
            region.ranks_of_positives(int(totals[0])),
            region.ranks_of_negatives(int(totals[1])),
        )
    else:
        shares = (region.min_alpha, region.alpha), (region.min_beta, region.beta)
        borders = tuple((total * first, total * last) for total, (first, last) in zip(totals, shares, strict=True))
    influence, inside = np.zeros(scores.size), np.zeros(scores.size)
    for rows, (first, last), sign in zip(classes, borders, (1.0, -1.0), strict=True):
        hardest = rows[np.argsort(sign * scores[rows], kind="stable")]
        before = np.cumsum(weight[hardest]) - weight[hardest]
        inside[hardest] = np.clip(last - before, 0.0, weight[hardest])
        if first > 0.0:
            inside[hardest] -= np.clip(first - before, 0.0, weight[hardest])
        # Rows tied at a border share what the region takes of them, so that the order of rows does not matter.
        selected = hardest[np.flatnonzero(inside[hardest])]
        if not selected.size:
            raise ValueError(NO_PAIRS)
        for border in {scores[selected[-1]]} | ({scores[selected[0]]} if first > 0.0 else set()):
            tied = rows[scores[rows] == border]
            inside[tied] = weight[tied] * (inside[tied].sum() / weight[tied].sum())
    hard = [rows[inside[rows] > 0.0] for rows in classes]
    for rows, own, other, sign in ((classes[0], hard[0], hard[1], 1.0), (classes[1], hard[1], hard[0], -1.0)):
        won = _share_below(sign * scores[own], sign * scores[other], inside[other])
        influence[own] = (won - won.max()) / float(inside[own].sum())
        harder = rows[sign * scores[rows] < (sign * scores[own]).min()]
        influence[harder] = influence[own].min()
    for rows in classes:
        influence[rows] -= np.average(influence[rows], weights=weight[rows])
    return WeightedInfluences(influence, inside)


def _share_below(values: FloatArray, others: FloatArray, weight: FloatArray) -> FloatArray:
    """Return for each value the share of the others' weight that is lower, ties counted half."""
    order = np.argsort(others)
    mass_below = np.concatenate(([0.0], np.cumsum(weight[order])))
    ordered = others[order]
    lower, not_higher = (mass_below[np.searchsorted(ordered, values, side=side)] for side in ("left", "right"))
    share: FloatArray = (lower + not_higher) / (2.0 * mass_below[-1])
    return share


class Moments(NamedTuple):
    """Sums over independent units (rows or groups of rows) of the squares and fourth powers of what they contribute."""

    variance: float
    fourth: float

    @classmethod
    def of(cls, contributions: FloatArray, times: FloatArray | float = 1.0) -> Moments:
        """Return the moments of contributions that stand for several units each."""
        squares = contributions**2
        return cls(float((times * squares).sum()), float((times * squares**2).sum()))

    @property
    def effective_number(self) -> float:
        """How many equal contributions would vary as much in their sum of squares, at least 1; infinity if all are 0.

        Few of them decide the estimate, however many rows there are.
        """
        return max(self.variance**2 / self.fourth, 1.0) if self.fourth > 0.0 else math.inf


def contributions(
    influence: FloatArray, positive: BoolArray, weight: FloatArray | None = None, groups: IntArray | None = None
) -> tuple[FloatArray, FloatArray | float]:
    """Return what each unit contributes, and how many such units there are, from the influence of rows per weight."""
    repeats = groups is None and weight is not None and repeats_rows(weight)
    by_row = influence.copy() if weight is None or repeats else influence * weight
    for side in (positive, ~positive):
        if groups is not None:
            n_units = float(np.unique(groups[side]).size)
        else:
            n_units = float(weight[side].sum() if repeats and weight is not None else np.count_nonzero(side))
        by_row[side] *= math.sqrt(n_units / max(n_units - 1.0, 1.0))
    if groups is not None:
        return np.bincount(groups, weights=by_row).astype(np.float64), 1.0
    return by_row, weight if repeats and weight is not None else 1.0


def units_inside(inside: FloatArray, weight: FloatArray, groups: IntArray | None, repeats: bool) -> float:
    """Return how many units the region selects: repeated rows, or as many equal ones as vary like these weights.

    Repeated rows that are tied at the border come whole: the squares over groups are expected ones, over all orders.
    """
    if groups is None:
        if repeats:
            return float(np.rint(inside.sum()))  # parts of tied rows add up to a whole number
        share = inside / inside.max()
        return float(share.sum() ** 2 / (share**2).sum())
    by_group = np.bincount(groups, weights=inside).astype(np.float64)
    largest = float(by_group.max())
    squares = float(((by_group / largest) ** 2).sum())
    tied = (inside > 0.0) & (inside < weight)
    if repeats and tied.any():
        rows = np.flatnonzero(tied)
        shares, at_border = np.unique(np.round(inside[rows] / weight[rows], 9), return_inverse=True)
        for border in range(shares.size):  # a rectangle has two, each with its own share of ties
            at = rows[at_border == border]
            in_group = np.bincount(groups[at], weights=weight[at])
            share_of_ties = float(inside[at][0] / weight[at][0])
            squares += spread_of_ties(share_of_ties, float(in_group.sum()), float(in_group @ in_group)) / largest**2
    return float((by_group / largest).sum() ** 2 / squares)


def spread_of_ties(share: float, number: float, squares: float) -> float:
    """Return the sum over groups of the variance of how many rows are drawn, if a share of tied rows is.

    ``number`` is how many rows are tied, ``squares`` the sum of squares of their numbers in each group.
    """
    return share * (1.0 - share) * float(number**2 - squares) / max(float(number) - 1.0, 1.0)


def contributions_of_runs(found: Influences, n_positive: int, n_negative: int) -> Moments:
    """Return the moments of what all rows contribute; rows easier than the region have the influence 0."""
    moments = [
        _centred_moments(found.positives, 1, n_positive),
        _centred_moments(found.negatives, found.run_lengths, n_negative),
    ]
    factors = [n / max(n - 1, 1) for n in (n_positive, n_negative)]
    return Moments(
        sum(second * factor for (second, _), factor in zip(moments, factors, strict=True)),
        sum(fourth * factor**2 for (_, fourth), factor in zip(moments, factors, strict=True)),
    )


def _centred_moments(values: FloatArray, times: IntArray | int, n: int) -> tuple[float, float]:
    """Return sums of squares and fourth powers about the mean of ``n`` numbers: ``values`` by ``times``, and zeros."""
    first, second, third, fourth = (float((values**power * times).sum()) for power in (1, 2, 3, 4))
    mean = first / n
    return (
        max(second - n * mean**2, 0.0),
        max(fourth - 4.0 * mean * third + 6.0 * mean**2 * second - 3.0 * n * mean**4, 0.0),
    )


def quantile(confidence: float, effective_number: float) -> float:
    """Return how many standard deviations a two-sided interval reaches to each side, by Student's distribution."""
    if math.isinf(effective_number):
        return NormalDist().inv_cdf((1.0 + confidence) / 2.0)
    from scipy.special import stdtrit  # takes longer to load than all else here takes to run

    return float(stdtrit(effective_number, (1.0 + confidence) / 2.0))


def two_sided_p_value(deviations: float, effective_number: float) -> float:
    """Return the probability of a difference of at least so many standard deviations, by Student's distribution."""
    if math.isinf(effective_number):
        return math.erfc(deviations / math.sqrt(2.0))
    from scipy.special import stdtr

    return float(2.0 * stdtr(effective_number, -deviations))
