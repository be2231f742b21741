"""The image sets in their official layouts: classes, pixels, and digests of all images; damaged files are refused.

**CIFAR-10 and CIFAR-100** are plain bytes, one record per image: one byte for the label (CIFAR-10), or two, coarse and
fine (CIFAR-100), then 3 x 32 x 32 bytes for the red, the green and the blue plane, each row by row. Training and test
files are read as one pool, as in the paper. Files are mapped into memory, so only the requested images are copied.

**Tiny-ImageNet-200** has folders ``train/WNID/images/*.JPEG`` of 64 x 64 images, some of them grey, which are decoded
on demand. A class is a WordNet id (wnid), and its number is the place of that id among the sorted ids. Only the
training folders are used, as in the paper: the official validation images are not among its 500 images per class.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from tpauc._validation import import_extra

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]


# ------------------------------------------------------------------------------------------------------------- damage


def fetch_command(fetch_name: str, folder: Path) -> str:
    """Return the command that fetches a data set into ``folder``, and replaces the files that are there."""
    command = f"tpauc data fetch {fetch_name} --data-dir {shlex.quote(str(folder.parent))}"
    return f"{command} --overwrite" if folder.exists() else command


def damaged_file(path: Path, what: str, command: str) -> ValueError:
    """Return the error for a damaged file; ``what`` continues a sentence that begins with its name.

    ``command``, here and below, fetches the data set.
    """
    return ValueError(f"{path} {what}: it is damaged; run: {command}")


def _existing(path: Path, command: str) -> Path:
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; give the directory that holds the data, or run: {command}")
    return path


def _check_balanced_classes(counts: npt.NDArray[Any], path: Path, command: str) -> None:
    """Raise unless all classes have the same number of images, as the official files have."""
    if counts.min() != counts.max():
        fewest, most = int(counts.argmin()), int(counts.argmax())
        what = f"has {counts[fewest]} images of class {fewest} but {counts[most]} of class {most}"
        raise damaged_file(path, what, command)


# -------------------------------------------------------------------------------------------------------------- CIFAR

CIFAR_SHAPE = (3, 32, 32)
_CIFAR_BYTES = 3 * 32 * 32


@dataclass(frozen=True)
class CifarLayout:
    """The files of a set, and the format of their records."""

    fetch_name: str  # in ``tpauc data fetch``
    folder: str
    files: tuple[str, ...]  # in the order in which their images are numbered
    label_bytes: int  # before the image; the last of them is the class
    n_classes: int

    @property
    def record_bytes(self) -> int:
        """Bytes of one image with its label."""
        return self.label_bytes + _CIFAR_BYTES


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

    ``classes`` is a uint8 array of shape (n,). A missing file is a ``FileNotFoundError``; a file that is cut short or
    holds something else, and classes of different sizes, are a ``ValueError``.

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
        _check_balanced_classes(np.bincount(self.classes, minlength=layout.n_classes), self.folder, command)

    def digests(self) -> Iterator[bytes]:
        """Yield a digest of the pixels of each image."""
        for records in self._records:
            for record in records:
                yield hashlib.blake2b(record[self._label_bytes :], digest_size=16).digest()

    def part(self, rows: Rows, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return some images as one tensor, with their labels."""
        return torch.from_numpy(self.images(rows)), labels

    def images(self, rows: Rows) -> Bytes:
        """Return a copy of some images, shape ``(len(rows), 3, 32, 32)``."""
        images = np.empty((len(rows), _CIFAR_BYTES), dtype=np.uint8)
        start = 0
        for records in self._records:
            here = np.flatnonzero((rows >= start) & (rows < start + len(records)))
            images[here] = records[rows[here] - start, self._label_bytes :]
            start += len(records)
        return images.reshape(-1, *CIFAR_SHAPE)


def _records(path: Path, layout: CifarLayout, command: str) -> Bytes:
    """Map a file as an array of shape ``(images, record_bytes)``, after a check of its size and labels."""
    size = _existing(path, command).stat().st_size
    count, rest = divmod(size, layout.record_bytes)
    if rest or not count:
        raise damaged_file(path, f"has {size:,} bytes, which is no multiple of {layout.record_bytes:,}", command)
    records = np.memmap(path, dtype=np.uint8, mode="r", shape=(count, layout.record_bytes))
    labels = records[:, layout.label_bytes - 1]
    if (wrong := np.flatnonzero(labels >= layout.n_classes)).size:
        what = f"has the label {labels[wrong[0]]} in record {wrong[0] + 1}, where classes end at {layout.n_classes - 1}"
        raise damaged_file(path, what, command)
    return records


