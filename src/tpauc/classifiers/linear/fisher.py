"""Fisher's discriminant: where the class means lie farthest apart, measured by the mean of the class covariances.

It depends on means and covariances alone, so rows far on the right side do not stop counting as they do for a logistic
regression, and both classes count alike whatever their sizes. Where one leads astray, the other often does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc.classifiers.linear.ascent import with_ridge

Array = npt.NDArray[Any]


def fisher_direction(X: Array, y: npt.NDArray[np.bool_], ridge: float = 1e-3) -> Array:
    """Return the direction, shape (d,), for rows ``X``, shape (n, d), of both classes.

    ``ridge`` is that of `tpauc.classifiers.linear.ascent.with_ridge`: features may be constant or copies of each other.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0], [1.0, 5.0]])
    >>> fisher_direction(X, np.array([False, False, True, True])).round(2)
    array([0.  , 7.99])
    """
    centred = [X[y == label] - X[y == label].mean(axis=0) for label in (False, True)]
    covariance = np.mean([rows.T @ rows / len(rows) for rows in centred], axis=0)
    return np.asarray(np.linalg.solve(with_ridge(covariance, ridge), X[y].mean(axis=0) - X[~y].mean(axis=0)))
