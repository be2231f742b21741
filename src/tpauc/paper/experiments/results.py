"""What trainings leave: one CSV row per finished cell and region, the scores of each epoch, and their origin.

The rows of a cell are added together, under a lock, by writing a new file and renaming it. So a kill at any moment
leaves the file as it was or with all of them, and several processes can add to one file.

After every epoch the logits of the validation and of the test data go to a small file. So one training serves several
regions: for each region the epoch with the best validation TPAUC is looked up afterwards, and its test scores are
measured.
"""

from __future__ import annotations

import csv
import io
import os
import platform
import re
import subprocess
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from tpauc import __version__
from tpauc._files import locked, remove_leftovers, write_atomically
from tpauc._validation import BoolArray, FloatArray, check_choice
from tpauc.paper.data.datasets import DATASETS, check_subset
from tpauc.paper.experiments.cells import Cell, Training, chosen_region, parameters_of, parameters_text
from tpauc.paper.experiments.methods import METHODS
from tpauc.paper.experiments.recipes import RECIPES
from tpauc.region import Region

_PACKAGE = Path(__file__).parents[2]
# What NumPy raises, depending on where a file of arrays is damaged.
_DAMAGED: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
    SyntaxError,
    TypeError,
    LookupError,
    ValueError,
    EOFError,
    RuntimeError,
)

# ----------------------------------------------------------------------------------------------------------------- rows


@dataclass(frozen=True, kw_only=True)
class Key(Training):
    """What identifies a result: a training, and where it is measured. A file holds each key once."""

    alpha: float
    beta: float
    chosen_for: str
    parameters: str


@dataclass(frozen=True, kw_only=True)
class Result(Key):
    """A row. TPAUC and its limits are shares of 1."""

    tpauc: float  # on the test data, by the epoch with the best TPAUC on the validation data
    low: float  # of a 95 % interval over the test set
    high: float
    validation_tpauc: float
    best_epoch: int
    last_tpauc: float  # on the test data, by the last epoch
    test_positives: int
    test_negatives: int
    seconds: float  # of training, over all sessions
    threads: int
    commit: str
    versions: str
    machine: str
    finished: str

    @property
    def region(self) -> Region:
        """Where it was measured."""
        return Region(self.alpha, self.beta)

    @property
    def key(self) -> Key:
        """The key of this result."""
        return Key(**{field.name: getattr(self, field.name) for field in fields(Key)})


COLUMNS = tuple(field.name for field in fields(Result))
_TYPES = {field.name: {"int": int, "float": float, "str": str}[str(field.type)] for field in fields(Result)}


def key_of(cell: Cell, region: Region) -> Key:
    """Return the key of the result of a cell in a region."""
    return Key(
        **cell.settings(),
        alpha=region.alpha,
        beta=region.beta,
        chosen_for=cell.chosen_for,
        parameters=parameters_text(cell.parameters),
    )


def cell_of(key: Key) -> Cell:
    """Return the cell of a result, with the region of this result only."""
    return Cell(
        **key.settings(),
        parameters=parameters_of(key.parameters),
        regions=(Region(key.alpha, key.beta),),
        chosen_for=key.chosen_for,
    )


def _result_of(values: Sequence[str]) -> Result:
    """Return the result in a line of the file; values that no table can show are an error."""
    if len(values) != len(COLUMNS):
        raise ValueError(f"it has {len(values)} values for {len(COLUMNS)} columns")
    row = Result(**{name: _TYPES[name](value) for name, value in zip(COLUMNS, values, strict=True)})
    check_choice(row.dataset, "dataset", DATASETS)
    check_subset(row.subset, DATASETS[row.dataset].subsets)
    check_choice(row.recipe, "recipe", RECIPES)
    check_choice(row.method, "method", METHODS)
    chosen_region(row.chosen_for, row.region)
    cell_of(row)
    return row


