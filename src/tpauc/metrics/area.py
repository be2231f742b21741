"""Exact area under the ROC curve, whole or in a corner, on NumPy arrays.

Every ``*_score`` lies in [0, 1] and higher is better. All of them are one idea: take the ``k+`` positives and the
``k-`` negatives that the region selects, and return the mean over their pairs of

    [s+ > s-] + tie * [s+ == s-],      tie = 1/2, 1 or 0 for ties="half", "optimistic", "pessimistic".

``"half"`` is what ROC software does; ``"optimistic"`` is the 0-1 loss as the paper writes it. The examples are found by
selection, O(n), and only the selected ones are sorted, never the data as a whole. With ties across classes at the very
border of the region the mean above and the interpolated curve of other software differ: the curve cuts a diagonal
there, the mean counts each tied pair alike.

`area_in_region` is the same without the checks, for callers inside the package.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from tpauc._validation import (
    BoolArray,
    FloatArray,
    brief,
    check_choice,
    check_column,
    check_flag,
    check_labels_and_scores,
    check_number,
    check_sample_weight,
    check_share,
)
from tpauc.metrics._pairs import (
    PairCounts,
    WeightedClasses,
    WeightedRows,
    highest_mass,
    lowest_mass,
    selected_pairs,
    weighted_pairs,
)
from tpauc.metrics._row_areas import areas_in_rows
from tpauc.metrics.label_columns import areas_of_columns, check_average, label_columns, n_columns
from tpauc.region import Region

_TIES = {"half": 0.5, "optimistic": 1.0, "pessimistic": 0.0}
_NO_WEIGHT = 1e-12  # share of the weight of a class that rounding may leave on the wrong side of a border


@overload
def tpauc_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    normalize: bool = True,
    ties: str = "half",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
    average: Literal["macro", "weighted", "micro"] = "macro",
    labels: npt.ArrayLike | None = None,
) -> float: ...


@overload
def tpauc_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    normalize: bool = True,
    ties: str = "half",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
    average: Literal["none"] | None,
    labels: npt.ArrayLike | None = None,
) -> float | FloatArray: ...


def tpauc_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    normalize: bool = True,
    ties: str = "half",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
    average: Literal["macro", "weighted", "micro", "none"] | None = "macro",
    labels: npt.ArrayLike | None = None,
) -> float | FloatArray:
    """Two-way partial AUC: the area where ``TPR >= 1 - alpha`` and ``FPR <= beta``.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, k)
        Labels, 0/1 or -1/1, as bool, int or float; any two labels with ``pos_label``. A matrix holds ``k`` labels per
        row, NaN for those that are not known. Three or more classes, one per row, are taken one against the rest.
    y_score : array-like of shape (n,) or (n, k)
        Scores, higher for the positive class; any finite numbers, not only probabilities. A matrix has one column per
        label or class.
    alpha, beta : float
        Share of positives that may be missed, share of negatives that may be false alarms; each in (0, 1].
    normalize : bool, default=True
        Divide by the area of the region, so that a perfect ranking has 1. ``False`` gives the geometric area.
    ties : {"half", "optimistic", "pessimistic"}, default="half"
        What a positive and a negative of equal score count.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights. The region then takes the share ``alpha`` of the weight of the positives and the share
        ``beta`` of the weight of the negatives; an example on the border counts with the part of its weight that is
        inside. If all weights are whole numbers they stand for repeated rows, and the share is rounded down.
    pos_label : label, optional
        The label of the positive class, needed if labels are not 0/1, -1/1 or booleans.
    average : {"macro", "weighted", "micro", None}, default="macro"
        For a matrix of scores: the mean over columns, the mean by their numbers of positives, the value of the rows of
        all columns taken together (for labels only), or one value per column. A column of which the region selects no
        positive or no negative is NaN in the last case, and an error otherwise.
    labels : array-like of shape (k,), optional
        For classes: the class of each column of ``y_score``; by default the sorted labels of ``y_true``.

    Returns
    -------
    float, or float array of shape (k,) for a matrix without an average

    Examples
    --------
    >>> y = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> score = [0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1]
    >>> tpauc_score(y, score, alpha=0.5, beta=0.5)  # positives 0.6, 0.3 against negatives 0.7, 0.4
    0.25
    >>> tpauc_score(y, score, alpha=0.5, beta=0.5, normalize=False)
    0.0625
    >>> tpauc_score(["ill", "ill", "well", "well"], [4, 2, 3, 1], alpha=1, beta=1, pos_label="ill")
    0.75

    Two labels per row, and three classes:

    >>> labels, scores = np.array([[1, 0], [1, 1], [0, 1], [0, 0]]), np.array([[4, 1], [2, 4], [3, 3], [1, 2]])
    >>> tpauc_score(labels, scores, alpha=1, beta=1, average=None)
    array([0.75, 1.  ])
    >>> tpauc_score(["a", "b", "c"], [[3, 1, 1], [2, 1, 2], [1, 2, 3]], alpha=1, beta=1)  # 1, 1/4 and 1
    0.75
    """
    kind = check_average(average)
    if n_columns(y_score) > 1 and (n_columns(y_true) > 1 or labels is not None or _several_classes(y_true)):
        if pos_label is not None:
            raise ValueError(f"pos_label is for two classes, y_score has {n_columns(y_score)} columns; leave it out")
        region, tie = Region(alpha, beta), tie_credit(ties)
        check_flag(normalize, "normalize")
        check_average(average, of_classes=n_columns(y_true) == 1)

        def area(positive: BoolArray, scores: FloatArray, weight: FloatArray | None) -> float:
            return area_in_region(positive, scores, region, tie=tie, weight=weight)

        def areas(positive: BoolArray, negative: BoolArray, scores: FloatArray) -> FloatArray:
            return areas_in_rows(positive, negative, scores, region, tie)

        found = areas_of_columns(label_columns(y_true, y_score, labels), area, areas, kind, sample_weight)
        return found if normalize else found * region.area
    if labels is not None:
        raise ValueError("labels is for a matrix of scores with one column per class, but y_score has one column")
    return partial_auc_score(
        y_true,
        y_score,
        region=Region(alpha, beta),
        normalize=normalize,
        ties=ties,
        sample_weight=sample_weight,
        pos_label=pos_label,
    )


def partial_auc_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    region: Region,
    normalize: bool = True,
    ties: str = "half",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Area under the ROC curve inside any rectangle of the plot; the other ``*_score`` functions are special cases.

    Parameters
    ----------
    y_true, y_score, normalize, ties, sample_weight, pos_label
        As in :func:`tpauc_score`.
    region : tpauc.Region
        The rectangle.

    Returns
    -------
    float

    Examples
    --------
    >>> from tpauc import Region
    >>> y = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> score = [0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1]
    >>> partial_auc_score(y, score, region=Region(alpha=0.5, beta=0.5))  # the corner: TPAUC
    0.25
    >>> partial_auc_score(y, score, region=Region(alpha=1, beta=0.5, min_alpha=0.5))  # the lower left: TPR <= 0.5
    1.0
    """
    check_region(region)
    check_flag(normalize, "normalize")
    tie = tie_credit(ties)
    positive, scores, weight = _checked(y_true, y_score, sample_weight, pos_label)
    value = area_in_region(positive, scores, region, tie=tie, weight=weight)
    return value if normalize else value * region.area


