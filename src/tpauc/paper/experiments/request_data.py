"""The images that a request is trained and measured on, and what speaks against them, found before any training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tpauc.paper.data.datasets import DATASETS, Splits, load_splits
from tpauc.paper.experiments.cells import Request, region_text
from tpauc.paper.experiments.methods import ClassSizes
from tpauc.region import Region
from tpauc.training.data import Data, as_examples

Say = Callable[[str], None]


class RequestData:
    """The data of requests in a folder; those loaded last are kept for the next request.

    Parameters
    ----------
    data_dir : Path
        Where the images are.

    Examples
    --------
    >>> request = Request(dataset="cifar10-lt", subset=1, methods=("SqAUC",), seeds=(0,), epochs=30)
    >>> RequestData(Path("nowhere")).load(request, say=print)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    FileNotFoundError: nowhere...data_batch_1.bin does not exist; ...
    """

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._last: tuple[tuple[str, int, int], Splits] | None = None

    def load(self, request: Request, *, say: Say) -> Splits:
        """Return the data of a request, on which all that it asks for can be measured.

        Parameters
        ----------
        request : Request
            What is to be trained.
        say : callable
            Is told if there are other images than the official ones.

        Raises
        ------
        ValueError
            If a region selects none of the validation or test examples of a class, or a file is damaged.
        FileNotFoundError
            If a file is missing.
        """
        wanted = (request.dataset, request.subset, request.split)
        if self._last is None or self._last[0] != wanted:
            self._last = (wanted, self._read(*wanted, say))
        splits = self._last[1]
        check_regions(request, sizes_of(splits.validation, "validation"), sizes_of(splits.test, "test"))
        return splits

    def _read(self, dataset: str, subset: int, split: int, say: Say) -> Splits:
        splits = load_splits(dataset, subset=subset, data_dir=self.data_dir, seed=split)
        found, official = splits.images_per_class, DATASETS[dataset].images_per_class
        if found != official:
            remark = f"results for {DATASETS[dataset].title} cannot be compared with the paper's"
            say(f"{self.data_dir} has {found:,} images a class instead of {official:,}: {remark}")
        return splits


def sizes_of(data: Data, name: str) -> ClassSizes:
    """Return how many examples of each class there are in data that errors call ``name``.

    Examples
    --------
    >>> import torch
    >>> sizes_of((torch.zeros(3, 1), torch.tensor([True, False, False])), "test")
    ClassSizes(positive=1, negative=2)
    """
    positive = as_examples(data, name).positive
    n_positive = int(positive.sum())
    return ClassSizes(n_positive, positive.size - n_positive)


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
    for cell in request.cells():  # training validates in a region of its own
        _check_measurable(cell.trained_region, validation, "validation")


def _check_measurable(region: Region, sizes: ClassSizes, part: str) -> None:
    try:
        region.hard_positives(sizes.positive)
        region.hard_negatives(sizes.negative)
    except ValueError as error:
        raise ValueError(f"{region_text(region)} cannot be measured on the {part} data: {error}") from error
