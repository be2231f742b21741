"""The options that several commands share, with their checks and their help texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tpauc._validation import check_open_share, check_positive, check_share
from tpauc.classifiers.training_methods import METHODS
from tpauc.cli.errors import UsageError

Model = Literal["linear", "mlp", "auto", "auto-fast", "lightgbm"]
if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[METHODS]  # typer makes the choices of an option from it


def _share(parameter: typer.CallbackParam, value: float | None) -> float | None:
    return None if value is None else _checked(check_share, value, parameter)


def open_share(parameter: typer.CallbackParam, value: float) -> float:
    """Return the value of an option that must lie in (0, 1)."""
    return _checked(check_open_share, value, parameter)


def optional_open_share(parameter: typer.CallbackParam, value: float | None) -> float | None:
    """Return the value of an option that may be left out, and else must lie in (0, 1)."""
    return None if value is None else _checked(check_open_share, value, parameter)


def _positive(parameter: typer.CallbackParam, value: float | None) -> float | None:
    return None if value is None else _checked(check_positive, value, parameter)


def _checked(check: Callable[[float, str], float], value: float, parameter: typer.CallbackParam) -> float:
    try:
        return check(value, str(parameter.opts[0]))
    except ValueError as error:
        raise UsageError(str(error)) from error


def _memory(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[1-9]\d*(\.\d+)?\s*[KMGT]i?B", value, flags=re.IGNORECASE):
        raise UsageError(f"--memory must be a number with a unit, such as 500MB or 1GB, got {value!r}")
    return value


# ---------------------------------------------------------------------------------------------- region and intervals

Alpha = Annotated[
    float, typer.Option(callback=_share, metavar="SHARE", help="Share of the positives that may be missed, in (0, 1].")
]
Beta = Annotated[
    float,
    typer.Option(callback=_share, metavar="SHARE", help="Share of the negatives that may be false alarms, in (0, 1]."),
]
AlphaOfRun = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        callback=_share,
        metavar="SHARE",
        help="Share of the positives that may be missed, in (0, 1]; a run has its own.",
    ),
]
BetaOfRun = Annotated[
    float | None,
    typer.Option(
        "--beta",
        callback=_share,
        metavar="SHARE",
        help="Share of the negatives that may be false alarms, in (0, 1]; a run has its own.",
    ),
]
Confidence = Annotated[
    float, typer.Option(callback=open_share, metavar="SHARE", help="Confidence of the intervals, in (0, 1).")
]
Resamples = Annotated[int, typer.Option(min=1, help="Bootstrap resamples for the intervals.")]
Intervals = Annotated[
    Literal["auto", "bootstrap", "delong"],
    typer.Option(
        help="Kind of intervals; auto takes the bootstrap unless it is slow and the region selects many examples."
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        callback=_positive,
        metavar="SECONDS",
        help="For --model auto and auto-fast: seconds of a training after which no further model joins the stack; the "
        "first one is always finished.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Decides everything random.")]

# ----------------------------------------------------------------------------------------------------------- tables

TrainingTable = Annotated[
    Path, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet or NPZ file, one example per row.")
]
Target = Annotated[str, typer.Option("--target", "--label", metavar="COLUMN", help="Column to predict, of two values.")]
Positive = Annotated[
    str | None, typer.Option(metavar="VALUE", help="Which of its two values is positive; not needed for 0/1 and -1/1.")
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN",
        help="Column that rows of a group share, such as a patient or a card: they are never trained on and judged by "
        "at once. It is not a feature.",
    ),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")]
ScoresFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="SCORES...",
        help="CSV, CSV.GZ, Parquet, TSV or NPZ files; a folder or a glob in quotes; - for CSV from standard input; or "
        "a run that fit made, for the scores of its test rows.",
    ),
]
LabelColumn = Annotated[
    str | None, typer.Option("--label", metavar="COLUMN", help="Column of the labels; a run has its own.")
]
ScoreColumns = Annotated[
    list[str] | None,
    typer.Option("--score", metavar="COLUMN", help="Column of a model's scores; may be repeated. A run has its own."),
]
TwoScoreColumns = Annotated[
    list[str] | None,
    typer.Option("--score", metavar="COLUMN", help="Column of a model's scores; give two of them, as in the run."),
]
ByColumn = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMN", help="Column of subgroups, such as a site; each is evaluated on its own."),
]
GroupsColumn = Annotated[
    str | None,
    typer.Option(
        "--groups", metavar="COLUMN", help="Column of what rows belong to, such as a patient; intervals are by group."
    ),
]
Engine = Annotated[
    Literal["duckdb", "polars", "spark"] | None,
    typer.Option(
        help="Evaluate by this engine, with large-sample intervals, instead of in memory; without it, duckdb from "
        "about 10 million rows on. Spark is found by SPARK_REMOTE, or SPARK_MASTER, or runs as local[*]."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        callback=_memory,
        metavar="SIZE",
        help="What the program may take, from 1GB on; of less, duckdb takes three quarters and Python 250 MB. For "
        "spark the memory of its driver. It implies duckdb.",
    ),
]

# ----------------------------------------------------------------------------------------------------------- output

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]

# ------------------------------------------------------------------------------------------- experiments of the paper

DataDir = Annotated[
    Path,
    typer.Option(
        "--data-dir", envvar="TPAUC_DATA", metavar="FOLDER", help="Folder of the image sets; or set TPAUC_DATA."
    ),
]
DatasetName = Annotated[str, typer.Argument(metavar="DATASET", help="cifar10-lt, cifar100-lt or tiny-imagenet.")]
Subset = Annotated[int, typer.Option(min=1, max=3, help="Which classes are positive: 1, 2 or 3.")]
Epochs = Annotated[int, typer.Option(min=1, help="Passes over the training data.")]
Recipe = Annotated[str, typer.Option(help="How to train, whatever the loss: paper, authors or strong.")]
Split = Annotated[int, typer.Option(min=0, help="Seed of the split into training, validation and test data.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Replace a parameter of the paper; may be repeated."),
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads for torch; torch chooses by default.")]
