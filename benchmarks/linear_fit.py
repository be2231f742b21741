"""Time of one training of the linear model, and of its cross-validated default, against scikit-learn's regression.

    python benchmarks/linear_fit.py [--rows 40000] [--features 60]

Prints ratios of process time on one thread, best of several, in turns. One training (``validation=None``) must take at
most 3 times a converged ``LogisticRegression`` on the same data.
"""

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tpauc.classifiers.tpauc_classifier import TPAUCClassifier

MUST = 3.0


def make_table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated features, some with heavy tails, and about 10 % positives."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.2 * rng.normal(size=(d, d)))
    X[:, : d // 4] = np.sinh(X[:, : d // 4])
    logit = X @ rng.normal(size=d) / np.sqrt(d)
    y = logit + rng.logistic(size=n) > np.quantile(logit, 0.95)
    return X, y


def best_seconds(functions: dict[str, object], repeats: int) -> dict[str, float]:
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.process_time()
            function()
            best[name] = min(best[name], time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--features", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    X, y = make_table(options.rows, options.features)
    regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000, tol=1e-6))
    best = best_seconds(
        {
            "LogisticRegression": lambda: regression.fit(X, y),
            "one training": lambda: TPAUCClassifier(validation=None, random_state=0).fit(X, y),
            "default, cross-validated": lambda: TPAUCClassifier(random_state=0).fit(X, y),
        },
        options.repeats,
    )
    base = best["LogisticRegression"]
    print(f"{options.rows} x {options.features}, {y.mean():.1%} positives; LogisticRegression {base * 1e3:.0f} ms")
    for name in ("one training", "default, cross-validated"):
        verdict = f" (must be at most {MUST:g})" if name == "one training" else ""
        print(f"{name}: {best[name] / base:.2f} times{verdict}")


if __name__ == "__main__":
    main()
