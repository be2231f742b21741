"""Plots of the region and a self-contained HTML report. Needs ``tpauc[report]``.

| module | idea |
| --- | --- |
| `curves` | exact ROC vertices, thinned without visible change; densities of scores |
| `panels` | what a plot is made of, without a drawing library |
| `figures` | the panels of a report |
| `plots` | panels drawn by matplotlib |
| `page` | `report`: panels and tables as an HTML file, with the plots as PNG files |

The room is called ``reporting`` because a package ``tpauc.report`` would hide the public function ``tpauc.report``.
"""

from tpauc.reporting.page import report
from tpauc.reporting.plots import plot_roc, plot_scores, plot_training

__all__ = ["plot_roc", "plot_scores", "plot_training", "report"]
