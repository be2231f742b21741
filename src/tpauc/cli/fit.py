"""`tpauc fit` and `tpauc score`: from a table to a run, from a run to scores.

A pipeline turns columns into numbers (`tpauc.cli.features`) and numbers into scores (`tpauc.TPAUCClassifier`). It is
evaluated on rows that it was not trained on, beside a cross-entropy baseline that is trained in the same way.
"""

from __future__ import annotations

import io
import platform
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from tpauc._validation import FloatArray, check_class_sizes, import_extra
from tpauc.classifiers.training_methods import AUTO
from tpauc.cli._text import Document, difference_line, facts_line, models_table, region_line, show
from tpauc.cli.errors import UsageError, check_distinct_options, listed, progress
from tpauc.cli.evaluate import Evaluator, evaluator_of
from tpauc.cli.features import MOST_CATEGORIES, Examples, FeatureColumns, read_examples, read_features
from tpauc.cli.options import (
    Alpha,
    AsJson,
    Beta,
    Confidence,
    Debug,
    Drop,
    Intervals,
    Method,
    Model,
    Overwrite,
    Positive,
    Resamples,
    Seed,
    Target,
    TrainingTable,
    open_share,
)
from tpauc.cli.runs import check_run_path, load_run, save_run
from tpauc.cli.table_io import check_table_path, write_table

if TYPE_CHECKING:
    import pandas as pd

BASELINE = "cross_entropy"
_WORTH_SHARING = 1_000_000  # values in a table; a pass over fewer takes less than a millisecond


# --------------------------------------------------------------------------------------------------------------- fit


def fit(
    data: TrainingTable,
    target: Target,
    alpha: Alpha,
    beta: Beta,
    out: Annotated[Path, typer.Option(metavar="RUN", help="Folder to make.")],
    positive: Positive = None,
    model: Annotated[Model, typer.Option(help="What to train.")] = "linear",
    method: Annotated[Method, typer.Option(help="What to train it on.")] = "region",
    drop: Drop = None,
    test: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows to evaluate on, instead of a share of DATA.")
    ] = None,
    test_size: Annotated[
        float, typer.Option(callback=open_share, metavar="SHARE", help="Share of DATA to hold out and evaluate on.")
    ] = 0.3,
    confidence: Confidence = 0.95,
    resamples: Resamples = 2000,
    intervals: Intervals = "auto",
    seed: Seed = 0,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Train a model on a table, and evaluate it.

    The model is trained for the region. It is evaluated with intervals on rows that were held out, beside a model
    trained in the same way on cross-entropy. Columns of text and booleans are categories, other columns numbers;
    missing values are allowed. The run holds the model as it was evaluated, trained without the test rows, its card,
    and the scores of the test rows.
    """
    evaluator = evaluator_of(alpha, beta, confidence, resamples, seed, intervals)
    settings = FitSettings(target, positive, model, method, tuple(drop or ()), test_size, seed)
    say = progress if as_json else typer.echo
    card = fit_table(data, test, out, settings, evaluator, overwrite=overwrite, say=say)
    show(card, _result_lines(card), as_json=as_json)


@dataclass(frozen=True)
class FitSettings:
    """The options of `tpauc fit` that decide what is trained."""

    target: str
    positive: str | None
    model: str
    method: str
    drop: tuple[str, ...]
    test_size: float
    seed: int


def fit_table(
    data: Path,
    test: Path | None,
    out: Path,
    settings: FitSettings,
    evaluator: Evaluator,
    *,
    overwrite: bool,
    say: Callable[[str], None],
) -> Document:
    """Train on a table, evaluate on the test rows, write the run, and return its card.

    ``say`` is called with lines of text about the data before training begins.
    """
    import_extra("sklearn", "cli")
    import_extra("pandas", "cli")
    if settings.model == "mlp":
        import_extra("torch", "torch")
    elif settings.model in AUTO:
        import_extra("lightgbm", "lightgbm")
    _check_other_file(
        test, data, "--test must be another file than DATA, or the model is evaluated on what it was trained on"
    )
    out = check_run_path(out, overwrite=overwrite)
    columns, training, testing = _training_and_test(data, test, settings)
    check_class_sizes(training.labels.n_positive, training.labels.n_negative, 2, "to train on")
    facts = {"training": evaluator.facts(training.labels), "test": evaluator.facts(testing.labels)}
    for line in (region_line(evaluator.settings), *_data_lines(columns, training, facts)):
        say(line)
    pipelines = _trained(columns, training, settings, evaluator)
    scores = {method: _scores(pipeline, testing.frame) for method, pipeline in pipelines.items()}
    progress("evaluating on the test rows")
    positive, method = testing.labels.positive, settings.method
    card = {
        "settings": asdict(settings) | evaluator.settings | {"data": str(data), "test": str(test) if test else None},
        "target": {
            "column": settings.target,
            "positive": _plain(training.labels.positive_value),
            "negative": _plain(training.labels.negative_value),
        },
        "columns": {kind: list(names) for kind, names in asdict(columns).items()},
        "data": facts,
        "chosen": {name: str(pipeline[-1].chosen_) for name, pipeline in pipelines.items()},
        "models": evaluator.models(positive, scores),
        "difference": None if method == BASELINE else evaluator.difference(positive, scores[method], scores[BASELINE]),
        "versions": _versions(),
    }
    save_run(out, pipelines[method], card, _test_scores(testing, scores), overwrite=overwrite)
    return {"run": str(out)} | card


def _training_and_test(
    data: Path, test: Path | None, settings: FitSettings
) -> tuple[FeatureColumns, Examples, Examples]:
    """Return the kinds of the columns, the training rows and the test rows."""
    from tpauc.classifiers.folds import copies, rows_to_hold_out

    columns, everything = read_examples(data, settings.target, settings.positive, settings.drop)
    labels = everything.labels
    if test is not None:
        table = read_features(test, columns, target=settings.target)
        testing = Examples.of(table, columns, settings.target, labels.positive_value)
        if labels[1:] != testing.labels[1:]:
            raise ValueError(
                f"{test} must have the classes of the training data, {listed(labels[1:])}, "
                f"found {listed(testing.labels[1:])}"
            )
        return columns, everything, testing
    check_class_sizes(labels.n_positive, labels.n_negative, 3, "to train and to test on")
    rng = np.random.default_rng(settings.seed)
    held_out = rows_to_hold_out(labels.positive, copies(everything.frame), settings.test_size, rng)
    return columns, everything.subset(~held_out), everything.subset(held_out)


def threads_for(n_values: int) -> AbstractContextManager[Any]:
    """Return a context in which libraries that are loaded by now use one thread for a table of few values.

    Handing out small pieces of work takes longer than doing them, most of all on a machine that is busy.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = nullcontext() if n_values >= _WORTH_SHARING else threadpool_limits(1)
    return limits


