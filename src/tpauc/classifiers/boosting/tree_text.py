"""LightGBM's text of a booster, checked before LightGBM reads it.

LightGBM believes what it reads: a text with a child that is no node, a cycle, or lists that are too short makes it
read memory that is not its own, loop for ever or end the process. A text from a run folder may have been written by
anybody, so only what scores need is taken from it, all of it is checked, and a new text is made of that.

A tree with ``n`` leaves has ``n - 1`` nodes, of which 0 is the root. A child ``c >= 0`` is a node, and a later one than
its parent; a child ``c < 0`` is the leaf ``-c - 1``. Every node but the root, and every leaf, is the child of one node.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc._validation import import_extra

_NEXT_TREE = re.compile(r"\n+Tree=\d+\n")
_NUMBERS = re.compile(r"[-+.0-9e]+(?: [-+.0-9e]+)*")
_MOST_LEAVES = 1 << 20
_DECISIONS = (0, 2, 4, 6, 8, 10)  # of numbers: where missing values go, and which values are missing
_OF_NODES = ("split_feature", "threshold", "decision_type", "left_child", "right_child")


def read_booster(text: str, n_features: int) -> Any:
    """Return the `lightgbm.Booster` of a text, for raw scores of rows with so many features.

    A text that LightGBM did not write, or for other features, is a `ValueError`.
    """
    lightgbm = import_extra("lightgbm", "lightgbm")
    try:
        return lightgbm.Booster(model_str=checked_text(text, n_features))
    except lightgbm.basic.LightGBMError as error:
        raise ValueError(f"its trees are not LightGBM's: {error}") from error


def checked_text(text: str, n_features: int) -> str:
    r"""Return a text with the same trees, of what was checked alone.

    Examples
    --------
    >>> header = "tree\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\n\n"
    >>> tree = "Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=0.5\n"
    >>> checked_text(header + tree, 1).split("\n\n")[1].split("\n")
    ['Tree=0', 'num_leaves=1', 'num_cat=0', 'leaf_value=0.5']
    >>> checked_text(header + tree, 2)
    Traceback (most recent call last):
    ...
    ValueError: its trees are for 1 features, not for 2
    """
    if not isinstance(text, str):
        raise ValueError("its trees are not LightGBM's: they are not text")
    header, *parts = _NEXT_TREE.split(text.partition("\nend of trees")[0])
    fields = _fields(header)
    _check_header(fields, n_features)
    trees = [f"Tree={number}\n{_checked_tree(_fields(part), n_features)}\n\n" for number, part in enumerate(parts)]
    lines = [
        "tree",
        "version=v4",
        "num_class=1",
        "num_tree_per_iteration=1",
        "label_index=0",
        f"max_feature_idx={n_features - 1}",
        "feature_names=" + " ".join(f"Column_{number}" for number in range(n_features)),
        "feature_infos=" + " ".join(["none"] * n_features),
        "tree_sizes=" + " ".join(str(len(tree)) for tree in trees),
    ]
    return "\n".join([*lines, "", "".join(trees)]) + "end of trees\n"


def _fields(lines: str) -> dict[str, str]:
    return {name: value for name, _, value in (line.partition("=") for line in lines.split("\n"))}


def _check_header(fields: Mapping[str, str], n_features: int) -> None:
    for name in ("num_class", "num_tree_per_iteration"):
        if fields.get(name) != "1":
            raise ValueError(f"its trees are not LightGBM's: {name} must be 1, found {fields.get(name)!r:.40}")
    if "average_output" in fields:
        raise ValueError("its trees are those of a random forest, not boosted")
    last = fields.get("max_feature_idx", "")
    if last != str(n_features - 1):
        found = str(int(last) + 1) if re.fullmatch(r"\d{1,9}", last) else repr(last[:40])
        raise ValueError(f"its trees are for {found} features, not for {n_features}")


def _checked_tree(fields: Mapping[str, str], n_features: int) -> str:
    """Return the lines of one tree."""
    found = fields.get("num_leaves", "")
    n_leaves = int(found) if re.fullmatch(r"\d{1,7}", found) else 0
    if not 1 <= n_leaves <= _MOST_LEAVES or fields.get("num_cat") != "0" or fields.get("is_linear", "0") != "0":
        raise ValueError(f"a tree is damaged: it must have leaves, and splits of numbers only, found {found!r:.40}")
    names = [*(_OF_NODES if n_leaves > 1 else ()), "leaf_value"]
    values = {name: _numbers(fields, name, n_leaves - (name != "leaf_value")) for name in names}
    if n_leaves > 1:
        _check_nodes(values, n_leaves, n_features)
    lines = [f"num_leaves={n_leaves}", "num_cat=0", *(f"{name}={fields[name]}" for name in names)]
    return "\n".join([*lines, ""])


def _numbers(fields: Mapping[str, str], name: str, size: int) -> npt.NDArray[np.float64]:
    text = fields.get(name, "")
    try:
        numbers = np.array(text.split(" ") if _NUMBERS.fullmatch(text) else [], dtype=np.float64)
    except ValueError:
        numbers = np.empty(0)
    if numbers.size != size or not np.isfinite(numbers).all():
        raise ValueError(f"a tree is damaged: {name} must be {size} finite numbers, found {text!r:.40}")
    return numbers


def _check_nodes(values: Mapping[str, npt.NDArray[np.float64]], n_leaves: int, n_features: int) -> None:
    children = np.concatenate([values["left_child"], values["right_child"]])
    parents = np.tile(np.arange(n_leaves - 1), 2)
    # All leaves and all nodes but the root, each once; a later node than its parent, so there are no cycles.
    whole = np.array_equal(np.sort(children), np.r_[-n_leaves:0, 1 : n_leaves - 1])
    if not whole or ((children >= 0) & (children <= parents)).any():
        raise ValueError("a tree is damaged: its nodes and leaves are not those of a tree")
    if not np.isin(values["split_feature"], np.arange(n_features)).all():
        raise ValueError(f"a tree is damaged: it splits a feature that is none of the {n_features}")
    if not np.isin(values["decision_type"], _DECISIONS).all():
        raise ValueError(f"a tree is damaged: decision_type must be one of {_DECISIONS}")