def check_region(region: Region) -> Region:
    """Raise if a user gave anything but a region."""
    if not isinstance(region, Region):
        raise TypeError(f"region must be a tpauc.Region, got {brief(region)}")
    return region


def area_in_region(
    positive: BoolArray, scores: FloatArray, region: Region, *, tie: float = 0.5, weight: FloatArray | None = None
) -> float:
    """Return :func:`partial_auc_score` for arrays that are checked already; a tied pair counts ``tie``."""
    if weight is not None:
        return _weighted_pairs_in(WeightedClasses.of(positive, scores, weight), region).mean(tie)
    return _pairs_in(positive, scores, region).mean(tie)


def tie_credit(ties: str) -> float:
    """Return how much a tied pair counts under the rule ``ties``."""
    return _TIES[check_choice(ties, "ties", _TIES)]


def opauc_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    beta: float,
    min_fpr: float = 0.0,
    normalize: bool = True,
    ties: str = "half",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """One-way partial AUC: the area under the curve where ``min_fpr <= FPR <= beta``.

    Parameters
    ----------
    y_true, y_score, normalize, ties, sample_weight, pos_label
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
    return partial_auc_score(
        y_true,
        y_score,
        region=Region(1.0, upper, min_beta=lower),
        normalize=normalize,
        ties=ties,
        sample_weight=sample_weight,
        pos_label=pos_label,
    )


def auc_score(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    ties: str = "half",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Area under the whole ROC curve: :func:`tpauc_score` with ``alpha = beta = 1``.

    Examples
    --------
    >>> auc_score([1, 1, 0, 0], [0.9, 0.4, 0.5, 0.4])
    0.625
    """
    return tpauc_score(
        y_true, y_score, alpha=1.0, beta=1.0, ties=ties, sample_weight=sample_weight, pos_label=pos_label
    )


