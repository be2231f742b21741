"""`GuaranteedThresholdClassifier`: any classifier, with a threshold whose rate on new data is promised.

The promise (`tpauc.metrics.thresholds`) holds for the scores of one model on rows that it was not trained on. So the
rows are split once: the estimator is fitted to one part, and the other part decides the threshold. The estimator is not
fitted again to all rows, and there are no folds: out-of-fold scores come from several models, and what they promise
does not hold for another one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, assert_all_finite, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_method_params, _num_samples, check_is_fitted, indexable

from tpauc._validation import (
    BoolArray,
    brief,
    check_choice,
    check_groups,
    check_moderate_weight,
    check_not_masked,
    check_number,
)
from tpauc.classifiers._input import checked_labels, generator_of, naming
from tpauc.classifiers.base import positive_class
from tpauc.metrics.operating_points import operating_point
from tpauc.metrics.thresholds import MAX_TPR, MIN_FPR
from tpauc.region import Region

Array = npt.NDArray[Any]

PREFIT = "prefit"
_RESPONSES = ("auto", "decision_function", "predict_proba")


def _estimator_has_predict_proba(self: GuaranteedThresholdClassifier) -> bool:
    return hasattr(getattr(self, "estimator_", self.estimator), "predict_proba")


class GuaranteedThresholdClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier whose false positive rate, or true positive rate, on new data is promised.

    Wraps a classifier as scikit-learn's ``FixedThresholdClassifier`` and ``TunedThresholdClassifierCV`` do. `predict`
    raises an alarm (the positive class) where the score is at least `threshold_`, which rows that were not trained on
    decide: with probability ``guarantee`` over these rows the FPR on new data is at most ``beta`` (rule "max_tpr"), or
    the TPR at least ``1 - alpha`` (rule "min_fpr"), whatever the distribution and however good the classifier.

    Parameters
    ----------
    estimator : classifier
        With `decision_function` or `predict_proba`; fitted (``cv="prefit"``, or inside a ``FrozenEstimator``) or not.
    alpha, beta : float, default=0.3
        The region: share of positives that may be missed, share of negatives that may be false alarms.
    rule : {"max_tpr", "min_fpr"}, default="max_tpr"
        Which rate is promised: the FPR, at the lowest threshold that allows it, or the TPR, at the highest.
    guarantee : float or None, default=0.95
        Probability with which the promise holds, in (0, 1). None picks the best threshold on the held-out rows, which
        promises nothing.
    cv : float or "prefit", default=0.3
        Share of the rows, or with ``groups`` of the groups, of each class that are held out to decide the threshold.
        "prefit" does not fit the estimator; all rows given to `fit` decide, and must not be those it was trained on.
    pos_label : label, optional
        The positive class. By default 1 of 0/1 and -1/1, and True; of other labels the second, with a warning.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        What gives the scores; "auto" takes the first that the estimator has. Probabilities near 0 and 1 may tie where
        decisions do not.
    random_state : int, RandomState or None, default=None
        Decides which rows are held out.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    classes_ : array of shape (2,)
        The labels, as the estimator has them.
    pos_label_ : label
        The positive class.
    threshold_ : float
        Of the score of the positive class: `predict` says positive from it on. It may be changed after `fit`.
    operating_point_ : OperatingPoint
        The threshold with its rates on the held-out rows. With a guarantee one class alone decides the threshold, so
        the rate of the other class and its interval are as good as on new rows.
    n_features_in_, feature_names_in_
        As the estimator has them.

    See Also
    --------
    operating_point : The same for given scores.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(4000, weights=[0.8], class_sep=1.5, random_state=0)
    >>> classifier = GuaranteedThresholdClassifier(LogisticRegression(), alpha=0.3, beta=0.05, random_state=0)
    >>> alarms = classifier.fit(X[:2000], y[:2000]).predict(X[2000:])
    >>> bool(alarms[y[2000:] == 0].mean() <= 0.05)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        alpha: float = 0.3,
        beta: float = 0.3,
        rule: str = MAX_TPR,
        guarantee: float | None = 0.95,
        cv: float | str = 0.3,
        pos_label: Any = None,
        response_method: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.beta = beta
        self.rule = rule
        self.guarantee = guarantee
        self.cv = cv
        self.pos_label = pos_label
        self.response_method = response_method
        self.random_state = random_state

    # --------------------------------------------------------------------------------------------------------- fit

    def fit(self, X: Any, y: Any, *, groups: Any = None, **fit_params: Any) -> GuaranteedThresholdClassifier:
        """Fit the estimator to a part of the rows, and let the others decide the threshold.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Whatever the estimator accepts.
        y : array-like of shape (n,)
            Labels of two values.
        groups : array-like of shape (n,), optional
            The patient, card or site of each row. No group is on both sides, and the promise is made for whole groups
            (`operating_point` says what it means).
        **fit_params
            Passed to the estimator's `fit`, with one value per row cut to the rows it is fitted to. ``sample_weight``
            thus changes the training, not the threshold.

        Returns
        -------
        self
        """
        self._drop_fitted()
        Region(self.alpha, self.beta)
        check_choice(self.rule, "rule", (MAX_TPR, MIN_FPR))
        check_choice(self.response_method, "response_method", _RESPONSES)
        if isinstance(self.estimator, type) or not all(hasattr(self.estimator, name) for name in ("fit", "get_params")):
            raise TypeError(f"estimator must be a scikit-learn classifier, got {brief(self.estimator)}")
        share = self._held_out_share()
        check_not_masked(X, "X")
        with naming("X"):
            (X,) = indexable(X)
            n_rows = _num_samples(X)
        labels = checked_labels(y, n_rows)
        with naming("y"):
            classes = _two_classes(labels)
        positive = classes[positive_class(classes, self.pos_label, stacklevel=3)]
        if fit_params.get("sample_weight") is not None:
            check_moderate_weight(fit_params["sample_weight"], labels == positive)
        codes = None if groups is None else check_groups(groups, labels == positive)
        if share is None:
            if fit_params:
                raise ValueError(
                    f"{min(fit_params)} has no effect here, as the estimator is fitted already; leave it out"
                )
            estimator, held_out = self.estimator, np.arange(labels.size)
            check_is_fitted(estimator)
        else:
            random = generator_of(self.random_state)
            trained, held_out = _split(labels == positive, codes, share, random)
            params = _check_method_params(X, fit_params, indices=trained)
            with naming("X"):
                estimator = clone(self.estimator).fit(_safe_indexing(X, trained), labels[trained], **params)
        if not np.array_equal(estimator.classes_, classes):
            raise ValueError(f"the estimator was fitted to the classes {estimator.classes_}, but y holds {classes}")
        self._set_threshold(estimator, positive, _safe_indexing(X, held_out), labels[held_out], codes, held_out)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def _set_threshold(
        self, estimator: Any, positive: Any, X: Any, labels: Array, codes: Array | None, held_out: Array
    ) -> None:
        scores = self._scores(estimator, X, positive)
        self.operating_point_ = operating_point(
            labels == positive,
            scores,
            alpha=self.alpha,
            beta=self.beta,
            rule=self.rule,
            guarantee=self.guarantee,
            groups=None if codes is None else codes[held_out],
        )
        threshold = self.operating_point_.threshold
        # If no score may raise an alarm, only scores above all scores seen do, so that decisions stay finite.
        self.threshold_ = threshold if np.isfinite(threshold) else float(np.nextafter(scores.max(), np.inf))
        self.pos_label_ = positive
        self.estimator_ = estimator

    def _held_out_share(self) -> float | None:
        """Return the share to hold out, None if the estimator is fitted already."""
        if isinstance(self.estimator, FrozenEstimator) or (isinstance(self.cv, str) and self.cv == PREFIT):
            return None
        if isinstance(self.cv, str):
            raise ValueError(f"cv must be a share in (0, 1) or 'prefit', got {self.cv!r}")
        share = check_number(self.cv, "cv")
        if not 0.0 < share < 1.0:
            raise ValueError(
                f"cv must be a share in (0, 1) or 'prefit', got {self.cv!r}; folds promise nothing, as each has "
                "a model of its own"
            )
        return share

    def _drop_fitted(self) -> None:
        """Delete the attributes of an earlier `fit`: a failed fit leaves no model."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    # --------------------------------------------------------------------------------------------------- prediction

    @property
    def classes_(self) -> Array:
        """The two labels, as the estimator has them."""
        try:
            return np.asarray(self.estimator_.classes_)
        except AttributeError as error:
            raise AttributeError("classes_ is known after fit") from error

    def decision_function(self, X: Any) -> Array:
        """Return how far each score is beyond `threshold_`, shape (n,): above 0 where `predict` says `classes_[1]`."""
        check_is_fitted(self)
        scores = self._scores(self.estimator_, X, self.pos_label_)
        if self.pos_label_ == self.classes_[1]:
            # A score at the threshold is an alarm, and must be above 0.
            return np.asarray(scores - np.nextafter(scores.dtype.type(self.threshold_), -np.inf, dtype=scores.dtype))
        return np.asarray(scores.dtype.type(self.threshold_) - scores)

    def predict(self, X: Any) -> Array:
        """Return the class of every row at `threshold_`, shape (n,)."""
        check_is_fitted(self)
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(int)])

    @available_if(_estimator_has_predict_proba)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the estimator's own probabilities, shape (n, 2); `predict` does not cut them at one half."""
        check_is_fitted(self)
        check_not_masked(X, "X")
        with naming("X"):
            return np.asarray(self.estimator_.predict_proba(X))

    def _scores(self, estimator: Any, X: Any, positive: Any) -> Array:
        """Return scores that are higher for the positive class, shape (n,)."""
        check_not_masked(X, "X")
        is_second = positive == estimator.classes_[1]
        if self.response_method != "predict_proba" and hasattr(estimator, "decision_function"):
            with naming("X"):
                decision = _floating(estimator.decision_function(X))
            return decision if is_second else -decision
        if self.response_method != "decision_function" and hasattr(estimator, "predict_proba"):
            with naming("X"):
                return _floating(estimator.predict_proba(X))[:, int(is_second)]
        wanted = "decision_function or predict_proba" if self.response_method == "auto" else self.response_method
        raise AttributeError(f"the estimator {type(estimator).__name__} has no {wanted}, which gives the scores")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def _floating(values: Any) -> Array:
    """Return scores of the type in which the operating point compares them."""
    scores = np.asarray(values)
    return scores if scores.dtype in (np.float32, np.float64) else scores.astype(np.float64)


