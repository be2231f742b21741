"""The vocabulary of a plot: colours, lines, areas, marks and the panel that holds them.

Places are shares of a panel's sides, (0, 0) at its lower left and (1, 1) at its upper right corner. A panel knows
nothing of HTML or matplotlib: the page and the PNGs draw the same panels, so they show the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tpauc._validation import FloatArray
from tpauc.reporting.axes import Axis

# Light and dark variant of each colour. The five of the models differ by at least 30 in CIELAB for normal vision and
# for each kind of dichromacy, and stand out from the page by at least 3 : 1; a test holds them to it.
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
}

# Five colours and four dashes have no common factor, so twenty models in a row all look different.
_DASHES: tuple[tuple[float, ...], ...] = ((), (7, 3), (2, 2.5), (9, 3, 2, 3))
_SHAPES = ("circle", "square", "diamond", "triangle")
_MODEL_COLOURS = 5


@dataclass(frozen=True)
class Look:
    """How a model is told apart from the others: colour, dashes of its line in pixels, shape of its marks."""

    colour: str
    dash: tuple[float, ...] = ()
    shape: str = "circle"


def look_of(number: int) -> Look:
    """Return the look of the model with that number, counted from 0.

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
    """The area between a line and the height ``base``."""

    x: FloatArray
    y: FloatArray
    base: float
    colour: str
    opacity: float


@dataclass(frozen=True)
class Mark:
    """A marked point; hollow if it lies outside the region that was asked for."""

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


@dataclass(frozen=True)
class Panel:
    """Axes and what is drawn between them.

    Parameters
    ----------
    title : str
    description : str
        What a reader who cannot see the panel is told.
    x_axis : Axis
    y_axis : Axis, optional
        Without it the height has no unit, and ``bands`` names what is drawn in each of its equal parts.
    bands : list of (str, str), optional
        Name and colour of each part, from top to bottom.
    region : (float, float), optional
        Width and height of the shaded rectangle in the upper left corner.
    areas, lines, rules, marks : list
        What is drawn, the later above the earlier.
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
