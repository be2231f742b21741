"""The numbers that the paper prints: its results, and the parameters that it found best.

Results are TPAUC in percent, from the three tables and from the appendix's table on warm-up. Each row holds subset 1, 2
and 3, and within each the three regions in which all tables measure.

Best parameters are given per data set, subset and region, in three more tables. Their column ``(gamma - 1)^-1`` holds
two different things, as the weighting functions and the grids of the text imply: for Poly the exponent
``1 / (gamma - 1)`` of ``psi(t) = t^(1/(gamma-1))``, for Exp ``gamma`` itself, in ``psi(t) = 1 - exp(-gamma t)``. All
three learning rates are 0.001 in every row.
"""

from __future__ import annotations

from typing import NamedTuple

from tpauc.region import Region

REGIONS = (Region(0.3, 0.3), Region(0.4, 0.4), Region(0.5, 0.5))

# ------------------------------------------------------------------------------------------------------------ results

PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "cifar10-lt": {
        "CE-RW": (9.09, 30.86, 47.99, 72.83, 83.33, 88.71, 23.47, 44.44, 59.69),
        "Focal": (9.84, 30.89, 50.83, 75.72, 85.10, 90.06, 21.47, 45.88, 59.09),
        "CB-CE": (3.29, 27.30, 43.95, 69.48, 80.80, 86.87, 12.94, 34.06, 51.09),
        "CB-Focal": (9.04, 31.73, 48.13, 77.99, 86.75, 91.13, 21.32, 43.03, 59.11),
        "SqAUC": (18.05, 40.74, 57.94, 80.09, 87.78, 91.87, 31.52, 50.00, 64.42),
        "TruncOPAUC": (15.00, 42.05, 58.27, 84.71, 90.11, 93.30, 31.11, 51.47, 66.07),
        "OP-Poly": (20.69, 41.85, 58.97, 80.54, 87.97, 92.09, 32.04, 53.41, 66.30),
        "OP-Exp": (20.86, 36.70, 58.27, 79.42, 86.95, 90.93, 28.94, 51.23, 66.34),
        "TruncTPAUC": (11.90, 29.13, 46.64, 81.26, 89.12, 92.86, 23.70, 47.75, 64.92),
        "TPAUC-Poly": (21.43, 44.41, 59.10, 80.66, 88.07, 92.15, 36.54, 54.48, 67.19),
        "TPAUC-Exp": (20.86, 41.78, 58.38, 81.22, 87.88, 91.93, 32.47, 53.86, 67.32),
        "Minmax-Poly": (31.77, 46.34, 62.38, 86.75, 91.90, 94.65, 33.24, 53.19, 66.76),
        "Minmax-Exp": (25.53, 45.49, 60.82, 83.11, 89.63, 93.32, 31.91, 53.27, 65.80),
    },
    "cifar100-lt": {
        "CE-RW": (31.43, 52.60, 66.21, 79.70, 88.06, 92.64, 3.09, 21.32, 40.75),
        "Focal": (36.51, 61.71, 73.25, 83.08, 90.35, 93.76, 8.09, 28.88, 49.89),
        "CB-CE": (17.53, 38.79, 55.19, 67.91, 79.32, 85.82, 1.84, 18.46, 37.04),
        "CB-Focal": (41.85, 62.41, 73.13, 82.75, 89.57, 92.89, 7.10, 29.12, 44.84),
        "SqAUC": (63.24, 76.62, 84.68, 91.02, 93.69, 94.73, 41.60, 60.36, 70.86),
        "TruncOPAUC": (56.51, 70.56, 81.03, 87.72, 93.26, 94.23, 22.75, 51.30, 66.78),
        "OP-Poly": (58.40, 70.07, 79.15, 88.37, 92.70, 94.67, 37.73, 57.94, 69.75),
        "OP-Exp": (59.01, 73.00, 81.36, 89.18, 93.06, 95.08, 30.83, 52.12, 65.34),
        "TruncTPAUC": (46.42, 60.23, 78.66, 85.99, 92.31, 94.90, 26.34, 54.69, 66.77),
        "TPAUC-Poly": (68.02, 79.11, 85.17, 91.13, 93.78, 95.69, 47.07, 65.89, 75.08),
        "TPAUC-Exp": (63.24, 77.94, 84.62, 90.69, 93.74, 95.41, 44.54, 64.58, 73.02),
        "Minmax-Poly": (65.74, 78.35, 85.24, 91.40, 94.05, 95.81, 44.24, 64.68, 73.60),
        "Minmax-Exp": (66.79, 77.72, 84.87, 90.27, 93.25, 95.41, 43.99, 64.62, 71.76),
    },
    "tiny-imagenet": {
        "CE-RW": (80.90, 87.76, 91.54, 93.30, 96.15, 97.53, 90.37, 94.34, 96.75),
        "Focal": (81.18, 88.06, 91.72, 93.23, 96.08, 97.59, 91.35, 94.87, 96.63),
        "CB-CE": (80.64, 87.58, 91.17, 93.77, 96.52, 97.77, 91.66, 95.19, 96.79),
        "CB-Focal": (80.44, 87.95, 91.91, 93.46, 96.43, 97.64, 91.06, 94.82, 96.62),
        "SqAUC": (80.16, 87.99, 91.67, 93.10, 96.07, 97.32, 92.15, 95.16, 96.75),
        "TruncOPAUC": (80.45, 88.23, 91.71, 93.44, 96.33, 97.63, 91.70, 95.04, 96.71),
        "OP-Poly": (81.15, 88.41, 91.73, 93.53, 96.30, 97.74, 92.22, 95.29, 96.82),
        "OP-Exp": (81.02, 87.99, 91.83, 93.10, 96.36, 97.67, 92.15, 95.16, 96.75),
        "TruncTPAUC": (80.73, 87.41, 91.67, 93.09, 96.03, 97.58, 91.55, 95.12, 96.81),
        "TPAUC-Poly": (80.44, 88.21, 91.98, 93.00, 95.61, 97.47, 92.02, 95.25, 96.84),
        "TPAUC-Exp": (82.61, 89.13, 92.62, 93.82, 96.12, 97.38, 91.25, 94.78, 96.57),
        "Minmax-Poly": (82.24, 88.78, 92.79, 94.55, 96.76, 97.92, 92.34, 95.63, 97.05),
        "Minmax-Exp": (82.35, 88.70, 92.51, 93.77, 95.85, 97.34, 92.57, 94.43, 96.25),
    },
}

