"""For LightGBM and XGBoost: a log-loss confined to the region as the objective, and TPAUC as the metric.

The weight of an example depends on its rank inside its class, not on its score. Its hardness ``h`` in (0, 1) is the
rank of a positive from the top and of a negative from the bottom, so that 1 is the hardest of its class. With softness
``tau``,

    w = sigmoid((h - (1 - share)) / (tau share)),      share = alpha for positives, beta for negatives,

scaled so that each class has the total weight n / 2. The centre ``c`` is half way between the two borders of the
region: the alpha-quantile of the positive scores and the (1 - beta)-quantile of the negative scores. The loss is the
weighted logistic loss of ``z - c``, with weights and centre held fixed:

    gradient = w (p - y),      Hessian = w p (1 - p),      p = sigmoid(z - c).

Ranks need one sort of each class, so a round costs O(n log n); there are no pairs. The Hessian is kept above 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, softmax

from tpauc._validation import check_labels_and_scores, check_moderate_weight, check_positive, import_extra
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region

Array = npt.NDArray[Any]

# Rows far outside the region have weights near 0; a leaf that holds only such rows must not divide by 0.
_LEAST_HESSIAN = 1e-6
SOFTNESS = 1.0 / 3.0


@dataclass(frozen=True)
class RegionObjective:
    """The objective as both libraries call it, through their native and their scikit-learn interface.

    Call it with ``(scores, dataset)``, where the dataset has ``get_label`` and ``get_weight``, or with
    ``(labels, scores, sample_weight)``. It returns the gradient and the Hessian in the scores, each of shape (n,).
    Whole weights act as repeated rows.

    Parameters
    ----------
    region : Region
    softness : float
        ``tau``, the width of the region's border as a multiple of its share.
    """

    region: Region
    softness: float

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[Array, Array]:
        labels, scores, weight = arguments_of(first, second, sample_weight)
        positive, scores = check_labels_and_scores(labels, scores)
        checked_weight = None if weight is None else check_moderate_weight(weight, positive)
        return region_gradient(positive, scores, self.region, self.softness, checked_weight)


def arguments_of(first: Any, second: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return labels, scores and weights from the arguments of either interface; no weights are None."""
    if not hasattr(second, "get_label"):
        return first, second, sample_weight
    weight = second.get_weight()  # XGBoost returns an empty array for none
    return second.get_label(), first, None if weight is None or len(weight) == 0 else weight


def region_gradient(
    positive: npt.NDArray[np.bool_], scores: Array, region: Region, softness: float, weight: Array | None = None
) -> tuple[Array, Array]:
    """Return gradient and Hessian of the loss in the scores, without checks."""
    total = float(scores.size if weight is None else weight.sum())
    row_weight, borders = np.empty(scores.size), []
    # Hardness grows with the score of a negative and falls with the score of a positive.
    for side, sign, share in ((positive, -1.0, region.alpha), (~positive, 1.0, region.beta)):
        own = None if weight is None else weight[side]
        hardness, border = _hardness(sign * scores[side], share, own)
        # In logs: if no example of the class is near a small region, as with equal scores, all sigmoids underflow.
        log_focus = log_expit((hardness - (1.0 - share)) / (softness * share))
        if own is not None:
            with np.errstate(divide="ignore"):  # the log of a weight of 0 is -inf, which softmax turns into 0
                log_focus += np.log(own)
        row_weight[side] = 0.5 * total * softmax(log_focus)
        borders.append(sign * border)
    p = expit(scores - 0.5 * (borders[0] + borders[1]))
    return row_weight * (p - positive), np.maximum(row_weight * p * (1.0 - p), _LEAST_HESSIAN)


def _hardness(values: Array, share: float, weight: Array | None) -> tuple[Array, float]:
    """Return the rank of each value in (0, 1), the same for equal ones, and the value where the top share begins."""
    order = np.argsort(values)
    ordered = values[order]
    begins_run = np.ones(values.size + 1, dtype=bool)  # of equal values; the last one begins after the end
    np.not_equal(ordered[1:], ordered[:-1], out=begins_run[1:-1])
    begin = np.flatnonzero(begins_run)
    mass_before = begin if weight is None else np.append(0.0, np.cumsum(weight[order]))[begin]
    total = mass_before[-1]
    rank_of_run = (mass_before[1:] + mass_before[:-1]) * (0.5 / total)
    hardness = np.empty(values.size)
    hardness[order] = rank_of_run if rank_of_run.size == values.size else np.repeat(rank_of_run, np.diff(begin))
    border = int(np.searchsorted(mass_before[1:], (1.0 - share) * total, side="right"))
    return hardness, float(ordered[begin[min(border, rank_of_run.size - 1)]])


