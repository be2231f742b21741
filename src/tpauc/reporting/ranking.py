"""The ranking that a model gives as a short list of steps, from which the area of every region follows.

Rows are taken in falling order of their scores. A *step* holds some negatives (their number or weight ``n``) and some
positives (``p``), and ``inner``, which says how they are ordered within it:

    0      all negatives come before all positives, so no positive wins
    -1     all have the same score, so each pair counts one half
    w > 0  mixed, and the positives win ``w / 2`` pairs of the step, a tie counted half

TPAUC is a sum over pairs of a hard positive and a hard negative. A pair in two steps is decided by their order. So
steps give the exact area of every region whose borders do not cut a mixed step, however many rows a step holds.

**Exact.** Negatives without a positive between them, and the positives that follow, are one step; equal scores of both
classes are one step. No step is mixed: the area of every region is exact.

**Reduced.** If these steps are too many, neighbours are joined where

    log(1 + negatives so far) - log(1 + positives still to come)

stays within the same interval of the width ``d``. Steps that the borders of the report's region cut are left alone, so
that the area in this region remains exact. The borders of another region cut at most two mixed steps. Of the ``n p``
pairs of such a step only a part is uncertain, and the share of TPAUC at stake is at most ``n / (negatives so far) *
p / (positives still to come)``, which is at most ``d^2 / 4``. The page computes the bound for the region it shows.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray
from tpauc.region import Region, hard_mass

Masses = npt.NDArray[Any]  # int64 for rows that count alike, float64 for weights

TIED = -1
_BITS = 7  # of a number per byte of its code; the highest bit says that more follow


@dataclass(frozen=True)
class ScoreSteps:
    """The distinct scores of a model, from the highest down, with the mass of each class at each of them.

    Attributes
    ----------
    scores : array of shape (m,)
    positives, negatives : array of shape (m,)
        Numbers of rows (int64), or sums of weights (float64).
    positive_squares, negative_squares : array of shape (m,) or None
        Sums of squared weights, for effective numbers of rows; None if rows count alike.
    """

    scores: FloatArray
    positives: Masses
    negatives: Masses
    positive_squares: FloatArray | None = None
    negative_squares: FloatArray | None = None

    @property
    def counts_alike(self) -> bool:
        """Whether every row stands for a whole number of rows."""
        return self.positives.dtype.kind == "i"


@dataclass(frozen=True)
class Steps:
    """A ranking in steps, as the module says; arrays of shape (m,)."""

    negatives: Masses
    positives: Masses
    inner: Masses

    @property
    def is_exact(self) -> bool:
        """Whether the area of every region follows exactly."""
        return not bool((self.inner > 0).any())


def score_steps(positive: BoolArray, scores: FloatArray, weight: FloatArray | None = None) -> ScoreSteps:
    """Sort rows by score and add up what is equal; whole weights stand for repeated rows.

    Examples
    --------
    >>> found = score_steps(np.array([True, False, True]), np.array([0.2, 0.2, 0.9]))
    >>> found.scores, found.positives, found.negatives
    (array([0.9, 0.2]), array([1, 1]), array([0, 1]))
    """
    order = np.argsort(scores)[::-1]
    ordered, side = scores[order], positive[order]
    first = np.append(0, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)
    distinct = ordered[first].astype(np.float64)
    if weight is None or bool((weight == np.floor(weight)).all() and weight.sum() <= 2.0**53):
        counts = np.ones(scores.size, np.int64) if weight is None else weight[order].astype(np.int64)
        return ScoreSteps(distinct, *(np.add.reduceat(counts * inside, first) for inside in (side, ~side)))
    weights = weight[order]
    masses = [np.add.reduceat(values * inside, first) for values in (weights, weights**2) for inside in (side, ~side)]
    return ScoreSteps(distinct, *masses)


def exact_steps(ranked: ScoreSteps) -> Steps:
    """Return the ranking without scores: runs of negatives and the positives that follow, and ties.

    Examples
    --------
    >>> exact_steps(score_steps(np.array([False, False, True, True, False]), np.array([5.0, 4.0, 3.0, 1.0, 1.0])))
    Steps(negatives=array([2, 1]), positives=array([1, 1]), inner=array([ 0, -1]))
    """
    tied = (ranked.positives > 0) & (ranked.negatives > 0)
    # A run ends before a tie, after a tie, and where a negative follows a positive.
    turns = tied[1:] | tied[:-1] | ((ranked.negatives[1:] > 0) & (ranked.positives[:-1] > 0))
    first = np.append(0, np.flatnonzero(turns) + 1)
    negatives, positives = np.add.reduceat(ranked.negatives, first), np.add.reduceat(ranked.positives, first)
    return Steps(negatives, positives, np.where(tied[first], TIED, 0).astype(negatives.dtype))


def reduced(steps: Steps, most: int, region: Region) -> Steps:
    """Return at most about ``most`` steps, with the area in the region unchanged; the same steps if they are few.

    Examples
    --------
    >>> many = exact_steps(score_steps(np.arange(9000) % 3 == 0, np.sin(np.arange(9000.0))))
    >>> few = reduced(many, 100, Region(0.1, 0.1))
    >>> many.negatives.size > 1000, few.negatives.size <= 103, few.negatives.sum() == 6000
    (True, True, np.True_)
    """
    if steps.negatives.size <= most:
        return steps
    passed = np.cumsum(steps.negatives)
    to_come = steps.positives.sum() - np.cumsum(steps.positives) + steps.positives
    # Unlike counts, weights have no natural unit; a millionth of the whole is small enough.
    units = [1.0 if side.dtype.kind == "i" else side.sum() / 1e6 for side in (steps.negatives, steps.positives)]
    place = np.log1p(passed / units[0]) - np.log1p(to_come / units[1])
    share = (place - place[0]) / (place[-1] - place[0])
    # Many intervals hold a single step or none, so there may be more intervals than steps that are wanted.
    new, n_intervals = np.arange(place.size) == 0, 0.75 * most
    for _ in range(60):
        interval = (share * n_intervals).astype(np.int64)
        finer = np.append(True, interval[1:] != interval[:-1])
        if np.count_nonzero(finer) > most:
            break
        new, n_intervals = finer, 1.25 * n_intervals
    for cut in _cut_by_borders(passed, to_come, region):
        new[cut : cut + 2] = True
    return _joined(steps, np.flatnonzero(new))


def _cut_by_borders(passed: Masses, to_come: Masses, region: Region) -> tuple[int, int]:
    """Return which step holds the last hard negative and which the first hard positive."""
    n_negative, n_positive = passed[-1], to_come[0]
    if passed.dtype.kind == "i":
        k_negative, k_positive = hard_mass(int(n_negative), region.beta), hard_mass(int(n_positive), region.alpha)
    else:
        k_negative, k_positive = n_negative * region.beta, n_positive * region.alpha
    last = int(np.searchsorted(passed, k_negative))
    first = int(np.searchsorted(-to_come, -k_positive, side="right")) - 1
    return min(last, passed.size - 1), first


def _joined(steps: Steps, first: npt.NDArray[np.intp]) -> Steps:
    """Join each step of the numbers ``first`` with those up to the next such number, and count the pairs inside."""
    negatives, positives = np.add.reduceat(steps.negatives, first), np.add.reduceat(steps.positives, first)
    sizes = np.diff(np.append(first, steps.negatives.size))
    passed = np.cumsum(steps.negatives)
    later = np.repeat(passed[np.append(first[1:], passed.size) - 1], sizes) - passed
    within = np.where(steps.inner == TIED, steps.negatives * steps.positives, steps.inner)
    inner = np.add.reduceat(2 * steps.positives * later + within, first)
    return Steps(negatives, positives, np.where(sizes == 1, steps.inner[first], inner))


def encoded(steps: Steps) -> dict[str, object]:
    """Return the steps as text for a page: whole numbers of seven bits per byte, or float64, in base 64."""
    columns = steps.negatives, steps.positives, steps.inner + (1 if steps.inner.dtype.kind == "i" else 0)
    whole = steps.negatives.dtype.kind == "i"
    code = _as_bytes if whole else _as_floats
    names = ("negatives", "positives", "inner")
    return {"whole": whole} | {
        name: base64.b64encode(code(column)).decode() for name, column in zip(names, columns, strict=True)
    }


def _as_floats(values: FloatArray) -> bytes:
    return values.astype("<f8").tobytes()


def _as_bytes(values: npt.NDArray[np.int64]) -> bytes:
    """Return whole numbers, each in as many bytes as it needs, the lowest seven bits first."""
    largest = max(int(values.max()), 1)
    n_bytes = -(-largest.bit_length() // _BITS)
    shifts = _BITS * np.arange(n_bytes)
    parts = (values[:, None] >> shifts) & 0x7F
    needed = (values[:, None] >> shifts) > 0
    needed[:, 0] = True
    more = np.append(needed[:, 1:], np.zeros((values.size, 1), bool), axis=1)
    coded: bytes = (parts | (more << _BITS)).astype(np.uint8)[needed].tobytes()
    return coded


def listed_thresholds(ranked: ScoreSteps, most: int, also: list[float]) -> dict[str, list[float]]:
    """Return at most about ``most`` thresholds with what raises an alarm at each, from the highest down.

    All distinct scores if there are few; else scores that lie evenly along the curve, and as evenly towards its two
    ends on a logarithmic scale. ``also`` are further thresholds to be listed, such as the deployed one.

    Returns
    -------
    dict
        Columns "score", "tp" and "fp"; of weighted rows also "tpSquares" and "fpSquares".
    """
    columns = {"tp": ranked.positives, "fp": ranked.negatives}
    if ranked.positive_squares is not None and ranked.negative_squares is not None:
        columns |= {"tpSquares": ranked.positive_squares, "fpSquares": ranked.negative_squares}
    sums = {name: np.cumsum(values) for name, values in columns.items()}
    kept = np.arange(ranked.scores.size)
    if kept.size > most:
        kept = _spread_out(sums["tp"] / sums["tp"][-1], sums["fp"] / sums["fp"][-1], most)
    thresholds = ranked.scores[kept]
    extra = np.array([value for value in also if np.isfinite(value) and value not in thresholds], dtype=np.float64)
    places = np.searchsorted(-ranked.scores, -extra, side="right") - 1  # the lowest score that raises an alarm
    order = np.argsort(-np.append(thresholds, extra), kind="stable")
    found = {"score": np.append(thresholds, extra)[order].tolist()}
    for name, values in sums.items():
        beyond = np.where(places < 0, 0, values[np.maximum(places, 0)])
        found[name] = np.append(values[kept], beyond)[order].tolist()
    return found


def _spread_out(tpr: FloatArray, fpr: FloatArray, most: int) -> npt.NDArray[np.intp]:
    """Return numbers of steps that are spread along the curve, the last of each stretch."""
    least = 1e-7
    along = (tpr + fpr) / 2.0
    ends = np.log(np.maximum(fpr, least)) - np.log(np.maximum(1.0 - tpr, least))
    ends = (ends - ends[0]) / max(float(ends[-1] - ends[0]), least)
    kept = np.zeros(tpr.size, dtype=bool)
    for place in (along, ends):
        stretch = (place * (most // 2)).astype(np.int64)
        kept |= np.append(stretch[1:] != stretch[:-1], True)
    return np.flatnonzero(kept)
