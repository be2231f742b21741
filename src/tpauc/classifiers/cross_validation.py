"""Repeated cross-validation of several models in a region, and a test of their differences.

Models are fitted in ``K`` folds, and this is repeated ``R`` times with new folds. All copies of a row are in one fold,
unless there are hardly any distinct rows. Each of the ``J = K R`` folds gives a TPAUC of each model on rows that it was
not trained on, and a difference ``d`` of two models on the same rows.

Folds share training rows, and repeats reuse all rows, so the ``J`` differences are not independent: their plain
standard error is too small. The corrected resampled t-test (Nadeau and Bengio, *Inference for the generalization
error*, Machine Learning 52, 2003) accounts for that. With the mean ``m`` and the variance ``s^2`` of the ``J`` values,

    m +- t(J - 1) * sqrt((1 / J + 1 / (K - 1)) * s^2),

where ``1 / (K - 1)`` is the number of held-out rows divided by the number of training rows. So further repeats make the
interval more stable, but hardly narrower; only more data do. On a fold whose region holds ``k+`` positives and ``k-``
negatives, TPAUC changes in steps of ``1 / (2 k+ k-)``, so a few folds may agree by chance: ``s`` is at least one step.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from tpauc._validation import BoolArray, FloatArray, check_class_sizes
from tpauc.classifiers._candidates import tpauc_of_fold
from tpauc.classifiers.base import RegionClassifier
from tpauc.classifiers.folds import FEW_DISTINCT, stratified_folds
from tpauc.classifiers.progress import begin, within
from tpauc.metrics.comparison import Comparison
from tpauc.region import Region, fewest_with_one, hard_mass

CONFIDENCE = 0.95
METHOD = "corrected t-test"

IntArray = npt.NDArray[np.intp]

# Maps the region and a seed to a model that is not fitted yet.
Maker = Callable[[Region, int], Any]


def cross_validate(
    makers: Mapping[str, Maker],
    X: Any,
    positive: BoolArray,
    group: IntArray,
    region: Region,
    n_folds: int,
    n_repeats: int,
    random: np.random.Generator,
    progress: Callable[[str], None] | None = None,
    groups: IntArray | None = None,
) -> dict[str, FloatArray]:
    """Return the TPAUC of every model on each held-out fold of every repeat, shape (n_repeats * n_folds,)."""
    values: dict[str, list[float]] = {name: [] for name in makers}
    for repeat in range(n_repeats):
        fold = stratified_folds(positive, group, n_folds, random)
        _check_rest_of_folds(fold, positive, n_folds, None if groups is None else group)
        for number in range(n_folds):
            train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            seed = int(random.integers(2**31))
            done = (repeat * n_folds + number) * len(makers)
            for order, (name, maker) in enumerate(makers.items()):
                what = f"model {name!r} in fold {number + 1} of {n_folds}, repeat {repeat + 1} of {n_repeats}"
                begin(what, n_repeats * n_folds * len(makers), done + order)
                with warnings.catch_warnings(), within(what):
                    # Models also have folds of their own, to find their settings; those may separate copies.
                    warnings.filterwarnings("ignore", FEW_DISTINCT, UserWarning)
                    model = maker(region, seed)
                    options = {} if groups is None else _groups_option(model, groups[train])
                    fitted = model.fit(_safe_indexing(X, train), positive[train].astype(np.int64), **options)
                scores = _scores(fitted, _safe_indexing(X, test))
                values[name].append(tpauc_of_fold(positive[test], scores, region))
            if progress is not None:
                progress(f"fold {number + 1} of {n_folds}, repeat {repeat + 1} of {n_repeats}")
    return {name: np.array(found) for name, found in values.items()}


def _groups_option(model: Any, groups: IntArray) -> dict[str, IntArray]:
    """Return the argument of `fit` that keeps groups together in a model's own folds, if it has folds."""
    prefix, last = (f"{model.steps[-1][0]}__", model[-1]) if isinstance(model, Pipeline) else ("", model)
    return {f"{prefix}groups": groups} if isinstance(last, RegionClassifier) and last._holds_out_rows() else {}


