"""`tpauc reproduce figure`: a figure of the paper as PNG, and its numbers as CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tpauc.commands.options import AsJson, Debug, Overwrite
from tpauc.commands.program import progress
from tpauc.validation import UsageError, check_output_path


def figure(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which figure; --list shows them.")] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for NAME.png and NAME.csv.")] = Path("figures"),
    show_list: Annotated[bool, typer.Option("--list", help="List the figures and make none.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Spend the paper's budget: minutes to hours, not seconds.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Make a figure of the paper: a picture, and its numbers as CSV.

    Every line in the picture is a row of the CSV. "all" makes every figure.
    """
    from tpauc.paper.figures import FIGURES, make_figure
    from tpauc.paper.figures.making import figure_files

    if show_list:
        _show_list(as_json=as_json)
        return
    if name is None:
        raise UsageError("say which figure to make; tpauc reproduce figure --list shows them")
    if name != "all" and name not in FIGURES:
        raise UsageError(f"there is no figure {name!r}; there are {', '.join(FIGURES)}, and all")
    names = list(FIGURES) if name == "all" else [name]
    for chosen in names:
        files = figure_files(chosen, out)
        check_output_path(files.png, overwrite=overwrite, suffixes=(".png",))
        check_output_path(files.csv, overwrite=overwrite, suffixes=(".csv",))
    written = []
    for chosen in names:
        progress(f"figure {chosen}")
        files = make_figure(chosen, out, full=full)
        written.append({"name": chosen, "png": str(files.png), "csv": str(files.csv)})
    if as_json:
        typer.echo(json.dumps(written, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(f"{made['png']}  {made['csv']}" for made in written))


def _show_list(*, as_json: bool) -> None:
    from tpauc.paper.figures import FIGURES

    if as_json:
        listed = [{"name": name, "place": made.place, "shows": made.shows} for name, made in FIGURES.items()]
        typer.echo(json.dumps(listed, indent=2, ensure_ascii=False))
    else:
        widths = [max(map(len, column)) for column in ([*FIGURES], [made.place for made in FIGURES.values()])]
        for name, made in FIGURES.items():
            typer.echo(f"{name:{widths[0]}}  {made.place:{widths[1]}}  {made.shows}")
