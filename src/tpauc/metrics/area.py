"""Exact area under the ROC curve, whole or in a corner, on NumPy arrays.

Every ``*_score`` lies in [0, 1] and higher is better. All of them are one idea: take the ``k+`` positives and the
``k-`` negatives that the region selects, and return the mean over their pairs of

    [s+ > s-] + tie * [s+ == s-],      tie = 1/2, 1 or 0 for ties="half", "optimistic", "pessimistic".

``"half"`` is what ROC software does; ``"optimistic"`` is the 0-1 loss as the paper writes it. The examples are found by
selection, O(n), and only the selected ones are put in order: the data are never sorted as a whole. With ties across
classes at the very border of the region the mean above and the interpolated curve of other software differ: the curve
cuts a diagonal there, the mean counts each tied pair alike.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tpauc._validation import (
    BoolArray,
    FloatArray,
    check_choice,
    check_flag,
    check_labels_and_scores,
    check_number,
    check_sample_weight,
    check_share,
)
from tpauc.region import Region, hard_mass

TIES = {"half": 0.5, "optimistic": 1.0, "pessimistic": 0.0}


def tpauc_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    normalize: bool = True,
    ties: str = "half",
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    """Two-way partial AUC: the area where ``TPR >= 1 - alpha`` and ``FPR <= beta``.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1, as bool, int or float.
    y_score : array-like of shape (n,)
        Scores, higher for the positive class; any finite numbers, not only probabilities.
    alpha, beta : float
        Share of positives that may be missed, share of negatives that may be false alarms; each in (0, 1].
    normalize : bool, default=True
        Divide by the area of the region, so that a perfect ranking has 1. ``False`` gives the geometric area.
    ties : {"half", "optimistic", "pessimistic"}, default="half"
        What a positive and a negative of equal score count.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights. The region then takes the share ``alpha`` of the positives' weight and the share ``beta``
        of the negatives'; an example on the border counts with the part of its weight that is inside. If all weights
        are whole numbers they stand for repeated rows, and the share is rounded down as it is for rows.

    Returns
    -------
    float

    Examples
    --------
    >>> y = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> score = [0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1]
    >>> tpauc_score(y, score, alpha=0.5, beta=0.5)  # positives 0.6, 0.3 against negatives 0.7, 0.4
    0.25
    >>> tpauc_score(y, score, alpha=0.5, beta=0.5, normalize=False)
    0.0625
    """
    region = Region(alpha, beta)
    check_flag(normalize, "normalize")
    tie = TIES[check_choice(ties, "ties", TIES)]
    positive, scores = check_labels_and_scores(y_true, y_score)
    if sample_weight is None:
        value = area_in_region(positive, scores, region, tie=tie)
    else:
        weight = check_sample_weight(sample_weight, positive)
        value = _weighted_score(positive, scores, weight, region, tie)
    return value if normalize else value * region.area


def area_in_region(positive: BoolArray, scores: FloatArray, region: Region, *, tie: float = 0.5) -> float:
    """Return :func:`tpauc_score` for arrays that are checked already; a tied pair counts ``tie``."""
    n_positive = int(np.count_nonzero(positive))
    return _mean_over_pairs(
        _lowest(scores.compress(positive), region.hard_positives(n_positive)),
        _highest_negatives(positive, scores, region.hard_negatives(scores.size - n_positive)),
        tie,
    )


def opauc_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    beta: float,
    min_fpr: float = 0.0,
    normalize: bool = True,
    ties: str = "half",
) -> float:
    """One-way partial AUC: the area under the curve where ``min_fpr <= FPR <= beta``.

    Parameters
    ----------
    y_true, y_score, normalize, ties
        As in :func:`tpauc_score`. Normalised, the area is divided by ``beta - min_fpr``.
    beta : float
        Largest false positive rate, in (0, 1].
    min_fpr : float, default=0.0
        Smallest false positive rate, in [0, beta).

    Returns
    -------
    float

    Examples
    --------
    >>> opauc_score([1, 1, 0, 0, 0, 0], [0.9, 0.4, 0.5, 0.3, 0.2, 0.1], beta=0.5)
    0.75
    """
    upper = check_share(beta, "beta")
    lower = check_number(min_fpr, "min_fpr")
    if not 0.0 <= lower < upper:
        raise ValueError(f"min_fpr must be in [0, beta) = [0, {upper}), got {min_fpr!r}")
    check_flag(normalize, "normalize")
    tie = TIES[check_choice(ties, "ties", TIES)]
    positive_scores, negative_scores = _by_class(*check_labels_and_scores(y_true, y_score))
    n_negative = negative_scores.size
    first = hard_mass(n_negative, lower)
    last = Region(1.0, upper).hard_negatives(n_negative)
    if first == last:
        raise ValueError(
            f"no negative lies between min_fpr={lower} and beta={upper}: there are only {n_negative} negatives"
        )
    # The `first` highest negatives are the highest of the `last` highest.
    hard_negatives = _lowest(_highest(negative_scores, last), last - first)
    value = _mean_over_pairs(positive_scores, hard_negatives, tie)
    return value if normalize else value * (upper - lower)


def auc_score(y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, ties: str = "half") -> float:
    """Area under the whole ROC curve: :func:`tpauc_score` with ``alpha = beta = 1``.

    Examples
    --------
    >>> auc_score([1, 1, 0, 0], [0.9, 0.4, 0.5, 0.4])
    0.625
    """
    return tpauc_score(y_true, y_score, alpha=1.0, beta=1.0, ties=ties)


def tpr_dependent_opauc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    normalize: bool = True,
    ties: str = "half",
) -> float:
    """Area under the curve from the point where ``TPR = 1 - alpha`` up to ``FPR = beta``, down to the axis.

    The paper's section on inconsistency: besides the corner it counts the rectangle below it, whose width depends on
    the model, so it may order two models the other way round than TPAUC does. With ``t`` the lowest score of the
    ``n+ - k+`` easy positives it is

        1/(n+ n-) * ( sum over hard pairs [s+ > s-]  +  (n+ - k+) * number of hard negatives below t ),

    ties as everywhere.

    Parameters
    ----------
    y_true, y_score, alpha, beta, normalize, ties
        As in :func:`tpauc_score`. Normalised, the area is divided by ``k- / n-``, so a perfect ranking has 1.

    Returns
    -------
    float

    Examples
    --------
    >>> y = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> score = [0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1]
    >>> tpr_dependent_opauc(y, score, alpha=0.5, beta=0.5)
    0.625
    """
    region = Region(alpha, beta)
    check_flag(normalize, "normalize")
    tie = TIES[check_choice(ties, "ties", TIES)]
    positive_scores, negative_scores = _by_class(*check_labels_and_scores(y_true, y_score))
    n_positive, n_negative = positive_scores.size, negative_scores.size
    k_positive = region.hard_positives(n_positive)
    k_negative = region.hard_negatives(n_negative)
    hard_positives = _lowest(positive_scores, k_positive)
    hard_negatives = _highest(negative_scores, k_negative)
    corner = _mean_over_pairs(hard_positives, hard_negatives, tie) * k_positive
    rectangle = 0.0
    if k_positive < n_positive:
        easiest = _highest(positive_scores, n_positive - k_positive).min(keepdims=True)
        rectangle = _mean_over_pairs(easiest, hard_negatives, tie) * (n_positive - k_positive)
    value = (corner + rectangle) / n_positive
    return value if normalize else value * k_negative / n_negative


# -------------------------------------------------------------------------------------------------- selected pairs


def _by_class(positive: BoolArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the values of the positives and of the negatives, both new arrays."""
    return values.compress(positive), values.compress(~positive)


