"""The exceptions that training raises."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any


class CheckpointError(ValueError):
    """A file is not a checkpoint of this package, is damaged, or belongs to another model.

    Examples
    --------
    >>> from tpauc import load_checkpoint
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     load_checkpoint(file.name)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tpauc.training.exceptions.CheckpointError: ... is not a checkpoint of this package: save_checkpoint did not write it
    """


class TrainingDivergedError(FloatingPointError):
    """A loss, a gradient, a weight or a score has become NaN or infinite.

    Parameters
    ----------
    epoch, step : int
        Where it happened, each counted from 1; the step counts within its epoch.
    cause : str
        What was found.
    checkpoint : Path or None
        The last checkpoint with finite weights, None if there is none.

    Examples
    --------
    >>> print(TrainingDivergedError(2, 7, "the loss is nan", None))
    training stopped in epoch 2 at step 7: the loss is nan; nothing was saved before
    """

    def __init__(self, epoch: int, step: int, cause: str, checkpoint: Path | None) -> None:
        super().__init__(epoch, step, cause, checkpoint)
        self.epoch, self.step, self.cause, self.checkpoint = epoch, step, cause, checkpoint

    def __str__(self) -> str:
        kept = "nothing was saved before"
        if self.checkpoint is not None:
            kept = f"the last good checkpoint is {self.checkpoint}"
        return f"training stopped in epoch {self.epoch} at step {self.step}: {self.cause}; {kept}"


class TrainingInterrupted(SystemExit):
    """Training was asked to stop and has saved its state.

    A script that does not catch it ends without a traceback and with the usual exit code: 143 after SIGTERM, 130 after
    Ctrl-C. After Ctrl-C the exception is also a ``KeyboardInterrupt`` and can be caught as one.

    Parameters
    ----------
    signal_number : int
        The signal that arrived, ``signal.SIGTERM`` or ``signal.SIGINT``.
    where : str
        How far training had come.
    checkpoint : Path or None
        The file that was saved; None if the run has no folder.

    Examples
    --------
    >>> try:
    ...     raise interrupted(signal.SIGTERM, "in epoch 2 after 7 of 40 steps", Path("run/last.ckpt"))
    ... except TrainingInterrupted as stop:
    ...     print(stop.code, stop.checkpoint.name)
    143 last.ckpt
    """

    def __init__(self, signal_number: int, where: str, checkpoint: Path | None) -> None:
        super().__init__(128 + signal_number)
        self.signal_number, self.where, self.checkpoint = signal_number, where, checkpoint

    def __str__(self) -> str:
        saved = "Nothing was saved."
        if self.checkpoint is not None:
            saved = f"Saved in {self.checkpoint}; to resume, run the same again (resume='auto')."
        return f"Interrupted by {signal.Signals(self.signal_number).name} {self.where}. {saved}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.signal_number, self.where, self.checkpoint)


class TrainingInterruptedByUser(TrainingInterrupted, KeyboardInterrupt):
    """What Ctrl-C raises: see :class:`TrainingInterrupted`."""


def interrupted(signal_number: int, where: str, checkpoint: Path | None) -> TrainingInterrupted:
    """Return the exception to raise after a signal."""
    kind = TrainingInterruptedByUser if signal_number == signal.SIGINT else TrainingInterrupted
    return kind(signal_number, where, checkpoint)
