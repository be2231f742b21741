"""The numbers that a report states about one model: three areas with their intervals, and the operating point."""

from __future__ import annotations

from dataclasses import dataclass

from tpauc._validation import BoolArray, FloatArray
from tpauc.metrics.intervals import IntArray, Interval, IntervalOptions, intervals_in_regions
from tpauc.metrics.operating_points import OperatingPoint, operating_point_in_region
from tpauc.region import Region


@dataclass(frozen=True)
class Summary:
    """TPAUC, OPAUC and AUC with their intervals, and the operating point; what :func:`summarise` returns."""

    tpauc: Interval
    opauc: Interval
    auc: Interval
    point: OperatingPoint


def summarise(
    positive: BoolArray,
    scores: FloatArray,
    region: Region,
    options: IntervalOptions,
    *,
    weight: FloatArray | None = None,
    groups: IntArray | None = None,
) -> Summary:
    """Return the summary of a model for labels and scores that are checked already.

    Weights are above 0. Groups, as numbers from 0 on, widen the intervals of the areas; the operating point does not
    depend on them. OPAUC(beta) is TPAUC with ``alpha = 1``, AUC is TPAUC with ``alpha = beta = 1``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.2
    >>> options = IntervalOptions(n_resamples=100, random_state=0)
    >>> summary = summarise(y, y + rng.normal(size=500), Region(0.5, 0.5), options)
    >>> summary.tpauc.estimate < summary.opauc.estimate < summary.auc.estimate
    True
    """
    regions = region, Region(1.0, region.beta), Region(1.0, 1.0)
    tpauc, opauc, auc = intervals_in_regions(positive, scores, regions, options, weight=weight, groups=groups)
    return Summary(tpauc, opauc, auc, operating_point_in_region(positive, scores, region, weight=weight))
