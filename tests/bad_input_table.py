"""Every public callable with a valid call, and the kind of each of its arguments.

`tests/test_bad_input.py` puts every value of `wrong_values.WRONG` in the place of every argument. The result is an
error that names the argument, or what `wrong_values.MEANING` and the row say. A public name or an argument without an
entry here fails the test.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from matplotlib import pyplot
from sklearn.naive_bayes import GaussianNB
from torch import nn

import tpauc
from tpauc import frames
from tpauc.classifiers import advice
from tpauc.metrics import study_planning
from wrong_values import ANYTHING, AS_IS, MEANING, REFUSED, WRONG, no_such_file

N = 24
Y = np.arange(N) % 3 == 0
Y_TRUE = Y.astype(np.int64)
SCORES = np.sin(1.0 + np.arange(N)) + 0.5 * Y
WEIGHTS = 1.0 + np.arange(N) % 2
GROUPS = np.arange(N) // 3  # 8 groups, both classes in each
PROBABILITIES = 1.0 / (1.0 + np.exp(-SCORES))
X = np.column_stack([SCORES, np.cos(np.arange(N))])
LOGITS, LABELS = torch.tensor(SCORES, dtype=torch.float32), torch.tensor(Y_TRUE)
INPUTS = torch.tensor(X, dtype=torch.float32)
LOGIT_MATRIX, LABEL_MATRIX = torch.stack((LOGITS, -LOGITS), 1), torch.stack((LABELS, 1 - LABELS), 1)

# The kind of an argument by its name; a row may say otherwise. Arguments that are not listed are "refused": none of the
# wrong values means anything.
KIND_BY_NAME = {
    **dict.fromkeys(
        ["alpha", "beta", "min_alpha", "min_beta", "confidence", "guarantee", "prevalence", "tpr", "fpr", "decay"],
        "share",
    ),
    **dict.fromkeys(["lr", "dual_lr", "gamma", "tau", "lam", "margin", "softness", "threshold_lr"], "positive"),
    **dict.fromkeys(
        ["normalize", "across_processes", "nesterov", "pngs", "overwrite", "standardize", "calibrate"], "flag"
    ),
    **dict.fromkeys(["detach_weights", "tensorboard"], "flag"),
    **dict.fromkeys(["y_score", "score_a", "score_b"], "scores"),
    **dict.fromkeys(["by", "groups"], "names"),
    **dict.fromkeys(["progress", "on_epoch"], "function"),
    "logits": "logits",
    "pos_label": "label",
    "random_state": "random state",
    "threshold": "number",
    "title": "text",
}
# Valid values of arguments that a valid call need not give, to make wrong ones from.
PLAIN = {"sample_weight": WEIGHTS, "groups": GROUPS, "by": GROUPS, "indices": torch.arange(N)}


@dataclass(frozen=True)
class Row:
    """A public callable: how to call it, valid arguments, and the kinds of those that are not of their name's kind."""

    name: str
    valid: dict[str, Any]
    call: Callable[..., Any] | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    meaning: dict[str, dict[str, Any]] = field(default_factory=dict)  # by argument: further values with a meaning
    files: Callable[[], None] | None = None  # makes the files that a valid call reads, in the current folder
    variant: str = ""  # tells a second row of a callable from the first: with a setting that uses other arguments

    @property
    def target(self) -> Any:
        """The callable itself."""
        found: Any = frames if self.name.startswith("frames.") else tpauc
        for part in self.name.removeprefix("frames.").split("."):
            found = getattr(found, part)
        return found

    def arguments(self) -> list[str]:
        """Return the names of the arguments."""
        parameters = inspect.signature(self.target).parameters.values()
        return [p.name for p in parameters if p.name != "self" and p.kind != inspect.Parameter.VAR_KEYWORD]

    def default_of(self, argument: str) -> Any:
        """Return the default of an argument."""
        return inspect.signature(self.target).parameters[argument].default

    def arguments_of_call(self) -> dict[str, Any]:
        """Return valid arguments, whose files are there."""
        if self.files is not None:
            self.files()
        return self.valid

    def __call__(self, **arguments: Any) -> Any:
        return (self.call or self.target)(**arguments)


def _metric(name: str, **options: Any) -> Row:
    return Row(name, {"y_true": Y_TRUE, "y_score": SCORES, **options})


_ANY_SCALE = {"sample_weight": {"array with 1e308": AS_IS}}  # areas depend on the ratios of weights alone


