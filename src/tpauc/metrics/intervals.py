"""How sure a TPAUC is: confidence intervals, the paired comparison of two models, and the operating point.

All resampling is the stratified bootstrap: out of ``n+`` positives and ``n-`` negatives as many are drawn with
replacement, each class on its own, and the statistic is the exact :func:`tpauc.tpauc_score` of the drawn rows,
ties counted half. `tpauc.metrics._bootstrap` says how that is done quickly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tpauc._validation import (
    BoolArray,
    FloatArray,
    check_count,
    check_labels_and_scores,
    check_open_share,
    check_random_state,
)
from tpauc.metrics._bootstrap import paired_resamples, two_sided_resamples
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region, hard_mass


@dataclass(frozen=True)
class Interval:
    """An estimated TPAUC and the limits of its confidence interval; what :func:`tpauc_interval` returns."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """The TPAUC of one model minus that of another; what :func:`compare_tpauc` returns."""

    difference: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold and what it achieves; what :func:`operating_point` returns."""

    threshold: float
    tpr: float
    fpr: float
    feasible: bool


def tpauc_interval(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Confidence interval of :func:`~tpauc.metrics.area.tpauc_score`, by a stratified bootstrap.

    The limits are percentiles of resamples, and each allows for what the sample may have missed: for the lower limit
    the hardest row of each class is put into the data once more before resampling, for the upper limit the easiest
    (as the exact interval of a proportion counts one failure more, then one success more). The extra row loses its
    weight as the data grow, and the interval becomes the percentile interval.

    Where the region is ranked perfectly, so is every resample, and there is no spread to read a limit from. The lower
    limit is then ``((1 - confidence) / 2) ** (1 / min(k+, k-))``, the exact one of a proportion without a failure
    among that many; where all resamples are 0 the upper limit is 1 minus that.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1, as bool, int or float.
    y_score : array-like of shape (n,)
        Scores, higher for the positive class.
    alpha, beta : float
        The region, as in :func:`~tpauc.metrics.area.tpauc_score`; each in (0, 1].
    confidence : float, default=0.95
        In (0, 1).
    n_resamples : int, default=2000
        At least ``2 / (1 - confidence) - 1``, so that a resample lies beyond each limit.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or source of the draws. An int gives the same interval each time; None a new one.

    Returns
    -------
    Interval
        With ``estimate``, ``low`` and ``high``, where ``low <= estimate <= high``.

    Notes
    -----
    The method was chosen by its coverage of the truth in simulations (normal scores, 40 and 60 positives, ten times as
    many negatives, TPAUC(0.3, 0.3) from 0.01 to 0.98; 95 % wanted). This one covers 92 % to 98 %. Plain percentiles
    cover 79 % to 96 %, the less the closer to 1, since the loss is then due to a few rows that another sample may
    not hold. BCa mends half of that, and fails near 0 (86 %), where estimates of exactly 0 are common; on the logit
    scale 54 % to 87 % are covered near 0.

    With 50 rows in each class the interval is too wide rather than too narrow (97 % to 99 %). What the sample does not
    show it cannot allow for: if the positives spread twice as wide as the negatives, a TPAUC of 0.9 estimated from
    50 of them is covered in 87 % of the cases, and a class of a single row shows no spread at all. Nor do few
    hard positives show what lies beyond them: with 20 positives and 5,000 negatives, 46 % are covered if the region
    selects 1 positive, 66 % if 2, 88 % if 6; with 50 positives, 93 % if it selects 5 and 94 % if 10.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(1000) < 100
    >>> score = rng.normal(size=1000) + 2 * y
    >>> interval = tpauc_interval(y, score, alpha=0.3, beta=0.3, random_state=0)
    >>> print(f"{interval.estimate:.2f} in {interval.low:.2f} to {interval.high:.2f}")
    0.52 in 0.34 to 0.66
    """
    confidence = check_open_share(confidence, "confidence")
    n_resamples = check_resamples(n_resamples, confidence)
    generator = check_random_state(random_state)
    positive, scores = check_labels_and_scores(y_true, y_score)
    region = Region(alpha, beta)
    estimate = tpauc_score(positive, scores, alpha=region.alpha, beta=region.beta)
    pessimistic, optimistic = two_sided_resamples(generator, positive, scores, region, n_resamples)
    low, high = _limits(pessimistic, confidence)[0], _limits(optimistic, confidence)[1]
    n_positive = int(np.count_nonzero(positive))
    fewest = min(region.hard_positives(n_positive), region.hard_negatives(positive.size - n_positive))
    unseen = ((1.0 - confidence) / 2.0) ** (1.0 / fewest)
    low = unseen if low == 1.0 else low
    high = 1.0 - unseen if high == 0.0 else high
    return Interval(estimate, min(low, estimate), max(high, estimate))


def compare_tpauc(
    y_true: npt.ArrayLike,
    score_a: npt.ArrayLike,
    score_b: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | None = None,
) -> Comparison:
    """Compare two models on the same rows: TPAUC of ``score_a`` minus that of ``score_b``.

    The bootstrap is paired: a resample holds the same rows for both models, so what makes rows hard for both cancels.
    The resampled differences are moved away from the observed one by the factor ``sqrt(1 + 1/m)``, where ``m`` is the
    effective number of rows that make the difference: the ``m`` equal contributions that would vary as much,
    ``(sum of l^2)^2 / (sum of l^4)`` with ``l`` the influence of a row. The interval lies between percentiles of these
    values, and the p-value is their two-sided tail,

        p = min(1, 2 (1 + min(#{value <= 0}, #{value >= 0})) / (n_resamples + 1)).

    But ``n`` rows of a class say no more than ``n`` signs do: p is at least ``2^(1 - n)`` for the smaller class, so
    that with fewer than 6 rows no difference shows at 5 %.

    Both say the same: ``p_value <= 1 - confidence`` exactly where 0 is outside ``[low, high]``. The p-value is never 0;
    ``2 / (n_resamples + 1)`` says that no value was on the other side. Equal scores give difference 0 and p-value 1.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1, as bool, int or float.
    score_a, score_b : array-like of shape (n,)
        Scores of the two models for the same rows, higher for the positive class; their scales may differ.
    alpha, beta, confidence, n_resamples, random_state
        As in :func:`tpauc_interval`.

    Returns
    -------
    Comparison
        With ``difference``, ``low``, ``high`` and ``p_value``.

    Notes
    -----
    Simulated tests at 5 % of two models of equal TPAUC(0.3, 0.3), from 0.1 to 0.95, reject in 2 % to 6 % of the cases
    with 50 and with 200 positives; without the factor, in up to 9 %. If the positives of one model also spread 2.7
    times as wide as those of the other, it is 3 % to 7 % up to a TPAUC of 0.8, but 15 % at 0.95 (9 % with 200
    positives): there the loss of one model is due to a few rows that the sample may not hold.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(2000) < 200
    >>> noise = rng.normal(size=2000)
    >>> better, worse = noise + 2.5 * y, noise + rng.normal(size=2000) + 2 * y
    >>> comparison = compare_tpauc(y, better, worse, alpha=0.3, beta=0.3, random_state=0)
    >>> comparison.low > 0, comparison.p_value < 0.01
    (True, True)
    """
    confidence = check_open_share(confidence, "confidence")
    n_resamples = check_resamples(n_resamples, confidence)
    generator = check_random_state(random_state)
    region = Region(alpha, beta)
    positive, first = check_labels_and_scores(y_true, score_a, score_name="score_a")
    _, second = check_labels_and_scores(y_true, score_b, score_name="score_b")
    value_a, value_b = (tpauc_score(positive, s, alpha=region.alpha, beta=region.beta) for s in (first, second))
    resampled = paired_resamples(generator, positive, (first, second), region, n_resamples)
    difference = value_a - value_b
    effective_rows = _effective_number(_influence(positive, first, region) - _influence(positive, second, region))
    stretched = difference + math.sqrt(1.0 + 1.0 / effective_rows) * (resampled[0] - resampled[1] - difference)
    low, high = _limits(np.clip(stretched, -1.0, 1.0), confidence)
    fewer = int(min(np.count_nonzero(stretched <= 0.0), np.count_nonzero(stretched >= 0.0)))
    found = Comparison(difference, low, high, min(1.0, 2.0 * (1 + fewer) / (n_resamples + 1)))
    return no_surer_than_signs(found, positive, confidence)


def no_surer_than_signs(found: Comparison, positive: BoolArray, confidence: float) -> Comparison:
    """Return a comparison with a p-value of at least ``2^(1 - n)``, ``n`` the rows of the smaller class.

    So sure would a sign test be of ``n`` rows that all say the same. Few rows may show no spread, or hardly any, from
    which resamples and variances would conclude more.
    """
    n_positive = int(np.count_nonzero(positive))
    least = 2.0 ** (1 - min(n_positive, positive.size - n_positive))
    if found.p_value >= least:
        return found
    low, high = found.low, found.high
    if least > 1.0 - confidence:
        low, high = min(low, 0.0), max(high, 0.0)
    return Comparison(found.difference, low, high, least)


def operating_point(y_true: npt.ArrayLike, y_score: npt.ArrayLike, *, alpha: float, beta: float) -> OperatingPoint:
    """Threshold with the highest TPR at ``FPR <= beta``, and whether ``TPR >= 1 - alpha`` is met there.

    A row is predicted positive when its score is at least the threshold. Among the thresholds of highest TPR the one of
    lowest FPR is returned: it is the score of a positive. If even the highest positive comes with more than ``beta`` of
    the negatives (all scores tied, say), no allowed threshold catches a positive; ``inf`` is then returned, with TPR
    and FPR 0. Shares are counted as everywhere: ``floor(n- * beta)`` negatives may be false alarms and
    ``floor(n+ * alpha)`` positives may be missed, and either may be no row at all. Takes O(n).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1, as bool, int or float.
    y_score : array-like of shape (n,)
        Scores, higher for the positive class.
    alpha, beta : float
        Share of positives that may be missed, share of negatives that may be false alarms; each in (0, 1].

    Returns
    -------
    OperatingPoint
        With ``threshold``, ``tpr``, ``fpr`` and ``feasible``.

    Examples
    --------
    >>> y = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> score = [0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1]
    >>> operating_point(y, score, alpha=0.25, beta=0.25)
    OperatingPoint(threshold=0.6, tpr=0.75, fpr=0.25, feasible=True)
    >>> operating_point(y, [0.5] * 8, alpha=0.25, beta=0.25)
    OperatingPoint(threshold=inf, tpr=0.0, fpr=0.0, feasible=False)
    """
    region = Region(alpha, beta)
    positive, scores = check_labels_and_scores(y_true, y_score)
    positives, negatives = scores[positive], scores[~positive]
    false_alarms_allowed = hard_mass(negatives.size, region.beta)
    caught = positives
    if false_alarms_allowed < negatives.size:
        first_too_many = negatives.size - 1 - false_alarms_allowed
        caught = positives[positives > np.partition(negatives, first_too_many)[first_too_many]]
    threshold = float(caught.min()) if caught.size else math.inf
    return OperatingPoint(
        threshold,
        tpr=caught.size / positives.size,
        fpr=int(np.count_nonzero(negatives >= threshold)) / negatives.size,
        feasible=positives.size - caught.size <= hard_mass(positives.size, region.alpha),
    )


def _limits(values: FloatArray, confidence: float) -> tuple[float, float]:
    """Return the values of rank ``j`` from either end of ``r``, where ``j = floor((r + 1) (1 - confidence) / 2)``."""
    # check_resamples has seen to a rank of at least 1, but for rounding.
    rank = max(1, hard_mass(values.size + 1, (1.0 - confidence) / 2.0))
    ordered = np.sort(values)
    return float(ordered[rank - 1]), float(ordered[-rank])


# ------------------------------------------------------------------------------------------------------- influence


def _influence(positive: BoolArray, scores: FloatArray, region: Region) -> FloatArray:
    """Return for each row by how much, to first order, TPAUC would change if the row were there once more.

    That is the share of the pairs which the row wins for its class, less the mean over the class. A row outside the
    region counts like the one on its border, which it would push out.
    """
    positives, negatives = scores[positive], scores[~positive]
    k_positive, k_negative = region.hard_positives(positives.size), region.hard_negatives(negatives.size)
    hard_positives, hard_negatives = np.sort(positives)[:k_positive], np.sort(negatives)[-k_negative:]
    won = _share_below(hard_negatives, np.minimum(positives, hard_positives[-1]))
    lost = _share_below(hard_positives, np.maximum(negatives, hard_negatives[0]))
    influence = np.empty(scores.size)
    influence[positive] = (won - won.mean()) / k_positive
    influence[~positive] = (lost.mean() - lost) / k_negative
    return influence


def _share_below(ordered: FloatArray, queries: FloatArray) -> FloatArray:
    """Return the share of the ordered values that lie below each query, ties counted half."""
    twice = np.searchsorted(ordered, queries, side="left") + np.searchsorted(ordered, queries, side="right")
    share: FloatArray = twice / (2 * ordered.size)
    return share


def _effective_number(influence: FloatArray) -> float:
    """Return how many equal influences would vary as much in their sum of squares; infinity if there is none."""
    squares = influence**2
    fourth = float((squares**2).sum())
    return float(squares.sum()) ** 2 / fourth if fourth > 0.0 else math.inf


def check_resamples(n_resamples: int, confidence: float) -> int:
    """Return ``n_resamples`` as an int, enough of them for one to lie beyond each limit of an interval."""
    number = check_count(n_resamples, "n_resamples")
    # 2 / (1 - 0.9) is 20.000000000000004, which must not ask for 21.
    needed = math.ceil(2.0 / (1.0 - confidence) * (1.0 - 1e-12)) - 1
    if number < needed:
        raise ValueError(f"n_resamples must be at least {needed} for confidence={confidence}, got {n_resamples!r}")
    return number
