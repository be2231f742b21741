"""Where a number comes from: the commit, the versions, the machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path

import torch

from tpauc import __version__

_PACKAGE = Path(__file__).parents[2]


@cache
def commit() -> str:
    """Return the commit of this package's source, with "+changes" if files differ from it; empty outside a repository.

    Looked up once a process: what runs is what was imported, not what the files have become since.

    Examples
    --------
    >>> commit() == commit()
    True
    """
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return ""
    changed = _git("status", "--porcelain", "--", ".")
    return f"{_git('rev-parse', 'HEAD')}{'+changes' if changed else ''}"


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=_PACKAGE, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def versions() -> str:
    """Return the versions that decide numbers.

    Examples
    --------
    >>> versions().split()[0]
    'tpauc'
    """
    return (
        f"tpauc {__version__}; Python {platform.python_version()}; torch {torch.__version__}; numpy {version('numpy')}"
    )


def machine() -> str:
    """Return the CUDA devices, of which training takes one, or else the processor and its number of cores.

    Examples
    --------
    >>> "," in machine()
    True
    """
    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name()}, {torch.cuda.device_count()} devices"
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    model = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    processor = model.group(1) if model else platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} cores"
