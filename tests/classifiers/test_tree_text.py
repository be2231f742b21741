"""LightGBM's text from a file: what it wrote gives the same scores, everything else is refused before it is read."""

import re

import numpy as np
import pytest

lightgbm = pytest.importorskip("lightgbm")

from tpauc.classifiers.boosting.tree_text import checked_text, read_booster  # noqa: E402


def trained(**options):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 4))
    X[generator.random(X.shape) < 0.1] = np.nan
    y = (np.nan_to_num(X[:, 0]) + generator.normal(size=400) > 0.0).astype(float)
    parameters = {"verbose": -1, "objective": "binary", "num_leaves": 7, "num_threads": 1} | options
    return lightgbm.train(parameters, lightgbm.Dataset(X, y), 12), X


@pytest.mark.parametrize("options", [{}, {"zero_as_missing": True}, {"use_missing": False}, {"min_gain_to_split": 1e9}])
def test_what_lightgbm_wrote_gives_the_same_scores(options):
    booster, X = trained(**options)
    read = read_booster(booster.model_to_string(), 4)
    for part in ({}, {"start_iteration": 3, "num_iteration": 5}):
        scores = booster.predict(X, raw_score=True, **part)
        np.testing.assert_array_equal(read.predict(X, raw_score=True, **part), scores)
    again = read_booster(read.model_to_string(), 4)
    np.testing.assert_array_equal(again.predict(X, raw_score=True), booster.predict(X, raw_score=True))


# Each of these made LightGBM 4 loop for ever, read foreign memory, or end the process.
FORGED = {
    "cycle": (r"left_child=\S+", "left_child=0"),
    "no such node": (r"left_child=\S+", "left_child=2000000000"),
    "no such leaf": (r"right_child=\S+", "right_child=-2000000000"),
    "a leaf twice": (r"right_child=.*", "right_child=-1 -1 -1 -1 -1 -1"),
    "not a number": (r"left_child=\S+", "left_child=x"),
    "a fraction": (r"left_child=\S+", "left_child=1.5"),
    "feature": (r"split_feature=\S+", "split_feature=4"),
    "negative feature": (r"split_feature=\S+", "split_feature=-1"),
    "many leaves": (r"num_leaves=\d+", "num_leaves=2000000000"),
    "negative leaves": (r"num_leaves=\d+", "num_leaves=-3"),
    "few leaves": (r"num_leaves=\d+", "num_leaves=1"),
    "categories": (r"num_cat=0", "num_cat=5"),
    "kind of split": (r"decision_type=\d+", "decision_type=1"),
    "linear trees": (r"is_linear=0", "is_linear=1"),
    "NaN": (r"leaf_value=\S+", "leaf_value=nan"),
    "infinite": (r"threshold=\S+", "threshold=1e999"),
    "missing line": (r"threshold=.*\n", ""),
    "features": (r"max_feature_idx=3", "max_feature_idx=2000000000"),
    "classes": (r"num_class=1", "num_class=1000000000"),
    "trees per round": (r"num_tree_per_iteration=1", "num_tree_per_iteration=0"),
    "forest": (r"num_class=1", "average_output\nnum_class=1"),
}


@pytest.mark.parametrize("change", FORGED)
def test_a_forged_text_is_refused(change):
    text = trained()[0].model_to_string()
    forged, n_changes = re.subn(*FORGED[change], text)
    assert n_changes
    with pytest.raises(ValueError, match=r"its trees are|a tree is damaged"):
        checked_text(forged, 4)


@pytest.mark.parametrize(
    ("pattern", "new"),
    [
        (r"tree_sizes=\d+", "tree_sizes=9999999999"),
        (r"tree_sizes=\d+", "tree_sizes=-99999"),
        (r"feature_names=\S+", "feature_names=x y"),
        (r"leaf_count=\S+", "leaf_count=1 2 3 4 5 6 7 8 9"),
        (r"objective=.*", "objective=multiclass num_class:99999999"),
        (r"\nparameters:", "\nTree=99\nnum_leaves=-5\nparameters:"),
    ],
)
def test_what_scores_do_not_need_never_reaches_lightgbm(pattern, new):
    text = trained()[0].model_to_string()
    forged, n_changes = re.subn(pattern, new, text)
    assert n_changes
    assert checked_text(forged, 4) == checked_text(text, 4)


@pytest.mark.parametrize("text", ["", "tree\nnonsense", None, 3, "Tree=0\n" * 100, "\x00", "tree\nnum_class=1\n"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="its trees are"):
        checked_text(text, 4)
