"""The folder of a training run: what is in it, who may write to it.

| file | holds |
| --- | --- |
| ``config.json`` | the settings (`tpauc.TrainConfig`) |
| ``last.ckpt`` | all that is needed to go on |
| ``best.ckpt`` | the weights with the best validation TPAUC so far, their epoch and its numbers |
| ``history.csv`` | a row for each epoch |
| ``tensorboard/`` | the same for TensorBoard |

All but TensorBoard's files are written atomically (`tpauc._files`). ``last.ckpt`` holds the best weights
as well: it alone decides how a run goes on, the other files are made from it.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tpauc._files import FileLock, remove_leftovers, write_atomically
from tpauc.training.checkpoints import CheckpointError, load_checkpoint, save_checkpoint

_KIND = "training run"


class RunFolder:
    """The files of a run in a folder.

    Parameters
    ----------
    path : str or path
        The folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path:
    ...     folder = RunFolder(path)
    ...     folder.claim()
    ...     folder.save({"best": None, "history": [{"epoch": 1, "loss": 0.5}]})
    ...     folder.release()
    ...     folder.load()["history"], folder.history.read_text().split()
    ([{'epoch': 1, 'loss': 0.5}], ['epoch,loss', '1,0.5'])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.config = self.path / "config.json"
        self.last = self.path / "last.ckpt"
        self.best = self.path / "best.ckpt"
        self.history = self.path / "history.csv"
        self.tensorboard = self.path / "tensorboard"
        self._lock = FileLock(self.path / ".lock")
        self._best_written: int | None = None

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    def claim(self) -> None:
        """Make the folder if need be, and keep others out until :meth:`release`; a process that dies releases it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(error.errno, f"the folder {self.path} cannot be made: {error.strerror}") from error
        try:
            self._lock.acquire()
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, f"another process is training in the folder {self.path}") from error
        remove_leftovers(self.config, self.last, self.best, self.history)

    def release(self) -> None:
        """Let others in again."""
        self._lock.release()

    def save(self, state: Mapping[str, Any]) -> None:
        """Write the state of a run, and what follows from its entries ``best`` and ``history``."""
        save_checkpoint(self.last, {"kind": _KIND, "state": dict(state)})
        self.write_what_follows(state)

    def write_what_follows(self, state: Mapping[str, Any]) -> None:
        """Write the best weights and the history of a state that is saved."""
        if state["best"] is not None and state["best"]["epoch"] != self._best_written:
            save_checkpoint(self.best, state["best"])
            self._best_written = state["best"]["epoch"]
        if history := state["history"]:
            text = io.StringIO()
            writer = csv.DictWriter(text, fieldnames=list(history[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(history)
            write_atomically(self.history, text.getvalue().encode())

    def load(self) -> dict[str, Any] | None:
        """Return the state that was saved last, None if there is none."""
        if not self.last.exists():
            return None
        contents = load_checkpoint(self.last)
        if contents.get("kind") != _KIND:
            raise CheckpointError(f"{self.last} is a checkpoint, but not the state of a training run")
        state: dict[str, Any] = contents["state"]
        return state
