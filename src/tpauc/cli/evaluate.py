"""`tpauc evaluate` and `tpauc compare`: areas with intervals, operating points and differences, as plain values.

The values go into JSON documents, and the text for people is made of the same values. Every interval says which
method made it (`tpauc.metrics.intervals`). `score_files` has the rule for which rows are read into memory, and
`engine_scores` evaluates the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray
from tpauc.cli._documents import area_document, finite_or_none, subgroups_document
from tpauc.cli._text import (
    Document,
    difference_line,
    facts_line,
    models_table,
    region_line,
    show,
    subgroups_lines,
)
from tpauc.cli.engine_scores import EngineScores, chosen_engine, engine_lines
from tpauc.cli.errors import UsageError
from tpauc.cli.heartbeat import Heartbeat
from tpauc.cli.labels import Labels
from tpauc.cli.options import (
    AlphaOfRun,
    AsJson,
    BetaOfRun,
    ByColumn,
    Confidence,
    Debug,
    Engine,
    GroupsColumn,
    Intervals,
    LabelColumn,
    Memory,
    Positive,
    Resamples,
    ScoreColumns,
    ScoresFiles,
    Seed,
    TwoScoreColumns,
)
from tpauc.cli.score_files import RunThreshold, ScoredTable, asked_scores, opened_files, read_rows
from tpauc.metrics.comparison import compare_in_region
from tpauc.metrics.intervals import IntArray, IntervalOptions
from tpauc.metrics.operating_points import OperatingPoint, evaluate_threshold
from tpauc.metrics.subgroups import subgroups_in_region
from tpauc.metrics.summary import summarise
from tpauc.region import Region

_POINT = ("threshold", "tpr", "fpr", "feasible", "picked_here")


def evaluate(
    files: ScoresFiles,
    label: LabelColumn = None,
    score: ScoreColumns = None,
    alpha: AlphaOfRun = None,
    beta: BetaOfRun = None,
    positive: Positive = None,
    by: ByColumn = None,
    groups: GroupsColumn = None,
    engine: Engine = None,
    memory: Memory = None,
    confidence: Confidence = 0.95,
    resamples: Resamples = 2000,
    intervals: Intervals = "auto",
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Print TPAUC, OPAUC and AUC of scores, and where to operate.

    Each with its interval. The operating point is the threshold to use: of all thresholds within the false alarms that
    beta allows, it catches most positives; a run keeps its own. "in region" says whether these are at least 1 - alpha
    of them. Rows that an engine evaluates have TPAUC alone; OPAUC is TPAUC with --alpha 1, AUC with --alpha 1 --beta 1.
    """
    asked = asked_scores(files, label, score, alpha, beta, positive, by, groups)
    evaluator = evaluator_of(asked.alpha, asked.beta, confidence, resamples, seed, intervals)
    with opened_files(asked.files) as found:
        chosen = chosen_engine(found, engine, memory, intervals)
        if chosen is not None and asked.thresholds:
            raise UsageError("the thresholds of a run are judged in memory; leave out --engine and --memory")
        if chosen is None:
            rows = read_rows(found, asked)
            facts = evaluator.facts(rows.labels)
            with Heartbeat("evaluating", len(rows.scores), as_json=as_json) as beat:
                models = evaluator.models_of_rows(rows, beat.step, asked.thresholds)
            models = [model | {"title": asked.title(model["name"])} for model in models] if asked.titles else models
        else:
            scores = EngineScores(found, asked, chosen, memory, confidence)
            with Heartbeat(f"evaluating by {chosen}", 2 if by is None else 5, as_json=as_json) as beat:
                facts, models = scores.evaluated(beat.step)
    document: Document = {"scores": asked.shown, "engine": chosen} | evaluator.settings
    document |= {"data": facts} | ({} if by is None else {"by": by}) | {"groups": asked.groups, "models": models}
    show(document, _evaluation_lines(document), as_json=as_json)


