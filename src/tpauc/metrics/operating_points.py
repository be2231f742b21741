"""The best threshold of a region: the highest TPR at an allowed FPR."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray, check_labels_and_scores
from tpauc.region import Region, hard_mass


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold and the rates it achieves; what :func:`operating_point` returns."""

    threshold: float
    tpr: float
    fpr: float
    feasible: bool


def operating_point(y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, alpha: float, beta: float) -> OperatingPoint:
    """Threshold with the highest TPR at ``FPR <= beta``, and whether ``TPR >= 1 - alpha`` is met there.

    A row is predicted positive when its score is at least the threshold. Among the thresholds of highest TPR the one
    with the lowest FPR is returned; it is the score of a positive. If even the highest positive comes with more than
    ``beta`` of the negatives (all scores tied, say), no allowed threshold catches a positive: the threshold is then
    ``inf``, with TPR and FPR 0. Shares are rounded down as everywhere: ``floor(n- * beta)`` negatives may be false
    alarms and ``floor(n+ * alpha)`` positives may be missed; both numbers may be 0. Takes O(n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1, as bool, int or float.
    y_score : array-like of shape (n,)
        Scores, higher for the positive class.
    alpha, beta : float
        Share of positives that may be missed, share of negatives that may be false alarms; each in (0, 1].

    Returns
    -------
    OperatingPoint
        With ``threshold``, ``tpr``, ``fpr`` and ``feasible``.

    Examples
    --------
    >>> y = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> score = [0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1]
    >>> operating_point(y, score, alpha=0.25, beta=0.25)
    OperatingPoint(threshold=0.6, tpr=0.75, fpr=0.25, feasible=True)
    >>> operating_point(y, [0.5] * 8, alpha=0.25, beta=0.25)
    OperatingPoint(threshold=inf, tpr=0.0, fpr=0.0, feasible=False)
    """
    region = Region(alpha, beta)
    return operating_point_in_region(*check_labels_and_scores(y_true, y_score), region)


def operating_point_in_region(positive: BoolArray, scores: FloatArray, region: Region) -> OperatingPoint:
    """Return :func:`operating_point` of labels and scores that are checked already."""
    positives, negatives = scores[positive], scores[~positive]
    false_alarms_allowed = hard_mass(negatives.size, region.beta)
    caught = positives
    if false_alarms_allowed < negatives.size:
        first_too_many = negatives.size - 1 - false_alarms_allowed
        caught = positives[positives > np.partition(negatives, first_too_many)[first_too_many]]
    threshold = float(caught.min()) if caught.size else math.inf
    return OperatingPoint(
        threshold,
        tpr=caught.size / positives.size,
        fpr=int(np.count_nonzero(negatives >= threshold)) / negatives.size,
        feasible=positives.size - caught.size <= hard_mass(positives.size, region.alpha),
    )
