"""What a saved stack costs: size of the file, time to load it, and to score 100,000 rows on one core.

    python benchmarks/auto_scoring.py [--rows 20000] [--features 30] [--models auto auto-fast]

The table is made up. Times are processor time, so other work on the machine counts only as far as it slows the core.
The scores before saving and after loading are compared bit by bit. At most 5 s are asked for.
"""

from __future__ import annotations

import os

# Read once, when NumPy is imported below.
os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
from tpauc.cli.model_file import model_bytes, read_model

SCORED_ROWS = 100_000
MOST_SECONDS = 5.0


def made_up(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of which about a tenth are positive, by a sum and a product of features."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    logit = 2.0 * X[:, 0] * X[:, 1] + 1.5 * X[:, 2] - 3.5
    return X, random.random(n) < 1.0 / (1.0 + np.exp(-logit))


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    found = function()
    return found, time.process_time() - started


def measure(model: str, n: int, d: int) -> None:
    X, y = made_up(n, d, 0)
    classifier = TPAUCClassifier(model, random_state=0)
    _, seconds = timed(lambda: classifier.fit(X, y))
    print(f"{model}: fitted to {n:,} rows of {d} features in {seconds:.1f} s: {classifier.chosen_}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    contents = model_bytes(Pipeline([("classifier", classifier)]))
    loaded, seconds = timed(lambda: read_model(contents, Path("model.skops")))
    print(f"  saved in {len(contents) / 1e6:.1f} MB, loaded in {seconds:.2f} s; peak memory so far {peak:,.0f} MB")
    rows = made_up(SCORED_ROWS, d, 1)[0]
    scores, seconds = timed(lambda: loaded.decision_function(rows))
    equal = bool((scores == classifier.decision_function(rows)).all())
    verdict = "reached" if seconds <= MOST_SECONDS else "NOT reached"
    print(f"  scored {SCORED_ROWS:,} rows in {seconds:.2f} s (at most {MOST_SECONDS:g} s: {verdict}); ", end="")
    print(f"bit-equal after loading: {'yes' if equal else 'NO'}")
    scaled = loaded[-1].scaler_.transform(rows)
    for member in loaded[-1].stack_.members:
        _, seconds = timed(lambda member=member: member(scaled))
        print(f"    {type(member).__name__:<16} {seconds:.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a saved stack costs.")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--models", nargs="+", default=["auto", "auto-fast"])
    options = parser.parse_args()
    for model in options.models:
        measure(model, options.rows, options.features)


if __name__ == "__main__":
    main()
