"""What the scikit-learn classifiers of this package share: two classes, a threshold for the region, predictions.

A classifier gives a logit for each row. `predict` cuts it at the operating point of the region on rows that were not
trained on; `score` is the TPAUC.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from tpauc.metrics.area import tpauc_score
from tpauc.metrics.operating_points import operating_point
from tpauc.region import Region

Array = npt.NDArray[Any]
Labels = npt.NDArray[np.bool_]


def with_somebody_in_it(region: Region, positive: Labels) -> Region:
    """Return the region, or with a warning the smallest that selects one example of each class."""
    n_positive = int(positive.sum())
    least = region.holding_one(n_positive, positive.size - n_positive)
    if least != region:
        warnings.warn(
            f"alpha={region.alpha:g}, beta={region.beta:g} select none of the {n_positive} positive or of the "
            f"{positive.size - n_positive} negative rows; training goes for alpha={least.alpha:g}, "
            f"beta={least.beta:g}, the one hardest example",
            stacklevel=3,
        )
    return least


class RegionClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier with parameters ``alpha``, ``beta``, ``calibrate``, and `_logits` from its subclass."""

    alpha: float
    beta: float
    calibrate: bool

    @abstractmethod
    def _logits(self, X: Any) -> Array:
        """Return the logit of every row, shape (n,)."""

    # --------------------------------------------------------------------------------------------------------- fit

    def _encode(self, y: Array) -> Labels:
        """Remember the two classes and return which rows are positive."""
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        classes, labels = np.unique(y, return_inverse=True)
        if classes.size < 2:
            raise ValueError(f"y has one class only, {classes[0]!r}; both classes are needed")
        self.classes_ = classes
        return np.asarray(labels == 1)

    def _forget(self) -> None:
        """Drop what an earlier `fit` left behind: parts of two models must not be mixed, even if this `fit` fails."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        # Set at the end of `fit`: one that failed leaves no model behind, though the number of features is known.
        return hasattr(self, "threshold_")

    def _set_threshold(
        self, region: Region, scores: Array, positive: Labels, sample_weight: Array | None = None
    ) -> None:
        """Set `threshold_`, and fit the probabilities to the scores of rows that stand for ``sample_weight`` each."""
        point = operating_point(positive, scores, alpha=region.alpha, beta=region.beta)
        # The point counts scores from its threshold on, `predict` those above; and if no finite threshold keeps the
        # false alarms in bounds, only what is above every score seen is positive.
        finite = np.isfinite(point.threshold)
        self.threshold_ = float(np.nextafter(point.threshold, -np.inf)) if finite else float(scores.max())
        if self.calibrate:
            self.calibrator_ = LogisticRegression(C=1e6).fit(scores[:, None], positive, sample_weight)

    # --------------------------------------------------------------------------------------------------- prediction

    def decision_function(self, X: Any) -> Array:
        """Return logits minus `threshold_`, shape (n,): above 0 where `predict` says positive."""
        return np.asarray(self._logits(X) - self.threshold_)

    def predict_proba(self, X: Any) -> Array:
        """Return shape (n, 2): probabilities if fitted with ``calibrate=True``, else a sigmoid of the decision."""
        logits = self._logits(X)
        if hasattr(self, "calibrator_"):
            return np.asarray(self.calibrator_.predict_proba(logits[:, None]))
        decision = logits - self.threshold_
        return np.column_stack((expit(-decision), expit(decision)))

    def predict(self, X: Any) -> Array:
        """Return the class of every row at the operating point of the region, shape (n,)."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(int)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the TPAUC of the region on the given rows, shape (n, d), labels, shape (n,), and weights."""
        logits = self._logits(X)
        labels = np.asarray(y)
        negative, positive = self.classes_.tolist()
        if strangers := set(np.unique(labels).tolist()) - {negative, positive}:
            raise ValueError(f"y holds {min(strangers, key=str)!r}, which is neither {negative!r} nor {positive!r}")
        return tpauc_score(labels == positive, logits, alpha=self.alpha, beta=self.beta, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
