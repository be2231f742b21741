"""Net benefit: what a model is worth to someone who acts from a given probability on.

Who acts from the probability ``p`` on holds a missed positive to be ``(1 - p) / p`` times as bad as a false alarm. In
units of a positive that is caught, acting where the predicted probability is at least ``p`` is worth

    net benefit = TPR * prevalence - FPR * (1 - prevalence) * p / (1 - p)

per row (Vickers and Elkin, 2006). Compare it with acting on every row (TPR = FPR = 1), and on none, which is worth 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc._notebook import html_table
from tpauc._validation import FloatArray, check_open_share, check_scores
from tpauc.metrics._proportions import scored_rows

_MOST_ROWS_SHOWN = 9  # in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve:
    """Net benefit over threshold probabilities; what :func:`net_benefit` returns.

    Attributes
    ----------
    thresholds : array of shape (m,)
        The probabilities from which on one acts.
    model, treat_all, treat_none : array of shape (m,)
        Net benefit per row of acting where the model says so, everywhere, and nowhere (0).
    prevalence : float
        Share of positives that it is computed for.

    Examples
    --------
    >>> curve = net_benefit([1, 0, 0, 0], [0.9, 0.6, 0.2, 0.1], thresholds=[0.2, 0.5])
    >>> bool((curve.model >= np.maximum(curve.treat_all, curve.treat_none)).all())
    True
    >>> curve
    <Net benefit at 2 threshold probabilities, prevalence 0.25: the model is best at 2 of them>
    """

    thresholds: FloatArray
    model: FloatArray
    treat_all: FloatArray
    treat_none: FloatArray
    prevalence: float

    def __repr__(self) -> str:
        best = np.count_nonzero(self.model >= np.maximum(self.treat_all, self.treat_none))
        return (
            f"<Net benefit at {self.thresholds.size} threshold probabilities, prevalence {self.prevalence:.4g}: "
            f"the model is best at {best} of them>"
        )

    def _repr_html_(self) -> str:
        shown = np.unique(np.linspace(0, self.thresholds.size - 1, _MOST_ROWS_SHOWN).round().astype(np.intp))
        rows = [
            [f"{self.thresholds[row]:.4g}", *(f"{values[row]:+.4f}" for values in (self.model, self.treat_all))]
            for row in shown
        ]
        header = ["act from the probability", "model", "act on every row"]
        return html_table("Net benefit per row", rows, header=header, notes=["Acting on no row is worth 0."])


def net_benefit(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    thresholds: npt.ArrayLike | None = None,
    prevalence: float | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> DecisionCurve:
    """Net benefit of acting on a model's probabilities, over threshold probabilities: a decision curve.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1, as bool, int or float; any two labels with ``pos_label``.
    y_score : array-like of shape (n,)
        Probabilities of the positive class, in [0, 1]. They should be calibrated; other scores have no net benefit.
    thresholds : array-like of shape (m,), optional
        Probabilities in [0, 1) from which on one acts; by default 0.01, 0.02, ..., 0.99.
    prevalence : float, optional
        Share of positives where the model is used, in (0, 1); by default the sample's.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.
    pos_label : label, optional
        The label of the positive class, needed if labels are not 0/1, -1/1 or booleans.

    Returns
    -------
    DecisionCurve
        With ``thresholds``, ``model``, ``treat_all``, ``treat_none`` and ``prevalence``.

    References
    ----------
    A. J. Vickers and E. B. Elkin (2006), Decision curve analysis: a novel method for evaluating prediction models.
    Medical Decision Making 26.

    Examples
    --------
    >>> y, probability = [1, 1, 0, 0, 0, 0, 0, 0], [0.9, 0.4, 0.6, 0.3, 0.2, 0.1, 0.1, 0.1]
    >>> curve = net_benefit(y, probability, thresholds=[0.2, 0.5])
    >>> curve.model  # at 0.2: 2 of 8 rows are caught, and 3 false alarms cost a quarter of a positive each
    array([0.15625, 0.     ])
    >>> curve.treat_all
    array([ 0.0625, -0.5   ])
    """
    probabilities = _check_thresholds(thresholds)
    prevalence = None if prevalence is None else check_open_share(prevalence, "prevalence")
    rows = scored_rows(y_true, y_score, sample_weight, None, pos_label)
    low, high = float(rows.scores.min()), float(rows.scores.max())
    if low < 0.0 or high > 1.0:
        raise ValueError(f"y_score must hold probabilities in [0, 1] here, found {low if low < 0.0 else high:g}")
    weight = np.ones(rows.scores.size) if rows.weight is None else rows.weight.astype(np.float64)
    n_positive, n_negative = weight[rows.positive].sum(), weight[~rows.positive].sum()
    share = float(n_positive / (n_positive + n_negative)) if prevalence is None else prevalence
    odds = probabilities / (1.0 - probabilities)

    def rate(side: npt.NDArray[np.bool_]) -> FloatArray:
        """Return the share of a class whose probability is at least each threshold."""
        order = np.argsort(rows.scores[side])
        below = np.concatenate(([0.0], np.cumsum(weight[side][order])))
        places = np.searchsorted(rows.scores[side][order].astype(np.float64), probabilities, side="left")
        return np.asarray((below[-1] - below[places]) / below[-1])

    model = rate(rows.positive) * share - rate(~rows.positive) * (1.0 - share) * odds
    return DecisionCurve(probabilities, model, share - (1.0 - share) * odds, np.zeros(odds.size), share)


def _check_thresholds(thresholds: npt.ArrayLike | None) -> FloatArray:
    """Return the threshold probabilities as an array."""
    if thresholds is None:
        return np.arange(1, 100) / 100.0
    alone = isinstance(thresholds, Real) or getattr(thresholds, "ndim", None) == 0
    given: Any = [thresholds] if alone else thresholds
    found = check_scores(given, "thresholds").astype(np.float64)
    if found.size == 0:
        raise ValueError("thresholds must hold at least one probability, got none")
    outside = found[(found < 0.0) | (found >= 1.0)]
    if outside.size:
        raise ValueError(f"thresholds must be probabilities in [0, 1), found {outside[0]:g}")
    return found
