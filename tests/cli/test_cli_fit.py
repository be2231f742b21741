"""`tpauc fit` and `tpauc score`: from a table to a run that can be trusted, and from a run to scores."""

import errno
import hashlib
import json
import os
import shutil
import sys
import warnings
import zipfile
from importlib.metadata import PackageNotFoundError
from io import BytesIO
from typing import get_args

import numpy as np
import pandas as pd
import pytest
import skops.io
from typer.testing import CliRunner

import reference
from score_files import read_csv
from tpauc.classifiers.advice import ADVISED_MODELS
from tpauc.classifiers.training_methods import METHODS, MODELS
from tpauc.cli._text import difference_line
from tpauc.cli.fit import _versions
from tpauc.cli.main import app
from tpauc.cli.options import Method, Model
from tpauc.cli.runs import CARD, FILES, MODEL, OUT_OF_FOLD, TEST_SCORES, RunScores, load_run, save_run
from tpauc.metrics.comparison import compare_tpauc
from tpauc.metrics.intervals import tpauc_interval

REGION = ["--alpha", "0.3", "--beta", "0.3"]
OPTIONS = ["--target", "ill", "--positive", "yes", *REGION, "--drop", "id", "--resamples", "60"]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def one_line_of(stderr):
    assert stderr.startswith("tpauc: error: ")
    assert stderr.count("\n") == 1, stderr
    return stderr


def patients(n=400, seed=0):
    """Return a table with numbers, text, flags, gaps, and a column that is empty."""
    rng = np.random.default_rng(seed)
    age, dose = rng.normal(50, 10, n), rng.exponential(1, n)
    town, smoker = rng.choice(["Ulm", "Bonn", "Köln"], n).astype(object), rng.random(n) < 0.3
    ill = (age - 50) / 10 + 1.5 * (town == "Bonn") + smoker + 0.7 * dose - 3 + rng.logistic(size=n) > 0
    age[rng.random(n) < 0.1], town[rng.random(n) < 0.1] = np.nan, None
    columns = {"id": [f"{i:04d}" for i in range(n)], "age": age, "town": town, "smoker": smoker, "dose": dose}
    return pd.DataFrame(columns | {"empty": np.full(n, np.nan), "ill": np.where(ill, "yes", "no")})


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "the patients.csv"
    patients().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(table):
    """Return the folder of a run, and what was printed when it was made."""
    out = table.with_name("a run")
    result = run("fit", table, *OPTIONS, "--out", out)
    assert result.exit_code == 0, result.stderr
    return out, result


@pytest.fixture
def copied(fitted, tmp_path):
    """Return a copy of the run that may be damaged."""
    return shutil.copytree(fitted[0], tmp_path / "run")


# --------------------------------------------------------------------------------------------------------------- fit


def test_choices_are_those_of_the_estimator():
    assert sorted(get_args(Method)) == sorted(METHODS)
    assert get_args(Model) == (*MODELS, "lightgbm") == ADVISED_MODELS


def test_fit_prints_facts_progress_the_table_and_where_the_run_is(fitted):
    out, result = fitted
    card = json.loads((out / CARD).read_text(encoding="utf-8"))
    for part, rows in (("training", 280), ("test", 120)):
        facts = card["data"][part]
        assert facts["rows"] == rows
        assert facts["hard_positives"] == reference.hard_count(facts["positives"], 0.3)
        said = f"the region selects the {facts['hard_positives']} lowest positives"
        assert f"{part.capitalize()}: {rows} rows, {facts['positives']} positive" in result.stdout
        assert said in result.stdout
    assert "Positive is 'yes', negative is 'no'." in result.stdout
    assert "Features: 2 columns of numbers, 2 of categories." in result.stdout
    assert "Left out, because they hold no value: empty." in result.stdout
    for model in card["models"]:
        assert "{estimate:.4f} [{low:.4f}, {high:.4f}]".format(**model["tpauc"]) in result.stdout
    first, second = "linear model for the region", "linear model on cross-entropy"
    assert f"TPAUC of {first} minus {second}: {card['difference']['difference']:+.4f}" in result.stdout
    assert result.stdout.endswith(f"The run is {out}\n")
    assert f"tpauc: training 1 of 2: {first}\n" in result.stderr
    assert f"tpauc: training 2 of 2: {second}\n" in result.stderr


def test_the_run_holds_the_numbers_of_its_test_scores(fitted):
    out, _ = fitted
    assert sorted(file.name for file in out.iterdir()) == sorted(FILES)
    card = json.loads((out / CARD).read_text(encoding="utf-8"))
    scores = read_csv(out / TEST_SCORES)
    assert [model["name"] for model in card["models"]] == ["region", "cross_entropy"]
    for model in card["models"]:
        s = scores[model["name"]].to_numpy()
        expected = reference.tpauc(scores["ill"].to_numpy(), s, 0.3, 0.3)
        assert model["tpauc"]["estimate"] == pytest.approx(expected, rel=1e-12)
    # The rows are those of the file, and none of them was trained on.
    labels = patients()["ill"].to_numpy()[scores["row"].to_numpy() - 1] == "yes"
    np.testing.assert_array_equal(labels, scores["ill"] == 1)
    assert card["target"] == {"column": "ill", "positive": "yes", "negative": "no"}
    assert card["columns"]["numbers"] == ["age", "dose"]
    assert set(card["versions"]) >= {"python", "tpauc", "scikit-learn", "torch", "skops"}


