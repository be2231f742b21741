"""Count the pairs of the selected positives and negatives that the positive wins, and those that are tied.

Rows that count once are counted in whole numbers, so a mean over pairs carries a single rounding. So are rows whose
weights are whole numbers, which stand for repeated rows. Other weights are added up in float64; the row on the border
of the selection counts with the part of its weight that is inside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray
from tpauc.metrics._binning import count_pairs, is_sorted
from tpauc.region import Region

_Weights = npt.NDArray[Any]  # float64, or int64 for repeated rows
_EXACT = 2**53  # weight of the rows that float64 still counts one by one
_MOST_PAIRS = 2**62  # whose numbers int64 can hold
LEAST_PAIRS = float(np.finfo(np.float64).tiny)  # below it float64 has fewer digits
NO_PAIRS = "alpha and beta select less weight than float64 can hold; take larger ones"
_MANY_ROWS = 30_000  # from here on bins are faster than selection


class PairCounts(NamedTuple):
    """Number (or weight) of the pairs that the positive wins, of the tied pairs, and of all pairs."""

    won: float
    tied: float
    total: float

    def mean(self, tie: float) -> float:
        """Return the mean over all pairs of 1 if the positive wins, ``tie`` if the pair is tied, and 0 otherwise."""
        # Weights of a perfect ranking may add up to a little more than 1.
        if self.total < LEAST_PAIRS:
            raise ValueError(NO_PAIRS)
        return min((self.won + tie * self.tied) / self.total, 1.0)


def selected_pairs(positive: BoolArray, scores: FloatArray, k_positive: int, k_negative: int) -> PairCounts:
    """Count pairs of the ``k_positive`` lowest positives and the ``k_negative`` highest negatives."""
    # Rows from a database often come in the order of their scores. Then there is nothing to select or sort.
    for step in (1, -1):
        if is_sorted(scores[::step]):
            return _pairs_in_order(positive[::step], scores[::step], k_positive, k_negative)
    if scores.size >= _MANY_ROWS:
        return PairCounts(*count_pairs(positive, scores, k_positive, k_negative), k_positive * k_negative)
    # In place: the selections are copies, and new memory costs more than sorting.
    positives = lowest(scores.compress(positive), k_positive)
    negatives = _highest_negatives(positive, scores, k_negative)
    positives.sort()
    negatives.sort()
    return _sorted_pairs(positives, negatives)


def _pairs_in_order(positive: BoolArray, scores: FloatArray, k_positive: int, k_negative: int) -> PairCounts:
    """Count the pairs of the region where rows come in ascending order of their scores; reads no other rows twice."""
    places = np.flatnonzero(positive)
    n_left_out = scores.size - places.size - k_negative
    # A row has as many negatives before it as rows less positives.
    first = n_left_out + int(np.searchsorted(places - np.arange(places.size), n_left_out, side="right"))
    return _sorted_pairs(scores.take(places[:k_positive]), scores[first:].compress(~positive[first:]))


def _sorted_pairs(positives: FloatArray, negatives: FloatArray) -> PairCounts:
    """Count pairs of rows that are in ascending order."""
    n_pairs = positives.size * negatives.size
    # Searching sorted values in sorted values walks memory forwards, several times faster than random access.
    if positives.size <= negatives.size:
        won = _count(negatives, positives, "left")
        return PairCounts(won, _count(negatives, positives, "right") - won, n_pairs)
    won = n_pairs - _count(positives, negatives, "right")
    return PairCounts(won, n_pairs - _count(positives, negatives, "left") - won, n_pairs)


def lowest(values: FloatArray, k: int) -> FloatArray:
    """Return the ``k`` smallest values in any order, O(n)."""
    return values if k == values.size else np.partition(values, k - 1)[:k]


def _highest_negatives(positive: BoolArray, scores: FloatArray, k: int) -> FloatArray:
    """Return the ``k`` largest scores of negatives in any order, O(n); faster than extracting the negatives first."""
    candidates = np.where(positive, -np.inf, scores)
    candidates.partition(scores.size - k)
    return candidates[scores.size - k :]


def _count(ordered: FloatArray, queries: FloatArray, side: str) -> int:
    """Return the sum over queries of the number of ordered values below ("left") or not above ("right") the query."""
    # mypy: NumPy types `side` as a literal.
    return int(np.searchsorted(ordered, queries, side=side).sum(dtype=np.int64))  # type: ignore[call-overload]


# ------------------------------------------------------------------------------------------------ weighted examples


class WeightedRows(NamedTuple):
    """Scores and weights of some rows of a class, and the weight of all of them."""

    scores: FloatArray
    weight: _Weights

    @property
    def total(self) -> float:
        return self.weight.sum().item()  # type: ignore[no-any-return]


def _relative(weights: FloatArray) -> FloatArray:
    """Return weights divided by the largest: a common factor cancels, and sums of huge and tiny ones stay in range.

    The power of two comes first, since NumPy before 2.0 may report an overflow when it divides subnormal numbers.
    """
    scaled = np.ldexp(weights, -np.frexp(weights.max())[1])
    relative: FloatArray = scaled / scaled.max()
    return relative


class WeightedClasses(NamedTuple):
    """Positives and negatives with weights above 0, which may stand for repeated rows."""

    positives: WeightedRows
    negatives: WeightedRows
    repeats: bool

    @classmethod
    def of(cls, positive: BoolArray, scores: FloatArray, weight: FloatArray) -> WeightedClasses:
        """Split rows by class; whole weights become integers."""
        repeats = repeats_rows(weight)
        classes = []
        for side in (positive & (weight > 0), ~positive & (weight > 0)):
            weights = weight[side].astype(np.int64) if repeats else _relative(weight[side])
            classes.append(WeightedRows(scores[side], weights))
        return cls(classes[0], classes[1], repeats)

    def masses(self, region: Region) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return where the region begins and ends among the positives and the negatives, by weight from the hardest on.

        Rounded down for repeated rows.
        """
        n_positive, n_negative = self.positives.total, self.negatives.total
        if self.repeats:
            return region.ranks_of_positives(int(n_positive)), region.ranks_of_negatives(int(n_negative))
        return (
            (n_positive * region.min_alpha, n_positive * region.alpha),
            (n_negative * region.min_beta, n_negative * region.beta),
        )


