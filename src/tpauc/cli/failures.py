"""What a user sees of an error: one line that says what to do, and an exit code.

| code | what has to change |
| --- | --- |
| 2 | what was typed: an option, a file or column that is not there, an output that is |
| 1 | what the files hold, or the machine: one class, NaN, an unreadable file, a full disk, a missing package |
| 130 | nothing, Ctrl-C |
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tpauc.cli._checks import UsageError

USAGE, DATA = 2, 1


class Failure(NamedTuple):
    """A line without a line break, and the exit code."""

    line: str
    code: int


def explained(error: Exception) -> Failure:
    """Return how a command ends that raised ``error``.

    Examples
    --------
    >>> explained(UsageError("--alpha must be a share"))
    Failure(line='--alpha must be a share', code=2)
    >>> explained(FileNotFoundError(2, "No such file", "x.csv"))
    Failure(line='No such file: x.csv', code=1)
    >>> explained(KeyError("x"))
    Failure(line="unexpected KeyError: 'x'; please report it with what --debug shows", code=1)
    """
    code = USAGE if isinstance(error, UsageError) else DATA
    if isinstance(error, OSError) and error.strerror:
        message = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    elif isinstance(error, MemoryError):
        message = str(error) or "not enough memory"
    elif isinstance(error, ValueError | OSError | ModuleNotFoundError):
        message = str(error) or type(error).__name__
    else:
        message = f"unexpected {type(error).__name__}: {error}; please report it with what --debug shows"
    return Failure(" ".join(message.split()), code)


@contextmanager
def warnings_in_one_line(say: Callable[[str], None]) -> Iterator[None]:
    """Hand warnings to ``say`` as one line each, without the line of code that Python shows with them."""

    def show(message: Warning | str, *details: Any, **more: Any) -> None:
        say(f"warning: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
