"""What `tpauc.frames` costs over a bare scan, from a million to a billion rows, on each engine.

    python benchmarks/frames.py                   everything; about half an hour on two cores, 2 GB of files
    python benchmarks/frames.py --quick           a hundredth of the rows: does it run?

Each measurement is a program of its own, whose peak memory is known, and is written to the results at once: an
interrupted run goes on where it stopped. Ratios are between measurements of one run; where times are short the two
sides of a ratio alternate, and the best of each counts. Seconds on the clock and of the processors are both written,
without the start of Python or of Spark's JVM, which is warmed up with one of the files. Requirements are held against
the processors' time, which on a shared machine is less disturbed by others; every side has two threads. Scores are
normal, the positives (1 %) shifted by 3 standard deviations. The peak of memory is that of the Python process, in
which DuckDB and Polars run.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from datetime import date
from functools import partial, reduce
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RESULTS = Path(__file__).parent / "results"
CORNER, WIDE = (0.1, 0.05), (0.3, 0.3)
PACKAGES = ("tpauc", "narwhals", "duckdb", "polars", "ibis-framework", "pyspark", "pyarrow")


@dataclass(frozen=True)
class Line:
    """One measurement; ``ratio`` is of seconds on the clock, ``processor_ratio`` of the processors' seconds."""

    what: str
    engine: str
    rows: int
    region: str
    seconds: float
    processor_seconds: float
    peak_mb: float
    other: str = ""
    other_seconds: float | None = None
    ratio: float | None = None
    processor_ratio: float | None = None
    required: str = ""
    reached: str = ""


# ------------------------------------------------------------------------------------------------------------ one run


def bare_scan(relation: Any) -> None:
    """Run the cheapest query that reads both columns."""
    relation.aggregate("label, sum(score)", "label").fetchall()


def opened(engine: str, files: list[str], memory: str | None) -> Any:
    """Return the files as a table of an engine, started and ready."""
    from tpauc import frames

    columns = {"label": "label", "scores": ["score"]}
    if engine == "ibis":
        import ibis

        return ibis.duckdb.connect(threads=2).read_parquet(files)
    if engine == "spark":
        os.environ.setdefault("SPARK_MASTER", "local[2]")
        for some in (files[:1], files):  # the first file alone starts the JVM and lets it compile the queries
            table = frames.open_files(some, **columns, engine="spark", memory=memory or "2g")
            if len(some) < len(files):
                frames.evaluate(table, label="label", score="score", alpha=CORNER[0], beta=CORNER[1])
        return table
    if engine == "polars":
        return frames.open_files(files, **columns, engine="polars")
    once = list(dict.fromkeys(files))
    table = frames.open_files(once, **columns, memory=memory, threads=2)
    return reduce(lambda rows, _: rows.union(table), range(len(files) // len(once) - 1), table)


def processor_seconds() -> float:
    """Return the processors' time of this program and of its children, such as Spark's JVM."""
    total = time.process_time()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            values = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(values[1]) == os.getpid():
            total += (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")
    return total


def child(task: dict) -> None:
    """Make one measurement and print it."""
    from tpauc import frames

    table = opened(task["engine"], task["files"], task["memory"])
    start, processor = time.perf_counter(), processor_seconds()
    estimate = None
    if task["what"] == "bare":
        bare_scan(table)
    else:
        alpha, beta = task["region"]
        (found,) = frames.evaluate(table, label="label", score="score", alpha=alpha, beta=beta)
        estimate = found.interval.estimate
    seconds = time.perf_counter() - start
    processor = processor_seconds() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "processor": processor, "peak": peak, "estimate": estimate}))


