"""How many positives and negatives a study needs, for an interval of a given width or to tell two models apart.

The study is planned on a *population*: rows of a pilot study, or many rows of normal scores with the guessed TPAUC
(negatives standard normal, positives shifted, and spread by a factor; two models have correlated scores). With ``n``
positives and ``ratio * n`` negatives the TPAUC, or a difference of two, has the standard deviation

    s(n) = sqrt((var(U) / alpha^2 + var(V) / (ratio * beta^2)) / n),

``U`` and ``V`` the influence of a positive and of a negative as in DeLong, DeLong and Clarke-Pearson (1988), which
`tpauc.metrics._delong` explains for a region. What this package prints differs from that where few examples decide, so
samples of that size are drawn from the population, and their intervals are made. For a half width, ``w(n)`` is half of
the mean length of :func:`tpauc.tpauc_interval`. For a difference it is the mean reach of :func:`tpauc.compare_tpauc`
towards 0, plus the quantile of the power times the standard deviation of that end. The plan is the ``n`` with

    w(n) = half_width      or      w(n) = difference,

found in rounds with new samples in each. With large samples ``w`` falls as ``s``, with few deciding examples faster. So
the slope of ``log w`` in ``log n`` is read from all rounds, and its level from the last two. The first round has the
``n`` of large samples. `benchmarks/planning.py` simulates studies of the planned size; in the two cases that were
furthest off before, numbers are within 2 % of what those studies need (400 studies each).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from tpauc._notebook import html_table
from tpauc._validation import (
    FloatArray,
    brief,
    check_between,
    check_labels_and_scores,
    check_number,
    check_open_share,
    check_positive,
    check_random_state,
)
from tpauc.metrics.comparison import compare_tpauc
from tpauc.metrics.intervals import HARD_EXAMPLES_NEEDED, tpauc_interval
from tpauc.region import Region, hard_mass

_ROUNDS = 4
_LEAST_RANGE = 0.1  # of log(n), to read the slope of log(w) from
_SLOPES = -1.5, -0.3
_MOST_SAMPLES, _FEWEST_SAMPLES = 200, 10  # per round; fewer where samples are large, which differ less
_ROWS_PER_ROUND = {1: 1_500_000, 2: 250_000}  # of all samples together, by the number of models
_ROWS_PER_SAMPLE = {1: 100_000, 2: 3_000}  # likewise; with more rows w(n) is taken to fall as s(n)
_RESAMPLES = 400
_HARD_PER_SAMPLE = 50  # but a sample is never cut to fewer hard examples
_HARD_ROWS, _MOST_ROWS = 20_000, 1_000_000  # in the population of normal scores: hard ones, and all of a class


@dataclass(frozen=True, repr=False)
class StudyPlan:
    """Numbers of positives and negatives for a study; what :func:`plan_study` returns.

    Attributes
    ----------
    n_positive, n_negative : int
        How many rows of each class to collect.
    tpauc : float
        The TPAUC that was guessed, or that the pilot has; with a difference, that of the first model.
    half_width, difference : float or None
        What the study is planned for; one of them is None.
    power : float or None
        Probability to tell the models apart, None without a difference.
    alpha, beta, confidence : float
        The region and the confidence of its interval.
    fewest_positives, fewest_negatives : int
        Rows of each class that the region needs before its interval is reliable, whatever its width: of so many it
        selects 5. A plan never has fewer.

    Examples
    --------
    >>> StudyPlan(170, 1700, 0.6, 0.1, None, None, 0.3, 0.3, 0.95, 17, 17)
    170 positives and 1,700 negatives give a TPAUC(0.3, 0.3) of 0.6 a 95 % interval of ± 0.1.
    """

    n_positive: int
    n_negative: int
    tpauc: float
    half_width: float | None
    difference: float | None
    power: float | None
    alpha: float
    beta: float
    confidence: float
    fewest_positives: int
    fewest_negatives: int

    def __repr__(self) -> str:
        rows = f"{self.n_positive:,} positives and {self.n_negative:,} negatives"
        area = f"TPAUC({self.alpha:g}, {self.beta:g})"
        if self.half_width is not None:
            text = f"{rows} give a {area} of {self.tpauc:.3g} a {100 * self.confidence:g} % interval of "
            text += f"± {self.half_width:g}."
        else:
            text = f"{rows} tell a {area} of {self.tpauc:.3g} from one that is higher by {self.difference:g} with a "
            text += f"probability of {100 * (self.power or 0.0):g} %, at a confidence of {100 * self.confidence:g} %."
        if self.n_positive == self.fewest_positives or self.n_negative == self.fewest_negatives:
            text += f" Fewer rows would do, but intervals are reliable from {HARD_EXAMPLES_NEEDED} hard examples on."
        return text

    def _repr_html_(self) -> str:
        rows = [["positives", f"{self.n_positive:,}"], ["negatives", f"{self.n_negative:,}"]]
        return html_table("Rows to collect", rows, notes=[repr(self)])


def plan_study(
    alpha: float,
    beta: float,
    *,
    tpauc: float | None = None,
    half_width: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    confidence: float = 0.95,
    ratio: float | None = None,
    spread: float = 1.0,
    correlation: float = 0.5,
    pilot: Sequence[npt.ArrayLike] | None = None,
    pos_label: Any = None,
    random_state: int | np.random.Generator | None = 0,
) -> StudyPlan:
    """Plan how many positives and negatives to collect.

    Either for an interval of TPAUC with a given ``half_width``, or to show the ``difference`` between two models on the
    same rows. What is expected comes from a guess, ``tpauc``, or from a ``pilot``.

    Parameters
    ----------
    alpha, beta : float
        The region, as in :func:`~tpauc.metrics.area.tpauc_score`; each in (0, 1].
    tpauc : float, optional
        The expected TPAUC, in (0, 1); of the worse model if there are two. Needed without a pilot.
    half_width : float, optional
        Half of the mean length that the interval of :func:`~tpauc.metrics.intervals.tpauc_interval` shall have.
    difference : float, optional
        By how much the TPAUC of the better model is higher. Either this or ``half_width`` is given.
    power : float, default=0.8
        Probability that :func:`~tpauc.metrics.intervals.compare_tpauc` finds the difference significant.
    confidence : float, default=0.95
        Of the interval; the level of the test is 1 minus that.
    ratio : float, optional
        Negatives per positive; by default as in the pilot, or 10.
    spread : float, default=1.0
        Standard deviation of the positives' scores if the negatives' is 1; for a guess. Spread-out positives need more
        rows.
    correlation : float, default=0.5
        Of the two models' scores within a class, in [0, 1]; for a guess. Models that err alike need fewer rows.
    pilot : (y_true, y_score) or (y_true, score_a, score_b), optional
        Labels and scores of a small study, of two models for a ``difference``, which is then the one to be shown,
        not the one of the pilot. Rows are drawn from it with replacement.
    pos_label : label, optional
        The label of the pilot's positive class, needed if labels are not 0/1, -1/1 or booleans.
    random_state : int, numpy.random.Generator or None, default=0
        Source of the samples on which the plan is checked. The same number gives the same plan.

    Returns
    -------
    StudyPlan
        With ``n_positive``, ``n_negative`` and the least numbers for a reliable interval, ``fewest_positives`` and
        ``fewest_negatives``. It prints as a sentence.

    References
    ----------
    E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson (1988), Comparing the areas under two or more correlated
    receiver operating characteristic curves. Biometrics 44.
    N. A. Obuchowski and D. K. McClish (1997), Sample size determination for diagnostic accuracy studies involving
    binormal ROC curve indices. Statistics in Medicine 16.

    Examples
    --------
    >>> plan = plan_study(0.3, 0.3, tpauc=0.6, half_width=0.15)
    >>> 110 <= plan.n_positive <= 150 and plan.n_negative == 10 * plan.n_positive
    True
    >>> plan.fewest_positives  # of 17 positives the region selects 5
    17
    """
    region = Region(alpha, beta)
    confidence, power = check_open_share(confidence, "confidence"), check_open_share(power, "power")
    target, comparing = _check_target(half_width, difference)
    generator = check_random_state(random_state)
    spread = check_between(check_positive(spread, "spread"), "spread", 1e-3, 1e3)
    correlation = check_number(correlation, "correlation")
    if not 0.0 <= correlation <= 1.0:
        raise ValueError(f"correlation must be in [0, 1], got {correlation!r}")
    if ratio is not None:
        ratio = check_between(check_positive(ratio, "ratio"), "ratio", 1e-6, 1e6)
    if pilot is None:
        if pos_label is not None:
            raise ValueError(f"pos_label has a meaning for a pilot only, got {brief(pos_label)}")
        guesses = _check_guesses(tpauc, difference)
        population = _normal_population(generator, region, guesses, spread, correlation)
        ratio = 10.0 if ratio is None else ratio
    else:
        if tpauc is not None:
            raise ValueError(f"tpauc must not be given together with a pilot, which has its own, got {brief(tpauc)}")
        population = _pilot_population(pilot, comparing, region, pos_label)
        ratio = population[1].shape[1] / population[0].shape[1] if ratio is None else ratio
    value, deviation = _value_and_deviation(population, region, ratio)
    if deviation == 0.0:  # of a pilot
        raise ValueError("pilot must show some spread, got a perfect ranking or equal models; guess a tpauc instead")
    fewest = _fewest_with(HARD_EXAMPLES_NEEDED, region.alpha), _fewest_with(HARD_EXAMPLES_NEEDED, region.beta)
    least = max(fewest[0], math.ceil(fewest[1] / ratio))
    power_quantile = NormalDist().inv_cdf(power) if comparing else 0.0
    of_large_samples = (NormalDist().inv_cdf((1.0 + confidence) / 2.0) + power_quantile) * deviation
    n_positive = max(least, math.ceil((of_large_samples / target) ** 2))
    rounds: list[tuple[float, float]] = []  # positives, and what they were found to reach
    for _ in range(_ROUNDS):
        reach, spread_of_end, n = _simulated_limits(generator, population, n_positive, ratio, region, confidence)
        rounds.append((n_positive, (reach + power_quantile * spread_of_end) * math.sqrt(n / n_positive)))
        n_positive = max(least, math.ceil(_positives_for(target, rounds)))
    return StudyPlan(
        n_positive=n_positive,
        n_negative=max(fewest[1], math.ceil(ratio * n_positive)),
        tpauc=value if tpauc is None else float(tpauc),
        half_width=None if half_width is None else target,
        difference=target if comparing else None,
        power=power if comparing else None,
        alpha=region.alpha,
        beta=region.beta,
        confidence=confidence,
        fewest_positives=fewest[0],
        fewest_negatives=fewest[1],
    )


def _positives_for(target: float, rounds: list[tuple[float, float]]) -> float:
    """Return for how many positives ``w(n)`` is the target, given some numbers and what was found for them."""
    n, found = np.log(rounds).T
    slope = -0.5  # of large samples
    if np.ptp(n) > _LEAST_RANGE:
        slope = float(np.clip(np.polyfit(n, found, 1)[0], *_SLOPES))
    level = np.mean(found[-2:] - slope * n[-2:])
    return math.exp((math.log(target) - level) / slope)


_Population = tuple[FloatArray, FloatArray]  # scores of the positives and of the negatives, each (models, rows)


def _check_target(half_width: float | None, difference: float | None) -> tuple[float, bool]:
    """Return what the study is planned for, and whether that is a difference."""
    if (half_width is None) == (difference is None):
        found = f"{brief(half_width)} and {brief(difference)}"
        raise ValueError(f"either half_width or difference must be given, got {found}")
    if difference is not None:
        return check_open_share(difference, "difference"), True
    assert half_width is not None
    target = check_positive(half_width, "half_width")
    if target >= 0.5:
        raise ValueError(f"half_width must be below 0.5, half of all that a TPAUC can be, got {half_width!r}")
    return target, False


def _check_guesses(tpauc: float | None, difference: float | None) -> list[float]:
    """Return the TPAUC of each model."""
    if tpauc is None:
        raise ValueError("tpauc must be given, or a pilot that shows it")
    guess = check_open_share(tpauc, "tpauc")
    if difference is None:
        return [guess]
    if guess + difference >= 1.0:
        raise ValueError(f"tpauc + difference must be below 1, got {tpauc!r} + {difference!r}")
    return [guess, guess + difference]


def _pilot_population(pilot: Sequence[npt.ArrayLike], comparing: bool, region: Region, pos_label: Any) -> _Population:
    """Return the scores of a pilot study by class."""
    wanted = "(y_true, score_a, score_b) for a difference" if comparing else "(y_true, y_score) for a half_width"
    if not isinstance(pilot, Sequence) or len(pilot) != 2 + comparing:
        found = f"{len(pilot)} arrays" if isinstance(pilot, Sequence) else type(pilot).__name__
        raise ValueError(f"pilot must be {wanted}, got {found}")
    names = ["score_a", "score_b"] if comparing else ["y_score"]
    try:
        checked = [
            check_labels_and_scores(pilot[0], scores, score_name=name, pos_label=pos_label)
            for name, scores in zip(names, pilot[1:], strict=True)
        ]
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} (in the pilot)") from error
    positive = checked[0][0]
    n_positive = int(np.count_nonzero(positive))
    region.hard_positives(n_positive)  # an error if the region selects none
    region.hard_negatives(positive.size - n_positive)
    scores = np.array([scores for _, scores in checked], dtype=np.float64)
    return scores[:, positive], scores[:, ~positive]


def _normal_population(
    generator: np.random.Generator, region: Region, guesses: list[float], spread: float, correlation: float
) -> _Population:
    """Return many rows of normal scores of one or two models with the given TPAUCs."""
    from scipy.special import ndtri

    shifts = [binormal_shift(guess, spread, region) for guess in guesses]
    sides = []
    for share, scale, means in ((region.alpha, spread, shifts), (region.beta, 1.0, [0.0] * len(shifts))):
        n_rows = min(math.ceil(_HARD_ROWS / share), _MOST_ROWS)
        first = ndtri((np.arange(n_rows) + 0.5) / n_rows)
        mixed = correlation * first + math.sqrt(1.0 - correlation**2) * generator.permutation(first)
        second = np.empty(n_rows)
        second[np.argsort(mixed)] = first  # the same quantiles
        sides.append(np.array([mean + scale * z for mean, z in zip(means, (first, second), strict=False)]))
    return sides[0], sides[1]


def binormal_shift(tpauc: float, spread: float, region: Region) -> float:
    """Return the mean of normal positives that gives this TPAUC, the negatives being standard normal."""
    from scipy.optimize import brentq
    from scipy.special import ndtr, ndtri

    hard = spread * ndtri(region.alpha * (np.arange(4000) + 0.5) / 4000)

    def excess(shift: float) -> float:
        return float(np.clip(1.0 - ndtr(-(shift + hard)) / region.beta, 0.0, 1.0).mean()) - tpauc

    reach = 10.0 + 10.0 * spread
    return float(brentq(excess, -reach, reach))


def _value_and_deviation(population: _Population, region: Region, ratio: float) -> tuple[float, float]:
    """Return the TPAUC of the first model, and ``s(1)`` of it or of the difference of two."""
    values, influences = zip(
        *(_influences(positives, negatives, region) for positives, negatives in zip(*population, strict=True)),
        strict=True,
    )
    of_class = [sides[0] - sides[1] if len(sides) == 2 else sides[0] for sides in zip(*influences, strict=True)]
    return values[0], math.sqrt(float(of_class[0].var()) + float(of_class[1].var()) / ratio)


def _influences(
    positives: FloatArray, negatives: FloatArray, region: Region
) -> tuple[float, tuple[FloatArray, FloatArray]]:
    """Return the TPAUC, and ``U / alpha`` of each positive and ``V / beta`` of each negative."""
    sorted_positives, sorted_negatives = np.sort(positives), np.sort(negatives)
    hard_positives = sorted_positives[: region.hard_positives(positives.size)]
    hard_negatives = sorted_negatives[-region.hard_negatives(negatives.size) :]
    # A row outside the region counts like the one at its border, which it would push out.
    won = _share_below(hard_negatives, np.minimum(positives, hard_positives[-1]))
    lost = _share_below(hard_positives, np.maximum(negatives, hard_negatives[0]))
    value = float(_share_below(hard_negatives, hard_positives).mean())
    return value, (won / region.alpha, -lost / region.beta)


def _share_below(ordered: FloatArray, queries: FloatArray) -> FloatArray:
    """Return the share of the ordered values that lie below each query, ties counted half."""
    twice = np.searchsorted(ordered, queries, side="left") + np.searchsorted(ordered, queries, side="right")
    share: FloatArray = twice / (2 * ordered.size)
    return share


def _simulated_limits(
    generator: np.random.Generator,
    population: _Population,
    n_positive: int,
    ratio: float,
    region: Region,
    confidence: float,
) -> tuple[float, float, int]:
    """Draw samples, and return how far their intervals reach, how much their ends vary, and their positives.

    The samples have ``n_positive`` positives, or fewer if that takes long.
    """
    n_models = population[0].shape[0]
    enough_hard = _fewest_with(_HARD_PER_SAMPLE, region.alpha), _fewest_with(_HARD_PER_SAMPLE, region.beta) / ratio
    most = max(_ROWS_PER_SAMPLE[n_models] / (1.0 + ratio), *enough_hard)
    n_positive = min(n_positive, math.ceil(most))
    sizes = n_positive, math.ceil(ratio * n_positive)
    n_samples = min(_MOST_SAMPLES, max(_FEWEST_SAMPLES, _ROWS_PER_ROUND[n_models] // sum(sizes)))
    interval: Callable[..., Any] = tpauc_interval if n_models == 1 else compare_tpauc
    options = {"alpha": region.alpha, "beta": region.beta, "confidence": confidence, "random_state": generator}
    n_resamples = max(_RESAMPLES, math.ceil(10.0 / (1.0 - confidence)))
    y = np.arange(sum(sizes)) < n_positive
    found = []
    for _ in range(n_samples):
        drawn = [side[:, generator.integers(side.shape[1], size=n)] for side, n in zip(population, sizes, strict=True)]
        found.append(interval(y, *np.concatenate(drawn, axis=1), n_resamples=n_resamples, **options))
    lows, highs = np.array([[limits.low, limits.high] for limits in found]).T
    if n_models == 1:
        return float((highs - lows).mean()) / 2.0, 0.0, n_positive
    differences = np.array([comparison.difference for comparison in found])
    ends = highs if differences.mean() < 0.0 else lows  # those towards 0
    return float(np.abs(ends - differences).mean()), float(ends.std(ddof=1)), n_positive


def _fewest_with(count: int, share: float) -> int:
    """Return of how many examples of a class a share selects ``count``."""
    return next(n for n in itertools.count(math.floor(count / share * (1.0 - 1e-9))) if hard_mass(n, share) >= count)
