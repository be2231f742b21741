"""What commands print: a JSON document, or text made of the same values, with aligned tables and intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import typer

from tpauc.metrics.intervals import HARD_EXAMPLES_NEEDED, caution_of

Document = dict[str, Any]


def show(document: object, lines: Sequence[str], *, as_json: bool) -> None:
    """Print the document as JSON, or the lines."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) if as_json else "\n".join(lines))


def aligned(rows: Sequence[Sequence[str]], *, n_left: int = 1) -> str:
    """Return rows as columns of text: the first ``n_left`` columns are aligned to the left, the others to the right.

    Examples
    --------
    >>> print(aligned([["model", "TPAUC"], ["a", "0.5"]]))
    model  TPAUC
    a        0.5
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if number < n_left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def region_line(document: Document) -> str:
    """Return what the region asks for."""
    caught, alarms = percent(1.0 - document["alpha"]), percent(document["beta"])
    return (
        f"Region alpha={document['alpha']:g}, beta={document['beta']:g}: catch at least {caught} of the positives "
        f"with false alarms on at most {alarms} of the negatives."
    )


def facts_line(facts: Document) -> str:
    """Return how many rows there are, and how many of them the region selects."""
    share = percent(facts["positives"] / facts["rows"])
    return (
        f"{facts['rows']:,} rows, {facts['positives']:,} positive ({share}); the region selects the "
        f"{facts['hard_positives']:,} lowest positives and the {facts['hard_negatives']:,} highest negatives."
    )


AREAS = ("tpauc", "opauc", "auc")


def models_table(models: Sequence[Document], confidence: float) -> str:
    """Return the table of metrics with their intervals, and of operating points if the models have some.

    Below it stands what a reader should know: which thresholds were picked on these rows, and how intervals were made.
    """
    areas = [area for area in AREAS if area in models[0]]
    level = f"[{percent(confidence)} interval]"
    rows = [["model", *(f"{area.upper()} {level}" for area in areas)]]
    points = [model.get("operating_point") for model in models]
    if all(points):
        rows[0] += ["threshold", "TPR", "FPR", "in region"]
    for model in models:
        rows.append([str(model.get("title", model["name"])), *(with_interval(model[area]) for area in areas)])
        if all(points):
            point = model["operating_point"]
            mark = "*" if point.get("picked_here") else ""
            rows[-1] += [
                "none" if point["threshold"] is None else f"{point['threshold']:.6g}{mark}",
                f"{point['tpr']:.4f}",
                f"{point['fpr']:.4f}",
                "yes" if point["feasible"] else "no",
            ]
    notes = [f"* {picked_here_note()}"] if any(point and point.get("picked_here") for point in points) else []
    notes += intervals_lines([model[area] for model in models] for area in areas)
    # Groups count as one example each, so the numbers are those of the interval, not those of the rows.
    hard = dict.fromkeys((model["tpauc"]["hard_positives"], model["tpauc"]["hard_negatives"]) for model in models)
    notes += [f"Caution: {caution}." for numbers in hard if (caution := caution_of(*numbers))]
    return "\n".join([aligned(rows), *notes])


def intervals_lines(by_area: Iterable[Sequence[Document]]) -> list[str]:
    """Return how the intervals of TPAUC, OPAUC and AUC were made."""
    made: dict[str, list[str]] = {"bootstrap": [], "delong": []}
    for area, intervals in zip(AREAS, by_area, strict=False):
        for method in {interval["interval"] for interval in intervals}:
            made[method].append(area.upper())
    lines = [f"Bootstrap intervals for {', '.join(made['bootstrap'])}."] if made["bootstrap"] else []
    large = f"Large-sample (DeLong) intervals for {', '.join(made['delong'])}; see --intervals."
    return lines + ([large] if made["delong"] else [])


def subgroups_lines(column: str, found: Document, confidence: float) -> list[str]:
    """Return the figures of each subgroup of a column, the smallest first, and the largest gap between two."""
    subgroups = found["subgroups"]
    areas = [area for area in AREAS if any(part[area] is not None for part in subgroups)]
    level = f"[{percent(confidence)} interval]"
    rows = [[column, "rows", "positives", *(f"{name.upper()} {level}" for name in (*areas, "tpr", "fpr"))]]
    for part in subgroups:
        figures = ["-" if part[name] is None else with_interval(part[name]) for name in (*areas, "tpr", "fpr")]
        rows.append([str(part["name"]), f"{part['rows']:,}", f"{part['positives']:,}", *figures])
    threshold = "no threshold" if found["threshold"] is None else f"threshold {found['threshold']:.6g}"
    mark = "*" if found["picked_here"] else ""
    lines = [f"By {column}, the smallest first; TPR and FPR at the {threshold}{mark} of all rows:", aligned(rows)]
    lines += [f"{part['name']}: no TPAUC, {part['reason']}" for part in subgroups if part["reason"]]
    few = [str(part["name"]) for part in subgroups if part["tpauc"] and _few(part["tpauc"])]
    if few:
        found_in = ", ".join(few)
        lines.append(f"Fewer than {HARD_EXAMPLES_NEEDED} hard examples of a class in {found_in}: too narrow intervals.")
    return [*lines, gap_line(found["largest_gap"], 1.0 - confidence)]


def _few(interval: Document) -> bool:
    return bool(min(interval["hard_positives"], interval["hard_negatives"]) < HARD_EXAMPLES_NEEDED)


def gap_line(gap: Document | None, level: float) -> str:
    """Return the largest gap in TPAUC between two subgroups, and whether it is significant."""
    if gap is None:
        return "No gap: fewer than two subgroups have a TPAUC."
    p_value = f"{p_value_text(gap['p_value'])}, corrected for {gap['pairs']} pair{'s' if gap['pairs'] > 1 else ''}"
    verdict = "significant" if gap["p_value"] <= level else "no significant difference"
    return (
        f"Largest gap in TPAUC: {gap['worse']} is {gap['difference']:.4f} below {gap['better']}: {verdict} ({p_value})."
    )


def difference_line(first: str, second: str, difference: Document, confidence: float) -> str:
    """Return the difference of two models with its interval and p-value, and which model is better."""
    low, high = difference["low"], difference["high"]
    verdict = f"{first} is better" if low > 0 else f"{second} is better" if high < 0 else "no significant difference"
    method = "large-sample (DeLong)" if difference["interval"] == "delong" else difference["interval"]
    level = f"{percent(confidence)} {method} interval"
    return (
        f"TPAUC of {first} minus {second}: {difference['difference']:+.4f} [{level} {low:+.4f} to {high:+.4f}]: "
        f"{verdict} ({p_value_text(difference['p_value'])})"
    )


# --------------------------------------------------------------------------------------------------------- thresholds

_RULES = {
    "max_tpr": "to catch most positives with false alarms on at most {beta} of the negatives",
    "min_fpr": "to raise the fewest false alarms with at least {caught} of the positives caught",
    "cost": "for the lowest cost, {miss_cost:g} for a missed positive and {alarm_cost:g} for a false alarm",
    "capacity": "to catch most positives with at most {capacity[0]:g} alarms per {capacity[1]:g} rows",
}


def picked_here_note(guarantee: float | None = None, rule: str | None = None) -> str:
    """Return the mark of rates on the rows that the threshold was picked on.

    Examples
    --------
    >>> picked_here_note()
    'The threshold was picked on the rows it is judged by: on new rows these rates are worse on average.'
    """
    if guarantee is None:
        return "The threshold was picked on the rows it is judged by: on new rows these rates are worse on average."
    kept, other = ("FPR", "TPR") if rule == "max_tpr" else ("TPR", "FPR")
    return (
        f"The threshold was picked on the rows it is judged by. With probability {percent(guarantee)} the {kept} on "
        f"new rows keeps to the region; the {other} here is not flattered by the choice."
    )


def threshold_lines(threshold: Document) -> list[str]:
    """Return the threshold of a run, how it was picked, and its rates on the test rows."""
    rates = threshold["test"]
    at = "" if rates["prevalence"] is None else f", if {percent(rates['prevalence'])} of the rows are positive"
    n_positive = rates["true_positives"] + rates["false_negatives"]
    n_negative = rates["false_positives"] + rates["true_negatives"]
    wanted, allowed = percent(1.0 - threshold["alpha"]), percent(threshold["beta"])
    caught = f"{rates['true_positives']:,} of {n_positive:,} positives caught; {wanted} wanted"
    alarmed = f"{rates['false_positives']:,} of {n_negative:,} negatives raise a false alarm; {allowed} allowed"
    alarms = rates["alarm_rate"]["estimate"]
    rows = [
        ["  TPR", _rate(rates["tpr"]), caught],
        ["  FPR", _rate(rates["fpr"]), alarmed],
        ["  precision", _rate(rates["precision"]), f"of the alarms are positives{at}"],
        ["  alarm rate", _rate(rates["alarm_rate"]), f"{1000.0 * alarms:.4g} alarms per 1,000 rows{at}"],
    ]
    lines = [
        f"Threshold: a score of at least {threshold['value']:.6g} raises an alarm. {_origin(threshold)}",
        f"On the {n_positive + n_negative:,} test rows, with {percent(rates['confidence'])} intervals "
        f"({rates['interval'].replace('clopper-pearson', 'Clopper-Pearson')}):",
        aligned(rows, n_left=3),
        _verdict(rates),
    ]
    return [*lines, picked_here_note(threshold["guarantee"], threshold["rule"])] if threshold["picked_here"] else lines


def _rate(rate: Document) -> str:
    if rate["estimate"] is None:
        return "none"
    return (
        f"{percent(round(rate['estimate'], 4))} [{percent(round(rate['low'], 4))}, {percent(round(rate['high'], 4))}]"
    )


def _origin(threshold: Document) -> str:
    if threshold["rule"] is None:
        return "It was given."
    values = {"beta": percent(threshold["beta"]), "caught": percent(1.0 - threshold["alpha"])}
    purpose = _RULES[threshold["rule"]].format(**(threshold | values))
    if threshold["guarantee"] is not None:
        purpose += f", on new rows with probability {percent(threshold['guarantee'])}"
    n_rows = f"{threshold['n_rows']:,}"
    where = "the test rows" if threshold["picked_here"] else f"out-of-fold scores of {n_rows} training rows"
    return f"It was picked {purpose}, on {where}."


def _verdict(rates: Document) -> str:
    if rates["feasible"]:
        return "On these rows it lies in the region."
    missed = [
        f"the {name} is too {side} by {100.0 * amount:.2f} percentage points"
        for name, side, amount in (("TPR", "low", rates["tpr_shortfall"]), ("FPR", "high", rates["fpr_excess"]))
        if amount
    ]
    return f"On these rows it does not lie in the region: {' and '.join(missed)}."


# ------------------------------------------------------------------------------------------------------------ numbers


def p_value_text(p_value: float) -> str:
    """Return a p-value with three digits.

    >>> p_value_text(0.0561), p_value_text(0.0)
    ('p = 0.0561', 'p < 1e-300')
    """
    return f"p = {p_value:.3g}" if p_value > 0.0 else "p < 1e-300"


def with_interval(interval: Document) -> str:
    """Return an estimate with the ends of its interval."""
    return f"{interval['estimate']:.4f} [{interval['low']:.4f}, {interval['high']:.4f}]"


def percent(share: float) -> str:
    """Return a share with two decimals, and with more decimals if it is very near to 0 or 1.

    >>> percent(0.3), percent(0.12345), percent(1e-6), percent(1 - 1e-5), percent(1.0)
    ('30 %', '12.35 %', '0.0001 %', '99.999 %', '100 %')
    """
    percentage = 100.0 * share
    rest = min(percentage, 100.0 - percentage)
    decimals = max(2, 1 - math.floor(math.log10(rest))) if rest > 0.0 else 2
    return f"{round(percentage, decimals):.15g} %"
