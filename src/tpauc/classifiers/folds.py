"""Folds for cross-validation, and rows to hold out, such that copies of a row stay together.

A table often holds the same row several times. If one copy is trained on and another one judged, a model that
remembers rows looks better than it is; so all copies of a row, whatever their labels, are on one side.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.intp]

FEW_DISTINCT = "distinct rows with positives among their copies"  # how the warning of them begins


def copies(X: Any) -> IntArray:
    """Return a number for each row of an array or data frame, shape (n, d): the same for rows that are equal.

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
        # Numbers are compared as bytes; adding 0 makes one zero of the two that floats have.
        values = np.ascontiguousarray(values + 0)
        if values.dtype.kind == "f":
            values[np.isnan(values)] = np.nan  # one of the many: that of 0/0 has another sign
        keys = (row.tobytes() for row in values)
    else:
        # As printed: NaN then equals NaN, and objects need not be hashable.
        keys = map(repr, values.tolist())
    seen: dict[Hashable, int] = {}
    return np.fromiter((seen.setdefault(key, len(seen)) for key in keys), np.intp, len(values))


def stratified_folds(
    positive: npt.NDArray[np.bool_], group: IntArray, n_folds: int, random: np.random.Generator
) -> IntArray:
    """Return the number of its fold for each row: groups stay together, and each fold has its share of both classes.

    Parameters
    ----------
    positive : array of shape (n,)
    group : array of shape (n,)
        Numbers from 0 on, as :func:`copies` returns them.
    n_folds : int
    random : numpy.random.Generator
        Decides which groups share a fold.

    Examples
    --------
    >>> group = np.array([0, 0, 1, 2, 3, 4])
    >>> positive = np.array([True, True, True, False, False, False])
    >>> fold = stratified_folds(positive, group, 2, np.random.default_rng(0))
    >>> bool(fold[0] == fold[1] != fold[2])
    True
    """
    n_groups = int(group.max()) + 1
    size = np.bincount(group, minlength=n_groups)
    has_positive = np.bincount(group, positive, n_groups) > 0
    fold_of_group = np.empty(n_groups, dtype=np.intp)
    for kind in (True, False):
        members = random.permutation(np.flatnonzero(has_positive == kind))
        # Large groups first, each to the next fold in turn: folds then differ by little more than one group.
        members = members[np.argsort(-size[members], kind="stable")]
        fold_of_group[members] = np.arange(members.size) % n_folds
    return fold_of_group[group]


def kept_together(
    X: Any, positive: npt.NDArray[np.bool_], n_folds: int, *, stacklevel: int = 2
) -> tuple[IntArray, int]:
    """Return the rows that share a fold, as numbers of groups, and how many folds that allows: for `stratified_folds`.

    Copies of a row share one, and there are fewer folds than ``n_folds`` if otherwise one of them would lack a class
    and could not judge. If not even two folds could have both classes, there is a warning, and rows are on their own.

    Parameters
    ----------
    X : array or data frame of shape (n, d)
    positive : array of shape (n,)
    n_folds : int
    stacklevel : int, default=2
        Of the warning, counted from the caller: 2 blames who called that.

    Examples
    --------
    >>> X, positive = np.array([[1.0], [1.0], [2.0], [3.0], [4.0]]), np.array([True, True, True, False, False])
    >>> kept_together(X, positive, 5)
    (array([0, 0, 1, 2, 3]), 2)
    """
    group = copies(X)
    if (most := _fewest_distinct(group, positive, "in one fold", stacklevel + 2)) < 2:
        return np.arange(positive.size), n_folds
    return group, min(n_folds, most)


def rows_to_hold_out(
    positive: npt.NDArray[np.bool_],
    group: IntArray,
    share: float,
    random: np.random.Generator,
    *,
    stacklevel: int = 2,
) -> npt.NDArray[np.bool_]:
    """Return which rows to hold out: about that share of either class, groups on one side, both classes on both.

    Copies of a row that are by themselves more than the share of a class are not held out, and the share is then that
    of the others.

    Parameters
    ----------
    positive : array of shape (n,)
        At least two rows of each class.
    group : array of shape (n,)
        Numbers from 0 on, as :func:`copies` returns them. If that left a class on one side only, there is a
        warning, and they are not kept together.
    share : float
    random : numpy.random.Generator
        Decides which groups are held out.
    stacklevel : int, default=2
        Of the warning, as in :func:`kept_together`.

    Examples
    --------
    >>> positive = np.arange(20) < 10
    >>> held_out = rows_to_hold_out(positive, np.arange(20) // 2, 0.4, np.random.default_rng(0))
    >>> int(held_out.sum()), bool((held_out[::2] == held_out[1::2]).all())
    (8, True)
    """
    if _fewest_distinct(group, positive, "on one side, trained on or held out", stacklevel + 2) < 2:
        group = np.arange(positive.size)
    n_groups = int(group.max()) + 1
    has_positive = np.bincount(group, positive, n_groups) > 0
    size = np.bincount(group, minlength=n_groups)
    chosen = np.zeros(n_groups, dtype=bool)
    for kind in (True, False):
        members = random.permutation(np.flatnonzero(has_positive == kind))
        taken = _filling(size[members], share)
        if taken.all():
            taken[size[members].argmin()] = False
        elif not taken.any():
            taken[size[members].argmin()] = True
        chosen[members[taken]] = True
    return chosen[group]


def _filling(size: IntArray, share: float) -> npt.NDArray[np.bool_]:
    """Return which groups, taken in this order wherever there is room, make up about a share of their rows."""
    possible = size <= round(share * size.sum())
    room = round(share * size[possible].sum())
    taken = np.zeros(size.size, dtype=bool)
    for place in np.flatnonzero(possible).tolist():
        if size[place] <= room:
            taken[place] = True
            room -= int(size[place])
    return taken


def _fewest_distinct(group: IntArray, positive: npt.NDArray[np.bool_], where: str, stacklevel: int) -> int:
    """Return how many groups have positives, or how many have none, whichever is less.

    If it is less than two, warn that copies could not be kept together; ``where`` says where they should have been.
    """
    has_positive = np.bincount(group, positive) > 0
    n_with, n_without = int(has_positive.sum()), int((~has_positive).sum())
    if min(n_with, n_without) < 2:
        warnings.warn(
            f"{FEW_DISTINCT}: {n_with}, without: {n_without}; copies of a row could not be kept {where}, so the values "
            "may be too high",
            stacklevel=stacklevel,
        )
    return min(n_with, n_without)
