"""Batches with a fixed share of positives, over all examples or over the hardest ones.

A batch of ``B`` examples at the ratio ``r+ : r-`` holds

    b+ = round(B * r+ / (r+ + r-)),        b- = B - b+,

rounded once for all batches, halves up, with at least 1 of each class. An epoch has
``max(ceil(n+ / b+), ceil(n- / b-))`` batches: it passes completely over the class that needs more batches and reuses
the other class. Reuse is even: within an epoch, and within a batch, the numbers of occurrences of two examples of one
class differ by at most 1.

The order depends only on the seed and the epoch; the sampler has its own generator. ``B`` counts the examples of all
processes: of the ``B`` places, positives first, process ``r`` of ``W`` takes ``r, r + W, r + 2W, ...``. Together these
parts are the batch of a single process; their sizes, and their numbers of each class, differ by at most 1.
"""

from __future__ import annotations

import math
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch.utils.data import Sampler

from tpauc._validation import (
    FloatArray,
    brief,
    check_both_classes,
    check_count,
    check_dense,
    check_labels,
    check_ratio,
    check_scores,
)
from tpauc.region import Region

# Layers such as dropout draw from torch's global generator, and a user's data set may draw from NumPy's or Python's.
# All threads of a process share them. Whoever seeds them holds this lock until it has put the caller's state back:
# trainings in several threads then take turns, and each draws the numbers of its own seed. A training inside another
# one, in the same thread, need not wait.
GENERATOR_LOCK = threading.RLock()

_BLOCK = 2**15  # row numbers converted to lists at a time: amortises the call and fits into the processor's cache


