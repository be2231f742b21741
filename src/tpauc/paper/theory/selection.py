"""Proposition 1: choosing the hard examples is a linear programme, and a penalised one.

For hardness ``t_i`` (``1 - f`` of a positive, ``f`` of a negative) without ties and ``1 <= k < n`` three ways give the
same weights:

    top k                v_i = [t_i is among the k largest]
    linear programme     v = argmax over v in [0, 1]^n, sum v <= k, of  sum v_i t_i
    penalty              v = argmax over v in [0, 1]^n of  sum v_i (t_i - lambda),    t_(k+1) < lambda < t_(k)

The paper says that a suitable ``lambda`` exists; it is any number between the k-th and the (k+1)-th largest hardness,
so it depends on the scores and moves while a model learns. With ties at that border there is none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import optimize

from tpauc._validation import BoolArray, FloatArray, check_count, check_number, check_scores


def top_k(hardness: npt.ArrayLike, k: int) -> FloatArray:
    """Return 1 for the ``k`` largest values and 0 for the others.

    Parameters
    ----------
    hardness : array-like of shape (n,)
    k : int
        At least 1 and below ``n``.

    Returns
    -------
    float array of shape (n,)

    Examples
    --------
    >>> top_k([0.2, 0.9, 0.5], 2)
    array([0., 1., 1.])
    """
    values, count = _checked(hardness, k)
    weights = np.zeros_like(values)
    weights[np.argpartition(values, values.size - count)[values.size - count :]] = 1.0
    return weights


def selected_by_linear_programme(hardness: npt.ArrayLike, k: int) -> FloatArray:
    """Return the weights that solve the paper's inner problem, by a general solver that knows nothing of sorting.

    Parameters
    ----------
    hardness, k
        As in `top_k`.

    Examples
    --------
    >>> np.allclose(selected_by_linear_programme([0.2, 0.9, 0.5], 2), top_k([0.2, 0.9, 0.5], 2))
    True
    """
    values, count = _checked(hardness, k)
    # linprog minimises.
    solution = optimize.linprog(-values, A_ub=np.ones((1, values.size)), b_ub=[count], bounds=(0.0, 1.0))
    if solution.status != 0:
        raise RuntimeError(f"the linear programme was not solved: {solution.message}")
    weights: FloatArray = np.asarray(solution.x, dtype=np.float64)
    return weights


def penalty_strength(hardness: npt.ArrayLike, k: int) -> float:
    """Return a ``lambda`` with which `selected_by_penalty` selects the ``k`` largest: the middle of all such.

    Parameters
    ----------
    hardness, k
        As in `top_k`. The k-th and the (k+1)-th largest value must differ.

    Examples
    --------
    >>> penalty_strength([0.2, 0.9, 0.5], 1)
    0.7
    """
    values, count = _checked(hardness, k)
    below, kth = np.sort(values)[values.size - count - 1 : values.size - count + 1]
    if below == kth:
        raise ValueError(
            f"hardness must not be tied at the border of the selection: values {count} and {count + 1} "
            f"from the top are both {kth}, so no penalty separates them"
        )
    middle = (below + kth) / 2.0
    # Between neighbouring floats there is no middle; the lower one then separates them.
    return float(middle if middle < kth else below)


def selected_by_penalty(hardness: npt.ArrayLike, strength: float) -> FloatArray:
    """Return ``argmax over v in [0, 1]^n of sum v_i (t_i - lambda)``, which is solved example by example.

    Parameters
    ----------
    hardness : array-like of shape (n,)
    strength : float
        The penalty ``lambda``.

    Examples
    --------
    >>> selected_by_penalty([0.2, 0.9, 0.5], 0.7)
    array([0., 1., 0.])
    """
    chosen: BoolArray = check_scores(hardness, "hardness") > check_number(strength, "strength")
    return chosen.astype(np.float64)


def _checked(hardness: npt.ArrayLike, k: int) -> tuple[FloatArray, int]:
    values = check_scores(hardness, "hardness").astype(np.float64)
    count = check_count(k, "k")
    if count >= values.size:
        raise ValueError(f"k must be below the number of examples, {values.size}, got {k!r}")
    return values, count
