"""Advice: is training for the region worth it here? And how often is the answer wrong when there is no difference?"""

import json
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from typer.testing import CliRunner

from tpauc import TPAUCBooster, TPAUCClassifier
from tpauc.classifiers import advice
from tpauc.classifiers.advice import BALANCED, PLAIN, REGION, _advice, _table, advise
from tpauc.classifiers.cross_validation import cross_validate
from tpauc.classifiers.folds import copies, stratified_folds
from tpauc.cli.main import app
from tpauc.region import Region

CORNER = Region(0.3, 0.3)


def rows(n=300, seed=0, share=0.3):
    """Return features that shift with the label, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    return rng.normal(size=(n, 3)) + y[:, None] * [1.0, 0.5, 0.0], y


class ByColumn:
    """A model that learns nothing: its scores are a column of the features."""

    def __init__(self, column):
        self.column = column

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return X[:, self.column]


def advice_by_columns(X, y, seed=0, n_repeats=2):
    """Advise on three columns that stand for the scores of the three models."""
    names = (PLAIN, BALANCED, REGION)
    makers = {name: lambda region, seed, column=column: ByColumn(column) for column, name in enumerate(names)}
    values = cross_validate(makers, X, y, copies(X), CORNER, 5, n_repeats, np.random.default_rng(seed))
    return _advice("linear", CORNER, y, 5, n_repeats, values)


# ---------------------------------------------------------------------------------------------------------- the folds


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 30), min_size=20, max_size=80), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_copies_share_a_fold_and_classes_are_spread(numbers, n_folds, seed):
    X = np.column_stack((numbers, numbers)).astype(float)
    y = np.array(numbers) % 3 == 0
    fold = stratified_folds(y, copies(X), n_folds, np.random.default_rng(seed))
    for number in set(numbers):
        assert np.unique(fold[np.array(numbers) == number]).size == 1
    for label in (True, False):
        groups = np.unique(np.array(numbers)[y == label])
        groups_in_fold = [np.unique(np.array(numbers)[(y == label) & (fold == k)]).size for k in range(n_folds)]
        assert sum(groups_in_fold) == groups.size
        assert max(groups_in_fold) - min(groups_in_fold) <= 1


def test_copies_with_different_labels_share_a_fold():
    X = np.repeat(np.arange(10.0), 2)[:, None]
    y = np.tile([True, False], 10)
    fold = stratified_folds(y, copies(X), 5, np.random.default_rng(0))
    assert (fold[::2] == fold[1::2]).all()


def test_every_row_is_held_out_once_a_repeat_and_never_trained_on_then():
    X, y = rows(60)
    X = np.vstack((X, X))  # every row twice
    y = np.concatenate((y, y))
    held_out = []

    class Watcher(ByColumn):
        def fit(self, X, y):
            self.seen = set(map(tuple, X))
            return self

        def decision_function(self, X):
            assert not self.seen & set(map(tuple, X))
            held_out.extend(map(tuple, X))
            return X[:, 0]

    makers = {"watched": lambda region, seed: Watcher(0)}
    values = cross_validate(makers, X, y, copies(X), CORNER, 4, 3, np.random.default_rng(0))
    assert values["watched"].shape == (12,)
    assert sorted(held_out) == sorted(map(tuple, np.tile(X, (3, 1))))


# ---------------------------------------------------------------------------------------------------------- the test


def test_without_a_difference_the_verdict_is_seldom_that_there_is_one():
    outcomes = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y = np.arange(300) % 5 == 0
        outcomes.append(advice_by_columns(rng.normal(size=(300, 3)) + 2.0 * y[:, None], y, seed).outcome)
    wrong = sum(outcome != "no difference found" for outcome in outcomes)
    assert wrong <= 15  # more than 15 of 200 would happen in 4 % of the cases if each were wrong with probability 5 %
    assert outcomes.count("too few positives to tell") == 0


@pytest.mark.parametrize(("strength", "outcome"), [([1.0, 1.0, 3.0], "helps"), ([1.0, 3.0, 1.0], "hurts")])
def test_a_clear_difference_is_found(strength, outcome):
    y = np.arange(2000) % 5 == 0
    noise = np.random.default_rng(0).normal(size=(2000, 3))
    found = advice_by_columns(noise + y[:, None] * strength, y)
    assert found.outcome == outcome
    assert found.verdict.startswith(outcome.capitalize())
    assert (found.over_balanced.difference > 0) == (outcome == "helps")


def test_a_model_that_never_errs_leaves_some_doubt():
    y = np.arange(300) % 5 == 0
    found = advice_by_columns(np.column_stack((y, y, y)) + np.random.default_rng(0).random((300, 3)) / 2, y)
    # 3 hard positives and 14 hard negatives in each of 5 folds.
    assert (found.region.estimate, found.region.high) == (1.0, 1.0)
    assert found.region.low == pytest.approx(1.0 - stats.t.ppf(0.975, 9) * np.sqrt(1 / 10 + 1 / 4) / (2 * 3 * 14))
    assert (found.over_plain.difference, found.over_plain.p_value) == (0.0, 1.0)
    assert found.over_plain.low < 0.0 < found.over_plain.high


def test_better_than_one_cross_entropy_alone_is_no_help():
    y = np.arange(2000) % 5 == 0
    noise = np.random.default_rng(0).normal(size=(2000, 3))
    noise[:, 2] = noise[:, 1]
    found = advice_by_columns(noise + y[:, None] * [1.0, 3.0, 3.0], y)
    assert found.over_plain.p_value < 0.05
    assert found.outcome == "no difference found"
    assert "against balanced cross-entropy" in found.verdict


# ------------------------------------------------------------------------------------------------------- the function


def test_few_positives_are_said_to_be_few():
    X, y = rows(100, share=0.2)
    found = advise(X, y, alpha=0.3, beta=0.3, n_folds=2, n_repeats=1, random_state=0)
    assert found.n_hard_positive < 10
    assert found.outcome == "too few positives to tell"
    assert f"({found.n_positive} positives, {found.n_hard_positive} of them in the region)" in found.verdict


def test_a_seed_decides_everything():
    X, y = rows()
    first, second, third = (
        advise(X, y, alpha=0.3, beta=0.3, n_folds=3, n_repeats=1, random_state=seed)
        for seed in (1, np.random.default_rng(1), 2)
    )
    assert first == second
    assert first != third


def test_fewer_folds_where_the_region_would_select_nobody():
    X, y = rows(120)
    y[np.flatnonzero(y)[12:]] = False
    lines = []
    found = advise(X, y, alpha=0.3, beta=0.3, n_folds=5, n_repeats=2, random_state=0, progress=lines.append)
    assert found.n_folds == 3  # 4 positives a fold, of which the region selects 1
    assert len(lines) == 6
    assert lines[-1] == "fold 3 of 3, repeat 2 of 2"


def test_a_billion_folds_are_as_many_as_there_can_be():
    X, y = rows(60)
    found = advise(X, y, alpha=1.0, beta=1.0, n_folds=10**9, n_repeats=1, random_state=0)
    assert found.n_folds == min(y.sum(), (~y).sum())


def test_as_many_folds_as_the_region_selects_somebody_in():
    X = rows(300)[0]
    # 10 positives a fold, of which a share that is 1e-17 below 0.1 still selects one
    found = advise(X, np.arange(300) < 50, alpha=1 - 0.9, beta=0.3, n_repeats=1, random_state=0)
    assert found.n_folds == 5
    found = advise(X, np.arange(300) < 20, alpha=0.1, beta=0.3, n_repeats=1, random_state=0)
    assert found.n_folds == 2


FEW_COPIES = "copies of a row could not be kept in one fold, so the values may be too high"


def six_rows(n=400):
    """Return a table of two text columns with six different rows, each of them with positives, and its labels."""
    number = np.arange(n)
    frame = pd.DataFrame(
        {"town": np.take(["Ulm", "Bonn", "Kiel"], number % 3), "club": np.take(["a", "b"], number % 2)}
    )
    likely = np.where(frame["town"] == "Ulm", 0.35, 0.1)
    return frame, np.random.default_rng(0).random(n) < likely


def test_a_table_of_few_distinct_rows_is_judged_with_a_warning():
    X, y = six_rows()
    encoder = OneHotEncoder(sparse_output=False)
    with pytest.warns(UserWarning, match=FEW_COPIES) as caught:
        found = advise(X, y, alpha=0.3, beta=0.3, n_repeats=1, preprocessing=encoder, random_state=0)
    assert [str(warning.message) for warning in caught] == [
        f"distinct rows with positives among their copies: 6, without: 0; {FEW_COPIES}"
    ]
    assert caught[0].filename == __file__
    assert found.n_folds == 5
    assert found.n_negative == (~y).sum()


def test_features_that_say_nothing_are_judged_with_a_warning():
    with pytest.warns(UserWarning, match=FEW_COPIES):
        found = advise(np.ones((300, 3)), np.arange(300) % 3 == 0, alpha=0.3, beta=0.3, n_repeats=1, random_state=0)
    assert found.outcome == "no difference found"


def test_copies_stay_together_in_fewer_folds_if_they_can():
    X, y = six_rows()
    y[(X["club"] == "a") & (X["town"] != "Ulm")] = False  # two distinct rows without positives
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)  # a fold may have all rows of a town
    found = advise(X, y, alpha=0.3, beta=0.3, n_repeats=1, preprocessing=encoder, random_state=0)  # a warning fails
    assert found.n_folds == 2


@pytest.mark.parametrize("model", ["mlp", "lightgbm"])
def test_other_families(model, monkeypatch):
    if model == "lightgbm":
        pytest.importorskip("lightgbm")
    short = partial(advice.TPAUCClassifier, cross_entropy_steps=20)
    monkeypatch.setattr(advice, "TPAUCClassifier", short)  # a converged network takes too long for a test
    X, y = rows(150)
    found = advise(X, y, alpha=0.5, beta=0.5, model=model, n_folds=2, n_repeats=1, random_state=0)
    assert found.model == model
    for interval in (found.plain, found.balanced, found.region):
        assert 0.0 <= interval.low <= interval.estimate <= interval.high <= 1.0


def test_preprocessing_is_fitted_inside_the_folds_and_left_alone():
    X, y = rows()
    scaler = StandardScaler()
    by_scaler = advise(pd.DataFrame(X), y, alpha=0.3, beta=0.3, n_folds=2, preprocessing=scaler, random_state=0)
    assert not hasattr(scaler, "mean_")
    assert 0.0 <= by_scaler.region.estimate <= 1.0


def test_names_of_columns_may_hold_any_character(monkeypatch):
    pytest.importorskip("lightgbm")
    short = partial(TPAUCBooster, max_rounds=10, n_folds=2, n_jobs=1)
    monkeypatch.setattr(advice, "_booster", lambda region, seed: short(random_state=seed))
    X, y = rows(80)
    options = {"alpha": 0.3, "beta": 0.3, "model": "lightgbm", "n_folds": 2, "n_repeats": 1, "random_state": 0}
    named = pd.DataFrame(X, columns=["size [m]", 'a "b"', "{c}, d: e"])
    scaler = StandardScaler().set_output(transform="pandas")
    found = advise(named, y, preprocessing=scaler, **options)
    assert found == advise(X, y, preprocessing=StandardScaler(), **options)


def mixed_columns():
    """Return a transformer of a column of numbers and one of text, and a frame of such columns with copies of rows."""
    number = np.random.default_rng(0).normal(size=100).round(3)
    frame = pd.DataFrame({"size": np.repeat(number, 3), "town": np.tile(["Ulm", "Bonn"], 50).repeat(3)})
    frame.loc[:2, "size"] = np.nan
    encoder = OneHotEncoder(sparse_output=False)
    return make_column_transformer((SimpleImputer(), [0]), (encoder, [1])), frame


@pytest.mark.parametrize(
    "kind",
    [
        lambda frame: frame.to_numpy(dtype=object),
        lambda frame: frame.to_numpy(dtype=str),
        lambda frame: frame.to_numpy(dtype=object).tolist(),
        lambda frame: list(frame.itertuples(index=False)),
        lambda frame: pl.DataFrame(frame.to_dict("list")),
    ],
    ids=["objects", "text", "lists", "tuples", "polars"],
)
def test_preprocessing_takes_what_a_data_frame_could_hold(kind):
    transformer, frame = mixed_columns()
    y = np.random.default_rng(1).random(300) < 0.3
    options = {"alpha": 0.3, "beta": 0.3, "n_folds": 2, "n_repeats": 1, "random_state": 0}
    found = advise(kind(frame), y, preprocessing=transformer, **options)
    assert found.n_positive == y.sum()
    # Every row is there three times, one of them with NaN.
    assert np.unique(copies(_table(kind(frame)))).size == 100


def test_lists_of_numbers_reach_the_preprocessing_as_numbers():
    X, y = rows()
    options = {"alpha": 0.3, "beta": 0.3, "n_folds": 2, "n_repeats": 1, "random_state": 0}
    exponential = FunctionTransformer(np.exp)  # fails on Python's objects
    assert advise(X.tolist(), y, preprocessing=exponential, **options) == advise(
        X, y, preprocessing=exponential, **options
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "forest"}, "model must be one of 'linear', 'mlp', 'auto', 'auto-fast', 'lightgbm', got 'forest'"),
        ({"n_folds": 1}, "n_folds must be at least 2, got 1"),
        ({"n_repeats": 0}, "n_repeats must be at least 1, got 0"),
        ({"alpha": 0.0}, "alpha must be a share in"),
        ({"y": np.zeros(300)}, "y has no positive example"),
        ({"y": np.full(300, 2)}, "y must hold only 0/1 or only -1/1"),
        ({"y": np.ones(299)}, "X and y must have equal length, got 300 and 299"),
        ({"X": np.full((300, 3), np.nan)}, "Input contains NaN"),
        (
            {"y": np.arange(300) < 12, "alpha": 0.1},
            "alpha=0.1 needs at least 20 positive rows, 10 in each of two folds, found 12; "
            "give more data, or a larger alpha",
        ),
        ({"y": np.arange(300) >= 12, "beta": 0.1}, "beta=0.1 needs at least 20 negative rows, .* found 12; .* beta"),
        ({"y": np.arange(300) < 19, "alpha": 1 - 0.9}, "needs at least 20 positive rows, 10 in each .* found 19"),
        ({"alpha": 1e-300}, "needs at least .* positive rows"),
        ({"y": np.arange(300) < 1, "alpha": 1.0}, "needs at least 2 positive rows, 1 in each of two folds, found 1"),
        (
            {"y": np.arange(300) < 2, "alpha": 1.0},
            "each class needs at least 2 rows to train on outside each fold, found 1 positive and 149 negative",
        ),
        ({"X": np.arange(300), "preprocessing": StandardScaler()}, "Expected 2D array"),
        ({"X": pd.Series(range(300)), "preprocessing": StandardScaler()}, "Expected a 2-dimensional container"),
        ({"X": [[1.0]] * 299, "preprocessing": StandardScaler()}, "X and y must have equal length, got 299 and 300"),
    ],
)
def test_mistakes_are_explained(change, message):
    X, y = rows()
    with pytest.raises(ValueError, match=message):
        advise(**({"X": X, "y": y, "alpha": 0.3, "beta": 0.3} | change))


@pytest.mark.parametrize("preprocessing", [None, StandardScaler(with_mean=False)])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_features_are_refused(kind, preprocessing):
    X, y = rows()
    with pytest.raises(TypeError, match=r"Sparse data was passed.*dense data is required"):
        advise(kind(X), y, alpha=0.3, beta=0.3, preprocessing=preprocessing)


# -------------------------------------------------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return a file with numbers, text, gaps and a column that only names the rows."""
    X, y = rows(240)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[::7, "a"] = np.nan
    frame["town"] = np.where(np.arange(240) % 3, "Ulm", "Bonn")
    frame["id"] = np.arange(240)
    frame["ill"] = np.where(y, "yes", "no")
    path = tmp_path_factory.mktemp("advice") / "patients.csv"
    frame.to_csv(path, index=False)
    return path


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