class StratifiedBatchSampler(Sampler[list[int]]):
    """Batches of row numbers with the same number of positives in each, for ``DataLoader(..., batch_sampler=...)``.

    The module docstring defines what a batch, an epoch and the part of one process hold.

    Parameters
    ----------
    labels : tensor or array-like of shape (n,)
        Labels of the data set in its order, 0/1 or -1/1.
    batch_size : int
        Examples per batch over all processes; at least 2, and at least the number of processes. If the number of
        processes divides it, every process gets equally many examples.
    ratio : (float, float), default=(1, 10)
        Positives to negatives in a batch.
    seed : int, default=0
        Determines the order together with the epoch. Must be the same on every process.
    num_replicas, rank : int, optional
        Number of processes, and the rank of this one. By default ``torch.distributed`` is asked at the start of every
        epoch, so the sampler may be built before the process group.

    Attributes
    ----------
    positives_per_batch, negatives_per_batch : int
        The ratio as whole numbers of examples.

    Notes
    -----
    **Epochs.** Every pass over the sampler is a new epoch in a new order, even if the previous pass was abandoned.
    ``set_epoch`` sets the number of the next epoch.

    **Resuming.** After ``load_state_dict`` the next pass is the rest of the saved epoch; calling ``set_epoch`` with
    the number of that epoch does not change this. The state counts batches *yielded*. A ``DataLoader`` with workers
    fetches batches ahead of the training, so pass the number of batches trained on:
    ``state_dict(epoch=epoch, position=batches_trained_on)``. The state does not depend on the number of processes.

    **Lightning** tries to replace the sampler of a distributed run, and raises an error for this one. Turn that off:
    ``fabric.setup_dataloaders(loader, use_distributed_sampler=False)`` or ``Trainer(use_distributed_sampler=False)``.

    Examples
    --------
    >>> sampler = StratifiedBatchSampler([1, 1, 0, 0, 0, 0, 0, 0], batch_size=4, ratio=(1, 3))
    >>> sampler.positives_per_batch, sampler.negatives_per_batch, len(sampler)
    (1, 3, 2)
    >>> sorted(row for batch in sampler for row in batch)
    [0, 1, 2, 3, 4, 5, 6, 7]
    """

    # No attribute may be called `drop_last` or `sampler`: with the first, Lightning would call the constructor with
    # other arguments; through the second, it would set epochs itself.

    _state_fields: tuple[str, ...] = ("epoch", "position", "fingerprint")

    def __init__(
        self,
        labels: torch.Tensor | npt.ArrayLike,
        batch_size: int,
        *,
        ratio: Sequence[float] = (1, 10),
        seed: int = 0,
        num_replicas: int | None = None,
        rank: int | None = None,
    ) -> None:
        positive = check_labels(_as_array(labels, "labels"), "labels")
        n_positive, n_negative = check_both_classes(positive, "labels")
        self.batch_size = check_count(batch_size, "batch_size", at_least=2)
        self.positives_per_batch = _positives_in_batch(self.batch_size, *check_ratio(ratio))
        self.negatives_per_batch = self.batch_size - self.positives_per_batch
        self.seed = check_count(seed, "seed", at_least=0, at_most=2**128)
        self._replica = _given_replica(num_replicas, rank)
        if self._replica is not None:
            self._check_enough_for(self._replica[0])
        # Everything that determines the order, apart from the epoch. The number of processes does not.
        self._fingerprint: dict[str, float] = {
            "positives": n_positive,
            "negatives": n_negative,
            "labels_checksum": zlib.crc32(np.packbits(positive).tobytes()),
            "batch_size": self.batch_size,
            "positives_per_batch": self.positives_per_batch,
            "seed": self.seed,
        }
        self._rows = _Rows(torch.from_numpy(np.flatnonzero(positive)), torch.from_numpy(np.flatnonzero(~positive)))
        self._progress = _Progress()

    @property
    def epoch(self) -> int:
        """Number of the current epoch, or of the next one if the current epoch is finished."""
        return self._progress.epoch

    @property
    def position(self) -> int:
        """Number of batches of this epoch yielded so far."""
        return self._progress.position

    @property
    def resuming(self) -> bool:
        """Whether the next pass is the rest of an epoch that ``load_state_dict`` restored."""
        return not self._progress.begun and self._progress.position > 0

    def __len__(self) -> int:
        """Return the number of batches of a whole epoch, the same on every process."""
        return self._n_batches(self._rows)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the batches of the next epoch, or the remaining batches of a loaded one."""
        # This is a generator, so it starts with the request for its first batch. A DataLoader with workers calls iter()
        # twice, and the discarded iterator must not count as an epoch.
        num_replicas, rank = self._replica or _replica_of_this_process()
        self._check_enough_for(num_replicas)
        if self._progress.begun:
            self._progress = _Progress(self._progress.epoch + 1)
        progress = self._progress  # an abandoned pass must not change the progress of a later one
        progress.begun = True
        batches = self._global_batches(progress.epoch)[progress.position :, rank::num_replicas]
        for block in torch.split(batches, math.ceil(_BLOCK / batches.shape[1])):
            for batch in block.tolist():
                progress.position += 1
                yield batch
        progress.epoch, progress.position, progress.begun = progress.epoch + 1, 0, False

    def set_epoch(self, epoch: int) -> None:
        """Make ``epoch`` the next epoch. It starts at its first batch, or at the loaded position of the same epoch."""
        number = check_count(epoch, "epoch", at_least=0)
        if self._progress.begun or self._progress.epoch != number:
            self._progress = _Progress(number)

    def state_dict(self, *, epoch: int | None = None, position: int | None = None) -> dict[str, Any]:
        """Return epoch and position, with a fingerprint of data and settings.

        Parameters
        ----------
        epoch, position : int, optional
            The epoch and the number of its batches that are done, if the sampler cannot know them; see the class notes.
        """
        number = check_count(self.epoch if epoch is None else epoch, "epoch", at_least=0)
        done = check_count(self.position if position is None else position, "position", at_least=0)
        _check_position(done, len(self))
        return {"epoch": number, "position": done, "fingerprint": dict(self._fingerprint)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore ``state``: the next pass yields the remaining batches of its epoch.

        A state saved with other labels, batch size, ratio or seed is an error.
        """
        self._check_state(state)
        epoch = check_count(state["epoch"], "state['epoch']", at_least=0)
        position = check_count(state["position"], "state['position']", at_least=0)
        rows = self._rows_in(state)
        _check_position(position, self._n_batches(rows))
        self._rows, self._progress = rows, _Progress(epoch, position)

    def _check_enough_for(self, num_replicas: int) -> None:
        """Raise if a batch has fewer examples than there are processes to share it."""
        if self.batch_size < num_replicas:
            raise ValueError(
                f"batch_size counts the examples of all processes and must be at least their number, {num_replicas}, "
                f"got {self.batch_size}"
            )

    def _check_state(self, state: Mapping[str, Any]) -> None:
        """Raise unless ``state`` has all fields and comes from a sampler of the same data and settings."""
        if not isinstance(state, Mapping):
            raise TypeError(f"state must be what state_dict() returns, got {type(state).__name__}")
        if missing := [field for field in self._state_fields if field not in state]:
            raise ValueError(f"state must hold {', '.join(self._state_fields)}; it lacks {', '.join(missing)}")
        own, found = self._fingerprint, state["fingerprint"]
        if found != own:
            found = found if isinstance(found, Mapping) else {}
            differences = ", ".join(
                f"{key}={own.get(key)!r} but the state has {found.get(key)!r}"
                for key in sorted({*own, *found})
                if own.get(key) != found.get(key)
            )
            raise ValueError(f"state comes from a sampler of other data or settings: this one has {differences}")

    def _rows_in(self, state: Mapping[str, Any]) -> _Rows:
        return self._rows

    def _n_batches(self, rows: _Rows) -> int:
        return max(
            math.ceil(len(rows.positive) / self.positives_per_batch),
            math.ceil(len(rows.negative) / self.negatives_per_batch),
        )

    def _global_batches(self, epoch: int) -> torch.Tensor:
        """Return the row numbers of the whole epoch, of shape ``(batches, batch_size)``, positives first."""
        generator = torch.Generator()
        # A spawn key keeps seed and epoch apart, where their sum would give seed 1 the epochs of seed 0.
        mixed = np.random.SeedSequence(self.seed, spawn_key=(epoch,)).generate_state(1, np.uint64)
        generator.manual_seed(int(mixed[0]))
        n_batches = len(self)
        positives = _random_batches(self._rows.positive, self.positives_per_batch, n_batches, generator)
        negatives = _random_batches(self._rows.negative, self.negatives_per_batch, n_batches, generator)
        return torch.cat([positives, negatives], dim=1)