def tpr_dependent_opauc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    normalize: bool = True,
    ties: str = "half",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Area under the curve from the point where ``TPR = 1 - alpha`` up to ``FPR = beta``, down to the axis.

    The paper's section on inconsistency: besides the corner it counts the rectangle below the corner, whose width
    depends on the model. So it may rank two models in the opposite order of TPAUC. With ``t`` the lowest score of the
    ``n+ - k+`` easy positives it is

        1/(n+ n-) * ( sum over hard pairs [s+ > s-]  +  (n+ - k+) * number of hard negatives below t ),

    ties as everywhere.

    Parameters
    ----------
    y_true, y_score, alpha, beta, normalize, ties, sample_weight, pos_label
        As in :func:`tpauc_score`. Normalised, the area is divided by ``k- / n-``, so a perfect ranking has 1. A
        positive that the border cuts is also the lowest of the easy positives.

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
    tie = tie_credit(ties)
    positive, scores, weight = _checked(y_true, y_score, sample_weight, pos_label)
    classes = WeightedClasses.of(positive, scores, np.ones(scores.size) if weight is None else weight)
    positives, negatives = classes.positives, classes.negatives
    (_, k_positive), (_, k_negative) = classes.masses(region)
    hard_positives, hard_negatives = lowest_mass(positives, k_positive), highest_mass(negatives, k_negative)
    easy = positives.total - k_positive
    won, tied, _ = weighted_pairs(hard_positives, hard_negatives)
    if easy > _NO_WEIGHT * positives.total:
        lowest_easy = WeightedRows(_lowest_beyond(positives, hard_positives), np.array([easy]))
        rectangle = weighted_pairs(lowest_easy, hard_negatives)
        won, tied = won + rectangle.won, tied + rectangle.tied
    value = PairCounts(won, tied, positives.total * k_negative).mean(tie)
    return value if normalize else value * k_negative / negatives.total


# -------------------------------------------------------------------------------------------------- selected pairs


def _several_classes(y_true: npt.ArrayLike) -> bool:
    """Return whether labels are more than two, without a word on those that are not labels at all."""
    try:
        return len(set(check_column(y_true, "y_true").tolist())) > 2
    except (TypeError, ValueError):
        return False


def _checked(
    y_true: npt.ArrayLike, y_score: npt.ArrayLike, sample_weight: npt.ArrayLike | None, pos_label: Any
) -> tuple[BoolArray, FloatArray, FloatArray | None]:
    """Return labels, scores and weights as a user gave them, checked."""
    positive, scores = check_labels_and_scores(y_true, y_score, pos_label=pos_label)
    return positive, scores, None if sample_weight is None else check_sample_weight(sample_weight, positive)


def _pairs_in(positive: BoolArray, scores: FloatArray, region: Region) -> PairCounts:
    """Count the pairs of a rectangle: those of its corners, added and subtracted."""
    n_positive = int(np.count_nonzero(positive))
    first_positive, last_positive = region.ranks_of_positives(n_positive)
    first_negative, last_negative = region.ranks_of_negatives(scores.size - n_positive)
    pairs = selected_pairs(positive, scores, last_positive, last_negative)
    for sign, k_positive, k_negative in (
        (-1, first_positive, last_negative),
        (-1, last_positive, first_negative),
        (1, first_positive, first_negative),
    ):
        if k_positive and k_negative:
            corner = selected_pairs(positive, scores, k_positive, k_negative)
            pairs = PairCounts(*(so_far + sign * more for so_far, more in zip(pairs, corner, strict=True)))
    return pairs


def _weighted_pairs_in(classes: WeightedClasses, region: Region) -> PairCounts:
    (first_positive, last_positive), (first_negative, last_negative) = classes.masses(region)
    positives, negatives = lowest_mass(classes.positives, last_positive), highest_mass(classes.negatives, last_negative)
    if first_positive > 0:  # the hardest of all are the hardest of these
        positives = highest_mass(positives, last_positive - first_positive)
    if first_negative > 0:
        negatives = lowest_mass(negatives, last_negative - first_negative)
    return weighted_pairs(positives, negatives)


def _lowest_beyond(rows: WeightedRows, inside: WeightedRows) -> FloatArray:
    """Return the lowest score with weight that is not inside, as an array of one number."""
    border = inside.scores[inside.weight > 0].max()
    left = rows.weight[rows.scores <= border].sum() - inside.total
    beyond = rows.scores[rows.scores > border]
    if beyond.size == 0 or left > _NO_WEIGHT * rows.total:
        return np.array([border])
    return np.array([beyond.min()])
