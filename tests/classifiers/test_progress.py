"""Progress of trainings, and the threads of BLAS during them."""

import time

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from tpauc import TPAUCBooster, TPAUCClassifier, advise
from tpauc.classifiers.advice import _makers
from tpauc.classifiers.linear import directions
from tpauc.classifiers.progress import Progress, begin, limited_threads, progress_to, steps, within
from tpauc.region import Region

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
Y = (X[:, 0] + RNG.normal(size=400) > 1.0).astype(int)
SHORT = {"model": "mlp", "cross_entropy_steps": 20}


@pytest.mark.parametrize(
    ("classifier", "stages"),
    [
        (TPAUCClassifier(), {"logistic regression", "ascent of", "linear models in folds"}),
        (TPAUCClassifier(method="polynomial", max_steps=2), {"folds", "steps of polynomial"}),
        (TPAUCClassifier(**SHORT, n_folds=2), {"cross-entropy of 4 networks", "training 4 networks for the region"}),
        (TPAUCClassifier(**SHORT, method="focal", epochs=2, n_folds=2), {"batches of focal, epoch 2 of 2", "folds"}),
        (TPAUCBooster(max_rounds=10, n_folds=2, n_jobs=1), {"boosting to round 10"}),
    ],
)
def test_every_training_says_what_it_does(classifier, stages):
    found = []
    with progress_to(found.append, every=0.0):
        make_pipeline(StandardScaler(), classifier.set_params(random_state=0)).fit(X, Y)
    assert all(any(progress.what.startswith(stage) for progress in found) for stage in stages)
    assert all(1 <= progress.done <= progress.total and progress.seconds_left >= 0.0 for progress in found)


def test_nothing_is_said_by_default_and_nothing_after_the_context(capsys):
    found = []
    with progress_to(found.append):
        pass
    TPAUCClassifier(random_state=0).fit(X, Y)
    assert found == []
    assert capsys.readouterr() == ("", "")


def test_lines_come_after_the_interval_and_tell_the_time_left(monkeypatch):
    clock = iter(np.arange(0.0, 100.0, 0.5))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    found = []
    with progress_to(found.append, every=1.0):  # at 0.0
        assert list(steps("counting", "abcdef", 6)) == list("abcdef")  # from 0.5 on
    assert found == [Progress("counting", k, 6, (6 - k) * 0.5) for k in (1, 3, 5)]
    assert str(found[0]) == "counting: 1 of 6, about 2 s left"


def test_the_begin_of_a_stage_is_told_at_once():
    found = []
    with progress_to(lambda progress: found.append(str(progress)), every=1e9):
        begin("counting", 6)
        assert list(steps("counting", range(6), 6)) == list(range(6))
    assert found == ["counting: 0 of 6"]
    begin("nobody listens", 6)


def test_advice_says_which_model_it_trains():
    found = []
    with progress_to(lambda progress: found.append(str(progress)), every=1e9):
        advise(X, Y, alpha=0.5, beta=0.5, n_folds=2, n_repeats=1, random_state=0)
    assert found[0] == "model 'plain' in fold 1 of 2, repeat 1 of 1: 0 of 6"
    assert found[5] == "model 'region' in fold 2 of 2, repeat 1 of 1: 5 of 6"
    assert len(found) == 6


def test_a_training_within_another_is_told_as_part_of_it_and_may_be_ended():
    found, left = [], iter("abc")

    def after_step():
        if next(left) == "c":
            raise TimeoutError

    def work():
        with within("outer", after_step):
            list(steps("inner", range(9), 9))

    with progress_to(found.append, every=0.0), pytest.raises(TimeoutError):
        work()
    assert [(progress.what, progress.done) for progress in found] == [("outer: inner", 1), ("outer: inner", 2)]
    left = iter("c")
    with pytest.raises(TimeoutError):  # also if nobody listens
        work()


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_a_linear_model_has_one_thread_of_blas_also_in_a_search(monkeypatch):
    seen, before, fit_pair = [], blas_threads(), directions.fit_pair

    def spied(*arguments, **options):
        seen.append(blas_threads())
        return fit_pair(*arguments, **options)

    monkeypatch.setattr(directions, "fit_pair", spied)
    cross_val_score(TPAUCClassifier(random_state=0), X, Y, cv=2, n_jobs=1)
    assert seen
    assert all(set(threads) == {1} for threads in seen)
    assert blas_threads() == before


def test_wide_tables_keep_their_threads():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with limited_threads(255):
            assert set(blas_threads()) == {1}
        with limited_threads(256):
            assert blas_threads() == before
    assert set(before) == {2}


@pytest.mark.parametrize(("n_values", "threads"), [(999_999, 1), (1_000_000, 0)])
def test_lightgbm_has_one_thread_for_a_small_table(n_values, threads):
    rivals = _makers("auto", None, n_values)
    for name in ("plain", "balanced"):
        assert rivals[name](Region(0.3, 0.3), 0)[-1].n_jobs == threads
