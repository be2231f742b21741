"""Does training for the region help on this data? Repeated cross-validation of three models, and a verdict.

Plain cross-entropy, class-balanced cross-entropy and training for the region are compared on the same folds, by a test
that accounts for the rows that folds share (`tpauc.classifiers.cross_validation`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import check_array

from tpauc._notebook import html_table, limits_text
from tpauc._validation import (
    BoolArray,
    FloatArray,
    brief,
    check_both_classes,
    check_choice,
    check_count,
    check_labels,
    check_positive,
    check_random_state,
    check_same_length,
    import_extra,
)
from tpauc.classifiers._input import checked_rows
from tpauc.classifiers.cross_validation import (
    CONFIDENCE,
    Maker,
    corrected_comparison,
    cross_validate,
    feasible_folds,
    tpauc_step,
)
from tpauc.classifiers.folds import fold_groups, group_numbers
from tpauc.classifiers.progress import tree_threads
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
from tpauc.classifiers.training_methods import AUTO, MODELS
from tpauc.metrics.comparison import Comparison
from tpauc.metrics.intervals import Interval
from tpauc.region import Region

ADVISED_MODELS = (*MODELS, "lightgbm")
PLAIN, BALANCED, REGION = "plain", "balanced", "region"
FEWEST_HARD_POSITIVES = 10  # in the region, of all positives: with fewer, a few rows decide


@dataclass(frozen=True, repr=False)
class Advice:
    """Whether training for the region helps: the result of :func:`advise`.

    Attributes
    ----------
    model : str
        The model family.
    alpha, beta : float
        The region.
    n_positive, n_negative, n_hard_positive : int
        Rows of each class, and positives in the region.
    n_folds, n_repeats : int
        Of the cross-validation.
    plain, balanced, region : Interval
        Mean TPAUC on held-out rows of the models trained on plain cross-entropy, on class-balanced cross-entropy and
        for the region, with its 95 % interval.
    over_plain, over_balanced : Comparison
        TPAUC of the model for the region minus TPAUC of the other model, on the same rows, with 95 % interval and
        p-value.
    outcome : {"helps", "no difference found", "hurts", "too few positives to tell"}
    verdict : str
        The outcome in one sentence.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(300, n_features=4, weights=[0.9], random_state=0)
    >>> advise(X, y, alpha=0.2, beta=0.3, n_folds=2, n_repeats=1, random_state=0).outcome
    'too few positives to tell'
    """

    model: str
    alpha: float
    beta: float
    n_positive: int
    n_negative: int
    n_hard_positive: int
    n_folds: int
    n_repeats: int
    plain: Interval
    balanced: Interval
    region: Interval
    over_plain: Comparison
    over_balanced: Comparison
    outcome: str
    verdict: str

    def __repr__(self) -> str:
        lines = [f"  {name:<22} {value}  95 % in {limits}" for name, value, limits in self._figures()]
        return "\n".join([f"Advice: {self.verdict}", *lines])

    def _repr_html_(self) -> str:
        header = ["held-out TPAUC", "estimate", "95 % interval"]
        return html_table(f"Advice: {self.outcome}", self._figures(), header=header, notes=[self.verdict])

    def _figures(self) -> list[list[str]]:
        """Return name, estimate and limits of each figure."""
        areas = [(PLAIN, self.plain), (BALANCED, self.balanced), (REGION, self.region)]
        rows = [[name, f"{found.estimate:.4f}", limits_text(found.low, found.high)] for name, found in areas]
        for name, gain in (("plain", self.over_plain), ("balanced", self.over_balanced)):
            rows.append([f"region minus {name}", f"{gain.difference:+.4f}", f"{gain.low:+.4f} to {gain.high:+.4f}"])
        return rows


def advise(
    X: Any,
    y: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    model: str = "linear",
    n_folds: int = 5,
    n_repeats: int = 2,
    pos_label: Any = None,
    groups: npt.ArrayLike | None = None,
    preprocessing: Any = None,
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: Callable[[str], None] | None = None,
) -> Advice:
    """Find out by repeated cross-validation whether training for the region helps on this data.

    Parameters
    ----------
    X : array-like or data frame of shape (n, d)
        Features, not sparse; numbers, unless ``preprocessing`` turns them into numbers.
    y : array-like of shape (n,)
        Labels, 0/1 or -1/1; any two with ``pos_label``.
    alpha, beta : float
        The region.
    model : {"linear", "mlp", "auto", "auto-fast", "lightgbm"}, default="linear"
        The model family. Linear models and networks are :class:`~tpauc.TPAUCClassifier` with the methods
        "cross_entropy", "balanced_cross_entropy" and "region"; trees are LightGBM's ``binary``, the same with
        ``is_unbalance``, and :class:`~tpauc.TPAUCBooster`. "auto" and "auto-fast" are stacks of unlike models,
        compared with the same two of LightGBM.
    n_folds : int, default=5
        Folds; fewer if the region would select no example of a class in some fold, or if a class has fewer distinct
        rows.
    n_repeats : int, default=2
        Number of cross-validations, each with new folds.
    pos_label : label, optional
        The positive class.
    groups : array-like of shape (n,), optional
        Values that rows of a group share, such as the number of a patient. Rows of a group are never on both sides of a
        fold, also not of the folds inside a training.
    preprocessing : scikit-learn transformer, optional
        Fitted on the training rows of each fold, before the model.
    time_limit : float, optional
        For "auto" and "auto-fast": seconds of a single training after which no further member of the stack is begun.
    random_state : int, numpy.random.Generator or None, default=None
        Decides the folds and everything random in the trainings.
    progress : callable, optional
        Called with one line of text per fold.

    Returns
    -------
    Advice
        The verdict is "helps" if the model for the region is better than both cross-entropies (each p < 0.05), "hurts"
        if it is worse than one of them (p < 0.025, since there are two), and "too few positives to tell" if the region
        selects fewer than 10 positives. The intervals hold for models trained on as many rows as in the folds, over
        new samples of such data.

    Warns
    -----
    UserWarning
        If hardly any rows are distinct, so that copies of a row could not be kept in one fold.

    Notes
    -----
    "No difference found" does not prove that there is none: the interval says which differences the data leave open.
    The test is conservative. Of 1000 simulated comparisons of equally good scores (60 positives, 240 negatives) 2 ended
    in "helps" and 8 in "hurts"; of 120 with data for which logistic regression is right (800 rows, 15 % positives,
    linear models), none.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(1000, n_features=4, weights=[0.8], class_sep=0.7, random_state=0)
    >>> advice = advise(X, y, alpha=0.3, beta=0.3, n_repeats=1, random_state=0)
    >>> advice.region.low <= advice.region.estimate <= advice.region.high
    True
    >>> advice.outcome in ("helps", "no difference found", "hurts")
    True
    """
    region = Region(alpha, beta)
    check_choice(model, "model", ADVISED_MODELS)
    check_count(n_folds, "n_folds", at_least=2)
    check_count(n_repeats, "n_repeats")
    if time_limit is not None and check_positive(time_limit, "time_limit") and model not in AUTO:
        raise ValueError(
            f"time_limit={time_limit!r} has no effect for model={model!r}; time_limit applies to the models "
            f"{' and '.join(AUTO)}; leave it out"
        )
    random = check_random_state(random_state)
    if progress is not None and (isinstance(progress, type) or not callable(progress)):
        raise TypeError(f"progress must be a function of a line of text, got {brief(progress)}")
    if preprocessing is not None and (isinstance(preprocessing, type) or not hasattr(preprocessing, "fit_transform")):
        raise TypeError(f"preprocessing must be a scikit-learn transformer, got {brief(preprocessing)}")
    if preprocessing is None:
        X = _as_numbers(X) if model == "lightgbm" else checked_rows(None, X)
    else:
        X = _table(X)
    positive = check_labels(y, "y", pos_label)
    check_same_length("X", X, "y", positive)
    check_both_classes(positive, "y")
    n_values = X.shape[0] * X.shape[1]
    makers = {name: _prepared(maker, preprocessing) for name, maker in _makers(model, time_limit, n_values).items()}
    group, n_folds = fold_groups(X, positive, feasible_folds(n_folds, positive, region), groups=groups)
    given = None if groups is None else group_numbers(groups, positive.size)
    values = cross_validate(makers, X, positive, group, region, n_folds, n_repeats, random, progress, given)
    return _advice(model, region, positive, n_folds, n_repeats, values)


# ------------------------------------------------------------------------------------------------------------ models


def _makers(model: str, time_limit: float | None, n_values: int) -> dict[str, Maker]:
    if model == "lightgbm" or model in AUTO:
        return {
            PLAIN: lambda region, seed: _lightgbm(seed, n_values),
            BALANCED: lambda region, seed: _lightgbm(seed, n_values, is_unbalance=True),
            REGION: _booster if model == "lightgbm" else partial(_auto, model, time_limit),
        }
    # A linear model on a cross-entropy has no candidates to choose from.
    once: dict[str, Any] = {"validation": None} if model == "linear" else {}

    def maker(**options: Any) -> Maker:
        return lambda region, seed: TPAUCClassifier(
            model, alpha=region.alpha, beta=region.beta, random_state=seed, **options
        )

    return {
        PLAIN: maker(method="cross_entropy", **once),
        BALANCED: maker(method="balanced_cross_entropy", **once),
        REGION: maker(),
    }


def _lightgbm(seed: int, n_values: int, **options: Any) -> Any:
    classifier = import_extra("lightgbm", "lightgbm").LGBMClassifier(
        random_state=seed, n_jobs=tree_threads(n_values), verbose=-1, **options
    )
    # Preprocessing may return a data frame, and LightGBM refuses column names such as "size [m]".
    return make_pipeline(FunctionTransformer(_as_numbers), classifier)


def _as_numbers(X: Any) -> Any:
    return checked_rows(None, X, ensure_all_finite="allow-nan")


def _booster(region: Region, seed: int) -> Any:
    from tpauc.classifiers.boosting.booster import TPAUCBooster

    return TPAUCBooster(alpha=region.alpha, beta=region.beta, random_state=seed)


def _auto(model: str, time_limit: float | None, region: Region, seed: int) -> Any:
    return TPAUCClassifier(model, alpha=region.alpha, beta=region.beta, time_limit=time_limit, random_state=seed)


def _prepared(maker: Maker, preprocessing: Any) -> Maker:
    if preprocessing is None:
        return maker
    return lambda region, seed: make_pipeline(clone(preprocessing), maker(region, seed))


def _table(X: Any) -> Any:
    """Return a data frame unchanged, and anything else as an array of shape (n, d) with the type of its values."""
    if hasattr(X, "columns"):
        return X
    values = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    if values.dtype.kind == "U" and not hasattr(X, "dtype"):
        return np.array(X, dtype=object)  # NumPy turns numbers in a list with text into text
    return values


# ----------------------------------------------------------------------------------------------------------- verdict


def _interval(values: FloatArray, n_folds: int, step: float) -> Interval:
    found = _compared(values, n_folds, step)
    return Interval(found.difference, max(found.low, 0.0), found.high, found.method)


def _compared(differences: FloatArray, n_folds: int, step: float) -> Comparison:
    return corrected_comparison(differences, 1.0 / (n_folds - 1), step)


def _advice(
    model: str, region: Region, positive: BoolArray, n_folds: int, n_repeats: int, values: dict[str, FloatArray]
) -> Advice:
    n_positive = int(positive.sum())
    n_hard = region.hard_positives(n_positive)
    step = tpauc_step(positive, n_folds, region)
    intervals = {name: _interval(found, n_folds, step) for name, found in values.items()}
    over = {name: _compared(values[REGION] - values[name], n_folds, step) for name in (PLAIN, BALANCED)}
    outcome = _outcome(over, n_hard)
    return Advice(
        model=model,
        alpha=region.alpha,
        beta=region.beta,
        n_positive=n_positive,
        n_negative=positive.size - n_positive,
        n_hard_positive=n_hard,
        n_folds=n_folds,
        n_repeats=n_repeats,
        **intervals,
        over_plain=over[PLAIN],
        over_balanced=over[BALANCED],
        outcome=outcome,
        verdict=_verdict(model, outcome, intervals, over, n_positive, n_hard),
    )


def _outcome(over: Mapping[str, Comparison], n_hard: int) -> str:
    level = 1.0 - CONFIDENCE
    if n_hard < FEWEST_HARD_POSITIVES:
        return "too few positives to tell"
    if all(found.difference > 0.0 and found.p_value < level for found in over.values()):
        return "helps"
    if any(found.difference < 0.0 and found.p_value < level / len(over) for found in over.values()):
        return "hurts"
    return "no difference found"


def _verdict(
    model: str,
    outcome: str,
    intervals: Mapping[str, Interval],
    over: Mapping[str, Comparison],
    n_positive: int,
    n_hard: int,
) -> str:
    rival = max((PLAIN, BALANCED), key=lambda name: intervals[name].estimate)
    found = over[rival]
    what, baseline = "training for the region", f"{rival} cross-entropy"
    if model in AUTO:
        what, baseline = "the stack", f"LightGBM on {baseline}"
    changes = (
        f"{what} changes TPAUC by {found.difference:+.3f} [{found.low:+.3f} to {found.high:+.3f}] "
        f"against {baseline}, the better of the two"
    )
    if outcome == "too few positives to tell":
        changes = f"a region with fewer than {FEWEST_HARD_POSITIVES} positives says little; {changes}"
    return f"{outcome.capitalize()}: {changes} ({n_positive:,} positives, {n_hard:,} of them in the region)."
