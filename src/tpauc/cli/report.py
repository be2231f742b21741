"""`tpauc report`: the HTML report on a file of scores, or on the test rows of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tpauc._files import finish_together
from tpauc.cli._text import show
from tpauc.cli.errors import UsageError, check_existing, check_output_path
from tpauc.cli.evaluate import evaluator_of
from tpauc.cli.labels import read_scores
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
from tpauc.cli.runs import REPORT, TEST_SCORES, read_card, run_region
from tpauc.region import Region


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
    from tpauc.reporting import page

    if check_existing(source, "the run or file").is_dir():
        if label is not None or score or positive is not None:
            raise UsageError("a run has its own labels and scores; leave out --label, --score and --positive")
        region, card = run_region(source, alpha, beta), read_card(source)
        title = f"{card['settings']['method']} for {card['target']['column']}"
        label, score = "label", [model["name"] for model in card["models"]]
        scores_file, default = source / TEST_SCORES, source / REPORT
    else:
        if label is None or not score or alpha is None or beta is None:
            raise UsageError("a report on a file of scores needs --label, --score, --alpha and --beta")
        region, title = Region(alpha, beta), f"TPAUC of {source.name}"
        scores_file, default = source, source.with_name(f"{source.stem}-report.html")
    evaluator = evaluator_of(region.alpha, region.beta, confidence, resamples, seed, intervals)
    path = check_new_page(out or default, overwrite=overwrite)
    found = read_scores(scores_file, label, score, positive=positive)
    evaluator.facts(found.labels)  # a region that selects no example is an error before anything is drawn
    written = page.report(
        found.labels.positive,
        found.scores,
        alpha=region.alpha,
        beta=region.beta,
        out=path,
        title=title,
        confidence=confidence,
        n_resamples=resamples,
        random_state=seed,
        intervals=intervals,
    )
    show({"report": str(written)}, [f"The report is {written}"], as_json=as_json)


def check_new_page(path: Path, *, overwrite: bool) -> Path:
    """Return the path of a report that can be written; neither it nor its plots exist, unless ``overwrite``."""
    from tpauc.reporting.page import check_page_path

    finish_together(path)
    check_output_path(path, overwrite=overwrite, suffixes=(".html", ".htm"))
    for plot in ("roc", "scores", "training"):
        check_output_path(path.with_name(f"{path.stem}-{plot}.png"), overwrite=overwrite, suffixes=(".png",))
    return check_page_path(path)
