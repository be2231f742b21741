"""Results of the library as plain values that JSON can hold."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from tpauc.cli._text import Document
from tpauc.metrics.comparison import Comparison
from tpauc.metrics.intervals import Interval
from tpauc.metrics.subgroups import Subgroup, SubgroupTable


def area_document(found: Interval | Comparison) -> Document:
    """Return an interval or a comparison; its method is called "interval"."""
    document = asdict(found)
    return document | {"interval": document.pop("method")}


def subgroups_document(found: SubgroupTable) -> Document:
    """Return the subgroups of a model, the common threshold and the largest gap."""
    known = sum(part.tpauc is not None for part in found.subgroups)
    gap = None if found.largest_gap is None else asdict(found.largest_gap) | {"pairs": known * (known - 1) // 2}
    if gap is not None:
        gap |= {"better": plain_value(gap["better"]), "worse": plain_value(gap["worse"])}
    return {
        "threshold": finite_or_none(found.threshold),
        "picked_here": True,
        "subgroups": [_subgroup_document(part) for part in found.subgroups],
        "largest_gap": gap,
    }


def _subgroup_document(part: Subgroup) -> Document:
    areas = {name: getattr(part, name) for name in ("tpauc", "opauc", "auc")}
    rates = {name: getattr(part, name) for name in ("tpr", "fpr")}
    return {
        "name": plain_value(part.name),
        "rows": part.n_rows,
        "positives": part.n_positive,
        "negatives": part.n_negative,
        **{name: None if area is None else area_document(area) for name, area in areas.items()},
        **{name: None if rate is None else asdict(rate) for name, rate in rates.items()},
        "reason": part.reason,
    }


def finite_or_none(threshold: float) -> float | None:
    """Return a threshold; None if no threshold has few enough false alarms, as JSON has no infinity."""
    return threshold if math.isfinite(threshold) else None


def plain_value(value: Any) -> str | int | float:
    """Return a value of a column, for example a date as text."""
    return value if isinstance(value, str | int | float) else str(value)
