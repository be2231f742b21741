"""`tpauc fit`: from a table to a run.

A pipeline turns columns into numbers (`tpauc.cli.features`) and numbers into scores (`tpauc.cli.model_choice`). It is
evaluated on rows that it was not trained on, beside a cross-entropy baseline that is trained in the same way. Its
threshold is picked on out-of-fold scores of the training rows, and judged on the test rows (`tpauc.cli.threshold`).
"""

from __future__ import annotations

import copy
import math
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from tpauc._validation import FloatArray, check_class_sizes, check_groups, import_extra
from tpauc.cli._documents import area_document
from tpauc.cli._text import (
    Document,
    difference_line,
    facts_line,
    models_table,
    percent,
    region_line,
    show,
    threshold_lines,
)
from tpauc.cli.errors import UsageError, listed, progress
from tpauc.cli.evaluate import Evaluator, evaluator_of
from tpauc.cli.features import Examples, FeatureColumns, read_examples, read_features
from tpauc.cli.heartbeat import training_heartbeat
from tpauc.cli.model_choice import (
    BASELINE,
    check_model,
    chosen_line,
    chosen_words,
    divides_rows,
    model_words,
    new_classifier,
)
from tpauc.cli.options import (
    Alpha,
    AsJson,
    Beta,
    Confidence,
    Debug,
    Drop,
    Groups,
    Intervals,
    Method,
    Model,
    Overwrite,
    Positive,
    Resamples,
    Seed,
    Target,
    TimeLimit,
    TrainingTable,
    open_share,
)
from tpauc.cli.runs import RunScores, check_run_path, save_run, score_columns
from tpauc.cli.threshold import BY_FOLDS, judged
from tpauc.metrics.comparison import compare_in_region
from tpauc.metrics.summary import summarise
from tpauc.metrics.thresholds import ThresholdRule

if TYPE_CHECKING:
    import pandas as pd

