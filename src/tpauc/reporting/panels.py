"""What a plot is made of: axes, colours, lines, areas, marks, and the panel that holds them.

Positions are shares of a panel's sides: (0, 0) is the lower left corner and (1, 1) the upper right. A panel knows
neither HTML nor matplotlib. The page and the PNG files draw the same panels, so they show the same thing.

Ticks of a plain axis are the multiples of 1, 2 or 5 times a power of ten. Ticks of a logit axis are the probabilities
0.5, 0.1, 0.9, 0.01, 0.99 and so on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tpauc._validation import FloatArray

# Light and dark variant of each colour. The five model colours differ by at least 30 in CIELAB for normal vision and
# for each kind of dichromacy, and have a contrast of at least 3 : 1 with the page; a test checks both.
COLOURS = {
    "model-0": ("#2245ca", "#7d97fb"),
    "model-1": ("#ca6a00", "#fb6f24"),
    "model-2": ("#009a64", "#51e38a"),
    "model-3": ("#9a4a9a", "#c884b6"),
    "model-4": ("#261d33", "#e6fff6"),
    "positive": ("#ca6a00", "#fb8a3c"),
    "negative": ("#2245ca", "#7d97fb"),
    "paper": ("#ffffff", "#17161b"),
    "ink": ("#1c1b22", "#eceaf0"),
    "faint": ("#8b8794", "#86828f"),
    "region": ("#ffd54a", "#d8b13a"),
    "region-line": ("#a98e3b", "#e0c676"),  # a line of the colour above would be too pale
}

# Five colours and four dashes have no common factor, so twenty models in a row all look different.
_DASHES: tuple[tuple[float, ...], ...] = ((), (7, 3), (2, 2.5), (9, 3, 2, 3))
_SHAPES = ("circle", "square", "diamond", "triangle")
_MODEL_COLOURS = 5
_MOST_TICKS = 6
_MOST_LOGIT_TICKS = 7


@dataclass(frozen=True)
class Look:
    """How the curves of a model are drawn: colour, dashes of the line in pixels, shape of the marks."""

    colour: str
    dash: tuple[float, ...] = ()
    shape: str = "circle"


def look_of(number: int) -> Look:
    """Return the look of model ``number``, counted from 0.

    Examples
    --------
    >>> look_of(1)
    Look(colour='model-1', dash=(7, 3), shape='square')
    """
    return Look(
        colour=f"model-{number % _MODEL_COLOURS}",
        dash=_DASHES[number % len(_DASHES)],
        shape=_SHAPES[number % len(_SHAPES)],
    )


@dataclass(frozen=True)
class Line:
    """A line through points."""

    x: FloatArray
    y: FloatArray
    look: Look
    name: str = ""
    width: float = 2.0


@dataclass(frozen=True)
class Area:
    """The area between a line and the height ``base``, or another line over the same ``x``."""

    x: FloatArray
    y: FloatArray
    base: float | FloatArray
    colour: str
    opacity: float
    kind: str = ""  # a word for those who style it


@dataclass(frozen=True)
class Mark:
    """A marked point; a point outside the region is hollow."""

    x: float
    y: float
    look: Look
    filled: bool
    text: str


@dataclass(frozen=True)
class Rule:
    """A vertical line across the panel, at the score ``value``."""

    x: float
    dash: tuple[float, ...]
    text: str
    value: str
    kind: str = ""


@dataclass(frozen=True)
class Panel:
    """Axes and everything that is drawn between them.

    Parameters
    ----------
    title : str
    description : str
        Text for readers who cannot see the panel.
    x_axis : Axis
    y_axis : Axis, optional
        Without it the height has no unit, and ``bands`` names the equal parts of the height.
    bands : list of (str, str), optional
        Name and colour of each part, from top to bottom.
    region : (float, float), optional
        Width and height of the shaded rectangle in the upper left corner.
    areas, lines, rules, marks : list
        What is drawn; later items cover earlier ones.
    message : str, optional
        Written in the middle of a panel that would be empty otherwise.
    """

    title: str
    description: str
    x_axis: Axis
    y_axis: Axis | None = None
    bands: list[tuple[str, str]] = field(default_factory=list)
    region: tuple[float, float] | None = None
    areas: list[Area] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    message: str = ""


# ----------------------------------------------------------------------------------------------------------------- axes


@dataclass(frozen=True)
class Axis:
    """One side of a plot.

    Parameters
    ----------
    label : str
        The title of the axis.
    low, high : float
        The ends of the axis; logits if ``logit``.
    logit : bool, default=False
        Whether coordinates are logits of the values that the tick labels show.
    whole : bool, default=False
        Whether ticks are whole numbers only, as for epochs.

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
        """Return the position of a coordinate: 0 at the low end of the axis, 1 at the high end."""
        return (coordinate - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the position and the label of every tick."""
        if self.logit:
            ticks = _logit_ticks(self.low, self.high)
        else:
            ticks = _round_ticks(self.low, self.high, smallest_step=1.0 if self.whole else 0.0)
        return [(self.share(coordinate), text) for coordinate, text in ticks]


def padded(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis a little outside ``low`` and ``high``; they differ even if ``low == high``."""
    padding = 0.05 * (high - low)
    if padding <= max(1e-12 * max(abs(low), abs(high)), 1e-290):
        padding = max(0.5, 1e-3 * abs(low))
    return low - padding, high + padding


def _round_ticks(low: float, high: float, *, smallest_step: float = 0.0) -> list[tuple[float, str]]:
    rough = max((high - low) / (_MOST_TICKS - 1), smallest_step)
    power = math.floor(math.log10(rough))
    factor = next(factor for factor in (1, 2, 5, 10) if factor * 10.0**power >= rough * 0.999)
    # 3 * 0.1 is not 0.3 but 3 / 10 is, so ticks are divided by the number of steps per unit.
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
    """Tick at every power of ten from either end of (0, 1); at every third or fifth power if these are too many."""
    for every in (1, 3, 5):
        ticks = [(0.0, "0.5")]
        for power in range(every, 16, every):
            logit = math.log(10.0**-power) - math.log1p(-(10.0**-power))
            ticks += zip((logit, -logit), _power_texts(power), strict=True)
        inside = sorted((at, text) for at, text in ticks if low <= at <= high)
        if len(inside) <= _MOST_LOGIT_TICKS:
            break
    return inside if len(inside) > 2 else _round_probabilities(low, high)


def _power_texts(power: int) -> tuple[str, str]:
    """Return the labels of ``10**-power`` and ``1 - 10**-power``, as decimals if these are short."""
    if power > 6:
        return f"1e\N{MINUS SIGN}{power}", f"1\N{MINUS SIGN}1e\N{MINUS SIGN}{power}"
    return f"{10.0**-power:.{power}f}", f"{1.0 - 10.0**-power:.{power}f}"


def _round_probabilities(low: float, high: float) -> list[tuple[float, str]]:
    """Tick at round probabilities, for an axis too narrow for several powers of ten."""
    if low > 0.0:
        # Floats near 1 are too coarse for these values; floats of their distances from 1 are fine enough.
        return [(-at, _from_one(text)) for at, text in reversed(_round_probabilities(-high, -low))]
    ends = [1.0 / (1.0 + math.exp(-end)) for end in (low, high)]
    return [(math.log(value / (1.0 - value)), text) for value, text in _round_ticks(*ends) if 0.0 < value < 1.0]


def _from_one(text: str) -> str:
    """Return the label of 1 minus the labelled number, as a decimal if that number is one."""
    decimals = len(text.partition(".")[2])
    return f"1\N{MINUS SIGN}{text}" if "e" in text else f"{1.0 - float(text):.{decimals}f}"
