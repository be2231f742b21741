"""What a report is made of: scores of named models, histories of trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray, check_labels_and_scores, check_number, check_text

COUNTERS = ("epoch", "step")  # keys of a history that only say when
_LARGEST_DRAWN = 1e300


def check_named_scores(
    y_true: npt.ArrayLike, scores: Mapping[str, npt.ArrayLike]
) -> tuple[BoolArray, dict[str, FloatArray]]:
    """Return boolean labels and the scores of each model, all of one length, finite, and small enough to be drawn."""
    if not isinstance(scores, Mapping):
        raise TypeError(f"scores must map the name of each model to its scores, got {type(scores).__name__}")
    if not scores:
        raise ValueError("scores must hold at least one model, got an empty mapping")
    checked = {}
    for name, values in scores.items():
        check_text(name, "the name of a model in scores")
        where = f"scores[{name!r}]"
        positive, checked[name] = check_labels_and_scores(y_true, values, score_name=where)
        largest = float(np.abs(checked[name]).max())
        if largest > _LARGEST_DRAWN:
            raise ValueError(f"{where} must lie within +-{_LARGEST_DRAWN:g} to be drawn, found {largest:g}")
    return positive, checked


def check_history(
    history: Sequence[Mapping[str, object]] | Mapping[str, Sequence[Mapping[str, object]]], *, only_run: str
) -> dict[str, Sequence[Mapping[str, object]]]:
    """Return the rows of each run; a bare list of rows becomes the run ``only_run``."""
    runs = dict(history) if isinstance(history, Mapping) else {only_run: history}
    for name, rows in runs.items():
        check_text(name, "the name of a run in history")
        if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Sequence):
            raise TypeError(f"history of {name!r} must be a list with a mapping for each epoch, got {rows!r:.80}")
        if not rows:
            raise ValueError(f"history of {name!r} must hold at least one epoch, got an empty list")
        for number, row in enumerate(rows):
            where = f"history of {name!r}, row {number}"
            if not isinstance(row, Mapping) or not all(isinstance(key, str) for key in row):
                raise TypeError(f"{where} must be a mapping with strings as keys, got {row!r:.80}")
            if "epoch" not in row:
                raise ValueError(f"{where} must have the key 'epoch', found {', '.join(map(repr, row)) or 'no key'}")
            check_number(row["epoch"], f"epoch of {where}")  # type: ignore[arg-type]  # any object: this is the check
    if not any(is_drawable(row[key]) for rows in runs.values() for row in rows for key in row if key not in COUNTERS):
        raise ValueError("history must hold a finite number besides the epoch, found none")
    return runs


def is_drawable(value: object) -> bool:
    """Whether a value is a number that fits on an axis."""
    plain = value.item() if isinstance(value, np.generic) else value
    return isinstance(plain, int | float) and abs(plain) <= _LARGEST_DRAWN
