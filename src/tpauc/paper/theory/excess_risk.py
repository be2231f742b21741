"""The excess-risk terms of the paper's Theorems 4 and 5 and of the corollary for convolutional nets, as a calculator.

With ``n+`` and ``n-`` examples, confidence ``1 - delta``, and ``C`` a constant that the paper does not give,

    Theorem 4    R <= R^_psi + C ( sqrt((V log n+ + log 1/delta) / n+) + sqrt((V log n- + log 1/delta) / n-) )
    Theorem 5    R <= (K / (K-1))^2 R^_psi + C_K (A log(Gamma n-) + log 2/delta) / n+          for every K > 1
    corollary    Theorem 5 with A = N_par, the number of parameters, and Gamma = C_L

where ``V`` is the VC dimension of the thresholded scorers, and ``A log(R / eps)`` bounds the logarithm of the covering
number of the scorers. ``R`` is a mean over all pairs, hence never above ``alpha beta``: a larger term says nothing. The
constant of Theorem 5 comes from local Rademacher complexities and grows in proportion to ``K``, so the paper's limit
``K -> infinity`` has a price: `theorem_5_best_k` finds the best ``K``, with which the excess falls like
``sqrt(R^_psi A log(n-) / n+)``, and like ``1 / n+`` only if ``R^_psi`` is that small.

For one scorer that does not depend on the sample, the inequality of Dvoretzky, Kiefer and Wolfowitz and the sharper
decomposition (`tpauc.paper.theory.decomposition`) give a bound with all constants, `fixed_scorer_bound`.

The covering numbers of the weighted pair losses follow from the covering numbers of the scorers by the factor

    L_g = 2 (v l L_v + v^2 L_l),      v = sup psi, l = sup loss, L_v and L_l their Lipschitz constants,

which is infinite for the paper's own concave polynomial weighting: ``t^(1/(gamma-1))`` with ``gamma > 2`` is vertical
at 0. A net of ``L`` layers whose operator norms start within ``1 + nu`` and move by ``d`` in all, on inputs of norm at
most ``R_X``, has ``A = N_par`` and ``R = 3 d R_X (1 + nu + d / L)^L``; the paper's undefined ``C_L`` is ``R L_g``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tpauc._validation import check_count, check_non_negative, check_number, check_open_share, check_positive
from tpauc.losses.weighting import Exponential, Polynomial, Uniform, WeightingFunction
from tpauc.region import Region

# Of the square loss (1 - t)^2 at margins t in [-1, 1]: its largest value and its steepest slope.
SQUARE_SUPREMUM, SQUARE_LIPSCHITZ = 4.0, 4.0


def theorem_4_term(n: int, *, vc_dimension: float, delta: float = 0.05) -> float:
    """Return ``sqrt((V log n + log 1/delta) / n)``, the term of one class in Theorem 4.

    Examples
    --------
    >>> round(theorem_4_term(1508, vc_dimension=65), 3)
    0.563
    """
    count, share = check_count(n, "n"), check_open_share(delta, "delta")
    return math.sqrt((check_positive(vc_dimension, "vc_dimension") * math.log(count) - math.log(share)) / count)


def theorem_4(
    n_positive: int, n_negative: int, *, vc_dimension: float, delta: float = 0.05, constant: float = 1.0
) -> float:
    """Return the excess risk of Theorem 4, ``C`` times the sum of both terms.

    Examples
    --------
    >>> round(theorem_4(1508, 8907, vc_dimension=65), 3)
    0.822
    """
    terms = [theorem_4_term(n, vc_dimension=vc_dimension, delta=delta) for n in (n_positive, n_negative)]
    return check_positive(constant, "constant") * sum(terms)


def theorem_5(
    n_positive: int,
    n_negative: int,
    *,
    complexity: float,
    spread: float = 1.0,
    delta: float = 0.05,
    constant: float = 1.0,
) -> float:
    """Return ``C (A log(Gamma n-) + log 2/delta) / n+``, the additive term of Theorem 5 in the main text.

    The appendix states the theorem with ``n-`` in the denominator; its proof ends with ``n+``.

    Parameters
    ----------
    n_positive, n_negative : int
        The theorem is for ``n+ <= n-``.
    complexity : float
        ``A``.
    spread : float, default=1.0
        ``Gamma``, with ``Gamma n- >= 1``.
    delta : float, default=0.05
        One minus the confidence.
    constant : float, default=1.0
        ``C``.

    Examples
    --------
    >>> round(theorem_5(1508, 8907, complexity=65), 3)
    0.394
    """
    positives, negatives = check_count(n_positive, "n_positive"), check_count(n_negative, "n_negative")
    if positives > negatives:
        raise ValueError(f"n_positive must not exceed n_negative in Theorem 5, got {positives} and {negatives}")
    size = check_positive(spread, "spread") * negatives
    if size < 1.0:
        raise ValueError(f"spread * n_negative must be at least 1, got {size!r}")
    numerator = check_positive(complexity, "complexity") * math.log(size) + math.log(
        2.0 / check_open_share(delta, "delta")
    )
    return check_positive(constant, "constant") * numerator / positives


class BestK(NamedTuple):
    """The best ``K`` of Theorem 5 and the excess ``R - R^_psi`` that it allows."""

    K: float
    excess: float


def theorem_5_best_k(empirical_risk: float, term: float) -> BestK:
    """Minimise ``((K/(K-1))^2 - 1) R^ + K term`` over ``K > 1``, the constant growing in proportion to ``K``.

    Parameters
    ----------
    empirical_risk : float
        ``R^_psi``, at least 0.
    term : float
        `theorem_5`, above 0, with a constant of 1 per unit of ``K``.

    Examples
    --------
    >>> few, many = (theorem_5_best_k(0.05, 10.0 / n).excess for n in (10**5, 10**7))
    >>> round(few / many)  # a hundred times the sample: ten times less, not a hundred
    10
    """
    risk, cost = check_non_negative(empirical_risk, "empirical_risk"), check_positive(term, "term")
    # The derivative -2 K R / (K-1)^3 + cost rises in K: halve the interval in which it crosses 0.
    low, high = 1.0, 2.0 + math.sqrt(8.0 * risk / cost) + 2.0 * (risk / cost)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if 2.0 * middle * risk > cost * (middle - 1.0) ** 3:
            low = middle
        else:
            high = middle
    factor = (high / (high - 1.0)) ** 2 - 1.0 if risk > 0.0 else 0.0
    return BestK(high, factor * risk + high * cost)


def fixed_scorer_bound(n_positive: int, n_negative: int, region: Region, *, delta: float = 0.05) -> float:
    """Bound ``|R - R^|`` of one fixed scorer, constants included, in shares of all pairs.

    By Dvoretzky, Kiefer and Wolfowitz both ``D`` are at most ``sqrt(log(4/delta) / (2n))`` with probability
    ``1 - delta``. The sharper decomposition turns them into ``beta D+ + alpha D-``, plus at most the rounding of the
    counts. Divided by ``alpha beta`` the bound is an interval for TPAUC.

    Examples
    --------
    >>> region = Region(0.3, 0.3)
    >>> round(fixed_scorer_bound(324, 1910, region) / region.area, 3)
    0.387
    """
    reach = math.log(4.0 / check_open_share(delta, "delta")) / 2.0
    bounds = []
    for n, selected, share in (
        (n_positive, region.hard_positives(n_positive), region.alpha),
        (n_negative, region.hard_negatives(n_negative), region.beta),
    ):
        bounds.append(max(math.sqrt(reach / n), share - selected / n))
    return region.beta * bounds[0] + region.alpha * bounds[1]


# ------------------------------------------------------------------------------------------------- covering numbers


def weighting_lipschitz(weighting: WeightingFunction) -> float:
    """Return the Lipschitz constant of ``psi`` on [0, 1]; infinite for a concave polynomial.

    Examples
    --------
    >>> weighting_lipschitz(Exponential(10.0)), weighting_lipschitz(Polynomial(3.0))
    (10.0, inf)
    """
    if isinstance(weighting, Uniform):
        return 0.0
    if isinstance(weighting, Exponential):
        return weighting.gamma
    if isinstance(weighting, Polynomial):
        return math.inf if weighting.exponent < 1.0 else weighting.exponent
    raise TypeError(f"weighting must be Polynomial, Exponential or Uniform, got {weighting!r}")


def pair_loss_lipschitz(weighting: WeightingFunction) -> float:
    """Return ``L_g = 2 (v l L_v + v^2 L_l)`` for the square loss: how much a pair loss changes with the scorer.

    Examples
    --------
    >>> pair_loss_lipschitz(Uniform())
    8.0
    """
    slope = weighting_lipschitz(weighting)  # first, because it refuses other weightings
    largest = weighting.supremum()
    return 2.0 * (largest * SQUARE_SUPREMUM * slope + largest**2 * SQUARE_LIPSCHITZ)


def network_spread(*, layers: int, distance: float, initial_excess: float = 0.0, input_norm: float = 1.0) -> float:
    """Return ``R = 3 d R_X (1 + nu + d / L)^L``, with which a net has the covering number ``(R / eps)^N_par``.

    Parameters
    ----------
    layers : int
        ``L``, convolutional and fully connected together.
    distance : float
        ``d``: how far the operator norms of all layers together may move from their initial values.
    initial_excess : float, default=0.0
        ``nu``: the operator norms start at most at ``1 + nu``.
    input_norm : float, default=1.0
        ``R_X``.

    Examples
    --------
    >>> round(network_spread(layers=20, distance=20.0))
    62914560
    """
    count, reach = check_count(layers, "layers"), check_positive(distance, "distance")
    norm = 1.0 + check_non_negative(initial_excess, "initial_excess") + reach / count
    size = 3.0 * reach * check_positive(input_norm, "input_norm")
    try:
        spread = size * norm**count
    except OverflowError:
        spread = math.inf
    if not math.isfinite(spread):
        raise ValueError(
            f"3 d R_X (1 + nu + d / L)^L must be within float64, got layers={layers!r}, distance={distance!r}, "
            f"initial_excess={initial_excess!r} and input_norm={input_norm!r}"
        )
    return spread


def corollary_cnn(
    n_positive: int,
    n_negative: int,
    *,
    parameters: int,
    spread: float,
    weighting: WeightingFunction,
) -> float:
    """Return the additive term of the corollary: `theorem_5` with ``A = N_par`` and ``Gamma = R L_g``.

    Examples
    --------
    >>> spread = network_spread(layers=20, distance=20.0)
    >>> round(corollary_cnn(1508, 8907, parameters=269_137, spread=spread, weighting=Exponential(10.0)))
    5627
    >>> corollary_cnn(1508, 8907, parameters=269_137, spread=spread, weighting=Polynomial(3.0))
    Traceback (most recent call last):
    ...
    ValueError: weighting must be Lipschitz on [0, 1], Polynomial(gamma=3.0) is not
    """
    slope = pair_loss_lipschitz(weighting)
    if not math.isfinite(slope):
        raise ValueError(f"weighting must be Lipschitz on [0, 1], {weighting!r} is not")
    return theorem_5(
        n_positive,
        n_negative,
        complexity=check_count(parameters, "parameters"),
        spread=check_number(spread, "spread") * slope,
    )
