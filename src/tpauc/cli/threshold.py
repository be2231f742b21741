"""`tpauc threshold`: the one threshold that a run deploys, how it was picked, and its rates on the test rows.

`tpauc score` raises an alarm where a score is at least this threshold. It is picked on one of two sets of rows, neither
of which the scores were trained on:

* out of fold: training rows, each scored by a fold that did not see it. The test rows have no part in the choice, so
  the rates on them are those to expect. This is what `tpauc fit` does.
* the test rows, for a guarantee. A promise about new rows holds only for scores of the very model that is deployed, and
  out-of-fold scores come from other models. The rates on the test rows are then marked as picked on them.
"""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from tpauc.cli._text import Document, show, threshold_lines
from tpauc.cli.errors import UsageError
from tpauc.cli.options import AlphaOfRun, AsJson, BetaOfRun, Debug, optional_open_share
from tpauc.cli.runs import (
    CARD,
    OUT_OF_FOLD,
    REPORT,
    RunScores,
    check_card_fields,
    read_card,
    read_run_scores,
    replace_card,
    run_region,
)
from tpauc.metrics.operating_points import OperatingPoint, evaluate_threshold, operating_point
from tpauc.metrics.thresholds import ThresholdRule
from tpauc.region import Region

BY_FOLDS, BY_TEST_ROWS = "out of fold", "test rows"
_RATES = ("tpr", "fpr", "precision", "npv", "alarm_rate")
_COUNTS = ("true_positives", "false_positives", "true_negatives", "false_negatives")


