"""Fill a table of results: cell by cell, epoch by epoch, whatever has been done before left as it is.

The folder of a table holds

| file | holds |
| --- | --- |
| ``results.csv`` | a row for each finished cell and region (`tpauc.paper.experiments.results`) |
| ``results.md`` | the same as tables, with the paper's numbers beside ours |
| ``runs/`` | a folder for each training: checkpoints, history, scores of each epoch |

It may be killed at any moment: the same call goes on where the last checkpoint stands. Several processes may fill one
table; a cell that another one is training is left to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tpauc._files import remove_leftovers, write_atomically
from tpauc.paper.data.datasets import Splits
from tpauc.paper.experiments.backbones import BACKBONES
from tpauc.paper.experiments.cells import Cell, Request
from tpauc.paper.experiments.measured_data import check_measured_on
from tpauc.paper.experiments.planning import PlannedCell, Timing, known_seconds
from tpauc.paper.experiments.provenance import commit
from tpauc.paper.experiments.rendering import as_markdown
from tpauc.paper.experiments.request_data import RequestData, Say
from tpauc.paper.experiments.results import Result, ResultsFile, key_of
from tpauc.paper.experiments.running import Backbone, ScoreFolder, UnusableRunError, result_of, train_cell
from tpauc.training.exceptions import TrainingDivergedError


@dataclass
class Outcome:
    """What came of filling a table: its results, and the cells that have none.

    Attributes
    ----------
    results : list of Result
        Of all cells that were asked for and are finished.
    elsewhere : list of str
        Titles of cells that another process is training.
    failed : dict
        By title of a cell, what went wrong: it has diverged, or what an earlier session left of it is damaged.
    """

    results: list[Result] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


class TableFolder:
    """The folder of a table.

    Parameters
    ----------
    path : Path
        Made when something is written.
    data_dir : Path
        Where the images are.
    backbone : callable, optional
        Returns a new network; by default that of the data set.

    Examples
    --------
    >>> request = Request(dataset="cifar10-lt", subset=1, methods=("SqAUC",), seeds=(0,), epochs=30)
    >>> outcome = TableFolder(Path("table"), Path("data")).fill(request)  # doctest: +SKIP
    """

    def __init__(self, path: Path, data_dir: Path, *, backbone: Backbone | None = None) -> None:
        self.path, self._data, self._backbone = path, RequestData(data_dir), backbone
        self.results = ResultsFile(path / "results.csv")
        self.page = path / "results.md"
        self._checked: set[tuple[str, int, int]] = set()

    def fill(self, request: Request, *, say: Say = print, progress: bool = True) -> Outcome:
        """Train what is missing of a request, and return its results.

        A training that fails gets no row and does not keep the others from being trained. Images that cannot be
        measured in all regions, or are not those of the results that are there, are refused before anything is trained.
        """
        commit()  # of the files as they are when they are imported, not when the first cell is finished
        outcome, cells, splits = Outcome(), request.cells(), self._splits(request, say)
        for number, cell in enumerate(cells, start=1):
            title = f"cell {number} of {len(cells)}, {cell.title}"
            if not self.results.missing(cell):
                say(f"{title}: done already")
                continue
            assert splits is not None, "only a table without gaps is shown without its images"
            say(f"{title}: {cell.epochs} epochs, {self._scores(cell).epochs()} of them trained before")
            try:
                trained = train_cell(cell, splits, self.path, self._backbone_of(cell), progress=progress)
                rows = [result_of(cell, region, trained) for region in cell.regions]
            except BlockingIOError:
                say(f"{title}: another process is training it")
                outcome.elsewhere.append(cell.title)
            except (TrainingDivergedError, UnusableRunError) as error:
                say(f"{title}: {error}")
                outcome.failed[cell.title] = str(error)
            else:
                self.results.add(rows)
                self.render()
        outcome.results = self.results_of(request)
        if outcome.results:  # a process that was killed may have written its row, and no page
            self.render()
        return outcome

    def results_of(self, request: Request) -> list[Result]:
        """Return the rows of the file that belong to a request, in its order."""
        found = {row.key: row for row in self.results.read()}
        keys = [key_of(cell, region) for cell in request.cells() for region in cell.regions]
        return [found[key] for key in keys if key in found]

    def render(self) -> None:
        """Write the page anew from the file of results."""
        with self.results.locked():
            remove_leftovers(self.page)
            write_atomically(self.page, as_markdown(self.results.read()).encode())

    def plan(self, request: Request, *, say: Say = print) -> list[PlannedCell]:
        """Return what is left to do, and about how long it takes on this machine as busy as it is.

        Images are refused as by `fill`.
        """
        splits, results, timing, planned = self._splits(request, say), self.results.read(), None, []
        for cell in request.cells():
            epochs, seconds = self.epochs_left(cell), known_seconds(cell, results)
            if epochs and seconds is None:
                assert splits is not None, "there are epochs to train"
                timing = timing or Timing.measure(cell, self._backbone_of(cell))
                seconds = timing.epoch(cell, splits)
            planned.append(PlannedCell(cell, epochs, epochs * (seconds or 0.0)))
        return planned

    def _splits(self, request: Request, say: Say) -> Splits | None:
        """Return the data of a request, None if they are not there and nothing needs them."""
        try:
            splits = self._data.load(request, say=say)
        except FileNotFoundError:
            if any(self.results.missing(cell) for cell in request.cells()):
                raise
            return None
        place = (request.dataset, request.subset, request.split)
        if place not in self._checked:  # once is enough: what comes later is measured on these
            check_measured_on(self.results, request, splits.test, self._data.data_dir)
            self._checked.add(place)
        return splits

    def _backbone_of(self, cell: Cell) -> Backbone:
        return self._backbone or BACKBONES[cell.dataset]

    def _scores(self, cell: Cell) -> ScoreFolder:
        return ScoreFolder.of(cell, self.path)

    def epochs_left(self, cell: Cell) -> int:
        """Return how many epochs are still to be trained for the results of a cell."""
        return max(cell.epochs - self._scores(cell).epochs(), 0) if self.results.missing(cell) else 0
