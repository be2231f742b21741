"""Which images of a data set belong to its long-tailed version, and to which part of it.

The class sizes of a long-tailed set fall exponentially. With ``C`` classes, ``n`` images in the largest class and the
ratio ``rho`` of the smallest to the largest, class ``i`` keeps

    n_i = floor(n * rho^(i / (C - 1)))        i = 0, ..., C - 1

images, drawn at random. Of every class 70 % go to training, 15 % to validation and the rest to the test:
``floor(0.7 n_i)``, ``floor(0.15 n_i)`` and the remaining images. ``rho = 1`` keeps all classes whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc._validation import check_count, check_seed, check_share
from tpauc.region import hard_mass

TRAIN_PERCENT, VALIDATION_PERCENT = 70, 15

Rows = npt.NDArray[np.int64]


class Parts(NamedTuple):
    """The rows of the three parts of a data set."""

    train: Rows
    validation: Rows
    test: Rows


def class_counts(n_classes: int, *, largest: int, ratio: float) -> list[int]:
    """Return the number of images of each class of a long-tailed set.

    Parameters
    ----------
    n_classes : int
        At least 2.
    largest : int
        Size of class 0.
    ratio : float
        Size of the last class divided by the size of class 0, in (0, 1].

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


def split_rows(classes: npt.NDArray[np.integer], keep: Sequence[int], *, seed: int) -> Parts:
    """Draw the images of a long-tailed set and split them.

    The draw from a class depends only on the seed and on the rows of that class.

    Parameters
    ----------
    classes : array of int, shape (n,)
        Class of each image, from 0.
    keep : sequence of int
        How many images to draw from each class; a class with fewer images is taken whole.
    seed : int
        Decides which images are drawn, and to which part each of them goes.

    Returns
    -------
    Parts
        Row numbers, ascending in each part.

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
    return Parts(*(np.sort(np.concatenate(part)) for part in drawn))


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
