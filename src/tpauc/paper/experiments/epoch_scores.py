"""The scores that each epoch of a training leaves, and the labels of the scored images.

After every epoch the logits of the validation and of the test data go to a small file. So one training serves several
regions: for each region the epoch with the best validation TPAUC is looked up afterwards, and its test scores are
measured.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc._files import remove_leftovers, write_atomically
from tpauc._validation import BoolArray, FloatArray
from tpauc.paper.experiments.cells import Cell


class UnusableRunError(ValueError):
    """The files that an earlier training left are damaged, so it can neither be continued nor measured."""


class EpochScores(NamedTuple):
    """Logits of an epoch."""

    validation: FloatArray
    test: FloatArray


class Labels(NamedTuple):
    """Which rows are positive."""

    validation: BoolArray
    test: BoolArray


class ScoreFolder:
    """Files ``epoch-0001.npz``, ... with the scores of each epoch as float32, and ``labels.npz`` with their labels.

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
        self._labels_file = path / "labels.npz"

    @classmethod
    def of(cls, cell: Cell, out: Path) -> ScoreFolder:
        """Return the score folder of ``cell`` inside table ``out``."""
        return cls(cell.folder(out) / "scores")

    def file(self, epoch: int) -> Path:
        """Return the file of an epoch, counted from 1."""
        return self.path / f"epoch-{epoch:04}.npz"

    def write(self, epoch: int, validation: FloatArray, test: FloatArray) -> None:
        """Write the scores of an epoch."""
        self._write(self.file(epoch), validation.astype(np.float32), test.astype(np.float32))

    def read(self, epoch: int) -> EpochScores:
        """Return the scores of an epoch; for a damaged file, raise an error that says what to do."""
        validation, test = self._read(self.file(epoch))
        return EpochScores(validation.astype(np.float64), test.astype(np.float64))

    def labels(self) -> Labels | None:
        """Return the labels of the scored images, None if nothing was scored here."""
        try:
            return Labels(*self._read(self._labels_file))
        except FileNotFoundError:
            return None

    def keep_labels(self, labels: Labels) -> None:
        """Write the labels of the scored images, unless they are there."""
        if not self._labels_file.exists():
            self._write(self._labels_file, *labels)

    def epochs(self) -> int:
        """Return how many epochs have left their scores."""
        count = 0
        while self.file(count + 1).exists():
            count += 1
        return count

    def check_complete(self, epochs: int) -> None:
        """Raise if the scores of some of the ``epochs`` trained epochs are missing."""
        if self.epochs() < epochs:
            raise self.unusable(f"{self.file(self.epochs() + 1)} is missing, of an epoch that is trained already")

    def unusable(self, what: str) -> UnusableRunError:
        """Return an error that says what is wrong with the training, and what to do."""
        return UnusableRunError(f"{what}; remove the folder {self.path.parent} to train it anew")

    def _write(self, file: Path, validation: npt.NDArray[Any], test: npt.NDArray[Any]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        remove_leftovers(file)
        buffer = io.BytesIO()
        np.savez(buffer, validation=validation, test=test)
        write_atomically(file, buffer.getbuffer())

    def _read(self, file: Path) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        try:
            # From bytes: NumPy leaves the handle of a damaged file open.
            with np.load(io.BytesIO(file.read_bytes())) as arrays:
                return arrays["validation"], arrays["test"]
        except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
            raise self.unusable(f"{file} is damaged ({error})") from error
