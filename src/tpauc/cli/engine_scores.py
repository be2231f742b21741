"""`tpauc evaluate` and `tpauc compare` by an engine: DuckDB, Polars or Spark reads the files, `tpauc.frames` asks.

Estimates equal those of rows in memory; intervals are the large-sample ones, as engines do not resample.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tpauc.cli._documents import area_document, finite_or_none, subgroups_document
from tpauc.cli._text import Document
from tpauc.cli.errors import UsageError
from tpauc.cli.score_files import AskedScores, ScoreFiles, check_asked_columns
from tpauc.metrics.intervals import Interval
from tpauc.region import Region

if TYPE_CHECKING:
    from tpauc.frames.commands import FileEvaluation, FileOptions

_IN_MEMORY_ONLY = (".tsv", ".npz")
_MANY = 100  # hard examples; as for the choice of intervals in memory


def chosen_engine(files: ScoreFiles, engine: str | None, memory: str | None, intervals: str) -> str | None:
    """Return the engine that evaluates the files, None for memory; `tpauc.cli.score_files` states the rule."""
    if engine is None and memory is None and files.fit_in_memory:
        return None
    if engine == "polars" and memory is not None:
        raise UsageError("--memory cannot limit polars; take --engine duckdb or spark")
    if alone := [path for path in files.paths if path.suffix.lower() in _IN_MEMORY_ONLY]:
        if len(files.paths) > 1 or engine is not None or memory is not None:
            raise UsageError(f"{alone[0]} is read into memory only; engines read CSV, CSV.GZ and Parquet files")
        return None
    if intervals == "bootstrap":
        reason = "leave out --engine and --memory" if files.fit_in_memory else "there are too many rows for memory"
        raise UsageError(f"--intervals bootstrap needs the rows in memory, and an engine holds them; {reason}")
    return engine or "duckdb"


@dataclass(frozen=True)
class EngineScores:
    """Files that an engine reads, and what is asked of them."""

    files: ScoreFiles
    asked: AskedScores
    engine: str
    memory: str | None
    confidence: float

    def evaluated(self, after_pass: Callable[..., None]) -> tuple[Document, list[Document]]:
        """Return the counts of rows, and TPAUC and the operating point of each model."""
        with self._errors():
            options = self._options()
            from tpauc.frames.commands import evaluate_files

            found = evaluate_files(options, after_pass=after_pass)
            first = found[0].all_rows
            return self._facts(first.n_positive, first.n_negative), [self._model(one) for one in found]

    def compared(self, after_pass: Callable[..., None]) -> tuple[Document, Document]:
        """Return the counts of rows, and the difference of the two models."""
        with self._errors():
            options = self._options()
            from tpauc.frames.commands import compare_files

            found = compare_files(options, after_pass=after_pass)
            return self._facts(found.n_positive, found.n_negative), area_document(found.comparison)

    def _options(self) -> FileOptions:
        from tpauc.frames.commands import FileOptions

        check_asked_columns(self.files, self.asked)
        asked = self.asked
        return FileOptions(
            self.files.all,
            label=asked.label,
            scores=asked.scores,
            alpha=asked.alpha,
            beta=asked.beta,
            groups=asked.groups,
            by=asked.by,
            positive=asked.positive,
            engine=self.engine,
            memory=self.memory,
            confidence=self.confidence,
        )

    @property
    def _region(self) -> Region:
        return Region(self.asked.alpha, self.asked.beta)

    def _facts(self, n_positive: int, n_negative: int) -> Document:
        return {
            "rows": n_positive + n_negative,
            "positives": n_positive,
            "negatives": n_negative,
            "hard_positives": self._region.hard_positives(n_positive),
            "hard_negatives": self._region.hard_negatives(n_negative),
        }

    def _model(self, found: FileEvaluation) -> Document:
        one = found.all_rows
        document: Document = {"name": one.score}
        document["tpauc"] = area_document(self._counted(one.interval, one.n_positive, one.n_negative))
        document["operating_point"] = {
            "threshold": finite_or_none(one.point.threshold),
            **{rate: getattr(one.point, rate) for rate in ("tpr", "fpr", "feasible")},
            "picked_here": True,
        }
        if found.subgroups is not None:
            parts = [
                part
                if part.tpauc is None
                else replace(part, tpauc=self._counted(part.tpauc, part.n_positive, part.n_negative))
                for part in found.subgroups.subgroups
            ]
            document["by"] = subgroups_document(replace(found.subgroups, subgroups=parts))
        return document

    def _counted(self, interval: Interval, n_positive: int, n_negative: int) -> Interval:
        """Return an interval that says how many examples the region selects."""
        if interval.hard_positives:
            return interval
        region = self._region
        return replace(
            interval,
            hard_positives=region.hard_positives(n_positive),
            hard_negatives=region.hard_negatives(n_negative),
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Call files, columns and options by the names that were typed."""
        try:
            yield
        except UsageError:
            raise
        except (ValueError, FileNotFoundError) as error:
            message = self.files.named(str(error)).removeprefix("table: ")
            message = re.sub(r"\b(label|score|by|groups)=(?=')", "column ", message)
            sort = UsageError if "pos_label" in message and "two classes" not in message else ValueError
            message = re.sub(r"\bpos_label=(?=')", "--positive ", message).replace("pos_label", "--positive")
            raise sort(message) from error


def engine_lines(document: Document) -> list[str]:
    """Return what to know of figures that an engine made."""
    if document["engine"] is None:
        return []
    lines = [f"Evaluated by {document['engine']}: engines do not resample, and intervals are for large samples."]
    facts = document["data"]
    if min(facts["hard_positives"], facts["hard_negatives"]) < _MANY:
        lines.append(
            f"With fewer than {_MANY} hard examples of a class the bootstrap covers better; it needs the rows in "
            "memory, up to about 10 million, without --engine and --memory."
        )
    return lines
