"""Plots of the region and a self-contained HTML report.

| module | idea |
| --- | --- |
| `curves` | exact ROC vertices, thinned without visible change; densities of scores |
| `axes`, `panels` | what a plot is made of, without a drawing library |
| `figures` | which panels a report has |
| `plots` | panels drawn by matplotlib |
| `page` | panels and tables as HTML |
| `writing` | `report`: everything, written together |
"""

from tpauc.reporting.plots import plot_roc, plot_scores, plot_training
from tpauc.reporting.writing import report

__all__ = ["plot_roc", "plot_scores", "plot_training", "report"]
