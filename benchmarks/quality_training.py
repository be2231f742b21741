"""One training for every loss: from the same start, on the same batches, with the same number of steps.

1. Start at the converged, balanced cross-entropy solution of the family.
2. Train on stratified batches of up to 512 rows, positives and negatives at their natural ratio but at least 1 : 10,
   for 16 epochs of at most 32 steps, with Adam. The model is looked at after 0, 1, 2, 4, 8 and 16 epochs.
3. Choose the length, and the setting of a loss that has one, by the TPAUC of the region on rows held out of the
   training rows: five folds, of which as many are run as it takes to hold out 100 positives. Zero epochs, the start,
   may be chosen as well.
4. Train on all training rows with what was chosen.
"""

from __future__ import annotations

import copy
import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from quality_losses import Loss, Objective
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region
from tpauc.samplers import StratifiedBatchSampler

LENGTHS = (0, 1, 2, 4, 8, 16)
MOST_STEPS = 32  # in an epoch
MOST_ROWS, FEWEST_ROWS = 512, 128  # in a batch
HELD_OUT_POSITIVES = 100

Array = NDArray[Any]
Labels = NDArray[np.bool_]


class Start(NamedTuple):
    """A module that has been trained on cross-entropy, what scales its features, and how to go on from there."""

    module: nn.Module
    scaler: Any
    lr: float
    seconds: float


class Part(NamedTuple):
    """Rows to train on from a start, and rows to score."""

    start: Start
    train_rows: Array
    train_labels: Labels
    scored_rows: Array


class Trained(NamedTuple):
    """Scores of the rows after each number of epochs, and the processor time it took."""

    scores: dict[int, Array]
    seconds: float


class Choice(NamedTuple):
    """What the validation chose for a region."""

    setting: Any
    epochs: int


def train(loss: Loss, setting: Any, region: Region, part: Part, *, epochs: int, seed: int) -> tuple[Trained, str]:
    """Train a copy of the start, and return its scores along the way and the note of the loss."""
    started = time.process_time()
    module = copy.deepcopy(part.start.module)
    x, scored = (_tensor(part.start.scaler.transform(X)) for X in (part.train_rows, part.scored_rows))
    y = torch.from_numpy(part.train_labels.astype(np.float32))
    with torch.random.fork_rng():  # a loss may draw from the global generator
        torch.manual_seed(seed)
        objective = loss.make(setting, region, len(y))
        optimizer = objective.optimizer(module, part.start.lr)
        scores = {0: _scores(module, scored)}
        sampler = _sampler(part.train_labels, seed)
        for epoch in range(1, epochs + 1):
            _epoch(module, objective, optimizer, x, y, itertools.islice(sampler, MOST_STEPS))
            if epoch in LENGTHS:
                scores[epoch] = _scores(module, scored)
    return Trained(scores, time.process_time() - started), objective.note


def _epoch(
    module: nn.Module,
    objective: Objective,
    optimizer: torch.optim.Optimizer,
    x: torch.Tensor,
    y: torch.Tensor,
    batches: Iterator[list[int]],
) -> None:
    module.train()
    for batch in batches:
        rows = torch.tensor(batch)
        optimizer.zero_grad()
        objective.value(module(x[rows]).flatten(), y[rows], rows).backward()
        optimizer.step()


@torch.no_grad()
def _scores(module: nn.Module, x: torch.Tensor) -> Array:
    module.eval()
    return np.asarray(module(x).flatten().double().numpy())


def _tensor(X: Array) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32))


def _sampler(positive: Labels, seed: int) -> StratifiedBatchSampler:
    n, n_positive = positive.size, int(positive.sum())
    ratio = (n_positive, n - n_positive) if n_positive * 10 >= n - n_positive else (1, 10)
    size = min(n, int(np.clip(n // 20, FEWEST_ROWS, MOST_ROWS)))
    return StratifiedBatchSampler(positive, size, ratio=ratio, seed=seed, num_replicas=1, rank=0)


# ------------------------------------------------------------------------------------------------------------ choice


def choose(
    trained: dict[Any, list[Trained]], held_out: Sequence[Labels], regions: Sequence[Region]
) -> dict[Region, Choice]:
    """Return for each region the setting and the length of the highest mean TPAUC over the folds.

    Parameters
    ----------
    trained : dict
        For each setting the trainings of the folds.
    held_out : sequence of arrays
        Labels of the rows that the folds held out.
    regions : sequence of Region
    """
    choices = {}
    for region in regions:
        values = {
            Choice(setting, epochs): np.mean(
                [value(y, fold.scores[epochs], region) for y, fold in zip(held_out, folds, strict=True)]
            )
            for epochs in LENGTHS  # of equal ones the shortest
            for setting, folds in trained.items()
        }
        choices[region] = max(values, key=values.__getitem__)
    return choices


def value(positive: Labels, scores: Array, region: Region) -> float:
    """TPAUC; 0 for a training that has diverged. A region that selects nobody is judged on the one hardest example."""
    if not np.isfinite(scores).all():
        return 0.0
    wide = region.holding_one(int(positive.sum()), int((~positive).sum()))
    return tpauc_score(positive, scores, alpha=wide.alpha, beta=wide.beta)


def folds_to_run(positive: Labels, fold: NDArray[np.intp]) -> list[int]:
    """Return the first folds that hold out enough positives together.

    Examples
    --------
    >>> folds_to_run(np.ones(1000, dtype=bool), np.arange(1000) % 5)
    [0]
    """
    held_out = np.cumsum(np.bincount(fold[positive], minlength=int(fold.max()) + 1))
    return list(range(min(int(np.searchsorted(held_out, HELD_OUT_POSITIVES)) + 1, held_out.size)))
