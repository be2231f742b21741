"""Training and validation data by row number, whether they are tensors or a ``Dataset``.

Tensors are indexed one batch at a time. A ``Dataset`` is read example by example through a ``DataLoader``, which reads
ahead of the training if it has workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any, Protocol

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from tpauc._validation import BoolArray, check_both_classes, check_dense, check_labels

Data = tuple[torch.Tensor, torch.Tensor] | Dataset[Any]


class Examples(Protocol):
    """Inputs and labels of a data set, addressed by row."""

    positive: BoolArray
    sampled_rows: int  # how many rows tell these data from others, when a run goes on

    def batches(
        self, rows: Iterable[list[int]], *, workers: int = 0, seed: tuple[int, ...] = ()
    ) -> Iterator[tuple[Any, torch.Tensor]]:
        """Yield ``(inputs, labels)`` for every list of row numbers; ``seed`` seeds the workers."""

    def in_order(self, rows: range, batch_size: int, *, workers: int = 0) -> Iterator[Any]:
        """Yield the inputs of consecutive rows, ``batch_size`` at a time."""


def as_examples(data: Data, name: str) -> Examples:
    """Return ``data`` by row, its labels checked; errors call the data ``name``.

    They are two tensors with one example per row, or a map-style data set of pairs ``(input, label)``. A data set may
    have an attribute ``labels``, the labels of all its rows; without it every item is read once to find them.

    Examples
    --------
    >>> examples = as_examples((torch.eye(3), torch.tensor([1, 0, 0])), "train")
    >>> inputs, labels = next(examples.batches([[2, 0]]))
    >>> inputs.tolist(), labels.tolist()
    ([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], [0, 1])
    """
    parts = data.tensors if isinstance(data, TensorDataset) else data
    if isinstance(parts, tuple | list):
        if len(parts) != 2 or not all(isinstance(part, torch.Tensor) for part in parts):
            raise TypeError(f"{name} must be two tensors, (inputs, labels), got {_kinds(parts)}")
        for part in parts:
            check_dense(part, name)
        return TensorExamples(*parts, name)
    # Arrays and tables have a length and items too, but their items are not pairs.
    foreign = isinstance(data, Mapping | str | bytes) or hasattr(data, "dtype") or hasattr(data, "dtypes")
    if foreign or not isinstance(data, Sized) or not hasattr(data, "__getitem__"):
        raise TypeError(f"{name} must be (inputs, labels) or a map-style Dataset, got {type(data).__name__}")
    return DatasetExamples(data, name)


class TensorExamples:
    """Examples held in two tensors."""

    sampled_rows = 4096

    def __init__(self, inputs: torch.Tensor, labels: torch.Tensor, name: str) -> None:
        self.positive = _checked_labels(labels, len(inputs) if inputs.ndim else 0, name)
        self._inputs, self._labels = inputs, labels.to(inputs.device)

    def batches(
        self, rows: Iterable[list[int]], *, workers: int = 0, seed: tuple[int, ...] = ()
    ) -> Iterator[tuple[Any, torch.Tensor]]:
        for batch in rows:
            # For 512 row numbers, NumPy makes an array ten times as fast as torch makes a tensor. index_select is then
            # about twice as fast as inputs[index].
            index = torch.from_numpy(np.array(batch, dtype=np.int64)).to(self._inputs.device)
            yield self._inputs.index_select(0, index), self._labels.index_select(0, index)

    def in_order(self, rows: range, batch_size: int, *, workers: int = 0) -> Iterator[Any]:
        for start in range(rows.start, rows.stop, batch_size):
            yield self._inputs[start : min(start + batch_size, rows.stop)]


class DatasetExamples:
    """Examples of a map-style data set."""

    sampled_rows = 64  # reading one may mean decoding a picture

    def __init__(self, dataset: Any, name: str) -> None:
        labels = getattr(dataset, "labels", None)
        if labels is None:
            labels = [_pair(dataset[row], name)[1] for row in range(len(dataset))]
        self.positive = _checked_labels(torch.as_tensor(labels), len(dataset), name)
        self._dataset, self._name = dataset, name

    def batches(
        self, rows: Iterable[list[int]], *, workers: int = 0, seed: tuple[int, ...] = ()
    ) -> Iterator[tuple[Any, torch.Tensor]]:
        # A loader draws a seed for its workers. It has its own generator, so that making a loader in the middle of an
        # epoch, when a run is resumed, does not advance the global one. Unseeded it would start alike every time.
        generator = torch.Generator()
        generator.manual_seed(int(np.random.SeedSequence(0, spawn_key=seed).generate_state(1)[0]))
        loader: Iterable[Any] = DataLoader(self._dataset, batch_sampler=rows, num_workers=workers, generator=generator)
        for batch in loader:
            yield _pair(batch, self._name)

    def in_order(self, rows: range, batch_size: int, *, workers: int = 0) -> Iterator[Any]:
        starts = range(rows.start, rows.stop, batch_size)
        blocks = (list(range(start, min(start + batch_size, rows.stop))) for start in starts)
        return (inputs for inputs, _ in self.batches(blocks, workers=workers))


def _checked_labels(labels: torch.Tensor, n_inputs: int, name: str) -> BoolArray:
    """Return which rows are positive; there must be one label per input, and both classes."""
    n_labels = len(labels) if labels.ndim else 0
    if n_inputs != n_labels:
        raise ValueError(f"{name} must have as many labels as inputs, got {n_labels} labels and {n_inputs} inputs")
    if n_inputs == 0:
        raise ValueError(f"{name} must hold at least one example, got none")
    if labels.is_complex():
        raise TypeError(f"the labels of {name} must be bool, integer or floating point, got {labels.dtype}")
    positive = check_labels(labels.detach().cpu().float().numpy(), f"the labels of {name}")
    check_both_classes(positive, f"the labels of {name}")
    return positive


def _pair(item: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise TypeError(f"{name} must hold pairs (input, label), got {_kinds(item)}")
    return item[0], item[1]


def _kinds(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"{len(value)} of {', '.join(type(part).__name__ for part in value[:3])}"
    return type(value).__name__


def on_device(value: Any, device: torch.device) -> Any:
    """Return a batch with its tensors on ``device``, also those inside mappings, lists and tuples.

    Examples
    --------
    >>> on_device({"image": torch.zeros(2), "name": "a"}, torch.device("meta"))["image"].device
    device(type='meta')
    """
    if isinstance(value, torch.Tensor):
        # A copy to the CPU that does not block would return before the numbers have arrived.
        return value.to(device, non_blocking=device.type != "cpu")
    if isinstance(value, Mapping):
        return {key: on_device(item, device) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [on_device(item, device) for item in value]
    return value
