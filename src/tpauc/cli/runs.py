"""A fitted model as a folder, written whole or not at all, and read without running code from it.

| file | holds |
| --- | --- |
| ``model.skops`` | the scikit-learn pipeline, from columns to scores |
| ``card.json`` | settings, columns, data, metrics, the threshold, versions, and the checksums of the other files |
| ``test_scores.csv`` | labels and scores of the rows that were not trained on |
| ``out_of_fold.csv`` | labels and scores of training rows, each by a fold that did not see the row |

The model is read back before the run is put in place. The folder is made beside its destination and then renamed, so
readers find a complete run or none. The card alone says which threshold is deployed: another threshold is another card,
and the other files stay as they are.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tpauc._files import recover_folder, replaced_folder, write_atomically, write_flushed
from tpauc._validation import BoolArray, FloatArray, brief, import_extra
from tpauc.cli._text import Document
from tpauc.cli.errors import UsageError, check_existing, listed
from tpauc.cli.labels import read_scores
from tpauc.cli.model_file import model_bytes, read_model
from tpauc.region import Region

MODEL, CARD, TEST_SCORES, OUT_OF_FOLD = "model.skops", "card.json", "test_scores.csv", "out_of_fold.csv"
FILES = (MODEL, CARD, TEST_SCORES, OUT_OF_FOLD)
REPORT = "report.html"
_REPORT = re.compile(r"report(-\w+)?\.(html|png)|\.report\S*\.(tmp|lock|moves)")  # and what a killed one left
_KIND = "tpauc run 2"
_EARLIER_KINDS = ("tpauc run 1",)  # without a threshold, and with scores that were measured from it
_FIELDS = {
    "settings": dict,
    "target": dict,
    "columns": dict,
    "models": list,
    "threshold": dict,
    "score_columns": dict,
    "sha256": dict,
}
_NUMBER = int | float
_PARTS: dict[str, dict[str, Any]] = {
    "settings": {"confidence": _NUMBER},
    "target": {"column": str},
    "threshold": {"alpha": _NUMBER, "beta": _NUMBER, "picked_here": bool, "test": dict},
    "score_columns": {"row": str, "label": str, "models": list},
}
_RATES: dict[str, Any] = {
    **dict.fromkeys(("tpr", "fpr", "precision", "alarm_rate"), dict),
    **dict.fromkeys(("true_positives", "false_positives", "true_negatives", "false_negatives"), int),
    "confidence": _NUMBER,
    "interval": str,
}


class Run(NamedTuple):
    """The model of a run, with its deployed threshold, and the card."""

    pipeline: Any
    card: Document


class RunScores(NamedTuple):
    """Rows of a table with their scores by the name of the model, and the group of each if there are groups."""

    positive: BoolArray
    scores: dict[str, FloatArray]
    groups: np.ndarray[Any, Any] | None = None
    rows: np.ndarray[Any, Any] | None = None  # their numbers in the table, from 0 on; not read from files


# ---------------------------------------------------------------------------------------------------------- writing


def check_run_path(path: Path, *, overwrite: bool) -> Path:
    """Return the full path of a run that can be written; only a former run is replaced, and only with ``overwrite``."""
    import_extra("skops", "cli")
    path = path.resolve()
    if path.parent.is_dir():
        recover_folder(path)
    known_run = is_run(path)
    names = sorted(file.name for file in path.iterdir()) if known_run else []
    strangers = [name for name in names if name not in FILES and not _REPORT.fullmatch(name)]
    _check_run_folder_free(path, overwrite=overwrite, is_run=known_run, strangers=strangers)
    try:
        # Permissions would not tell that a file system is read-only.
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise OSError(error.errno, f"the folder {path.parent} cannot be written to: {error.strerror}") from error
    return path


def is_run(path: Path) -> bool:
    """Tell whether a folder holds a run, of this version or of an earlier one."""
    try:
        card = _card_of(path)
        return card.get("kind") in _EARLIER_KINDS or bool(_check_card(card, path / CARD))
    except (ValueError, OSError):
        return False


def save_run(
    path: Path,
    pipeline: Any,
    card: Document,
    test_scores: RunScores,
    out_of_fold: RunScores | None,
    *,
    overwrite: bool = False,
) -> None:
    """Write a run; a former run is replaced only with ``overwrite``, and only by a complete new one.

    Parameters
    ----------
    path : Path
        The folder to make.
    pipeline : sklearn.pipeline.Pipeline
        Fitted; its last step is a `tpauc.TPAUCClassifier` or a `tpauc.TPAUCBooster`.
    card : dict
        Values that JSON can hold.
    test_scores : RunScores
        The test rows with the scores of all models.
    out_of_fold : RunScores or None
        Training rows with the scores of the deployed model, if its training has folds.
    overwrite : bool, default=False
        Whether an existing run may be replaced.
    """
    path = check_run_path(path, overwrite=overwrite)
    files = {MODEL: model_bytes(pipeline), TEST_SCORES: _score_file(test_scores, card["score_columns"])}
    if out_of_fold is not None:
        files[OUT_OF_FOLD] = _score_file(out_of_fold, card["score_columns"])
    checksums = {name: hashlib.sha256(contents).hexdigest() for name, contents in files.items()}
    text = _card_bytes({"kind": _KIND} | card | {"sha256": checksums})
    files[CARD] = text
    _check_readable(files[MODEL], text.decode(), path)
    try:
        with replaced_folder(path) as folder:
            for name, contents in files.items():
                write_flushed(folder / name, contents)
    except OSError as error:
        raise OSError(error.errno, f"the run {path} cannot be written: {error.strerror or error}") from error


def _check_readable(model: bytes, card: str, path: Path) -> None:
    """Raise, before anything is written, if the run could not be loaded again."""
    try:
        _check_card(json.loads(card), CARD)
        read_model(model, Path(MODEL))
    except ValueError as error:
        raise ValueError(
            f"the run {path} is not written, because it could not be read again: {error}; "
            "please report it with the versions of scikit-learn and skops"
        ) from error


def replace_card(path: Path, card: Document) -> None:
    """Write another card into a run, whole or not at all; the other files stay as they are."""
    write_atomically(path / CARD, _card_bytes(card))


def _card_bytes(card: Document) -> bytes:
    return (json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def score_columns(target: str, groups: str | None, models: Sequence[str]) -> Document:
    """Return the names of the columns in files of scores: the target's own name, and others that differ from it.

    Examples
    --------
    >>> score_columns("fraud", None, ["region", "cross_entropy"])
    {'row': 'row', 'label': 'fraud', 'groups': None, 'models': ['region', 'cross_entropy']}
    """
    taken = [target] if groups is None else [target, groups]
    for name in ("row", *models):
        while name in taken:
            name += "_"
        taken.append(name)
    first_model = len(taken) - len(models)
    return {"row": taken[first_model - 1], "label": target, "groups": groups, "models": taken[first_model:]}


def _score_file(rows: RunScores, names: Mapping[str, Any]) -> bytes:
    """Return a CSV file of labels, 1 for the positive class and 0 for the other, and scores."""
    import pyarrow as pa
    from pyarrow import csv

    assert rows.rows is not None
    columns: dict[str, Any] = {names["row"]: rows.rows + 1, names["label"]: rows.positive.astype(np.int8)}
    if rows.groups is not None:
        columns[names["groups"]] = pa.array(rows.groups, pa.string())
    buffer = io.BytesIO()
    csv.write_csv(pa.table(columns | rows.scores), buffer)
    return buffer.getvalue()


# ---------------------------------------------------------------------------------------------------------- reading


def read_card(path: Path) -> Document:
    """Return the card of a run."""
    return _check_card(_card_of(path), path / CARD)


def _card_of(path: Path) -> Document:
    """Return the card of a run of any version, not checked."""
    check_existing(path, "the run")
    if not path.is_dir():
        raise UsageError(f"{path} is a file; a run is the folder that `tpauc fit` made")
    try:
        card = json.loads((path / CARD).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"{path} is not a run: it has no {CARD}; `tpauc fit` makes runs") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path / CARD} is damaged: it is not JSON") from error
    if not isinstance(card, dict):
        raise ValueError(f"{path / CARD} is not the card of a run")
    return card


def deployed_threshold(card: Document, where: object) -> float:
    """Return the threshold of a run: a row whose score is at least this raises an alarm."""
    value = card["threshold"].get("value")
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{where} is damaged: its threshold must be a finite number, got {value!r}")
    return float(value)


def read_run_scores(path: Path, card: Document, name: str = TEST_SCORES) -> RunScores | None:
    """Return the rows in a file of scores of a run; None if the run has no such file."""
    file, columns = path / name, card["score_columns"]
    if name not in card["sha256"]:
        return None
    _check_unchanged(path, name, card)
    models = columns["models"] if name == TEST_SCORES else columns["models"][:1]
    found = read_scores(file, columns["label"], models, groups=columns.get("groups"))
    return RunScores(found.labels.positive, found.scores, found.groups)


def _check_unchanged(path: Path, name: str, card: Document) -> bytes:
    """Return the contents of a file of a run if they are what they were when the run was made."""
    try:
        contents = (path / name).read_bytes()
    except FileNotFoundError as error:
        raise ValueError(f"{path} is not complete: it has no {name}") from error
    if hashlib.sha256(contents).hexdigest() != card["sha256"].get(name):
        raise ValueError(f"{path / name} is damaged or was replaced: it does not match the checksum in {CARD}")
    return contents


def run_region(path: Path, alpha: float | None, beta: float | None) -> Region:
    """Return the region of a run, with another ``alpha`` or ``beta`` if given."""
    given = {name: share for name, share in (("alpha", alpha), ("beta", beta)) if share is not None}
    settings = read_card(path)["settings"] | given
    check_card_fields(settings, {"alpha": _NUMBER, "beta": _NUMBER}, path / CARD)
    return Region(settings["alpha"], settings["beta"])


def load_run(path: Path) -> Run:
    """Return the run in a folder; a file that was altered, or holds foreign types, is a `ValueError`."""
    card = read_card(path)
    import_extra("sklearn", "cli")
    import_extra("skops", "cli")
    contents = _check_unchanged(path, MODEL, card)
    pipeline = read_model(contents, path / MODEL)
    pipeline[-1].set_threshold(deployed_threshold(card, path / CARD))
    return Run(pipeline, card)


# ---------------------------------------------------------------------------------------------------------- checks


def _check_run_folder_free(path: Path, *, overwrite: bool, is_run: bool, strangers: Sequence[str]) -> None:
    """Raise unless a run may be written to ``path``: it does not exist, is an empty folder, or a run to be replaced."""
    check_existing(path.parent, "the folder of --out,")
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    if not is_run:
        raise UsageError(f"{path} exists and is not a run; choose another --out")
    if not overwrite:
        raise UsageError(f"{path} exists; choose another --out, or give --overwrite to replace that run")
    if strangers:
        raise UsageError(f"{path} holds more than a run, {listed(strangers)}; move that away, or choose another --out")


def _check_card(card: Document, where: object) -> Document:
    """Return ``card`` if it is the card of a run of this version with all fields."""
    if card.get("kind") in _EARLIER_KINDS:
        raise ValueError(
            f"{where} is the card of a run of an earlier version of tpauc, which stored no threshold; make the run "
            "again with `tpauc fit --overwrite`"
        )
    if card.get("kind") != _KIND:
        raise ValueError(f"{where} is not the card of a run of this version of tpauc")
    check_card_fields(card, _FIELDS, where)
    for name, fields in _PARTS.items():
        check_card_fields(card[name], fields, f"{where}, in {name!r},")
    check_card_fields(card["threshold"]["test"], _RATES, f"{where}, in 'threshold',")
    for model in card["models"]:
        if not isinstance(model, dict) or not isinstance(model.get("name"), str):
            raise ValueError(f"{where} is damaged: each of its models must have a name, found {brief(model)}")
    return card


def check_card_fields(part: Mapping[str, Any], fields: Mapping[str, Any], where: object) -> None:
    """Raise if a part of a card lacks one of the ``fields``, or has it with another type."""
    if wrong := [name for name, sort in fields.items() if not isinstance(part.get(name), sort)]:
        raise ValueError(f"{where} is damaged: {listed(wrong)} is missing or not what it should be")
