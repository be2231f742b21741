"""A linear scorer for a region: the weighted mean of six directions.

Three directions are starts: Fisher's discriminant, the plain and the balanced logistic regression (`logistic`). The
other three are where the ascent of the smoothed TPAUC leads from each start (`ascent`). They are weighed by
cross-validation (`tpauc.classifiers._candidates`), so training for the region counts only as far as it helps on rows
that were not trained on.

The region is widened, at most to the whole data, until it holds five positives per feature. On very large data the
folds and the ascent see a sample; the regressions see all rows. With many features all of this happens in coordinates
along the principal axes of the rows (`principal_axes`).

`LinearDirections` is this strategy. `LinearTrainer` makes candidates to choose from instead: both regressions, then
the directions or, for the losses, full-batch steps, for which torch is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import StandardScaler

from tpauc._validation import BoolArray, import_extra
from tpauc.classifiers._candidates import Candidate, Fitted, FoldTPAUC, Scaling, joined, possible_folds, validate_folds
from tpauc.classifiers.base import TrainingData, class_counts
from tpauc.classifiers.folds import fold_groups, stratified_folds
from tpauc.classifiers.linear.ascent import (
    AscentSettings,
    SmoothedTPAUC,
    covariance,
    unit,
    unwhitened,
    whitened,
    whitener,
    whitener_along,
    with_ridge,
)
from tpauc.classifiers.linear.logistic import LogisticPair, PairRefit, Rows, fit_pair, minimise
from tpauc.classifiers.linear.principal_axes import NARROW, along_axes, second_moments, solve
from tpauc.classifiers.progress import steps
from tpauc.classifiers.training_methods import CROSS_ENTROPIES, REGION, loss_and_optimizer, powers_of_two
from tpauc.region import Region

if TYPE_CHECKING:
    from torch import nn

Array = npt.NDArray[Any]

STARTS = ("fisher", "plain", "balanced")
DIRECTIONS = STARTS + tuple(f"region from {start}" for start in STARTS)
_FISHER_ACCURACY = 1e-3  # leaves an angle of about 1e-3 to the exact direction


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


class LinearScorer(NamedTuple):
    """``logit = X @ coef + intercept``."""

    coef: Array  # shape (d,)
    intercept: float

    def __call__(self, X: Array) -> Array:
        # BLAS adds up in another order for columns that lie together, as in frames: equal rows get equal scores.
        return np.asarray(np.ascontiguousarray(X) @ self.coef + self.intercept)

    def attributes(self, scaler: StandardScaler) -> dict[str, Any]:
        """Return the coefficients in the units of the features."""
        scale = np.ones(self.coef.size) if scaler.scale_ is None else scaler.scale_
        shift = np.zeros(self.coef.size) if scaler.mean_ is None else scaler.mean_
        coef = self.coef / scale
        return {"coef_": coef[None], "intercept_": np.array([self.intercept - coef @ shift])}


@dataclass(frozen=True)
class LinearDirections:
    """The strategy: weigh the directions by cross-validation."""

    settings: LinearSettings
    scaling: Scaling

    def fit(self, data: TrainingData, region: Region, random: np.random.Generator) -> Fitted:
        """Fit to rows with labels, and with the weights and groups that they may have."""
        settings, positive = self.settings, data.positive
        possible_folds(settings.folds, positive)
        scaled, scaler = self.scaling.scaled(data)
        sample, stands_for = _sample(positive, settings.fold_rows, random)
        # Before `as_rows`: rounding in a change of coordinates would tell copies of a row apart.
        all_rows = len(sample) == positive.size
        folds = _possible_folds(scaled if all_rows else scaled.take(sample), settings.folds)
        rows = as_rows(scaled, sample)
        del scaled  # the rows are a copy, and a long table is large
        fold_rows = rows.take(sample)
        fold_rows = fold_rows._replace(weight=fold_rows.weight * stands_for)
        fold_pair = fit_pair(fold_rows, settings.penalty)
        pair = fold_pair if all_rows else fit_pair(rows, settings.penalty, start=fold_pair)
        whiten = whitener_of(fold_rows)
        ascent_rows = rows.take(_sample(positive, settings.ascent_rows, random)[0])
        directions = six_directions(ascent_rows, pair, whiten, region, settings)
        validated, held_out = _validate(fold_rows, folds, fold_pair, whiten, region, random, settings)
        weighed = validated.weighed(DIRECTIONS, settings.standard_errors)
        w = directions @ weighed.shares
        slope, offset = as_logit(fold_rows, w)
        logits = slope * (held_out @ weighed.shares) + offset
        out_of_fold = np.full(positive.size, np.nan)
        out_of_fold[sample] = logits
        return Fitted(
            scaler,
            LinearScorer(slope * rows.to_features(w), offset),
            weighed.chosen,
            weighed.candidates,
            logits,
            positive[sample],
            fold_rows.given,
            fold_rows.weight,
            out_of_fold,
        )


@dataclass(frozen=True)
class LinearTrainer:
    """Linear scorers: both logistic regressions, then the method.

    Parameters
    ----------
    method : str
        One of `tpauc.classifiers.training_methods.METHODS`.
    region : Region
    settings : LinearSettings
        Of the regressions and of the ascent.
    max_steps : int
        Full-batch steps of a loss.
    step_size : float
        Step of Adam, as a share of the typical coefficient of the start.
    """

    method: str
    region: Region
    settings: LinearSettings
    max_steps: int = 32
    step_size: float = 0.05

    def train(self, data: TrainingData, random: np.random.Generator) -> list[Candidate]:
        """Return the candidates; nothing here is random."""
        rows = as_rows(data)
        pair = fit_pair(rows, self.settings.penalty)
        plain, balanced = (LinearScorer(rows.to_features(b[:-1]), float(b[-1])) for b in pair)
        starts = [Candidate(name, 0, b) for name, b in zip(CROSS_ENTROPIES, (plain, balanced), strict=True)]
        if self.method in CROSS_ENTROPIES:
            return [start for start in starts if start.name == self.method]
        if self.method != REGION:
            return [*starts, *self._full_batch_steps(data, balanced)]
        directions = six_directions(rows, pair, whitener_of(rows), self.region, self.settings)
        return [
            *starts,
            *(
                Candidate(name, 0 if name in STARTS else self.settings.ascent.steps, _scorer(rows, w))
                for name, w in zip(DIRECTIONS, directions.T, strict=True)
                if name not in ("plain", "balanced")  # they are among the starts, with their own intercepts
            ),
        ]

    def _full_batch_steps(self, data: TrainingData, start: LinearScorer) -> Iterator[Candidate]:
        assert data.weight is None  # refused by `TPAUCClassifier`
        import_extra("torch", "torch")
        import torch
        from torch.nn.utils import skip_init

        x, labels = torch.from_numpy(data.X), torch.from_numpy(data.positive)
        # No first weights: they would be drawn from torch's global generator, which belongs to the caller.
        module: nn.Linear = skip_init(torch.nn.Linear, x.shape[1], 1, dtype=x.dtype)  # type: ignore[no-untyped-call]
        with torch.no_grad():
            module.weight.copy_(torch.from_numpy(start.coef))
            module.bias.fill_(start.intercept)
        typical = float(np.sqrt(np.square(start.coef).mean()))
        loss, optimizer = loss_and_optimizer(self.method, self.region, module, self.step_size * max(typical, 1e-3))
        for step in steps(f"steps of {self.method}", range(1, self.max_steps + 1), self.max_steps):
            optimizer.zero_grad()
            loss(module(x), labels.to(x.dtype)).backward()
            optimizer.step()
            if step in powers_of_two(self.max_steps):
                coef = module.weight.detach().flatten().numpy().copy()
                yield Candidate(self.method, step, LinearScorer(coef, float(module.bias.detach())))


def _scorer(rows: Rows, w: Array) -> LinearScorer:
    slope, offset = as_logit(rows, w)
    return LinearScorer(slope * rows.to_features(w), offset)


def as_rows(data: TrainingData, sample: Array | None = None) -> Rows:
    """Return standardised rows for the regressions: of a wide table, along the principal axes of the sample."""
    if data.X.shape[1] <= NARROW:
        return with_ones(data.X, data.positive, data.weight)

    def sample_covariance(X: Array) -> Array:
        if sample is None or len(sample) == len(X):
            return covariance(X, data.weight)
        return covariance(X[sample], None if data.weight is None else data.weight[sample])

    X, axes = along_axes(data.X, sample_covariance)
    return with_ones(X, data.positive, data.weight)._replace(axes=axes)


def with_ones(X: Array, y: BoolArray, given: Array | None = None) -> Rows:
    """Return standardised rows with a column of ones, with the given weights or each of weight 1."""
    return Rows(np.column_stack((X, np.ones(len(X)))), y, np.ones(len(y)) if given is None else given, given)


def as_logit(rows: Rows, w: Array) -> tuple[float, float]:
    """Return the slope and offset that turn the score along ``w`` into a logit: (1, 0) if the slope is not positive."""
    score = rows._replace(Z=np.column_stack((rows.Z[:, :-1] @ w, np.ones(len(rows.y)))), axes=None)
    slope, offset = minimise(score, 1e-3, np.zeros(2))
    return (float(slope), float(offset)) if slope > 0.0 else (1.0, 0.0)


def six_directions(rows: Rows, pair: LogisticPair, whiten: Array, region: Region, settings: LinearSettings) -> Array:
    """Return the `DIRECTIONS` as columns, shape (d, 6); scores along each have standard deviation 1."""
    X = rows.Z[:, :-1]
    wide = widened(region, class_counts(rows.y, rows.given)[0], rows.n_features, settings.positives_per_feature)
    fisher = fisher_direction(X, rows.y, rows.given) if rows.axes is None else fisher_along_axes(rows)
    starts = [unwhitened(whiten, unit(whitened(whiten, w))) for w in (fisher, pair.plain[:-1], pair.balanced[:-1])]
    objective = SmoothedTPAUC(X, rows.y, whiten, wide, rows.given)
    return np.column_stack(starts + [objective.climb(start, settings.ascent) for start in starts])


def fisher_direction(X: Array, y: BoolArray, weight: Array | None = None, ridge: float = 1e-3) -> Array:
    """Return Fisher's discriminant, shape (d,), for rows ``X``, shape (n, d), of both classes.

    The class means lie farthest apart along it, measured by the mean of the class covariances. It depends on means and
    covariances alone: rows far on the right side count, as they do not in a logistic regression, and both classes count
    alike whatever their sizes. Where one of them fails, the other often does not. The ``ridge`` is needed for features
    that are constant or copies of each other.
    """
    means, covariances = [], []
    for side in (y, ~y):
        rows, own = X[side], None if weight is None else weight[side]
        means.append(np.average(rows, axis=0, weights=own))
        centred = rows - means[-1]
        scaled = centred if own is None else centred * own[:, None]
        covariances.append(scaled.T @ centred / (len(rows) if own is None else own.sum()))
    return np.asarray(np.linalg.solve(with_ridge(np.mean(covariances, axis=0), ridge), means[0] - means[1]))


def fisher_along_axes(rows: Rows, ridge: float = 1e-3) -> Array:
    """Return Fisher's discriminant, shape (r,), of rows along their principal axes, without a covariance."""
    assert rows.axes is not None
    X, weight = rows.Z[:, :-1], np.ones(len(rows.y)) if rows.given is None else rows.given
    share = np.where(rows.y, weight / weight[rows.y].sum(), weight / weight[~rows.y].sum()) / 2.0
    means = [2.0 * (share * side) @ X for side in (rows.y, ~rows.y)]
    variance = float(share @ np.einsum("ij,ij->i", X, X)) - sum(mean @ mean for mean in means) / 2.0
    on_diagonal = rows.axes.ridge(ridge, variance)

    moments = second_moments(X, share)

    def within_classes(w: Array) -> Array:
        between = sum(mean * (mean @ w) for mean in means) / 2.0
        return np.asarray(moments(w) - between)

    diagonal = rows.axes.variance + on_diagonal
    return solve(within_classes, np.full(X.shape[1], on_diagonal), means[0] - means[1], diagonal, _FISHER_ACCURACY)


