"""Theorem 1: the instance-wise saddle function, as printed, and its value.

With the six class means of ``v, v f, v f^2`` (``v = psi(1 - f)`` for positives, ``psi(f)`` for negatives) the theorem's

    F(a, b) = a . zeta1 + b . zeta2 + |a~|^2 - |b~|^2,        0 <= a <= c_a,   0 <= b <= c_b

has ``min over a, max over b, of F = R``, the mean over all pairs of ``v+ v- (1 - (f+ - f-))^2``. Everything below is
copied from the theorem term by term, independently of `MinimaxTPAUCLoss`, which derives it from the six products; a
test compares the two. `algorithm_1` runs the paper's steps on ``a`` and ``b`` for a fixed model, with the projection on
the boxes that the printed algorithm omits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from tpauc._validation import FloatArray, check_count, check_positive
from tpauc.losses.weighting import WeightingFunction
from tpauc.paper.theory.populations import check_probabilities

# The paper's C_a and C_b, so that a~ = C_a * a and b~ = C_b * b.
SCALE_A = np.sqrt([0.5, 0.5, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 1.0])
SCALE_B = np.sqrt([0.5, 1.0, 1.0, 1.0, 0.5, 0.5, 1.0, 1.0])


class Means(NamedTuple):
    """The class means of the theorem: ``c+, c-, f+, f-, f+,2, f-,2``."""

    c_positive: float
    c_negative: float
    f_positive: float
    f_negative: float
    f2_positive: float
    f2_negative: float


def class_means(positive_scores: npt.ArrayLike, negative_scores: npt.ArrayLike, psi: WeightingFunction) -> Means:
    """Return the six means of a sample with scores in [0, 1].

    Examples
    --------
    >>> from tpauc import Uniform
    >>> class_means([0.5, 1.0], [0.0, 0.5], Uniform())[:4]
    (1.0, 1.0, 0.75, 0.25)
    """
    positive = check_probabilities(positive_scores, "positive_scores")
    negative = check_probabilities(negative_scores, "negative_scores")
    v_positive, v_negative = (psi(torch.from_numpy(h)).numpy() for h in (1.0 - positive, negative))
    means = [
        float(np.mean(weight * score**power))
        for power in (0, 1, 2)
        for weight, score in ((v_positive, positive), (v_negative, negative))
    ]
    return Means(*means)


def zeta_1(means: Means) -> FloatArray:
    """Return the coefficients of ``a``, shape (10,), as the theorem prints them.

    Examples
    --------
    >>> zeta_1(Means(1.0, 1.0, 0.75, 0.25, 0.5, 0.125))[2]
    np.float64(-3.5)
    """
    c, d, f, g, f2, g2 = means
    return -np.array([c, d, 2 * (f + d), 2 * c, 2 * g, d, f2, c, g2, 2 * (f + g)])


def zeta_2(means: Means) -> FloatArray:
    """Return the coefficients of ``b``, shape (8,), as the theorem prints them.

    Examples
    --------
    >>> zeta_2(Means(1.0, 1.0, 0.75, 0.25, 0.5, 0.125))[0]
    np.float64(2.0)
    """
    c, d, f, g, f2, g2 = means
    return np.array([c + d, 2 * d, 2 * f, 2 * (g + c), d + f2, c + g2, 2 * f, 2 * g])


def boxes(v_infinity: float, f_infinity: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Return the upper ends ``c_a`` and ``c_b`` of the boxes.

    Examples
    --------
    >>> boxes(0.5)[1]
    array([1. , 0.5, 1. , 1.5, 1.5, 1.5, 1. , 1. ])
    """
    v, f = v_infinity, f_infinity
    upper_a = np.array([v, v, v + f, v, f, v, f**2, v, f**2, 2 * f])
    upper_b = np.array([2 * v, v, f, v + f, v + f**2, v + f**2, f, f])
    return upper_a, upper_b


def saddle_function(a: FloatArray, b: FloatArray, means: Means) -> float:
    """Return ``F(a, b)``.

    Examples
    --------
    >>> saddle_function(np.zeros(10), np.zeros(8), Means(1.0, 1.0, 0.75, 0.25, 0.5, 0.125))
    0.0
    """
    linear = a @ zeta_1(means) + b @ zeta_2(means)
    return float(linear + np.sum((SCALE_A * a) ** 2) - np.sum((SCALE_B * b) ** 2))


def saddle_point(means: Means) -> tuple[FloatArray, FloatArray]:
    """Return the ``a`` and ``b`` at which both gradients vanish: ``a = -zeta1 / (2 C_a^2)``, ``b = zeta2 / (2 C_b^2)``.

    Examples
    --------
    >>> means = Means(1.0, 1.0, 0.75, 0.25, 0.5, 0.125)
    >>> round(saddle_function(*saddle_point(means), means), 12)
    0.25
    """
    return -zeta_1(means) / (2.0 * SCALE_A**2), zeta_2(means) / (2.0 * SCALE_B**2)


def algorithm_1(means: Means, *, step: float, steps: int, v_infinity: float) -> FloatArray:
    """Run the paper's descent in ``a`` and ascent in ``b`` from zero for a fixed model, on the whole sample.

    The step sizes are ``eta_2 = eta_3 = step``; the largest weight ``v_infinity = psi(1)`` sets the boxes. Returns
    ``F(a, b)`` before the first step and after each, of shape (steps + 1,).

    Examples
    --------
    >>> means = Means(1.0, 1.0, 0.75, 0.25, 0.5, 0.125)
    >>> algorithm_1(means, step=0.2, steps=60, v_infinity=1.0)[[0, -1]].round(6)
    array([0.  , 0.25])
    """
    check_positive(step, "step")
    upper_a, upper_b = boxes(check_positive(v_infinity, "v_infinity"))
    a, b = np.zeros(SCALE_A.size), np.zeros(SCALE_B.size)
    values = [saddle_function(a, b, means)]
    for _ in range(check_count(steps, "steps")):
        slope_a = zeta_1(means) + 2.0 * SCALE_A * (SCALE_A * a)
        slope_b = zeta_2(means) - 2.0 * SCALE_B * (SCALE_B * b)
        a = np.clip(a - step * slope_a, 0.0, upper_a)
        b = np.clip(b + step * slope_b, 0.0, upper_b)
        values.append(saddle_function(a, b, means))
    return np.array(values)
