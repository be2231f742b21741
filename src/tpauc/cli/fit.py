"""`tpauc fit` and `tpauc score`: from a table to a run, from a run to scores.

A pipeline turns columns into numbers (`tpauc.cli.features`) and these into scores (`tpauc.TPAUCClassifier`). It
is judged, beside a cross-entropy baseline trained alike, on rows that neither of them was trained on.
"""

from __future__ import annotations

import io
import platform
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tpauc._validation import FloatArray, check_class_sizes, import_extra
from tpauc.cli._checks import UsageError, check_columns, check_distinct_options, check_named_columns, listed
from tpauc.cli.features import MOST_CATEGORIES, FeatureColumns, read_features
from tpauc.cli.judging import Document, Judge
from tpauc.cli.labels import Labels, labels_of
from tpauc.cli.runs import check_run_path, load_run, save_run
from tpauc.cli.table_io import check_table_path, read_table, write_table
from tpauc.cli.texts import facts_line, region_line
from tpauc.cli.threads import threads_for

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from tpauc.classifiers.tpauc_classifier import TPAUCClassifier

BASELINE = "cross_entropy"
Say = Callable[[str], None]


@dataclass(frozen=True)
class FitSettings:
    """What `tpauc fit` was asked for, besides the files."""

    target: str
    positive: str | None
    model: str
    method: str
    drop: tuple[str, ...]
    test_size: float
    seed: int


class _Part(NamedTuple):
    """Rows to train or to test on, and their numbers in the file they come from."""

    frame: pd.DataFrame
    labels: Labels
    rows: np.ndarray[Any, Any]


# --------------------------------------------------------------------------------------------------------------- fit


def fit_table(
    data: Path,
    test: Path | None,
    out: Path,
    settings: FitSettings,
    judge: Judge,
    *,
    overwrite: bool = False,
    say: Say = print,
    progress: Say = print,
) -> Document:
    """Train on a table, judge on rows held out, write the run, and return its card.

    Parameters
    ----------
    data, test : Path
        The table, and another one to judge on; without it a share of the rows is held out, stratified.
    out : Path
        Folder of the run.
    settings, judge
        What to train, and how to judge it.
    overwrite : bool, default=False
        Whether a run that is there may be replaced.
    say, progress : callables
        Called with lines of text: what is in the data, before training begins, and how far training is.
    """
    for module in ("sklearn", "pandas", "skops"):
        import_extra(module, "cli")
    _check_other_file(
        test, data, "--test must be another file than DATA, or the model is judged on what it was trained on"
    )
    out = check_run_path(out, overwrite=overwrite)
    columns, training, testing = _parts(data, test, settings)
    check_class_sizes(training.labels.n_positive, training.labels.n_negative, 2, "to train on")
    facts = {"training": judge.facts(training.labels), "test": judge.facts(testing.labels)}
    for line in (region_line(judge.settings), *_data_lines(columns, training, facts)):
        say(line)
    with threads_for(training.frame.size):
        pipelines = _trained(columns, training, settings, judge, progress)
    scores = {method: _scores(pipeline, testing.frame) for method, pipeline in pipelines.items()}
    progress("judging on the test rows")
    card = {
        "settings": asdict(settings) | judge.settings | {"data": str(data), "test": str(test) if test else None},
        "target": {
            "column": settings.target,
            "positive": _plain(training.labels.positive_value),
            "negative": _plain(training.labels.negative_value),
        },
        "columns": {kind: list(names) for kind, names in asdict(columns).items()},
        "data": facts,
        "chosen": {method: str(pipeline[-1].chosen_) for method, pipeline in pipelines.items()},
        "models": judge.models(testing.labels.positive, scores),
        "difference": _difference(judge, testing.labels, scores, settings.method),
        "versions": _versions(),
    }
    save_run(out, pipelines[settings.method], card, _test_scores(testing, scores), overwrite=overwrite)
    return {"run": str(out)} | card


def _parts(data: Path, test: Path | None, settings: FitSettings) -> tuple[FeatureColumns, _Part, _Part]:
    """Return the kinds of the columns, the training rows and the test rows."""
    from tpauc.classifiers.folds import copies, rows_to_hold_out

    table = read_table(data)
    check_named_columns(table.column_names, settings.drop, data)
    check_columns([settings.target, *settings.drop], table.column_names, data)
    columns = FeatureColumns.of(table, leave_out=[settings.target, *settings.drop])
    everything = _part(table, columns, settings.target, settings.positive)
    if test is not None:
        other = read_features(test, columns, target=settings.target)
        testing = _part(other, columns, settings.target, everything.labels.positive_value)
        _check_same_classes(everything.labels[1:], testing.labels[1:], test)
        return columns, everything, testing
    check_class_sizes(everything.labels.n_positive, everything.labels.n_negative, 3, "to train and to test on")
    positive, group = everything.labels.positive, copies(everything.frame)
    held = rows_to_hold_out(positive, group, settings.test_size, np.random.default_rng(settings.seed))
    return columns, _chosen(everything, np.flatnonzero(~held)), _chosen(everything, np.flatnonzero(held))


def _part(table: pa.Table, columns: FeatureColumns, target: str, positive: Any) -> _Part:
    labels = labels_of(table[target], f"column {target!r}", positive=positive)
    return _Part(columns.frame(table), labels, np.arange(labels.positive.size))


def _chosen(part: _Part, rows: np.ndarray[Any, Any]) -> _Part:
    labels = part.labels._replace(positive=part.labels.positive[rows])
    return _Part(part.frame.iloc[rows], labels, rows)


