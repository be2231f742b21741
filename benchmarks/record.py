"""One line of the table: what was measured, what was required, and on which machine with which versions."""

from __future__ import annotations

import csv
import os
import platform
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tpauc.paper.experiments.results import processor

PACKAGES = ("tpauc", "torch", "numpy", "scikit-learn", "libauc", "XCurve", "lightgbm")
PEERS_OF_AUTO = ("autogluon.tabular", "FLAML", "catboost")  # named only where they are installed


@dataclass(frozen=True)
class Requirement:
    """A bound on the ratio of two times, and where it applies on our extra memory in multiples of the score vector."""

    factor: float
    faster: bool
    memory: float | None = None

    def __str__(self) -> str:
        text = f"at least {self.factor:g}x faster" if self.faster else f"at most {self.factor:g}x the time"
        return text if self.memory is None else f"{text}, {self.memory:g}x the memory"

    def is_met(self, ratio: float, memory: float | None) -> bool:
        """Tell whether the ratio, in the direction of this requirement, and the memory keep to it."""
        in_time = ratio >= self.factor if self.faster else ratio <= self.factor
        return in_time and (self.memory is None or (memory is not None and memory <= self.memory))


def at_least(factor: float, *, memory: float | None = None) -> Requirement:
    """Require ours to be that many times as fast: ratio = their time / our time."""
    return Requirement(factor, faster=True, memory=memory)


def at_most(factor: float, *, memory: float | None = None) -> Requirement:
    """Require ours to take at most that many times as long: ratio = our time / their time."""
    return Requirement(factor, faster=False, memory=memory)


class NotMeasured(Exception):  # noqa: N818 - a finding for the table, not an error
    """Says why a comparison cannot be made here."""


@dataclass(frozen=True)
class Measurement:
    """Milliseconds and extra memory in multiples of the score vector, each as (ours, theirs), and what to know."""

    milliseconds: tuple[float, float]
    memory: tuple[float | None, float | None] = (None, None)
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One comparison.

    ``ratio`` is ours / theirs where our time may be at most a multiple of theirs, else theirs / ours: how many times
    as fast ours is. ``reached`` is yes, no, "not measured", or empty where nothing is required. Extra memory is in
    multiples of the score vector.
    """

    what: str
    size: int
    ours_ms: float | None
    other: str
    other_ms: float | None
    ratio: float | None
    required: str
    reached: str
    extra_memory: float | None = None
    other_extra_memory: float | None = None
    note: str = ""


def row_of(what: str, size: int, other: str, required: Requirement | None, measure: Callable[[], Measurement]) -> Row:
    """Make a comparison and hold it against its requirement; one that cannot be made is a row with the reason."""
    text = str(required) if required else ""
    try:
        found = measure()
    except NotMeasured as reason:
        return Row(what, size, None, other, None, None, text, "not measured", note=str(reason))
    ours_ms, other_ms = found.milliseconds
    ratio = other_ms / ours_ms if required is None or required.faster else ours_ms / other_ms
    reached = ""
    if required:
        reached = "yes" if required.is_met(ratio, found.memory[0]) else "no"
    return Row(what, size, ours_ms, other, other_ms, ratio, text, reached, *found.memory, found.note)


# ---------------------------------------------------------------------------------------------------------- output

_HEADER = (
    f"{'what':<36} {'size':>10} {'ours ms':>10} {'other':<22} {'other ms':>10} {'ratio':>8}  {'required':<38} reached"
)


def print_header() -> None:
    print(_HEADER)
    print("-" * len(_HEADER), flush=True)


def print_row(row: Row) -> None:
    times = f"{_short(row.ours_ms):>10} {row.other:<22} {_short(row.other_ms):>10} {_short(row.ratio):>8}"
    print(f"{row.what:<36} {row.size:>10,} {times}  {row.required:<38} {row.reached}", flush=True)
    memory = [f"{_short(x)}x" for x in (row.extra_memory, row.other_extra_memory) if x is not None]
    remarks = ([f"extra memory {' against '.join(memory)} the score vector"] if memory else []) + [row.note]
    remarks = [remark for remark in remarks if remark]
    if remarks:
        print(f"    {'; '.join(remarks)}", flush=True)


def write_csv(rows: Sequence[Row], folder: Path, *, only: str = "") -> Path:
    """Write the rows, each with versions, machine and date, to a file named by processor and torch version.

    Rows of the file whose subject does not start with ``only`` are kept.
    """
    about = {"versions": versions(), "machine": machine(), "date": date.today().isoformat()}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"speed-{slug(machine())}-torch{version('torch')}.csv"
    kept = []
    if only and path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            kept = [line for line in csv.DictReader(file) if not line["what"].startswith(only)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)] + list(about), lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
        for row in rows:
            values = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in asdict(row).items()}
            writer.writerow(values | about)
    return path


def _short(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def versions() -> str:
    """Return Python's version and those of the packages that are compared."""
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    for package in PEERS_OF_AUTO:
        with suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return "; ".join(found)


def machine() -> str:
    """Return the processor and the number of its cores."""
    return f"{processor()}, {os.cpu_count()} cores"


def slug(text: str) -> str:
    """Return a text as part of a file name."""
    without_marks = re.sub(r"\((?:R|TM)\)", "", text, flags=re.IGNORECASE)
    return re.sub(r"[^a-z0-9.]+", "-", without_marks.lower()).strip("-")
