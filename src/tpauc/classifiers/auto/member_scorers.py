"""What a member of the stack is after training: a function from standardised rows to scores.

Each class holds arrays, text or scikit-learn estimators only, so that a fitted stack is saved without pickle
(`tpauc.cli.runs`). `merged` turns the models of several folds into one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logit, ndtri
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors
from sklearn.tree._tree import TREE_LEAF, Tree

from tpauc.classifiers.boosting.tree_text import read_booster

Array = npt.NDArray[Any]

_ROWS_AT_ONCE = 1024  # of products of matrices: their intermediate results stay in the cache


class MemberScorer(Protocol):
    """A function from standardised rows, shape (n, d), to scores, shape (n,)."""

    def __call__(self, X: Array) -> Array:
        """Return the scores."""

    @classmethod
    def merged(cls, parts: Sequence[Self]) -> Self:
        """Return one scorer for the mean of several; a model that is fitted again to all rows is the only part."""


@dataclass
class LinearMember:
    """``X @ coef + intercept``."""

    coef: Array  # shape (d,)
    intercept: float

    def __call__(self, X: Array) -> Array:
        return in_parts(lambda part: part @ self.coef + self.intercept, X)

    @classmethod
    def merged(cls, parts: Sequence[LinearMember]) -> LinearMember:
        """Return the mean, which is linear too."""
        return cls(np.mean([part.coef for part in parts], axis=0), float(np.mean([part.intercept for part in parts])))


@dataclass
class NormalScores:
    """Maps each feature to the normal quantile of its rank among training rows, by interpolation in a table.

    Distances are then not decided by a few rows in a long tail. A value beyond the training rows is as far out as the
    last of them.
    """

    knots: Array  # shape (k, d): quantiles of the features
    values: Array  # shape (k, d): what they are mapped to

    @classmethod
    def of(cls, X: Array, n_knots: int = 201, least: float = 0.003) -> NormalScores:
        """Return the map for training rows; equal values are mapped to the mean of their ranks.

        Examples
        --------
        >>> ranks = NormalScores.of(np.array([[0.0], [1.0], [1000.0]]))
        >>> ranks(np.array([[1.0], [1000.0], [2000.0]])).round(2).ravel().tolist()
        [0.0, 2.75, 2.75]
        """
        shares = np.linspace(0.0, 1.0, n_knots)
        knots, quantiles = np.quantile(X, shares, axis=0), ndtri(np.clip(shares, least, 1.0 - least))
        values = np.empty_like(knots)
        for column in range(X.shape[1]):
            _, run, length = np.unique(knots[:, column], return_inverse=True, return_counts=True)
            values[:, column] = (np.bincount(run, quantiles) / length)[run]
        return cls(knots, values)

    def __call__(self, X: Array) -> Array:
        columns = [np.interp(x, *table) for x, *table in zip(X.T, self.knots.T, self.values.T, strict=True)]
        return np.column_stack(columns).astype(np.float32)


@dataclass
class RankedMember:
    """Another member, on `NormalScores`."""

    ranks: NormalScores
    member: MemberScorer

    def __call__(self, X: Array) -> Array:
        return self.member(self.ranks(X))

    @classmethod
    def merged(cls, parts: Sequence[RankedMember]) -> RankedMember:
        """Return the only part."""
        (only,) = parts
        return only


@dataclass
class KernelMember:
    """A weighted sum of Gaussian bumps ``exp(-gamma |x - landmark|^2)``."""

    landmarks: Array  # float32, shape (m, d)
    gamma: float
    coef: Array  # shape (m,)
    intercept: float

    def features(self, X: Array) -> Array:
        """Return the bumps, shape (n, m)."""
        return np.asarray(rbf_kernel(as_float32(X), self.landmarks, gamma=self.gamma))

    def __call__(self, X: Array) -> Array:
        return in_parts(lambda part: self.features(part).astype(np.float64) @ self.coef + self.intercept, X)

    @classmethod
    def merged(cls, parts: Sequence[KernelMember]) -> KernelMember:
        """Return the only part."""
        (only,) = parts
        return only


@dataclass
class NeighbourMember:
    """The logarithm of the ratio of the mean distances to the nearest negatives and to the nearest positives."""

    positives: Array  # float32, shape (n+, d)
    negatives: Array  # float32, shape (n-, d)
    neighbours: int

    def __call__(self, X: Array) -> Array:
        near, far = (in_parts(partial(self._distance, rows), X) for rows in (self.positives, self.negatives))
        return np.log(far + 1e-3) - np.log(near + 1e-3)

    def _distance(self, rows: Array, X: Array) -> Array:
        search = NearestNeighbors(n_neighbors=min(self.neighbours, len(rows)), algorithm="brute").fit(rows)
        return np.asarray(search.kneighbors(as_float32(X))[0].mean(axis=1), dtype=np.float64)

    @classmethod
    def merged(cls, parts: Sequence[NeighbourMember]) -> NeighbourMember:
        """Return the only part."""
        (only,) = parts
        return only


class BoosterMember:
    """The mean of some LightGBM boosters, kept as LightGBM's own text."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)

    def __call__(self, X: Array) -> Array:
        if not hasattr(self, "_boosters"):
            self._boosters = [read_booster(text, X.shape[1]) for text in self.texts]
        return np.asarray(
            np.mean([found.predict(X, raw_score=True, num_threads=1) for found in self._boosters], axis=0)
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"texts": self.texts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # nothing else is taken from a file

    @classmethod
    def merged(cls, parts: Sequence[BoosterMember]) -> BoosterMember:
        """Return the mean."""
        return cls([text for part in parts for text in part.texts])


class ForestMember:
    """The log-odds of the mean share of positives in the leaves of some trees.

    Parameters
    ----------
    nodes : array
        The nodes of all trees as scikit-learn keeps them, one tree after the other.
    shares : array of shape (nodes,)
        The share of positives in each node.
    sizes : sequence of int
        The number of nodes of each tree.
    n_features : int
    """

    def __init__(self, nodes: Array, shares: Array, sizes: Sequence[int], n_features: int) -> None:
        self.nodes, self.shares, self.sizes, self.n_features = nodes, shares, list(sizes), n_features

    @classmethod
    def of(cls, forest: Any) -> ForestMember:
        """Return the trees of a fitted forest of scikit-learn with the classes False and True."""
        states = [found.tree_.__getstate__() for found in forest.estimators_]
        return cls(
            np.concatenate([state["nodes"] for state in states]),
            np.concatenate([state["values"][:, 0, 1] for state in states]),
            [len(state["nodes"]) for state in states],
            forest.n_features_in_,
        )

    def __call__(self, X: Array) -> Array:
        if not hasattr(self, "_trees"):
            self._trees = self._made_trees()
        X = as_float32(X)
        total = np.zeros(len(X))
        for tree in self._trees:
            total += tree.predict(X)[:, 0]
        n_trees = len(self._trees)
        return np.asarray(logit((total + 0.5) / (n_trees + 1.0)))

    def _made_trees(self) -> list[Any]:
        """Return the trees; nodes that lead outside their tree, which would be read from memory, are an error."""
        trees, ends = [], np.cumsum(self.sizes)
        for start, end in zip(ends - self.sizes, ends, strict=True):
            nodes, numbers = self.nodes[start:end], np.arange(end - start)
            inner = nodes["left_child"] != TREE_LEAF
            for side in ("left_child", "right_child"):
                child = nodes[side][inner]
                if (child <= numbers[inner]).any() or (child >= end - start).any():
                    raise ValueError("a tree of the forest is damaged: a child is not a later node of its tree")
            if not ((nodes["feature"][inner] >= 0) & (nodes["feature"][inner] < self.n_features)).all():
                raise ValueError("a tree of the forest is damaged: it splits a feature that there is not")
            tree = Tree(self.n_features, np.array([1], dtype=np.intp), 1)
            values = np.ascontiguousarray(self.shares[start:end, None, None])
            tree.__setstate__({"max_depth": 0, "node_count": end - start, "nodes": nodes, "values": values})
            trees.append(tree)
        return trees

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in ("nodes", "shares", "sizes", "n_features")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # nothing else is taken from a file

    @classmethod
    def merged(cls, parts: Sequence[ForestMember]) -> ForestMember:
        """Return as many trees as one of the parts has, the same number from each of them."""
        n_kept = max(1, len(parts[0].sizes) // len(parts))
        ends = [sum(part.sizes[:n_kept]) for part in parts]
        return cls(
            np.concatenate([part.nodes[:end] for part, end in zip(parts, ends, strict=True)]),
            np.concatenate([part.shares[:end] for part, end in zip(parts, ends, strict=True)]),
            [size for part in parts for size in part.sizes[:n_kept]],
            parts[0].n_features,
        )


@dataclass
class NetworkMember:
    """The mean logit of some perceptrons with ReLU: for each the weights and biases of its layers."""

    networks: list[list[tuple[Array, Array]]]

    def __call__(self, X: Array) -> Array:
        return in_parts(self._logits, X)

    def _logits(self, X: Array) -> Array:
        total = np.zeros(len(X))
        for layers in self.networks:
            hidden = as_float32(X)
            for weight, bias in layers[:-1]:
                hidden = np.maximum(hidden @ weight + bias, 0.0)
            weight, bias = layers[-1]
            total += (hidden @ weight + bias)[:, 0]
        return total / len(self.networks)

    @classmethod
    def merged(cls, parts: Sequence[NetworkMember]) -> NetworkMember:
        """Return the mean."""
        return cls([network for part in parts for network in part.networks])


def as_float32(X: Array) -> Array:
    """Return rows in half the memory, which is exact enough for distances, and what scikit-learn's trees take."""
    return np.asarray(X, dtype=np.float32)


def in_parts(function: Callable[[Array], Array], X: Array) -> Array:
    """Return what a function of rows returns, shape (n,), computed for the same number of rows each time.

    Products of matrices are rounded differently for other numbers of rows. Rows of zeros fill the last part, so the
    score of a row does not depend on the rows that it is scored with.
    """
    found = []
    for start in range(0, len(X), _ROWS_AT_ONCE):
        part = X[start : start + _ROWS_AT_ONCE]
        full = np.zeros((_ROWS_AT_ONCE, X.shape[1]), dtype=X.dtype)
        full[: len(part)] = part
        found.append(function(full)[: len(part)])
    return np.concatenate(found)
