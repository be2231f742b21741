"""Cells of a table, the file of results, and how results are shown."""

import random
import signal
import subprocess
from dataclasses import asdict, fields

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from paper_runs import request, result
from tpauc.paper.experiments import provenance
from tpauc.paper.experiments.cells import (
    ANY_REGION,
    EACH_REGION,
    _check_epochs_before,
    _check_known_parameters,
    check_each,
    chosen_region,
    number_text,
    parameters_text,
    region_text,
)
from tpauc.paper.experiments.measured_data import _check_same_test_data, check_measured_on
from tpauc.paper.experiments.parameters import BEST, EXPONENT_GRID, GAMMA_GRID, WARMUP_GRID
from tpauc.paper.experiments.planning import known_seconds
from tpauc.paper.experiments.rendering import as_markdown, tables_of
from tpauc.paper.experiments.results import COLUMNS, Key, ResultsFile, _check_results_header, _check_row_length, key_of
from tpauc.paper.experiments.running import check_same_labels
from tpauc.region import Region
from training_runs import start

REGIONS = (Region(0.3, 0.3), Region(0.4, 0.4), Region(0.5, 0.5))
KILLS = 6


# ------------------------------------------------------------------------------------------------------------- cells


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
    _check_known_parameters({"gamma": 1.0}, {"gamma"}, ["TPAUC-Exp"])
    _check_results_header(["a", "b"], ("a", "b"), "results.csv")
    _check_row_length(["1", "2"], ("a", "b"))
    _check_epochs_before({"warmup_epochs": 29, "gamma": 50.0}, 30)
    _check_same_test_data((3, 9), (3, 9), what="cifar10-lt", path="results.csv", data_dir="data")
    check_same_labels(np.array([True, False]), np.array([True, False]), "test", "scores")
    with pytest.raises(TypeError, match="methods must be a list, got 'SqAUC'"):
        check_each("SqAUC", "methods", lambda value, name: value)


# ----------------------------------------------------------------------------------------------------------- results


def test_results_are_read_as_they_were_written(tmp_path):
    file = ResultsFile(tmp_path / "new" / "results.csv")
    rows = [result(), result(alpha=0.4, beta=0.4, machine='a "quoted", name')]
    file.add(rows[:1])
    file.add(rows)  # the first is there already
    assert file.read() == rows
    assert not list((tmp_path / "new").glob("*.tmp"))


def test_a_row_that_is_there_stays(tmp_path):
    file = ResultsFile(tmp_path / "results.csv")
    file.add([result(tpauc=0.2)])
    file.add([result(tpauc=0.9)])
    assert [row.tpauc for row in file.read()] == [0.2]


