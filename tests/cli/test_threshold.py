"""The threshold of a run: picked out of fold, judged on the test rows, stored, used and changed."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from score_files import read_csv
from tpauc.cli._text import picked_here_note, threshold_lines
from tpauc.cli.main import app
from tpauc.cli.runs import CARD, OUT_OF_FOLD, TEST_SCORES, load_run
from tpauc.metrics.operating_points import evaluate_threshold, operating_point

REGION = {"alpha": 0.3, "beta": 0.2}
FIT = ["--target", "ill", "--alpha", 0.3, "--beta", 0.2, "--resamples", 50]
RATES = ("tpr", "fpr", "precision", "npv", "alarm_rate")
NOTE = "The threshold was picked on the rows it is judged by"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


def card_of(folder):
    return json.loads((folder / CARD).read_text(encoding="utf-8"))


def table(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    ill = X[:, 0] + 0.5 * X[:, 1] + rng.logistic(size=n) > 1.5
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(card=rng.integers(0, 200, n), ill=ill.astype(int))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return the folder of a run, its data, and what was printed."""
    folder = tmp_path_factory.mktemp("threshold")
    table().to_csv(folder / "data.csv", index=False)
    result = done("fit", folder / "data.csv", *FIT, "--drop", "card", "--out", folder / "run")
    return folder / "run", folder / "data.csv", result


@pytest.fixture
def copied(fitted, tmp_path):
    return shutil.copytree(fitted[0], tmp_path / "run")


def test_the_threshold_is_picked_out_of_fold_and_judged_on_the_test_rows(fitted):
    folder, _, result = fitted
    found, folds, test = (
        card_of(folder)["threshold"],
        read_csv(folder / OUT_OF_FOLD),
        read_csv(folder / TEST_SCORES),
    )
    assert not set(folds["row"]) & set(test["row"])
    np.testing.assert_array_equal(folds["ill"], table()["ill"].to_numpy()[folds["row"] - 1])
    picked = operating_point(folds["ill"], folds["region"], **REGION)
    assert found["value"] == picked.threshold
    assert (found["rule"], found["picked_on"], found["picked_here"]) == ("max_tpr", "out of fold", False)
    judged = evaluate_threshold(test["ill"], test["region"], picked.threshold, **REGION)
    for rate in RATES:
        expected = judged.intervals[rate]
        assert found["test"][rate] == {"estimate": expected.estimate, "low": expected.low, "high": expected.high}
    assert found["test"]["feasible"] == judged.feasible
    # The threshold picked on the test rows is another one, and is shown nowhere.
    flattering = operating_point(test["ill"], test["region"], **REGION)
    assert flattering.threshold != picked.threshold
    assert f"{flattering.threshold:.6g}" not in result.stdout
    assert f"a score of at least {picked.threshold:.6g} raises an alarm" in result.stdout
    assert f"on out-of-fold scores of {len(folds)} training rows" in result.stdout
    assert f"{judged.true_positives} of {judged.true_positives + judged.false_negatives} positives" in result.stdout
    assert "test rows, with 95 % intervals (Clopper-Pearson):" in result.stdout
    assert NOTE not in result.stdout


