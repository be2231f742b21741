"""The models that `tpauc fit` trains, and in words what cross-validation chose in a training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpauc._validation import import_extra
from tpauc.classifiers.training_methods import CROSS_ENTROPIES, REGION
from tpauc.cli.errors import UsageError
from tpauc.region import Region

LIGHTGBM = "lightgbm"
BASELINE = "cross_entropy"
_MOST_NAMED = 4  # candidates in a sentence
_LEAST_SHARE = 0.005  # of a candidate that is named
_OF_LIGHTGBM = (REGION, BASELINE)
_EXTRAS = {"mlp": ("torch", "torch"), LIGHTGBM: (LIGHTGBM, LIGHTGBM)}
_MODELS = {"linear": "linear model", "mlp": "network", LIGHTGBM: "boosted trees"}
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


def check_model(model: str, method: str = REGION) -> None:
    """Raise if a model cannot be trained by a method, or a package for it is missing."""
    if model == LIGHTGBM and method not in _OF_LIGHTGBM:
        raise UsageError(f"--model lightgbm is trained with --method {' or '.join(_OF_LIGHTGBM)}, got {method!r}")
    if model in _EXTRAS:
        import_extra(*_EXTRAS[model])


def new_classifier(model: str, method: str, region: Region, *, deployed: bool, seed: int) -> Any:
    """Return a classifier that is not fitted; the one to be deployed has calibrated probabilities."""
    options: dict[str, Any] = {"alpha": region.alpha, "beta": region.beta, "calibrate": deployed, "random_state": seed}
    if model == LIGHTGBM:
        from tpauc.classifiers.boosting.booster import TPAUCBooster

        return TPAUCBooster(**options) if method == REGION else TPAUCBooster(region_rounds=0, **options)
    from tpauc.classifiers.tpauc_classifier import TPAUCClassifier

    return TPAUCClassifier(model, method=method, **options)


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
    """
    return f"{_MODELS[model]} {_METHODS.get(method, f'on {method}')}"


def chosen_words(model: str, classifier: Any) -> str | None:
    """Return what a fitted classifier consists of and why, None if there was nothing to choose from.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> found = [{"name": "balanced", "tpauc": 0.51, "share": 0.58}, {"name": "fisher", "tpauc": 0.5, "share": 0.42}]
    >>> chosen_words("linear", SimpleNamespace(candidates_=found))
    "logistic regression, balanced, 58 % (TPAUC 0.510); Fisher's discriminant, 42 % (TPAUC 0.500)"
    """
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
