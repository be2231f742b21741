"""Trainings that boost with log-loss first and then for the region, in all folds at once, and their validation.

A *path* is the training on the rows that one fold leaves: rounds of log-loss, and rounds for the region (`objective`)
that branch off at some switch points. It passes through candidates. A candidate is the sum of the first ``rounds``
trees of log-loss and of the first ``region_rounds`` trees of the branch that begins there. All candidates of a path
share their trees, so a path costs little more than its longest candidate.

Folds may be repeated. The score of a row is then the mean over the trainings that did not see it. A mean of several
trainings allows more rounds than one of them, and a mean is what the estimator uses in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from tpauc._validation import BoolArray, check_count, import_extra
from tpauc.classifiers._candidates import FoldTPAUC, validate_folds
from tpauc.classifiers.base import TrainingData
from tpauc.classifiers.boosting.objective import SOFTNESS, region_gradient
from tpauc.classifiers.boosting.tree_text import read_booster
from tpauc.classifiers.progress import steps
from tpauc.region import Region

Array = npt.NDArray[Any]
Gradient = Callable[[Array], tuple[Array, Array]]


class Rounds(NamedTuple):
    """A candidate, by its numbers of rounds."""

    rounds: int  # of log-loss
    region_rounds: int


class TreeSequence:
    """Trees boosted one after the other from given scores.

    Parameters
    ----------
    dataset : lightgbm.Dataset
        The rows, whose first scores this sets.
    start : array of shape (n,)
        The first scores.
    gradient : callable
        Maps scores to the gradient and the Hessian.
    tree : dict
        Parameters of LightGBM.
    """

    def __init__(self, dataset: Any, start: Array, gradient: Gradient, tree: dict[str, Any]) -> None:
        self._start, self._gradient = start, gradient
        self._n_trees = {0: 0}  # by the number of rounds; a round that finds no split makes no tree
        self._n_threads = tree["num_threads"]
        self._booster: Any = None
        # LightGBM fails on features that are all constant.
        if any(dataset.feature_num_bin(feature) > 1 for feature in range(dataset.num_feature())):
            dataset.set_init_score(start)
            self._booster = import_extra("lightgbm", "lightgbm").Booster({**tree, "objective": "none"}, dataset)

    def grow(self, rounds: int) -> None:
        """Boost up to a number of rounds."""
        if self._booster is not None:
            first = max(self._n_trees)
            for _ in steps(f"boosting to round {rounds} in a fold", range(first, rounds), rounds - first):
                self._booster.update(fobj=lambda scores, _: self._gradient(scores))
        self._n_trees[rounds] = 0 if self._booster is None else self._booster.current_iteration()

    def scores_of_rows(self) -> Array:
        """Return the current scores of the training rows."""
        found = [self._start]

        def keep(scores: Array, _: Any) -> tuple[str, float, bool]:
            found.append(scores.copy())
            return "", 0.0, True

        if self._booster is not None:
            self._booster.eval_train(feval=keep)
        return found[-1]

    def sums(self, X: Array, before: int, after: int) -> Array | float:
        """Return what the rounds from ``before`` to ``after``, both grown before, add to the scores of ``X``."""
        first, last = self._n_trees[before], self._n_trees[after]
        if first == last:
            return 0.0
        return np.asarray(
            self._booster.predict(
                X, start_iteration=first, num_iteration=last - first, raw_score=True, num_threads=self._n_threads
            )
        )

    def close(self) -> None:
        """Free the training rows; no more rounds."""
        del self._start, self._gradient
        if self._booster is not None:
            # A booster keeps an array as long as its training rows, and would be pickled with it.
            self._booster = type(self._booster)(model_str=self._booster.model_to_string())

    def stored(self) -> dict[str, Any]:
        """Return closed trees as plain values: LightGBM's text, and the numbers of trees after each round."""
        text = "" if self._booster is None else self._booster.model_to_string()
        return {"text": text, "n_trees": [list(pair) for pair in self._n_trees.items()], "n_threads": self._n_threads}

    @classmethod
    def restored(cls, stored: Mapping[str, Any], n_features: int) -> TreeSequence:
        """Return closed trees from what `stored` returned; it may come from a file, so all of it is checked."""
        trees = cls.__new__(cls)
        trees._n_threads = check_count(stored["n_threads"], "n_threads", at_least=-1, at_most=4096)
        trees._booster = read_booster(stored["text"], n_features) if stored["text"] else None
        most = 0 if trees._booster is None else trees._booster.num_trees()
        trees._n_trees = {
            check_count(rounds, "rounds", at_least=0): check_count(number, "n_trees", at_least=0, at_most=most)
            for rounds, number in stored["n_trees"]
        }
        return trees


