"""The large-sample interval of a TPAUC from sums over its hard pairs; the sums may come from any engine.

Cut the score axis into cells, from the lowest scores up. In cell ``c`` lie ``p_c`` hard positives and ``q_c`` hard
negatives; ``P_c`` and ``Q_c`` of them lie in lower cells. Inside its cell a hard positive has twice ``w`` hard
negatives below it, ties counted half; a hard negative has twice ``v`` hard positives below it. Then

    pairs won   = sum over cells of p_c Q_c + the pairs won inside cells,
    A of a positive      = (2 Q_c + w) / (2 k-),
    1 - B of a negative  = (2 P_c + v) / (2 k+),

and the sums of ``U = A_max - A`` and ``V = B_max - B`` and of their squares follow from the counts of the cells and,
for each cell, from the sums of ``w``, ``w^2`` and ``v^2`` (``v`` sums to ``2 p_c q_c`` minus the sum of ``w``). As in
DeLong, DeLong and Clarke-Pearson (1988), over all rows of each class,

    var(TPAUC) = var(U) n+ / k+^2 + var(V) n- / k-^2.

Counts are whole numbers of any size, so nothing is rounded before the last step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc.metrics.comparison import Comparison

IntArray = npt.NDArray[np.int64]
AnyIntArray = npt.NDArray[Any]  # of Python's whole numbers


@dataclass(frozen=True)
class CellSums:
    """Sums inside each cell, in the order of the cells; all zero for a cell that lacks a class.

    ``won`` and ``tied`` count pairs, ``w_squares`` and ``v_squares`` are sums of squares. ``w_last`` belongs to the
    highest hard positive of the cell, ``v_first`` to the lowest hard negative.
    """

    won: AnyIntArray
    tied: AnyIntArray
    w_squares: AnyIntArray
    v_squares: AnyIntArray
    w_last: AnyIntArray
    v_first: AnyIntArray

    @classmethod
    def all_tied(cls, positives: IntArray, negatives: IntArray) -> CellSums:
        """Return the sums if all scores of a cell are equal."""
        p, q = _whole(positives), _whole(negatives)
        return cls(won=0 * p, tied=p * q, w_squares=p * q**2, v_squares=q * p**2, w_last=q, v_first=p)


@dataclass(frozen=True)
class PairSums:
    """What the estimate and its interval need.

    Totals and squares are of ``2 k- U`` and ``2 k+ V``, whole numbers. ``highest`` is ``2 k- A_max``, ``lowest`` is
    ``2 k+ (1 - B_max)``.
    """

    n_positive: int
    n_negative: int
    k_positive: int
    k_negative: int
    won: int
    tied: int
    positive_total: int
    positive_squares: int
    negative_total: int
    negative_squares: int
    highest: int
    lowest: int

    @classmethod
    def of_cells(
        cls, n_positive: int, n_negative: int, positives: IntArray, negatives: IntArray, inside: CellSums
    ) -> PairSums:
        """Add up cells; ``positives`` and ``negatives`` count the hard examples of each cell."""
        p, q = _whole(positives), _whole(negatives)
        lower_p, lower_q = np.cumsum(p) - p, np.cumsum(q) - q
        k_positive, k_negative = int(p.sum()), int(q.sum())
        won, tied = int(p @ lower_q + inside.won.sum()), int(inside.tied.sum())
        inside_w = 2 * inside.won + inside.tied
        inside_v = 2 * p * q - inside_w
        last, first = int(np.flatnonzero(positives)[-1]), int(np.flatnonzero(negatives)[0])
        highest = int(2 * lower_q[last] + inside.w_last[last])
        lowest = int(2 * lower_p[first] + inside.v_first[first])
        w_total, w_squares = _total_and_squares(p, 2 * lower_q, inside_w, inside.w_squares)
        v_total, v_squares = _total_and_squares(q, 2 * lower_p, inside_v, inside.v_squares)
        return cls(
            n_positive,
            n_negative,
            k_positive,
            k_negative,
            won,
            tied,
            positive_total=k_positive * highest - w_total,
            positive_squares=k_positive * highest**2 - 2 * highest * w_total + w_squares,
            negative_total=v_total - k_negative * lowest,
            negative_squares=k_negative * lowest**2 - 2 * lowest * v_total + v_squares,
            highest=highest,
            lowest=lowest,
        )

    @classmethod
    def of_tied_cells(cls, n_positive: int, n_negative: int, positives: IntArray, negatives: IntArray) -> PairSums:
        """Add up cells in which all scores are equal; empty ones may be among them."""
        filled = positives + negatives > 0
        positives, negatives = positives[filled], negatives[filled]
        return cls.of_cells(n_positive, n_negative, positives, negatives, CellSums.all_tied(positives, negatives))

    @property
    def twice_pairs(self) -> int:
        """Twice the number of hard pairs, ``2 k+ k-``."""
        return 2 * self.k_positive * self.k_negative

    def estimate(self, tie: float = 0.5) -> float:
        """Return TPAUC, as :func:`tpauc.tpauc_score` does from the same counts."""
        return (self.won + tie * self.tied) / (self.k_positive * self.k_negative)

    def variance(self) -> float:
        """Return the variance of TPAUC if all rows are independent."""
        return (
            influence_deviation(self.positive_total, self.positive_squares, self.n_positive, self.twice_pairs) ** 2
            + influence_deviation(self.negative_total, self.negative_squares, self.n_negative, self.twice_pairs) ** 2
        )


def influence_deviation(total: int, squares: int, n: int, scale: int) -> float:
    """Return the standard deviation of a sum of ``n`` rows from the sum of ``x`` and ``x^2``, ``x / scale`` per row."""
    return math.sqrt(max(n * squares - total**2, 0) / (max(n - 1, 1) * scale**2))


def logit_limits(estimate: float, variance: float, fewest: int, confidence: float) -> tuple[float, float]:
    """Return the limits of an interval that is symmetric in ``log(x / (1 - x))``, so that it stays within (0, 1).

    An estimate of 0 or 1 shows no spread. Its interval is the exact one of a proportion among ``fewest`` examples, the
    smaller number of hard positives or hard negatives.
    """
    if not 0.0 < estimate < 1.0:
        unseen = ((1.0 - confidence) / 2.0) ** (1.0 / fewest)
        return (0.0, 1.0 - unseen) if estimate == 0.0 else (unseen, 1.0)
    reach = normal_reach(confidence) * math.sqrt(variance) / (estimate * (1.0 - estimate))
    logit = math.log(estimate / (1.0 - estimate))
    return _sigmoid(logit - reach), _sigmoid(logit + reach)


def normal_comparison(difference: float, variance: float, n_rows: int, confidence: float) -> Comparison:
    """Return the interval and the two-sided p-value of a normal difference of two models.

    ``n_rows`` independent rows say no more than ``n_rows`` signs do, so the p-value is at least ``2^(1 - n_rows)``.
    """
    if variance == 0.0:  # the same order of all that counts, or all pairs right in one and wrong in the other
        low, high, p_value = difference, difference, 1.0 if difference == 0.0 else 0.0
    else:
        deviation = math.sqrt(variance)
        reach = normal_reach(confidence) * deviation
        low, high = max(difference - reach, -1.0), min(difference + reach, 1.0)
        p_value = math.erfc(abs(difference) / deviation / math.sqrt(2.0))
    least = 2.0 ** (1 - n_rows)
    if p_value < least and least > 1.0 - confidence:
        low, high = min(low, 0.0), max(high, 0.0)
    return Comparison(difference, low, high, max(p_value, least), "delong")


def normal_reach(confidence: float) -> float:
    """Return how many standard deviations a two-sided normal interval reaches to each side."""
    return NormalDist().inv_cdf((1.0 + confidence) / 2.0)


def _total_and_squares(
    counts: AnyIntArray, base: AnyIntArray, inside_total: AnyIntArray, inside_squares: AnyIntArray
) -> tuple[int, int]:
    """Return the sums of ``base + w`` and of its square over all rows, from the sums of ``w`` in each cell."""
    total = counts @ base + inside_total.sum()
    squares = counts @ base**2 + 2 * (base @ inside_total) + inside_squares.sum()
    return int(total), int(squares)


def _whole(counts: IntArray) -> AnyIntArray:
    """Return counts as Python's whole numbers, which do not overflow."""
    return counts.astype(object)


def _sigmoid(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0.0 else math.exp(logit) / (1.0 + math.exp(logit))