REGION = {"alpha": 0.5, "beta": 0.5}
RECTANGLE = {"region": tpauc.Region(0.5, 0.5, min_beta=0.2)}
FEW = {"n_resamples": 40, "random_state": 0}
THREE_TENTHS = MEANING["share"]


def _plan(**arguments: Any) -> Any:
    """Plan with few simulations: here the checks matter."""
    few = {"_MOST_SAMPLES": 2, "_FEWEST_SAMPLES": 1, "_ROUNDS": 1, "_RESAMPLES": 10}
    with mock.patch.multiple(study_planning, **few):
        return tpauc.plan_study(**arguments)


METRICS = [
    Row("Region", REGION),
    Row("Region.hard_positives", {"n_positive": 10}, tpauc.Region(0.5, 0.5).hard_positives),
    Row("Region.hard_negatives", {"n_negative": 10}, tpauc.Region(0.5, 0.5).hard_negatives),
    Row("Region.ranks_of_positives", {"n_positive": 10}, tpauc.Region(0.5, 0.5).ranks_of_positives),
    Row("Region.ranks_of_negatives", {"n_negative": 10}, tpauc.Region(0.5, 0.5).ranks_of_negatives),
    Row("Region.holding_one", {"n_positive": 10, "n_negative": 10}, tpauc.Region(0.5, 0.5).holding_one),
    Row("auc_score", {"y_true": Y_TRUE, "y_score": SCORES}, meaning=_ANY_SCALE),
    Row(
        "opauc_score",
        {"y_true": Y_TRUE, "y_score": SCORES, "beta": 0.5},
        kinds={"min_fpr": "share"},
        meaning=_ANY_SCALE,
    ),
    Row(
        "tpauc_score",
        {"y_true": Y_TRUE, "y_score": SCORES, **REGION},
        meaning=_ANY_SCALE | {"average": {"None": AS_IS}},
    ),
    Row(
        "partial_auc_score",
        {"y_true": Y_TRUE, "y_score": SCORES, **RECTANGLE},
        meaning=_ANY_SCALE,
    ),
    Row("tpr_dependent_opauc", {"y_true": Y_TRUE, "y_score": SCORES, **REGION}, meaning=_ANY_SCALE),
    Row(
        "roc_band",
        {"y_true": Y_TRUE, "y_score": SCORES},
        kinds={"fpr": "refused"},
        meaning={"fpr": {"array of one": AS_IS}, "random_state": {"None": AS_IS}},
    ),
    Row("compare_tpauc", {"y_true": Y_TRUE, "score_a": SCORES, "score_b": SCORES[::-1], **REGION, **FEW}),
    Row("compare_partial_auc", {"y_true": Y_TRUE, "score_a": SCORES, "score_b": SCORES[::-1], **RECTANGLE, **FEW}),
    Row(
        "net_benefit",
        {"y_true": Y_TRUE, "y_score": PROBABILITIES},
        kinds={"y_score": "refused"},
        meaning={
            "thresholds": dict.fromkeys(["float32", "array of shape ()", "tensor of shape ()", "array of one"], AS_IS)
        },
    ),
    _metric("tpauc_interval", **REGION, **FEW),
    _metric("partial_auc_interval", **RECTANGLE, **FEW),
    _metric("operating_point", **REGION),
    Row(
        "evaluate_threshold",
        {"y_true": Y_TRUE, "y_score": SCORES, "threshold": 0.5},
        meaning={"threshold": {"inf": AS_IS, "-inf": AS_IS}},
    ),
    _metric("fpr_at_tpr", tpr=0.5),
    _metric("tpr_at_fpr", fpr=0.5),
    Row(
        "plan_study",
        {"alpha": 1.0, "beta": 1.0, "half_width": 0.4, "pilot": (Y_TRUE, SCORES)},
        _plan,
        kinds=dict.fromkeys(["half_width", "power", "ratio", "spread", "correlation"], "share"),
        meaning={
            "ratio": {"1.5": 1.5},
            "spread": {"1.5": 1.5},
            "half_width": {"None": REFUSED},
            "pilot": {"None": REFUSED},
            "random_state": {"None": AS_IS},
        },
    ),
    Row(
        "evaluate_by",
        {"y_true": Y_TRUE, "y_score": SCORES, "by": GROUPS, **REGION, **FEW},
        meaning={"by": {"array of objects": AS_IS, "array of records": AS_IS}},
    ),
    Row("two_way_partial_auc", {"scores": LOGITS, "labels": LABELS, **REGION}),
    Row("TwoWayPartialAUC", REGION, meaning={"average": {"None": AS_IS}}),
]


