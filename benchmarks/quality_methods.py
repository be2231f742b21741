"""The methods that are compared, by family. To add one is to add an entry to ``METHODS``.

A method is fitted to a `Problem`, the training rows of one split, and yields an `Outcome` for each region: scores of
the test rows, and the processor time of everything that its training took, all its choices included.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import quality_auto as auto
import quality_losses as losses
from quality_losses import Loss
from quality_tables import Split
from quality_training import LENGTHS, Part, Start, Trained, choose, folds_to_run, train, value
from record import NotMeasured
from tpauc.classifiers.folds import copies, stratified_folds
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
from tpauc.region import Region

PLAIN, BALANCED, OURS = "cross-entropy", "balanced cross-entropy", "ours"
LINEAR_LR, NETWORK_LR = 0.02, 1e-3  # the first in units of the typical coefficient of the start
N_FOLDS = 5
MOST_ROUNDS, PATIENCE = 1000, 50  # of LightGBM with early stopping

Array = NDArray[Any]


class Outcome(NamedTuple):
    """What a method makes of the test rows for a region; no scores, and a note why, where it cannot run."""

    region: Region
    scores: Array | None
    seconds: float
    chosen: str = ""
    note: str = ""


class Fitted(NamedTuple):
    """An estimator and the processor time of its training."""

    estimator: Any
    seconds: float


class Problem:
    """A split and a family, with what several methods share: folds and cross-entropy solutions.

    Parameters
    ----------
    split : Split
    family : str
        A key of ``METHODS``.
    seed : int
        Of the split; decides everything random in the trainings too.
    """

    def __init__(self, split: Split, family: str, seed: int) -> None:
        self.split, self.family, self.seed = split, family, seed
        self._cross_entropies: dict[tuple[bool, int | None], Fitted] = {}

    @cached_property
    def fold(self) -> NDArray[np.intp]:
        """Number of its fold for each training row; copies of a row share one."""
        random = np.random.default_rng(self.seed)
        return stratified_folds(self.split.train_labels, copies(self.split.train_rows), N_FOLDS, random)

    def cross_entropy(self, *, balanced: bool, without_fold: int | None = None) -> Fitted:
        """Return the converged cross-entropy solution on all training rows, or on all but a fold."""
        key = balanced, without_fold
        if key not in self._cross_entropies:
            kept = slice(None) if without_fold is None else self.fold != without_fold
            estimator = _cross_entropy(self.family, balanced, self.seed)
            self._cross_entropies[key] = timed_fit(
                estimator, self.split.train_rows[kept], self.split.train_labels[kept]
            )
        return self._cross_entropies[key]

    def start(self, without_fold: int | None = None) -> Start:
        """Return the balanced cross-entropy solution as a module to go on from."""
        fitted = self.cross_entropy(balanced=True, without_fold=without_fold)
        if self.family == "mlp":
            return Start(fitted.estimator.module_, fitted.estimator.scaler_, NETWORK_LR, fitted.seconds)
        scaler, regression = fitted.estimator[0], fitted.estimator[-1]
        module = nn.Linear(regression.coef_.size, 1)
        with torch.no_grad():
            module.weight.copy_(torch.from_numpy(regression.coef_))
            module.bias.copy_(torch.from_numpy(regression.intercept_))
        typical = max(1e-3, float(np.sqrt(np.square(regression.coef_).mean())))
        return Start(module, scaler, LINEAR_LR * typical, fitted.seconds)


def _cross_entropy(family: str, balanced: bool, seed: int) -> Any:
    if family == "mlp":
        return TPAUCClassifier("mlp", method=f"{'balanced_' if balanced else ''}cross_entropy", random_state=seed)
    if family == "lightgbm":
        return _lightgbm(seed, is_unbalance=balanced)
    weight = "balanced" if balanced else None
    return make_pipeline(StandardScaler(), LogisticRegression(class_weight=weight, max_iter=5000, tol=1e-6))


def timed_fit(estimator: Any, X: Array, y: Array, **options: Any) -> Fitted:
    """Fit an estimator."""
    started = time.process_time()
    estimator.fit(X, y, **options)
    return Fitted(estimator, time.process_time() - started)


def scores_of(estimator: Any, X: Array) -> Array:
    """Return scores of rows, higher for positives."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X))
    return np.asarray(estimator.predict_proba(X))[:, 1]


