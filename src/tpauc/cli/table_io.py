"""Tables from and to files: CSV, TSV, Parquet, NPZ. The suffix of the name decides the format.

pyarrow reads them in several threads and is strict: a row that is too short or too long is an error, it is never filled
in or cut. An empty text and the usual words for it (NA, NaN, null, ...) are a missing value in every format, so that a
table means the same in all of them. A ``.csv`` file may have semicolons instead of commas. A blank line is not a row,
except in a text file with one column: there it is a missing value unless it is the last line. An NPZ file holds arrays
of equal length; a matrix ``X`` becomes the columns ``X[0]``, ``X[1]``, ... Text in Parquet and NPZ files stays text,
also where a text file would be read as numbers or dates.

A file that cannot be read is a `ValueError` or `OSError` that says what is wrong with it.
"""

from __future__ import annotations

import io
import re
import tokenize
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tpauc._files import write_atomically
from tpauc._validation import import_extra
from tpauc.cli._csv_files import SEPARATORS, Wanted, missing_words, read_again, read_text, text_names
from tpauc.cli.errors import UsageError, check_columns, check_existing, check_output_path, listed

if TYPE_CHECKING:
    import pyarrow as pa

_PARQUET = (".parquet", ".pq")
WRITABLE = (*SEPARATORS, *_PARQUET)
_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")


class _Format(NamedTuple):
    names: Callable[[Path], list[str]]
    read: Callable[[Path, Wanted], pa.Table]


def column_names(path: Path) -> list[str]:
    """Return the names of the columns in a file, without an index that pandas put there."""
    import_extra("pyarrow", "cli")
    file_format = _format_of(path)
    with _clear_errors(path):
        names = file_format.names(path)
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise ValueError(f"{path} has more than one column called {listed(twice)}; rename them")
    return [name for name in names if not _INDEX_OF_PANDAS.fullmatch(name)]


def read_table(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    numbers: Sequence[str] = (),
    flags: Sequence[str] = (),
    texts: Sequence[str] = (),
    copied: Sequence[str] = (),
    may_be_empty: bool = False,
) -> pa.Table:
    r"""Return the table in a file.

    Parameters
    ----------
    path : Path
        With the suffix ``.csv``, ``.tsv``, ``.parquet``, ``.pq`` or ``.npz``.
    columns : sequence of str, optional
        The columns to read, by default all.
    numbers, flags : sequences of str
        The columns that hold numbers, and booleans; anything else in a text file is an error.
    texts, copied : sequences of str
        The columns to read as text, "007" as "007". In ``copied`` columns no word means a missing value: "NA" is "NA".
    may_be_empty : bool, default=False
        Whether a table without rows is no error.

    Returns
    -------
    pyarrow.Table
        With at least one row, unless it may be empty.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "some scores.csv")
    ...     _ = path.write_text("label,score\n1,0.5\n0,NA\n")
    ...     read_table(path).to_pydict()
    {'label': [1, 0], 'score': [0.5, None]}
    """
    found = column_names(path)
    chosen = found if columns is None else list(columns)
    check_columns(chosen, found, path)
    with _clear_errors(path):
        table = _format_of(path).read(path, Wanted(chosen, numbers, flags, texts, copied))
    if table.num_rows == 0 and not may_be_empty:
        raise ValueError(f"{path} has no rows")
    return table