class HardExampleSampler(StratifiedBatchSampler):
    """Stratified batches over the hard examples only; ``update`` selects them, usually before each epoch.

    This is how the paper's truncated baselines sample: the ``k- = floor(n- * beta)`` highest-scored negatives, with all
    positives (TruncOPAUC, ``alpha=1``) or with the ``k+ = floor(n+ * alpha)`` lowest-scored positives (TruncTPAUC).
    Until the first ``update`` an epoch passes over all the data, as a warm-up.

    Parameters
    ----------
    labels, batch_size, ratio, seed, num_replicas, rank
        As in :class:`StratifiedBatchSampler`.
    beta : float
        Share of the negatives to keep, in (0, 1].
    alpha : float, default=1.0
        Share of the positives to keep, in (0, 1].

    Notes
    -----
    The selected rows are part of the state. The rest of a resumed epoch keeps the selection of its start, and
    ``update`` is an error until that rest has begun: write ``if not sampler.resuming: sampler.update(scores)``.

    Examples
    --------
    >>> sampler = HardExampleSampler([1, 1, 0, 0, 0, 0], batch_size=2, ratio=(1, 1), beta=0.5)
    >>> sampler.update([0.9, 0.8, 0.1, 0.7, 0.2, 0.1])
    >>> sorted(row for batch in sampler for row in batch)
    [0, 1, 3, 4]
    """

    _state_fields = (*StratifiedBatchSampler._state_fields, "selected")

    def __init__(
        self,
        labels: torch.Tensor | npt.ArrayLike,
        batch_size: int,
        *,
        beta: float,
        alpha: float = 1.0,
        ratio: Sequence[float] = (1, 10),
        seed: int = 0,
        num_replicas: int | None = None,
        rank: int | None = None,
    ) -> None:
        super().__init__(labels, batch_size, ratio=ratio, seed=seed, num_replicas=num_replicas, rank=rank)
        self.region = Region(alpha, beta)
        self._fingerprint |= {"alpha": self.region.alpha, "beta": self.region.beta}
        self._all_rows = self._rows
        self._n_hard_positives = self.region.hard_positives(len(self._all_rows.positive))
        self._n_hard_negatives = self.region.hard_negatives(len(self._all_rows.negative))

    def update(self, scores: torch.Tensor | npt.ArrayLike) -> None:
        """Select the hard examples from the next epoch on; the current epoch keeps its selection.

        Parameters
        ----------
        scores : tensor or array-like of shape (n,)
            Current scores of the whole data set in its order; the same on every process. Among equal scores the lower
            row number comes first.
        """
        if self.resuming:
            raise RuntimeError(
                f"update() must wait: epoch {self.epoch} is resumed at batch {self.position}, with the selection that "
                "it began with; write `if not sampler.resuming: sampler.update(scores)`"
            )
        values = check_scores(_as_array(scores, "scores"), "scores")
        positive, negative = self._all_rows
        if values.size != len(positive) + len(negative):
            raise ValueError(
                f"scores must have one value for each of the {len(positive) + len(negative)} labels, got {values.size}"
            )
        self._rows = _Rows(
            positive[_lowest(values[positive.numpy()], self._n_hard_positives)],
            negative[_lowest(-values[negative.numpy()], self._n_hard_negatives)],
        )
        # A position in the current epoch does not apply to batches over the new selection.
        if self._progress.begun:
            self._progress = _Progress(self._progress.epoch + 1)

    def state_dict(self, *, epoch: int | None = None, position: int | None = None) -> dict[str, Any]:
        """Return the state of :class:`StratifiedBatchSampler` and the selected rows."""
        selected = None if self._rows is self._all_rows else self._rows._asdict()
        return {**super().state_dict(epoch=epoch, position=position), "selected": selected}

    def _rows_in(self, state: Mapping[str, Any]) -> _Rows:
        if (selected := state["selected"]) is None:
            return self._all_rows
        if not isinstance(selected, Mapping) or set(selected) != {"positive", "negative"}:
            raise ValueError(f"state['selected'] must hold rows of positive and negative, got {brief(selected)}")
        return _Rows(
            _check_selected(selected["positive"], "positive", self._all_rows.positive, self._n_hard_positives),
            _check_selected(selected["negative"], "negative", self._all_rows.negative, self._n_hard_negatives),
        )