def test_the_saved_model_gives_the_test_scores_again(fitted, table, tmp_path):
    out, _ = fitted
    result = run("score", out, table, "--out", tmp_path / "all.csv", "--keep", "id")
    assert result.exit_code == 0, result.stderr
    scores, again = read_csv(out / TEST_SCORES), read_csv(tmp_path / "all.csv", dtype={"id": str})
    np.testing.assert_allclose(again["score"].to_numpy()[scores["row"] - 1], scores["region"], rtol=1e-12)
    threshold = json.loads((out / CARD).read_text(encoding="utf-8"))["threshold"]["value"]
    np.testing.assert_array_equal(again["alarm"], again["score"] >= threshold)
    assert again["id"].tolist() == patients()["id"].tolist()  # as they are written, with the zeros in front
    assert list(again.columns) == ["id", "score", "alarm"]
    alarms = f"{again['alarm'].sum()} alarms at scores of at least {threshold:.6g}"
    assert f"400 rows scored, {alarms}: {tmp_path / 'all.csv'}\n" == result.stdout


def test_json_is_one_document_and_equal_to_the_card(table, tmp_path):
    arguments = [*OPTIONS, "--method", "cross_entropy", "--seed", "3", "--out", tmp_path / "run", "--json"]
    result = run("fit", table, *arguments)
    document = json.loads(result.stdout)
    card = json.loads((tmp_path / "run" / CARD).read_text(encoding="utf-8"))
    assert document.pop("run") == str(tmp_path / "run")
    assert {key: card[key] for key in document} == document
    assert "Training: 280 rows" in result.stderr
    assert document["settings"]["seed"] == 3
    assert document["difference"] is None  # cross-entropy is its own baseline
    assert len(document["models"]) == 1


def test_the_same_seed_gives_the_same_run_and_another_one_does_not(table, tmp_path):
    contents = []
    for name, seed in (("a", "0"), ("b", "0"), ("c", "1")):
        assert run("fit", table, *OPTIONS, "--out", tmp_path / name, "--seed", seed).exit_code == 0
        contents.append((tmp_path / name / TEST_SCORES).read_bytes())
    assert contents[0] == contents[1] != contents[2]


