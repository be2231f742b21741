"""Ways to weigh the six directions of the linear model, on the same directions: TPAUC on test rows.

    python benchmarks/linear_weights.py --data-dir FOLDER [--tables ...] [--seeds 120 121 ...] [--share 0.3]

*weighed* is what `TPAUCClassifier("linear")` does, *stacked* is the meta-model of `TPAUCClassifier("auto")`, plain and
with equal weight for both classes. *trust region* moves each start towards its region direction by the quarter of the
way with the highest out-of-fold TPAUC less a bootstrap standard error, then weighs the starts as now. *hindsight* is
the better of both regressions on the test rows, for each split. The last columns compare means over the tables.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import quality_tables
from quality_tables import Split
from quality_training import value
from tpauc.classifiers._candidates import Scaling, tpauc_of_fold
from tpauc.classifiers.auto.stacking import fit_stack
from tpauc.classifiers.base import TrainingData
from tpauc.classifiers.linear import directions as linear
from tpauc.region import Region

N_BOOTSTRAPS = 20
STEPS = np.linspace(0.0, 1.0, 5)  # shares of the way from a start to its region direction

Array = np.ndarray[Any, Any]


def combinations(split: Split, region: Region, seed: int) -> tuple[Array, dict[str, Array]]:
    """Return the scores of the test rows along the directions, and the weights by each way."""
    settings, random = linear.LinearSettings(), np.random.default_rng(seed)
    data, scaler = Scaling().scaled(TrainingData(np.asarray(split.train_rows, float), split.train_labels))
    rows, folds = linear.as_rows(data), linear._possible_folds(data, settings.folds)
    pair, whiten = linear.fit_pair(rows, settings.penalty), linear.whitener_of(rows)
    found = linear.six_directions(rows, pair, whiten, region, settings)
    validated, held_out = linear._validate(rows, folds, pair, whiten, region, random, settings)
    now = validated.weighed(linear.DIRECTIONS, settings.standard_errors).shares
    y, names = data.positive, list(linear.DIRECTIONS)
    balanced = np.where(y, 1.0, y.sum() / (~y).sum())
    ways = {name: np.eye(6)[names.index(name)] for name in ("plain", "balanced")} | {
        "weighed": now,
        "stacked": fit_stack(held_out, y, np.ones(y.size)).coef,
        "stacked, balanced": fit_stack(held_out, y, balanced).coef,
        "average": np.full(6, 1.0 / 6.0),
        "trust region": trusted(held_out, y, region, now, random),
    }
    return scaler.transform(split.test_rows) @ rows.to_features(found), ways


def trusted(held_out: Array, y: Array, region: Region, now: Array, random: np.random.Generator) -> Array:
    """Return the weights with each start moved as far as held-out rows support."""
    classes = np.flatnonzero(y), np.flatnonzero(~y)
    drawn = [np.concatenate([random.choice(rows, rows.size) for rows in classes]) for _ in range(N_BOOTSTRAPS)]
    weights = np.zeros(6)
    for start in range(3):
        paths = held_out[:, [start]] * (1.0 - STEPS) + held_out[:, [start + 3]] * STEPS

        def gains(rows: Array, paths: Array = paths) -> Array:
            values = [tpauc_of_fold(y[rows], scores[rows], region) for scores in paths.T]
            return np.subtract(values, values[0])

        low = gains(np.arange(y.size)) - np.std([gains(rows) for rows in drawn], axis=0)
        step, share = STEPS[int(np.argmax(low))], now[start] + now[start + 3]
        weights[[start, start + 3]] = share * (1.0 - step), share * step
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare ways to weigh the directions of the linear model.")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=[])
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(120, 126)))
    parser.add_argument("--share", type=float, default=0.3, help="alpha and beta")
    options = parser.parse_args()
    region, found = Region(options.share, options.share), {}
    for path in quality_tables.find(options.data_dir, options.tables):
        table = quality_tables.read(path, "y")
        if not table.allows(region):
            continue
        splits: list[dict[str, float]] = []
        for seed in options.seeds:
            split = table.split(seed)
            scores, ways = combinations(split, region, seed)
            values = {name: value(split.test_labels, scores @ weights, region) for name, weights in ways.items()}
            splits.append(values | {"hindsight": max(values["plain"], values["balanced"])})
        found[table.name] = {name: float(np.mean([split[name] for split in splits])) for name in splits[0]}
        print(table.name, " ".join(f"{name} {mean:.4f};" for name, mean in found[table.name].items()), flush=True)
    if not found:
        raise SystemExit("no table has enough positives in this region")
    hindsight = np.array([means["hindsight"] for means in found.values()])
    print(f"\n{'way':<20}   mean  against hindsight  worst table")
    for name in next(iter(found.values())):
        means = np.array([by_way[name] for by_way in found.values()])
        relative = 100.0 * (means.mean() / max(hindsight.mean(), 1e-12) - 1.0)
        print(f"{name:<20} {means.mean():.4f} {relative:>+16.1f} % {(means - hindsight).min():>+12.4f}")


if __name__ == "__main__":
    main()
