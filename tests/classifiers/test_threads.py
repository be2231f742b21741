"""Trainings in several threads at once: each gives what it gives alone, and nothing of the process stays changed."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits
from torch import nn

from tpauc.classifiers.boosting.booster import TPAUCBooster
from tpauc.classifiers.progress import limited_threads
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier

N_THREADS = 2


def network(n_features):
    return nn.Sequential(nn.Linear(n_features, 4), nn.Dropout(0.5), nn.Linear(4, 1))


CLASSIFIERS = {
    "linear": lambda: TPAUCClassifier(random_state=0),
    "linear on a loss": lambda: TPAUCClassifier(method="polynomial", max_steps=4, random_state=0),
    "mlp": lambda: TPAUCClassifier("mlp", cross_entropy_steps=20, n_folds=2, random_state=0),
    "network with dropout": lambda: TPAUCClassifier(network, cross_entropy_steps=20, n_folds=2, random_state=0),
    "booster": lambda: TPAUCBooster(max_rounds=5, region_rounds=2, n_folds=2, subsample=0.5, random_state=0),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_threads_give_what_one_gives(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = X[:, 0] + rng.logistic(size=300) > 1.0
    start = threading.Barrier(N_THREADS)

    def scores(together):
        if together:
            start.wait(timeout=60)
        return CLASSIFIERS[name]().fit(X, y).decision_function(X)

    alone = scores(together=False)
    with ThreadPoolExecutor(N_THREADS) as pool:
        for found in pool.map(scores, [True] * N_THREADS):
            np.testing.assert_array_equal(found, alone)


def blas_threads():
    return {
        library["filepath"]: library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_the_limit_of_blas_ends_with_the_last_of_trainings_that_overlap():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second = limited_threads(5), limited_threads(5)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas_threads().values()) == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before
        assert set(before.values()) != {1}


def test_the_limit_of_blas_ends_with_an_error():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(ZeroDivisionError), limited_threads(5):
            raise ZeroDivisionError
        assert blas_threads() == before
