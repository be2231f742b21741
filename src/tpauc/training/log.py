"""What a training run shows: a line of progress, and TensorBoard files.

On a terminal the line is redrawn in place, with a bar and the time left; elsewhere (a file, a pipe) there are plain
lines, one for each epoch but at most one a second.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from tpauc._validation import import_extra

_BAR = 20
_SECONDS_BETWEEN_LINES = 1.0
_ERASE_LINE = "\r\x1b[K"
_NAMES = {"loss": "loss", "tpauc": "TPAUC", "opauc": "OPAUC", "auc": "AUC"}


class ProgressLine:
    """Progress of a run on a stream, stderr by default.

    Parameters
    ----------
    epochs : int
        Of the whole run.
    time_limit : float, optional
        Seconds after which the run ends in any case.
    stream : file, optional
        Where to write. Whether it is a terminal decides the form.

    Examples
    --------
    >>> line = ProgressLine(epochs=2, stream=sys.stdout)
    >>> line.epoch({"epoch": 1, "loss": 0.25, "tpauc": 0.5}, best_epoch=1, steps_left=0, steps_done=10)
    epoch 1/2  loss 0.25  TPAUC 0.5  (best: epoch 1)
    """

    def __init__(self, epochs: int, time_limit: float | None = None, stream: IO[str] | None = None) -> None:
        self._epochs = epochs
        self._time_limit = time_limit
        self._stream = sys.stderr if stream is None else stream
        self._on_terminal = self._stream.isatty()
        self._started = time.monotonic()
        self._last_line = -_SECONDS_BETWEEN_LINES

    def step(self, epoch: int, step: int, steps: int, loss: float, steps_left: int, steps_done: int) -> None:
        """Redraw the bar; on anything but a terminal, nothing."""
        if self._on_terminal:
            bar = ("#" * (_BAR * step // steps)).ljust(_BAR, "-")
            left = self._left(steps_left, steps_done)
            self._draw(f"epoch {epoch}/{self._epochs} [{bar}] {step}/{steps}  loss {loss:.4g}{left}")

    def epoch(self, row: Mapping[str, float], best_epoch: int | None, steps_left: int, steps_done: int) -> None:
        """Write the line of an epoch that has ended."""
        now = time.monotonic()
        if now - self._last_line < _SECONDS_BETWEEN_LINES and row["epoch"] < self._epochs:
            return
        self._last_line = now
        values = "".join(f"  {name} {row[key]:.4g}" for key, name in _NAMES.items() if key in row)
        best = "" if best_epoch is None else f"  (best: epoch {best_epoch})"
        self.note(f"epoch {int(row['epoch'])}/{self._epochs}{values}{best}{self._left(steps_left, steps_done)}")

    def note(self, text: str) -> None:
        """Write a line that stays."""
        self._stream.write(f"{_ERASE_LINE if self._on_terminal else ''}{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Take the bar off the terminal."""
        if self._on_terminal:
            self._draw("")

    def _draw(self, text: str) -> None:
        self._stream.write(_ERASE_LINE + text[: shutil.get_terminal_size().columns - 1])
        self._stream.flush()

    def _left(self, steps_left: int, steps_done: int) -> str:
        if steps_left <= 0 or steps_done == 0:
            return ""
        spent = time.monotonic() - self._started
        seconds = spent / steps_done * steps_left
        if self._time_limit is not None:
            seconds = min(seconds, max(self._time_limit - spent, 0.0))
        return f"  {_clock(seconds)} left"


class TensorBoardLog:
    """Numbers of a run as TensorBoard files.

    Parameters
    ----------
    folder : Path
        Where to write.
    first_step : int
        Steps done when the session begins. What earlier sessions wrote after them is hidden: the run has gone back.
    first_row : int
        How many rows of the history are written already.
    """

    def __init__(self, folder: Path, *, first_step: int, first_row: int) -> None:
        import_extra("tensorboard", "train")
        tensorboard: Any = import_module("torch.utils.tensorboard")
        self._writer = tensorboard.SummaryWriter(str(folder), purge_step=first_step + 1)
        self._rows_written = first_row

    def step(self, step: int, loss: float) -> None:
        """Write the mean loss of the steps since the last call."""
        self._writer.add_scalar("step/loss", loss, step)

    def epochs(self, history: Sequence[Mapping[str, float]]) -> None:
        """Write the rows of the history that are new."""
        for row in history[self._rows_written :]:
            for name, value in row.items():
                if name not in ("epoch", "step"):
                    self._writer.add_scalar(f"epoch/{name}", value, int(row["step"]))
        self._rows_written = len(history)
        self._writer.flush()

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()


def _clock(seconds: float) -> str:
    """Return a duration as h:mm:ss.

    >>> _clock(3725.4)
    '1:02:05'
    """
    whole = round(seconds)
    return f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"
