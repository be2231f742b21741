"""Does the default number of threads cost time? Each model with the default and with every manual setting.

    python benchmarks/threads.py                                 # all that fits into 8 minutes
    python benchmarks/threads.py --rows 11000 --models linear    # some of it

A training runs in its own process, since thread pools are made once per process. The default should take at most 1.2
times as long as the best manual setting. Every setting is run once; those that take least are then repeated while there
is time, and the fastest run counts. Run it on an idle machine: the load average is printed, since other work changes
the ratios most of all.

The number of busy threads is counted 50 times per second (Linux only): those of the process that run or could run. It
should not be above the number of cores, whichever of BLAS, OpenMP and LightGBM has work. The share of the time in which
it was is printed; a pool that has just ended its work spins for some milliseconds.
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

MODELS = ("linear", "mlp", "lightgbm")
SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MOST, REPEATS = 1.2, 3
TASKS = Path("/proc/self/task")


def table(n_rows, n_features=32, seed=0):
    """Return made-up rows, 2 % of them positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 0] = np.sinh(X[:, 0])
    y = X[:, :4].sum(axis=1) + X[:, 4] * X[:, 5] + rng.logistic(size=n_rows)
    return X, y > np.quantile(y, 0.98)


def count_busy(counts, stop):
    """Append the number of busy threads but this one, until ``stop`` is set."""
    own = str(threading.get_native_id())
    while not stop.wait(0.02):
        busy = 0
        for task in TASKS.iterdir():
            try:
                state = (task / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:  # the thread has ended
                continue
            busy += state == "R" and task.name != own
        counts.append(busy)


def train(model, n_rows):
    """Print the seconds of a training, those of the processor, and the share of the time with too many threads."""
    from tpauc import TPAUCBooster, TPAUCClassifier

    X, y = table(n_rows)
    classifier = TPAUCBooster(random_state=0) if model == "lightgbm" else TPAUCClassifier(model, random_state=0)
    counts, stop = [], threading.Event()
    watch = threading.Thread(target=count_busy, args=(counts, stop), daemon=True)
    if TASKS.exists():
        watch.start()
    start, cpu = time.perf_counter(), time.process_time()
    classifier.fit(X, y)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    stop.set()
    print(wall, cpu, np.mean(np.array(counts or [0]) > os.cpu_count()))


def run(model, n_rows, threads):
    """Return what a training in a process of its own printed; ``threads`` None is the default."""
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    environment = kept | ({} if threads is None else dict.fromkeys(SETTINGS, str(threads)))
    command = [sys.executable, __file__, "--train", model, str(n_rows)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return tuple(map(float, done.stdout.split()))


def line(n_rows, model, runs):
    """Return the result of a model on a table: the fastest run of each setting, and the ratio."""
    best = {threads: min(found) for threads, found in runs.items()}
    default = best.pop(None)
    ratio = default[0] / min(best.values())[0]
    shown = ", ".join(f"{threads} threads {wall:.1f} ({cpu:.1f})" for threads, (wall, cpu, _) in best.items())
    verdict = "ok" if ratio <= MOST else f"above {MOST}"
    return (
        f"{n_rows:>7} rows, {model:<8} default {default[0]:.1f} ({default[1]:.1f}), {shown}: {ratio:.2f} of the best, "
        f"{verdict}; {len(runs[None])} runs; more busy threads than cores in {default[2]:.1%} of the time"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[11_000, 285_000])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--minutes", type=float, default=8.0, help="repeat trainings while they fit into this time")
    parser.add_argument("--train", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train:
        train(arguments.train[0], int(arguments.train[1]))
        return
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; seconds (of the processor)", flush=True)
    start = time.monotonic()
    cases = {(n_rows, model): {} for n_rows in arguments.rows for model in arguments.models}
    took = dict.fromkeys(cases, 0.0)
    for repeat in range(REPEATS):
        for case in sorted(cases, key=took.get):
            begun = time.monotonic()
            if repeat and begun - start + took[case] > 60.0 * arguments.minutes:
                continue
            for threads in (None, *range(1, os.cpu_count() + 1)):
                cases[case].setdefault(threads, []).append(run(case[1], case[0], threads))
            took[case] = time.monotonic() - begun
            if not repeat:
                print(line(*case, cases[case]), flush=True)
    print("with repeated runs:")
    for case, runs in cases.items():
        print(line(*case, runs))
    print(f"{time.monotonic() - start:.0f} s in all, load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
