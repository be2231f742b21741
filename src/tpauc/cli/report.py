"""`tpauc report`: the HTML report on a file of scores, or on the test rows of a run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from tpauc._files import finish_together
from tpauc._validation import BoolArray, FloatArray
from tpauc.cli._text import show
from tpauc.cli.errors import UsageError, check_existing, check_output_path
from tpauc.cli.evaluate import evaluator_of
from tpauc.cli.labels import Labels, read_scores
from tpauc.cli.options import (
    AlphaOfRun,
    AsJson,
    BetaOfRun,
    Confidence,
    Debug,
    Intervals,
    Overwrite,
    Positive,
    Resamples,
    Seed,
)
from tpauc.cli.runs import CARD, REPORT, deployed_threshold, read_card, read_run_scores, run_region
from tpauc.cli.threshold import points_of_run
from tpauc.metrics.operating_points import OperatingPoint
from tpauc.region import Region

# Names of columns that say nothing about what is to be caught.
_NO_SUBJECT = ("class", "is_positive", "label", "labels", "outcome", "positive", "target")


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

    ROC curves, score densities, metrics with intervals, and how each model compares with the first. Readers can move
    the region and the threshold in the page. A run is shown at its own threshold. For a file of scores the threshold is
    picked on the rows it is judged by, and marked as such.
    """
    from tpauc.reporting import page
    from tpauc.reporting.wording import stakeholder_title

    if check_existing(source, "the run or file").is_dir():
        if label is not None or score or positive is not None:
            raise UsageError("a run has its own labels and scores; leave out --label, --score and --positive")
        region, default = run_region(source, alpha, beta), source / REPORT
    else:
        if label is None or not score or alpha is None or beta is None:
            raise UsageError("a report on a file of scores needs --label, --score, --alpha and --beta")
        region, default = Region(alpha, beta), source.with_name(f"{source.stem}-report.html")
    evaluator = evaluator_of(region.alpha, region.beta, confidence, resamples, seed, intervals)
    path = check_new_page(out or default, overwrite=overwrite)
    if label is None or not score:
        shown = _of_run(source, region, confidence)
    else:
        found = read_scores(source, label, score, positive=positive)
        shown = _Shown(label, found.labels.positive, found.scores)
    # A region that selects no example is an error before anything is drawn.
    evaluator.facts(Labels(shown.positive, 1, 0))
    written = page.report(
        shown.positive,
        shown.scores,
        alpha=region.alpha,
        beta=region.beta,
        out=path,
        title=stakeholder_title(list(shown.scores), region, _subject(shown.target)),
        operating_points=shown.points,
        groups=shown.groups,
        confidence=confidence,
        n_resamples=resamples,
        random_state=seed,
        intervals=intervals,
        overwrite=overwrite,
        command=_command(source, label, score, positive, region, confidence, resamples, intervals, seed),
    )
    show({"report": str(written)}, [f"The report is {written}"], as_json=as_json)


class _Shown(NamedTuple):
    """What a report is about; scores and operating points by the name of the model on the page."""

    target: str
    positive: BoolArray
    scores: dict[str, FloatArray]
    points: dict[str, OperatingPoint] | None = None
    groups: Any = None


def _of_run(run: Path, region: Region, confidence: float) -> _Shown:
    card = read_card(run)
    test = read_run_scores(run, card)
    if test is None:
        raise ValueError(f"{run / CARD} is damaged: it lists no test scores")
    deployed_threshold(card, run / CARD)
    # Names of columns are not for readers: one of them is "region".
    titles = {model["name"]: model.get("title", model["name"]) for model in card["models"]}
    points = points_of_run(card, test, region, confidence)
    return _Shown(
        str(card["target"]["column"]),
        test.positive,
        {titles[name]: scores for name, scores in test.scores.items()},
        {titles[name]: point for name, point in points.items()},
        test.groups,
    )


def _subject(column: str) -> str | None:
    """Return the name of a target if it says what is to be caught, as "fraud" does and "y" does not."""
    return None if len(column) < 3 or column.lower() in _NO_SUBJECT else column


def _command(
    source: Path,
    label: str | None,
    scores: list[str] | None,
    positive: str | None,
    region: Region,
    confidence: float,
    resamples: int,
    intervals: str,
    seed: int,
) -> str:
    """Return the command that makes this report, with what decides its numbers."""
    words = ["tpauc", "report", str(source)]
    words += [] if label is None else ["--label", label]
    words += [word for column in scores or () for word in ("--score", column)]
    words += [] if positive is None else ["--positive", str(positive)]
    numbers = {"alpha": region.alpha, "beta": region.beta, "confidence": confidence, "resamples": resamples}
    words += [word for name, value in numbers.items() for word in (f"--{name}", f"{value:.12g}")]
    return shlex.join([*words, "--intervals", intervals, "--seed", str(seed)])


def check_new_page(path: Path, *, overwrite: bool) -> Path:
    """Return the path of a report that can be written; neither it nor its plots exist, unless ``overwrite``."""
    from tpauc.reporting.page import check_page_path

    finish_together(path)
    check_output_path(path, overwrite=overwrite, suffixes=(".html", ".htm"))
    for plot in ("roc", "scores", "training"):
        check_output_path(path.with_name(f"{path.stem}-{plot}.png"), overwrite=overwrite, suffixes=(".png",))
    return check_page_path(path)
