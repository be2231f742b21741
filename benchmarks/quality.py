"""How good the library is in the corner: TPAUC on real tables, side by side with cross-entropy and with peers.

    python benchmarks/quality.py --data-dir FOLDER             everything; may be stopped, and goes on where it was
    python benchmarks/quality.py --data-dir FOLDER --quick     small tables, two seeds, one region: under 5 minutes
    python benchmarks/quality.py --only-table [--publish]      tables and plot of the runs that there are

FOLDER holds a file for each table: NPZ with ``X`` and ``y``, or CSV with the column ``--target``. Every run is a line
of ``results/quality-*.csv``; runs that stand there are not run again, unless ``--redo`` names their method.
``--publish`` writes ``results/quality.md`` and ``docs/quality.png``. What is compared stands in
`quality_methods.METHODS`, how in `quality_tables` and `quality_training`. `make bench-quality` installs the peers and
runs it.
"""

from __future__ import annotations

import os

# Read once, when NumPy and torch are imported below: one thread a process, so that processor time is the time it takes.
os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import math
import multiprocessing
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

import quality_runs
import quality_tables
from quality_markdown import FAMILY_NAMES, page
from quality_methods import METHODS, Method, Problem, outcomes
from quality_plot import draw
from quality_runs import Key, Run
from quality_summary import Results
from quality_tables import Table
from quality_training import value
from record import machine, slug, versions
from tpauc.region import Region

HERE = Path(__file__).parent
REGIONS = (Region(0.3, 0.3), Region(0.5, 0.5), Region(0.1, 0.1))
REGIONS_OF = {"auto": (Region(0.3, 0.3), Region(0.1, 0.1))}  # the others: all of these
QUICK_ROWS = 6_000  # the largest table of a quick run
# Of a fit, and beyond that for each row: what a machine with two busy cores took.
GUESSED_SECONDS = {"linear": (0.8, 1e-5), "mlp": (1.5, 1.5e-5), "lightgbm": (0.1, 2.5e-5), "auto": (15.0, 5e-4)}


class Work(NamedTuple):
    """Methods to run on one split, each with the regions that it is still to be judged in."""

    path: Path
    target: str
    family: str
    seed: int
    methods: tuple[tuple[str, tuple[Region, ...]], ...]


# ------------------------------------------------------------------------------------------------------------- plan


def plan(
    tables: Sequence[tuple[Path, Table]], options: argparse.Namespace, done: dict[Key, Run]
) -> tuple[list[Work], float]:
    """Return what is to be run, the first region of all tables and seeds first, and a guess at its processor time."""
    planned, seconds = [], 0.0
    largest_first = sorted(tables, key=lambda found: -found[1].positive.size)
    for region, seed, (path, table), family in product(options.regions, options.seeds, largest_first, options.families):
        allowed = [r for r in options.regions if r in REGIONS_OF.get(family, options.regions)]
        if region not in allowed:
            continue
        methods = []
        for name in _methods(family, options.methods):
            regions = _regions(METHODS[family][name], region, allowed)
            keys = [Key(path.stem, family, name, seed, r.alpha, r.beta) for r in regions if table.allows(r)]
            missing = [key for key in keys if name in options.redo or not _is_done(done, key)]
            if missing:
                methods.append((name, tuple(Region(key.alpha, key.beta) for key in missing)))
        if methods:
            planned.append(Work(path, options.target, family, seed, tuple(methods)))
            seconds += len(methods) * _guess(table, family)
    return planned, seconds


def _regions(method: Method, region: Region, regions: Sequence[Region]) -> Sequence[Region]:
    """Return what to judge a method in when it is the turn of a region: a fit that serves all is judged at once."""
    if method.serves_all_regions:
        return regions if region == regions[0] else ()
    return (region,)


def _methods(family: str, wanted: Sequence[str]) -> list[str]:
    return [name for name in METHODS[family] if not wanted or name in wanted]


def _is_done(done: dict[Key, Run], key: Key) -> bool:
    return key in done and done[key].measured


def _guess(table: Table, family: str) -> float:
    base, per_row = GUESSED_SECONDS[family]
    return base + per_row * table.positive.size


# -------------------------------------------------------------------------------------------------------------- runs


@lru_cache(maxsize=2)
def _read(path: Path, target: str) -> Table:
    return quality_tables.read(path, target)


