"""What the runs say: means, ranks, paired tests against each cross-entropy, and whether the requirements are met.

For each table the values of two methods are compared by a paired t-test over the seeds: won or lost where p < 0.05,
tied otherwise. The splits of one table share rows, so the test is generous: it takes small differences for real too
often, in both directions. *Hindsight* is, for each table, the cross-entropy with the higher mean on the test rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from quality_methods import BALANCED, METHODS, OURS, PLAIN
from quality_runs import Run
from tpauc.region import Region

HINDSIGHT = "best cross-entropy with hindsight"
MANY_POSITIVES = 200
SIGNIFICANT = 0.05
BySeed = dict[int, float]


class Paired(NamedTuple):
    """The mean difference of two methods on a table, its 95 % interval and p-value over the seeds."""

    difference: float
    low: float
    high: float
    p_value: float

    @property
    def sign(self) -> int:
        """1 for a significant gain, -1 for a significant loss, 0 for neither."""
        return int(np.sign(self.difference)) if self.p_value < SIGNIFICANT else 0


def paired(first: BySeed, second: BySeed) -> Paired:
    """Compare two methods on the seeds that both have.

    Examples
    --------
    >>> paired({0: 0.5, 1: 0.7}, {0: 0.5, 1: 0.7}).p_value
    1.0
    """
    differences = np.array([first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())])
    mean = float(differences.mean())
    if differences.size < 2:
        return Paired(mean, -np.inf, np.inf, 1.0)
    error = float(differences.std(ddof=1)) / np.sqrt(differences.size)
    if error == 0.0:
        return Paired(mean, mean, mean, 1.0 if mean == 0.0 else 0.0)
    reach = float(stats.t.ppf(0.975, differences.size - 1)) * error
    p_value = 2.0 * float(stats.t.sf(abs(mean) / error, differences.size - 1))
    return Paired(mean, mean - reach, mean + reach, p_value)


@dataclass(frozen=True)
class Line:
    """A method over all tables that it ran on; wins, losses and ties are against plain, balanced and hindsight."""

    method: str
    mean: float
    mean_many_positives: float
    rank: float
    against: dict[str, tuple[int, int, int]]
    time_ratio: float
    n_tables: int
    notes: tuple[str, ...]


class Results:
    """The runs of one family in one region."""

    def __init__(self, runs: Iterable[Run], family: str, region: Region) -> None:
        self.family, self.region = family, region
        self.values: dict[str, dict[str, BySeed]] = defaultdict(lambda: defaultdict(dict))
        self.seconds: dict[str, dict[str, BySeed]] = defaultdict(lambda: defaultdict(dict))
        self.notes: dict[str, set[str]] = defaultdict(set)
        self.positives: dict[str, int] = {}
        for run in runs:
            if (run.family, run.alpha, run.beta) != (family, region.alpha, region.beta):
                continue
            if run.measured:
                self.values[run.table][run.method][run.seed] = run.value
                self.seconds[run.table][run.method][run.seed] = run.seconds
                self.positives[run.table] = run.positives
            if run.note:
                self.notes[run.method].add(run.note)
        for methods in self.values.values():
            if PLAIN in methods and BALANCED in methods:
                methods[HINDSIGHT] = max(methods[PLAIN], methods[BALANCED], key=_mean)

    @property
    def tables(self) -> list[str]:
        """Tables with any run, those of fewest positives first."""
        return sorted(self.positives, key=lambda table: (self.positives[table], table))

    @property
    def seeds(self) -> list[int]:
        """Seeds of any run."""
        return sorted({seed for methods in self.values.values() for by_seed in methods.values() for seed in by_seed})

    @property
    def methods(self) -> list[str]:
        """Methods with any run or note, in the order of the table of methods, and hindsight after the two it is of."""
        known = [*METHODS[self.family], *self.notes, *(method for table in self.values.values() for method in table)]
        seen = {method for table in self.values.values() for method in table} | self.notes.keys()
        ordered = [method for method in dict.fromkeys(known) if method in seen and method != HINDSIGHT]
        if any(HINDSIGHT in table for table in self.values.values()):
            ordered.insert(2, HINDSIGHT)
        return ordered

    def mean(self, method: str, *, fewest_positives: int = 0) -> float:
        """Mean over tables of the mean over seeds; NaN if the method ran on none."""
        tables = [table for table in self._tables_of(method) if self.positives[table] >= fewest_positives]
        return float(np.mean([_mean(self.values[table][method]) for table in tables])) if tables else np.nan

    def ranks(self) -> dict[str, float]:
        """Mean rank of each method among those that ran on a table, by its mean over the seeds; 1 is best."""
        ranks: dict[str, list[float]] = defaultdict(list)
        for methods in self.values.values():
            names = [method for method in methods if method != HINDSIGHT]
            for name, rank in zip(names, stats.rankdata([-_mean(methods[name]) for name in names]), strict=True):
                ranks[name].append(float(rank))
        return {name: float(np.mean(found)) for name, found in ranks.items()}

    def compared(self, method: str, other: str) -> dict[str, Paired]:
        """Compare two methods on each table that both ran on, at some seeds in common."""
        return {
            table: paired(methods[method], methods[other])
            for table, methods in self.values.items()
            if methods.get(method, {}).keys() & methods.get(other, {}).keys()
        }

    def time_ratio(self, method: str, table: str | None = None) -> float:
        """Processor time of a method over that of plain cross-entropy, on the tables and seeds of both."""
        ours = plain = 0.0
        for name, methods in self.seconds.items():
            if table in (None, name):
                common = methods.get(method, {}).keys() & methods.get(PLAIN, {}).keys()
                ours += sum(methods[method][seed] for seed in common)
                plain += sum(methods[PLAIN][seed] for seed in common)
        return ours / plain if plain else np.nan

    def lines(self) -> list[Line]:
        """Return a line for each method."""
        ranks = self.ranks()
        return [
            Line(
                method,
                self.mean(method),
                self.mean(method, fewest_positives=MANY_POSITIVES),
                ranks.get(method, np.nan),
                {other: self._record(method, other) for other in (PLAIN, BALANCED, HINDSIGHT) if other != method},
                self.time_ratio(method),
                len(self._tables_of(method)),
                tuple(sorted(self.notes[method])),
            )
            for method in self.methods
        ]

    def _tables_of(self, method: str) -> list[str]:
        return [table for table in self.tables if self.values[table].get(method)]

    def _record(self, method: str, other: str) -> tuple[int, int, int]:
        signs = [result.sign for result in self.compared(method, other).values()]
        return signs.count(1), signs.count(-1), signs.count(0)


def table_means(values: dict[str, dict[str, BySeed]], method: str) -> dict[str, float]:
    """Return the mean over the seeds of a method's values on each table that it ran on."""
    return {table: _mean(methods[method]) for table, methods in values.items() if methods.get(method)}


