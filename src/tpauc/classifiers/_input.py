"""Rows and labels of the classifiers: scikit-learn's checks, with errors that name the argument, and some more.

scikit-learn takes masked entries as if they were there, times as numbers and texts such as "1.5" as numbers; here they
are errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite, check_array, check_random_state, column_or_1d
from sklearn.utils.validation import validate_data

from tpauc._validation import brief, check_not_masked

Array = npt.NDArray[Any]

_LARGEST = 1e250  # times the coefficients of a linear model, larger values may be infinite
_KINDS = {
    "c": "complex numbers (Complex data not supported)",
    "m": "time differences",
    "M": "times",
    "U": "text",
    "S": "bytes",
    "V": "records",
}


def checked_rows(estimator: Any, X: Any, **options: Any) -> Array:
    """Return the rows as float64, shape (n, d).

    Parameters
    ----------
    estimator : estimator or None
        It learns the names and the number of the columns, or is asked for them.
    X : array-like of shape (n, d)
    **options
        Those of scikit-learn's ``validate_data``.
    """
    check_not_masked(X, "X")
    _check_kinds(X, "X", "cmMUSV")
    with naming("X"):
        validate = check_array if estimator is None else partial(validate_data, estimator)
        rows: Array = validate(X, dtype=np.float64, **options)
    largest = max(np.fmax.reduce(rows, axis=None, initial=0.0), -np.fmin.reduce(rows, axis=None, initial=0.0))
    if largest > _LARGEST:
        raise ValueError(f"X must hold values of at most {_LARGEST:g} in size, found {largest:g}; rescale its columns")
    return rows


def checked_labels(y: Any, n_rows: int) -> Array:
    """Return the labels, shape (n,), whatever they are; both classes are checked elsewhere."""
    if y is None:
        raise ValueError(
            "y must hold one label per row; this classifier requires y to be passed, but the target y is None"
        )
    if isinstance(y, AbstractSet | Iterator):
        raise TypeError(f"y must be an array or a list, in the order of the rows, got {brief(y)}")
    check_not_masked(y, "y")
    _check_kinds(y, "y", "cmMV")
    with naming("y"):
        labels: Array = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
    if labels.size != n_rows:
        raise ValueError(f"X and y must have an equal number of rows, got {n_rows} and {labels.size}")
    return labels


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a new generator for a seed, a ``RandomState`` or None, as scikit-learn understands them."""
    try:
        if isinstance(random_state, bool | np.timedelta64):
            raise TypeError
        state = check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be None, a whole number from 0 to 2**32 - 1 or a numpy.random.RandomState, got "
            f"{brief(random_state)}"
        ) from error
    return np.random.default_rng(state.randint(2**31 - 1))


def _check_kinds(values: Any, name: str, refused: str) -> None:
    """Raise if an array, or a column of a table, is of a kind that must not be converted to numbers."""
    dtypes = getattr(values, "dtypes", None)
    found = [getattr(values, "dtype", None)] if dtypes is None or np.ndim(dtypes) == 0 else list(dtypes)
    for dtype in found:
        if (kind := getattr(dtype, "kind", "")) in refused and kind in _KINDS:
            raise ValueError(f"{name} must not hold {_KINDS[kind]}, got dtype {dtype}; turn them into real numbers")


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Let errors of scikit-learn name the argument; what is neither ValueError nor TypeError becomes one."""
    try:
        with np.errstate(invalid="ignore"):  # scikit-learn compares labels with their whole parts
            yield
    except (TypeError, ValueError, OverflowError, RuntimeError, AttributeError) as error:
        kind = type(error) if type(error) in (TypeError, ValueError) else ValueError
        if kind is type(error) and re.search(rf"\b{name}\b", str(error)):
            raise
        raise kind(f"{name} is not usable: {error}") from error
