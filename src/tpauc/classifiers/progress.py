"""Progress of a training, and the threads that it uses.

A training reports what it is doing to whoever asked for it, through pipelines and searches alike; by default to nobody:

    with progress_to(lambda progress: print(progress)):
        pipeline.fit(X, y)
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")

# Products with a table of fewer features take as long as reading it, so more threads only wait for each other.
_FEATURES_WORTH_THREADS = 256
# Rows times features from which threads of LightGBM gain more than they lose by waiting for each other.
_VALUES_WORTH_THREADS = 1_000_000


class Progress(NamedTuple):
    """A step of a training.

    Examples
    --------
    >>> print(Progress("cross-entropy of 20 networks", 500, 2000, 6.2))
    cross-entropy of 20 networks: 500 of 2000, about 6 s left
    """

    what: str
    done: int
    total: int
    seconds_left: float  # of this stage; NaN if a step begins

    def __str__(self) -> str:
        left = "" if math.isnan(self.seconds_left) else f", about {self.seconds_left:.0f} s left"
        return f"{self.what}: {self.done} of {self.total}{left}"


@dataclass
class _Listener:
    callback: Callable[[Progress], None]
    every: float
    last: float = field(default_factory=lambda: time.monotonic())

    def hear(self, progress: Progress, now: float) -> None:
        if now - self.last >= self.every:
            self.last = now
            self.callback(progress)


_LISTENER: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def progress_to(callback: Callable[[Progress], None], *, every: float = 1.0) -> Iterator[None]:
    """Call ``callback`` with a `Progress` about every so many seconds while a classifier trains in this context.

    A call comes between two steps of a training, which take a fraction of a second each on up to about a million rows.

    Parameters
    ----------
    callback : callable
    every : float, default=1.0
        Fewest seconds between two calls; 0 reports every step.

    Examples
    --------
    >>> with progress_to(lambda progress: print(progress.what, progress.done, progress.total), every=0.0):
    ...     _ = list(steps("counting", range(2), 2))
    counting 1 2
    counting 2 2
    """
    token = _LISTENER.set(_Listener(callback, every))
    try:
        yield
    finally:
        _LISTENER.reset(token)


def steps(what: str, items: Iterable[Item], total: int) -> Iterator[Item]:
    """Yield the items of a stage of a training, and report after each how many are done."""
    start = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        listener = _LISTENER.get()
        if listener is None:
            continue
        now = time.monotonic()
        listener.hear(Progress(what, done, total, (now - start) / done * (total - done)), now)


def begin(what: str, total: int, done: int = 0) -> None:
    """Report at once what begins, of so many steps in total, for its first step may take long."""
    if (listener := _LISTENER.get()) is not None:
        listener.last = time.monotonic()
        listener.callback(Progress(what, done, total, math.nan))


@contextmanager
def within(what: str, after_step: Callable[[], None] | None = None) -> Iterator[None]:
    """Report the stages of a training in this context as parts of ``what``.

    If given, ``after_step`` is called after every step, also if nobody asked for reports. It may raise, which ends the
    training.

    Examples
    --------
    >>> with progress_to(lambda progress: print(progress.what), every=0.0), within("outer"):
    ...     _ = list(steps("inner", range(1), 1))
    outer: inner
    """
    outer = _LISTENER.get()

    def tell(progress: Progress) -> None:
        if after_step is not None:
            after_step()
        if outer is not None:
            outer.hear(progress._replace(what=f"{what}: {progress.what}"), time.monotonic())

    with progress_to(tell, every=0.0):
        yield


def limited_threads(n_features: int) -> AbstractContextManager[None]:
    """Return a context in which BLAS has one thread if tables have few features.

    The products of a linear model are then bound by memory, and threads of BLAS wait by spinning, which takes the cores
    from other work (`benchmarks/threads.py`). The number belongs to the whole process: of trainings in several threads
    the first one sets it, and the last one puts back what was there before.
    """
    return _ONE_BLAS_THREAD.held() if n_features < _FEATURES_WORTH_THREADS else nullcontext()


def tree_threads(n_values: int) -> int:
    """Return how many threads LightGBM is given for a table of so many values; 0 is its own choice.

    Threads wait for each other after every part of a tree. Where other programs use the cores too, they wait long: on a
    busy machine of two cores, 1,100 rows of 68 features took 100 s with two threads, and 2 s with one.
    """
    return 1 if n_values < _VALUES_WORTH_THREADS else 0


class _OneBlasThread:
    """Limits BLAS to one thread as long as anybody holds it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._limits: Any = None

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                self._limits = threadpool_limits(1, user_api="blas")
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if self._holders == 0:
                    self._limits.restore_original_limits()


_ONE_BLAS_THREAD = _OneBlasThread()