def _metric_state() -> tpauc.TwoWayPartialAUC:
    return tpauc.TwoWayPartialAUC(**REGION)


METRICS += [
    Row("TwoWayPartialAUC.update", {"scores": LOGITS, "labels": LABELS}, lambda **a: _metric_state().update(**a)),
    Row("TwoWayPartialAUC.forward", {"scores": LOGITS, "labels": LABELS}, lambda **a: _metric_state().forward(**a)),
]

# ------------------------------------------------------------------------------------------------------------- losses

_WEIGHTING = {"weighting": tpauc.Polynomial(3.0)}
_COUNTS = {"n_positive": 8, "n_negative": 16}
_LOSSES: dict[str, dict[str, Any]] = {
    "CVaRTPAUCLoss": REGION,
    "ClassBalancedCrossEntropy": _COUNTS,
    "ClassBalancedFocal": _COUNTS,
    "FPRAtRecallLoss": {"alpha": 0.5},
    "FocalLoss": {},
    "InstanceWiseTPAUCLoss": REGION,
    "KLTPAUCLoss": {"tau": 1.0, "lam": 1.0},
    "MinimaxTPAUCLoss": _WEIGHTING,
    "RecallAtFPRLoss": {"beta": 0.5},
    "ReweightedCrossEntropy": _COUNTS,
    "SquareAUCLoss": {},
    "TPAUCLoss": _WEIGHTING,
    "TruncatedLoss": REGION,
}


_LOSS_MEANING: dict[str, Any] = {
    "KLTPAUCLoss": {"tau": {"inf": AS_IS}, "inner_rate": THREE_TENTHS, "outer_rate": THREE_TENTHS},
    "ReweightedCrossEntropy": {"n_positive": {"None": REFUSED}, "n_negative": {"None": REFUSED}},
    "TruncatedLoss": {"alpha": {"None": 1.0}},
}


def _loss(name: str, arguments: dict[str, Any]) -> nn.Module:
    made: nn.Module = getattr(tpauc, name)(**arguments)
    return made


def _loss_rows(name: str, valid: dict[str, Any]) -> list[Row]:
    batch = {"logits": LOGITS, "labels": LABELS}
    rows = [
        Row(name, valid, lambda **a: _loss(name, a)(LOGITS, LABELS), meaning=_LOSS_MEANING.get(name, {})),
        Row(f"{name}.forward", batch, lambda **a: _loss(name, valid)(**a)),
    ]
    for method in ("move_to_quantiles", "move_to_saddle"):
        if hasattr(getattr(tpauc, name), method):
            rows.append(
                Row(f"{name}.{method}", batch, lambda method=method, **a: getattr(_loss(name, valid), method)(**a))
            )
    return rows


def _descent_ascent(**arguments: Any) -> Any:
    return tpauc.descent_ascent(**arguments).state_dict()


def _warm_up() -> tpauc.WarmUp:
    return tpauc.WarmUp(tpauc.SquareAUCLoss(), tpauc.SquareAUCLoss(), 2)


def _multilabel() -> tpauc.MultiLabelLoss:
    return tpauc.MultiLabelLoss(tpauc.SquareAUCLoss())


def _set_extra_state(state: Any) -> None:
    _warm_up().set_extra_state(state)


def square_root(t: torch.Tensor) -> torch.Tensor:
    return t.sqrt()


def cube(v: torch.Tensor) -> torch.Tensor:
    return v**3 / 3


