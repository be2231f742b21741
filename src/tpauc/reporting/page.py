"""The report: one HTML file that needs nothing else, and its plots as PNG files. Needs ``tpauc[report]``.

The page loads nothing and can be read without scripts. Its script, ``templates/script``, lets readers move the
region and the threshold. Equal input, seeds and dates give equal bytes.
"""

from __future__ import annotations

import datetime
import os
import platform
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tpauc import __version__
from tpauc._files import write_together
from tpauc._validation import FloatArray, brief, check_choice, check_flag, check_path, check_text, import_extra
from tpauc.metrics.intervals import METHODS, IntervalOptions, check_rows
from tpauc.metrics.operating_points import BY_GROUPS, OperatingPoint
from tpauc.region import Region
from tpauc.reporting.embedding import embedded
from tpauc.reporting.figures import (
    History,
    check_history,
    check_named_scores,
    roc_panels,
    rule_legend,
    score_panel,
    training_panels,
)
from tpauc.reporting.findings import Rows, bands, how_made, leading, measured, standings
from tpauc.reporting.panels import look_of
from tpauc.reporting.plots import draw, png_bytes
from tpauc.reporting.rendering import rendered
from tpauc.reporting.wording import alike, headline, share_text, stakeholder_title

_PNG_COLUMNS = {"roc": 2, "scores": 2, "training": 3}