def test_score_and_predict_use_the_threshold(copied, fitted, tmp_path):
    scores = []
    for number, value in enumerate((None, -1.0, 0.25)):
        if value is not None:
            done("threshold", copied, "--value", value)
        threshold = card_of(copied)["threshold"]["value"]
        done("score", copied, fitted[1], "--out", tmp_path / f"{number}.parquet")
        found = pd.read_parquet(tmp_path / f"{number}.parquet")
        np.testing.assert_array_equal(found["alarm"], found["score"] >= threshold)
        np.testing.assert_array_equal(found["alarm"], load_run(copied).pipeline.predict(table()[["a", "b", "c"]]) == 1)
        scores.append(found["score"].to_numpy())
    np.testing.assert_array_equal(scores[0], scores[1])  # another threshold is no other model
    np.testing.assert_array_equal(scores[0], scores[2])


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (["--rule", "max_tpr", "--beta", 0.1], {"beta": 0.1}),
        (["--rule", "min_fpr"], {"rule": "min_fpr"}),
        (["--rule", "min_fpr", "--alpha", 0.1], {"rule": "min_fpr", "alpha": 0.1}),
        (["--rule", "cost", "--miss-cost", 5, "--alarm-cost", 1], {"rule": "cost", "miss_cost": 5, "alarm_cost": 1}),
        (["--rule", "capacity", "--capacity", 50, 1000], {"rule": "capacity", "capacity": (50, 1000)}),
    ],
)
def test_a_rule_picks_on_the_out_of_fold_scores(copied, options, rule):
    document = json.loads(done("threshold", copied, *options, "--json").stdout)
    folds, test = read_csv(copied / OUT_OF_FOLD), read_csv(copied / TEST_SCORES)
    region = REGION | {name: rule[name] for name in ("alpha", "beta") if name in rule}
    prevalence = folds["ill"].mean()
    expected = operating_point(folds["ill"], folds["region"], **(region | rule), prevalence=prevalence)
    assert document["threshold"] == card_of(copied)["threshold"]
    assert document["threshold"]["value"] == expected.threshold
    assert document["threshold"]["picked_here"] is False
    judged = evaluate_threshold(test["ill"], test["region"], expected.threshold, **region)
    assert document["threshold"]["test"]["fpr"]["estimate"] == judged.fpr
    assert document["threshold"]["test"]["feasible"] == judged.feasible
    assert done("threshold", copied).stdout == "\n".join(threshold_lines(document["threshold"])) + "\n"


def test_prevalence_decides_costs_and_is_stated(copied):
    options = ["--rule", "cost", "--miss-cost", 5, "--alarm-cost", 1]
    usual = json.loads(done("threshold", copied, *options, "--json").stdout)["threshold"]
    result = done("threshold", copied, *options, "--prevalence", 0.01)
    rare = card_of(copied)["threshold"]
    assert rare["value"] > usual["value"]  # an alarm is rarely right
    assert "if 1 % of the rows are positive" in result.stdout
    test = read_csv(copied / TEST_SCORES)
    judged = evaluate_threshold(test["ill"], test["region"], rare["value"], prevalence=0.01)
    assert rare["test"]["alarm_rate"]["estimate"] == judged.alarm_rate


@pytest.mark.parametrize("rule", ["max_tpr", "min_fpr"])
def test_a_guarantee_is_made_on_the_test_rows_and_marked(copied, rule):
    result = done("threshold", copied, "--rule", rule, "--guarantee", 0.9)
    found, test = card_of(copied)["threshold"], read_csv(copied / TEST_SCORES)
    expected = operating_point(test["ill"], test["region"], **REGION, rule=rule, guarantee=0.9)
    assert (found["value"], found["guarantee"]) == (expected.threshold, 0.9)
    assert (found["picked_on"], found["picked_here"]) == ("test rows", True)
    kept = "FPR" if rule == "max_tpr" else "TPR"
    assert f"{NOTE}. With probability 90 % the {kept} on new rows keeps to the region" in result.stdout
    assert "on new rows with probability 90 %, on the test rows." in result.stdout
    assert picked_here_note(0.9, rule) in result.stdout
    done("report", copied, "--resamples", 50)
    page = " ".join((copied / "report.html").read_text(encoding="utf-8").split())
    assert f"the {kept} on new rows keeps to the region with probability 90 %" in page


def test_a_given_threshold_is_judged_and_not_marked(copied):
    result = done("threshold", copied, "--value", 0.5)
    assert "at least 0.5 raises an alarm. It was given." in result.stdout
    assert NOTE not in result.stdout
    assert card_of(copied)["threshold"]["rule"] is None


