"""`tpauc reproduce ...`: what the paper claims, rebuilt, with its numbers beside ours."""

from __future__ import annotations

import typer

from tpauc.cli.reproduce_differences import differences
from tpauc.cli.reproduce_figure import figure
from tpauc.cli.reproduce_search import search
from tpauc.cli.reproduce_table import table

app = typer.Typer(
    rich_markup_mode=None,
    help="Rebuild what the paper claims: its figures and its tables.",
)
app.command(epilog="\b\nExample:\n  tpauc reproduce figure areas --out figures")(figure)
app.command(
    epilog="\b\nExample:\n  tpauc reproduce table cifar10-lt --methods CE-RW,TPAUC-Poly --epochs 30 --out table"
)(table)
app.command(
    epilog="\b\nExample:\n  tpauc reproduce search cifar10-lt --method TPAUC-Poly --epochs 30 --trials 20 --out table"
)(search)
app.command(epilog="\b\nExample:\n  tpauc reproduce differences table --against CE-RW,SqAUC")(differences)