def work(item: Work, output: Path, commit: str) -> int:
    """Run all methods of an item, write each run as it ends, and return how many there were."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # of peers, mostly; ours are errors in the tests
    table = _read(item.path, item.target)
    split = table.split(item.seed)
    problem = Problem(split, item.family, item.seed)
    n_runs = 0
    for method, regions in item.methods:
        for outcome in outcomes(problem, method, regions):
            measured = outcome.scores is not None
            diverged = measured and not np.isfinite(outcome.scores).all()
            run = Run(
                table=table.name,
                rows=table.positive.size,
                positives=table.n_positive,
                features=split.train_rows.shape[1],
                family=item.family,
                method=method,
                seed=item.seed,
                alpha=outcome.region.alpha,
                beta=outcome.region.beta,
                value=value(split.test_labels, outcome.scores, outcome.region) if measured else math.nan,
                seconds=outcome.seconds,
                chosen=outcome.chosen,
                note="training diverged on some splits: counted as 0" if diverged else outcome.note,
                versions=versions(),
                commit=commit,
            )
            quality_runs.append(output, run)
            n_runs += 1
            _print(run)
    return n_runs


def _print(run: Run) -> None:
    found = f"{run.value:.4f}  {run.seconds:7.1f} s" if run.measured else run.note
    where = f"{run.table:<20} {run.family:<9} seed {run.seed} ({run.alpha:g}, {run.beta:g})"
    print(f"{where}  {run.method:<24} {found}  {run.chosen if run.measured else ''}".rstrip(), flush=True)


def _print_progress(number: int, total: int) -> None:
    print(f"  {number} of {total} splits done", flush=True)


def run_all(planned: Sequence[Work], output: Path, jobs: int) -> None:
    """Run everything in so many processes."""
    commit = quality_runs.commit()
    if jobs == 1:
        for number, item in enumerate(planned, start=1):
            work(item, output, commit)
            _print_progress(number, len(planned))
        return
    # A fresh interpreter each: torch and OpenMP do not survive being forked.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(work, item, output, commit) for item in planned]
        try:
            for number, finished in enumerate(as_completed(running), start=1):
                finished.result()
                _print_progress(number, len(planned))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


# ------------------------------------------------------------------------------------------------------------ output


def show(runs: dict[Key, Run], *, publish: bool, results: Path) -> None:
    """Print the tables, and write them and the plot where they are published."""
    text = page(runs.values())
    print(text)
    if publish:
        (results / "quality.md").write_text(text, encoding="utf-8")
        picture = HERE.parent / "docs" / "quality.png"
        draw([Results(runs.values(), family, REGIONS[0]) for family in FAMILY_NAMES], picture)
        print(f"written to {os.path.relpath(results / 'quality.md')} and {os.path.relpath(picture)}")


def arguments(given: list[str] | None) -> argparse.Namespace:
    every_method = sorted({name for methods in METHODS.values() for name in methods})
    parser = argparse.ArgumentParser(description="Compare TPAUC on real tables with cross-entropy and with peers.")
    parser.add_argument("--data-dir", type=Path, help="folder of tables: NPZ with X and y, CSV, TSV, Parquet")
    parser.add_argument("--target", default="y", help="column of the labels, 0/1 (default: y)")
    parser.add_argument("--families", nargs="+", choices=list(METHODS), help="(default: all)")
    parser.add_argument("--methods", nargs="+", choices=every_method, default=[], metavar="METHOD")
    parser.add_argument("--tables", nargs="+", default=[], metavar="TABLE")
    parser.add_argument("--seeds", nargs="+", type=int, metavar="SEED", help="splits (default: 0 1 2 3 4)")
    parser.add_argument("--regions", nargs="+", type=_region, metavar="ALPHA,BETA", help="(default: .3,.3 .5,.5 .1,.1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes, of one thread each")
    parser.add_argument("--quick", action="store_true", help="small tables, two seeds, one region; nothing is kept")
    parser.add_argument("--redo", nargs="+", choices=every_method, default=[], metavar="METHOD")
    parser.add_argument("--only-table", action="store_true", help="run nothing")
    parser.add_argument("--publish", action="store_true", help="write quality.md and docs/quality.png")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder of the CSV file")
    options = parser.parse_args(given)
    if options.data_dir is None and not options.only_table:
        parser.error("--data-dir is needed to run anything")
    if options.quick and options.publish:
        parser.error("--quick is not for publishing")
    # AutoGluon and FLAML take a minute per split: not what is quick.
    options.families = options.families or [name for name in METHODS if not (options.quick and name == "auto")]
    options.seeds = options.seeds or ([0, 1] if options.quick else list(range(5)))
    options.regions = options.regions or (REGIONS[:1] if options.quick else REGIONS)
    return options


def _region(text: str) -> Region:
    try:
        alpha, beta = map(float, text.split(","))
        return Region(alpha, beta)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be two shares like 0.3,0.3, got {text!r} ({error})") from error


def main(given: list[str] | None = None) -> int:
    options = arguments(given)
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            options.output = Path(folder)
            return _run_and_show(options)
    return _run_and_show(options)


def _run_and_show(options: argparse.Namespace) -> int:
    output = options.output / f"quality-{slug(machine())}.csv"
    known = sorted(options.output.glob("quality-*.csv"))
    if not options.only_table:
        tables = [(path, _read(path, options.target)) for path in quality_tables.find(options.data_dir, options.tables)]
        if options.quick:
            tables = [(path, table) for path, table in tables if table.positive.size <= QUICK_ROWS]
        planned, seconds = plan(tables, options, quality_runs.read(known))
        n_runs = sum(len(regions) for item in planned for _, regions in item.methods)
        minutes = seconds / 60.0
        print(f"{n_runs} runs on {len(planned)} splits, about {minutes:.0f} minutes of processor time", flush=True)
        started = time.perf_counter()
        run_all(planned, output, options.jobs)
        print(f"took {(time.perf_counter() - started) / 60.0:.1f} minutes\n")
        known = sorted(options.output.glob("quality-*.csv"))
    runs = quality_runs.read(known)
    if not runs:
        raise SystemExit(f"{options.output} holds no runs yet")
    show(runs, publish=options.publish, results=options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
