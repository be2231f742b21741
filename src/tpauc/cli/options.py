"""The options that commands share, with their checks and their help texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tpauc._validation import check_open_share, check_share
from tpauc.classifiers.training_methods import METHODS
from tpauc.cli._checks import UsageError

Model = Literal["linear", "mlp"]
AdvisedModel = Literal["linear", "mlp", "lightgbm"]
if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[METHODS]  # typer makes the choices of an option from it


def _share(parameter: typer.CallbackParam, value: float | None) -> float | None:
    return None if value is None else _checked(check_share, value, parameter)


def open_share(parameter: typer.CallbackParam, value: float) -> float:
    """Return the value of an option that must lie in (0, 1)."""
    return _checked(check_open_share, value, parameter)


def _checked(check: Callable[[float, str], float], value: float, parameter: typer.CallbackParam) -> float:
    try:
        return check(value, str(parameter.opts[0]))
    except ValueError as error:
        raise UsageError(str(error)) from error


Alpha = Annotated[
    float, typer.Option(callback=_share, metavar="SHARE", help="Share of the positives that may be missed, in (0, 1].")
]
Beta = Annotated[
    float,
    typer.Option(callback=_share, metavar="SHARE", help="Share of the negatives that may be false alarms, in (0, 1]."),
]
AlphaOfRun = Annotated[
    float | None, typer.Option("--alpha", callback=_share, metavar="SHARE", help="As for evaluate; a run has its own.")
]
BetaOfRun = Annotated[
    float | None, typer.Option("--beta", callback=_share, metavar="SHARE", help="As for evaluate; a run has its own.")
]
Confidence = Annotated[
    float, typer.Option(callback=open_share, metavar="SHARE", help="Confidence of the intervals, in (0, 1).")
]
Resamples = Annotated[int, typer.Option(min=1, help="Bootstrap resamples for the intervals.")]
Intervals = Annotated[
    Literal["auto", "bootstrap", "delong"],
    typer.Option(
        help="Kind of intervals; auto takes the bootstrap unless it takes long and the region selects many examples."
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Decides everything random.")]
Positive = Annotated[
    str | None, typer.Option(metavar="VALUE", help="Which of its two values is positive; not needed for 0/1 and -1/1.")
]
ScoresFile = Annotated[Path, typer.Argument(metavar="SCORES", help="CSV, TSV, Parquet or NPZ file.")]
LabelColumn = Annotated[str, typer.Option("--label", metavar="COLUMN", help="Column of the labels.")]
ScoreColumns = Annotated[
    list[str], typer.Option("--score", metavar="COLUMN", help="Column of a model's scores; may be repeated.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
DataDir = Annotated[
    Path,
    typer.Option(
        "--data-dir", envvar="TPAUC_DATA", metavar="FOLDER", help="Folder of the image sets; or set TPAUC_DATA."
    ),
]
