"""Fill a table of results: cell by cell, epoch by epoch, without repeating finished work.

The folder of a table holds

| file | holds |
| --- | --- |
| ``results.csv`` | one row for each finished cell and region (`tpauc.paper.experiments.results`) |
| ``results.md`` | the same as tables, with the paper's numbers beside ours |
| ``runs/`` | one folder per training: checkpoints, history, scores of each epoch |

The work can be killed at any moment: the same call continues from the last checkpoint. Several processes can fill one
table; each skips the cells that another one is training.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tpauc._files import remove_leftovers, write_atomically
from tpauc.paper.data.datasets import Splits
from tpauc.paper.experiments.backbones import BACKBONES
from tpauc.paper.experiments.cell_training import Backbone, result_of, train_cell
from tpauc.paper.experiments.cells import Cell, Request
from tpauc.paper.experiments.epoch_scores import ScoreFolder, UnusableRunError
from tpauc.paper.experiments.image_data import ImageData, Say
from tpauc.paper.experiments.planning import PlannedCell, Timing, known_seconds
from tpauc.paper.experiments.provenance import commit
from tpauc.paper.experiments.results import Result, ResultsFile, key_of
from tpauc.paper.experiments.text_tables import as_markdown
from tpauc.training.exceptions import TrainingDivergedError


@dataclass
class Outcome:
    """The outcome of filling a table: its results, and the cells without a result.

    Attributes
    ----------
    results : list of Result
        Of all requested cells that are finished.
    elsewhere : list of str
        Titles of cells that another process is training.
    failed : dict
        The reason by title of the cell: the training has diverged, or files of an earlier session are damaged.
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
        Returns a new network; by default the network of the data set.
    """

    def __init__(self, path: Path, data_dir: Path, *, backbone: Backbone | None = None) -> None:
        self.path, self._backbone = path, backbone
        self.results = ResultsFile(path / "results.csv")
        self.page = path / "results.md"
        self._data = ImageData(data_dir, self.results)

    def fill(self, request: Request, *, say: Say = print, progress: bool = True) -> Outcome:
        """Train the missing cells of a request, and return its results.

        A training that fails gets no row, and the others are trained all the same. Images that cannot be measured in
        all regions, or differ from the images of earlier results, are refused before anything is trained.
        """
        commit()  # looked up now: the files may have changed when the first cell is finished
        outcome, cells, splits = Outcome(), request.cells(), self._splits(request, say)
        for number, cell in enumerate(cells, start=1):
            title = f"cell {number} of {len(cells)}, {cell.title}"
            if not self.results.missing(cell):
                say(f"{title}: done already")
                continue
            assert splits is not None, "the images may be missing only if all cells are finished"
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
        if outcome.results:  # a process may have been killed after writing its row and before the page
            self.render()
        return outcome

    def results_of(self, request: Request) -> list[Result]:
        """Return the rows of the file that belong to a request, in its order."""
        found = {row.key: row for row in self.results.read()}
        keys = [key_of(cell, region) for cell in request.cells() for region in cell.regions]
        return [found[key] for key in keys if key in found]

    def render(self) -> None:
        """Write the page ``results.md`` from the file of results."""
        with self.results.locked():
            remove_leftovers(self.page)
            write_atomically(self.page, as_markdown(self.results.read()).encode())

    def plan(self, request: Request, *, say: Say = print) -> list[PlannedCell]:
        """Return what is left to do, and how long it takes on this machine under its present load.

        Images are refused as in `fill`.
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

    def epochs_left(self, cell: Cell) -> int:
        """Return how many epochs are still to be trained for the results of a cell."""
        return max(cell.epochs - self._scores(cell).epochs(), 0) if self.results.missing(cell) else 0

    def _splits(self, request: Request, say: Say) -> Splits | None:
        """Return the data of a request, None if they are missing and no cell needs them."""
        try:
            return self._data.load(request, say=say)
        except FileNotFoundError:
            if any(self.results.missing(cell) for cell in request.cells()):
                raise
            return None

    def _backbone_of(self, cell: Cell) -> Backbone:
        return self._backbone or BACKBONES[cell.dataset]

    def _scores(self, cell: Cell) -> ScoreFolder:
        return ScoreFolder.of(cell, self.path)
