"""How often a threshold breaks its promise on new data: the empirical one, the guaranteed one, with and without groups.

    python benchmarks/guarantee.py [--repetitions 1000] [--out benchmarks/results/guarantee.csv]

Scores of four distributions, whose rates at any threshold are known exactly: normal, heavy tails (Student's t with 2
degrees of freedom), skewed (lognormal), and heavy ties (about 15 distinct values; one has FPR 0.11, one TPR 0.89).
A threshold is picked on a sample for ``FPR <= 0.1`` (rule "max_tpr") or ``TPR >= 0.9`` ("min_fpr"), with a guarantee of
0.95, and broken if its rate in the population is on the wrong side. Printed are the share of broken promises, which the
guarantee bounds by 5 %, and the mean of the other rate in the population, which is the price.

With groups, the rows of a group share half of their variance, and the rate is the mean over groups of the rate within
a group. Then ``rows`` is the guarantee without ``groups=``, which believes that all rows are independent.

Finished cells stay in the CSV file, and are not computed again. 1,000 repetitions take 15 s of processor time.
"""

from __future__ import annotations

import argparse
import csv
import os
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit
from scipy.stats import binom

from tpauc import operating_point
from tpauc.metrics.thresholds import most_exceeding

ALPHA = BETA = 0.1
GUARANTEE = 0.95
SHIFT = 2.0  # of the positives, before the distribution is changed
LEVEL = -ndtri(BETA + 0.01)  # of the ties: FPR 0.11 from here on, and one step below TPR 0.89
STEP = 2 * LEVEL - SHIFT
FIELDS = ("distribution", "rule", "sample", "threshold", "repetitions", "broken", "other_rate")
RULES = ("max_tpr", "min_fpr")
SAMPLES = {"100 per class": (100, None), "1000 per class": (1000, None), "100 groups of 10": (100, 10)}

# How a standard normal score becomes a score of the distribution, and the share of standard normal scores, shifted by
# some amount, that become at least a threshold.
DISTRIBUTIONS = {
    "normal": (lambda z: z, lambda threshold: threshold),
    "heavy tails": (lambda z: stdtrit(2.0, ndtr(z)), lambda threshold: ndtri(stdtr(2.0, threshold))),
    "skewed": (np.exp, lambda threshold: np.log(threshold) if threshold > 0 else -np.inf),
    "heavy ties": (lambda z: np.floor((z - LEVEL) / STEP), lambda threshold: np.ceil(threshold) * STEP + LEVEL),
}


def sample(generator: np.random.Generator, n: int, group_size: int | None) -> tuple[np.ndarray, ...]:
    """Return labels, normal scores and groups: ``n`` rows per class, or ``n`` groups with rows of both classes."""
    if group_size is None:
        y = np.arange(2 * n) < n
        return y, generator.normal(size=y.size) + SHIFT * y, None
    groups = np.repeat(np.arange(n), 2 * generator.poisson(group_size / 2 - 1, n) + 2)
    y = np.arange(groups.size) % 2 == 0  # sizes are even, so each group has rows of both classes
    common = np.sqrt(0.5) * generator.normal(size=n)[groups]
    return y, common + np.sqrt(0.5) * generator.normal(size=y.size) + SHIFT * y, groups


def population_rates(threshold: float, normal_threshold) -> tuple[float, float]:
    """Return the exact FPR and TPR of a threshold."""
    z = np.inf if np.isinf(threshold) else normal_threshold(threshold)
    return float(ndtr(-z)), float(ndtr(SHIFT - z))


def cell(distribution: str, rule: str, name: str, repetitions: int) -> list[dict[str, object]]:
    """Return the rows of the table for one distribution, rule and kind of sample."""
    transform, normal_threshold = DISTRIBUTIONS[distribution]
    n, group_size = SAMPLES[name]
    methods = {"empirical": {}, "rows" if group_size else "guaranteed": {"guarantee": GUARANTEE}}
    if group_size:
        methods["groups"] = {"guarantee": GUARANTEE}
    broken, other = dict.fromkeys(methods, 0), dict.fromkeys(methods, 0.0)
    generator = np.random.default_rng([list(DISTRIBUTIONS).index(distribution), RULES.index(rule), n, group_size or 0])
    for _ in range(repetitions):
        y, z, groups = sample(generator, n, group_size)
        scores = transform(z)
        for method, options in methods.items():
            by = groups if method == "groups" else None
            point = operating_point(y, scores, alpha=ALPHA, beta=BETA, rule=rule, groups=by, **options)
            fpr, tpr = population_rates(point.threshold, normal_threshold)
            # Where scores tie, the rate may be the bound itself, up to rounding.
            broken[method] += fpr > BETA + 1e-12 if rule == "max_tpr" else tpr < 1 - ALPHA - 1e-12
            other[method] += tpr if rule == "max_tpr" else fpr
    key = {"distribution": distribution, "rule": rule, "sample": name, "repetitions": repetitions}
    return [
        {**key, "threshold": method, "broken": broken[method] / repetitions, "other_rate": other[method] / repetitions}
        for method in methods
    ]


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows({key: f"{v:.4f}" if isinstance(v, float) else v for key, v in row.items()} for row in rows)


def show(rows: list[dict[str, str]]) -> None:
    print(f"{'distribution':<13}{'rule':<9}{'sample':<18}{'threshold':<12}{'broken':>8}  other rate")
    for row in rows:
        name = "TPR" if row["rule"] == "max_tpr" else "FPR"
        print(
            f"{row['distribution']:<13}{row['rule']:<9}{row['sample']:<18}{row['threshold']:<12}"
            f"{float(row['broken']):>8.1%}  {name} {float(row['other_rate']):.3f}"
        )
    promised = [float(row["broken"]) for row in rows if row["threshold"] in ("guaranteed", "groups")]
    repetitions = min(int(row["repetitions"]) for row in rows)
    error = np.sqrt(GUARANTEE * (1 - GUARANTEE) / repetitions)
    print(f"\nmost broken promises with a guarantee: {max(promised):.1%}, allowed {1 - GUARANTEE:.1%}; ", end="")
    print(f"standard error of a share of {1 - GUARANTEE:.0%} in {repetitions} repetitions: {error:.2%}")
    for name, (n, group_size) in SAMPLES.items():
        if group_size is None:
            exact = binom.cdf(most_exceeding(n, BETA, GUARANTEE), n, BETA)
            print(f"exact probability that the promise of continuous scores is broken, {name}: {exact:.2%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "guarantee.csv")
    options = parser.parse_args()
    done = {(r["distribution"], r["rule"], r["sample"], int(r["repetitions"])) for r in read(options.out)}
    for distribution, rule, name in product(DISTRIBUTIONS, RULES, SAMPLES):
        if (distribution, rule, name, options.repetitions) not in done:
            append(options.out, cell(distribution, rule, name, options.repetitions))
            print(f"{distribution}, {rule}, {name}: done", flush=True)
    show([row for row in read(options.out) if int(row["repetitions"]) == options.repetitions])


if __name__ == "__main__":
    main()
