"""Lines about a command that takes long: what it does, the seconds so far, and about how many are left."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

from tpauc.cli.errors import progress

_EVERY = 3.0  # seconds; what is faster is not told of


class Heartbeat:
    """Prints a line on stderr every few seconds until it is left.

    ``what`` says what is being done, ``n_steps`` in about how many steps of equal length. With ``--json`` nothing is
    printed unless stderr is a terminal.

    Examples
    --------
    >>> with Heartbeat("comparing", 2) as beat:
    ...     beat.step()
    >>> Heartbeat("comparing", 2).line(6.0)
    'comparing, 6 s so far'
    """

    def __init__(self, what: str, n_steps: int, *, as_json: bool = False) -> None:
        self.what, self.n_steps = what, n_steps
        self._silent = as_json and not sys.stderr.isatty()
        self._start, self._steps = time.monotonic(), [0.0]  # when each step ended, from the start on
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Heartbeat:
        if not self._silent:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def step(self, *_: object) -> None:
        """Tell that a step is done."""
        self._steps.append(time.monotonic() - self._start)

    def line(self, passed: float) -> str:
        """Return the line for so many seconds since the start; the time left is known once a step is done."""
        done, last = len(self._steps) - 1, self._steps[-1]
        left = last / done * (self.n_steps - done) - (passed - last) if done else 0.0
        return f"{self.what}, {passed:.0f} s so far" + (f", about {left:.0f} s left" if left >= 1.0 else "")

    def _beat(self) -> None:
        while not self._over.wait(_EVERY):
            progress(self.line(time.monotonic() - self._start))
