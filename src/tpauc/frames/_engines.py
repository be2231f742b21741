"""Any table as a lazy Narwhals frame, and results of the engine as Python values."""

from __future__ import annotations

import itertools
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import narwhals as nw

from tpauc._validation import check_count, check_text, import_extra

Frame = nw.LazyFrame[Any]

KINDS = (
    "a DuckDB relation, a Polars frame, a PySpark DataFrame, an Ibis table, a pandas DataFrame, a pyarrow Table or "
    "Dataset, or paths of Parquet or CSV files"
)


def as_frame(table: Any) -> Frame:
    """Return a table as a lazy frame of its own engine; pandas and pyarrow are read by DuckDB where they are."""
    if type(table).__module__.partition(".")[0] == "pyarrow" and hasattr(table, "schema"):
        if not hasattr(table, "to_table") and not hasattr(table, "slice"):
            raise TypeError("table must be readable more than once, got a pyarrow reader; read it into a Table first")
        return in_duckdb(table)
    try:
        frame = nw.from_native(table)
    except TypeError as error:
        raise TypeError(f"table must be {KINDS}, got {type(table).__name__}") from error
    if isinstance(frame, nw.LazyFrame):
        if frame.implementation.is_dask():
            raise TypeError("table is a Dask frame, which Narwhals cannot group as needed here; pass its Parquet files")
        return frame
    if isinstance(frame, nw.DataFrame):
        return frame.lazy() if frame.implementation.is_polars() else in_duckdb(frame.to_arrow())
    raise TypeError(f"table must be {KINDS}, got {type(table).__name__}")


def in_duckdb(arrow_table: Any) -> Frame:
    """Return a pyarrow table or dataset as a frame that DuckDB scans in place."""
    frame: Frame = nw.from_native(duckdb_connection().from_arrow(arrow_table))
    return frame


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]i?b)", re.IGNORECASE)
_SHARE_OF_DUCKDB = 0.75  # Python, and what DuckDB does not count, took another 250 MB


def duckdb_connection(memory: str | None = None, threads: int | None = None) -> Any:
    """Return a new database in memory that may put on disk what exceeds its share of the memory."""
    duckdb = import_extra("duckdb", "frames")
    settings: dict[str, Any] = {
        "temp_directory": os.path.join(tempfile.gettempdir(), f"tpauc-duckdb-{os.getpid()}"),
        "preserve_insertion_order": False,
        "perfect_ht_threshold": 21,  # bits: the cells of up to eight models are counted in an array
    }
    if memory is not None:
        size = _SIZE.fullmatch(check_text(memory, "memory").strip())
        settings["memory_limit"] = f"{_SHARE_OF_DUCKDB * float(size[1])}{size[2]}" if size else memory
    if threads is not None:
        settings["threads"] = check_count(threads, "threads")
    try:
        return duckdb.connect(config=settings)
    except duckdb.Error as error:
        raise ValueError(f"DuckDB does not accept memory={memory!r}, threads={threads!r}: {error}") from error


def is_path(table: Any) -> bool:
    """Tell whether a table is given as a path or several."""
    if isinstance(table, str | os.PathLike):
        return True
    is_list = isinstance(table, Sequence) and not isinstance(table, bytes | bytearray)
    return is_list and len(table) > 0 and all(isinstance(path, str | os.PathLike) for path in table)


_after_query: ContextVar[Callable[[float], None] | None] = ContextVar("after_query", default=None)


def collect(frame: Frame) -> Mapping[str, list[Any]]:
    """Run a query and return its columns."""
    start = time.monotonic()
    if frame.implementation.is_polars():
        result = frame.collect(engine="streaming")
    else:
        result = frame.collect(backend="pyarrow")  # PySpark warns if it goes through pandas 3
    if (after := _after_query.get()) is not None:
        after(time.monotonic() - start)
    return result.to_dict(as_series=False)


@contextmanager
def watched_queries(after: Callable[[int, float], None]) -> Iterator[None]:
    """Call ``after`` with the number and the seconds of each query that is run in the context."""
    numbers = itertools.count(1)
    token = _after_query.set(lambda seconds: after(next(numbers), seconds))
    try:
        yield
    finally:
        _after_query.reset(token)


def is_duckdb(frame: Frame) -> bool:
    """Tell whether DuckDB runs a query.

    It counts faster by an unsigned 16-bit key, for which it takes an array, and ranks faster than it adds up in order.
    """
    return frame.implementation.is_duckdb()
