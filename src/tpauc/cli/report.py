"""`tpauc report`: the HTML report on a file of scores, or on the test rows of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tpauc.cli._checks import check_output_path
from tpauc.cli.judging import Document, Judge
from tpauc.cli.runs import REPORT, TEST_SCORES, read_card
from tpauc.cli.score_files import ScoreFile, read_scores
from tpauc.reporting import report
from tpauc.reporting.page import check_page_path


def report_run(run: Path, out: Path | None, judge: Judge, *, overwrite: bool) -> Document:
    """Write the report on the test rows of a run, by default into its folder."""
    card = read_card(run)
    path = free_page(out or run / REPORT, overwrite=overwrite)
    names = [model["name"] for model in card["models"]]
    found = read_scores(run / TEST_SCORES, "label", names)
    return _write(found, path, judge, f"{card['settings']['method']} for {card['target']['column']}")


def report_scores(
    scores_file: Path,
    label: str,
    scores: Sequence[str],
    out: Path | None,
    judge: Judge,
    *,
    positive: str | None,
    overwrite: bool,
) -> Document:
    """Write the report on a file of scores, by default beside it."""
    path = free_page(out or scores_file.with_name(f"{scores_file.stem}-report.html"), overwrite=overwrite)
    found = read_scores(scores_file, label, scores, positive=positive)
    return _write(found, path, judge, f"TPAUC of {scores_file.name}")


def free_page(path: Path, *, overwrite: bool) -> Path:
    """Return the path of a report that can be written; neither it nor a plot of it is there, unless ``overwrite``."""
    check_output_path(path, overwrite=overwrite, suffixes=(".html", ".htm"))
    for plot in ("roc", "scores", "training"):
        check_output_path(path.with_name(f"{path.stem}-{plot}.png"), overwrite=overwrite, suffixes=(".png",))
    return check_page_path(path)


def _write(found: ScoreFile, path: Path, judge: Judge, title: str) -> Document:
    judge.facts(found.labels)  # a region that selects nobody is an error before anything is drawn
    page = report(
        found.labels.positive,
        found.scores,
        alpha=judge.region.alpha,
        beta=judge.region.beta,
        out=path,
        title=title,
        confidence=judge.maker.confidence,
        n_resamples=judge.maker.n_resamples,
        random_state=judge.maker.random_state,
        intervals=judge.maker.kind,
    )
    return {"report": str(page)}
