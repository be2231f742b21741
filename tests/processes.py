"""Run a function in several real processes joined by gloo, and collect what each returns."""

import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def _worker(rank, world_size, rendezvous, function, args, out):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=world_size)
    try:
        result = function(rank, world_size, *args)
        torch.save(result, Path(out) / f"{rank}.pt")
        dist.barrier()
    finally:
        dist.destroy_process_group()


def run_in_processes(function, world_size, *args):
    """Return ``[function(rank, world_size, *args) for every rank]``, each run in its own process.

    The function must be importable (defined at the top of a test module); what it returns must be tensors, numbers,
    strings or containers of these. An exception in any process is raised here.
    """
    with tempfile.TemporaryDirectory() as folder:
        rendezvous = Path(folder) / "rendezvous"
        mp.start_processes(
            _worker,
            args=(world_size, str(rendezvous), function, args, folder),
            nprocs=world_size,
            start_method="spawn",
        )
        return [torch.load(Path(folder) / f"{rank}.pt", weights_only=True) for rank in range(world_size)]