def _lowest(values: FloatArray, k: int) -> FloatArray:
    """Return the ``k`` smallest values in any order, O(n)."""
    return values if k == values.size else np.partition(values, k - 1)[:k]


def _highest(values: FloatArray, k: int) -> FloatArray:
    """Return the ``k`` largest values in any order, O(n)."""
    return values if k == values.size else np.partition(values, values.size - k)[values.size - k :]


def _highest_negatives(positive: BoolArray, scores: FloatArray, k: int) -> FloatArray:
    """Return the ``k`` largest scores of negatives in any order, O(n); quicker than to pick the negatives out first."""
    candidates = np.where(positive, -np.inf, scores)
    candidates.partition(scores.size - k)
    return candidates[scores.size - k :]


def _mean_over_pairs(positive_scores: FloatArray, negative_scores: FloatArray, tie: float) -> float:
    """Mean of ``[s+ > s-] + tie * [s+ == s-]`` over all pairs of the two selections, which it puts in order."""
    # Searching sorted values in sorted values walks memory forwards, several times faster than jumping about in it.
    # In place: the selections are copies, and new memory costs more than sorting.
    positives, negatives = positive_scores, negative_scores
    positives.sort()
    negatives.sort()
    if positives.size <= negatives.size:
        won = _count(negatives, positives, "left")
        won_or_tied = won if tie == 0.0 else _count(negatives, positives, "right")
    else:
        n_pairs = positives.size * negatives.size
        won = n_pairs - _count(positives, negatives, "right")
        won_or_tied = won if tie == 0.0 else n_pairs - _count(positives, negatives, "left")
    # Counts stay whole numbers up to the last line, so the result carries a single rounding.
    return (won + tie * (won_or_tied - won)) / (positives.size * negatives.size)


