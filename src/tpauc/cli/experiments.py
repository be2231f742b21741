"""Options that the trainings of the paper share, and how what was typed becomes a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tpauc.cli._checks import UsageError
from tpauc.region import Region

if TYPE_CHECKING:
    from tpauc.paper.experiments.cells import Request

Value = TypeVar("Value")

DatasetName = Annotated[str, typer.Argument(metavar="DATASET", help="cifar10-lt, cifar100-lt or tiny-imagenet.")]
Subset = Annotated[int, typer.Option(min=1, max=3, help="Which classes are positive: 1, 2 or 3.")]
Epochs = Annotated[int, typer.Option(min=1, help="Passes over the training data.")]
Recipe = Annotated[str, typer.Option(help="How to train, whatever the loss: paper or strong.")]
Split = Annotated[int, typer.Option(min=0, help="Seed of the split into training, validation and test data.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Replace a parameter of the paper; may be repeated."),
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads for torch; as torch chooses by default.")]


def checked_request(**settings: Any) -> Request:
    """Return what is to be trained; a mistake in it is one in what was typed."""
    from tpauc.paper.experiments.cells import Request

    try:
        return Request(**settings)
    except ValueError as error:
        raise UsageError(str(error)) from error


def listed(texts: Sequence[str] | None, kind: Callable[[str], Value], option: str) -> list[Value]:
    """Return the values of an option that may be repeated, and may hold several with commas between them."""
    values = []
    for text in (part.strip() for whole in texts or () for part in whole.split(",")):
        try:
            values.append(kind(text))
        except ValueError as error:
            raise UsageError(f"{option} cannot hold {text!r}: {error}") from error
    return values


def region_of(text: str) -> Region:
    """Return the region that a text such as "0.3" or "0.3:0.5" names.

    >>> region_of("0.3:0.5")
    Region(alpha=0.3, beta=0.5)
    """
    alpha, _, beta = text.partition(":")
    return Region(float(alpha), float(beta or alpha))


def assignments(texts: Sequence[str] | None) -> dict[str, float]:
    """Return what ``--set`` was given.

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
    """Have torch use so many threads."""
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
