"""Resamples of the stratified bootstrap, and the exact TPAUC of each.

Out of ``n+`` positives and ``n-`` negatives as many are drawn with replacement, each class on its own. The data are
sorted once, since a resample only changes how often a row counts. Let ``t`` run over the distinct scores of the
positives, ``P_t`` be the number of selected positives with that score, and ``A_t`` and ``B_t`` the numbers of drawn
negatives above it and not below it. Of the ``k-`` selected negatives ``max(k- - A_t, 0)`` are then at ``t`` or lower,
and ``max(k- - B_t, 0)`` are lower, so

    TPAUC = sum_t P_t (max(k- - A_t, 0) + max(k- - B_t, 0)) / (2 k+ k-),

and all that a resample needs are running counts of its rows from the hardest on.

With a single model, rows outside the region need not be drawn. To draw ``n`` rows is to draw ``n`` uniform numbers
``u`` and to take the rows at the places ``floor(n u)``, counted from the hardest. The ``k``-th smallest of these
numbers, ``v``, has a Beta(k, n - k + 1) distribution, and the ``k - 1`` below it are uniform on ``[0, v)``: so the
``k`` hardest rows of a resample come from ``k`` numbers, without any approximation.

Where positives are few, negatives need not be drawn one by one either. Those between the same two positives count
alike, so all that is drawn of such a group is how often it comes up: a multinomial number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray
from tpauc.region import Region

IntArray = npt.NDArray[np.intp]

# Numbers drawn at a time: what a block needs stays in a processor's cache and does not grow with the resamples.
_BLOCK = 2**15
_ROWS_PER_GROUP = 10  # that can be drawn one by one in the time that a group takes


class _Ladder(NamedTuple):
    """For each distinct score of the positives, from the lowest up, how many rows lie on either side of it."""

    positives_up_to: IntArray
    negatives_above: IntArray
    negatives_not_below: IntArray


def _ladder(positive_scores: FloatArray, negative_scores: FloatArray) -> _Ladder:
    levels, on_level = np.unique(positive_scores, return_counts=True)
    ordered = np.sort(negative_scores)
    return _Ladder(
        positives_up_to=np.cumsum(on_level),
        negatives_above=ordered.size - np.searchsorted(ordered, levels, side="right"),
        negatives_not_below=ordered.size - np.searchsorted(ordered, levels, side="left"),
    )


def two_sided_resamples(
    generator: np.random.Generator, positive: BoolArray, scores: FloatArray, region: Region, n_resamples: int
) -> FloatArray:
    """Return TPAUCs of shape (2, n_resamples): with the hardest row of each class doubled, then with the easiest.

    A resample draws the same places in both, so its second value is never below its first.
    """
    positives, negatives = scores[positive], scores[~positive]
    ladders = [
        _ladder(np.append(positives, positives.min()), np.append(negatives, negatives.max())),
        _ladder(np.append(positives, positives.max()), np.append(negatives, negatives.min())),
    ]
    sizes = positives.size + 1, negatives.size + 1
    selected = region.hard_positives(sizes[0]), region.hard_negatives(sizes[1])
    borders = np.unique(np.concatenate([side for ladder in ladders for side in ladder[1:]]))
    in_groups = _ROWS_PER_GROUP * borders.size < selected[1]
    if in_groups:
        ladders = [_with_borders(ladder, borders) for ladder in ladders]
    values = np.empty((2, n_resamples))
    for block in _blocks(n_resamples, selected[0] + (borders.size if in_groups else selected[1])):
        length = block.stop - block.start
        drawn_positives = _running_sum(_hardest_counts(generator, sizes[0], selected[0], length))
        if in_groups:
            drawn_negatives = _running_sum_at(borders, generator, sizes[1], length)
        else:
            drawn_negatives = _running_sum(_hardest_counts(generator, sizes[1], selected[1], length))
        for side, ladder in enumerate(ladders):
            values[side, block] = _tpauc_of_draws(ladder, drawn_positives, drawn_negatives, *selected)
    return values


def paired_resamples(
    generator: np.random.Generator,
    positive: BoolArray,
    models: Sequence[FloatArray],
    region: Region,
    n_resamples: int,
) -> FloatArray:
    """Return TPAUCs of shape (models, n_resamples); a resample holds the same rows for all models."""
    by_class = [(scores[positive], scores[~positive]) for scores in models]
    n_positive, n_negative = (of_class.size for of_class in by_class[0])
    selected = region.hard_positives(n_positive), region.hard_negatives(n_negative)
    positive_orders = [np.argsort(positives) for positives, _ in by_class]
    row, size = _groups(by_class, _usually_enough(selected[0]))
    in_groups = _ROWS_PER_GROUP * row.size < n_negative
    usual = _Negatives.of(by_class, row, size) if in_groups else _Negatives.one_by_one(by_class)
    values = np.empty((len(models), n_resamples))
    for block in _blocks(n_resamples, n_positive + usual.size.size):
        # Rows that are easy for one model may be hard for another, so all are drawn.
        length = block.stop - block.start
        counts = _counts(generator.integers(n_positive, size=(length, n_positive)), n_positive)
        drawn_positives = [_running_sum_to(selected[0], counts, order) for order in positive_orders]
        told_apart = all(sums.shape[1] - 1 <= _usually_enough(selected[0]) for sums in drawn_positives)
        negatives = usual if told_apart or not in_groups else _Negatives.one_by_one(by_class)
        counts = negatives.drawn(generator, length)
        for model, (order, ladder) in enumerate(zip(negatives.orders, negatives.ladders, strict=True)):
            drawn_negatives = _running_sum_to(selected[1], counts, order)
            values[model, block] = _tpauc_of_draws(ladder, drawn_positives[model], drawn_negatives, *selected)
    return values


class _Negatives(NamedTuple):
    """Groups of negatives: their sizes, and for each model their order from the hardest on and the ladder over them."""

    size: IntArray
    orders: list[IntArray]
    ladders: list[_Ladder]

    @classmethod
    def of(cls, by_class: Sequence[tuple[FloatArray, FloatArray]], row: IntArray, size: IntArray) -> _Negatives:
        """Return the groups that have a row each to stand for them."""
        return cls(
            size,
            orders=[np.argsort(-negatives[row]) for _, negatives in by_class],
            ladders=[_ladder(positives, negatives[row]) for positives, negatives in by_class],
        )

    @classmethod
    def one_by_one(cls, by_class: Sequence[tuple[FloatArray, FloatArray]]) -> _Negatives:
        """Return groups of a single row each."""
        n = by_class[0][1].size
        return cls.of(by_class, np.arange(n), np.ones(n, dtype=np.intp))

    def drawn(self, generator: np.random.Generator, n_resamples: int) -> IntArray:
        """Draw as many negatives as there are, and return how often each group came up."""
        n = int(self.size.sum())
        if self.size.size == n:
            return _counts(generator.integers(n, size=(n_resamples, n)), n)
        return np.asarray(generator.multinomial(n, self.size / n, size=n_resamples))


def _groups(by_class: Sequence[tuple[FloatArray, FloatArray]], n_hardest: int) -> tuple[IntArray, IntArray]:
    """Return a row of each group of negatives that the hardest positives do not tell apart for any model, and its size.

    They are those of equal place among the scores of these positives: below, on, or above each.
    """
    place = np.zeros(by_class[0][1].size, dtype=np.intp)
    for positives, negatives in by_class:
        levels = np.unique(np.sort(positives)[:n_hardest])
        own = np.searchsorted(levels, negatives, side="left") + np.searchsorted(levels, negatives, side="right")
        place = place * (2 * levels.size + 1) + own
    _, row, size = np.unique(place, return_index=True, return_counts=True)
    return row, size


def _blocks(n_resamples: int, drawn: int) -> Iterator[slice]:
    """Cut the resamples into blocks of about as many drawn rows each."""
    length = max(1, _BLOCK // drawn)
    for start in range(0, n_resamples, length):
        yield slice(start, min(start + length, n_resamples))


def _hardest_counts(generator: np.random.Generator, n: int, k: int, n_resamples: int) -> IntArray:
    """Draw ``n`` rows out of ``n``, and return how often each is among the ``k`` hardest drawn.

    Columns are the rows from the hardest on, up to the last that any resample drew.
    """
    border = n * generator.beta(k, n - k + 1, size=(n_resamples, 1))
    places = generator.random((n_resamples, k))
    places[:, -1] = 1.0
    places *= np.minimum(border, np.nextafter(n, 0.0))  # the last place is n - 1, even if the Beta number rounds to 1
    rows = places.astype(np.intp)
    return _counts(rows, int(rows[:, -1].max()) + 1)


def _counts(drawn: IntArray, n: int) -> IntArray:
    """Return how often each of ``n`` rows was drawn, shape (n_resamples, n)."""
    n_resamples = drawn.shape[0]
    shifted = drawn + n * np.arange(n_resamples)[:, np.newaxis]
    return np.bincount(shifted.ravel(), minlength=n_resamples * n).reshape(n_resamples, n)


def _running_sum(counts: IntArray) -> IntArray:
    """Return at (i, p) how many draws of resample ``i`` fell on its first ``p`` rows."""
    sums = np.zeros((counts.shape[0], counts.shape[1] + 1), dtype=np.intp)
    np.cumsum(counts, axis=1, out=sums[:, 1:])
    return sums


def _running_sum_at(borders: IntArray, generator: np.random.Generator, n: int, n_resamples: int) -> IntArray:
    """Draw ``n`` rows out of ``n``, and return at (i, b) how many draws of resample ``i`` fell before border ``b``."""
    groups = np.diff(borders, prepend=0, append=n)
    counts = generator.multinomial(n, groups / n, size=n_resamples)
    return np.cumsum(counts[:, :-1], axis=1)


def _with_borders(ladder: _Ladder, borders: IntArray) -> _Ladder:
    """Return the ladder with the numbers of borders in place of those of negatives."""
    return ladder._replace(
        negatives_above=np.searchsorted(borders, ladder.negatives_above),
        negatives_not_below=np.searchsorted(borders, ladder.negatives_not_below),
    )


def _running_sum_to(k: int, counts: IntArray, order: IntArray) -> IntArray:
    """Return running sums in the given order of rows, far enough for every resample to reach ``k`` draws."""
    for n_rows in (_usually_enough(k), order.size):
        sums = _running_sum(np.take(counts, order[:n_rows], axis=1))
        if sums[:, -1].min() >= k:
            break
    return sums


def _usually_enough(k: int) -> int:
    """Return how many of the hardest rows receive ``k`` draws in all but the rarest resamples."""
    # The first m rows receive about m draws, give or take sqrt(m).
    return k + math.ceil(6.0 * math.sqrt(k))


def _tpauc_of_draws(
    ladder: _Ladder, positives: IntArray, negatives: IntArray, k_positive: int, k_negative: int
) -> FloatArray:
    """TPAUC of each resample, from the running counts of its positives and its negatives."""
    n_levels = int(np.searchsorted(ladder.positives_up_to, positives.shape[1] - 1)) + 1  # none is drawn from above
    up_to, above, not_below = (side[:n_levels] for side in ladder)
    # Clipping: sums end at the last row drawn, and stay the same from there on.
    hard_up_to = np.minimum(np.take(positives, up_to, axis=1, mode="clip"), k_positive)
    hard_on_level = np.diff(hard_up_to, axis=1, prepend=0)
    beaten = np.maximum(k_negative - np.take(negatives, not_below, axis=1, mode="clip"), 0)
    beaten_or_tied = np.maximum(k_negative - np.take(negatives, above, axis=1, mode="clip"), 0)
    won_twice = (hard_on_level * (beaten + beaten_or_tied)).sum(axis=1)
    tpauc: FloatArray = won_twice / (2 * k_positive * k_negative)
    return tpauc