def _count(ordered: FloatArray, queries: FloatArray, side: str) -> int:
    """Sum over queries of the number of ordered values below ("left") or not above ("right") the query."""
    # mypy: NumPy types `side` as a literal.
    return int(np.searchsorted(ordered, queries, side=side).sum(dtype=np.int64))  # type: ignore[call-overload]


# ------------------------------------------------------------------------------------------------ weighted examples


def _weighted_score(positive: BoolArray, scores: FloatArray, weight: FloatArray, region: Region, tie: float) -> float:
    positive_scores, negative_scores = _by_class(positive, scores)
    positive_weight, negative_weight = _by_class(positive, weight)
    if _repeats_rows(weight):
        positive_target: float = region.hard_positives(int(positive_weight.sum()))
        negative_target: float = region.hard_negatives(int(negative_weight.sum()))
    else:
        # A common factor cancels; this one keeps the sums of huge and of tiny weights within range.
        positive_weight = positive_weight / positive_weight.max()
        negative_weight = negative_weight / negative_weight.max()
        positive_target = float(positive_weight.sum()) * region.alpha
        negative_target = float(negative_weight.sum()) * region.beta
    hard_positives, positive_inside = _lowest_mass(positive_scores, positive_weight, positive_target)
    hard_negatives, negative_inside = _lowest_mass(-negative_scores, negative_weight, negative_target)
    return _weighted_mean_over_pairs(hard_positives, positive_inside, -hard_negatives, negative_inside, tie)


def _repeats_rows(weight: FloatArray) -> bool:
    """Whether all weights are whole numbers and few enough to be counted one by one in float64."""
    with np.errstate(over="ignore"):
        return bool(weight.sum() <= 2.0**53 and (weight == np.floor(weight)).all())


def _lowest_mass(values: FloatArray, weight: FloatArray, target: float) -> tuple[FloatArray, FloatArray]:
    """Return the smallest values whose weights add up to ``target``, the last one cut, in O(n).

    Halves the undecided range by selection, as one finds a median: what is surely inside is kept, what is surely
    outside is dropped, and each round costs half the one before.
    """
    inside_values: list[FloatArray] = []
    inside_weights: list[FloatArray] = []
    room = target
    while values.size > 1:
        half = values.size // 2
        order = np.argpartition(values, half)
        lower, upper = order[:half], order[half:]
        lower_mass = float(weight[lower].sum())
        if lower_mass <= room:
            inside_values.append(values[lower])
            inside_weights.append(weight[lower])
            room -= lower_mass
            values, weight = values[upper], weight[upper]
        else:
            values, weight = values[lower], weight[lower]
    inside_values.append(values)
    inside_weights.append(np.minimum(weight, max(room, 0.0)))
    return np.concatenate(inside_values), np.concatenate(inside_weights)


def _weighted_mean_over_pairs(
    positive_scores: FloatArray,
    positive_weight: FloatArray,
    negative_scores: FloatArray,
    negative_weight: FloatArray,
    tie: float,
) -> float:
    order = np.argsort(negative_scores)
    ordered = negative_scores[order]
    mass_below = np.concatenate(([0.0], np.cumsum(negative_weight[order])))
    won = mass_below[np.searchsorted(ordered, positive_scores, side="left")]
    won_or_tied = mass_below[np.searchsorted(ordered, positive_scores, side="right")]
    credit = (won + tie * (won_or_tied - won)) / mass_below[-1]
    # Weights of a perfect ranking may add up to a little more than 1.
    return min(float(positive_weight / positive_weight.sum() @ credit), 1.0)
