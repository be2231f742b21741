"""Plots of the region and a self-contained HTML report. Needs ``tpauc[report]``.

| module | idea |
| --- | --- |
| `ranking` | a ranking in counts, from which the page computes the area of every region |
| `curves` | exact ROC vertices, thinned without visible change; densities of scores |
| `panels` | what a plot is made of, without a drawing library |
| `figures` | the panels of a report |
| `plots` | panels drawn by matplotlib |
| `displays` | `ROCRegionDisplay`: curves and their region on given axes |
| `region_artists` | what a display consists of |
| `fitted_scores` | scores of fitted classifiers |
| `findings` | the numbers of a report: areas, thresholds, comparisons, bands |
| `wording` | its title, its headline, and what explains a TPAUC of 0 |
| `embedding` | what the script of the page computes with, as JSON |
| `rendering` | the page as HTML, with its content-security policy |
| `page` | `report`: all of this as an HTML file, with the plots as PNG files |

The room is called ``reporting`` because a package ``tpauc.report`` would hide the public function ``tpauc.report``.
"""

from tpauc.reporting.displays import ROCRegionDisplay
from tpauc.reporting.page import report
from tpauc.reporting.plots import plot_roc, plot_scores, plot_training

__all__ = ["ROCRegionDisplay", "plot_roc", "plot_scores", "plot_training", "report"]