def test_the_report_shows_the_deployed_threshold(copied):
    for value in (None, 0.5):
        if value is not None:
            said = done("threshold", copied, "--value", value).stdout
            assert f"{copied / 'report.html'} still shows the former threshold" in said
        found = card_of(copied)["threshold"]
        done("report", copied, "--resamples", 50, "--overwrite")
        page = (copied / "report.html").read_text(encoding="utf-8")
        assert f'data-label="Threshold" data-value="{found["value"]}"' in page
        assert f'data-label="FPR" data-value="{found["test"]["fpr"]["estimate"]}"' in page
        assert "picked on the rows it is judged by" not in page
        assert "<span>region</span></div></th>" not in page  # the model is not called as the region is


def test_a_rate_that_does_not_exist_is_null_and_said(copied):
    result = done("threshold", copied, "--value", 1e6)
    assert card_of(copied)["threshold"]["test"]["precision"] == {"estimate": None, "low": 0.0, "high": 1.0}
    assert "precision   none" in result.stdout
    assert "NaN" not in (copied / CARD).read_text()


def test_no_alarm_at_all_is_a_finite_threshold(copied):
    done("threshold", copied, "--rule", "capacity", "--capacity", 0, 10)
    found = card_of(copied)["threshold"]
    assert found["value"] > read_csv(copied / OUT_OF_FOLD)["region"].max()
    assert np.isfinite(found["value"])


def test_without_out_of_fold_scores_the_test_rows_pick_and_are_marked(copied):
    card = card_of(copied)
    del card["sha256"][OUT_OF_FOLD]
    (copied / CARD).write_text(json.dumps(card))
    (copied / OUT_OF_FOLD).unlink()
    assert picked_here_note() in done("threshold", copied, "--rule", "max_tpr").stdout
    assert card_of(copied)["threshold"]["picked_here"] is True
    done("report", copied, "--resamples", 50)
    assert "This threshold was picked on the rows it is judged by." in (copied / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--rule", "best"], 2, "Invalid value for '--rule'"),
        (["--rule", "max_tpr", "--value", 1], 2, "--rule and --value exclude each other"),
        (["--value", "nan"], 2, "--value must be a finite number"),
        (["--value", 1, "--guarantee", 0.9], 2, "--guarantee needs a --rule"),
        (["--miss-cost", 1], 2, "--miss-cost needs a --rule"),
        (["--beta", 0.1], 2, "--beta needs a --rule"),
        (["--rule", "max_tpr", "--guarantee", 1.5], 2, "--guarantee must"),
        (["--rule", "max_tpr", "--prevalence", 0], 2, "--prevalence must"),
        (["--rule", "cost"], 2, "--rule 'cost' needs --miss-cost"),
        (["--rule", "cost", "--miss-cost", 1], 2, "needs --alarm-cost"),
        (["--rule", "cost", "--miss-cost", -1, "--alarm-cost", 1], 2, "--miss-cost must"),
        (["--rule", "capacity"], 2, "needs --capacity"),
        (["--rule", "capacity", "--capacity", 5, 1], 2, "--capacity must not have more alarms than rows"),
        (["--rule", "max_tpr", "--capacity", 1, 5], 2, "--capacity has a meaning for --rule 'capacity' only"),
        (["--rule", "cost", "--miss-cost", 1, "--alarm-cost", 1, "--guarantee", 0.9], 2, "--guarantee has a meaning"),
        (["--rule", "max_tpr", "--guarantee", 0.99, "--beta", 0.001], 1, "needs at least 4603 negative examples"),
    ],
)
def test_what_is_refused_changes_nothing(copied, options, code, message):
    before = (copied / CARD).read_bytes()
    result = run("threshold", copied, *options)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert (copied / CARD).read_bytes() == before


def test_altered_scores_are_noticed(copied):
    (copied / OUT_OF_FOLD).write_text((copied / OUT_OF_FOLD).read_text() + "1,1,5.0\n")
    result = run("threshold", copied, "--rule", "max_tpr")
    assert result.exit_code == 1
    assert "out_of_fold.csv is damaged or was replaced" in result.stderr
    (copied / TEST_SCORES).unlink()
    assert "is not complete: it has no test_scores.csv" in run("report", copied).stderr


