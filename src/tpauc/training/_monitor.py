"""What watches a training run: checks for NaN, the timer of polls and checkpoints, progress line and TensorBoard.

Reading a number from a GPU at every step would make it wait. So each step only records its loss and the largest
magnitude in the gradient of each parameter, on the device. A poll, about twice per second, reads all records at once
and finds the first one that is NaN or infinite, with its step and its cause. Nothing is saved before the records have
been read. Polls are planned in steps, so that processes that train together poll at the same step.
"""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import torch
import torch.distributed as dist
from torch import nn

from tpauc._validation import import_extra

_SECONDS_BETWEEN_POLLS = 0.5
# Largest share of the time since the last checkpoint that saving at the end of an epoch may cost: the disk must not
# slow down epochs of milliseconds.
_SHARE_FOR_SAVING = 0.02
_BAR = 20
_SECONDS_BETWEEN_LINES = 1.0
_ERASE_LINE = "\r\x1b[K"
_NAMES = {"loss": "loss", "tpauc": "TPAUC", "opauc": "OPAUC", "auc": "AUC"}


# -------------------------------------------------------------------------------------------------- NaN and infinities


class NonFiniteError(Exception):
    """Raised by `StepRecorder.collect`: how many steps ago, and what was wrong."""

    def __init__(self, steps_ago: int, cause: str) -> None:
        super().__init__(steps_ago, cause)
        self.steps_ago, self.cause = steps_ago, cause


class StepRecorder:
    """Records the loss of every step and the gradients of the named parameters."""

    def __init__(self, parameters: Iterable[tuple[str, nn.Parameter]]) -> None:
        self._parameters = list(parameters)
        self._losses: list[torch.Tensor] = []
        self._gradients: list[torch.Tensor] = []

    def record(self, loss: torch.Tensor) -> None:
        """Record the loss and the gradients of a step, without waiting for the device."""
        self._losses.append(loss.detach())
        if not self._parameters:
            return
        found = [_values(parameter.grad) for _, parameter in self._parameters]
        gradients = [values for values in found if values is not None]
        # The largest magnitude, because a sum of squares may overflow where every value is finite.
        largest = list(torch._foreach_norm(gradients, math.inf)) if gradients else []
        if len(gradients) < len(found):
            # Which parameters have a gradient may change from step to step; the others count as 0.
            zero, rest = loss.detach().new_zeros(()), iter(largest)
            largest = [zero if values is None else next(rest) for values in found]
        self._gradients.append(torch.stack(largest))

    def collect(self, *, several_processes: bool) -> list[float]:
        """Return the losses recorded since the last call, averaged over processes, or raise `NonFiniteError`."""
        if not self._losses:
            return []
        stacked = torch.stack(self._losses)
        if several_processes:
            # The losses of this package are those of the global batch already; for others the mean is.
            dist.all_reduce(stacked)
            stacked /= dist.get_world_size()
        losses: list[float] = stacked.tolist()
        gradients = torch.stack(self._gradients) if self._gradients else None
        self._losses, self._gradients = [], []
        bad_loss = next((step for step, loss in enumerate(losses) if not math.isfinite(loss)), len(losses))
        if gradients is not None and not gradients[:bad_loss].isfinite().all():
            # A gradient that is not finite spoils the weights and with them the next loss: the earlier is the cause.
            bad = int((~gradients.isfinite()).any(dim=1).int().argmax())
            raise NonFiniteError(len(losses) - 1 - bad, self._describe_gradient(gradients[bad], losses[bad]))
        if bad_loss < len(losses):
            raise NonFiniteError(len(losses) - 1 - bad_loss, f"the loss is {losses[bad_loss]}")
        return losses

    def _describe_gradient(self, largest: torch.Tensor, loss: float) -> str:
        number = int((~largest.isfinite()).int().argmax())
        return f"the gradient of {self._parameters[number][0]!r} is {largest[number].item()}, at a loss of {loss:.6g}"


def _values(gradient: torch.Tensor | None) -> torch.Tensor | None:
    """Return the numbers of a gradient, None if there are none."""
    if gradient is not None and gradient.is_sparse:
        gradient = gradient.coalesce().values()
    return None if gradient is None or gradient.numel() == 0 else gradient


def first_not_finite(named: Iterable[tuple[str, Any]]) -> str | None:
    """Return the name of the first floating-point tensor that holds a NaN or an infinite value."""
    for name, value in named:
        if isinstance(value, torch.Tensor) and value.is_floating_point() and not value.isfinite().all():
            return name
    return None


# --------------------------------------------------------------------------------------------------------------- timer