def measured(what: str, engine: str, files: list[str], region: tuple[float, float], memory: str | None = None) -> dict:
    task = {"what": what, "engine": engine, "files": files, "region": region, "memory": memory}
    environment = os.environ | {"POLARS_MAX_THREADS": "2"}
    command = [sys.executable, __file__, "--child", json.dumps(task)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise RuntimeError(f"{what} on {engine} failed: {done.stderr[-2000:]}")
    return json.loads(lines[-1])


def alternating(sides: list[Callable[[], dict]], rounds: int) -> list[dict]:
    """Return the fastest of several measurements of each side, by seconds and by processor seconds."""
    found = [[side() for side in sides] for _ in range(rounds)]
    return [
        side[0]
        | {name: min(one[name] for one in side) for name in ("seconds", "processor")}
        | {"peak": max(one["peak"] for one in side)}
        for side in zip(*found, strict=True)
    ]


# --------------------------------------------------------------------------------------------------------------- files


def write_files(folder: Path, n_rows: int, n_files: int, *, crowded: bool = False) -> list[str]:
    """Write made-up scores, unless they are there; crowded ones share one of the first cells."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{number:02}.parquet" for number in range(n_files)]
    for number, path in enumerate(files):
        if path.exists():
            continue
        rng = np.random.default_rng(number)
        positive = rng.random(n_rows // n_files) < 0.01
        scores = rng.normal(size=positive.size) + 3.0 * positive
        table = pa.table({"label": positive.astype(np.int8), "score": 0.5 + 1e-7 * scores if crowded else scores})
        pq.write_table(table, path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)
    return [str(path) for path in files]


# ------------------------------------------------------------------------------------------------------------- results


class Results:
    """The lines of this machine, each written as soon as it is known."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[dict] = list(csv.DictReader(path.open())) if path.exists() else []

    def find(self, what: str, engine: str, rows: int, region: tuple[float, float]) -> dict | None:
        key = (what, engine, str(rows), str(region))
        lines = (line for line in self.lines if (line["what"], line["engine"], line["rows"], line["region"]) == key)
        return next(lines, None)

    def add(self, line: Line) -> None:
        from record import machine  # brings torch, which would count in the memory of the measurements

        versions = "; ".join(f"{package} {version(package)}" for package in PACKAGES)
        about = {"machine": machine(), "versions": versions, "date": date.today().isoformat()}
        values = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in asdict(line).items()}
        self.lines.append({k: "" if v is None else str(v) for k, v in (values | about).items()})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w", newline="", encoding="utf-8") as file:
            names = [field.name for field in fields(Line)] + list(about)
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.lines)
        ratio = "" if line.ratio is None else f"{line.ratio:.2f}x {line.other} ({line.processor_ratio:.2f}x)"
        print(
            f"{line.what:<16} {line.engine:<7} {line.rows:>13,} {line.region:<12} {line.seconds:8.2f} s "
            f"{line.peak_mb:6.0f} MB  {ratio:<36} {line.required} {line.reached}",
            flush=True,
        )


def line_of(
    what: str,
    engine: str,
    rows: int,
    region: tuple[float, float],
    ours: dict,
    other: tuple[str, dict] | None = None,
    most: float | None = None,
    most_mb: float | None = None,
) -> Line:
    ratio = None if other is None else ours["seconds"] / other[1]["seconds"]
    processor_ratio = None if other is None else ours["processor"] / other[1]["processor"]
    required = [] if most is None else [f"at most {most:g}x"]
    required += [] if most_mb is None else [f"{most_mb:g} MB"]
    met = (most is None or (processor_ratio is not None and processor_ratio <= most)) and (
        most_mb is None or ours["peak"] <= most_mb
    )
    return Line(
        what,
        engine,
        rows,
        str(region),
        ours["seconds"],
        ours["processor"],
        ours["peak"],
        "" if other is None else other[0],
        None if other is None else other[1]["seconds"],
        ratio,
        processor_ratio,
        ", ".join(required),
        ("yes" if met else "no") if required else "",
    )


