"""Coverage of the intervals and level of the comparisons that the package prints, by simulation.

Each cell of a grid draws many samples from a population whose TPAUC is known, and counts how often the 95 % interval
holds it, or how often two models of equal TPAUC are told apart at 5 %. One row per finished cell is appended to a CSV
file, and cells that are there already are not run again: stop and start as you like. Seeds are fixed, one per cell.

    python benchmarks/coverage.py                    # all that is missing
    python benchmarks/coverage.py --only rare        # cells whose name holds this
    python benchmarks/coverage.py --show             # the table so far, cells out of range marked
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import csv
import itertools
import math
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from tpauc.metrics.comparison import compare_partial_auc
from tpauc.metrics.intervals import partial_auc_interval
from tpauc.region import Region

RESULTS = Path(__file__).parent / "results" / "coverage.csv"
REPETITIONS, RESAMPLES = 300, 499
REPETITIONS_OF_COMPARISONS = 1000  # a level of 5 % then has a standard error of 0.7 %
ROWS_PER_GROUP = 5
WITHIN_GROUP = 0.5  # share of the variance that rows of a group have in common
TIE_WIDTH = 0.5  # scores are rounded to multiples of this
SHARED_NOISE = 0.7  # share of the variance that two models have in common
REGIONS = [(0.1, 0.05), (0.3, 0.3), (1.0, 0.1)]
# Rectangles by scenario: alpha, beta, min_alpha, min_beta.
RECTANGLES = {"lower left": (1.0, 0.3, 0.5, 0.0), "middle band": (0.7, 0.5, 0.3, 0.1), "fpr band": (1.0, 0.3, 0.0, 0.1)}

Array = NDArray[Any]


@dataclass(frozen=True)
class Cell:
    """A population, the size of the samples, and what is done with each."""

    what: str  # "interval" or "comparison"
    scenario: str  # "plain", "rare", "ties", "groups", "groups ignored", or the name of a rectangle
    n_positive: int
    n_negative: int
    alpha: float
    beta: float
    tpauc: float
    spread: float  # of the positives; for a comparison, of the positives of the second model
    method: str = "auto"

    @property
    def region(self) -> Region:
        return Region(self.alpha, self.beta, *RECTANGLES.get(self.scenario, ())[2:])

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(str(getattr(self, field.name)) for field in fields(self))


@dataclass(frozen=True)
class Result:
    """How often the truth was in the interval, below and above it; for a comparison, how often 0 was."""

    repetitions: int
    inside: float
    below: float
    above: float
    hard_positives: int
    seconds: float


# -------------------------------------------------------------------------------------------------------- populations


def true_tpauc(
    shift: float, spread: float, alpha: float, beta: float, ties: bool = False, steps: int = 20_000
) -> float:
    """TPAUC of normal scores by quadrature; of rounded ones by their probabilities."""
    if not ties:
        positives = shift + spread * ndtri((np.arange(steps) + 0.5) / steps * alpha)
        return float(np.clip(1.0 - ndtr(-positives) / beta, 0.0, 1.0).mean())
    edges = (np.arange(-200, 201) + 0.5) * TIE_WIDTH
    positive, negative = np.diff(ndtr((edges - shift) / spread)), np.diff(ndtr(edges))
    hard_positive = np.diff(np.minimum(np.cumsum(positive), alpha), prepend=0.0)
    hard_negative = np.diff(np.minimum(np.cumsum(negative[::-1]), beta), prepend=0.0)[::-1]
    below = np.cumsum(hard_negative) - hard_negative / 2.0
    return float(hard_positive @ below / (alpha * beta))


def true_area(shift: float, spread: float, region: Region, ties: bool = False) -> float:
    """Normalised area of a rectangle: the areas of its corners, added and subtracted."""
    corners = (
        sign * corner.area * true_tpauc(shift, spread, corner.alpha, corner.beta, ties)
        for sign, corner in region.signed_corners()
    )
    return sum(corners) / region.area


def shift_for(tpauc: float, spread: float, region: Region) -> float:
    """Mean of the positives whose scores have this area, by bisection."""
    low, high = -10.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if true_area(middle, spread, region) < tpauc else (low, middle)
    return low


def noise(generator: np.random.Generator, groups: Array) -> Array:
    """Draw standard normal numbers, correlated within groups."""
    common = generator.normal(size=int(groups.max()) + 1)[groups]
    own = generator.normal(size=groups.size)
    return math.sqrt(WITHIN_GROUP) * common + math.sqrt(1.0 - WITHIN_GROUP) * own


# ------------------------------------------------------------------------------------------------------------- cells


def cells() -> Iterator[Cell]:
    # Rare positives among many rows: where large-sample intervals were taken too early.
    for tpauc, spread in ((0.99, 1.0), (0.99, 2.0), (0.6, 2.0)):
        yield Cell("interval", "rare", 200, 99_800, 0.3, 0.3, tpauc, spread)
    for tpauc in (0.96, 0.01):
        yield Cell("interval", "rare", 600, 499_400, 0.1, 0.05, tpauc, 1.0)
    # Fewer than 5 hard positives, where no method repairs what the sample does not show, and just 5.
    for alpha, beta, sizes in ((0.3, 0.3, (4, 7, 10, 14, 17)), (0.1, 0.05, (10, 20, 30, 40, 50))):
        for n, tpauc, spread in itertools.product(sizes, (0.02, 0.2, 0.5, 0.8, 0.95), (1.0, 2.0)):
            yield Cell("interval", "plain", n, 1_000, alpha, beta, tpauc, spread)
    # Equal models of unequal spread near 1 are told apart most often.
    for (alpha, beta), n in itertools.product(REGIONS, (20, 50, 200)):
        if n * alpha >= 5:
            yield Cell("comparison", "plain", n, 10 * n, alpha, beta, 0.95, 2.0)
    yield Cell("comparison", "plain", 50, 500, 0.3, 0.3, 0.95, 3.0)
    sizes, areas, spreads = (20, 50, 100, 200, 1_000), (0.02, 0.2, 0.5, 0.8, 0.95, 0.99), (1.0, 2.0)
    for (alpha, beta), n, tpauc, spread in itertools.product(REGIONS[::-1], sizes, areas, spreads):
        if n * alpha >= 2:
            yield Cell("interval", "plain", n, max(10 * n, 1_000), alpha, beta, tpauc, spread)
    for (alpha, beta), tpauc in itertools.product(REGIONS, (0.2, 0.6, 0.95)):
        for n, spread in itertools.product((20, 50, 200), (1.0, 2.0)):
            if n * alpha >= 5:
                yield Cell("comparison", "plain", n, 10 * n, alpha, beta, tpauc, spread)
    for (alpha, beta), tpauc in itertools.product(REGIONS[1:], (0.2, 0.6, 0.95)):
        for n in (50, 200):
            yield Cell("interval", "ties", n, 10 * n, alpha, beta, tpauc, 1.0)
            yield Cell("interval", "plain", n, 10 * n, alpha, beta, tpauc, 1.0, "delong")
        for scenario, method in itertools.product(("groups", "groups ignored"), ("bootstrap", "delong")):
            yield Cell("interval", scenario, 300, 900, alpha, beta, tpauc, 1.0, method)
            yield Cell("comparison", scenario, 300, 900, alpha, beta, tpauc, 1.0, method)
    for (scenario, (alpha, beta, *_)), tpauc in itertools.product(RECTANGLES.items(), (0.5, 0.8, 0.95)):
        for n, method in itertools.product((50, 200), ("bootstrap", "delong")):
            yield Cell("interval", scenario, n, 10 * n, alpha, beta, tpauc, 1.0, method)
        yield Cell("comparison", scenario, 100, 1_000, alpha, beta, tpauc, 2.0)


def run(cell: Cell, repetitions: int) -> Result:
    """Simulate one cell."""
    generator = np.random.default_rng(zlib.crc32(repr(cell.key).encode()))
    y = np.arange(cell.n_positive + cell.n_negative) < cell.n_positive
    grouped = cell.scenario.startswith("groups")
    groups = np.arange(y.size) // ROWS_PER_GROUP if grouped else np.arange(y.size)
    spreads = (cell.spread,) if cell.what == "interval" else (1.0, cell.spread)
    shifts = [shift_for(cell.tpauc, spread, cell.region) for spread in spreads]
    truth = 0.0
    if cell.what == "interval":
        truth = true_area(shifts[0], spreads[0], cell.region, cell.scenario == "ties")
    options: dict[str, Any] = {"region": cell.region, "method": cell.method}
    options |= {"n_resamples": RESAMPLES, "groups": groups if cell.scenario == "groups" else None}
    below = above = hard = 0
    start = time.process_time()
    for _ in range(repetitions):
        shared = noise(generator, groups) if grouped else generator.normal(size=y.size)
        models = []
        for shift, spread in zip(shifts, spreads, strict=True):
            score = shared
            if cell.what == "comparison":
                own = noise(generator, groups) if grouped else generator.normal(size=y.size)
                score = math.sqrt(SHARED_NOISE) * shared + math.sqrt(1.0 - SHARED_NOISE) * own
            score = np.where(y, shift + spread * score, score)
            models.append(np.round(score / TIE_WIDTH) * TIE_WIDTH if cell.scenario == "ties" else score)
        if cell.what == "interval":
            interval = partial_auc_interval(y, models[0], **options, random_state=generator)
            low, high, hard = interval.low, interval.high, interval.hard_positives
        else:
            comparison = compare_partial_auc(y, *models, **options, random_state=generator)
            low, high, hard = comparison.low, comparison.high, cell.region.hard_positives(cell.n_positive)
        below += truth < low
        above += truth > high
    inside = repetitions - below - above
    seconds = (time.process_time() - start) / repetitions
    return Result(repetitions, *(round(n / repetitions, 4) for n in (inside, below, above)), hard, round(seconds, 4))


# --------------------------------------------------------------------------------------------------------------- run


def finished(path: Path) -> dict[tuple[str, ...], dict[str, str]]:
    """Read the rows of the cells that are done, by their keys."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {tuple(row[field.name] for field in fields(Cell)): row for row in rows}


