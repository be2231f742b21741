"""The command line: ``tpauc advise | fit | score | evaluate | compare | report | demo``. Needs ``tpauc[cli]``.

Commands only parse, call the module of the command and print. Results go to stdout, progress and errors to stderr. With
``--json`` stdout holds one JSON document and nothing else. What takes long to import is imported by the command that
needs it, so that ``--help`` answers at once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tpauc import __version__
from tpauc.cli._checks import UsageError, check_existing
from tpauc.cli.data import app as data
from tpauc.cli.options import (
    AdvisedModel,
    Alpha,
    AlphaOfRun,
    AsJson,
    Beta,
    BetaOfRun,
    Confidence,
    Debug,
    Intervals,
    LabelColumn,
    Method,
    Model,
    Overwrite,
    Positive,
    Resamples,
    ScoreColumns,
    ScoresFile,
    Seed,
    open_share,
)
from tpauc.cli.program import OneLineErrors, progress
from tpauc.cli.reproduce import app as reproduce
from tpauc.region import Region

if TYPE_CHECKING:
    from tpauc.cli.judging import Document, Judge

app = typer.Typer(
    cls=OneLineErrors,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 done; 2 what was typed must change (an option, a file or column that is not there, an output "
    "that is); 1 the data or the machine must (one class, NaN, an unreadable file, a full disk); 130 Ctrl-C.",
)
app.add_typer(data, name="data")
app.add_typer(reproduce, name="reproduce")


def main() -> None:
    """Run the command line, as the program ``tpauc`` does."""
    app(prog_name="tpauc")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tpauc {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _tpauc(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train and judge classifiers in the corner of the ROC plot where they are used.

    The corner is a region: catch at least 1 - alpha of the positives with false alarms on at most beta of the
    negatives. TPAUC is the share of it under the ROC curve. "tpauc COMMAND --help" shows an example of each command.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


def _examples(*lines: str) -> str:
    """Return the end of a help text; the first character keeps its lines as they are."""
    return "\n  ".join(["\b\nExamples:" if len(lines) > 1 else "\b\nExample:", *lines])


# ------------------------------------------------------------------------------------------------------------ output


def _show(document: Document, lines: Sequence[str], *, as_json: bool) -> None:
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) if as_json else "\n".join(lines))


def _judge(alpha: float, beta: float, confidence: float, resamples: int, seed: int, intervals: str) -> Judge:
    from tpauc.cli.judging import Judge
    from tpauc.metrics.intervals import IntervalOptions

    try:
        return Judge(Region(alpha, beta), IntervalOptions(confidence, intervals, resamples, seed))
    except ValueError as error:
        raise UsageError(str(error).replace("n_resamples", "--resamples")) from error


# ---------------------------------------------------------------------------------------------------- fit and score


@app.command(epilog=_examples("tpauc fit patients.csv --target ill --positive yes --alpha 0.1 --beta 0.2 --out run"))
def fit(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet or NPZ file, a row an example.")],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict, of two values.")],
    alpha: Alpha,
    beta: Beta,
    out: Annotated[Path, typer.Option(metavar="RUN", help="Folder to make.")],
    positive: Positive = None,
    model: Annotated[Model, typer.Option(help="What to train.")] = "linear",
    method: Annotated[Method, typer.Option(help="What to train it on.")] = "region",
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows to judge on, instead of a share of DATA.")
    ] = None,
    test_size: Annotated[
        float, typer.Option(callback=open_share, metavar="SHARE", help="Share of DATA to hold out and judge on.")
    ] = 0.3,
    confidence: Confidence = 0.95,
    resamples: Resamples = 2000,
    intervals: Intervals = "auto",
    seed: Seed = 0,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Train a model on a table, and judge it.

    It is trained for the region, and judged with intervals beside one trained alike on cross-entropy, on rows that were
    held out. Columns of text and booleans are categories, other columns numbers; missing values are taken care of. The
    run holds the model as it was judged, trained without the test rows, its card, and the scores of the test rows.
    """
    from tpauc.cli.fit import FitSettings, fit_table
    from tpauc.cli.texts import fit_lines

    judge = _judge(alpha, beta, confidence, resamples, seed, intervals)
    settings = FitSettings(target, positive, model, method, tuple(drop or ()), test_size, seed)
    say = progress if as_json else typer.echo
    card = fit_table(data, test, out, settings, judge, overwrite=overwrite, say=say, progress=progress)
    _show(card, fit_lines(card), as_json=as_json)


@app.command(epilog=_examples("tpauc score run new.csv --keep patient --out scores.csv"))
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
    from tpauc.cli.fit import score_table

    done = score_table(run, data, out, keep=keep or [], overwrite=overwrite)
    _show(done, [f"{done['rows']:,} rows scored, {done['alarms']:,} alarms: {done['out']}"], as_json=as_json)


# ------------------------------------------------------------------------------------- evaluate, compare and report


