"""One point of the ROC curve with its uncertainty: the TPR at a given FPR, the FPR at a given TPR.

The threshold of the point is estimated too, from the class whose rate is given, so its error must enter the interval
beside the error of the rate itself. `tpauc.metrics._rate_limits` gives the formula, from order statistics of both
classes. It was chosen by its coverage in simulations (`benchmarks/bands.py` prints them: normal scores of equal and
unequal variance, 30 to 1,000 positives, FPR 0.01 to 0.9, 95 % wanted). The method "mid-p" covers 93 % to 100 %. The
method "conservative" covers 95 % to 100 % and is 3 % wider with 1,000 rows of each class, 10 % with 100. The bootstrap
interval of Zhou and Qin (2005, BTII) and percentiles of the stratified bootstrap, as R's pROC has them, are about as
wide in the middle of the curve, but cover too seldom where few examples decide, down to 0 %: at an FPR that selects 0
or 1 negatives, or at a TPR near 1. For rows in 60 to 500 groups with half of their variance in common, intervals with
``groups`` cover 92.7 % to 100 %, most where groups hold both classes and hardly any positive is missed, and without it
66 % to 88 % if each group is of one class.

The mirror image: the FPR at ``TPR = u`` is 1 minus the "TPR" at ``FPR = 1 - u`` after the two classes changed places
and all scores their sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc._notebook import html_table, limits_text
from tpauc._validation import check_choice, check_open_share, check_share
from tpauc.metrics._rate_limits import METHODS, ClassRows, allowed, rate_limits, rows_by_class


@dataclass(frozen=True)
class RateInterval:
    """An estimated rate, its confidence limits and its threshold; :func:`tpr_at_fpr` and :func:`fpr_at_tpr` return it.

    Attributes
    ----------
    estimate : float
        The rate in the sample.
    low, high : float
        Limits of the rate in the population, where ``low <= estimate <= high``.
    threshold : float
        A row is predicted positive when its score is at least this; infinity if no row is.

    Examples
    --------
    >>> RateInterval(estimate=0.8, low=0.7, high=0.9, threshold=1.5).high
    0.9
    """

    estimate: float
    low: float
    high: float
    threshold: float

    def _repr_html_(self) -> str:
        rows = [
            ["rate", f"{self.estimate:.4f}"],
            ["interval", limits_text(self.low, self.high)],
            ["threshold", f"{self.threshold:.6g}"],
        ]
        return html_table("Rate with confidence interval", rows)


def tpr_at_fpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    fpr: float,
    confidence: float = 0.95,
    method: str = "mid-p",
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> RateInterval:
    """Highest TPR at a false positive rate of at most ``fpr``, with a confidence interval.

    The estimate is the share of the positives above all but ``floor(n- * fpr)`` negatives of the sample, which may be
    false alarms. The interval is for the TPR of the threshold whose FPR is ``fpr`` in the population, and allows for
    both classes: the sample neither shows where that threshold lies nor how many positives lie above it.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1, as bool, int or float; any two labels with ``pos_label``.
    y_score : array-like of shape (n,)
        Scores, higher for the positive class; any finite numbers.
    fpr : float
        Share of the negatives that may be false alarms, in (0, 1].
    confidence : float, default=0.95
        In (0, 1). Half of what is missing lies on either side.
    method : {"mid-p", "conservative"}, default="mid-p"
        "mid-p" covers about as often as ``confidence`` says, and more where few examples decide. "conservative"
        is wider, for a limit that is to be promised.
    groups : array-like of shape (n,), optional
        The patient, card or site of each row. Rows of a group may be alike; the interval is then wider, by as much as
        they are. Each class needs rows in at least two groups.
    sample_weight : array-like of shape (n,), optional
        Whole numbers, which stand for repeated rows.
    pos_label : label, optional
        The label of the positive class, needed if labels are not 0/1, -1/1 or booleans.

    Returns
    -------
    RateInterval
        With ``estimate``, ``low``, ``high`` and ``threshold``, the lowest score of a positive that is caught; infinity
        if no threshold within ``fpr`` catches any.

    See Also
    --------
    roc_band : Such intervals along the whole curve.
    operating_point : A threshold with all its rates.

    References
    ----------
    C. J. Clopper and E. S. Pearson (1934), The use of confidence or fiducial limits. Biometrika 26.
    H. O. Lancaster (1961), Significance tests in discrete distributions. JASA 56 (mid-P).
    E. L. Korn and B. I. Graubard (1998), Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 24 (groups).
    X.-H. Zhou and G. Qin (2005), Improved confidence intervals for the sensitivity at a fixed level of specificity.
    Statistics in Medicine 24 (BTII, to which this was compared).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(1100) < 100
    >>> score = rng.normal(size=1100) + 2 * y
    >>> rate = tpr_at_fpr(y, score, fpr=0.1)
    >>> print(f"{rate.estimate:.2f} in {rate.low:.2f} to {rate.high:.2f}")
    0.84 in 0.74 to 0.90
    """
    fpr = check_share(fpr, "fpr")
    tail = _tail(confidence, method)
    positives, negatives = rows_by_class(y_true, y_score, groups, sample_weight, pos_label)
    n_caught, low, high = _rate(positives, negatives, fpr, tail, method)
    caught = positives.scores[positives.scores > _first_too_many(negatives, fpr)]
    return _interval(n_caught / positives.total, low, high, float(caught[0]) if caught.size else math.inf)


def fpr_at_tpr(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    tpr: float,
    confidence: float = 0.95,
    method: str = "mid-p",
    groups: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> RateInterval:
    """Lowest FPR at a true positive rate of at least ``tpr``, with a confidence interval.

    The estimate is the share of the negatives that are not below the ``floor(n+ * (1 - tpr)) + 1``-th lowest positive.
    The interval is for the FPR of the threshold whose TPR is ``tpr`` in the population, and allows for both classes.

    Parameters
    ----------
    y_true, y_score, confidence, method, groups, sample_weight, pos_label
        As in :func:`tpr_at_fpr`.
    tpr : float
        Share of the positives to be caught, in (0, 1]. For 1 the sample gives no upper limit: ``high`` is 1.

    Returns
    -------
    RateInterval
        With ``estimate``, ``low``, ``high`` and ``threshold``, the lowest score of a positive that must be caught.

    See Also
    --------
    tpr_at_fpr : The other way round, with the references.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(1100) < 100
    >>> score = rng.normal(size=1100) + 2 * y
    >>> rate = fpr_at_tpr(y, score, tpr=0.9)
    >>> print(f"{rate.estimate:.2f} in {rate.low:.2f} to {rate.high:.2f}, from {rate.threshold:.2f} on")
    0.19 in 0.10 to 0.24, from 0.79 on
    """
    tpr = check_share(tpr, "tpr")
    tail = _tail(confidence, method)
    positives, negatives = rows_by_class(y_true, y_score, groups, sample_weight, pos_label)
    wanted, unwanted = positives.mirrored(), negatives.mirrored()
    n_below, low, high = _rate(unwanted, wanted, 1.0 - tpr, tail, method)
    estimate = (negatives.total - n_below) / negatives.total
    return _interval(estimate, 1.0 - high, 1.0 - low, -_first_too_many(wanted, 1.0 - tpr))


def _tail(confidence: float, method: str) -> float:
    check_choice(method, "method", METHODS)
    return (1.0 - check_open_share(confidence, "confidence")) / 2.0


def _first_too_many(negatives: ClassRows, fpr: float) -> float:
    """Return the score of the first negative beyond those that may be false alarms; minus infinity if all may."""
    return float(negatives.score_of_rank(allowed(negatives.total, np.array([fpr])) + 1)[0])


def _rate(positives: ClassRows, negatives: ClassRows, fpr: float, tail: float, method: str) -> tuple[int, float, float]:
    """Return how many positives are above all negatives but the share ``fpr``, and the limits of their share."""
    n_above = int(positives.above(_first_too_many(negatives, fpr)))
    low, high = rate_limits(positives, negatives, np.array([fpr]), (tail, tail), method)
    return n_above, float(low[0]), float(high[0])


def _interval(estimate: float, low: float, high: float, threshold: float) -> RateInterval:
    # With heavy ties, or at a low confidence, the estimate may lie beyond a limit.
    return RateInterval(estimate, min(low, estimate), max(high, estimate), threshold)