class _Rows(NamedTuple):
    """Row numbers of the examples that an epoch uses, each of shape ``(n,)``."""

    positive: torch.Tensor
    negative: torch.Tensor


@dataclass
class _Progress:
    """Progress of an epoch."""

    epoch: int = 0
    position: int = 0
    begun: bool = False


def _check_selected(rows: Any, side: str, of_class: torch.Tensor, count: int) -> torch.Tensor:
    """Return the selected rows of a state, on the CPU, if they are ``count`` different rows of the class."""
    name = f"state['selected'][{side!r}]"
    if not isinstance(rows, torch.Tensor) or rows.dtype != torch.int64 or rows.ndim != 1:
        raise TypeError(f"{name} must be a flat tensor of row numbers, got {brief(rows)}")
    check_dense(rows, name)
    found: torch.Tensor = rows.cpu()  # torch.load may have put the checkpoint on an accelerator
    if found.numel() != count or len(set(found.tolist())) != count or not torch.isin(found, of_class).all():
        raise ValueError(f"{name} must hold {count} different rows with a {side} label, got {brief(found.tolist())}")
    return found


def _check_position(position: int, n_batches: int) -> None:
    if position > n_batches:
        raise ValueError(f"position must be at most {n_batches}, the batches of an epoch, got {position}")


