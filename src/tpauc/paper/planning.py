"""How long a cell will take: from cells that are finished, or from a step that is timed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import torch

from tpauc.paper.cells import Cell
from tpauc.paper.datasets import DATASETS
from tpauc.paper.methods import METHODS, ClassSizes
from tpauc.paper.results import Result
from tpauc.paper.running import Backbone, config_of, new_network
from tpauc.training.setup import make_loss, make_optimizer, make_sampler
from tpauc.validation import BoolArray

_TIMED_STEPS = 2


@dataclass(frozen=True)
class PlannedCell:
    """A cell, how many of its epochs are still to be trained, and about how long that takes."""

    cell: Cell
    epochs_left: int
    seconds: float


def known_seconds(cell: Cell, results: Sequence[Result]) -> float | None:
    """Return the mean time of an epoch in finished cells like this one, None if there are none.

    They are of the same data with as many threads, and of the same method if there are any of that.
    """
    place = (cell.dataset, cell.subset, torch.get_num_threads())
    alike = [row for row in results if (row.dataset, row.subset, row.threads) == place]
    chosen = [row for row in alike if row.method == cell.method] or alike
    return fmean(row.seconds / row.epochs for row in chosen) if chosen else None


def timed_seconds(cell: Cell, backbone: Backbone, positive: BoolArray) -> float:
    """Return the time of an epoch over training data with these labels, from steps on blank images.

    One step goes before those that are timed. Augmentation and validation are not counted.
    """
    config = config_of(cell, None, progress=False)
    model = new_network(cell, backbone)
    loss = make_loss(METHODS[cell.method].make_loss(dict(cell.parameters), ClassSizes(1, 10)), config)
    optimizer = make_optimizer(model, loss, config)
    images = torch.zeros(config.batch_size, *DATASETS[cell.dataset].image_shape)
    labels = torch.arange(config.batch_size) < config.batch_size // 10
    seconds = []
    for _ in range(1 + _TIMED_STEPS):
        begun = time.perf_counter()
        optimizer.zero_grad()
        loss(model(images), labels).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begun)
    return fmean(seconds[1:]) * len(make_sampler(positive, config))


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