LOSSES = [row for name, valid in _LOSSES.items() for row in _loss_rows(name, valid)]
LOSSES += [
    Row(
        "descent_ascent",
        {"model": nn.Linear(2, 1), "loss": tpauc.MinimaxTPAUCLoss(tpauc.Polynomial(3.0)), "lr": 0.1, "dual_lr": 0.1},
        _descent_ascent,
        kinds={"momentum": "share", "weight_decay": "positive"},
    ),
    Row("empirical_risks", {"logits": LOGITS, "labels": LABELS, **_WEIGHTING, **REGION}, kinds={"logits": "refused"}),
    Row("MultiLabelLoss", {"loss": tpauc.SquareAUCLoss()}),
    Row(
        "MultiLabelLoss.forward",
        {"logits": LOGIT_MATRIX, "labels": LABEL_MATRIX},
        lambda **a: _multilabel()(**a),
        meaning={"labels": {"tensor with NaN": AS_IS}},  # labels that nobody knows
    ),
    Row("MultiLabelLoss.set_epoch", {"epoch": 1}, lambda epoch: _multilabel().set_epoch(epoch)),
    Row("WarmUp", {"first": tpauc.SquareAUCLoss(), "then": tpauc.SquareAUCLoss(), "epochs": 2}),
    Row("WarmUp.forward", {"logits": LOGITS, "labels": LABELS}, lambda **a: _warm_up()(**a)),
    Row("WarmUp.set_epoch", {"epoch": 1}, lambda epoch: _warm_up().set_epoch(epoch)),
    Row("WarmUp.set_extra_state", {"state": _warm_up().get_extra_state()}, _set_extra_state),
    Row("Anchored", REGION),
    Row("Exponential", {"gamma": 3.0}),
    Row("Polynomial", {"gamma": 3.0}, meaning={"gamma": dict.fromkeys(THREE_TENTHS, REFUSED)}),  # above 1
    Row("Polynomial.from_exponent", {"exponent": 0.5}, kinds={"exponent": "share"}, meaning={"exponent": {"1.5": 1.5}}),
    Row("Hinge", {}),
    Row("SquaredHinge", {}),
    Row(
        "Weighting.from_function",
        {"psi": square_root},
        lambda psi: tpauc.Weighting.from_function(psi)(LOGITS.sigmoid()),
    ),
    Row("Weighting.from_penalty", {"phi": cube}, lambda phi: tpauc.Weighting.from_penalty(phi)(LOGITS.sigmoid())),
]

# ----------------------------------------------------------------------------------------------------------- samplers


def _sampler(**arguments: Any) -> tpauc.StratifiedBatchSampler:
    return tpauc.StratifiedBatchSampler(**{"labels": Y_TRUE, "batch_size": 6, **arguments})


def _hard_sampler(**arguments: Any) -> tpauc.HardExampleSampler:
    return tpauc.HardExampleSampler(**{"labels": Y_TRUE, "batch_size": 6, **REGION, **arguments})


def _updated() -> tpauc.HardExampleSampler:
    sampler = _hard_sampler()
    sampler.update(SCORES)
    return sampler


def _restored(make: Callable[[], Any]) -> Callable[..., Any]:
    def call(state: Any) -> list[list[int]]:
        sampler = make()
        sampler.load_state_dict(state)
        return list(sampler)

    return call


def _state_field(state: dict[str, Any], name: str) -> Callable[..., Any]:
    return lambda value: _restored(_hard_sampler)({**state, name: value})


_SHORTER = {"labels": {"array too short": AS_IS, "tensor of bytes too short": AS_IS}}

SAMPLERS = [
    Row(
        "StratifiedBatchSampler",
        {"labels": Y_TRUE, "batch_size": 6},
        lambda **a: list(_sampler(**a)),
        kinds={"seed": "random state"},
        meaning=_SHORTER,
    ),
    Row("StratifiedBatchSampler.set_epoch", {"epoch": 1}, lambda epoch: _sampler().set_epoch(epoch)),
    Row("StratifiedBatchSampler.state_dict", {"epoch": 1, "position": 1}, lambda **a: _sampler().state_dict(**a)),
    Row("StratifiedBatchSampler.load_state_dict", {"state": _sampler().state_dict()}, _restored(_sampler)),
    Row(
        "HardExampleSampler",
        {"labels": Y_TRUE, "batch_size": 6, **REGION},
        lambda **a: list(_hard_sampler(**a)),
        kinds={"seed": "random state"},
        meaning=_SHORTER,
    ),
    Row("HardExampleSampler.set_epoch", {"epoch": 1}, lambda epoch: _hard_sampler().set_epoch(epoch)),
    Row("HardExampleSampler.state_dict", {"epoch": 1, "position": 1}, lambda **a: _hard_sampler().state_dict(**a)),
    Row("HardExampleSampler.load_state_dict", {"state": _updated().state_dict()}, _restored(_hard_sampler)),
    Row(
        "HardExampleSampler.update",
        {"scores": SCORES},
        lambda scores: _hard_sampler().update(scores),
        kinds={"scores": "scores"},
    ),
]

