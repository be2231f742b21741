"""Writes 21 tables that no setting was chosen on: digits, breast cancer with noise, and made-up ones.

    python benchmarks/unseen_tables.py FOLDER
    python benchmarks/linear_weights.py --data-dir FOLDER --seeds 0 1 2

All come from scikit-learn. Five digits are each held against the rest, once with noise and once by six pixels.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("usage: python benchmarks/unseen_tables.py FOLDER")
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    random, digits, cancer = np.random.default_rng(0), load_digits(), load_breast_cancer()
    for digit in (1, 3, 5, 8, 9):
        y = (digits.target == digit).astype(int)
        np.savez(out / f"digit{digit}_noise.npz", X=digits.data + 6 * random.normal(size=digits.data.shape), y=y)
        pixels = random.choice(np.flatnonzero(digits.data.std(0) > 3), 6, replace=False)
        np.savez(out / f"digit{digit}_six.npz", X=digits.data[:, pixels], y=y)
    noisy = cancer.data / cancer.data.std(0) + random.normal(size=cancer.data.shape)
    np.savez(out / "breast_noise.npz", X=noisy, y=(cancer.target == 0).astype(int))
    for number in range(10):
        X, y = make_classification(
            3000,
            n_features=12,
            n_informative=6,
            n_redundant=2,
            n_clusters_per_class=1 + number % 3,
            weights=[0.9 if number % 2 else 0.8],
            class_sep=0.8,
            flip_y=0.05,
            random_state=number,
        )
        np.savez(out / f"made{number}.npz", X=X, y=y)


if __name__ == "__main__":
    main()
