"""The models of `tpauc fit`: each is trained, saved, loaded and used alike, and described in words."""

import hashlib
import json
import re

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier
from typer.testing import CliRunner

from score_files import read_csv
from tpauc.classifiers.auto.member_scorers import BoosterMember, ForestMember, LinearMember
from tpauc.classifiers.auto.stacked_members import MemberStack
from tpauc.classifiers.boosting.booster import TPAUCBooster
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
from tpauc.cli.main import app
from tpauc.cli.model_choice import chosen_words, divides_rows, model_words
from tpauc.cli.runs import CARD, MODEL, OUT_OF_FOLD, TEST_SCORES, RunScores, load_run, save_run

FIT = ["--target", "ill", "--alpha", 0.3, "--beta", 0.3, "--resamples", 50]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    X, y = make_classification(500, n_features=4, weights=[0.75], random_state=0)
    town = np.random.default_rng(0).choice(["Ulm", "Bonn", None], 500)
    path = tmp_path_factory.mktemp("models") / "data.csv"
    pd.DataFrame(X, columns=list("abcd")).assign(town=town, ill=y).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def boosted(data):
    out = data.with_name("boosted")
    return out, done("fit", data, *FIT, "--model", "lightgbm", "--out", out)


def test_lightgbm_is_trained_saved_and_loaded(data, boosted, tmp_path):
    out, result = boosted
    card = json.loads((out / CARD).read_text(encoding="utf-8"))
    assert [model["title"] for model in card["models"]] == [
        "boosted trees for the region",
        "boosted trees on cross-entropy",
    ]
    assert "lightgbm" in card["versions"]
    done("score", out, data, "--out", tmp_path / "s.parquet", "--proba")
    test, again = read_csv(out / TEST_SCORES), pd.read_parquet(tmp_path / "s.parquet")
    np.testing.assert_array_equal(again["score"].to_numpy()[test["row"] - 1], test["region"])
    said = "Boosted trees for the region, chosen by TPAUC in cross-validation: "
    assert re.search(said + r"\d+ rounds of log-loss.*, \d+ % \(TPAUC 0\.\d+\)", result.stdout)
    done("report", out, "--resamples", 50)
    done("threshold", out, "--rule", "min_fpr")


