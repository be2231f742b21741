"""The strategy behind ``model="auto"``: train the members in folds, stack their out-of-fold scores.

Copies of a row, and rows of a group, share a fold. Models that vary with the rows they see (trees, networks) are
averaged over the folds; the others are fitted again to all rows. Of large data all of this sees a sample
(`MOST_ROWS`), so time and memory are bounded.

One seed gives one result: each training has a seed of its own and one thread, whatever the order and the number of
jobs. Only a time limit makes the result depend on the machine.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from tpauc._validation import BoolArray
from tpauc.classifiers._candidates import Fitted, Scaling, possible_folds, tpauc_of_fold
from tpauc.classifiers.auto.member_scorers import LinearMember, MemberScorer
from tpauc.classifiers.auto.members import Recipe, affords_linear, recipes_of
from tpauc.classifiers.auto.stacking import cross_fitted, fit_stack
from tpauc.classifiers.base import TrainingData, class_counts, stands_for_rows
from tpauc.classifiers.folds import FEW_DISTINCT, copies, fold_groups, stratified_folds
from tpauc.classifiers.linear.directions import LinearDirections, LinearSettings
from tpauc.classifiers.progress import begin, steps, within
from tpauc.metrics.intervals import Interval, IntervalOptions, intervals_in_regions
from tpauc.region import Region

Array = npt.NDArray[Any]

MOST_ROWS = (20_000, 80_000)  # positives and negatives that the stack sees
ALL_ROWS = -1  # the number of no fold
_ROWS_AT_ONCE = 16_384  # when scoring: memory does not grow with the rows
_LARGEST = 1e12  # of a standardised value; float32 holds its square


@dataclass
class MemberStack:
    """The fitted stack: a function from standardised rows to logits, ``sum_j coef_j member_j(x) + intercept``."""

    members: list[MemberScorer]
    coef: list[float]
    intercept: float

    def __call__(self, X: Array) -> Array:
        with threadpool_limits(1):  # sums in another order are rounded differently
            parts = [self._logits(X[start : start + _ROWS_AT_ONCE]) for start in range(0, len(X), _ROWS_AT_ONCE)]
        return np.concatenate(parts)

    def check(self, n_features: int) -> None:
        """Raise a `ValueError` if a stack that was loaded cannot score rows of so many features: it tries one."""
        score = self(np.zeros((1, n_features)))
        if score.shape != (1,) or not np.isfinite(score).all():
            raise ValueError(f"its stack of models gives no score for a row of {n_features} features")

    def _logits(self, X: Array) -> Array:
        X = np.clip(X, -_LARGEST, _LARGEST)
        total = np.full(len(X), self.intercept)
        for coef, member in zip(self.coef, self.members, strict=True):
            total += coef * member(X)
        return total


class StackScorer(NamedTuple):
    """What the strategy returns: the stack, and what is to be told of it."""

    stack: MemberStack
    members: list[dict[str, Any]]
    nested_tpauc: Interval

    def __call__(self, X: Array) -> Array:
        return self.stack(X)

    def attributes(self, scaler: StandardScaler) -> dict[str, Any]:
        """Return what the estimator keeps."""
        return {
            "scaler_": scaler,
            "stack_": self.stack,
            "members_": self.members,
            "nested_tpauc_": self.nested_tpauc,
        }


class FoldModel(NamedTuple):
    """A model that was trained without one fold, or on all rows."""

    scorer: MemberScorer
    scores: Array  # of the rows of that fold
    seconds: float


class TrainedMember(NamedTuple):
    """A member after training."""

    name: str
    scorer: MemberScorer
    out_of_fold: Array  # shape (n,): scores by models that did not see the row
    tpauc: float  # of these scores
    seconds: float  # of all its trainings, added up over the jobs


@dataclass
class Clock:
    """A time limit in seconds; None is no limit."""

    limit: float | None
    start: float = field(default_factory=lambda: time.perf_counter())

    def allows(self, seconds: float) -> bool:
        """Return whether so many seconds are left."""
        return self.limit is None or time.perf_counter() - self.start + seconds <= self.limit

    def check(self) -> None:
        """Raise a `TimeoutError` if the limit has passed."""
        if not self.allows(0.0):
            raise TimeoutError


@dataclass(frozen=True)
class StackedMembers:
    """The strategy.

    Parameters
    ----------
    recipes : sequence of Recipe
        The members, in the order in which they are trained.
    scaling : Scaling
    n_folds : int
    time_limit : float, optional
        Seconds after which no further member is begun, and an unfinished one is given up. The first is always finished.
    n_jobs : int, optional
        Trainings at once, in threads.
    """

    recipes: Sequence[Recipe]
    scaling: Scaling
    n_folds: int = 5
    time_limit: float | None = None
    n_jobs: int | None = None

    @classmethod
    def of_preset(cls, preset: str, scaling: Scaling, **options: Any) -> StackedMembers:
        """Return the strategy with the members of "auto" or "auto-fast"; an error if LightGBM is not installed."""
        return cls(recipes_of(preset), scaling, **options)

    def fit(self, data: TrainingData, region: Region, random: np.random.Generator) -> Fitted:
        """Fit to rows with labels, and with the weights and groups that they may have."""
        clock = Clock(self.time_limit)
        n_folds = possible_folds(self.n_folds, data.positive)
        sample, stands_for = sampled(data.positive, MOST_ROWS, random)
        scaled, scaler = self.scaling.scaled(data.take(sample))
        scaled = scaled._replace(X=np.clip(scaled.X, -_LARGEST, _LARGEST))
        group, n_folds = fold_groups(scaled.X, scaled.positive, n_folds, groups=scaled.groups, stacklevel=3)
        fold = stratified_folds(scaled.positive, group, n_folds, random, scaled.weight)
        with threadpool_limits(1):
            training = FoldTraining(scaled, fold, region, random, clock, self.n_jobs)
            found = list(training.members(self.recipes))
        scores = np.column_stack([member.out_of_fold for member in found])
        weight = _information(scaled.weight, stands_for)
        best = int(np.argmax([member.tpauc for member in found]))
        with within(f"stack of {len(found)} members"):
            stack = fit_stack(scores, scaled.positive, weight, best)
            logits = cross_fitted(scores, scaled.positive, weight, fold, best)
        out_of_fold = np.full(data.positive.size, np.nan)
        out_of_fold[sample] = logits
        nested = _nested(logits, scaled, region, int(random.integers(2**31)))
        shares = stack.shares.tolist()
        kept = np.flatnonzero(stack.coef)
        return Fitted(
            scaler,
            StackScorer(
                MemberStack([found[j].scorer for j in kept], stack.coef[kept].tolist(), stack.intercept),
                [
                    {"name": member.name, "tpauc": member.tpauc, "share": share, "seconds": member.seconds}
                    for member, share in zip(found, shares, strict=True)
                ],
                nested,
            ),
            " + ".join(f"{share:.2f} {found[j].name}" for j, share in enumerate(shares) if share >= 0.005),
            None,
            logits,
            scaled.positive,
            scaled.weight,
            stands_for if scaled.weight is None else scaled.weight * stands_for,
            out_of_fold,
        )


class FoldTraining:
    """Trains members on the same rows and folds."""

    def __init__(
        self,
        data: TrainingData,
        fold: Array,
        region: Region,
        random: np.random.Generator,
        clock: Clock,
        n_jobs: int | None,
    ) -> None:
        self._data, self._fold, self._region, self._clock = data, fold, region, clock
        self._n_folds, self._random = int(fold.max()) + 1, random
        self._n_jobs = joblib.effective_n_jobs(n_jobs)

    def members(self, recipes: Sequence[Recipe]) -> Iterator[TrainedMember]:
        """Yield the members that the time limit leaves."""
        # Seeds do not depend on which members are left out.
        seeds = self._random.integers(2**31, size=(len(recipes), self._n_folds + 1))
        brought, first = "", True
        for number, (recipe, own) in enumerate(zip(recipes, seeds, strict=True), start=1):
            if not first and not self._clock.allows(0.0):
                return
            if recipe.train is None and not affords_linear(*self._data.X.shape):
                continue
            what = f"{recipe.name}, member {number} of {len(recipes)}{brought}"
            train = self._linear if recipe.train is None else self._in_folds
            member = train(recipe, own, what, first)
            if member is not None:
                brought, first = f"; {member.name} had TPAUC {member.tpauc:.3f}", False
                yield member

    def _linear(self, recipe: Recipe, seeds: Array, what: str, unlimited: bool) -> TrainedMember | None:
        """Train our linear model, which has folds of its own; None if time does not allow that."""
        start = time.perf_counter()
        strategy = LinearDirections(LinearSettings(fold_rows=MOST_ROWS, max_repeats=1), Scaling(False))
        clock = Clock(None) if unlimited else self._clock
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", FEW_DISTINCT, UserWarning)  # there was such a warning for our folds
            try:
                with within(what, clock.check):
                    found = strategy.fit(self._data, self._region, np.random.default_rng(seeds[0]))
            except TimeoutError:
                return None
        assert found.out_of_fold_scores is not None
        scorer = LinearMember(found.scorer.coef, found.scorer.intercept)  # type: ignore[attr-defined]
        return self._trained(recipe.name, scorer, found.out_of_fold_scores, time.perf_counter() - start)

    def _in_folds(self, recipe: Recipe, seeds: Array, what: str, unlimited: bool) -> TrainedMember | None:
        """Train in all folds, and again on all rows if the folds are not averaged; None if time does not allow that."""
        tasks = list(range(self._n_folds)) + ([] if recipe.averaged else [ALL_ROWS])
        found: list[FoldModel] = []
        n_steps = -(-len(tasks) // self._n_jobs)
        begin(what, n_steps)
        for start in steps(what, range(0, len(tasks), self._n_jobs), n_steps):
            now = tasks[start : start + self._n_jobs]
            with within(what):  # members that are trained in steps report them too
                found += joblib.Parallel(len(now), backend="threading")(
                    joblib.delayed(self._train)(recipe, number, int(seeds[number])) for number in now
                )
            seconds = sum(model.seconds for model in found)
            to_come = (len(tasks) - len(found)) * seconds / len(found) / self._n_jobs
            if not unlimited and not self._clock.allows(to_come):
                return None
        out_of_fold = np.empty(self._data.positive.size)
        for number, model in enumerate(found[: self._n_folds]):
            out_of_fold[self._fold == number] = model.scores
        parts = [model.scorer for model in (found if recipe.averaged else found[-1:])]
        return self._trained(recipe.name, type(parts[0]).merged(parts), out_of_fold, seconds)

    def _train(self, recipe: Recipe, number: int, seed: int) -> FoldModel:
        """Train without a fold and score it, or train on all rows."""
        assert recipe.train is not None
        start = time.perf_counter()
        held = self._fold == number
        rows = np.flatnonzero(~held)
        random = np.random.default_rng(seed)
        kept, _ = sampled(self._data.positive[rows], recipe.most_rows, random)
        with threadpool_limits(1):  # OpenMP counts threads for each thread that begins it
            scorer = recipe.train(self._data.take(rows[kept]), int(random.integers(2**31)))
            scores = scorer(self._data.X[held]) if number != ALL_ROWS else np.empty(0)
        return FoldModel(scorer, scores, time.perf_counter() - start)

    def _trained(self, name: str, scorer: MemberScorer, scores: Array, seconds: float) -> TrainedMember:
        value = tpauc_of_fold(self._data.positive, scores, self._region, self._data.weight)
        return TrainedMember(name, scorer, scores, value, seconds)


def sampled(positive: BoolArray, most: tuple[int, int], random: np.random.Generator) -> tuple[Array, Array]:
    """Return at most so many positives and negatives, in order, and how many rows each stands for.

    Examples
    --------
    >>> sampled(np.array([True, False, False, True]), (2, 1), np.random.default_rng(0))
    (array([0, 2, 3]), array([1., 2., 1.]))
    """
    stands_for = np.zeros(positive.size)
    for label, limit in zip((True, False), most, strict=True):
        members = np.flatnonzero(positive == label)
        kept = members if members.size <= limit else random.choice(members, limit, replace=False)
        stands_for[kept] = members.size / kept.size
    rows = np.flatnonzero(stands_for)
    return rows, stands_for[rows]


def _information(given: Array | None, stands_for: Array) -> Array:
    """Return the weights of rows in the stack: their sum is the number of rows that there is evidence of.

    Whole weights are repeated rows. Other weights say nothing about how many rows there are, nor do the rows that were
    left out of a sample.
    """
    weight = np.ones(stands_for.size) if given is None else given
    total = weight.sum() if stands_for_rows(weight) else weight.size
    weight = weight * stands_for
    return np.asarray(weight * (total / weight.sum()))


def _nested(logits: Array, data: TrainingData, region: Region, seed: int) -> Interval:
    """Return the TPAUC of cross-fitted logits with its interval."""
    wide = region.holding_one(*class_counts(data.positive, data.weight))
    groups = None if data.groups is None else copies(data.groups[:, None])
    options = IntervalOptions(random_state=seed)
    return intervals_in_regions(data.positive, logits, [wide], options, weight=data.weight, groups=groups)[0]
