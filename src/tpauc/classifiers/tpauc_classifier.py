"""`TPAUCClassifier`: training for a region behind scikit-learn's interface.

What has to be chosen (how long to train, from which start, or not to leave cross-entropy at all) is chosen on rows
that were not trained on. ``validation="cv"`` does so by cross-validation inside the training rows, on pooled
out-of-fold scores, and then refits on all of them: holding rows out for good costs small data more than region-focused
training gains. Deep models and large data take a held-out share or a given set instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import make_scorer
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from tpauc._validation import check_choice, check_class_sizes, check_count, check_flag, check_open_share, check_positive
from tpauc.classifiers.base import RegionClassifier, with_somebody_in_it
from tpauc.classifiers.candidates import (
    CROSS_ENTROPIES,
    METHODS,
    Candidate,
    Labels,
    LinearScorer,
    LinearTrainer,
    ModuleScorer,
    ModuleTrainer,
    Trainer,
    as_tensor,
)
from tpauc.classifiers.folds import copies, fold_groups, rows_to_hold_out, stratified_folds
from tpauc.classifiers.linear.directions import LinearSettings, fit_linear
from tpauc.classifiers.network.average import fit_networks
from tpauc.classifiers.network.networks import BankMaker, ModuleBank, NetworkSettings, PerceptronBank
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region

MODELS = ("linear", "mlp")
Array = npt.NDArray[Any]


def _described(candidate: Candidate) -> str:
    return f"{candidate.name}, {candidate.steps} steps"


class TPAUCClassifier(RegionClassifier):
    """A classifier trained for the region ``TPR >= 1 - alpha``, ``FPR <= beta``.

    Parameters
    ----------
    model : {"linear", "mlp"} or callable, default="linear"
        A linear scorer, a perceptron with two layers of 32, or a function that makes an ``nn.Module`` for a number of
        features, mapping (n, d) to (n, 1).
    alpha, beta : float, default=0.3
        The region.
    method : str, default="anchored"
        The loss: "cross_entropy", "balanced_cross_entropy", "focal", "square_auc", "polynomial", "exponential",
        "minimax", "truncated", or "anchored", which climbs the smoothed TPAUC on the hard examples of the region. All
        but the cross-entropies start from cross-entropy, and go back to it if they do not help.
    validation : {"cv"}, float, tuple or None, default="cv"
        How to choose among the models a training passes through: cross-validation and refit, a share of the rows held
        out, a given ``(X, y)``, or not at all, which keeps the longest training. Networks with the default method are
        not refitted: those of the folds are averaged. A cross-entropy leaves a network nothing to choose, so it is
        trained once, on all rows, unless it is to be calibrated; `threshold_` is then that of the training rows.
    n_folds : int, optional
        Folds of the cross-validation, fewer if a class has fewer distinct rows. By default 5, and 10 where the
        networks of the folds are averaged. Copies of a row share a fold; if they cannot, there is a warning.
    standardize : bool, default=True
        Scale features to mean 0 and variance 1. A feature that is constant in training then counts for nothing,
        whatever it is later.
    calibrate : bool, default=False
        Fit `predict_proba` to the out-of-fold scores (Platt's logistic map). Otherwise it is a sigmoid of the decision
        function: ordered rightly, one half at the threshold, but not a probability.
    max_steps : int, default=32
        Longest training of the linear model with a method other than "anchored", in full-batch steps.
    epochs : int, default=16
        Longest training of networks with a method other than "anchored", in epochs.
    cross_entropy_steps : int, default=2000
        Steps of cross-entropy, on batches of up to 512 rows, that the training of networks begins with.
    regularization : float, default=1.0
        Inverse strength ``C`` of the linear model's start, as in scikit-learn's ``LogisticRegression``.
    device : str, default="cpu"
        Where tensors live.
    random_state : int, RandomState or None, default=None
        Decides folds, first weights and the order of batches.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The labels; the second one is the positive class.
    coef_, intercept_ : array of shape (d,), float
        Of the linear model, in the units of the features.
    module_ : nn.Module
        Any other model, on standardised features: the weighted sum of the networks that were trained
        (`tpauc.classifiers.network.networks.NetworkAverage`).
    chosen_ : str
        Which candidate won, with its number of steps; for the default method the shares of those that are averaged.
    candidates_ : list of dict
        Name and validated TPAUC of every candidate, and its number of steps or, if candidates are averaged, its share.
        Not with ``validation=None``.
    threshold_ : float
        Logit above which `predict` says positive: the operating point for the region on rows not trained on, or on the
        training rows where none were held out (``validation=None``, and a network trained on a cross-entropy).
    out_of_fold_scores_ : array of shape (n,)
        With ``validation="cv"``, the chosen model's logit for every training row, by the fold that did not see it; NaN
        for rows of large data that no fold looked at.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(600, weights=[0.9], random_state=0)
    >>> classifier = TPAUCClassifier(alpha=0.3, beta=0.3, random_state=0).fit(X[:400], y[:400])
    >>> 0 <= classifier.score(X[400:], y[400:]) <= 1
    True
    """

    def __init__(
        self,
        model: str | Callable[[int], nn.Module] = "linear",
        *,
        alpha: float = 0.3,
        beta: float = 0.3,
        method: str = "anchored",
        validation: str | float | tuple[Any, Any] | None = "cv",
        n_folds: int | None = None,
        standardize: bool = True,
        calibrate: bool = False,
        max_steps: int = 32,
        epochs: int = 16,
        cross_entropy_steps: int = 2000,
        regularization: float = 1.0,
        device: str = "cpu",
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.alpha = alpha
        self.beta = beta
        self.method = method
        self.validation = validation
        self.n_folds = n_folds
        self.standardize = standardize
        self.calibrate = calibrate
        self.max_steps = max_steps
        self.epochs = epochs
        self.cross_entropy_steps = cross_entropy_steps
        self.regularization = regularization
        self.device = device
        self.random_state = random_state

    # --------------------------------------------------------------------------------------------------------- fit

    def fit(self, X: Any, y: Any) -> TPAUCClassifier:
        """Train on rows ``X``, shape (n, d), with labels ``y``, shape (n,), of two values.

        Returns
        -------
        self
        """
        region = self._check_parameters()
        self._forget()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        positive = self._encode(y)
        region = with_somebody_in_it(region, positive)
        random = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        if self.validation == "cv" and self.model == "linear" and self.method == "anchored":
            self._fit_directions(region, X, positive, random)
        elif self.validation == "cv" and self.method == "anchored":
            self._fit_average(region, X, positive, random)
        elif self.validation == "cv" and not self._is_settled():
            self._fit_by_folds(region, X, positive, random)
        else:
            self._fit_once(region, X, positive, random)
        return self

    def _check_parameters(self) -> Region:
        check_choice(self.method, "method", METHODS)
        if self.n_folds is not None:
            check_count(self.n_folds, "n_folds", at_least=2)
        check_count(self.max_steps, "max_steps")
        check_count(self.epochs, "epochs")
        check_count(self.cross_entropy_steps, "cross_entropy_steps")
        check_positive(self.regularization, "regularization")
        check_flag(self.standardize, "standardize")
        check_flag(self.calibrate, "calibrate")
        if isinstance(self.model, nn.Module):
            raise TypeError(
                "model must be a function that makes a module, since each fold trains a new one; "
                "give lambda n_features: nn.Sequential(...) instead of a module"
            )
        if not callable(self.model):
            check_choice(self.model, "model", MODELS)
        if isinstance(self.validation, str):
            check_choice(self.validation, "validation", ("cv",))
        elif isinstance(self.validation, (tuple, list)):
            if len(self.validation) != 2:
                kind = type(self.validation).__name__
                raise ValueError(f"validation must be a pair (X, y), got a {kind} of {len(self.validation)}")
        elif self.validation is not None:
            check_open_share(self.validation, "validation")
        return Region(self.alpha, self.beta)

    def _linear_settings(self) -> LinearSettings:
        return LinearSettings(penalty=1.0 / self.regularization, folds=self.n_folds or 5)

    def _trainer(self, region: Region) -> Trainer:
        if self.model == "linear":
            return LinearTrainer(self.method, region, self._linear_settings(), self.max_steps)
        return ModuleTrainer(
            self._bank_maker(), self.method, region, self._network_settings(), self.epochs, self.device
        )

    def _bank_maker(self) -> BankMaker:
        return partial(ModuleBank, self.model) if callable(self.model) else PerceptronBank

    def _network_settings(self) -> NetworkSettings:
        return NetworkSettings(steps=self.cross_entropy_steps)

    def _fit_directions(self, region: Region, X: Array, positive: Labels, random: np.random.Generator) -> None:
        """Weigh directions by cross-validation, the linear model's own way."""
        self._check_folds(positive)
        scaler = self._new_scaler(X)
        found = fit_linear(scaler.transform(X), positive, region, random, self._linear_settings())
        self._describe_shares(found.validated, found.shares)
        self._keep(scaler, LinearScorer(found.coef, found.intercept))
        self._set_threshold(region, found.held_out_logits, positive[found.held_out_rows], found.held_out_weight)
        self.out_of_fold_scores_ = np.full(positive.size, np.nan)
        self.out_of_fold_scores_[found.held_out_rows] = found.held_out_logits

    def _describe_shares(self, validated: dict[str, float], shares: dict[str, float]) -> None:
        self.candidates_ = [{"name": name, "tpauc": value, "share": shares[name]} for name, value in validated.items()]
        self.chosen_ = " + ".join(f"{share:.2f} {name}" for name, share in shares.items() if share >= 0.005)

    def _fit_average(self, region: Region, X: Array, positive: Labels, random: np.random.Generator) -> None:
        """Average the networks of the folds."""
        settings = self._network_settings()
        settings = replace(settings, folds=self._check_folds(positive, settings.folds))
        scaler = self._new_scaler(X)
        rows = as_tensor(scaler.transform(X), self.device)
        found = fit_networks(rows, positive, self._bank_maker(), region, random, settings)
        self._describe_shares(found.validated, found.shares)
        self._keep(scaler, ModuleScorer(found.module, self.device))
        self._set_threshold(region, found.held_out_logits, positive)
        self.out_of_fold_scores_ = found.held_out_logits

    def _is_settled(self) -> bool:
        """Whether a network leaves nothing to find out in folds: no choice, and no calibration."""
        return self.model != "linear" and self.method in CROSS_ENTROPIES and not self.calibrate

    def _fit_by_folds(self, region: Region, X: Array, positive: Labels, random: np.random.Generator) -> None:
        """Train in folds to judge the candidates, then on all rows."""
        trainer = self._trainer(region)
        group, n_folds = fold_groups(X, positive, self._check_folds(positive), stacklevel=3)
        fold = stratified_folds(positive, group, n_folds, random)
        by_candidate: list[Array] = []
        for number in range(n_folds):
            kept, held = fold != number, fold == number
            scaler = self._new_scaler(X[kept])
            candidates = trainer.train(scaler.transform(X[kept]), positive[kept], random)
            if not by_candidate:
                by_candidate = [np.empty(positive.size) for _ in candidates]
            for scores, candidate in zip(by_candidate, candidates, strict=True):
                scores[held] = candidate.score(scaler.transform(X[held]))
        scaler = self._new_scaler(X)
        candidates = trainer.train(scaler.transform(X), positive, random)
        best = self._choose(region, candidates, by_candidate, positive)
        self._keep(scaler, candidates[best].score)
        self._set_threshold(region, by_candidate[best], positive)
        self.out_of_fold_scores_ = by_candidate[best]

    def _fit_once(self, region: Region, X: Array, positive: Labels, random: np.random.Generator) -> None:
        """Train once; choose on held-out rows, or not at all."""
        held = None
        if self.validation is not None and not isinstance(self.validation, str):
            X, positive, *held = self._hold_out(X, positive, random)
        scaler = self._new_scaler(X)
        candidates = self._trainer(region).train(scaler.transform(X), positive, random)
        judge_X, judge_positive = (X, positive) if held is None else held
        by_candidate = [candidate.score(scaler.transform(judge_X)) for candidate in candidates]
        best = len(candidates) - 1
        if held is not None:
            best = self._choose(with_somebody_in_it(region, judge_positive), candidates, by_candidate, judge_positive)
        else:
            self.chosen_ = _described(candidates[best])
        self._keep(scaler, candidates[best].score)
        self._set_threshold(region, by_candidate[best], judge_positive)

    def _check_folds(self, positive: Labels, default: int = 5) -> int:
        n_folds = min(self.n_folds or default, int(positive.sum()), int((~positive).sum()))
        if n_folds < 2:
            raise ValueError(
                "validation='cv' needs at least 2 rows of each class; give validation=None to train without a choice"
            )
        return n_folds

    def _hold_out(self, X: Array, positive: Labels, random: np.random.Generator) -> tuple[Array, Labels, Array, Labels]:
        if isinstance(self.validation, (tuple, list)):
            held_X = validate_data(self, self.validation[0], dtype=np.float64, reset=False)
            held_y = np.asarray(self.validation[1])
            if held_y.shape != (len(held_X),):
                raise ValueError(f"validation has {len(held_X)} rows and labels of shape {held_y.shape}")
            if set(np.unique(held_y)) != set(self.classes_):
                raise ValueError(f"validation must hold both labels {self.classes_[0]!r} and {self.classes_[1]!r}")
            return X, positive, held_X, held_y == self.classes_[1]
        check_class_sizes(int(positive.sum()), int((~positive).sum()), 2, "to hold out a share of them")
        share = float(self.validation)  # type: ignore[arg-type]
        held = rows_to_hold_out(positive, copies(X), share, random, stacklevel=4)
        return X[~held], positive[~held], X[held], positive[held]

    def _choose(self, region: Region, candidates: list[Candidate], by_candidate: list[Array], positive: Labels) -> int:
        """Return which candidate has the highest TPAUC on rows it was not trained on; of equal ones the first."""
        values = [tpauc_score(positive, scores, alpha=region.alpha, beta=region.beta) for scores in by_candidate]
        self.candidates_ = [
            {"name": candidate.name, "steps": candidate.steps, "tpauc": value}
            for candidate, value in zip(candidates, values, strict=True)
        ]
        best = int(np.argmax(values))
        self.chosen_ = _described(candidates[best])
        return best

    def _new_scaler(self, X: Array) -> StandardScaler:
        with np.errstate(over="ignore", invalid="ignore"):  # seen to below
            scaler = StandardScaler(with_mean=self.standardize, with_std=self.standardize).fit(X)
        if self.standardize and not np.isfinite(scaler.var_).all():
            column = int(np.flatnonzero(~np.isfinite(scaler.var_))[0])
            raise ValueError(
                f"feature {getattr(self, 'feature_names_in_', range(X.shape[1]))[column]!r} of X has values up to "
                f"{np.abs(X[:, column]).max():g}, too large to compute with; rescale it, or take its logarithm"
            )
        if self.standardize:
            # Nothing was learned about a constant: a network would multiply what it is later by its first weights.
            scaler.scale_[np.ptp(X, axis=0) == 0.0] = np.inf
        return scaler

    def _keep(self, scaler: StandardScaler, score: LinearScorer | ModuleScorer) -> None:
        if isinstance(score, ModuleScorer):
            self.scaler_, self.module_ = scaler, score.module
            return
        scale = np.ones(score.coef.size) if scaler.scale_ is None else scaler.scale_
        shift = np.zeros(score.coef.size) if scaler.mean_ is None else scaler.mean_
        self.coef_ = score.coef / scale
        self.intercept_ = float(score.intercept - self.coef_ @ shift)

    # --------------------------------------------------------------------------------------------------- prediction

    def _logits(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if hasattr(self, "coef_"):
            return np.asarray(X @ self.coef_ + self.intercept_)
        return ModuleScorer(self.module_, self.device)(self.scaler_.transform(X))


def tpauc_scorer(alpha: float, beta: float) -> Any:
    """Return a scorer for ``GridSearchCV(scoring=...)`` and ``cross_val_score``: TPAUC of any classifier's scores.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(500, weights=[0.9], random_state=0)
    >>> cross_val_score(LogisticRegression(), X, y, scoring=tpauc_scorer(0.3, 0.3)).shape
    (5,)
    """
    region = Region(alpha, beta)
    return make_scorer(
        tpauc_score, response_method=("decision_function", "predict_proba"), alpha=region.alpha, beta=region.beta
    )
