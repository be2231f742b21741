"""A linear scorer for a region: six directions, weighed by cross-validation.

The directions are three starts, Fisher's discriminant (`fisher`), the plain and the balanced logistic regression
(`logistic`), and where the ascent of the smoothed TPAUC leads from each of them (`ascent`). The scorer is
their weighted mean. A direction whose cross-validated TPAUC is ``delta`` below the best one's, with the standard error
``s`` of that difference over the folds, has the weight ``exp(-delta / (s / 2))``: where the evidence is clear this is a
choice, where positives are few it is an average, and region training is trusted only as far as held-out rows bear it
out.

The region is widened, at most to the whole data, until it holds five positives a feature. Of very large data the folds
and the ascent see a sample; the regressions see everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tpauc.classifiers.folds import fold_groups, stratified_folds
from tpauc.classifiers.linear.ascent import AscentSettings, Slope, unit, whitener
from tpauc.classifiers.linear.fisher import fisher_direction
from tpauc.classifiers.linear.logistic import LogisticPair, PairRefit, Rows, fit_pair, minimise
from tpauc.classifiers.weighing import held_out_tpauc, shares
from tpauc.region import Region

Array = npt.NDArray[Any]

STARTS = ("fisher", "plain", "balanced")
DIRECTIONS = STARTS + tuple(f"region from {start}" for start in STARTS)


@dataclass(frozen=True)
class LinearSettings:
    """One setting for all data."""

    penalty: float = 1.0  # of the regressions: the inverse of scikit-learn's C
    ascent: AscentSettings = field(default_factory=AscentSettings)
    positives_per_feature: float = 5.0  # the region is widened until it holds so many
    folds: int = 5
    held_out_positives: int = 300  # folds are repeated until about so many positives were held out
    max_repeats: int = 3
    standard_errors: float = 0.5  # a direction that far below the best has 1/e of its weight
    fold_rows: tuple[int, int] = (5_000, 20_000)  # most positives and negatives that the folds see
    ascent_rows: tuple[int, int] = (20_000, 40_000)  # most that the last ascent sees


@dataclass(frozen=True)
class LinearFit:
    """A fitted scorer: ``logit = X @ coef + intercept``, in the units of ``X``."""

    coef: Array  # shape (d,)
    intercept: float
    shares: dict[str, float]  # weight of each direction
    validated: dict[str, float]  # cross-validated TPAUC of each direction
    held_out_rows: Array  # which rows the folds saw
    held_out_weight: Array  # of how many rows each of them stands for
    held_out_logits: Array  # their logits, by the folds that did not train on them


def fit_linear(
    X: Array, y: npt.NDArray[np.bool_], region: Region, random: np.random.Generator, settings: LinearSettings
) -> LinearFit:
    """Train on standardised rows ``X``, shape (n, d), with boolean labels ``y``."""
    rows = Rows(np.column_stack((X, np.ones(len(X)))), y, np.ones(len(y)))
    sample, sample_weight = _sample(y, settings.fold_rows, random)
    fold_rows = rows.take(sample)._replace(weight=sample_weight)
    fold_pair = fit_pair(fold_rows, settings.penalty)
    pair = fold_pair if len(sample) == len(y) else fit_pair(rows, settings.penalty, start=fold_pair)
    whiten = whitener(fold_rows.Z[:, :-1])
    ascent_rows = rows.take(_sample(y, settings.ascent_rows, random)[0])
    directions = six_directions(ascent_rows, pair, whiten, region, settings)
    judged = _judge(fold_rows, fold_pair, whiten, region, random, settings)
    w = directions @ judged.shares
    slope, offset = as_logit(fold_rows, w)
    return LinearFit(
        slope * w,
        offset,
        dict(zip(DIRECTIONS, judged.shares.tolist(), strict=True)),
        dict(zip(DIRECTIONS, judged.values.tolist(), strict=True)),
        sample,
        sample_weight,
        slope * (judged.held_out @ judged.shares) + offset,
    )


def as_logit(rows: Rows, w: Array) -> tuple[float, float]:
    """Return the slope and offset that make a logit of the score along ``w``; of one that falls, leave it as it is."""
    score = rows._replace(Z=np.column_stack((rows.Z[:, :-1] @ w, np.ones(len(rows.y)))))
    slope, offset = minimise(score, 1e-3, np.zeros(2))
    return (float(slope), float(offset)) if slope > 0.0 else (1.0, 0.0)


def six_directions(rows: Rows, pair: LogisticPair, whiten: Array, region: Region, settings: LinearSettings) -> Array:
    """Return the `DIRECTIONS` as columns, shape (d, 6); scores along each have standard deviation 1."""
    X = rows.Z[:, :-1]
    wide = widened(region, int(rows.y.sum()), X.shape[1], settings.positives_per_feature)
    found = (fisher_direction(X, rows.y), pair.plain[:-1], pair.balanced[:-1])
    starts = [whiten @ unit(np.linalg.solve(whiten, w)) for w in found]
    slope = Slope(X, rows.y, whiten, wide)
    return np.column_stack(starts + [slope.climb(start, settings.ascent) for start in starts])


def widened(region: Region, n_positive: int, n_features: int, positives_per_feature: float) -> Region:
    """Return the region, scaled up in both directions until it holds enough positives, at most to everything.

    Examples
    --------
    >>> widened(Region(0.3, 0.3), n_positive=100, n_features=12, positives_per_feature=5.0)
    Region(alpha=0.6, beta=0.6)
    """
    factor = max(1.0, positives_per_feature * n_features / max(1.0, region.alpha * n_positive))
    return Region(min(1.0, region.alpha * factor), min(1.0, region.beta * factor))


# ------------------------------------------------------------------------------------------------- cross-validation


class _Judged(NamedTuple):
    shares: Array  # shape (6,)
    values: Array  # shape (6,)
    held_out: Array  # shape (n, 6): scores of rows by folds that did not train on them


def _judge(
    rows: Rows,
    pair: LogisticPair,
    whiten: Array,
    region: Region,
    random: np.random.Generator,
    settings: LinearSettings,
) -> _Judged:
    """Weigh the directions by their TPAUC on held-out rows: the mean of the folds' own and the pooled one."""
    smallest_class = int(min(rows.y.sum(), (~rows.y).sum()))
    group, n_folds = fold_groups(rows.Z, rows.y, min(settings.folds, smallest_class), stacklevel=5)
    repeats = int(np.clip(np.ceil(settings.held_out_positives / max(1, rows.y.sum())), 1, settings.max_repeats))
    refit = PairRefit(rows, pair, settings.penalty)
    held_out = np.empty((len(rows.y), len(DIRECTIONS)))
    by_fold, pooled = [], []
    for _ in range(repeats):
        fold = stratified_folds(rows.y, group, n_folds, random)
        for k in range(n_folds):
            train, test = rows.take(fold != k), fold == k
            # Scores along these directions have one scale, so those of different folds may be pooled.
            directions = six_directions(train, refit.on(train), whiten, region, settings)
            held_out[test] = rows.Z[test, :-1] @ directions
            by_fold.append(_tpaucs(rows.y[test], held_out[test], region))
        pooled.append(_tpaucs(rows.y, held_out, region))
    values = (np.mean(by_fold, axis=0) + np.mean(pooled, axis=0)) / 2.0
    return _Judged(shares(values, np.array(by_fold), n_folds, settings.standard_errors), values, held_out)


def _tpaucs(y: npt.NDArray[np.bool_], scores: Array, region: Region) -> list[float]:
    return [held_out_tpauc(y, column, region) for column in scores.T]


def _sample(y: npt.NDArray[np.bool_], most: tuple[int, int], random: np.random.Generator) -> tuple[Array, Array]:
    """At most so many positives and negatives, in order, and the weights that make up for the rest."""
    if y.sum() <= most[0] and (~y).sum() <= most[1]:
        return np.arange(y.size), np.ones(y.size)
    weight = np.zeros(y.size)
    for label, limit in ((True, most[0]), (False, most[1])):
        members = np.flatnonzero(y == label)
        kept = members if members.size <= limit else random.choice(members, limit, replace=False)
        weight[kept] = members.size / kept.size
    rows = np.flatnonzero(weight)
    return rows, weight[rows]
