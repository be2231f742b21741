"""Train a cell, epoch by epoch with checkpoints, and read its results from the scores of each epoch.

For each region the epoch with the best validation TPAUC is chosen, and the test scores of that epoch are measured. The
test data have no other influence. Equal epochs are told apart as in `tpauc.training`: by OPAUC, AUC and training loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from tpauc.metrics.area import tpauc_score
from tpauc.metrics.intervals import tpauc_interval
from tpauc.paper.data.datasets import Splits
from tpauc.paper.experiments.backbones import Mirrored
from tpauc.paper.experiments.cells import Cell
from tpauc.paper.experiments.image_data import check_scored_on, sizes_of
from tpauc.paper.experiments.methods import METHODS
from tpauc.paper.experiments.recipes import RECIPES
from tpauc.paper.experiments.results import Labels, Result, ScoreFolder, commit, key_of, machine, versions
from tpauc.region import Region
from tpauc.samplers import GENERATOR_LOCK
from tpauc.training.config import TrainConfig
from tpauc.training.data import as_examples, on_device
from tpauc.training.evaluation import Evaluation, rank_of_epoch, scores_of
from tpauc.training.exceptions import CheckpointError
from tpauc.training.fitting import fit

Backbone = Callable[..., nn.Module]


class Trained(NamedTuple):
    """A finished training: the scores of its epochs, their labels, and what was recorded of each epoch."""

    scores: ScoreFolder
    labels: Labels
    history: list[dict[str, float]]


def train_cell(cell: Cell, splits: Splits, out: Path, backbone: Backbone, *, progress: bool = True) -> Trained:
    """Train a cell on the data of ``cell.images``, or the rest of it, in its own folder inside table ``out``.

    ``backbone`` returns a new network, given the keyword arguments ``network`` of the recipe. It is a
    ``BlockingIOError`` if another process is training the cell, and an `UnusableRunError` if the files that an earlier
    session left are damaged.
    """
    scores = ScoreFolder.of(cell, out)
    test = as_examples(splits.test, "test")
    labels = Labels(as_examples(splits.validation, "validation").positive, test.positive)
    config = config_of(cell, cell.folder(out), progress=progress)

    def keep_scores(epoch: int, model: nn.Module, validation: torch.Tensor | None) -> None:
        assert validation is not None, "a cell is always trained with validation data"
        device = next(model.parameters()).device
        on_test = scores_of(
            model, test, batch_size=config.eval_batch_size, forward=lambda images: model(on_device(images, device))
        )
        scores.keep_labels(labels)  # here, where the folder is locked and no other process writes to it
        scores.write(epoch, validation.double().numpy(), on_test.double().numpy())

    loss = METHODS[cell.method].make_loss(dict(cell.parameters), sizes_of(splits.train, "train"))
    model = new_network(cell, backbone)
    augment = RECIPES[cell.recipe].augment
    check_scored_on(scores, **labels._asdict())
    try:
        done = fit(model, splits.train, splits.validation, loss, config, transform=augment, on_epoch=keep_scores)
    except CheckpointError as error:
        raise scores.unusable(str(error)) from error
    scores.check_complete(cell.epochs)
    return Trained(scores, labels, done.history[: cell.epochs])


def config_of(cell: Cell, folder: Path | None, *, progress: bool) -> TrainConfig:
    """Return the settings of a training; settings of the cell and of the method replace those of the recipe."""
    region, parameters = cell.trained_region, dict(cell.parameters)
    return TrainConfig(
        alpha=region.alpha,
        beta=region.beta,
        epochs=cell.epochs,
        seed=cell.seed,
        warmup_epochs=int(parameters.get("warmup_epochs", 0)),
        out=None if folder is None else str(folder),
        tensorboard=False,
        progress=progress,
        **{**RECIPES[cell.recipe].settings, **METHODS[cell.method].settings},
    )


def new_network(cell: Cell, backbone: Backbone) -> nn.Module:
    """Return a network whose weights follow from the seed of the cell alone, without touching global random numbers."""
    recipe = RECIPES[cell.recipe]
    # Networks are made on the CPU. Forking the generators of GPUs would open a context on each.
    with GENERATOR_LOCK, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(cell.seed)
        network = backbone(**recipe.network)
    return Mirrored(network) if recipe.mirrored else network


def best_epoch(trained: Trained, epochs: int, region: Region) -> tuple[int, float]:
    """Return the best of the first ``epochs`` epochs, counted from 1, and its TPAUC on the validation data."""
    rows = [
        {**row, **asdict(Evaluation.of(trained.labels.validation, trained.scores.read(epoch).validation, region))}
        for epoch, row in enumerate(trained.history[:epochs], 1)
    ]
    best = max(rows, key=rank_of_epoch)
    return int(best["epoch"]), best["tpauc"]


def result_of(cell: Cell, region: Region, trained: Trained) -> Result:
    """Return the result of a trained cell in a region."""
    alpha, beta, on_test = region.alpha, region.beta, trained.labels.test
    epoch, validation_tpauc = best_epoch(trained, cell.epochs, region)
    test_scores = trained.scores.read(epoch).test
    interval = tpauc_interval(on_test, test_scores, alpha=alpha, beta=beta, method="bootstrap", random_state=0)
    last = tpauc_score(on_test, trained.scores.read(cell.epochs).test, alpha=alpha, beta=beta)
    n_positive = int(on_test.sum())
    return Result(
        **asdict(key_of(cell, region)),
        tpauc=round(interval.estimate, 6),
        low=round(interval.low, 6),
        high=round(interval.high, 6),
        validation_tpauc=round(validation_tpauc, 6),
        best_epoch=epoch,
        last_tpauc=round(last, 6),
        test_positives=n_positive,
        test_negatives=on_test.size - n_positive,
        seconds=round(trained.history[-1]["seconds"], 1),
        threads=torch.get_num_threads(),
        commit=commit(),
        versions=versions(),
        machine=machine(),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )
