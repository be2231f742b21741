"""Time of a boosting round with our objective against LightGBM's own ``binary`` round, on one thread, within one run.

    python benchmarks/boosting_round.py [--rows 1000000] [--features 28]
    python benchmarks/boosting_round.py --quick      few rows: does it run?

Both boosters hold the same data in the same bins, and each round adds a tree of 31 leaves. A round with our objective
may take at most twice as long.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import sys
from functools import partial

import lightgbm
import numpy as np

from record import Measurement, at_most, print_header, print_row, row_of
from timing import alternating_best
from tpauc import lightgbm_objective

PARAMETERS = {"num_threads": 1, "verbosity": -1, "force_col_wise": True}


def make_dataset(rows: int, features: int) -> lightgbm.Dataset:
    """Return a table with about 5 % positives, of which some are hard."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, features))
    logit = X[:, 0] + X[:, 1] * X[:, 2] + random.logistic(size=rows)
    return lightgbm.Dataset(X, logit > np.quantile(logit, 0.95), params=PARAMETERS).construct()


def compare(rows: int, features: int) -> Measurement:
    dataset = make_dataset(rows, features)
    ours = lightgbm.Booster({**PARAMETERS, "objective": "none"}, dataset)
    binary = lightgbm.Booster({**PARAMETERS, "objective": "binary"}, dataset)
    objective = lightgbm_objective(0.3, 0.3)
    return Measurement(alternating_best(partial(ours.update, fobj=objective), binary.update))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--quick", action="store_true", help="few rows")
    options = parser.parse_args(arguments)
    rows = 10_000 if options.quick else options.rows
    print_header()
    row = row_of(
        "LightGBM round, lightgbm_objective",
        rows,
        "LightGBM binary",
        at_most(2.0),
        partial(compare, rows, options.features),
    )
    print_row(row)
    return 0 if options.quick or row.reached == "yes" else 1


if __name__ == "__main__":
    sys.exit(main())
