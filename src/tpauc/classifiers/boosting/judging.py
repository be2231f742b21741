"""Judge candidates on the rows that their fold did not train on, and weigh them.

The folds are repeated, and the score of a row is the mean over the trainings that did not see it: the mean of several
trainings bears more rounds than one of them, and a mean is what is used in the end. The validated TPAUC of a candidate
is the mean of two: over the pooled scores of all rows, and the average over the folds of the first repeat. A candidate
that is ``delta`` below the best, with the standard error ``s`` of that difference over those folds, has a weight of
``exp(-delta / (s / 2))``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc.classifiers.boosting.paths import Candidate, Path, parent
from tpauc.classifiers.weighing import held_out_tpauc, shares
from tpauc.region import Region

Array = npt.NDArray[Any]
Labels = npt.NDArray[np.bool_]

# A candidate that many standard errors below the best has 1/e of its weight.
_STANDARD_ERRORS = 0.5


class Validation:
    """Held-out scores of all candidates.

    Parameters
    ----------
    X, positive : arrays of shape (n, d) and (n,)
        All rows, and which of them are positive.
    folds : array of shape (repeats, n)
        In each repeat the fold of each row, from 0 on.
    region : Region
    """

    def __init__(self, X: Array, positive: Labels, folds: Array, region: Region) -> None:
        self._positive, self._region = positive, region
        self._rows = held_out_rows(folds)
        self._groups = held_out_rows(folds[:1])
        self._share = 1.0 / len(folds)
        self._X = [X[rows] for rows in self._rows]
        self._scores: dict[Candidate, Array] = {}
        self._by_fold: list[Array] = []
        self._pooled: list[float] = []

    @property
    def candidates(self) -> list[Candidate]:
        """The candidates so far."""
        return list(self._scores)

    def grow(self, paths: list[Path], candidate: Candidate) -> None:
        """Train all folds up to a candidate and judge it."""
        before = parent(candidate, self.candidates)
        scores = np.zeros(self._positive.size) if before is None else self._scores[before].copy()
        for path, rows, X in zip(paths, self._rows, self._X, strict=True):
            path.grow(candidate)
            scores[rows] += self._share * path.added(X, before, candidate)
        self._scores[candidate] = scores
        self._by_fold.append(np.array([self._tpauc(scores, rows) for rows in self._groups]))
        self._pooled.append(self._tpauc(scores, slice(None)))

    def best(self) -> Candidate:
        """Return the candidate with the highest validated TPAUC; of equal ones the first."""
        return self.candidates[int(np.argmax(self.values()))]

    def values(self) -> Array:
        """Return the validated TPAUC of each candidate."""
        return np.asarray((np.mean(self._by_fold, axis=1) + np.array(self._pooled)) / 2.0)

    def weigh(self) -> tuple[Array, Array]:
        """Return the validated TPAUC and the share of each candidate."""
        values, by_fold = self.values(), np.array(self._by_fold)
        return values, shares(values, by_fold.T, len(self._groups), _STANDARD_ERRORS)

    def held_out(self) -> Array:
        """Return the held-out scores, shape (n, candidates)."""
        return np.column_stack(list(self._scores.values()))

    def _tpauc(self, scores: Array, rows: Any) -> float:
        return held_out_tpauc(self._positive[rows], scores[rows], self._region)


def held_out_rows(folds: Array) -> list[Array]:
    """Return the rows that each fold of each repeat holds out."""
    return [np.flatnonzero(fold == k) for fold in folds for k in range(int(fold.max()) + 1)]
