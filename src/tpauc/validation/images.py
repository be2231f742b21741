"""Image files of the paper's data sets: there, whole, and of the layout that is expected."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc.validation.values import check_count

# Of one content, and of all images the share that only repeats others: far above those of the official CIFAR sets.
_MOST_COPIES, _MOST_REPEATED = 10, 0.01


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


def check_record_count(size: int, record_bytes: int, path: Path, command: str) -> int:
    """Return how many records a file of ``size`` bytes has: a whole number of them, at least one."""
    count, left = divmod(size, record_bytes)
    if left or not count:
        raise damaged_file(path, f"has {size:,} bytes, which is no multiple of {record_bytes:,}", command)
    return count


def check_record_labels(labels: npt.NDArray[np.uint8], n_classes: int, path: Path, command: str) -> None:
    """Raise if a label is not that of a class."""
    wrong = np.flatnonzero(labels >= n_classes)
    if wrong.size:
        what = f"has the label {labels[wrong[0]]} in record {wrong[0] + 1}, where classes end at {n_classes - 1}"
        raise damaged_file(path, what, command)


def check_balanced_classes(counts: npt.NDArray[Any], path: Path, command: str) -> None:
    """Raise unless the official number of images, which is the same for each class, can be there: all are equal."""
    if counts.min() != counts.max():
        fewest, most = int(counts.argmin()), int(counts.argmax())
        what = f"has {counts[fewest]} images of class {fewest} but {counts[most]} of class {most}"
        raise damaged_file(path, what, command)


def check_distinct_images(copies: Collection[int], path: Path, command: str) -> None:
    """Raise if more images have the same content than chance explains: one file copied over another, or blanked out.

    ``copies`` says of each content how many images have it. CIFAR-100 has 26 pairs among 60,000 images, CIFAR-10 none.
    """
    images, most = sum(copies), max(copies)
    if most > _MOST_COPIES:
        raise damaged_file(path, f"has {most:,} images that are all the same", command)
    if images - len(copies) > _MOST_REPEATED * images:
        raise damaged_file(path, f"has {images:,} images of which only {len(copies):,} differ", command)


def check_subset(value: int, known: Collection[int]) -> int:
    """Return the number of a subset if there is one."""
    if check_count(value, "subset") not in known:
        raise ValueError(f"subset must be one of {', '.join(map(str, known))}, got {value!r}")
    return value


def check_image_batch(images: Any) -> None:
    """Raise unless ``images`` is a batch of images, not empty, as a tensor of bytes or floating-point numbers."""
    right_dtype = images.is_floating_point() or str(images.dtype) == "torch.uint8"
    if not right_dtype or images.ndim != 4 or images.numel() == 0:
        raise ValueError(
            "images must be a uint8 or floating tensor of shape (n, channels, height, width), not empty, "
            f"got {str(images.dtype).removeprefix('torch.')} of shape {tuple(images.shape)}"
        )