# ----------------------------------------------------------------------------------------------------------- training

_CONFIG: dict[str, Any] = {**REGION, "epochs": 1, "batch_size": 6, "progress": False, "accelerator": "cpu"}


def _fit(**arguments: Any) -> Any:
    return tpauc.fit(**arguments).history[0].get("tpauc")


def _fit_arguments() -> dict[str, Any]:
    return {
        "model": nn.Linear(2, 1),
        "train": (INPUTS, LABELS),
        "validation": (INPUTS, LABELS),
        "loss": tpauc.SquareAUCLoss(),
        "config": tpauc.TrainConfig(**_CONFIG),
    }


def _saved(path: Any, state: Any) -> Any:
    tpauc.save_checkpoint(path, state)
    return tpauc.load_checkpoint(path)


TRAINING = [
    Row(
        "TrainConfig",
        _CONFIG,
        kinds={
            **dict.fromkeys(["weight_decay", "time_limit", "checkpoint_seconds"], "positive"),
            **dict.fromkeys(["accelerator", "out"], "text"),
            "momentum": "share",
            "progress": "flag",
        },
        meaning={"ratio": {"None": AS_IS}},
    ),
    Row("TrainConfig.from_dict", {"values": _CONFIG}),
    Row("TrainConfig.from_json", {"text": tpauc.TrainConfig(**_CONFIG).to_json()}),
    Row("fit", _fit_arguments(), _fit, meaning={"validation": {"None": AS_IS}}),
    Row("evaluate", {"model": nn.Linear(2, 1), "data": (INPUTS, LABELS), **REGION}),
    Row(
        "Evaluation.of",
        {"positive": Y, "scores": SCORES, "region": tpauc.Region(0.5, 0.5)},
        kinds={"scores": "scores"},
    ),
    Row(
        "load_checkpoint",
        {"path": "some.ckpt"},
        kinds={"path": "path to read"},
        files=lambda: tpauc.save_checkpoint("some.ckpt", {"a": 1}),
    ),
    Row(
        "save_checkpoint",
        {"path": "some.ckpt", "state": {"a": 1}},
        _saved,
        kinds={"path": "path"},
        meaning={"state": {"empty dict": AS_IS, "dict": AS_IS, "dict of None": AS_IS}},
    ),
]

# -------------------------------------------------------------------------------------------------------- classifiers

_FITTED = tpauc.TPAUCClassifier(**REGION, n_folds=2, random_state=0).fit(X, Y_TRUE)
_BOOSTER: dict[str, Any] = {**REGION, "n_folds": 2, "max_rounds": 2, "region_rounds": 1, "random_state": 0, "n_jobs": 1}
_FITTED_BOOSTER = tpauc.TPAUCBooster(**_BOOSTER).fit(X, Y_TRUE)
_NESTED: dict[str, Any] = {"estimator": GaussianNB(), **REGION, "guarantee": None, "random_state": 0}
_FITTED_NESTED = tpauc.GuaranteedThresholdClassifier(**_NESTED).fit(X, Y_TRUE)


def _classifier(**arguments: Any) -> Any:
    return tpauc.TPAUCClassifier(**arguments).fit(X, Y_TRUE).out_of_fold_scores_


def _booster(**arguments: Any) -> Any:
    return tpauc.TPAUCBooster(**arguments).fit(X, Y_TRUE).out_of_fold_scores_


def _nested(**arguments: Any) -> Any:
    return tpauc.GuaranteedThresholdClassifier(**arguments).fit(X, Y_TRUE).threshold_


# Numbers as objects are numbers, and predictions are for any number of rows. LightGBM has missing values.
_NUMBERS = {"array of numbers as objects": AS_IS, "array with 2**63": AS_IS}
_FEWER = {"array too short": AS_IS, "tensor of bytes too short": AS_IS}
_MISSING = dict.fromkeys(["array with NaN", "tensor with NaN", "DataFrame with NA"], AS_IS)
_MODELS_OWN = {"array with 1e308": ANYTHING}  # what the estimator inside makes of it


def _rows_for(name: str) -> dict[str, Any]:
    more = {"TPAUCBooster": _MISSING, "GuaranteedThresholdClassifier": _MODELS_OWN}
    return {**_NUMBERS, **more.get(name, {})}


