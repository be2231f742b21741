"""Areas of many problems of few rows each, as those of one problem by `tpauc.metrics._pairs`, but at once.

A selected negative above all selected positives wins all its pairs, so it is only counted. The other negatives are
taken out of all problems in one pass, and sorted problem by problem. What each problem costs beside its rows is a
handful of calls, as few as possible: with 100 problems of 100 rows the calls are the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray
from tpauc.region import Region

IntArray = npt.NDArray[np.intp]


def areas_in_rows(
    positive: BoolArray, negative: BoolArray, scores: FloatArray, region: Region, tie: float
) -> FloatArray:
    """Return the area of each problem, shape (k,); NaN where the region selects no positive or no negative.

    Parameters
    ----------
    positive, negative : bool array of shape (k, n)
        The members of both classes, one problem per row.
    scores : float array of shape (k, n)
        Finite scores.
    region : Region
        The rectangle.
    tie : float
        What a pair of equal scores counts.

    Examples
    --------
    >>> positive = np.array([[True, True, False, False], [False, False, False, False]])
    >>> scores = np.array([[4.0, 2.0, 3.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
    >>> areas_in_rows(positive, ~positive, scores, Region(1.0, 1.0), 0.5)
    array([0.75,  nan])
    """
    n_positive, n_negative = positive.sum(1), negative.sum(1)
    first_positive, last_positive = _borders(n_positive, region.ranks_of_positives)
    first_negative, last_negative = _borders(n_negative, region.ranks_of_negatives)
    chosen, top = _lowest(_taken(scores, positive), n_positive, first_positive, last_positive)
    inside = scores <= top[:, np.newaxis]
    inside &= negative
    n_inside = inside.sum(1)
    rest, ends = _taken(scores, inside), np.cumsum(n_inside)
    # Among the negatives inside, by rank from the hardest on.
    first, last = (np.maximum(rank - (n_negative - n_inside), 0) for rank in (first_negative, last_negative))
    won, won_or_tied = np.zeros((2, len(scores)))
    for row, start, end, low, high in _overlapping(ends - n_inside, ends, ends - last, ends - first):
        rest[start:end].sort()
        hard = rest[low:high]
        won[row] = hard.searchsorted(chosen[row]).sum()
        won_or_tied[row] = hard.searchsorted(chosen[row], side="right").sum()
    pairs = (last_positive - first_positive) * (last_negative - first_negative)
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN
        areas: FloatArray = (won + tie * (won_or_tied - won)) / pairs
    return areas


def _taken(scores: FloatArray, chosen: BoolArray) -> FloatArray:
    """Return the chosen scores row after row; faster than a mask."""
    return scores.reshape(-1).take(np.flatnonzero(chosen))


def _lowest(
    values: FloatArray, sizes: IntArray, first: IntArray, last: IntArray
) -> tuple[list[FloatArray], FloatArray]:
    """Return the selected values of each problem in ascending order, and their maxima, ``-inf`` for none.

    The values stand problem after problem, and are sorted in place; ``first`` and ``last`` are ranks.
    """
    ends = np.cumsum(sizes)
    starts = ends - sizes
    chosen = []
    for start, end, low, high in _numbers(starts, ends, starts + first, starts + last):
        values[start:end].sort()
        chosen.append(values[low:high])
    if not values.size:
        return chosen, np.full(sizes.size, -np.inf, dtype=values.dtype)
    return chosen, np.where(last > 0, values[starts + last - 1], -np.inf).astype(values.dtype, copy=False)


def _overlapping(
    starts: IntArray, ends: IntArray, lows: IntArray, highs: IntArray
) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the problems in which a selected negative is not above all selected positives."""
    for row, (start, end, low, high) in enumerate(_numbers(starts, ends, lows, highs)):
        if start <= low < high:
            yield row, start, end, low, high


def _numbers(*columns: IntArray) -> Iterator[tuple[int, ...]]:
    return zip(*(column.tolist() for column in columns), strict=True)


def _borders(counts: IntArray, ranks: Callable[[int], tuple[int, int]]) -> tuple[IntArray, IntArray]:
    """Return where the region begins and ends in each class, (0, 0) where it selects none."""
    sizes, found = counts.tolist(), {}
    for size in set(sizes):
        try:
            found[size] = ranks(size)
        except ValueError:  # none is selected
            found[size] = 0, 0
    first, last = np.array([found[size] for size in sizes], dtype=np.intp).T
    return first, last