def test_a_foreign_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="not a file of results of this version: its columns are a, b"):
        ResultsFile(path).add([result()])
    assert path.read_text() == "a,b\n1,2\n"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda line: line.rpartition(",")[0], "it has 24 values for 25 columns"),
        (lambda line: line[: len(line) // 2], "it has .* values for 25 columns"),
        (lambda line: f"{line},1", "it has 26 values for 25 columns"),
        (lambda line: line.replace(",0.25,", ",many,"), "could not convert string to float: 'many'"),
        (lambda line: line.replace("SqAUC", "FooAUC"), "method must be one of .* got 'FooAUC'"),
        (lambda line: line.replace("cifar10-lt,", "mnist,"), "dataset must be one of .* got 'mnist'"),
        (lambda line: line.replace("cifar10-lt,1,", "cifar10-lt,7,"), "subset must be one of .* got 7"),
        (lambda line: line.replace(",paper,", ",home,"), "recipe must be one of .* got 'home'"),
        (lambda line: line.replace(",0.3,0.3,", ",0.3,7,"), "beta must be .* got 7"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, spoil, message):
    path = tmp_path / "results.csv"
    ResultsFile(path).add([result(), result(seed=1)])
    header, first, second = path.read_text().splitlines()
    assert spoil(second) != second
    path.write_text("\n".join([header, first, spoil(second)]) + "\n")
    damaged = path.read_bytes()
    with pytest.raises(ValueError, match=rf"results.csv, line 3 is damaged: {message}.*; remove the line to train it"):
        ResultsFile(path).add([result(seed=2)])
    assert path.read_bytes() == damaged


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "results.csv"
    path.write_bytes(bytes(range(128, 256)))
    with pytest.raises(ValueError, match=r"results.csv is damaged, it is no text .*; choose another --out"):
        ResultsFile(path).read()


def test_what_a_killed_process_left_is_removed(tmp_path):
    (tmp_path / ".results.csv.0123456789abcdef.tmp").touch()
    ResultsFile(tmp_path / "results.csv").add([result()])
    assert not list(tmp_path.glob(".*.tmp"))


def add_rows(path, seeds):
    for seed in seeds:
        ResultsFile(path).add([result(seed=seed, alpha=alpha, beta=alpha) for alpha in (0.3, 0.4, 0.5)])


def test_several_processes_add_to_one_file(tmp_path):
    path = tmp_path / "results.csv"
    processes = [start(add_rows, path, range(first, first + 10)) for first in (0, 10, 20)]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert sorted(row.seed for row in ResultsFile(path).read()) == sorted([*range(30)] * 3)


def test_a_killed_process_leaves_all_rows_of_a_cell_or_none(tmp_path):
    path = tmp_path / "results.csv"
    moments = random.Random(0)
    for first in range(KILLS):
        process = start(add_rows, path, range(1000 * first, 1000 * (first + 1)))
        while not any(row.seed >= 1000 * first for row in ResultsFile(path).read()):
            assert process.is_alive()
        process.join(moments.uniform(0.0, 0.2))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        seeds = [row.seed for row in ResultsFile(path).read()]
        assert all(seeds.count(seed) == 3 for seed in set(seeds))


def test_keys_and_columns_agree():
    cell = request(methods=("TPAUC-Poly",), epochs=30).cells()[0]
    row = result(
        method="TPAUC-Poly",
        chosen_for=cell.chosen_for,
        parameters=parameters_text(cell.parameters),
        alpha=0.4,
        beta=0.4,
    )
    assert row.key == key_of(cell, REGIONS[1])
    assert set(asdict(row)) == set(COLUMNS)
    key_columns = tuple(field.name for field in fields(Key))
    assert COLUMNS[: len(key_columns)] == key_columns


def images(positive, negative):
    n = positive + negative
    return torch.zeros(n, 1), torch.arange(n) < positive


def test_results_on_other_test_data_are_refused(tmp_path):
    file = ResultsFile(tmp_path / "results.csv")
    file.add(
        [result(test_positives=324, test_negatives=1916), result(subset=2, test_positives=540, test_negatives=1700)]
    )
    check_measured_on(file, request(), images(324, 1916), tmp_path)
    check_measured_on(file, request(split=1), images(5, 50), tmp_path)  # no results for it yet
    for sizes in ((324, 1915), (325, 1916)):
        with pytest.raises(
            ValueError, match="holds results of cifar10-lt, subset 1, split 0 on 324 positives and 1,916"
        ):
            check_measured_on(file, request(methods=("CE-RW",)), images(*sizes), tmp_path)


# -------------------------------------------------------------------------------------------------------- rendering


def test_the_papers_number_stands_beside_ours():
    (table,) = tables_of([result()])
    assert table.title == "CIFAR-10-LT, subset 1: birds"
    assert table.columns[-2:] == ["(0.3, 0.3)", "paper"]
    assert table.lines == [["SqAUC", "paper", "30", "7", "0", "0", "any region", "20.00 [10.0, 30.0]", "18.05"]]


def test_seeds_are_averaged():
    rows = [result(seed=0), result(seed=1, tpauc=0.4, low=0.3, high=0.5, best_epoch=9)]
    (line,) = tables_of(rows)[0].lines
    assert line[3] == "7-9"
    assert line[5] == "0, 1"
    assert line[7] == "30.00 ± 14.14 [20.0, 40.0]"


def test_what_was_not_measured_or_printed_is_a_dash():
    rows = [result(), result(method="anchored", alpha=0.2, beta=0.2, chosen_for="(0.2, 0.2)", parameters="alpha=0.2")]
    (table,) = tables_of(rows)
    assert [line[7:] for line in table.lines] == [
        ["-", "-", "20.00 [10.0, 30.0]", "18.05"],
        ["20.00 [10.0, 30.0]", "-", "-", "-"],
    ]


def test_ways_of_training_have_lines_of_their_own():
    rows = [
        result(recipe=recipe, epochs=epochs, method=method)
        for recipe in ("paper", "strong")
        for epochs in (30, 40)
        for method in ("SqAUC", "CE-RW")
    ]
    (table,) = tables_of([*rows, result(subset=1, chosen_for="(0.3, 0.3), but exponent=1", method="TPAUC-Poly")])
    assert [line[:3] for line in table.lines] == [
        *(["CE-RW", "paper", "30"], ["SqAUC", "paper", "30"], ["TPAUC-Poly", "paper", "30"]),
        *(
            [method, recipe, epochs]
            for recipe, epochs in (("paper", "40"), ("strong", "30"), ("strong", "40"))
            for method in ("CE-RW", "SqAUC")
        ),
    ]


def test_the_parameters_of_one_choice_are_shown():
    rows = [result(method="TPAUC-Poly", chosen_for="(0.3, 0.3)", parameters="exponent=0.1 warmup_epochs=0")]
    assert tables_of(rows)[0].lines[0][6] == "(0.3, 0.3): exponent=0.1 warmup_epochs=0"


EXPONENTIAL = {"method": "TPAUC-Exp", "chosen_for": "(0.3, 0.3)"}


@pytest.mark.parametrize(
    ("epochs", "warmup", "changes", "shown"),
    [
        (50, 35, {}, "(0.3, 0.3): gamma=25 warmup_epochs=35"),
        (30, 15, {}, "(0.3, 0.3): gamma=25 warmup_epochs=15; warm-up cut from 35"),
        (30, 15, {"alpha": 0.5, "beta": 0.5}, "(0.3, 0.3): gamma=25 warmup_epochs=15; warm-up cut from 35"),
        (30, 3, {"chosen_for": "(0.3, 0.3), but warmup_epochs=3"}, "(0.3, 0.3): gamma=25 warmup_epochs=3"),
        (
            30,
            15,
            {"chosen_for": "(0.3, 0.3), but gamma=25"},
            "(0.3, 0.3): gamma=25 warmup_epochs=15; warm-up cut from 35",
        ),
        (30, 15, {"chosen_for": EACH_REGION}, "each region; warm-up cut from 35"),
        (50, 35, {"chosen_for": EACH_REGION}, "each region"),
    ],
)
def test_a_warm_up_that_was_cut_is_told(epochs, warmup, changes, shown):
    parameters = f"gamma=25 warmup_epochs={warmup}"
    row = result(**{**EXPONENTIAL, "epochs": epochs, "parameters": parameters, **changes})
    assert tables_of([row])[0].lines[0][6] == shown


def test_regions_may_have_been_cut_from_different_warm_ups():
    rows = [
        result(**{**EXPONENTIAL, "chosen_for": EACH_REGION}, alpha=share, beta=share, parameters=parameters)
        for share, parameters in ((0.3, "gamma=25 warmup_epochs=15"), (0.5, "gamma=20 warmup_epochs=15"))
    ]
    (line,) = tables_of(rows)[0].lines
    assert line[6] == "each region; warm-up cut from 30 or 35"


def test_trainings_with_other_parameters_are_not_averaged():
    rows = [result(**EXPONENTIAL, parameters=f"gamma=25 warmup_epochs={warmup}", epochs=50) for warmup in (25, 35)]
    assert [line[6] for line in tables_of(rows)[0].lines] == [
        "(0.3, 0.3): gamma=25 warmup_epochs=25; warm-up cut from 35",
        "(0.3, 0.3): gamma=25 warmup_epochs=35",
    ]


def test_each_subset_has_a_table():
    text = as_markdown([result(subset=2), result()])
    assert text.index("subset 1: birds") < text.index("subset 2: automobiles")
    assert text.endswith("|\n")
    assert as_markdown([]).startswith("# Results")


def test_the_plan_knows_what_finished_cells_took():
    cell = request(epochs=30).cells()[0]
    assert known_seconds(cell, []) is None
    others = [result(method="CE-RW", seconds=600.0), result(subset=2, seconds=1.0)]
    assert known_seconds(cell, others) == 20.0
    assert known_seconds(cell, [*others, result(seconds=900.0)]) == 30.0
    assert known_seconds(cell, [result(threads=torch.get_num_threads() + 1)]) is None
    assert known_seconds(cell, [result(machine="another machine, 2 cores")]) is None
    assert known_seconds(cell, [result(recipe="strong")]) is None  # which scores each image twice


# ------------------------------------------------------------------------------------------------------ provenance


def test_commit_is_that_of_the_package(monkeypatch, tmp_path):
    monkeypatch.setattr(provenance, "_PACKAGE", tmp_path)
    look = provenance.commit.__wrapped__

    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    assert look() == ""
    git("init")
    (tmp_path / "__init__.py").write_text("")
    assert look() == ""  # a repository that knows nothing of these files
    git("add", ".")
    git("commit", "-m", "first")
    commit = look()
    assert len(commit) == 40
    (tmp_path / "__init__.py").write_text("changed")
    assert look() == f"{commit}+changes"


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert provenance.commit.__wrapped__() == ""
