"""The paper's figures: numbers first, pictures of these numbers second.

| module | idea |
| --- | --- |
| `figure` | `PaperFigure`: what a figure is |
| `registry` | `FIGURES`: all of them by name |
| `making` | `make_figure`: PNG and CSV, written together |
| `canvas` | how axes, lines and legends look |
| `trials` | `Experiment`: what is trained for a figure |
| `plane_trials`, `image_trials` | its trials as small nets on the plane (`small_training`), and on the paper's images |
| `trial_drawing` | how their results are drawn |
| all others | one figure each |
"""

from tpauc.paper.figures.figure import PaperFigure
from tpauc.paper.figures.making import make_figure
from tpauc.paper.figures.registry import FIGURES

__all__ = ["FIGURES", "PaperFigure", "make_figure"]