def _estimator_rows(name: str, fitted: Any) -> list[Row]:
    accepted = {key: value for key, value in _rows_for(name).items() if key != "DataFrame with NA"}  # one column
    rows = [
        Row(f"{name}.{method}", {"X": X}, getattr(fitted, method), meaning={"X": {**accepted, **_FEWER}})
        for method in ("predict", "predict_proba", "decision_function")
    ]
    if name != "GuaranteedThresholdClassifier":
        labels = {"array of numbers as objects": AS_IS}
        meaning = {"X": accepted, "y": labels, **_ANY_SCALE}
        rows.append(Row(f"{name}.score", {"X": X, "y": Y_TRUE}, fitted.score, meaning=meaning))
        rows.append(Row(f"{name}.set_threshold", {"threshold": 0.5}, fitted.set_threshold))
    return rows


def _advise(**arguments: Any) -> Any:
    """Ask for advice without training models: here the checks matter."""
    with mock.patch.multiple(advice, cross_validate=mock.Mock(return_value=None), _advice=lambda *found: found):
        return tpauc.advise(**arguments)


def _objective(name: str) -> Callable[..., Any]:
    return lambda **a: getattr(tpauc, name)(**a)(Y_TRUE, SCORES)


CLASSIFIERS = [
    Row(
        "TPAUCClassifier",
        {**REGION, "n_folds": 2, "random_state": 0},
        _classifier,
        kinds={"random_state": "refused", "regularization": "share"},
        meaning={"regularization": {"1.5": 1.5, "2**63": 2.0**63}},
    ),
    Row(
        "TPAUCClassifier",
        {"model": "mlp", **REGION, "n_folds": 2, "cross_entropy_steps": 2, "random_state": 0},
        _classifier,
        kinds={"random_state": "refused"},
        variant="networks",
    ),
    Row(
        "TPAUCClassifier.fit",
        {"X": X, "y": Y_TRUE},
        lambda **a: tpauc.TPAUCClassifier(**REGION, n_folds=2).fit(**a),
        meaning={"X": _rows_for("TPAUCClassifier"), "y": {"array of text": AS_IS}},
    ),
    *_estimator_rows("TPAUCClassifier", _FITTED),
    Row(
        "TPAUCBooster",
        _BOOSTER,
        _booster,
        kinds={
            **dict.fromkeys(["subsample", "colsample", "learning_rate"], "share"),
            "random_state": "refused",
            "reg_lambda": "positive",
        },
        meaning={"learning_rate": {"1.5": 1.5}, "n_jobs": {"-1": AS_IS}},
    ),
    Row(
        "TPAUCBooster.fit",
        {"X": X, "y": Y_TRUE},
        lambda **a: tpauc.TPAUCBooster(**_BOOSTER).fit(**a),
        meaning={"X": _rows_for("TPAUCBooster"), "y": {"array of text": AS_IS}},
    ),
    *_estimator_rows("TPAUCBooster", _FITTED_BOOSTER),
    Row(
        "GuaranteedThresholdClassifier",
        _NESTED,
        _nested,
        kinds={"random_state": "refused", "cv": "share"},
        meaning={"guarantee": {"None": AS_IS}},
    ),
    Row(
        "GuaranteedThresholdClassifier.fit",
        {"X": X, "y": Y_TRUE},
        lambda **a: tpauc.GuaranteedThresholdClassifier(**_NESTED).fit(**a),
        meaning={"X": _rows_for("GuaranteedThresholdClassifier"), "y": {"array of text": AS_IS}},
    ),
    *_estimator_rows("GuaranteedThresholdClassifier", _FITTED_NESTED),
    Row(
        "advise",
        {"X": X, "y": Y_TRUE, **REGION, "n_folds": 2, "n_repeats": 1, "random_state": 0},
        _advise,
        meaning={"X": _rows_for("advise")},
    ),
    Row("tpauc_scorer", REGION, lambda **a: tpauc.tpauc_scorer(**a)(_FITTED, X, Y_TRUE)),
    *(
        Row(f"{library}_{part}", REGION, _objective(f"{library}_{part}"))
        for library in ("lightgbm", "xgboost")
        for part in ("metric", "objective")
    ),
]

# ---------------------------------------------------------------------------------------------------------- reporting

_HISTORY = [{"epoch": 1, "loss": 0.5, "tpauc": 0.1}, {"epoch": 2, "loss": 0.4, "tpauc": 0.2}]
_MODELS = {"y_true": Y_TRUE, "scores": {"a": SCORES, "b": SCORES[::-1]}, **REGION}


