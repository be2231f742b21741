"""Does the default number of threads cost time? Each model with the default and with every manual setting.

A training runs in its own process, since thread pools are made once per process. The default should take at most 1.2
times as long as the best manual setting. Run it on an idle machine: `python benchmarks/threads.py`; the load average is
printed, since other work changes the ratios most of all.
"""

import argparse
import os
import subprocess
import sys
import time

import numpy as np

MODELS = ("linear", "mlp", "lightgbm")
SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MOST = 1.2


def table(n_rows, n_features=32, seed=0):
    """Return made-up rows, 2 % of them positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 0] = np.sinh(X[:, 0])
    y = X[:, :4].sum(axis=1) + X[:, 4] * X[:, 5] + rng.logistic(size=n_rows)
    return X, y > np.quantile(y, 0.98)


def train(model, n_rows):
    """Print the seconds of a training, and of the processor."""
    from tpauc import TPAUCBooster, TPAUCClassifier

    X, y = table(n_rows)
    classifier = TPAUCBooster(random_state=0) if model == "lightgbm" else TPAUCClassifier(model, random_state=0)
    start, cpu = time.perf_counter(), time.process_time()
    classifier.fit(X, y)
    print(time.perf_counter() - start, time.process_time() - cpu)


def seconds(model, n_rows, threads, repeats):
    """Return the fewest seconds of some trainings, and of the processor; ``threads`` None is the default."""
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    environment = kept | ({} if threads is None else dict.fromkeys(SETTINGS, str(threads)))
    command = [sys.executable, __file__, "--train", model, str(n_rows)]
    runs = [
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()
        for _ in range(repeats)
    ]
    return min((float(wall), float(cpu)) for wall, cpu in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[11_000, 285_000])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--train", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        train(arguments.train[0], int(arguments.train[1]))
        return
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; seconds (of the processor)")
    for n_rows in arguments.rows:
        for model in arguments.models:
            default = seconds(model, n_rows, None, arguments.repeats)
            manual = {k: seconds(model, n_rows, k, arguments.repeats) for k in range(1, os.cpu_count() + 1)}
            best = min(manual, key=manual.get)
            ratio = default[0] / manual[best][0]
            shown = ", ".join(f"{k} threads {wall:.1f} ({cpu:.1f})" for k, (wall, cpu) in manual.items())
            verdict = "ok" if ratio <= MOST else f"above {MOST}"
            print(f"{n_rows:>7} rows, {model:<8} default {default[0]:.1f} ({default[1]:.1f}), {shown}: ", end="")
            print(f"{ratio:.2f} of the best, {verdict}", flush=True)


if __name__ == "__main__":
    main()
