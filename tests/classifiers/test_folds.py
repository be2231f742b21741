"""Folds and held-out rows: copies of a row on one side, both classes on both sides."""

import numpy as np
import pandas as pd
import pytest

from tpauc.classifiers.folds import copies, kept_together, rows_to_hold_out, stratified_folds


def test_copies_are_rows_equal_in_every_feature():
    X = np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0], [-0.0, 0.0], [0.0, 0.0]])
    assert copies(X).tolist() == [0, 1, 0, 2, 2]
    assert copies(np.asfortranarray(X)).tolist() == [0, 1, 0, 2, 2]
    assert copies(np.array([["Ulm", 1], ["Bonn", 1], ["Ulm", 1]], dtype=object)).tolist() == [0, 1, 0]
    assert copies(np.array([[True], [False], [True]])).tolist() == [0, 1, 0]
    frame = pd.DataFrame({"town": ["Ulm", "Bonn", "Ulm", None, None], "size": [1.0, 1.0, 1.0, np.nan, np.nan]})
    assert copies(frame).tolist() == [0, 1, 0, 2, 2]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_every_nan_is_the_same(kind):
    X = np.array([[1.0, np.nan], [1.0, -np.nan], [1.0, 2.0], [np.nan, 2.0]], dtype=kind)
    assert np.signbit(X[:2, 1]).tolist() == [False, True]
    assert copies(X).tolist() == [0, 0, 1, 2]
    assert np.signbit(X[1, 1])  # the features stay as they are


def test_copies_at_any_place_of_a_large_array():
    X = np.repeat(np.random.default_rng(0).normal(size=(1, 61)), 5001, axis=0)
    assert copies(X).max() == 0


def test_every_fold_has_both_classes_and_copies_stay_together_if_need_be_in_fewer_folds():
    rng = np.random.default_rng(0)
    for distinct, most in ((600, 5), (200, 5), (8, 4), (5, 2)):
        row = np.arange(600) % distinct
        X, y = rng.normal(size=(distinct, 2))[row], row % 2 == 1
        group, n_folds = kept_together(X, y, 5)
        assert n_folds == most
        fold = stratified_folds(y, group, n_folds, rng)
        assert all(0 < y[fold == k].sum() < (fold == k).sum() for k in range(n_folds))
        assert all(np.unique(fold[row == r]).size == 1 for r in range(distinct))


def test_copies_that_cannot_share_a_fold_are_a_warning():
    X, y = np.repeat([[1.0], [2.0], [3.0]], 20, axis=0), np.arange(60) < 20
    with pytest.warns(UserWarning, match=r"copies: 1, without: 2; .* not be kept in one fold, so the values") as caught:
        group, n_folds = (lambda: kept_together(X, y, 5))()
    assert caught[0].filename == __file__
    assert (group.tolist(), n_folds) == (list(range(60)), 5)


def test_copies_are_on_one_side_and_classes_keep_their_share():
    random = np.random.default_rng(0)
    group = random.integers(400, size=1000)
    group = np.unique(group, return_inverse=True)[1]
    positive = random.random(1000) < 0.2
    in_test = rows_to_hold_out(positive, group, 0.3, np.random.default_rng(1))
    for number in range(int(group.max()) + 1):
        assert np.unique(in_test[group == number]).size == 1
    # Groups hold 2.5 rows in the mean, and mixed ones are split by whether they hold a positive.
    assert in_test.mean() == pytest.approx(0.3, abs=0.02)
    assert in_test[positive].mean() == pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize("seed", range(10))
def test_one_row_that_is_most_of_a_class_does_not_decide_how_much_is_held_out(seed):
    """Neither 400 copies of a negative, nor a positive with so many copies that are negative."""
    positive = np.arange(1200) < 200
    group = np.concatenate([np.arange(800), np.full(400, 800)])
    held_out = rows_to_hold_out(positive, group, 0.3, np.random.default_rng(seed))
    assert (held_out[positive].sum(), held_out[~positive].sum()) == (60, 180)  # of 600 that are not copies
    group[0] = 800
    held_out = rows_to_hold_out(positive, group, 0.3, np.random.default_rng(seed))
    assert (held_out[positive].sum(), held_out[~positive].sum()) == (60, 180)


def test_a_group_without_room_is_passed_over():
    """Of 300 negatives, four of 60 copies each and 60 others, 90 are wanted: 60 and 30, or all of the others."""
    positive = np.arange(330) < 30
    group = np.concatenate([np.arange(30), 30 + np.repeat(np.arange(4), 60), 34 + np.arange(60)])
    held = [rows_to_hold_out(positive, group, 0.3, np.random.default_rng(seed))[~positive].sum() for seed in range(50)]
    assert set(held) == {60, 90}


@pytest.mark.parametrize("share", [0.01, 0.3, 0.99])
@pytest.mark.parametrize("n_groups", [4, 40])
def test_both_classes_are_on_both_sides_however_few_distinct_rows_there_are(share, n_groups):
    group = np.arange(40) % n_groups
    positive = group % 2 == 0
    held_out = rows_to_hold_out(positive, group, share, np.random.default_rng(0))
    for side in (held_out, ~held_out):
        assert 0 < positive[side].sum() < side.sum()


@pytest.mark.parametrize("n_groups", [1, 2])
def test_copies_that_cannot_be_on_one_side_are_a_warning(n_groups):
    group, positive = np.arange(40) % n_groups, np.arange(40) % 2 == 0
    with pytest.warns(UserWarning, match="not be kept on one side, trained on or held out"):
        held_out = rows_to_hold_out(positive, group, 0.3, np.random.default_rng(0))
    assert (held_out[positive].sum(), held_out[~positive].sum()) == (6, 6)


def test_what_is_held_out_follows_from_the_generator():
    positive, group = np.arange(100) < 30, np.arange(100)
    first, again, other = (rows_to_hold_out(positive, group, 0.3, np.random.default_rng(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
