"""Resamples of whole groups of rows, or of rows that carry weights, and the exact TPAUC of each.

A unit is a group of rows, or a single row with its weight. Units that hold a positive and units that hold none are two
strata; a resample draws as many of each as there are, with replacement, and takes all rows of a drawn unit. The numbers
of rows may then differ between resamples, and with them the numbers that the region selects, ``floor(n * share)`` but
at least 1; weights that are not whole numbers are cut at the border, as everywhere. With one row per unit this is the
bootstrap of `_bootstrap`, whose formula for the TPAUC of a resample holds here too, row by row of masses:

    TPAUC = sum_t P_t (max(K- - A_t, 0) + max(K- - B_t, 0)) / (2 K+ K-).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray
from tpauc.metrics._bootstrap import draw_counts, resample_blocks
from tpauc.metrics._pairs import LEAST_PAIRS, NO_PAIRS, repeats_rows
from tpauc.region import Region, hard_mass

IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Units:
    """The unit of each row, its weight, and whether the sum of some weights is a number of rows."""

    positive: BoolArray
    codes: IntArray
    weight: FloatArray
    whole: bool

    @classmethod
    def of(cls, positive: BoolArray, weight: FloatArray | None, groups: IntArray | None) -> Units:
        """Return units for rows in groups, or for rows of their own."""
        codes = np.arange(positive.size) if groups is None else groups
        weight = np.ones(positive.size) if weight is None else weight
        return cls(positive, codes, weight, repeats_rows(weight))

    @property
    def strata(self) -> list[IntArray]:
        """The units that hold a positive, and those that hold none."""
        holds_positive = np.bincount(self.codes, weights=self.positive) > 0
        return [stratum for stratum in map(np.flatnonzero, (holds_positive, ~holds_positive)) if stratum.size]

    def mass(self, side: BoolArray) -> FloatArray:
        """Return the weight of the rows on one side, by unit."""
        return np.bincount(self.codes, weights=self.weight * side).astype(np.float64)


def two_sided_unit_resamples(
    generator: np.random.Generator,
    units: Units,
    scores: FloatArray,
    region: Region,
    n_resamples: int,
    contribution: FloatArray,
) -> FloatArray:
    """Return TPAUCs of shape (2, n_resamples): with the hardest unit of each stratum doubled, then with the easiest.

    The hardest unit is the one that contributes least to TPAUC (`_delong`), the easiest the one that contributes most.
    """
    strata = units.strata
    ends = [[stratum[find(contribution[stratum])] for stratum in strata] for find in (np.argmin, np.argmax)]
    model = _Model.of(units, scores)
    values = np.empty((2, n_resamples))
    for block in resample_blocks(n_resamples, 2 * scores.size):
        drawn, of_extra = _draw(generator, units, block.stop - block.start, extra=1)
        for side, doubled in enumerate(ends):
            counts = drawn.copy()
            counts[:, doubled] += of_extra
            values[side, block] = model.tpauc(counts, region)
    return values


def paired_unit_resamples(
    generator: np.random.Generator, units: Units, models: Sequence[FloatArray], region: Region, n_resamples: int
) -> FloatArray:
    """Return TPAUCs of shape (models, n_resamples); a resample holds the same units for all models."""
    prepared = [_Model.of(units, scores) for scores in models]
    values = np.empty((len(models), n_resamples))
    for block in resample_blocks(n_resamples, len(models) * units.codes.size):
        counts, _ = _draw(generator, units, block.stop - block.start)
        for place, model in enumerate(prepared):
            values[place, block] = model.tpauc(counts, region)
    return values


def _draw(generator: np.random.Generator, units: Units, n_resamples: int, extra: int = 0) -> tuple[IntArray, IntArray]:
    """Draw units of each stratum, which has ``extra`` more; return how often each, and how often the extra ones.

    A resample without a negative, which a stratum may give if all units hold positives, is drawn again.
    """
    strata, negatives = units.strata, units.mass(~units.positive)
    counts = np.zeros((n_resamples, negatives.size), dtype=np.intp)
    of_extra = np.zeros((n_resamples, len(strata)), dtype=np.intp)
    lacking = np.arange(n_resamples)
    while lacking.size:
        for place, stratum in enumerate(strata):
            pool = draw_counts(generator, stratum.size + extra, lacking.size)
            counts[lacking[:, np.newaxis], stratum] = pool[:, : stratum.size]
            of_extra[lacking, place] = pool[:, stratum.size :].sum(axis=1)
        lacking = lacking[(counts[lacking] @ negatives) == 0.0]
    return counts, of_extra


@dataclass(frozen=True)
class _Ordered:
    """Units and weights of the rows of a class, from the hardest on, and the weight of each unit."""

    codes: IntArray
    weight: FloatArray
    mass: FloatArray

    def running_mass(
        self, counts: IntArray, min_share: float, share: float, whole: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the masses of each resample where the region begins and ends, and of its first 0, 1, 2, ... rows."""
        totals = counts @ self.mass
        # Sums of other weights times a power of two, from 1 to 2, so that products of two of them stay in range.
        powers = np.zeros(totals.size, dtype=np.int32) if whole else 1 - np.frexp(totals)[1]
        totals = np.ldexp(totals, powers)
        begins, targets = totals * min_share, totals * share
        if whole:
            begins = np.array([hard_mass(total, min_share) if min_share else 0.0 for total in totals.tolist()])
            targets = np.maximum([hard_mass(total, share) for total in totals.tolist()], begins + 1.0)
        n_rows = min(self.codes.size, int(1.5 * share * self.codes.size) + 50)
        while True:
            drawn = np.ldexp(counts[:, self.codes[:n_rows]] * self.weight[:n_rows], powers[:, np.newaxis])
            sums = np.zeros((counts.shape[0], n_rows + 1))
            np.cumsum(drawn, axis=1, out=sums[:, 1:])
            if n_rows == self.codes.size or (sums[:, -1] >= targets).all():
                return begins[:, np.newaxis], targets[:, np.newaxis], sums
            n_rows = min(2 * n_rows, self.codes.size)