# ----------------------------------------------------------------------------------------------------------- methods


def fit_cross_entropy(problem: Problem, regions: Sequence[Region], *, balanced: bool) -> Iterator[Outcome]:
    """Cross-entropy, trained once for all regions."""
    fitted = problem.cross_entropy(balanced=balanced)
    scores = scores_of(fitted.estimator, problem.split.test_rows)
    yield from (Outcome(region, scores, fitted.seconds) for region in regions)


def fit_estimators(
    problem: Problem, regions: Sequence[Region], make: Callable[[str, Region, int], Any]
) -> Iterator[Outcome]:
    """Fit an estimator of its own for each region."""
    for region in regions:
        fitted = timed_fit(
            make(problem.family, region, problem.seed), problem.split.train_rows, problem.split.train_labels.astype(int)
        )
        scores = scores_of(fitted.estimator, problem.split.test_rows)
        yield Outcome(region, scores, fitted.seconds, str(getattr(fitted.estimator, "chosen_", "")))


def fit_once(problem: Problem, regions: Sequence[Region], make: Callable[[int], Any]) -> Iterator[Outcome]:
    """Fit an estimator that knows of no region, once for all of them."""
    fitted = timed_fit(make(problem.seed), problem.split.train_rows, problem.split.train_labels.astype(int))
    scores = scores_of(fitted.estimator, problem.split.test_rows)
    chosen = str(getattr(fitted.estimator, "chosen_", ""))
    yield from (Outcome(region, scores, fitted.seconds, chosen) for region in regions)


def fit_stacks(problem: Problem, regions: Sequence[Region], model: str) -> Iterator[Outcome]:
    """Fit our stack for each region; members that know no region are trained once, and their time counts each time."""
    reused: list[float] = []
    with auto.shared_members(reused):
        for region in regions:
            reused.clear()
            (outcome,) = fit_estimators(problem, [region], partial(auto.auto, model=model))
            yield outcome._replace(seconds=outcome.seconds + sum(reused))


def fit_loss(problem: Problem, regions: Sequence[Region], loss: Loss) -> Iterator[Outcome]:
    """Train a loss as `quality_training` does; one that does not look at the region, once for all of them."""
    for together in [[region] for region in regions] if loss.uses_region else [list(regions)]:
        yield from _fit_loss(problem, together, loss)


def _fit_loss(problem: Problem, regions: list[Region], loss: Loss) -> Iterator[Outcome]:
    split, numbers = problem.split, folds_to_run(problem.split.train_labels, problem.fold)
    trained: dict[Any, list[Trained]] = {setting: [] for setting in loss.settings}
    seconds = problem.start().seconds
    for number in numbers:
        kept = problem.fold != number
        part = Part(problem.start(number), split.train_rows[kept], split.train_labels[kept], split.train_rows[~kept])
        seconds += part.start.seconds
        for setting, done in trained.items():
            done.append(train(loss, setting, regions[0], part, epochs=LENGTHS[-1], seed=problem.seed)[0])
    seconds += sum(fold.seconds for folds in trained.values() for fold in folds)
    held_out = [split.train_labels[problem.fold == number] for number in numbers]
    whole = Part(problem.start(), split.train_rows, split.train_labels, split.test_rows)

    @cache
    def on_all_rows(setting: Any, epochs: int) -> tuple[Trained, str]:
        return train(loss, setting, regions[0], whole, epochs=epochs, seed=problem.seed)

    for region, (setting, epochs) in choose(trained, held_out, regions).items():
        last, note = on_all_rows(setting, epochs)
        chosen = f"{epochs} epochs" if setting is None else f"{setting:g}, {epochs} epochs"
        yield Outcome(region, last.scores[epochs], seconds + last.seconds, chosen, note)


# ---------------------------------------------------------------------------------------------------------- LightGBM


def _lightgbm(seed: int, **options: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1, **options)


def fit_early_stopping(problem: Problem, regions: Sequence[Region]) -> Iterator[Outcome]:
    """LightGBM's log-loss, stopped by the TPAUC of a fifth of the training rows."""
    import lightgbm

    split, held = problem.split, problem.fold == 0
    options = {"objective": "binary", "metric": "None", "num_threads": 1, "seed": problem.seed, "verbose": -1}
    for region in regions:
        started = time.process_time()
        trained = lightgbm.train(
            options,
            lightgbm.Dataset(split.train_rows[~held], split.train_labels[~held]),
            MOST_ROUNDS,
            valid_sets=[lightgbm.Dataset(split.train_rows[held], split.train_labels[held])],
            feval=lambda scores, data, region=region: ("tpauc", value(data.get_label() > 0, scores, region), True),
            callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
        )
        seconds = time.process_time() - started
        yield Outcome(region, trained.predict(split.test_rows), seconds, f"{trained.best_iteration} rounds")


