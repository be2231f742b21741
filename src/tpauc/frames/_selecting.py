"""Which examples of a series are selected, and the sums over their pairs.

Examples are numbered from the lowest score up. A region selects a range of numbers of each class: TPAUC the positives
from 0 to ``k+`` and the negatives from ``n- - k-`` to ``n-``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tpauc._validation import check_class_counts
from tpauc.frames._counting import BoolArray, Counted, Counts, IntArray, Key, cut_all_full_cells
from tpauc.frames._inside import Border, Constants, Need, powers_of, sums_inside_cells
from tpauc.metrics.large_sample import POWERS, CellSums, PairSums
from tpauc.metrics.operating_points import AlarmCounts
from tpauc.region import Region, hard_mass


class Numbers(NamedTuple):
    """A range of examples of one class, numbered from the lowest score up."""

    start: int
    stop: int


class Selection(NamedTuple):
    """The selected positives and negatives of a series."""

    positives: Numbers
    negatives: Numbers


class Threshold(NamedTuple):
    """A threshold, and how many rows are on either side of it."""

    score: float
    alarms: AlarmCounts


@dataclass
class Pairs:
    """The counts of a series and what the passes found in its cells."""

    counts: Counts
    selection: Selection
    inside: dict[int, dict[str, Any]] = field(default_factory=dict)
    single_values: dict[int, float] = field(default_factory=dict)

    @property
    def n_positive(self) -> int:
        """Number of positives."""
        return int(self.counts.positives.sum())

    @property
    def n_negative(self) -> int:
        """Number of negatives."""
        return int(self.counts.negatives.sum())

    def selected(self) -> tuple[IntArray, IntArray]:
        """Return the selected positives and negatives in each cell."""
        return (
            _selected(self.counts.positives, self.selection.positives),
            _selected(self.counts.negatives, self.selection.negatives),
        )

    @cached_property
    def sums(self) -> PairSums:
        """The sums over all selected pairs; only ``won`` and ``tied`` if the passes were made without powers."""
        positives, negatives = self.selected()
        inside = CellSums.all_tied(positives, negatives)
        for place in np.flatnonzero((positives > 0) & (negatives > 0)):
            found = self.inside.get(int(self.counts.cells[place]))
            if found is None:  # one score alone: all tied
                continue
            inside.won[place], inside.tied[place] = int(found["won"]), int(found["tied"])
            if "w_last" not in found:
                continue
            inside.w_last[place], inside.v_first[place] = int(found["w_last"]), int(found["v_first"])
            above = int(negatives[place]) - int(found["q_last"])  # negatives above all positives of the cell
            of_w, of_v = powers_of("w", found), powers_of("v", found)
            for power in POWERS:
                inside.w_powers[power][place] = of_w[power]
                inside.v_powers[power][place] = of_v[power] + above * (2 * int(positives[place])) ** power
        return PairSums.of_cells(self.n_positive, self.n_negative, positives, negatives, inside)

    def threshold(self, region: Region) -> Threshold:
        """Return the threshold that :func:`tpauc.operating_point` picks by default, and the rows on either side."""
        found = None
        for place in threshold_cells(self.counts, region):
            cell = int(self.counts.cells[place])
            if cell in self.single_values:
                # All its scores are equal: it is a candidate only if none of its negatives has to be below.
                if _needed(self.counts, place, region) <= 0:
                    found = place, self.single_values[cell], 0, 0
            elif self.inside[cell]["threshold"] is not None:
                inside = self.inside[cell]
                found = place, inside["threshold"], int(inside["positives_below"]), int(inside["negatives_below"])
            if found is not None:
                break
        if found is None:
            return Threshold(float("inf"), AlarmCounts(0, self.n_positive, 0, self.n_negative))
        place, threshold, positives_below, negatives_below = found
        missed = int(self.counts.positives[:place].sum()) + positives_below
        quiet = int(self.counts.negatives[:place].sum()) + negatives_below
        return Threshold(
            float(threshold), AlarmCounts(self.n_positive - missed, missed, self.n_negative - quiet, quiet)
        )


def hard_selection(counts: Counts, region: Region) -> Selection:
    """Return the examples in a region."""
    n_negative = int(counts.negatives.sum())
    positives = region.ranks_of_positives(int(counts.positives.sum()))
    first, last = region.ranks_of_negatives(n_negative)
    return Selection(Numbers(*positives), Numbers(n_negative - last, n_negative - first))


def check_classes(counted: Counted, label: str, names: dict[Key, str]) -> None:
    """Raise if a series lacks a class."""
    for key, counts in counted.series.items():
        where = f" where {names[key]}" if names[key] else ""
        check_class_counts(int(counts.positives.sum()), int(counts.negatives.sum()), f"label={label!r}{where}")


def add_up_pairs(
    counted: Counted,
    selections: dict[Key, Selection],
    *,
    powers: bool,
    point: Region | None = None,
    borders: bool = False,
) -> dict[Key, Pairs]:
    """Cut full cells, make the last pass, and return the pairs of each series.

    With ``point`` the cells of the operating point are looked at as well. With ``borders`` the cells at the borders of
    the selection are cut, too, so that scores can be found in them.
    """
    cut_all_full_cells(counted, lambda: _wanted(counted, selections, point, borders=borders))
    wanted = _wanted(counted, selections, point)
    positive_borders: list[Border] = []
    negative_borders: list[Border] = []
    needs: list[Need] = []
    for key, counts in counted.series.items():
        selection = selections[key]
        positive_borders += _borders(key, counts.cells, counts.positives, selection.positives, wanted[key])
        negative_borders += _borders(key, counts.cells, counts.negatives, selection.negatives, wanted[key])
        if point is not None:
            needs.extend(
                Need(key, int(counts.cells[place]), _needed(counts, place, point))
                for place in threshold_cells(counts, point)
            )
    constants = Constants(positive_borders, negative_borders, needs)
    inside = sums_inside_cells(counted, wanted, constants, powers=powers)
    single = counted.partition.single_values
    return {key: Pairs(counts, selections[key], inside[key], single) for key, counts in counted.series.items()}


def threshold_cells(counts: Counts, region: Region) -> list[int]:
    """Return the places of the cells in which the lowest threshold with ``FPR <= beta`` may be, lowest first.

    The first cell from which the alarms are too many may hold positives above the negative that is one too many;
    the next higher cell with positives holds the threshold otherwise.
    """
    alarms = np.cumsum(counts.negatives[::-1])[::-1]
    too_many = np.flatnonzero(alarms > hard_mass(int(counts.negatives.sum()), region.beta))
    last = int(too_many[-1]) if too_many.size else -1
    places = [last] if last >= 0 and counts.positives[last] > 0 else []
    above = np.flatnonzero(counts.positives[last + 1 :] > 0)
    return places + ([last + 1 + int(above[0])] if above.size else [])


def _needed(counts: Counts, place: int, region: Region) -> int:
    """Return how many negatives of a cell must be below a threshold in it."""
    alarms = int(counts.negatives[place:].sum())
    return max(alarms - hard_mass(int(counts.negatives.sum()), region.beta), 0)


def _wanted(
    counted: Counted, selections: dict[Key, Selection], point: Region | None, *, borders: bool = False
) -> dict[Key, BoolArray]:
    wanted = {}
    for key, counts in counted.series.items():
        positives, negatives = Pairs(counts, selections[key]).selected()
        mask = (positives > 0) & (negatives > 0)
        if borders:
            mask[[np.flatnonzero(positives)[-1], np.flatnonzero(negatives)[0]]] = True
        if point is not None:
            mask[threshold_cells(counts, point)] = True
        wanted[key] = mask
    return wanted


def _before(values: IntArray) -> IntArray:
    return np.cumsum(values) - values


def _selected(values: IntArray, numbers: Numbers) -> IntArray:
    before = _before(values)
    return np.clip(numbers.stop - before, 0, values) - np.clip(numbers.start - before, 0, values)


def _borders(key: Key, cells: IntArray, values: IntArray, numbers: Numbers, wanted: BoolArray) -> list[Border]:
    """Return the wanted cells of which some examples of a class are selected and some are not."""
    selected = _selected(values, numbers)
    skipped = np.clip(numbers.start - _before(values), 0, values)
    places = np.flatnonzero(wanted & (selected > 0) & (selected < values))
    return [Border(key, int(cells[i]), int(skipped[i]), int(selected[i])) for i in places]
