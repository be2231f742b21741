"""Axes of a plot: where a value lies along one, and which round values are written beside it.

A place is a share of the axis, ``(value - low) / (high - low)``, so 0 at its start and 1 at its end; whatever draws the
plot only has to multiply by a length. Ticks of a plain axis are the multiples of 1, 2 or 5 times a power of ten, those
of a logit axis the probabilities 0.5, 0.1, 0.9, 0.01, 0.99 and so on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_MOST_TICKS = 6
_MOST_LOGIT_TICKS = 7


@dataclass(frozen=True)
class Axis:
    """One side of a plot.

    Parameters
    ----------
    label : str
        What is written along it.
    low, high : float
        Its ends; in logits if ``logit``.
    logit : bool, default=False
        Whether the coordinates are logits of the values that are written.
    whole : bool, default=False
        Whether only whole numbers are written, as for epochs.

    Examples
    --------
    >>> Axis("false positive rate", 0.0, 0.5).ticks()
    [(0.0, '0'), (0.2, '0.1'), (0.4, '0.2'), (0.6, '0.3'), (0.8, '0.4'), (1.0, '0.5')]
    """

    label: str
    low: float
    high: float
    logit: bool = False
    whole: bool = False

    def share(self, coordinate: float) -> float:
        """Return the place of a coordinate along the axis."""
        return (coordinate - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the place and the text of every tick."""
        if self.logit:
            written = _logit_ticks(self.low, self.high)
        else:
            written = _round_ticks(self.low, self.high, smallest_step=1.0 if self.whole else 0.0)
        return [(self.share(coordinate), text) for coordinate, text in written]


def with_room(low: float, high: float) -> tuple[float, float]:
    """Return ends a little outside ``low`` and ``high``, and apart even if those are one value.

    Examples
    --------
    >>> with_room(0.0, 10.0), with_room(2.0, 2.0)
    ((-0.5, 10.5), (1.5, 2.5))
    """
    room = 0.05 * (high - low)
    if room <= max(1e-12 * max(abs(low), abs(high)), 1e-290):
        room = max(0.5, 1e-3 * abs(low))
    return low - room, high + room


def _round_ticks(low: float, high: float, *, smallest_step: float = 0.0) -> list[tuple[float, str]]:
    rough = max((high - low) / (_MOST_TICKS - 1), smallest_step)
    power = math.floor(math.log10(rough))
    factor = next(factor for factor in (1, 2, 5, 10) if factor * 10.0**power >= rough * 0.999)
    # 3 * 0.1 is not 0.3 but 3 / 10 is: divide by the number of steps to a unit.
    step, per_unit = factor * 10.0**power, 10.0**-power / factor
    first, last = math.ceil(low * per_unit - 1e-9), math.floor(high * per_unit + 1e-9)
    return [(number / per_unit, _text(number / per_unit, step)) for number in range(first, last + 1)]


def _text(value: float, step: float) -> str:
    if value == 0.0:
        return "0"
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    digits = max(1, math.ceil(math.log10(abs(value) / step) + 1e-9) + 1)
    text = f"{value:.{decimals}f}" if decimals <= 6 and abs(value) < 1e6 else f"{value:.{digits}g}"
    return text.replace("-", "\N{MINUS SIGN}")


def _logit_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Tick at every power of ten from either end of (0, 1), or at every third or fifth when that is too many."""
    for every in (1, 3, 5):
        written = [(0.0, "0.5")]
        for power in range(every, 16, every):
            odds_end = math.log(10.0**-power) - math.log1p(-(10.0**-power))
            written += zip((odds_end, -odds_end), _power_texts(power), strict=True)
        inside = sorted((at, text) for at, text in written if low <= at <= high)
        if len(inside) <= _MOST_LOGIT_TICKS:
            break
    return inside if len(inside) > 2 else _round_probabilities(low, high)


def _power_texts(power: int) -> tuple[str, str]:
    """Texts of ``10**-power`` and of 1 minus that, as decimals if these are not long."""
    if power > 6:
        return f"1e\N{MINUS SIGN}{power}", f"1\N{MINUS SIGN}1e\N{MINUS SIGN}{power}"
    return f"{10.0**-power:.{power}f}", f"{1.0 - 10.0**-power:.{power}f}"


def _round_probabilities(low: float, high: float) -> list[tuple[float, str]]:
    """Round values of a narrow stretch of (0, 1), which holds too few powers of ten."""
    if low > 0.0:
        # Floats near 1 are too far apart to tell such values from each other; their distances from 1 are not.
        return [(-at, _from_one(text)) for at, text in reversed(_round_probabilities(-high, -low))]
    ends = [1.0 / (1.0 + math.exp(-end)) for end in (low, high)]
    return [(math.log(value / (1.0 - value)), text) for value, text in _round_ticks(*ends) if 0.0 < value < 1.0]


def _from_one(text: str) -> str:
    """Text of 1 minus what is written, as a decimal if that is one."""
    decimals = len(text.partition(".")[2])
    return f"1\N{MINUS SIGN}{text}" if "e" in text else f"{1.0 - float(text):.{decimals}f}"
