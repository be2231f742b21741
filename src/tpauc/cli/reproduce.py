"""`tpauc reproduce table | search | differences`: the paper's tables of results, with its numbers beside ours.

* ``table`` trains the cells of a table,
* ``search`` looks for the parameters of a method with the best validation TPAUC,
* ``differences`` compares the methods of a table, image by image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tpauc._files import write_atomically
from tpauc._validation import import_extra
from tpauc.cli._text import Document, aligned, show
from tpauc.cli.errors import UsageError, check_existing, progress
from tpauc.cli.options import (
    AsJson,
    DataDir,
    DatasetName,
    Debug,
    Epochs,
    Parameters,
    Recipe,
    Seed,
    Split,
    Subset,
    Threads,
)
from tpauc.region import Region

if TYPE_CHECKING:
    from tpauc.paper.experiments.cells import Request
    from tpauc.paper.experiments.table_folder import PlannedCell
    from tpauc.paper.experiments.text_tables import Difference, Table

Value = TypeVar("Value")


# ------------------------------------------------------------------------------------------------------------- table


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
    import_extra("torch", "paper")
    from tpauc.paper.experiments.methods import PAPER_METHODS
    from tpauc.paper.experiments.table_folder import TableFolder
    from tpauc.paper.experiments.text_tables import tables_of

    request = _checked_request(
        dataset=dataset,
        subset=subset,
        methods=_values(methods, str, "--methods") or list(PAPER_METHODS),
        seeds=_values(seeds, int, "--seeds") or [0],
        epochs=epochs,
        recipe=recipe,
        split=split,
        per_region=per_region,
        parameters=assignments(parameters),
        **({"regions": found} if (found := _values(regions, parse_region, "--regions")) else {}),
    )
    use_threads(threads)
    folder = TableFolder(out, data_dir)
    if plan:
        _show_plan(folder.plan(request, say=progress), as_json=as_json)
        return
    outcome = folder.fill(request, say=progress)
    document = {
        "results": [asdict(row) for row in outcome.results],
        "elsewhere": outcome.elsewhere,
        "failed": outcome.failed,
    }
    show(document, [_tables_text(tables_of(outcome.results)) or "no results yet"], as_json=as_json)
    if outcome.failed:
        raise typer.Exit(1)


def _show_plan(planned: Sequence[PlannedCell], *, as_json: bool) -> None:
    from tpauc.paper.experiments.cells import region_text
    from tpauc.paper.experiments.table_folder import duration

    total = sum(item.seconds for item in planned)
    cells, lines = [], []
    for item in planned:
        cell = item.cell
        cells.append({"cell": cell.title, "epochs_left": item.epochs_left, "seconds": round(item.seconds)})
        state = f"{item.epochs_left} of {cell.epochs} epochs left, about {duration(item.seconds)}"
        regions = " ".join(map(region_text, cell.regions))
        lines.append(f"{cell.title}: {regions}: {state if item.epochs_left else 'trained'}")
    lines.append(f"cells: {len(planned)}, about {duration(total)} in all")
    show({"cells": cells, "seconds": round(total)}, lines, as_json=as_json)


# ------------------------------------------------------------------------------------------------------------ search


def search(
    dataset: DatasetName,
    method: Annotated[str, typer.Option(metavar="NAME", help="Whose parameters to search.")],
    subset: Subset = 1,
    region: Annotated[
        str, typer.Option(metavar="SHARES", help="Region to search for, such as 0.3, or 0.3:0.5 for alpha:beta.")
    ] = "0.3",
    trials: Annotated[
        int, typer.Option(min=1, help="Finished trials that the study shall have, over all machines.")
    ] = 20,
    epochs: Epochs = 50,
    recipe: Recipe = "paper",
    parameters: Parameters = None,
    seed: Seed = 0,
    split: Split = 0,
    storage: Annotated[
        str | None, typer.Option(metavar="URL", help="Optuna's storage, to share a study; search.db in OUT by default.")
    ] = None,
    data_dir: DataDir = Path("data"),
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of a table, keeps the trainings.")] = Path(
        "table"
    ),
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Search the paper's grids for the parameters with the best validation TPAUC.

    Test data are not used: "tpauc reproduce table --set NAME=VALUE" with the parameters found measures on them, without
    training again. Every process that is given the same --storage takes part in the same study.
    """
    import_extra("torch", "paper")
    from tpauc.paper.experiments.search import Search, StorageError

    request = _checked_request(
        dataset=dataset,
        subset=subset,
        methods=[method],
        seeds=[seed],
        epochs=epochs,
        regions=_values([region], parse_region, "--region"),
        recipe=recipe,
        split=split,
        parameters=assignments(parameters),
    )
    logging = import_extra("optuna", "paper").logging
    logging.set_verbosity(logging.WARNING)  # progress lines say the same
    use_threads(threads)
    try:
        study = Search(request, out, data_dir, storage=storage)
    except ValueError as error:
        raise UsageError(f"--{error}" if isinstance(error, StorageError) else str(error)) from error
    found = study.run(trials, say=progress)
    chosen = f"--regions {region} " + " ".join(f"--set {name}={value:g}" for name, value in found.parameters.items())
    best = f"validation TPAUC {found.validation_tpauc:.4f}, the best of {found.trials}, with {chosen}"
    show(asdict(found), [f"{found.study}: {best}"], as_json=as_json)


