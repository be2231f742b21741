"""The program ``tpauc``, and ``python -m tpauc``: the command line, or one line that says how to install it."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        from tpauc.cli import main as cli
    except ModuleNotFoundError as error:
        sys.exit(f"tpauc: error: {error.name} is not installed; run: pip install 'tpauc[cli]'")
    except KeyboardInterrupt:
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
