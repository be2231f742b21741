"""A fitted model as a folder, written whole or not at all, and read without running code from it.

| file | holds |
| --- | --- |
| ``model.skops`` | the scikit-learn pipeline, from columns to scores |
| ``card.json`` | settings, columns, data, metrics, versions, and the checksum of the model |
| ``test_scores.csv`` | labels and scores of the rows that were not trained on |

skops rebuilds only objects of the types that it trusts or that are listed here, so a foreign file cannot run code. The
weights of a network are stored as arrays, LightGBM's trees as its text.

The folder is made beside its destination and then renamed, so readers find a complete run or none.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple

from tpauc._files import replaced_folder, write_flushed
from tpauc._validation import import_extra
from tpauc.cli._text import Document
from tpauc.cli.errors import UsageError, check_existing, listed
from tpauc.region import Region

MODEL, CARD, TEST_SCORES = "model.skops", "card.json", "test_scores.csv"
REPORT = "report.html"
_REPORT = re.compile(r"report(-\w+)?\.(html|png)")
_KIND = "tpauc run 1"
_FIELDS = {"settings": dict, "target": dict, "columns": dict, "models": list, "sha256": dict}
# The types in our pipelines that skops does not trust by itself.
_TRUSTED = {
    "numpy.dtype",
    "tpauc.classifiers.auto.member_scorers.BoosterMember",
    "tpauc.classifiers.auto.member_scorers.ForestMember",
    "tpauc.classifiers.auto.member_scorers.KernelMember",
    "tpauc.classifiers.auto.member_scorers.LinearMember",
    "tpauc.classifiers.auto.member_scorers.NeighbourMember",
    "tpauc.classifiers.auto.member_scorers.NetworkMember",
    "tpauc.classifiers.auto.member_scorers.NormalScores",
    "tpauc.classifiers.auto.member_scorers.RankedMember",
    "tpauc.classifiers.auto.stacked_members.MemberStack",
    "tpauc.classifiers.tpauc_classifier.TPAUCClassifier",
    "tpauc.metrics._proportions.Proportion",
    "tpauc.metrics.intervals.Interval",
    "tpauc.metrics.operating_points.OperatingPoint",
}


class Run(NamedTuple):
    """The contents of a run."""

    pipeline: Any
    card: Document


# ---------------------------------------------------------------------------------------------------------- writing


def check_run_path(path: Path, *, overwrite: bool) -> Path:
    """Return the full path of a run that can be written; only a former run is replaced, and only with ``overwrite``."""
    import_extra("skops", "cli")
    path = path.resolve()
    known_run = is_run(path)
    names = sorted(file.name for file in path.iterdir()) if known_run else []
    strangers = [name for name in names if name not in (MODEL, CARD, TEST_SCORES) and not _REPORT.fullmatch(name)]
    _check_run_folder_free(path, overwrite=overwrite, is_run=known_run, strangers=strangers)
    try:
        # Permissions would not tell that a file system is read-only.
        os.rmdir(tempfile.mkdtemp(dir=path.parent))
    except OSError as error:
        raise OSError(error.errno, f"the folder {path.parent} cannot be written to: {error.strerror}") from error
    return path


def is_run(path: Path) -> bool:
    """Tell whether a folder holds a run."""
    try:
        read_card(path)
    except (ValueError, OSError):
        return False
    return True


def save_run(path: Path, pipeline: Any, card: Document, test_scores: bytes, *, overwrite: bool = False) -> None:
    """Write a run; a former run is replaced only with ``overwrite``, and only by a complete new one.

    Parameters
    ----------
    path : Path
        The folder to make.
    pipeline : sklearn.pipeline.Pipeline
        Fitted; its last step is a `tpauc.TPAUCClassifier`.
    card : dict
        Values that JSON can hold.
    test_scores : bytes
        A CSV file.
    overwrite : bool, default=False
        Whether an existing run may be replaced.
    """
    path = check_run_path(path, overwrite=overwrite)
    model = _model_bytes(pipeline)
    card = {"kind": _KIND} | card | {"sha256": {MODEL: hashlib.sha256(model).hexdigest()}}
    text = json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    files = {MODEL: model, CARD: text.encode(), TEST_SCORES: test_scores}
    try:
        with replaced_folder(path) as folder:
            for name, contents in files.items():
                write_flushed(folder / name, contents)
    except OSError as error:
        raise OSError(error.errno, f"the run {path} cannot be written: {error.strerror or error}") from error


# ---------------------------------------------------------------------------------------------------------- reading


def read_card(path: Path) -> Document:
    """Return the card of a run."""
    check_existing(path, "the run")
    if not path.is_dir():
        raise UsageError(f"{path} is a file; a run is the folder that `tpauc fit` made")
    try:
        card = json.loads((path / CARD).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"{path} is not a run: it has no {CARD}; `tpauc fit` makes runs") from error
    except ValueError as error:
        raise ValueError(f"{path / CARD} is damaged: it is not JSON") from error
    return _check_card(card, _KIND, _FIELDS, path / CARD)


def run_region(path: Path, alpha: float | None, beta: float | None) -> Region:
    """Return the region of a run, with another ``alpha`` or ``beta`` if given."""
    given = {name: share for name, share in (("alpha", alpha), ("beta", beta)) if share is not None}
    settings = read_card(path)["settings"] | given
    _check_card_fields(settings, {"alpha": int | float, "beta": int | float}, path / CARD)
    return Region(settings["alpha"], settings["beta"])


def load_run(path: Path) -> Run:
    """Return the run in a folder; a file that was altered, or holds foreign types, is a `ValueError`."""
    card = read_card(path)
    import_extra("sklearn", "cli")
    import_extra("skops", "cli")
    file = path / MODEL
    try:
        contents = file.read_bytes()
    except FileNotFoundError as error:
        raise ValueError(f"{path} is not complete: it has no {MODEL}") from error
    if hashlib.sha256(contents).hexdigest() != card["sha256"].get(MODEL):
        raise ValueError(f"{file} is damaged or was replaced: it does not match the checksum in {CARD}")
    return Run(_pipeline_of(contents, file), card)


def _pipeline_of(contents: bytes, file: Path) -> Any:
    import skops.io
    from sklearn.pipeline import Pipeline

    from tpauc.classifiers.tpauc_classifier import TPAUCClassifier

    try:
        foreign = sorted(set(skops.io.get_untrusted_types(data=contents)) - _TRUSTED)
        if foreign:
            raise ValueError(f"it holds {', '.join(foreign):.200}, which a run of this package does not")
        pipeline = skops.io.loads(contents, trusted=sorted(_TRUSTED))
        if not (isinstance(pipeline, Pipeline) and isinstance(pipeline[-1], TPAUCClassifier)):
            raise ValueError("it holds no pipeline that ends in a TPAUCClassifier")
        _restore_network(pipeline[-1])
    # skops, zipfile and json have different errors for a file in the wrong format.
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{file} is not loaded: {error}") from error
    return pipeline


# ----------------------------------------------------------------------------------------------------------- model


def _model_bytes(pipeline: Any) -> bytes:
    """Return the pipeline as a skops file; a network in it is stored as plain arrays."""
    import skops.io

    name, classifier = pipeline.steps[-1]
    stored = copy.copy(pipeline)
    if hasattr(classifier, "module_"):
        classifier = copy.copy(classifier)
        classifier.module_ = {key: value.numpy(force=True) for key, value in classifier.module_.state_dict().items()}
        stored.steps = [*pipeline.steps[:-1], (name, classifier)]
    contents: bytes = skops.io.dumps(stored)
    return contents


def _restore_network(classifier: Any) -> None:
    """Make the network of a classifier from its arrays."""
    if not hasattr(classifier, "module_"):
        return
    torch = import_extra("torch", "torch")

    from tpauc.classifiers.network.networks import NetworkAverage

    state = {key: torch.from_numpy(array) for key, array in classifier.module_.items()}
    classifier.module_ = NetworkAverage.of_perceptrons(state).eval()


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


def _check_card(card: Any, kind: str, fields: Mapping[str, type], where: object) -> dict[str, Any]:
    """Return ``card`` if it is the card of a run with all ``fields``."""
    if not isinstance(card, dict) or card.get("kind") != kind:
        raise ValueError(f"{where} is not the card of a run of this version of tpauc")
    _check_card_fields(card, fields, where)
    return card


def _check_card_fields(part: Mapping[str, Any], fields: Mapping[str, type | UnionType], where: object) -> None:
    """Raise if a part of a card lacks one of the ``fields``, or has it with another type."""
    if wrong := [name for name, sort in fields.items() if not isinstance(part.get(name), sort)]:
        raise ValueError(f"{where} is damaged: {listed(wrong)} is missing or not what it should be")
