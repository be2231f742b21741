"""CIFAR-10 and CIFAR-100 in their official binary layout: plain bytes, one record an image.

A record is one byte for the label (CIFAR-10), or two, coarse and fine (CIFAR-100), then 3 x 32 x 32 bytes: the red, the
green and the blue plane, each row by row. Training and test files are read as one pool, as the paper does; files are
mapped into memory, so only the images asked for are copied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from tpauc.paper.data._checks import check_balanced_classes, check_data_file, damaged_file, fetch_command
from tpauc.paper.data.long_tail import Rows

IMAGE_SHAPE = (3, 32, 32)
_IMAGE_BYTES = 3 * 32 * 32

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class CifarLayout:
    """Where the files of a set are, and how their records begin.

    Attributes
    ----------
    fetch_name : str
        What ``tpauc data fetch`` calls the set.
    folder : str
        Folder inside the data directory.
    files : tuple of str
        In the order in which their images are numbered.
    label_bytes : int
        Bytes before the image; the last of them is the class.
    n_classes : int

    Examples
    --------
    >>> CIFAR100.record_bytes
    3074
    """

    fetch_name: str
    folder: str
    files: tuple[str, ...]
    label_bytes: int
    n_classes: int

    @property
    def record_bytes(self) -> int:
        """Bytes of one image with its label."""
        return self.label_bytes + _IMAGE_BYTES


CIFAR10 = CifarLayout(
    fetch_name="cifar10",
    folder="cifar-10-batches-bin",
    files=(*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"),
    label_bytes=1,
    n_classes=10,
)
CIFAR100 = CifarLayout(
    fetch_name="cifar100", folder="cifar-100-binary", files=("train.bin", "test.bin"), label_bytes=2, n_classes=100
)


class CifarFiles:
    """The images of CIFAR-10 or CIFAR-100, numbered through all files.

    Parameters
    ----------
    data_dir : path
        Directory that holds the folder of the set.
    layout : CifarLayout
        ``CIFAR10`` or ``CIFAR100``.

    Attributes
    ----------
    folder : Path
        That of the set.
    classes : uint8 array, shape (n,)
        Class of each image; there are equally many of each.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is cut short or holds something else.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / CIFAR10.folder
    >>> folder.mkdir()
    >>> for name in CIFAR10.files:  # ten black images in each, one of each class
    ...     written = (folder / name).write_bytes(b"".join(bytes([label]) + bytes(3072) for label in range(10)))
    >>> files = CifarFiles(folder.parent, CIFAR10)
    >>> files.classes.size, files.images(np.array([7, 59])).shape
    (60, (2, 3, 32, 32))
    """

    def __init__(self, data_dir: Path, layout: CifarLayout) -> None:
        self._label_bytes = layout.label_bytes
        self.folder = data_dir / layout.folder
        command = fetch_command(layout.fetch_name, self.folder)
        self._records = [_records(self.folder / name, layout, command) for name in layout.files]
        self.classes = np.concatenate([records[:, layout.label_bytes - 1] for records in self._records])
        check_balanced_classes(np.bincount(self.classes, minlength=layout.n_classes), self.folder, command)

    def digests(self) -> Iterator[bytes]:
        """Yield a digest of each image's pixels."""
        for records in self._records:
            for record in records:
                yield hashlib.blake2b(record[self._label_bytes :], digest_size=16).digest()

    def part(self, rows: Rows, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return some images as one tensor, with their labels."""
        return torch.from_numpy(self.images(rows)), labels

    def images(self, rows: Rows) -> Bytes:
        """Return a copy of some images, shape ``(len(rows), 3, 32, 32)``."""
        images = np.empty((len(rows), _IMAGE_BYTES), dtype=np.uint8)
        start = 0
        for records in self._records:
            here = np.flatnonzero((rows >= start) & (rows < start + len(records)))
            images[here] = records[rows[here] - start, self._label_bytes :]
            start += len(records)
        return images.reshape(-1, *IMAGE_SHAPE)


def _records(path: Path, layout: CifarLayout, command: str) -> Bytes:
    """Map a file as an array of shape ``(images, record_bytes)``, its size and labels checked."""
    size = check_data_file(path, command).stat().st_size
    count = _check_record_count(size, layout.record_bytes, path, command)
    records = np.memmap(path, dtype=np.uint8, mode="r", shape=(count, layout.record_bytes))
    _check_record_labels(records[:, layout.label_bytes - 1], layout.n_classes, path, command)
    return records


def _check_record_count(size: int, record_bytes: int, path: Path, command: str) -> int:
    """Return how many records a file of ``size`` bytes has: a whole number of them, at least one."""
    count, left = divmod(size, record_bytes)
    if left or not count:
        raise damaged_file(path, f"has {size:,} bytes, which is no multiple of {record_bytes:,}", command)
    return count


def _check_record_labels(labels: npt.NDArray[np.uint8], n_classes: int, path: Path, command: str) -> None:
    """Raise if a label is not that of a class."""
    wrong = np.flatnonzero(labels >= n_classes)
    if wrong.size:
        what = f"has the label {labels[wrong[0]]} in record {wrong[0] + 1}, where classes end at {n_classes - 1}"
        raise damaged_file(path, what, command)
