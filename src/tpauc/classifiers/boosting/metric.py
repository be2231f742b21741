"""TPAUC as a metric of LightGBM and XGBoost, for early stopping and the training log; higher is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tpauc._validation import import_extra
from tpauc.classifiers.boosting.objective import arguments_of
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region


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