# ------------------------------------------------------------------------------------------------------- differences


def differences(
    out: Annotated[Path, typer.Argument(metavar="TABLE", help="Folder that tpauc reproduce table made.")],
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Methods to compare with, by default CE-RW, SqAUC and LogisticAUC."),
    ] = None,
    data_dir: DataDir = Path("data"),
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Compare the methods of a table on the same test images, by a paired bootstrap.

    Tells methods apart whose own intervals overlap. The tables are written to differences.md in the folder, too.
    """
    import_extra("torch", "paper")
    from tpauc.paper.experiments import text_tables

    check_existing(out, "the folder of the table")
    found = text_tables.differences(out, data_dir, tuple(_values(against, str, "--against")) or text_tables.AGAINST)
    write_atomically(out / "differences.md", text_tables.differences_markdown(found).encode())
    text = _tables_text(text_tables.tables_of_differences(found))
    show([_document(item) for item in found], [text_tables.DIFFERENCES_NOTE, "", text], as_json=as_json)


def _document(item: Difference) -> Document:
    row = item.first
    shared = ("dataset", "subset", "split", "recipe", "epochs", "seed", "alpha", "beta", "method", "parameters")
    return {
        **{name: getattr(row, name) for name in shared},
        "minus": item.second.method,
        "minus_parameters": item.second.parameters,
        **{name: getattr(item.found, name) for name in ("difference", "low", "high", "p_value")},
    }


def _tables_text(tables: Sequence[Table]) -> str:
    """Return tables for a terminal, each under its title."""
    return "\n\n".join(
        f"{found.title}\n{aligned([found.columns, *found.lines], n_left=len(found.columns))}" for found in tables
    )


# ----------------------------------------------------------------------------------------------------------- options


def _checked_request(**settings: Any) -> Request:
    """Return what is to be trained; a wrong setting is a mistake in what was typed."""
    from tpauc.paper.experiments.cells import Request

    try:
        return Request(**settings)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _values(texts: Sequence[str] | None, kind: Callable[[str], Value], option: str) -> list[Value]:
    """Return the values of an option that may be repeated, and may hold several values with commas between them."""
    values = []
    for text in (part.strip() for whole in texts or () for part in whole.split(",")):
        try:
            values.append(kind(text))
        except ValueError as error:
            raise UsageError(f"{option} cannot hold {text!r}: {error}") from error
    return values


def parse_region(text: str) -> Region:
    """Return the region that a text such as "0.3" or "0.3:0.5" names.

    >>> parse_region("0.3:0.5")
    Region(alpha=0.3, beta=0.5)
    """
    alpha, _, beta = text.partition(":")
    return Region(float(alpha), float(beta or alpha))


def assignments(texts: Sequence[str] | None) -> dict[str, float]:
    """Return the values of the options ``--set NAME=VALUE``.

    >>> assignments(["exponent=0.1"])
    {'exponent': 0.1}
    """
    values = {}
    for text in texts or ():
        name, _, value = text.partition("=")
        try:
            values[name.strip()] = float(value)
        except ValueError as error:
            raise UsageError(f"--set takes NAME=VALUE with a number, got {text!r}") from error
    return values


def use_threads(threads: int | None) -> None:
    """Set the number of torch's threads."""
    if threads is not None:
        import_extra("torch", "paper").set_num_threads(threads)