class BoostingPath:
    """The training on the rows that one fold leaves.

    Parameters
    ----------
    dataset : lightgbm.Dataset
        The rows.
    rows : TrainingData
        The same rows, for their labels and weights.
    region : Region
    offset : float
        First score of all rows, the same in all folds, so that scores may be pooled; not part of the sums below.
    tree : dict
        Parameters of LightGBM.
    region_learning_rate : float
        Of the rounds for the region.
    """

    def __init__(
        self,
        dataset: Any,
        rows: TrainingData,
        region: Region,
        offset: float,
        tree: dict[str, Any],
        region_learning_rate: float,
    ) -> None:
        self._dataset, self._positive, self._weight, self._region = dataset, rows.positive, rows.weight, region
        self._tree = {**tree, "learning_rate": region_learning_rate}
        self._trunk = TreeSequence(dataset, np.full(rows.positive.size, offset), self._log_loss, tree)
        self._switches: dict[int, Array] = {}
        self._branches: dict[int, TreeSequence] = {}

    def _log_loss(self, scores: Array) -> tuple[Array, Array]:
        p, weight = expit(scores), 1.0 if self._weight is None else self._weight
        return weight * (p - self._positive), weight * (p * (1.0 - p))

    def _region_loss(self, scores: Array) -> tuple[Array, Array]:
        return region_gradient(self._positive, scores, self._region, SOFTNESS, self._weight)

    def grow(self, candidate: Rounds) -> None:
        """Train up to a candidate: candidates of log-loss first, and shorter candidates before longer ones."""
        switch = candidate.rounds
        if candidate.region_rounds == 0:
            self._trunk.grow(switch)
            self._switches[switch] = self._trunk.scores_of_rows()
            return
        if switch not in self._branches:
            self._branches[switch] = TreeSequence(self._dataset, self._switches[switch], self._region_loss, self._tree)
        self._branches[switch].grow(candidate.region_rounds)

    def added(self, X: Array, before: Rounds | None, after: Rounds) -> Array | float:
        """Return what a candidate adds to the scores of its `parent`; None is the beginning."""
        if before is None:
            return self._trunk.sums(X, 0, after.rounds)
        if after.region_rounds == 0:
            return self._trunk.sums(X, before.rounds, after.rounds)
        return self._branches[after.rounds].sums(X, before.region_rounds, after.region_rounds)

    def weighted(self, X: Array, shares: dict[Rounds, float]) -> Array:
        """Return the weighted mean of the candidates' scores for rows ``X``, shape (n,)."""
        candidates, total = list(shares), np.zeros(len(X))
        for candidate in candidates:
            # The weight of a tree is the total weight of the candidates that contain it.
            weight = sum(share for other, share in shares.items() if _is_part(candidate, other))
            if weight > 0.0:
                total += weight * self.added(X, parent(candidate, candidates), candidate)
        return total

    def close(self) -> None:
        """Free the training rows."""
        del self._dataset, self._positive, self._weight, self._switches
        for trees in (self._trunk, *self._branches.values()):
            trees.close()

    def stored(self) -> dict[str, Any]:
        """Return a closed path as plain values, from which `restored` makes one that gives the same scores."""
        return {
            "trunk": self._trunk.stored(),
            "branches": [[switch, trees.stored()] for switch, trees in self._branches.items()],
        }

    @classmethod
    def restored(cls, stored: Mapping[str, Any], n_features: int) -> BoostingPath:
        """Return a closed path from what `stored` returned."""
        path = cls.__new__(cls)
        path._trunk = TreeSequence.restored(stored["trunk"], n_features)
        path._branches = {switch: TreeSequence.restored(trees, n_features) for switch, trees in stored["branches"]}
        return path


