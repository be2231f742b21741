"""Cells keep the order of scores, and ranges of cells hold their scores."""

import math

import narwhals as nw
import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc.frames._partition import Partition, Piece, first_cell
from tpauc.metrics.histogram import BINS, bin_numbers

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def evaluated(expression, scores):
    frame = nw.from_native(polars.DataFrame({"s": np.asarray(scores, dtype=np.float64)}))
    return frame.select(expression(nw.col("s")).alias("cell"))["cell"].to_numpy()


@settings(max_examples=40, deadline=None)
@given(st.lists(FINITE, min_size=1, max_size=40))
def test_the_first_cells_are_the_bins_of_histograms(scores):
    assert evaluated(first_cell, scores).tolist() == bin_numbers(np.array(scores)).tolist()


@settings(max_examples=40, deadline=None)
@given(st.lists(FINITE, min_size=2, max_size=40, unique=True), st.sampled_from([2, 100, BINS]))
def test_a_piece_keeps_the_order_and_separates_its_ends(scores, cells):
    ordered = np.sort(np.array(scores))
    if ordered[0] == ordered[-1]:  # -0.0 and 0.0
        return
    piece = Piece(float(ordered[0]), float(ordered[-1]), cells, first=BINS)
    numbers = evaluated(piece.number, ordered)
    assert (np.diff(numbers) >= 0).all()
    assert (numbers[0], numbers[-1]) == (0, cells - 1)


@settings(max_examples=40, deadline=None)
@given(st.lists(FINITE, min_size=3, max_size=40, unique=True), st.sampled_from([16, 4096, BINS]))
def test_ranges_of_cells_hold_their_scores(scores, bins):
    ordered = np.sort(np.array(scores))
    if ordered[0] == ordered[-1]:
        return
    partition = Partition(bins)
    cells = evaluated(partition.cell, ordered)
    partition.cut(int(cells[0]), int(cells[-1]) + 1, Piece(float(ordered[0]), float(ordered[-1]), 1000, first=bins))
    cut = evaluated(partition.cell, ordered)
    for found, part in ((cells, Partition(bins)), (cut, partition)):
        for score, cell in zip(ordered, found, strict=True):
            low, high = part.range_of(int(cell), int(cell))
            assert low <= score <= high
    assert (np.diff(partition.positions()[cut]) >= 0).all()


def test_cells_that_were_cut_have_no_place():
    partition = Partition()
    partition.cut(10, 12, Piece(0.1, 0.2, 4, first=BINS))
    assert partition.positions()[[9, 10, 11, 12]].tolist() == [9, -1, -1, 14]
    assert partition.order[9:15].tolist() == [9, BINS, BINS + 1, BINS + 2, BINS + 3, 12]


@pytest.mark.parametrize("score", [math.nan, math.inf, None])
def test_what_is_no_finite_score_is_in_the_last_cell(score):
    frame = nw.from_native(polars.DataFrame({"s": [score]}, schema={"s": polars.Float64}))
    assert frame.select(first_cell(nw.col("s")).alias("cell"))["cell"].to_list() == [BINS - 1]
