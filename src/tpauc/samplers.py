"""Batches with a fixed share of positives, over all examples or over the hardest ones.

A batch of ``B`` examples at the ratio ``r+ : r-`` holds

    b+ = round(B * r+ / (r+ + r-)),        b- = B - b+,

rounded once for all batches, halves up, with at least 1 of each class. An epoch has
``max(ceil(n+ / b+), ceil(n- / b-))`` batches: the class that needs more of them is passed over completely, the other
one is reused. What comes up again (the other class, and the few examples that fill up the last batch) comes up evenly:
in an epoch as in any one batch, two examples of a class differ by at most 1 in how often they are there.

The order depends on the seed and the epoch alone, through a generator of its own. The batch is that of all processes
together: of its ``B`` places, positives first, process ``r`` of ``W`` takes ``r, r + W, r + 2W, ...``. So the parts of
all processes make up the batch of a single one, and differ by at most 1 in size and in the number of each class.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch.utils.data import Sampler

from tpauc._validation import FloatArray, check_both_classes, check_count, check_labels, check_ratio, check_scores
from tpauc.region import Region

_STATE = ("epoch", "position", "fingerprint")

# Row numbers turned into lists at a time: enough to amortise the call, few enough to stay in the processor's cache.
_BLOCK = 2**15


class StratifiedBatchSampler(Sampler[list[int]]):
    """Batches of row numbers with the same number of positives in each, for ``DataLoader(..., batch_sampler=...)``.

    What a batch, an epoch and the part of a process hold is said at the top of this module.

    Parameters
    ----------
    labels : tensor or array-like of shape (n,)
        Labels of the data set in its order, 0/1 or -1/1.
    batch_size : int
        Examples in a batch, of all processes together; at least 2, and at least the number of processes. If that
        number divides it, every process gets equally many.
    ratio : (float, float), default=(1, 10)
        Positives to negatives in a batch.
    seed : int, default=0
        Decides the order, together with the epoch. Must be the same on every process.
    num_replicas, rank : int, optional
        Number of processes, and which of them this is. By default asked of ``torch.distributed`` at the start of every
        epoch, so the sampler may be built before the process group.

    Attributes
    ----------
    positives_per_batch, negatives_per_batch : int
        What the ratio was rounded to.

    Notes
    -----
    **Epochs.** Every pass over the sampler is a new epoch in a new order, whether the pass before was finished or
    abandoned. ``set_epoch`` chooses the number of the next one.

    **Resuming.** After ``load_state_dict`` the next pass is the rest of the epoch that was saved; ``set_epoch`` with
    that epoch's number leaves it so. The state counts batches *handed out*. A ``DataLoader`` with workers fetches some
    ahead of the training, so there say what was trained on: ``state_dict(epoch=epoch, position=batches_trained_on)``.
    The state does not depend on the number of processes.

    **Lightning** wants to replace the sampler of a distributed run, and raises an error at this one. Tell it not to:
    ``fabric.setup_dataloaders(loader, use_distributed_sampler=False)`` or ``Trainer(use_distributed_sampler=False)``.

    Examples
    --------
    >>> sampler = StratifiedBatchSampler([1, 1, 0, 0, 0, 0, 0, 0], batch_size=4, ratio=(1, 3))
    >>> sampler.positives_per_batch, sampler.negatives_per_batch, len(sampler)
    (1, 3, 2)
    >>> sorted(row for batch in sampler for row in batch)
    [0, 1, 2, 3, 4, 5, 6, 7]
    """

    # No attribute may be called `drop_last` or `sampler`: Lightning would take the first as leave to call the
    # constructor with other arguments, and would set epochs of its own through the second.

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
        positive = check_labels(_as_array(labels), "labels")
        n_positive, n_negative = check_both_classes(positive, "labels")
        self.batch_size = check_count(batch_size, "batch_size", at_least=2)
        self.positives_per_batch = _positives_in_batch(self.batch_size, *check_ratio(ratio))
        self.negatives_per_batch = self.batch_size - self.positives_per_batch
        self.seed = check_count(seed, "seed", at_least=0)
        self._replica = _check_replica(num_replicas, rank)
        if self._replica is not None:
            _check_batch_splits(self.batch_size, self._replica[0])
        # All that decides the order, apart from the epoch. The number of processes does not.
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
        """Number of the epoch under way, or of the next one if that is finished."""
        return self._progress.epoch

    @property
    def position(self) -> int:
        """Number of batches of this epoch handed out so far."""
        return self._progress.position

    @property
    def resuming(self) -> bool:
        """Whether the next pass is the rest of an epoch, after ``load_state_dict`` in the middle of it."""
        return not self._progress.begun and self._progress.position > 0

    def __len__(self) -> int:
        """Return the number of batches of a whole epoch, the same on every process."""
        return self._n_batches(self._rows)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield the epoch that is due: the one set, the rest of the one loaded, or else the next."""
        # As a generator it begins when its first batch is asked for. A DataLoader with workers calls iter() twice, and
        # the call that it drops must not count as an epoch.
        num_replicas, rank = self._replica or _replica_of_this_process()
        _check_batch_splits(self.batch_size, num_replicas)
        if self._progress.begun:
            self._progress = _Progress(self._progress.epoch + 1)
        self._progress.begun = True
        batches = self._global_batches(self._progress.epoch)
        yield from _hand_out(batches[self._progress.position :, rank::num_replicas], self._progress)

    def set_epoch(self, epoch: int) -> None:
        """Make ``epoch`` the next one to begin, from its first batch unless it is the one that was loaded."""
        number = check_count(epoch, "epoch", at_least=0)
        if self._progress.begun or self._progress.epoch != number:
            self._progress = _Progress(number)

    def state_dict(self, *, epoch: int | None = None, position: int | None = None) -> dict[str, Any]:
        """Return where the sampler stands, and a fingerprint of its data and settings.

        Parameters
        ----------
        epoch, position : int, optional
            The epoch and how many of its batches are done, where the sampler cannot know; see the notes of the class.
        """
        number = check_count(self.epoch if epoch is None else epoch, "epoch", at_least=0)
        done = check_count(self.position if position is None else position, "position", at_least=0)
        _check_position(done, len(self))
        return {"epoch": number, "position": done, "fingerprint": dict(self._fingerprint)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go where ``state`` stands: the next pass yields the batches of its epoch that are left, if any are.

        A state saved with other labels, batch size, ratio or seed is an error.
        """
        epoch, position = _check_sampler_state(state, _STATE, self._fingerprint)
        self._go_to(epoch, position, self._rows)

    def _go_to(self, epoch: int, position: int, rows: _Rows) -> None:
        _check_position(position, self._n_batches(rows))
        self._rows = rows
        self._progress = _Progress(epoch, position)

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
        positives = _deal_evenly(self._rows.positive, self.positives_per_batch, n_batches, generator)
        negatives = _deal_evenly(self._rows.negative, self.negatives_per_batch, n_batches, generator)
        return torch.cat([positives, negatives], dim=1)


class HardExampleSampler(StratifiedBatchSampler):
    """Stratified batches over the hard examples alone, which are chosen anew before each epoch.

    So the paper's truncated baselines see the data: the ``k- = floor(n- * beta)`` highest-scored negatives, with all
    positives (TruncOPAUC, ``alpha=1``) or the ``k+ = floor(n+ * alpha)`` lowest-scored ones (TruncTPAUC). Until the
    first ``update`` an epoch passes over all the data, as a warm-up.

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
    The rows selected are part of the state. The rest of a resumed epoch keeps the selection that the epoch began with,
    and ``update`` is an error until that rest has begun: write ``if not sampler.resuming: sampler.update(scores)``.

    Examples
    --------
    >>> sampler = HardExampleSampler([1, 1, 0, 0, 0, 0], batch_size=2, ratio=(1, 1), beta=0.5)
    >>> sampler.update([0.9, 0.8, 0.1, 0.7, 0.2, 0.1])
    >>> sorted(row for batch in sampler for row in batch)
    [0, 1, 3, 4]
    """

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
        """Choose the hard examples; they are used from the next epoch on, and one under way ends as it began.

        Parameters
        ----------
        scores : tensor or array-like of shape (n,)
            Scores of the whole data set in its order, by the model as it is now; the same on every process. Of equal
            scores the one in the lower row is taken first.
        """
        _check_may_update(self.resuming, self.epoch, self.position)
        values = check_scores(_as_array(scores), "scores")
        positive, negative = self._all_rows
        _check_length(values, "scores", len(positive) + len(negative), "labels")
        self._rows = _Rows(
            positive[_lowest(values[positive.numpy()], self._n_hard_positives)],
            negative[_lowest(-values[negative.numpy()], self._n_hard_negatives)],
        )
        # A position in the epoch under way says nothing of batches over the new selection.
        if self._progress.begun:
            self._progress = _Progress(self._progress.epoch + 1)

    def state_dict(self, *, epoch: int | None = None, position: int | None = None) -> dict[str, Any]:
        """Return where the sampler stands, as :class:`StratifiedBatchSampler` does, and the rows selected."""
        selected = None if self._rows is self._all_rows else self._rows._asdict()
        return {**super().state_dict(epoch=epoch, position=position), "selected": selected}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go where ``state`` stands, as :class:`StratifiedBatchSampler` does, with the rows selected then."""
        epoch, position = _check_sampler_state(state, (*_STATE, "selected"), self._fingerprint)
        rows = self._all_rows
        if state["selected"] is not None:
            # A checkpoint may be loaded straight onto an accelerator.
            rows = _Rows(state["selected"]["positive"].cpu(), state["selected"]["negative"].cpu())
        self._go_to(epoch, position, rows)


class _Rows(NamedTuple):
    """Row numbers of the examples that an epoch draws on, each of shape ``(n,)``."""

    positive: torch.Tensor
    negative: torch.Tensor


@dataclass
class _Progress:
    """Where an epoch stands. Every pass has its own, so that an abandoned one cannot move the sampler."""

    epoch: int = 0
    position: int = 0
    begun: bool = False


def _hand_out(batches: torch.Tensor, progress: _Progress) -> Iterator[list[int]]:
    """Yield the rows of ``batches`` as lists and keep count; after the last one the next epoch is due."""
    for block in torch.split(batches, math.ceil(_BLOCK / batches.shape[1])):
        for batch in block.tolist():
            progress.position += 1
            yield batch
    progress.epoch, progress.position, progress.begun = progress.epoch + 1, 0, False


def _deal_evenly(rows: torch.Tensor, per_batch: int, n_batches: int, generator: torch.Generator) -> torch.Tensor:
    """Return ``rows`` in random order, shape ``(n_batches, per_batch)``, used evenly in each batch and in all of them.

    A batch with more places than there are rows holds all of them as often as they fit; only what is left is dealt.
    """
    copies, left = divmod(per_batch, len(rows))
    dealt = rows[_deal_passes(len(rows), left, n_batches, generator)]
    return torch.cat([rows.repeat(n_batches, copies), dealt], dim=1) if copies else dealt


def _deal_passes(n: int, per_batch: int, n_batches: int, generator: torch.Generator) -> torch.Tensor:
    """Deal the numbers below ``n > per_batch``, one shuffled pass after another, none of them twice into a batch."""
    places = n_batches * per_batch
    passes: list[torch.Tensor] = []
    for dealt in range(0, places, n):
        if places - dealt < per_batch:
            # Only the last batch is to be filled up. The numbers of the first one are as random as a new shuffle.
            order = passes[0][:per_batch].clone()
        else:
            order = torch.randperm(n, generator=generator)
        if seam := dealt % per_batch:
            # This batch already has the last `seam` numbers of the pass before. At most so many of the next `per_batch`
            # are the same, so there are enough others to come first.
            following = order[:per_batch]
            repeated = torch.isin(following, passes[-1][-seam:])
            order[:per_batch] = following[torch.argsort(repeated, stable=True)]
        passes.append(order)
    return torch.cat(passes)[:places].view(n_batches, per_batch) if passes else torch.empty(n_batches, 0).long()


def _lowest(values: FloatArray, count: int) -> torch.Tensor:
    """Return the places of the ``count`` lowest values, in ascending order; of equal values the first."""
    return torch.from_numpy(np.sort(np.argsort(values, kind="stable")[:count]))


def _positives_in_batch(batch_size: int, positive_part: float, negative_part: float) -> int:
    # Exact, so that a half is a half: 2 examples at the ratio 3:1 are 1.5 positives, in floats perhaps a little less.
    share = Fraction(positive_part) / (Fraction(positive_part) + Fraction(negative_part))
    return min(max(math.floor(batch_size * share + Fraction(1, 2)), 1), batch_size - 1)


def _replica_of_this_process() -> tuple[int, int]:
    if dist.is_available() and dist.is_initialized():
        return dist.get_world_size(), dist.get_rank()
    return 1, 0


def _as_array(values: torch.Tensor | npt.ArrayLike) -> npt.ArrayLike:
    """Return a tensor as an array; NumPy has no bfloat16."""
    if not isinstance(values, torch.Tensor):
        return values
    on_cpu = values.detach().cpu()
    array: npt.NDArray[Any] = (on_cpu.float() if on_cpu.dtype == torch.bfloat16 else on_cpu).numpy()
    return array


def _check_replica(num_replicas: int | None, rank: int | None) -> tuple[int, int] | None:
    """Return ``(num_replicas, rank)``, or None where both are to be asked of torch.distributed."""
    if num_replicas is None and rank is None:
        return None
    if num_replicas is None or rank is None:
        raise ValueError(f"give both num_replicas and rank or neither, got {num_replicas!r} and {rank!r}")
    replicas, number = check_count(num_replicas, "num_replicas"), check_count(rank, "rank", at_least=0)
    if number >= replicas:
        raise ValueError(f"rank must be below num_replicas={replicas}, got {rank!r}")
    return replicas, number


def _check_batch_splits(batch_size: int, num_replicas: int) -> None:
    """Raise if a global batch has fewer examples than there are processes to share it."""
    if batch_size < num_replicas:
        raise ValueError(
            f"batch_size is that of all processes together and must be at least their number, {num_replicas}, "
            f"got {batch_size}"
        )


def _check_sampler_state(
    state: Mapping[str, Any], fields: Collection[str], fingerprint: Mapping[str, Any]
) -> tuple[int, int]:
    """Return the epoch and position of a sampler's state that has all ``fields`` and fits the sampler."""
    if not isinstance(state, Mapping):
        raise TypeError(f"state must be what state_dict() returns, got {type(state).__name__}")
    if missing := [field for field in fields if field not in state]:
        raise ValueError(f"state must hold {', '.join(fields)}; it lacks {', '.join(missing)}")
    found = state["fingerprint"]
    if found != fingerprint:
        found = found if isinstance(found, Mapping) else {}
        differences = ", ".join(
            f"{key}={fingerprint.get(key)!r} but the state has {found.get(key)!r}"
            for key in sorted({*fingerprint, *found})
            if fingerprint.get(key) != found.get(key)
        )
        raise ValueError(f"state comes from a sampler of other data or settings: this one has {differences}")
    epoch = check_count(state["epoch"], "state['epoch']", at_least=0)
    return epoch, check_count(state["position"], "state['position']", at_least=0)


def _check_position(position: int, n_batches: int) -> None:
    """Raise if more batches are said to be done than an epoch has."""
    if position > n_batches:
        raise ValueError(f"position must be at most {n_batches}, the batches of an epoch, got {position}")


def _check_length(values: npt.NDArray[Any], name: str, length: int, of: str) -> None:
    """Raise if a one-dimensional array has another length than ``of``."""
    if values.size != length:
        raise ValueError(f"{name} must have one value for each of the {length} {of}, got {values.size}")


def _check_may_update(resuming: bool, epoch: int, position: int) -> None:
    """Raise if the hard examples of a half-finished epoch would be replaced."""
    if resuming:
        raise RuntimeError(
            f"update() must wait: epoch {epoch} is resumed at batch {position}, with the selection that it began with; "
            "write `if not sampler.resuming: sampler.update(scores)`"
        )