def _our_classifier(family: str, region: Region, seed: int) -> Any:
    return TPAUCClassifier(family, alpha=region.alpha, beta=region.beta, random_state=seed)


def _our_booster(family: str, region: Region, seed: int, **options: Any) -> Any:
    from tpauc.classifiers.boosting.booster import TPAUCBooster

    return TPAUCBooster(alpha=region.alpha, beta=region.beta, random_state=seed, **options)


# --------------------------------------------------------------------------------------------------------- the table


class Method(NamedTuple):
    """How a method is fitted, and whether one fit serves all regions."""

    fit: Callable[[Problem, Sequence[Region]], Iterator[Outcome]]
    serves_all_regions: bool


def _loss(loss: Loss) -> Method:
    return Method(partial(fit_loss, loss=loss), not loss.uses_region)


CROSS_ENTROPIES = {
    PLAIN: Method(partial(fit_cross_entropy, balanced=False), True),
    BALANCED: Method(partial(fit_cross_entropy, balanced=True), True),
}
LOSSES = {
    "square AUC": _loss(losses.ours("square_auc")),
    "TPAUC-Poly": _loss(losses.ours("polynomial")),
    "TPAUC-Exp": _loss(losses.ours("exponential")),
    "Minmax-Poly": _loss(losses.ours("minimax")),
    "truncated TPAUC": _loss(losses.ours("truncated", uses_region=True)),
    "normalised Poly": _loss(losses.normalised()),
    "CVaR": _loss(losses.cvar()),
    "KL": _loss(losses.kl()),
    "instance-wise": _loss(losses.instance_wise()),
    "recall at FPR": _loss(losses.recall_at_fpr()),
    "FPR at recall": _loss(losses.fpr_at_recall()),
    "LibAUC KL": _loss(losses.libauc_kl()),
    "LibAUC CVaR": _loss(losses.libauc_cvar()),
    "XCurve Poly": _loss(losses.xcurve_pairs("Poly")),
    "XCurve Exp": _loss(losses.xcurve_pairs("Exp")),
    "XCurve minimax": _loss(losses.xcurve_minimax()),
    "XCurve unbiased": _loss(losses.xcurve_unbiased()),
}
OUR_CLASSIFIER = {OURS: Method(partial(fit_estimators, make=_our_classifier), False)}
METHODS: dict[str, dict[str, Method]] = {
    "linear": CROSS_ENTROPIES | LOSSES | OUR_CLASSIFIER,
    "mlp": CROSS_ENTROPIES | LOSSES | OUR_CLASSIFIER,
    "lightgbm": CROSS_ENTROPIES
    | {
        "early stopping on TPAUC": Method(fit_early_stopping, False),
        "ours, log-loss alone": Method(partial(fit_estimators, make=partial(_our_booster, region_rounds=0)), False),
        OURS: Method(partial(fit_estimators, make=_our_booster), False),
    },
    "auto": {name: Method(partial(fit_once, make=make), True) for name, make in auto.FOR_ALL_REGIONS.items()}
    | {
        auto.BOOSTER: Method(partial(fit_estimators, make=auto.booster), False),
        auto.FAST: Method(partial(fit_stacks, model=auto.FAST), True),
        auto.AUTO: Method(partial(fit_stacks, model=auto.AUTO), True),
    },
}


def outcomes(problem: Problem, method: str, regions: Sequence[Region]) -> Iterator[Outcome]:
    """Yield the outcomes of a method; where it cannot run, outcomes without scores that say why."""
    missing = dict.fromkeys(regions)
    try:
        for outcome in METHODS[problem.family][method].fit(problem, regions):
            missing.pop(outcome.region, None)
            yield outcome
        return
    except NotMeasured as reason:
        note = str(reason)
    except Exception as error:  # one method that fails must not end the run of all others
        note = f"failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    yield from (Outcome(region, None, math.nan, note=note) for region in missing)
