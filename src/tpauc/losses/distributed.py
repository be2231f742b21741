"""Sums, maxima and joined columns over processes, for losses whose terms couple all examples of a batch.

Under ``torch.distributed`` each process holds a shard of the global batch. A loss of this package is the value on the
*global* batch, the same on every process. DistributedDataParallel averages gradients over the ``W`` processes, so each
process returns ``W`` times its part of the gradient; the average is then the gradient of a single process with the
global batch. Without a process group every function here returns its argument unchanged.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist


def process_count(across_processes: bool = True) -> int:
    """Return how many processes share the batch. Read at every call, so a loss may be built before the group."""
    if across_processes and dist.is_available() and dist.is_initialized():
        return dist.get_world_size()
    return 1


def sum_over_processes(tensor: torch.Tensor, across_processes: bool = True) -> torch.Tensor:
    """Return the sum of ``tensor`` over processes, without gradient."""
    if process_count(across_processes) == 1:
        return tensor
    total = tensor.detach().clone()
    dist.all_reduce(total)
    return total


def max_over_processes(tensor: torch.Tensor, across_processes: bool = True) -> torch.Tensor:
    """Return the elementwise maximum of ``tensor`` over processes, without gradient."""
    if process_count(across_processes) == 1:
        return tensor
    largest = tensor.detach().clone()
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return largest


def gather_columns(columns: torch.Tensor, across_processes: bool = True) -> tuple[torch.Tensor, slice]:
    """Join the last axis of ``columns`` over processes; lengths may differ or be zero.

    Returns the joined tensor, without gradient, and the slice of it that belongs to this process.
    """
    n_processes = process_count(across_processes)
    if n_processes == 1:
        return columns, slice(0, columns.shape[-1])
    own = torch.tensor([columns.shape[-1]], device=columns.device)
    lengths_on = [torch.empty_like(own) for _ in range(n_processes)]
    dist.all_gather(lengths_on, own)
    lengths = torch.cat(lengths_on).tolist()
    # all_gather needs equal shapes: pad, gather, remove the padding.
    padded = columns.new_zeros((*columns.shape[:-1], max(lengths)))
    padded[..., : columns.shape[-1]] = columns.detach()
    gathered = [torch.empty_like(padded) for _ in range(n_processes)]
    dist.all_gather(gathered, padded)
    start = sum(lengths[: dist.get_rank()])
    joined = torch.cat([part[..., :length] for part, length in zip(gathered, lengths, strict=True)], dim=-1)
    return joined, slice(start, start + columns.shape[-1])


class _GlobalSum(torch.autograd.Function):
    """Sum over processes whose gradient is scaled for the averaging of DistributedDataParallel."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        ctx.n_processes = dist.get_world_size()
        return sum_over_processes(tensor)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
        scaled: torch.Tensor = grad_output * ctx.n_processes
        return scaled


def global_sum(tensor: torch.Tensor, across_processes: bool = True) -> torch.Tensor:
    """Return the sum of ``tensor`` over processes, with the gradient of this process's part (see the module)."""
    if process_count(across_processes) == 1:
        return tensor
    summed: torch.Tensor = _GlobalSum.apply(tensor)  # type: ignore[no-untyped-call]
    return summed
