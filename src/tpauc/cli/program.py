"""How the program ends and where it speaks: one line on stderr for whatever goes wrong, and an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from tpauc.cli.failures import explained, warnings_in_one_line


def progress(line: str) -> None:
    """Print a line that is not a result."""
    typer.echo(f"tpauc: {line}", err=True)


class OneLineErrors(TyperGroup):
    """Ends a command that fails with one line on stderr; ``--debug`` shows the traceback before it."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        arguments = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        try:
            with warnings_in_one_line(progress):
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
