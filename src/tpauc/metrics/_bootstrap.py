"""Resamples of the stratified bootstrap, and the exact TPAUC of each.

A resample draws ``n+`` of the ``n+`` positives and ``n-`` of the ``n-`` negatives with replacement. The data are sorted
once, since a resample only changes how often a row counts. Let ``t`` run over the distinct scores of the positives,
``P_t`` be the number of selected positives with that score, and ``A_t`` and ``B_t`` the numbers of drawn negatives
above it and not below it. Of the ``k-`` selected negatives ``max(k- - A_t, 0)`` are then at ``t`` or lower, and
``max(k- - B_t, 0)`` are lower, so

    TPAUC = sum_t P_t (max(k- - A_t, 0) + max(k- - B_t, 0)) / (2 k+ k-),

and a resample needs nothing but running counts of its rows, starting at the hardest. In a rectangle, which leaves out
the ``j-`` hardest negatives, counts below ``j-`` are taken to be ``j-``; so are counts of positives below ``j+``.

With a single model, rows outside the region need not be drawn. Drawing ``n`` rows means drawing ``n`` uniform numbers
``u`` and taking the rows at the places ``floor(n u)``, counted from the hardest. The ``k``-th smallest of these
numbers, ``v``, has a Beta(k, n - k + 1) distribution, and the ``k - 1`` smaller ones are uniform on ``[0, v)``. So
``k`` numbers give the ``k`` hardest rows of a resample, without any approximation.

With few positives, negatives need not be drawn one by one either. All negatives between the same two positives have the
same effect, so one multinomial number per group says how many of them are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray
from tpauc.region import Region, hard_mass

IntArray = npt.NDArray[np.intp]

# Numbers drawn at a time: what a block needs stays in a processor's cache and does not grow with the resamples.
_BLOCK = 2**15
ROWS_PER_GROUP = 10  # drawing one group takes as long as drawing this many rows one by one


class _Levels(NamedTuple):
    """Counts of rows on either side of each distinct score of the positives, from the lowest score up."""

    positives_up_to: IntArray
    negatives_above: IntArray
    negatives_not_below: IntArray


def _levels_of(
    positive_scores: FloatArray,
    negative_scores: FloatArray,
    positive_times: IntArray | None = None,
    negative_times: IntArray | None = None,
) -> _Levels:
    """Return the levels of rows, each of which may be there several times."""
    distinct, row, times = np.unique(positive_scores, return_inverse=True, return_counts=True)
    if positive_times is not None:
        times = np.bincount(row.ravel(), weights=positive_times).astype(np.intp)
    if negative_times is None:
        ordered, up_to = np.sort(negative_scores), np.arange(negative_scores.size + 1)
    else:
        order = np.argsort(negative_scores)
        ordered, up_to = negative_scores[order], np.concatenate(([0], np.cumsum(negative_times[order])))
    return _Levels(
        positives_up_to=np.cumsum(times),
        negatives_above=up_to[-1] - up_to[np.searchsorted(ordered, distinct, side="right")],
        negatives_not_below=up_to[-1] - up_to[np.searchsorted(ordered, distinct, side="left")],
    )


def two_sided_resamples(
    generator: np.random.Generator,
    positive: BoolArray,
    scores: FloatArray,
    region: Region,
    n_resamples: int,
    times: IntArray | None = None,
) -> FloatArray:
    """Return TPAUCs of shape (2, n_resamples): with the hardest row of each class doubled, then with the easiest.

    A resample draws the same places in both cases, so its second value is never below its first. Rows that are there
    several ``times`` give the same as repeated rows.
    """
    positives, negatives = scores[positive], scores[~positive]
    with_extra = [None if times is None else np.append(times[side], 1) for side in (positive, ~positive)]
    levels = [
        _levels_of(np.append(positives, positives.min()), np.append(negatives, negatives.max()), *with_extra),
        _levels_of(np.append(positives, positives.max()), np.append(negatives, negatives.min()), *with_extra),
    ]
    sizes = tuple(
        rows.size + 1 if extra is None else int(extra.sum())
        for rows, extra in zip((positives, negatives), with_extra, strict=True)
    )
    selected = region.ranks_of_positives(sizes[0]), region.ranks_of_negatives(sizes[1])
    (_, k_positive), (_, k_negative) = selected
    borders = np.unique(np.concatenate([negatives for side in levels for negatives in side[1:]]))
    in_groups = ROWS_PER_GROUP * borders.size < k_negative
    if in_groups:
        levels = [_with_borders(side, borders) for side in levels]
    values = np.empty((2, n_resamples))
    for block in resample_blocks(n_resamples, k_positive + (borders.size if in_groups else k_negative)):
        length = block.stop - block.start
        drawn_positives = _running_sum(_hardest_counts(generator, sizes[0], k_positive, length))
        if in_groups:
            drawn_negatives = _running_sum_at(borders, generator, sizes[1], length)
        else:
            drawn_negatives = _running_sum(_hardest_counts(generator, sizes[1], k_negative, length))
        for side in (0, 1):
            values[side, block] = _tpauc_of_draws(levels[side], drawn_positives, drawn_negatives, *selected)
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
    selected = region.ranks_of_positives(n_positive), region.ranks_of_negatives(n_negative)
    (_, k_positive), (_, k_negative) = selected
    positive_orders = [np.argsort(positives) for positives, _ in by_class]
    row, size = _groups(by_class, _usually_enough(k_positive))
    in_groups = ROWS_PER_GROUP * row.size < n_negative
    usual = _Negatives.of(by_class, row, size) if in_groups else _Negatives.one_by_one(by_class)
    values = np.empty((len(models), n_resamples))
    for block in resample_blocks(n_resamples, n_positive + usual.size.size):
        # Rows that are easy for one model may be hard for another, so all are drawn.
        length = block.stop - block.start
        counts = draw_counts(generator, n_positive, length)
        drawn_positives = [_running_sum_to(k_positive, counts, order) for order in positive_orders]
        groups_suffice = all(sums.shape[1] - 1 <= _usually_enough(k_positive) for sums in drawn_positives)
        negatives = usual if groups_suffice or not in_groups else _Negatives.one_by_one(by_class)
        counts = negatives.drawn(generator, length)
        for model, (order, levels) in enumerate(zip(negatives.orders, negatives.levels, strict=True)):
            drawn_negatives = _running_sum_to(k_negative, counts, order)
            values[model, block] = _tpauc_of_draws(levels, drawn_positives[model], drawn_negatives, *selected)
    return values


def paired_draws(
    positive: BoolArray, models: Sequence[FloatArray], region: Region, weight: FloatArray | None = None
) -> int:
    """Return how many rows :func:`paired_resamples` draws per resample, or what takes as long."""
    times = np.ones(positive.size) if weight is None else weight
    n_positive, n_negative = int(times[positive].sum()), int(times[~positive].sum())
    by_class = [(scores[positive], scores[~positive]) for scores in models]
    _, k_positive = region.ranks_of_positives(n_positive)
    row, _ = _groups(by_class, _usually_enough(k_positive))
    return n_positive + min(n_negative, ROWS_PER_GROUP * row.size)


class _Negatives(NamedTuple):
    """Groups of negatives: their sizes, and for each model their order from the hardest on and their levels."""

    size: IntArray
    orders: list[IntArray]
    levels: list[_Levels]

    @classmethod
    def of(cls, by_class: Sequence[tuple[FloatArray, FloatArray]], row: IntArray, size: IntArray) -> _Negatives:
        """Return groups of the given sizes; ``row`` holds one negative of each."""
        return cls(
            size,
            orders=[np.argsort(-negatives[row]) for _, negatives in by_class],
            levels=[_levels_of(positives, negatives[row]) for positives, negatives in by_class],
        )

    @classmethod
    def one_by_one(cls, by_class: Sequence[tuple[FloatArray, FloatArray]]) -> _Negatives:
        """Return groups of a single row each."""
        n = by_class[0][1].size
        return cls.of(by_class, np.arange(n), np.ones(n, dtype=np.intp))

    def drawn(self, generator: np.random.Generator, n_resamples: int) -> IntArray:
        """Draw as many negatives as there are, and return how many of each group, shape (n_resamples, groups)."""
        n = int(self.size.sum())
        if self.size.size == n:
            return draw_counts(generator, n, n_resamples)
        return np.asarray(generator.multinomial(n, self.size / n, size=n_resamples))


def _groups(by_class: Sequence[tuple[FloatArray, FloatArray]], n_hardest: int) -> tuple[IntArray, IntArray]:
    """Return one row of each group of negatives, and the size of the group.

    The negatives of a group have the same place among the scores of the hardest positives (below, on, or above each of
    them), for every model.
    """
    place = np.zeros(by_class[0][1].size, dtype=np.intp)
    for positives, negatives in by_class:
        levels = np.unique(np.sort(positives)[:n_hardest])
        own = np.searchsorted(levels, negatives, side="left") + np.searchsorted(levels, negatives, side="right")
        place = place * (2 * levels.size + 1) + own
    _, row, size = np.unique(place, return_index=True, return_counts=True)
    return row, size


def resample_blocks(n_resamples: int, drawn: int) -> Iterator[slice]:
    """Cut the resamples into blocks of about ``_BLOCK`` drawn rows."""
    length = max(1, _BLOCK // drawn)
    for start in range(0, n_resamples, length):
        yield slice(start, min(start + length, n_resamples))


def _hardest_counts(generator: np.random.Generator, n: int, k: int, n_resamples: int) -> IntArray:
    """Draw ``n`` rows out of ``n``, and return how often each is among the ``k`` hardest drawn rows.

    Columns are the rows from the hardest on, up to the last one that any resample drew.
    """
    border = n * generator.beta(k, n - k + 1, size=(n_resamples, 1))
    places = generator.random((n_resamples, k))
    places[:, -1] = 1.0
    places *= np.minimum(border, np.nextafter(n, 0.0))  # the last place is n - 1, even if the Beta number rounds to 1
    rows = places.astype(np.intp)
    return _counts(rows, int(rows[:, -1].max()) + 1)


def draw_counts(generator: np.random.Generator, n: int, n_resamples: int) -> IntArray:
    """Draw ``n`` units out of ``n``, and return how often each was drawn, shape (n_resamples, n)."""
    return _counts(generator.integers(n, size=(n_resamples, n)), n)


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


def _with_borders(levels: _Levels, borders: IntArray) -> _Levels:
    """Return levels that count borders instead of negatives."""
    return levels._replace(
        negatives_above=np.searchsorted(borders, levels.negatives_above),
        negatives_not_below=np.searchsorted(borders, levels.negatives_not_below),
    )


def _running_sum_to(k: int, counts: IntArray, order: IntArray) -> IntArray:
    """Return running sums in the given order of rows, far enough for every resample to reach ``k`` draws."""
    for n_rows in (_usually_enough(k), order.size):
        sums = _running_sum(np.take(counts, order[:n_rows], axis=1))
        if sums[:, -1].min() >= k:
            break
    return sums


def _usually_enough(k: int) -> int:
    """Return a number of hardest rows that receive ``k`` draws in all but the rarest resamples."""
    # The first m rows receive about m draws, give or take sqrt(m).
    return k + math.ceil(6.0 * math.sqrt(k))


def _tpauc_of_draws(
    levels: _Levels,
    positives: IntArray,
    negatives: IntArray,
    positive_ranks: tuple[int, int],
    negative_ranks: tuple[int, int],
) -> FloatArray:
    """Return the TPAUC of each resample, from the running counts of its positives and its negatives.

    The region selects the ranks from the first of two up to the second, 0 being the hardest.
    """
    n_levels = int(np.searchsorted(levels.positives_up_to, positives.shape[1] - 1)) + 1  # no easier positive is drawn
    up_to, above, not_below = (counts[:n_levels] for counts in levels)
    # Mode "clip": the sums end at the last row drawn, and stay the same from there on.
    hard_up_to = np.clip(np.take(positives, up_to, axis=1, mode="clip"), *positive_ranks)
    hard_on_level = np.diff(hard_up_to, axis=1, prepend=positive_ranks[0])
    beaten = negative_ranks[1] - np.clip(np.take(negatives, not_below, axis=1, mode="clip"), *negative_ranks)
    beaten_or_tied = negative_ranks[1] - np.clip(np.take(negatives, above, axis=1, mode="clip"), *negative_ranks)
    won_twice = (hard_on_level * (beaten + beaten_or_tied)).sum(axis=1)
    k_positive, k_negative = (last - first for first, last in (positive_ranks, negative_ranks))
    tpauc: FloatArray = won_twice / (2 * k_positive * k_negative)
    return tpauc


def percentile_limits(values: FloatArray, confidence: float) -> tuple[float, float]:
    """Return the values of rank ``j`` from either end of ``r``, where ``j = floor((r + 1) (1 - confidence) / 2)``."""
    # There are enough resamples for a rank of at least 1, but for rounding.
    rank = max(1, hard_mass(values.size + 1, (1.0 - confidence) / 2.0))
    ordered = np.sort(values)
    return float(ordered[rank - 1]), float(ordered[-rank])
