"""Columns of a table as features: which are numbers and which are categories, and what happens to missing values.

* Numbers (integers, floats, decimals): a missing value becomes the median of the training rows, and an additional
  feature marks it as missing.
* Categories (text, booleans, pandas' categories): one feature per value; "missing" is a value too. All values beyond
  the most frequent ones of the training rows share one feature, and so do values that the training rows do not have.
  There are at most 100 features per column, and fewer in tables with more than five columns of text, which share 500,
  but at least 10 per column. If the training rows have no more values than that, all features of the column are 0 for a
  new value.
* Dates, times and durations are left out, and so are columns without any value.

The kind of a column is decided once, on the training table. Other tables are read accordingly (`read_features`): in a
column of text ``007`` is the text "007", in a column of booleans 0 and 1 are false and true, and in a column of numbers
or booleans any other text is an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tpauc._validation import BoolArray, FloatArray, import_extra
from tpauc.cli.errors import check_columns, check_distinct_options, listed
from tpauc.cli.labels import Labels, groups_of, labels_of
from tpauc.cli.table_io import column_names, is_text, read_table

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MOST_CATEGORIES = 100
# Of all columns of text together. A linear model of 500 features takes a second on a thousand rows, a million rows of
# them take 4 GB. A column keeps its ten most frequent values in any case: with fewer it would say little.
_MOST_OF_ALL_COLUMNS = 500
_FEWEST_CATEGORIES = 10
_MISSING = "(missing)"


@dataclass(frozen=True)
class FeatureColumns:
    """The columns that a model uses, by kind.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [31, None], "town": ["Ulm", "Bonn"], "empty": pa.nulls(2), "ill": [0, 1]})
    >>> columns = FeatureColumns.of(table, leave_out=["ill"])
    >>> columns
    FeatureColumns(numbers=('age',), texts=('town',), flags=(), without_values=('empty',), times=())
    >>> columns.frame(table)
        age  town
    0  31.0   Ulm
    1   NaN  Bonn
    """

    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    flags: tuple[str, ...]
    without_values: tuple[str, ...] = ()
    times: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: pa.Table, *, leave_out: Collection[str]) -> FeatureColumns:
        """Return the columns of a training table by kind; columns without any value, and of times, are not used."""
        kinds: dict[str, list[str]] = {"numbers": [], "texts": [], "flags": [], "without_values": [], "times": []}
        for name in table.column_names:
            if name not in leave_out:
                kinds[_kind(table[name], name)].append(name)
        columns = cls(*(tuple(names) for names in kinds.values()))
        if not columns.names:
            raise ValueError("no column is left to learn from, besides the target and those that are left out")
        return columns

    @property
    def categories(self) -> tuple[str, ...]:
        """The columns that become one feature per value."""
        return self.texts + self.flags

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are used."""
        return self.numbers + self.categories

    @property
    def most_categories(self) -> int:
        """How many features a column of text becomes at most.

        >>> [FeatureColumns((), tuple(map(str, range(n))), ()).most_categories for n in (1, 5, 20, 80)]
        [100, 100, 25, 10]
        """
        shared = _MOST_OF_ALL_COLUMNS // max(1, len(self.texts))
        return min(MOST_CATEGORIES, max(_FEWEST_CATEGORIES, shared))

    def frame(self, table: pa.Table) -> pd.DataFrame:
        """Return the features of a table with the types of the training, float64 and text."""
        pandas = import_extra("pandas", "cli")
        numbers: dict[str, Any] = {name: _numbers(table[name], name) for name in self.numbers}
        # With its own type for text pandas would turn None into NaN.
        texts = {name: table[name] for name in self.texts} | {name: _flags(table[name], name) for name in self.flags}
        categories = {name: pandas.Series(_categories(column), dtype=object) for name, column in texts.items()}
        return pandas.DataFrame(numbers | categories)

    def preprocessing(self) -> Any:
        """Return the scikit-learn transformer, not fitted, that turns `frame` into a matrix of numbers."""
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder

        # A column may have values in the table but none in the training rows; then it becomes a constant.
        numbers = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        categories = make_pipeline(
            SimpleImputer(strategy="constant", fill_value=_MISSING, missing_values=None),
            OneHotEncoder(
                handle_unknown="infrequent_if_exist", max_categories=self.most_categories, sparse_output=False
            ),
        )
        return ColumnTransformer(
            [("numbers", numbers, list(self.numbers)), ("categories", categories, list(self.categories))]
        )


class Examples(NamedTuple):
    """Rows of a table: features, labels, the numbers of the rows in the file, and the group of each as text."""

    frame: pd.DataFrame
    labels: Labels
    rows: np.ndarray[Any, Any]
    groups: np.ndarray[Any, Any] | None = None

    @classmethod
    def of(
        cls, table: pa.Table, columns: FeatureColumns, target: str, positive: Any, groups: str | None = None
    ) -> Examples:
        """Return all rows of a table; ``positive`` is the positive value of the target, as in `labels_of`."""
        labels = labels_of(table[target], f"column {target!r}", positive=positive)
        group = None if groups is None else groups_of(table[groups], groups)
        return cls(columns.frame(table), labels, np.arange(labels.positive.size), group)

    def subset(self, selected: BoolArray) -> Examples:
        """Return the selected rows."""
        labels = self.labels._replace(positive=self.labels.positive[selected])
        groups = None if self.groups is None else self.groups[selected]
        return Examples(self.frame[selected], labels, self.rows[selected], groups)


