"""How long a cell will take: from finished cells, or from the time of one training step and one scored batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import torch

from tpauc.paper.data.datasets import DATASETS, Splits
from tpauc.paper.experiments.cell_training import Backbone, config_of, new_network
from tpauc.paper.experiments.cells import Cell
from tpauc.paper.experiments.methods import METHODS, ClassSizes
from tpauc.paper.experiments.provenance import machine
from tpauc.paper.experiments.recipes import RECIPES
from tpauc.paper.experiments.results import Result
from tpauc.training.data import as_examples
from tpauc.training.evaluation import evaluating
from tpauc.training.setup import make_fabric, make_loss, make_optimizer, make_sampler

_TIMED = 2


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
