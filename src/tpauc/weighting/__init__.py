"""How much each example of a class counts.

* `tpauc.weighting.functions`: by its hardness, through a function psi with a dual penalty phi; the paper's way.
* `tpauc.weighting.ranks`: by its rank inside the class, as the region says; the truncated losses' way, and ours.
* `tpauc.weighting.hardness`: what they take and return.
"""

from tpauc.weighting.functions import (
    Exponential,
    FromFunction,
    FromPenalty,
    Polynomial,
    TensorFunction,
    Uniform,
    Weighting,
    WeightingFunction,
    as_weighting,
)
from tpauc.weighting.hardness import Hardness, Weights, constant
from tpauc.weighting.ranks import Anchored, AnchoredSide, RankWeighting, TruncatedSide, mid_ranks

__all__ = [
    "Anchored",
    "AnchoredSide",
    "Exponential",
    "FromFunction",
    "FromPenalty",
    "Hardness",
    "Polynomial",
    "RankWeighting",
    "TensorFunction",
    "TruncatedSide",
    "Uniform",
    "Weighting",
    "WeightingFunction",
    "Weights",
    "as_weighting",
    "constant",
    "mid_ranks",
]
