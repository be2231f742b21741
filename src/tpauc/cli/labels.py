"""Labels and scores from the columns of a table.

In the column of the labels ``0/1``, ``-1/1`` and booleans need no explanation. For any other two values the user has to
name the positive one. Messages call columns by their names in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tpauc._validation import BoolArray, FloatArray, check_scores
from tpauc.cli._csv_files import SEPARATORS
from tpauc.cli.errors import UsageError, check_distinct_options, listed
from tpauc.cli.table_io import read_table

if TYPE_CHECKING:
    import pyarrow as pa


class Labels(NamedTuple):
    """Labels of all rows, and the values of the two classes in the table."""

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


class LabelledScores(NamedTuple):
    """The labels in a file, the scores of each model by the name of its column, and the group of each row as text."""

    labels: Labels
    scores: dict[str, FloatArray]
    groups: np.ndarray[Any, Any] | None = None


def read_scores(
    path: Path, label: str, scores: Sequence[str], *, positive: str | None = None, groups: str | None = None
) -> LabelledScores:
    """Return the labels and the scores in a file; scores are finite, labels have two values, no group is missing."""
    more = [] if groups is None else [groups]
    check_distinct_options([label, *scores], "--label and --score")
    table = read_table(path, [label, *scores, *more], numbers=scores, texts=more)
    check_written_integers(path, table, scores)
    return labelled_scores(table, label, scores, positive=positive, groups=groups)


def labelled_scores(
    table: pa.Table,
    label: str,
    scores: Sequence[str],
    *,
    positive: str | None = None,
    groups: str | None = None,
) -> LabelledScores:
    """Return the labels and the scores in a table; scores are finite, labels have two values, no group is missing."""
    labels = labels_of(table[label], f"column {label!r}", positive=positive)
    found = {name: _scores_of(table[name], f"column {name!r}") for name in scores}
    return LabelledScores(labels, found, None if groups is None else groups_of(table[groups], groups))


def groups_of(column: pa.ChunkedArray, name: str) -> np.ndarray[Any, Any]:
    """Return the group of each row as text; none may be missing."""
    import pyarrow as pa

    check_no_missing(np.asarray(column.is_null(nan_is_null=True)), f"the column of the groups, {name!r},")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return np.array(column.cast(pa.string()).to_pylist(), dtype=object)


def labels_of(column: pa.ChunkedArray, name: str, *, positive: Any = None) -> Labels:
    """Return the labels in a column.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Two different values, none missing.
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
    # One pass for columns of any type: the values that occur, and for each row the number of its value.
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
    """Return labels that are 0/1 or -1/1, chunk by chunk while it is in the processor's cache; None for others."""
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


def _scores_of(column: pa.ChunkedArray, name: str) -> FloatArray:
    import pyarrow as pa

    if column.null_count:
        check_no_missing(np.asarray(column.is_null()), name)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise ValueError(f"{name} must hold real numbers, found {column.type}")
    # pyarrow's own conversion to NumPy would load pandas.
    return check_scores(np.concatenate([np.from_dlpack(chunk) for chunk in column.chunks]), name)


# ----------------------------------------------------------------------------------------------------------- checks


def check_no_missing(missing: BoolArray, name: str) -> None:
    """Raise if a value of the column called ``name`` is missing."""
    if rows := int(np.count_nonzero(missing)):
        raise ValueError(
            f"{name} has no value in {rows} of {missing.size} rows, the first is row {int(missing.argmax()) + 1}; "
            "drop these rows, or fill them in"
        )


def check_written_integers(path: Path, table: pa.Table, names: Sequence[str]) -> None:
    """Raise if a text file has integers that became equal floats; other formats say by their types what is one."""
    import pyarrow as pa
    from pyarrow import compute

    if path.suffix.lower() not in SEPARATORS:
        return
    for name in names:
        magnitude = compute.abs(table[name].cast(pa.float64()))
        # A comparison with a Python number would load pandas.
        if not (compute.max(magnitude).as_py() or 0.0) >= 2.0**53:
            continue
        texts = read_table(path, [name], texts=[name])[name].filter(compute.greater_equal(magnitude, 2.0**53))
        if compute.any(compute.match_substring_regex(texts, r"^\s*[+-]?\d+\s*$")).as_py():
            raise ValueError(
                f"column {name!r} holds integers of 2**53 or more, which float64 cannot tell apart; rescale them"
            )


def _check_two_values(values: Sequence[object], name: str) -> None:
    """Raise unless the target column called ``name`` has exactly two values."""
    if len(values) == 1:
        raise ValueError(f"{name} has one value only, {values[0]!r}; both classes are needed")
    if len(values) > 2:
        raise ValueError(f"{name} must have two values, one for each class, found {len(values)}: {listed(values)}")


def _check_positive_value(typed: Any, values: Sequence[Any], name: str) -> Any:
    """Return the positive one of two values: 1 of 0/1 and -1/1, or the value that was ``typed``.

    ``typed`` may also be a value of another table. It is equal even if its type and its text differ: 1.0 and 1.
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
    """Return other ways to type a boolean or a float: true for True, 1 for 1.0."""
    return (str(value).lower(), f"{value:g}") if isinstance(value, float) else (str(value).lower(), str(int(value)))
