"""When a training run looks around, and when it saves.

It looks around about twice a second, counted in steps so that processes that train together do so at the same step. It
saves when the last checkpoint is old enough, and at the end of an epoch if that takes little of its time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_SECONDS_BETWEEN_LOOKS = 0.5
# Of the time since the last checkpoint, at the end of an epoch: epochs of milliseconds are not held up by the disk.
_SHARE_FOR_SAVING = 0.02


class Pace:
    """The clock of a session of a run.

    Parameters
    ----------
    checkpoint_seconds : float
        Longest time between two checkpoints.
    checkpoint_steps : int, optional
        Also save after so many steps.
    seconds, steps : float, int
        What earlier sessions of the run have taken and done.
    clock : callable
        Returns seconds.

    Examples
    --------
    >>> now = 0.0
    >>> pace = Pace(60.0, None, clock=lambda: now)
    >>> pace.next_look
    1
    >>> now = 0.1
    >>> pace.plan_next_look(1, pace.seconds_per_step(1))
    >>> pace.next_look  # five steps would take half a second, but the distance at most doubles
    3
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
        self._looked = self._saved = clock()
        self._steps_looked = self._steps_saved = self.first_step = steps
        self._distance = 1
        self._cost_of_saving = 0.0
        self.next_look = steps + 1

    def seconds(self) -> float:
        """Return how long the run has taken, earlier sessions included."""
        return self._clock() - self._began

    def seconds_per_step(self, steps: int) -> float:
        """Return the mean over the steps since the last look."""
        return (self._clock() - self._looked) / max(steps - self._steps_looked, 1)

    def plan_next_look(self, steps: int, seconds_per_step: float) -> None:
        """Look next about half a second from now; the same on every process if the argument is."""
        wanted = int(_SECONDS_BETWEEN_LOOKS / max(seconds_per_step, 1e-9))
        self._distance = max(1, min(wanted, 2 * self._distance))
        self.next_look = steps + self._distance
        if self._checkpoint_steps is not None:
            self.next_look = min(self.next_look, (steps // self._checkpoint_steps + 1) * self._checkpoint_steps)
        self._looked, self._steps_looked = self._clock(), steps

    def save_is_due(self, steps: int, *, epoch_ended: bool) -> bool:
        """Whether a checkpoint is to be written after so many steps."""
        since = self._clock() - self._saved
        by_steps = self._checkpoint_steps is not None and steps - self._steps_saved >= self._checkpoint_steps
        affordable = epoch_ended and self._cost_of_saving <= _SHARE_FOR_SAVING * since
        return by_steps or affordable or since >= self._checkpoint_seconds

    def saved(self, steps: int, *, cost: float) -> None:
        """Note that a checkpoint was written, which took ``cost`` seconds."""
        self._saved, self._steps_saved, self._cost_of_saving = self._clock(), steps, cost
