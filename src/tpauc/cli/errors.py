"""What a user sees when something goes wrong: one line on stderr that says what to do, and an exit code.

| code | what has to change |
| --- | --- |
| 2 | what was typed: an option, a file or column that does not exist, an output that does |
| 1 | what the files hold, or the machine: one class, NaN, an unreadable file, a full disk, a missing package |
| 130 | nothing: Ctrl-C |
"""

from __future__ import annotations

import difflib
import sys
import traceback
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

USAGE, DATA = 2, 1


class UsageError(ValueError):
    """A mistake in what was typed, not in what the files hold: the exit code is 2, not 1."""


def explained(error: Exception) -> tuple[str, int]:
    """Return the line and the exit code of a command that raised ``error``.

    Examples
    --------
    >>> explained(FileNotFoundError(2, "No such file", "x.csv"))
    ('No such file: x.csv', 1)
    >>> explained(KeyError("x"))
    ("unexpected KeyError: 'x'; please report it with what --debug shows", 1)
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
    return " ".join(message.split()), code


def progress(line: str) -> None:
    """Print a line that is not a result, on stderr."""
    typer.echo(f"tpauc: {line}", err=True)


class OneLineErrors(TyperGroup):
    """Ends a command that fails with one line on stderr; ``--debug`` shows the traceback before it."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        arguments = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        try:
            with _one_line_warnings():
                sys.exit(super().main(arguments, *rest, **extra))
        except typer.TyperException as error:
            command = getattr(getattr(error, "ctx", None), "command_path", "tpauc")
            line, code = f"{' '.join(error.format_message().split())} (see {command} --help)", error.exit_code
        except Exception as error:
            line, code = explained(error)
            if "--debug" in arguments:
                traceback.print_exc()
        progress(f"error: {line}")
        sys.exit(code)


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Print each warning as one line, without the line of code that Python shows with it."""

    def show(message: Warning | str, *details: Any, **more: Any) -> None:
        progress(f"warning: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


# ------------------------------------------------------------------------------------- checks of several commands


def check_existing(path: Path, what: str) -> Path:
    """Return ``path`` if it exists."""
    if not path.exists():
        raise UsageError(f"{what} {path} does not exist")
    return path


def check_output_path(path: Path, *, overwrite: bool, suffixes: Collection[str]) -> Path:
    """Return the path of a file that may be written: with a known suffix, and new unless ``overwrite``."""
    if path.suffix.lower() not in suffixes:
        raise UsageError(f"--out must end in {' or '.join(suffixes)}, got {path}")
    if path.is_dir():
        raise UsageError(f"--out must be a file, but {path} is a folder")
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists; choose another --out, or give --overwrite")
    return path


def check_distinct_options(columns: Sequence[str], options: str) -> None:
    """Raise if options that each need their own column name the same column."""
    if twice := [name for name in dict.fromkeys(columns) if columns.count(name) > 1]:
        raise UsageError(f"{options} must name different columns, got {listed(twice)} more than once")


def check_columns(wanted: Sequence[str], found: Sequence[str], where: object) -> None:
    """Raise if the table called ``where`` lacks a column that was asked for, with a guess at what was meant.

    Examples
    --------
    >>> check_columns(["fruad"], ["amount", "fraud"], "data.csv")
    Traceback (most recent call last):
    ...
    tpauc.cli.errors.UsageError: data.csv has no column 'fruad'; did you mean 'fraud'? Its columns are 'amount', 'fraud'
    """
    missing = [name for name in wanted if name not in found]
    if not missing:
        return
    spelled = {name.casefold(): name for name in reversed(found)}
    close = (difflib.get_close_matches(name.casefold(), list(spelled), n=1) for name in missing)
    guesses = list(dict.fromkeys(spelled[name] for names in close for name in names))
    # The list is not cut before a column that may be meant.
    most = max([10, *(found.index(name) + 1 for name in guesses)])
    guess = f"did you mean {listed(guesses)}? Its" if guesses else "its"
    raise UsageError(
        f"{where} has no column{'s' if len(missing) > 1 else ''} {listed(missing)}; {guess} columns are "
        f"{listed(found, most)}"
    )


def listed(values: Sequence[object], most: int = 10) -> str:
    """Return values as text, with commas between them and dots after the first ``most``."""
    return ", ".join(repr(value) for value in values[:most]) + (", ..." if len(values) > most else "")