class RunTimer:
    """Decides when a run polls and when it saves.

    It polls about twice per second. It saves when the last checkpoint is ``checkpoint_seconds`` old, every
    ``checkpoint_steps`` steps, and at the end of an epoch if saving takes a small share of the time. ``seconds`` and
    ``steps`` are those of earlier sessions of the run; ``clock`` returns seconds.
    """

    def __init__(
        self,
        checkpoint_seconds: float,
        checkpoint_steps: int | None,
        *,
        seconds: float = 0.0,
        steps: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._checkpoint_seconds, self._checkpoint_steps = checkpoint_seconds, checkpoint_steps
        self._clock = clock
        self._began = clock() - seconds
        self._polled = self._saved = clock()
        self._steps_polled = self._steps_saved = self.first_step = steps
        self._distance = 1
        self._cost_of_saving = 0.0
        self.next_poll = steps + 1

    def seconds(self) -> float:
        """Return the time that the run has taken, earlier sessions included."""
        return self._clock() - self._began

    def seconds_per_step(self, steps: int) -> float:
        """Return the mean over the steps since the last poll."""
        return (self._clock() - self._polled) / max(steps - self._steps_polled, 1)

    def plan_next_poll(self, steps: int, seconds_per_step: float) -> None:
        """Poll next about half a second from now; the step is the same on every process if the arguments are."""
        wanted = int(_SECONDS_BETWEEN_POLLS / max(seconds_per_step, 1e-9))
        self._distance = max(1, min(wanted, 2 * self._distance))
        self.next_poll = steps + self._distance
        if self._checkpoint_steps is not None:
            self.next_poll = min(self.next_poll, (steps // self._checkpoint_steps + 1) * self._checkpoint_steps)
        self._polled, self._steps_polled = self._clock(), steps

    def save_is_due(self, steps: int, *, epoch_ended: bool) -> bool:
        """Return whether to write a checkpoint after this number of steps."""
        since = self._clock() - self._saved
        by_steps = self._checkpoint_steps is not None and steps - self._steps_saved >= self._checkpoint_steps
        affordable = epoch_ended and self._cost_of_saving <= _SHARE_FOR_SAVING * since
        return by_steps or affordable or since >= self._checkpoint_seconds

    def saved(self, steps: int, *, cost: float) -> None:
        """Record that a checkpoint was written, which took ``cost`` seconds."""
        self._saved, self._steps_saved, self._cost_of_saving = self._clock(), steps, cost


# ---------------------------------------------------------------------------------------------------------------- logs


class ProgressLine:
    """Progress of a run of ``epochs`` epochs, or of ``time_limit`` seconds, on a stream, stderr by default.

    On a terminal the line is redrawn in place, with a bar and the time left. On a file or a pipe there are plain lines:
    one per epoch, but at most one per second.
    """

    def __init__(self, epochs: int, time_limit: float | None = None, stream: IO[str] | None = None) -> None:
        self._epochs = epochs
        self._time_limit = time_limit
        self._stream = sys.stderr if stream is None else stream
        self._on_terminal = self._stream.isatty()
        self._started = time.monotonic()
        self._last_line = -_SECONDS_BETWEEN_LINES

    def step(self, epoch: int, step: int, steps: int, loss: float, steps_left: int, steps_done: int) -> None:
        """Redraw the bar, if the stream is a terminal."""
        if self._on_terminal:
            bar = ("#" * (_BAR * step // steps)).ljust(_BAR, "-")
            left = self._time_left(steps_left, steps_done)
            self._draw(f"epoch {epoch}/{self._epochs} [{bar}] {step}/{steps}  loss {loss:.4g}{left}")

    def epoch(
        self, row: Mapping[str, float], best: Mapping[str, float] | None, steps_left: int, steps_done: int
    ) -> None:
        """Write the line of an epoch that has ended, and which epoch is the best so far."""
        now = time.monotonic()
        if now - self._last_line < _SECONDS_BETWEEN_LINES and row["epoch"] < self._epochs:
            return
        self._last_line = now
        values = "".join(f"  {name} {row[key]:.4g}" for key, name in _NAMES.items() if key in row)
        left = self._time_left(steps_left, steps_done)
        text = f"epoch {int(row['epoch'])}/{self._epochs}{values}{_best_epoch(best)}{left}"
        self._stream.write(f"{_ERASE_LINE if self._on_terminal else ''}{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Remove the bar from the terminal."""
        if self._on_terminal:
            self._draw("")

    def _draw(self, text: str) -> None:
        self._stream.write(_ERASE_LINE + text[: shutil.get_terminal_size().columns - 1])
        self._stream.flush()

    def _time_left(self, steps_left: int, steps_done: int) -> str:
        if steps_left <= 0 or steps_done == 0:
            return ""
        spent = time.monotonic() - self._started
        seconds = spent / steps_done * steps_left
        if self._time_limit is not None:
            seconds = min(seconds, max(self._time_limit - spent, 0.0))
        whole = round(seconds)
        return f"  {whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02} left"


def _best_epoch(best: Mapping[str, float] | None) -> str:
    """Say which epoch is the best, and whether its model reaches the region."""
    if best is None:
        return ""
    if best["tpauc"] == 0.0:
        return f"  (region not reached; best by OPAUC and AUC: epoch {best['epoch']:g})"
    return f"  (best: epoch {best['epoch']:g})"


class TensorBoardLog:
    """Numbers of a run as TensorBoard files; ``first_row`` rows of its history are written already.

    What earlier sessions wrote about steps after ``first_step`` is hidden: those steps are trained again.
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
        """Write the new rows of the history."""
        for row in history[self._rows_written :]:
            for name, value in row.items():
                if name not in ("epoch", "step"):
                    self._writer.add_scalar(f"epoch/{name}", value, int(row["step"]))
        self._rows_written = len(history)
        self._writer.flush()

    def close(self) -> None:
        """Flush and close the files."""
        self._writer.close()
