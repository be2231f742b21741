"""The common base of the scikit-learn classifiers: two classes, a threshold for the region, predictions.

A classifier gives one logit per row. `predict` cuts it at the operating point of the region on rows that were not
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
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from tpauc._validation import BoolArray
from tpauc.metrics.area import tpauc_score
from tpauc.metrics.operating_points import operating_point
from tpauc.region import Region

Array = npt.NDArray[Any]


def nonempty_region(region: Region, positive: BoolArray, *, stacklevel: int) -> Region:
    """Return the region, or with a warning the smallest region that selects one example of each class."""
    n_positive = int(positive.sum())
    least = region.holding_one(n_positive, positive.size - n_positive)
    if least != region:
        warnings.warn(
            f"alpha={region.alpha:g}, beta={region.beta:g} select none of the {n_positive} positive or of the "
            f"{positive.size - n_positive} negative rows; the region of training is alpha={least.alpha:g}, "
            f"beta={least.beta:g}, which selects the hardest example",
            stacklevel=stacklevel,
        )
    return least


class RegionClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier with parameters ``alpha``, ``beta``, ``calibrate``, ``random_state``, to be subclassed."""

    alpha: float
    beta: float
    calibrate: bool
    random_state: Any

    @abstractmethod
    def _logits(self, X: Any) -> Array:
        """Return the logit of every row, shape (n,)."""

    # --------------------------------------------------------------------------------------------------------- fit

    def _start_fit(
        self, X: Any, y: Any, region: Region, **options: Any
    ) -> tuple[Array, BoolArray, Region, np.random.Generator]:
        """Return checked rows, labels, a region that is not empty, and a generator; delete what was fitted before."""
        self._drop_fitted()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, **options)
        positive = self._encode(y)
        region = nonempty_region(region, positive, stacklevel=4)
        return X, positive, region, np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))

    def _encode(self, y: Array) -> BoolArray:
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

    def _drop_fitted(self) -> None:
        """Delete the attributes of an earlier `fit`: parts of two models must not be mixed, even if this fit fails."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        # Set at the end of `fit`: a failed fit leaves no model, although the number of features is known.
        return hasattr(self, "threshold_")

    def _set_threshold(
        self, region: Region, scores: Array, positive: BoolArray, sample_weight: Array | None = None
    ) -> None:
        """Set `threshold_`, and with ``calibrate`` fit the probabilities to the scores of rows with these weights."""
        point = operating_point(positive, scores, alpha=region.alpha, beta=region.beta)
        # The operating point counts scores from its threshold on, `predict` counts scores above. If no finite threshold
        # keeps the false alarms in bounds, only scores above all scores seen are positive.
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
