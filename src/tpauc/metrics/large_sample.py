"""The large-sample interval of a TPAUC from sums over its hard pairs; the sums may come from any engine.

Cut the score axis into cells, from the lowest scores up. In cell ``c`` lie ``p_c`` hard positives and ``q_c`` hard
negatives; ``P_c`` and ``Q_c`` of them lie in lower cells. Inside its cell a hard positive has twice ``w`` hard
negatives below it, ties counted half; a hard negative has twice ``v`` hard positives below it. Then

    pairs won   = sum over cells of p_c Q_c + the pairs won inside cells,
    A of a positive      = (2 Q_c + w) / (2 k-),
    1 - B of a negative  = (2 P_c + v) / (2 k+),

and the sums of ``U = A_max - A`` and ``V = B_max - B`` and of their powers up to the fourth follow from the counts of
the cells and, for each cell, from the sums of ``w^j`` and ``v^j`` (``v`` sums to ``2 p_c q_c`` minus the sum of ``w``).
They give the variance, as in DeLong, DeLong and Clarke-Pearson (1988), over all rows of each class,

    var(TPAUC) = var(U) n+ / k+^2 + var(V) n- / k-^2,

and with the fourth powers the effective number of rows that decide (:class:`Moments`), on which the limits depend.

Counts are whole numbers of any size, so nothing is rounded before the last step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc.metrics._delong import Moments as Moments
from tpauc.metrics._delong import quantile
from tpauc.metrics._delong import spread_of_ties as spread_of_ties

IntArray = npt.NDArray[np.int64]
AnyIntArray = npt.NDArray[Any]  # of Python's whole numbers


POWERS = (2, 3, 4)


@dataclass(frozen=True)
class CellSums:
    """Sums inside each cell, in the order of the cells; all zero for a cell that lacks a class.

    ``won`` and ``tied`` count pairs; ``w_powers`` and ``v_powers`` are the sums of second, third and fourth powers.
    ``w_last`` belongs to the highest hard positive of the cell, ``v_first`` to the lowest hard negative.
    """

    won: AnyIntArray
    tied: AnyIntArray
    w_powers: dict[int, AnyIntArray]
    v_powers: dict[int, AnyIntArray]
    w_last: AnyIntArray
    v_first: AnyIntArray

    @classmethod
    def all_tied(cls, positives: IntArray, negatives: IntArray) -> CellSums:
        """Return the sums if all scores of a cell are equal."""
        p, q = _whole(positives), _whole(negatives)
        return cls(
            won=0 * p,
            tied=p * q,
            w_powers={power: p * q**power for power in POWERS},
            v_powers={power: q * p**power for power in POWERS},
            w_last=q,
            v_first=p,
        )


@dataclass(frozen=True)
class PairSums:
    """What the estimate and its interval need.

    ``positive_powers`` and ``negative_powers`` are the sums over the hard examples of the powers 0 to 4 of ``2 k- U``
    and ``2 k+ V``, which are whole numbers. ``highest`` is ``2 k- A_max``, ``lowest`` is ``2 k+ (1 - B_max)``.
    """

    n_positive: int
    n_negative: int
    won: int
    tied: int
    positive_powers: tuple[int, ...]
    negative_powers: tuple[int, ...]
    highest: int
    lowest: int

    @classmethod
    def of_cells(
        cls, n_positive: int, n_negative: int, positives: IntArray, negatives: IntArray, inside: CellSums
    ) -> PairSums:
        """Add up cells; ``positives`` and ``negatives`` count the hard examples of each cell."""
        p, q = _whole(positives), _whole(negatives)
        lower_p, lower_q = np.cumsum(p) - p, np.cumsum(q) - q
        inside_w = 2 * inside.won + inside.tied
        last, first = int(np.flatnonzero(positives)[-1]), int(np.flatnonzero(negatives)[0])
        highest = int(2 * lower_q[last] + inside.w_last[last])
        lowest = int(2 * lower_p[first] + inside.v_first[first])
        w_powers = _powers_over_cells(p, inside_w, inside.w_powers, 2 * lower_q)
        v_powers = _powers_over_cells(q, 2 * p * q - inside_w, inside.v_powers, 2 * lower_p)
        return cls(
            n_positive,
            n_negative,
            won=int(p @ lower_q + inside.won.sum()),
            tied=int(inside.tied.sum()),
            positive_powers=tuple((-1) ** k * total for k, total in enumerate(_shifted(w_powers, -highest))),
            negative_powers=tuple(_shifted(v_powers, -lowest)),
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
    def k_positive(self) -> int:
        """Number of hard positives."""
        return self.positive_powers[0]

    @property
    def k_negative(self) -> int:
        """Number of hard negatives."""
        return self.negative_powers[0]

    @property
    def twice_pairs(self) -> int:
        """Twice the number of hard pairs, ``2 k+ k-``."""
        return 2 * self.k_positive * self.k_negative

    def estimate(self, tie: float = 0.5) -> float:
        """Return TPAUC, as :func:`tpauc.tpauc_score` does from the same counts."""
        return (self.won + tie * self.tied) / (self.k_positive * self.k_negative)

    def moments(self) -> Moments:
        """Return the moments of what all rows contribute to TPAUC if they are independent."""
        first, second = self.class_moments()
        return Moments(first.variance + second.variance, first.fourth + second.fourth)

    def class_moments(self) -> tuple[Moments, Moments]:
        """Return the moments of what the positives and what the negatives contribute."""
        return (
            _centred_moments(self.positive_powers, self.n_positive, self.twice_pairs),
            _centred_moments(self.negative_powers, self.n_negative, self.twice_pairs),
        )


def logit_limits(estimate: float, moments: Moments, confidence: float) -> tuple[float, float]:
    """Return limits that are symmetric about the estimate in ``log(x / (1 - x))``, by Student's distribution.

    An estimate of 0 or 1 shows no spread: both limits are the estimate.
    """
    if not 0.0 < estimate < 1.0:
        return estimate, estimate
    deviation = math.sqrt(moments.variance)
    reach = quantile(confidence, moments.effective_number) * deviation / (estimate * (1.0 - estimate))
    factor = math.exp(min(reach, 700.0))  # of the odds; beyond, the limits are 0 and 1 in float64 anyway
    odds = estimate / (1.0 - estimate)
    return odds / (odds + factor), odds * factor / (odds * factor + 1.0)


def _centred_moments(powers: Sequence[int], n: int, scale: int) -> Moments:
    """Return the moments about the mean of ``n`` rows from the sums of powers of ``x``, ``x / scale`` per row.

    Each row counts ``sqrt(n / (n - 1))`` times its distance from the mean, the other rows of the class being zeros.
    """
    _, s1, s2, s3, s4 = powers
    second = n * s2 - s1**2  # n times the sum of squares about the mean, and n^3 times the sum of fourth powers
    fourth = n**3 * s4 - 4 * n**2 * s1 * s3 + 6 * n * s1**2 * s2 - 3 * s1**4
    less = max(n - 1, 1)
    return Moments(second / (less * scale**2), fourth / (n * less**2 * scale**4))


def _powers_over_cells(
    counts: AnyIntArray, inside_total: AnyIntArray, inside_powers: dict[int, AnyIntArray], base: AnyIntArray
) -> list[int]:
    """Return the sums over all rows of the powers 0 to 4 of ``base + w``, from the sums of ``w^j`` in each cell."""
    filled = np.flatnonzero(counts)
    inside = [column[filled] for column in (counts, inside_total, *(inside_powers[power] for power in POWERS))]
    return [int(total.sum()) for total in _shifted(inside, base[filled])]


def _shifted(powers: Sequence[Any], shift: Any) -> list[Any]:
    """Return the sums of powers of ``x + shift`` from the sums of powers of ``x``."""
    return [sum(math.comb(k, j) * shift ** (k - j) * powers[j] for j in range(k + 1)) for k in range(len(powers))]


def _whole(counts: IntArray) -> AnyIntArray:
    """Return counts as Python's whole numbers, which do not overflow."""
    return counts.astype(object)
