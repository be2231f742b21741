"""The numbers that the commands print: metrics with intervals, operating points, differences, as plain values.

OPAUC(beta) is TPAUC with ``alpha = 1`` and AUC is TPAUC with ``alpha = beta = 1``, so one function gives the intervals
of all three. They are bootstrap intervals where that takes a few seconds, and large-sample intervals beyond: there the
two agree, but where the region selects few examples of a class; every interval says which kind it is.

Everything here ends up in JSON documents; the texts for people are made of the same values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tpauc.commands.labels import Labels
from tpauc.large_samples import SortedScores, large_sample_difference
from tpauc.region import Region
from tpauc.uncertainty import compare_tpauc, operating_point, tpauc_interval
from tpauc.validation import BoolArray, FloatArray, check_resamples

Document = dict[str, Any]

BOOTSTRAP, LARGE_SAMPLE = "bootstrap", "large-sample"
_MOST_DRAWS = 40_000_000  # rows drawn in all resamples together; takes about two seconds


@dataclass(frozen=True)
class Judge:
    """The region, and how its intervals are made.

    Parameters
    ----------
    region : Region
    confidence, n_resamples, seed
        As in :func:`tpauc.tpauc_interval`.
    intervals : {"auto", "bootstrap", "large-sample"}, default="auto"
        Which kind; "auto" chooses by the size of the data.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.2
    >>> judge = Judge(Region(0.5, 0.5), n_resamples=100)
    >>> judge.model(y, y + rng.normal(size=500))["operating_point"]["feasible"]
    True
    """

    region: Region
    confidence: float = 0.95
    n_resamples: int = 2000
    seed: int = 0
    intervals: str = "auto"

    def __post_init__(self) -> None:
        check_resamples(self.n_resamples, self.confidence)

    @property
    def settings(self) -> Document:
        """The region and the confidence, as they stand at the head of every document."""
        return {"alpha": self.region.alpha, "beta": self.region.beta, "confidence": self.confidence}

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
        region = self.region
        regions = {"tpauc": region, "opauc": Region(1.0, region.beta), "auc": Region(1.0, 1.0)}
        kinds = {metric: self._kind(_selected(positive, within)) for metric, within in regions.items()}
        ordered = SortedScores(positive, scores) if LARGE_SAMPLE in kinds.values() else None
        document: Document = {}
        for metric, within in regions.items():
            if ordered is not None and kinds[metric] == LARGE_SAMPLE:
                interval = ordered.interval(within, confidence=self.confidence)
            else:
                interval = tpauc_interval(positive, scores, alpha=within.alpha, beta=within.beta, **self._resampling)
            document[metric] = asdict(interval) | {"interval": kinds[metric]}
        if ordered is not None:
            point = asdict(ordered.operating_point(region))
        else:
            point = asdict(operating_point(positive, scores, alpha=region.alpha, beta=region.beta))
        if not math.isfinite(point["threshold"]):  # no threshold keeps the false alarms in bounds; JSON has no infinity
            point["threshold"] = None
        return document | {"operating_point": point}

    def difference(self, positive: BoolArray, first: FloatArray, second: FloatArray) -> Document:
        """Return the TPAUC of the first model minus that of the second, with interval and p-value."""
        kind = self._kind(2 * positive.size)
        if kind == LARGE_SAMPLE:
            compared = large_sample_difference(positive, first, second, self.region, confidence=self.confidence)
        else:
            alpha, beta = self.region.alpha, self.region.beta
            compared = compare_tpauc(positive, first, second, alpha=alpha, beta=beta, **self._resampling)
        return asdict(compared) | {"interval": kind}

    @property
    def _resampling(self) -> Document:
        return {"confidence": self.confidence, "n_resamples": self.n_resamples, "random_state": self.seed}

    def _kind(self, rows_drawn: int) -> str:
        if self.intervals != "auto":
            return self.intervals
        return LARGE_SAMPLE if rows_drawn * self.n_resamples > _MOST_DRAWS else BOOTSTRAP


def _selected(positive: BoolArray, region: Region) -> int:
    n_positive = int(positive.sum())
    return region.hard_positives(n_positive) + region.hard_negatives(positive.size - n_positive)
