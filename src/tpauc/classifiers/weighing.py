"""Judge candidates on rows that they were not trained on, and weigh them.

A candidate whose validated TPAUC is ``delta`` below the best one's, with the standard error ``s`` of that difference
over the folds, has the weight ``exp(-delta / (c s))``. Where the evidence is clear this is a choice, where positives
are few it is an average; a larger ``c`` is more careful.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc._validation import check_scores
from tpauc.metrics.area import area_in_region
from tpauc.region import Region

Array = npt.NDArray[Any]


def held_out_tpauc(positive: npt.NDArray[np.bool_], scores: Array, region: Region) -> float:
    """Return TPAUC; rows so few that the region selects nobody are judged on the one hardest example of a class.

    Examples
    --------
    >>> held_out_tpauc(np.array([True, False]), np.array([2.0, 1.0]), Region(0.3, 0.3))
    1.0
    """
    n_positive = int(positive.sum())
    wide = region.holding_one(n_positive, positive.size - n_positive)
    return area_in_region(positive, check_scores(scores, "held-out scores"), wide)


def shares(values: Array, by_fold: Array, n_folds: int, standard_errors: float) -> Array:
    """Return the weight of each candidate, shape (candidates,); they add up to 1.

    Parameters
    ----------
    values : array of shape (candidates,)
        Validated TPAUC.
    by_fold : array of shape (folds, candidates)
        TPAUC in each fold, those of repeated folds included.
    n_folds : int
        Folds of one repeat: repeats reuse the rows, so they do not count as more of them.
    standard_errors : float
        A candidate that many standard errors below the best has ``1/e`` of its weight, the ``c`` of the module.

    Examples
    --------
    >>> shares(np.array([0.5, 0.5]), np.array([[0.4, 0.6], [0.6, 0.4]]), 2, 0.5)
    array([0.5, 0.5])
    """
    best = int(values.argmax())
    error = np.std(by_fold - by_fold[:, [best]], axis=0, ddof=1) / np.sqrt(n_folds)
    weight = np.exp((values - values[best]) / (standard_errors * error + 1e-9))
    return np.asarray(weight / weight.sum())
