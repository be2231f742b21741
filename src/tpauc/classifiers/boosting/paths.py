"""Trainings that boost with log-loss first and then for the region, in all folds at once.

A *path* is the training on the rows of one fold: log-loss rounds, and region-focused rounds
(`objective`) that leave it at some switch points. What it passes through are candidates, each the sum of
the first ``rounds`` trees of log-loss and of the first ``region_rounds`` trees of the branch that leaves there. All
candidates of a path share their trees, so that a path costs little more than its longest candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from tpauc._validation import import_extra
from tpauc.classifiers.boosting.objective import SOFTNESS, region_gradient
from tpauc.region import Region

Array = npt.NDArray[Any]
Labels = npt.NDArray[np.bool_]
Gradient = Callable[[Array], tuple[Array, Array]]


class Candidate(NamedTuple):
    """A model that a path passes through."""

    rounds: int  # of log-loss
    region_rounds: int


class Chain:
    """Trees boosted in a row from given scores.

    Parameters
    ----------
    dataset : lightgbm.Dataset
        The rows, whose first scores this sets.
    start : array of shape (n,)
        Their first scores.
    gradient : callable
        Maps scores to gradient and Hessian.
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
        """Boost until so many rounds are done."""
        if self._booster is not None:
            for _ in range(rounds - max(self._n_trees)):
                self._booster.update(fobj=lambda scores, _: self._gradient(scores))
        self._n_trees[rounds] = 0 if self._booster is None else self._booster.current_iteration()

    def scores_of_rows(self) -> Array:
        """Return the scores that the rows trained on have now."""
        found = [self._start]

        def look(scores: Array, _: Any) -> tuple[str, float, bool]:
            found.append(scores.copy())
            return "", 0.0, True

        if self._booster is not None:
            self._booster.eval_train(feval=look)
        return found[-1]

    def sums(self, X: Array, before: int, after: int) -> Array | float:
        """Return what the rounds between two numbers of rounds, both of them grown to, add to the scores of ``X``."""
        first, last = self._n_trees[before], self._n_trees[after]
        if first == last:
            return 0.0
        return np.asarray(
            self._booster.predict(
                X, start_iteration=first, num_iteration=last - first, raw_score=True, num_threads=self._n_threads
            )
        )

    def close(self) -> None:
        """Let go of the rows trained on; no more rounds."""
        del self._start, self._gradient
        if self._booster is not None:
            # A booster that has trained holds on to an array as long as its rows, and would be pickled with it.
            self._booster = type(self._booster)(model_str=self._booster.model_to_string())


class Path:
    """The training on the rows of one fold.

    Parameters
    ----------
    dataset : lightgbm.Dataset
        The rows.
    positive : array of shape (n,)
        Which of them are positive.
    region : Region
    offset : float
        First score of all rows, the same in all folds, so that their scores may be pooled; no part of the sums below.
    tree : dict
        Parameters of LightGBM.
    region_learning_rate : float
        Of the rounds for the region.
    """

    def __init__(
        self,
        dataset: Any,
        positive: Labels,
        region: Region,
        offset: float,
        tree: dict[str, Any],
        region_learning_rate: float,
    ) -> None:
        self._dataset, self._positive, self._region = dataset, positive, region
        self._tree = {**tree, "learning_rate": region_learning_rate}
        self._trunk = Chain(dataset, np.full(positive.size, offset), self._log_loss, tree)
        self._switches: dict[int, Array] = {}
        self._branches: dict[int, Chain] = {}

    def _log_loss(self, scores: Array) -> tuple[Array, Array]:
        p = expit(scores)
        return p - self._positive, p * (1.0 - p)

    def _for_the_region(self, scores: Array) -> tuple[Array, Array]:
        return region_gradient(self._positive, scores, self._region, SOFTNESS)

    def grow(self, candidate: Candidate) -> None:
        """Train up to a candidate; all of log-loss first, and shorter ones before longer ones."""
        switch = candidate.rounds
        if candidate.region_rounds == 0:
            self._trunk.grow(switch)
            self._switches[switch] = self._trunk.scores_of_rows()
            return
        if switch not in self._branches:
            self._branches[switch] = Chain(self._dataset, self._switches[switch], self._for_the_region, self._tree)
        self._branches[switch].grow(candidate.region_rounds)

    def added(self, X: Array, before: Candidate | None, after: Candidate) -> Array | float:
        """Return what one candidate adds to the scores of the one before; None is the beginning."""
        if before is None:
            return self._trunk.sums(X, 0, after.rounds)
        if after.region_rounds == 0:
            return self._trunk.sums(X, before.rounds, after.rounds)
        return self._branches[after.rounds].sums(X, before.region_rounds, after.region_rounds)

    def weighted(self, X: Array, shares: dict[Candidate, float]) -> Array:
        """Return the weighted mean of the candidates' scores for rows ``X``, shape (n,)."""
        candidates, total = list(shares), np.zeros(len(X))
        for candidate in candidates:
            # A tree counts as much as all candidates that it is part of.
            weight = sum(share for other, share in shares.items() if _goes_on(candidate, other))
            if weight > 0.0:
                total += weight * self.added(X, parent(candidate, candidates), candidate)
        return total

    def close(self) -> None:
        """Let go of the rows trained on."""
        del self._dataset, self._positive, self._switches
        for chain in (self._trunk, *self._branches.values()):
            chain.close()


def parent(candidate: Candidate, candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the longest of the candidates that this one goes on from; None for the first.

    Examples
    --------
    >>> parent(Candidate(20, 0), [Candidate(10, 0), Candidate(20, 0), Candidate(10, 5)])
    Candidate(rounds=10, region_rounds=0)
    >>> parent(Candidate(10, 5), [Candidate(10, 0), Candidate(20, 0), Candidate(10, 5)])
    Candidate(rounds=10, region_rounds=0)
    """
    return max((other for other in candidates if other != candidate and _goes_on(other, candidate)), default=None)


def _goes_on(part: Candidate, whole: Candidate) -> bool:
    """Whether ``whole`` has all trees of ``part``."""
    if part.region_rounds == 0:
        return part.rounds <= whole.rounds
    return part.rounds == whole.rounds and part.region_rounds <= whole.region_rounds
