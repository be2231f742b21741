"""Parquet and CSV files as a table of an engine: a path, several, a glob or a folder.

Columns of CSV files are read as text and turned into numbers here, so that what is no number is counted and reported
with everything else instead of stopping the reader at the first one. Scores that are written as integers of 2**53 or
more are counted with them, because different ones would become the same float64.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Any

from tpauc._validation import brief, check_choice, check_path, check_pos_label, check_text, import_extra
from tpauc.frames._columns import column_names
from tpauc.frames._engines import duckdb_connection

ENGINES = ("duckdb", "polars", "spark")
_SUFFIXES = {"parquet": (".parquet", ".pq"), "csv": (".csv", ".csv.gz")}
_YES, _NO = "true", "false"
_MERGED_INTEGERS = 2.0**53  # from here on float64 holds only some of them
_LONGEST_HEADER = 1 << 26  # characters: a .gz file of some MB may hold a line of many GB

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def open_files(
    paths: Paths,
    *,
    label: str,
    scores: Sequence[str],
    others: Sequence[str] = (),
    pos_label: Any = None,
    engine: str = "duckdb",
    memory: str | None = None,
    threads: int | None = None,
) -> Any:
    r"""Return files as a DuckDB relation, a Polars LazyFrame or a PySpark DataFrame.

    Of most files only the header is read yet. CSV files are searched for what the engine would misread: for Polars
    quotes inside fields, for DuckDB damage of ``.gz`` files.

    Parameters
    ----------
    paths : path or list of paths
        Files, globs and folders (searched with all folders inside) of ``.parquet``, ``.csv`` or ``.csv.gz`` files, all
        of one format. Addresses such as ``s3://...`` are left to the engine.
    label, scores, others, pos_label
        The columns that will be used; each file must have them, of the same types.
    engine : {"duckdb", "polars", "spark"}, default="duckdb"
        Spark takes the session that is active, else ``SPARK_REMOTE``, else the master in ``SPARK_MASTER``, else
        ``local[*]``.
    memory : str, optional
        With DuckDB what the program may take, such as ``"1GB"``: DuckDB takes up to three quarters of it and puts the
        rest on disk. Python takes 250 MB, so that less than 1 GB is not kept. With Spark the memory of a driver that is
        started here.
    threads : int, optional
        For DuckDB.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("y,model\n1,0.9\n0,0.2\n")
    ...     open_files(folder, label="y", scores=["model"]).fetchall()
    [(1.0, 0.9), (0.0, 0.2)]
    """
    check_choice(engine, "engine", ENGINES)
    if engine != "duckdb" and threads is not None:
        raise ValueError(f"threads is a setting of engine='duckdb', got engine={engine!r}")
    if engine == "polars" and memory is not None:
        raise ValueError("memory cannot be limited with engine='polars'; take duckdb or spark")
    check_text(label, "label")
    names = {argument: column_names(value, argument) for argument, value in (("scores", scores), ("others", others))}
    if not names["scores"]:
        raise ValueError(f"scores must name at least one column, got {brief(scores)}")
    for argument, own in names.items():
        for name in own:
            check_text(name, argument)
    if pos_label is not None:
        check_pos_label(pos_label)
    files = find_files(paths, "paths of the table")
    is_csv = _format_of(files) == "csv"
    columns = list(dict.fromkeys([label, *names["scores"], *names["others"]]))
    local = [Path(file) for file in files if "://" not in file]
    patterns = [file if "://" in file else _pattern_of(file, engine) for file in files]
    if is_csv:
        delimiter = _check_headers(local, columns, engine)
        text = _Text(label, names["scores"], columns, pos_label, delimiter)
        if engine == "duckdb":
            _check_packed([file for file in local if file.suffix.lower() == ".gz"])
        return _OPEN_CSV[engine](patterns, text, memory, threads)
    _check_schemas(local, columns, engine)
    return _OPEN_PARQUET[engine](patterns, memory, threads)


def _pattern_of(file: str, engine: str) -> str:
    """Return a pattern for one file alone: engines take every name for a glob, and "a[1].csv" matches "a1.csv".

    Examples
    --------
    >>> _pattern_of("a[1].csv", "duckdb")
    'a[[]1].csv'
    """
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", file) if engine == "spark" else escape(file)


def find_files(paths: Paths, argument: str = "table") -> list[str]:
    """Return the files that paths, globs and folders stand for, in order.

    Examples
    --------
    >>> find_files("s3://bucket/scores/*.parquet")
    ['s3://bucket/scores/*.parquet']
    >>> find_files("no/such/file.csv")
    Traceback (most recent call last):
    ...
    FileNotFoundError: table: there is no file no/such/file.csv
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not isinstance(given, list | tuple):
        raise TypeError(f"{argument} must be a path or a list of paths, got {brief(paths)}")
    if not given:
        raise ValueError(f"{argument} must name at least one file, got an empty list")
    found: list[str] = []
    for one in given:
        path = check_path(one, argument)
        if "://" in path:
            found.append(path)
        elif Path(path).is_dir():
            suffixes = (*_SUFFIXES["parquet"], *_SUFFIXES["csv"])
            named = (file for file in Path(path).rglob("*") if file.name.lower().endswith(suffixes))
            inside = sorted(str(file) for file in named if not file.is_dir())
            if not inside:
                raise FileNotFoundError(f"table: the folder {path} has no file that ends in {', '.join(suffixes)}")
            found += inside
        elif Path(path).exists():
            found.append(path)
        elif has_magic(path) and (matches := sorted(glob(path, recursive=True))):
            found += matches
        else:
            kind = "no file matches" if has_magic(path) else "there is no file"
            raise FileNotFoundError(f"table: {kind} {path}")
    _check_files(found)
    return found


