"""What a report says in words: its title, its headline, and what explains a TPAUC of 0.

The headline claims no more than the intervals. A model is called the best only if the interval of its lead over every
other model excludes 0; models that rank all rows alike are named as such.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tpauc._validation import FloatArray
from tpauc.metrics.comparison import Comparison
from tpauc.metrics.operating_points import OperatingPoint
from tpauc.metrics.thresholds import MAX_TPR
from tpauc.region import Region

_MINUS, _NARROW = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"
_MOST_DECIMALS = 4  # of a percentage


class Standing(NamedTuple):
    """What the headline needs to know of a model.

    ``most_caught`` is the TPR at the best threshold whose FPR keeps to the region, ``fewest_alarms`` the FPR at the
    best threshold whose TPR does, ``lead`` the TPAUC of the best model minus that of this one.
    """

    name: str
    tpauc: float
    low: float
    high: float
    most_caught: float
    fewest_alarms: float
    lead: Comparison | None = None


def share_text(share: float) -> str:
    """Return a share as a percentage with as many digits as it needs, up to three decimals.

    Examples
    --------
    >>> print(share_text(0.9), share_text(1 - 0.995), sep=", ")
    90 %, 0.5 %
    """
    return f"{round(100.0 * share, 3):g}{_NARROW}%"


def rate_text(rate: float) -> str:
    """Return a measured rate as a percentage.

    Examples
    --------
    >>> [rate_text(rate).split() for rate in (0.909, 0.00056, 0.99961)]
    [['90.9', '%'], ['0.056', '%'], ['99.961', '%']]
    """
    return f"{100.0 * rate:.{_decimals(rate)}f}{_NARROW}%"


def limits_text(rate: float, low: float, high: float) -> tuple[str, str]:
    """Return a measured rate and its interval as percentages with equally many decimals.

    Examples
    --------
    >>> [text.split() for text in limits_text(0.05, 0.0497, 0.0504)]
    [['5.00', '%'], ['4.97', '–', '5.04', '%']]
    """
    decimals = max(_decimals(rate), _decimals(high - low, digits=1))
    texts = [f"{100.0 * value:.{decimals}f}" for value in (rate, low, high)]
    return f"{texts[0]}{_NARROW}%", f"{texts[1]} \N{EN DASH} {texts[2]}{_NARROW}%"


def _decimals(share: float, digits: int = 2) -> int:
    """Return the decimals of a percentage: one, or as many as show these digits of a rare event or its opposite."""
    rare = 100.0 * min(share, 1.0 - share)
    return 1 if not rare > 0.0 else min(max(1, digits - 1 - math.floor(math.log10(rare))), _MOST_DECIMALS)


def signed_text(value: float) -> str:
    """Return a difference with four decimals and a sign, unless these are all 0.

    Examples
    --------
    >>> signed_text(0.25), signed_text(-0.00001)
    ('+0.2500', '0.0000')
    """
    text = f"{value:+.4f}"
    return text[1:] if float(text) == 0.0 else text.replace("-", _MINUS)


def stakeholder_title(names: Sequence[str], region: Region, subject: str | None = None) -> str:
    """Return a title that says what is compared and what is asked of it.

    Examples
    --------
    >>> print(stakeholder_title(["a", "b", "c"], Region(0.1, 0.05), "fraud"))
    Catching fraud: 3 models, at least 90 % caught, at most 5 % false alarms
    """
    models = names[0] if len(names) == 1 else f"{len(names)} models"
    wanted = f"at least {share_text(1.0 - region.alpha)} caught, at most {share_text(region.beta)} false alarms"
    return f"{models}: {wanted}" if subject is None else f"Catching {subject}: {models}, {wanted}"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def alike(scores: Mapping[str, FloatArray]) -> list[list[str]]:
    """Return the names of models that rank all rows alike, each group of two or more once.

    Examples
    --------
    >>> alike({"a": np.array([1.0, 2.0]), "b": np.array([0.1, 0.3]), "c": np.array([2.0, 1.0])})
    [['a', 'b']]
    """
    groups: list[tuple[FloatArray, list[str]]] = []
    for name, values in scores.items():
        for other, names in groups:
            if _same_order(values, other):
                names.append(name)
                break
        else:
            groups.append((values, [name]))
    return [names for _, names in groups if len(names) > 1]


def _same_order(first: FloatArray, second: FloatArray) -> bool:
    if np.array_equal(first, second):
        return True
    order = np.argsort(first, kind="stable")
    steps = [np.diff(values[order]) for values in (first, second)]
    return bool((steps[1] >= 0.0).all() and np.array_equal(steps[0] > 0.0, steps[1] > 0.0))


def headline(models: Sequence[Standing], twins: Sequence[Sequence[str]], region: Region, level: str) -> list[str]:
    """Return the headline, and the sentences that follow it; ``twins`` are groups of models that rank alike."""
    best = max(models, key=lambda model: (model.tpauc, model.most_caught))
    sentences = _nothing_reached(models, best, region) if best.tpauc == 0.0 else _leader(models, best, twins, level)
    if twins and (best.tpauc == 0.0 or len(twins[0]) < len(models)):
        same = "; ".join(listed(names) for names in twins)
        sentences.append(f"{same} rank all rows alike, so their areas and curves are the same.")
    return sentences


def _leader(models: Sequence[Standing], best: Standing, twins: Sequence[Sequence[str]], level: str) -> list[str]:
    area = f"{best.tpauc:.4f} ({level} interval {best.low:.4f} to {best.high:.4f})"
    if len(models) == 1:
        return [f"{best.name} reaches a TPAUC of {area}."]
    if twins and len(twins[0]) == len(models):
        return [f"{listed(twins[0])} rank all rows alike: TPAUC {area}."]
    same = next((names for names in twins if best.name in names), [best.name])
    others = [model for model in models if model.name not in same and model.lead is not None]
    rivals = [model for model in others if model.lead is not None and model.lead.low <= 0.0]
    verb = "has" if len(same) == 1 else "have"
    if not rivals:
        lead = "its lead" if len(same) == 1 else "their lead"
        return [
            f"{listed(same)} {verb} the highest TPAUC, {area}.",
            f"The {level} interval of {lead} over {listed([model.name for model in others])} excludes 0.",
        ]
    doubts = [
        f"{model.name} ({signed_text(model.lead.difference)}, {level} interval {signed_text(model.lead.low)} to "
        f"{signed_text(model.lead.high)})"
        for model in rivals
        if model.lead is not None
    ]
    contains = "contains 0" if len(doubts) == 1 else "contain 0"
    return [
        f"No clear winner. {listed(same)} {verb} the highest TPAUC, {area}, but may be ahead by chance.",
        f"The {'interval' if len(doubts) == 1 else 'intervals'} of the lead over {listed(doubts)} {contains}.",
    ]


def _nothing_reached(models: Sequence[Standing], closest: Standing, region: Region) -> list[str]:
    wanted, allowed = share_text(1.0 - region.alpha), share_text(region.beta)
    who = closest.name if len(models) == 1 else "No model"
    first = f"{who} {'does not reach' if len(models) == 1 else 'reaches'} the region: TPAUC is 0."
    name = closest.name if len(models) == 1 else f"{closest.name}, the closest,"
    return [
        first,
        f"With at most {allowed} false alarms {name} catches {rate_text(closest.most_caught)} of the positives, not "
        f"{wanted}; to catch {wanted} it raises false alarms on {rate_text(closest.fewest_alarms)} of the negatives, "
        f"not {allowed}.",
    ]


def verdict(versus: Comparison, tpauc: float, first: str, *, same: bool) -> str:
    """Return in words how a model with this TPAUC compares with the first; ``same`` if both rank all rows alike."""
    if same:
        return f"ranks all rows as {first} does"
    if tpauc == versus.difference == 0.0:
        return f"misses the region like {first}, so there is nothing to compare"
    found = "better" if versus.low > 0.0 else "worse" if versus.high < 0.0 else "no significant difference"
    size = f"<{_NARROW}0.001" if versus.p_value < 0.001 else f"={_NARROW}{versus.p_value:.3f}"
    return f"{found} (p{_NARROW}{size})"


def promise(point: OperatingPoint, region: Region) -> str | None:
    """Return what is promised of a threshold on new rows; None if nothing is."""
    if point.guarantee is None:
        return None
    kept = f"FPR \N{LESS-THAN OR EQUAL TO} {share_text(region.beta)}"
    if point.rule != MAX_TPR:
        kept = f"TPR \N{GREATER-THAN OR EQUAL TO} {share_text(1.0 - region.alpha)}"
    return f"{kept} on new rows with probability {share_text(point.guarantee)}"
