"""The paper's nine binary image sets: three subsets each of CIFAR-10-LT, CIFAR-100-LT and Tiny-ImageNet-200.

The class sizes of a long-tailed set fall exponentially. With ``C`` classes, ``n`` images in the largest class and the
ratio ``rho`` of the smallest to the largest, class ``i`` keeps

    n_i = floor(n * rho^(i / (C - 1)))        i = 0, ..., C - 1

images, drawn at random. Of every class 70 % go to training, 15 % to validation and the rest to the test:
``floor(0.7 n_i)``, ``floor(0.15 n_i)`` and the remaining images. ``rho = 1`` keeps all classes whole.

A subset calls some classes positive and all others negative; the three subsets of a set have the same images. Here
``rho = 0.01`` for both CIFAR sets, training and test images pooled, and ``rho = 1`` for Tiny-ImageNet:

| set | classes | n | sizes against the paper's table |
| --- | --- | --- | --- |
| CIFAR-10-LT | 10 | 6,000 | within 2 images |
| CIFAR-100-LT | 100 | 600 | smaller: the paper's fit n = 1,000, but a class has 600 images |
| Tiny-ImageNet-200 | 200 | 500 | equal |

With n = 1,000 the rule gives CIFAR-100-LT's printed positives to within 3 images and its negatives to within 50.

No image is in two parts: of images with the same content (CIFAR-100 has 26 pairs, most of them in two classes) only the
image of the lowest class is kept, before anything is drawn. Content is compared by a digest of the pixels, for
Tiny-ImageNet of the JPEG file. Rows are in the order of the digests, so the parts of a seed do not depend on the order
of the images in the files. Files with many equal images are damaged, and refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

from tpauc._validation import check_choice, check_count, check_path, check_seed, check_share
from tpauc.paper.data.image_files import (
    CIFAR10,
    CIFAR100,
    CIFAR_SHAPE,
    TINY_NAME,
    CifarFiles,
    Rows,
    TinyImageNetFiles,
    damaged_file,
    fetch_command,
)
from tpauc.region import hard_mass
from tpauc.training.data import Data

TRAIN_PERCENT, VALIDATION_PERCENT = 70, 15

# --------------------------------------------------------------------------------------------------------- the sets


@dataclass(frozen=True)
class Subset:
    """One row of the paper's data table.

    Attributes
    ----------
    positive_classes : tuple of int
        Numbers of the classes that are positive.
    positive_name : str
        Their name in the paper.
    paper_positives, paper_negatives : int
        Number of examples in all three parts, as printed in the paper.
    paper_train_positives, paper_train_negatives : int
        Number of examples in the training part, as printed in the paper's appendix.
    """

    positive_classes: tuple[int, ...]
    positive_name: str
    paper_positives: int
    paper_negatives: int
    paper_train_positives: int
    paper_train_negatives: int


@dataclass(frozen=True)
class ImageSet:
    """A data set of the paper, with its three subsets.

    Attributes
    ----------
    title : str
        Its name in the paper.
    fetch_name : str
        Name of its files in ``tpauc data fetch``.
    image_shape : tuple of int
        Channels, height, width.
    n_classes : int
    images_per_class : int
        Of the official files.
    ratio : float
        ``rho``, the size of the smallest class divided by the size of the largest.
    subsets : mapping from 1, 2, 3 to Subset

    Examples
    --------
    >>> cifar = DATASETS["cifar10-lt"]
    >>> cifar.counts()[2], cifar.subsets[1].paper_positives
    (2156, 2155)
    """

    title: str
    fetch_name: str
    image_shape: tuple[int, int, int]
    n_classes: int
    images_per_class: int
    ratio: float
    subsets: Mapping[int, Subset]

    def counts(self, images_per_class: int | None = None) -> list[int]:
        """Return how many images each class keeps, by default with the official number of images per class."""
        largest = self.images_per_class if images_per_class is None else images_per_class
        return class_counts(self.n_classes, largest=largest, ratio=self.ratio)


def _subsets(*subsets: Subset) -> Mapping[int, Subset]:
    return MappingProxyType(dict(enumerate(subsets, start=1)))


_VEHICLES = (70, 81, 94, 107, 111, 116, 121, 133, 145, 153, 164, 166)

DATASETS: dict[str, ImageSet] = {
    "cifar10-lt": ImageSet(
        title="CIFAR-10-LT",
        fetch_name=CIFAR10.fetch_name,
        image_shape=CIFAR_SHAPE,
        n_classes=10,
        images_per_class=6000,
        ratio=0.01,
        subsets=_subsets(
            Subset((2,), "birds", 2155, 12729, 1508, 8907),
            Subset((1,), "automobiles", 3596, 11288, 2517, 7898),
            Subset((3,), "cats", 1292, 13592, 904, 9511),
        ),
    ),
    "cifar100-lt": ImageSet(
        title="CIFAR-100-LT",
        fetch_name=CIFAR100.fetch_name,
        image_shape=CIFAR_SHAPE,
        n_classes=100,
        images_per_class=600,
        ratio=0.01,
        # The order of the paper's table; its text swaps the first two.
        subsets=_subsets(
            Subset((6, 7, 14, 18, 24), "insects", 2756, 18938, 1928, 13218),
            Subset((0, 51, 53, 57, 83), "fruits and vegetables", 1266, 20428, 885, 14261),
            Subset((15, 19, 21, 32, 38), "large omnivores and herbivores", 1678, 20016, 1172, 13974),
        ),
    ),
    "tiny-imagenet": ImageSet(
        title="Tiny-ImageNet-200-LT",
        fetch_name=TINY_NAME,
        image_shape=(3, 64, 64),
        n_classes=200,
        images_per_class=500,
        ratio=1.0,
        subsets=_subsets(
            Subset((24, 25, 26, 27, 28, 29), "dogs", 3000, 97000, 2100, 67900),
            Subset((11, 20, 21, 22), "birds", 2000, 98000, 1400, 68600),
            Subset(_VEHICLES, "vehicles", 6000, 94000, 4200, 65800),
        ),
    ),
}


# ------------------------------------------------------------------------------------------------ classes and parts


def class_counts(n_classes: int, *, largest: int, ratio: float) -> list[int]:
    """Return the number of images of each class: ``largest`` of class 0, ``ratio`` times as many of the last class.

    Examples
    --------
    >>> class_counts(10, largest=6000, ratio=0.01)
    [6000, 3596, 2156, 1292, 774, 464, 278, 166, 100, 60]
    """
    n_classes = check_count(n_classes, "n_classes", at_least=2)
    largest, ratio = check_count(largest, "largest"), check_share(ratio, "ratio")
    return [hard_mass(largest, ratio ** (number / (n_classes - 1))) for number in range(n_classes)]


def part_sizes(count: int) -> tuple[int, int, int]:
    """Return how many of ``count`` images of a class are for training, for validation and for the test.

    Examples
    --------
    >>> part_sizes(2156)
    (1509, 323, 324)
    """
    train, validation = count * TRAIN_PERCENT // 100, count * VALIDATION_PERCENT // 100
    return train, validation, count - train - validation


def split_rows(classes: npt.NDArray[np.integer], keep: Sequence[int], *, seed: int) -> list[Rows]:
    """Draw ``keep[i]`` images of class ``i``, and return the ascending rows of training, validation and test.

    A class with fewer images is taken whole. The draw from a class depends only on the seed and on the rows of that
    class; ``classes`` has the class of each image.

    Examples
    --------
    >>> parts = split_rows(np.array([0] * 20 + [1] * 20), [20, 10], seed=0)
    >>> [rows.size for rows in parts]
    [21, 4, 5]
    """
    drawn: list[list[Rows]] = [[], [], []]
    for number, count in enumerate(keep):
        rng = np.random.default_rng([check_seed(seed), number])
        chosen = rng.permutation(np.flatnonzero(classes == number))[:count]
        train, validation, _ = part_sizes(chosen.size)
        for part, some in zip(drawn, np.split(chosen, [train, train + validation]), strict=True):
            part.append(some)
    return [np.sort(np.concatenate(part)) for part in drawn]


def distinct_rows(digests: Sequence[bytes], classes: npt.NDArray[np.integer]) -> Rows:
    """Return one row per content, in the order of the digests, which does not depend on the order in the files.

    Of rows with the same content the row of the lowest class is returned.

    Examples
    --------
    >>> distinct_rows([b"b", b"a", b"b", b"c"], np.array([1, 0, 0, 1]))
    array([1, 2, 3])
    """
    by_content: dict[bytes, int] = {}
    for row in sorted(range(len(digests)), key=lambda row: (digests[row], classes[row])):
        by_content.setdefault(digests[row], row)
    return np.array(list(by_content.values()), dtype=np.int64)


# ---------------------------------------------------------------------------------------------------------- loading


@dataclass(frozen=True)
class Splits:
    """The three parts of a data set, in the form that `tpauc.fit` and `tpauc.evaluate` take.

    Attributes
    ----------
    train, validation, test : (images, labels) or Dataset
        CIFAR: a uint8 tensor of shape ``(n, 3, 32, 32)`` and a bool tensor of shape ``(n,)``. Tiny-ImageNet: a data set
        of pairs ``(uint8 tensor of shape (3, 64, 64), label)`` with all labels in its attribute ``labels``.
    images_per_class : int
        Number of images per class in the files.
    """

    train: Data
    validation: Data
    test: Data
    images_per_class: int


class _ImageFiles(Protocol):
    """The files of a set: the class and a digest of each image, and data made from some of the images."""

    @property
    def folder(self) -> Path: ...

    @property
    def classes(self) -> npt.NDArray[np.integer]: ...

    def digests(self) -> Iterator[bytes]: ...

    def part(self, rows: Rows, labels: torch.Tensor) -> Data: ...


_READERS: dict[str, Callable[[Path], _ImageFiles]] = {
    "cifar10-lt": partial(CifarFiles, layout=CIFAR10),
    "cifar100-lt": partial(CifarFiles, layout=CIFAR100),
    "tiny-imagenet": TinyImageNetFiles,
}


_MOST_COPIES, _MOST_REPEATED = 10, 0.01


def load_splits(name: str, *, subset: int, data_dir: Path | str, seed: int = 0) -> Splits:
    """Return training, validation and test data of one of the nine sets, from the files of ``tpauc data fetch``.

    ``seed`` decides which images are drawn and how they are split, in the same way for every subset. If the files have
    fewer images per class than the official ones, the counts rule starts at that number. A missing file is a
    ``FileNotFoundError`` and a damaged one a ``ValueError``; both name the file and the command that fetches it.

    Examples
    --------
    >>> splits = load_splits("cifar10-lt", subset=1, data_dir="data")  # doctest: +SKIP
    >>> images, labels = splits.train  # doctest: +SKIP
    >>> images.shape, int(labels.sum())  # doctest: +SKIP
    (torch.Size([10417, 3, 32, 32]), 1509)
    >>> load_splits("cifar10-lt", subset=1, data_dir="nowhere")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    FileNotFoundError: nowhere...data_batch_1.bin does not exist; ... run: tpauc data fetch cifar10 --data-dir nowhere
    """
    image_set = DATASETS[check_choice(name, "name", DATASETS)]
    positive_classes = image_set.subsets[check_subset(subset, image_set.subsets)].positive_classes
    files = _READERS[name](Path(check_path(data_dir, "data_dir")))
    images_per_class = int(np.count_nonzero(files.classes == 0))
    digests = list(files.digests())
    command = fetch_command(image_set.fetch_name, files.folder)
    _check_distinct_images(Counter(digests).values(), files.folder, command)
    rows = distinct_rows(digests, files.classes)
    parts = split_rows(files.classes[rows], image_set.counts(images_per_class), seed=seed)
    positive = np.isin(files.classes, positive_classes)
    train, validation, test = (files.part(rows[some], torch.from_numpy(positive[rows[some]])) for some in parts)
    return Splits(train=train, validation=validation, test=test, images_per_class=images_per_class)


def _check_distinct_images(copies: Collection[int], path: Path, command: str) -> None:
    """Raise if too many images are equal, because one file was copied over another, or was blanked out.

    ``copies`` holds the number of images per content. CIFAR-100 has 26 pairs among 60,000 images, CIFAR-10 none.
    """
    images, most = sum(copies), max(copies)
    if most > _MOST_COPIES:
        raise damaged_file(path, f"has {most:,} images that are all the same", command)
    if images - len(copies) > _MOST_REPEATED * images:
        raise damaged_file(path, f"has {images:,} images of which only {len(copies):,} differ", command)


def check_subset(value: int, known: Collection[int]) -> int:
    """Return ``value`` if there is a subset with that number."""
    if check_count(value, "subset") not in known:
        raise ValueError(f"subset must be one of {', '.join(map(str, known))}, got {value!r}")
    return value
