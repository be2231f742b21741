"""`tpauc evaluate` and `tpauc compare`: areas with intervals, operating points and differences, as plain values.

The values go into JSON documents, and the text for people is made of the same values. Every interval says which
method made it (`tpauc.metrics.intervals`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from tpauc._validation import BoolArray, FloatArray
from tpauc.cli._text import Document, difference_line, facts_line, models_table, region_line, show
from tpauc.cli.errors import UsageError
from tpauc.cli.labels import Labels, read_scores
from tpauc.cli.options import (
    Alpha,
    AsJson,
    Beta,
    Confidence,
    Debug,
    Intervals,
    LabelColumn,
    Positive,
    Resamples,
    ScoreColumns,
    ScoresFile,
    Seed,
    TwoScoreColumns,
)
from tpauc.metrics.comparison import Comparison, compare_in_region
from tpauc.metrics.intervals import Interval, IntervalOptions
from tpauc.metrics.summary import summarise
from tpauc.region import Region

_POINT = ("threshold", "tpr", "fpr", "feasible")


def evaluate(
    scores_file: ScoresFile,
    label: LabelColumn,
    score: ScoreColumns,
    alpha: Alpha,
    beta: Beta,
    positive: Positive = None,
    confidence: Confidence = 0.95,
    resamples: Resamples = 2000,
    intervals: Intervals = "auto",
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Print TPAUC, OPAUC and AUC of scores, and where to operate.

    Each with its interval. The operating point is the threshold to use: of all thresholds within the false alarms that
    beta allows, it catches most positives. "in region" says whether these are at least 1 - alpha of them.
    """
    evaluator = evaluator_of(alpha, beta, confidence, resamples, seed, intervals)
    found = read_scores(scores_file, label, score, positive=positive)
    facts = evaluator.facts(found.labels)
    models = evaluator.models(found.labels.positive, found.scores)
    document = {"scores": str(scores_file)} | evaluator.settings | {"data": facts, "models": models}
    table = models_table(models, confidence)
    show(document, [region_line(document), facts_line(facts), "", table], as_json=as_json)


def compare(
    scores_file: ScoresFile,
    label: LabelColumn,
    score: TwoScoreColumns,
    alpha: Alpha,
    beta: Beta,
    positive: Positive = None,
    confidence: Confidence = 0.95,
    resamples: Resamples = 2000,
    intervals: Intervals = "auto",
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Print how two models differ in TPAUC.

    On the same rows, with interval and p-value.
    """
    if len(score) != 2:
        raise UsageError(f"compare needs two models, --score twice; got {len(score)}")
    evaluator = evaluator_of(alpha, beta, confidence, resamples, seed, intervals)
    found = read_scores(scores_file, label, score, positive=positive)
    facts = evaluator.facts(found.labels)
    difference = evaluator.difference(found.labels.positive, *found.scores.values())
    document: Document = {"scores": str(scores_file)} | evaluator.settings
    document |= {"data": facts, "models": score, "difference": difference}
    line = difference_line(score[0], score[1], difference, confidence)
    show(document, [region_line(document), facts_line(facts), "", line], as_json=as_json)


@dataclass(frozen=True)
class Evaluator:
    """The region, and how its intervals are made."""

    region: Region
    options: IntervalOptions

    @property
    def settings(self) -> Document:
        """The region and the confidence, as every document has them."""
        return {"alpha": self.region.alpha, "beta": self.region.beta, "confidence": self.options.confidence}

    def facts(self, labels: Labels) -> Document:
        """Return how many examples there are, and how many the region selects; it is an error if it selects none."""
        return {
            "rows": labels.positive.size,
            "positives": labels.n_positive,
            "negatives": labels.n_negative,
            "hard_positives": self.region.hard_positives(labels.n_positive),
            "hard_negatives": self.region.hard_negatives(labels.n_negative),
        }

    def models(self, positive: BoolArray, scores: Mapping[str, FloatArray]) -> list[Document]:
        """Return TPAUC, OPAUC and AUC of each model with their intervals, and the operating point."""
        documents = []
        for name, values in scores.items():
            summary = summarise(positive, values, self.region, self.options)
            document: Document = {"name": name}
            document |= {metric: _document(getattr(summary, metric)) for metric in ("tpauc", "opauc", "auc")}
            document["operating_point"] = {rate: getattr(summary.point, rate) for rate in _POINT}
            if not math.isfinite(summary.point.threshold):  # no threshold has few enough false alarms
                document["operating_point"]["threshold"] = None  # JSON has no infinity
            documents.append(document)
        return documents

    def difference(self, positive: BoolArray, first: FloatArray, second: FloatArray) -> Document:
        """Return the TPAUC of ``first`` minus the TPAUC of ``second``, with interval and p-value."""
        return _document(compare_in_region(positive, first, second, self.region, self.options))


def _document(found: Interval | Comparison) -> Document:
    document = asdict(found)
    return document | {"interval": document.pop("method")}


def evaluator_of(alpha: float, beta: float, confidence: float, resamples: int, seed: int, intervals: str) -> Evaluator:
    """Return the evaluator that the options ask for."""
    try:
        return Evaluator(Region(alpha, beta), IntervalOptions(confidence, intervals, resamples, seed))
    except ValueError as error:
        raise UsageError(str(error).replace("n_resamples", "--resamples")) from error
