"""Train a cell, epoch by epoch with checkpoints, and read its results from the scores that each epoch left.

After every epoch the logits of the validation and of the test data go to a small file. So one training serves several
regions: for each the epoch with the best validation TPAUC is looked up afterwards, the first of equal ones, and the
test scores of that epoch are measured. Nothing else of the test data has any influence.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from tpauc._files import remove_leftovers, write_atomically
from tpauc._validation import BoolArray, FloatArray
from tpauc.metrics.area import area_in_region, tpauc_score
from tpauc.metrics.intervals import tpauc_interval
from tpauc.paper.data.datasets import Splits
from tpauc.paper.experiments.backbones import Mirrored
from tpauc.paper.experiments.cells import Cell
from tpauc.paper.experiments.methods import METHODS
from tpauc.paper.experiments.provenance import commit, machine, versions
from tpauc.paper.experiments.recipes import RECIPES
from tpauc.paper.experiments.request_data import sizes_of
from tpauc.paper.experiments.results import Result, key_of
from tpauc.region import Region
from tpauc.training.config import TrainConfig
from tpauc.training.data import as_examples, on_device
from tpauc.training.evaluation import scores_of
from tpauc.training.exceptions import CheckpointError
from tpauc.training.fitting import fit

Backbone = Callable[..., nn.Module]


class UnusableRunError(ValueError):
    """What an earlier training left in its folder is damaged, so that it can neither go on nor be measured."""


class EpochScores(NamedTuple):
    """Logits of an epoch."""

    validation: FloatArray
    test: FloatArray


class Labels(NamedTuple):
    """Which rows are positive."""

    validation: BoolArray
    test: BoolArray


class ScoreFolder:
    """Files ``epoch-0001.npz``, ... with the scores of each epoch, as float32, and ``labels.npz`` of those examples.

    Parameters
    ----------
    path : Path
        The folder.

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

    @classmethod
    def of(cls, cell: Cell, out: Path) -> ScoreFolder:
        """Return that of a cell in the folder of a table."""
        return cls(cell.folder(out) / "scores")

    def file(self, epoch: int) -> Path:
        """Return the file of an epoch, counted from 1."""
        return self.path / f"epoch-{epoch:04}.npz"

    def write(self, epoch: int, validation: FloatArray, test: FloatArray) -> None:
        """Write the scores of an epoch."""
        self._write(self.file(epoch), validation.astype(np.float32), test.astype(np.float32))

    def read(self, epoch: int) -> EpochScores:
        """Return the scores of an epoch; a damaged file is an error that says what to do."""
        validation, test = self._read(self.file(epoch))
        return EpochScores(validation.astype(np.float64), test.astype(np.float64))

    def labels(self) -> Labels | None:
        """Return the labels that the scores belong to, None if nothing was scored here."""
        try:
            return Labels(*self._read(self._labels_file))
        except FileNotFoundError:
            return None

    def check_labels(self, labels: Labels) -> None:
        """Raise if there are scores of other examples already."""
        if (kept := self.labels()) is not None:
            for part, before, now in zip(Labels._fields, kept, labels, strict=True):
                check_same_labels(before, now, part, self.path)

    def keep_labels(self, labels: Labels) -> None:
        """Write the labels that scores belong to, unless they are there."""
        if not self._labels_file.exists():
            self._write(self._labels_file, *labels)

    @property
    def _labels_file(self) -> Path:
        return self.path / "labels.npz"

    def _write(self, file: Path, validation: npt.NDArray[Any], test: npt.NDArray[Any]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        remove_leftovers(file)
        buffer = io.BytesIO()
        np.savez(buffer, validation=validation, test=test)
        write_atomically(file, buffer.getbuffer())

    def _read(self, file: Path) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        try:
            # By way of bytes: of a damaged file NumPy leaves the handle open.
            with np.load(io.BytesIO(file.read_bytes())) as arrays:
                return arrays["validation"], arrays["test"]
        except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
            raise self.unusable(f"{file} is damaged ({error})") from error

    def epochs(self) -> int:
        """Return how many epochs have left their scores."""
        count = 0
        while self.file(count + 1).exists():
            count += 1
        return count

    def check_complete(self, epochs: int) -> None:
        """Raise if a training of so many epochs has not left the scores of all."""
        if self.epochs() < epochs:
            raise self.unusable(f"{self.file(self.epochs() + 1)} is missing, of an epoch that is trained already")

    def unusable(self, what: str) -> UnusableRunError:
        """Return an error that says what is wrong with the training, and what to do."""
        return UnusableRunError(f"{what}; remove the folder {self.path.parent} to train it anew")


class Trained(NamedTuple):
    """What a training left: the scores of its epochs, the labels they belong to, and how long it took."""

    scores: ScoreFolder
    labels: Labels
    seconds: float


def train_cell(cell: Cell, splits: Splits, out: Path, backbone: Backbone, *, progress: bool = True) -> Trained:
    """Train a cell, or what is left of it.

    Parameters
    ----------
    cell : Cell
        What to train.
    splits : Splits
        The data of ``cell.dataset``, ``cell.subset`` and ``cell.split``.
    out : Path
        Folder of the table; the training has its own folder inside.
    backbone : callable
        Returns a new network, given the keyword arguments ``network`` of the recipe.
    progress : bool, default=True
        Show progress on stderr.

    Raises
    ------
    BlockingIOError
        If another process is training it.
    UnusableRunError
        If what an earlier session left of it is damaged.
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
        scores.keep_labels(labels)  # here, where the folder is claimed, and nobody else writes to it
        scores.write(epoch, validation.double().numpy(), on_test.double().numpy())

    loss = METHODS[cell.method].make_loss(dict(cell.parameters), sizes_of(splits.train, "train"))
    model = new_network(cell, backbone)
    augment = RECIPES[cell.recipe].augment
    scores.check_labels(labels)
    try:
        done = fit(model, splits.train, splits.validation, loss, config, transform=augment, on_epoch=keep_scores)
    except CheckpointError as error:
        raise scores.unusable(str(error)) from error
    scores.check_complete(cell.epochs)
    return Trained(scores, labels, done.history[cell.epochs - 1]["seconds"])


def config_of(cell: Cell, folder: Path | None, *, progress: bool) -> TrainConfig:
    """Return the settings of a training: the cell's own, the method's, and the recipe's where the method has none."""
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
    """Return a network whose weights follow from the cell's seed alone; global random numbers stay as they are."""
    recipe = RECIPES[cell.recipe]
    # Networks are made on the processor. The generators of GPUs are left alone, which would open a context on each.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(cell.seed)
        network = backbone(**recipe.network)
    return Mirrored(network) if recipe.mirrored else network


class BestEpoch(NamedTuple):
    """The epoch, counted from 1, with the best TPAUC on the validation data, and that TPAUC."""

    epoch: int
    tpauc: float


def best_epoch(trained: Trained, epochs: int, region: Region) -> BestEpoch:
    """Return the best of the first ``epochs`` epochs by the validation data, of equal ones the first."""
    values = [
        area_in_region(trained.labels.validation, trained.scores.read(epoch).validation, region)
        for epoch in range(1, epochs + 1)
    ]
    best = int(np.argmax(values))
    return BestEpoch(best + 1, values[best])


def result_of(cell: Cell, region: Region, trained: Trained) -> Result:
    """Return the result of a trained cell in a region."""
    alpha, beta, on_test = region.alpha, region.beta, trained.labels.test
    best = best_epoch(trained, cell.epochs, region)
    test_scores = trained.scores.read(best.epoch).test
    interval = tpauc_interval(on_test, test_scores, alpha=alpha, beta=beta, method="bootstrap", random_state=0)
    last = tpauc_score(on_test, trained.scores.read(cell.epochs).test, alpha=alpha, beta=beta)
    n_positive = int(on_test.sum())
    return Result(
        **asdict(key_of(cell, region)),
        tpauc=round(interval.estimate, 6),
        low=round(interval.low, 6),
        high=round(interval.high, 6),
        validation_tpauc=round(best.tpauc, 6),
        best_epoch=best.epoch,
        last_tpauc=round(last, 6),
        test_positives=n_positive,
        test_negatives=on_test.size - n_positive,
        seconds=round(trained.seconds, 1),
        threads=torch.get_num_threads(),
        commit=commit(),
        versions=versions(),
        machine=machine(),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )


_OTHER_IMAGES = "give the --data-dir of these results, or choose another --out"


def check_same_labels(kept: BoolArray, given: BoolArray, part: str, path: object) -> None:
    """Raise if scores are kept beside other labels than those of the data that are given."""
    if not np.array_equal(kept, given):
        raise ValueError(f"the scores in {path} are not of the {part} images that are given; {_OTHER_IMAGES}")