OPTIONS = ["--target", "ill", "--positive", "yes", "--drop", "id", "--alpha", "0.3", "--beta", "0.3", "--folds", "2"]


def test_the_command_says_what_the_function_found(table):
    shown = run("advise", table, *OPTIONS, "--repeats", "1")
    assert shown.exit_code == 0, shown.stderr
    assert "tpauc: fold 2 of 2, repeat 1 of 1\n" in shown.stderr
    document = json.loads(run("advise", table, *OPTIONS, "--repeats", "1", "--json").stdout)
    assert document["verdict"] in shown.stdout
    assert f"{document['region']['estimate']:.4f}" in shown.stdout
    assert document["n_positive"] == int((pd.read_csv(table)["ill"] == "yes").sum())
    assert {"plain", "balanced", "region", "over_plain", "over_balanced", "outcome"} <= set(document)


def test_the_command_leaves_out_an_index_that_pandas_wrote(table, tmp_path):
    with_index = tmp_path / "index.csv"
    pd.read_csv(table).to_csv(with_index)
    refused = run("advise", with_index, *OPTIONS)
    assert (refused.exit_code, "leave it out with --drop ''" in refused.stderr) == (1, True)
    found, expected = (
        json.loads(run("advise", *arguments, *OPTIONS, "--repeats", "1", "--json").stdout)
        for arguments in ([with_index, "--drop", ""], [table])
    )
    assert found["over_plain"] == expected["over_plain"]


def test_the_command_warns_of_few_distinct_rows_in_one_line(tmp_path):
    X, y = six_rows()
    X.assign(ill=np.where(y, "yes", "no")).to_csv(tmp_path / "few.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        shown = run("advise", tmp_path / "few.csv", *OPTIONS[:4], *OPTIONS[6:], "--repeats", "1")
    assert shown.exit_code == 0, shown.stderr
    assert FEW_COPIES in next(line for line in shown.stderr.splitlines() if line.startswith("tpauc: warning: "))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--target", "sick", "--alpha", "0.3", "--beta", "0.3"], 2, "sick"),
        (["--target", "ill", "--alpha", "0.3", "--beta", "0.3"], 2, "--positive"),
        ([*OPTIONS, "--model", "forest"], 2, "forest"),
        ([*OPTIONS, "--repeats", "0"], 2, "--repeats"),
        ([*OPTIONS, "--alpha", "0.01"], 1, "alpha=0.01 needs at least 200 positive rows"),
    ],
)
def test_a_mistake_is_one_line(table, arguments, code, message):
    failed = run("advise", table, *arguments)
    assert failed.exit_code == code, failed.stderr
    assert failed.stderr.count("\n") == 1
    assert message in failed.stderr


def test_the_positive_class_is_named_or_asked_for():
    X, y = rows()
    expected = advise(X, y, alpha=0.3, beta=0.3, n_folds=2, n_repeats=1, random_state=0)
    names = np.where(y, "fraud", "ok")
    options = {"alpha": 0.3, "beta": 0.3, "n_folds": 2, "n_repeats": 1, "random_state": 0}
    assert advise(X, names, pos_label="fraud", **options) == expected
    with pytest.raises(ValueError, match="name the positive label, pos_label='fraud' or pos_label='ok'"):
        advise(X, names, **options)


