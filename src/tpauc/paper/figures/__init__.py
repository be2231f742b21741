"""The paper's figures: numbers first, pictures of these numbers second.

| module | holds |
| --- | --- |
| `catalogue` | `FIGURES`, all of them by name, and `make_figure`, which writes PNG and CSV together |
| `figure` | `PaperFigure`: what a figure is; `Experiment` and `Trial`: what is trained for it; axes, lines, legends |
| `trials` | the trials as small nets on the plane, and as networks on the paper's images |
| all others | the figures, by theme |
"""

from tpauc.paper.figures.catalogue import FIGURES, make_figure
from tpauc.paper.figures.figure import PaperFigure

__all__ = ["FIGURES", "PaperFigure", "make_figure"]
