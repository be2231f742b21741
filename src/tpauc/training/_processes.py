"""Signals, and processes that train together.

SIGTERM and Ctrl-C become a clean stop. While :class:`StopSignals` is active it only records the first signal. The
training loop checks ``requested`` between two steps and raises `tpauc.training.TrainingInterrupted` once everything is
saved. The former handlers are restored at once, so a second Ctrl-C acts as always.

Fabric's ``ddp`` joins processes that ``torchrun`` or SLURM has started, or runs the whole script once per process.
Neither works where ``fit`` is called from other code. There ``fit`` starts the processes itself ("ddp_spawn",
"ddp_fork"); each of them joins the others by Fabric's ``ddp``, and the call returns in the calling process alone.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import socket
import threading
from collections.abc import Callable, Mapping
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException, start_processes

from tpauc.training.config import TrainConfig
from tpauc.training.exceptions import TrainingDivergedError, TrainingInterrupted, interrupted

if TYPE_CHECKING:
    from lightning_fabric import Fabric

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_POLL_SECONDS = 0.2
# Set by torchrun, by Fabric for the scripts that it starts again, and by SLURM within a job step.
_LAUNCHER_VARIABLES = ("LOCAL_RANK", "SLURM_PROCID")


class StopSignals:
    """Turn SIGTERM and Ctrl-C into a clean stop, within a ``with`` statement.

    ``requested`` is the number of the signal that arrived, 0 if none; ``forward`` is called with it. A signal that
    arrived too late to be answered is raised again at the end. Signals reach only the main thread of a program; in any
    other thread this does nothing.

    With ``record_all`` every signal is recorded, not only the first, and none is raised at the end. That is for a
    process whose parent forwards signals: Ctrl-C at a terminal reaches it twice, from the terminal and from the parent.

    Examples
    --------
    >>> former = signal.signal(signal.SIGTERM, lambda *_: print("handled as before"))
    >>> with StopSignals() as stop:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     print("recorded", stop.requested == signal.SIGTERM)
    recorded True
    handled as before
    >>> _ = signal.signal(signal.SIGTERM, former)
    """

    def __init__(self, forward: Callable[[int], None] | None = None, *, record_all: bool = False) -> None:
        self.requested = 0
        self._forward = forward
        self._record_all = record_all
        self._former: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            self._former = {number: signal.signal(number, self._record) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._restore()
        if self.requested and kind is None and not self._record_all:
            signal.raise_signal(self.requested)

    def _record(self, number: int, frame: FrameType | None) -> None:
        self.requested = number
        if not self._record_all:
            self._restore()
        if self._forward is not None:
            self._forward(number)

    def _restore(self) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)
        self._former = {}


# -------------------------------------------------------------------------------------------------- starting processes


def starts_processes(config: TrainConfig, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether ``fit`` starts the processes itself."""
    if config.strategy != "auto":
        return config.strategy in ("ddp_spawn", "ddp_fork")
    launched = any(variable in environment for variable in _LAUNCHER_VARIABLES)
    return config.devices > 1 and config.nodes == 1 and not launched


def run_in_processes(function: Callable[..., None], config: TrainConfig, *arguments: Any) -> None:
    """Run ``function(stop, *arguments)`` in ``config.devices`` new processes, and wait for them.

    ``stop`` is the `StopSignals` of the process. SIGTERM and Ctrl-C are forwarded to the processes, which then have
    time to save. What the first process raises is raised here.
    """
    method = "fork" if config.strategy == "ddp_fork" else "spawn"
    errors: Any = mp.get_context(method).SimpleQueue()
    pids: list[int] = []
    error: BaseException | None = None
    ended: Exception | None = None
    with StopSignals(lambda number: _send_signal(pids, number)) as stop:
        context: Any = start_processes(  # type: ignore[no-untyped-call]
            _in_new_process,
            args=(_free_port(), function, arguments, errors),
            nprocs=config.devices,
            join=False,
            start_method=method,
        )
        pids += context.pids()
        if stop.requested:
            _send_signal(pids, stop.requested)
        try:
            while not context.join(timeout=_POLL_SECONDS):
                error = error or _first(errors)
        except (ProcessRaisedException, ProcessExitedException) as raised:
            ended = raised  # its text is the traceback of the process
        error = error or _first(errors)
        if error is None and ended is not None and stop.requested:
            # The signal ended the processes before they could answer it.
            error = interrupted(stop.requested, "before training began", None)
        error = error or ended
        if error is not None:
            raise error from (None if error is ended else ended)


def _in_new_process(rank: int, port: int, function: Callable[..., None], arguments: Any, errors: Any) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), LOCAL_RANK=str(rank), NODE_RANK="0")
    with StopSignals(record_all=True) as stop:
        try:
            function(stop, *arguments)
        except (TrainingInterrupted, TrainingDivergedError) as error:
            # All processes raise these at the same step, so none is left waiting for another.
            if rank == 0:
                errors.put(error)
        except BaseException as error:
            if rank == 0 and _can_be_pickled(error):
                errors.put(error)
            raise


def _can_be_pickled(error: BaseException) -> bool:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return False
    return True


def _first(errors: Any) -> BaseException | None:
    return None if errors.empty() else errors.get()


def _send_signal(pids: list[int], number: int) -> None:
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


# ------------------------------------------------------------------------------------------ communication between them


def leave_group_at_exit() -> None:
    """Leave the process group, if there is one, when the program ends: gloo's threads may abort it otherwise."""
    atexit.unregister(_leave_group)
    atexit.register(_leave_group)


def _leave_group() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def on_first_process(fabric: Fabric, work: Callable[[], Any]) -> Any:
    """Run ``work`` on the first process; return its result, or raise its error, on every process."""
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
    """Return the largest of each number over all processes, so that all of them make the same decision."""
    if fabric.world_size == 1:
        return numbers
    tensor = torch.tensor(numbers, device=fabric.device)
    dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    largest: list[float] = tensor.tolist()
    return largest
