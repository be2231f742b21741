"""Coordinates for a wide table: the principal axes of its rows.

A penalty on ``|w|^2``, Fisher's discriminant with a ridge and the ascent of the smoothed TPAUC do not depend on which
orthonormal axes the features are written in, and their solutions are sums of rows. So of ``n`` rows with ``d > n``
features only ``n`` coordinates matter: with ``X' = Q R`` the rows are ``R'``. This is Householder's ``Q``, so nothing
is lost to rounding, whatever the units of the features. A second rotation, to the eigenvectors of their covariance,
makes the coordinates uncorrelated. Then whitening divides by numbers, and the variances precondition conjugate
gradients so well that no system of equations needs a matrix (`solve`).

The cost grows with the cube of the smaller of both numbers, once, and with ``n d`` per step. No matrix has more than
`MOST_AXES` columns in both directions, which also keeps clear of a fault of OpenBLAS: with several threads ``A.T @ A``
ends the process for 30,000 columns (version 0.3.31, two threads; one thread is right).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, cg

Array = npt.NDArray[Any]

# Up to here matrices of all pairs of features are cheaper than products with the rows (`benchmarks/wide.py`).
NARROW = 256
MOST_AXES = 5_000


def check_axes(n_rows: int, n_features: int) -> None:
    """Raise if a table is too large in both directions.

    Examples
    --------
    >>> check_axes(1_500, 20_000)
    >>> check_axes(6_000, 20_000)
    Traceback (most recent call last):
        ...
    ValueError: X must have at most 5,000 rows or at most 5,000 features for model='linear', got 6,000 rows of 20,0...
    """
    if min(n_rows, n_features) > MOST_AXES:
        raise ValueError(
            f"X must have at most {MOST_AXES:,} rows or at most {MOST_AXES:,} features for model='linear', got "
            f"{n_rows:,} rows of {n_features:,} features; keep fewer features (scikit-learn's SelectKBest or "
            "TruncatedSVD before the classifier), or use TPAUCBooster"
        )


@dataclass(frozen=True)
class PrincipalAxes:
    """Orthonormal axes of the space of features along which some rows are uncorrelated.

    Attributes
    ----------
    directions : array of shape (r, r)
        The axes as columns, in the coordinates of the basis.
    basis : array of shape (d, r) or None
        Orthonormal columns that span the rows; None if the basis is the features themselves.
    variance : array of shape (r,)
        Of the rows along each axis.
    n_features : int
        The number ``d``.
    """

    directions: Array
    basis: Array | None
    variance: Array
    n_features: int

    def to_features(self, w: Array) -> Array:
        """Return directions, shape (r,) or (r, k), as coefficients of the features, shape (d,) or (d, k)."""
        w = self.directions @ w
        return np.asarray(w if self.basis is None else self.basis @ w)

    def ridge(self, share: float, variance: float) -> float:
        """Return a share of the mean variance of the features, given the sum of their variances."""
        return share * max(variance / self.n_features, 1e-12)


def along_axes(X: Array, covariance: Callable[[Array], Array]) -> tuple[Array, PrincipalAxes]:
    """Return rows, shape (n, d), in coordinates along their principal axes, shape (n, min(n, d)), and the axes.

    Parameters
    ----------
    X : array of shape (n, d)
    covariance : callable
        Given the rows in some coordinates, shape (n, r), returns the covariance, shape (r, r), to be made diagonal.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(4, 9))
    >>> rows, axes = along_axes(X, lambda rows: np.cov(rows, rowvar=False))
    >>> w = np.ones(4)
    >>> rows.shape, np.allclose(rows @ w, X @ axes.to_features(w))
    ((4, 4), True)
    """
    n_rows, n_features = X.shape
    basis, rows = None, X
    if n_rows < n_features:
        basis, triangle = np.linalg.qr(X.T)
        rows = triangle.T
    variance, directions = np.linalg.eigh(covariance(rows))
    return rows @ directions, PrincipalAxes(directions, basis, np.maximum(variance, 0.0), n_features)


def second_moments(X: Array, weight: Array) -> Callable[[Array], Array]:
    """Return the product with ``sum_i weight_i x_i x_i'``, a function of ``w``, in float32: enough for `solve`.

    Examples
    --------
    >>> second_moments(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([0.5, 1.0]))(np.array([1.0, 0.0]))
    array([0.5, 1. ])
    """
    rows, weight = X.astype(np.float32), weight.astype(np.float32)
    return lambda w: ((weight * (rows @ w.astype(np.float32))) @ rows).astype(np.float64)


def solve(product: Callable[[Array], Array], ridge: Array, right: Array, diagonal: Array, accuracy: float) -> Array:
    """Return about the solution of ``(A + ridge) x = right`` by conjugate gradients.

    Parameters
    ----------
    product : callable
        Returns ``A x``; ``A`` is symmetric and positive definite, or nearly so.
    ridge : array of shape (r,)
        Added to the diagonal of ``A``.
    right : array of shape (r,)
    diagonal : array of shape (r,)
        Of a diagonal matrix close to ``A + ridge``.
    accuracy : float
        Length of the remaining error of the right side, as a share of its length.

    Examples
    --------
    >>> A = np.array([[2.0, 0.1], [0.1, 1.0]])
    >>> solve(lambda x: A @ x, np.zeros(2), np.array([2.1, 1.1]), np.array([2.0, 1.0]), 1e-6).round(4)
    array([1., 1.])
    """
    shape = (right.size, right.size)
    operator = LinearOperator(shape, matvec=lambda x: product(x) + ridge * x, dtype=np.float64)
    preconditioner = LinearOperator(shape, matvec=lambda x: x / diagonal, dtype=np.float64)
    # Where rounding keeps the error above the accuracy, the best that was reached will do.
    return np.asarray(cg(operator, right, rtol=accuracy, maxiter=200, M=preconditioner)[0])
