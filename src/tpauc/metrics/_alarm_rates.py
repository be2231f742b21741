"""The rates of the rows that raise an alarm, with limits, in the sample or at another prevalence.

In the sample every rate is a proportion with its own exact limits (`tpauc.metrics._proportions`).

At a prevalence ``p`` that is given, with TPR ``t`` and FPR ``f``,

    alarm rate = p t + (1 - p) f,    precision = p t / (p t + (1 - p) f),
    NPV = (1 - p) (1 - f) / ((1 - p) (1 - f) + p (1 - t)).

All three are monotone in ``t`` and ``f``, so limits of both give limits of each. The classes are independent: if each
limit holds with confidence ``sqrt(c)``, both hold with confidence ``c``. With groups, which may have rows of both
classes, each is taken at ``(1 + c) / 2`` instead (Bonferroni). Such intervals are conservative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tpauc._validation import BoolArray
from tpauc.metrics._proportions import Proportion, ScoredRows, proportion, proportion_of_counts
from tpauc.metrics.intervals import Interval

FROM_BOTH_RATES = "from the limits of TPR and FPR"


@dataclass(frozen=True)
class AlarmedRows:
    """Rows, which of them raise an alarm, and how many do: positives caught or missed, negatives alarmed or quiet."""

    rows: ScoredRows
    alarm: BoolArray
    caught: float
    missed: float
    alarmed: float
    quiet: float

    @classmethod
    def of(cls, rows: ScoredRows, threshold: float) -> AlarmedRows:
        """Return the rows with an alarm where the score is at least the threshold."""
        positive, alarm = rows.positive, rows.scores >= threshold
        sides = positive & alarm, positive & ~alarm, ~positive & alarm, ~positive & ~alarm
        return cls(rows, alarm, *map(rows.mass, sides))

    def proportions(self) -> dict[str, Proportion]:
        """Return TPR, FPR, precision, NPV and alarm rate in the sample."""
        rows, positive, alarm = self.rows, self.rows.positive, self.alarm
        alarms, others = self.caught + self.alarmed, self.missed + self.quiet
        return {
            "tpr": proportion(rows, positive, alarm, self.caught, self.caught + self.missed),
            "fpr": proportion(rows, ~positive, alarm, self.alarmed, self.alarmed + self.quiet),
            "precision": proportion(rows, alarm, positive, self.caught, alarms),
            "npv": proportion(rows, ~alarm, ~positive, self.quiet, others),
            "alarm_rate": proportion(rows, positive | ~positive, alarm, alarms, alarms + others),
        }


@dataclass(frozen=True)
class AlarmCounts:
    """Numbers of positives that are caught or missed and of negatives that raise an alarm or do not.

    ``spreads`` has, for rows in groups, the number of groups of each rate and the sum over groups of ``(z / size)^2``
    (see `tpauc.metrics._proportions`).
    """

    caught: int
    missed: int
    alarmed: int
    quiet: int
    spreads: Mapping[str, tuple[int, float]] | None = None

    def proportions(self) -> dict[str, Proportion]:
        """Return TPR, FPR, precision, NPV and alarm rate in the sample."""
        alarms, others = self.caught + self.alarmed, self.missed + self.quiet
        shares = {
            "tpr": (self.caught, self.caught + self.missed),
            "fpr": (self.alarmed, self.alarmed + self.quiet),
            "precision": (self.caught, alarms),
            "npv": (self.quiet, others),
            "alarm_rate": (alarms, alarms + others),
        }
        spreads = self.spreads or {}
        return {name: proportion_of_counts(*share, spreads.get(name)) for name, share in shares.items()}


def rates_of(proportions: Mapping[str, Proportion], prevalence: float | None) -> dict[str, float]:
    """Return the five rates, at a prevalence if it is given."""
    rates = {name: found.estimate for name, found in proportions.items()}
    return rates if prevalence is None else rates | _at_prevalence(prevalence, rates["tpr"], rates["fpr"])


def intervals_of(
    proportions: Mapping[str, Proportion], prevalence: float | None, confidence: float
) -> dict[str, Interval]:
    """Return the five rates with limits, at a prevalence if it is given."""
    intervals = {name: found.interval(confidence) for name, found in proportions.items()}
    if prevalence is None:
        return intervals
    tpr, fpr = proportions["tpr"], proportions["fpr"]
    level = math.sqrt(confidence) if tpr.n_groups is None else (1.0 + confidence) / 2.0
    t, f = tpr.interval(level), fpr.interval(level)
    estimate = _at_prevalence(prevalence, t.estimate, f.estimate)
    best, worst = _at_prevalence(prevalence, t.high, f.low), _at_prevalence(prevalence, t.low, f.high)
    fewest, most = _at_prevalence(prevalence, t.low, f.low), _at_prevalence(prevalence, t.high, f.high)
    limits = {name: (worst[name], best[name]) for name in ("precision", "npv")}
    limits["alarm_rate"] = fewest["alarm_rate"], most["alarm_rate"]
    return intervals | {name: Interval(estimate[name], *found, FROM_BOTH_RATES) for name, found in limits.items()}


def _at_prevalence(prevalence: float, tpr: float, fpr: float) -> dict[str, float]:
    """Return precision, NPV and alarm rate; NaN where no row raises an alarm, or every row does."""
    caught, missed = prevalence * tpr, prevalence * (1.0 - tpr)
    alarmed, quiet = (1.0 - prevalence) * fpr, (1.0 - prevalence) * (1.0 - fpr)
    return {
        "precision": caught / (caught + alarmed) if caught + alarmed > 0.0 else math.nan,
        "npv": quiet / (quiet + missed) if quiet + missed > 0.0 else math.nan,
        "alarm_rate": caught + alarmed,
    }
