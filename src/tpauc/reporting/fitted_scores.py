"""The scores of fitted classifiers in scikit-learn's form, turned towards the positive class, and those of their folds.

Nothing here imports scikit-learn: a classifier is what has ``classes_`` and ``decision_function`` or ``predict_proba``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray, brief, check_both_classes, check_same_length, check_scores


def positive_label(estimator: Any, where: str, pos_label: Any) -> Any:
    """Return the positive label that was given or that the classifier knows, None if neither."""
    classes = np.asarray(getattr(estimator, "classes_", ()))
    if isinstance(estimator, type) or classes.shape != (2,):
        raise TypeError(f"{where} must be a fitted classifier of two classes, got {brief(estimator)}")
    if pos_label is not None:
        return pos_label
    steps = getattr(estimator, "steps", None)  # of a pipeline
    return getattr(steps[-1][1] if steps else estimator, "pos_label_", None)


def scores_of(estimator: Any, where: str, X: Any, positive: BoolArray, label: Any) -> FloatArray:
    """Return scores that are higher for the positive class, preferably not probabilities: these may round to 1."""
    second = label is None or bool(estimator.classes_[1] == label)
    if callable(getattr(estimator, "decision_function", None)):
        scores = np.asarray(estimator.decision_function(X))
        scores = scores if second else -scores
    elif callable(getattr(estimator, "predict_proba", None)):
        scores = np.asarray(estimator.predict_proba(X))[:, int(second)]
    else:
        raise TypeError(f"{where} must have decision_function or predict_proba, got {brief(estimator)}")
    name = f"the scores of {where} for X"
    checked = check_scores(scores, name)
    check_same_length("y", positive, name, checked)
    check_both_classes(positive, "y")
    return checked


def check_cv_results(cv_results: Any) -> tuple[list[Any], list[npt.NDArray[Any]]]:
    """Return the estimators of the folds, and the numbers of their test rows."""
    try:
        estimators = list(cv_results["estimator"])
        tests = [np.asarray(test) for test in cv_results["indices"]["test"]]
        right = len(estimators) == len(tests) > 0 and all(test.size and test.dtype.kind in "iu" for test in tests)
    except (TypeError, KeyError, IndexError, ValueError):
        right = False
    if not right:
        raise ValueError(
            "cv_results must be what scikit-learn's cross_validate returns with return_estimator=True and "
            f"return_indices=True, got {brief(cv_results)}"
        )
    return estimators, tests


def row_count(X: Any) -> int:
    """Return the number of rows of a table: an array, sparse or not, a data frame, or a list."""
    try:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)
    except (TypeError, IndexError) as error:
        raise TypeError(f"X must be a table of rows, got {brief(X)}") from error


def rows_of(X: Any, rows: npt.NDArray[Any]) -> Any:
    """Return some rows of a table, of its own type."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows]