def _scores(fitted: Any, X: Any) -> FloatArray:
    if hasattr(fitted, "decision_function"):
        return np.asarray(fitted.decision_function(X), dtype=np.float64)
    return np.asarray(fitted.predict_proba(X), dtype=np.float64)[:, 1]


def feasible_folds(n_folds: int, positive: BoolArray, region: Region) -> int:
    """Return the number of folds, or fewer if otherwise the region would select no example of a class in a fold."""
    n_positive = int(positive.sum())
    n_negative = positive.size - n_positive
    _check_two_folds(n_positive, region.alpha, "alpha", "positive")
    _check_two_folds(n_negative, region.beta, "beta", "negative")
    return next(
        k
        for k in range(min(n_folds, n_positive, n_negative), 1, -1)
        if hard_mass(n_positive // k, region.alpha) > 0 and hard_mass(n_negative // k, region.beta) > 0
    )


def _check_two_folds(n: int, share: float, name: str, side: str) -> None:
    """Raise if the region selects none of the ``n`` rows of a class in one of two folds."""
    if hard_mass(n // 2, share) > 0:
        return
    needed = fewest_with_one(share)
    raise ValueError(
        f"{name}={share} needs at least {2 * needed} {side} rows, {needed} in each of two folds, found {n}; "
        f"give more data, or a larger {name}"
    )


def _check_rest_of_folds(fold: IntArray, positive: BoolArray, n_folds: int, group: IntArray | None) -> None:
    """Raise if too few rows, or given groups, of a class are outside a fold: models divide them into folds again."""
    for number in range(n_folds):
        rest = positive[fold != number]
        n_positive = int(rest.sum())
        check_class_sizes(n_positive, rest.size - n_positive, 2, "to train on outside each fold")
        for side in (positive, ~positive):
            if group is not None and (n_groups := np.unique(group[(fold != number) & side]).size) < 2:
                raise ValueError(
                    "groups must have each class in at least 2 groups outside each fold, to train on, found "
                    f"{n_groups}; give more groups"
                )


def tpauc_step(positive: BoolArray, n_folds: int, region: Region) -> float:
    """Return the smallest difference of two TPAUCs on a held-out fold: half a pair.

    Examples
    --------
    >>> tpauc_step(np.arange(100) < 50, 5, Region(0.2, 0.4))  # 2 hard positives, 4 hard negatives
    0.0625
    """
    n_positive = int(positive.sum())
    n_negative = positive.size - n_positive
    return 0.5 / (region.hard_positives(n_positive // n_folds) * region.hard_negatives(n_negative // n_folds))


def corrected_comparison(differences: FloatArray, test_per_training_row: float, step: float = 0.0) -> Comparison:
    """Return the mean of differences over splits of the same rows, with interval and p-value of the corrected test.

    Parameters
    ----------
    differences : array of shape (n_splits,)
        At least two.
    test_per_training_row : float
        Number of rows held out divided by the number of rows trained on; ``1 / (K - 1)`` for folds.
    step : float, default=0.0
        Lower bound of the standard deviation of the differences.

    Examples
    --------
    >>> found = corrected_comparison(np.array([0.02, 0.01, 0.03, 0.02]), 1 / 3)
    >>> print(f"{found.difference:.3f} in {found.low:.3f} to {found.high:.3f}, p = {found.p_value:.3f}")
    0.020 in 0.000 to 0.040, p = 0.049
    """
    mean, freedom = float(differences.mean()), differences.size - 1
    variance = max(float(differences.var(ddof=1)), step**2)
    error = math.sqrt((1.0 / differences.size + test_per_training_row) * variance)
    if error == 0.0:
        return Comparison(mean, mean, mean, 1.0 if mean == 0.0 else 0.0, METHOD)
    reach = float(stats.t.ppf((1.0 + CONFIDENCE) / 2.0, freedom)) * error
    p_value = 2.0 * float(stats.t.sf(abs(mean) / error, freedom))
    return Comparison(mean, max(mean - reach, -1.0), min(mean + reach, 1.0), p_value, METHOD)