def _format_of(path: Path) -> _Format:
    check_existing(path, "the file")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; a file is needed")
    if path.suffix.lower() not in _FORMATS:
        raise UsageError(f"{path} must end in {', '.join(_FORMATS)}, which says how to read it")
    return _FORMATS[path.suffix.lower()]


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Turn the errors of the readers into one line that names the file."""
    import pyarrow as pa

    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text; save it as UTF-8") from error
    except MemoryError as error:
        raise MemoryError(f"{path} does not fit into memory") from error
    # RuntimeError: zip archives that are encrypted, or of a kind that zipfile does not support.
    except (pa.ArrowException, ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path} cannot be read: {reason}") from error


# ------------------------------------------------------------------------------------------------- Parquet and NPZ


def _parquet_names(path: Path) -> list[str]:
    from pyarrow import parquet

    names: list[str] = parquet.read_schema(path).names
    return names


def _read_parquet(path: Path, wanted: Wanted) -> pa.Table:
    from pyarrow import parquet

    with parquet.ParquetFile(path, page_checksum_verification=True) as file:
        return _without_missing_words(file.read(columns=wanted.columns), wanted.copied)


def _npz_names(path: Path) -> list[str]:
    return list(_npz_columns(path))


def _read_npz(path: Path, wanted: Wanted) -> pa.Table:
    import pyarrow as pa

    found = _npz_columns(path)
    columns = {name: found[name] for name in wanted.columns}
    if len({column.size for column in columns.values()}) > 1:
        sizes = ", ".join(f"{name} {column.size}" for name, column in columns.items())
        raise ValueError(f"its arrays must have equal length, found {sizes:.200}")
    return _without_missing_words(pa.table(columns), wanted.copied)


def _without_missing_words(table: pa.Table, copied: Sequence[str]) -> pa.Table:
    """Return the table with missing values for the texts that mean one in a text file, except in ``copied`` columns."""
    import pyarrow as pa
    from pyarrow import compute as pc

    words = missing_words()
    for number, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if field.name in copied or not is_text(kind):
            continue
        column = table[number].cast(kind).cast(pa.large_string())
        missing = pc.is_in(column, value_set=pa.array(words, pa.large_string()))
        if pc.any(missing).as_py():
            table = table.set_column(number, field.name, pc.if_else(missing, None, column))
    return table


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds text."""
    import pyarrow as pa

    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _npz_columns(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    # Without pickle the file cannot run code.
    archive = np.load(path, allow_pickle=False)
    if isinstance(archive, np.ndarray):
        raise ValueError("it is a single array, not an archive of named ones")
    columns: dict[str, np.ndarray[Any, Any]] = {}
    with archive:
        for key in archive.files:
            try:
                array = archive[key]
            except (tokenize.TokenError, SyntaxError, TypeError, LookupError) as error:  # a forged header
                raise ValueError(f"the header of its array {key!r} is broken") from error
            if not isinstance(array, np.ndarray):  # NumPy returns the bytes of a file that is not an array
                raise ValueError(f"its file {key!r} is not an array")
            if array.ndim not in (1, 2):
                raise ValueError(f"the array {key!r} must have one or two dimensions, got shape {array.shape}")
            parts = {f"{key}[{number}]": part for number, part in enumerate(array.T)} if array.ndim == 2 else {}
            parts = parts or {key: array}
            if twice := sorted(columns.keys() & parts.keys()):
                raise ValueError(f"two of its arrays give a column called {twice[0]!r}; rename one of them")
            columns |= parts
    return columns


_TEXT_FORMAT, _PARQUET_FORMAT = _Format(text_names, read_text), _Format(_parquet_names, _read_parquet)
_FORMATS = {
    **dict.fromkeys(SEPARATORS, _TEXT_FORMAT),
    **dict.fromkeys(_PARQUET, _PARQUET_FORMAT),
    ".npz": _Format(_npz_names, _read_npz),
}


# ---------------------------------------------------------------------------------------------------------- writing


def check_table_path(path: Path, *, overwrite: bool) -> Path:
    """Return a path that `write_table` can write to; nothing is written yet."""
    check_output_path(path, overwrite=overwrite, suffixes=WRITABLE)
    check_existing(path.absolute().parent, "the folder of --out,")
    return path


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table as CSV, TSV or Parquet, whole or not at all; it is read again before it is put in place."""
    from pyarrow import csv, parquet

    buffer, suffix = io.BytesIO(), path.suffix.lower()
    if suffix in _PARQUET:
        parquet.write_table(table, buffer, write_page_checksum=True)
        found = parquet.read_table(io.BytesIO(buffer.getbuffer()), page_checksum_verification=True)
    else:
        csv.write_csv(table, buffer, csv.WriteOptions(delimiter=SEPARATORS[suffix]))
        found = read_again(buffer.getbuffer(), SEPARATORS[suffix], table.schema)
    _check_same_values(table, found, path)
    write_atomically(path, buffer.getbuffer())


def _check_same_values(table: pa.Table, found: pa.Table, path: Path) -> None:
    """Raise if a file would not hold the rows and names of the table, or other scores and alarms."""
    import pyarrow as pa

    same = found.num_rows == table.num_rows and found.column_names == table.column_names
    for field in table.schema if same else ():
        if (pa.types.is_floating(field.type) or pa.types.is_boolean(field.type)) and not table[field.name].null_count:
            values, again = (np.asarray(part[field.name]) for part in (table, found))
            same = same and np.array_equal(values, again, equal_nan=True)
    if not same:
        raise ValueError(f"{path} is not written, because its rows could not be read again")
