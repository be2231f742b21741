"""A line on stderr at least every two seconds while a command works, so that nobody waits in silence.

A thread of its own prints the lines, because a single step may take long on large data. Each line says what is being
done, about how many seconds are left if that is known, and how many have passed.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import typer

from tpauc.cli.errors import progress

EVERY = 2.0  # seconds
_CLEARED = "\r\x1b[K"  # back to the begin of the line, which is emptied


class Heartbeat:
    """Prints a line every few seconds until it is left; on a terminal each line replaces the last one.

    ``what`` says what is being done, ``n_steps`` in about how many steps of equal length. With ``as_json`` nothing is
    printed unless stderr is a terminal.

    Examples
    --------
    >>> with Heartbeat("comparing", 2) as beat:
    ...     beat.step()
    >>> Heartbeat("comparing", 2).line(6.0)
    'comparing; 6 s so far'
    """

    def __init__(self, what: str, n_steps: int = 1, *, as_json: bool = False, every: float | None = None) -> None:
        self.what, self.n_steps, self.every = what, n_steps, every or EVERY
        self._silent = as_json and not sys.stderr.isatty()
        self._start, self._steps = time.monotonic(), [0.0]  # when each step ended, from the start on
        self._told = ""
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
        if sys.stderr.isatty():
            typer.echo(_CLEARED, nl=False, err=True)

    def step(self, *_: object) -> None:
        """Tell that a step is done."""
        self._steps.append(time.monotonic() - self._start)

    def tell(self, what: object) -> None:
        """Tell what is being done in particular."""
        self._told = f": {what}"

    def line(self, passed: float) -> str:
        """Return the line for so many seconds since the start; the time left is known once a step is done."""
        done, last = len(self._steps) - 1, self._steps[-1]
        left = last / done * (self.n_steps - done) - (passed - last) if done else 0.0
        about = f", about {left:.0f} s left" if left >= 1.0 else ""
        return f"{self.what}{self._told}{about}; {passed:.0f} s so far"

    def _beat(self) -> None:
        while not self._over.wait(self.every):
            line = self.line(time.monotonic() - self._start)
            if sys.stderr.isatty():
                typer.echo(f"{_CLEARED}tpauc: {line}", nl=False, err=True)
            else:
                progress(line)


@contextmanager
def training_heartbeat(what: str, *, every: float = EVERY) -> Iterator[None]:
    """Print what the trainings inside the context report of themselves (`tpauc.classifiers.progress`).

    Examples
    --------
    >>> with training_heartbeat("training"):
    ...     pass
    """
    from tpauc.classifiers.progress import progress_to

    with Heartbeat(what, every=every) as beat, progress_to(beat.tell, every=every / 10.0):
        yield