def compare(
    files: ScoresFiles,
    label: LabelColumn = None,
    score: TwoScoreColumns = None,
    alpha: AlphaOfRun = None,
    beta: BetaOfRun = None,
    positive: Positive = None,
    groups: GroupsColumn = None,
    engine: Engine = None,
    memory: Memory = None,
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
    asked = asked_scores(files, label, score, alpha, beta, positive, None, groups)
    if len(asked.scores) != 2:
        raise UsageError(f"compare needs two models, --score twice; got {len(asked.scores)}")
    evaluator = evaluator_of(asked.alpha, asked.beta, confidence, resamples, seed, intervals)
    with opened_files(asked.files) as found:
        chosen = chosen_engine(found, engine, memory, intervals)
        if chosen is None:
            rows = read_rows(found, asked)
            facts = evaluator.facts(rows.labels)
            first, second = rows.scores.values()
            with Heartbeat("comparing", 1, as_json=as_json):
                difference = evaluator.difference(rows.labels.positive, first, second, rows.groups)
        else:
            scores = EngineScores(found, asked, chosen, memory, confidence)
            with Heartbeat(f"comparing by {chosen}", 4, as_json=as_json) as beat:
                facts, difference = scores.compared(beat.step)
    document: Document = {"scores": asked.shown, "engine": chosen} | evaluator.settings
    document |= {"data": facts, "models": asked.scores, "difference": difference}
    first_title, second_title = map(asked.title, asked.scores)
    line = difference_line(first_title, second_title, difference, confidence)
    lines = [region_line(document), facts_line(facts), "", line, *engine_lines(document)]
    show(document, lines, as_json=as_json)


def _evaluation_lines(document: Document) -> list[str]:
    confidence, models = document["confidence"], document["models"]
    lines = [region_line(document), facts_line(document["data"]), "", models_table(models, confidence)]
    lines += engine_lines(document)
    for model in models if "by" in document else ():
        named = [f"{model['name']}:"] if len(models) > 1 else []
        lines += ["", *named, *subgroups_lines(document["by"], model["by"], confidence)]
    return lines


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

    def models(
        self, positive: BoolArray, scores: Mapping[str, FloatArray], groups: IntArray | None = None
    ) -> list[Document]:
        """Return TPAUC, OPAUC and AUC of each model with their intervals, and the operating point."""
        return [self._model(name, positive, values, groups) for name, values in scores.items()]

    def models_of_rows(
        self, rows: ScoredTable, after_model: Callable[[], None], thresholds: Mapping[str, RunThreshold]
    ) -> list[Document]:
        """Return the documents of `models`, at the thresholds of a run, and of the subgroups if the rows have them."""
        documents = []
        for name, values in rows.scores.items():
            document = self._model(name, rows.labels.positive, values, rows.groups, rows.by)
            if name in thresholds:
                value, picked_here = thresholds[name]
                region = {"alpha": self.region.alpha, "beta": self.region.beta}
                point = evaluate_threshold(rows.labels.positive, values, value, **region)
                document["operating_point"] = _point_document(point) | {"picked_here": picked_here}
            documents.append(document)
            after_model()
        return documents

    def _model(
        self,
        name: str,
        positive: BoolArray,
        scores: FloatArray,
        groups: IntArray | None,
        by: npt.NDArray[np.object_] | None = None,
    ) -> Document:
        summary = summarise(positive, scores, self.region, self.options, groups=groups)
        point = summary.point
        document: Document = {"name": name}
        document |= {area: area_document(getattr(summary, area)) for area in ("tpauc", "opauc", "auc")}
        document["operating_point"] = _point_document(point)
        if by is not None:
            found = subgroups_in_region(positive, scores, by, self.region, self.options, point.threshold, groups)
            document["by"] = subgroups_document(found)
        return document

    def difference(
        self, positive: BoolArray, first: FloatArray, second: FloatArray, groups: IntArray | None = None
    ) -> Document:
        """Return the TPAUC of ``first`` minus the TPAUC of ``second``, with interval and p-value."""
        return area_document(compare_in_region(positive, first, second, self.region, self.options, groups=groups))


def _point_document(point: OperatingPoint) -> Document:
    document = {rate: getattr(point, rate) for rate in _POINT}
    return document | {"threshold": finite_or_none(point.threshold)}


def evaluator_of(alpha: float, beta: float, confidence: float, resamples: int, seed: int, intervals: str) -> Evaluator:
    """Return the evaluator that the options ask for."""
    try:
        return Evaluator(Region(alpha, beta), IntervalOptions(confidence, intervals, resamples, seed))
    except ValueError as error:
        raise UsageError(str(error).replace("n_resamples", "--resamples")) from error
