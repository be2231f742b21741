"""Tables from and to files: CSV, TSV, Parquet, NPZ. The ending of the name says which.

Read by pyarrow, which parses in several threads and is strict: a row that is too short or too long is an error, never
filled in or cut. In text files an empty field and the usual words for it (NA, NaN, null, ...) are a missing value.
A ``.csv`` file may be separated by semicolons instead of commas. A blank line is no row, but in a text file of one
column it is a missing value, unless it is the last line. An NPZ file holds arrays of equal length; a matrix
``X`` becomes the columns ``X[0]``, ``X[1]``, ...

A file that cannot be read is a `ValueError` or `OSError` that says what is wrong with it.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tpauc.validation import (
    UsageError,
    check_columns,
    check_distinct_columns,
    check_existing,
    check_output_path,
    import_extra,
)

if TYPE_CHECKING:
    import pyarrow as pa

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
WRITABLE = (*_SEPARATORS, *_PARQUET)
_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")


class _Wanted(NamedTuple):
    """Columns to read; what those of a text file must hold, and those to take from it as they are written."""

    columns: list[str]
    numbers: Sequence[str]
    flags: Sequence[str]
    texts: Sequence[str]
    copied: Sequence[str]


class _Format(NamedTuple):
    names: Callable[[Path], list[str]]
    read: Callable[[Path, _Wanted], pa.Table]


def column_names(path: Path) -> list[str]:
    """Return the names of the columns in a file, without an index that pandas put there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder, "data.npz"), X=np.zeros((5, 2)), y=np.zeros(5))
    ...     column_names(Path(folder, "data.npz"))
    ['X[0]', 'X[1]', 'y']
    """
    import_extra("pyarrow", "cli")
    file_format = _format_of(path)
    with _clear_errors(path):
        names = file_format.names(path)
    check_distinct_columns(names, path)
    return [name for name in names if not _INDEX_OF_PANDAS.fullmatch(name)]


def read_table(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    numbers: Sequence[str] = (),
    flags: Sequence[str] = (),
    texts: Sequence[str] = (),
    copied: Sequence[str] = (),
) -> pa.Table:
    r"""Return the table in a file.

    Parameters
    ----------
    path : Path
        Ends in ``.csv``, ``.tsv``, ``.parquet``, ``.pq`` or ``.npz``.
    columns : sequence of str, optional
        The columns to read, by default all.
    numbers, flags : sequences of str
        Those of them that a text file must hold numbers in, and booleans.
    texts, copied : sequences of str
        Those to read as they are written, "007" as "007"; those that are ``copied`` have no words for a missing value,
        and "NA" is "NA".

    Returns
    -------
    pyarrow.Table
        With at least one row.

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
        table = _format_of(path).read(path, _Wanted(chosen, numbers, flags, texts, copied))
    if table.num_rows == 0:
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
    """Turn what readers raise into one line that names the file."""
    import pyarrow as pa

    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text; save it as UTF-8") from error
    except MemoryError as error:
        raise MemoryError(f"{path} does not fit into memory") from error
    except (pa.ArrowException, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path} cannot be read: {reason}") from error


# ------------------------------------------------------------------------------------------------------ CSV and TSV


def _text_names(path: Path) -> list[str]:
    from pyarrow import csv

    with csv.open_csv(path, parse_options=csv.ParseOptions(delimiter=_separator(path))) as reader:
        names: list[str] = reader.schema.names
        return names


def _read_text(path: Path, wanted: _Wanted) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    names = _text_names(path)
    last = names[-1]
    columns = [name for name in wanted.columns if name not in wanted.copied]
    types = {
        **dict.fromkeys(wanted.numbers, pa.float64()),
        **dict.fromkeys(wanted.flags, pa.bool_()),
        **dict.fromkeys(wanted.texts, pa.string()),
    }
    if last not in columns:
        # Only there can a quote that is never closed be seen; bytes, because it may be in any encoding.
        columns, types = [*columns, last], types | {last: pa.binary()}
    convert = csv.ConvertOptions(include_columns=columns, column_types=types, strings_can_be_null=True)
    table = _parsed(path, names, convert)
    _check_quotes_closed(path, table[last])
    if wanted.copied:
        # pyarrow knows words for missing values in all columns or in none, so these are read for themselves.
        as_written = csv.ConvertOptions(
            include_columns=wanted.copied,
            column_types=dict.fromkeys(wanted.copied, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        copied = _parsed(path, names, as_written)
        table = pa.table({name: (copied if name in wanted.copied else table)[name] for name in wanted.columns})
    table = table.select(wanted.columns)
    if binary := [field.name for field in table.schema if pa.types.is_binary(field.type)]:
        raise ValueError(f"column {binary[0]!r} is not UTF-8 text; save it as UTF-8")
    return table


def _parsed(path: Path, names: Sequence[str], convert: Any) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    # In a single column a blank line is a missing value: without it scores would not line up with the file.
    alone = len(names) == 1
    start = csv.ReadOptions(skip_rows=_blank_lines_above(path) if alone else 0)
    options = {"delimiter": _separator(path), "ignore_empty_lines": not alone}
    try:
        try:
            table = csv.read_csv(path, start, csv.ParseOptions(**options), convert)
        except pa.ArrowInvalid as error:
            if "conversion error" in str(error):
                raise
            # Line breaks inside quotes look like broken rows to the fast way of reading.
            table = csv.read_csv(path, start, csv.ParseOptions(**options, newlines_in_values=True), convert)
    except pa.ArrowInvalid as error:
        reason = re.sub(r"In CSV column #(\d+)", lambda found: f"column {names[int(found[1])]!r}", str(error))
        raise ValueError(reason) from error
    return table.slice(0, table.num_rows - 1) if alone and _ends_blank(path) else table


def _blank_lines_above(path: Path) -> int:
    """Return how many blank lines there are before the header."""
    with open(path, "rb") as file:
        start = file.read(1 << 16).removeprefix(b"\xef\xbb\xbf")
    return next((number for number, line in enumerate(start.splitlines()) if line), 0)


def _ends_blank(path: Path) -> bool:
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 4))
        return file.read().splitlines()[-1:] == [b""]


