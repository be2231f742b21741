"""Validate candidates by TPAUC on rows that they were not trained on, and weigh them.

The *validated* TPAUC of a candidate is the mean of two values: its average over the folds, and the TPAUC of the pooled
scores of all rows. A candidate whose validated TPAUC is ``delta`` below the highest one, with the standard error ``s``
of that difference over the folds, has the weight

    exp(-delta / (c s)),

divided by the sum of all weights. Where the evidence is clear, this is a choice; where positives are few, it is an
average. A larger ``c`` is more careful. Linear models, networks and boosted trees are all weighed this way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, check_scores
from tpauc.metrics.area import area_in_region
from tpauc.region import Region

Array = npt.NDArray[Any]


class Weighed(NamedTuple):
    """Candidates with their weights."""

    shares: Array  # shape (candidates,)
    candidates: list[dict[str, Any]]  # name, validated TPAUC and share of each
    chosen: str  # shares and names, without shares below 0.5 %


class FoldTPAUC(NamedTuple):
    """TPAUC of candidates on rows that they were not trained on."""

    by_fold: Array  # shape (folds, candidates)
    pooled: Array  # shape (repeats, candidates)

    @property
    def validated(self) -> Array:
        """The validated TPAUC of each candidate, shape (candidates,)."""
        return np.asarray((self.by_fold.mean(axis=0) + self.pooled.mean(axis=0)) / 2.0)

    def shares(self, standard_errors: float) -> Array:
        """Return the weight of each candidate, shape (candidates,); they add up to 1.

        Repeats reuse the rows, so they do not count as more folds.

        Parameters
        ----------
        standard_errors : float
            The ``c`` of the module: a candidate that many standard errors below the best has ``1/e`` of its weight.
        """
        values = self.validated
        best = int(values.argmax())
        n_folds = len(self.by_fold) // len(self.pooled)
        error = np.std(self.by_fold - self.by_fold[:, [best]], axis=0, ddof=1) / np.sqrt(n_folds)
        weight = np.exp((values - values[best]) / (standard_errors * error + 1e-9))
        return np.asarray(weight / weight.sum())

    def weighed(self, names: Sequence[str], standard_errors: float) -> Weighed:
        """Return the candidates with their names and weights."""
        shares = self.shares(standard_errors)
        found = list(zip(names, self.validated.tolist(), shares.tolist(), strict=True))
        return Weighed(
            shares,
            [{"name": name, "tpauc": value, "share": share} for name, value, share in found],
            " + ".join(f"{share:.2f} {name}" for name, _, share in found if share >= 0.005),
        )


def validate_folds(positive: BoolArray, scores: Array, rows_of_fold: Iterable[Array], region: Region) -> FoldTPAUC:
    """Return the TPAUC of candidates whose scores, shape (n, candidates), come from folds that did not see the row."""
    by_fold = [_tpauc_of_columns(positive[rows], scores[rows], region) for rows in rows_of_fold]
    return FoldTPAUC(np.array(by_fold), np.array([_tpauc_of_columns(positive, scores, region)]))


def joined(repeats: Sequence[FoldTPAUC]) -> FoldTPAUC:
    """Return repeated cross-validations as one."""
    return FoldTPAUC(*(np.concatenate(parts) for parts in zip(*repeats, strict=True)))


def _tpauc_of_columns(positive: BoolArray, scores: Array, region: Region) -> list[float]:
    return [tpauc_of_fold(positive, column, region) for column in scores.T]


def tpauc_of_fold(positive: BoolArray, scores: Array, region: Region) -> float:
    """Return TPAUC. If the region selects no example of a class, it is widened to the hardest one."""
    n_positive = int(positive.sum())
    wide = region.holding_one(n_positive, positive.size - n_positive)
    return area_in_region(positive, check_scores(scores, "held-out scores"), wide)
