"""One process at a time: a lock on a file, which a process that dies lets go of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def locked(path: Path, *, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Keep other processes that lock the same file out, once they have left it themselves.

    Parameters
    ----------
    path : path
        The file, which is made and removed again. Its folder must exist.
    waiting : callable, optional
        Called before a wait for another process.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with locked(Path(folder) / ".lock"):
    ...         print(os.listdir(folder))
    ...     print(os.listdir(folder))
    ['.lock']
    []
    """
    try:
        import fcntl
    except ImportError:  # Windows: let one process at a time work in a folder there.
        yield
        return
    while True:
        with path.open("w") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.lockf(file, fcntl.LOCK_EX)
            if _stands_at(path, file):
                try:
                    yield
                finally:
                    path.unlink()
                return


def _stands_at(path: Path, file: IO[str]) -> bool:
    """Whether a file is still the one at a path: whoever had the lock before has removed it."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