_WORTH_SHARING = 1_000_000  # values in a table; a pass over fewer takes less than a millisecond
_MISSED_SHARE = 0.2  # relative: the hold-out of a class that is off by more is a warning


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
    time_limit: TimeLimit = None,
    drop: Drop = None,
    groups: Groups = None,
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
    missing values are allowed, dates and times are left out. The threshold for alarms is picked on out-of-fold scores
    of the training rows; its rates are shown on the test rows, which had no part in that, and "tpauc threshold" changes
    it. The run holds the model as it was evaluated, trained without the test rows, its card, and the scores of the test
    rows.
    """
    evaluator = evaluator_of(alpha, beta, confidence, resamples, seed, intervals)
    settings = FitSettings(target, positive, model, method, tuple(drop or ()), groups, test_size, seed, time_limit)
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
    groups: str | None
    test_size: float
    seed: int
    time_limit: float | None = None


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
    check_model(settings.model, settings.method, settings.time_limit)
    check_other_file(
        test, data, "--test must be another file than DATA, or the model is evaluated on what it was trained on"
    )
    out = check_run_path(out, overwrite=overwrite)
    columns, training, testing = _training_and_test(data, test, settings)
    check_class_sizes(training.labels.n_positive, training.labels.n_negative, 2, "to train on")
    facts = {"training": evaluator.facts(training.labels), "test": evaluator.facts(testing.labels)}
    for line in (region_line(evaluator.settings), *_data_lines(columns, training, facts)):
        say(line)
    if testing.groups is not None:
        here, there = (f"{len(_group_names(part)):,}" for part in (training, testing))
        say(f"Rows with the same {settings.groups!r} stay together: {here} groups in training, {there} in test.")
    if test is None:
        _warn_of_missed_share(facts, settings.test_size)
    names = score_columns(settings.target, settings.groups, _methods(settings.method))
    trained = _trained(columns, training, settings, evaluator)
    pipelines = dict(zip(names["models"], trained, strict=True))
    tested = _scored(testing, {name: logits(pipeline, testing.frame) for name, pipeline in pipelines.items()})
    out_of_fold = _out_of_fold(training, names["models"][0], trained[0])
    with training_heartbeat("evaluating on the test rows"):
        results = _results(tested, out_of_fold, trained, settings, evaluator)
    card = {
        "settings": asdict(settings) | evaluator.settings | {"data": str(data), "test": str(test) if test else None},
        "target": {
            "column": settings.target,
            "positive": _plain(training.labels.positive_value),
            "negative": _plain(training.labels.negative_value),
        },
        "columns": {kind: list(names) for kind, names in asdict(columns).items()},
        "data": facts,
        **results,
        "score_columns": names,
        "versions": _versions(),
    }
    save_run(out, trained[0], card, tested, out_of_fold, overwrite=overwrite)
    return {"run": str(out)} | card


def _training_and_test(
    data: Path, test: Path | None, settings: FitSettings
) -> tuple[FeatureColumns, Examples, Examples]:
    """Return the kinds of the columns, the training rows and the test rows."""
    from tpauc.classifiers.folds import copies, rows_to_hold_out

    target, groups = settings.target, settings.groups
    columns, everything = read_examples(data, target, settings.positive, settings.drop, groups)
    labels = everything.labels
    if test is not None:
        table = read_features(test, columns, more=[target] if groups is None else [target, groups])
        testing = Examples.of(table, columns, target, labels.positive_value, groups)
        if labels[1:] != testing.labels[1:]:
            raise ValueError(
                f"{test} must have the classes of the training data, {listed(labels[1:])}, "
                f"found {listed(testing.labels[1:])}"
            )
        if shared := sorted(set(_group_names(everything)) & set(_group_names(testing))):
            raise ValueError(
                f"{test} shares {len(shared)} groups with the training data, such as {shared[0]!r}; rows of a group "
                "must be on one side"
            )
        training = everything
    else:
        check_class_sizes(labels.n_positive, labels.n_negative, 3, "to train and to test on")
        held_out = rows_to_hold_out(
            labels.positive,
            copies(everything.frame),
            settings.test_size,
            np.random.default_rng(settings.seed),
            groups=everything.groups,
        )
        training, testing = everything.subset(~held_out), everything.subset(held_out)
    if testing.groups is not None:
        try:
            check_groups(testing.groups, testing.labels.positive)
        except ValueError as error:
            raise ValueError(f"--groups, on the test rows: {error}; give a larger --test-size, or --test") from error
    return columns, training, testing


def _group_names(examples: Examples) -> list[str]:
    return [] if examples.groups is None else np.unique(examples.groups.astype(str)).tolist()


def _warn_of_missed_share(facts: Mapping[str, Document], share: float) -> None:
    """Print a warning if the test rows have far more or far fewer of a class than was asked for."""
    for name in ("positives", "negatives"):
        held, total = facts["test"][name], facts["test"][name] + facts["training"][name]
        # One row more or less is rounding.
        if abs(held - share * total) > max(1.0, _MISSED_SHARE * share * total):
            progress(
                f"warning: {held:,} of {total:,} {name} are test rows, {percent(round(held / total, 4))} where "
                f"{percent(share)} were asked for: groups, or copies of a row, are too large to be divided better"
            )


def threads_for(n_values: int) -> AbstractContextManager[Any]:
    """Return a context in which libraries that are loaded by now use one thread for a table of few values.

    Handing out small pieces of work takes longer than doing them, most of all on a machine that is busy.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = nullcontext() if n_values >= _WORTH_SHARING else threadpool_limits(1)
    return limits


def _methods(method: str) -> list[str]:
    """Return the method of the model that is deployed, and the baseline."""
    return list(dict.fromkeys([method, BASELINE]))


def _trained(columns: FeatureColumns, training: Examples, settings: FitSettings, evaluator: Evaluator) -> list[Any]:
    """Return the fitted pipelines: the one to be deployed, then the baseline."""
    from sklearn.pipeline import Pipeline

    pipelines = []
    methods = _methods(settings.method)
    for number, method in enumerate(methods, start=1):
        what, deployed = model_words(settings.model, method), number == 1
        progress(f"training {number} of {len(methods)}: {what}")
        start = time.perf_counter()
        classifier = new_classifier(
            settings.model,
            method,
            evaluator.region,
            deployed=deployed,
            seed=settings.seed,
            time_limit=settings.time_limit,
        )
        pipeline = Pipeline([("columns", columns.preprocessing()), ("classifier", classifier)])
        more = {}
        if training.groups is not None and divides_rows(settings.model, method, deployed=deployed):
            more["classifier__groups"] = training.groups
        with threads_for(training.frame.size), training_heartbeat(f"training {number} of {len(methods)}"):
            pipelines.append(pipeline.fit(training.frame, training.labels.positive.astype(np.int64), **more))
        progress(f"trained in {time.perf_counter() - start:.1f} s")
    return pipelines


