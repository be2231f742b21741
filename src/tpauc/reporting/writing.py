"""The report: one HTML file that needs nothing else, and its plots as PNG files. Needs ``tpauc[report]``.

The page has no scripts and loads nothing; the same input and seed give the same bytes.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tpauc._files import write_together
from tpauc._validation import BoolArray, FloatArray, check_choice, check_text, import_extra
from tpauc.metrics.comparison import compare_in_region
from tpauc.metrics.intervals import METHODS, IntervalOptions
from tpauc.metrics.summary import summarise
from tpauc.region import Region
from tpauc.reporting._checks import check_history, check_named_scores
from tpauc.reporting.figures import roc_panels, rule_legend, score_panel, training_panels
from tpauc.reporting.page import Contents, ModelResult, rendered
from tpauc.reporting.panels import Look, look_of
from tpauc.reporting.plots import draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PNG_DPI = 150


def report(
    y_true: npt.ArrayLike,
    scores: Mapping[str, npt.ArrayLike],
    *,
    alpha: float,
    beta: float,
    out: str | os.PathLike[str],
    title: str = "TPAUC report",
    history: Sequence[Mapping[str, object]] | Mapping[str, Sequence[Mapping[str, object]]] | None = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | None = 0,
    intervals: str = "auto",
    pngs: bool = True,
) -> Path:
    """Write a self-contained HTML report on one or several models, and its plots as PNG files.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1.
    scores : mapping of str to array-like of shape (n,)
        The scores of each model, by its name. Every other model is compared with the first.
    alpha, beta : float
        The region, as in :func:`tpauc.tpauc_score`.
    out : str or path
        The HTML file to write, its name ending in ``.html``. Its folder is made if need be.
    title : str, default="TPAUC report"
    history : list of mappings, or mapping of str to such lists, optional
        The course of training, as in :func:`tpauc.plot_training`; a run that has a model's name has its colour too.
    confidence, n_resamples, random_state
        As in :func:`tpauc.tpauc_interval`.
    intervals : {"auto", "bootstrap", "delong"}, default="auto"
        How they are made, the ``method`` of :func:`tpauc.tpauc_interval`; the page says which one was taken.
    pngs : bool, default=True
        Whether to write ``NAME-roc.png``, ``NAME-scores.png`` and ``NAME-training.png`` beside ``NAME.html``.

    Returns
    -------
    pathlib.Path
        The HTML file. Files appear only when all of them are complete; on an error those that were there are unharmed.

    Examples
    --------
    >>> import tempfile
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(300) < 0.3
    >>> good, better = y + rng.normal(size=300), 2 * y + rng.normal(size=300)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(y, {"good": good, "better": better}, alpha=0.5, beta=0.5, out=f"{folder}/report.html")
    ...     sorted(file.name for file in page.parent.iterdir())
    ['report-roc.png', 'report-scores.png', 'report.html']
    """
    region = Region(alpha, beta)
    method = check_choice(intervals, "intervals", METHODS)
    options = IntervalOptions(confidence, method, n_resamples, random_state)
    positive, checked = check_named_scores(y_true, scores)
    check_text(title, "title")
    only_run = next(iter(checked)) if len(checked) == 1 else "run"
    runs = {} if history is None else check_history(history, only_run=only_run)
    page = check_page_path(out)
    for module in ("jinja2", "matplotlib") if pngs else ("jinja2",):
        import_extra(module, "report")
    models = _measured(positive, checked, region, options)
    points = {model.name: model.areas.point for model in models}
    looks = _looks(checked, runs)
    n_positive = int(np.count_nonzero(positive))
    contents = Contents(
        title=title,
        region=region,
        n_positive=n_positive,
        n_negative=positive.size - n_positive,
        confidence=confidence,
        n_resamples=n_resamples,
        models=models,
        roc_panels=list(roc_panels(positive, checked, points, region)),
        score_panels=[score_panel(name, positive, values, points[name], region) for name, values in checked.items()],
        training_panels=training_panels(runs, looks),
        runs=[(name, looks[name]) for name in runs],
    )
    files = _png_files(page, contents) if pngs else {}
    write_together(files | {page: rendered(contents).encode()}, what="the report")
    return page


def _measured(
    positive: BoolArray, scores: Mapping[str, FloatArray], region: Region, options: IntervalOptions
) -> list[ModelResult]:
    """Return the numbers of the tables for every model."""
    first = next(iter(scores))
    results = []
    for number, (name, values) in enumerate(scores.items()):
        areas = summarise(positive, values, region, options)
        versus = None if name == first else compare_in_region(positive, values, scores[first], region, options)
        results.append(ModelResult(name, look_of(number), areas, versus))
    return results


def _looks(models: Mapping[str, object], runs: Mapping[str, object]) -> dict[str, Look]:
    """Return the look of every model, then of every run that is not called like a model."""
    return {name: look_of(number) for number, name in enumerate(dict.fromkeys([*models, *runs]))}


# ----------------------------------------------------------------------------------------------------------- files


def _png_files(page: Path, contents: Contents) -> dict[Path, bytes]:
    legend = [(model.name, model.look) for model in contents.models]
    figures = {
        "roc": draw(contents.roc_panels, columns=2, legend=legend),
        "scores": draw(contents.score_panels, columns=min(2, len(legend)), legend=rule_legend()),
    }
    if contents.training_panels:
        columns = min(3, len(contents.training_panels))
        figures["training"] = draw(contents.training_panels, columns=columns, legend=contents.runs)
    return {page.with_name(f"{page.stem}-{name}.png"): png_bytes(figure) for name, figure in figures.items()}


def png_bytes(figure: Figure) -> bytes:
    """Return a matplotlib figure as a PNG file."""
    buffer = io.BytesIO()
    # Without the version of matplotlib in it, the same plot is the same file.
    figure.savefig(buffer, format="png", dpi=_PNG_DPI, metadata={"Software": None})
    return buffer.getvalue()


def check_page_path(out: str | os.PathLike[str]) -> Path:
    """Return the path of an HTML file that can be written; neither the file nor its folder is made yet."""
    path = Path(out)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"out must be the name of a file that ends in .html, got {str(out)!r}")
    if path.is_dir():
        raise IsADirectoryError(f"out must be a file, but {path} is a folder")
    existing = next(folder for folder in path.absolute().parents if folder.exists())
    if not existing.is_dir():
        raise NotADirectoryError(f"out: the folder {path.parent} cannot be made, because {existing} is a file")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise PermissionError(f"out: the folder {existing} is not writable")
    return path