def _separator(path: Path) -> str:
    """Return what separates the columns, after a look at the first bytes."""
    with open(path, "rb") as file:
        start = file.read(1 << 16)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("it is UTF-16 text; save it as UTF-8")
    if b"\x00" in start:
        raise ValueError("it is not a text file, in spite of its name")
    header = start.split(b"\n", 1)[0]
    semicolons = path.suffix.lower() == ".csv" and b"," not in header and b";" in header
    return ";" if semicolons else _SEPARATORS[path.suffix.lower()]


def _check_quotes_closed(path: Path, last_column: pa.ChunkedArray) -> None:
    """Raise if a quote that is never closed has swallowed the rest of the file."""
    last = last_column[-1].as_py() if len(last_column) else None
    if isinstance(last, bytes):
        last = last.decode(errors="replace")
    if isinstance(last, str) and "\n" in last:
        with open(path, "rb") as file:
            file.seek(max(0, path.stat().st_size - 16))
            closed = file.read().rstrip().endswith(b'"')
        if not closed:
            raise ValueError(f"the quote before {last[:20]!r} is never closed")


# ------------------------------------------------------------------------------------------------- Parquet and NPZ


def _parquet_names(path: Path) -> list[str]:
    from pyarrow import parquet

    names: list[str] = parquet.read_schema(path).names
    return names


def _read_parquet(path: Path, wanted: _Wanted) -> pa.Table:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        return file.read(columns=wanted.columns)


def _npz_names(path: Path) -> list[str]:
    return list(_npz_columns(path))


def _read_npz(path: Path, wanted: _Wanted) -> pa.Table:
    import pyarrow as pa

    found = _npz_columns(path)
    columns = {name: found[name] for name in wanted.columns}
    if len({column.size for column in columns.values()}) > 1:
        sizes = ", ".join(f"{name} {column.size}" for name, column in columns.items())
        raise ValueError(f"its arrays must have equal length, found {sizes:.200}")
    return pa.table(columns)


def _npz_columns(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    # Without pickle no code from the file can run.
    archive = np.load(path, allow_pickle=False)
    if isinstance(archive, np.ndarray):
        raise ValueError("it is a single array, not an archive of named ones")
    columns: dict[str, np.ndarray[Any, Any]] = {}
    with archive:
        for key in archive.files:
            array = archive[key]
            if array.ndim not in (1, 2):
                raise ValueError(f"the array {key!r} must have one or two dimensions, got shape {array.shape}")
            parts = {f"{key}[{number}]": part for number, part in enumerate(array.T)} if array.ndim == 2 else {}
            parts = parts or {key: array}
            if twice := sorted(columns.keys() & parts.keys()):
                raise ValueError(f"two of its arrays give a column called {twice[0]!r}; rename one of them")
            columns |= parts
    return columns


_TEXT_FORMAT, _PARQUET_FORMAT = _Format(_text_names, _read_text), _Format(_parquet_names, _read_parquet)
_FORMATS = {
    **dict.fromkeys(_SEPARATORS, _TEXT_FORMAT),
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
    r"""Write a table as CSV, TSV or Parquet, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(Path(folder, "a.tsv"), pa.table({"id": ["x, y", "z"], "score": [0.1, None]}))
    ...     Path(folder, "a.tsv").read_text().splitlines()
    ['"id"\t"score"', '"x, y"\t0.1', '"z"\t']
    """
    from pyarrow import csv, parquet

    from tpauc.training.checkpoints import write_atomically  # brings torch with it, which reading must not wait for

    buffer, suffix = io.BytesIO(), path.suffix.lower()
    if suffix in _PARQUET:
        parquet.write_table(table, buffer)
    else:
        csv.write_csv(table, buffer, csv.WriteOptions(delimiter=_SEPARATORS[suffix]))
    write_atomically(path, buffer.getbuffer())
