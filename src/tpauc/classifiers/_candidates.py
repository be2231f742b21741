"""The strategies of `tpauc.TPAUCClassifier`: what they have in common, and the two that choose one candidate.

A strategy turns rows into a `Fitted` model. Three of them use cross-validation inside the training rows:

* `tpauc.classifiers.linear.directions.LinearDirections` weighs linear directions;
* `tpauc.classifiers.network.network_trainer.FoldNetworks` averages the networks of the folds;
* `CandidatesByFolds` chooses the candidate with the highest TPAUC on pooled out-of-fold scores, and trains again on all
  rows. Holding rows out for good costs small data more than training for the region gains.

`SingleTraining` trains once, and chooses on rows that are held out, or not at all. Candidates are the models that a
training passes through: the cross-entropy solutions it starts from, and models after some further steps.

The *validated* TPAUC of a candidate is the mean of two values: its average over the folds, and the TPAUC of the pooled
scores of all rows. A candidate whose validated TPAUC is ``delta`` below the highest one, with the standard error ``s``
of that difference over the folds, has the weight

    exp(-delta / (c s)),

divided by the sum of all weights. Where the evidence is clear, this is a choice; where positives are few, it is an
average. A larger ``c`` is more careful. Linear models, networks and boosted trees are all weighed this way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import StandardScaler

from tpauc._validation import BoolArray, check_class_sizes, check_scores
from tpauc.classifiers.base import TrainingData, class_counts, nonempty_region
from tpauc.classifiers.folds import copies, fold_groups, rows_to_hold_out, stratified_folds
from tpauc.classifiers.progress import steps
from tpauc.metrics.area import area_in_region
from tpauc.region import Region

Array = npt.NDArray[Any]


class Scorer(Protocol):
    """A function from standardised rows, shape (n, d), to logits, shape (n,)."""

    def __call__(self, X: Array) -> Array:
        """Return the logits."""

    def attributes(self, scaler: StandardScaler) -> dict[str, Any]:
        """Return what an estimator keeps to score rows that are not standardised, by the name of the attribute."""


class Candidate(NamedTuple):
    """A model that a training passed through."""

    name: str
    steps: int
    score: Scorer

    def __str__(self) -> str:
        return f"{self.name}, {self.steps} steps"


class Trainer(Protocol):
    """Turns rows into candidates: equally many of them, in the same order, for any rows."""

    def train(self, data: TrainingData, random: np.random.Generator) -> list[Candidate]:
        """Return the candidates from training on rows with standardised features."""


class Fitted(NamedTuple):
    """What a strategy returns."""

    scaler: StandardScaler
    scorer: Scorer
    chosen: str  # which candidate, or the shares of the candidates
    candidates: list[dict[str, Any]] | None  # name, validated TPAUC, and steps or share; None if nothing was validated
    scores: Array  # logits of the rows that decide the threshold and the calibration
    positive: BoolArray  # their labels
    weight: Array | None = None  # the weights of these rows that the user gave
    calibration_weight: Array | None = None  # times how many rows each stands for, if they are a sample
    out_of_fold_scores: Array | None = None  # shape (n,): by a fold that did not see the row, NaN for rows of no fold


class Strategy(Protocol):
    """A way to fit a model for a region."""

    def fit(self, data: TrainingData, region: Region, random: np.random.Generator) -> Fitted:
        """Fit to rows with labels, and with the weights and groups that they may have."""


@dataclass(frozen=True)
class Scaling:
    """Scales features to mean 0 and variance 1, unless ``standardize`` is False."""

    standardize: bool = True
    names: Sequence[Any] | None = None  # of the features, for messages

    def fit(self, X: Array, weight: Array | None = None) -> StandardScaler:
        """Return the scaler of these rows."""
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            scaler = StandardScaler(with_mean=self.standardize, with_std=self.standardize).fit(X, sample_weight=weight)
        if self.standardize and not np.isfinite(scaler.var_).all():
            column = int(np.flatnonzero(~np.isfinite(scaler.var_))[0])
            raise ValueError(
                f"feature {column if self.names is None else self.names[column]!r} of X has values up to "
                f"{np.abs(X[:, column]).max():g}, too large to compute with; rescale it, or take its logarithm"
            )
        if self.standardize:
            # Nothing was learned about a constant: a network would multiply its later values by its first weights.
            scaler.scale_[np.ptp(X, axis=0) == 0.0] = np.inf
        return scaler

    def scaled(self, data: TrainingData) -> tuple[TrainingData, StandardScaler]:
        """Return the rows with standardised features, and the scaler."""
        scaler = self.fit(data.X, data.weight)
        return data._replace(X=scaler.transform(data.X)), scaler


def possible_folds(n_folds: int, positive: BoolArray) -> int:
    """Return the number of folds, or fewer if a class has fewer rows; an error if it has fewer than two."""
    n_folds = min(n_folds, int(positive.sum()), int((~positive).sum()))
    if n_folds < 2:
        raise ValueError(
            "validation='cv' needs at least 2 rows of each class; give validation=None to train without a choice"
        )
    return n_folds


@dataclass(frozen=True)
class CandidatesByFolds:
    """Train in folds to validate the candidates, then on all rows; keep the candidate with the highest TPAUC."""

    trainer: Trainer
    scaling: Scaling
    n_folds: int = 5

    def fit(self, data: TrainingData, region: Region, random: np.random.Generator) -> Fitted:
        """Fit to rows with labels, and with the weights and groups that they may have."""
        positive, n_folds = data.positive, possible_folds(self.n_folds, data.positive)
        group, n_folds = fold_groups(data.X, positive, n_folds, groups=data.groups, stacklevel=3)
        fold = stratified_folds(positive, group, n_folds, random, data.weight)
        by_candidate: list[Array] = []
        for number in steps("folds", range(n_folds), n_folds):
            held = fold == number
            rows, scaler = self.scaling.scaled(data.take(~held))
            candidates = self.trainer.train(rows, random)
            if not by_candidate:
                by_candidate = [np.empty(positive.size) for _ in candidates]
            for scores, candidate in zip(by_candidate, candidates, strict=True):
                scores[held] = candidate.score(scaler.transform(data.X[held]))
        rows, scaler = self.scaling.scaled(data)
        candidates = self.trainer.train(rows, random)
        values = _tpauc_of_candidates(by_candidate, data, region)
        best = _best_candidate(by_candidate, values, data, region)
        return Fitted(
            scaler,
            candidates[best].score,
            str(candidates[best]),
            _listed(candidates, values),
            by_candidate[best],
            positive,
            data.weight,
            data.weight,
            out_of_fold_scores=by_candidate[best],
        )


@dataclass(frozen=True)
class SingleTraining:
    """Train once; choose a candidate on rows that are held out.

    Parameters
    ----------
    trainer : Trainer
    scaling : Scaling
    held_out : float, pair of arrays, or None
        A share of the rows to hold out, other rows with their labels, or None: the longest training is kept, and the
        training rows decide the threshold.
    """

    trainer: Trainer
    scaling: Scaling
    held_out: float | tuple[Array, BoolArray] | None

    def fit(self, data: TrainingData, region: Region, random: np.random.Generator) -> Fitted:
        """Fit to rows with labels, and with the weights and groups that they may have."""
        test = data
        if isinstance(self.held_out, tuple):
            test = TrainingData(*self.held_out)
        elif self.held_out is not None:
            check_class_sizes(*class_counts(data.positive, None), 2, "to hold out a share of them")
            group = copies(data.X)
            held = rows_to_hold_out(data.positive, group, self.held_out, random, groups=data.groups, stacklevel=3)
            test, data = data.take(held), data.take(~held)
        rows, scaler = self.scaling.scaled(data)
        candidates = self.trainer.train(rows, random)
        by_candidate = [candidate.score(scaler.transform(test.X)) for candidate in candidates]
        best, listed = len(candidates) - 1, None
        if self.held_out is not None:
            test_region = nonempty_region(region, test.positive, test.weight, stacklevel=4)
            values = _tpauc_of_candidates(by_candidate, test, test_region)
            best = _best_candidate(by_candidate, values, test, test_region)
            listed = _listed(candidates, values)
        chosen, scores = candidates[best], by_candidate[best]
        return Fitted(scaler, chosen.score, str(chosen), listed, scores, test.positive, test.weight, test.weight)


def _tpauc_of_candidates(by_candidate: list[Array], data: TrainingData, region: Region) -> list[float]:
    return [area_in_region(data.positive, scores, region, weight=data.weight) for scores in by_candidate]


def _best_candidate(by_candidate: list[Array], values: list[float], data: TrainingData, region: Region) -> int:
    """Return which candidate has the highest TPAUC; of equal ones, OPAUC, then AUC decide, then the least training."""
    best = np.flatnonzero(values == np.max(values))
    for wider in (Region(1.0, region.beta), Region(1.0, 1.0)):
        if best.size > 1:
            areas = np.array(_tpauc_of_candidates([by_candidate[place] for place in best], data, wider))
            best = best[areas == areas.max()]
    return int(best[0])


def _listed(candidates: list[Candidate], values: list[float]) -> list[dict[str, Any]]:
    return [
        {"name": candidate.name, "steps": candidate.steps, "tpauc": value}
        for candidate, value in zip(candidates, values, strict=True)
    ]


# ------------------------------------------------------------------------------------------------------------ weights


class Weighed(NamedTuple):
    """Candidates with their weights."""

    shares: Array  # shape (candidates,)
    candidates: list[dict[str, Any]]  # name, validated TPAUC and share of each
    chosen: str  # shares and names, without shares below 0.5 %


class FoldTPAUC(NamedTuple):
    """TPAUC of candidates on rows that they were not trained on."""

    by_fold: Array  # shape (folds, candidates)
    pooled: Array  # shape (repeats, candidates)

    @property
    def validated(self) -> Array:
        """The validated TPAUC of each candidate, shape (candidates,)."""
        return np.asarray((self.by_fold.mean(axis=0) + self.pooled.mean(axis=0)) / 2.0)

    def shares(self, standard_errors: float) -> Array:
        """Return the weight of each candidate, shape (candidates,); they add up to 1.

        Repeats reuse the rows, so they do not count as more folds.

        Parameters
        ----------
        standard_errors : float
            The ``c`` of the module: a candidate that many standard errors below the best has ``1/e`` of its weight.
        """
        values = self.validated
        best = int(values.argmax())
        n_folds = len(self.by_fold) // len(self.pooled)
        error = np.std(self.by_fold - self.by_fold[:, [best]], axis=0, ddof=1) / np.sqrt(n_folds)
        weight = np.exp((values - values[best]) / (standard_errors * error + 1e-9))
        return np.asarray(weight / weight.sum())

    def weighed(self, names: Sequence[str], standard_errors: float) -> Weighed:
        """Return the candidates with their names and weights."""
        shares = self.shares(standard_errors)
        found = list(zip(names, self.validated.tolist(), shares.tolist(), strict=True))
        return Weighed(
            shares,
            [{"name": name, "tpauc": value, "share": share} for name, value, share in found],
            " + ".join(f"{share:.2f} {name}" for name, _, share in found if share >= 0.005),
        )


def validate_folds(
    positive: BoolArray, scores: Array, rows_of_fold: Iterable[Array], region: Region, weight: Array | None = None
) -> FoldTPAUC:
    """Return the TPAUC of candidates whose scores, shape (n, candidates), come from folds that did not see the row."""

    def tpauc(rows: Any) -> list[float]:
        own = None if weight is None else weight[rows]
        return [tpauc_of_fold(positive[rows], column, region, own) for column in scores[rows].T]

    return FoldTPAUC(np.array([tpauc(rows) for rows in rows_of_fold]), np.array([tpauc(slice(None))]))


def joined(repeats: Sequence[FoldTPAUC]) -> FoldTPAUC:
    """Return repeated cross-validations as one."""
    return FoldTPAUC(*(np.concatenate(parts) for parts in zip(*repeats, strict=True)))


def tpauc_of_fold(positive: BoolArray, scores: Array, region: Region, weight: Array | None = None) -> float:
    """Return TPAUC. If the region selects no example of a class, it is widened to the hardest one."""
    wide = region.holding_one(*class_counts(positive, weight))
    return area_in_region(positive, check_scores(scores, "held-out scores"), wide, weight=weight)
