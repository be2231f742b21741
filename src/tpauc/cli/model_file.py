"""The model of a run as a skops file: what is stored, and which files are loaded.

The weights of a network are stored as arrays, boosted trees as LightGBM's text, and the members of a stack as both. A
file is read only if every node of it is of a kind and a type that a pipeline of this package has: of the hundreds of
types that skops trusts, some read files that a table names, and others read memory by indices from the file. No file
is known that runs code or writes files when it is loaded so, with the versions of skops that are declared; SECURITY.md
says what is promised.
"""

from __future__ import annotations

import copy
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tpauc._validation import brief, import_extra

# The types in our pipelines: those that skops does not trust by itself, and those that it does.
_MEMBERS = ("Booster", "Forest", "Kernel", "Linear", "Neighbour", "Network", "Ranked")
_TRUSTED = {
    "numpy.dtype",
    *(f"tpauc.classifiers.auto.member_scorers.{kind}Member" for kind in _MEMBERS),
    "tpauc.classifiers.auto.member_scorers.NormalScores",
    "tpauc.classifiers.auto.stacked_members.MemberStack",
    "tpauc.classifiers.boosting.booster.TPAUCBooster",
    "tpauc.classifiers.tpauc_classifier.TPAUCClassifier",
    "tpauc.metrics._proportions.Proportion",
    "tpauc.metrics.intervals.Interval",
    "tpauc.metrics.operating_points.OperatingPoint",
}
_TYPES = {
    *_TRUSTED,
    *(f"builtins.{name}" for name in ("dict", "list", "slice", "str", "tuple")),
    "numpy.ndarray",
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.impute._base.MissingIndicator",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing._encoders.OneHotEncoder",
}
_NUMBERS = re.compile(r"numpy\.(bool_?|u?int\d+|float\d+)")
_NODES = {
    f"{kind}Node" for kind in ("Cached", "DType", "Dict", "Json", "List", "NdArray", "Object", "Slice", "Tuple", "Type")
}
_NAMES = ("__module__", "__class__", "__loader__")


def model_bytes(pipeline: Any) -> bytes:
    """Return the pipeline as a skops file; a network or trees in it are stored as plain arrays or text."""
    import skops.io

    name, classifier = pipeline.steps[-1]
    stored, classifier = copy.copy(pipeline), copy.copy(classifier)
    if hasattr(classifier, "module_"):
        classifier.module_ = {key: value.numpy(force=True) for key, value in classifier.module_.state_dict().items()}
    if hasattr(classifier, "paths_"):
        classifier.paths_ = [path.stored() for path in classifier.paths_]
        classifier.shares_ = [[*rounds, share] for rounds, share in classifier.shares_.items()]
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


def _restore_trees(classifier: Any) -> None:
    """Make the boosted trees of a classifier from LightGBM's text."""
    if not hasattr(classifier, "paths_"):
        return
    from tpauc.classifiers.boosting.boosting_path import BoostingPath, Rounds

    classifier.paths_ = [BoostingPath.restored(path, classifier.n_features_in_) for path in classifier.paths_]
    classifier.shares_ = {Rounds(*rounds): share for *rounds, share in classifier.shares_}


# ---------------------------------------------------------------------------------------------------------- reading


def read_model(contents: bytes, file: Path) -> Any:
    """Return the pipeline in a file; a `ValueError` if it is damaged or holds what our pipelines do not."""
    import skops.io
    from sklearn.pipeline import Pipeline

    from tpauc.classifiers.base import RegionClassifier

    try:
        _check_nodes(contents)
        pipeline = skops.io.loads(contents, trusted=sorted(_TRUSTED))
        if not (isinstance(pipeline, Pipeline) and isinstance(pipeline[-1], RegionClassifier)):
            raise ValueError("it holds no pipeline that ends in a classifier of this package")
        _restore_network(pipeline[-1])
        _restore_trees(pipeline[-1])
        if hasattr(pipeline[-1], "stack_"):
            pipeline[-1].stack_.check(pipeline[-1].n_features_in_)
    # skops, zipfile and json have different errors for a file in the wrong format.
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{file} is not loaded: {error}") from error
    return pipeline


def _check_nodes(contents: bytes) -> None:
    """Raise if the file holds a node of a kind or a type that our pipelines do not have."""
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        if packed := [info.filename for info in archive.infolist() if info.compress_type != zipfile.ZIP_STORED]:
            raise ValueError(f"{packed[0]!r:.80} in it is compressed, which runs are not")
        schema = json.loads(archive.read("schema.json"))
    foreign = {name for node in _nodes(schema) if (name := _foreign(node)) is not None}
    if foreign:
        raise ValueError(f"it holds {', '.join(sorted(foreign)):.200}, which a run of this package does not")


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all mappings in a document that name a type or a kind of node."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            if any(name in found for name in _NAMES):
                yield found
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found


def _foreign(node: dict[str, Any]) -> str | None:
    module, name, kind = (node.get(name) for name in _NAMES)
    if not (isinstance(module, str) and isinstance(name, str) and isinstance(kind, str)):
        return brief([module, name, kind])
    if f"{module}.{name}" not in _TYPES and not _NUMBERS.fullmatch(f"{module}.{name}"):
        return f"{module}.{name}"
    return None if kind in _NODES else kind
