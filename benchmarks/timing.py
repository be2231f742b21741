"""Time and memory of one step of work, measured so that two of them can be compared within one run.

Times are processor time, which on one thread is the time that passes on a machine with nothing else to do; and the best
of several rounds that alternate between the two (ours, theirs, ours, theirs, ...): what else the machine does hits both
alike, and the best round is the one it disturbed least. Memory is the extra peak: bytes that
torch's CPU allocator holds at once during the step beyond what it held before, the returned gradients included.
"""

from __future__ import annotations

import gc
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.profiler import ProfilerActivity, profile

Step = Callable[[], Any]

ROUND_SECONDS = 0.02  # a round repeats a fast step until it lasts this long, far above the clock's resolution
BUDGET_SECONDS = 6.0  # time for all rounds of one comparison, within the two limits below
FEWEST_ROUNDS, MOST_ROUNDS = 3, 25


def alternating_best(ours: Step, other: Step) -> tuple[float, float]:
    """Return milliseconds per call of ``ours`` and of ``other``, each the best of the alternating rounds."""
    steps = (ours, other)
    with _no_garbage_collection():
        # The first call pays for caches and lazy set-up; the second says how many calls and rounds there is time for.
        first_look = [_seconds(step, calls=1) for step in steps for _ in range(2)][1::2]
        calls = [max(1, math.ceil(ROUND_SECONDS / seconds)) for seconds in first_look]
        round_seconds = sum(n * seconds for n, seconds in zip(calls, first_look, strict=True))
        rounds = min(MOST_ROUNDS, max(FEWEST_ROUNDS, int(BUDGET_SECONDS / round_seconds)))
        best = [math.inf, math.inf]
        for _ in range(rounds):
            for i, step in enumerate(steps):
                best[i] = min(best[i], _seconds(step, calls[i]) / calls[i])
    return best[0] * 1e3, best[1] * 1e3


def once(step: Step) -> tuple[float, int]:
    """Return the milliseconds and the extra peak memory in bytes of a single call, without a warm-up."""
    with _no_garbage_collection(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        seconds = _seconds(step, calls=1)
    return seconds * 1e3, _peak(profiler)


def extra_memory(step: Step) -> int:
    """Return the extra peak memory of a call in bytes."""
    return once(step)[1]


def _seconds(step: Step, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        step()
    return time.process_time() - start


def _peak(profiler: profile) -> int:
    """Return the highest running total of the allocations and releases that the profiler saw."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    changes = sorted((event["ts"], event["args"]["Bytes"]) for event in events if event["name"] == "[memory]")
    held = peak = 0
    for _, change in changes:
        held += change
        peak = max(peak, held)
    return peak


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
