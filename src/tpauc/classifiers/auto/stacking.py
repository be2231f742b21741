"""The stack: how the scores of the members become one logit.

Each member's out-of-fold scores are brought to log-odds by Platt's map, ``z_j = slope_j s_j + offset_j``. A logistic
regression then weighs the members: it minimises

    sum_i v_i log(1 + exp(-t_i (z_i . w + b)))  +  (strength m^2 / 2) sum_j (w_j - 1/m)^2   over w >= 0 and b,

with weights ``v`` of the rows, labels ``t = +-1`` and ``m`` members. The penalty is a normal prior for each weight with
mean ``1/m``, the plain average, and deviation ``1 / (m sqrt(strength))``, so that a member may well have no weight, or
several times its share. The sum over rows grows with the number of positives and the penalty does not. So few positives
leave the average nearly as it is, and thousands of them decide freely: the fallback needs no switch.

A member whose scores do not rise with the labels (slope at most 0) has no place in the stack. If none is left, the
member with the highest TPAUC is taken as it is.

The regression has seen the labels of all rows, so its scores of these rows flatter. `cross_fitted` gives each row the
score of maps and weights that were fitted without its fold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

from tpauc._validation import BoolArray
from tpauc.classifiers.linear.logistic import Rows, minimise

Array = npt.NDArray[Any]

STRENGTH = 1.0  # of the pull towards the average
_PLATT_PENALTY = 0.1  # of the slope of scores with deviation 1: a finite slope where the classes are separate


class StackWeights(NamedTuple):
    """``logit = scores @ coef + intercept``."""

    coef: Array  # shape (m,): for the raw scores of the members
    intercept: float
    shares: Array  # shape (m,): of the log-odds of the members; they add up to 1

    def __call__(self, scores: Array) -> Array:
        # Column by column: a matrix product may round differently for other numbers of rows.
        total = np.full(len(scores), self.intercept)
        for column in np.flatnonzero(self.coef):
            total += self.coef[column] * scores[:, column]
        return total


def fit_stack(
    scores: Array, positive: BoolArray, weight: Array, best: int = 0, strength: float = STRENGTH
) -> StackWeights:
    """Return the weights for out-of-fold scores, shape (n, m), of rows with labels and weights.

    Parameters
    ----------
    scores : array of shape (n, m)
    positive, weight : arrays of shape (n,)
    best : int, default=0
        The member to take if no scores rise with the labels.
    strength : float
        Of the pull towards the average.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> positive = np.arange(4000) < 1000
    >>> noise = random.normal(size=4000)
    >>> scores = np.column_stack((positive + noise, positive + random.normal(size=4000), noise))
    >>> fit_stack(scores, positive, np.ones(4000)).shares.round(1)
    array([0.5, 0.5, 0. ])
    """
    n_members = scores.shape[1]
    maps = np.array([_platt_map(column, positive, weight) for column in scores.T])
    used = np.flatnonzero(maps[:, 0] > 0.0)
    if used.size == 0:
        one = np.eye(n_members)[best]
        return StackWeights(one, 0.0, one)
    slopes, offsets = maps[used].T
    w, b = _weights(scores[:, used] * slopes + offsets, positive, weight, strength)
    coef, shares = np.zeros(n_members), np.zeros(n_members)
    coef[used], shares[used] = w * slopes, w / w.sum()
    return StackWeights(coef, float(b + w @ offsets), shares)


def cross_fitted(
    scores: Array, positive: BoolArray, weight: Array, fold: Array, best: int = 0, strength: float = STRENGTH
) -> Array:
    """Return the logit of each row, shape (n,), by a stack that was fitted to the rows of the other folds."""
    logits = np.empty(len(scores))
    for number in range(int(fold.max()) + 1):
        held = fold == number
        stack = fit_stack(scores[~held], positive[~held], weight[~held], best, strength)
        logits[held] = stack(scores[held])
    return logits


def _platt_map(scores: Array, positive: BoolArray, weight: Array) -> tuple[float, float]:
    """Return the slope and offset that turn scores into log-odds."""
    centre, spread = float(np.average(scores, weights=weight)), float(scores.std())
    if spread <= 1e-9 * max(1.0, abs(centre)):
        return 0.0, 0.0
    Z = np.column_stack(((scores - centre) / spread, np.ones(len(scores))))
    slope, offset = minimise(Rows(Z, positive, weight), _PLATT_PENALTY, np.zeros(2))
    return float(slope / spread), float(offset - slope * centre / spread)


def _weights(z: Array, positive: BoolArray, weight: Array, strength: float) -> tuple[Array, float]:
    """Return the weights of log-odds, shape (n, m), and the intercept."""
    n_members = z.shape[1]
    mean, penalty = 1.0 / n_members, strength * n_members**2
    total = weight.sum()

    def objective(b: Array) -> tuple[float, Array]:
        away = b[:-1] - mean
        logits = z @ b[:-1] + b[-1]
        loss = weight @ np.logaddexp(0.0, np.where(positive, -logits, logits)) + 0.5 * penalty * (away @ away)
        by_logit = weight * (expit(logits) - positive)
        gradient = np.append(by_logit @ z + penalty * away, by_logit.sum())
        return float(loss) / total, gradient / total

    start = np.append(np.full(n_members, mean), 0.0)
    bounds = [(0.0, None)] * n_members + [(None, None)]
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 500, "ftol": 1e-12, "gtol": 1e-9},
    ).x
    if not found[:-1].any():  # the prior keeps this from happening on all but the strangest data
        return start[:-1], 0.0
    return found[:-1], float(found[-1])