# CIFAR-100-LT: truncation with and without a warm-up, on cross-entropy and on the square loss.
PUBLISHED["cifar100-lt"] |= {
    "CE-TruncOPAUC-no-warm-up": (0.00, 69.48, 76.21, 81.51, 90.30, 92.41, 0.00, 0.00, 27.21),
    "TruncOPAUC-no-warm-up": (13.23, 77.84, 86.44, 83.61, 89.83, 92.69, 0.00, 4.87, 38.03),
    "CE-TruncOPAUC": (55.06, 69.48, 79.07, 88.89, 92.82, 95.66, 25.20, 43.74, 58.26),
    "CE-TruncTPAUC-no-warm-up": (0.00, 5.95, 20.95, 29.97, 52.88, 93.34, 0.00, 0.00, 4.67),
    "TruncTPAUC-no-warm-up": (0.02, 12.53, 30.24, 46.31, 64.16, 94.69, 0.00, 1.71, 14.67),
    "CE-TruncTPAUC": (48.49, 64.46, 77.84, 90.05, 94.73, 96.55, 25.20, 44.19, 58.04),
}


def published(dataset: str, subset: int, method: str, region: Region) -> float | None:
    """Return the TPAUC in percent that the paper prints, None if it prints none.

    A method with the parameters of the authors' code has the printed number of the method.

    Examples
    --------
    >>> published("cifar10-lt", 1, "Minmax-Poly", Region(0.3, 0.3))
    31.77
    >>> published("cifar10-lt", 1, "Minmax-Poly", Region(0.2, 0.2)) is None
    True
    """
    row = PUBLISHED[dataset].get(method.removesuffix("-authors"))
    if row is None or region not in REGIONS:
        return None
    return row[3 * (subset - 1) + REGIONS.index(region)]