@pytest.mark.parametrize("method", ["polynomial", "minimax"])
@pytest.mark.parametrize("kind", ["parquet", "tsv"])
def test_other_methods_and_files(tmp_path, method, kind):
    frame = patients(200)
    path = tmp_path / f"data.{kind}"
    if kind == "parquet":
        frame.astype({"town": "category"}).to_parquet(path)
    else:
        frame.to_csv(path, sep="\t", index=False)
    result = run("fit", path, *OPTIONS, "--method", method, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["columns"]["texts"] == ["town"]


def test_a_network_is_saved_and_loaded(table, tmp_path):
    arguments = [*OPTIONS, "--model", "mlp", "--method", "cross_entropy", "--out", tmp_path / "run"]
    assert run("fit", table, *arguments).exit_code == 0
    assert run("score", tmp_path / "run", table, "--out", tmp_path / "all.parquet").exit_code == 0
    scores, again = read_csv(tmp_path / "run" / TEST_SCORES), pd.read_parquet(tmp_path / "all.parquet")
    # float32 networks round differently for other numbers of rows.
    np.testing.assert_allclose(again["score"].to_numpy()[scores["row"] - 1], scores["cross_entropy"], atol=1e-5)


def test_a_loaded_network_ignores_a_column_that_was_constant_in_training(tmp_path):
    for name, values in (("constant", 7.0), ("other", np.linspace(-1e6, 1e6, 200))):
        patients(200).assign(site=values).to_csv(tmp_path / f"{name}.csv", index=False)
    arguments = [*OPTIONS, "--model", "mlp", "--method", "cross_entropy", "--out", tmp_path / "run"]
    assert run("fit", tmp_path / "constant.csv", *arguments).exit_code == 0
    for name in ("constant", "other"):
        out = tmp_path / f"{name}_scores.csv"
        assert run("score", tmp_path / "run", tmp_path / f"{name}.csv", "--out", out).exit_code == 0
    assert (tmp_path / "constant_scores.csv").read_text() == (tmp_path / "other_scores.csv").read_text()


def test_npz_with_a_matrix_and_labels(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    np.savez(tmp_path / "data.npz", X=X, y=X[:, 0] + rng.normal(size=300) > 1)
    arguments = ["--target", "y", *REGION, "--out", tmp_path / "run", "--method", "cross_entropy", "--json"]
    result = run("fit", tmp_path / "data.npz", *arguments)
    assert json.loads(result.stdout)["columns"]["numbers"] == ["X[0]", "X[1]", "X[2]", "X[3]"]


def test_an_index_that_pandas_wrote_can_be_left_out(tmp_path):
    patients(200).to_csv(tmp_path / "data.csv")
    fit = ["fit", tmp_path / "data.csv", *OPTIONS, "--drop", "", "--out", tmp_path / "run", "--json"]
    result = run(*fit, "--method", "cross_entropy")
    assert result.exit_code == 0, result.stderr
    assert "" not in json.loads(result.stdout)["columns"]["numbers"]
    assert run("score", tmp_path / "run", tmp_path / "data.csv", "--out", tmp_path / "scores.csv").exit_code == 0


def test_judging_on_another_file(table, tmp_path):
    other = tmp_path / "others.csv"
    patients(150, seed=9).to_csv(other, index=False)
    arguments = [*OPTIONS, "--method", "cross_entropy", "--test", other, "--out", tmp_path / "run", "--json"]
    document = json.loads(run("fit", table, *arguments).stdout)
    assert document["data"]["training"]["rows"] == 400
    assert document["data"]["test"]["rows"] == 150
    labels = read_csv(tmp_path / "run" / TEST_SCORES)["ill"]
    np.testing.assert_array_equal(labels == 1, patients(150, seed=9)["ill"] == "yes")


def test_labels_of_another_file_are_compared_as_values(tmp_path):
    """Whole numbers in one file and floats in the other are the same classes."""
    frame = patients(200).assign(ill=lambda rows: (rows["ill"] == "yes").astype(int))
    frame.to_csv(tmp_path / "whole.csv", index=False)
    frame.assign(ill=frame["ill"].astype(float)).to_csv(tmp_path / "floats.csv", index=False)
    options = [word.replace("yes", "1") for word in OPTIONS]
    for data, test in (("floats", "whole"), ("whole", "floats")):
        arguments = [
            *options,
            "--method",
            "cross_entropy",
            "--test",
            tmp_path / f"{test}.csv",
            "--out",
            tmp_path / data,
        ]
        result = run("fit", tmp_path / f"{data}.csv", *arguments)
        assert result.exit_code == 0, result.stderr
        assert read_csv(tmp_path / data / TEST_SCORES)["ill"].tolist() == frame["ill"].tolist()


def test_copies_that_cannot_be_kept_on_one_side_are_a_warning(tmp_path):
    """Of six distinct rows all have positives among their copies."""
    number, rng = np.arange(400), np.random.default_rng(0)
    columns = {"town": np.take(["Ulm", "Bonn", "Kiel"], number % 3), "club": np.take(["a", "b"], number % 2)}
    ill = np.where(rng.random(400) < 0.3, "yes", "no")
    pd.DataFrame(columns | {"id": number, "ill": ill}).to_csv(tmp_path / "few.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        arguments = [*OPTIONS, "--method", "cross_entropy", "--out", tmp_path / "run"]
        result = run("fit", tmp_path / "few.csv", *arguments)
    assert result.exit_code == 0, result.stderr
    shown = [line for line in result.stderr.splitlines() if line.startswith("tpauc: warning: ")]
    assert shown == [
        "tpauc: warning: distinct rows with positives among their copies: 6, without: 0; copies of a row could not be "
        f"kept {where}, so the values may be too high"
        for where in ("on one side, trained on or held out", "in one fold")
    ]


def test_a_column_that_names_the_rows_is_pointed_out(table, tmp_path):
    options = [word for word in OPTIONS if word not in ("--drop", "id")]
    frame = patients(300)
    frame["id"] = "p" + frame["id"]
    frame.to_csv(tmp_path / "named.csv", index=False)
    arguments = [*options, "--method", "cross_entropy", "--out", tmp_path / "run"]
    result = run("fit", tmp_path / "named.csv", *arguments)
    assert "Column 'id' has 210 values: beyond the 100 most frequent they share one feature." in result.stdout
    assert "--drop 'id'" in result.stdout


def test_report_of_a_run(copied):
    result = run("report", copied, "--resamples", "60")
    assert result.stdout == f"The report is {copied / 'report.html'}\n"
    page = (copied / "report.html").read_text(encoding="utf-8")
    assert "linear model for the region" in page
    assert "linear model on cross-entropy" in page
    assert run("report", copied, "--resamples", "60").exit_code == 2
    refused = run("report", copied, "--label", "label", "--overwrite")
    assert refused.exit_code == 2
    assert "a run has its own labels and scores" in one_line_of(refused.stderr)
    other = run("report", copied, "--resamples", "60", "--alpha", "0.5", "--out", copied / "other.html")
    assert other.exit_code == 0


def test_the_files_of_scores_keep_the_name_of_the_target(tmp_path):
    """Also where the name is one of ours."""
    for target in ("row", "region", "label"):
        frame = patients(200).rename(columns={"ill": target})
        frame.to_csv(tmp_path / "data.csv", index=False)
        options = [word.replace("ill", target) for word in OPTIONS]
        out = tmp_path / f"{target} run"
        assert run("fit", tmp_path / "data.csv", *options, "--out", out).exit_code == 0
        scores = read_csv(out / TEST_SCORES)
        names = {"row": ["row_", "row", "region", "cross_entropy"], "region": ["row", "region", "region_"]}
        expected = names.get(target, ["row", target, "region"])
        assert list(scores.columns)[: len(expected)] == expected
        rows = scores[expected[0]].to_numpy() - 1
        np.testing.assert_array_equal(scores[target] == 1, frame[target].to_numpy()[rows] == "yes")
        assert run("report", out, "--resamples", "60").exit_code == 0
        assert run("threshold", out, "--rule", "min_fpr").exit_code == 0


def test_dates_and_times_are_left_out_with_a_notice(tmp_path):
    frame = patients(200)
    when = pd.date_range("2020-01-01", periods=200, freq="7h")
    frame.assign(day=when.strftime("%Y-%m-%d"), seen=when).to_csv(tmp_path / "dated.csv", index=False)
    frame.to_csv(tmp_path / "plain.csv", index=False)
    for name in ("dated", "plain"):
        result = run("fit", tmp_path / f"{name}.csv", *OPTIONS, "--out", tmp_path / name)
        assert result.exit_code == 0, result.stderr
        assert ("Left out, because they hold dates or times: day, seen." in result.stdout) == (name == "dated")
    assert (tmp_path / "dated" / TEST_SCORES).read_bytes() == (tmp_path / "plain" / TEST_SCORES).read_bytes()
    assert run("score", tmp_path / "dated", tmp_path / "plain.csv", "--out", tmp_path / "s.csv").exit_code == 0


@pytest.mark.parametrize("option", ["--target", "--drop", "--groups"])
def test_a_misspelled_column_is_guessed(tmp_path, option):
    columns = {f"x{number}": range(6) for number in range(30)} | {"fraud": [0, 1] * 3}
    pd.DataFrame(columns).to_csv(tmp_path / "data.csv", index=False)
    given = {"--target": "fraud"} | {option: "fruad"}
    arguments = [word for pair in given.items() for word in pair]
    assert run("advise", tmp_path / "data.csv", *arguments, *REGION).exit_code == 2
    result = run("fit", tmp_path / "data.csv", *arguments, *REGION, "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout) == (2, "")
    line = one_line_of(result.stderr)
    assert "has no column 'fruad'; did you mean 'fraud'? Its columns are 'x0', " in line
    assert line.rstrip().endswith("'x29', 'fraud'")  # the list is not cut before the right one


# --------------------------------------------------------------------------------------------- shares and groups


def with_cards(n_groups, n=400, **options):
    """Return the patients with the group of each row, whose name says nothing about the label."""
    rng = np.random.default_rng(1)
    return patients(n, **options).assign(card=[f"c{number}" for number in rng.integers(0, n_groups, n)])


def test_rows_of_a_group_are_on_one_side_and_the_group_is_no_feature(tmp_path):
    frame = with_cards(80)
    frame.to_csv(tmp_path / "data.csv", index=False)
    result = run("fit", tmp_path / "data.csv", *OPTIONS, "--groups", "card", "--out", tmp_path / "run", "--json")
    assert result.exit_code == 0, result.stderr
    card = json.loads(result.stdout)
    assert "card" not in [name for names in card["columns"].values() for name in names]
    assert "Rows with the same 'card' stay together: " in result.stderr
    test, folds = (read_csv(tmp_path / "run" / name) for name in (TEST_SCORES, OUT_OF_FOLD))
    np.testing.assert_array_equal(test["card"], frame["card"].to_numpy()[test["row"] - 1])
    assert not set(test["card"]) & set(folds["card"])
    assert len(test) + len(folds) == len(frame)
    # The intervals are by groups.
    options = {"alpha": 0.3, "beta": 0.3, "n_resamples": 60, "random_state": 0}
    expected = tpauc_interval(test["ill"], test["region"], **options, groups=test["card"])
    found = card["models"][0]["tpauc"]
    assert (found["low"], found["high"]) == (expected.low, expected.high)
    difference = compare_tpauc(test["ill"], test["region"], test["cross_entropy"], **options, groups=test["card"])
    assert card["difference"]["p_value"] == difference.p_value


@pytest.mark.parametrize("model", ["linear", "mlp", "lightgbm", "auto"])
def test_folds_inside_the_training_keep_groups_together(tmp_path, monkeypatch, model):
    seen = []

    class StopError(Exception):
        pass

    def fit(self, X, y, sample_weight=None, groups=None):
        seen.append(groups)
        raise StopError

    for name in ("tpauc_classifier.TPAUCClassifier", "boosting.booster.TPAUCBooster"):
        monkeypatch.setattr(f"tpauc.classifiers.{name}.fit", fit)
    frame = with_cards(80)
    frame.to_csv(tmp_path / "data.csv", index=False)
    arguments = [*OPTIONS, "--groups", "card", "--model", model, "--out", tmp_path / "run"]
    assert "unexpected StopError" in run("fit", tmp_path / "data.csv", *arguments).stderr
    assert set(seen[0]) < set(frame["card"])
    arguments = [word for word in OPTIONS if word not in ("--resamples", "60")]
    if model not in ("lightgbm", "auto"):  # of which the plain models are scikit-learn's own
        run("advise", tmp_path / "data.csv", *arguments, "--groups", "card", "--model", model)
        assert len(seen) == 2


def test_a_test_file_shares_no_group(tmp_path):
    with_cards(80).to_csv(tmp_path / "data.csv", index=False)
    others = with_cards(80, n=200, seed=3)
    arguments = [*OPTIONS, "--method", "cross_entropy", "--groups", "card", "--test", tmp_path / "other.csv"]
    others.to_csv(tmp_path / "other.csv", index=False)
    refused = run("fit", tmp_path / "data.csv", *arguments, "--out", tmp_path / "run")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "groups with the training data, such as 'c0'; rows of a group must be on one side" in refused.stderr
    others.drop(columns="card").to_csv(tmp_path / "other.csv", index=False)
    refused = run("fit", tmp_path / "data.csv", *arguments, "--out", tmp_path / "run")
    assert (refused.exit_code, "has no column 'card'" in refused.stderr) == (2, True)
    others.assign(card="other " + others["card"]).to_csv(tmp_path / "other.csv", index=False)
    assert run("fit", tmp_path / "data.csv", *arguments, "--out", tmp_path / "run").exit_code == 0


@pytest.mark.parametrize(
    ("change", "options", "code", "message"),
    [
        (lambda frame: frame, ["--groups", "ill"], 2, "--target and --groups must name different columns"),
        (
            lambda frame: frame.assign(card=[None, *frame["card"][1:]]),
            ["--groups", "card"],
            1,
            "the column of the groups, 'card', has no value in 1 of 400 rows, the first is row 1",
        ),
        (
            lambda frame: frame.assign(card="one"),
            ["--groups", "card"],
            1,
            "groups must have each class in at least two",
        ),
        (
            lambda frame: frame.assign(card=np.where(frame["ill"] == "yes", frame.index % 2, 2 + frame.index % 90)),
            ["--groups", "card"],
            1,
            "--groups, on the test rows: groups must hold at least 2 groups with a positive row",
        ),
    ],
)
def test_groups_that_are_refused(tmp_path, change, options, code, message):
    change(with_cards(80)).to_csv(tmp_path / "data.csv", index=False)
    result = run("fit", tmp_path / "data.csv", *OPTIONS, *options, "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in one_line_of(result.stderr)


def test_a_share_that_is_missed_by_more_than_a_fifth_is_a_warning(tmp_path):
    """Half of the positives are one group, which is never held out."""
    frame = with_cards(80)
    positive = np.flatnonzero(frame["ill"] == "yes")
    frame.loc[positive[: positive.size // 2], "card"] = "large"
    for name, rows in (("large", frame), ("even", with_cards(80))):
        rows.to_csv(tmp_path / "data.csv", index=False)
        arguments = [*OPTIONS, "--method", "cross_entropy", "--groups", "card", "--out", tmp_path / name]
        result = run("fit", tmp_path / "data.csv", *arguments)
        assert result.exit_code == 0, result.stderr
        facts = json.loads((tmp_path / name / CARD).read_text())["data"]
        held, total = facts["test"]["positives"], facts["test"]["positives"] + facts["training"]["positives"]
        line = f"tpauc: warning: {held} of {total} positives are test rows, "
        assert (line in result.stderr) == (name == "large")
        assert f"Training: {facts['training']['rows']} rows, {facts['training']['positives']} positive" in result.stdout
        assert f"Test: {facts['test']['rows']} rows, {held} positive" in result.stdout
    assert "warning" not in result.stderr


def test_a_tpauc_of_0_is_explained(tmp_path, fitted):
    frame = patients(200)
    frame["ill"] = np.random.default_rng(0).permutation(frame["ill"])
    frame.to_csv(tmp_path / "noise.csv", index=False)
    options = [*OPTIONS, "--alpha", "0.1", "--beta", "0.05", "--method", "cross_entropy"]
    result = run("fit", tmp_path / "noise.csv", *options, "--out", tmp_path / "run")
    line = "A TPAUC of 0 means that the ROC curve does not enter the region"
    assert line in result.stdout
    assert line not in fitted[1].stdout


def test_the_difference_is_told_in_usual_words(fitted):
    card = json.loads((fitted[0] / CARD).read_text())
    difference = card["difference"]
    same = difference["low"] <= 0 <= difference["high"]
    assert ("no significant difference" in fitted[1].stdout) == same
    assert f"(p = {difference['p_value']:.3g})" in fitted[1].stdout
    line = difference_line("a", "b", difference | {"low": -0.1, "high": 0.2, "p_value": 0.56}, 0.95)
    assert line.endswith(": no significant difference (p = 0.56)")


# ------------------------------------------------------------------------------------------------ the same table


def as_arrays(frame):
    """Return the columns of a table as NPZ can hold them: text without missing values, numbers and booleans."""
    columns = {}
    for name in frame:
        values = frame[name]
        text = values.dtype == object or pd.api.types.is_string_dtype(values)
        columns[name] = values.fillna("NA").to_numpy(dtype=str) if text else values.to_numpy()
    return columns


def test_the_same_table_gives_the_same_run_in_every_format(tmp_path):
    """Words for missing values, empty texts and columns without values included."""
    frame = patients(300)
    frame["town"] = frame["town"].where(frame.index % 7 != 0, "NA")
    frame["club"] = np.take(["", "n/a", "null", "red", "blue"], frame.index % 5)
    frame["gap"] = np.where(frame.index % 3 == 0, np.nan, frame.index % 11)
    writers = {
        "csv": lambda path: frame.to_csv(path, index=False),
        "tsv": lambda path: frame.to_csv(path, sep="\t", index=False),
        "parquet": lambda path: frame.to_parquet(path),
        "pq": lambda path: frame.astype({"town": "category", "club": "category"}).to_parquet(path),
        "npz": lambda path: np.savez(path, **as_arrays(frame)),
    }
    runs, options = {}, [word for word in OPTIONS if word not in ("--drop", "id")]
    for kind, write in writers.items():
        write(tmp_path / f"data.{kind}")
        out = tmp_path / f"{kind} run"
        result = run("fit", tmp_path / f"data.{kind}", *options, "--drop", "id", "--out", out)
        assert result.exit_code == 0, result.stderr
        assert run("score", out, tmp_path / f"data.{kind}", "--out", tmp_path / f"{kind}.csv").exit_code == 0
        card = json.loads((out / CARD).read_text())
        parts = [card[name] for name in ("columns", "data", "models", "threshold", "chosen")]
        runs[kind] = [*parts, (out / TEST_SCORES).read_bytes(), (tmp_path / f"{kind}.csv").read_bytes()]
    assert runs["csv"][0]["without_values"] == ["empty"]
    for kind, found in runs.items():
        assert found == runs["csv"], kind
    # A model of one format scores another.
    other = tmp_path / "other.csv"
    assert run("score", tmp_path / "csv run", tmp_path / "data.parquet", "--out", other).exit_code == 0
    assert other.read_bytes() == (tmp_path / "csv.csv").read_bytes()


# ------------------------------------------------------------------------------------- what is refused, nothing lost


def tree(folder):
    """Return the contents of all files in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_is_replaced_only_on_demand(copied, table):
    before = tree(copied.parent)
    refused = run("fit", table, *OPTIONS, "--out", copied)
    assert refused.exit_code == 2
    assert "exists; choose another --out, or give --overwrite to replace that run" in one_line_of(refused.stderr)
    assert tree(copied.parent) == before
    (copied / "report.html").touch()
    assert run("fit", table, *OPTIONS, "--method", "cross_entropy", "--overwrite", "--out", copied).exit_code == 0
    assert sorted(tree(copied.parent)) == sorted(f"run/{name}" for name in FILES)
    assert json.loads((copied / CARD).read_text())["settings"]["method"] == "cross_entropy"


def test_nothing_but_a_run_is_ever_replaced(copied, table, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "1.jpg").write_bytes(b"precious")
    (copied / "notes.txt").write_bytes(b"mine")
    before = tree(tmp_path)
    for out, message in (
        (tmp_path / "photos", "exists and is not a run"),
        (tmp_path, "exists and is not a run"),
        (tmp_path / "photos" / "1.jpg", "exists and is not a run"),
        (copied, "holds more than a run, 'notes.txt'"),
    ):
        result = run("fit", table, *OPTIONS, "--overwrite", "--out", out)
        assert result.exit_code == 2
        assert message in one_line_of(result.stderr)
    assert tree(tmp_path) == before


SOME_ROWS = RunScores(np.array([True, False]), {"region": np.array([1.0, 0.0])}, None, np.arange(2))


def test_an_empty_folder_may_become_a_run(fitted, tmp_path):
    (tmp_path / "new").mkdir()
    saved = load_run(fitted[0])
    save_run(tmp_path / "new", saved.pipeline, saved.card, SOME_ROWS, None)
    assert sorted(tree(tmp_path)) == sorted(f"new/{name}" for name in FILES if name != OUT_OF_FOLD)


def test_a_model_that_could_not_be_loaded_again_is_not_written(copied, monkeypatch):
    saved, before = load_run(copied), tree(copied.parent)
    monkeypatch.setattr("tpauc.cli.model_file._TRUSTED", {"numpy.dtype"})
    with pytest.raises(ValueError, match=r"is not written, because it could not be read again: .*TPAUCClassifier"):
        save_run(copied, saved.pipeline, saved.card, SOME_ROWS, None, overwrite=True)
    assert tree(copied.parent) == before


def test_a_run_that_a_killed_process_moved_away_is_put_back_and_not_replaced(copied, table):
    copied.rename(copied.with_name(".run.former"))
    refused = run("fit", table, *OPTIONS, "--out", copied)
    assert refused.exit_code == 2
    assert "exists; choose another --out" in one_line_of(refused.stderr)
    assert sorted(tree(copied.parent)) == sorted(f"run/{name}" for name in FILES)


def test_what_a_killed_report_left_in_a_run_is_no_reason_to_keep_the_run(copied):
    saved = load_run(copied)
    for name in (".report-roc.png.0123456789abcdef.tmp", ".report.html.lock", ".report.html.moves"):
        (copied / name).touch()
    save_run(copied, saved.pipeline, saved.card, SOME_ROWS, None, overwrite=True)
    assert sorted(tree(copied)) == sorted((MODEL, CARD, TEST_SCORES))


@pytest.mark.parametrize("broken", ["fsync", "second rename"])
def test_a_full_disk_leaves_the_former_run_whole(copied, monkeypatch, broken):
    saved, before = load_run(copied), tree(copied.parent)
    rename, renames = os.rename, []

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    def second_fails(source, target):
        renames.append(target)
        if len(renames) == 2:
            full()
        rename(source, target)

    if broken == "fsync":
        monkeypatch.setattr("os.fsync", full)
    else:
        monkeypatch.setattr("tpauc._files._exchanged", lambda first, second: False)
        monkeypatch.setattr("os.rename", second_fails)
    with pytest.raises(OSError, match=r"the run .* cannot be written: No space left on device"):
        save_run(copied, saved.pipeline, saved.card, SOME_ROWS, None, overwrite=True)
    monkeypatch.undo()
    assert tree(copied.parent) == before


DATA_PROBLEMS = {
    "one class": (lambda frame: frame.assign(ill="yes"), "column 'ill' has one value only, 'yes'"),
    "three classes": (
        lambda frame: frame.assign(ill=["yes", "no", "perhaps", "no"] * 50),
        "column 'ill' must have two values, one for each class, found 3: 'no', 'perhaps', 'yes'",
    ),
    "one positive": (
        lambda frame: frame.assign(ill=["yes"] + ["no"] * 199),
        "each class needs at least 3 rows to train and",
    ),
    "few to train on": (
        lambda frame: frame.assign(ill=["yes"] * 3 + ["no"] * 197),
        "each class needs at least 2 rows to train on, found 1 positive and",
    ),
    "small region": (
        lambda frame: frame.assign(ill=["yes"] * 4 + ["no"] * 196),
        "alpha=0.3 selects none of the",
    ),
    "missing target": (
        lambda frame: frame.assign(ill=["yes", None, "no", "no"] * 50),
        "column 'ill' has no value in 50 of 200 rows, the first is row 2",
    ),
    "infinite": (lambda frame: frame.assign(age=[np.inf, 1.0] * 100), "column 'age' has infinite values in 100 rows"),
    "nothing to learn from": (lambda frame: frame[["id", "ill"]], "no column is left to learn from"),
    "name": (lambda frame: frame.rename(columns={"age": ""}), "column 2 has no name"),
}


@pytest.mark.parametrize("problem", DATA_PROBLEMS)
def test_a_table_that_cannot_be_learned_from(tmp_path, problem):
    change, message = DATA_PROBLEMS[problem]
    path = tmp_path / "bad.csv"
    change(patients(200)).to_csv(path, index=False)
    size = ["--test-size", "0.6"] if problem == "few to train on" else []
    result = run("fit", path, *OPTIONS, *size, "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in one_line_of(result.stderr)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_written_to_is_noticed_before_the_work(table, tmp_path, monkeypatch):
    def read_only(**_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", read_only)
    result = run("fit", table, *OPTIONS, "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"the folder {tmp_path} cannot be written to: Read-only file system" in one_line_of(result.stderr)


def test_test_data_that_do_not_fit(table, tmp_path):
    for change, message, code in (
        (lambda frame: frame.drop(columns="age"), "lacks 1 of the columns the model was trained on: 'age'", 1),
        (lambda frame: frame.drop(columns="ill"), "has no column 'ill'", 2),
        (lambda frame: frame.replace({"ill": {"no": "not"}}), "must have the classes of the training data", 1),
        (lambda frame: frame.assign(age="old"), "column 'age'", 1),
    ):
        other = tmp_path / "other.csv"
        change(patients(100, seed=1)).to_csv(other, index=False)
        result = run("fit", table, *OPTIONS, "--test", other, "--out", tmp_path / "run")
        assert (result.exit_code, result.stdout) == (code, "")
        assert message in one_line_of(result.stderr)


# ------------------------------------------------------------------------------------------------------------- score


def test_new_data_may_have_gaps_new_values_and_other_columns(fitted, tmp_path):
    new = pd.DataFrame(
        {
            "more": ["x", "y", "z"],
            "town": ["Rome", None, "Bonn"],
            "smoker": [True, None, False],
            "dose": [1, 2, 3],
            "age": [None, None, None],
        }
    )
    new.to_csv(tmp_path / "new.csv", index=False)
    result = run("score", fitted[0], tmp_path / "new.csv", "--out", tmp_path / "s.tsv", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    scores = read_csv(tmp_path / "s.tsv", sep="\t")
    assert np.isfinite(scores["score"]).all()
    assert (document["rows"], document["alarms"]) == (3, int(scores["alarm"].sum()))


def test_scoring_takes_rows_as_they_are(fitted, tmp_path):
    """Booleans as 0 and 1 are those of training, and names of rows that mean "missing" elsewhere are copied."""
    frame = patients(6).assign(id=["NA", "null", "nan", "", "007", "x"])
    tables = {"flags": frame, "numbers": frame.assign(smoker=frame["smoker"].astype(int))}
    for name, rows in tables.items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        out = tmp_path / f"{name}_scores.csv"
        assert run("score", fitted[0], tmp_path / f"{name}.csv", "--out", out, "--keep", "id").exit_code == 0
    text = (tmp_path / "numbers_scores.csv").read_text()
    assert text == (tmp_path / "flags_scores.csv").read_text()
    ids = [line.split(",")[0] for line in text.splitlines()[1:]]
    assert ids == ['"NA"', '"null"', '"nan"', "", '"007"', '"x"']


@pytest.mark.parametrize("package", ["sklearn", "skops", "pandas"])
def test_scoring_without_a_package_says_what_to_install(fitted, table, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    result = run("score", fitted[0], table, "--out", tmp_path / "s.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    message = f"{package} is needed here and is not installed; run: pip install 'tpauc[cli]'"
    assert message in one_line_of(result.stderr)


def test_a_card_lists_the_installed_packages_alone(monkeypatch):
    def without_torch(package):
        if package == "torch":
            raise PackageNotFoundError(package)
        return "1.0"

    monkeypatch.setattr("tpauc.cli.fit.version", without_torch)
    assert list(_versions()) == ["python", "tpauc", "numpy", "scikit-learn", "lightgbm", "pyarrow", "pandas", "skops"]


def test_scores_are_written_once(fitted, table, tmp_path):
    arguments = ["score", fitted[0], table, "--out", tmp_path / "s.csv"]
    assert run(*arguments).exit_code == 0
    before = tree(tmp_path)
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert "exists; choose another --out, or give --overwrite" in one_line_of(refused.stderr)
    assert tree(tmp_path) == before
    assert run(*arguments, "--overwrite", "--keep", "ill").exit_code == 0
    evaluated = run("evaluate", tmp_path / "s.csv", "--label", "ill", "--positive", "yes", "--score", "score", *REGION)
    assert evaluated.exit_code == 0, evaluated.stderr


@pytest.mark.parametrize(
    ("change", "arguments", "code", "message"),
    [
        (lambda frame: frame.drop(columns=["age", "town"]), [], 1, "lacks 2 of the columns"),
        (lambda frame: frame.assign(age="old"), [], 1, "column 'age'"),
        (lambda frame: frame.assign(age=np.inf), [], 1, "column 'age' has infinite values"),
        (lambda frame: frame, ["--keep", "name"], 2, "has no column 'name'"),
        (lambda frame: frame, ["--keep", "id", "--keep", "id"], 2, "--keep must name different columns"),
        (lambda frame: frame.assign(score=1), ["--keep", "score"], 2, "--keep must name different columns"),
    ],
)
def test_data_that_cannot_be_scored(fitted, tmp_path, change, arguments, code, message):
    path = tmp_path / "new.csv"
    change(patients(20)).to_csv(path, index=False)
    result = run("score", fitted[0], path, *arguments, "--out", tmp_path / "s.csv")
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in one_line_of(result.stderr)
    assert list(tmp_path.iterdir()) == [path]


def test_data_are_never_written_over(fitted, table):
    before = tree(table.parent)
    result = run("score", fitted[0], table, "--out", table, "--overwrite")
    assert result.exit_code == 2
    assert "--out must be another file than DATA" in one_line_of(result.stderr)
    result = run("fit", table, *OPTIONS, "--test", table, "--out", table.with_name("another"))
    assert result.exit_code == 2
    assert "--test must be another file than DATA" in one_line_of(result.stderr)
    assert tree(table.parent) == before


def test_dates_may_be_classes(tmp_path):
    frame = patients(200).replace({"ill": {"yes": "2020-01-02", "no": "2020-01-01"}})
    frame.to_csv(tmp_path / "dates.csv", index=False)
    options = [word.replace("yes", "2020-01-02") for word in OPTIONS]
    arguments = [*options, "--method", "cross_entropy", "--out", tmp_path / "run", "--json"]
    result = run("fit", tmp_path / "dates.csv", *arguments)
    assert json.loads(result.stdout)["target"]["positive"] == "2020-01-02"


# ---------------------------------------------------------------------------------------- damaged and foreign runs


class Dangerous:
    def __init__(self):
        self.value = 1


def rewrite(folder, contents):
    """Put another model into a run, with a checksum that fits: what someone with bad intentions would do."""
    (folder / MODEL).write_bytes(contents)
    card = json.loads((folder / CARD).read_text())
    card["sha256"][MODEL] = hashlib.sha256(contents).hexdigest()
    (folder / CARD).write_text(json.dumps(card))


def with_card(folder, **changes):
    card = json.loads((folder / CARD).read_text()) | changes
    (folder / CARD).write_text(json.dumps(card))


def tampered(folder):
    """Return the model of a run with a function of the operating system in the place of a class."""
    with zipfile.ZipFile(folder / MODEL) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    schema = files["schema.json"].replace(b'"__class__": "TPAUCClassifier"', b'"__class__": "system"')
    files["schema.json"] = schema.replace(b'"__module__": "tpauc.classifiers.tpauc_classifier"', b'"__module__": "os"')
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, contents in files.items():
            archive.writestr(name, contents)
    return buffer.getvalue()


def forged_method():
    """Return a file with a method that writes files, which says that it is one of ``numpy.dtype``, a trusted type."""
    with zipfile.ZipFile(BytesIO(skops.io.dumps([np.arange(3)]))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(files["schema.json"])
    method = {"func": "tofile", "obj": schema["content"][0]}
    claims = {"__class__": "dtype", "__module__": "numpy", "__loader__": "MethodNode", "__id__": 1}
    schema["content"][0] = claims | {"content": method}
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, contents in (files | {"schema.json": json.dumps(schema).encode()}).items():
            archive.writestr(name, contents)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / MODEL).write_bytes(b"x"), "does not match the checksum in card.json"),
        (lambda folder: (folder / MODEL).unlink(), "is not complete: it has no model.skops"),
        (lambda folder: (folder / CARD).write_text("{"), "card.json is damaged: it is not JSON"),
        (lambda folder: (folder / CARD).write_text("[" * 100_000), "card.json is damaged: it is not JSON"),
        (lambda folder: (folder / CARD).write_text("[]"), "is not the card of a run"),
        (lambda folder: (folder / CARD).write_bytes(b"\xff"), "card.json is damaged"),
        (lambda folder: with_card(folder, kind="tpauc run 0"), "is not the card of a run of this version"),
        (lambda folder: with_card(folder, columns=1, models=None), "is damaged: 'columns', 'models' is missing"),
        (lambda folder: with_card(folder, models=["region"]), "each of its models must have a name, found 'region'"),
        (lambda folder: with_card(folder, models=[{"name": None}]), "each of its models must have a name, found {"),
        (
            lambda folder: with_card(folder, settings={"confidence": "3"}),
            "in 'settings', is damaged: 'confidence' is missing",
        ),
        (lambda folder: with_card(folder, target={}), "is damaged: 'column' is missing"),
        (lambda folder: with_card(folder, columns={"numbers": "age"}), "columns['numbers'] must be a list of names"),
        (lambda folder: with_card(folder, sha256={}), "does not match the checksum"),
        (lambda folder: rewrite(folder, b"not a zip file"), "model.skops is not loaded"),
        (lambda folder: rewrite(folder, b""), "model.skops is not loaded"),
        (lambda folder: rewrite(folder, (folder / MODEL).read_bytes()[:-1000]), "model.skops is not loaded"),
        (lambda folder: rewrite(folder, skops.io.dumps({"a": 1})), "it holds no pipeline"),
        (lambda folder: rewrite(folder, skops.io.dumps(Dangerous())), "Dangerous, which a run of this package"),
        (lambda folder: rewrite(folder, tampered(folder)), "os.system, which a run of this package does not"),
        (lambda folder: rewrite(folder, forged_method()), "it holds MethodNode, which a run of this package does not"),
    ],
)
def test_a_damaged_or_foreign_run_is_one_line(copied, table, damage, message):
    damage(copied)
    result = run("score", copied, table, "--out", copied.parent / "s.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in one_line_of(result.stderr)
    assert not (copied.parent / "s.csv").exists()


def test_a_card_without_its_region_is_damaged(copied):
    settings = json.loads((copied / CARD).read_text())["settings"]
    with_card(copied, settings={name: value for name, value in settings.items() if name != "alpha"} | {"beta": "0.3"})
    result = run("report", copied, "--resamples", "60")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "card.json is damaged: 'alpha', 'beta' is missing" in one_line_of(result.stderr)
    assert "'beta' is missing" in one_line_of(run("report", copied, "--alpha", "0.3").stderr)
    assert run("report", copied, "--resamples", "60", "--alpha", "0.3", "--beta", "0.3").exit_code == 0


def test_copies_of_a_row_are_not_judged_on(tmp_path):
    """Labels are noise, and every row is there four times: who remembers rows must not look good."""
    rng = np.random.default_rng(0)
    rows, labels = np.repeat(rng.normal(size=(150, 30)), 4, axis=0), np.repeat(rng.random(150) < 0.5, 4)
    table = tmp_path / "copies.csv"
    lines = [",".join([*(f"x{i}" for i in range(30)), "y"])]
    lines += [
        ",".join([*(f"{value:.4f}" for value in row), str(int(label))]) for row, label in zip(rows, labels, strict=True)
    ]
    table.write_text("\n".join(lines))
    result = run("fit", table, "--target", "y", "--alpha", "0.5", "--beta", "0.5", "--out", tmp_path / "run", "--json")
    card = json.loads(result.stdout)
    assert all(model["auc"]["estimate"] < 0.65 for model in card["models"])
