"""`tpauc_scorer`: TPAUC as a scorer for scikit-learn's model selection.

scikit-learn turns the scores of a classifier towards a class: the one that is asked for, or the last one. A classifier
that knows its positive class says so in ``pos_label_``, and the scorer asks it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.pipeline import Pipeline

from tpauc._validation import check_pos_label
from tpauc.classifiers.base import positive_class
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region


def tpauc_scorer(alpha: float, beta: float, *, pos_label: Any = None) -> Any:
    """Return a scorer for ``GridSearchCV(scoring=...)`` and ``cross_val_score``: TPAUC of any classifier's scores.

    Parameters
    ----------
    alpha, beta : float
        The region.
    pos_label : label, optional
        The positive class. None takes that of the estimator (``pos_label_``, also of the last step of a pipeline) or,
        if it has none, the class that `TPAUCClassifier` would take.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(500, weights=[0.9], random_state=0)
    >>> cross_val_score(LogisticRegression(), X, y, scoring=tpauc_scorer(0.3, 0.3)).shape
    (5,)
    """
    region = Region(alpha, beta)
    if pos_label is not None:
        check_pos_label(pos_label)
    return RegionScorer(region, pos_label)


class RegionScorer:
    """A scorer of scikit-learn that asks the estimator which class is positive; what `tpauc_scorer` returns."""

    def __init__(self, region: Region, pos_label: Any) -> None:
        self._region, self._pos_label = region, pos_label
        self._scorer = _scorer(region, pos_label)

    def __call__(self, estimator: Any, X: Any, y_true: Any, sample_weight: Any = None) -> float:
        """Return the TPAUC of a fitted estimator."""
        scorer, label = self._scorer, self._pos_label
        if label is None:
            last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
            label = getattr(last, "pos_label_", None)
            scorer = scorer if label is None else _scorer(self._region, label)
        return float(scorer(estimator, X, y_true, sample_weight=sample_weight))

    def set_score_request(self, **requests: Any) -> RegionScorer:
        """Ask scikit-learn's metadata routing for ``sample_weight``."""
        self._scorer.set_score_request(**requests)
        return self

    def get_metadata_routing(self) -> Any:
        """Return what was asked for."""
        return self._scorer.get_metadata_routing()

    def __repr__(self) -> str:
        label = "" if self._pos_label is None else f", pos_label={self._pos_label!r}"
        return f"tpauc_scorer({self._region.alpha:g}, {self._region.beta:g}{label})"


def _scorer(region: Region, pos_label: Any) -> Any:
    return make_scorer(
        _tpauc_of_label,
        response_method=("decision_function", "predict_proba"),
        alpha=region.alpha,
        beta=region.beta,
        pos_label=pos_label,
    )


def _tpauc_of_label(y_true: Any, y_score: Any, *, pos_label: Any, **options: Any) -> float:
    """Return the TPAUC of scores that scikit-learn has turned towards ``pos_label``, or towards the second class."""
    labels = np.asarray(y_true)
    classes = np.unique(labels)
    if classes.size == 2:  # other numbers are errors that the metric explains
        labels = labels == classes[positive_class(classes, pos_label, stacklevel=3)]
    value: float = tpauc_score(labels, y_score, **options)
    return value
