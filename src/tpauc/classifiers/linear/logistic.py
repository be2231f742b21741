"""Logistic regression by Newton's method, plain and balanced, with cheap refits on most of the same rows.

Minimises ``sum_i v_i log(1 + exp(-t_i z_i)) + penalty/2 |b|^2`` over ``b``, where ``z = Z b``, ``t = +-1`` and the last
column of ``Z`` is 1, whose coefficient is not penalised. With up to a few hundred features the Hessian is small, and
Newton's method converges in a few passes, several times faster than a quasi-Newton method. The fits of cross-validation
need no Hessian of their own (`PairRefit`). Rows of wide tables are given along their principal axes: the same Newton
steps are then found by conjugate gradients, without a Hessian.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from tpauc.classifiers.linear.principal_axes import PrincipalAxes, second_moments, solve
from tpauc.classifiers.progress import steps

Array = npt.NDArray[Any]

TOLERANCE = 1e-6  # of the value
_STEP_ACCURACY = 0.2  # of a Newton step by conjugate gradients: the next steps make up for what is left


class Rows(NamedTuple):
    """Standardised features with a last column of ones, labels, and weights that account for rows left out."""

    Z: Array  # shape (n, d + 1)
    y: npt.NDArray[np.bool_]  # shape (n,)
    weight: Array  # shape (n,)
    given: Array | None = None  # shape (n,): the weights that the user gave, without what a sample stands for
    axes: PrincipalAxes | None = None  # what the features are coordinates along, if the table is wide

    @property
    def n_features(self) -> int:
        """How many features the table has, whatever the number of coordinates."""
        return self.Z.shape[1] - 1 if self.axes is None else self.axes.n_features

    def to_features(self, w: Array) -> Array:
        """Return a direction, shape (r,), as coefficients of the features of the table, shape (d,)."""
        return w if self.axes is None else self.axes.to_features(w)

    def balanced(self) -> Rows:
        """Return the same rows with weights such that both classes have the same total."""
        total, positive = self.weight.sum(), self.weight[self.y].sum()
        return self._replace(weight=self.weight * np.where(self.y, total / positive, total / (total - positive)) / 2.0)

    def take(self, rows: Array) -> Rows:
        """Return some of the rows."""
        given = None if self.given is None else self.given[rows]
        return self._replace(Z=self.Z[rows], y=self.y[rows], weight=self.weight[rows], given=given)


class LogisticPair(NamedTuple):
    """The coefficients, shape (d + 1,), of the plain and of the class-balanced regression."""

    plain: Array
    balanced: Array


def fit_pair(rows: Rows, penalty: float, start: LogisticPair | None = None) -> LogisticPair:
    """Return both regressions, begun at ``start``; without it the balanced regression begins at the plain one."""
    plain = minimise(rows, penalty, np.zeros(rows.Z.shape[1]) if start is None else start.plain)
    return LogisticPair(plain, minimise(rows.balanced(), penalty, plain if start is None else start.balanced))


def minimise(rows: Rows, penalty: float, b: Array, *, max_steps: int = 30) -> Array:
    """Return the minimum by Newton's method with step halving, from ``b``, until a step gains less than `TOLERANCE`."""
    ridge = _ridge(rows, penalty)
    z = rows.Z @ b
    value = _objective(rows, b, z, ridge)
    for _ in steps("logistic regression, at most", range(max_steps), max_steps):
        gradient = _gradient(rows, b, z, ridge)
        direction = _newton_step(rows, z, ridge, gradient)
        slope, along, length = gradient @ direction, rows.Z @ direction, 1.0
        while True:
            new, new_z = b - length * direction, z - length * along
            new_value = _objective(rows, new, new_z, ridge)
            if new_value <= value - 1e-4 * length * slope or length < 1e-6:
                break
            length /= 2.0
        gained, b, z, value = value - new_value, new, new_z, new_value
        if gained <= TOLERANCE * abs(value):
            break
    return b


class PairRefit:
    """Refits both regressions on most of the rows of a finished fit.

    It takes Newton steps with the Hessian of all rows. A step on a share ``s`` of the rows leaves about ``1 - s`` of
    the distance to the minimum, and costs two products with a vector instead of a new Hessian. If a few rows decide the
    fit, these steps do not converge, and `minimise` finishes the fit. Along principal axes there is no Hessian to use
    again, and `minimise` does it all.
    """

    def __init__(self, rows: Rows, pair: LogisticPair, penalty: float) -> None:
        self._pair, self._penalty = pair, penalty
        if rows.axes is not None:
            return
        self._factors = [
            _hessian_factor(part, part.Z @ b, _ridge(part, penalty))
            for part, b in zip((rows, rows.balanced()), pair, strict=True)
        ]

    def on(self, rows: Rows, *, steps: int = 5) -> LogisticPair:
        """Return both regressions on these rows."""
        if rows.axes is not None:
            return fit_pair(rows, self._penalty, start=self._pair)
        found = []
        for part, b, factor in zip((rows, rows.balanced()), self._pair, self._factors, strict=True):
            ridge = _ridge(part, self._penalty)
            for _ in range(steps):
                z = part.Z @ b
                gradient = _gradient(part, b, z, ridge)
                direction = cho_solve(factor, gradient)
                b = b - direction
            if gradient @ direction > TOLERANCE * _objective(part, b, part.Z @ b, ridge):
                b = minimise(part, self._penalty, b)
            found.append(b)
        return LogisticPair(*found)


def _ridge(rows: Rows, penalty: float) -> Array:
    ridge = np.full(rows.Z.shape[1], penalty)
    ridge[-1] = 1e-6  # only so that the Hessian is never singular
    return ridge


# In the functions below, z is Z @ b.


def _objective(rows: Rows, b: Array, z: Array, ridge: Array) -> float:
    return float(rows.weight @ np.logaddexp(0.0, np.where(rows.y, -z, z)) + 0.5 * (ridge * b) @ b)


def _gradient(rows: Rows, b: Array, z: Array, ridge: Array) -> Array:
    return np.asarray((rows.weight * (expit(z) - rows.y)) @ rows.Z + ridge * b)


def _newton_step(rows: Rows, z: Array, ridge: Array, gradient: Array) -> Array:
    if rows.axes is None:
        return np.asarray(cho_solve(_hessian_factor(rows, z, ridge), gradient))
    p = expit(z)
    curvature = rows.weight * p * (1.0 - p)

    # What the Hessian would be if all rows had the same curvature.
    diagonal = curvature.sum() * np.append(rows.axes.variance, 1.0) + ridge
    return solve(second_moments(rows.Z, curvature), ridge, gradient, diagonal, _STEP_ACCURACY)


def _hessian_factor(rows: Rows, z: Array, ridge: Array) -> Any:
    p = expit(z)
    scaled = rows.Z * np.sqrt(rows.weight * p * (1.0 - p))[:, None]
    hessian = scaled.T @ scaled  # NumPy computes only half of a product with its own transpose
    hessian[np.diag_indices_from(hessian)] += ridge
    return cho_factor(hessian)