def _report(**arguments: Any) -> Any:
    return tpauc.report(**arguments)


def _display(method: str) -> Callable[..., Any]:
    """Return a function that makes a display, and returns what it drew instead of a figure."""

    def drawn(**arguments: Any) -> Any:
        if method == "plot":
            display = tpauc.ROCRegionDisplay(fpr=np.array([0.0, 1.0]), tpr=np.array([0.0, 1.0]), tpauc=0.5, **REGION)
        else:
            display = tpauc.ROCRegionDisplay
        try:
            return np.atleast_1d(getattr(display, method)(**arguments).tpauc)
        finally:
            pyplot.close("all")

    return drawn


_NAIVE = GaussianNB().fit(X, Y_TRUE)
_FOLDS = {"estimator": [_NAIVE, _NAIVE], "indices": {"test": [np.arange(12), np.arange(12, N)]}}
_TEXT_KINDS = {"name": "text", "zoom": "flag", "plot_chance_level": "flag"}
_NO_OPTIONS = {"curve_kwargs": {"empty dict": AS_IS}}
_OF_ONE_MODEL = {"scores": {"array with 1e308": REFUSED}}

REPORTING = [
    Row("plot_roc", _MODELS, kinds={"scores": "scores"}, meaning=_OF_ONE_MODEL),
    Row("plot_scores", _MODELS, kinds={"scores": "scores"}, meaning=_OF_ONE_MODEL),
    Row(
        "ROCRegionDisplay.from_predictions",
        {"y_true": Y_TRUE, "y_score": SCORES, **REGION},
        _display("from_predictions"),
        kinds=_TEXT_KINDS,
        meaning=_NO_OPTIONS,
    ),
    Row(
        "ROCRegionDisplay.from_estimator",
        {"estimator": _NAIVE, "X": X, "y": Y_TRUE, **REGION},
        _display("from_estimator"),
        kinds=_TEXT_KINDS,
        meaning={**_NO_OPTIONS, "X": dict.fromkeys(WRONG, ANYTHING)},
    ),
    Row(
        "ROCRegionDisplay.from_cv_results",
        {"cv_results": _FOLDS, "X": X, "y": Y_TRUE, **REGION},
        _display("from_cv_results"),
        kinds=_TEXT_KINDS,
        meaning={**_NO_OPTIONS, "X": dict.fromkeys(WRONG, ANYTHING)},
    ),
    Row("ROCRegionDisplay.plot", {}, _display("plot"), kinds=_TEXT_KINDS, meaning=_NO_OPTIONS),
    Row("plot_training", {"history": _HISTORY}),
    Row(
        "report",
        {**_MODELS, "out": "report.html", "n_resamples": 40, "pngs": False},
        _report,
        kinds={"command": "text"},
        meaning={"random_state": {"None": AS_IS}, "operating_points": {"empty dict": None}, "date": {"date": AS_IS}},
    ),
]

# ------------------------------------------------------------------------------------------------------------- frames


def _table() -> Any:
    import pyarrow

    return pyarrow.table({"y": Y_TRUE, "s": SCORES, "t": SCORES[::-1], "g": GROUPS})


_TABLES = {"table": {"text": no_such_file, "number as text": no_such_file, "list of text": no_such_file}}
# Labels that some table may have; whether this one has them is found when it is read.
_LABELS = [
    "text",
    "blank text",
    "lone surrogate",
    "number as text",
    "bytes",
]
_LABELS += ["NaN", "inf", "-inf", "-1", "1.5", "2**63", "-2**63", "10**400", "1e308", "Fraction", "Decimal", "float32"]
_COLUMNS = {"table": _table(), "label": "y", "score": "s"}


def _rows_file() -> None:
    lines = [f"{y},{s}" for y, s in zip(Y_TRUE.tolist(), SCORES.tolist(), strict=True)]
    Path("rows.csv").write_text("\n".join(["y,s", *lines]) + "\n")


def _histogram() -> frames.Histogram:
    made = frames.Histogram(64)
    made.update(Y_TRUE, SCORES)
    return made


