"""`tpauc reproduce table`: the paper's tables of results, trained cell by cell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tpauc.cli.experiments import (
    DatasetName,
    Epochs,
    Parameters,
    Recipe,
    Split,
    Subset,
    Threads,
    assignments,
    checked_request,
    listed,
    region_of,
    use_threads,
)
from tpauc.cli.options import AsJson, DataDir, Debug
from tpauc.cli.program import progress

if TYPE_CHECKING:
    from tpauc.paper.experiments.planning import PlannedCell
    from tpauc.paper.experiments.table_folder import Outcome


def table(
    dataset: DatasetName,
    subset: Subset = 1,
    methods: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Methods, with commas between them; by default the 13 of the tables."),
    ] = None,
    seeds: Annotated[list[str] | None, typer.Option(metavar="NUMBERS", help="Seeds, 0 by default.")] = None,
    epochs: Epochs = 50,
    recipe: Recipe = "paper",
    regions: Annotated[
        list[str] | None,
        typer.Option(metavar="SHARES", help="Regions to measure in, such as 0.3,0.4 or 0.3:0.5 for alpha:beta."),
    ] = None,
    per_region: Annotated[
        bool,
        typer.Option("--per-region", help="Train with the parameters of each region, not with those of the first."),
    ] = False,
    parameters: Parameters = None,
    split: Split = 0,
    data_dir: DataDir = Path("data"),
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the table.")] = Path("table"),
    threads: Threads = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print the cells and how long they take; train none.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Train cells of the paper's tables, and print our numbers beside its own.

    Goes on where it was stopped, even if it was killed. Results are added to results.csv and results.md in the folder;
    several processes may share it.
    """
    from tpauc.paper.experiments.methods import PAPER_METHODS
    from tpauc.paper.experiments.table_folder import TableFolder

    request = checked_request(
        dataset=dataset,
        subset=subset,
        methods=listed(methods, str, "--methods") or list(PAPER_METHODS),
        seeds=listed(seeds, int, "--seeds") or [0],
        epochs=epochs,
        recipe=recipe,
        split=split,
        per_region=per_region,
        parameters=assignments(parameters),
        **({"regions": found} if (found := listed(regions, region_of, "--regions")) else {}),
    )
    use_threads(threads)
    folder = TableFolder(out, data_dir)
    if plan:
        _show_plan(folder.plan(request, say=progress), as_json=as_json)
        return
    _show_outcome(folder.fill(request, say=progress), as_json=as_json)


def _show_plan(planned: Sequence[PlannedCell], *, as_json: bool) -> None:
    from tpauc.paper.experiments.cells import region_text
    from tpauc.paper.experiments.planning import duration

    total = sum(item.seconds for item in planned)
    if as_json:
        cells = [
            {"cell": item.cell.title, "epochs_left": item.epochs_left, "seconds": round(item.seconds)}
            for item in planned
        ]
        typer.echo(json.dumps({"cells": cells, "seconds": round(total)}, indent=2, ensure_ascii=False))
        return
    for item in planned:
        cell = item.cell
        state = f"{item.epochs_left} of {cell.epochs} epochs left, about {duration(item.seconds)}"
        regions = " ".join(map(region_text, cell.regions))
        typer.echo(f"{cell.title}: {regions}: {state if item.epochs_left else 'trained'}")
    typer.echo(f"cells: {len(planned)}, about {duration(total)} in all")


def _show_outcome(outcome: Outcome, *, as_json: bool) -> None:
    from tpauc.paper.experiments.text_tables import tables_of

    if as_json:
        rows = [asdict(row) for row in outcome.results]
        document = {"results": rows, "elsewhere": outcome.elsewhere, "failed": outcome.failed}
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n\n".join(found.plain() for found in tables_of(outcome.results)) or "no results yet")
    if outcome.failed:
        raise typer.Exit(1)
