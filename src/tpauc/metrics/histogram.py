"""Counts of positives and negatives in bins of the score: a summary of fixed size that can be added up.

Scores, any finite numbers, fall into bins of equal width in ``u``, where

    u(s) = 1 / (4 (1 - s)) for s < 0,    1/4 + s/2 for 0 <= s <= 1,    1 - 1 / (4 s) for s > 1,

increasing from 0 to 1: half of the bins share [0, 1] evenly, the others grow wider with ``|s|`` as ``(1 + |s|)^2``.
``u`` has no option, so histograms of equal size can always be added. As TPAUC depends on the order alone, scores that
crowd in a narrow place may be spread by any increasing function first: logits show more than probabilities near 0 or 1.

Write ``b(s)`` for the bin of a score. Every step of ``u`` is a correctly rounded increasing operation, so ``s <= t``
implies ``b(s) <= b(t)``. Hence the hard examples of each bin are counted exactly, pairs in different bins are decided,
and a pair in one bin counts something in [0, 1], under every tie rule. The exact TPAUC lies between the value with all
pairs of one bin lost and the value with all of them won.

The interval of the histogram contains the large-sample interval of the scores. With pairs of one bin counted half, the
influence ``U_i`` of a positive (see :mod:`tpauc.metrics.large_sample`) is wrong by at most ``(h_b + h_max) / (2 k-)``,
where ``h_b`` and ``h_max`` are the hard negatives in its bin and in the bin of the easiest hard positive. Let ``e`` be
these bounds over ``k+``. The root of a sum of squares about the mean changes by at most the root of the sum of ``e^2``,
the fourth root of a sum of fourth powers by at most twice the fourth root of the sum of ``e^4`` (``e`` and its mean).
The widest interval has the largest variance, and the fewest degrees of freedom, of all that these bounds allow.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc._files import write_atomically
from tpauc._validation import (
    FloatArray,
    brief,
    check_class_counts,
    check_column,
    check_count,
    check_labels,
    check_open_share,
    check_path,
    check_same_length,
    check_scores,
    import_extra,
)
from tpauc.metrics.intervals import Interval, large_sample_interval
from tpauc.metrics.large_sample import Moments, PairSums
from tpauc.metrics.operating_points import AlarmCounts, OperatingPoint, point_of_counts
from tpauc.region import Region, hard_mass

IntArray = npt.NDArray[np.int64]

BINS = 65_536
MOST_BINS = 2**26  # a file of some bytes may ask for any number
_FORMAT = "tpauc histogram 1"
_COLUMNS = ("bin", "positives", "negatives")


@dataclass(frozen=True)
class Bounds:
    """The values of TPAUC that a histogram allows: ``low <= exact value <= high``."""

    low: float
    high: float

    @property
    def estimate(self) -> float:
        """The middle of the two."""
        return (self.low + self.high) / 2.0

    @property
    def error(self) -> float:
        """How far the middle can be from the exact value."""
        # The limits, their middle and the exact value are rounded, by less than 8 eps together.
        return 0.0 if self.low == self.high else (self.high - self.low) / 2.0 + 8.0 * float(np.finfo(np.float64).eps)


class Histogram:
    """Numbers of positives and negatives per bin of the score, made in parts and merged.

    Parameters
    ----------
    bins : int, default=65536
        Number of bins, at most 2**26; the head of the module says how scores fall into them. Only histograms of equal
        size merge.

    Attributes
    ----------
    positives, negatives : int64 array of shape (bins,)
        Counts per bin, from the lowest scores up.

    Examples
    --------
    >>> monday, tuesday = Histogram(), Histogram()
    >>> monday.update([1, 1, 0, 0], [0.9, 0.8, 0.7, 0.4])
    >>> tuesday.update([1, 1, 0, 0], [0.6, 0.3, 0.2, 0.1])
    >>> both = monday + tuesday
    >>> both.bounds(alpha=0.5, beta=0.5)
    Bounds(low=0.25, high=0.25)
    >>> point = both.operating_point(alpha=0.5, beta=0.25)
    >>> point.tpr, point.fpr, point.feasible
    (0.75, 0.25, True)
    """

    def __init__(self, bins: int = BINS) -> None:
        size = check_count(bins, "bins", at_most=MOST_BINS)
        self.positives: IntArray = np.zeros(size, dtype=np.int64)
        self.negatives: IntArray = np.zeros(size, dtype=np.int64)

    @classmethod
    def from_counts(cls, positives: npt.ArrayLike, negatives: npt.ArrayLike) -> Histogram:
        """Return a histogram with the given counts per bin."""
        counts = [_check_counts(values, name) for values, name in ((positives, "positives"), (negatives, "negatives"))]
        check_same_length("positives", counts[0], "negatives", counts[1])
        histogram = cls(counts[0].size)
        histogram.positives, histogram.negatives = counts
        return histogram

    @property
    def bins(self) -> int:
        """Number of bins."""
        return self.positives.size

    def update(self, y_true: npt.ArrayLike, y_score: npt.ArrayLike) -> None:
        """Count rows; there may be none, or rows of one class only. Labels and scores as in :func:`tpauc_score`."""
        positive, scores = check_labels(y_true), check_scores(y_score)
        check_same_length("y_true", positive, "y_score", scores)
        numbers = bin_numbers(scores, self.bins)
        self.positives += np.bincount(numbers[positive], minlength=self.bins)
        self.negatives += np.bincount(numbers[~positive], minlength=self.bins)

    def __add__(self, other: Histogram) -> Histogram:
        if not isinstance(other, Histogram):
            return NotImplemented
        if self.bins != other.bins:
            raise ValueError(f"only histograms of equal size can be added, got {self.bins} and {other.bins} bins")
        return Histogram.from_counts(self.positives + other.positives, self.negatives + other.negatives)

    def merge(self, *others: Histogram) -> Histogram:
        """Return the sum of this histogram and of others, which stay as they are."""
        for other in others:
            if not isinstance(other, Histogram):
                raise TypeError(f"others must be histograms, got {brief(other)}")
        return sum(others, start=self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return bool(np.array_equal(self.positives, other.positives) and np.array_equal(self.negatives, other.negatives))

    __hash__ = None  # type: ignore[assignment]  # mypy: counts change, so a histogram cannot be a key

    def __repr__(self) -> str:
        n_positive, n_negative = int(self.positives.sum()), int(self.negatives.sum())
        return f"Histogram({n_positive} positives and {n_negative} negatives in {self.bins} bins)"

    # ------------------------------------------------------------------------------------------------------ metrics

    def bounds(self, *, alpha: float, beta: float, min_alpha: float = 0.0, min_beta: float = 0.0) -> Bounds:
        """Return the range of the area that the counts allow; the exact value lies in it under every tie rule.

        The arguments are those of :class:`tpauc.Region`.

        Examples
        --------
        >>> histogram = Histogram()
        >>> histogram.update([1, 1, 0, 0], [0.9, 0.4, 0.5, 0.1])
        >>> histogram.bounds(alpha=1, beta=1, min_alpha=0.5)  # without the hardest positive
        Bounds(low=1.0, high=1.0)
        """
        # Python's whole numbers, of which the products cannot overflow.
        p, q = (hard.astype(object) for hard in self._hard(Region(alpha, beta, min_alpha, min_beta)))
        won, in_one_bin, n_pairs = int(p @ (np.cumsum(q) - q)), int(p @ q), int(p.sum()) * int(q.sum())
        return Bounds(won / n_pairs, (won + in_one_bin) / n_pairs)

    def interval(self, *, alpha: float, beta: float, confidence: float = 0.95) -> Interval:
        """Return the middle of the bounds, and limits around the large-sample interval of the exact scores."""
        confidence = check_open_share(confidence, "confidence")
        region = Region(alpha, beta)
        sums, bounds = self._sums(region), self.bounds(alpha=alpha, beta=beta)
        moments = self._widest_moments(sums, region)
        # As a function of the estimate the lower limit has no minimum inside (0, 1), the upper one no maximum: the ends
        # of the range decide. Next to 0 and 1, which have limits of their own, comes half a pair.
        half_pair = 1.0 / sums.twice_pairs
        values = {bounds.low, bounds.high} | {
            min(max(x, half_pair), 1.0 - half_pair) for x in (bounds.low, bounds.high)
        }
        if bounds.low == bounds.high:
            values = {bounds.low}
        selected = sums.k_positive, sums.k_negative
        ends = [large_sample_interval(value, moments, selected, confidence) for value in values]
        low, high = min(end.low for end in ends), max(end.high for end in ends)
        return Interval(bounds.estimate, low, high, "delong", *selected)

    def operating_point(self, *, alpha: float, beta: float, confidence: float = 0.95) -> OperatingPoint:
        """Return the lowest edge of a bin at which ``FPR <= beta``, with its exact rates and their intervals.

        The edge is at most one bin above the threshold of :func:`tpauc.operating_point`. If even the highest bin with
        a positive has more than ``beta`` of the negatives, the threshold is infinite.
        """
        region, confidence = Region(alpha, beta), check_open_share(confidence, "confidence")
        n_positive, n_negative = self._class_counts()
        alarms = np.cumsum(self.negatives[::-1])[::-1]
        allowed = np.flatnonzero((alarms <= hard_mass(n_negative, region.beta)) & (self.positives > 0))
        found = int(allowed[0]) if allowed.size else self.bins
        caught, alarmed = int(self.positives[found:].sum()), int(self.negatives[found:].sum())
        counts = AlarmCounts(caught, n_positive - caught, alarmed, n_negative - alarmed)
        threshold = lowest_score(found, self.bins) if allowed.size else math.inf
        return point_of_counts(threshold, counts, region, confidence)

    def _class_counts(self) -> tuple[int, int]:
        n_positive, n_negative = int(self.positives.sum()), int(self.negatives.sum())
        check_class_counts(n_positive, n_negative, "the histogram")
        return n_positive, n_negative

    def _hard(self, region: Region) -> tuple[IntArray, IntArray]:
        """Return the numbers of positives and negatives in each bin that the region selects."""
        n_positive, n_negative = self._class_counts()
        of_class = (
            (self.positives, region.ranks_of_positives(n_positive)),
            (self.negatives[::-1], region.ranks_of_negatives(n_negative)),
        )
        hard_positives, hard_negatives = (
            first_counts(counts, last) - first_counts(counts, first) for counts, (first, last) in of_class
        )
        return hard_positives, hard_negatives[::-1]

    def _widest_moments(self, sums: PairSums, region: Region) -> Moments:
        """Return the moments with the largest variance and the fewest degrees of freedom that the counts allow."""
        hard_positives, hard_negatives = self._hard(region)
        errors = (
            _errors(sums.n_positive, hard_positives, hard_negatives, np.flatnonzero(hard_positives)[-1]),
            _errors(sums.n_negative, hard_negatives, hard_positives, np.flatnonzero(hard_negatives)[0]),
        )
        least = most = fourth = 0.0
        for found, (of_second, of_fourth) in zip(sums.class_moments(), errors, strict=True):
            deviation = math.sqrt(found.variance)
            least += max(deviation - of_second, 0.0) ** 2
            most += (deviation + of_second) ** 2
            fourth += (found.fourth**0.25 + of_fourth) ** 4
        if fourth == 0.0:
            return Moments(0.0, 0.0)
        effective_number = max(least**2 / fourth, 1.0)
        return Moments(most, most**2 / effective_number)

    def _sums(self, region: Region) -> PairSums:
        """Return the sums over pairs, with pairs of one bin as ties."""
        return PairSums.of_tied_cells(*self._class_counts(), *self._hard(region))

    # -------------------------------------------------------------------------------------------------------- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bins that are not empty to a ``.json`` or ``.parquet`` file (the latter needs pyarrow)."""
        target = _check_suffix(path)
        filled = np.flatnonzero(self.positives + self.negatives)
        columns = dict(zip(_COLUMNS, (filled, self.positives[filled], self.negatives[filled]), strict=True))
        if target.suffix == ".json":
            content = {"format": _FORMAT, "bins": self.bins} | {name: c.tolist() for name, c in columns.items()}
            text = json.dumps(content).encode()
            self._check_read_again(target, _from_json(text))
            write_atomically(target, text)
            return
        arrow, parquet = import_extra("pyarrow", "frames"), import_extra("pyarrow.parquet", "frames")
        table = arrow.table(columns).replace_schema_metadata({"format": _FORMAT, "bins": str(self.bins)})
        buffer = io.BytesIO()
        parquet.write_table(table, buffer, write_page_checksum=True)
        self._check_read_again(target, _from_parquet(buffer.getvalue()))
        write_atomically(target, buffer.getvalue())

    def _check_read_again(self, target: Path, found: tuple[int, IntArray, IntArray, IntArray]) -> None:
        """Raise, before anything is written, if a file would not hold this histogram."""
        bins, filled, positives, negatives = found
        counts = (self.positives[filled], positives), (self.negatives[filled], negatives)
        total = int(self.positives.sum() + self.negatives.sum())
        same = bins == self.bins and total == int(positives.sum() + negatives.sum())
        if not (same and all(np.array_equal(*pair) for pair in counts)):
            raise ValueError(f"{target} is not written, because its counts could not be read again")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Histogram:
        """Read a histogram that :meth:`save` wrote."""
        source = _check_suffix(path)
        contents = source.read_bytes()
        try:
            bins, *columns = (_from_json if source.suffix == ".json" else _from_parquet)(contents)
            histogram = cls(bins)
            filled, *counts = (_check_counts(values, name) for values, name in zip(columns, _COLUMNS, strict=True))
            if (np.diff(filled) <= 0).any() or (filled >= histogram.bins).any():
                raise ValueError(f"bin must ascend from 0 to at most {histogram.bins - 1}")
            for name, values in zip(_COLUMNS[1:], counts, strict=True):
                check_same_length("bin", filled, name, values)
            histogram.positives[filled], histogram.negatives[filled] = counts
        # pyarrow's OSError: damaged pages; RuntimeError: Parquet that it does not support, and JSON that is too deep.
        except (KeyError, ValueError, IndexError, TypeError, OSError, RuntimeError) as error:
            raise ValueError(f"{source} is not a histogram that tpauc wrote: {error}") from error
        return histogram


