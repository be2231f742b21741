"""The report: one HTML file that needs nothing else, and its plots as PNG files. Needs ``tpauc[report]``.

The page has no scripts and loads nothing. Equal input and equal seeds give equal bytes. The layout is in
``templates/report.html.jinja``; the template engine escapes all names and titles.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tpauc import __version__
from tpauc._files import write_together
from tpauc._validation import (
    BoolArray,
    FloatArray,
    check_choice,
    check_flag,
    check_groups,
    check_path,
    check_text,
    import_extra,
)
from tpauc.metrics.comparison import Comparison, compare_in_region
from tpauc.metrics.intervals import METHODS, IntervalOptions
from tpauc.metrics.operating_points import OperatingPoint
from tpauc.metrics.summary import Summary, summarise
from tpauc.region import Region
from tpauc.reporting.figures import (
    History,
    check_history,
    check_named_scores,
    roc_panels,
    rule_legend,
    score_panel,
    score_text,
    training_panels,
)
from tpauc.reporting.panels import COLOURS, Area, Look, look_of
from tpauc.reporting.plots import draw, png_bytes

if TYPE_CHECKING:
    from jinja2 import Environment

_SHAPES = {
    "circle": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "square": "M-4 -4h8v8h-8z",
    "diamond": "M0 -5.5L5.5 0L0 5.5L-5.5 0z",
    "triangle": "M0 -5.5L5 4H-5z",
}
_LARGE_SAMPLE = "large-sample (DeLong)"
_PNG_COLUMNS = {"roc": 2, "scores": 2, "training": 3}


@dataclass(frozen=True)
class ModelResult:
    """The numbers of one model in the tables."""

    name: str
    look: Look
    areas: Summary
    point: OperatingPoint
    versus_first: Comparison | None


def report(
    y_true: npt.ArrayLike,
    scores: Mapping[str, npt.ArrayLike],
    *,
    alpha: float,
    beta: float,
    out: str | os.PathLike[str],
    title: str = "TPAUC report",
    history: History | Mapping[str, History] | None = None,
    operating_points: Mapping[str, OperatingPoint] | None = None,
    groups: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | None = 0,
    intervals: str = "auto",
    pngs: bool = True,
    overwrite: bool = True,
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
        The HTML file to write; its name ends in ``.html``. A missing folder is made.
    title : str, default="TPAUC report"
    history : list of mappings, or mapping of str to such lists, optional
        The course of training, as in :func:`tpauc.plot_training`. A run with the name of a model has the same colour.
    operating_points : mapping of str to OperatingPoint, optional
        The threshold of a model with its rates on these rows, as :func:`tpauc.evaluate_threshold` returns it. For
        another model the threshold is picked on these rows, and the page says so, as that flatters it.
    groups : array-like of shape (n,), optional
        The patient, card or site of each row, as in :func:`tpauc.tpauc_interval`.
    confidence, n_resamples, random_state
        As in :func:`tpauc.tpauc_interval`.
    intervals : {"auto", "bootstrap", "delong"}, default="auto"
        How they are made, the ``method`` of :func:`tpauc.tpauc_interval`; the page says which one was taken.
    pngs : bool, default=True
        Whether to write ``NAME-roc.png``, ``NAME-scores.png`` and ``NAME-training.png`` beside ``NAME.html``.
    overwrite : bool, default=True
        Whether files of these names may be replaced; if not they are an error, also if they appear while the report is
        made.

    Returns
    -------
    pathlib.Path
        The HTML file. Files appear when all of them are complete; an error leaves existing files as they were.

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
    given = _check_points(operating_points, checked)
    codes = None if groups is None else check_groups(groups, positive)
    check_text(title, "title")
    check_flag(pngs, "pngs")
    check_flag(overwrite, "overwrite")
    confidence = options.confidence
    only_run = next(iter(checked)) if len(checked) == 1 else "run"
    runs = {} if history is None else check_history(history, only_run=only_run)
    page = check_page_path(out)
    for module in ("jinja2", "matplotlib") if pngs else ("jinja2",):
        import_extra(module, "report")
    models = _measured(positive, checked, region, options, given, codes)
    points = {model.name: model.point for model in models}
    # A run with the name of a model looks like the model, other runs come after the models.
    looks = {name: look_of(number) for number, name in enumerate(dict.fromkeys([*checked, *runs]))}
    panels = {
        "roc": roc_panels(positive, checked, points, region),
        "scores": [score_panel(name, positive, values, points[name], region) for name, values in checked.items()],
        "training": training_panels(runs, looks),
    }
    legends = {
        "roc": [(name, looks[name]) for name in checked],
        "scores": rule_legend(),
        "training": [(name, looks[name]) for name in runs],
    }
    n_positive = int(np.count_nonzero(positive))
    html = _rendered(
        models,
        region,
        (n_positive, positive.size - n_positive),
        given,
        how_made=_how_made(models, n_resamples),
        level=f"{100 * confidence:g}%",
        title=title,
        panels=panels,
        legends=legends,
    )
    files: dict[Path, bytes] = {}
    for kind, drawn in panels.items() if pngs else ():
        if drawn:
            figure = draw(drawn, columns=min(_PNG_COLUMNS[kind], len(drawn)), legend=legends[kind])
            files[page.with_name(f"{page.stem}-{kind}.png")] = png_bytes(figure)
    files[page] = html.encode()
    if not overwrite and (taken := next((path for path in files if path.exists()), None)):
        raise FileExistsError(f"{taken} exists, and overwrite=False; the report is not written")
    write_together(files, what="the report")
    return page


def _check_points(
    points: Mapping[str, OperatingPoint] | None, scores: Mapping[str, FloatArray]
) -> Mapping[str, OperatingPoint]:
    """Return the operating points that were given, each of a model that has scores."""
    if points is None:
        return {}
    if not isinstance(points, Mapping):
        raise TypeError(f"operating_points must be a mapping from names of models, got {type(points).__name__}")
    for name, point in points.items():
        if name not in scores:
            raise ValueError(f"operating_points has the model {name!r}, which has no scores")
        if not isinstance(point, OperatingPoint):
            raise TypeError(
                f"operating_points[{name!r}] must be an OperatingPoint, as evaluate_threshold returns it, got "
                f"{type(point).__name__}"
            )
    return points


def _measured(
    positive: BoolArray,
    scores: Mapping[str, FloatArray],
    region: Region,
    options: IntervalOptions,
    points: Mapping[str, OperatingPoint],
    groups: npt.NDArray[np.intp] | None,
) -> list[ModelResult]:
    """Return the numbers in the tables of every model."""
    first = next(iter(scores))
    results = []
    for number, (name, values) in enumerate(scores.items()):
        areas = summarise(positive, values, region, options, groups=groups)
        versus = None
        if name != first:
            versus = compare_in_region(positive, values, scores[first], region, options, groups=groups)
        results.append(ModelResult(name, look_of(number), areas, points.get(name, areas.point), versus))
    return results


def check_page_path(out: str | os.PathLike[str]) -> Path:
    """Return the path of an HTML file that can be written; neither the file nor its folder is made yet."""
    path = Path(check_path(out, "out"))
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"out must be the name of a file that ends in .html, got {str(out)!r}")
    if path.is_dir():
        raise IsADirectoryError(f"out must be a file, but {path} is a folder")
    existing = next(folder for folder in path.absolute().parents if folder.exists())
    if not existing.is_dir():
        raise NotADirectoryError(f"out: the folder {path.parent} cannot be made, because {existing} is a file")
    try:
        # Permissions would not tell that a file system is read-only.
        tempfile.TemporaryFile(dir=existing).close()
    except OSError as error:
        raise type(error)(error.errno, f"out: the folder {existing} is not writable: {error.strerror}") from error
    return path


# ----------------------------------------------------------------------------------------------------------------- HTML


def _rendered(
    models: Sequence[ModelResult], region: Region, counts: tuple[int, int], given: Collection[str], **shown: object
) -> str:
    """Return the page as HTML; ``counts`` are the positives and negatives, ``given`` the models with a threshold."""
    compared = [model.versus_first for model in models if model.versus_first is not None]
    best = max(models, key=lambda model: model.areas.tpauc.estimate)
    return (
        _environment()
        .get_template("report.html.jinja")
        .render(
            shown,
            models=models,
            best=best,
            # A threshold that was given is in use, so it is stated even if another model is better.
            shown=models[0] if models[0].name in given else best,
            region=region,
            n_positive=counts[0],
            n_negative=counts[1],
            hard_positives=region.hard_positives(counts[0]),
            hard_negatives=region.hard_negatives(counts[1]),
            # The bars of all differences share one scale; without differences any scale will do.
            widest=max((abs(end) for versus in compared for end in (versus.low, versus.high)), default=0.0) or 1.0,
            picked_here=any(model.point.picked_here for model in models),
            version=__version__,
        )
    )


def _how_made(models: Sequence[ModelResult], n_resamples: int) -> str:
    """Return the text that says how the intervals were made."""
    methods = {
        area: {model.name: getattr(model.areas, area.lower()).method for model in models}
        for area in ("TPAUC", "OPAUC", "AUC")
    }
    compared = {model.name: model.versus_first.method for model in models if model.versus_first is not None}
    methods |= {"differences": compared} if compared else {}
    large = {area: [name for name, method in made.items() if method == "delong"] for area, made in methods.items()}
    if all(len(large[area]) == len(made) for area, made in methods.items()):
        return _LARGE_SAMPLE
    listed = [
        area if len(names) == len(methods[area]) else f"{area} of {' and '.join(names)}"
        for area, names in large.items()
        if names
    ]
    resamples = f"{n_resamples:,} resamples"
    return f"{resamples}; {_LARGE_SAMPLE} for {', '.join(listed)}" if listed else resamples


def _environment() -> Environment:
    jinja2 = import_extra("jinja2", "report")
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tpauc.reporting"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"colours": COLOURS, "shapes": _SHAPES}
    environment.filters |= {
        "four": lambda value: f"{value:.4f}",
        "signed": lambda value: f"{value:+.4f}".replace("-", "\N{MINUS SIGN}"),
        "short": lambda value: f"{value:.4g}",
        "score": score_text,
        "rate": lambda value: f"{100 * value:.1f}%",
        "count": lambda value: f"{value:,}",
        "p_value": lambda value: "< 0.001" if value < 0.001 else f"{value:.3f}",
        "percent": lambda share: f"{round(100 * share, 3):g}%",
        "line_path": lambda line: _line_path(line.x, line.y),
        "area_path": _area_path,
    }
    return environment


def _line_path(x: FloatArray, y: FloatArray) -> str:
    """Return SVG path data in a square of 1000 x 1000, with heights measured from the top."""
    points = zip((1000.0 * x).round(2).tolist(), (1000.0 * (1.0 - y)).round(2).tolist(), strict=True)
    return "M" + "L".join(f"{across:g} {down:g}" for across, down in points)


def _area_path(area: Area) -> str:
    base = np.full(2, area.base)
    ends = np.array([area.x[-1], area.x[0]])
    return _line_path(np.append(area.x, ends), np.append(area.y, base)) + "Z"
