"""What commands print: a JSON document, or text made of the same values, with aligned tables and intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import typer

from tpauc.metrics.intervals import caution_of

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


def models_table(models: Sequence[Document], confidence: float) -> str:
    """Return the table of metrics with their intervals and the operating points."""
    level = f"[{percent(confidence)} interval]"
    rows = [["model", f"TPAUC {level}", f"OPAUC {level}", f"AUC {level}", "threshold", "TPR", "FPR", "in region"]]
    for model in models:
        point = model["operating_point"]
        rows.append(
            [
                model["name"],
                *(with_interval(model[metric]) for metric in ("tpauc", "opauc", "auc")),
                "none" if point["threshold"] is None else f"{point['threshold']:.6g}",
                f"{point['tpr']:.4f}",
                f"{point['fpr']:.4f}",
                "yes" if point["feasible"] else "no",
            ]
        )
    metrics = ("tpauc", "opauc", "auc")
    large = [metric for metric in metrics if any(model[metric]["interval"] == "delong" for model in models)]
    notes = [f"Large-sample (DeLong) intervals for {', '.join(large).upper()}; see --intervals."] if large else []
    # Groups count as one example each, so the numbers are those of the interval, not those of the rows.
    hard = {
        model["name"]: [model["tpauc"].get(f"hard_{side}s", 0) for side in ("positive", "negative")] for model in models
    }
    notes += [f"{name}: {caution}." for name, numbers in hard.items() if (caution := caution_of(*numbers))]
    return "\n".join([aligned(rows), *notes])


def difference_line(first: str, second: str, difference: Document, confidence: float) -> str:
    """Return the difference of two models with its interval and p-value, and which model is better."""
    low, high = difference["low"], difference["high"]
    verdict = f"{first} is better" if low > 0 else f"{second} is better" if high < 0 else "not told apart"
    method = "large-sample (DeLong)" if difference["interval"] == "delong" else difference["interval"]
    level = f"{percent(confidence)} {method} interval"
    return (
        f"TPAUC of {first} minus {second}: {difference['difference']:+.4f} [{level} {low:+.4f} to {high:+.4f}], "
        f"p = {difference['p_value']:.3g}: {verdict}"
    )


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
