"""ROC curves and finite populations that are given as numbers, not as samples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tpauc.validation.arrays import FloatArray, check_same_length, check_scores


def check_masses(masses: npt.ArrayLike, name: str) -> FloatArray:
    """Return non-negative finite masses with a positive sum, scaled to add up to 1."""
    values = check_scores(masses, name).astype(np.float64)
    if values.size == 0 or values.min() < 0.0 or values.sum() == 0.0:
        raise ValueError(f"{name} must be non-negative with a positive sum, got {values.tolist()!r:.80}")
    shares: FloatArray = values / values.sum()
    return shares


def check_probabilities(values: npt.ArrayLike, name: str) -> FloatArray:
    """Return finite numbers in [0, 1] as float64, at least one."""
    numbers = check_scores(values, name).astype(np.float64)
    if numbers.size == 0 or numbers.min() < 0.0 or numbers.max() > 1.0:
        raise ValueError(f"{name} must hold numbers in [0, 1], got {numbers.tolist()!r:.80}")
    return numbers


def check_curve(fpr: npt.ArrayLike, tpr: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the vertices of a ROC curve: both coordinates rise from 0 to 1."""
    x, y = (check_scores(values, name).astype(np.float64) for values, name in ((fpr, "fpr"), (tpr, "tpr")))
    check_same_length("fpr", x, "tpr", y)
    for values, name in ((x, "fpr"), (y, "tpr")):
        if values.size < 2 or values[0] != 0.0 or values[-1] != 1.0 or (np.diff(values) < 0.0).any():
            raise ValueError(f"{name} must rise from 0 to 1, got {values.tolist()!r:.80}")
    return x, y
