"""SIGTERM and Ctrl-C as a wish to stop at the next good moment, not as a blow.

While :class:`StopSignals` is in force the first signal is only noted; whoever works looks at ``requested`` between two
steps, and raises :class:`TrainingInterrupted` when all is saved. The handlers of before are put back at once, so a
second Ctrl-C acts as always. A signal that came too late to be answered is delivered once more at the end.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class TrainingInterrupted(SystemExit):
    """Training was asked to stop, and has saved where it stands.

    A script that does not catch it ends with the usual exit code, 143 after SIGTERM and 130 after Ctrl-C, without a
    traceback. After Ctrl-C it is a ``KeyboardInterrupt`` as well, so it is caught wherever that is.

    Parameters
    ----------
    signal_number : int
        What arrived, ``signal.SIGTERM`` or ``signal.SIGINT``.
    where : str
        How far training had come.
    checkpoint : Path or None
        What was saved; None if the run has no folder.

    Examples
    --------
    >>> try:
    ...     raise interrupted(signal.SIGTERM, "in epoch 2 after 7 of 40 steps", Path("run/last.ckpt"))
    ... except TrainingInterrupted as stop:
    ...     print(stop.code, stop.checkpoint.name)
    143 last.ckpt
    """

    def __init__(self, signal_number: int, where: str, checkpoint: Path | None) -> None:
        super().__init__(128 + signal_number)
        self.signal_number, self.where, self.checkpoint = signal_number, where, checkpoint

    def __str__(self) -> str:
        saved = "Nothing was saved."
        if self.checkpoint is not None:
            saved = f"Saved in {self.checkpoint}; to resume, run the same again (resume='auto')."
        return f"Interrupted by {signal.Signals(self.signal_number).name} {self.where}. {saved}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.signal_number, self.where, self.checkpoint)


class TrainingInterruptedByUser(TrainingInterrupted, KeyboardInterrupt):
    """What Ctrl-C raises: see :class:`TrainingInterrupted`."""


def interrupted(signal_number: int, where: str, checkpoint: Path | None) -> TrainingInterrupted:
    """Return the exception to raise after a signal.

    Examples
    --------
    >>> stop = interrupted(signal.SIGTERM, "in epoch 2 after 7 of 40 steps", Path("run/last.ckpt"))
    >>> stop.code
    143
    >>> print(stop)
    Interrupted by SIGTERM in epoch 2 after 7 of 40 steps. Saved in run/last.ckpt; to resume, run the same again \
(resume='auto').
    """
    kind = TrainingInterruptedByUser if signal_number == signal.SIGINT else TrainingInterrupted
    return kind(signal_number, where, checkpoint)


class StopSignals:
    """Note SIGTERM and SIGINT instead of dying of them, within a ``with`` statement.

    Signals reach the main thread of a program alone; in any other thread this does nothing.

    Parameters
    ----------
    hand_on : callable, optional
        Called with the number of the signal that arrived.
    every_one : bool, default=False
        Note every signal, not only the first, and deliver none at the end. For a process whose parent hands signals on:
        Ctrl-C at a terminal reaches it twice, from the terminal and from the parent.

    Attributes
    ----------
    requested : int
        Number of the signal that arrived, 0 if none.

    Examples
    --------
    >>> former = signal.signal(signal.SIGTERM, lambda *_: print("handled as before"))
    >>> with StopSignals() as stop:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     print("noted", stop.requested == signal.SIGTERM)
    noted True
    handled as before
    >>> _ = signal.signal(signal.SIGTERM, former)
    """

    def __init__(self, hand_on: Callable[[int], None] | None = None, *, every_one: bool = False) -> None:
        self.requested = 0
        self._hand_on = hand_on
        self._every_one = every_one
        self._former: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            self._former = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._put_back()
        if self.requested and kind is None and not self._every_one:
            signal.raise_signal(self.requested)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.requested = number
        if not self._every_one:
            self._put_back()
        if self._hand_on is not None:
            self._hand_on(number)

    def _put_back(self) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)
        self._former = {}
