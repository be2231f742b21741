"""Coverage of tpr_at_fpr, fpr_at_tpr and roc_band, counted on simulated scores whose ROC curve is known.

    python benchmarks/bands.py [repetitions]

Negatives are standard normal, positives normal with a shift and a spread. For each FPR the share of samples is printed
whose 95 % interval holds the true TPR, and its mean width; then the same of the bootstrap interval BTII (Zhou and Qin,
2005) and of percentiles of the stratified bootstrap. For the simultaneous band: the share of samples whose band holds
the whole curve, and its mean width beside the joint Kolmogorov-Smirnov regions of Campbell (1994). For rows in groups:
the share of intervals that hold the true TPR without and with `groups`. 300 repetitions take 13 minutes.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import kstwo

from tpauc import fpr_at_tpr, roc_band

RATES = np.array([0.01, 0.05, 0.1, 0.3, 0.6, 0.9])
GRID = np.concatenate(([0.002, 0.005, 0.01, 0.02], np.arange(1, 20) / 20, [0.98, 0.99, 1.0]))
FINE = np.concatenate((np.geomspace(1e-4, 0.01, 50), np.linspace(0.01, 0.999, 300)))
SIZES = [(30, 30), (100, 100), (100, 1000), (1000, 1000)]
SHAPES = [(1.5, 1.0), (2.0, 2.0), (1.2, 0.6)]  # shift and spread of the positives
RESAMPLES = 300


def sample(generator, n_positive, n_negative, shift, spread):
    return shift + spread * generator.normal(size=n_positive), generator.normal(size=n_negative)


def true_tpr(fpr, shift, spread):
    return ndtr((shift + ndtri(fpr)) / spread)


def as_rows(positives, negatives):
    return np.arange(positives.size + negatives.size) < positives.size, np.concatenate((positives, negatives))


def bootstrap_limits(generator, positives, negatives):
    """Limits by BTII and by percentiles at each of RATES, shape (2, 2, rates)."""
    z = 1.959964
    drawn_positives = generator.choice(positives, (RESAMPLES, positives.size))
    drawn_negatives = -np.sort(-generator.choice(negatives, (RESAMPLES, negatives.size)), axis=1)
    first_too_many = np.minimum((negatives.size * RATES + 1e-9).astype(int), negatives.size - 1)
    limits = np.empty((2, 2, RATES.size))
    for place, rank in enumerate(first_too_many):
        caught = np.count_nonzero(drawn_positives > drawn_negatives[:, rank, np.newaxis], axis=1)
        adjusted = (caught + z**2 / 2) / (positives.size + z**2)
        reach = z * adjusted.std(ddof=1)
        limits[0, :, place] = adjusted.mean() - reach, adjusted.mean() + reach
        limits[1, :, place] = np.quantile(caught / positives.size, [0.025, 0.975])
    return np.clip(limits, 0.0, 1.0)


def print_rows(title, names, hits, widths, repetitions):
    print(title)
    for name, hit, width in zip(names, hits / repetitions, widths / repetitions, strict=True):
        print(f"  {name:13s} covered {' '.join(f'{share:6.1%}' for share in hit)}   mean {hit.mean():6.1%}", end="")
        print(f"   width {' '.join(f'{value:.3f}' for value in width)}", flush=True)


def pointwise(repetitions):
    names = ["mid-p", "conservative", "BTII", "percentiles", "fpr_at_tpr"]
    worst = dict.fromkeys(names, 1.0)
    for n_positive, n_negative in SIZES:
        for shift, spread in SHAPES:
            generator = np.random.default_rng(0)
            truth = true_tpr(RATES, shift, spread)
            true_fpr = 1.0 - ndtr(shift + spread * ndtri(1.0 - RATES))
            hits, widths = np.zeros((2, len(names), RATES.size))
            for _ in range(repetitions):
                positives, negatives = sample(generator, n_positive, n_negative, shift, spread)
                y, scores = as_rows(positives, negatives)
                bands = [roc_band(y, scores, fpr=RATES, method=method) for method in ("mid-p", "conservative")]
                mirrored = [fpr_at_tpr(y, scores, tpr=rate) for rate in RATES]
                limits = np.array(
                    [
                        *((band.low, band.high) for band in bands),
                        *bootstrap_limits(generator, positives, negatives),
                        ([rate.low for rate in mirrored], [rate.high for rate in mirrored]),
                    ]
                )
                truths = np.array([truth] * 4 + [true_fpr])
                hits += (limits[:, 0] <= truths) & (truths <= limits[:, 1])
                widths += limits[:, 1] - limits[:, 0]
            print_rows(f"{n_positive}:{n_negative}, shift {shift}, spread {spread}", names, hits, widths, repetitions)
            for name, hit in zip(names, hits / repetitions, strict=True):
                worst[name] = min(worst[name], hit.min())
    print("lowest coverage:", ", ".join(f"{name} {share:.1%}" for name, share in worst.items()), "\n")


def extended(low, high, grid):
    """Limits at FINE: the lower one of the grid point before, the upper one of the point after."""
    before, after = (np.searchsorted(grid, FINE, side=side) for side in ("right", "left"))
    return np.concatenate(([0.0], low))[before], np.concatenate((high, [1.0]))[after]


def campbell(positives, negatives):
    """Limits at FINE from two Kolmogorov-Smirnov bands, each of confidence sqrt(0.95)."""
    reach, shift = (kstwo.isf(1.0 - np.sqrt(0.95), side.size) for side in (positives, negatives))
    ordered = np.append(-np.sort(-negatives), -np.inf)

    def tpr(fpr):
        threshold = ordered[np.floor(negatives.size * np.clip(fpr, 0.0, 1.0) + 1e-9).astype(int)]
        return 1.0 - np.searchsorted(np.sort(positives), threshold, side="right") / positives.size

    low = np.where(shift > FINE, 0.0, tpr(FINE - shift) - reach)
    high = np.where(FINE + shift > 1.0, 1.0, tpr(FINE + shift) + reach)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def simultaneous(repetitions):
    print("whole curve: covered and mean width, simultaneous band / Campbell; pointwise band covers the curve")
    for n_positive, n_negative in SIZES[1:]:
        for shift, spread in SHAPES:
            generator = np.random.default_rng(0)
            truth = true_tpr(FINE, shift, spread)
            hits, widths = np.zeros((2, 3))
            for _ in range(repetitions):
                positives, negatives = sample(generator, n_positive, n_negative, shift, spread)
                rows = as_rows(positives, negatives)
                bands = [roc_band(*rows, kind=kind, fpr=GRID) for kind in ("simultaneous", "pointwise")]
                limits = [extended(band.low, band.high, GRID) for band in bands]
                for place, (low, high) in enumerate([limits[0], campbell(positives, negatives), limits[1]]):
                    hits[place] += np.all((low <= truth) & (truth <= high))
                    widths[place] += (high - low)[50:].mean()
            ours, other, naive = hits / repetitions
            print(
                f"  {n_positive}:{n_negative}, shift {shift}, spread {spread}: {ours:.1%} / {other:.1%}, "
                f"width {widths[0] / repetitions:.3f} / {widths[1] / repetitions:.3f}; pointwise {naive:.1%}",
                flush=True,
            )
    print()


def grouped_sample(generator, n_groups, size, one_class):
    """Rows in groups of a common effect, which makes half of the variance; groups may be of one class each."""
    groups = np.repeat(np.arange(n_groups), generator.poisson(size - 1, n_groups) + 1)
    y = (generator.random(n_groups) < 0.2)[groups] if one_class else generator.random(groups.size) < 0.2
    effect = np.sqrt(0.5) * generator.normal(size=n_groups)[groups]
    return y, 1.5 * y + effect + np.sqrt(0.5) * generator.normal(size=groups.size), groups


def grouped(repetitions):
    rates = RATES[1:5]
    truth = true_tpr(rates, 1.5, 1.0)
    for one_class in (True, False):
        for n_groups, size in ((60, 10), (200, 10), (500, 4)):
            generator = np.random.default_rng(0)
            hits, widths = np.zeros((2, 2, rates.size))
            for _ in range(repetitions):
                y, scores, groups = grouped_sample(generator, n_groups, size, one_class)
                for place, by in enumerate((None, groups)):
                    band = roc_band(y, scores, fpr=rates, groups=by)
                    hits[place] += (band.low <= truth) & (truth <= band.high)
                    widths[place] += band.high - band.low
            kind = "of one class each" if one_class else "of both classes"
            title = f"{n_groups} groups {kind}, about {size} rows in each"
            print_rows(title, ["by rows", "by groups"], hits, widths, repetitions)


def main():
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print(f"{repetitions} repetitions, 95 % wanted; a share of 95 % has a standard error of ", end="")
    print(f"{np.sqrt(0.95 * 0.05 / repetitions):.1%}\nFPR (TPR for fpr_at_tpr): {' '.join(map(str, RATES))}\n")
    pointwise(repetitions)
    simultaneous(repetitions)
    grouped(repetitions)


if __name__ == "__main__":
    main()
