"""The numbers that the commands print: areas with intervals, operating points, differences, as plain values.

Everything here ends up in JSON documents; the texts for people are made of the same values. Every interval says which
kind it is (`tpauc.metrics.interval_choice`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tpauc._validation import BoolArray, FloatArray
from tpauc.cli.labels import Labels
from tpauc.metrics.interval_choice import IntervalMaker
from tpauc.region import Region

Document = dict[str, Any]


@dataclass(frozen=True)
class Judge:
    """The region, and how its intervals are made.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.2
    >>> judge = Judge(Region(0.5, 0.5), IntervalMaker(n_resamples=100, random_state=0))
    >>> judge.model(y, y + rng.normal(size=500))["operating_point"]["feasible"]
    True
    """

    region: Region
    maker: IntervalMaker

    @property
    def settings(self) -> Document:
        """The region and the confidence, as they stand at the head of every document."""
        return {"alpha": self.region.alpha, "beta": self.region.beta, "confidence": self.maker.confidence}

    def facts(self, labels: Labels) -> Document:
        """Return how many examples there are, and how many of them the region selects; an error if there are none."""
        return {
            "rows": labels.positive.size,
            "positives": labels.n_positive,
            "negatives": labels.n_negative,
            "hard_positives": self.region.hard_positives(labels.n_positive),
            "hard_negatives": self.region.hard_negatives(labels.n_negative),
        }

    def models(self, positive: BoolArray, scores: Mapping[str, FloatArray]) -> list[Document]:
        """Return the metrics of several models, each with its name."""
        return [{"name": name} | self.model(positive, values) for name, values in scores.items()]

    def model(self, positive: BoolArray, scores: FloatArray) -> Document:
        """Return TPAUC, OPAUC and AUC with their intervals, and the operating point."""
        areas = self.maker.areas(positive, scores, self.region)
        document: Document = {
            metric: asdict(getattr(areas, metric)) | {"interval": kind} for metric, kind in areas.kinds.items()
        }
        point = asdict(areas.point)
        if not math.isfinite(point["threshold"]):  # no threshold keeps the false alarms in bounds; JSON has no infinity
            point["threshold"] = None
        return document | {"operating_point": point}

    def difference(self, positive: BoolArray, first: FloatArray, second: FloatArray) -> Document:
        """Return the TPAUC of the first model minus that of the second, with interval and p-value."""
        compared, kind = self.maker.difference(positive, first, second, self.region)
        return asdict(compared) | {"interval": kind}
