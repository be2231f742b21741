"""The paper's figures: numbers first, pictures of these numbers second.

| module | idea |
| --- | --- |
| `figure` | `PaperFigure`: what a figure is |
| `registry` | `FIGURES`: all of them by name |
| `making` | `make_figure`: PNG and CSV, written together |
| `canvas` | how axes, lines and legends look |
| all others | one figure each |
"""

from tpauc.paper.figures.figure import PaperFigure
from tpauc.paper.figures.making import make_figure
from tpauc.paper.figures.registry import FIGURES

__all__ = ["FIGURES", "PaperFigure", "make_figure"]