def logits(pipeline: Any, frame: pd.DataFrame) -> FloatArray:
    """Return the scores of rows, which do not depend on the threshold."""
    # The decision function is measured from the threshold, here from 0: "at least 5e-324" is "above 0".
    classifier = copy.copy(pipeline[-1]).set_threshold(math.ulp(0.0))
    scores: FloatArray = np.asarray(classifier.decision_function(pipeline[:-1].transform(frame)), dtype=np.float64)
    return scores


def _scored(examples: Examples, scores: dict[str, FloatArray]) -> RunScores:
    return RunScores(examples.labels.positive, scores, examples.groups, examples.rows)


def _out_of_fold(training: Examples, name: str, pipeline: Any) -> RunScores:
    """Return the training rows that are in a fold, with the scores of a fold that did not see them."""
    scores = pipeline[-1].out_of_fold_scores_
    known = np.isfinite(scores)
    return _scored(training.subset(known), {name: np.asarray(scores[known], dtype=np.float64)})


def _results(
    tested: RunScores, out_of_fold: RunScores, trained: list[Any], settings: FitSettings, evaluator: Evaluator
) -> Document:
    """Return what was chosen, the metrics on the test rows, the difference to the baseline, and the threshold."""
    positive, (region, options) = tested.positive, (evaluator.region, evaluator.options)
    groups = None if tested.groups is None else check_groups(tested.groups, positive)
    methods, models = _methods(settings.method), []
    for method, pipeline, (name, scores) in zip(methods, trained, tested.scores.items(), strict=True):
        summary = summarise(positive, scores, region, options, groups=groups)
        areas = {area: area_document(getattr(summary, area)) for area in ("tpauc", "opauc", "auc")}
        own = pipeline[-1].threshold_ if hasattr(pipeline[-1], "out_of_fold_scores_") else None
        models.append({"name": name, "title": model_words(settings.model, method), "threshold": own, **areas})
    difference, (own_scores, *others) = None, tested.scores.values()
    for baseline in others:
        difference = area_document(compare_in_region(positive, own_scores, baseline, region, options, groups=groups))
    chosen = {method: chosen_words(settings.model, trained[number][-1]) for number, method in enumerate(methods)}
    threshold = judged(
        tested,
        float(trained[0][-1].threshold_),
        region,
        options.confidence,
        rule=ThresholdRule(),
        picked_on=BY_FOLDS,
        n_rows=out_of_fold.positive.size,
    )
    return {"chosen": chosen, "models": models, "difference": difference, "threshold": threshold}


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
    if columns.times:
        lines.append(
            f"Left out, because they hold dates or times: {', '.join(columns.times)}. To use them, turn them into "
            "numbers, such as days since a certain day."
        )
    for name in columns.texts:
        if (found := frame[name].nunique()) > columns.most_categories:
            lines.append(
                f"Column {name!r} has {found:,} values: beyond the {columns.most_categories} most frequent they share "
                f"one feature. If it only names the rows, leave it out: --drop {name!r}"
            )
    return [*lines, *(f"{part.capitalize()}: {facts_line(counts)}" for part, counts in facts.items())]


def _result_lines(card: Document) -> list[str]:
    confidence, titles = card["settings"]["confidence"], [model["title"] for model in card["models"]]
    lines, chosen = [""], next(iter(card["chosen"].values()))
    if chosen is not None:
        lines.append(chosen_line(card["settings"]["model"], titles[0], chosen))
    lines += ["", "On the test rows:", models_table(card["models"], confidence)]
    if not any(model["tpauc"]["estimate"] for model in card["models"]):
        lines.append(
            "A TPAUC of 0 means that the ROC curve does not enter the region; a larger --alpha or --beta may be met."
        )
    if card["difference"] is not None:
        lines += ["", difference_line(titles[0], titles[1], card["difference"], confidence)]
    return [*lines, "", *threshold_lines(card["threshold"]), "", f"The run is {card['run']}"]


def check_other_file(path: Path | None, other: Path, rule: str) -> None:
    """Raise ``rule`` if two paths lead to the same file."""
    if path is not None and path.exists() and other.exists() and path.samefile(other):
        raise UsageError(f"{rule}, got {path} for both")
