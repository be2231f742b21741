"""The command line ``tpauc``. Needs ``tpauc[cli]``.

Results go to stdout, progress and errors to stderr. With ``--json`` stdout holds one JSON document and nothing else.
Packages that take long to import are imported by the command that needs them, so that ``--help`` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from tpauc import __version__
from tpauc.cli.advise import advise
from tpauc.cli.demo import demo
from tpauc.cli.errors import OneLineErrors
from tpauc.cli.evaluate import compare, evaluate
from tpauc.cli.fetch import fetch
from tpauc.cli.fit import fit
from tpauc.cli.plan import plan
from tpauc.cli.report import report
from tpauc.cli.reproduce import differences, search, table
from tpauc.cli.reproduce_figure import figure
from tpauc.cli.score import score
from tpauc.cli.threshold import threshold

app = typer.Typer(
    cls=OneLineErrors,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 done; 2 what was typed must change (an option, a file or column that does not exist, an "
    "output that does); 1 the data or the machine must (one class, NaN, an unreadable file, a full disk); 130 Ctrl-C.",
)
data = typer.Typer(rich_markup_mode=None)
reproduce = typer.Typer(rich_markup_mode=None, help="Rebuild what the paper claims: its figures and its tables.")

_SCORES = "scores.csv --label ill --score model --score rival --alpha 0.1 --beta 0.2"
_MANY_FILES = "'scores/*.parquet' --label ill --score model --alpha 0.1 --beta 0.2 --by site --groups patient"
_PILOT = "--alpha 0.1 --beta 0.2 --difference 0.1 --pilot scores.csv --label ill --score model --score rival"
_PATIENTS = "patients.csv --target ill --positive yes --alpha 0.1 --beta 0.2"
_CELLS = "cifar10-lt --methods CE-RW,TPAUC-Poly --epochs 30 --out table"
_STUDY = "cifar10-lt --method TPAUC-Poly --epochs 30 --trials 20 --out table"

# The commands of each group in the order of its help, with their examples.
for group, command, *examples in (
    (app, fit, f"tpauc fit {_PATIENTS} --out run"),
    (app, score, "tpauc score run new.csv --keep patient --out scores.csv"),
    (
        app,
        threshold,
        "tpauc threshold run",
        "tpauc threshold run --rule cost --miss-cost 50 --alarm-cost 1",
        "tpauc threshold run --rule max_tpr --guarantee 0.95",
    ),
    (app, evaluate, f"tpauc evaluate {_SCORES}", f"tpauc evaluate {_MANY_FILES}", "tpauc evaluate run"),
    (app, compare, f"tpauc compare {_SCORES}"),
    (app, plan, "tpauc plan --alpha 0.1 --beta 0.2 --tpauc 0.6 --half-width 0.1", f"tpauc plan {_PILOT}"),
    (app, report, "tpauc report run", f"tpauc report {_SCORES}"),
    (app, advise, f"tpauc advise {_PATIENTS}"),
    (app, demo, "tpauc demo --out demo"),
    (data, fetch, "tpauc data fetch cifar10 --data-dir data"),
    (reproduce, figure, "tpauc reproduce figure areas --out figures"),
    (reproduce, table, f"tpauc reproduce table {_CELLS}"),
    (reproduce, search, f"tpauc reproduce search {_STUDY}"),
    (reproduce, differences, "tpauc reproduce differences table --against CE-RW,SqAUC"),
):
    # The first character keeps the lines as they are.
    title = "\b\nExamples:" if len(examples) > 1 else "\b\nExample:"
    group.command(epilog="\n  ".join([title, *examples]))(command)
app.add_typer(data, name="data")
app.add_typer(reproduce, name="reproduce")


def main() -> None:
    """Run the command line, as the program ``tpauc`` does."""
    app(prog_name="tpauc")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tpauc {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _tpauc(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train and evaluate classifiers in the corner of the ROC plot where they are used.

    The corner is a region: catch at least 1 - alpha of the positives with false alarms on at most beta of the
    negatives. TPAUC is the share of it under the ROC curve. "tpauc COMMAND --help" shows an example of each command.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


@data.callback()  # without it typer would turn a group with one command into that command
def _data() -> None:
    """Fetch the image sets of the paper."""
