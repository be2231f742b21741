"""Areas of many problems at once equal those of each problem alone."""

import numpy as np
import pytest

from tpauc import Region
from tpauc.metrics import label_columns
from tpauc.metrics._row_areas import areas_in_rows
from tpauc.metrics.area import area_in_region, tpauc_score

REGIONS = [
    Region(0.3, 0.3),
    Region(1.0, 1.0),
    Region(1.0, 0.2),
    Region(1.0, 0.5, min_alpha=0.6),
    Region(0.7, 0.5, 0.3, 0.1),
]


def problems(seed, n=60, shift=1.0, digits=None):
    rng = np.random.default_rng(seed)
    positive = rng.random((12, n)) < np.linspace(0.2, 0.6, 12)[:, None]
    known = rng.random((12, n)) < 0.9
    scores = rng.normal(size=(12, n)) + shift * positive
    scores = scores if digits is None else scores.round(digits)
    return positive & known, ~positive & known, scores


@pytest.mark.parametrize("region", REGIONS, ids=str)
@pytest.mark.parametrize("tie", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("digits", [None, 0])
@pytest.mark.parametrize("shift", [-3.0, 0.0, 1.0, 10.0])
def test_rows_equal_a_loop(region, tie, digits, shift):
    for dtype in (np.float32, np.float64):
        positive, negative, scores = problems(0, shift=shift, digits=digits)
        scores = scores.astype(dtype)
        found = areas_in_rows(positive, negative, scores, region, tie)
        for row, area in enumerate(found):
            known = positive[row] | negative[row]
            assert area == area_in_region(positive[row, known], scores[row, known], region, tie=tie)


def test_input_is_left_as_it_was():
    arrays = problems(1)
    copies = [array.copy() for array in arrays]
    areas_in_rows(*arrays, REGIONS[0], 0.5)
    assert all(np.array_equal(array, copy) for array, copy in zip(arrays, copies, strict=True))


def test_problems_without_pairs_have_no_area():
    positive, negative, scores = problems(2)
    positive[0], negative[1] = False, False
    positive[2, 1:] = False  # 30 % of one positive is none
    negative[3] = positive[3] = False
    found = areas_in_rows(positive, negative, scores, Region(0.3, 0.3), 0.5)
    assert np.isnan(found[:4]).all()
    assert np.isfinite(found[4:]).all()
    none = np.zeros((2, 0), dtype=bool)
    assert np.isnan(areas_in_rows(none, none, np.zeros((2, 0)), Region(1.0, 1.0), 0.5)).all()
    assert np.isnan(areas_in_rows(positive & False, negative, scores, Region(1.0, 1.0), 0.5)).all()


def test_long_columns_are_taken_one_by_one(monkeypatch):
    positive, _, scores = problems(3)
    together = tpauc_score(positive.T, scores.T, alpha=0.5, beta=0.3, average=None)
    monkeypatch.setattr(label_columns, "_MANY_ROWS", 10)
    assert np.array_equal(tpauc_score(positive.T, scores.T, alpha=0.5, beta=0.3, average=None), together)
