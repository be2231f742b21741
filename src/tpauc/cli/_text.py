"""What commands print: a JSON document, or text made of the same values, with aligned tables and intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import typer

Document = dict[str, Any]

_FEW = 5  # examples of a class in the region; with fewer, intervals cover too little (`tpauc.tpauc_interval`)


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
    few = min(facts["hard_positives"], facts["hard_negatives"]) < _FEW
    return (
        f"{facts['rows']:,} rows, {facts['positives']:,} positive ({share}); the region selects the "
        f"{facts['hard_positives']:,} lowest positives and the {facts['hard_negatives']:,} highest negatives."
        + (f" With fewer than {_FEW} of either, intervals are too narrow." if few else "")
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
    return "\n".join([aligned(rows), *notes, *intervals_lines([model[area] for model in models] for area in areas)])


def picked_here_note() -> str:
    """Return the mark of rates on the rows that the threshold was picked on."""
    return "The threshold was picked on the rows it is judged by: on new rows these rates are worse on average."


def intervals_lines(by_area: Iterable[Sequence[Document]]) -> list[str]:
    """Return how the intervals of TPAUC, OPAUC and AUC were made."""
    made: dict[str, list[str]] = {"bootstrap": [], "delong": []}
    for area, intervals in zip(AREAS, by_area, strict=False):
        for method in {interval["interval"] for interval in intervals}:
            made[method].append(area.upper())
    lines = [f"Bootstrap intervals for {', '.join(made['bootstrap'])}."] if made["bootstrap"] else []
    large = f"Large-sample (DeLong) intervals for {', '.join(made['delong'])}; see --intervals."
    return lines + ([large] if made["delong"] else [])


def groups_lines(document: Document) -> list[str]:
    """Return a warning if intervals by group rest on too few groups."""
    if document["groups"] is None or not any(_few(model["tpauc"]) for model in document["models"]):
        return []
    return [f"Fewer than {_FEW} groups ({document['groups']}) of a class decide: intervals are too narrow."]


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
        lines.append(f"Fewer than {_FEW} hard examples of a class in {', '.join(few)}: intervals are too narrow there.")
    return [*lines, gap_line(found["largest_gap"], 1.0 - confidence)]


def _few(interval: Document) -> bool:
    return bool(min(interval["hard_positives"], interval["hard_negatives"]) < _FEW)


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
