"""CSV and TSV files, read by pyarrow, with what pyarrow lacks.

This adds semicolons as separators; blank lines as rows of a single column; line breaks inside quotes, and errors for
quotes that are never closed; columns copied as they are written; errors that name the column; lines of up to 64 MiB,
and for longer ones an error before they are in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATORS = {".csv": ",", ".tsv": "\t"}
_Read = TypeVar("_Read")
_USUAL_BLOCK, _LARGEST_BLOCK = 1 << 20, 1 << 26  # bytes that are parsed at a time: a line must fit in
_SURE_TO_END = 24  # major version of pyarrow: earlier ones may wait forever after an error, in several threads


class Wanted(NamedTuple):
    """Columns to read, and which of them a text file must hold as numbers, as booleans, as text, or as written."""

    columns: list[str]
    numbers: Sequence[str]
    flags: Sequence[str]
    texts: Sequence[str]
    copied: Sequence[str]


def text_names(path: Path) -> list[str]:
    """Return the names of the columns in a text file."""
    from pyarrow import csv

    options = csv.ParseOptions(delimiter=_separator(path))

    def names(block: int) -> list[str]:
        with csv.open_csv(path, csv.ReadOptions(block_size=block, use_threads=_threaded()), options) as reader:
            found: list[str] = reader.schema.names
            return found

    return _in_larger_blocks(_block_for_header(path), names)


def missing_words() -> list[str]:
    """Return the texts that mean a missing value: the empty text, NA, NaN, null, ..."""
    from pyarrow import csv

    words: list[str] = csv.ConvertOptions().null_values
    return words


def read_text(path: Path, wanted: Wanted) -> pa.Table:
    """Return the wanted columns of a text file."""
    import pyarrow as pa
    from pyarrow import csv

    names = text_names(path)
    last = names[-1]
    columns = [name for name in wanted.columns if name not in wanted.copied]
    types = {
        **dict.fromkeys(wanted.numbers, pa.float64()),
        **dict.fromkeys(wanted.flags, pa.bool_()),
        **dict.fromkeys(wanted.texts, pa.string()),
    }
    if last not in columns:
        # A quote that is never closed shows in the last column only. As bytes, because its encoding is unknown.
        columns, types = [*columns, last], types | {last: pa.binary()}
    convert = csv.ConvertOptions(include_columns=columns, column_types=types, strings_can_be_null=True)
    table = _parsed(path, names, convert)
    _check_quotes_closed(path, table[last])
    if wanted.copied:
        # pyarrow takes words for missing values in all columns or in none, so these columns are read separately.
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


def read_again(contents: memoryview, separator: str, schema: pa.Schema) -> pa.Table:
    """Return the table in a file that pyarrow wrote, with the floats and booleans of ``schema``, all else as bytes."""
    import pyarrow as pa
    from pyarrow import csv

    kept = {field.name: field.type for field in schema}
    types = {
        name: kind if pa.types.is_floating(kind) or pa.types.is_boolean(kind) else pa.binary()
        for name, kind in kept.items()
    }
    block = min(max(_USUAL_BLOCK, len(contents)), _LARGEST_BLOCK)
    return csv.read_csv(
        pa.BufferReader(pa.py_buffer(contents)),
        csv.ReadOptions(block_size=block, use_threads=_threaded()),
        csv.ParseOptions(delimiter=separator, newlines_in_values=True, ignore_empty_lines=len(kept) > 1),
        csv.ConvertOptions(column_types=types),
    )


def _parsed(path: Path, names: Sequence[str], convert: Any) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    # In a single column a blank line is a missing value; without it the rows would not match the lines of the file.
    alone = len(names) == 1
    above = _blank_lines_above(path) if alone else 0
    options = {"delimiter": _separator(path), "ignore_empty_lines": not alone}

    def parse(block: int) -> pa.Table:
        start = csv.ReadOptions(skip_rows=above, block_size=block, use_threads=_threaded())
        try:
            return csv.read_csv(path, start, csv.ParseOptions(**options), convert)
        except pa.ArrowInvalid as error:
            if "conversion error" in str(error):
                raise
            # The fast parser takes line breaks inside quotes for broken rows.
            return csv.read_csv(path, start, csv.ParseOptions(**options, newlines_in_values=True), convert)

    try:
        table = _in_larger_blocks(_block_for_header(path), parse)
    except pa.ArrowInvalid as error:
        reason = re.sub(r"In CSV column #(\d+)", lambda found: f"column {names[int(found[1])]!r}", str(error))
        raise ValueError(reason) from error
    return table.slice(0, table.num_rows - 1) if alone and _ends_blank(path) else table


def _threaded() -> bool:
    """Return whether several threads may parse a file that may be broken (apache/arrow#48741)."""
    import pyarrow as pa

    return int(pa.__version__.partition(".")[0]) >= _SURE_TO_END


def _in_larger_blocks(first: int, read: Callable[[int], _Read]) -> _Read:
    """Read with blocks of the size ``first``; if a line does not fit into one, with the largest ones."""
    import pyarrow as pa

    for block in dict.fromkeys((first, _LARGEST_BLOCK)):
        try:
            return read(block)
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error):
                raise
    raise ValueError(
        f"a line of it is longer than {_LARGEST_BLOCK >> 20} MiB, or a quote is never closed; "
        "save it as Parquet if such lines are meant"
    )


def _block_for_header(path: Path) -> int:
    """Return a size of blocks into which the header fits."""
    length = 0
    with open(path, "rb") as file:
        while piece := file.read(_USUAL_BLOCK):
            end = (piece if length else piece.lstrip(b"\r\n")).find(b"\n")
            length += len(piece)
            if end >= 0 or len(piece) < _USUAL_BLOCK:
                break
            if length >= _LARGEST_BLOCK:
                raise ValueError(
                    f"its first line is longer than {_LARGEST_BLOCK >> 20} MiB; a table has a line for the names of "
                    "its columns and one per row"
                )
    return max(_USUAL_BLOCK, 2 * length) if length > _USUAL_BLOCK else _USUAL_BLOCK


def _blank_lines_above(path: Path) -> int:
    """Return the number of blank lines before the header."""
    with open(path, "rb") as file:
        start = file.read(1 << 16).removeprefix(b"\xef\xbb\xbf")
    return next((number for number, line in enumerate(start.splitlines()) if line), 0)


def _ends_blank(path: Path) -> bool:
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 4))
        return file.read().splitlines()[-1:] == [b""]


def _separator(path: Path) -> str:
    """Return the separator of the columns, by the first bytes of the file."""
    with open(path, "rb") as file:
        start = file.read(1 << 16)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError("it is UTF-16 text; save it as UTF-8")
    if b"\x00" in start:
        raise ValueError("it is not a text file, in spite of its name")
    header = start.split(b"\n", 1)[0]
    semicolons = path.suffix.lower() == ".csv" and b"," not in header and b";" in header
    return ";" if semicolons else SEPARATORS[path.suffix.lower()]


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
