"""How the gallery looks and finds its pictures: every matplotlib figure that a block leaves in a variable."""

from __future__ import annotations

from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

STYLE = {
    "figure.figsize": (6.4, 4.0),
    "figure.constrained_layout.use": True,
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.prop_cycle": cycler(color=["#0f7b8a", "#c2571a", "#6a4c93", "#7a7a7a"]),
    "legend.frameon": False,
}


def set_style(gallery_conf: dict[str, Any], example: str) -> None:
    """Set the style of pictures before each example."""
    matplotlib.use("agg")
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(STYLE)


def save_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures that are in variables and were not saved after an earlier block of the example.

    The figures of this package are made without pyplot, so that sphinx-gallery's own search does not see them.
    """
    found = {id(value): value for value in block_vars["example_globals"].values() if isinstance(value, Figure)}
    saved: list[str] = []
    for figure in found.values():
        if getattr(figure, "_saved_by_gallery", False):
            continue
        path = next(block_vars["image_path_iterator"])
        figure.savefig(path, dpi=140, bbox_inches="tight")
        figure._saved_by_gallery = True
        saved.append(path)
    return str(figure_rst(saved, gallery_conf["src_dir"]))
