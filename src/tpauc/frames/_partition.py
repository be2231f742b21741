"""Cells of the score axis: 65,536 or fewer at first, and 65,536 more each time that full ones are cut again.

A cell is a range of scores. Which cell a score is in is an expression of the engine, increasing in the score: every
step is a correctly rounded increasing operation. The first cells are the bins of :mod:`tpauc.metrics.histogram`. A
piece cuts ``[low, high]``, the exact range of scores in neighbouring full cells, into equal parts of

    x(s) = s,   or   x(s) = sign(s) |s|^(1/1024) where the range spans several orders of magnitude,

the root taken as ten square roots, which are correctly rounded on every engine while logarithms are not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import narwhals as nw
import numpy as np
import numpy.typing as npt

from tpauc.metrics.histogram import BINS

IntArray = npt.NDArray[np.int64]

_SQUARE_ROOTS = 10
_WIDE = 2.0**8  # ratio of the ends of a range from which the root is taken
_LAST_BIN = 2.0**40  # scores above it are in the last bin, and 1 - 1/(4s) below 1 up to here
_SLACK = 1e-3  # of a cell: far more than the rounding errors of an edge


@dataclass(frozen=True)
class Piece:
    """A closed range of scores, cut into ``cells`` cells numbered from ``first``."""

    low: float
    high: float
    cells: int
    first: int

    def contains(self, score: nw.Expr) -> nw.Expr:
        """Return whether a score is in the range."""
        return (score >= self.low) & (score <= self.high)

    def number(self, score: nw.Expr) -> nw.Expr:
        """Return the number of the cell of a score in the range, as a float, counted from 0."""
        x, low, high = self._transformed(score), self._end(self.low), self._end(self.high)
        # A little less than `cells`, so that the highest score is in the last cell.
        return ((x - low) / (high - low) * math.nextafter(self.cells, 0.0)).floor()

    def edge(self, place: float) -> float:
        """Return the score at a place in [0, cells], about."""
        if not 0.0 < place < self.cells:
            return self.low if place <= 0.0 else self.high
        low, high = self._end(self.low), self._end(self.high)
        x = low + (high - low) * (place / self.cells)
        if not self._wide:
            return x / self._half
        exponent = 2**_SQUARE_ROOTS * math.log2(abs(x)) if x else -math.inf
        return math.copysign(math.exp2(exponent) if exponent < 1024.0 else math.inf, x)

    @property
    def _wide(self) -> bool:
        smaller, larger = sorted((abs(self.low), abs(self.high)))
        return (self.low < 0.0 < self.high) or smaller * _WIDE < larger

    @property
    def _half(self) -> float:
        """Halve scores where their distance would overflow."""
        return 1.0 if math.isfinite(self.high - self.low) else 0.5

    def _transformed(self, score: nw.Expr) -> nw.Expr:
        if not self._wide:
            return score if self._half == 1.0 else score * self._half
        root = score.abs()
        for _ in range(_SQUARE_ROOTS):
            root = root.sqrt()
        return nw.when(score < 0.0).then(-root).otherwise(root)

    def _end(self, score: float) -> float:
        if not self._wide:
            return score * self._half
        root = abs(score)
        for _ in range(_SQUARE_ROOTS):
            root = math.sqrt(root)
        return math.copysign(root, score)


@dataclass
class Partition:
    """The cells in the order of their scores.

    Attributes
    ----------
    bins : int
        Number of the first cells, which have the ids from 0 on; each cut adds ids.
    order : int64 array
        Ids of the cells from the lowest scores up.
    """

    bins: int = BINS
    pieces: list[Piece] = field(default_factory=list)
    single_values: dict[int, float] = field(default_factory=dict)
    order: IntArray = field(init=False)
    n_ids: int = field(init=False)

    def __post_init__(self) -> None:
        self.order, self.n_ids = np.arange(self.bins), self.bins

    def cell(self, score: nw.Expr) -> nw.Expr:
        """Return the id of the cell of a score."""
        found = first_cell(score, self.bins).cast(nw.Int32)
        for piece in self.pieces:  # the newest, which are the narrowest, decide first
            inside = piece.number(score).cast(nw.Int32) + piece.first
            found = nw.when(piece.contains(score)).then(inside).otherwise(found)
        return found

    def positions(self) -> IntArray:
        """Return for each id its place in the order, -1 for a cell that was cut."""
        places = np.full(self.n_ids, -1, dtype=np.int64)
        places[self.order] = np.arange(self.order.size)
        return places

    def cut(self, start: int, stop: int, piece: Piece) -> None:
        """Put the cells of a piece in the place of the cells from ``start`` to ``stop`` of the order."""
        new = np.arange(piece.first, piece.first + piece.cells)
        self.order = np.concatenate((self.order[:start], new, self.order[stop:]))
        self.pieces.append(piece)
        self.n_ids = max(self.n_ids, piece.first + piece.cells)

    def range_of(self, first: int, last: int) -> tuple[float, float]:
        """Return a range of scores that holds all cells from id ``first`` to id ``last``, and little else."""
        return _widened(self._edge(first, -_SLACK), -1.0), _widened(self._edge(last, 1.0 + _SLACK), 1.0)

    def _edge(self, cell: int, offset: float) -> float:
        if cell < self.bins:
            return _first_edge((cell + offset) / self.bins)
        piece = next(piece for piece in self.pieces if piece.first <= cell < piece.first + piece.cells)
        return piece.edge(cell - piece.first + offset)


def first_cell(score: nw.Expr, bins: int = BINS) -> nw.Expr:
    """Return the bin of a score as a float; a score that is NaN, null or infinite is in the first or the last one."""
    above_one = nw.when(score <= _LAST_BIN).then(1.0 - 0.25 / score).otherwise(nw.lit(1.0 - 2.0**-42))
    from_zero = nw.when(score <= 1.0).then(0.25 + 0.5 * score).otherwise(above_one)
    u = nw.when(score < 0.0).then(0.25 / (1.0 - score)).otherwise(from_zero)
    return (u * float(bins)).floor()


def _first_edge(place: float) -> float:
    u = min(max(place, 0.0), 1.0)
    if u < 0.25:
        return 1.0 - 0.25 / u if u > 0.0 else -math.inf
    if u <= 0.75:
        return 2.0 * (u - 0.25)
    return 0.25 / (1.0 - u) if u < 1.0 else math.inf


def _widened(score: float, direction: float) -> float:
    """Move an edge outwards by more than the rounding errors of its calculation; it may become infinite."""
    return score + direction * (1e-12 * abs(score) + 1e-300)