def threshold(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that fit made.")],
    rule: Annotated[
        Literal["max_tpr", "min_fpr", "cost", "capacity"] | None,
        typer.Option(
            help="max_tpr: most positives caught with false alarms on at most beta of the negatives; min_fpr: fewest "
            "false alarms with at least 1 - alpha of the positives caught; cost: lowest cost; capacity: most "
            "positives caught with so many alarms."
        ),
    ] = None,
    value: Annotated[float | None, typer.Option(metavar="SCORE", help="A threshold, instead of a rule.")] = None,
    guarantee: Annotated[
        float | None,
        typer.Option(
            callback=optional_open_share,
            metavar="SHARE",
            help="With max_tpr or min_fpr: the probability, such as 0.95, that new rows keep to beta or to 1 - alpha. "
            "The test rows then pick the threshold; a run with groups promises it for whole groups, which is strict.",
        ),
    ] = None,
    miss_cost: Annotated[float | None, typer.Option(metavar="COST", help="Of a missed positive.")] = None,
    alarm_cost: Annotated[float | None, typer.Option(metavar="COST", help="Of a false alarm.")] = None,
    capacity: Annotated[
        tuple[float, float] | None, typer.Option(metavar="ALARMS ROWS", help="At most so many alarms per so many rows.")
    ] = None,
    prevalence: Annotated[
        float | None,
        typer.Option(
            callback=optional_open_share,
            metavar="SHARE",
            help="Share of positives where the threshold will be used; by default that of the table.",
        ),
    ] = None,
    alpha: AlphaOfRun = None,
    beta: BetaOfRun = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Show the threshold of a run, or change it.

    Without --rule and --value it is shown. A rule picks the threshold on the out-of-fold scores of the training rows,
    and the test rows judge it. A guarantee needs rows that the model itself was not trained on, so the test rows pick
    the threshold, and their rates are marked as such: of the two, only the promised one is sure to hold on new rows.
    The model is not trained again, and its scores stay as they are; "tpauc score" alarms at the new threshold.
    """
    options = {
        "guarantee": guarantee,
        "miss_cost": miss_cost,
        "alarm_cost": alarm_cost,
        "capacity": capacity,
        "prevalence": prevalence,
        "alpha": alpha,
        "beta": beta,
    }
    card = read_card(run)
    _check_options(rule, value, options)
    if rule is not None or value is not None:
        region = run_region(run, alpha, beta)
        checked = None if rule is None else _checked_rule(rule, guarantee, miss_cost, alarm_cost, capacity)
        card |= {"threshold": _changed(run, card, region, checked, value, prevalence)}
        replace_card(run, card)
    document = {"run": str(run), "threshold": card["threshold"]}
    lines = threshold_lines(card["threshold"])
    if (rule is not None or value is not None) and (run / REPORT).exists():
        lines.append(f"{run / REPORT} still shows the former threshold: tpauc report {run} --overwrite")
    show(document, lines, as_json=as_json)


def _check_options(rule: str | None, value: float | None, options: Document) -> None:
    if rule is not None and value is not None:
        raise UsageError("--rule and --value exclude each other; give one of them")
    if value is not None and not math.isfinite(value):
        raise UsageError(f"--value must be a finite number, got {value}")
    given = [name for name, found in options.items() if found is not None]
    if rule is None and given and not (value is not None and set(given) <= {"alpha", "beta", "prevalence"}):
        raise UsageError(f"--{given[0].replace('_', '-')} needs a --rule")


def _checked_rule(
    name: str,
    guarantee: float | None,
    miss_cost: float | None,
    alarm_cost: float | None,
    capacity: tuple[float, float] | None,
) -> ThresholdRule:
    try:
        return ThresholdRule(name, guarantee, miss_cost, alarm_cost, capacity)
    except ValueError as error:
        # The library's names as options; in quotes they are the names of rules.
        text = re.sub(r"(?<!')\b(miss_cost|alarm_cost|capacity|guarantee)\b", _as_option, str(error))
        raise UsageError(text.replace("rule='", "--rule '")) from error


def _as_option(found: re.Match[str]) -> str:
    return f"--{found[0].replace('_', '-')}"


def _changed(
    run: Path,
    card: Document,
    region: Region,
    rule: ThresholdRule | None,
    value: float | None,
    prevalence: float | None,
) -> Document:
    """Return the new threshold of a run, as its card holds it."""
    test = read_run_scores(run, card)
    if test is None:
        raise ValueError(f"{run / CARD} is damaged: it lists no test scores")
    confidence, shown_at = float(card["settings"]["confidence"]), prevalence
    if rule is None:
        assert value is not None
        return judged(test, value, region, confidence, prevalence=shown_at)
    # A promise holds for the scores of one model, and out-of-fold scores come from several.
    out_of_fold = None if rule.guarantee is not None else read_run_scores(run, card, OUT_OF_FOLD)
    if out_of_fold is not None and prevalence is None:
        prevalence = _share_of_positives(card, run / CARD)
    picked = picked_threshold(out_of_fold or test, rule, region, prevalence)
    on = BY_TEST_ROWS if out_of_fold is None else BY_FOLDS
    size = (out_of_fold or test).positive.size
    return judged(test, picked, region, confidence, rule=rule, picked_on=on, n_rows=size, prevalence=shown_at)


def _share_of_positives(card: Document, where: object) -> float:
    """Return the share of positives in the training rows; the folds of large data see a sample with another one."""
    check_card_fields(card, {"data": dict}, where)
    check_card_fields(card["data"], {"training": dict}, where)
    check_card_fields(card["data"]["training"], {"positives": int, "negatives": int}, where)
    n_positive, n_negative = (card["data"]["training"][side] for side in ("positives", "negatives"))
    return float(n_positive / (n_positive + n_negative))


def picked_threshold(rows: RunScores, rule: ThresholdRule, region: Region, prevalence: float | None = None) -> float:
    """Return the threshold that a rule picks for the first model; just above all scores if no row may alarm."""
    scores = first_scores(rows)
    point = operating_point(
        rows.positive,
        scores,
        alpha=region.alpha,
        beta=region.beta,
        rule=rule.name,
        guarantee=rule.guarantee,
        miss_cost=rule.miss_cost,
        alarm_cost=rule.alarm_cost,
        capacity=rule.capacity,
        prevalence=None if rule.guarantee is not None else prevalence,
        groups=rows.groups,
    )
    return point.threshold if math.isfinite(point.threshold) else float(np.nextafter(scores.max(), np.inf))


def first_scores(rows: RunScores) -> Any:
    """Return the scores of the deployed model, which is the first."""
    return next(iter(rows.scores.values()))


def judged(
    test: RunScores,
    value: float,
    region: Region,
    confidence: float,
    *,
    rule: ThresholdRule | None = None,
    picked_on: str | None = None,
    n_rows: int | None = None,
    prevalence: float | None = None,
) -> Document:
    """Return a threshold with its rates on the test rows, as the card of a run holds it.

    Parameters
    ----------
    test : RunScores
        The test rows.
    value : float
        The threshold.
    region : Region
    confidence : float
        Of the intervals.
    rule : ThresholdRule, optional
        What picked the threshold; it was given if there is none.
    picked_on : {"out of fold", "test rows"}, optional
        The rows that picked it.
    n_rows : int, optional
        Their number.
    prevalence : float, optional
        The share of positives to state precision, NPV and alarm rate for.
    """
    point = evaluate_threshold(
        test.positive,
        first_scores(test),
        value,
        alpha=region.alpha,
        beta=region.beta,
        prevalence=prevalence,
        confidence=confidence,
        groups=test.groups,
    )
    settings = {} if rule is None else dataclasses.asdict(rule)
    return {
        "value": value,
        "rule": settings.pop("name", None),
        **settings,
        "alpha": region.alpha,
        "beta": region.beta,
        "picked_on": picked_on,
        "n_rows": n_rows,
        "picked_here": picked_on == BY_TEST_ROWS,
        "test": _rates_document(point),
    }


def _rates_document(point: OperatingPoint) -> Document:
    """Return the rates with their intervals; a rate that does not exist, such as 0 of 0, is None in JSON."""
    rates = {
        name: {end: _number(getattr(point.intervals[name], end)) for end in ("estimate", "low", "high")}
        for name in _RATES
    }
    counts = {name: int(getattr(point, name)) for name in _COUNTS}
    rest = ("feasible", "tpr_shortfall", "fpr_excess", "confidence", "prevalence")
    settings = {name: getattr(point, name) for name in rest}
    return rates | counts | settings | {"interval": point.intervals["tpr"].method}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def points_of_run(card: Document, test: RunScores, region: Region, confidence: float) -> dict[str, OperatingPoint]:
    """Return the thresholds of the models of a run with their rates on the test rows, by the name of the model.

    The first is the deployed one, the others are those of models it is compared with, where their training picked one.
    """
    deployed, (first, *_) = card["threshold"], test.scores
    own = {model["name"]: model.get("threshold") for model in card["models"]} | {first: deployed["value"]}
    points = {
        name: evaluate_threshold(
            test.positive,
            test.scores[name],
            value,
            alpha=region.alpha,
            beta=region.beta,
            confidence=confidence,
            groups=test.groups,
        )
        for name, value in own.items()
        if value is not None
    }
    picked_for = (deployed["alpha"], deployed["beta"]) == (region.alpha, region.beta)
    points[first] = dataclasses.replace(
        points[first],
        rule=deployed["rule"],
        guarantee=deployed.get("guarantee") if picked_for else None,
        picked_here=bool(deployed["picked_here"]),
    )
    return points