def _check_files(files: list[str]) -> None:
    """Raise if what was found is no file that can be read several times, or if two names lead to the same file."""
    names: dict[str, str] = {}
    for file in files:
        if "://" in file:
            continue
        if not Path(file).is_file():
            raise ValueError(f"table: {file} is not a file, but a folder, a pipe or a link that leads nowhere")
        if (other := names.setdefault(os.path.realpath(file), file)) != file or files.count(file) > 1:
            raise ValueError(f"table: {file} and {other} are one file, and its rows would count more than once")


def _format_of(files: list[str]) -> str:
    """Return "parquet" or "csv"; an error if files have other or several formats."""
    formats: dict[str, str] = {}
    for file in files:
        kind = next((kind for kind, ends in _SUFFIXES.items() if file.lower().endswith(ends)), None)
        if kind is None:
            raise ValueError(f"table: {file} must end in .parquet, .csv or .csv.gz")
        formats.setdefault(kind, file)
    if len(formats) > 1:
        raise ValueError(f"table: files must be all Parquet or all CSV, got {' and '.join(formats.values())}")
    return next(iter(formats))


def _check_schemas(files: list[Path], columns: list[str], engine: str) -> None:
    """Raise if a Parquet file has other types for the columns than the first file; the error names it."""
    if not files:
        return
    parquet, arrow = import_extra("pyarrow.parquet", "frames"), import_extra("pyarrow", "frames")
    first = None
    for file in files:
        try:
            schema = parquet.read_schema(file)
        except (arrow.ArrowInvalid, OSError) as error:
            raise ValueError(f"table: {file} cannot be read as Parquet: {error}") from error
        _check_case(file, schema.names, columns, engine)
        types = {name: str(schema.field(name).type) if name in schema.names else "missing" for name in columns}
        first = types if first is None else first
        for name, kind in types.items():
            if kind != first[name]:
                raise ValueError(
                    f"table: {file} has another schema than {files[0]}: column {name!r} is {kind}, not {first[name]}"
                )


