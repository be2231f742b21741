"""Bayes scoring for TPAUC: the paper's Theorems 2 and 3 on known populations.

**The best scorer.** By the Neyman-Pearson lemma the ROC curve of ``eta`` lies on or above the curve of every other
scorer, at every false positive rate. So ``eta`` has the largest TPAUC in *every* region; the paper's remark that it
might not be a solution is wrong. `bayes_tpauc` returns this limit.

**Three sets.** With the thresholds ``t_{1-alpha}(f)``, above which the share ``1 - alpha`` of the positives lies, and
``t_beta(f)``, above which the share ``beta`` of the negatives lies, a scorer splits the examples into

    top = {f > t_{1-alpha}},    middle = {t_beta <= f <= t_{1-alpha}},    bottom = {f < t_beta}.

Positives of middle and bottom meet negatives of top and middle. Their pairs, a positive of kind ``x`` and a negative of
kind ``z`` ranked the wrong way, make up the risk (not normalised, TPAUC is ``1 - risk / (alpha beta)``):

    risk = [middle x middle, wrong order] + [top, middle or bottom] + [middle or top, bottom] - [top, bottom].

The last term is missing in the paper's Theorem 2: its sets C-up and C-down both hold the pairs (top, bottom), which are
counted twice. ``eta`` minimises the printed sum as well, because it also minimises the surplus.

**Theorem 3.** For two scorers with the same three sets the last three terms agree, so only the order inside the middle
counts, and against the order of ``eta`` a scorer loses exactly

    sum over pairs of the middle in the wrong order of |p+(x) p-(z) - p+(z) p-(x)| / (alpha beta).

``eta`` itself belongs to this class of scorers, so the restriction to the class costs nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc._validation import BoolArray, FloatArray, check_choice, check_count, check_same_length, check_scores
from tpauc.paper.theory.inconsistency import entry_rate
from tpauc.paper.theory.populations import FinitePopulation
from tpauc.region import Region

_ROUNDING = 1e-12  # sums of shares that should be alpha or beta miss it by less


def bayes_tpauc(population: FinitePopulation, region: Region) -> float:
    """Return the largest normalised TPAUC of any scorer: the TPAUC of ``eta``.

    Examples
    --------
    >>> population = FinitePopulation([1, 1, 2], [2, 1, 1])
    >>> bayes_tpauc(population, Region(alpha=0.5, beta=0.5))
    0.125
    >>> population.tpauc([3.0, 1.0, 2.0], Region(alpha=0.5, beta=0.5))
    0.0
    """
    return population.tpauc(population.eta, region)


class ThreeSets(NamedTuple):
    """Which kinds lie above both thresholds, between them, and below; bool arrays of shape (m,)."""

    top: BoolArray
    middle: BoolArray
    bottom: BoolArray


def three_sets(population: FinitePopulation, scores: npt.ArrayLike, region: Region) -> ThreeSets:
    """Split the kinds by the two thresholds of a scorer.

    A kind that a threshold cuts through belongs to the middle. A curve that misses the region has
    ``t_beta > t_{1-alpha}``; the paper and this function exclude it. A curve along the border of the region, for which
    a kind would be both top and bottom, is excluded as well.

    Examples
    --------
    >>> population = FinitePopulation([0, 1, 1, 2], [2, 1, 1, 0])
    >>> sets = three_sets(population, population.eta, Region(alpha=0.5, beta=0.5))
    >>> [members.astype(int).tolist() for members in sets]
    [[0, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0]]
    """
    sets = _sets(population, scores, region)
    if sets is None:
        raise ValueError(f"scores must have t_beta <= t_(1-alpha): their curve misses {region}")
    return sets


def _sets(population: FinitePopulation, scores: npt.ArrayLike, region: Region) -> ThreeSets | None:
    """Return the three sets of a scorer, None if its curve misses the region."""
    values = check_scores(scores, "scores")
    check_same_length("scores", values, "positive", population.positive)
    _, kind = np.unique(values, return_inverse=True)
    # Share of the positives at or above a level, and of the negatives at or below it.
    positives_down_to = np.cumsum(np.bincount(kind, population.positive)[::-1])[::-1]
    negatives_up_to = np.cumsum(np.bincount(kind, population.negative))
    top = (positives_down_to <= 1.0 - region.alpha + _ROUNDING)[kind]
    bottom = (negatives_up_to <= 1.0 - region.beta + _ROUNDING)[kind]
    # If a threshold cuts a kind, the curve may miss the region although no kind is both top and bottom.
    misses = entry_rate(*population.roc(values), region) > region.beta + _ROUNDING or (top & bottom).any()
    return None if misses else ThreeSets(top, ~top & ~bottom, bottom)


def uncut_region(population: FinitePopulation, region: Region) -> Region:
    """Return the region nearest to the given one whose thresholds, at the scorer ``eta``, cut through no kind.

    Examples
    --------
    >>> uncut_region(FinitePopulation([0, 1, 1, 2], [2, 1, 1, 0]), Region(alpha=0.4, beta=0.4))
    Region(alpha=0.5, beta=0.5)
    """
    fpr, tpr = population.roc(population.eta)
    missed, alarms = 1.0 - tpr[tpr < 1.0], fpr[fpr > 0.0]
    return Region(
        alpha=float(missed[np.argmin(abs(missed - region.alpha))]),
        beta=float(alarms[np.argmin(abs(alarms - region.beta))]),
    )


def weakly_consistent(population: FinitePopulation, scores: npt.ArrayLike, region: Region) -> bool:
    """Return whether a scorer has the same three sets as ``eta``; False if its curve misses the region.

    Examples
    --------
    >>> population = FinitePopulation([0, 1, 1, 2], [2, 1, 1, 0])
    >>> weakly_consistent(population, [0.0, 2.0, 1.0, 3.0], Region(alpha=0.5, beta=0.5))
    True
    >>> weakly_consistent(population, [1.0, 0.0, 2.0, 3.0], Region(alpha=0.5, beta=0.5))
    False
    """
    own, best = _sets(population, scores, region), three_sets(population, population.eta, region)
    return own is not None and all(np.array_equal(a, b) for a, b in zip(own, best, strict=True))


def shuffled_within(
    population: FinitePopulation, region: Region, part: str, moves: int, rng: np.random.Generator
) -> FloatArray:
    """Return a weakly consistent scorer: the ranks of ``eta``, with neighbours swapped within one of the three sets.

    The population has a different ``eta`` for each kind. With many swaps (``moves``) any order can result.

    Examples
    --------
    >>> population = FinitePopulation([0, 1, 2, 3], [3, 2, 1, 0])
    >>> shuffled_within(population, Region(0.5, 0.5), "middle", 1, np.random.default_rng(0)).tolist()
    [0.0, 2.0, 1.0, 3.0]
    """
    sets = three_sets(population, population.eta, region)
    members = sets._asdict()[check_choice(part, "part", ThreeSets._fields)]
    order = np.argsort(population.eta, kind="stable")
    places = np.flatnonzero(members[order])  # adjacent, because the set is an interval of eta
    for _ in range(check_count(moves, "moves", at_least=0) if places.size > 1 else 0):
        place = places[rng.integers(places.size - 1)]
        order[[place, place + 1]] = order[[place + 1, place]]
    ranks = np.empty(order.size)
    ranks[order] = np.arange(order.size)
    return ranks


def middle_order_loss(population: FinitePopulation, scores: npt.ArrayLike, region: Region) -> float:
    """Return the loss of a weakly consistent scorer against ``eta`` by Theorem 3, in normalised TPAUC.

    Exact if no threshold of the region cuts a kind. A scorer that is not weakly consistent is refused, because the
    theorem does not apply to it.

    Examples
    --------
    >>> population, region = FinitePopulation([0, 1, 2, 3], [3, 2, 1, 0]), Region(0.5, 0.5)
    >>> scores = [0.0, 2.0, 1.0, 3.0]
    >>> loss = bayes_tpauc(population, region) - population.tpauc(scores, region)
    >>> round(middle_order_loss(population, scores, region), 6), round(loss, 6)
    (0.333333, 0.333333)
    """
    values = check_scores(scores, "scores")
    if not weakly_consistent(population, values, region):
        raise ValueError(f"scores must be weakly consistent: their three sets in {region} are not those of eta")
    middle = three_sets(population, population.eta, region).middle
    p, n, f = population.positive[middle], population.negative[middle], values[middle]
    gain = np.outer(p, n) - np.outer(n, p)  # > 0 where eta ranks the first above the second
    ahead = np.sign(f[:, None] - f[None, :])
    # Each pair is in the table twice; a tie loses half of its weight.
    lost = np.where(gain > 0.0, gain * (1.0 - ahead) / 2.0, 0.0)
    return float(lost.sum()) / region.area


class RiskTerms(NamedTuple):
    """The terms of Theorem 2, in shares of all pairs."""

    middle: float
    up: float
    down: float
    top_and_bottom: float

    @property
    def printed(self) -> float:
        """The sum as the paper prints it."""
        return self.middle + self.up + self.down

    @property
    def risk(self) -> float:
        """The risk: the printed sum without the pairs that it counts twice."""
        return self.printed - self.top_and_bottom


def risk_terms(population: FinitePopulation, scores: npt.ArrayLike, region: Region) -> RiskTerms:
    """Return the terms of Theorem 2 for a scorer whose thresholds cut through no kind.

    Examples
    --------
    >>> population, region = FinitePopulation([0, 1, 2, 3], [3, 2, 1, 0]), Region(0.5, 0.5)
    >>> terms = risk_terms(population, population.eta, region)
    >>> true_risk = region.area * (1.0 - population.tpauc(population.eta, region))
    >>> round(terms.risk, 6), round(true_risk, 6)
    (0.083333, 0.083333)
    """
    values = check_scores(scores, "scores")
    top, middle, bottom = three_sets(population, values, region)
    positive, negative = population.positive, population.negative
    p, n, f = positive[middle], negative[middle], values[middle]
    wrong = (1.0 - np.sign(f[:, None] - f[None, :])) / 2.0
    return RiskTerms(
        middle=float(p @ wrong @ n),
        up=float(negative[top].sum() * positive[middle | bottom].sum()),
        down=float(negative[top | middle].sum() * positive[bottom].sum()),
        top_and_bottom=float(negative[top].sum() * positive[bottom].sum()),
    )
