"""`tpauc reproduce figure`: a figure of the paper as PNG, and its numbers as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tpauc._validation import import_extra
from tpauc.cli._text import aligned, show
from tpauc.cli.errors import UsageError, check_output_path, progress
from tpauc.cli.options import AsJson, DataDir, Debug, Overwrite, Subset, Threads
from tpauc.cli.reproduce import use_threads

if TYPE_CHECKING:
    from tpauc.paper.figures.trials import ImageRuns


def figure(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which figure; --list shows them.")] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for NAME.png and NAME.csv.")] = Path("figures"),
    show_list: Annotated[bool, typer.Option("--list", help="List the figures and make none.")] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Spend more time: minutes, or for what the paper trains on images, 19 to 154 networks, days without a "
            "GPU.",
        ),
    ] = False,
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Images for --full, cifar10-lt, cifar100-lt or tiny-imagenet; the paper's by default.",
        ),
    ] = None,
    subset: Subset = 1,
    data_dir: DataDir = Path("data"),
    threads: Threads = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print what --full trains and how long it takes.")] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Make a figure of the paper: a picture, and its numbers as CSV.

    Every line in the picture is a row of the CSV. "all" makes every figure. With --full, figures of experiments train
    on images, in the folder "table" inside --out: they go on where they were stopped, and several processes may share
    the work.
    """
    import_extra("torch", "paper")
    from tpauc.paper.figures import make_figure
    from tpauc.paper.figures.catalogue import figure_files
    from tpauc.paper.figures.trials import UnfinishedError

    if show_list:
        _show_list(as_json=as_json)
        return
    names = _chosen(name)
    runs = _image_runs(out, data_dir, dataset, subset)
    for option, given in (("--plan", plan), ("--dataset", dataset is not None), ("--subset", subset != 1)):
        if given and not full:
            raise UsageError(f"{option} is about the images of --full; give that as well")
    use_threads(threads)
    if plan:
        _show_plan(names, runs, as_json=as_json)
        return
    for chosen in names:
        files = figure_files(chosen, out)
        check_output_path(files.png, overwrite=overwrite, suffixes=(".png",))
        check_output_path(files.csv, overwrite=overwrite, suffixes=(".csv",))
    written, unfinished = [], []
    for chosen in names:
        progress(f"figure {chosen}")
        try:
            files = make_figure(chosen, out, full=full, data_dir=data_dir, dataset=dataset, subset=subset, say=progress)
        except UnfinishedError as error:  # the other figures may still be made
            unfinished.append(f"{chosen}: {error}")
        else:
            written.append({"name": chosen, "png": str(files.png), "csv": str(files.csv)})
    if written or as_json:
        show(written, [f"{made['png']}  {made['csv']}" for made in written], as_json=as_json)
    if unfinished:
        raise ValueError(f"not made: {'; '.join(unfinished)}")


def _chosen(name: str | None) -> list[str]:
    from tpauc.paper.figures import FIGURES

    if name is None:
        raise UsageError("say which figure to make; tpauc reproduce figure --list shows them")
    if name != "all" and name not in FIGURES:
        raise UsageError(f"there is no figure {name!r}; there are {', '.join(FIGURES)}, and all")
    return list(FIGURES) if name == "all" else [name]


def _image_runs(out: Path, data_dir: Path, dataset: str | None, subset: int) -> ImageRuns:
    from tpauc.paper.figures.catalogue import image_runs

    try:
        return image_runs(out, data_dir, dataset, subset)
    except ValueError as error:
        raise UsageError(f"--{error}") from error


def _show_plan(names: Sequence[str], runs: ImageRuns, *, as_json: bool) -> None:
    from tpauc.paper.experiments.table_folder import duration
    from tpauc.paper.figures import FIGURES
    from tpauc.paper.figures.trials import seconds_left, workload_of

    planned, lines = [], []
    for name in names:
        if (experiment := FIGURES[name].on_images) is None:
            planned.append({"name": name, "trainings": 0, "epochs_left": 0, "seconds": 0})
            lines.append(f"{name}: trains nothing on images")
        else:
            work, seconds = workload_of(experiment, runs), seconds_left(experiment, runs, say=progress)
            planned.append({"name": name, **work._asdict(), "seconds": round(seconds)})
            lines.append(f"{name}: {work}, about {duration(seconds)}")
    show(planned, lines, as_json=as_json)


def _show_list(*, as_json: bool) -> None:
    from tpauc.paper.figures import FIGURES

    figures = [{"name": name, "place": made.place, "shows": made.shows} for name, made in FIGURES.items()]
    show(figures, [aligned([list(item.values()) for item in figures], n_left=3)], as_json=as_json)
