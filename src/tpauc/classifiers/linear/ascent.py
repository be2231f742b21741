"""Ascent of the smoothed TPAUC of a linear scorer.

Only the ranking of the scores ``z = x . w`` counts, so only the direction of ``w`` matters. In coordinates in which the
features have unit covariance, a direction is a point of the unit sphere, and every score has standard deviation 1.
There the ascent maximises

    mean over the k+ lowest positives i and the k- highest negatives j of  sigmoid((z_i - z_j) / t)

by normalised gradient steps with momentum. The hard examples are selected again at each step, and the temperature ``t``
is a share of the spread of their scores. The sum over pairs takes O(n): scores are put on a fixed grid, where the
kernel of a pair is a constant matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from tpauc.classifiers.base import class_counts, stands_for_rows
from tpauc.classifiers.linear.principal_axes import PrincipalAxes
from tpauc.classifiers.progress import steps
from tpauc.region import Region, hard_mass

Array = npt.NDArray[Any]

# The grid, in temperatures. Beyond +-30 the derivative of the sigmoid is 0 in float32, so clipping loses nothing.
_SPACING = 0.5
_GRID = np.arange(-30.0, 30.0 + _SPACING, _SPACING)
_SIGMOID = expit(_GRID[:, None] - _GRID[None, :])
_KERNEL = _SIGMOID * (1.0 - _SIGMOID)  # row: positive, column: negative


class AscentSettings(NamedTuple):
    """One setting for all data."""

    temperature: float = 0.2  # as a share of the spread of the hard examples' scores
    steps: int = 20
    step_length: float = 0.1  # on the unit sphere, falling linearly to 0
    momentum: float = 0.7


def whitener(X: Array, weight: Array | None = None, ridge: float = 1e-3) -> Array:
    """Return ``W``, shape (d, d), such that the columns of ``X @ W`` have unit covariance, up to a relative ridge."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(with_ridge(covariance(X, weight), ridge))).T)


def whitener_along(axes: PrincipalAxes, ridge: float = 1e-3) -> Array:
    """Return the diagonal of the whitener, shape (r,), of rows along their principal axes."""
    return np.asarray(1.0 / np.sqrt(axes.variance + axes.ridge(ridge, float(axes.variance.sum()))))


def covariance(X: Array, weight: Array | None = None) -> Array:
    """Return the covariance of the columns, shape (d, d); whole weights count as repeated rows."""
    if weight is not None and stands_for_rows(weight):
        return np.atleast_2d(np.cov(X, rowvar=False, fweights=weight.astype(np.int64)))
    return np.atleast_2d(np.cov(X, rowvar=False, aweights=weight))


def whitened(whiten: Array, w: Array) -> Array:
    """Return a direction of the features in whitened coordinates; a ``whiten`` of shape (d,) is a diagonal."""
    return np.asarray(w / whiten if whiten.ndim == 1 else np.linalg.solve(whiten, w))


def unwhitened(whiten: Array, w: Array) -> Array:
    """Return a direction in whitened coordinates as a direction of the features; see `whitened`."""
    return np.asarray(whiten * w if whiten.ndim == 1 else whiten @ w)


def with_ridge(covariance: Array, ridge: float) -> Array:
    """Return the covariance, shape (d, d), with variances raised by a share of their mean, so that it has an inverse.

    Examples
    --------
    >>> with_ridge(np.array([[1.0, 1.0], [1.0, 1.0]]), 0.5)
    array([[1.5, 1. ],
           [1. , 1.5]])
    """
    mean_variance = max(float(np.trace(covariance)) / len(covariance), 1e-12)
    return np.asarray(covariance + ridge * mean_variance * np.eye(len(covariance)))


