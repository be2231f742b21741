"""The program ``tpauc``, and ``python -m tpauc``: the command line, or one line that says how to install it."""

from __future__ import annotations

import sys

from tpauc import __version__
from tpauc._validation import import_extra


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["--version"]:  # needs none of the extras
        print(f"tpauc {__version__}")
        return
    try:
        import_extra("typer", "cli")
        from tpauc.cli import main as cli
    except ModuleNotFoundError as error:
        sys.exit(f"tpauc: error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