def run(results: Results, folder: Path, scale: int) -> None:
    """Make all measurements that the results do not have yet."""
    n = 100_000_000 // scale
    files = write_files(folder / f"spread-{n}", n, 16)
    if not results.find("evaluate", "duckdb", n, WIDE):
        sides = [partial(measured, "evaluate", "duckdb", files, region, "1GB") for region in (CORNER, WIDE)]
        corner, wide, bare = alternating([*sides, partial(measured, "bare", "duckdb", files, CORNER)], rounds=5)
        results.add(line_of("bare scan", "duckdb", n, CORNER, bare))
        for region, ours in ((CORNER, corner), (WIDE, wide)):
            results.add(line_of("evaluate", "duckdb", n, region, ours, ("bare scan", bare), most=4.0, most_mb=1024.0))
    line = results.find("evaluate", "duckdb", n, CORNER)
    duckdb = {"seconds": float(line["seconds"]), "processor": float(line["processor_seconds"])}
    crowd(results, folder, n // 5)
    for engine, most in (("polars", None), ("ibis", None), ("spark", 6.0)):
        if not results.find("evaluate", engine, n, CORNER):
            sides = [partial(measured, "evaluate", *side, CORNER) for side in ((engine, files), ("duckdb", files))]
            ours, other = alternating(sides, rounds=3)
            results.add(line_of("evaluate", engine, n, CORNER, ours, ("duckdb", other), most=most))
    for size in (n // 100, n // 10):
        if not results.find("evaluate", "duckdb", size, CORNER):
            small = write_files(folder / f"spread-{size}", size, 16)
            results.add(
                line_of("evaluate", "duckdb", size, CORNER, measured("evaluate", "duckdb", small, CORNER, "1GB"))
            )
    if not results.find("evaluate", "duckdb", 10 * n, CORNER):
        ours = measured("evaluate", "duckdb", files * 10, CORNER, "1GB")
        other = (f"{n:.0e} rows", duckdb)
        results.add(line_of("evaluate", "duckdb", 10 * n, CORNER, ours, other, most=12.0))


def crowd(results: Results, folder: Path, n: int) -> None:
    """Compare scores that share one of the first cells with spread ones."""
    if results.find("one cell", "duckdb", n, CORNER):
        return
    spread = write_files(folder / f"spread-{n}", n, 4)
    crowded = write_files(folder / f"crowded-{n}", n, 4, crowded=True)
    sides = [partial(measured, "evaluate", "duckdb", files, CORNER, "1GB") for files in (crowded, spread)]
    ours, other = alternating(sides, rounds=5)
    results.add(line_of("one cell", "duckdb", n, CORNER, ours, ("spread scores", other), most=3.0))


def plot(results: Results, path: Path) -> None:
    """Draw the seconds over the rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    chosen = [line for line in results.lines if line["what"] == "evaluate" and line["region"] == str(CORNER)]
    for engine in dict.fromkeys(line["engine"] for line in chosen):
        points = sorted((int(line["rows"]), float(line["seconds"])) for line in chosen if line["engine"] == engine)
        axes.loglog(*zip(*points, strict=True), marker="o", label=engine)
    axes.set(xlabel="rows", ylabel="seconds", title="tpauc.frames.evaluate, two threads")
    axes.legend()
    figure.savefig(path, dpi=120)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Time tpauc.frames against bare scans.")
    parser.add_argument(
        "--quick", action="store_true", help="a hundredth of the rows; nothing is required of the times"
    )
    folder = Path(tempfile.gettempdir(), "tpauc-bench-frames")
    parser.add_argument("--folder", type=Path, default=folder, help="for the made-up files")
    parser.add_argument("--plot", type=Path, help="draw the growth with the number of rows")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        child(json.loads(options.child))
        return 0
    from record import machine, slug

    name = f"frames-{slug(machine())}.csv"
    results = Results(options.folder / f"quick-{name}" if options.quick else RESULTS / name)
    run(results, options.folder, 100 if options.quick else 1)
    if options.plot:
        plot(results, options.plot)
    return 0 if options.quick or all(line["reached"] != "no" for line in results.lines) else 1


if __name__ == "__main__":
    sys.exit(main())
