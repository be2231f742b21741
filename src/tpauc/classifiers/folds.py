"""Folds for cross-validation, and rows to hold out, such that copies of a row stay together.

A table often holds the same row several times. If a model is trained on one copy and validated on another, a model that
remembers rows looks better than it is. So all copies of a row, whatever their labels, are on one side. Rows that belong
together for another reason (the images of a patient, the transactions of a card) are given as ``groups``; groups that
share a copy are merged.

Both classes are divided: a group counts by its positives and by its negatives, not by its rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tpauc._validation import BoolArray, check_column

IntArray = npt.NDArray[np.intp]

FEW_DISTINCT = "distinct rows with positives among their copies"  # the begin of the warning about them


def copies(X: Any) -> IntArray:
    """Return a number for each row of an array or data frame of shape (n, d); equal rows have equal numbers.

    Examples
    --------
    >>> copies(np.array([[1.0, 0.0], [2.0, 5.0], [1.0, -0.0]]))
    array([0, 1, 0])
    """
    if hasattr(X, "iloc"):
        import pandas as pd

        return np.asarray(pd.factorize(pd.util.hash_pandas_object(X, index=False))[0], np.intp)
    values = np.asarray(X)
    keys: Iterable[Hashable]
    if values.dtype.kind in "biuf":
        # Numbers are compared as bytes. Adding 0 turns -0.0 into 0.0.
        values = np.ascontiguousarray(values + 0)
        if values.dtype.kind == "f":
            values[np.isnan(values)] = np.nan  # NaN has many bit patterns; the one of 0/0 has another sign
        keys = (row.tobytes() for row in values)
    else:
        # Compared as printed: NaN then equals NaN, and objects need not be hashable.
        keys = map(repr, values.tolist())
    seen: dict[Hashable, int] = {}
    return np.fromiter((seen.setdefault(key, len(seen)) for key in keys), np.intp, len(values))


def fold_groups(
    X: Any, positive: BoolArray, n_folds: int, *, groups: Any = None, stacklevel: int = 2
) -> tuple[IntArray, int]:
    """Return the group of each row, and how many folds the groups allow: the arguments of `stratified_folds`.

    Copies of a row are in one group. There are fewer folds than ``n_folds`` if otherwise a fold would lack a class. If
    not even two folds could have both classes, there is a warning, and every row is a group.

    Parameters
    ----------
    X : array or data frame of shape (n, d)
    positive : array of shape (n,)
    n_folds : int
    groups : array-like of shape (n,), optional
        Values that rows of a group share, such as the number of a patient. Rows with equal values are never separated.
    stacklevel : int, default=2
        Which caller the warning points to; 2 is the function that called the caller.

    Examples
    --------
    >>> X, positive = np.array([[1.0], [1.0], [2.0], [3.0], [4.0]]), np.array([True, True, True, False, False])
    >>> fold_groups(X, positive, 5)
    (array([0, 0, 1, 2, 3]), 2)
    >>> fold_groups(np.arange(5), positive, 5, groups=["Ann", "Ann", "Ben", "Ann", "Ben"])
    (array([0, 0, 1, 0, 1]), 2)
    """
    group, most = _separable(copies(X), positive, groups, "in one fold", stacklevel + 2)
    return group, min(n_folds, most)


def stratified_folds(
    positive: BoolArray,
    group: IntArray,
    n_folds: int,
    random: np.random.Generator,
    weight: npt.NDArray[Any] | None = None,
) -> IntArray:
    """Return the number of the fold of each row, such that groups stay together and each fold has both classes.

    The share of a class in a fold differs from ``1 / n_folds`` by about one group at most.

    Parameters
    ----------
    positive : array of shape (n,)
    group : array of shape (n,)
        Numbers from 0 on, and ``n_folds`` at most as `fold_groups` returns both.
    n_folds : int
    random : numpy.random.Generator
        Decides which groups share a fold.
    weight : array of shape (n,), optional
        Weights above 0: the weight of a class is then divided, instead of its rows.

    Examples
    --------
    >>> group = np.array([0, 0, 1, 2, 3, 4])
    >>> positive = np.array([True, True, True, False, False, False])
    >>> fold = stratified_folds(positive, group, 2, np.random.default_rng(0))
    >>> bool(fold[0] == fold[1] != fold[2])
    True
    """
    # scikit-learn's StratifiedGroupKFold does not serve here. It takes 0.15 ms per group, 40 s for 285,000 distinct
    # rows. It left a fold without positives in 15 of 500 random tables in which five groups had some. Its folds of
    # groups with both classes differ more (median .75 of the largest group, .36 here), and it cannot hold out a share.
    counts = _class_counts(positive, group, weight)
    total = counts.sum(axis=0)
    part = counts / np.where(total > 0, total, 1)
    mixed = (counts > 0).all(axis=1)
    fold_of_group = np.empty(len(counts), dtype=np.intp)
    load = np.zeros((n_folds, 2))
    # In part at random, so that repeats have different folds even if no two groups have the same size.
    for number in _large_first(np.flatnonzero(mixed), part.sum(axis=1), random):
        # The sum of the squared loads grows least.
        fold = int(np.argmin(load @ part[number]))
        fold_of_group[number] = fold
        load[fold] += part[number]
    for label in (0, 1):
        members = random.permutation(np.flatnonzero(~mixed & (counts[:, label] > 0)))
        # Large groups first, each to the next fold in turn: the folds then differ by one group at most, in rows as in
        # groups.
        members = members[np.argsort(-counts[members, label], kind="stable")]
        in_turn = np.argsort(load[:, label], kind="stable")
        fold_of_group[members] = in_turn[np.arange(members.size) % n_folds]
    return fold_of_group[group]


def rows_to_hold_out(
    positive: BoolArray,
    group: IntArray,
    share: float,
    random: np.random.Generator,
    *,
    groups: Any = None,
    stacklevel: int = 2,
) -> BoolArray:
    """Return which rows to hold out, about a share of each class, such that groups stay on one side.

    Both sides have both classes, and the share of each class is met within one group. A group with more rows of a class
    than the share asks for is never held out; the share is then taken of the other rows, so that one row with very many
    copies does not decide how much is left to train on.

    Parameters
    ----------
    positive : array of shape (n,)
        At least two rows of each class.
    group : array of shape (n,)
        Numbers from 0 on, as `copies` returns them. If keeping them together left a class on one side only, there is a
        warning, and they are not kept together.
    share : float
    random : numpy.random.Generator
        Decides which groups are held out.
    groups : array-like of shape (n,), optional
        As in `fold_groups`.
    stacklevel : int, default=2
        As in `fold_groups`.

    Examples
    --------
    >>> positive = np.arange(20) < 10
    >>> held_out = rows_to_hold_out(positive, np.arange(20) // 2, 0.4, np.random.default_rng(0))
    >>> int(held_out.sum()), bool((held_out[::2] == held_out[1::2]).all())
    (8, True)
    """
    group, _ = _separable(group, positive, groups, "on one side, trained on or held out", stacklevel + 2)
    counts = _class_counts(positive, group)
    possible = (counts <= np.round(share * counts.sum(axis=0))).all(axis=1)
    wanted = np.round(share * counts[possible].sum(axis=0))
    mixed = (counts > 0).all(axis=1)
    held = _share_of_mixed(np.where((mixed & possible)[:, None], counts, 0), wanted, share, random)
    for label in (0, 1):
        room = wanted[label] - counts[held, label].sum()
        members = random.permutation(np.flatnonzero(~mixed & (counts[:, label] > 0)))
        members = members[possible[members]]
        for number, size in zip(members.tolist(), counts[members, label].tolist(), strict=True):
            if size <= room:
                held[number] = True
                room -= size
    _put_classes_on_both_sides(held, counts, random)
    return held[group]


def _share_of_mixed(
    counts: IntArray, wanted: npt.NDArray[np.float64], share: float, random: np.random.Generator
) -> BoolArray:
    """Return which groups with both classes make up a share of both; groups with counts of 0 are not considered."""
    held = np.zeros(len(counts), dtype=bool)
    part = counts / np.maximum(wanted, 1.0)
    error = np.zeros(2)  # what is held out minus the share of what has been considered
    for number in random.permutation(np.flatnonzero(counts.any(axis=1))).tolist():
        error -= share * part[number]
        if np.square(error + part[number]).sum() < np.square(error).sum():
            held[number] = True
            error += part[number]
    return held


def _put_classes_on_both_sides(held: BoolArray, counts: IntArray, random: np.random.Generator) -> None:
    """Move the smallest group that has a class to a side that lacks it, in place; each class has at least two groups.

    A group without the other class goes first. If there is none, all groups of the class have both, and one of them
    stays where it is, so the side that a group leaves keeps both classes.
    """
    for side in (True, False):
        for label in (0, 1):
            has_class = counts[:, label] > 0
            if (has_class & (held == side)).any():
                continue
            movable = random.permutation(np.flatnonzero(has_class))
            first = np.lexsort((counts[movable].sum(axis=1), counts[movable, 1 - label] > 0))[0]
            held[movable[first]] = side


def _large_first(members: IntArray, size: npt.NDArray[np.float64], random: np.random.Generator) -> list[int]:
    """Return the members in random order within each power of two of their size, the largest first."""
    members = random.permutation(members)
    return list(members[np.argsort(-np.floor(np.log2(size[members])), kind="stable")].tolist())


def _class_counts(positive: BoolArray, group: IntArray, weight: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
    """Return the numbers, or weights, of positives and of negatives in each group, shape (groups, 2)."""
    n_groups = int(group.max()) + 1
    by_class = [
        np.bincount(group[side], None if weight is None else weight[side], n_groups) for side in (positive, ~positive)
    ]
    return np.column_stack(by_class)


def _separable(copy: IntArray, positive: BoolArray, groups: Any, where: str, stacklevel: int) -> tuple[IntArray, int]:
    """Return the group of each row and the most parts, at least two, that can have groups of both classes.

    If copies of a row cannot be kept together, ``where`` says in the warning where they should have been.
    """
    advice = f"copies of a row could not be kept {where}, so the values may be too high"
    if groups is None:
        n_with = int((_class_counts(positive, copy)[:, 0] > 0).sum())
        n_without = int(copy.max()) + 1 - n_with
        # Groups without positives are counted, not groups with negatives. A table whose distinct rows nearly all have
        # both labels is a table of categories, in which a copy is a new example.
        if min(n_with, n_without) >= 2:
            return copy, min(n_with, n_without)
        warnings.warn(f"{FEW_DISTINCT}: {n_with}, without: {n_without}; {advice}", stacklevel=stacklevel)
        return np.arange(positive.size), positive.size
    given = group_numbers(groups, positive.size)
    joined = _joined(given, copy)
    if (most := int((_class_counts(positive, joined) > 0).sum(axis=0).min())) >= 2:
        return joined, most
    n_positive, n_negative = (_class_counts(positive, given) > 0).sum(axis=0).tolist()
    if min(n_positive, n_negative) < 2:
        raise ValueError(
            f"groups must have each class in at least two groups, found {n_positive} groups with positive rows and "
            f"{n_negative} with negative rows; give more groups"
        )
    warnings.warn(f"nearly all groups share a row with another group; {advice}", stacklevel=stacklevel)
    return given, min(n_positive, n_negative)


def group_numbers(groups: Any, n_rows: int) -> IntArray:
    """Return the number of the group of each row; missing values are an error."""
    values = check_column(groups, "groups")
    if values.shape != (n_rows,):
        raise ValueError(f"groups must have shape ({n_rows},), one value per row, got {values.shape}")
    missing = [number for number, value in enumerate(values.tolist()) if value is None or value != value]
    if missing:
        raise ValueError(f"groups must have no missing values, found {len(missing)}, the first in row {missing[0]}")
    return copies(values[:, None])


def _joined(first: IntArray, second: IntArray) -> IntArray:
    """Return groups such that rows that share a group of the first or of the second kind share one.

    >>> _joined(np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 2, 3]))
    array([0, 0, 0, 1, 1])
    """
    n_first = int(first.max()) + 1
    n_nodes = n_first + int(second.max()) + 1
    edges = coo_array((np.ones(first.size), (first, n_first + second)), shape=(n_nodes, n_nodes))
    return np.asarray(connected_components(edges, directed=False)[1][first], dtype=np.intp)