class SmoothedTPAUC:
    """The smoothed TPAUC of some rows as a function of the direction, to be climbed from several starts.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of bool, shape (n,)
    whiten : array of shape (d, d) or (d,)
        As `whitener` or `whitener_along` returns it.
    region : Region
    weight : array of shape (n,), optional
    """

    def __init__(
        self, X: Array, y: npt.NDArray[np.bool_], whiten: Array, region: Region, weight: Array | None = None
    ) -> None:
        order = np.argsort(~y, kind="stable")  # positives first, so that each class is a slice
        self._rows = np.asfortranarray(X[order], dtype=np.float32)
        self._whiten = whiten
        self._n_positive = int(y.sum())
        self._weight = None if weight is None else weight[order]
        if weight is None or stands_for_rows(weight):
            n_positive, n_negative = class_counts(y, weight)
            self._k_positive: float = max(1, hard_mass(n_positive, region.alpha))
            self._k_negative: float = max(1, hard_mass(n_negative, region.beta))
        else:
            self._k_positive = float(weight[y].sum()) * region.alpha
            self._k_negative = float(weight[~y].sum()) * region.beta

    def climb(self, start: Array, settings: AscentSettings) -> Array:
        """Return the direction, shape (d,), that the ascent from ``start`` ends at; its scores have deviation 1."""
        w = unit(whitened(self._whiten, start))
        velocity = np.zeros_like(w)
        for step in steps("ascent of a linear model", range(settings.steps), settings.steps):
            gradient = self._gradient(w, settings.temperature)
            gradient -= w * (w @ gradient)  # along the sphere
            length = float(np.linalg.norm(gradient))
            if length == 0.0:
                break
            velocity = settings.momentum * velocity + (1.0 - settings.momentum) * gradient / length
            w = unit(w + settings.step_length * (1.0 - step / settings.steps) * velocity)
        return unwhitened(self._whiten, w)

    def _gradient(self, w: Array, temperature: float) -> Array:
        """Return the gradient in whitened coordinates, up to a factor."""
        z = (self._rows @ unwhitened(self._whiten, w).astype(np.float32)).astype(np.float64)
        n = self._n_positive
        of_class = (None, None) if self._weight is None else (self._weight[:n], self._weight[n:])
        hard_positives, positive_weight = _lowest(z[:n], self._k_positive, of_class[0])
        hard_negatives, negative_weight = _lowest(-z[n:], self._k_negative, of_class[1])
        hard_negatives += n
        by_score = np.zeros(z.size, dtype=np.float32)
        by_score[hard_positives], by_score[hard_negatives] = pair_gradient(
            z[hard_positives], z[hard_negatives], temperature, positive_weight, negative_weight
        )
        return unwhitened(self._whiten.T, (by_score @ self._rows).astype(np.float64))


def _lowest(values: Array, mass: float, weight: Array | None) -> tuple[Array, Array | None]:
    """Return where the lowest values are that have this mass, and their weights, the last one cut."""
    if weight is None:
        return np.argpartition(values, int(mass) - 1)[: int(mass)], None
    order = np.argsort(values)
    ordered = weight[order]
    inside = np.minimum(ordered, mass - (np.cumsum(ordered) - ordered))
    n_inside = int(np.count_nonzero(inside > 0.0))
    return order[:n_inside], inside[:n_inside]


def pair_gradient(
    positive_scores: Array,
    negative_scores: Array,
    temperature: float,
    positive_weight: Array | None = None,
    negative_weight: Array | None = None,
) -> tuple[Array, Array]:
    """Return the gradient of the smoothed TPAUC in the scores of hard positives and negatives, up to a factor."""
    positive_share, negative_share = (
        np.full(scores.size, 1.0 / scores.size) if weight is None else weight / weight.sum()
        for scores, weight in ((positive_scores, positive_weight), (negative_scores, negative_weight))
    )
    spread = _deviation(positive_scores, positive_share) + _deviation(negative_scores, negative_share)
    width = temperature * max(spread / 2.0, 1e-12)
    centre = (_median(positive_scores, positive_weight) + _median(negative_scores, negative_weight)) / 2.0
    positives, negatives = _on_grid((positive_scores - centre) / width), _on_grid((negative_scores - centre) / width)
    return (
        _read(_KERNEL @ _histogram(negatives, negative_share), positives) * positive_share,
        -_read(_histogram(positives, positive_share) @ _KERNEL, negatives) * negative_share,
    )


class _Placed(NamedTuple):
    """Values on the grid: the point below each, and the share that belongs to the point above."""

    below: Array
    share: Array


def _on_grid(values: Array) -> _Placed:
    position = np.clip((values - _GRID[0]) / _SPACING, 0.0, _GRID.size - 1.001)
    below = position.astype(np.intp)
    return _Placed(below, position - below)


def _histogram(placed: _Placed, mass: Array) -> Array:
    below, share = placed
    return np.bincount(below, (1.0 - share) * mass, _GRID.size) + np.bincount(below + 1, share * mass, _GRID.size)


def _read(curve: Array, placed: _Placed) -> Array:
    """Return the values of a curve on the grid, interpolated."""
    below, share = placed
    return np.asarray(curve[below] * (1.0 - share) + curve[below + 1] * share)


def _deviation(scores: Array, share: Array) -> float:
    """Return the mean absolute deviation, scaled to the standard deviation of normal scores; robust to heavy tails."""
    return 1.25 * float(np.abs(scores - scores @ share) @ share)


def _median(scores: Array, weight: Array | None) -> float:
    """Return the median; whole weights are repeated values, of which the two in the middle are averaged."""
    if weight is None:
        return float(np.median(scores))
    order = np.argsort(scores)
    mass = np.cumsum(weight[order])
    middle = [int(np.searchsorted(mass, mass[-1] / 2.0, side)) for side in ("left", "right")]
    return float(scores[order[np.minimum(middle, scores.size - 1)]].mean())


def unit(w: Array) -> Array:
    """Return ``w`` with length 1."""
    return np.asarray(w / max(float(np.linalg.norm(w)), 1e-300))