FRAMES = [
    Row("frames.auc_score", _COLUMNS, meaning=_TABLES),
    Row("frames.opauc_score", {**_COLUMNS, "beta": 0.5}, kinds={"min_fpr": "share"}, meaning=_TABLES),
    Row("frames.partial_auc_score", {**_COLUMNS, "region": tpauc.Region(0.5, 0.5, min_beta=0.1)}, meaning=_TABLES),
    Row("frames.tpauc_score", {**_COLUMNS, **REGION}, meaning=_TABLES),
    Row(
        "frames.evaluate",
        {**_COLUMNS, **REGION},
        kinds={"groups": "refused", "by": "refused", "tolerance": "positive"},
        meaning={**_TABLES, "by": {"empty list": None, "empty tuple": None}},
    ),
    Row(
        "frames.compare",
        {**_COLUMNS, "score": ["s", "t"], **REGION},
        kinds={"groups": "refused"},
        meaning=_TABLES,
    ),
    Row("frames.histogram", _COLUMNS, meaning=_TABLES),
    Row(
        "frames.open_files",
        {"paths": "rows.csv", "label": "y", "scores": ["s"]},
        lambda **a: frames.open_files(**a).columns,
        files=_rows_file,
        kinds={"paths": "path to read", "label": "text"},  # a column that is not there is missed when it is used
        meaning={
            "paths": {"list of text": no_such_file},
            "scores": {"text": "str", "number as text": "0.3", "list of text": AS_IS},
            "others": {"None": (), "text": "str", "number as text": "0.3", "list of text": AS_IS}
            | {"empty list": (), "empty tuple": ()},
            "pos_label": dict.fromkeys(_LABELS, AS_IS),
        },
    ),
    Row("frames.Histogram", {"bins": 64}),
    Row("frames.Histogram.update", {"y_true": Y_TRUE, "y_score": SCORES}, lambda **a: frames.Histogram(64).update(**a)),
    Row("frames.Histogram.from_counts", {"positives": np.arange(4), "negatives": np.arange(4)[::-1]}),
    Row("frames.Histogram.merge", {"others": _histogram()}, lambda others: _histogram().merge(others)),
    Row("frames.Histogram.bounds", REGION, lambda **a: _histogram().bounds(**a)),
    Row("frames.Histogram.interval", REGION, lambda **a: _histogram().interval(**a)),
    Row("frames.Histogram.operating_point", REGION, lambda **a: _histogram().operating_point(**a)),
    Row(
        "frames.Histogram.load",
        {"path": "some.json"},
        lambda path: frames.Histogram.load(path),
        files=lambda: _histogram().save("some.json"),
    ),
    Row("frames.Histogram.save", {"path": "some.json"}, lambda path: _histogram().save(path)),
]

TABLE = [*METRICS, *LOSSES, *SAMPLERS, *TRAINING, *CLASSIFIERS, *REPORTING, *FRAMES]

# Public callables whose arguments are not checked, and why.
_RESULT = "made by the library, not by users"
_INSIDE = "called by the losses on tensors that they have checked"
EXEMPT = {
    **dict.fromkeys(
        [
            "Advice",
            "DecisionCurve",
            "Evaluation",
            "FitResult",
            "OperatingPoint",
            "ROCRegionDisplay",
            "frames.Evaluation",
        ],
        _RESULT,
    ),
    **dict.fromkeys(["CheckpointError", "TrainingDivergedError", "TrainingInterrupted"], _RESULT),
    **{
        f"{name}.{method}": _INSIDE
        for name in ("Weighting", "Anchored", "Exponential", "Polynomial", "Uniform")
        for method in ("weigh", "weigh_relative", "penalty", "inverse")
        if hasattr(getattr(tpauc, name), method)
    },
    **{f"{name}.{m}": _INSIDE for name in ("Hinge", "SquaredHinge") for m in ("pair_mean", "value_and_slope")},
    **{
        f"{name}.{method}": "the same function as of Weighting"
        for name in ("Anchored", "Exponential", "Polynomial", "Uniform")
        for method in ("from_function", "from_penalty")
    },
    **{
        f"{name}.set_{method}_request": "made by scikit-learn"
        for name in ("GuaranteedThresholdClassifier", "TPAUCBooster", "TPAUCClassifier")
        for method in ("fit", "score")
    },
    **dict.fromkeys(
        ["TwoWayPartialAUC.state_dict", "TwoWayPartialAUC.sync_context"], "called by torch and torchmetrics"
    ),
    "Uniform": "has no argument",
    "Weighting": "abstract, has no argument",
}