def _check_headers(files: list[Path], columns: list[str], engine: str) -> str:
    """Return the delimiter of CSV files; raise if a file has another header than the first, and name it."""
    delimiter, first = ",", None
    for file in files:
        line = _first_line(file)
        if first is None:
            # The header must have the columns that are asked for: the delimiter that shows most of them is right.
            delimiter = max(",;\t|", key=lambda mark: len(set(columns) & set(_fields(line, mark))))
            first = _fields(line, delimiter)
            _check_case(file, first, columns, engine)
        elif (header := _fields(line, delimiter)) != first:
            raise ValueError(f"table: {file} has another header than {files[0]}: {header}, not {first}")
    return delimiter


def _check_case(file: Path, header: Sequence[str], columns: list[str], engine: str) -> None:
    """Raise if a wanted column comes after another one whose name differs in case alone: SQL would rename it."""
    if engine == "polars":
        return
    seen: dict[str, str] = {}
    for name in header:
        if (twin := seen.setdefault(name.lower(), name)) != name and name in columns:
            raise ValueError(
                f"table: {file} has columns {twin!r} and {name!r}, which {engine} does not tell apart; rename one, or "
                "take engine='polars'"
            )


def _first_line(file: Path) -> str:
    opened = gzip.open if file.name.lower().endswith(".gz") else open
    try:
        with opened(file, "rt", encoding="utf-8-sig", newline="") as lines:
            line = lines.readline(_LONGEST_HEADER)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"table: {file} cannot be read: {error}") from error
    if len(line) == _LONGEST_HEADER:
        raise ValueError(f"table: {file} cannot be read: its first line is longer than {_LONGEST_HEADER:,} characters")
    return line


def _check_packed(files: list[Path]) -> None:
    """Raise if a compressed file is damaged: DuckDB does not compare its checksum, the other engines do."""
    for file in files:
        try:
            with gzip.open(file, "rb") as packed:
                while packed.read(1 << 20):
                    pass
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"table: {file} cannot be read: {error}") from error


def _fields(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])


class _Text:
    """How the text columns of a CSV file become labels and scores, as SQL that DuckDB and Spark both understand."""

    def __init__(self, label: str, scores: Sequence[str], columns: list[str], pos_label: Any, delimiter: str) -> None:
        self.label, self.scores, self.columns = label, list(scores), columns
        self.text_label, self.delimiter = isinstance(pos_label, str), delimiter

    def kind(self, name: str) -> str:
        """Return what a column holds: "score", "label" or "text"."""
        if name in self.scores:
            return "score"
        return "label" if name == self.label and not self.text_label else "text"

    def expression(self, name: str, quote: str, cast: str) -> str:
        """Return SQL for a column; what is no number becomes NaN, which is reported, and what is empty null.

        So do scores that are integers which float64 cannot tell apart.
        """
        column = quote + name.replace(quote, quote * 2) + quote
        number = f"coalesce({cast}(trim({column}) as double), cast('NaN' as double))"
        yes = f"when lower(trim({column})) = '{_YES}' then 1.0 when lower(trim({column})) = '{_NO}' then 0.0"
        integer = f"not (contains({column}, '.') or contains(lower({column}), 'e'))"
        merged = f"{integer} and abs({number}) between {_MERGED_INTEGERS!r} and {sys.float_info.max!r}"
        score = f"when {merged} then cast('NaN' as double) else {number}"
        kinds = {
            "score": f"case when {column} is null then null {score} end as {column}",
            "label": f"case when {column} is null then null {yes} else {number} end as {column}",
            "text": column,
        }
        return kinds[self.kind(name)]


def _duckdb_parquet(files: list[str], memory: str | None, threads: int | None) -> Any:
    return duckdb_connection(memory, threads).read_parquet(files)


def _duckdb_csv(files: list[str], text: _Text, memory: str | None, threads: int | None) -> Any:
    # With Hive partitions a folder called "score=1" would replace the column of that name.
    relation = duckdb_connection(memory, threads).read_csv(
        files, header=True, all_varchar=True, delimiter=text.delimiter, hive_partitioning=False
    )
    known = [name for name in text.columns if name in relation.columns]
    return relation.project(", ".join(text.expression(name, '"', "try_cast") for name in known))