def _random_batches(rows: torch.Tensor, per_batch: int, n_batches: int, generator: torch.Generator) -> torch.Tensor:
    """Return ``rows`` in random order, shape ``(n_batches, per_batch)``, used evenly in each batch and over all.

    A batch with more places than there are rows holds whole copies of all rows; only the places left over are random.
    """
    copies, left = divmod(per_batch, len(rows))
    random = rows[_shuffled_passes(len(rows), left, n_batches, generator)]
    return torch.cat([rows.repeat(n_batches, copies), random], dim=1) if copies else random


def _shuffled_passes(n: int, per_batch: int, n_batches: int, generator: torch.Generator) -> torch.Tensor:
    """Arrange shuffled passes over the numbers below ``n > per_batch`` in batches without repetitions in a batch."""
    places = n_batches * per_batch
    passes: list[torch.Tensor] = []
    for start in range(0, places, n):
        if places - start < per_batch:
            # Only the last batch has places left. The numbers of the first batch are as random as a new shuffle.
            order = passes[0][:per_batch].clone()
        else:
            order = torch.randperm(n, generator=generator)
        if seam := start % per_batch:
            # This batch already has the last `seam` numbers of the previous pass. At most `seam` of the next
            # `per_batch` numbers repeat them, so enough others can come first.
            following = order[:per_batch]
            repeated = torch.isin(following, passes[-1][-seam:])
            order[:per_batch] = following[torch.argsort(repeated, stable=True)]
        passes.append(order)
    return torch.cat(passes)[:places].view(n_batches, per_batch) if passes else torch.empty(n_batches, 0).long()


def _lowest(values: FloatArray, count: int) -> torch.Tensor:
    """Return the indices of the ``count`` lowest values, in ascending order; among equal values the first."""
    return torch.from_numpy(np.sort(np.argsort(values, kind="stable")[:count]))


def _positives_in_batch(batch_size: int, positive_part: float, negative_part: float) -> int:
    # In exact fractions, because 2 examples at the ratio 3:1 are 1.5 positives, which floats might round down.
    share = Fraction(positive_part) / (Fraction(positive_part) + Fraction(negative_part))
    return min(max(math.floor(batch_size * share + Fraction(1, 2)), 1), batch_size - 1)


def _given_replica(num_replicas: int | None, rank: int | None) -> tuple[int, int] | None:
    """Return the checked ``(num_replicas, rank)``, or None if neither is given."""
    if num_replicas is None and rank is None:
        return None
    if num_replicas is None or rank is None:
        raise ValueError(f"give both num_replicas and rank or neither, got {num_replicas!r} and {rank!r}")
    replicas, number = check_count(num_replicas, "num_replicas"), check_count(rank, "rank", at_least=0)
    if number >= replicas:
        raise ValueError(f"rank must be below num_replicas={replicas}, got {rank!r}")
    return replicas, number


def _replica_of_this_process() -> tuple[int, int]:
    if dist.is_available() and dist.is_initialized():
        return dist.get_world_size(), dist.get_rank()
    return 1, 0


def _as_array(values: torch.Tensor | npt.ArrayLike, name: str) -> npt.ArrayLike:
    """Return a tensor as an array; NumPy has no bfloat16."""
    if not isinstance(values, torch.Tensor):
        return values
    check_dense(values, name)
    on_cpu = values.detach().cpu()
    array: npt.NDArray[Any] = (on_cpu.float() if on_cpu.dtype == torch.bfloat16 else on_cpu).numpy()
    return array