def read_examples(
    path: Path, target: str, positive: str | None, drop: Sequence[str], groups: str | None = None
) -> tuple[FeatureColumns, Examples]:
    """Read a training table: the kinds of its columns, and its rows.

    The columns ``target``, ``drop`` and ``groups`` are no features. Rows with equal ``groups`` belong together.
    """
    more = [] if groups is None else [groups]
    check_distinct_options([target, *more], "--target and --groups")
    table = read_table(path)
    if "" in table.column_names and "" not in drop:
        raise ValueError(
            f"{path}: column {table.column_names.index('') + 1} has no name (an index that pandas wrote?); "
            "name it, or leave it out with --drop ''"
        )
    check_columns([target, *drop, *more], table.column_names, path)
    columns = FeatureColumns.of(table, leave_out=[target, *drop, *more])
    return columns, Examples.of(table, columns, target, positive, groups)


def read_features(
    path: Path, columns: FeatureColumns, *, more: Sequence[str] = (), keep: Sequence[str] = ()
) -> pa.Table:
    """Read the columns of a model from a file, some ``more``, and the columns to ``keep`` as the file has them."""
    found = column_names(path)
    if missing := [name for name in columns.names if name not in found]:
        raise ValueError(f"{path} lacks {len(missing)} of the columns the model was trained on: {listed(missing)}")
    more = [*more, *keep]
    wanted = list(dict.fromkeys([*columns.names, *more]))
    copied = [name for name in keep if name not in columns.names]
    return read_table(path, wanted, numbers=columns.numbers, flags=columns.flags, texts=columns.texts, copied=copied)


def _kind(column: pa.ChunkedArray, name: str) -> str:
    import pyarrow as pa
    from pyarrow import compute as pc

    if pc.all(column.is_null(nan_is_null=True)).as_py():
        return "without_values"
    if pa.types.is_boolean(column.type):
        return "flags"
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_temporal(kind):
        return "times"
    if is_text(kind):
        _check_decimal_points(column.drop_null().slice(0, 1000).to_pylist(), name)
        return "texts"
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise ValueError(
            f"column {name!r} holds {kind}, of which no feature is made; turn it into numbers or text, "
            f"or leave it out with --drop {name!r}"
        )
    if pa.types.is_dictionary(column.type):
        return "texts"
    if pa.types.is_integer(kind):
        ends = pc.min_max(column)
        _check_exact_integers(ends["min"].as_py(), ends["max"].as_py(), name)
    return "numbers"


def _numbers(column: pa.ChunkedArray, name: str) -> FloatArray:
    import pyarrow as pa

    try:
        # The nearest float is good enough for an integer beyond 2**53: the training rows have none (`_kind`).
        values = column.cast(pa.float64(), safe=False).to_numpy()
    except pa.ArrowException as error:
        raise ValueError(f"column {name!r} must hold numbers, as it did in training: {error}") from error
    # Missing values are NaN here, and are filled in later.
    infinite = np.isinf(values)
    if rows := int(np.count_nonzero(infinite)):
        raise ValueError(
            f"column {name!r} has infinite values in {rows} rows, the first is row {int(infinite.argmax()) + 1}"
        )
    return np.array(values)


def _flags(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return the booleans in a column of booleans, of numbers 0 and 1, or of text such as true."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        return column
    try:
        # Through text, where only 0 and 1 are booleans; as a number any value except 0 would be true.
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        return column.cast(kind).cast(pa.string()).cast(pa.bool_())
    except pa.ArrowException as error:
        raise ValueError(f"column {name!r} must hold booleans, as it did in training: {error}") from error


def _categories(column: pa.ChunkedArray) -> list[str | None]:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    values: list[str | None] = column.cast(pa.string()).to_pylist()
    return values


def _check_decimal_points(samples: Sequence[object], name: str) -> None:
    """Raise if the values of a text column are numbers with a decimal comma, which would become categories."""
    number = re.compile(r"\s*[+-]?\d+(,\d+)?\s*")
    # Some of the numbers may be whole; a column without any comma holds codes.
    with_comma = [value for value in samples if isinstance(value, str) and "," in value]
    if with_comma and all(isinstance(value, str) and number.fullmatch(value) for value in samples):
        raise ValueError(
            f"column {name!r} holds numbers with a decimal comma ({with_comma[0]!r}); write a point instead"
        )


def _check_exact_integers(low: int | None, high: int | None, name: str) -> None:
    """Raise if not all integers from ``low`` to ``high``, the range of a column, are exact as floats."""
    for value in (low, high):
        if value is not None and abs(value) > 2**53:
            raise ValueError(
                f"column {name!r} holds integers beyond 2**53, such as {value}, which floats cannot tell apart; "
                f"if it only names the rows, leave it out with --drop {name!r}"
            )