def bin_numbers(scores: FloatArray, bins: int = BINS) -> IntArray:
    """Return the bin of each finite score, from 0 to ``bins - 1``.

    Examples
    --------
    >>> bin_numbers(np.array([-1e300, -1.0, 0.0, 0.5, 1.0, 1e300]), 8)
    array([0, 1, 2, 4, 6, 7])
    """
    numbers: IntArray = (spread(scores.astype(np.float64), np.where) * bins).astype(np.int64)
    return np.minimum(numbers, bins - 1)


def spread(scores: Any, where: Callable[..., Any]) -> Any:
    """Return ``u`` of the head of the module, for NumPy arrays and torch tensors alike; ``where`` is their own.

    Examples
    --------
    >>> spread(np.array([-1.0, 0.0, 1.0, 4.0]), np.where)
    array([0.125 , 0.25  , 0.75  , 0.9375])
    """
    # Each piece is given arguments of its own part of the axis, so that none divides by zero or overflows.
    u = where(scores <= 1.0, 0.25 + 0.5 * scores.clip(0.0, 1.0), 1.0 - 0.25 / scores.clip(min=1.0))
    return where(scores < 0.0, 0.25 / (1.0 - scores.clip(max=0.0)), u)


def lowest_score(number: int, bins: int = BINS) -> float:
    """Return the lowest finite score in a bin or in any bin above it.

    Examples
    --------
    >>> print(f"{lowest_score(4, 8):.3f}")
    0.500
    """
    # Bisection over all floats: they are ordered as their bits are, read as sign and magnitude.
    low, high = -_MAGNITUDE, _MAGNITUDE
    while low < high:
        middle = (low + high) // 2
        if int(bin_numbers(np.array([_float_at(middle)]), bins)[0]) >= number:
            high = middle
        else:
            low = middle + 1
    return _float_at(low)


