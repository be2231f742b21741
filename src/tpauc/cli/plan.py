"""`tpauc plan`: how many positives and negatives a study needs."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from tpauc.cli._text import percent, region_line, show
from tpauc.cli.errors import UsageError
from tpauc.cli.heartbeat import Heartbeat
from tpauc.cli.labels import read_scores
from tpauc.cli.options import Alpha, AsJson, Beta, Confidence, Debug, Positive, Seed, optional_open_share
from tpauc.metrics.intervals import HARD_EXAMPLES_NEEDED
from tpauc.metrics.study_planning import StudyPlan, plan_study

_COMPARED = "two models on the same rows"


def plan(
    alpha: Alpha,
    beta: Beta,
    tpauc: Annotated[
        float | None,
        typer.Option(
            callback=optional_open_share,
            metavar="GUESS",
            help="Expected TPAUC, of the worse of two models; not needed with --pilot.",
        ),
    ] = None,
    half_width: Annotated[
        float | None, typer.Option(metavar="WIDTH", help="Plan for an interval of TPAUC of plus or minus this.")
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(
            callback=optional_open_share,
            metavar="TPAUC",
            help=f"Plan to show that {_COMPARED} differ in TPAUC by this.",
        ),
    ] = None,
    power: Annotated[
        float | None,
        typer.Option(
            callback=optional_open_share, metavar="SHARE", help="Chance to show the difference; 0.8 by default."
        ),
    ] = None,
    ratio: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Negatives per positive; as in the pilot, or 10.")
    ] = None,
    spread: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Spread of the positives' scores over the negatives'; 1 if not known."),
    ] = None,
    correlation: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Of the scores of two models in a class; 0.5 if not known.")
    ] = None,
    pilot: Annotated[
        Path | None, typer.Option(metavar="SCORES", help="CSV, TSV, Parquet or NPZ file of a small study.")
    ] = None,
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the labels in the pilot.")] = None,
    score: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column of scores in the pilot; two for a difference.")
    ] = None,
    positive: Positive = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Print how many positives and negatives to collect.

    Either for an interval of TPAUC of a given width, or to tell two models apart. What is expected comes from a guess
    (--tpauc, with normal scores) or from the scores of a pilot.
    """
    comparing = _check_aim(half_width, difference, power)
    arguments: dict[str, Any] = {"half_width": half_width, "difference": difference, "power": power, "ratio": ratio}
    if pilot is None:
        if tpauc is None:
            raise UsageError("plan needs --tpauc, a guess, or --pilot, a file that shows it")
        if label is not None or score or positive is not None:
            raise UsageError("--label, --score and --positive are for the file of --pilot, which is missing")
        arguments |= {"tpauc": tpauc, "spread": spread, "correlation": correlation}
    else:
        if tpauc is not None or spread is not None or correlation is not None:
            raise UsageError("a pilot shows what to expect; leave out --tpauc, --spread and --correlation")
        arguments["pilot"] = _read_pilot(pilot, label, score or [], positive, comparing)
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        with Heartbeat("planning on simulated studies", 1, as_json=as_json):
            found = plan_study(alpha, beta, confidence=confidence, random_state=seed, **given)
    except ValueError as error:
        if str(error).startswith("pilot") or "selects none" in str(error):
            raise  # the file must change, not what was typed
        raise UsageError(_as_options(str(error))) from error
    document = {"pilot": None if pilot is None else str(pilot)} | asdict(found)
    show(document, plan_lines(found, from_pilot=pilot is not None), as_json=as_json)


def plan_lines(plan: StudyPlan, *, from_pilot: bool = False) -> list[str]:
    """Return the plan for people who will collect the rows.

    Examples
    --------
    >>> lines = plan_lines(StudyPlan(210, 2100, 0.6, 0.1, None, None, 0.3, 0.3, 0.95, 17, 17))
    >>> print(lines[1])
    Collect about 210 positives and 2,100 negatives.
    """
    source = "as in the pilot" if from_pilot else "if the guess is right"
    level = percent(plan.confidence)
    if plan.half_width is not None:
        aim = f"A TPAUC of {plan.tpauc:.3g} then has a {level} interval of about ± {plan.half_width:g}, {source}."
    else:
        chance = percent(plan.power or 0.0)
        aim = (
            f"With {chance} chance they show, at {level} confidence, that of {_COMPARED} one is better by "
            f"{plan.difference:g} than the other, whose TPAUC is {plan.tpauc:.3g}, {source}."
        )
    lines = [
        region_line({"alpha": plan.alpha, "beta": plan.beta}),
        f"Collect about {plan.n_positive:,} positives and {plan.n_negative:,} negatives.",
        aim,
        f"Below {plan.fewest_positives:,} positives or {plan.fewest_negatives:,} negatives the interval is not honest, "
        f"because the region then selects fewer than {HARD_EXAMPLES_NEEDED} of a class, and so few do not show how far "
        "others may lie from them.",
    ]
    if plan.n_positive == plan.fewest_positives or plan.n_negative == plan.fewest_negatives:
        lines.append("Fewer rows would do for that aim; the plan has so many for the sake of an honest interval.")
    return lines


def _check_aim(half_width: float | None, difference: float | None, power: float | None) -> bool:
    """Return whether two models are to be compared."""
    if (half_width is None) == (difference is None):
        both = "both" if half_width is not None else "neither"
        raise UsageError(f"plan needs either --half-width or --difference, got {both}")
    if power is not None and difference is None:
        raise UsageError("--power is the chance to show a --difference, which is missing")
    return difference is not None


def _read_pilot(path: Path, label: str | None, scores: list[str], positive: str | None, comparing: bool) -> list[Any]:
    """Return the labels and the scores of one model, or of two that are compared."""
    wanted = 2 if comparing else 1
    if label is None or len(scores) != wanted:
        aim = "--difference needs --label and --score twice" if comparing else "--half-width needs --label and --score"
        raise UsageError(f"a pilot for {aim}, got {len(scores)} score columns")
    found = read_scores(path, label, scores, positive=positive)
    return [found.labels.positive, *found.scores.values()]


def _as_options(message: str) -> str:
    """Return a message of the library with the names of options."""
    message = re.sub(r"^(ratio|spread|correlation)\b", r"--\1", message)
    return message.replace("half_width", "--half-width").replace("tpauc + difference", "--tpauc + --difference")
