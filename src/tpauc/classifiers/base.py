"""The common base of the scikit-learn classifiers: two classes, a threshold for the region, predictions.

A classifier gives one logit per row, higher for the positive class. `predict` says positive from `threshold_` on, which
is the operating point of the region on rows that were not trained on; `score` is the TPAUC.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from tpauc._validation import BoolArray, check_number, check_sample_weight
from tpauc.classifiers.folds import group_numbers
from tpauc.metrics.area import tpauc_score
from tpauc.metrics.operating_points import OperatingPoint, operating_point_in_region
from tpauc.region import Region

Array = npt.NDArray[Any]


class TrainingData(NamedTuple):
    """What a classifier is fitted to."""

    X: Array  # shape (n, d)
    positive: BoolArray  # shape (n,)
    weight: Array | None = None  # shape (n,), above 0
    groups: Array | None = None  # shape (n,): rows with equal values are never separated
    used: BoolArray | None = None  # which of the rows given to `fit` these are, if some have the weight 0

    def take(self, rows: Any) -> TrainingData:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        return TrainingData(self.X[rows], self.positive[rows], weight, groups)


def stands_for_rows(weight: Array) -> bool:
    """Return whether weights are whole numbers, which stand for repeated rows."""
    return bool((weight == np.floor(weight)).all() and weight.sum() <= 2.0**53)


def class_counts(positive: BoolArray, weight: Array | None) -> tuple[int, int]:
    """Return the numbers of positive and negative rows; whole weights count as repeated rows."""
    if weight is not None and stands_for_rows(weight):
        return int(weight[positive].sum()), int(weight[~positive].sum())
    n_positive = int(positive.sum())
    return n_positive, positive.size - n_positive


def nonempty_region(region: Region, positive: BoolArray, weight: Array | None = None, *, stacklevel: int) -> Region:
    """Return the region, or with a warning the smallest region that selects one example of each class."""
    n_positive, n_negative = class_counts(positive, weight)
    least = region.holding_one(n_positive, n_negative)
    if least != region:
        warnings.warn(
            f"alpha={region.alpha:g}, beta={region.beta:g} select none of the {n_positive} positive or of the "
            f"{n_negative} negative rows; the region of training is alpha={least.alpha:g}, "
            f"beta={least.beta:g}, which selects the hardest example",
            stacklevel=stacklevel,
        )
    return least


def positive_class(classes: Array, pos_label: Any, *, stacklevel: int) -> int:
    """Return which of two classes is positive, 0 or 1; a warning if neither ``pos_label`` nor the labels say so.

    Parameters
    ----------
    classes : array of shape (2,)
        The labels in order.
    pos_label : label or None
        None takes the second class.
    stacklevel : int
        Which caller the warning points to.
    """
    first, second = classes.tolist()
    if pos_label is not None:
        if not np.isscalar(pos_label) or pos_label not in (first, second):
            raise ValueError(f"pos_label={pos_label!r} is not among the labels of y, {first!r} and {second!r}")
        return int(pos_label == second)
    # False equals 0 and True equals 1.
    if (first, second) not in ((0, 1), (-1, 1)):
        warnings.warn(
            f"y holds {first!r} and {second!r}, and pos_label is not given; {second!r} is taken as the positive class; "
            f"give pos_label={first!r} for the other one, or pos_label={second!r} to confirm",
            stacklevel=stacklevel,
        )
    return 1


class RegionClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier with the parameters below, to be subclassed."""

    alpha: float
    beta: float
    pos_label: Any
    calibrate: bool
    random_state: Any

    @abstractmethod
    def _logits(self, X: Any) -> Array:
        """Return the logit of the positive class for every row, shape (n,)."""

    def _holds_out_rows(self) -> bool:
        """Return whether `fit` divides the rows, so that groups matter."""
        return True

    def _calibrates(self) -> bool:
        """Return whether `predict_proba` is fitted to rows that were not trained on."""
        return self.calibrate

    # --------------------------------------------------------------------------------------------------------- fit

    def _start_fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, region: Region, **options: Any
    ) -> tuple[TrainingData, Region, np.random.Generator]:
        """Return checked rows, a region that is not empty, and a generator; delete what was fitted before."""
        self._drop_fitted()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, **options)
        data = TrainingData(X, self._encode(y))
        if groups is not None:
            data = data._replace(groups=group_numbers(groups, len(X)))
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, data.positive)
            data = data._replace(weight=weight).take(weight > 0)._replace(used=weight > 0)
        region = nonempty_region(region, data.positive, data.weight, stacklevel=4)
        return data, region, np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))

    def _encode(self, y: Array) -> BoolArray:
        """Remember the two classes and return which rows are positive."""
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        classes, labels = np.unique(y, return_inverse=True)
        if classes.size < 2:
            raise ValueError(f"y has one class only, {classes[0]!r}; both classes are needed")
        which = positive_class(classes, self.pos_label, stacklevel=5)
        self.classes_ = classes
        self.pos_label_ = classes.tolist()[which]
        return np.asarray(labels == which)

    def _keep_out_of_fold(self, scores: Array, data: TrainingData) -> None:
        """Keep the scores of the rows as given to `fit`; NaN for rows that were not used."""
        self.out_of_fold_scores_ = scores
        if data.used is not None:
            self.out_of_fold_scores_ = np.full(data.used.size, np.nan)
            self.out_of_fold_scores_[data.used] = scores

    def _drop_fitted(self) -> None:
        """Delete the attributes of an earlier `fit`: parts of two models must not be mixed, even if this fit fails."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        # Set at the end of `fit`: a failed fit leaves no model, although the number of features is known.
        return hasattr(self, "threshold_")

    def _set_threshold(
        self,
        region: Region,
        scores: Array,
        positive: BoolArray,
        weight: Array | None = None,
        calibration_weight: Array | None = None,
    ) -> None:
        """Set the threshold, and with ``calibrate`` fit the probabilities, by scores of rows not trained on.

        Parameters
        ----------
        region : Region
        scores, positive : arrays of shape (n,)
        weight : array of shape (n,), optional
            The weights that the user gave.
        calibration_weight : array of shape (n,), optional
            The same times the number of rows that each row stands for, if the rows are a sample.
        """
        self.operating_point_ = operating_point_in_region(positive, scores, region, weight=weight)
        threshold = self.operating_point_.threshold
        # If no finite threshold keeps the false alarms in bounds, only scores above all scores seen are positive.
        self.threshold_ = threshold if np.isfinite(threshold) else float(np.nextafter(scores.max(), np.inf))
        if self._calibrates():
            self.calibrator_ = LogisticRegression(C=1e6).fit(scores[:, None], positive, calibration_weight)

    def set_threshold(self, threshold: Any) -> Any:
        """Change the threshold of a fitted classifier: what `predict` says and where `decision_function` is 0.

        Parameters
        ----------
        threshold : float or OperatingPoint
            `predict` says positive where the logit is at least this. Logits are in the units of `out_of_fold_scores_`
            and equal `decision_function` plus `threshold_` if the second class is the positive one. An operating point
            becomes `operating_point_`; a number says nothing about rates, so there is no `operating_point_` then.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        is_point = isinstance(threshold, OperatingPoint)
        self.threshold_ = check_number(threshold.threshold if is_point else threshold, "threshold")
        if is_point:
            self.operating_point_ = threshold
        elif hasattr(self, "operating_point_"):
            del self.operating_point_
        return self

    # --------------------------------------------------------------------------------------------------- prediction

    @property
    def _positive_is_second(self) -> bool:
        return bool(self.classes_[1] == self.pos_label_)

    def decision_function(self, X: Any) -> Array:
        """Return the distance of the logits from `threshold_`, shape (n,): above 0 where `predict` says `classes_[1]`.

        It is high for the positive class if that is the second class, as it is by default, and low otherwise.
        """
        logits = self._logits(X)
        # Positive means at least the threshold, and 0 belongs to the first class.
        if self._positive_is_second:
            return np.asarray(logits - np.nextafter(self.threshold_, -np.inf))
        return np.asarray(self.threshold_ - logits)

    def predict_proba(self, X: Any) -> Array:
        """Return shape (n, 2), columns as in `classes_`: probabilities if fitted with ``calibrate=True``.

        Calibrated probabilities are a logistic function of the logit (Platt), fitted to the rows that decide the
        threshold, which were not trained on wherever rows are held out (`out_of_fold_scores_`). Otherwise they are a
        sigmoid of the decision function.
        """
        if not hasattr(self, "calibrator_"):
            decision = self.decision_function(X)
            return np.column_stack((expit(-decision), expit(decision)))
        by_label = np.asarray(self.calibrator_.predict_proba(self._logits(X)[:, None]))  # negative, positive
        return by_label if self._positive_is_second else by_label[:, ::-1]

    def predict(self, X: Any) -> Array:
        """Return the class of every row, shape (n,): positive where the logit is at least `threshold_`."""
        second = self.decision_function(X) > 0
        return np.asarray(self.classes_[second.astype(int)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the TPAUC of the region on the given rows, shape (n, d), labels, shape (n,), and weights."""
        logits = self._logits(X)
        labels = np.asarray(y)
        first, second = self.classes_.tolist()
        if strangers := set(np.unique(labels).tolist()) - {first, second}:
            raise ValueError(f"y holds {min(strangers, key=str)!r}, which is neither {first!r} nor {second!r}")
        return tpauc_score(
            labels == self.pos_label_, logits, alpha=self.alpha, beta=self.beta, sample_weight=sample_weight
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
