"""`TPAUCClassifier("auto")`: the estimator, its parameters, and a run on disk."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.inspection import permutation_importance
from typer.testing import CliRunner

from tpauc import TPAUCClassifier, advise
from tpauc.classifiers.auto import members, stacked_members
from tpauc.classifiers.auto.stacked_members import Clock
from tpauc.cli.main import app
from tpauc.metrics.area import tpauc_score


def a_table(n, seed=0):
    """Return rows whose label depends on a product and on a sum of features."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    logit = 2.0 * X[:, 0] * X[:, 1] + X[:, 2] - 2.0
    return X, (random.random(n) < 1.0 / (1.0 + np.exp(-logit))).astype(int)


X, Y = a_table(2500)
TRAIN, TEST = slice(0, 900), slice(900, None)


@pytest.fixture(scope="module")
def auto():
    return TPAUCClassifier("auto", random_state=0).fit(X[TRAIN], Y[TRAIN])


def a_fast_one(**options):
    return TPAUCClassifier("auto-fast", **{"random_state": 0, **options})


def test_the_stack_is_better_than_a_linear_model(auto):
    linear = TPAUCClassifier(random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert auto.score(X[TEST], Y[TEST]) > linear.score(X[TEST], Y[TEST]) + 0.1


def test_members_are_told_with_tpauc_share_and_time(auto):
    assert [member["name"] for member in auto.members_] == [recipe.name for recipe in members.PRESETS["auto"]]
    assert sum(member["share"] for member in auto.members_) == pytest.approx(1.0)
    assert all(0.0 <= member["tpauc"] <= 1.0 and member["seconds"] > 0.0 for member in auto.members_)
    named = max(auto.members_, key=lambda member: member["share"])
    assert f"{named['share']:.2f} {named['name']}" in auto.chosen_


def test_the_estimate_is_nested_and_the_threshold_out_of_fold(auto):
    expected = tpauc_score(Y[TRAIN], auto.out_of_fold_scores_, alpha=0.3, beta=0.3)
    assert auto.nested_tpauc_.estimate == pytest.approx(expected)
    alarms = auto.out_of_fold_scores_ >= auto.threshold_
    assert alarms[Y[TRAIN] == 0].mean() <= 0.3
    np.testing.assert_array_equal(auto.predict(X[TEST]) == 1, auto.decision_function(X[TEST]) > 0)


def test_probabilities_are_calibrated(auto):
    proba = auto.predict_proba(X[TEST])
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert proba[:, 1].mean() == pytest.approx(Y[TEST].mean(), abs=0.03)
    order = np.argsort(proba[:, 1])
    for part in np.array_split(order, 4):  # the four quarters, by probability
        assert proba[part, 1].mean() == pytest.approx(Y[TEST][part].mean(), abs=0.08)


def test_permutation_importance_finds_the_features_that_count(auto):
    found = permutation_importance(auto, X[TEST][:600], Y[TEST][:600], n_repeats=2, random_state=0)
    assert found.importances_mean[:3].min() > np.abs(found.importances_mean[3:]).max()


def test_the_other_label_may_be_positive(few_trees):
    straight = a_fast_one(pos_label=1).fit(X[TRAIN], Y[TRAIN])
    mirrored = a_fast_one(pos_label="b").fit(X[TRAIN], np.where(Y[TRAIN] == 1, "b", "c"))
    assert mirrored.classes_.tolist() == ["b", "c"]
    np.testing.assert_array_equal(mirrored.predict(X[TEST]) == "b", straight.predict(X[TEST]) == 1)
    np.testing.assert_array_equal(mirrored.predict_proba(X[TEST])[:, 0], straight.predict_proba(X[TEST])[:, 1])


def test_weights_are_taken_and_rows_of_weight_0_are_not_seen(few_trees):
    weight = np.ones(400)
    weight[300:] = 0.0
    ignored = a_fast_one().fit(X[:400], Y[:400], sample_weight=weight)
    without = a_fast_one().fit(X[:300], Y[:300], sample_weight=weight[:300])
    np.testing.assert_array_equal(ignored.decision_function(X[TEST]), without.decision_function(X[TEST]))
    assert np.isnan(ignored.out_of_fold_scores_[300:]).all()
    heavy = a_fast_one().fit(X[:300], Y[:300], sample_weight=np.where(Y[:300] == 1, 6.0, 1.0))
    assert heavy.predict_proba(X[TEST])[:, 1].mean() > without.predict_proba(X[TEST])[:, 1].mean() + 0.1


def test_groups_are_kept_together(few_trees):
    random, groups = np.random.default_rng(0), np.arange(360) // 6
    rows = random.normal(size=(60, 5))[groups] + 0.01 * random.normal(size=(360, 5))
    labels = (random.random(60) < 0.5).astype(int)[groups]  # whoever has seen a row of the group knows the label
    assert a_fast_one().fit(rows, labels).nested_tpauc_.estimate > 0.9
    assert a_fast_one().fit(rows, labels, groups=groups).nested_tpauc_.estimate < 0.3


def test_a_time_limit_leaves_a_model(few_trees):
    found = TPAUCClassifier("auto", time_limit=1e-6, random_state=0).fit(X[:300], Y[:300])
    assert [member["name"] for member in found.members_] == ["boosting"]
    assert np.isfinite(found.decision_function(X[TEST])).all()


def test_extreme_and_constant_values_are_scored(few_trees):
    strange = X[:300].copy()
    strange[:, 3] = 7.0
    strange[0, 4] = 1e9
    found = a_fast_one().fit(strange, Y[:300])
    assert np.isfinite(found.decision_function(np.full((2, 5), 1e250))).all()
    with pytest.raises(ValueError, match=r"X must hold values of at most 1e\+250 in size, found 1e\+300"):
        found.decision_function(np.full((2, 5), 1e300))


# ---------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "cross_entropy"}, "model='auto' is trained with method='region' only, got 'cross_entropy'"),
        ({"validation": None}, "model='auto' is trained with validation='cv' only, got None"),
        ({"validation": 0.3}, "model='auto' is trained with validation='cv' only, got 0.3"),
        ({"standardize": False}, "model='auto' is trained with standardize=True only, got False"),
        ({"epochs": 3}, "epochs=3 has no effect for model='auto'"),
        ({"device": "cpu"}, "device='cpu' has no effect for model='auto'"),
        ({"regularization": 2.0}, "regularization=2.0 has no effect for model='auto'"),
        ({"time_limit": 0.0}, "time_limit must be"),
        ({"n_jobs": 0}, "n_jobs, unless None or -1 for all cores, must be"),
        ({"model": "linear", "time_limit": 5.0}, "time_limit=5.0 has no effect for model='linear'"),
        ({"model": "linear", "n_jobs": 2}, "n_jobs=2 has no effect for model='linear'"),
        ({"model": "automatic"}, "model must be one of"),
    ],
)
def test_what_does_not_apply_is_an_error(options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        TPAUCClassifier(**{"model": "auto", **options}).fit(X[:50], Y[:50])


BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"lightgbm", "torch"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
"""


def without_lightgbm(code):
    command = [sys.executable, "-W", "error", "-c", BLOCK + code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_without_lightgbm_the_extra_is_named():
    done = without_lightgbm(
        "import numpy as np\nfrom tpauc import TPAUCClassifier\n"
        "TPAUCClassifier('auto').fit(np.arange(40.0)[:, None], np.arange(40) % 2)"
    )
    assert "lightgbm is needed here and is not installed; run: pip install 'tpauc[lightgbm]'" in done.stderr


# -------------------------------------------------------------------------------------------------------- runs, CLI


def cli(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def table(tmp_path):
    np.savez(tmp_path / "table.npz", X=X[:400], y=Y[:400])
    return tmp_path / "table.npz"


OPTIONS = ("--target", "y", "--alpha", "0.5", "--beta", "0.5")


def test_a_run_is_made_and_scores_rows(table, tmp_path, few_trees):
    from tpauc.cli.runs import load_run

    out = tmp_path / "run"
    result = cli("fit", table, *OPTIONS, "--model", "auto-fast", "--out", out, "--resamples", "50")
    assert result.exit_code == 0, result.stderr
    card = json.loads((out / "card.json").read_text(encoding="utf-8"))
    assert {"lightgbm", "scikit-learn", "skops"} <= set(card["versions"])
    assert card["settings"]["model"] == "auto-fast"
    assert len(load_run(out).pipeline[-1].members_) == 5
    files = [tmp_path / "scores.csv", tmp_path / "again.csv"]
    for file in files:
        result = cli("score", out, table, "--out", file)
        assert result.exit_code == 0, result.stderr
    assert files[0].read_bytes() == files[1].read_bytes()
    assert len(files[0].read_text().splitlines()) == 401


def test_a_saved_pipeline_scores_as_before_it_was_saved(auto, tmp_path):
    from sklearn.pipeline import Pipeline

    from tpauc.cli import model_file

    pipeline = Pipeline([("classifier", auto)])
    loaded = model_file.read_model(model_file.model_bytes(pipeline), tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.decision_function(X[TEST]), auto.decision_function(X[TEST]))
    np.testing.assert_array_equal(loaded.predict_proba(X[TEST]), auto.predict_proba(X[TEST]))


def test_a_saved_stack_needs_only_what_its_members_need(tmp_path, monkeypatch):
    from sklearn.pipeline import Pipeline

    from tpauc.cli import model_file

    monkeypatch.setitem(members.PRESETS, "auto-fast", members.PRESETS["auto-fast"][1:3])  # linear, kernel
    fitted = Pipeline([("classifier", a_fast_one().fit(X[:300], Y[:300]))])
    (tmp_path / "model.skops").write_bytes(model_file.model_bytes(fitted))
    done = without_lightgbm(
        "import numpy as np\nfrom pathlib import Path\nfrom tpauc.cli import model_file\n"
        f"file = Path({str(tmp_path / 'model.skops')!r})\n"
        "print(model_file.read_model(file.read_bytes(), file).decision_function(np.zeros((1, 5)))[0].hex())"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == fitted.decision_function(np.zeros((1, 5)))[0].hex()


def test_advice_compares_the_stack_with_lightgbm(few_trees):
    found = advise(X[:300], Y[:300], alpha=0.5, beta=0.5, model="auto-fast", n_folds=2, n_repeats=1, random_state=0)
    assert found.model == "auto-fast"
    assert 0.0 <= found.region.estimate <= 1.0
    assert "the stack changes TPAUC by" in found.verdict
    assert "cross-entropy, the better of the two" in found.verdict.partition("against LightGBM on ")[2]


def test_advice_hands_the_time_limit_to_every_training(few_trees, monkeypatch):
    limits = []
    monkeypatch.setattr(stacked_members, "Clock", lambda limit: limits.append(limit) or Clock(limit))
    options = {"alpha": 0.5, "beta": 0.5, "n_folds": 2, "n_repeats": 1, "random_state": 0}
    advise(X[:300], Y[:300], model="auto", time_limit=1e-3, **options)
    assert limits == [1e-3, 1e-3]
    with pytest.raises(ValueError, match=r"time_limit=5\.0 has no effect for model='linear'"):
        advise(X[:300], Y[:300], time_limit=5.0, **options)
    with pytest.raises(ValueError, match="time_limit must be above 0, got 0"):
        advise(X[:300], Y[:300], model="auto", time_limit=0, **options)


def test_the_command_line_takes_a_time_limit(table, tmp_path, few_trees):
    from tpauc.cli.runs import load_run

    limited = (table, *OPTIONS, "--model", "auto", "--time-limit", "0.001")
    result = cli("fit", *limited, "--out", tmp_path / "run", "--resamples", "50")
    assert result.exit_code == 0, result.stderr
    run = load_run(tmp_path / "run")
    assert [member["name"] for member in run.pipeline[-1].members_] == ["boosting"]
    assert json.loads((tmp_path / "run" / "card.json").read_text(encoding="utf-8"))["settings"]["time_limit"] == 0.001
    result = cli("advise", *limited, "--folds", "2", "--repeats", "1")
    assert result.exit_code == 0, result.stderr
    assert "LightGBM, plain cross-entropy" in result.stdout
    assert "stack minus it" in result.stdout


@pytest.mark.parametrize("command", ["fit", "advise"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "auto", "--time-limit", "0"), "--time-limit must be above 0, got 0"),
        (("--model", "auto", "--time-limit", "nan"), "--time-limit must be finite, got nan"),
        (
            ("--model", "linear", "--time-limit", "5"),
            "--time-limit is for --model auto and auto-fast, got --model linear",
        ),
    ],
)
def test_a_wrong_time_limit_is_told(table, tmp_path, command, options, message):
    out = ("--out", tmp_path / "run") if command == "fit" else ()
    result = cli(command, table, *OPTIONS, *options, *out)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "run").exists()
