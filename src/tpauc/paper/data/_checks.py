"""Checks of image files, which may be damaged or missing."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy.typing as npt


def fetch_command(fetch_name: str, folder: Path) -> str:
    """Return the command that brings a data set to ``folder``, and replaces what is there of it."""
    command = f"tpauc data fetch {fetch_name} --data-dir {shlex.quote(str(folder.parent))}"
    return f"{command} --overwrite" if folder.exists() else command


def damaged_file(path: Path, what: str, command: str) -> ValueError:
    """Return the error for a file that is not what it should be; ``what`` continues a sentence that begins with it.

    ``command``, here and below, is the one that fetches the data set.
    """
    return ValueError(f"{path} {what}: it is damaged; run: {command}")


def check_data_file(path: Path, command: str) -> Path:
    """Return ``path`` if there is something there."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; give the directory that holds the data, or run: {command}")
    return path


def check_balanced_classes(counts: npt.NDArray[Any], path: Path, command: str) -> None:
    """Raise unless the official number of images, which is the same for each class, can be there: all are equal."""
    if counts.min() != counts.max():
        fewest, most = int(counts.argmin()), int(counts.argmax())
        what = f"has {counts[fewest]} images of class {fewest} but {counts[most]} of class {most}"
        raise damaged_file(path, what, command)
