"""Where a number comes from: the commit of the source, the versions of the packages, the machine."""

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

    Looked up once per process: the imported code runs, whatever happens to the files later.
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
    """Return the versions on which numbers depend."""
    python, numpy = platform.python_version(), version("numpy")
    return f"tpauc {__version__}; Python {python}; torch {torch.__version__}; numpy {numpy}"


def machine() -> str:
    """Return the CUDA devices, one of which a training uses, or else the processor and its number of cores."""
    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name()}, {torch.cuda.device_count()} devices"
    return f"{processor()}, {os.cpu_count()} cores"


def processor() -> str:
    """Return the model of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    model = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return model.group(1) if model else platform.processor() or platform.machine()