def report(
    y_true: npt.ArrayLike,
    scores: Mapping[str, npt.ArrayLike],
    *,
    alpha: float,
    beta: float,
    out: str | os.PathLike[str],
    title: str | None = None,
    history: History | Mapping[str, History] | None = None,
    operating_points: Mapping[str, OperatingPoint] | None = None,
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | None = 0,
    intervals: str = "auto",
    pngs: bool = True,
    overwrite: bool = True,
    date: datetime.date | str | None = None,
    command: str | None = None,
) -> Path:
    """Write a self-contained HTML report on one or several models, and its plots as PNG files.

    Readers can move the region and the threshold in the page: areas, ranking, rates and their exact intervals follow,
    computed from the counts that the page holds. The address of the page keeps what they chose.

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
    title : str, optional
        By default one that says how many models there are and what the region asks of them.
    history : list of mappings, or mapping of str to such lists, optional
        The course of training, as in :func:`tpauc.plot_training`. A run with the name of a model has the same colour.
    operating_points : mapping of str to OperatingPoint, optional
        The threshold of a model with its rates on these rows, as :func:`tpauc.evaluate_threshold` returns it. It comes
        first, with its guarantee if it has one: ``dataclasses.replace(judged, rule=picked.rule,
        guarantee=picked.guarantee)`` takes the guarantee over from the point that was picked on other rows. For another
        model the threshold is picked on these rows, and the page says so, as that flatters it.
    groups : array-like of shape (n,), optional
        The patient, card or site of each row, as in :func:`tpauc.tpauc_interval`.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights, as in :func:`tpauc.tpauc_interval`. Whole numbers stand for repeated rows.
    confidence, n_resamples, random_state
        As in :func:`tpauc.tpauc_interval`.
    intervals : {"auto", "bootstrap", "delong"}, default="auto"
        How they are made, the ``method`` of :func:`tpauc.tpauc_interval`; the page says which one was taken.
    pngs : bool, default=True
        Whether to write ``NAME-roc.png``, ``NAME-scores.png`` and ``NAME-training.png`` beside ``NAME.html``.
    overwrite : bool, default=True
        Whether files of these names may be replaced; if not they are an error, also if they appear while the report is
        made.
    date : datetime.date or str, optional
        The date at the end of the page, as a date or as "2026-01-31". By default today, in UTC, or the time in the
        environment variable ``SOURCE_DATE_EPOCH`` if it is set.
    command : str, optional
        The command that made the report, at the end of the page; by default this call.

    Returns
    -------
    pathlib.Path
        The HTML file. Files appear when all of them are complete; an error leaves existing files as they were.

    Notes
    -----
    The page holds each ranking in counts, so areas in other regions are exact too, up to about 300,000 changes between
    the classes along all curves together. Of longer curves the area in the report's own region stays exact; for other
    regions the page shows the bound of its error. It stays below 3 MB (`benchmarks/report_size.py`).

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
    rows = _checked_rows(y_true, scores, sample_weight, groups)
    given = _check_points(operating_points, rows.scores)
    title = stakeholder_title(list(rows.scores), region) if title is None else check_text(title, "title")
    check_flag(pngs, "pngs")
    check_flag(overwrite, "overwrite")
    made_on = _check_date(date)
    made_by = _call_text(region, options) if command is None else check_text(command, "command")
    only_run = next(iter(rows.scores)) if len(rows.scores) == 1 else "run"
    runs = {} if history is None else check_history(history, only_run=only_run)
    page = check_page_path(out)
    for module in ("jinja2", "matplotlib") if pngs else ("jinja2",):
        import_extra(module, "report")
    models = measured(rows, region, options, given)
    best = leading(models)
    # A threshold that was given is in use, so it is stated even if another model is better.
    shown = next((model for model in models if model.given), best)
    points = {model.name: model.point for model in models}
    curve_bands = bands(rows, region, options.confidence)
    # A run with the name of a model looks like the model, other runs come after the models.
    looks = {name: look_of(number) for number, name in enumerate(dict.fromkeys([*rows.scores, *runs]))}
    panels = {
        "roc": roc_panels(
            rows.positive, rows.scores, points, region, weight=rows.weight, bands=curve_bands, focus=shown.name
        ),
        "scores": [
            score_panel(name, rows.positive, values, points[name], region, rows.weight)
            for name, values in rows.scores.items()
        ],
        "training": training_panels(runs, looks),
    }
    legends = {
        "roc": [(name, looks[name]) for name in rows.scores],
        "scores": rule_legend(),
        "training": [(name, looks[name]) for name in runs],
    }
    level = share_text(options.confidence)
    twins = alike(rows.scores)
    html = rendered(
        title=title,
        sentences=headline(standings(models, rows, region, options), twins, region, level),
        models=models,
        like_first=next((names for names in twins if models[0].name in names), []),
        best=best,
        shown=shown,
        region=region,
        rows=rows,
        by_rows=", ".join(model.name for model in models if model.point.intervals["tpr"].method != BY_GROUPS),
        level=level,
        how_made=how_made(models, options.n_resamples),
        # The bars of all differences share one scale; without differences any scale will do.
        widest=max(
            (max(abs(model.versus_first.low), abs(model.versus_first.high)) for model in models if model.versus_first),
            default=0.0,
        )
        or 1.0,
        panels=panels,
        legends=legends,
        data=embedded(
            rows,
            models,
            region,
            bands=curve_bands,
            score_panels=panels["scores"],
            focus=shown.name,
            confidence=options.confidence,
        ),
        made_on=made_on,
        made_by=made_by,
        seed=_seed_text(random_state),
        versions=_versions(),
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


# ------------------------------------------------------------------------------------------------------------- origin


def _call_text(region: Region, options: IntervalOptions) -> str:
    """Return the call that makes such a report, without its data."""
    corner, how = f"alpha={region.alpha}, beta={region.beta}", f"intervals={options.method!r}"
    level = f"confidence={options.confidence}, n_resamples={options.n_resamples}"
    return f"tpauc.report(y_true, scores, {corner}, {level}, {how})"


def _seed_text(random_state: int | np.random.Generator | None) -> str:
    if isinstance(random_state, np.random.Generator):
        return "a generator of the caller"
    return "none" if random_state is None else str(random_state)


def _versions() -> list[tuple[str, str]]:
    import scipy

    numpy, scipy_version = np.__version__, str(scipy.__version__)
    return [("tpauc", __version__), ("Python", platform.python_version()), ("NumPy", numpy), ("SciPy", scipy_version)]


# ------------------------------------------------------------------------------------------------------------- checks


def _checked_rows(
    y_true: npt.ArrayLike,
    scores: Mapping[str, npt.ArrayLike],
    sample_weight: npt.ArrayLike | None,
    groups: npt.ArrayLike | None,
) -> Rows:
    """Return what a user gave without rows of weight 0."""
    positive, checked = check_named_scores(y_true, scores)
    found = check_rows(positive, checked, sample_weight, groups, None)
    return Rows(found.positive, dict(zip(checked, found.scores, strict=True)), found.weight, found.groups)


def _check_date(date: datetime.date | str | None) -> str:
    """Return the date of the report as text."""
    if date is None:
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if epoch is None:
            return datetime.datetime.now(datetime.UTC).date().isoformat()
        try:
            return datetime.datetime.fromtimestamp(int(epoch), datetime.UTC).date().isoformat()
        except (ValueError, OverflowError, OSError) as error:
            raise ValueError(f"SOURCE_DATE_EPOCH must be a number of seconds since 1970, got {epoch!r}") from error
    # pandas' missing date is a date as well.
    if isinstance(date, datetime.date) and date == date:
        return f"{date.year:04}-{date.month:02}-{date.day:02}"
    if not isinstance(date, str):
        raise TypeError(f"date must be a date or a text such as '2026-01-31', got {brief(date)}")
    try:
        return datetime.date.fromisoformat(date).isoformat()
    except ValueError as error:
        raise ValueError(f"date must be a date or a text such as '2026-01-31', got {brief(date)}") from error


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
