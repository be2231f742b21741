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
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray
from tpauc.region import Region


class Influences(NamedTuple):
    """TPAUC, ``U / k+`` of each hard positive, and ``V / k-`` of the hard negatives in runs of equal values."""

    tpauc: float
    positives: FloatArray
    negatives: FloatArray
    run_lengths: npt.NDArray[np.intp]


def influences(hard_positives: FloatArray, hard_negatives: FloatArray) -> Influences:
    """Return the influence of each hard example; both arrays are sorted from the lowest score up.

    Takes a search for each positive. All negatives between the same two positives have the same influence.
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
    return Influences(
        tpauc=int(twice_won.sum()) / twice_pairs,
        positives=(twice_won[-1] - twice_won) / twice_pairs,
        negatives=np.arange(edges.size + 1) / twice_pairs,
        run_lengths=np.diff(edges, prepend=0, append=hard_negatives.size),
    )


def row_influences(positive: BoolArray, scores: FloatArray, region: Region) -> FloatArray:
    """Return for each row by how much, to first order, TPAUC would grow if the row were there once more.

    This is ``-U / k+`` or ``-V / k-`` less its mean over the class. A row outside the region counts like the row on the
    border, which it would push out.
    """
    rows_of_positives, rows_of_negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
    k_positive = region.hard_positives(rows_of_positives.size)
    k_negative = region.hard_negatives(rows_of_negatives.size)
    hard_positives = rows_of_positives[_hardest(scores[rows_of_positives], k_positive)]
    hard_negatives = rows_of_negatives[_hardest(-scores[rows_of_negatives], k_negative)][::-1]
    found = influences(scores[hard_positives], scores[hard_negatives])
    influence = np.zeros(scores.size)
    influence[hard_positives] = -found.positives
    influence[hard_negatives] = -np.repeat(found.negatives, found.run_lengths)
    for rows in (rows_of_positives, rows_of_negatives):
        influence[rows] -= influence[rows].mean()
    return influence


def _hardest(ease: FloatArray, k: int) -> npt.NDArray[np.intp]:
    """Return the places of the ``k`` smallest values, in ascending order."""
    places = np.arange(ease.size) if k == ease.size else np.argpartition(ease, k - 1)[:k]
    return places[np.argsort(ease[places])]


def variance_of_sum(values: FloatArray, n: int, times: npt.NDArray[np.intp] | int = 1) -> float:
    """Return ``n`` times the variance of ``n`` numbers: each of ``values`` so many ``times``, and 0 for the rest."""
    total, squares = float((values * times).sum()), float((values**2 * times).sum())
    return max(squares - total**2 / n, 0.0) * n / max(n - 1, 1)


def normal_quantile(confidence: float) -> float:
    """Return how many standard deviations a two-sided normal interval reaches to each side."""
    return NormalDist().inv_cdf((1.0 + confidence) / 2.0)
