"""The models that `tpauc fit` trains, and in words what cross-validation chose in a training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpauc._validation import import_extra
from tpauc.classifiers.training_methods import AUTO, CROSS_ENTROPIES, REGION
from tpauc.cli.errors import UsageError
from tpauc.region import Region

LIGHTGBM = "lightgbm"
BASELINE = "cross_entropy"
_MOST_NAMED = 4  # candidates in a sentence
_LEAST_SHARE = 0.005  # of a candidate that is named
_METHODS_OF = {LIGHTGBM: (REGION, BASELINE), **dict.fromkeys(AUTO, (REGION,))}  # other models have all methods
_EXTRAS = {"mlp": ("torch", "torch"), **dict.fromkeys((LIGHTGBM, *AUTO), (LIGHTGBM, LIGHTGBM))}
_MODELS = {
    "linear": "linear model",
    "mlp": "network",
    LIGHTGBM: "boosted trees",
    "auto": "stack of models",
    "auto-fast": "fast stack of models",
}
_METHODS = {
    REGION: "for the region",
    BASELINE: "on cross-entropy",
    "balanced_cross_entropy": "on balanced cross-entropy",
}
_STARTS = {
    "linear": {
        "fisher": "Fisher's discriminant",
        "plain": "logistic regression",
        "balanced": "logistic regression, balanced",
        "cross_entropy": "logistic regression",
        "balanced_cross_entropy": "logistic regression, balanced",
    },
    "mlp": {
        "plain": "cross-entropy",
        "balanced": "balanced cross-entropy",
        "cross_entropy": "cross-entropy",
        "balanced_cross_entropy": "balanced cross-entropy",
    },
}
_MEMBERS = {
    "boosting": "LightGBM",
    "cautious boosting": "cautious LightGBM",
    "linear": "linear model",
    "kernel": "kernel regression",
    "neighbours": "nearest neighbours",
}


def check_model(model: str, method: str = REGION, time_limit: float | None = None) -> None:
    """Raise if a model cannot be trained by a method or has no time limit, or a package for it is missing."""
    if time_limit is not None and model not in AUTO:
        raise UsageError(f"--time-limit is for --model {' and '.join(AUTO)}, got --model {model}; leave it out")
    if method not in (known := _METHODS_OF.get(model, (method,))):
        raise UsageError(f"--model {model} is trained with --method {' or '.join(known)}, got {method!r}")
    if model in _EXTRAS:
        import_extra(*_EXTRAS[model])


def new_classifier(
    model: str, method: str, region: Region, *, deployed: bool, seed: int, time_limit: float | None = None
) -> Any:
    """Return a classifier that is not fitted; the one to be deployed has calibrated probabilities."""
    options: dict[str, Any] = {"alpha": region.alpha, "beta": region.beta, "calibrate": deployed, "random_state": seed}
    if model == LIGHTGBM:
        from tpauc.classifiers.boosting.booster import TPAUCBooster

        return TPAUCBooster(**options) if method == REGION else TPAUCBooster(region_rounds=0, **options)
    from tpauc.classifiers.tpauc_classifier import TPAUCClassifier

    trained = _trained_model(model, method)
    if trained in AUTO:
        options["time_limit"] = time_limit
    return TPAUCClassifier(trained, method=method, **options)


def _trained_model(model: str, method: str) -> str:
    """Return the model that a method trains: a stack has no cross-entropy, its baseline is logistic regression."""
    return "linear" if model in AUTO and method in CROSS_ENTROPIES else model


def divides_rows(model: str, method: str, *, deployed: bool) -> bool:
    """Return whether a training has folds: a network on a cross-entropy has them only if it is calibrated."""
    return deployed or not (model == "mlp" and method in CROSS_ENTROPIES)


# ------------------------------------------------------------------------------------------------------------ words


def model_words(model: str, method: str) -> str:
    """Return a model and what it is trained on, for tables and reports.

    Examples
    --------
    >>> model_words("linear", "region"), model_words("lightgbm", "cross_entropy")
    ('linear model for the region', 'boosted trees on cross-entropy')
    >>> model_words("auto", "region"), model_words("auto", "cross_entropy")
    ('stack of models for the region', 'linear model on cross-entropy')
    """
    return f"{_MODELS[_trained_model(model, method)]} {_METHODS.get(method, f'on {method}')}"


def chosen_words(model: str, classifier: Any) -> str | None:
    """Return how a fitted classifier came to be, None if there was nothing to choose from.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> found = [{"name": "balanced", "tpauc": 0.51, "share": 0.58}, {"name": "fisher", "tpauc": 0.5, "share": 0.42}]
    >>> chosen_words("linear", SimpleNamespace(candidates_=found))
    "logistic regression, balanced, 58 % (TPAUC 0.510); Fisher's discriminant, 42 % (TPAUC 0.500)"
    >>> found = [{"name": "linear", "tpauc": 0.51, "share": 0.2}, {"name": "boosting", "tpauc": 0.6, "share": 0.8}]
    >>> chosen_words("auto", SimpleNamespace(members_=found))
    'stack of 2 models: LightGBM 80 %, linear model 20 %'
    """
    if hasattr(classifier, "members_"):
        return _stack_words(classifier.members_)
    candidates: list[dict[str, Any]] = getattr(classifier, "candidates_", [])
    if len(candidates) < 2:
        return None
    if all(found["tpauc"] == 0.0 for found in candidates):
        return f"nothing, since none of {len(candidates)} candidates reaches the region; they have equal shares"
    if "share" in candidates[0]:
        shared = sorted((found for found in candidates if found["share"] >= _LEAST_SHARE), key=_share, reverse=True)
        words = [
            f"{_candidate_words(model, found)}, {100 * found['share']:.0f} % (TPAUC {found['tpauc']:.3f})"
            for found in shared[:_MOST_NAMED]
        ]
        rest = 100 * sum(found["share"] for found in shared[_MOST_NAMED:])
        return "; ".join([*words, f"others, {rest:.0f} %"] if rest else words)
    best = max(candidates, key=lambda found: float(found["tpauc"]))
    return f"{_candidate_words(model, best)} (TPAUC {best['tpauc']:.3f}), the best of {len(candidates)} candidates"


def chosen_line(model: str, title: str, chosen: str) -> str:
    """Return what was chosen as a sentence that says by what.

    Examples
    --------
    >>> chosen_line("auto", "stack of models for the region", "stack of 2 models: LightGBM 80 %, linear model 20 %")
    'Stack of 2 models: LightGBM 80 %, linear model 20 %; weighed by log-loss on out-of-fold scores.'
    """
    if model in AUTO:
        return f"{chosen[0].upper()}{chosen[1:]}; weighed by log-loss on out-of-fold scores."
    return f"{title.capitalize()}, chosen by TPAUC in cross-validation: {chosen}."


def _stack_words(members: list[dict[str, Any]]) -> str:
    """Return the shares of all members; one that has none is named too, since it was trained."""
    shares = [
        f"{_MEMBERS.get(found['name'], found['name'])} {100 * found['share']:.0f} %"
        for found in sorted(members, key=_share, reverse=True)
    ]
    return f"stack of {len(shares)} models: {', '.join(shares)}"


def _share(found: Mapping[str, Any]) -> float:
    return float(found["share"])


def _candidate_words(model: str, found: Mapping[str, Any]) -> str:
    """Return what a candidate is; for boosted trees its rounds, for a loss its steps."""
    if "rounds" in found:
        rounds = f"{found['rounds']} rounds of log-loss"
        return f"{rounds} and {found['region_rounds']} for the region" if found["region_rounds"] else rounds
    known, name = _STARTS[model], str(found["name"])
    start = name.removeprefix("region from ")
    if start != name:
        return f"trained for the region from {known.get(start, start)}"
    return known[name] if name in known else f"{name}, {found.get('steps', 0)} steps"
