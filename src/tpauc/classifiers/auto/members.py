"""The members of the stack, in two presets, and how each is trained.

| member | what it is |
| --- | --- |
| linear | `tpauc.TPAUCClassifier("linear")`: six directions, weighed |
| boosting | LightGBM, 80 rounds of .12 with 31 leaves, 70 % of the features per tree |
| cautious boosting | LightGBM, 100 rounds of .09 with 15 leaves, penalised, on parts of the rows and features |
| extra trees | scikit-learn's forest of 60 trees, 40 in "auto-fast" |
| kernel | logistic regression on 300 Gaussian bumps (Nystroem), of ranks |
| neighbours | log ratio of the distances to the five nearest rows of each class, of ranks |
| network | perceptrons with two layers of 64 |

Unlike models err in different places, which is what a stack lives on. All settings are fixed. Sizes are bounded such
that the whole stack scores 100,000 rows of 30 features in five seconds on one core (`benchmarks/auto_scoring.py`). A
node of a tree costs about 5 ns per row, wherever the tree comes from, so trees are few.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from tpauc._validation import import_extra
from tpauc.classifiers.auto.member_scorers import (
    BoosterMember,
    ForestMember,
    KernelMember,
    MemberScorer,
    NeighbourMember,
    NetworkMember,
    NormalScores,
    RankedMember,
    as_float32,
)
from tpauc.classifiers.base import TrainingData
from tpauc.classifiers.linear.logistic import Rows, minimise
from tpauc.classifiers.linear.principal_axes import MOST_AXES

Array = npt.NDArray[Any]

# Values of a table (rows times features) up to which there is a linear member. Its time and memory grow with them: on
# one core 20,000 rows of 2,000 features take 46 s and 2.2 GB, 5,000 of 5,000 take 53 s, 3,000 of 1,617 take 3 s. The
# largest sample of the stack, 100,000 rows, has a linear member with up to 400 features.
MOST_LINEAR_VALUES = 40_000_000
MOST_LEAVES = 2048  # of a tree in a forest
LANDMARKS = 300
NEIGHBOURS = 5
NETWORK_STEPS = 2000
NETWORK_PENALTY = 1e-3
KERNEL_C = 30.0


Train = Callable[[TrainingData, int], MemberScorer]  # standardised rows, and a seed


def train_booster(data: TrainingData, seed: int, *, rounds: int, **options: Any) -> MemberScorer:
    """Boost trees with log-loss by LightGBM, in one thread, so that the trees do not depend on the machine."""
    lightgbm = import_extra("lightgbm", "lightgbm")
    parameters = {
        "objective": "binary",
        "lambda_l2": 0.1,  # leaves that hold only rare positives need a penalty
        "seed": seed,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
        **options,
    }
    rows = lightgbm.Dataset(data.X, data.positive.astype(np.float32), weight=data.weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # features without a split
        return BoosterMember([lightgbm.train(parameters, rows, rounds).model_to_string()])


def train_forest(data: TrainingData, seed: int, *, trees: int) -> MemberScorer:
    """Grow extremely randomised trees."""
    forest = ExtraTreesClassifier(trees, max_leaf_nodes=MOST_LEAVES, n_jobs=1, random_state=seed)
    return ForestMember.of(forest.fit(as_float32(data.X), data.positive, sample_weight=data.weight))


def train_kernel(data: TrainingData, seed: int) -> MemberScorer:
    """Fit a logistic regression on Gaussian bumps around some of the rows."""
    random = np.random.default_rng(seed)
    chosen = random.choice(len(data.X), min(LANDMARKS, len(data.X)), replace=False)
    member = KernelMember(as_float32(data.X[chosen]), 1.0 / data.X.shape[1], np.empty(0), 0.0)
    # With these coordinates the products of two rows approximate their kernel (Nystroem).
    values, vectors = np.linalg.eigh(member.features(member.landmarks).astype(np.float64))
    kept = values > 1e-6 * values[-1]
    basis = vectors[:, kept] / np.sqrt(values[kept])
    Z = np.column_stack((member.features(data.X) @ basis, np.ones(len(data.X))))
    weight = np.ones(len(Z)) if data.weight is None else data.weight
    b = minimise(Rows(Z, data.positive, weight), 1.0 / KERNEL_C, np.zeros(Z.shape[1]))
    member.coef, member.intercept = basis @ b[:-1], float(b[-1])
    return member


def train_on_ranks(data: TrainingData, seed: int, *, train: Train) -> MemberScorer:
    """Train a member that goes by distances on ranks, which no long tail distorts."""
    ranks = NormalScores.of(data.X)
    return RankedMember(ranks, train(data._replace(X=ranks(data.X)), seed))


def train_neighbours(data: TrainingData, seed: int) -> MemberScorer:
    """Keep the rows; there is nothing to train, and weights do not count."""
    return NeighbourMember(as_float32(data.X[data.positive]), as_float32(data.X[~data.positive]), NEIGHBOURS)


def train_network(data: TrainingData, seed: int) -> MemberScorer:
    """Train a perceptron; weights decide how often a row is drawn."""
    random = np.random.default_rng(seed)
    X, y = as_float32(data.X), data.positive
    if data.weight is not None:
        drawn = random.choice(len(X), len(X), p=data.weight / data.weight.sum())
        X, y = X[drawn], y[drawn]
    batch = int(np.clip(len(X) // 20, 8, 256))
    epochs = int(np.ceil(NETWORK_STEPS * batch / len(X)))
    network = MLPClassifier(
        (64, 64), alpha=NETWORK_PENALTY, batch_size=min(batch, len(X)), max_iter=epochs, tol=0.0, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of steps is fixed
        network.fit(X, y)
    layers = zip(network.coefs_, network.intercepts_, strict=True)
    return NetworkMember([[(weight.astype(np.float32), bias.astype(np.float32)) for weight, bias in layers]])


@dataclass(frozen=True)
class Recipe:
    """How a member is trained: ``train`` is None for our linear model, which has folds of its own."""

    name: str
    train: Train | None
    averaged: bool = False  # over the folds; otherwise it is trained again on all rows
    most_rows: tuple[int, int] = (20_000, 80_000)  # positives and negatives that a training sees


_BOOSTING = Recipe(
    "boosting",
    partial(train_booster, rounds=80, learning_rate=0.12, num_leaves=31, feature_fraction=0.7),
    averaged=True,
)
_CAUTIOUS = Recipe(
    "cautious boosting",
    partial(
        train_booster,
        rounds=100,
        learning_rate=0.09,
        num_leaves=15,
        lambda_l2=5.0,
        feature_fraction=0.6,
        bagging_fraction=0.8,
        bagging_freq=1,
        min_data_in_leaf=10,
    ),
)
_EXTRA_TREES = Recipe("extra trees", partial(train_forest, trees=60), averaged=True)
_KERNEL = Recipe("kernel", partial(train_on_ranks, train=train_kernel), most_rows=(8_000, 16_000))
_NEIGHBOURS = Recipe("neighbours", partial(train_on_ranks, train=train_neighbours), most_rows=(600, 900))
_LINEAR = Recipe("linear", None)
_NETWORK = Recipe("network", train_network, averaged=True, most_rows=(10_000, 30_000))

# In the order of what they bring per second.
PRESETS: dict[str, tuple[Recipe, ...]] = {
    "auto": (_BOOSTING, _LINEAR, _KERNEL, _NEIGHBOURS, _EXTRA_TREES, _CAUTIOUS, _NETWORK),
    "auto-fast": (
        _BOOSTING,
        _LINEAR,
        replace(_KERNEL, most_rows=(4_000, 8_000)),
        _NEIGHBOURS,
        replace(_EXTRA_TREES, train=partial(train_forest, trees=40), most_rows=(5_000, 10_000)),
    ),
}


def affords_linear(n_rows: int, n_features: int) -> bool:
    """Return whether our linear model is a member of the stack for a table of this size.

    Examples
    --------
    >>> affords_linear(1_500, 20_000), affords_linear(100_000, 2_000)
    (True, False)
    """
    return n_rows * n_features <= MOST_LINEAR_VALUES and min(n_rows, n_features) <= MOST_AXES


def recipes_of(preset: str) -> tuple[Recipe, ...]:
    """Return the members of a preset; an error if LightGBM, which trains some of them, is not installed."""
    import_extra("lightgbm", "lightgbm")
    return PRESETS[preset]
