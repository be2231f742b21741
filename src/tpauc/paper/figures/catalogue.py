"""All figures by name, and how one is made: its rows are computed and drawn, NAME.png and NAME.csv written together.

To add a figure, write its rows and its drawing in the module of its theme, and give it a line in `FIGURES`.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tpauc._files import write_together
from tpauc._validation import check_choice, check_flag, check_path, import_extra
from tpauc.paper.data.datasets import DATASETS, check_subset
from tpauc.paper.experiments.image_data import Say
from tpauc.paper.figures import areas, risks, theorems, trial_figures, weight_shapes
from tpauc.paper.figures.figure import PaperFigure, Row
from tpauc.paper.figures.trials import ImageRuns, measure_on_images, workload_of
from tpauc.reporting.plots import png_bytes

FIGURES: dict[str, PaperFigure] = {
    "areas": areas.AREAS,
    "concave-convex": weight_shapes.CONCAVE_CONVEX,
    "sufficient-condition": risks.CONDITION,
    "bound-training": risks.TRAINING,
    "weight-landscapes": weight_shapes.LANDSCAPES,
    "duality": weight_shapes.DUALITY,
    "saddle": risks.SADDLE,
    "collapse": risks.COLLAPSE,
    "inconsistency": areas.CROSSING,
    "bayes-limit": theorems.BAYES_LIMIT,
    "middle-order": theorems.MIDDLE_ORDER,
    "excess-risk": theorems.EXCESS_RISK,
    "gamma": trial_figures.GAMMA,
    "two-gammas": trial_figures.TWO_GAMMAS,
    "warm-up": trial_figures.WARM_UP,
    "opauc": trial_figures.OPAUC,
    "truncation": trial_figures.TRUNCATION,
    "best-gamma": trial_figures.BEST_GAMMA,
}


class FigureFiles(NamedTuple):
    """The two files of a figure."""

    png: Path
    csv: Path


def make_figure(
    name: str,
    out: str | os.PathLike[str],
    *,
    full: bool = False,
    data_dir: str | os.PathLike[str] = "data",
    dataset: str | None = None,
    subset: int = 1,
    say: Say = print,
) -> FigureFiles:
    """Compute a figure and write ``NAME.png`` and ``NAME.csv`` into a folder.

    Parameters
    ----------
    name : str
        A key of `tpauc.paper.figures.FIGURES`.
    out : str or path
        The folder, made if necessary. Files of that name in it are replaced once both new ones are complete.
    full : bool, default=False
        Whether to spend a larger budget. What the paper trains on images is then trained on images, and kept in
        ``out/table``.
    data_dir : str or path, default="data"
        Where the images are.
    dataset : {"cifar10-lt", "cifar100-lt", "tiny-imagenet"}, optional
        Which images; by default those of the paper's figure.
    subset : {1, 2, 3}, default=1
        Which of their classes are positive.
    say : callable, default=print
        Called with lines on the progress of trainings on images.

    Returns
    -------
    FigureFiles
        The paths of the two files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file.name for file in make_figure("areas", folder)]
    ['areas.png', 'areas.csv']
    """
    figure = FIGURES[check_choice(name, "name", FIGURES)]
    folder = Path(check_path(out, "out"))
    check_flag(full, "full")
    runs = image_runs(folder, data_dir, dataset, subset)
    import_extra("matplotlib", "report")
    if full and figure.on_images is not None:
        say(f"figure {name}: {workload_of(figure.on_images, runs)}")
        rows = measure_on_images(figure.on_images, runs, say=say)
    else:
        rows = figure.rows(full)
    files = figure_files(name, folder)
    write_together({files.png: png_bytes(figure.draw(rows)), files.csv: csv_bytes(rows)}, what="the figure")
    return files


def image_runs(out: Path, data_dir: str | os.PathLike[str], dataset: str | None, subset: int) -> ImageRuns:
    """Return where the figures in folder ``out`` keep their trainings on images."""
    image_set = "cifar10-lt" if dataset is None else check_choice(dataset, "dataset", DATASETS)
    check_subset(subset, DATASETS[image_set].subsets)
    return ImageRuns(out / "table", Path(check_path(data_dir, "data_dir")), dataset, subset)


def figure_files(name: str, folder: Path) -> FigureFiles:
    """Return where the two files of a figure are written."""
    return FigureFiles(folder / f"{name}.png", folder / f"{name}.csv")


def csv_bytes(rows: Sequence[Row]) -> bytes:
    r"""Return rows as a CSV file; the columns are those of the first row, floats keep all their digits.

    Examples
    --------
    >>> csv_bytes([{"curve": "psi", "x": 0.1}])
    b'curve,x\npsi,0.1\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
