"""Results as text tables, with the paper's numbers beside ours."""

import pytest

from paper_runs import result
from tpauc.paper.experiments.cells import (
    EACH_REGION,
)
from tpauc.paper.experiments.text_tables import results_markdown, tables_of


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
    text = results_markdown([result(subset=2), result()])
    assert text.index("subset 1: birds") < text.index("subset 2: automobiles")
    assert text.endswith("|\n")
    assert results_markdown([]).startswith("# Results")