def _mean(by_seed: BySeed) -> float:
    return float(np.mean(list(by_seed.values())))


# ------------------------------------------------------------------------------------------------------ requirements


class Requirement(NamedTuple):
    """What ours must reach, what was found, and whether that is enough."""

    family: str
    text: str
    found: str
    reached: bool


def requirements(results: Results) -> list[Requirement]:
    """Hold ours against what was asked of its family; nothing if ours or a cross-entropy has no runs."""
    ours, hindsight = results.mean(OURS), results.mean(HINDSIGHT)
    if np.isnan(ours) or np.isnan(hindsight):
        return []
    worse = [table for table, result in results.compared(OURS, HINDSIGHT).items() if result.sign < 0]
    ratio = results.time_ratio(OURS)
    values = f"{ours:.4f} against {hindsight:.4f}"
    found = [
        ("mean above hindsight", values, ours > hindsight)
        if results.family == "linear"
        else ("mean not below hindsight", values, ours >= hindsight),
        ("significantly worse than hindsight on no table", ", ".join(worse) or "none", not worse),
        ("at most 10x the time of plain cross-entropy", f"{ratio:.1f}x", ratio <= 10.0),
    ]
    if results.family == "linear":
        many, least = (results.mean(method, fewest_positives=MANY_POSITIVES) for method in (OURS, HINDSIGHT))
        gain = many / least - 1.0 if least else np.nan
        found.append(
            (f"3 % above hindsight with {MANY_POSITIVES} positives or more", f"{100 * gain:+.1f} %", gain >= 0.03)
        )
    if results.family != "lightgbm":
        found += _against_other_methods(results)
    return [Requirement(results.family, *line) for line in found]


def _against_other_methods(results: Results) -> list[tuple[str, str, bool]]:
    ranks = results.ranks()
    ours = ranks.pop(OURS)
    means = {method: results.mean(method) for method in ranks}
    best, first = max(means, key=means.__getitem__), min(ranks, key=ranks.__getitem__)
    mean = results.mean(OURS)
    return [
        ("higher mean than every other method", f"{mean:.4f}, {best} {means[best]:.4f}", mean > means[best]),
        ("better mean rank than every other method", f"{ours:.1f}, {first} {ranks[first]:.1f}", ours < ranks[first]),
    ]
