"""What ``tpauc evaluate`` and ``tpauc compare`` do with files that an engine reads: open, evaluate, tell of passes.

The command line only parses options and prints; everything else is here, so that it can be called and tested without
it. An error of the engine becomes a `ValueError` of one line.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from tpauc.frames._columns import LABEL, by_name, score_name
from tpauc.frames._engines import collect, watched_queries
from tpauc.frames.comparing import compare
from tpauc.frames.evaluating import Evaluation, columns_of, evaluate
from tpauc.frames.opening import open_files
from tpauc.metrics.comparison import Comparison
from tpauc.metrics.subgroups import MOST_SUBGROUPS, Subgroup, SubgroupTable, largest_gap, share_of_rows
from tpauc.region import Region

AfterPass = Callable[[int, float], None]

_QUIET_SPARK = "--conf spark.log.level=ERROR --conf spark.ui.showConsoleProgress=false pyspark-shell"
_MODULES_OF_ENGINES = ("_duckdb", "duckdb", "polars", "pyspark", "py4j", "narwhals", "pyarrow")


@dataclass(frozen=True)
class FileOptions:
    """Where the rows are and which columns they have, as the command line asks for them.

    ``positive`` is the positive label as one types it. With ``by`` each subgroup is evaluated as well.
    """

    paths: Sequence[str]
    label: str
    scores: Sequence[str]
    alpha: float
    beta: float
    groups: str | None = None
    by: str | None = None
    positive: str | None = None
    engine: str = "duckdb"
    memory: str | None = None
    confidence: float = 0.95

    def open(self) -> Any:
        """Return the table; a Spark that is started for it keeps its log to errors."""
        if self.engine == "spark":
            os.environ.setdefault("PYSPARK_SUBMIT_ARGS", _QUIET_SPARK)
        others = [name for name in (self.by, self.groups) if name is not None]
        return open_files(
            self.paths,
            label=self.label,
            scores=self.scores,
            others=others,
            pos_label=self.positive,
            engine=self.engine,
            memory=self.memory,
        )

    def columns(self, table: Any) -> dict[str, Any]:
        """Return the arguments that all functions of this room take."""
        positive = None if self.positive is None else _typed(table, self.label, self.positive)
        return {"label": self.label, "score": list(self.scores), "pos_label": positive}


@dataclass(frozen=True)
class FileEvaluation:
    """A model on all rows, and in each subgroup at the threshold of all rows if subgroups are asked for."""

    all_rows: Evaluation
    subgroups: SubgroupTable | None


@dataclass(frozen=True)
class FileComparison:
    """The comparison of two models, and the rows of each class."""

    comparison: Comparison
    n_positive: int
    n_negative: int


def evaluate_files(options: FileOptions, *, after_pass: AfterPass | None = None) -> list[FileEvaluation]:
    r"""Evaluate files; ``after_pass`` is given the number and the seconds of each pass over them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("y,model\n1,0.9\n1,0.3\n0,0.4\n0,0.2\n")
    ...     found, = evaluate_files(FileOptions([folder], label="y", scores=["model"], alpha=1.0, beta=0.5))
    >>> found.all_rows.interval.estimate
    0.5
    """
    with _engine_errors(options.engine), watched_queries(after_pass) if after_pass else nullcontext():
        table = options.open()
        columns = options.columns(table)
        asked: dict[str, Any] = {"groups": options.groups, "confidence": options.confidence}
        asked |= {"alpha": options.alpha, "beta": options.beta}
        overall = evaluate(table, **columns, **asked)
        if options.by is None:
            return [FileEvaluation(one, None) for one in overall]
        alarms = _alarms_by(table, options.by, columns, [one.point.threshold for one in overall])
        reasons = {name: _reason(counts, Region(options.alpha, options.beta)) for name, counts in alarms.items()}
        if left_out := [name for name, reason in reasons.items() if reason]:
            table = nw.from_native(table).filter(~nw.col(options.by).is_in(left_out)).to_native()
        areas = {}
        if len(left_out) < len(reasons):
            found = evaluate(table, **columns, **asked, by=options.by)
            areas = {(one.score, one.by[options.by]): one for one in found}
    tables = []
    for place, one in enumerate(overall):
        parts = [
            _subgroup(name, counts, place, areas.get((one.score, name)), reasons[name], options.confidence)
            for name, counts in alarms.items()
        ]
        parts.sort(key=lambda part: part.n_rows)
        tables.append(SubgroupTable(parts, one.point.threshold, largest_gap(parts, options.confidence)))
    return [FileEvaluation(one, by) for one, by in zip(overall, tables, strict=True)]


def compare_files(options: FileOptions, *, after_pass: AfterPass | None = None) -> FileComparison:
    """Compare the two score columns of files, as :func:`evaluate_files` evaluates them."""
    if options.by is not None:
        raise ValueError(f"by cannot be combined with a comparison, got by={options.by!r}")
    with _engine_errors(options.engine), watched_queries(after_pass) if after_pass else nullcontext():
        table = options.open()
        columns = options.columns(table)
        found = compare(
            table,
            **columns,
            alpha=options.alpha,
            beta=options.beta,
            groups=options.groups,
            confidence=options.confidence,
        )
        rows = columns_of(table, options.label, list(options.scores), columns["pos_label"]).frame
        counted = collect(rows.group_by(LABEL).agg(nw.len().alias("n")))
    by_class = dict(zip(counted[LABEL], counted["n"], strict=True))
    return FileComparison(found, int(by_class[True]), int(by_class[False]))


# ----------------------------------------------------------------------------------------------------------- subgroups


@dataclass(frozen=True)
class _Alarms:
    """Rows of each class in a subgroup, the negatives first, and how many of them each model alarms."""

    rows: list[int]
    alarmed: list[list[int]]  # by class, then by model


def _alarms_by(table: Any, by: str, columns: Mapping[str, Any], thresholds: Sequence[float]) -> dict[Any, _Alarms]:
    """Count the rows and the alarms of each subgroup in one pass."""
    frame = columns_of(table, columns["label"], columns["score"], columns["pos_label"], [by]).frame
    names = [f"alarms_{place}" for place in range(len(thresholds))]
    counted = collect(
        frame.with_columns(
            *(
                nw.when(nw.col(score_name(place)) >= (threshold if math.isfinite(threshold) else math.inf))
                .then(nw.lit(1))
                .otherwise(nw.lit(0))
                .alias(names[place])
                for place, threshold in enumerate(thresholds)
            )
        )
        .group_by(by_name(0), LABEL)
        .agg(nw.len().alias("n"), *(nw.col(name).sum() for name in names))
        .head(2 * MOST_SUBGROUPS + 1)
    )
    _check_no_missing(by, counted[by_name(0)], counted["n"])
    found: dict[Any, _Alarms] = {}
    for subgroup, positive, n, *alarms in zip(
        *(counted[name] for name in (by_name(0), LABEL, "n", *names)), strict=True
    ):
        part = found.setdefault(subgroup, _Alarms([0, 0], [[0] * len(names), [0] * len(names)]))
        part.rows[bool(positive)] = int(n)
        part.alarmed[bool(positive)][:] = map(int, alarms)
    if len(found) > MOST_SUBGROUPS:
        raise ValueError(f"by={by!r} has more than {MOST_SUBGROUPS} values; choose a column with few")
    return found


def _check_no_missing(by: str, subgroups: Sequence[Any], n_rows: Sequence[int]) -> None:
    """Raise if rows have no subgroup."""
    missing = sum(n for one, n in zip(subgroups, n_rows, strict=True) if one is None or one != one)
    if missing:
        raise ValueError(f"by={by!r} has no value in {missing} of {sum(n_rows)} rows; drop these rows, or fill them in")


def _reason(counts: _Alarms, region: Region) -> str:
    """Return why a subgroup has no TPAUC, "" if it has one."""
    try:
        region.hard_positives(counts.rows[1])
        region.hard_negatives(counts.rows[0])
    except ValueError as error:
        return str(error)
    return ""


def _subgroup(
    name: Any, counts: _Alarms, place: int, found: Evaluation | None, reason: str, confidence: float
) -> Subgroup:
    fpr, tpr = (share_of_rows(counts.alarmed[side][place], counts.rows[side], confidence) for side in (0, 1))
    tpauc = None if found is None else found.interval
    return Subgroup(name, counts.rows[1], counts.rows[0], tpauc, None, None, tpr, fpr, reason)


# ---------------------------------------------------------------------------------------------------- labels and errors


def _typed(table: Any, label: str, positive: str) -> Any:
    """Return what was typed as a value of the column's type."""
    schema = nw.from_native(table).lazy().collect_schema()
    kind = schema.get(label)
    if kind is None:  # the check of the columns says so
        return positive
    values: dict[str, Any] = {}
    if kind == nw.Boolean:
        values = {"true": True, "1": True, "false": False, "0": False}
    elif kind.is_numeric():
        try:
            values = {positive.lower(): int(positive) if kind.is_integer() else float(positive)}
        except ValueError:
            values = {}
    else:
        return positive
    if positive.lower() not in values:
        raise ValueError(f"pos_label must be a value of label={label!r}, which holds {kind}, got {positive!r}")
    return values[positive.lower()]


@contextmanager
def _engine_errors(engine: str) -> Iterator[None]:
    """Turn errors of the engine into one line."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _MODULES_OF_ENGINES:
            raise
        # Spark puts the stack of the JVM below the first line.
        lines = str(error).strip().splitlines()[: 1 if engine == "spark" else None] or [type(error).__name__]
        hint = "; Spark needs Java 17" if "JAVA" in lines[0] else ""
        raise ValueError(f"{engine}: {' '.join(' '.join(lines).split()):.400}{hint}") from error