class ResultsFile:
    """A CSV file of results, made with the first row."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Result]:
        """Return all rows; a row that this version could not have written is an error that names its line."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.path} is damaged, it is no text ({error}); choose another --out") from error
        return self._parsed(text)

    def _parsed(self, text: str) -> list[Result]:
        reader = csv.reader(io.StringIO(text, newline=""))
        header = next(reader, [])
        if header != list(COLUMNS):
            raise ValueError(
                f"{self.path} is not a file of results of this version: its columns are "
                f"{', '.join(header) or 'missing'}; choose another --out"
            )
        rows = []
        for values in reader:
            try:
                rows.append(_result_of(values))
            except ValueError as error:
                where = f"{self.path}, line {reader.line_num}"
                raise ValueError(f"{where} is damaged: {error}; remove the line to train it anew") from error
        return rows

    def missing(self, cell: Cell) -> list[Region]:
        """Return the regions of a cell that have no row yet."""
        there = {row.key for row in self.read()}
        return [region for region in cell.regions if key_of(cell, region) not in there]

    def add(self, rows: Sequence[Result]) -> None:
        """Add rows, all of them or none; a row whose key is there already stays as it is."""
        with self.locked():
            remove_leftovers(self.path)
            before = self.read()
            there = {row.key for row in before}
            new = [row for row in rows if row.key not in there]
            text = io.StringIO()
            writer = csv.DictWriter(text, fieldnames=COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(asdict(row) for row in (*before, *new))
            if repr(self._parsed(text.getvalue())) != repr([*before, *new]):  # as text, where NaN is NaN
                raise ValueError(f"{self.path} is not written, because the new rows could not be read again: {new}")
            write_atomically(self.path, text.getvalue().encode())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from adding at the same time; the lock ends with the process."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.path.with_name(f".{self.path.name}.lock")):
            yield


# ----------------------------------------------------------------------------------------------------- scores of epochs


class UnusableRunError(ValueError):
    """The files that an earlier training left are damaged, so it can neither be continued nor measured."""


class EpochScores(NamedTuple):
    """Logits of an epoch."""

    validation: FloatArray
    test: FloatArray


class Labels(NamedTuple):
    """Which rows are positive."""

    validation: BoolArray
    test: BoolArray


class ScoreFolder:
    """Files ``epoch-0001.npz``, ... with the scores of each epoch as float32, and ``labels.npz`` with their labels.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path:
    ...     folder = ScoreFolder(Path(path))
    ...     folder.write(1, np.array([0.5]), np.array([1.5, 2.5]))
    ...     folder.read(1).test, folder.epochs()
    (array([1.5, 2.5]), 1)
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._labels_file = path / "labels.npz"

    @classmethod
    def of(cls, cell: Cell, out: Path) -> ScoreFolder:
        """Return the score folder of ``cell`` inside table ``out``."""
        return cls(cell.folder(out) / "scores")

    def file(self, epoch: int) -> Path:
        """Return the file of an epoch, counted from 1."""
        return self.path / f"epoch-{epoch:04}.npz"

    def write(self, epoch: int, validation: FloatArray, test: FloatArray) -> None:
        """Write the scores of an epoch."""
        self._write(self.file(epoch), validation.astype(np.float32), test.astype(np.float32))

    def read(self, epoch: int) -> EpochScores:
        """Return the scores of an epoch; for a damaged file, raise an error that says what to do."""
        validation, test = self._read(self.file(epoch))
        return EpochScores(validation.astype(np.float64), test.astype(np.float64))

    def labels(self) -> Labels | None:
        """Return the labels of the scored images, None if nothing was scored here."""
        try:
            return Labels(*self._read(self._labels_file))
        except FileNotFoundError:
            return None

    def keep_labels(self, labels: Labels) -> None:
        """Write the labels of the scored images, unless they are there."""
        if not self._labels_file.exists():
            self._write(self._labels_file, *labels)

    def epochs(self) -> int:
        """Return how many epochs have left their scores."""
        count = 0
        while self.file(count + 1).exists():
            count += 1
        return count

    def check_complete(self, epochs: int) -> None:
        """Raise if the scores of some of the ``epochs`` trained epochs are missing."""
        if self.epochs() < epochs:
            raise self.unusable(f"{self.file(self.epochs() + 1)} is missing, of an epoch that is trained already")

    def unusable(self, what: str) -> UnusableRunError:
        """Return an error that says what is wrong with the training, and what to do."""
        return UnusableRunError(f"{what}; remove the folder {self.path.parent} to train it anew")

    def _write(self, file: Path, validation: npt.NDArray[Any], test: npt.NDArray[Any]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        remove_leftovers(file)
        buffer = io.BytesIO()
        np.savez(buffer, validation=validation, test=test)
        for array, found in zip((validation, test), self._arrays(buffer.getvalue(), file), strict=True):
            if array.dtype != found.dtype or not np.array_equal(array, found, equal_nan=True):
                raise ValueError(f"{file} is not written, because its scores could not be read again")
        write_atomically(file, buffer.getbuffer())

    def _read(self, file: Path) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        return self._arrays(file.read_bytes(), file)

    def _arrays(self, contents: bytes, file: Path) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        try:
            # From bytes: NumPy leaves the handle of a damaged file open.
            with np.load(io.BytesIO(contents)) as arrays:
                return arrays["validation"], arrays["test"]
        except _DAMAGED as error:
            raise self.unusable(f"{file} is damaged ({error})") from error


# ---------------------------------------------------------------------------------------------- where numbers come from


@cache
def commit() -> str:
    """Return the commit of this package's source, with "+changes" if files differ from it; empty outside a repository.

    Looked up once per process: the imported code runs, whatever happens to the files later.
    """
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return ""
    changed = _git("status", "--porcelain", "--", ".")
    return f"{_git('rev-parse', 'HEAD')}{'+changes' if changed else ''}"


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=_PACKAGE, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def versions() -> str:
    """Return the versions on which numbers depend."""
    python, numpy = platform.python_version(), version("numpy")
    return f"tpauc {__version__}; Python {python}; torch {torch.__version__}; numpy {numpy}"


def machine() -> str:
    """Return the CUDA devices, one of which a training uses, or else the processor and its number of cores."""
    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name()}, {torch.cuda.device_count()} devices"
    return f"{processor()}, {os.cpu_count()} cores"


def processor() -> str:
    """Return the model of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    model = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return model.group(1) if model else platform.processor() or platform.machine()
