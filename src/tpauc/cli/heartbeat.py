"""A line on stderr at least every two seconds while a command works, so that nobody waits in silence.

A training reports its steps (`tpauc.classifiers.progress`), but one step may take long on large data. So a thread of
its own prints what was reported last, and for how long the work has been going on.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from tpauc.cli.errors import progress

EVERY = 2.0  # seconds
_CLEARED = "\r\x1b[K"  # back to the begin of the line, which is emptied


@contextmanager
def heartbeat(what: str, *, every: float = EVERY) -> Iterator[None]:
    """Print how far the work called ``what`` is, every so many seconds while the context lasts.

    On a terminal the line replaces the last one, elsewhere lines follow each other.

    Examples
    --------
    >>> with heartbeat("training"):
    ...     pass
    """
    from tpauc.classifiers.progress import Progress, progress_to

    start, ended, last = time.monotonic(), threading.Event(), ""

    def keep(reported: Progress) -> None:
        nonlocal last
        last = f": {reported}"

    def beat() -> None:
        while not ended.wait(every):
            _show(f"{what}{last}; {time.monotonic() - start:.0f} s so far")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        with progress_to(keep, every=every / 10.0):
            yield
    finally:
        ended.set()
        thread.join()
        if sys.stderr.isatty():
            typer.echo(_CLEARED, nl=False, err=True)


def _show(line: str) -> None:
    if sys.stderr.isatty():
        typer.echo(f"{_CLEARED}tpauc: {line}", nl=False, err=True)
    else:
        progress(line)
