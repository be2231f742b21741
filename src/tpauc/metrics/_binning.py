"""Count the pairs of a region in O(n), without sorting: by a sample, and by bins.

1. A sample of the rows brackets the two borders of the region: the score of the ``k+``-th lowest positive, and of the
   ``k-``-th highest negative. So no positive above its bracket is selected, and no negative below its own.
2. One pass over the rows takes out those from the lower end of the negatives' bracket to the upper end of the
   positives' bracket, and counts the others: a selected positive below them loses all its pairs, and a selected
   negative above them wins all of its own. Should a bracket miss its border, it is widened to all rows.
3. In the overlap of the two selections, bins of equal width, several per example of the smaller class, order examples
   of different bins. The map ``floor((s - low) * scale)`` never decreases, rounding included, so this is exact. An
   example is compared with the value of the other class in its own bin. Where a bin holds different values of that
   class, which is rare, its rows are sorted.

The passes run over blocks of rows that fit a processor's cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray

IntArray = npt.NDArray[np.intp]

_BLOCK = 1 << 14  # rows at a time: their bins and differences stay in the cache
_SAMPLE = 1 << 13  # rows that bracket the borders
_ERRORS = 4.0  # standard errors of the sampled border that a bracket reaches to either side
_BINS_PER_EXAMPLE = 4
_MOST_BINS = 1 << 21  # beyond, sorting is as fast and needs less memory
_SIDES: tuple[Any, Any] = ("left", "right")


def count_pairs(positive: BoolArray, scores: FloatArray, k_positive: int, k_negative: int) -> tuple[int, int]:
    """Count won and tied pairs of the ``k_positive`` lowest positives and the ``k_negative`` highest negatives.

    Examples
    --------
    >>> count_pairs(np.array([True, True, False, False]), np.array([0.9, 0.4, 0.5, 0.4]), 2, 1)
    (1, 0)
    """
    n_positive = int(np.count_nonzero(positive))
    step = max(1, scores.size // _SAMPLE)
    sampled, side = scores[::step], positive[::step]
    border = _bracket(sampled[side], k_positive / n_positive)
    mirrored = _bracket(-sampled[~side], k_negative / (scores.size - n_positive))
    for low, high in ((-mirrored.high, border.high), (-math.inf, math.inf)):
        rows = _rows_between(positive, scores, low, high)
        within = k_positive - rows.positives_below, k_negative - rows.negatives_above
        if within[0] <= rows.positives.size and within[1] <= rows.negatives.size:
            break
    if min(within) <= 0:
        return 0, 0
    positives = _lowest(rows.positives, within[0], border.low)
    negatives = rows.negatives
    if within[1] < negatives.size:
        negatives = -_lowest(-negatives, within[1], mirrored.low)
    del rows
    return _count_all(positives, negatives)


# ----------------------------------------------------------------------------------------------------- selected rows


class _Bracket(NamedTuple):
    """Scores between which the border of a selection lies, in all likelihood."""

    low: float
    high: float


def _bracket(sample: FloatArray, share: float) -> _Bracket:
    """Return a bracket of the highest score of the lowest ``share``, which is infinite if that is everything."""
    if share == 1.0:
        return _Bracket(math.inf, math.inf)
    n = sample.size
    reach = _ERRORS * math.sqrt(n * share * (1.0 - share)) + 2.0
    places = [math.floor(n * share - reach), math.ceil(n * share + reach)]
    inside = [place for place in places if 0 <= place < n]
    ordered = np.partition(sample, inside) if inside else sample
    return _Bracket(
        float(ordered[places[0]]) if places[0] >= 0 else -math.inf,
        float(ordered[places[1]]) if places[1] < n else math.inf,
    )


class _Rows(NamedTuple):
    """Scores of the positives and negatives between two scores, and how many lie beyond."""

    positives: FloatArray
    negatives: FloatArray
    positives_below: int
    negatives_above: int


def _rows_between(positive: BoolArray, scores: FloatArray, low: float, high: float) -> _Rows:
    """Return the rows from ``low`` to ``high``, both included."""
    if math.isinf(low) and math.isinf(high):
        return _Rows(scores[positive], scores[~positive], 0, 0)
    positives: list[FloatArray] = []
    negatives: list[FloatArray] = []
    positives_below = negatives_above = 0
    for rows in _blocks(scores.size):
        block, label = scores[rows], positive[rows]
        from_low, to_high = block >= low, block <= high
        positives_below += int(np.count_nonzero(label > from_low))
        negatives_above += block.size - int(np.count_nonzero(label | to_high))
        inside = from_low & to_high
        positives.append(block.take(np.flatnonzero(inside & label)))
        negatives.append(block.take(np.flatnonzero(inside > label)))
    return _Rows(np.concatenate(positives), np.concatenate(negatives), positives_below, negatives_above)


def _lowest(values: FloatArray, k: int, about: float) -> FloatArray:
    """Return the ``k`` lowest values; quick if the highest of them is not far above ``about``."""
    if k == values.size:
        return values
    candidates = values.take(np.flatnonzero(values >= about))
    place = k - (values.size - candidates.size) - 1
    if place < 0:
        return np.partition(values, k - 1)[:k]
    threshold = np.partition(candidates, place)[place]
    below = values.take(np.flatnonzero(values < threshold))
    at_threshold = np.full(k - below.size, threshold, dtype=values.dtype)
    # Values that were in order stay in order.
    return np.concatenate((below, at_threshold) if values[0] <= values[-1] else (at_threshold, below))


# ---------------------------------------------------------------------------------------------------------- all pairs


def _count_all(positives: FloatArray, negatives: FloatArray) -> tuple[int, int]:
    """Count won and tied pairs of all positives and negatives."""
    # What is above or below the whole other class is decided, and would spoil the width of the bins.
    lowest, highest = negatives.min(), negatives.max()
    below_positives, above_positives = negatives < positives.min(), negatives > positives.max()
    below_negatives, above_negatives = positives < lowest, positives > highest
    n_above = int(np.count_nonzero(above_negatives))
    won = n_above * negatives.size + (positives.size - n_above) * int(np.count_nonzero(below_positives))
    positives = _without(positives, below_negatives | above_negatives)
    negatives = _without(negatives, below_positives | above_positives)
    if not (positives.size and negatives.size):
        return won, 0
    more, tied = _count_by_value(positives, negatives)
    return won + more, tied


def _without(values: FloatArray, decided: BoolArray) -> FloatArray:
    return values.take(np.flatnonzero(~decided)) if decided.any() else values


class _Bins:
    """Bins of equal width from ``low`` to ``high``, both included."""

    def __init__(self, low: float, high: float, number: int) -> None:
        self.low, self.high = low, high
        width = high - low
        # A little less than number / width, so that `high` is in the last bin.
        self.scale = number * (1.0 - 1e-9) / width if width > 0.0 else 0.0
        # Not if the width overflows, nor if it is so small that its inverse does.
        self.usable = math.isfinite(width) and math.isfinite(self.scale)
        self._differences = np.empty(_BLOCK)
        self._bins = np.empty(_BLOCK, dtype=np.intp)

    def of(self, block: FloatArray) -> IntArray:
        """Return the bin of each score of a block; the array is used again for the next one."""
        differences, bins = self._differences[: block.size], self._bins[: block.size]
        np.subtract(block, self.low, out=differences, dtype=np.float64)
        differences *= self.scale
        np.copyto(bins, differences, casting="unsafe")  # rounds down, as differences are not negative
        return bins

    def of_all(self, scores: FloatArray) -> IntArray:
        """Return the bin of each score."""
        bins = np.empty(scores.size, dtype=np.intp)
        for rows in _blocks(scores.size):
            bins[rows] = self.of(scores[rows])
        return bins


def _count_by_value(positives: FloatArray, negatives: FloatArray) -> tuple[int, int]:
    """Count all pairs by bins of the smaller class, of which few hold two values."""
    fewer = min(positives.size, negatives.size)
    enough = 1 << (_BINS_PER_EXAMPLE * fewer - 1).bit_length()
    # As much memory as the rows themselves, not more.
    number = min(enough, 1 << ((positives.size + negatives.size) // 2).bit_length() - 1)
    low = min(float(positives.min()), float(negatives.min()))
    bins = _Bins(low, max(float(positives.max()), float(negatives.max())), number)
    in_order = is_sorted(positives) and is_sorted(negatives)
    if in_order or not bins.usable or number < 2 * fewer or number > _MOST_BINS:
        return _count_by_sorting(positives, negatives)
    if positives.size > negatives.size:
        # Opposite scores and opposite classes have the same pairs.
        positives, negatives = -negatives, -positives
        bins = _Bins(-bins.high, -bins.low, number)
    bin_of_positive = bins.of_all(positives)
    inside = np.bincount(bin_of_positive, minlength=number + 1)
    from_bin = np.empty(number + 2, dtype=np.int32)  # positives in this bin and the higher ones
    from_bin[0] = positives.size
    np.subtract(positives.size, np.cumsum(inside), out=from_bin[1:], casting="unsafe")
    value = np.full(number + 1, -np.inf)  # of the positives in a bin; NaN where they differ
    value[bin_of_positive] = positives
    mixed = bin_of_positive[positives != value[bin_of_positive]]
    value[mixed] = np.nan
    won = tied = 0
    left: list[FloatArray] = []
    for rows in _blocks(negatives.size):
        block = negatives[rows]
        places = bins.of(block)
        found = value.take(places)
        equal = np.flatnonzero(block == found)
        tied += int(inside.take(places.take(equal)).sum())
        # A negative below the value of its bin loses to the positives there, too.
        places += block >= found
        if mixed.size:
            places += np.isnan(found)
        won += int(from_bin.take(places).sum(dtype=np.int64))
        if mixed.size:
            left.append(block.take(np.flatnonzero(np.isnan(found))))
    if mixed.size:
        among = positives[np.isnan(value[bin_of_positive])]
        won_among, tied_among = _count_in_same_bin(among, np.concatenate(left), bins)
        won, tied = won + won_among, tied + tied_among
    return won, tied


def _count_in_same_bin(positives: FloatArray, negatives: FloatArray, bins: _Bins) -> tuple[int, int]:
    """Count the pairs of rows in the same bin, by sorting."""
    positives, negatives = np.sort(positives), np.sort(negatives)
    end_of_bin = np.searchsorted(bins.of_all(positives), bins.of_all(negatives), side="right")
    below, up_to = (np.searchsorted(positives, negatives, side=side) for side in _SIDES)
    return int((end_of_bin - up_to).sum()), int((up_to - below).sum())


def _count_by_sorting(positives: FloatArray, negatives: FloatArray) -> tuple[int, int]:
    """Count all pairs by searching the examples of the smaller class among the others."""
    positives, negatives = (values if is_sorted(values) else np.sort(values) for values in (positives, negatives))
    # Searching sorted values in sorted values walks memory forwards, several times faster than random access.
    if positives.size <= negatives.size:
        lower, not_higher = (int(np.searchsorted(negatives, positives, side=side).sum()) for side in _SIDES)
        return lower, not_higher - lower
    lower, not_higher = (int(np.searchsorted(positives, negatives, side=side).sum()) for side in _SIDES)
    return positives.size * negatives.size - not_higher, not_higher - lower


def is_sorted(values: FloatArray) -> bool:
    """Return whether values are in ascending order; the first few decide for most that are not."""
    if not (values[:63][: values.size - 1] <= values[1:64]).all():
        return False
    ends = (slice(rows.start, rows.stop + 1) for rows in _blocks(values.size))  # a block and the row after it
    return all(bool((part[:-1] <= part[1:]).all()) for part in (values[rows] for rows in ends))


def _blocks(size: int) -> Iterator[slice]:
    return (slice(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK))
