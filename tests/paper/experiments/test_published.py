"""The numbers of the paper: complete, and as printed."""

import hashlib
import json

import pytest

from tpauc.losses.weighting import Exponential, Polynomial
from tpauc.paper.data.datasets import DATASETS
from tpauc.paper.experiments.methods import METHODS, PAPER_METHODS
from tpauc.paper.experiments.published import BEST, PUBLISHED, Best, best_parameters, published
from tpauc.region import Region


@pytest.mark.parametrize("dataset", list(DATASETS))
def test_the_tables_are_complete(dataset):
    assert set(PAPER_METHODS) <= set(PUBLISHED[dataset]) <= set(METHODS)
    assert all(len(row) == 9 for row in PUBLISHED[dataset].values())
    for weighting in ("Poly", "Exp"):
        assert {subset: len(rows) for subset, rows in BEST[dataset][weighting].items()} == {1: 3, 2: 3, 3: 3}


@pytest.mark.parametrize(
    ("numbers", "digest"),
    [
        (PUBLISHED, "30a2338ad4a20bebf4c6257dc590d4feccf9b154dcc065b7a6fb73bb028a0666"),
        (BEST, "d9c7f393e390a5acac15c42655cc29cf2635817822f6df93b954a0b4570a7803"),
    ],
    ids=["published", "best"],
)
def test_the_numbers_are_those_that_were_checked_against_the_paper(numbers, digest):
    """All of them were compared with the printed tables, one by one; a digit that changes needs that again."""
    text = json.dumps(numbers, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest() == digest


@pytest.mark.parametrize(
    ("dataset", "subset", "method", "region", "printed"),
    [
        ("cifar10-lt", 1, "CE-RW", Region(0.3, 0.3), 9.09),
        ("cifar10-lt", 2, "Minmax-Poly", Region(0.5, 0.5), 94.65),
        ("cifar100-lt", 3, "TPAUC-Poly", Region(0.4, 0.4), 65.89),
        ("cifar100-lt", 3, "CE-TruncTPAUC", Region(0.3, 0.3), 25.20),
        ("tiny-imagenet", 1, "Minmax-Exp", Region(0.3, 0.3), 82.35),
        ("tiny-imagenet", 1, "Minmax-Poly", Region(0.3, 0.3), 82.24),
        ("cifar10-lt", 1, "anchored", Region(0.3, 0.3), None),
        ("cifar10-lt", 1, "CE-RW", Region(0.3, 0.4), None),
    ],
)
def test_published(dataset, subset, method, region, printed):
    assert published(dataset, subset, method, region) == printed


@pytest.mark.parametrize(
    ("dataset", "subset", "weighting", "region", "best"),
    [
        ("cifar10-lt", 1, "Poly", Region(0.5, 0.5), Best(0.03, 8)),
        ("cifar10-lt", 2, "Exp", Region(0.3, 0.3), Best(8, 5)),
        ("cifar100-lt", 3, "Poly", Region(0.4, 0.4), Best(0.1, 35)),
        ("tiny-imagenet", 3, "Exp", Region(0.5, 0.5), Best(8, 15)),
        ("tiny-imagenet", 3, "Exp", Region(0.1, 0.9), Best(8, 15)),
    ],
)
def test_best_parameters(dataset, subset, weighting, region, best):
    assert best_parameters(dataset, subset, weighting, region) == best


def test_every_printed_parameter_makes_a_calibrated_weighting():
    for tables in BEST.values():
        for rows in tables["Poly"].values():
            assert all(Polynomial.from_exponent(best.value).calibration().calibrated for best in rows)
        for rows in tables["Exp"].values():
            assert all(Exponential(best.value).calibration().calibrated for best in rows)