def lightgbm_objective(alpha: float, beta: float, *, softness: float = SOFTNESS) -> RegionObjective:
    """Return the objective for LightGBM: ``params["objective"]`` of ``lightgbm.train``, or of ``LGBMClassifier``.

    It is best started from scores of a log-loss (``init_model`` or ``init_score``); without them its first round is a
    round of balanced log-loss.

    The loss does not change if all scores shift, so only their order is meaningful: use ``predict(X, raw_score=True)``,
    and a threshold from :func:`~tpauc.operating_point`.

    Parameters
    ----------
    alpha, beta : float
        The region: share of positives that may be missed, of negatives that may be false alarms; each in (0, 1].
    softness : float, default=1/3
        Width of the region's border, as a multiple of its share.

    Returns
    -------
    RegionObjective

    Examples
    --------
    >>> import lightgbm, numpy as np
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> data = lightgbm.Dataset(x, x[:, 0] > 0.5)
    >>> params = {"objective": lightgbm_objective(0.3, 0.3), "verbosity": -1}
    >>> lightgbm.train(params, data, num_boost_round=3).num_trees()
    3
    """
    import_extra("lightgbm", "lightgbm")
    return RegionObjective(Region(alpha, beta), check_positive(softness, "softness"))


def xgboost_objective(alpha: float, beta: float, *, softness: float = SOFTNESS) -> RegionObjective:
    """Return the objective for XGBoost: ``obj`` of ``xgboost.train``, or ``objective`` of ``XGBClassifier``.

    Only the order of the scores is meaningful, as in :func:`lightgbm_objective`: use
    ``predict(X, output_margin=True)``, and a threshold from :func:`~tpauc.operating_point`. Classes and probabilities
    (`predict` without a margin, `predict_proba`) are not meaningful.

    Parameters
    ----------
    alpha, beta, softness
        As in :func:`lightgbm_objective`.

    Returns
    -------
    RegionObjective

    Examples
    --------
    >>> import xgboost, numpy as np
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> data = xgboost.DMatrix(x, label=x[:, 0] > 0.5)
    >>> xgboost.train({}, data, num_boost_round=3, obj=xgboost_objective(0.3, 0.3)).num_boosted_rounds()
    3
    """
    import_extra("xgboost", "xgboost")
    return RegionObjective(Region(alpha, beta), check_positive(softness, "softness"))


# ------------------------------------------------------------------------------------------------------------- metrics


@dataclass(frozen=True)
class LightGBMMetric:
    """``(name, TPAUC, True)`` for ``feval`` of ``lightgbm.train`` and ``eval_metric`` of ``LGBMClassifier.fit``."""

    region: Region

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[str, float, bool]:
        return "tpauc", _tpauc(self.region, first, second, sample_weight), True


@dataclass(frozen=True)
class XGBoostMetric:
    """TPAUC for ``custom_metric`` of ``xgboost.train``, with its name, and ``eval_metric`` of ``XGBClassifier``."""

    region: Region
    # XGBoost maximises a metric by itself if its name begins with "auc".
    __name__ = "auc_two_way"

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[str, float] | float:
        value = _tpauc(self.region, first, second, sample_weight)
        return (self.__name__, value) if hasattr(second, "get_label") else value


def _tpauc(region: Region, first: Any, second: Any, sample_weight: Any) -> float:
    labels, scores, weight = arguments_of(first, second, sample_weight)
    return tpauc_score(labels, scores, alpha=region.alpha, beta=region.beta, sample_weight=weight)


def lightgbm_metric(alpha: float, beta: float) -> LightGBMMetric:
    """Return TPAUC as a metric of LightGBM, ``"tpauc"`` in its log; tied scores count half, weights are respected.

    Parameters
    ----------
    alpha, beta : float
        The region, each in (0, 1].

    Returns
    -------
    LightGBMMetric
        For ``lightgbm.train(..., feval=...)`` or ``LGBMClassifier.fit(..., eval_metric=...)``. Turn LightGBM's own
        metric off (``metric="None"``) to stop early on this one alone.

    Examples
    --------
    >>> import numpy as np
    >>> lightgbm_metric(0.5, 0.5)(np.array([1, 1, 0, 0]), np.array([3.0, 1.0, 2.0, 0.0]))
    ('tpauc', 0.0, True)
    """
    import_extra("lightgbm", "lightgbm")
    return LightGBMMetric(Region(alpha, beta))


def xgboost_metric(alpha: float, beta: float) -> XGBoostMetric:
    """Return TPAUC as a metric of XGBoost, ``"auc_two_way"`` in its log; tied scores count half, weights are respected.

    Parameters
    ----------
    alpha, beta : float
        The region, each in (0, 1].

    Returns
    -------
    XGBoostMetric
        For ``xgboost.train(..., custom_metric=...)`` or ``XGBClassifier(eval_metric=...)``.

    Examples
    --------
    >>> import numpy as np
    >>> xgboost_metric(0.5, 0.5)(np.array([1, 1, 0, 0]), np.array([3.0, 2.5, 2.0, 0.0]))
    1.0
    """
    import_extra("xgboost", "xgboost")
    return XGBoostMetric(Region(alpha, beta))
