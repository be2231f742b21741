"""The file of results: one CSV row for each finished cell and region.

The rows of a cell are added together, under a lock, by writing a new file and renaming it. So a kill at any moment
leaves the file as it was or with all of them, and several processes can add to one file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tpauc._files import locked, remove_leftovers, write_atomically
from tpauc._validation import check_choice
from tpauc.paper.data.datasets import DATASETS, check_subset
from tpauc.paper.experiments.cells import Cell, Training, chosen_region, parameters_of, parameters_text
from tpauc.paper.experiments.methods import METHODS
from tpauc.paper.experiments.recipes import RECIPES
from tpauc.region import Region


@dataclass(frozen=True, kw_only=True)
class Key(Training):
    """What identifies a result: a training, and where it is measured. A file holds each key once."""

    alpha: float
    beta: float
    chosen_for: str
    parameters: str


@dataclass(frozen=True, kw_only=True)
class Result(Key):
    """A row. TPAUC and its limits are shares of 1; ``seconds`` is the time of training over all sessions.

    Attributes
    ----------
    chosen_for, parameters : str
        As in `tpauc.paper.experiments.cells.Cell`.
    tpauc, low, high : float
        On the test data, by the epoch with the best TPAUC on the validation data; a 95 % interval over the test set.
    validation_tpauc, best_epoch : float, int
        TPAUC of that epoch on the validation data, and its number.
    last_tpauc : float
        On the test data, by the last epoch.
    """

    tpauc: float
    low: float
    high: float
    validation_tpauc: float
    best_epoch: int
    last_tpauc: float
    test_positives: int
    test_negatives: int
    seconds: float
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
    """A CSV file of results.

    Parameters
    ----------
    path : Path
        Made with the first row.
    """

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
            write_atomically(self.path, text.getvalue().encode())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from adding at the same time; the lock ends with the process."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.path.with_name(f".{self.path.name}.lock")):
            yield
