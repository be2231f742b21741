"""The stack with few positives beside `TPAUCBooster`, and other ways to stack the same members.

    python benchmarks/few_positives.py --data-dir FOLDER [--tables ...] [--seeds 100 101 ...] [--positives 40]

Without ``--positives`` a table is taken as it is. With it, training sees so many positives and 3,000 negatives of it,
and of more than 8,000 test rows 3,000 positives and 6,000 negatives are kept. Members are trained once per split, and
stacked in each way: by `TPAUCClassifier("auto")`, with other strengths of the pull towards the average, without the
network, as the mean of ranks, or the best of them by out-of-fold TPAUC. Printed are means over splits of TPAUC, and of
the difference to the stack as it is, with the standard error.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import rankdata

import quality_tables
from quality_tables import Split
from quality_training import value
from tpauc.classifiers.auto.stacked_members import FoldTraining, TrainedMember
from tpauc.classifiers.auto.stacking import fit_stack
from tpauc.classifiers.boosting.booster import TPAUCBooster
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
from tpauc.region import Region

MOST_NEGATIVES, MOST_TEST_ROWS = 3_000, (3_000, 6_000)
LARGEST = 1e12  # as in `stacked_members`
STRENGTHS = (0.3, 3.0, 10.0, 100.0)
AS_IT_IS = "auto"

Array = np.ndarray[Any, Any]


def cut(split: Split, n_positive: int, seed: int) -> Split:
    """Return a split with so many positives to train on."""
    random = np.random.default_rng(seed + 7)
    rows = some(split.train_labels, (n_positive, MOST_NEGATIVES), random)
    tested = np.arange(split.test_labels.size)
    if tested.size > 8_000:
        tested = some(split.test_labels, MOST_TEST_ROWS, random)
    return Split(split.train_rows[rows], split.train_labels[rows], split.test_rows[tested], split.test_labels[tested])


def some(labels: Array, most: tuple[int, int], random: np.random.Generator) -> Array:
    """Return at most so many rows of the positives and of the negatives."""
    sides = np.flatnonzero(labels), np.flatnonzero(~labels)
    drawn = [random.choice(side, min(side.size, n), replace=False) for side, n in zip(sides, most, strict=True)]
    return np.sort(np.concatenate(drawn))


def trained(split: Split, region: Region, seed: int) -> tuple[TPAUCClassifier, list[TrainedMember]]:
    """Return a fitted stack and all its members."""
    found: list[TrainedMember] = []
    members = FoldTraining.members

    def kept(self: FoldTraining, recipes: Any) -> Iterator[TrainedMember]:
        found.extend(members(self, recipes))
        return iter(found)

    with patch.object(FoldTraining, "members", kept):
        classifier = TPAUCClassifier("auto", alpha=region.alpha, beta=region.beta, random_state=seed)
        return classifier.fit(split.train_rows, split.train_labels.astype(int)), found


def ways(split: Split, region: Region, seed: int) -> dict[str, Array]:
    """Return the scores of the test rows by each way."""
    classifier, members = trained(split, region, seed)
    labels, ones = split.train_labels, np.ones(split.train_labels.size)
    scaled = np.clip(classifier.scaler_.transform(split.test_rows), -LARGEST, LARGEST)
    held_out = np.column_stack([member.out_of_fold for member in members])
    tested = np.column_stack([member.scorer(scaled) for member in members])
    best = int(np.argmax([member.tpauc for member in members]))
    found = {AS_IT_IS: classifier.decision_function(split.test_rows)}
    found |= {f"strength {s:g}": fit_stack(held_out, labels, ones, best, s)(tested) for s in STRENGTHS}
    some_members = [j for j, member in enumerate(members) if member.name != "network"]
    found["no network"] = fit_stack(held_out[:, some_members], labels, ones)(tested[:, some_members])
    found["mean rank"] = np.mean([rankdata(scores) for scores in tested.T], axis=0)
    found["best member"] = tested[:, best]
    booster = TPAUCBooster(alpha=region.alpha, beta=region.beta, n_jobs=1, random_state=seed)
    found["TPAUCBooster"] = booster.fit(split.train_rows, labels.astype(int)).decision_function(split.test_rows)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Judge stacks that are trained on few positives.")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=[])
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(100, 106)))
    parser.add_argument("--positives", type=int, help="positives to train on (default: all)")
    parser.add_argument("--share", type=float, default=0.3, help="alpha and beta")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    region, by_table = Region(options.share, options.share), []
    for path in quality_tables.find(options.data_dir, options.tables):
        table = quality_tables.read(path, "y")
        splits: list[dict[str, float]] = []
        for seed in options.seeds:
            split = table.split(seed)
            if options.positives:
                split = cut(split, options.positives, seed)
            scores = ways(split, region, seed)
            splits.append({name: value(split.test_labels, found, region) for name, found in scores.items()})
        by_table.append({name: np.array([split[name] for split in splits]) for name in splits[0]})
        print(f"{table.name}: {AS_IT_IS} {by_table[-1][AS_IT_IS].mean():.4f}", flush=True)
        for name, values in by_table[-1].items():
            less = values - by_table[-1][AS_IT_IS]
            error = less.std(ddof=1) / np.sqrt(less.size) if less.size > 1 else np.nan
            if name != AS_IT_IS:
                print(f"  {name:<14} {less.mean():+.4f} +- {error:.4f}", flush=True)
    print(f"\nmean of {len(by_table)} tables")
    for name in by_table[0]:
        print(f"  {name:<14} {np.mean([values[name].mean() for values in by_table]):.4f}")


if __name__ == "__main__":
    main()
