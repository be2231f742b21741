"""The numbers that the commands print: areas with intervals, operating points, differences, as plain values.

Everything here ends up in JSON documents; the texts for people are made of the same values. Every interval says which
method made it (`tpauc.metrics.intervals`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tpauc._validation import BoolArray, FloatArray
from tpauc.cli.labels import Labels
from tpauc.metrics.comparison import Comparison, compare_in_region
from tpauc.metrics.intervals import Interval, IntervalOptions
from tpauc.metrics.summary import summarise
from tpauc.region import Region

Document = dict[str, Any]

_POINT = ("threshold", "tpr", "fpr", "feasible")


@dataclass(frozen=True)
class Judge:
    """The region, and how its intervals are made.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.2
    >>> judge = Judge(Region(0.5, 0.5), IntervalOptions(n_resamples=100, random_state=0))
    >>> judge.model(y, y + rng.normal(size=500))["operating_point"]["feasible"]
    True
    """

    region: Region
    options: IntervalOptions

    @property
    def settings(self) -> Document:
        """The region and the confidence, as they stand at the head of every document."""
        return {"alpha": self.region.alpha, "beta": self.region.beta, "confidence": self.options.confidence}

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
        summary = summarise(positive, scores, self.region, self.options)
        document = {metric: _document(getattr(summary, metric)) for metric in ("tpauc", "opauc", "auc")}
        point = {name: getattr(summary.point, name) for name in _POINT}
        if not math.isfinite(point["threshold"]):  # no threshold keeps the false alarms in bounds; JSON has no infinity
            point["threshold"] = None
        return document | {"operating_point": point}

    def difference(self, positive: BoolArray, first: FloatArray, second: FloatArray) -> Document:
        """Return the TPAUC of the first model minus that of the second, with interval and p-value."""
        return _document(compare_in_region(positive, first, second, self.region, self.options))


def _document(found: Interval | Comparison) -> Document:
    document = asdict(found)
    return document | {"interval": document.pop("method")}
