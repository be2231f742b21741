"""`TwoWayPartialAUC` of several labels or classes: one column of scores each, all columns at once.

The columns are sorted together. In a column, let ``p`` and ``q`` mark the positives and negatives that the region
selects, in the order of their scores. A selected positive wins against the ``q`` before its run of equal scores, and is
tied with those inside; sums of whole numbers over the column give its value, exactly that of
:func:`tpauc.two_way_partial_auc`. `tpauc.metrics.label_columns` says how columns are averaged.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from tpauc._validation import brief, check_choice, check_class_counts, check_count, check_dense
from tpauc.metrics import torchmetric
from tpauc.metrics.histogram import Histogram, spread
from tpauc.metrics.label_columns import check_average
from tpauc.region import Region

TASKS = ("binary", "multilabel", "multiclass")
_UNKNOWN = -1
_BLOCK = 1 << 22  # scores that are sorted at a time


def check_task(task: str) -> str:
    """Return the task, one of `TASKS`."""
    return check_choice(task, "task", TASKS)


class SeveralLabelsPartialAUC(torchmetric.TwoWayPartialAUC):
    """What ``TwoWayPartialAUC(task="multilabel")`` and ``(task="multiclass")`` make; see there."""

    def _set_up(self, task: str, num_labels: int | None, num_classes: int | None, average: str | None) -> None:
        self.task, bins = task, self.bins
        needed, other = ("num_labels", "num_classes") if task == "multilabel" else ("num_classes", "num_labels")
        given = {"num_labels": num_labels, "num_classes": num_classes}
        columns = given[needed]
        if columns is None or given[other] is not None:
            raise ValueError(f"task={task!r} needs {needed} and no {other}, got {given}")
        self.num_columns = check_count(columns, needed, at_least=2)
        self.average = check_average(average, of_classes=task == "multiclass")
        if bins is None:
            self.scores: list[Tensor] | Tensor
            self.labels: list[Tensor] | Tensor
            self.add_state("scores", [], dist_reduce_fx="cat")
            self.add_state("labels", [], dist_reduce_fx="cat")
        else:
            for name in ("positive_counts", "negative_counts"):
                counts = torch.zeros(self.num_columns, bins, dtype=torch.int64)
                self.add_state(name, counts, dist_reduce_fx="sum")

    def _arguments(self) -> dict[str, Any]:
        size = "num_labels" if self.task == "multilabel" else "num_classes"
        return {"task": self.task, size: self.num_columns, "average": self.average}

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch: scores of shape (n, k), labels of shape (n, k), or classes 0 to ``k - 1`` of shape (n,)."""
        torchmetric.check_not_synced(self._is_synced)
        self._check(scores, labels)
        if self.task == "multilabel":
            coded = (labels > 0).to(torch.int8).masked_fill_(labels.isnan(), _UNKNOWN)
        else:
            coded = labels.reshape(-1).to(torch.int64)
        if self.bins is None:
            assert isinstance(self.scores, list)
            assert isinstance(self.labels, list)
            self.scores.append(scores.detach().clone())
            self.labels.append(coded)
            return
        u = spread(scores.detach().to(torchmetric.widest_float(scores.device)), torch.where)
        place = (u * self.bins).to(torch.int64).clamp(max=self.bins - 1)
        place = place + self.bins * torch.arange(self.num_columns, device=place.device)
        membership = self._membership(coded)
        for name, value in (("positive_counts", 1), ("negative_counts", 0)):
            counted = torch.bincount(place[membership == value], minlength=self.num_columns * self.bins)
            setattr(self, name, getattr(self, name) + counted.view(self.num_columns, self.bins))

    def compute(self) -> Tensor:
        """Return the average over columns, a float64 scalar, or one value per column, shape (k,), without one."""
        self._last_bound = torch.tensor(0.0)
        if self.bins is not None:
            return self._from_bins()
        scores, labels = self._joined("scores"), self._joined("labels")
        if self.average == "micro":
            known = labels != _UNKNOWN
            flat, positive = scores[known], labels[known] == 1
            return torchmetric.mean_over_hard_pairs(flat[positive], flat[~positive], self.region, self._tie)
        membership = self._membership(labels)
        width = max(1, _BLOCK // max(1, scores.shape[0]))
        parts = [
            column_areas(columns.T, members.T, self.region, self._tie)
            for columns, members in zip(torch.split(scores, width, 1), torch.split(membership, width, 1), strict=True)
        ]
        sizes = (membership == 1).sum(0), (membership == 0).sum(0)
        return self._averaged(torch.cat(parts), *sizes)

    def _from_bins(self) -> Tensor:
        """Return the middle of the bounds of each column, and keep how far the result may be off."""
        positives, negatives = self.positive_counts, self.negative_counts
        if self.average == "micro":
            positives, negatives = positives.sum(0, keepdim=True), negatives.sum(0, keepdim=True)
        values = torch.full((len(positives),), math.nan, dtype=torchmetric.widest_float(self.device))
        errors = torch.zeros(len(positives), dtype=torch.float64)
        for column, (own, others) in enumerate(zip(positives.cpu().numpy(), negatives.cpu().numpy(), strict=True)):
            if not column_problem(int(own.sum()), int(others.sum()), self.region):
                bounds = Histogram.from_counts(own, others).bounds(**asdict(self.region))
                values[column] = bounds.estimate
                errors[column] = bounds.error + abs(values[column].item() - bounds.estimate)
        self._last_bound = errors.max()  # no mean of the columns can be further off
        return self._averaged(values.to(self.device), positives.sum(1), negatives.sum(1))

    def _averaged(self, values: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """Return the values or their average; an average needs them all."""
        if self.average is None:
            return values
        missing = values.isnan().nonzero()
        if len(missing):
            column = int(missing[0])
            problem = column_problem(int(positives[column]), int(negatives[column]), self.region)
            raise ValueError(
                f"label {column} has no value: {problem}. average=None returns the values of all labels, NaN for this"
            )
        weight = positives.to(values.dtype) if self.average == "weighted" else torch.ones_like(values)
        return (values * weight).sum() / weight.sum()

    def _membership(self, coded: Tensor) -> Tensor:
        """Return 1 for a positive, 0 for a negative and -1 for an unknown label, shape (n, k)."""
        if self.task == "multilabel":
            return coded
        return (coded[:, None] == torch.arange(self.num_columns, device=coded.device)).to(torch.int8)

    def _check(self, scores: Tensor, labels: Tensor) -> None:
        for value, name in ((scores, "scores"), (labels, "labels")):
            if not isinstance(value, Tensor):
                raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
            check_dense(value, name)
        if scores.device != labels.device:
            raise ValueError(f"scores and labels must be on one device, got {scores.device} and {labels.device}")
        if not scores.is_floating_point():
            raise TypeError(f"scores must be floating point, got {scores.dtype}")
        if scores.ndim != 2 or scores.shape[1] != self.num_columns:
            raise ValueError(f"scores must have shape (n, {self.num_columns}), got {tuple(scores.shape)}")
        torchmetric.check_finite(scores.detach().reshape(-1), "scores")
        if self.task == "multilabel":
            _check_indicators(labels, tuple(scores.shape))
        else:
            _check_classes(labels, scores.shape[0], self.num_columns)

    def _joined(self, name: str) -> Tensor:
        state: list[Tensor] | Tensor = getattr(self, name)
        if isinstance(state, Tensor):
            return state
        if state:
            return torch.cat(state)
        device = "cpu" if self.compute_on_cpu else self.device
        if name == "scores":
            return torch.empty(0, self.num_columns, device=device)
        if self.task == "multiclass":
            return torch.empty(0, dtype=torch.int64, device=device)
        return torch.empty(0, self.num_columns, dtype=torch.int8, device=device)

    def _prepare_to_gather(self) -> None:
        self.scores = [self._joined("scores").to(torch.float64)]
        self.labels = [self._joined("labels")]

    def _settings(self) -> Tensor:
        kind = [TASKS.index(self.task), self.num_columns]
        return torch.cat((super()._settings(), torch.tensor(kind, dtype=torch.float64)))

    def _check_state(self, state: Any, name: str) -> None:
        parts = [state] if isinstance(state, Tensor) else state
        if not isinstance(parts, list) or not all(isinstance(part, Tensor) for part in parts):
            raise ValueError(f"state_dict[{name!r}] must hold tensors, got {brief(state)}")
        for part in parts:
            columns = (self.num_columns,)
            if self.bins is not None:
                fits = part.shape == (*columns, self.bins) and part.dtype == torch.int64 and not bool((part < 0).any())
            elif name == "scores":
                fits = part.is_floating_point() and part.shape[1:] == columns and bool(part.isfinite().all())
            else:
                fits = not part.is_floating_point() and part.shape[1:] == (columns if self.task == "multilabel" else ())
            if not fits:
                raise ValueError(
                    f"state_dict[{name!r}] is not the state of {self.num_columns} columns, got {brief(part)}"
                )


def _check_indicators(labels: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(labels.shape) != shape:
        raise ValueError(f"labels must have the shape of scores, {shape}, got {tuple(labels.shape)}")
    if labels.dtype == torch.bool:
        return
    wrong = ~((labels == 1) | (labels == 0) | (labels == -1))
    if labels.is_floating_point():
        wrong &= ~labels.isnan()
    mixed = bool((labels == 0).any()) and bool((labels == -1).any())
    if mixed or bool(wrong.any()):
        raise ValueError("labels must hold only 0/1 or only -1/1, as bool, integer or float, with NaN where unknown")


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


def column_problem(n_positive: int, n_negative: int, region: Region) -> str:
    """Return why a column with so many examples has no value; empty if it has one."""
    try:
        check_class_counts(n_positive, n_negative, "the column")
        region.ranks_of_positives(n_positive)
        region.ranks_of_negatives(n_negative)
    except ValueError as error:
        return str(error)
    return ""


def column_areas(scores: Tensor, membership: Tensor, region: Region, tie: float) -> Tensor:
    """Return the area of each row of scores, shape (k,), float64; NaN where the region selects no examples.

    Parameters
    ----------
    scores : Tensor of shape (k, n)
        One problem per row.
    membership : Tensor of shape (k, n)
        1 for a positive, 0 for a negative, anything else for an example that does not count.
    """
    counts = torch.stack(((membership == 1).sum(1), (membership == 0).sum(1)), 1).tolist()
    empty = ((0, 0), (0, 0))
    borders = [
        empty if column_problem(p, q, region) else (region.ranks_of_positives(p), region.ranks_of_negatives(q))
        for p, q in counts
    ]
    ((first_p, last_p), (first_q, last_q)) = (
        torch.tensor([border[side] for border in borders], device=scores.device).T.unsqueeze(2) for side in (0, 1)
    )
    ordered, order = scores.sort(dim=1)
    members = membership.gather(1, order)
    positive, negative = members == 1, members == 0
    rank = positive.cumsum(1)  # 1 for the hardest positive
    selected_positive = positive & (rank > first_p) & (rank <= last_p)
    total = torch.tensor([q for _, q in counts], device=scores.device)[:, None]
    rank = total - negative.cumsum(1)  # 0 for the hardest negative
    selected_negative = negative & (rank >= first_q) & (rank < last_q)
    up_to = torch.nn.functional.pad(selected_negative.cumsum(1), (1, 0))
    won = up_to[:, :-1]
    won_or_tied = won
    differs = ordered[:, 1:] != ordered[:, :-1]
    if not bool(differs.all()):
        won, won_or_tied = _at_runs(up_to, differs)
    value = torch.stack((won, won_or_tied)).mul_(selected_positive).sum(2)
    pairs = ((last_p - first_p) * (last_q - first_q))[:, 0]
    result_type = torchmetric.widest_float(scores.device)
    wins, ties = value[0].to(result_type), (value[1] - value[0]).to(result_type)
    area: Tensor = (wins + tie * ties) / pairs.to(result_type)  # 0 / 0 is NaN
    return area


def _at_runs(up_to: Tensor, differs: Tensor) -> tuple[Tensor, Tensor]:
    """Return, for each place, the counts before and after its run of equal scores."""
    k, n = up_to.shape[0], up_to.shape[1] - 1
    places = torch.arange(n, device=up_to.device).expand(k, n)
    begins = torch.nn.functional.pad(differs, (1, 0), value=True)
    ends = torch.nn.functional.pad(differs, (0, 1), value=True)
    start = torch.where(begins, places, 0).cummax(1).values
    last = torch.where(ends, places, n).flip(1).cummin(1).values.flip(1)
    return up_to.gather(1, start), up_to.gather(1, last + 1)
