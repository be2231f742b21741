"""`tpauc reproduce differences`: which methods of a table differ, image by image."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tpauc.cli.experiments import listed
from tpauc.cli.options import AsJson, DataDir, Debug

if TYPE_CHECKING:
    from tpauc.paper.experiments.differences import Difference


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
    from tpauc._files import write_atomically
    from tpauc.cli._checks import check_existing
    from tpauc.paper.experiments.differences import AGAINST, NOTE, as_markdown, tables_of_differences
    from tpauc.paper.experiments.differences import differences as compared

    check_existing(out, "the folder of the table")
    found = compared(out, data_dir, tuple(listed(against, str, "--against")) or AGAINST)
    write_atomically(out / "differences.md", as_markdown(found).encode())
    if as_json:
        typer.echo(json.dumps([_document(item) for item in found], indent=2, ensure_ascii=False))
        return
    typer.echo("\n\n".join([NOTE, *(table.plain() for table in tables_of_differences(found))]))


def _document(item: Difference) -> dict[str, Any]:
    row = item.first
    return {
        "dataset": row.dataset,
        "subset": row.subset,
        "split": row.split,
        "recipe": row.recipe,
        "epochs": row.epochs,
        "seed": row.seed,
        "alpha": row.alpha,
        "beta": row.beta,
        "method": row.method,
        "parameters": row.parameters,
        "minus": item.second.method,
        "minus_parameters": item.second.parameters,
        **{name: getattr(item.found, name) for name in ("difference", "low", "high", "p_value")},
    }
