"""The paper's best parameters for each data set, subset and region, as printed in its three tables.

The column called ``(gamma - 1)^-1`` there holds two different things, by what the weighting functions and the grids of
the text allow: for Poly the exponent ``1 / (gamma - 1)`` of ``psi(t) = t^(1/(gamma-1))``, for Exp ``gamma`` itself, in
``psi(t) = 1 - exp(-gamma t)``. All three learning rates are 0.001 in every row.
"""

from __future__ import annotations

from typing import NamedTuple

from tpauc.paper.experiments.published import REGIONS
from tpauc.region import Region


class Best(NamedTuple):
    """A row: the exponent (Poly) or gamma (Exp), and the epochs of warm-up ``E_k``."""

    value: float
    warmup_epochs: int


# What the paper searched. Its tables also hold 8 and 15 for Exp, and 12 and 25 epochs, which are in none of these.
EXPONENT_GRID = (0.01, 0.03, 0.05, 0.08, 0.1, 1.0, 5.0)
GAMMA_GRID = (0.1, 1.0, 10.0, 20.0, 25.0, 30.0, 35.0)
WARMUP_GRID = (0, 3, 5, 8, 10, 15, 20, 30, 35)

# By data set, weighting and subset, for each of REGIONS.
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
    """Return the paper's best parameters; for a region that it has not got, those of the nearest by ``beta``.

    Examples
    --------
    >>> best_parameters("cifar10-lt", 1, "Poly", Region(0.3, 0.3))
    Best(value=0.1, warmup_epochs=0)
    >>> best_parameters("cifar10-lt", 1, "Exp", Region(1.0, 0.2))
    Best(value=25, warmup_epochs=35)
    """
    rows = BEST[dataset][weighting][subset]
    return min(zip(REGIONS, rows, strict=True), key=lambda pair: abs(pair[0].beta - region.beta))[1]
