"""Samplers: ratios, processes, saved positions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc.validation.values import check_count, check_positive


def check_ratio(ratio: Sequence[float], name: str = "ratio") -> tuple[float, float]:
    """Return ``(positive part, negative part)`` as two floats above 0."""
    if not isinstance(ratio, Sequence | np.ndarray) or len(ratio) != 2:
        raise ValueError(f"{name} must be two numbers, (positive part, negative part), got {ratio!r}")
    return check_positive(ratio[0], f"{name}[0]"), check_positive(ratio[1], f"{name}[1]")


def check_replica(num_replicas: int | None, rank: int | None) -> tuple[int, int] | None:
    """Return ``(num_replicas, rank)``, or None where both are to be asked of torch.distributed."""
    if num_replicas is None and rank is None:
        return None
    if num_replicas is None or rank is None:
        raise ValueError(f"give both num_replicas and rank or neither, got {num_replicas!r} and {rank!r}")
    replicas, number = check_count(num_replicas, "num_replicas"), check_count(rank, "rank", at_least=0)
    if number >= replicas:
        raise ValueError(f"rank must be below num_replicas={replicas}, got {rank!r}")
    return replicas, number


def check_batch_splits(batch_size: int, num_replicas: int) -> None:
    """Raise if a global batch has fewer examples than there are processes to share it."""
    if batch_size < num_replicas:
        raise ValueError(
            f"batch_size is that of all processes together and must be at least their number, {num_replicas}, "
            f"got {batch_size}"
        )


def check_sampler_state(
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


def check_position(position: int, n_batches: int) -> None:
    """Raise if more batches are said to be done than an epoch has."""
    if position > n_batches:
        raise ValueError(f"position must be at most {n_batches}, the batches of an epoch, got {position}")


def check_length(values: npt.NDArray[Any], name: str, length: int, of: str) -> None:
    """Raise if a one-dimensional array has another length than ``of``."""
    if values.size != length:
        raise ValueError(f"{name} must have one value for each of the {length} {of}, got {values.size}")


def check_may_update(resuming: bool, epoch: int, position: int) -> None:
    """Raise if the hard examples of a half-finished epoch would be replaced."""
    if resuming:
        raise RuntimeError(
            f"update() must wait: epoch {epoch} is resumed at batch {position}, with the selection that it began with; "
            "write `if not sampler.resuming: sampler.update(scores)`"
        )