def widened(region: Region, n_positive: int, n_features: int, positives_per_feature: float) -> Region:
    """Return the region, scaled up in both directions until it holds enough positives, at most to everything."""
    factor = max(1.0, positives_per_feature * n_features / max(1.0, region.alpha * n_positive))
    return Region(min(1.0, region.alpha * factor), min(1.0, region.beta * factor))


def whitener_of(rows: Rows) -> Array:
    """Return the whitener of the rows: a matrix, or along principal axes its diagonal."""
    return whitener(rows.Z[:, :-1], rows.given) if rows.axes is None else whitener_along(rows.axes)


def _possible_folds(data: TrainingData, n_folds: int) -> tuple[Array, int]:
    """Return the group of each row, and the number of folds."""
    n_folds = min(n_folds, *class_counts(data.positive, None))
    return fold_groups(data.X, data.positive, n_folds, groups=data.groups, stacklevel=4)


def _validate(
    rows: Rows,
    folds: tuple[Array, int],
    pair: LogisticPair,
    whiten: Array,
    region: Region,
    random: np.random.Generator,
    settings: LinearSettings,
) -> tuple[FoldTPAUC, Array]:
    """Return the TPAUC of the directions in repeated folds, and the last scores out of fold, shape (n, 6)."""
    group, n_folds = folds
    n_positive = class_counts(rows.y, rows.given)[0]
    repeats = int(np.clip(np.ceil(settings.held_out_positives / n_positive), 1, settings.max_repeats))
    refit = PairRefit(rows, pair, settings.penalty)
    scores = np.empty((len(rows.y), len(DIRECTIONS)))
    found = []
    for repeat in range(repeats):
        fold = stratified_folds(rows.y, group, n_folds, random, rows.given)
        for k in steps(f"linear models in folds, repeat {repeat + 1} of {repeats}", range(n_folds), n_folds):
            train, test = rows.take(fold != k), fold == k
            # Scores along these directions have one scale, so scores of different folds may be pooled.
            scores[test] = rows.Z[test, :-1] @ six_directions(train, refit.on(train), whiten, region, settings)
        found.append(validate_folds(rows.y, scores, [fold == k for k in range(n_folds)], region, rows.given))
    return joined(found), scores


def _sample(y: BoolArray, most: tuple[int, int], random: np.random.Generator) -> tuple[Array, Array]:
    """Return at most so many positives and negatives, in order, and the weights that make up for the other rows."""
    if y.sum() <= most[0] and (~y).sum() <= most[1]:
        return np.arange(y.size), np.ones(y.size)
    weight = np.zeros(y.size)
    for label, limit in ((True, most[0]), (False, most[1])):
        members = np.flatnonzero(y == label)
        kept = members if members.size <= limit else random.choice(members, limit, replace=False)
        weight[kept] = members.size / kept.size
    rows = np.flatnonzero(weight)
    return rows, weight[rows]
