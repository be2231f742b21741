"""Text tables: results with the paper's numbers beside ours, and differences on the same test images."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from image_files import write_cifar10
from paper_runs import fill, result
from tpauc.cli.main import app
from tpauc.metrics.comparison import Comparison, compare_tpauc
from tpauc.paper.data.datasets import load_splits
from tpauc.paper.experiments import text_tables as module
from tpauc.paper.experiments.cells import (
    EACH_REGION,
)
from tpauc.paper.experiments.results import ScoreFolder
from tpauc.paper.experiments.text_tables import (
    Difference,
    differences,
    differences_markdown,
    results_markdown,
    tables_of,
)
from tpauc.training.data import as_examples


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


# ---------------------------------------------------------------------------------------------------------- differences


METHODS = ("CE-RW", "SqAUC", "anchored")


@pytest.fixture(scope="module")
def filled(data_dir, tmp_path_factory):
    """Return the folder of a table with three methods and two lengths of training."""
    out = tmp_path_factory.mktemp("filled")
    fill(out, data_dir, methods=METHODS, epochs=2)
    fill(out, data_dir, methods=("anchored",), epochs=3)
    return out


def names(found):
    return list(dict.fromkeys((item.first.method, item.second.method) for item in found))


def test_differences_are_those_of_the_kept_scores(filled, data_dir):
    found = differences(filled, data_dir)
    assert names(found) == [("SqAUC", "CE-RW"), ("anchored", "CE-RW"), ("anchored", "SqAUC")]
    assert len(found) == 3 * 3  # regions
    assert {item.first.epochs for item in found} == {2}  # nothing was trained as long as the other one
    labels = as_examples(load_splits("cifar10-lt", subset=1, data_dir=data_dir).test, "test").positive
    runs = filled / "runs" / "cifar10-lt-1"
    for item in found:
        scores = []
        for row in item[:2]:
            (folder,) = (runs / row.method).glob("*plain_epochs-1*" if row.method == "anchored" else "*")
            scores.append(ScoreFolder(folder / "scores").read(row.best_epoch).test)
        row = item.first
        assert item.found == compare_tpauc(labels, *scores, alpha=row.alpha, beta=row.beta, random_state=0)
        assert item.found.difference == pytest.approx(row.tpauc - item.second.tpauc, abs=2e-6)


def test_what_to_compare_with_can_be_chosen(filled, data_dir):
    assert names(differences(filled, data_dir, ["anchored"])) == [("CE-RW", "anchored"), ("SqAUC", "anchored")]


def test_the_command_prints_and_writes_a_table(filled, data_dir, tmp_path):
    out = shutil.copytree(filled, tmp_path / "table")
    arguments = ["reproduce", "differences", str(out), "--data-dir", str(data_dir), "--against", "SqAUC"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert "CIFAR-10-LT, subset 1: birds" in shown.output
    written = (out / "differences.md").read_text()
    assert "| paper | 2 | 0 | 0 | CE-RW | SqAUC |" in written
    documents = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert [(row["method"], row["minus"], row["alpha"]) for row in documents[:2]] == [
        ("CE-RW", "SqAUC", 0.3),
        ("CE-RW", "SqAUC", 0.4),
    ]
    assert all(row["low"] <= row["difference"] <= row["high"] for row in documents)


def test_a_difference_is_bold_where_its_interval_leaves_out_0():
    better, other = result(method="anchored", parameters="tau=0.3"), result(method="CE-RW")
    wider = result(method="anchored", parameters="tau=0.3", alpha=0.5, beta=0.5)
    text = differences_markdown(
        [
            Difference(better, other, Comparison(0.064, 0.037, 0.096, 0.001, "bootstrap")),
            Difference(wider, other, Comparison(0.01, -0.02, 0.04, 0.5, "bootstrap")),
        ]
    )
    assert "| anchored (tau=0.3) | CE-RW | **+6.4 [+3.7, +9.6]** | +1.0 [-2.0, +4.0] |" in text


def test_trainings_that_are_not_alike_are_not_compared():
    rows = [result(method="CE-RW"), *(result(method="SqAUC", **{name: 1}) for name in ("seed", "split", "epochs"))]
    rows += [result(method="SqAUC", recipe="strong"), result(method="SqAUC", subset=2)]
    assert list(module._pairs(rows, module.AGAINST)) == []
    alike = result(method="SqAUC")
    assert list(module._pairs([*rows, alike], module.AGAINST)) == [(alike, rows[0])]


# ------------------------------------------------------------------------------------------------------ what is said


def test_a_folder_without_two_methods(tmp_path, data_dir):
    with pytest.raises(ValueError, match="has no two trainings to compare"):
        differences(tmp_path, data_dir)
    ran = CliRunner().invoke(app, ["reproduce", "differences", str(tmp_path / "nowhere"), "--data-dir", str(data_dir)])
    assert ran.exit_code == 2
    assert "nowhere" in ran.stderr
    assert not (tmp_path / "nowhere").exists()


def test_an_unknown_method(filled, data_dir):
    with pytest.raises(ValueError, match=r"against.*must be one of"):
        differences(filled, data_dir, ["CE"])


def test_scores_that_were_removed(filled, data_dir, tmp_path):
    out = shutil.copytree(filled, tmp_path / "table")
    shutil.rmtree(out / "runs" / "cifar10-lt-1" / "SqAUC")
    with pytest.raises(FileNotFoundError, match=r"SqAUC.*is missing; a row of results.csv is not enough"):
        differences(out, data_dir)


def test_other_images(filled, tmp_path):
    write_cifar10(tmp_path / "more", 140)
    write_cifar10(tmp_path / "as-many", 120, seed=5)
    for folder, message in (("more", "holds results of cifar10-lt"), ("as-many", "are not of the test images")):
        with pytest.raises(ValueError, match=f"{message}.*; give the --data-dir of these results"):
            differences(filled, tmp_path / folder)