def _trained(
    columns: FeatureColumns, training: _Part, settings: FitSettings, judge: Judge, progress: Say
) -> dict[str, Any]:
    """Return the fitted pipeline of the method and of the baseline."""
    from sklearn.pipeline import Pipeline

    from tpauc.classifiers.tpauc_classifier import TPAUCClassifier

    methods = list(dict.fromkeys([settings.method, BASELINE]))
    pipelines = {}
    for number, method in enumerate(methods, start=1):
        progress(f"training {settings.model}, {method} ({number} of {len(methods)})")
        start = time.perf_counter()
        classifier = TPAUCClassifier(
            settings.model,
            alpha=judge.region.alpha,
            beta=judge.region.beta,
            method=method,
            random_state=settings.seed,
        )
        pipeline = Pipeline([("columns", columns.preprocessing()), ("classifier", classifier)])
        pipelines[method] = pipeline.fit(training.frame, training.labels.positive.astype(np.int64))
        choice = f"; cross-validation chose {classifier.chosen_}" if _had_a_choice(classifier) else ""
        progress(f"trained in {time.perf_counter() - start:.1f} s{choice}")
    return pipelines


def _had_a_choice(classifier: TPAUCClassifier) -> bool:
    return len(getattr(classifier, "candidates_", ())) > 1


def _difference(judge: Judge, labels: Labels, scores: dict[str, FloatArray], method: str) -> Document | None:
    if method == BASELINE:
        return None
    return judge.difference(labels.positive, scores[method], scores[BASELINE])


def _test_scores(testing: _Part, scores: dict[str, FloatArray]) -> bytes:
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table({"row": testing.rows + 1, "label": testing.labels.positive.astype(np.int8)} | scores)
    buffer = io.BytesIO()
    csv.write_csv(table, buffer)
    return buffer.getvalue()


def _data_lines(columns: FeatureColumns, training: _Part, facts: Document) -> list[str]:
    labels, frame = training.labels, training.frame
    lines = [
        f"Positive is {labels.positive_value!r}, negative is {labels.negative_value!r}.",
        f"Features: {len(columns.numbers)} columns of numbers, {len(columns.categories)} of categories.",
    ]
    if columns.without_values:
        lines.append(f"Left out, because they hold no value: {', '.join(columns.without_values)}.")
    for name in columns.texts:
        if (found := frame[name].nunique()) > MOST_CATEGORIES:
            lines.append(
                f"Column {name!r} has {found:,} values: beyond the {MOST_CATEGORIES} most frequent they share one "
                f"feature. If it only names the rows, leave it out: --drop {name!r}"
            )
    return [*lines, *(f"{part.capitalize()}: {facts_line(counts)}" for part, counts in facts.items())]


def _plain(value: Any) -> str | int | float:
    """Return a value that JSON can hold, a date as text."""
    return value if isinstance(value, str | int | float) else str(value)


def _versions() -> dict[str, str]:
    packages = ("tpauc", "numpy", "scikit-learn", "torch", "pyarrow", "pandas", "skops")
    return {"python": platform.python_version()} | {package: version(package) for package in packages}


# ------------------------------------------------------------------------------------------------------------- score


def score_table(run: Path, data: Path, out: Path, *, keep: Sequence[str], overwrite: bool) -> Document:
    """Write the scores of a run for the rows of a table, and return what was done.

    Parameters
    ----------
    run : Path
        Folder that `fit_table` made.
    data : Path
        A table with the columns that the model was trained on; other columns are ignored.
    out : Path
        CSV, TSV or Parquet: the columns ``keep``, then ``score`` and ``alarm``.
    keep : sequence of str
        Columns of ``data`` to copy.
    overwrite : bool
        Whether a file that is there may be replaced.
    """
    import pyarrow as pa

    _check_other_file(out, data, "--out must be another file than DATA")
    check_table_path(out, overwrite=overwrite)
    check_distinct_options([*keep, "score", "alarm"], "--keep")
    pipeline, card = load_run(run)
    columns = FeatureColumns(**_check_column_lists(card["columns"], [field.name for field in fields(FeatureColumns)]))
    table = read_features(data, columns, keep=keep)
    scores = _scores(pipeline, columns.frame(table))
    # The classifier's scores are measured from its threshold.
    alarm = scores > 0.0
    kept = {name: table[name] for name in keep}
    write_table(out, pa.table(kept | {"score": scores, "alarm": alarm}))
    return {
        "run": str(run),
        "data": str(data),
        "out": str(out),
        "rows": int(scores.size),
        "alarms": int(np.count_nonzero(alarm)),
    }


def _scores(pipeline: Any, frame: pd.DataFrame) -> FloatArray:
    scores: FloatArray = np.asarray(pipeline.decision_function(frame), dtype=np.float64)
    return scores


def _check_same_classes(training: tuple[object, object], test: tuple[object, object], where: object) -> None:
    """Raise if the test table called ``where`` has other classes than the training table."""
    if training != test:
        raise ValueError(
            f"{where} must have the classes of the training data, {listed(training)}, found {listed(test)}"
        )


def _check_other_file(path: Path | None, other: Path, rule: str) -> None:
    """Raise ``rule`` if two paths lead to the same file."""
    if path is not None and path.exists() and other.exists() and path.samefile(other):
        raise UsageError(f"{rule}, got {path} for both")


def _check_column_lists(columns: Mapping[str, Any], kinds: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of a model by kind, as its card lists them."""
    lists = {kind: columns.get(kind) for kind in kinds}
    for kind, names in lists.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"the card of the run is damaged: columns[{kind!r}] must be a list of names, got {names!r}"
            )
    return {kind: tuple(names) for kind, names in lists.items() if names is not None}