def test_trees_that_are_not_lightgbm_s_are_refused(boosted, data, tmp_path):
    import shutil

    folder = shutil.copytree(boosted[0], tmp_path / "run")
    pipeline = skops.io.load(folder / MODEL, trusted=skops.io.get_untrusted_types(file=folder / MODEL))
    pipeline[-1].paths_[0]["trunk"]["text"] = "tree\nnonsense"
    (folder / MODEL).write_bytes(skops.io.dumps(pipeline))
    card = json.loads((folder / CARD).read_text())
    card["sha256"][MODEL] = hashlib.sha256((folder / MODEL).read_bytes()).hexdigest()
    (folder / CARD).write_text(json.dumps(card))
    result = run("score", folder, data, "--out", tmp_path / "s.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "model.skops is not loaded" in result.stderr


@pytest.fixture(scope="module")
def stacked(data):
    out = data.with_name("stacked")
    return out, done("fit", data, *FIT, "--model", "auto", "--out", out)


def test_a_stack_is_trained_saved_and_loaded_beside_logistic_regression(data, stacked, tmp_path):
    out, result = stacked
    card = json.loads((out / CARD).read_text(encoding="utf-8"))
    assert [model["title"] for model in card["models"]] == [
        "stack of models for the region",
        "linear model on cross-entropy",
    ]
    done("score", out, data, "--out", tmp_path / "s.parquet", "--proba")
    test, again = read_csv(out / TEST_SCORES), pd.read_parquet(tmp_path / "s.parquet")
    np.testing.assert_array_equal(again["score"].to_numpy()[test["row"] - 1], test["region"])
    shares = re.search(r"Stack of 7 models: (.*); weighed by log-loss on out-of-fold scores\.", result.stdout)[1]
    assert sum(int(share) for share in re.findall(r"(\d+) %", shares)) == pytest.approx(100, abs=4)
    done("report", out, "--resamples", 50)
    done("evaluate", out, "--resamples", 50)


def test_the_threshold_of_a_stack_is_picked_out_of_fold(stacked):
    out, _ = stacked
    card, folds = json.loads((out / CARD).read_text(encoding="utf-8")), read_csv(out / OUT_OF_FOLD)
    assert len(folds) + len(read_csv(out / TEST_SCORES)) == 500
    alarms = folds["region"] >= card["threshold"]["value"]
    assert alarms[folds["ill"] == 0].mean() <= 0.3
    done("threshold", out, "--rule", "min_fpr")
    changed = json.loads((out / CARD).read_text(encoding="utf-8"))["threshold"]["value"]
    assert changed in folds["region"].to_numpy()


def damaged_member(kind):
    """Return a member that cannot score rows."""
    if kind == "booster":
        return BoosterMember(["tree\nnonsense"])
    if kind == "linear model":
        return LinearMember(np.ones(2), 0.0)
    X, y = make_classification(60, random_state=0)
    forest = ForestMember.of(ExtraTreesClassifier(2, random_state=0).fit(X, y == 1))
    forest.nodes["left_child"][0] = 10**9
    return forest


@pytest.mark.parametrize("kind", ["booster", "forest", "linear model"])
def test_a_stack_that_could_not_score_is_not_written(stacked, tmp_path, kind):
    saved = load_run(stacked[0])
    saved.pipeline[-1].stack_ = MemberStack([damaged_member(kind)], [1.0], 0.0)
    rows = RunScores(np.array([True, False]), {"region": np.zeros(2)}, rows=np.arange(2))
    with pytest.raises(ValueError, match=r"is not written, because it could not be read again: model\.skops is"):
        save_run(tmp_path / "run", saved.pipeline, saved.card, rows, None)
    assert not list(tmp_path.iterdir())


def test_lightgbm_has_no_other_losses(data, tmp_path):
    result = run("fit", data, *FIT, "--model", "lightgbm", "--method", "focal", "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--model lightgbm is trained with --method region or cross_entropy, got 'focal'" in result.stderr


def test_a_stack_has_no_other_methods(data, tmp_path):
    result = run("fit", data, *FIT, "--model", "auto", "--method", "cross_entropy", "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--model auto is trained with --method region, got 'cross_entropy'" in result.stderr


@pytest.mark.parametrize(
    ("model", "package"),
    [("lightgbm", "lightgbm"), ("mlp", "torch"), ("auto", "lightgbm"), ("auto-fast", "lightgbm")],
)
@pytest.mark.parametrize("command", ["fit", "advise"])
def test_a_missing_package_is_named_before_the_work(data, tmp_path, monkeypatch, model, package, command):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    out = ["--out", tmp_path / "run"] if command == "fit" else []
    result = run(command, data, *FIT[:-2], "--model", model, *out)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{package} is needed here and is not installed; run: pip install 'tpauc[{package}]'" in result.stderr


# -------------------------------------------------------------------------------------------------- probabilities


@pytest.mark.parametrize(
    ("model", "method"),
    [
        ("linear", "region"),
        ("lightgbm", "region"),
        ("mlp", "cross_entropy"),
        ("auto-fast", "region"),
    ],
)
def test_probabilities_are_calibrated_out_of_fold(data, tmp_path, model, method):
    out = tmp_path / "run"
    done("fit", data, *FIT, "--model", model, "--method", method, "--out", out)
    done("score", out, data, "--out", tmp_path / "s.parquet", "--proba")
    found = pd.read_parquet(tmp_path / "s.parquet")
    assert list(found.columns) == ["score", "alarm", "calibrated_probability"]
    p, order = found["calibrated_probability"].to_numpy(), found["score"].argsort()
    assert np.all(np.diff(p[order]) >= 0)
    # Platt's map makes the mean probability of the rows it is fitted to their share of positives.
    folds = read_csv(out / OUT_OF_FOLD)
    logit = np.polyfit(found["score"], np.log(p / (1 - p)), 1)
    name = folds.columns[-1]
    at_folds = 1 / (1 + np.exp(-np.polyval(logit, folds[name])))
    assert at_folds.mean() == pytest.approx(folds["ill"].mean(), abs=2e-3)


def test_probabilities_are_written_on_demand_only(data, boosted, tmp_path):
    done("score", boosted[0], data, "--out", tmp_path / "s.csv")
    assert list(read_csv(tmp_path / "s.csv").columns) == ["score", "alarm"]
    frame = read_csv(data).assign(calibrated_probability=1)
    frame.to_csv(tmp_path / "taken.csv", index=False)
    keep = ["--keep", "calibrated_probability", "--out", tmp_path / "t.csv"]
    result = run("score", boosted[0], tmp_path / "taken.csv", *keep, "--proba")
    assert result.exit_code == 2
    assert "--keep must name different columns" in result.stderr
    assert "out-of-fold" in " ".join(run("score", "--help").stdout.split())


# ----------------------------------------------------------------------------------------------------------- words


def test_what_was_chosen_is_said_in_words():
    X, y = make_classification(400, n_features=4, weights=[0.8], random_state=0)
    linear = TPAUCClassifier(random_state=0).fit(X, y)
    text = chosen_words("linear", linear)
    shares = [int(share) for share in re.findall(r", (\d+) % \(TPAUC 0\.\d{3}\)", text)]
    expected = sorted((found["share"] for found in linear.candidates_ if found["share"] >= 0.005), reverse=True)
    assert shares == [round(100 * share) for share in expected][:4]
    rest = round(100 * sum(expected[4:]))
    assert text.endswith(f"; others, {rest} %") == (rest > 0)
    assert "logistic regression" in text
    one = TPAUCClassifier(method="cross_entropy", random_state=0).fit(X, y)
    assert chosen_words("linear", one) is None
    trees = chosen_words("lightgbm", TPAUCBooster(max_rounds=20, n_folds=2, random_state=0).fit(X, y))
    assert re.match(r"\d+ rounds of log-loss( and \d+ for the region)?, \d+ % \(TPAUC 0\.\d{3}\)", trees)
    steps = chosen_words("linear", TPAUCClassifier(method="polynomial", max_steps=2, random_state=0).fit(X, y))
    assert re.fullmatch(
        r"(polynomial, \d steps|logistic regression(, balanced)?) \(TPAUC .*\), the best of 4 .*", steps
    )


def test_candidates_outside_the_region_are_not_praised():
    found = [{"name": name, "tpauc": 0.0, "share": 0.5} for name in ("plain", "balanced")]

    class Classifier:
        candidates_ = found

    expected = "nothing, since none of 2 candidates reaches the region; they have equal shares"
    assert chosen_words("linear", Classifier()) == expected


def test_a_model_is_not_called_as_the_region_is():
    assert model_words("linear", "region") == "linear model for the region"
    assert model_words("mlp", "square_auc") == "network on square_auc"


@pytest.mark.parametrize("deployed", [True, False])
@pytest.mark.parametrize("method", ["region", "cross_entropy", "polynomial"])
def test_which_trainings_have_folds(method, deployed):
    classifier = TPAUCClassifier("mlp", method=method, calibrate=deployed)
    assert divides_rows("mlp", method, deployed=deployed) == classifier._uses_folds()
    assert divides_rows("linear", method, deployed=deployed)
