"""Several labels or classes of `TwoWayPartialAUC`: one column of scores each, all columns at once.

`tpauc.metrics.label_columns` says how columns are averaged.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from tpauc._validation import brief, check_choice, check_count, check_dense, check_logit_matrix
from tpauc.metrics._tensor_pairs import (
    bin_numbers,
    check_finite,
    column_areas,
    column_problem,
    mean_over_hard_pairs,
    widest_float,
)
from tpauc.metrics.histogram import Histogram
from tpauc.metrics.label_columns import check_average
from tpauc.region import Region

TASKS = ("binary", "multilabel", "multiclass")
_UNKNOWN = -1
_BLOCK = 1 << 22  # scores that are treated at a time


def check_columns(task: str, num_labels: int | None, num_classes: int | None, average: str | None) -> Columns | None:
    """Return the columns of a task; None if there is one, for the task "binary"."""
    check_choice(task, "task", TASKS)
    given = {"num_labels": num_labels, "num_classes": num_classes}
    if task == "binary":
        check_average(average)
        if any(number is not None for number in given.values()):
            raise ValueError(f"task={task!r} has one column of scores, got {given}; give 'multilabel' or 'multiclass'")
        return None
    needed, other = ("num_labels", "num_classes") if task == "multilabel" else ("num_classes", "num_labels")
    number = given[needed]
    if number is None or given[other] is not None:
        raise ValueError(f"task={task!r} needs {needed} and no {other}, got {given}")
    number = check_count(number, needed, at_least=2)
    return Columns(task, number, check_average(average, of_classes=task == "multiclass"))


@dataclass(frozen=True)
class Columns:
    """The task, the number of its columns, and how their values are averaged."""

    task: str
    number: int
    average: str | None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a metric that make these columns."""
        size = "num_labels" if self.task == "multilabel" else "num_classes"
        return {"task": self.task, size: self.number, "average": self.average}

    def coded(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Check a batch, and return its labels as they are kept: 1, 0 and -1 for unknown, shape (n, k), or classes."""
        if self.task == "multilabel":
            _, zero_one, known = check_logit_matrix(scores, labels, logits_name="scores")
            self._check_scores(scores)
            coded = zero_one.to(torch.int8)
            return coded if known is None else coded.masked_fill_(~known, _UNKNOWN)
        for value, name in ((scores, "scores"), (labels, "labels")):
            if not isinstance(value, Tensor):
                raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
            check_dense(value, name)
        if scores.device != labels.device:
            raise ValueError(f"scores and labels must be on one device, got {scores.device} and {labels.device}")
        if not scores.is_floating_point():
            raise TypeError(f"scores must be floating point, got {scores.dtype}")
        self._check_scores(scores)
        _check_classes(labels, scores.shape[0], self.number)
        return labels.reshape(-1).to(torch.int64)

    def _check_scores(self, scores: Tensor) -> None:
        if scores.ndim != 2 or scores.shape[1] != self.number:
            raise ValueError(f"scores must have shape (n, {self.number}), got {tuple(scores.shape)}")
        check_finite(scores.detach().reshape(-1), "scores")

    def counts(self, scores: Tensor, coded: Tensor, bins: int) -> tuple[Tensor, Tensor]:
        """Return the numbers of positives and of negatives in each bin, shape (k, bins)."""
        places = bin_numbers(scores, bins) + bins * torch.arange(self.number, device=scores.device)
        membership = self._membership(coded)
        positives, negatives = (
            torch.bincount(places[membership == value], minlength=self.number * bins).view(self.number, bins)
            for value in (1, 0)
        )
        return positives, negatives

    def value(self, scores: Tensor, coded: Tensor, region: Region, tie: float) -> Tensor:
        """Return the average over columns, a float64 scalar, or one value per column, shape (k,), without one."""
        if self.average == "micro":
            known = coded != _UNKNOWN
            flat, positive = scores[known], coded[known] == 1
            return mean_over_hard_pairs(flat[positive], flat[~positive], region, tie)
        membership = self._membership(coded)
        width = max(1, _BLOCK // max(1, scores.shape[0]))
        parts = [
            column_areas(columns, members, region, tie)
            for columns, members in zip(torch.split(scores, width, 1), torch.split(membership, width, 1), strict=True)
        ]
        return self._averaged(torch.cat(parts), (membership == 1).sum(0), (membership == 0).sum(0), region)

    def value_of_counts(self, positives: Tensor, negatives: Tensor, region: Region) -> tuple[Tensor, float]:
        """Return the value from the bounds of histograms, and how far it may be off."""
        if self.average == "micro":
            positives, negatives = positives.sum(0, keepdim=True), negatives.sum(0, keepdim=True)
        device = positives.device
        values = torch.full((len(positives),), math.nan, dtype=widest_float(device))
        error = 0.0  # of the worst column: no mean of columns can be further off
        for column, (own, others) in enumerate(zip(positives.cpu().numpy(), negatives.cpu().numpy(), strict=True)):
            if not column_problem(int(own.sum()), int(others.sum()), region):
                bounds = Histogram.from_counts(own, others).bounds(**asdict(region))
                values[column] = bounds.estimate
                error = max(error, bounds.error + abs(values[column].item() - bounds.estimate))
        return self._averaged(values.to(device), positives.sum(1), negatives.sum(1), region), error

    def _averaged(self, values: Tensor, positives: Tensor, negatives: Tensor, region: Region) -> Tensor:
        """Return the values or their average; an average needs them all."""
        if self.average is None:
            return values
        missing = values.isnan().nonzero()
        if len(missing):
            column = int(missing[0])
            problem = column_problem(int(positives[column]), int(negatives[column]), region)
            raise ValueError(
                f"label {column} has no value: {problem}. average=None returns the values of all labels, NaN for this"
            )
        weight = positives.to(values.dtype) if self.average == "weighted" else torch.ones_like(values)
        return (values * weight).sum() / weight.sum()

    def _membership(self, coded: Tensor) -> Tensor:
        """Return 1 for a positive, 0 for a negative and -1 for an unknown label, shape (n, k)."""
        if self.task == "multilabel":
            return coded
        return (coded[:, None] == torch.arange(self.number, device=coded.device)).to(torch.int8)

    def empty(self, name: str, device: torch.device) -> Tensor:
        """Return the state called ``name`` without any rows."""
        if name == "scores":
            return torch.empty(0, self.number, device=device)
        if self.task == "multiclass":
            return torch.empty(0, dtype=torch.int64, device=device)
        return torch.empty(0, self.number, dtype=torch.int8, device=device)

    def check_state(self, state: Any, name: str, bins: int | None) -> None:
        """Raise if a saved state does not hold such columns."""
        parts = [state] if isinstance(state, Tensor) else state
        if not isinstance(parts, list) or not all(isinstance(part, Tensor) for part in parts):
            raise ValueError(f"state_dict[{name!r}] must hold tensors, got {brief(state)}")
        for part in parts:
            if bins is not None:
                fits = part.shape == (self.number, bins) and part.dtype == torch.int64 and not bool((part < 0).any())
            elif name == "scores":
                fits = part.is_floating_point() and part.shape[1:] == (self.number,) and bool(part.isfinite().all())
            else:
                empty = self.empty(name, part.device)
                fits = part.dtype == empty.dtype and part.shape[1:] == empty.shape[1:]
            if not fits:
                raise ValueError(f"state_dict[{name!r}] is not the state of {self.number} columns, got {brief(part)}")


def _check_classes(labels: Tensor, n: int, num_classes: int) -> None:
    if labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        raise TypeError(f"labels must be whole numbers, the class of each row, got {labels.dtype}")
    if labels.numel() != n or labels.ndim not in (1, 2):
        raise ValueError(f"labels must have shape ({n},), one class per row of scores, got {tuple(labels.shape)}")
    if labels.numel() and not (int(labels.min()) >= 0 and int(labels.max()) < num_classes):
        raise ValueError(
            f"labels must be from 0 to num_classes - 1 = {num_classes - 1}, got values from {int(labels.min())} to "
            f"{int(labels.max())}"
        )
