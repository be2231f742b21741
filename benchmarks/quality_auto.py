"""The family `auto`: stacks of unlike models beside what people take for a table without further thought.

FLAML and AutoGluon stop after a time that they read from the clock. On a busy machine that starves them, so while they
train, the clock that they read is the processor time of their process (`processor_clock`), and they have one core. Both
are asked for the best AUC, which is the nearest to a TPAUC that both know. The others have their defaults.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier

import peers
from tpauc.classifiers.auto.stacked_members import FoldTraining
from tpauc.classifiers.boosting.booster import TPAUCBooster
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
from tpauc.region import Region

AUTO, FAST, BOOSTER = "auto", "auto-fast", "TPAUCBooster"
FLAML, AUTOGLUON = "FLAML", "AutoGluon medium"
BUDGET = 60.0  # seconds of processor time for FLAML and AutoGluon

Array = NDArray[Any]


@contextmanager
def processor_clock() -> Iterator[None]:
    """Within it, `time.time` and its kin run as fast as this process uses the processor."""
    real = {name: getattr(time, name)() for name in ("time", "monotonic", "perf_counter")}
    started = time.process_time()

    def clock(start: float) -> Callable[[], float]:
        return lambda: start + time.process_time() - started

    with patch.multiple(time, **{name: clock(start) for name, start in real.items()}):
        yield


class FLAMLSearch:
    """FLAML's search, within the budget."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Array, y: Array) -> FLAMLSearch:
        self.search = peers.module("flaml.automl").AutoML()
        with processor_clock():
            self.search.fit(
                X,
                y,
                task="classification",
                metric="roc_auc",
                time_budget=BUDGET,
                n_jobs=1,
                seed=self.seed,
                verbose=0,
            )
        self.chosen_ = str(self.search.best_estimator)
        return self

    def predict_proba(self, X: Array) -> Array:
        return np.asarray(self.search.predict_proba(X))


class AutoGluonMedium:
    """AutoGluon with the preset "medium_quality", within the budget."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Array, y: Array) -> AutoGluonMedium:
        tabular = peers.module("autogluon.tabular")
        # Its models stay in the folder as long as the object.
        self._folder = tempfile.TemporaryDirectory()
        predictor = tabular.TabularPredictor("y", "binary", "roc_auc", path=self._folder.name, verbosity=0)
        with processor_clock():
            self.predictor = predictor.fit(
                self._frame(X).assign(y=y), presets="medium_quality", time_limit=BUDGET, num_cpus=1, num_gpus=0
            )
        self.chosen_ = str(self.predictor.model_best)
        return self

    def predict_proba(self, X: Array) -> Array:
        return np.asarray(self.predictor.predict_proba(self._frame(X)))

    @staticmethod
    def _frame(X: Array) -> Any:
        import pandas as pd

        return pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])])


def catboost(seed: int) -> Any:
    """Return CatBoost with its defaults."""
    return peers.module("catboost").CatBoostClassifier(
        random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False
    )


def lightgbm(seed: int) -> Any:
    """Return LightGBM with its defaults."""
    return peers.module("lightgbm").LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


def extra_trees(seed: int) -> Any:
    """Return scikit-learn's extremely randomised trees, more of them than by default."""
    return ExtraTreesClassifier(500, n_jobs=1, random_state=seed)


# Each is fitted once and judged in all regions.
FOR_ALL_REGIONS: dict[str, Callable[[int], Any]] = {
    "ExtraTrees": extra_trees,
    "LightGBM": lightgbm,
    "CatBoost": catboost,
    FLAML: FLAMLSearch,
    AUTOGLUON: AutoGluonMedium,
}


def booster(family: str, region: Region, seed: int) -> Any:
    """Return our boosted trees."""
    return TPAUCBooster(alpha=region.alpha, beta=region.beta, n_jobs=1, random_state=seed)


@contextmanager
def shared_members(reused: list[float]) -> Iterator[None]:
    """Within it, stacks fitted to the same rows with the same seed train members that know no region only once.

    All members but the linear one are such, so the models are the same as without it. The processor time that another
    training would have taken is added to ``reused``.
    """
    trained: dict[str, tuple[Any, float]] = {}
    train = FoldTraining._in_folds

    def train_once(self: FoldTraining, recipe: Any, *others: Any) -> Any:
        started = time.process_time()
        if recipe.name in trained:
            member, seconds = trained[recipe.name]
            reused.append(seconds)
            return self._trained(member.name, member.scorer, member.out_of_fold, member.seconds)
        member = train(self, recipe, *others)
        trained[recipe.name] = member, time.process_time() - started
        return member

    with patch.object(FoldTraining, "_in_folds", train_once):
        yield


def auto(family: str, region: Region, seed: int, model: str = AUTO) -> Any:
    """Return our stack."""
    return TPAUCClassifier(model, alpha=region.alpha, beta=region.beta, random_state=seed)
