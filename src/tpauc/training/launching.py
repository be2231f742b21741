"""Processes that train together: those that a launcher has started, and those that `tpauc.fit` starts itself.

Fabric's ``ddp`` joins processes that ``torchrun`` or SLURM has started, or runs the whole script once more for each.
Where ``fit`` is called from other code neither will do: there it starts the processes itself ("ddp_spawn", "ddp_fork"),
each of which joins the others by Fabric's ``ddp``, and the call returns in the calling process alone.
"""

from __future__ import annotations

import atexit
import os
import pickle
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException, start_processes

from tpauc._validation import import_extra
from tpauc.training.config import TrainConfig
from tpauc.training.interruption import StopSignals, TrainingInterrupted, interrupted
from tpauc.training.vital_signs import TrainingDivergedError

if TYPE_CHECKING:
    from lightning_fabric import Fabric

_POLL_SECONDS = 0.2
# Set by torchrun, by Fabric for the scripts that it starts again, and by SLURM within a job step.
_SIGNS_OF_A_LAUNCHER = ("LOCAL_RANK", "SLURM_PROCID")


def starts_processes(config: TrainConfig, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether ``fit`` is to start the processes itself.

    Examples
    --------
    >>> one, two = TrainConfig(alpha=0.3, beta=0.3), TrainConfig(alpha=0.3, beta=0.3, devices=2)
    >>> starts_processes(one, {}), starts_processes(two, {}), starts_processes(two, {"LOCAL_RANK": "0"})
    (False, True, False)
    """
    if config.strategy != "auto":
        return config.strategy in ("ddp_spawn", "ddp_fork")
    launched = any(sign in environment for sign in _SIGNS_OF_A_LAUNCHER)
    return config.devices > 1 and config.nodes == 1 and not launched


def make_fabric(config: TrainConfig, *, started_here: bool) -> Fabric:
    """Return Fabric for this process; needs the extra ``tpauc[train]``."""
    fabric = import_extra("lightning_fabric", "train")
    _check_world_size(config.devices * config.nodes, os.environ)
    several = config.devices * config.nodes > 1 or config.strategy != "auto"
    plugins = [fabric.plugins.environments.LightningEnvironment()] if started_here else None
    made: Fabric = fabric.Fabric(
        accelerator=config.accelerator,
        devices=config.devices,
        num_nodes=config.nodes,
        strategy="ddp" if several else "auto",
        precision=config.precision,
        plugins=plugins,
    )
    return made


def run_in_processes(function: Callable[..., None], config: TrainConfig, *arguments: Any) -> None:
    """Run ``function(stop, *arguments)`` in ``config.devices`` new processes, and wait for them.

    ``stop`` is the `StopSignals` of the process. SIGTERM and Ctrl-C are handed on to the processes, which are left to
    save what they have. What the first process raises is raised here.
    """
    method = "fork" if config.strategy == "ddp_fork" else "spawn"
    errors: Any = mp.get_context(method).SimpleQueue()
    pids: list[int] = []
    error: BaseException | None = None
    ended: Exception | None = None
    with StopSignals(lambda number: _hand_on(pids, number)) as stop:
        context: Any = start_processes(  # type: ignore[no-untyped-call]
            _in_new_process,
            args=(_free_port(), function, arguments, errors),
            nprocs=config.devices,
            join=False,
            start_method=method,
        )
        pids += context.pids()
        if stop.requested:
            _hand_on(pids, stop.requested)
        try:
            while not context.join(timeout=_POLL_SECONDS):
                error = error or _first(errors)
        except (ProcessRaisedException, ProcessExitedException) as raised:
            ended = raised  # its text is the traceback of the process
        error = error or _first(errors) or (_cut_off(stop) if ended else None) or ended
        if error is not None:
            raise error from (None if error is ended else ended)


def _in_new_process(rank: int, port: int, function: Callable[..., None], arguments: Any, errors: Any) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), LOCAL_RANK=str(rank), NODE_RANK="0")
    with StopSignals(every_one=True) as stop:
        try:
            function(stop, *arguments)
        except (TrainingInterrupted, TrainingDivergedError) as error:
            # All processes raise these at the same step, so none is left waiting for another.
            if rank == 0:
                errors.put(error)
        except BaseException as error:
            if rank == 0 and _can_be_sent(error):
                errors.put(error)
            raise


def _can_be_sent(error: BaseException) -> bool:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return False
    return True


def _first(errors: Any) -> BaseException | None:
    if errors.empty():
        return None
    error: BaseException = errors.get()
    return error


def _cut_off(stop: StopSignals) -> BaseException | None:
    """Return what to raise where a signal ended the processes before they could answer it."""
    return interrupted(stop.requested, "before training began", None) if stop.requested else None


def _hand_on(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:  # It has ended by itself.
            continue


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def leave_at_exit() -> None:
    """Leave the process group, if there is one, when the program ends: gloo's threads may abort it otherwise."""
    atexit.unregister(_leave)
    atexit.register(_leave)


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def on_first_process(fabric: Fabric, work: Callable[[], Any]) -> Any:
    """Return on every process what ``work`` returns on the first, or raise what it raises there."""
    outcome: tuple[Any, Exception | None] = (None, None)
    if fabric.is_global_zero:
        try:
            outcome = (work(), None)
        except Exception as error:
            outcome = (None, error)
    value, raised = fabric.broadcast(outcome)
    if raised is not None:
        raise raised
    return value


def largest_over_processes(fabric: Fabric, numbers: list[float]) -> list[float]:
    """Return the largest of each number over all processes, so that all of them decide alike."""
    if fabric.world_size == 1:
        return numbers
    tensor = torch.tensor(numbers, device=fabric.device)
    dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    largest: list[float] = tensor.tolist()
    return largest


def _check_world_size(processes: int, environment: Mapping[str, str]) -> None:
    """Raise if ``torchrun`` has started another number of processes than are to train together."""
    started = environment.get("WORLD_SIZE")
    if "TORCHELASTIC_RUN_ID" in environment and started is not None and int(started) != processes:
        raise ValueError(f"torchrun has started {started} processes, but devices * nodes is {processes}")
