"""Tiny-ImageNet-200 in its official folders, read lazily: ``train/WNID/images/*.JPEG``, 64 x 64, some of them grey.

A class is a WordNet id (wnid), and its number is the place of that id among the sorted ones. Only the training folders
are used, as in the paper: the official validation images are not among its 500 images a class.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

from tpauc._validation import import_extra
from tpauc.paper.data._checks import check_balanced_classes, check_data_file, damaged_file, fetch_command
from tpauc.paper.data.long_tail import Rows

FETCH_NAME, FOLDER = "tiny-imagenet", "tiny-imagenet-200"
N_CLASSES = 200
SIDE = 64


class TinyImages(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Images that are decoded when they are asked for, with labels that are known without.

    Parameters
    ----------
    paths : sequence of str
        JPEG files of 64 x 64 pixels, in colour or grey.
    labels : bool tensor, shape (n,)
        True for the positive class.

    Examples
    --------
    >>> images = TinyImages(["n01443537_0.JPEG", "n01443537_1.JPEG"], torch.tensor([True, False]))
    >>> len(images), images.labels.tolist()
    (2, [True, False])
    """

    def __init__(self, paths: Sequence[str], labels: torch.Tensor) -> None:
        # An array: reading Python strings in a worker process would copy, page by page, the memory that it shares.
        self._paths = np.array(paths, dtype=np.str_)
        self.labels = labels

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, row: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a uint8 tensor of shape ``(3, 64, 64)`` and its label."""
        return read_image(Path(str(self._paths[row]))), self.labels[row]


class TinyImageNetFiles:
    """The training images of Tiny-ImageNet-200, numbered by class and then by name.

    Parameters
    ----------
    data_dir : path
        Directory that holds the folder of the set.

    Attributes
    ----------
    folder : Path
        That of the set.
    classes : int array, shape (n,)
        Class of each image; there are equally many of each.
    paths : list of str

    Raises
    ------
    FileNotFoundError
        If the folder or one of its classes is missing.
    ValueError
        If classes have lost images.

    Examples
    --------
    >>> files = TinyImageNetFiles(Path("data"))  # doctest: +SKIP
    >>> files.classes.size, Path(files.paths[0]).name  # doctest: +SKIP
    (100000, 'n01443537_0.JPEG')
    """

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir / FOLDER
        command = fetch_command(FETCH_NAME, self.folder)
        wnids = _wnids(self.folder / "wnids.txt", command)
        images = [_images_of(self.folder / "train" / wnid / "images", command) for wnid in wnids]
        counts = np.array([len(of_class) for of_class in images])
        check_balanced_classes(counts, self.folder / "train", command)
        self.classes = np.repeat(np.arange(N_CLASSES), counts)
        self.paths = [path for of_class in images for path in of_class]

    def digests(self) -> Iterator[bytes]:
        """Yield a digest of each file."""
        for path in self.paths:
            yield hashlib.blake2b(Path(path).read_bytes(), digest_size=16).digest()

    def part(self, rows: Rows, labels: torch.Tensor) -> TinyImages:
        """Return some images as a data set that reads them when asked."""
        return TinyImages([self.paths[row] for row in rows], labels)


def read_image(path: Path) -> torch.Tensor:
    """Return an image as a uint8 tensor of shape ``(3, 64, 64)``; a grey one has three equal planes.

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
        command = _fetch_command(path)
        check_data_file(path, command)
        raise damaged_file(path, f"cannot be decoded ({error})", command) from error
    if pixels.shape != (SIDE, SIDE, 3):
        what = f"has {pixels.shape[1]} x {pixels.shape[0]} pixels instead of {SIDE} x {SIDE}"
        raise damaged_file(path, what, _fetch_command(path))
    return torch.from_numpy(pixels).permute(2, 0, 1).contiguous()


def _fetch_command(path: Path) -> str:
    """Return how to get an image anew: ``tiny-imagenet-200/train/WNID/images/NAME``, in whatever folder that is."""
    return fetch_command(FETCH_NAME, path.parents[3] if len(path.parents) > 3 else Path(FOLDER))


def _wnids(path: Path, command: str) -> list[str]:
    wnids = sorted(set(check_data_file(path, command).read_text(encoding="utf-8", errors="replace").split()))
    if len(wnids) != N_CLASSES:
        raise damaged_file(path, f"has {len(wnids)} classes instead of {N_CLASSES}", command)
    return wnids


def _images_of(folder: Path, command: str) -> list[str]:
    found = sorted(str(path) for path in check_data_file(folder, command).glob("*.JPEG"))
    if not found:
        raise damaged_file(folder, "has no images", command)
    return found
