"""The target column of a table as labels: which of its two values is the positive class.

``0/1``, ``-1/1`` and booleans speak for themselves. Of any other two values the user has to name the positive one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tpauc._validation import BoolArray
from tpauc.cli._checks import UsageError, check_no_missing, listed

if TYPE_CHECKING:
    import pyarrow as pa


class Labels(NamedTuple):
    """Labels of all rows, and the values that stood for the two classes."""

    positive: BoolArray
    positive_value: Any
    negative_value: Any

    @property
    def n_positive(self) -> int:
        """Number of positives."""
        return int(np.count_nonzero(self.positive))

    @property
    def n_negative(self) -> int:
        """Number of negatives."""
        return self.positive.size - self.n_positive


def labels_of(column: pa.ChunkedArray, name: str, *, positive: Any = None) -> Labels:
    """Return the labels in a column.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Of two different values, none missing.
    name : str
        What messages call the column.
    positive : str or value of another table, optional
        The positive value as one would type it: ``yes``, ``1``, ``true``; or the value itself, which may be of another
        type: 1.0 is 1. Not needed for 0/1, -1/1 and booleans.

    Examples
    --------
    >>> import pyarrow as pa
    >>> labels_of(pa.chunked_array([["no", "yes", "no"]]), "column 'ill'", positive="yes")
    Labels(positive=array([False,  True, False]), positive_value='yes', negative_value='no')
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if positive is None and (usual := _usual_labels(column)) is not None:
        return usual
    # One pass for columns of any kind: which values there are, and the number of its value for each row.
    encoded = column.dictionary_encode().unify_dictionaries()
    values = encoded.chunk(0).dictionary.to_pylist() if encoded.num_chunks else []
    if column.null_count or any(value != value for value in values):
        check_no_missing(np.asarray(column.is_null(nan_is_null=True)), name)
    _check_two_values(sorted(values, key=str), name)
    positive_value = _check_positive_value(positive, sorted(values, key=str), name)
    number = values.index(positive_value)
    labels = np.concatenate([np.from_dlpack(chunk.indices) == number for chunk in encoded.chunks])
    return Labels(labels, positive_value, values[1 - number])


def _usual_labels(column: pa.ChunkedArray) -> Labels | None:
    """Return labels that are 0/1 or -1/1, a chunk at a time while it is in the processor's cache; None for others."""
    import pyarrow as pa

    if column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return None
    parts, n_of = [], {1: 0, 0: 0, -1: 0}
    for chunk in column.chunks:
        values = np.from_dlpack(chunk)
        parts.append(values == 1)
        for value in n_of:
            n_of[value] += int(np.count_nonzero(values == value))
    for negative_value in (0, -1):
        if n_of[1] and n_of[negative_value] and n_of[1] + n_of[negative_value] == len(column):
            return Labels(np.concatenate(parts), 1, negative_value)
    return None


def _check_two_values(values: Sequence[object], name: str) -> None:
    """Raise if the target column called ``name`` has not got exactly two values."""
    if len(values) == 1:
        raise ValueError(f"{name} has one value only, {values[0]!r}; both classes are needed")
    if len(values) > 2:
        raise ValueError(f"{name} must have two values, one for each class, found {len(values)}: {listed(values)}")


def _check_positive_value(typed: Any, values: Sequence[Any], name: str) -> Any:
    """Return the one of two values that is the positive class: 1 of 0/1 and of -1/1, or the one that was ``typed``.

    That may also be a value of another table, which is equal even if its type and its text are not: 1.0 and 1.
    """
    if typed is not None:
        text = str(typed)
        for value in values:
            spelled = isinstance(value, bool | float) and text.lower() in _spellings(value)
            if typed == value or text == str(value) or spelled:
                return value
        raise UsageError(f"--positive must be one of the values of {name}, {listed(values)}, got {typed!r}")
    if any(set(values) == usual for usual in ({0, 1}, {-1, 1})):
        return max(values)
    raise UsageError(f"{name} holds {listed(values)}; say with --positive which of them is the positive class")


def _spellings(value: bool | float) -> tuple[str, ...]:
    """How else a boolean or a float may be typed: true for True, 1 for 1.0."""
    return (str(value).lower(), f"{value:g}") if isinstance(value, float) else (str(value).lower(), str(int(value)))
