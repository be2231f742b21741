"""Measure how large a report on many rows is, and how far its areas are from the exact ones.

    python benchmarks/report_size.py                                  # 5 models, 1e7 rows, a few minutes, 4 GB
    python benchmarks/report_size.py --rows 1000000 --positives 0.01

Made-up scores of both classes are normal. The page must stay below 3 MB. In the region of the report its areas must be
exact; in other regions it states a bound, here compared with the true error over 200 random regions.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from tpauc import Region, report
from tpauc.metrics.area import area_in_region
from tpauc.region import hard_mass
from tpauc.reporting.embedding import steps_within_budget
from tpauc.reporting.ranking import TIED, score_steps

REGION = Region(alpha=0.1, beta=0.05)
MOST_BYTES = 3_000_000


def area_of_steps(steps, region):
    """Return TPAUC and the bound of its error as the script of the page computes them."""
    n, p, inner = (column.astype(np.float64) for column in (steps.negatives, steps.positives, steps.inner))
    k_positive, k_negative = hard_mass(int(p.sum()), region.alpha), hard_mass(int(n.sum()), region.beta)
    passed, caught = np.cumsum(n), np.cumsum(p)
    hard_n = np.clip(k_negative - (passed - n), 0, n)
    hard_p = p - np.clip(p.sum() - k_positive - (caught - p), 0, p)
    twice = 2 * hard_p * np.maximum(k_negative - passed, 0) + np.where(inner == TIED, hard_p * hard_n, 0)
    cut = (inner > 0) & ((hard_n < n) | (hard_p < p))
    twice += np.where((inner > 0) & ~cut, inner, 0)
    n, p, inner, hard_n, hard_p = (column[cut] for column in (n, p, inner, hard_n, hard_p))
    high, low = inner * hard_n * hard_p / (n * p), np.maximum(0, inner - 2 * (n * p - hard_n * hard_p))
    won = np.clip(inner * np.maximum(0, hard_n / n + hard_p / p - 1) ** 2, low, high)
    pairs = 2 * k_positive * k_negative
    return (twice.sum() + won.sum()) / pairs, np.maximum(high - won, won - low).sum() / pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--models", type=int, default=5)
    parser.add_argument("--positives", type=float, default=0.5, help="share of the rows")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    y = rng.random(options.rows) < options.positives
    scores = {f"model {k}": rng.normal(size=y.size) + (1.5 + 0.2 * k) * y for k in range(options.models)}
    ranked = score_steps(y, scores["model 0"])
    steps = steps_within_budget(ranked, options.models, REGION)
    own, own_bound = area_of_steps(steps, REGION)
    own_error = abs(own - area_in_region(y, scores["model 0"], REGION))
    print(f"{options.models} models, {options.rows:,} rows, {options.positives:g} positive")
    print(f"steps of a curve: {steps.negatives.size:,}")
    print(f"error in the region of the report: {own_error:.1e}, bound {own_bound:.1e}")
    found = []
    for alpha, beta in 10.0 ** rng.uniform(-3, 0, size=(200, 2)):
        region = Region(alpha, beta)
        area, bound = area_of_steps(steps, region)
        found.append((abs(area - area_in_region(y, scores["model 0"], region)), bound))
    errors, bounds = np.array(found).T
    print(f"error in 200 other regions: at most {errors.max():.1e}, bound at most {bounds.max():.1e}")
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        page = report(y, scores, alpha=REGION.alpha, beta=REGION.beta, out=Path(folder) / "report.html", pngs=False)
        size = page.stat().st_size
        print(f"page: {size / 1e6:.2f} MB in {time.perf_counter() - start:.0f} s")
    kept = size < MOST_BYTES and own_error <= 1e-9 and bool((errors <= bounds + 1e-12).all())
    print("requirements are met" if kept else "REQUIREMENTS ARE NOT MET")


if __name__ == "__main__":
    main()
