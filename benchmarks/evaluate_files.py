"""What `tpauc evaluate` costs over reading the file alone, for 10 million scores in Parquet and in CSV.

    python benchmarks/evaluate_files.py            both files, a few minutes
    python benchmarks/evaluate_files.py --quick    a hundred thousand scores: does it run?

Each side is a program of its own, so that both pay for Python's start, and both use the package's reader, which parses
in several threads. Evaluating prints TPAUC, OPAUC and AUC with intervals, and the operating point. Times are those on
the clock, the best of rounds that alternate between the two; the note has the time of the processors as well.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from record import Measurement, Row, at_most, print_header, print_row, row_of
from tpauc.cli.table_io import write_table

READ_ALONE = """
import sys
from pathlib import Path
from tpauc.cli.table_io import read_table
read_table(Path(sys.argv[1]), ["label", "score"], numbers=["score"])
"""
EVALUATE = ["--label", "label", "--score", "score", "--alpha", "0.3", "--beta", "0.3", "--json"]


def write_scores(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(n) < 0.05
    write_table(path, pa.table({"label": positive.astype(np.int8), "score": rng.normal(size=n) + 2.0 * positive}))


def seconds(*arguments: str) -> tuple[float, float]:
    """Run Python, and return the seconds that passed on the clock and in the processors."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(path: Path, rounds: int) -> Measurement:
    sides = (["-m", "tpauc", "evaluate", str(path), *EVALUATE], ["-c", READ_ALONE, str(path)])
    best = [(math.inf, math.inf)] * 2
    for _ in range(rounds):
        for side, arguments in enumerate(sides):
            clock, processors = seconds(*arguments)
            best[side] = (min(best[side][0], clock), min(best[side][1], processors))
    (ours, our_work), (reading, its_work) = best
    note = f"processor time {our_work:.2f} s against {its_work:.2f} s, {our_work / its_work:.2f}x"
    return Measurement((1e3 * ours, 1e3 * reading), note=note)


def comparisons(folder: Path, n: int, rounds: int) -> list[Row]:
    rows = []
    for kind in ("parquet", "csv"):
        path = folder / f"scores.{kind}"
        write_scores(path, n)
        rows.append(row_of(f"evaluate, {kind}", n, "reading alone", at_most(3.0), partial(compare, path, rounds)))
        print_row(rows[-1])
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Time tpauc evaluate against reading the file alone.")
    parser.add_argument("--quick", action="store_true", help="a hundred thousand scores")
    options = parser.parse_args(arguments)
    print_header()
    with tempfile.TemporaryDirectory() as folder:
        rows = comparisons(Path(folder), *((100_000, 2) if options.quick else (10_000_000, 9)))
    return 0 if options.quick or all(row.reached == "yes" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
