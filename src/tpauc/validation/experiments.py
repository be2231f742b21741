"""Requests for the paper's tables: what is to be trained, and the file of results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from tpauc.validation.arrays import BoolArray
from tpauc.validation.values import check_number, check_share

_OTHER_IMAGES = "give the --data-dir of these results, or choose another --out"


def check_each(values: Sequence[Any], name: str, check: Callable[[Any, str], Any]) -> None:
    """Raise unless ``values`` holds at least one value, each that ``check`` lets pass, none twice."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(f"{name} must be a list, got {values!r}")
    if not values:
        raise ValueError(f"{name} must hold at least one value, got none")
    for value in values:
        check(value, f"each of {name}")
    if twice := [value for place, value in enumerate(values) if value in values[:place]]:
        raise ValueError(f"{name} must hold each value once, got {twice[0]!r} twice")


def check_known_parameters(given: Mapping[str, float], known: Collection[str], methods: Sequence[str]) -> None:
    """Raise if a parameter is set that none of the methods has."""
    if unknown := [name for name in given if name not in known]:
        have = f"their parameters are {', '.join(sorted(known))}" if known else "they have none"
        raise ValueError(f"none of {', '.join(methods)} has a parameter {unknown[0]!r}; {have}")


def check_parameter(value: float, name: str) -> float:
    """Return the value of a parameter: a share, a whole number of epochs, or any number, by its name."""
    if name in ("alpha", "beta"):
        return check_share(value, name)
    if name.endswith("epochs") and (check_number(value, name) < 0.0 or value != int(value)):
        raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}")
    return check_number(value, name)


def check_epochs_before(parameters: Mapping[str, float], epochs: int) -> None:
    """Raise if what comes before a method's own loss, such as a warm-up, would leave it no epoch."""
    for name, value in parameters.items():
        if name.endswith("epochs") and value >= epochs:
            raise ValueError(f"{name} must be less than the {epochs} epochs of the training, got {value:g}")


def check_results_header(found: Sequence[str], expected: Sequence[str], path: object) -> None:
    """Raise if a file of results has other columns than this version writes."""
    if list(found) != list(expected):
        raise ValueError(
            f"{path} is not a file of results of this version: its columns are {', '.join(found) or 'missing'}; "
            "choose another --out"
        )


def check_row_length(values: Sequence[str], columns: Sequence[str]) -> None:
    """Raise unless a line of a file of results has a value for each column."""
    if len(values) != len(columns):
        raise ValueError(f"it has {len(values)} values for {len(columns)} columns")


def check_same_test_data(
    measured: tuple[int, int], given: tuple[int, int], *, what: str, path: object, data_dir: object
) -> None:
    """Raise if results stand on other test data, by their numbers of positives and negatives, than those given."""
    if measured != given:
        raise ValueError(
            f"{path} holds results of {what} on {measured[0]:,} positives and {measured[1]:,} negatives, but the test "
            f"data in {data_dir} have {given[0]:,} and {given[1]:,}; {_OTHER_IMAGES}"
        )


def check_same_labels(kept: BoolArray, given: BoolArray, part: str, path: object) -> None:
    """Raise if scores are kept beside other labels than those of the data that are given."""
    if not np.array_equal(kept, given):
        raise ValueError(f"the scores in {path} are not of the {part} images that are given; {_OTHER_IMAGES}")


def check_single(values: Sequence[Any], name: str) -> None:
    """Raise unless a request that is searched holds one value of ``name``."""
    if len(values) != 1:
        raise ValueError(f"a search takes one of {name}, got {len(values)}: {', '.join(map(str, values))}")


def check_searchable(space: dict[str, tuple[float, ...]], method: str) -> dict[str, tuple[float, ...]]:
    """Return the values to choose from if there is anything to choose."""
    if not space:
        raise ValueError(f"{method} has no parameters to search")
    return space
