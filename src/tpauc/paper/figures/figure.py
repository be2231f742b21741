"""What a figure of the paper is here: rows of numbers, and a drawing that is made of these rows alone.

The rows are the facts. They are written as a CSV file beside the PNG, so that every line in a picture can be read,
checked and drawn again without running anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tpauc.paper.figures.trials import Experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]  # column name -> text or number; all rows of a figure have the same columns


@dataclass(frozen=True)
class PaperFigure:
    """A figure that can be made: what it shows, its numbers, its drawing.

    Parameters
    ----------
    shows : str
        One line for the list of figures.
    place : str
        Where the paper has it or claims it: "Figure 1", "Theorem 1".
    rows : callable
        ``rows(full)`` returns the numbers as a list of rows. With ``full`` False it takes seconds, with True perhaps
        minutes. All randomness comes from seeds inside, so it repeats exactly.
    draw : callable
        ``draw(rows)`` returns a matplotlib figure of the rows and of nothing else.
    on_images : Experiment, optional
        What the paper trains for it. Where there is such a thing, ``--full`` trains it instead of calling ``rows``:
        hours to days.

    Examples
    --------
    >>> from tpauc.paper.figures import FIGURES
    >>> FIGURES["areas"].place
    'Figure 1'
    """

    shows: str
    place: str
    rows: Callable[[bool], list[Row]]
    draw: Callable[[Sequence[Row]], Figure]
    on_images: Experiment | None = None