@dataclass(frozen=True)
class _Model:
    """The rows of both classes in the order of a model's scores, and their places among each other."""

    positives: _Ordered
    negatives: _Ordered
    whole: bool
    positives_up_to: IntArray  # at each distinct score of the positives, from the lowest up
    negatives_above: IntArray
    negatives_not_below: IntArray

    @classmethod
    def of(cls, units: Units, scores: FloatArray) -> _Model:
        ordered = []
        for side, ease in ((units.positive, scores), (~units.positive, -scores)):
            rows = np.flatnonzero(side)
            rows = rows[np.argsort(ease[rows], kind="stable")]
            ordered.append(_Ordered(units.codes[rows], units.weight[rows], units.mass(side)))
        distinct, times = np.unique(scores[units.positive], return_counts=True)
        negatives = np.sort(scores[~units.positive])
        above, not_below = (negatives.size - np.searchsorted(negatives, distinct, side=s) for s in ("right", "left"))
        return cls(ordered[0], ordered[1], units.whole, np.cumsum(times), above, not_below)

    def tpauc(self, counts: IntArray, region: Region) -> FloatArray:
        """Return the TPAUC of each resample, given how often it holds each unit."""
        begin, end, positives = self.positives.running_mass(counts, region.min_alpha, region.alpha, self.whole)
        first, limit, negatives = self.negatives.running_mass(counts, region.min_beta, region.beta, self.whole)
        n_levels = int(np.searchsorted(self.positives_up_to, positives.shape[1] - 1)) + 1
        # Mode "clip": the sums end where every resample has enough, and more would change nothing.
        up_to = np.take(positives, self.positives_up_to[:n_levels], axis=1, mode="clip")
        on_level = np.diff(np.clip(up_to, begin, end), axis=1, prepend=begin)
        above = np.take(negatives, self.negatives_above[:n_levels], axis=1, mode="clip")
        not_below = np.take(negatives, self.negatives_not_below[:n_levels], axis=1, mode="clip")
        beaten = (limit - np.clip(above, first, limit)) + (limit - np.clip(not_below, first, limit))
        pairs = (2.0 * (end - begin) * (limit - first))[:, 0]
        if pairs.min() < LEAST_PAIRS:
            raise ValueError(NO_PAIRS)
        tpauc: FloatArray = (on_level * beaten).sum(axis=1) / pairs
        return np.minimum(tpauc, 1.0)
