"""Training and validation data by row number, whether they are tensors or a ``Dataset``.

Tensors are indexed a batch at a time. A ``Dataset`` is read example by example through a ``DataLoader``, ahead of the
training if it has workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from tpauc._validation import BoolArray, check_both_classes, check_labels, check_logit_count

Data = tuple[torch.Tensor, torch.Tensor] | Dataset[Any]


class Examples(Protocol):
    """Inputs and labels of a data set, addressed by row."""

    positive: BoolArray

    def batches(
        self, rows: Iterable[list[int]], *, workers: int = 0, seed: tuple[int, ...] = ()
    ) -> Iterator[tuple[Any, torch.Tensor]]:
        """Yield ``(inputs, labels)`` for every list of row numbers; ``seed`` is that of the workers."""

    def in_order(self, rows: range, batch_size: int, *, workers: int = 0) -> Iterator[Any]:
        """Yield the inputs of consecutive rows, ``batch_size`` at a time."""


def as_examples(data: Data, name: str) -> Examples:
    """Return ``data`` by row, its labels checked.

    Parameters
    ----------
    data : (inputs, labels) or Dataset
        Two tensors with one row for each example, or a map-style data set of pairs ``(input, label)``. A data set may
        have an attribute ``labels``, the labels of all its rows; without it every item is read once to learn them.
    name : str
        What errors call the data.

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
        return TensorExamples(*parts, name)
    if isinstance(data, torch.Tensor) or not isinstance(data, Sized) or not hasattr(data, "__getitem__"):
        raise TypeError(f"{name} must be (inputs, labels) or a map-style Dataset, got {type(data).__name__}")
    return DatasetExamples(data, name)


class TensorExamples:
    """Examples held in two tensors."""

    def __init__(self, inputs: torch.Tensor, labels: torch.Tensor, name: str) -> None:
        _check_rows(len(inputs) if inputs.ndim else 0, len(labels) if labels.ndim else 0, name)
        self.positive = _checked(labels, name)
        self._inputs, self._labels = inputs, labels.to(inputs.device)

    def batches(
        self, rows: Iterable[list[int]], *, workers: int = 0, seed: tuple[int, ...] = ()
    ) -> Iterator[tuple[Any, torch.Tensor]]:
        for batch in rows:
            # Of 512 numbers NumPy makes an array ten times as fast as torch a tensor; index_select is then about
            # twice as fast as inputs[index].
            index = torch.from_numpy(np.array(batch, dtype=np.int64)).to(self._inputs.device)
            yield self._inputs.index_select(0, index), self._labels.index_select(0, index)

    def in_order(self, rows: range, batch_size: int, *, workers: int = 0) -> Iterator[Any]:
        for start in range(rows.start, rows.stop, batch_size):
            yield self._inputs[start : min(start + batch_size, rows.stop)]


class DatasetExamples:
    """Examples of a map-style data set."""

    def __init__(self, dataset: Any, name: str) -> None:
        self._dataset = dataset
        labels = getattr(dataset, "labels", None)
        if labels is None:
            labels = [_pair(dataset[row], name)[1] for row in range(len(dataset))]
        _check_rows(len(dataset), len(labels), name)
        self.positive = _checked(labels if isinstance(labels, torch.Tensor) else torch.as_tensor(labels), name)
        self._name = name

    def batches(
        self, rows: Iterable[list[int]], *, workers: int = 0, seed: tuple[int, ...] = ()
    ) -> Iterator[tuple[Any, torch.Tensor]]:
        for batch in self._loader(rows, workers, seed):
            yield _pair(batch, self._name)

    def in_order(self, rows: range, batch_size: int, *, workers: int = 0) -> Iterator[Any]:
        starts = range(rows.start, rows.stop, batch_size)
        blocks = (list(range(start, min(start + batch_size, rows.stop))) for start in starts)
        return (inputs for inputs, _ in self.batches(blocks, workers=workers))

    def _loader(self, rows: Iterable[list[int]], workers: int, seed: tuple[int, ...]) -> DataLoader[Any]:
        # A loader draws a seed for its workers. From a generator of its own, so that making one in the middle of an
        # epoch, when a run is resumed, does not move the global one. Unseeded it would start alike every time.
        generator = torch.Generator()
        generator.manual_seed(int(np.random.SeedSequence(0, spawn_key=seed).generate_state(1)[0]))
        return DataLoader(self._dataset, batch_sampler=rows, num_workers=workers, generator=generator)


def _pair(item: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise TypeError(f"{name} must hold pairs (input, label), got {_kinds(item)}")
    return item[0], item[1]


def _checked(labels: torch.Tensor, name: str) -> BoolArray:
    positive = check_labels(labels.detach().cpu().float().numpy(), f"the labels of {name}")
    check_both_classes(positive, f"the labels of {name}")
    return positive


def _kinds(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"{len(value)} of {', '.join(type(part).__name__ for part in value[:3])}"
    return type(value).__name__


@torch.no_grad()
def scores_of(
    model: nn.Module,
    examples: Examples,
    *,
    batch_size: int,
    rows: range | None = None,
    workers: int = 0,
    forward: Callable[[Any], torch.Tensor] | None = None,
) -> torch.Tensor:
    """Return the logits of consecutive rows, all by default, as a flat tensor of at least float32 on the CPU.

    Parameters
    ----------
    model : nn.Module
        Used in evaluation mode; every submodule is afterwards in the mode it was in.
    examples, batch_size, rows, workers
        Which rows, and how many at a time.
    forward : callable, optional
        Makes logits of inputs by means of ``model``, for one on another device; ``model`` itself by default.
    """
    rows = range(len(examples.positive)) if rows is None else rows
    logits: list[torch.Tensor] = []
    with evaluating(model):
        for inputs in examples.in_order(rows, batch_size, workers=workers):
            output = (forward or model)(inputs)
            flat = check_logit_count(output, min(batch_size, len(rows) - batch_size * len(logits)))
            logits.append(flat if flat.dtype == torch.float64 else flat.float())
    return torch.cat(logits).cpu() if logits else torch.empty(0)


def on_device(value: Any, device: torch.device) -> Any:
    """Return a batch with its tensors on ``device``, whatever mappings, lists and tuples hold them.

    Examples
    --------
    >>> on_device({"image": torch.zeros(2), "name": "a"}, torch.device("meta"))["image"].device
    device(type='meta')
    """
    if isinstance(value, torch.Tensor):
        # Towards the CPU it would return before the numbers have arrived.
        return value.to(device, non_blocking=device.type != "cpu")
    if isinstance(value, Mapping):
        return {key: on_device(item, device) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [on_device(item, device) for item in value]
    return value


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model in evaluation mode, and every submodule afterwards back in the mode that it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def block_of(n_rows: int, part: int, parts: int) -> range:
    """Return the rows of one of ``parts`` consecutive blocks whose sizes differ by at most 1.

    Examples
    --------
    >>> [block_of(5, part, 3) for part in range(3)]
    [range(0, 1), range(1, 3), range(3, 5)]
    """
    return range(part * n_rows // parts, (part + 1) * n_rows // parts)


def _check_rows(n_inputs: int, n_labels: int, name: str) -> None:
    """Raise if the inputs and the labels of the data called ``name`` differ in number, or there are none."""
    if n_inputs != n_labels:
        raise ValueError(f"{name} must have as many labels as inputs, got {n_labels} labels and {n_inputs} inputs")
    if n_inputs == 0:
        raise ValueError(f"{name} must hold at least one example, got none")
