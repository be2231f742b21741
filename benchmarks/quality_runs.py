"""Every run as a line of a CSV file: appended whole, by any of several processes, and never asked for twice.

A run is one method on one split, judged in one region. Where a run stands in the file more than once, the last line
counts. A line that was cut short, by a full disk or a lost machine, is ignored and run again.
"""

from __future__ import annotations

import csv
import fcntl
import io
import math
import os
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import NamedTuple


class Key(NamedTuple):
    """What is run."""

    table: str
    family: str
    method: str
    seed: int
    alpha: float
    beta: float


@dataclass(frozen=True)
class Run:
    """A method on a split: its TPAUC on the test rows, and the processor time of all that its training took.

    ``value`` and ``seconds`` are NaN where the method could not run; ``note`` then says why.
    """

    table: str
    rows: int
    positives: int
    features: int
    family: str
    method: str
    seed: int
    alpha: float
    beta: float
    value: float
    seconds: float
    chosen: str
    note: str
    versions: str
    commit: str

    @property
    def key(self) -> Key:
        """What was run."""
        return Key(self.table, self.family, self.method, self.seed, self.alpha, self.beta)

    @property
    def measured(self) -> bool:
        """Whether it has a value."""
        return math.isfinite(self.value)


_FIELDS = [field.name for field in fields(Run)]
_TYPES = {"int": int, "float": float, "str": str}


def append(path: Path, run: Run) -> None:
    """Add a line to the file, with the header if it is new, in one piece."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = file.seek(0, os.SEEK_END)
        text = io.StringIO()
        writer = csv.DictWriter(text, _FIELDS, lineterminator="\n")
        if size == 0:
            writer.writeheader()
        else:
            file.seek(-1, os.SEEK_END)
            text.write("" if file.read(1) == b"\n" else "\n")  # a line that was cut short must not swallow this one
        values = {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in asdict(run).items()}
        writer.writerow(values)
        file.write(text.getvalue().encode("utf-8"))


def read(paths: Iterable[Path]) -> dict[Key, Run]:
    """Return the runs in the files, the last of each."""
    runs: dict[Key, Run] = {}
    for path in paths:
        with path.open(newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file):
                if (run := _run_of(line)) is not None:
                    runs[run.key] = run
    return runs


def _run_of(line: dict[str, str]) -> Run | None:
    if None in line.values():  # fields are missing
        return None
    try:
        values = {field.name: _TYPES[str(field.type)](line[field.name]) for field in fields(Run)}
    except ValueError:  # not the number it should be
        return None
    return Run(**values)  # type: ignore[arg-type]


def commit() -> str:
    """Return the commit that is run, with a plus sign if files differ from it."""
    here = Path(__file__).parent
    commands = (["git", "rev-parse", "--short", "HEAD"], ["git", "status", "--porcelain", "--", "../src", "."])
    try:
        name, changes = (
            subprocess.run(command, cwd=here, capture_output=True, text=True, check=True).stdout.strip()
            for command in commands
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}+" if changes else name
