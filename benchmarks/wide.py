"""Time and memory of the linear model on wide and on long tables, against scikit-learn's regression.

    python benchmarks/wide.py [--narrow] [--memory]

Prints processor time on one thread, each table in a process of its own. ``LogisticRegression`` is converged (tolerance
1e-6). At 1,500 rows of 2,000 features the cross-validated default must take at most 20 times as long. With ``--narrow``
the same tables are also fitted with matrices of all pairs of features, up to 1,000 features, with TPAUC(0.3, 0.3) on
held-out rows of both ways. With ``--memory`` only the peak of 1,000,000 rows of 50 features is printed.
"""

import argparse
import os
import subprocess
import sys

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tpauc.classifiers.linear import directions
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier

MUST, MUST_AT = 20.0, (1_500, 2_000)
SHAPES = [(1_500, 300), (1_500, 500), (1_500, 1_000), MUST_AT, (1_500, 4_000), (1_500, 20_000), (1_500, 30_000)]
SHAPES += [(3_000, 1_600), (20_000, 500), (6_000, 20_000)]
LONG = (1_000_000, 50)
MOST_NARROW = 1_000  # features; more take minutes
HELD_OUT = 4_000


def make_table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features that share some factors, and about 10 % positives."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    for factor in rng.normal(size=(20, n)):
        X[:, rng.integers(0, d, d // 10)] += 0.5 * factor[:, None]
    signal = X[:, : d // 4].sum(axis=1) / np.sqrt(d // 4)
    return X, signal + 0.3 * rng.logistic(size=n) > np.quantile(signal, 0.9)


def seconds(work: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def compare(n: int, d: int, narrow: bool) -> None:
    """Print one line for a table."""
    X, y = make_table(n + HELD_OUT, d)
    test, X, y = (X[n:], y[n:]), X[:n], y[:n]
    try:
        ours, fitted = seconds(lambda: TPAUCClassifier(random_state=0).fit(X, y))
    except ValueError as error:
        print(f"{n:>7,} x {d:<6,} refused: {str(error).partition(';')[0]}")
        return
    regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000, tol=1e-6))
    base = min(seconds(lambda: regression.fit(X, y))[0] for _ in range(3))
    verdict = f" (must be at most {MUST:g})" if (n, d) == MUST_AT else ""
    line = f"{n:>7,} x {d:<6,} {ours:6.2f} s, LogisticRegression {base:5.2f} s: {ours / base:.1f} times{verdict}"
    if narrow and d <= MOST_NARROW:
        directions.NARROW = MOST_NARROW
        other, by_pairs = seconds(lambda: TPAUCClassifier(random_state=0).fit(X, y))
        line += f"; by pairs of features {other:.2f} s"
        line += f"; TPAUC {fitted.score(*test):.4f} along axes, {by_pairs.score(*test):.4f} by pairs"
    print(line)


def peak() -> None:
    """Print the most memory that is held during a fit beyond the table itself, in units of the table."""
    X, y = make_table(*LONG)
    tracemalloc.start()
    took, _ = seconds(lambda: TPAUCClassifier(random_state=0).fit(X, y))
    extra = tracemalloc.get_traced_memory()[1]
    size = f"{LONG[0]:>7,} x {LONG[1]:<6,}"
    print(f"{size} {took:6.2f} s, table {X.nbytes / 1e6:.0f} MB, peak of fit {extra / X.nbytes:.2f} tables more")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--narrow", action="store_true", help="also by matrices of all pairs of features")
    parser.add_argument("--memory", action="store_true", help="only the peak memory of a long table")
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        peak()
    elif options.one:
        compare(*options.one, options.narrow)
    else:
        for shape in SHAPES:
            narrow = ["--narrow"] * options.narrow
            subprocess.run([sys.executable, __file__, *narrow, "--one", *map(str, shape)], check=True)
        subprocess.run([sys.executable, __file__, "--memory"], check=True)


if __name__ == "__main__":
    main()
