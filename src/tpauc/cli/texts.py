"""Documents as text for people: aligned tables, numbers with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tpauc.cli.judging import Document

_FEW = 5  # examples of a class in the region; with fewer, intervals cover too little (`tpauc.tpauc_interval`)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as columns of text, the first one to the left and the others to the right.

    Examples
    --------
    >>> print(aligned([["model", "TPAUC"], ["a", "0.5"]]))
    model  TPAUC
    a        0.5
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


# ------------------------------------------------------------------------------------------------- whole commands


def fit_lines(card: Document) -> list[str]:
    """Return what `tpauc fit` prints at its end."""
    lines = ["", "On the test rows:", models_table(card["models"], card["settings"]["confidence"])]
    if card["difference"] is not None:
        first, second = (model["name"] for model in card["models"])
        lines += ["", difference_line(first, second, card["difference"], card["settings"]["confidence"])]
    return [*lines, "", f"The run is {card['run']}"]


def evaluation_lines(document: Document) -> list[str]:
    """Return what `tpauc evaluate` prints."""
    table = models_table(document["models"], document["confidence"])
    return [region_line(document), facts_line(document["data"]), "", table]


def comparison_lines(document: Document) -> list[str]:
    """Return what `tpauc compare` prints."""
    first, second = document["models"]
    line = difference_line(first, second, document["difference"], document["confidence"])
    return [region_line(document), facts_line(document["data"]), "", line]


def advice_lines(document: Document) -> list[str]:
    """Return what `tpauc advise` prints."""
    rows = [["trained", "TPAUC [95 % interval]", "region minus it [95 % interval]", "p"]]
    for name in ("plain", "balanced"):
        over = document[f"over_{name}"]
        change = f"{over['difference']:+.4f} [{over['low']:+.4f}, {over['high']:+.4f}]"
        rows.append([f"{name} cross-entropy", _with_interval(document[name]), change, f"{over['p_value']:.3g}"])
    rows.append(["for the region", _with_interval(document["region"]), "", ""])
    folds = f"{document['n_folds']} folds, {document['n_repeats']} times; intervals allow for rows that folds share."
    return [
        region_line(document),
        f"Cross-validation of {document['model']} models in {folds}",
        "",
        aligned(rows),
        "",
        document["verdict"],
    ]


# ---------------------------------------------------------------------------------------------------------- one part


def region_line(document: Document) -> str:
    """Say what the region asks for."""
    caught, alarms = _percent(1.0 - document["alpha"]), _percent(document["beta"])
    return (
        f"Region alpha={document['alpha']:g}, beta={document['beta']:g}: catch at least {caught} of the positives "
        f"with false alarms on at most {alarms} of the negatives."
    )


def facts_line(facts: Document) -> str:
    """Say how many rows there are, and how many of them the region looks at."""
    share = _percent(facts["positives"] / facts["rows"])
    few = min(facts["hard_positives"], facts["hard_negatives"]) < _FEW
    return (
        f"{facts['rows']:,} rows, {facts['positives']:,} positive ({share}); the region selects the "
        f"{facts['hard_positives']:,} lowest positives and the {facts['hard_negatives']:,} highest negatives."
        + (f" With fewer than {_FEW} of either, intervals are too narrow." if few else "")
    )


def models_table(models: Sequence[Document], confidence: float) -> str:
    """Return the table of metrics with their intervals and the operating points."""
    level = f"[{_percent(confidence)} interval]"
    rows = [["model", f"TPAUC {level}", f"OPAUC {level}", f"AUC {level}", "threshold", "TPR", "FPR", "in region"]]
    for model in models:
        point = model["operating_point"]
        rows.append(
            [
                model["name"],
                *(_with_interval(model[metric]) for metric in ("tpauc", "opauc", "auc")),
                "none" if point["threshold"] is None else f"{point['threshold']:.6g}",
                f"{point['tpr']:.4f}",
                f"{point['fpr']:.4f}",
                "yes" if point["feasible"] else "no",
            ]
        )
    return "\n".join([aligned(rows), *_interval_lines(models)])


def _interval_lines(models: Sequence[Document]) -> list[str]:
    metrics = [metric for metric in ("tpauc", "opauc", "auc") if models[0][metric]["interval"] == "delong"]
    if not metrics:
        return []
    return [f"Large-sample (DeLong) intervals for {', '.join(metric.upper() for metric in metrics)}; see --intervals."]


def difference_line(first: str, second: str, difference: Document, confidence: float) -> str:
    """Say by how much the first model is better than the second, and how sure that is."""
    low, high = difference["low"], difference["high"]
    verdict = f"{first} is better" if low > 0 else f"{second} is better" if high < 0 else "not told apart"
    method = "large-sample (DeLong)" if difference["interval"] == "delong" else difference["interval"]
    level = f"{_percent(confidence)} {method} interval"
    return (
        f"TPAUC of {first} minus {second}: {difference['difference']:+.4f} [{level} {low:+.4f} to {high:+.4f}], "
        f"p = {difference['p_value']:.3g}: {verdict}"
    )


def _with_interval(interval: Document) -> str:
    return f"{interval['estimate']:.4f} [{interval['low']:.4f}, {interval['high']:.4f}]"


def _percent(share: float) -> str:
    """Return a share with two decimals, and with more of them if it is hardly different from none or all.

    >>> _percent(0.3), _percent(0.12345), _percent(1e-6), _percent(1 - 1e-5), _percent(1.0)
    ('30 %', '12.35 %', '0.0001 %', '99.999 %', '100 %')
    """
    percent = 100.0 * share
    rest = min(percent, 100.0 - percent)
    decimals = max(2, 1 - math.floor(math.log10(rest))) if rest > 0.0 else 2
    return f"{round(percent, decimals):.15g} %"