# --------------------------------------------------------------------------------------------------- best parameters


class Best(NamedTuple):
    """A row: the exponent (Poly) or gamma (Exp), and the epochs of warm-up ``E_k``."""

    value: float
    warmup_epochs: int


# The grids that the paper searched. Its tables also hold 8 and 15 for Exp, and 12 and 25 epochs, which are in no grid.
EXPONENT_GRID = (0.01, 0.03, 0.05, 0.08, 0.1, 1.0, 5.0)
GAMMA_GRID = (0.1, 1.0, 10.0, 20.0, 25.0, 30.0, 35.0)
WARMUP_GRID = (0, 3, 5, 8, 10, 15, 20, 30, 35)

# By data set, weighting and subset; one value for each of REGIONS.
BEST: dict[str, dict[str, dict[int, tuple[Best, Best, Best]]]] = {
    "cifar10-lt": {
        "Poly": {
            1: (Best(0.1, 0), Best(0.01, 0), Best(0.03, 8)),
            2: (Best(0.01, 5), Best(0.03, 5), Best(0.03, 5)),
            3: (Best(0.05, 30), Best(0.1, 35), Best(0.08, 10)),
        },
        "Exp": {
            1: (Best(25, 35), Best(10, 35), Best(20, 30)),
            2: (Best(8, 5), Best(35, 5), Best(30, 5)),
            3: (Best(30, 35), Best(35, 30), Best(20, 35)),
        },
    },
    "cifar100-lt": {
        "Poly": {
            1: (Best(0.01, 15), Best(0.01, 3), Best(0.01, 5)),
            2: (Best(0.01, 35), Best(0.01, 20), Best(0.03, 0)),
            3: (Best(0.03, 20), Best(0.1, 35), Best(0.01, 25)),
        },
        "Exp": {
            1: (Best(15, 35), Best(8, 35), Best(8, 35)),
            2: (Best(15, 35), Best(10, 35), Best(15, 30)),
            3: (Best(15, 35), Best(15, 35), Best(10, 35)),
        },
    },
    "tiny-imagenet": {
        "Poly": {
            1: (Best(0.03, 0), Best(0.03, 0), Best(0.01, 0)),
            2: (Best(0.05, 0), Best(0.05, 0), Best(0.05, 0)),
            3: (Best(0.03, 8), Best(0.03, 0), Best(0.05, 5)),
        },
        "Exp": {
            1: (Best(30, 15), Best(20, 3), Best(20, 3)),
            2: (Best(35, 15), Best(15, 12), Best(20, 12)),
            3: (Best(30, 12), Best(8, 12), Best(8, 15)),
        },
    },
}


def best_parameters(dataset: str, subset: int, weighting: str, region: Region) -> Best:
    """Return the paper's best parameters; for another region, the parameters of the nearest one by ``beta``.

    Examples
    --------
    >>> best_parameters("cifar10-lt", 1, "Poly", Region(0.3, 0.3))
    Best(value=0.1, warmup_epochs=0)
    >>> best_parameters("cifar10-lt", 1, "Exp", Region(1.0, 0.2))
    Best(value=25, warmup_epochs=35)
    """
    rows = BEST[dataset][weighting][subset]
    return min(zip(REGIONS, rows, strict=True), key=lambda pair: abs(pair[0].beta - region.beta))[1]