def _polars_parquet(files: list[str], memory: None, threads: None) -> Any:
    return import_extra("polars", "polars").scan_parquet(files)


def _polars_csv(files: list[str], text: _Text, memory: None, threads: None) -> Any:
    polars = import_extra("polars", "polars")
    _check_polars_quotes(polars, files, text.delimiter)
    frame = polars.scan_csv(files, infer_schema=False, separator=text.delimiter)
    chosen = []
    for name in frame.collect_schema().names():
        column = polars.col(name)
        trimmed = column.str.strip_chars()
        number = trimmed.cast(polars.Float64, strict=False).fill_null(float("nan"))
        if text.kind(name) == "score":
            integer = ~trimmed.str.contains("[.eE]")
            merged = integer & number.abs().is_between(_MERGED_INTEGERS, sys.float_info.max)
            number = polars.when(merged).then(float("nan")).otherwise(number)
        if text.kind(name) == "label":
            lower = trimmed.str.to_lowercase()
            number = polars.when(lower == _YES).then(1.0).when(lower == _NO).then(0.0).otherwise(number)
        if text.kind(name) != "text":
            column = polars.when(column.is_null()).then(None).otherwise(number).alias(name)
        chosen.append(column)
    return frame.select(chosen)


def _check_polars_quotes(polars: Any, files: list[str], delimiter: str) -> None:
    """Raise if a line is not made of whole fields: Polars joins rows at a quote inside a field, such as ``5" pipe``."""
    lines = polars.scan_csv(
        files,
        has_header=False,
        new_columns=["line"],
        separator="\x1f",  # a separator of text that is none here: one column
        truncate_ragged_lines=True,
        quote_char=None,
        infer_schema=False,
    )
    line = polars.col("line")
    quoted = lines.filter(line.str.contains('"', literal=True))
    mark = re.escape(delimiter)
    field = f'(?:"(?:[^"]|"")*"|[^"{mark}]*)'
    found = quoted.filter(~line.str.contains(f"^{field}(?:{mark}{field})*\\r?$")).head(1).collect(engine="streaming")
    if len(found):
        raise ValueError(
            f"table: polars cannot read the line {found.item()!r:.80}, which has a quote inside a field or a line "
            "break inside quotes; take engine='duckdb'"
        )


def spark_session(memory: str | None = None) -> Any:
    """Return the active Spark session, or start one as :func:`open_files` says."""
    session = import_extra("pyspark.sql", "spark").SparkSession
    if (active := session.getActiveSession()) is not None:
        return active
    builder = session.builder.appName("tpauc")
    if "SPARK_REMOTE" not in os.environ:
        master = os.environ.get("SPARK_MASTER", "local[*]")
        builder = builder.master(master).config("spark.ui.enabled", "false")
        if master.startswith("local"):  # 200 partitions, the default, suit a cluster
            builder = builder.config("spark.sql.shuffle.partitions", str(2 * (os.cpu_count() or 1)))
        if memory is not None:
            builder = builder.config("spark.driver.memory", memory.lower().removesuffix("b"))
    return builder.getOrCreate()


def _spark_parquet(files: list[str], memory: str | None, threads: None) -> Any:
    return spark_session(memory).read.parquet(*files)


def _spark_csv(files: list[str], text: _Text, memory: str | None, threads: None) -> Any:
    frame = spark_session(memory).read.csv(files, header=True, sep=text.delimiter)
    known = [name for name in text.columns if name in frame.columns]
    return frame.selectExpr(*(text.expression(name, "`", "try_cast") for name in known))


_Opener = Callable[..., Any]
_OPEN_PARQUET: dict[str, _Opener] = {"duckdb": _duckdb_parquet, "polars": _polars_parquet, "spark": _spark_parquet}
_OPEN_CSV: dict[str, _Opener] = {"duckdb": _duckdb_csv, "polars": _polars_csv, "spark": _spark_csv}
