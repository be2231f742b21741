"""The images that a request is trained and measured on, and whether earlier results belong to the same images.

Everything that speaks against the images is found before any training: a region that selects none of the examples of a
class, or results that were measured on other images. Images are ordered by their content. So other images, or the same
ones encoded anew, give splits of the same sizes with other examples in them, and the labels come in another order. A
training keeps its labels beside its scores (`ScoreFolder`), so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tpauc._validation import BoolArray
from tpauc.paper.data.datasets import DATASETS, Splits, load_splits
from tpauc.paper.experiments.cells import Images, Request, region_text
from tpauc.paper.experiments.methods import ClassSizes
from tpauc.paper.experiments.results import ResultsFile, ScoreFolder, cell_of
from tpauc.region import Region
from tpauc.training.data import Data, as_examples

Say = Callable[[str], None]

_OTHER_IMAGES = "give the --data-dir of these results, or choose another --out"


class ImageData:
    """The image files of a folder as data for training; the splits loaded last are kept for the next request.

    ``results`` must have been measured on the same test images.
    """

    def __init__(self, data_dir: Path, results: ResultsFile | None = None) -> None:
        self._data_dir, self._results = data_dir, results
        self._last: tuple[Images, Splits] | None = None

    def load(self, request: Request, *, say: Say) -> Splits:
        """Return the data of a request; ``say`` is called with a line if the images are not the official ones.

        It is a ``ValueError`` if a region selects none of the validation or test examples of a class, if results were
        measured on other images, or if a file is damaged.
        """
        splits = self.splits(request.images, say=say)
        check_regions(request, sizes_of(splits.validation, "validation"), sizes_of(splits.test, "test"))
        return splits

    def splits(self, images: Images, *, say: Say = lambda line: None) -> Splits:
        """Return the three parts of ``images``."""
        if self._last is None or self._last[0] != images:
            self._last = images, self._read(images, say)
        return self._last[1]

    def _read(self, images: Images, say: Say) -> Splits:
        splits = load_splits(images.dataset, subset=images.subset, data_dir=self._data_dir, seed=images.split)
        found, image_set = splits.images_per_class, DATASETS[images.dataset]
        if found != image_set.images_per_class:
            remark = f"results for {image_set.title} cannot be compared with the paper's"
            say(f"{self._data_dir} has {found:,} images per class instead of {image_set.images_per_class:,}: {remark}")
        if self._results is not None:
            check_measured_on(self._results, images, splits.test, self._data_dir)
        return splits


def sizes_of(data: Data, name: str) -> ClassSizes:
    """Return the number of examples per class; errors call the data ``name``.

    Examples
    --------
    >>> import torch
    >>> sizes_of((torch.zeros(3, 1), torch.tensor([True, False, False])), "test")
    ClassSizes(positive=1, negative=2)
    """
    return _sizes(as_examples(data, name).positive)


def _sizes(positive: BoolArray) -> ClassSizes:
    n_positive = int(positive.sum())
    return ClassSizes(n_positive, positive.size - n_positive)


# ------------------------------------------------------------------------------------------------- can be measured


def check_regions(request: Request, validation: ClassSizes, test: ClassSizes) -> None:
    """Raise if a region of a request selects none of the validation or test examples of a class.

    Examples
    --------
    >>> request = Request(dataset="cifar10-lt", subset=1, methods=("SqAUC",), seeds=(0,), epochs=30)
    >>> check_regions(request, ClassSizes(positive=4, negative=50), ClassSizes(positive=3, negative=50))
    Traceback (most recent call last):
    ...
    ValueError: (0.3, 0.3) cannot be measured on the test data: alpha=0.3 selects none of the 3 positive examples; \
at least 4 are needed, or a larger alpha
    """
    for region in request.regions:
        _check_measurable(region, validation, "validation")
        _check_measurable(region, test, "test")
    for cell in request.cells():  # a training may validate in another region than it is measured in
        _check_measurable(cell.trained_region, validation, "validation")


def _check_measurable(region: Region, sizes: ClassSizes, part: str) -> None:
    try:
        region.hard_positives(sizes.positive)
        region.hard_negatives(sizes.negative)
    except ValueError as error:
        raise ValueError(f"{region_text(region)} cannot be measured on the {part} data: {error}") from error


# ------------------------------------------------------------------------------------------------- the same images


def check_measured_on(results: ResultsFile, images: Images, test: Data, data_dir: Path) -> None:
    """Raise if there are results for ``images`` that were measured on other data than ``test`` from ``data_dir``.

    For results without their training, only the number of test examples is compared.
    """
    positive = as_examples(test, "test").positive
    given = _sizes(positive)
    for row in results.read():
        if row.images != images:
            continue
        if (row.test_positives, row.test_negatives) != given:
            raise ValueError(
                f"{results.path} holds results of {images.dataset}, subset {images.subset}, split {images.split} on "
                f"{row.test_positives:,} positives and {row.test_negatives:,} negatives, but the test data in "
                f"{data_dir} have {given.positive:,} and {given.negative:,}; {_OTHER_IMAGES}"
            )
        check_scored_on(ScoreFolder.of(cell_of(row), results.path.parent), test=positive)


def check_scored_on(scores: ScoreFolder, **given: BoolArray) -> None:
    """Raise if a folder has scores of other images; ``given`` has the labels by part, validation or test."""
    if (kept := scores.labels()) is None:
        return
    for part, labels in given.items():
        if not np.array_equal(getattr(kept, part), labels):
            raise ValueError(
                f"the scores in {scores.path} are not of the {part} images that are given; {_OTHER_IMAGES}"
            )