def repeats_rows(weight: FloatArray) -> bool:
    """Return whether all weights are whole numbers whose sum is exact in float64."""
    with np.errstate(over="ignore"):
        return bool(weight.sum() <= _EXACT and (weight == np.floor(weight)).all())


def scaled_by_class(weight: FloatArray, positive: BoolArray) -> FloatArray:
    """Return weights, of a class that has none from 0.5 on times a power of two, so that products stay in range.

    The factor of a class cancels in every area. Whole weights, which stand for repeated rows, are left as they are.
    """
    if repeats_rows(weight):
        return weight
    powers = (min(int(np.frexp(weight[side].max())[1]), 0) for side in (positive, ~positive))
    scaled: FloatArray = np.ldexp(weight, -np.where(positive, *powers))
    return scaled


def lowest_mass(rows: WeightedRows, target: float) -> WeightedRows:
    """Return the rows of smallest score whose weights add up to ``target``, the last one cut, in O(n).

    Halves the undecided range by selection, as one finds a median: values that are surely inside are kept, values that
    are surely outside are dropped, and each round costs half as much as the one before.
    """
    values, weight = rows
    inside_values: list[FloatArray] = []
    inside_weights: list[_Weights] = []
    room = target
    while values.size > 1:
        half = values.size // 2
        order = np.argpartition(values, half)
        lower, upper = order[:half], order[half:]
        lower_mass = weight[lower].sum().item()
        if lower_mass <= room:
            inside_values.append(values[lower])
            inside_weights.append(weight[lower])
            room -= lower_mass
            values, weight = values[upper], weight[upper]
        else:
            values, weight = values[lower], weight[lower]
    inside_values.append(values)
    inside_weights.append(np.minimum(weight, max(room, 0)))
    return WeightedRows(np.concatenate(inside_values), np.concatenate(inside_weights))


def highest_mass(rows: WeightedRows, target: float) -> WeightedRows:
    """Return the rows of largest score whose weights add up to ``target``, the last one cut, in O(n)."""
    found = lowest_mass(rows._replace(scores=-rows.scores), target)
    return found._replace(scores=-found.scores)


def weighted_pairs(positives: WeightedRows, negatives: WeightedRows) -> PairCounts:
    """Add up the products of weights over all pairs of the given rows."""
    n_pairs = positives.total * negatives.total
    exact = isinstance(n_pairs, int) and n_pairs < _MOST_PAIRS
    order = np.argsort(negatives.scores)
    ordered = negatives.scores[order]
    mass_below = np.zeros(ordered.size + 1, dtype=np.int64 if exact else np.float64)
    np.cumsum(negatives.weight[order], out=mass_below[1:])
    won = mass_below[np.searchsorted(ordered, positives.scores, side="left")]
    tied = mass_below[np.searchsorted(ordered, positives.scores, side="right")] - won
    weight = positives.weight.astype(mass_below.dtype, copy=False)
    number = int if exact else float
    return PairCounts(number(weight @ won), number(weight @ tied), n_pairs)