def _trained(
    columns: FeatureColumns, training: Examples, settings: FitSettings, evaluator: Evaluator
) -> dict[str, Any]:
    """Return the fitted pipelines of the method and of the baseline."""
    from sklearn.pipeline import Pipeline

    from tpauc.classifiers.tpauc_classifier import TPAUCClassifier

    methods = list(dict.fromkeys([settings.method, BASELINE]))
    pipelines = {}
    for number, method in enumerate(methods, start=1):
        progress(f"training {settings.model}, {method} ({number} of {len(methods)})")
        start = time.perf_counter()
        # A stack has no cross-entropy of its own; it is compared with logistic regression.
        model = "linear" if settings.model in AUTO and method == BASELINE else settings.model
        classifier = TPAUCClassifier(
            model,
            alpha=evaluator.region.alpha,
            beta=evaluator.region.beta,
            method=method,
            random_state=settings.seed,
        )
        pipeline = Pipeline([("columns", columns.preprocessing()), ("classifier", classifier)])
        with threads_for(training.frame.size):
            pipelines[method] = pipeline.fit(training.frame, training.labels.positive.astype(np.int64))
        several = len(getattr(classifier, "candidates_", ())) > 1
        choice = f"; cross-validation chose {classifier.chosen_}" if several else ""
        progress(f"trained in {time.perf_counter() - start:.1f} s{choice}")
    return pipelines


def _scores(pipeline: Any, frame: pd.DataFrame) -> FloatArray:
    scores: FloatArray = np.asarray(pipeline.decision_function(frame), dtype=np.float64)
    return scores


def _test_scores(testing: Examples, scores: dict[str, FloatArray]) -> bytes:
    """Return the CSV file of the test rows."""
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table({"row": testing.rows + 1, "label": testing.labels.positive.astype(np.int8)} | scores)
    buffer = io.BytesIO()
    csv.write_csv(table, buffer)
    return buffer.getvalue()


def _plain(value: Any) -> str | int | float:
    """Return a value that JSON can hold, for example a date as text."""
    return value if isinstance(value, str | int | float) else str(value)


def _versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that decide the scores."""
    found = {"python": platform.python_version()}
    for package in ("tpauc", "numpy", "scikit-learn", "torch", "lightgbm", "pyarrow", "pandas", "skops"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # torch or LightGBM, which a linear model does not need
            continue
    return found


def _data_lines(columns: FeatureColumns, training: Examples, facts: Document) -> list[str]:
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


def _result_lines(card: Document) -> list[str]:
    confidence = card["settings"]["confidence"]
    lines = ["", "On the test rows:", models_table(card["models"], confidence)]
    if card["difference"] is not None:
        first, second = (model["name"] for model in card["models"])
        lines += ["", difference_line(first, second, card["difference"], confidence)]
    return [*lines, "", f"The run is {card['run']}"]


# ------------------------------------------------------------------------------------------------------------- score


def score(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that fit made.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Table with the columns that the model was trained on.")],
    out: Annotated[Path, typer.Option(metavar="SCORES", help="CSV, TSV or Parquet file to write.")],
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of DATA to copy, such as an id; may be repeated."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Write the scores of a run for the rows of a table.

    A score is the logit above the run's threshold; "alarm" is true where it is above 0, the operating point of the
    region. Columns that the model does not know are ignored.
    """
    pyarrow = import_extra("pyarrow", "cli")
    _check_other_file(out, data, "--out must be another file than DATA")
    check_table_path(out, overwrite=overwrite)
    keep = keep or []
    check_distinct_options([*keep, "score", "alarm"], "--keep")
    pipeline, card = load_run(run)
    columns = FeatureColumns(**_check_column_lists(card["columns"], [field.name for field in fields(FeatureColumns)]))
    table = read_features(data, columns, keep=keep)
    scores = _scores(pipeline, columns.frame(table))
    alarm = scores > 0.0  # the classifier's scores are measured from its threshold
    write_table(out, pyarrow.table({name: table[name] for name in keep} | {"score": scores, "alarm": alarm}))
    rows, alarms = int(scores.size), int(np.count_nonzero(alarm))
    document = {"run": str(run), "data": str(data), "out": str(out), "rows": rows, "alarms": alarms}
    show(document, [f"{rows:,} rows scored, {alarms:,} alarms: {out}"], as_json=as_json)


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