# ------------------------------------------------------------------------------------------------------ Tiny-ImageNet

TINY_NAME, TINY_FOLDER = "tiny-imagenet", "tiny-imagenet-200"
_TINY_CLASSES, _TINY_SIDE = 200, 64


class TinyImages(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """JPEG files of 64 x 64 pixels that are decoded on demand; their labels are known beforehand.

    Examples
    --------
    >>> images = TinyImages(["n01443537_0.JPEG", "n01443537_1.JPEG"], torch.tensor([True, False]))
    >>> len(images), images.labels.tolist()
    (2, [True, False])
    """

    def __init__(self, paths: Sequence[str], labels: torch.Tensor) -> None:
        # An array: reading Python strings in a worker process would copy the shared memory, page by page.
        self._paths = np.array(paths, dtype=np.str_)
        self.labels = labels

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, row: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a uint8 tensor of shape ``(3, 64, 64)`` and its label."""
        return read_image(Path(str(self._paths[row]))), self.labels[row]


class TinyImageNetFiles:
    """The training images of Tiny-ImageNet-200, numbered by class and then by name; errors as in `CifarFiles`."""

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / TINY_FOLDER
        command = fetch_command(TINY_NAME, self.folder)
        wnids = _wnids(self.folder / "wnids.txt", command)
        images = [_images_of(self.folder / "train" / wnid / "images", command) for wnid in wnids]
        counts = np.array([len(of_class) for of_class in images])
        _check_balanced_classes(counts, self.folder / "train", command)
        self.classes = np.repeat(np.arange(_TINY_CLASSES), counts)
        self.paths = [path for of_class in images for path in of_class]

    def digests(self) -> Iterator[bytes]:
        """Yield a digest of each file."""
        for path in self.paths:
            yield hashlib.blake2b(Path(path).read_bytes(), digest_size=16).digest()

    def part(self, rows: Rows, labels: torch.Tensor) -> TinyImages:
        """Return some images as a data set that reads them on demand."""
        return TinyImages([self.paths[row] for row in rows], labels)


def read_image(path: Path) -> torch.Tensor:
    """Return an image as a uint8 tensor of shape ``(3, 64, 64)``; a grey image has three equal planes.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> path = Path(tempfile.mkdtemp()) / "grey.JPEG"
    >>> Image.new("L", (64, 64), color=7).save(path)
    >>> read_image(path)[:, 0, 0]
    tensor([7, 7, 7], dtype=torch.uint8)
    """
    pillow = import_extra("PIL.Image", "paper")
    try:
        with pillow.open(path) as picture:
            pixels = np.array(picture.convert("RGB"))
    except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError) as error:
        command = _command_for(path)
        _existing(path, command)
        raise damaged_file(path, f"cannot be decoded ({error})", command) from error
    if pixels.shape != (_TINY_SIDE, _TINY_SIDE, 3):
        what = f"has {pixels.shape[1]} x {pixels.shape[0]} pixels instead of {_TINY_SIDE} x {_TINY_SIDE}"
        raise damaged_file(path, what, _command_for(path))
    return torch.from_numpy(pixels).permute(2, 0, 1).contiguous()


def _command_for(image: Path) -> str:
    """Return how to fetch an image again; its path is ``tiny-imagenet-200/train/WNID/images/NAME`` in any folder."""
    return fetch_command(TINY_NAME, image.parents[3] if len(image.parents) > 3 else Path(TINY_FOLDER))


def _wnids(path: Path, command: str) -> list[str]:
    wnids = sorted(set(_existing(path, command).read_text(encoding="utf-8", errors="replace").split()))
    if len(wnids) != _TINY_CLASSES:
        raise damaged_file(path, f"has {len(wnids)} classes instead of {_TINY_CLASSES}", command)
    return wnids


def _images_of(folder: Path, command: str) -> list[str]:
    found = sorted(str(path) for path in _existing(folder, command).glob("*.JPEG"))
    if not found:
        raise damaged_file(folder, "has no images", command)
    return found