@pytest.mark.parametrize("preprocessing", [None, StandardScaler()])
def test_groups_stay_on_one_side_of_the_folds_and_of_the_models_own_folds(preprocessing, monkeypatch):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 6)
    X = np.repeat(rng.normal(size=(60, 40)), 6, axis=0) + 1e-6 * rng.normal(size=(360, 40))
    y = (np.arange(60) % 3 == 0)[groups]
    seen = []
    fit = TPAUCClassifier.fit

    def spied(self, X, y, sample_weight=None, groups=None):
        seen.append((self.method, groups))
        return fit(self, X, y, sample_weight, groups)

    monkeypatch.setattr(TPAUCClassifier, "fit", spied)
    options = {"alpha": 0.3, "beta": 0.3, "n_folds": 3, "n_repeats": 1, "random_state": 0}
    found = advise(X, y, groups=groups, preprocessing=preprocessing, **options)
    assert found.region.estimate < 0.4  # noise
    of_region = [given for method, given in seen if method == "region"]
    assert len(of_region) == 3
    assert sum(np.unique(given).size for given in of_region) == 2 * 60
    assert all(given is None for method, given in seen if method != "region")
    assert advise(X, y, preprocessing=preprocessing, **options).region.estimate > 0.7  # rows that were remembered


def test_too_few_groups_are_an_error():
    X, y = rows(100)
    options = {"alpha": 0.3, "beta": 0.3, "n_folds": 2, "n_repeats": 1, "random_state": 0}
    with pytest.raises(ValueError, match="at least 2 groups outside each fold, to train on, found 1"):
        advise(X, y, groups=np.arange(100) % 2, **options)