def parent(candidate: Rounds, candidates: Sequence[Rounds]) -> Rounds | None:
    """Return the longest other candidate whose trees are all part of this one; None if there is none.

    Examples
    --------
    >>> parent(Rounds(20, 0), [Rounds(10, 0), Rounds(20, 0), Rounds(10, 5)])
    Rounds(rounds=10, region_rounds=0)
    >>> parent(Rounds(10, 5), [Rounds(10, 0), Rounds(20, 0), Rounds(10, 5)])
    Rounds(rounds=10, region_rounds=0)
    """
    return max((other for other in candidates if other != candidate and _is_part(other, candidate)), default=None)


def _is_part(part: Rounds, whole: Rounds) -> bool:
    """Return whether ``whole`` has all trees of ``part``."""
    if part.region_rounds == 0:
        return part.rounds <= whole.rounds
    return part.rounds == whole.rounds and part.region_rounds <= whole.region_rounds


class PathValidation:
    """Scores of all candidates on rows that were not trained on.

    Parameters
    ----------
    X, positive : arrays of shape (n, d) and (n,)
        All rows and their labels.
    folds : array of shape (repeats, n)
        In each repeat the fold of each row, from 0 on.
    region : Region
    weight : array of shape (n,), optional
    """

    def __init__(
        self, X: Array, positive: BoolArray, folds: Array, region: Region, weight: Array | None = None
    ) -> None:
        self._positive, self._region, self._weight = positive, region, weight
        self._rows = held_out_rows(folds)
        # Scores are means over the repeats, so the folds of one repeat are enough for the standard error.
        self._first_folds = held_out_rows(folds[:1])
        self._share = 1.0 / len(folds)
        self._X = [X[rows] for rows in self._rows]
        self._scores: dict[Rounds, Array] = {}
        self._tpauc: list[FoldTPAUC] = []

    @property
    def candidates(self) -> list[Rounds]:
        """The candidates so far."""
        return list(self._scores)

    def grow(self, paths: list[BoostingPath], candidate: Rounds) -> None:
        """Train all folds up to a candidate and validate it."""
        before = parent(candidate, self.candidates)
        scores = np.zeros(self._positive.size) if before is None else self._scores[before].copy()
        for path, rows, X in zip(paths, self._rows, self._X, strict=True):
            path.grow(candidate)
            scores[rows] += self._share * path.added(X, before, candidate)
        self._scores[candidate] = scores
        self._tpauc.append(
            validate_folds(self._positive, scores[:, None], self._first_folds, self._region, self._weight)
        )

    def tpauc(self) -> FoldTPAUC:
        """Return the TPAUC of all candidates."""
        return FoldTPAUC(*(np.concatenate(parts, axis=1) for parts in zip(*self._tpauc, strict=True)))

    def best(self) -> Rounds:
        """Return the candidate with the highest validated TPAUC; of equal ones the first."""
        return self.candidates[int(np.argmax(self.tpauc().validated))]

    def scores(self) -> Array:
        """Return the scores of all rows, shape (n, candidates)."""
        return np.column_stack(list(self._scores.values()))


def held_out_rows(folds: Array) -> list[Array]:
    """Return the rows that each fold of each repeat holds out."""
    return [np.flatnonzero(fold == k) for fold in folds for k in range(int(fold.max()) + 1)]