@app.command(
    epilog=_examples("tpauc evaluate scores.csv --label ill --score model --score rival --alpha 0.1 --beta 0.2")
)
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

    Each with its interval. The operating point is the threshold to use: of those within the false alarms that beta
    allows, the one that catches most. "in region" says whether that is at least 1 - alpha of the positives.
    """
    from tpauc.cli.score_files import read_scores
    from tpauc.cli.texts import evaluation_lines

    judge = _judge(alpha, beta, confidence, resamples, seed, intervals)
    found = read_scores(scores_file, label, score, positive=positive)
    facts = judge.facts(found.labels)
    models = judge.models(found.labels.positive, found.scores)
    document = {"scores": str(scores_file)} | judge.settings | {"data": facts, "models": models}
    _show(document, evaluation_lines(document), as_json=as_json)


@app.command(
    epilog=_examples("tpauc compare scores.csv --label ill --score model --score rival --alpha 0.1 --beta 0.2")
)
def compare(
    scores_file: ScoresFile,
    label: LabelColumn,
    score: Annotated[
        list[str], typer.Option("--score", metavar="COLUMN", help="Column of a model's scores; give two of them.")
    ],
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
    from tpauc.cli.score_files import read_scores
    from tpauc.cli.texts import comparison_lines

    if len(score) != 2:
        raise UsageError(f"compare needs two models, --score twice; got {len(score)}")
    judge = _judge(alpha, beta, confidence, resamples, seed, intervals)
    found = read_scores(scores_file, label, score, positive=positive)
    facts = judge.facts(found.labels)
    difference = judge.difference(found.labels.positive, *found.scores.values())
    document = {"scores": str(scores_file)} | judge.settings | {"data": facts, "models": score}
    document |= {"difference": difference}
    _show(document, comparison_lines(document), as_json=as_json)


@app.command(
    epilog=_examples(
        "tpauc report run",
        "tpauc report scores.csv --label ill --score model --score rival --alpha 0.1 --beta 0.2",
    )
)
def report(
    source: Annotated[Path, typer.Argument(metavar="RUN|SCORES", help="Folder that fit made, or a file of scores.")],
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the labels in a file.")] = None,
    score: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column of a model's scores in a file; may be repeated.")
    ] = None,
    alpha: AlphaOfRun = None,
    beta: BetaOfRun = None,
    out: Annotated[
        Path | None, typer.Option(metavar="HTML", help="File to write; by default in RUN, or beside SCORES.")
    ] = None,
    positive: Positive = None,
    confidence: Confidence = 0.95,
    resamples: Resamples = 2000,
    intervals: Intervals = "auto",
    seed: Seed = 0,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Write an HTML report, and its plots as PNG files.

    ROC curves, score densities, metrics with intervals, and how each model compares with the first.
    """
    from tpauc.cli.report import report_run, report_scores
    from tpauc.cli.runs import region_of

    if check_existing(source, "the run or file").is_dir():
        if label is not None or score or positive is not None:
            raise UsageError("a run has its own labels and scores; leave out --label, --score and --positive")
        region = region_of(source, alpha, beta)
        judge = _judge(region.alpha, region.beta, confidence, resamples, seed, intervals)
        written = report_run(source, out, judge, overwrite=overwrite)
    else:
        if label is None or not score or alpha is None or beta is None:
            raise UsageError("a report on a file of scores needs --label, --score, --alpha and --beta")
        judge = _judge(alpha, beta, confidence, resamples, seed, intervals)
        written = report_scores(source, label, score, out, judge, positive=positive, overwrite=overwrite)
    _show(written, [f"The report is {written['report']}"], as_json=as_json)


# ------------------------------------------------------------------------------------------------------------ advise


@app.command(epilog=_examples("tpauc advise patients.csv --target ill --positive yes --alpha 0.1 --beta 0.2"))
def advise(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet or NPZ file, a row an example.")],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict, of two values.")],
    alpha: Alpha,
    beta: Beta,
    positive: Positive = None,
    model: Annotated[AdvisedModel, typer.Option(help="What to train.")] = "linear",
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="How often it is done, with new folds.")] = 2,
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Tell whether training for the region helps on a table.

    Models are trained on plain and on balanced cross-entropy and for the region, by repeated cross-validation, and
    compared on the rows held out. Copies of a row share a fold. Nothing is written.
    """
    from tpauc.cli.advise import AdviceSettings, advise_on_table
    from tpauc.cli.texts import advice_lines

    settings = AdviceSettings(target, positive, model, tuple(drop or ()), folds, repeats, seed)
    document = advise_on_table(data, Region(alpha, beta), settings, progress=progress)
    _show(document, advice_lines(document), as_json=as_json)


# -------------------------------------------------------------------------------------------------------------- demo


@app.command(epilog=_examples("tpauc demo --out demo"))
def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the report.")] = Path("tpauc-demo"),
    seeds: Annotated[int, typer.Option(min=2, help="Splits of the data into training and test rows.")] = 10,
    quick: Annotated[bool, typer.Option("--quick", help="Two splits and a short training: does it run?")] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Compare losses on handwritten digits, in a minute.

    They come with scikit-learn. One digit against the rest, a linear model, the same splits for all methods; the report
    shows the first split.
    """
    from tpauc.cli.demo import demo_lines, run_demo

    document = run_demo(out, n_seeds=2 if quick else seeds, quick=quick, overwrite=overwrite, progress=progress)
    _show(document, demo_lines(document), as_json=as_json)
