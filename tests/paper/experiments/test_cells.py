"""Requests become cells: which trainings, with which parameters, in which folders."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper_runs import request
from tpauc.paper.experiments.cells import (
    ANY_REGION,
    EACH_REGION,
    check_each,
    chosen_region,
    number_text,
    region_text,
)
from tpauc.paper.experiments.published import BEST, EXPONENT_GRID, GAMMA_GRID, WARMUP_GRID
from tpauc.paper.experiments.results import key_of
from tpauc.region import Region

REGIONS = (Region(0.3, 0.3), Region(0.4, 0.4), Region(0.5, 0.5))


def test_a_method_without_parameters_is_trained_once_for_all_regions():
    for per_region in (False, True):
        (cell,) = request(methods=("CE-RW",), per_region=per_region).cells()
        assert (cell.regions, cell.parameters, cell.chosen_for) == (REGIONS, (), ANY_REGION)


def test_by_default_the_parameters_are_those_of_the_first_region():
    (cell,) = request(methods=("TPAUC-Poly",), epochs=30).cells()
    assert cell.regions == REGIONS
    assert dict(cell.parameters) == {"exponent": 0.1, "warmup_epochs": 0}
    assert cell.chosen_for == "(0.3, 0.3)"


def test_per_region_trains_each_choice_of_parameters_once():
    cells = request(methods=("TPAUC-Poly",), subset=2, epochs=30, per_region=True).cells()
    assert [(dict(cell.parameters)["exponent"], cell.regions) for cell in cells] == [
        (0.01, REGIONS[:1]),
        (0.03, REGIONS[1:]),  # the paper's best for both
    ]
    assert {cell.chosen_for for cell in cells} == {EACH_REGION}
    anchored = request(methods=("anchored",), epochs=30, per_region=True).cells()
    assert [cell.trained_region for cell in anchored] == list(REGIONS)


def test_values_by_hand_replace_the_papers_in_methods_that_have_them():
    square, polynomial = request(methods=("SqAUC", "TPAUC-Poly"), epochs=30, parameters={"exponent": 1.0}).cells()
    assert square.parameters == ()
    assert dict(polynomial.parameters) == {"exponent": 1.0, "warmup_epochs": 0}
    assert polynomial.chosen_for == "(0.3, 0.3), but exponent=1"


def test_seeds_come_before_methods():
    cells = request(methods=("SqAUC", "CE-RW"), seeds=(0, 1)).cells()
    assert [(cell.seed, cell.method) for cell in cells] == [(0, "SqAUC"), (0, "CE-RW"), (1, "SqAUC"), (1, "CE-RW")]


def test_every_setting_of_a_training_is_in_the_name_of_its_folder(tmp_path):
    base = {"methods": ("TPAUC-Poly",), "epochs": 30}
    changes = [{}, {"seeds": (1,)}, {"split": 1}, {"subset": 2}, {"recipe": "strong"}, {"methods": ("OP-Poly",)}]
    changes += [{"parameters": {"exponent": 0.2}}, {"recipe": "strong", "epochs": 40}, {"dataset": "cifar100-lt"}]
    folders = [request(**{**base, **change}).cells()[0].folder(tmp_path) for change in changes]
    assert len(set(folders)) == len(folders)
    # Under an exponential schedule a longer training passes through the shorter one.
    assert request(**{**base, "epochs": 40}).cells()[0].folder(tmp_path) == folders[0]


def test_names_of_folders_stay_what_they_were(tmp_path):
    (cell,) = request(methods=("TPAUC-Poly",), epochs=30).cells()
    assert cell.folder(tmp_path).name == "paper-split-0-seed-0-exponent-0.1-warmup_epochs-0"
    best = [
        value for of_set in BEST.values() for of_kind in of_set.values() for rows in of_kind.values() for value in rows
    ]
    usual = {*EXPONENT_GRID, *GAMMA_GRID, *WARMUP_GRID, *(value for pair in best for value in pair)}
    for value in (*usual, 0.0001, 0.0003, 100.0, 350.0, 1000.0, 1e-5, 2_000_000):
        assert number_text(value) == f"{value:g}"


def test_values_that_differ_little_have_folders_and_keys_of_their_own(tmp_path):
    cells = [
        request(methods=("TPAUC-Poly",), parameters={"exponent": exponent}).cells()[0]
        for exponent in (0.1234567, 0.1234568)
    ]
    folders, keys = (
        [of(cell) for cell in cells] for of in (lambda c: c.folder(tmp_path), lambda c: key_of(c, REGIONS[0]))
    )
    assert folders[0] != folders[1]
    assert keys[0] != keys[1]
    assert [key.chosen_for for key in keys] == [
        f"(0.3, 0.3), but exponent={value}" for value in ("0.1234567", "0.1234568")
    ]


@given(st.floats(1e-300, 1e300) | st.integers(0, 10**9))
@settings(deadline=None, max_examples=100)
def test_a_number_can_be_read_back_from_its_text(value):
    assert float(number_text(value)) == value
    assert number_text(float(value)) == number_text(value)


@given(st.floats(0.0, 1.0, exclude_min=True), st.floats(0.0, 1.0, exclude_min=True))
@settings(deadline=None, max_examples=50)
def test_the_region_that_parameters_were_chosen_for_can_be_read_back(alpha, beta):
    region = Region(alpha, beta)
    assert chosen_region(region_text(region), REGIONS[0]) == region
    assert chosen_region(f"{region_text(region)}, but gamma=2", REGIONS[0]) == region
    for text in (ANY_REGION, EACH_REGION, f"{EACH_REGION}, but gamma=2"):
        assert chosen_region(text, region) == region


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dataset": "mnist"}, "dataset must be one of 'cifar10-lt', 'cifar100-lt', 'tiny-imagenet', got 'mnist'"),
        ({"subset": 4}, "subset must be one of 1, 2, 3, got 4"),
        ({"methods": ("CE",)}, "each of methods must be one of 'CE-RW', .* got 'CE'"),
        ({"methods": ()}, "methods must hold at least one value, got none"),
        ({"seeds": (1, 1)}, "seeds must hold each value once, got 1 twice"),
        ({"seeds": (-1,)}, "each of seeds must be at least 0, got -1"),
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"recipe": "best"}, "recipe must be one of 'paper', 'authors', 'strong', got 'best'"),
        ({"parameters": {"gamma": 1.0}}, "none of SqAUC has a parameter 'gamma'; they have none"),
        ({"methods": ("TPAUC-Poly",), "parameters": {"exponent": -1.0}}, "exponent must be .* got -1.0"),
        ({"methods": ("TPAUC-Exp",), "parameters": {"warmup_epochs": 2.5}}, "a whole number of at least 0, got 2.5"),
        ({"methods": ("TPAUC-Exp",), "parameters": {"warmup_epochs": -1}}, "a whole number of at least 0, got -1"),
        ({"methods": ("TPAUC-Exp",), "parameters": {"warmup_epochs": 2}}, "less than the 2 epochs .*, got 2"),
        ({"methods": ("anchored",), "parameters": {"plain_epochs": 9}}, "plain_epochs must be less than .*, got 9"),
        ({"methods": ("TruncTPAUC",), "parameters": {"beta": 1.5}}, "beta must be .* got 1.5"),
        ({"methods": ("TPAUC-Exp",), "parameters": {"gamma": float("nan")}}, "gamma must be .* got nan"),
    ],
)
def test_a_request_is_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        request(**settings)


def test_checks_let_good_values_pass():
    check_each((1, 2), "seeds", lambda value, name: value)
    (cell,) = request(methods=("TPAUC-Exp",), epochs=30, parameters={"warmup_epochs": 29, "gamma": 50.0}).cells()
    assert dict(cell.parameters) == {"gamma": 50.0, "warmup_epochs": 29}
    (cell,) = request(methods=("TruncTPAUC",), epochs=1, parameters={"beta": 1.0, "warmup_epochs": 0}).cells()
    assert cell.trained_region == Region(0.3, 1.0)
    with pytest.raises(TypeError, match="methods must be a list, got 'SqAUC'"):
        check_each("SqAUC", "methods", lambda value, name: value)
