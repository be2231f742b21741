"""How far the stack leaves the plain average, by the number of positives; takes seconds.

Four members: the first scores ``label + 0.7 noise``, the others add noise of their own to its scores, so they know
nothing that it does not. With all the data in the world it would have the share 1, with none 1/4.
"""

from __future__ import annotations

import numpy as np

from tpauc.classifiers.auto.stacking import fit_stack

REPEATS = 20


def share_of_first(n_positive: int, seed: int) -> float:
    random = np.random.default_rng(seed)
    positive = np.arange(5 * n_positive) < n_positive
    first = positive + 0.7 * random.normal(size=positive.size)
    scores = np.column_stack((first, first[:, None] + random.normal(size=(positive.size, 3))))
    return float(fit_stack(scores, positive, np.ones(positive.size)).shares[0])


def main() -> None:
    print("positives  mean share  lowest  highest")
    for n_positive in (10, 30, 100, 300, 1_000, 10_000):
        found = [share_of_first(n_positive, seed) for seed in range(REPEATS)]
        print(f"{n_positive:>9,}  {np.mean(found):>10.2f}  {min(found):>6.2f}  {max(found):>7.2f}", flush=True)


if __name__ == "__main__":
    main()