_MAGNITUDE = int(np.array(np.finfo(np.float64).max).view(np.int64))


def _float_at(place: int) -> float:
    """Return the float with so many others between it and zero, negative for a negative place."""
    return math.copysign(float(np.array(abs(place), dtype=np.int64).view(np.float64)), place)


def first_counts(counts: IntArray, k: int) -> IntArray:
    """Return how many of the first ``k`` examples each bin holds."""
    before = np.cumsum(counts) - counts
    inside: IntArray = np.clip(k - before, 0, counts)
    return inside


def _errors(n: int, own: IntArray, others: IntArray, border: np.intp) -> tuple[float, float]:
    """Return how far the roots of the sums of squares and of fourth powers over a class of ``n`` rows can be off."""
    error = (others + float(others[border])) / (2.0 * float(others.sum()) * float(own.sum()))
    factor = math.sqrt(n / max(n - 1, 1))
    return factor * math.sqrt(float(own @ error**2)), 2.0 * factor * float(own @ error**4) ** 0.25


def _check_counts(values: npt.ArrayLike, name: str) -> IntArray:
    counts = check_column(values, name)
    if np.ndim(values) != 1 or counts.dtype.kind not in "iu" or (counts.size and counts.min() < 0):
        raise ValueError(f"{name} must be one-dimensional whole numbers of at least 0")
    if counts.size and float(counts.sum(dtype=np.float64)) > 2.0**53:
        raise ValueError(f"{name} must count at most 2**53 rows, found {counts.sum(dtype=np.float64):g}")
    return counts.astype(np.int64)