def append(path: Path, cell: Cell, result: Result) -> None:
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow([field.name for kind in (Cell, Result) for field in fields(kind)])
        writer.writerow([*cell.key, *(getattr(result, field.name) for field in fields(Result))])


def in_range(row: dict[str, str]) -> bool:
    """Whether a rate is where it should be: 92 % to 99.5 % coverage, a level of at most 7 %; ignored groups aside."""
    if row["scenario"] == "groups ignored" or int(row["hard_positives"]) < 5:
        return True
    return 0.92 <= float(row["inside"]) <= 0.995 if row["what"] == "interval" else float(row["inside"]) >= 0.93


def show(rows: list[dict[str, str]]) -> None:
    for row in rows:
        mark = "" if in_range(row) else "  OUT OF RANGE"
        print(", ".join(f"{name} {value}" for name, value in row.items()) + mark)
    print(f"{len(rows)} cells, {sum(not in_range(row) for row in rows)} out of range")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Simulate the coverage of intervals and the level of comparisons.")
    parser.add_argument("--output", type=Path, default=RESULTS, help="CSV file, one row per cell")
    parser.add_argument("--only", default="", help="run cells whose description holds this text")
    parser.add_argument(
        "--repetitions", type=int, help=f"by default {REPETITIONS}, of comparisons {REPETITIONS_OF_COMPARISONS}"
    )
    parser.add_argument("--show", action="store_true", help="print the results so far and run nothing")
    options = parser.parse_args(arguments)
    done = finished(options.output)
    if options.show:
        show(list(done.values()))
        return 0
    for cell in dict.fromkeys(cells()):  # some are in two parts of the grid
        if cell.key in done or options.only not in " ".join(cell.key):
            continue
        usual = REPETITIONS_OF_COMPARISONS if cell.what == "comparison" else REPETITIONS
        result = run(cell, options.repetitions or usual)
        append(options.output, cell, result)
        print(*cell.key, result, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