def test_a_run_of_an_earlier_version_is_refused_clearly_and_may_be_replaced(copied, fitted):
    card = {name: value for name, value in card_of(copied).items() if name != "threshold"} | {"kind": "tpauc run 1"}
    (copied / CARD).write_text(json.dumps(card))
    for command in (["threshold", copied], ["report", copied], ["score", copied, fitted[1], "--out", "s.csv"]):
        result = run(*command)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "is the card of a run of an earlier version of tpauc, which stored no threshold" in result.stderr
    done("fit", fitted[1], *FIT, "--method", "cross_entropy", "--overwrite", "--out", copied)
    assert card_of(copied)["threshold"]["rule"] == "max_tpr"


@pytest.mark.parametrize("value", [None, "high", True, float("inf")])
def test_a_card_without_a_number_for_its_threshold_is_damaged(copied, fitted, value):
    card = card_of(copied)
    card["threshold"]["value"] = value
    (copied / CARD).write_text(json.dumps(card))
    result = run("score", copied, fitted[1], "--out", copied.parent / "s.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is damaged: its threshold must be a finite number" in result.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": ["region"]}, "each of its models must have a name, found 'region'"),
        ({"models": [{"title": "x"}]}, "each of its models must have a name"),
        ({"settings": {"alpha": 0.3, "beta": 0.3}}, "in 'settings', is damaged: 'confidence' is missing"),
        ({"threshold": {"value": 1.0}}, "in 'threshold', is damaged: 'alpha', 'beta', 'picked_here', 'test'"),
        ({"score_columns": {"row": 1}}, "in 'score_columns', is damaged: 'row', 'label', 'models'"),
        ({"data": {"training": 3}}, "is damaged: 'training' is missing"),
        ({"data": None}, "is damaged: 'data' is missing"),
    ],
)
def test_a_card_with_other_contents_is_damaged(copied, changes, message):
    (copied / CARD).write_text(json.dumps(card_of(copied) | changes))
    before = (copied / CARD).read_bytes()
    result = run("threshold", copied, "--rule", "max_tpr")
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr
    assert (copied / CARD).read_bytes() == before


def test_a_run_is_not_changed_by_looking_at_it(copied):
    before = (copied / CARD).stat().st_mtime_ns
    assert "raises an alarm" in done("threshold", copied).stdout
    assert (copied / CARD).stat().st_mtime_ns == before


def test_a_guarantee_by_groups_counts_groups(fitted, tmp_path):
    done("fit", fitted[1], *FIT, "--groups", "card", "--method", "cross_entropy", "--out", tmp_path / "run")
    done("threshold", tmp_path / "run", "--rule", "max_tpr", "--guarantee", 0.9)
    found, test = card_of(tmp_path / "run")["threshold"], read_csv(tmp_path / "run" / TEST_SCORES)
    options = {**REGION, "guarantee": 0.9}
    by_groups = operating_point(test["ill"], test["cross_entropy"], **options, groups=test["card"])
    assert found["value"] == by_groups.threshold
    assert found["value"] != operating_point(test["ill"], test["cross_entropy"], **options).threshold
    # Groups are text there and numbers here: sums over groups in another order.
    assert found["test"]["tpr"]["low"] == pytest.approx(by_groups.intervals["tpr"].low, rel=1e-12)
    said = done("threshold", tmp_path / "run").stdout
    assert "test rows, with 95 % intervals (Clopper-Pearson, design effect of groups):" in said


def test_folds_that_see_a_sample_do_not_decide_the_share_of_positives(copied):
    """Costs are those of the training rows, although the folds saw few of the negatives."""
    card = card_of(copied)
    options = ["--rule", "cost", "--miss-cost", 5, "--alarm-cost", 1, "--json"]
    usual = json.loads(done("threshold", copied, *options).stdout)["threshold"]["value"]
    card["data"]["training"]["negatives"] *= 100
    (copied / CARD).write_text(json.dumps(card))
    assert json.loads(done("threshold", copied, *options).stdout)["threshold"]["value"] > usual
