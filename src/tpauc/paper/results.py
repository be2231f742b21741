"""The file of results: one CSV row for each finished cell and region, none for an unfinished one.

The rows of a cell are added together, under a lock, by writing a new file and renaming it. So a kill at any moment
leaves the file as it was or with all of them, and several processes may add to one file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tpauc.paper.cells import Cell, Request, parameters_of, parameters_text
from tpauc.paper.file_lock import locked
from tpauc.paper.methods import ClassSizes
from tpauc.region import Region
from tpauc.training.checkpoints import write_atomically
from tpauc.validation import check_results_header, check_same_test_data


@dataclass(frozen=True, kw_only=True)
class Key:
    """What makes it another result: a training, and where it is measured. A file holds each once."""

    dataset: str
    subset: int
    split: int
    recipe: str
    epochs: int
    method: str
    seed: int
    alpha: float
    beta: float
    chosen_for: str
    parameters: str


@dataclass(frozen=True, kw_only=True)
class Result(Key):
    """A row. TPAUC and its limits are shares of 1; ``seconds`` is the time of training so far, over all sessions.

    Attributes
    ----------
    chosen_for, parameters : str
        As in `tpauc.paper.cells.Cell`.
    tpauc, low, high : float
        On the test data, by the epoch with the best TPAUC on the validation data; a 95 % interval over the test set.
    validation_tpauc, best_epoch : float, int
        Of that epoch.
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
        """By which it is found."""
        return Key(**{field.name: getattr(self, field.name) for field in fields(Key)})


COLUMNS = tuple(field.name for field in fields(Result))
_KINDS = {field.name: {"int": int, "float": float, "str": str}[str(field.type)] for field in fields(Result)}


def key_of(cell: Cell, region: Region) -> Key:
    """Return the key of the result of a cell in a region."""
    return Key(
        dataset=cell.dataset,
        subset=cell.subset,
        split=cell.split,
        recipe=cell.recipe,
        epochs=cell.epochs,
        method=cell.method,
        seed=cell.seed,
        alpha=region.alpha,
        beta=region.beta,
        chosen_for=cell.chosen_for,
        parameters=parameters_text(cell.parameters),
    )


def cell_of(key: Key) -> Cell:
    """Return the cell of a result, with the region of that result alone.

    Examples
    --------
    >>> request = Request(dataset="cifar10-lt", subset=1, methods=("TPAUC-Poly",), seeds=(0,), epochs=30)
    >>> (cell,) = request.cells()
    >>> cell_of(key_of(cell, Region(0.3, 0.3))).title == cell.title
    True
    """
    return Cell(
        **{name: getattr(key, name) for name in ("dataset", "subset", "split", "recipe", "epochs", "method", "seed")},
        parameters=parameters_of(key.parameters),
        regions=(Region(key.alpha, key.beta),),
        chosen_for=key.chosen_for,
    )


class ResultsFile:
    """A CSV file of results.

    Parameters
    ----------
    path : Path
        Made with the first row.

    Examples
    --------
    >>> ResultsFile(Path("nowhere/results.csv")).read()
    []
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Result]:
        """Return all rows."""
        if not self.path.exists():
            return []
        with open(self.path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            check_results_header(reader.fieldnames or (), COLUMNS, self.path)
            return [Result(**{name: _KINDS[name](row[name]) for name in COLUMNS}) for row in reader]

    def missing(self, cell: Cell) -> list[Region]:
        """Return the regions of a cell that have no row yet."""
        there = {row.key for row in self.read()}
        return [region for region in cell.regions if key_of(cell, region) not in there]

    def check_data(self, wanted: Request | Cell, sizes: ClassSizes, data_dir: Path) -> None:
        """Raise if there are results for the data set, subset and split that are wanted on other test data."""
        place = (wanted.dataset, wanted.subset, wanted.split)
        for row in self.read():
            if (row.dataset, row.subset, row.split) == place:
                check_same_test_data(
                    (row.test_positives, row.test_negatives),
                    sizes,
                    what="{}, subset {}, split {}".format(*place),
                    path=self.path,
                    data_dir=data_dir,
                )

    def add(self, rows: Sequence[Result]) -> None:
        """Add rows, all of them or none; one whose key is there already stays as it is."""
        with self.locked():
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
        """Keep other processes from adding at the same time; a process that dies lets go of the lock."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.path.with_name(f".{self.path.name}.lock")):
            yield
