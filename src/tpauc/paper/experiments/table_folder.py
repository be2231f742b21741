"""Fill a table of results: cell by cell, epoch by epoch, without repeating finished work; or say how long it will take.

The folder of a table holds

| file | holds |
| --- | --- |
| ``results.csv`` | one row for each finished cell and region (`tpauc.paper.experiments.results`) |
| ``results.md`` | the same as tables, with the paper's numbers beside ours |
| ``runs/`` | one folder per training: checkpoints, history, scores of each epoch |

The work can be killed at any moment: the same call continues from the last checkpoint. Several processes can fill one
table; each skips the cells that another one is training. The time of a cell is estimated from finished cells, or from
the time of one training step and one scored batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import torch

from tpauc._files import remove_leftovers, write_atomically
from tpauc.paper.data.datasets import DATASETS, Splits
from tpauc.paper.experiments.backbones import BACKBONES
from tpauc.paper.experiments.cell_training import Backbone, config_of, new_network, result_of, train_cell
from tpauc.paper.experiments.cells import Cell, Request
from tpauc.paper.experiments.image_data import ImageData, Say
from tpauc.paper.experiments.methods import METHODS, ClassSizes
from tpauc.paper.experiments.recipes import RECIPES
from tpauc.paper.experiments.results import Result, ResultsFile, ScoreFolder, UnusableRunError, commit, key_of, machine
from tpauc.paper.experiments.text_tables import results_markdown
from tpauc.training.data import as_examples
from tpauc.training.evaluation import evaluating
from tpauc.training.exceptions import TrainingDivergedError
from tpauc.training.setup import make_fabric, make_loss, make_optimizer, make_sampler

_TIMED = 2


@dataclass
class Outcome:
    """The results of all requested cells that are finished, and the titles of the others.

    ``elsewhere`` has the cells that another process is training; ``failed`` the reasons by cell: the training has
    diverged, or files of an earlier session are damaged.
    """

    results: list[Result] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


class TableFolder:
    """The folder of a table, made when something is written.

    ``backbone`` returns a new network, by default the network of the data set.
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
            write_atomically(self.page, results_markdown(self.results.read()).encode())

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


# ------------------------------------------------------------------------------------------------------------- planning


@dataclass(frozen=True)
class PlannedCell:
    """A cell, how many of its epochs are left, and about how long they take."""

    cell: Cell
    epochs_left: int
    seconds: float


def known_seconds(cell: Cell, results: Sequence[Result]) -> float | None:
    """Return the mean time of an epoch in finished cells like this one, None if there are none.

    Such cells have the same data and recipe, machine and number of threads, and if possible the same method.
    """
    here = (cell.dataset, cell.subset, cell.recipe, machine(), torch.get_num_threads())
    alike = [row for row in results if (row.dataset, row.subset, row.recipe, row.machine, row.threads) == here]
    chosen = [row for row in alike if row.method == cell.method] or alike
    return fmean(row.seconds / row.epochs for row in chosen) if chosen else None


class Timing(NamedTuple):
    """Seconds per training step, augmentation included, and per ``eval_batch_size`` scored images."""

    step: float
    scoring: float

    @classmethod
    def measure(cls, cell: Cell, backbone: Backbone) -> Timing:
        """Time steps and scorings of a cell on blank images, on the device on which it would be trained.

        The first of each is not timed.
        """
        config = config_of(cell, None, progress=False)
        device = make_fabric(config, started_here=False).device
        model = new_network(cell, backbone).to(device)
        made = METHODS[cell.method].make_loss(dict(cell.parameters), ClassSizes(1, 10))
        loss = make_loss(made, config).to(device)
        optimizer = make_optimizer(model, loss, config)
        shape = DATASETS[cell.dataset].image_shape
        batch, scored = (
            torch.zeros(n, *shape, dtype=torch.uint8, device=device)
            for n in (config.batch_size, config.eval_batch_size)
        )
        augment, generator = RECIPES[cell.recipe].augment, torch.Generator(device)
        labels = torch.arange(config.batch_size, device=device) < config.batch_size // 10
        weight = next(model.parameters())

        def step() -> None:
            optimizer.zero_grad()
            loss(model(augment(batch, generator)), labels).backward()
            optimizer.step()
            weight.sum().item()  # waits for a device that works asynchronously

        def score() -> None:
            with evaluating(model), torch.no_grad():
                model(scored).sum().item()

        return cls(_mean_seconds(step), _mean_seconds(score))

    def epoch(self, cell: Cell, splits: Splits) -> float:
        """Return the time of an epoch of a cell: its steps and its scorings, without the reading of files."""
        config = config_of(cell, None, progress=False)
        train = as_examples(splits.train, "train").positive
        scored = sum(as_examples(part, "data").positive.size for part in (splits.validation, splits.test))
        if config.hard_examples != "none":  # which are found by scoring all training data
            scored += train.size
        return self.step * len(make_sampler(train, config)) + self.scoring * scored / config.eval_batch_size


def _mean_seconds(act: Callable[[], None]) -> float:
    seconds = []
    for _ in range(1 + _TIMED):
        begun = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - begun)
    return fmean(seconds[1:])


def duration(seconds: float) -> str:
    """Return a time as words.

    Examples
    --------
    >>> duration(40), duration(400), duration(40_000)
    ('40 s', '7 min', '11.1 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
