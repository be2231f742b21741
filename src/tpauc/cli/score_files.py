"""The rows of labels and scores that `evaluate` and `compare` are given: files, globs, folders, standard input, a run.

The rule for how they are read: rows are read into memory, where every kind of interval can be made, unless ``--engine``
or ``--memory`` is given or there are more than about 10 million of them (Parquet says how many it has; text counts as
more from 250 MB on, or 50 MB of ``.gz``). Then an engine evaluates them where they are. TSV and NPZ files are always
read into memory.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tpauc._validation import FloatArray, check_groups
from tpauc.cli._text import Document
from tpauc.cli.errors import UsageError, check_columns, check_distinct_options, check_existing
from tpauc.cli.labels import Labels, check_no_missing, check_written_integers, labelled_scores
from tpauc.cli.runs import CARD, TEST_SCORES, deployed_threshold, read_card, run_region
from tpauc.cli.table_io import column_names, read_table
from tpauc.metrics.subgroups import MOST_SUBGROUPS

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

ROWS_IN_MEMORY = 10_000_000
_TEXT_IN_MEMORY, _COMPRESSED_IN_MEMORY = 250_000_000, 50_000_000  # bytes
_MOST_UNPACKED = 2_500_000_000  # bytes of a .gz file that are written to a temporary file
_LONGEST_HEADER = 1 << 26  # bytes
_STDIN = "standard input"


class RunThreshold(NamedTuple):
    """The threshold that a model of a run has; ``picked_here`` if it was picked on the test rows."""

    value: float
    picked_here: bool


@dataclass(frozen=True)
class AskedScores:
    """Which files, columns and region the options ask for; each is known, also where a run has it."""

    files: list[str]
    label: str
    scores: list[str]
    alpha: float
    beta: float
    positive: str | None = None
    by: str | None = None
    groups: str | None = None
    thresholds: Mapping[str, RunThreshold] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)

    def title(self, score: str) -> str:
        """Return what to call a model: in a run it has a title, as "region" alone would be read as the region."""
        return self.titles.get(score, score)

    @property
    def others(self) -> list[str]:
        """The columns of subgroups and groups."""
        return list(dict.fromkeys(name for name in (self.by, self.groups) if name is not None))

    @property
    def shown(self) -> str | list[str]:
        """The files as the document names them."""
        return self.files[0] if len(self.files) == 1 else self.files


def asked_scores(
    files: Sequence[str],
    label: str | None,
    scores: Sequence[str] | None,
    alpha: float | None,
    beta: float | None,
    positive: str | None = None,
    by: str | None = None,
    groups: str | None = None,
) -> AskedScores:
    """Return what the options ask for; of a run, the scores of its own test rows in its own region."""
    runs = [file for file in files if file != "-" and Path(file, CARD).exists()]
    if runs:
        return _asked_of_run(runs[0], files, label, scores, alpha, beta, positive, by, groups)
    if label is None or not scores or alpha is None or beta is None:
        given = {"--label": label, "--score": scores, "--alpha": alpha, "--beta": beta}
        missing = [option for option, value in given.items() if value is None or value == []]
        raise UsageError(f"Missing option '{missing[0]}' (see --help)")
    check_distinct_options([label, *scores], "--label and --score")
    for option, column in (("--by", by), ("--groups", groups)):
        if column in (label, *scores):
            raise UsageError(f"{option} must name another column than --label and --score, got {column!r}")
    if list(files).count("-") > 1:
        raise UsageError("standard input, -, can be read only once")
    return AskedScores(list(files), label, list(scores), alpha, beta, positive, by, groups)


def _asked_of_run(
    run: str,
    files: Sequence[str],
    label: str | None,
    scores: Sequence[str] | None,
    alpha: float | None,
    beta: float | None,
    *others: str | None,
) -> AskedScores:
    if len(files) > 1:
        raise UsageError(f"{run} is a run, which is evaluated on its own; leave out the other files")
    if label is not None or any(other is not None for other in others):
        raise UsageError("a run has its own labels; leave out --label, --positive, --by and --groups")
    card, region = read_card(Path(run)), run_region(Path(run), alpha, beta)
    columns = card["score_columns"]
    models = columns["models"]
    if unknown := [name for name in scores or [] if name not in models]:
        raise UsageError(f"{run} has no model {unknown[0]!r}; it has {', '.join(map(repr, models))}")
    return AskedScores(
        [str(Path(run, TEST_SCORES))],
        columns["label"],
        list(scores or models),
        region.alpha,
        region.beta,
        groups=columns.get("groups"),
        thresholds=_thresholds_of_run(card),
        titles={model["name"]: model["title"] for model in card["models"] if "title" in model},
    )


def _thresholds_of_run(card: Document) -> dict[str, RunThreshold]:
    """Return the threshold of each model of a run that has one; the first model is the deployed one."""
    values = [model.get("threshold") for model in card["models"]]
    values[0] = deployed_threshold(card, CARD)
    picked_here = bool(card["threshold"].get("picked_here"))
    return {
        name: RunThreshold(value, picked_here and number == 0)
        for number, (name, value) in enumerate(zip(card["score_columns"]["models"], values, strict=True))
        if isinstance(value, float | int)
    }


# ------------------------------------------------------------------------------------------------------------ files


@dataclass(frozen=True)
class ScoreFiles:
    """Files that exist; ``names`` says what to call those that are kept in a temporary folder."""

    paths: list[Path]
    remote: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def all(self) -> list[str]:
        """All of them as an engine takes them."""
        return [*map(str, self.paths), *self.remote]

    @property
    def fit_in_memory(self) -> bool:
        """Whether the rows are few enough to be read into memory."""
        return not self.remote and sum(_share_of_memory(path) for path in self.paths) <= 1.0

    def named(self, message: str) -> str:
        """Return a message in which files have the names that the user knows."""
        for path, name in self.names.items():
            message = message.replace(path, name)
        return message


@contextmanager
def opened_files(given: Sequence[str]) -> Iterator[ScoreFiles]:
    """Find the files; standard input, which several passes cannot read, is kept in a temporary file meanwhile."""
    paths: list[Path] = []
    remote: list[str] = []
    names: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="tpauc-") as folder:
        for one in given:
            if one == "-":
                paths.append(_saved(sys.stdin.buffer, Path(folder, "standard-input.csv")))
                names[str(paths[-1])] = _STDIN
            elif "://" in one:
                remote.append(one)
            elif Path(one).is_file():
                paths.append(Path(one))
            else:
                paths += _found(one)
        _check_different(paths)
        yield ScoreFiles(paths, remote, names)


def _check_different(paths: Sequence[Path]) -> None:
    """Raise if a file is given twice, also by another name: links may lead to it."""
    names: dict[str, int] = {}
    for number, path in enumerate(paths):
        first = names.setdefault(os.path.realpath(path), number)
        if first != number:
            also = "" if paths[first] == path else f", also as {paths[first]}"
            raise UsageError(f"{path} is given more than once{also}, and its rows would count more than once")


def _found(one: str) -> list[Path]:
    """Return the files of a folder or a glob."""
    if not Path(one).is_dir() and not any(mark in one for mark in "*?["):
        check_existing(Path(one), "the file")
    from tpauc.frames.opening import find_files

    try:
        return [Path(file) for file in find_files(one)]
    except (FileNotFoundError, ValueError) as error:
        raise UsageError(str(error).removeprefix("table: ").replace("table must", "SCORES must")) from error


def _saved(stream: Any, path: Path) -> Path:
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file)
    return path


def _share_of_memory(path: Path) -> float:
    """Return what share of the rows that may be in memory a file has."""
    suffix = path.suffix.lower()
    if suffix in (".tsv", ".npz"):
        return 0.0
    if suffix == ".gz":
        return path.stat().st_size / _COMPRESSED_IN_MEMORY
    if suffix not in (".parquet", ".pq"):
        return path.stat().st_size / _TEXT_IN_MEMORY
    from pyarrow import ArrowException, parquet

    try:
        return float(parquet.read_metadata(path).num_rows) / ROWS_IN_MEMORY
    except (ArrowException, OSError):
        return 0.0  # it is read next, and the reader says what is wrong with it


def check_asked_columns(files: ScoreFiles, asked: AskedScores) -> None:
    """Raise if the first file lacks a column that is asked for."""
    if files.paths:
        with _plain_text(files, files.paths[0], only_header=True) as path:
            check_columns([asked.label, *asked.scores, *asked.others], column_names(path), path)


# ------------------------------------------------------------------------------------------------------------- rows


@dataclass(frozen=True)
class ScoredTable:
    """Rows in memory: labels, scores of each model, the subgroup of each row, and the number of its group."""

    labels: Labels
    scores: dict[str, FloatArray]
    by: npt.NDArray[np.object_] | None
    groups: npt.NDArray[np.intp] | None


def read_rows(files: ScoreFiles, asked: AskedScores) -> ScoredTable:
    """Return the rows of all files, checked."""
    tables = []
    for file in files.paths:
        with _plain_text(files, file) as path:
            tables.append(
                read_table(
                    path,
                    [asked.label, *asked.scores, *asked.others],
                    numbers=asked.scores,
                    copied=asked.others,
                    may_be_empty=len(files.paths) > 1,
                )
            )
            check_written_integers(path, tables[-1], asked.scores)
    table = _joined(tables, files.paths)
    if table.num_rows == 0:
        raise ValueError(f"the {len(files.paths)} files have no rows")
    found = labelled_scores(table, asked.label, asked.scores, positive=asked.positive)
    by = None if asked.by is None else _values(table[asked.by], asked.by)
    if by is not None and (number := len(set(by))) > MOST_SUBGROUPS:
        raise ValueError(f"column {asked.by!r} has {number:,} values; --by takes up to {MOST_SUBGROUPS} subgroups")
    groups = None
    if asked.groups is not None:
        # As text in the order of the rows, so that all formats draw the same resamples, and `fit` as well.
        names = np.array([str(name) for name in _values(table[asked.groups], asked.groups)], dtype=object)
        groups = check_groups(names, found.labels.positive)
    return ScoredTable(found.labels, found.scores, by, groups)


def _values(column: pa.ChunkedArray, name: str) -> npt.NDArray[np.object_]:
    check_no_missing(np.asarray(column.is_null(nan_is_null=True)), f"column {name!r}")
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def _joined(tables: Sequence[pa.Table], files: Sequence[Path]) -> pa.Table:
    """Return the rows of all tables; a file whose columns have types of another kind is named."""
    import pyarrow as pa

    if len(tables) == 1:
        return tables[0]
    for table, file in zip(tables[1:], files[1:], strict=True):
        for name in table.column_names:
            kinds = [pa.schema([(name, one.schema.field(name).type)]) for one in (tables[0], table)]
            try:
                pa.unify_schemas(kinds, promote_options="permissive")
            except pa.ArrowException as error:
                here, there = kinds[1].field(0).type, kinds[0].field(0).type
                raise ValueError(
                    f"{file} has another schema than {files[0]}: column {name!r} is {here}, not {there}"
                ) from error
    return pa.concat_tables(tables, promote_options="permissive")


@contextmanager
def _plain_text(files: ScoreFiles, file: Path, *, only_header: bool = False) -> Iterator[Path]:
    """Return the file itself, or a copy of a ``.gz`` file, of its first line alone if that is enough."""
    if not file.name.lower().endswith(".gz"):
        with _renamed_errors(files):
            yield file
        return
    with tempfile.TemporaryDirectory(prefix="tpauc-") as folder:
        path = Path(folder, file.name[: -len(".gz")])
        try:
            with gzip.open(file, "rb") as packed, path.open("wb") as unpacked:
                if only_header:
                    unpacked.write(packed.readline(_LONGEST_HEADER))
                else:
                    _unpack(packed, unpacked)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{file} cannot be read: {error}") from error
        with _renamed_errors(ScoreFiles([], names={str(path): str(file)})):
            yield path


def _unpack(packed: gzip.GzipFile, unpacked: IO[bytes]) -> None:
    while piece := packed.read(1 << 20):
        if unpacked.tell() + len(piece) > _MOST_UNPACKED:
            raise OSError(
                f"it holds more than {_MOST_UNPACKED / 1e9:g} GB; take --engine duckdb, which reads it as it is"
            )
        unpacked.write(piece)


@contextmanager
def _renamed_errors(files: ScoreFiles) -> Iterator[None]:
    """Call temporary files by the names that the user knows."""
    try:
        yield
    except ValueError as error:
        raise type(error)(files.named(str(error))) from error
