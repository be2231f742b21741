"""What ``tpauc evaluate`` and ``tpauc compare`` do with files: open, evaluate, say how long it takes, and print.

The command line only parses options; everything else is here, so that it can be called and tested without it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tpauc.frames._engines import watched_queries
from tpauc.frames.comparing import compare
from tpauc.frames.evaluating import Evaluation, evaluate
from tpauc.frames.opening import open_files
from tpauc.metrics.comparison import Comparison

Say = Callable[[str], None]

_SILENT_SECONDS = 3.0  # nothing is said of what takes less


@dataclass(frozen=True)
class FileOptions:
    """Where the rows are and which columns they have, as the command line asks for them."""

    paths: Sequence[str]
    label: str
    scores: Sequence[str]
    alpha: float
    beta: float
    groups: str | None = None
    by: Sequence[str] = ()
    pos_label: Any = None
    engine: str = "duckdb"
    memory: str | None = None
    threads: int | None = None
    confidence: float = 0.95
    tolerance: float | None = None


def evaluate_files(options: FileOptions, *, say: Say | None = None, stdin: BinaryIO | None = None) -> list[Evaluation]:
    r"""Evaluate files; ``-`` among the paths is CSV from standard input. ``say`` is given progress lines.

    Examples
    --------
    >>> import io
    >>> options = FileOptions(["-"], label="y", scores=["model"], alpha=0.5, beta=0.5)
    >>> found, = evaluate_files(options, stdin=io.BytesIO(b"y,model\n1,0.9\n1,0.3\n0,0.4\n0,0.2\n"))
    >>> found.interval.estimate
    0.0
    """
    with _opened(options, stdin) as table, _progress(say):
        return evaluate(
            table,
            label=options.label,
            score=list(options.scores),
            alpha=options.alpha,
            beta=options.beta,
            groups=options.groups,
            by=list(options.by) or None,
            pos_label=options.pos_label,
            tolerance=options.tolerance,
            confidence=options.confidence,
        )


def compare_files(options: FileOptions, *, say: Say | None = None, stdin: BinaryIO | None = None) -> Comparison:
    """Compare the two score columns of files, as :func:`evaluate_files` evaluates them."""
    if options.by:
        raise ValueError(f"by cannot be combined with a comparison, got by={list(options.by)}")
    with _opened(options, stdin) as table, _progress(say):
        return compare(
            table,
            label=options.label,
            score=list(options.scores),
            alpha=options.alpha,
            beta=options.beta,
            groups=options.groups,
            pos_label=options.pos_label,
            confidence=options.confidence,
        )


def as_records(found: Sequence[Evaluation]) -> list[dict[str, Any]]:
    """Return evaluations as plain values, for JSON or a table."""
    return [
        {
            "score": one.score,
            **({"by": {name: _plain(value) for name, value in one.by.items()}} if one.by else {}),
            "n_positive": one.n_positive,
            "n_negative": one.n_negative,
            "tpauc": one.interval.estimate,
            "low": one.interval.low,
            "high": one.interval.high,
            "error": one.error,
            **({} if one.n_clusters is None else {"n_clusters": one.n_clusters}),
            "threshold": one.point.threshold,
            "tpr": one.point.tpr,
            "fpr": one.point.fpr,
            "feasible": one.point.feasible,
        }
        for one in found
    ]


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else str(value)


@contextmanager
def _opened(options: FileOptions, stdin: BinaryIO | None) -> Iterator[Any]:
    """Open the files; standard input, which several passes cannot read, is kept in a temporary file meanwhile."""
    others = [*options.by, *([] if options.groups is None else [options.groups])]
    with tempfile.TemporaryDirectory(prefix="tpauc-") as folder:
        paths = [path if path != "-" else _saved(stdin or sys.stdin.buffer, folder) for path in options.paths]
        yield open_files(
            paths,
            label=options.label,
            scores=options.scores,
            others=others,
            pos_label=options.pos_label,
            engine=options.engine,
            memory=options.memory,
            threads=options.threads,
        )


def _saved(stream: BinaryIO, folder: str) -> str:
    path = Path(folder, "standard-input.csv")
    with path.open("wb") as file:
        shutil.copyfileobj(stream, file)
    return os.fspath(path)


@contextmanager
def _progress(say: Say | None) -> Iterator[None]:
    """Say after each query how long it took and about how long the rest will take."""
    if say is None:
        yield
        return
    start = time.monotonic()

    def after(number: int, seconds: float) -> None:
        passed = time.monotonic() - start
        if passed > _SILENT_SECONDS:
            # The first pass reads everything; the last one reads less and orders what it reads.
            left = f", about {seconds:.0f} s left" if number == 1 else ""
            say(f"pass {number} done after {passed:.0f} s{left}")

    with watched_queries(after):
        yield
