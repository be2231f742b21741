"""Rows that belong together: what each cluster contributes to TPAUC, and the spread of rates over clusters.

A cluster contributes the sum over its rows of ``(U - mean U) / k+`` and ``(V - mean V) / k-``, each class times
``sqrt(C / (C - 1))`` for the ``C`` clusters that hold rows of it. The variance is the sum of the squares. How many
clusters the region selects, and the design effect of the rates at a threshold, follow from sums over the clusters of
products of their counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import narwhals as nw

from tpauc.frames._columns import CLUSTER, LABEL, score_name
from tpauc.frames._counting import Counted, Key, series_number
from tpauc.frames._engines import Frame, collect
from tpauc.frames._influence import contributed, with_influence
from tpauc.frames._inside import SERIES
from tpauc.frames._order import Rank, Ranked, of_series, scores_of_ranks
from tpauc.frames._selecting import Pairs
from tpauc.metrics.large_sample import Moments, PairSums, spread_of_ties
from tpauc.metrics.operating_points import AlarmCounts


class Clusters(NamedTuple):
    """The clusters of a series.

    ``moments`` are of what clusters contribute to TPAUC, ``selected`` are the numbers of clusters that the region
    selects of each class, and ``alarms`` the counts of rows at the threshold with their spread over clusters.
    """

    number: int
    moments: Moments
    selected: tuple[float, float]
    alarms: AlarmCounts


def by_cluster(counted: Counted, pairs: Mapping[Key, Pairs], thresholds: Mapping[Key, float]) -> dict[Key, Clusters]:
    """Return the clusters of each series."""
    columns = counted.columns
    ranks = [
        Rank(key, positive, number)
        for key, found in pairs.items()
        for positive, number in ((True, found.sums.k_positive), (False, found.n_negative - found.sums.k_negative + 1))
    ]
    borders = dict(zip([(rank.key, rank.positive) for rank in ranks], scores_of_ranks(counted, ranks), strict=True))
    found: dict[Key, Clusters] = {}
    for model in range(len(columns.scores)):
        keys = [key for key in pairs if len(columns.scores) == 1 or key[0] == model]
        sums = [pairs[key].sums for key in keys]
        rows = _with_series(counted, keys)
        hard, tied = _at_borders(nw.col(score_name(model)), [(borders[key, True], borders[key, False]) for key in keys])
        alarm = nw.col(score_name(model)) >= of_series([float(thresholds[key]) for key in keys])
        counts = _counts(rows, _conditions(alarm, hard, tied))
        for one in counts:
            check_spread(one.by_class)
        rows = with_influence(counted, rows, score_name(model), keys, pairs, "influence")
        moments = contributed(rows, "influence", *_mean_influences(sums), sums, [one.by_class for one in counts])
        for place, key in enumerate(keys):
            one, left = counts[place], _left_at_borders(sums[place], borders[key, True], borders[key, False])
            found[key] = Clusters(one.number, moments[place], one.selected(left), one.alarms())
    return found


def _with_series(counted: Counted, keys: Sequence[Key]) -> Frame:
    """Return all rows with the number of their series among those of one model."""
    columns = counted.columns
    subgroups = [key[len(key) - len(columns.by) :] for key in keys]
    names = columns.keys[len(columns.keys) - len(columns.by) :]
    return columns.frame.with_columns(series_number(names, subgroups).alias(SERIES))


def _mean_influences(sums: Sequence[PairSums]) -> tuple[list[float], list[float]]:
    """Return the mean of ``2 k- U`` over the positives and of ``2 k+ V`` over the negatives."""
    return (
        [found.positive_powers[1] / found.n_positive for found in sums],
        [found.negative_powers[1] / found.n_negative for found in sums],
    )


# ------------------------------------------------------------------------------------------------- counts of clusters

_CELLS = ("caught", "missed", "alarmed", "quiet")
_POSITIVE, _NEGATIVE = ("hard_positive", "tied_positive"), ("hard_negative", "tied_negative")
_RATES = {  # among which rows, and which of them count, as the four cells
    "tpr": ((1, 1, 0, 0), (1, 0, 0, 0)),
    "fpr": ((0, 0, 1, 1), (0, 0, 1, 0)),
    "precision": ((1, 0, 1, 0), (1, 0, 0, 0)),
    "npv": ((0, 1, 0, 1), (0, 0, 0, 1)),
    "alarm_rate": ((1, 1, 1, 1), (1, 0, 1, 0)),
}


class ClusterCounts(NamedTuple):
    """Sums over the clusters of a series, by the names of :func:`_counts`."""

    sums: dict[str, int]

    @property
    def number(self) -> int:
        """Number of clusters."""
        return self.sums["n_alarm_rate"]

    @property
    def by_class(self) -> tuple[int, int]:
        """Numbers of clusters with positives and with negatives."""
        return self.sums["n_tpr"], self.sums["n_fpr"]

    def selected(self, left: tuple[float, float]) -> tuple[float, float]:
        """Return how many clusters the region selects of each class, as so many equal ones.

        ``left`` are the shares of the rows tied at the borders that the region selects.
        """
        positive, negative = (
            self._selected(*names, share) for names, share in zip((_POSITIVE, _NEGATIVE), left, strict=True)
        )
        return positive, negative

    def _selected(self, hard: str, tied: str, share: float) -> float:
        of_hard, of_both, of_tied = (self._of(*names) for names in ((hard, hard), (hard, tied), (tied, tied)))
        squares = of_hard + 2.0 * share * of_both + share**2 * of_tied
        squares += spread_of_ties(share, self.sums[tied], of_tied)
        return (self.sums[hard] + share * self.sums[tied]) ** 2 / squares

    def alarms(self) -> AlarmCounts:
        """Return the rows at the threshold, and for each rate the spread over clusters."""
        total = [self.sums[name] for name in _CELLS]
        spreads = {}
        for name, (among, inside) in _RATES.items():
            whole, part = _dot(among, total), _dot(inside, total)
            squares = whole**2 * self._product(inside, inside) - 2 * whole * part * self._product(inside, among)
            squares += part**2 * self._product(among, among)
            spreads[name] = self.sums[f"n_{name}"], squares / max(whole, 1) ** 4
        caught, missed, alarmed, quiet = total
        return AlarmCounts(caught, missed, alarmed, quiet, spreads)

    def _product(self, first: Sequence[int], second: Sequence[int]) -> int:
        """Return the sum over clusters of the product of two numbers of rows."""
        return sum(
            self._of(*sorted((_CELLS[i], _CELLS[j])))
            for i, a in enumerate(first)
            for j, b in enumerate(second)
            if a and b
        )

    def _of(self, first: str, second: str) -> int:
        return self.sums[f"{first}_{second}"]


def _dot(chosen: Sequence[int], values: Sequence[int]) -> int:
    return sum(value for one, value in zip(chosen, values, strict=True) if one)


def _conditions(alarm: nw.Expr, hard: nw.Expr, tied: nw.Expr) -> dict[str, nw.Expr]:
    """Return which rows are counted under which name."""
    positive = nw.col(LABEL)
    cells = positive & alarm, positive & ~alarm, ~positive & alarm, ~positive & ~alarm
    at_borders = positive & hard, positive & tied, ~positive & hard, ~positive & tied
    return dict(zip((*_CELLS, *_POSITIVE, *_NEGATIVE), (*cells, *at_borders), strict=True))


def _at_borders(score: nw.Expr, borders: Sequence[tuple[Ranked, Ranked]]) -> tuple[nw.Expr, nw.Expr]:
    """Return whether a row is harder than the border of the region in its class, and whether it is on it."""
    positive = nw.col(LABEL)
    of_positive, of_negative = (of_series([pair[side].score for pair in borders]) for side in (0, 1))
    hard = (positive & (score < of_positive)) | (~positive & (score > of_negative))
    return hard, (positive & (score == of_positive)) | (~positive & (score == of_negative))


def _left_at_borders(sums: PairSums, positive: Ranked, negative: Ranked) -> tuple[float, float]:
    """Return which share of the rows tied at the borders the region selects."""
    above = sums.n_negative - negative.below - negative.equal
    return (sums.k_positive - positive.below) / positive.equal, (sums.k_negative - above) / negative.equal


def _counts(rows: Frame, conditions: dict[str, nw.Expr]) -> list[ClusterCounts]:
    """Count the rows of each cluster, and add up the counts and products of counts over clusters."""
    one, zero = nw.lit(1, nw.Int64), nw.lit(0, nw.Int64)
    per_cluster = (
        rows.select(
            SERIES, CLUSTER, *(nw.when(c).then(one).otherwise(zero).alias(name) for name, c in conditions.items())
        )
        .group_by(SERIES, CLUSTER)
        .agg(*(nw.col(name).sum().cast(nw.Int64) for name in conditions))
    )
    terms = {name: nw.col(name) for name in conditions}
    for names in (sorted(_CELLS), _POSITIVE, _NEGATIVE):
        for first, second in combinations_with_replacement(names, 2):
            terms[f"{first}_{second}"] = nw.col(first) * nw.col(second)
    for name, (among, _) in _RATES.items():
        size = sum((nw.col(cell) for cell, chosen in zip(_CELLS, among, strict=True) if chosen), start=zero)
        terms[f"n_{name}"] = nw.when(size > 0).then(one).otherwise(zero)
    found = collect(
        per_cluster.select(SERIES, *(term.alias(name) for name, term in terms.items()))
        .group_by(SERIES)
        .agg(*(nw.col(name).sum().cast(nw.Int64) for name in terms))
    )
    counts = {
        int(series): ClusterCounts({name: int(found[name][place]) for name in terms})
        for place, series in enumerate(found[SERIES])
    }
    return [counts[series] for series in sorted(counts)]


def check_spread(by_class: tuple[int, int]) -> None:
    """Raise if a class has rows in a single cluster, as :func:`tpauc.tpauc_interval` does."""
    for number, of_class in zip(by_class, ("positive", "negative"), strict=True):
        if number < 2:
            raise ValueError(f"groups must hold at least 2 groups with a {of_class} row, or none shows their spread")


def clusters_by_class(rows: Frame) -> tuple[int, int]:
    """Return the numbers of clusters with positives and with negatives."""
    found = collect(rows.select(LABEL, CLUSTER).unique().group_by(LABEL).agg(nw.len().alias("n")))
    numbers = dict(zip(found[LABEL], found["n"], strict=True))
    return int(numbers.get(True, 0)), int(numbers.get(False, 0))