def _two_classes(labels: Array) -> Array:
    """Return the two labels in order, or raise."""
    if labels.size == 0:
        raise ValueError("y has 0 rows; at least two of each class are needed")
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    kind = type_of_target(labels, input_name="y", raise_unknown=True)
    classes = np.unique(labels)
    if kind != "binary":
        raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
    if classes.size < 2:
        raise ValueError(f"y has one class only, {classes.tolist()[0]!r}; both classes are needed")
    return classes


def _split(positive: BoolArray, groups: Array | None, share: float, random: np.random.Generator) -> tuple[Array, Array]:
    """Return the rows to train on and the rows to hold out, drawn at random.

    Groups are drawn among those with the same classes, and so are rows without groups: what is held out is then a
    random sample, as the promise needs. `tpauc.classifiers.folds` balances the rows of large groups instead.
    """
    codes = np.arange(positive.size) if groups is None else groups
    has_positive, has_negative = (np.bincount(codes, weights=side) > 0 for side in (positive, ~positive))
    held = np.zeros(has_positive.size, dtype=np.bool_)
    for kind in (has_positive & ~has_negative, has_negative & ~has_positive, has_positive & has_negative):
        members = np.flatnonzero(kind)
        # Where there are two, each side has one.
        n_held = min(max(round(share * members.size), 1), members.size - 1)
        if n_held > 0:
            held[random.choice(members, n_held, replace=False)] = True
    held_out = held[codes]
    for side, rows in (("held out", held_out), ("trained on", ~held_out)):
        n_positive = int(np.count_nonzero(positive & rows))
        if n_positive in (0, int(np.count_nonzero(rows))):
            missing = "positive" if n_positive == 0 else "negative"
            units = "rows" if groups is None else "groups"
            raise ValueError(f"no {missing} row is left to be {side} with cv={share:g}; give more {units}")
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
