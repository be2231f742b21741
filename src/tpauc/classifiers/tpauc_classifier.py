"""`TPAUCClassifier`: training for a region behind scikit-learn's interface.

`fit` picks a strategy (`tpauc.classifiers._candidates`) by model, method and validation, and keeps what it returns.
Training length and start, or staying at cross-entropy, are chosen on rows that were not trained on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from tpauc._validation import (
    BoolArray,
    check_between,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_open_share,
    check_positive,
    import_extra,
)
from tpauc.classifiers._candidates import CandidatesByFolds, Fitted, Scaling, SingleTraining, Strategy, Trainer
from tpauc.classifiers._input import checked_rows
from tpauc.classifiers.auto.preset_checks import check_budget, check_preset
from tpauc.classifiers.base import RegionClassifier
from tpauc.classifiers.linear.directions import LinearDirections, LinearSettings, LinearTrainer
from tpauc.classifiers.linear.principal_axes import check_axes
from tpauc.classifiers.progress import limited_threads
from tpauc.classifiers.training_methods import AUTO, CROSS_ENTROPIES, LOSSES, METHODS, MODELS, REGION
from tpauc.region import Region

if TYPE_CHECKING:
    from torch import nn

    from tpauc.classifiers.network.networks import BankMaker, NetworkSettings

Array = npt.NDArray[Any]


class TPAUCClassifier(RegionClassifier):
    """A classifier trained for the region ``TPR >= 1 - alpha``, ``FPR <= beta``.

    Parameters that only some models or methods use have the default None; giving one where it has no effect is an
    error. ``TPAUCClassifier("linear")`` with the default method does not need torch.

    Parameters
    ----------
    model : {"linear", "mlp", "auto", "auto-fast"} or callable, default="linear"
        A linear scorer, a perceptron with two layers of 32, a stack of unlike models (`tpauc.classifiers.auto`; needs
        LightGBM), the same with five models, or a function that makes an ``nn.Module`` for a number of features,
        mapping (n, d) to (n, 1). The linear scorer takes tables with up to 5,000 rows or up to 5,000 features; larger
        ones in both directions are refused.
    alpha, beta : float, default=0.3
        The region.
    method : str, default="region"
        "region" climbs the smoothed TPAUC on the hard examples of the region; "cross_entropy" and
        "balanced_cross_entropy" are trained to convergence. The other methods are losses: "focal", "square_auc",
        "polynomial", "exponential", "minimax", "truncated". All but the cross-entropies start from cross-entropy, and
        return to it if they do not help.
    validation : {"cv"}, float, tuple or None, default="cv"
        How to choose among the models a training passes through: cross-validation and refit, a share of the rows held
        out, a given ``(X, y)``, or None, which keeps the longest training. Networks with the default method are
        not refitted: the networks of the folds are averaged. A network trained on a cross-entropy has nothing to
        choose, so it is trained once, on all rows, unless it is to be calibrated; the training rows then decide
        `threshold_`.
    pos_label : label, optional
        The positive class. By default the second in order, with a warning unless the labels are 0/1, -1/1 or booleans.
    n_folds : int, optional
        Folds of the cross-validation, fewer if a class has fewer distinct rows. By default 5, and 10 where the
        networks of the folds are averaged. Copies of a row share a fold; if they cannot, there is a warning.
    standardize : bool, default=True
        Scale features to mean 0 and variance 1. A feature that is constant in training is then ignored, whatever its
        later values.
    calibrate : bool, default=False
        Fit `predict_proba` to the out-of-fold scores (Platt's logistic map). Otherwise it is a sigmoid of the decision
        function: in the right order, one half at the threshold, but not a probability. "auto" always does.
    max_steps : int, optional
        For the linear model trained on a loss: most full-batch steps, 32 by default.
    epochs : int, optional
        For networks trained on a loss: most epochs, 16 by default.
    cross_entropy_steps : int, optional
        For networks: steps of cross-entropy, on batches of up to 512 rows, with which training begins; 2000 by default.
    regularization : float, optional
        For the linear model: inverse strength ``C`` of its regressions, as in scikit-learn's ``LogisticRegression``;
        1.0 by default.
    device : str, optional
        For networks: the device of the tensors, "cpu" by default.
    time_limit : float, optional
        For "auto": seconds after which no further member of the stack is begun, and an unfinished one is given up. The
        first is always finished, so there is always a model. No limit by default.
    n_jobs : int, optional
        For "auto": trainings at once, 1 by default; -1 is one per core. The model is the same.
    random_state : int, RandomState or None, default=None
        Decides folds, first weights and the order of batches.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The labels in order.
    pos_label_ : label
        The positive one of them.
    coef_, intercept_ : array of shape (1, d), array of shape (1,)
        Of the linear model, in the units of the features: ``X @ coef_.T + intercept_`` is the logit of ``classes_[1]``.
    module_ : nn.Module
        Of networks, on standardised features: the weighted sum of the networks that were trained
        (`tpauc.classifiers.network.networks.NetworkAverage`).
    members_ : list of dict
        Of "auto": the name of each member of the stack, the TPAUC of its out-of-fold scores, its share in the stack,
        and the seconds of its trainings.
    nested_tpauc_ : Interval
        Of "auto": TPAUC of `out_of_fold_scores_` with a 95 % interval. The stack that scores a row was fitted without
        the fold of that row, nor did its members see the row.
    chosen_ : str
        The chosen candidate and its number of steps; for the default method the shares of the averaged candidates.
    candidates_ : list of dict
        Name and validated TPAUC of every candidate, and its number of steps or, if candidates are averaged, its share.
        Not with ``validation=None``.
    threshold_ : float
        `predict` says positive where the logit of the positive class is at least this; `set_threshold` changes it.
    operating_point_ : OperatingPoint
        What chose `threshold_`, with its rates: the highest TPR at ``FPR <= beta`` on rows that were not trained on, or
        on the training rows where none were held out (``validation=None``, and a network on a cross-entropy).
    out_of_fold_scores_ : array of shape (n,)
        With ``validation="cv"``, the chosen model's logit for every training row, by the fold that did not see it; NaN
        for rows of large data that are in no fold and for rows of weight 0.
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
        method: str = REGION,
        validation: str | float | tuple[Any, Any] | None = "cv",
        pos_label: Any = None,
        n_folds: int | None = None,
        standardize: bool = True,
        calibrate: bool = False,
        max_steps: int | None = None,
        epochs: int | None = None,
        cross_entropy_steps: int | None = None,
        regularization: float | None = None,
        device: str | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.alpha = alpha
        self.beta = beta
        self.method = method
        self.validation = validation
        self.pos_label = pos_label
        self.n_folds = n_folds
        self.standardize = standardize
        self.calibrate = calibrate
        self.max_steps = max_steps
        self.epochs = epochs
        self.cross_entropy_steps = cross_entropy_steps
        self.regularization = regularization
        self.device = device
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    # --------------------------------------------------------------------------------------------------------- fit

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> TPAUCClassifier:
        """Train on rows with labels.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Labels of two values.
        sample_weight : array-like of shape (n,), optional
            For "auto", and for the linear model with the default method or a cross-entropy; an error elsewhere. Whole
            weights act as repeated rows. For the linear model that is exact, up to rounding, with ``validation="cv"``
            on up to 25,000 rows, and about so on larger data, of which folds see a sample, or with a share held out,
            which counts rows. For "auto" it is about so: trees count rows in leaves, and neighbours have no weights.
        groups : array-like of shape (n,), optional
            Values that rows of a group share, such as the number of a patient. Rows of a group are never on both sides
            of a fold or hold-out, nor are copies of a row. An error where no rows are held out.

        Returns
        -------
        self
        """
        region = self._check_parameters()
        if sample_weight is not None and not self._takes_weights():
            raise ValueError(
                "sample_weight is for model='linear' with the methods region, cross_entropy, balanced_cross_entropy, "
                f"and for model='auto'; {self._described()} has no weights; leave it out, or use TPAUCBooster"
            )
        if groups is not None and not self._holds_out_rows():
            raise ValueError(
                f"groups has no effect for {self._described()}, validation={self.validation!r:.40}, which divides no "
                "rows; leave it out"
            )
        data, region, random = self._start_fit(X, y, sample_weight, groups, region)
        if self._is_linear():
            check_axes(*data.X.shape)
        strategy = self._strategy(region)
        with limited_threads(data.X.shape[1]) if self._is_linear() else nullcontext():
            found = strategy.fit(data, region, random)
        self._keep(found)
        if found.out_of_fold_scores is not None:
            self._keep_out_of_fold(found.out_of_fold_scores, data)
        self._set_threshold(region, found.scores, found.positive, found.weight, found.calibration_weight)
        return self

    def _keep(self, found: Fitted) -> None:
        self.chosen_ = found.chosen
        if found.candidates is not None:
            self.candidates_ = found.candidates
        for name, value in found.scorer.attributes(found.scaler).items():
            setattr(self, name, value)
        if not self._positive_is_second and self._is_linear():
            self.coef_: Array = -self.coef_
            self.intercept_: Array = -self.intercept_

    # ---------------------------------------------------------------------------------------------------- strategy

    def _strategy(self, region: Region) -> Strategy:
        scaling = Scaling(self.standardize, getattr(self, "feature_names_in_", None))
        if self._is_auto():
            from tpauc.classifiers.auto.stacked_members import StackedMembers

            options = _given(n_folds=self.n_folds, time_limit=self.time_limit, n_jobs=self.n_jobs)
            return StackedMembers.of_preset(str(self.model), scaling, **options)
        if not self._uses_folds():
            return SingleTraining(self._trainer(region), scaling, self._held_out())
        if self.method != REGION:
            return CandidatesByFolds(self._trainer(region), scaling, **_given(n_folds=self.n_folds))
        if self._is_linear():
            return LinearDirections(self._linear_settings(), scaling)
        make, settings = self._network()
        from tpauc.classifiers.network.network_trainer import FoldNetworks

        return FoldNetworks(make, settings, scaling, **_given(device=self.device))

    def _trainer(self, region: Region) -> Trainer:
        if self._is_linear():
            return LinearTrainer(self.method, region, self._linear_settings(), **_given(max_steps=self.max_steps))
        make, settings = self._network()
        from tpauc.classifiers.network.network_trainer import ModuleTrainer

        options = _given(epochs=self.epochs, device=self.device)
        return ModuleTrainer(make, self.method, region, settings, **options)

    def _linear_settings(self) -> LinearSettings:
        penalty = None if self.regularization is None else 1.0 / check_number(self.regularization, "regularization")
        return LinearSettings(**_given(penalty=penalty, folds=self.n_folds))

    def _network(self) -> tuple[BankMaker, NetworkSettings]:
        import_extra("torch", "torch")
        from tpauc.classifiers.network.networks import ModuleBank, NetworkSettings, PerceptronBank, check_device

        if self.device is not None:
            check_device(self.device)
        make = partial(ModuleBank, self.model) if callable(self.model) else PerceptronBank
        return make, NetworkSettings(**_given(steps=self.cross_entropy_steps, folds=self.n_folds))

    def _is_linear(self) -> bool:
        return isinstance(self.model, str) and self.model == "linear"

    def _is_auto(self) -> bool:
        return isinstance(self.model, str) and self.model in AUTO

    def _takes_weights(self) -> bool:
        return self._is_auto() or (self._is_linear() and self.method not in LOSSES)

    def _calibrates(self) -> bool:
        return self.calibrate or self._is_auto()

    def _uses_folds(self) -> bool:
        """Return whether to cross-validate: not if a network has no candidates to choose from, nor is calibrated."""
        one_candidate = not self._is_linear() and self.method in CROSS_ENTROPIES
        return isinstance(self.validation, str) and (self._calibrates() or not one_candidate)

    def _holds_out_rows(self) -> bool:
        """Return whether `fit` divides the rows, so that groups matter."""
        no_share = self.validation is None or isinstance(self.validation, str | tuple | list)
        return self._uses_folds() or not no_share

    def _described(self) -> str:
        model = repr(self.model) if isinstance(self.model, str) else "a network"
        return f"model={model}, method={self.method!r}"

    def _held_out(self) -> float | tuple[Array, BoolArray] | None:
        """Return the share to hold out, or the given rows with their labels."""
        if isinstance(self.validation, (tuple, list)):
            X = checked_rows(self, self.validation[0], reset=False)
            y = np.asarray(self.validation[1])
            if y.shape != (len(X),):
                raise ValueError(f"validation has {len(X)} rows and labels of shape {y.shape}")
            if set(np.unique(y)) != set(self.classes_):
                raise ValueError(f"validation must hold both labels {self.classes_[0]!r} and {self.classes_[1]!r}")
            return X, y == self.pos_label_
        return None if self.validation is None or isinstance(self.validation, str) else float(self.validation)

    # ------------------------------------------------------------------------------------------------------ checks

    def _check_parameters(self) -> Region:
        check_choice(self.method, "method", METHODS)
        if self.n_folds is not None:
            check_count(self.n_folds, "n_folds", at_least=2)
        for name in ("max_steps", "epochs", "cross_entropy_steps"):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name)
        if self.regularization is not None:
            check_between(check_positive(self.regularization, "regularization"), "regularization", 1e-100, 1e100)
        check_budget(self.time_limit, self.n_jobs)
        check_flag(self.standardize, "standardize")
        check_flag(self.calibrate, "calibrate")
        # Whoever gives a module has imported torch.
        if "torch" in sys.modules and isinstance(self.model, sys.modules["torch"].nn.Module):
            raise TypeError(
                "model must be a function that makes a module, since each fold trains a new one; "
                "give lambda n_features: nn.Sequential(...) instead of a module"
            )
        if isinstance(self.model, type) or not callable(self.model):
            check_choice(self.model, "model", MODELS)  # type: ignore[arg-type]
        if isinstance(self.validation, str):
            check_choice(self.validation, "validation", ("cv",))
        elif isinstance(self.validation, (tuple, list)):
            if len(self.validation) != 2:
                kind = type(self.validation).__name__
                raise ValueError(f"validation must be a pair (X, y), got a {kind} of {len(self.validation)}")
        elif self.validation is not None:
            check_open_share(self.validation, "validation")
        self._check_applicable()
        return Region(self.alpha, self.beta)

    def _check_applicable(self) -> None:
        """Raise if a parameter is given, so not None, that the strategy does not use."""
        linear, auto, losses = self._is_linear(), self._is_auto(), ", ".join(LOSSES)
        network, on_a_loss = not (linear or auto), self.method in LOSSES
        for name, used, where in (
            ("n_folds", self._uses_folds(), "validation='cv', but not to networks on an uncalibrated cross-entropy"),
            ("max_steps", linear and on_a_loss, f"the linear model with one of the methods {losses}"),
            ("epochs", network and on_a_loss, f"networks with one of the methods {losses}"),
            ("cross_entropy_steps", network, "networks"),
            ("regularization", linear, "the linear model"),
            ("device", network, "networks"),
            ("time_limit", auto, "the models auto and auto-fast"),
            ("n_jobs", auto, "the models auto and auto-fast"),
        ):
            if getattr(self, name) is not None and not used:
                validation = "" if name != "n_folds" else f", validation={self.validation!r:.40}"
                raise ValueError(
                    f"{name}={getattr(self, name)!r} has no effect for {self._described()}"
                    f"{validation}; {name} applies to {where}; leave it out"
                )
        if auto:
            check_preset(self)

    # --------------------------------------------------------------------------------------------------- prediction

    def _logits(self, X: Any) -> Array:
        check_is_fitted(self)
        X = checked_rows(self, X, reset=False)
        if hasattr(self, "coef_"):
            of_second = X @ self.coef_[0] + self.intercept_[0]
            return np.asarray(of_second if self._positive_is_second else -of_second)
        if hasattr(self, "stack_"):
            return np.asarray(self.stack_(self.scaler_.transform(X)))
        from tpauc.classifiers.network.networks import ModuleScorer

        return ModuleScorer(self.module_, **_given(device=self.device))(self.scaler_.transform(X))


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that are not None; the others keep the default of what they are given to."""
    return {name: value for name, value in options.items() if value is not None}