def _check_suffix(path: str | os.PathLike[str]) -> Path:
    target = Path(check_path(path, "path"))
    if target.suffix not in (".json", ".parquet"):
        raise ValueError(f"path must end in .json or .parquet, got {str(path)!r}")
    return target


def _from_json(contents: bytes) -> tuple[Any, ...]:
    content = json.loads(contents)
    if content["format"] != _FORMAT:
        raise ValueError(f"its format is {content['format']!r}")
    # An empty list would become an array of floats.
    return content["bins"], *(np.array(content[name] or np.zeros(0, dtype=np.int64)) for name in _COLUMNS)


def _from_parquet(contents: bytes) -> tuple[Any, ...]:
    parquet = import_extra("pyarrow.parquet", "frames")
    with parquet.ParquetFile(io.BytesIO(contents), page_checksum_verification=True) as file:
        about = file.schema_arrow.metadata or {}
        if about.get(b"format", b"").decode() != _FORMAT:
            raise ValueError("it has no such format")
        bins = check_count(int(about[b"bins"]), "bins", at_most=MOST_BINS)
        if file.metadata.num_rows > bins:  # a small file may unpack to any number of rows
            raise ValueError(f"it has {file.metadata.num_rows} rows for {bins} bins")
        table = file.read(columns=list(_COLUMNS))
    return bins, *(table[name].to_numpy() for name in _COLUMNS)
