import math
import pickle
import sys
import warnings

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tpauc import (
    TPAUCBooster,
    lightgbm_metric,
    lightgbm_objective,
    tpauc_score,
    tpauc_scorer,
    xgboost_metric,
    xgboost_objective,
)
from tpauc.classifiers.boosting.boosting_path import PathValidation, Rounds
from tpauc.region import Region


def a_table(n, seed=0):
    """Rare positives that no single feature tells."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, (2.0 * X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=n) > 2.0).astype(int)


X, Y = a_table(1500)
TRAIN, TEST = slice(0, 1000), slice(1000, None)


# ------------------------------------------------------------------------------------------------------- the gradient


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def plain_gradient(labels, scores, alpha, beta, softness):
    """Follow the formulas of the module's docstring, pair by pair."""
    n, focus, borders = len(labels), [0.0] * len(labels), []
    for label, sign, share in ((1, -1.0, alpha), (0, 1.0, beta)):
        members = [i for i in range(n) if labels[i] == label]
        for i in members:
            below = sum(sign * scores[j] < sign * scores[i] for j in members)
            equal = sum(scores[j] == scores[i] for j in members)
            focus[i] = sigmoid(((below + equal / 2) / len(members) - (1.0 - share)) / (softness * share))
        total = sum(focus[i] for i in members)
        for i in members:
            focus[i] *= n / 2 / total
        # The easiest of the examples in the region; if they are fewer than one, the hardest of all.
        ordered = sorted(sign * scores[i] for i in members)
        n_easy = sum(k + 1 <= (1.0 - share) * len(members) for k in range(len(members)))
        borders.append(sign * ordered[min(n_easy, len(members) - 1)])
    p = [sigmoid(score - sum(borders) / 2) for score in scores]
    return (
        [w * (q - y) for w, q, y in zip(focus, p, labels, strict=True)],
        [max(w * q * (1 - q), 1e-6) for w, q in zip(focus, p, strict=True)],
    )


def some_scores(draw, least=2):
    n = draw(st.integers(least, 25))
    labels = np.array([0, 1, *draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))])
    # Halves: ties are frequent, and sums of them exact.
    scores = np.array(draw(st.lists(st.integers(-8, 8), min_size=n, max_size=n))) / 2.0
    return labels, scores


labelled_scores = st.composite(some_scores)()
shares = st.sampled_from([0.05, 0.3, 0.5, 1.0])


@settings(deadline=None, max_examples=60)
@given(labelled_scores, shares, shares)
def test_gradient_and_hessian_are_those_of_the_formula(case, alpha, beta):
    labels, scores = case
    found = lightgbm_objective(alpha, beta, softness=0.4)(labels, scores)
    expected = plain_gradient(labels.tolist(), scores.tolist(), alpha, beta, 0.4)
    assert np.allclose(found, expected, rtol=1e-10, atol=1e-13)


@settings(deadline=None, max_examples=60)
@given(labelled_scores, st.data())
def test_whole_weights_are_repeated_rows(case, data):
    labels, scores = case
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(labels), max_size=len(labels))))
    objective = xgboost_objective(0.3, 0.5)
    weighted, _ = objective(labels, scores, times)
    repeated, _ = objective(np.repeat(labels, times), np.repeat(scores, times))
    first = np.append(0, np.cumsum(times)[:-1])
    assert np.allclose(weighted, repeated[first] * times, rtol=1e-10, atol=1e-13)


@settings(deadline=None, max_examples=60)
@given(labelled_scores, st.randoms(use_true_random=False), st.integers(-20, 20))
def test_order_of_rows_and_a_common_shift_do_not_matter(case, shuffler, shift):
    labels, scores = case
    order = list(range(len(labels)))
    shuffler.shuffle(order)
    gradient, hessian = lightgbm_objective(0.3, 0.3)(labels, scores)
    other_gradient, other_hessian = lightgbm_objective(0.3, 0.3)(labels[order], scores[order] + shift)
    assert np.allclose(gradient[order], other_gradient, rtol=1e-10, atol=1e-13)
    assert np.allclose(hessian[order], other_hessian, rtol=1e-10, atol=1e-13)


def test_hard_examples_lead_and_the_hessian_is_positive():
    rng = np.random.default_rng(0)
    labels, scores = rng.random(500) < 0.2, rng.normal(size=500) * 30.0
    gradient, hessian = lightgbm_objective(0.2, 0.2)(labels, scores)
    assert (hessian > 0.0).all()
    assert (gradient[labels] <= 0.0).all()
    assert (gradient[~labels] >= 0.0).all()
    by_hardness = np.abs(gradient[labels])[np.argsort(-scores[labels])]
    assert (np.diff(by_hardness) >= 0.0).all()


@pytest.mark.parametrize("share", [0.3, 0.002, 0.001, 1e-9])
def test_equal_scores_give_the_balanced_log_loss(share):
    labels = np.array([1, 0, 0, 0])
    gradient, hessian = lightgbm_objective(share, share)(labels, np.full(4, 7.0))
    assert gradient == pytest.approx([-1.0, 1 / 3, 1 / 3, 1 / 3])
    assert hessian == pytest.approx([0.5, 1 / 6, 1 / 6, 1 / 6])


def test_a_region_smaller_than_one_example_looks_at_the_hardest():
    labels, scores = np.array([1, 1, 0, 0]), np.array([2.0, 1.0, 0.0, -1.0])
    gradient, _ = lightgbm_objective(0.001, 0.001)(labels, scores)
    # The borders are 1 and 0, so the centre is 1/2; each class has weight 2, all of it on its hardest example.
    assert gradient == pytest.approx([0.0, -2.0 * sigmoid(-0.5), 2.0 * sigmoid(-0.5), 0.0], abs=1e-12)


@pytest.mark.parametrize("share", [0.3, 0.001])
def test_a_weight_of_zero_is_no_row(share):
    labels, scores = np.array([1, 1, 0, 0, 0]), np.array([0.0, 0.0, 0.0, 0.0, 5.0])
    objective = xgboost_objective(share, share)
    weighted = objective(labels, scores, np.array([1.0, 1.0, 1.0, 2.0, 0.0]))
    without = objective(labels[:4], scores[:4], np.array([1.0, 1.0, 1.0, 2.0]))
    assert np.allclose(np.array(weighted)[:, :4], without, rtol=1e-10, atol=0.0)
    assert weighted[0][4] == 0.0


def test_huge_scores_stay_finite():
    gradient, hessian = lightgbm_objective(0.3, 0.3)([1, 0, 1, 0], [-1e300, 1e300, 1.0, 0.0])
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()


@pytest.mark.parametrize("make", [lightgbm_objective, xgboost_objective, lightgbm_metric, xgboost_metric])
@pytest.mark.parametrize(
    ("labels", "scores", "weight", "message"),
    [
        ([1, 2], [0.0, 1.0], None, "y_true must hold"),
        ([1, 1], [0.0, 1.0], None, "y_true has no negative"),
        ([0, 1], [0.0, math.nan], None, "y_score"),
        ([0, 1], [0.0], None, "equal length"),
        ([0, 1], [0.0, 1.0], [1.0, -1.0], "sample_weight must not be negative"),
        ([0, 1], [0.0, 1.0], [1.0, 0.0], "sample_weight is zero for every positive"),
    ],
)
def test_bad_data_is_refused(make, labels, scores, weight, message):
    with pytest.raises(ValueError, match=message):
        make(1.0, 1.0)(labels, scores, weight)


@pytest.mark.parametrize("make", [lightgbm_objective, xgboost_objective, lightgbm_metric, xgboost_metric])
def test_bad_regions_are_refused(make):
    with pytest.raises(ValueError, match="alpha must be a share"):
        make(0.0, 0.3)
    with pytest.raises(ValueError, match="beta must be a share"):
        make(0.3, 1.5)


@pytest.mark.parametrize("make", [lightgbm_objective, xgboost_objective])
def test_the_border_needs_a_width(make):
    with pytest.raises(ValueError, match="softness must be above 0"):
        make(0.3, 0.3, softness=0.0)


@pytest.mark.parametrize(
    ("make", "module"),
    [
        (lightgbm_objective, "lightgbm"),
        (lightgbm_metric, "lightgbm"),
        (xgboost_objective, "xgboost"),
        (xgboost_metric, "xgboost"),
    ],
)
def test_a_missing_extra_is_named(monkeypatch, make, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'tpauc\[{module}\]'"):
        make(0.3, 0.3)


# -------------------------------------------------------------------------------------------------- in the libraries

QUIET = {"verbosity": -1, "num_threads": 1}


def tpauc_of(scores):
    return tpauc_score(Y[TEST], scores, alpha=0.3, beta=0.3)


def test_lightgbm_boosts_for_the_region_natively():
    data = lightgbm.Dataset(X[TRAIN], Y[TRAIN], free_raw_data=False)
    start = lightgbm.train({**QUIET, "objective": "binary"}, data, 5)
    more = lightgbm.train({**QUIET, "objective": lightgbm_objective(0.3, 0.3)}, data, 30, init_model=start)
    assert more.num_trees() == 35
    assert tpauc_of(more.predict(X[TEST])) > tpauc_of(start.predict(X[TEST])) + 0.02


def test_lightgbm_boosts_for_the_region_through_scikit_learn():
    data = lightgbm.Dataset(X[TRAIN], Y[TRAIN])
    native = lightgbm.train({**QUIET, "objective": lightgbm_objective(0.3, 0.3)}, data, 20)
    classifier = lightgbm.LGBMClassifier(n_estimators=20, objective=lightgbm_objective(0.3, 0.3), **QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that LightGBM cannot make probabilities of a custom objective
        scores = classifier.fit(X[TRAIN], Y[TRAIN]).predict(X[TEST], raw_score=True)
    assert np.allclose(scores, native.predict(X[TEST]))
    weighted = clone(classifier).fit(X[TRAIN], Y[TRAIN], sample_weight=np.where(X[TRAIN, 2] > 0, 3.0, 1.0))
    assert not np.allclose(weighted.predict(X[TEST], raw_score=True), scores)


def test_xgboost_boosts_for_the_region_both_ways():
    data, test = xgboost.DMatrix(X[TRAIN], Y[TRAIN]), xgboost.DMatrix(X[TEST])
    native = xgboost.train({"nthread": 1, "base_score": 0.0}, data, 20, obj=xgboost_objective(0.3, 0.3))
    scores = native.predict(test, output_margin=True)
    assert tpauc_of(scores) > 0.1  # chance has 0.0
    classifier = xgboost.XGBClassifier(
        n_estimators=20, learning_rate=0.3, n_jobs=1, objective=xgboost_objective(0.3, 0.3), base_score=0.5
    ).fit(X[TRAIN], Y[TRAIN])
    assert np.allclose(classifier.predict(X[TEST], output_margin=True), scores, atol=1e-4)  # XGBoost sums in float32
    weight = np.where(X[TRAIN, 2] > 0, 3.0, 1.0)
    weighted = clone(classifier).fit(X[TRAIN], Y[TRAIN], sample_weight=weight)
    assert not np.allclose(weighted.predict(X[TEST], output_margin=True), scores, atol=1e-2)


@pytest.mark.parametrize("rounds", [1, 10])
def test_both_libraries_train_for_a_tiny_region_from_nothing(rounds):
    data = lightgbm.Dataset(X[TRAIN], Y[TRAIN])
    trees = lightgbm.train({**QUIET, "objective": lightgbm_objective(0.3, 0.001)}, data, rounds)
    data, test = xgboost.DMatrix(X[TRAIN], Y[TRAIN]), xgboost.DMatrix(X[TEST])
    more_trees = xgboost.train({"nthread": 1, "base_score": 0.0}, data, rounds, obj=xgboost_objective(0.3, 0.001))
    for scores in (trees.predict(X[TEST]), more_trees.predict(test, output_margin=True)):
        # The whole AUC: beta=0.001 looks at one negative, from which a model that starts from nothing learns little.
        assert tpauc_score(Y[TEST], scores, alpha=1.0, beta=1.0) > 0.7


def test_lightgbm_stops_early_on_the_metric():
    data = lightgbm.Dataset(X[TRAIN], Y[TRAIN])
    history = {}
    booster = lightgbm.train(
        {**QUIET, "objective": "binary", "metric": "None"},
        data,
        200,
        valid_sets=[lightgbm.Dataset(X[TEST], Y[TEST], reference=data)],
        feval=lightgbm_metric(0.3, 0.3),
        callbacks=[lightgbm.early_stopping(15, verbose=False), lightgbm.record_evaluation(history)],
    )
    values = history["valid_0"]["tpauc"]
    assert len(values) < 200
    assert booster.best_iteration == 1 + int(np.argmax(values))
    assert max(values) == tpauc_of(booster.predict(X[TEST], num_iteration=booster.best_iteration))
    classifier = lightgbm.LGBMClassifier(n_estimators=20, metric="None", **QUIET)
    classifier.fit(X[TRAIN], Y[TRAIN], eval_X=(X[TEST],), eval_y=(Y[TEST],), eval_metric=lightgbm_metric(0.3, 0.3))
    assert len(classifier.evals_result_["valid_0"]["tpauc"]) == 20


def test_xgboost_stops_early_on_the_metric_and_maximises_it_unasked():
    data, test = xgboost.DMatrix(X[TRAIN], Y[TRAIN]), xgboost.DMatrix(X[TEST], Y[TEST])
    history = {}
    booster = xgboost.train(
        {"objective": "binary:logistic", "nthread": 1, "disable_default_eval_metric": True},
        data,
        200,
        evals=[(test, "test")],
        custom_metric=xgboost_metric(0.3, 0.3),
        early_stopping_rounds=15,
        evals_result=history,
        verbose_eval=False,
    )
    values = history["test"]["auc_two_way"]
    assert len(values) < 200
    assert booster.best_iteration == int(np.argmax(values))
    classifier = xgboost.XGBClassifier(
        n_estimators=200, n_jobs=1, eval_metric=xgboost_metric(0.3, 0.3), early_stopping_rounds=15
    ).fit(X[TRAIN], Y[TRAIN], eval_set=[(X[TEST], Y[TEST])], verbose=False)
    assert classifier.best_iteration == int(np.argmax(classifier.evals_result()["validation_0"]["auc_two_way"]))


def test_metrics_count_ties_half_and_respect_weights():
    labels, scores = np.array([1, 0, 0]), np.array([1.0, 1.0, 0.0])
    assert lightgbm_metric(1.0, 1.0)(labels, scores) == ("tpauc", 0.75, True)
    assert xgboost_metric(1.0, 1.0)(labels, scores, np.array([1, 1, 3])) == 0.875
    weighted = xgboost.DMatrix(scores[:, None], labels, weight=[1, 1, 3])
    assert xgboost_metric(1.0, 1.0)(scores, weighted) == ("auc_two_way", 0.875)


@pytest.mark.parametrize("make", [lightgbm_objective, xgboost_objective, lightgbm_metric, xgboost_metric])
def test_objectives_and_metrics_pickle(make):
    value = make(0.2, 0.3)
    assert pickle.loads(pickle.dumps(value)) == value


# ------------------------------------------------------------------------------------------------------ the estimator


def a_booster(**parameters):
    return TPAUCBooster(**{"max_rounds": 40, "n_folds": 3, "random_state": 0, "n_jobs": 1, **parameters})


FITTED = a_booster().fit(X[TRAIN], Y[TRAIN])


@pytest.mark.filterwarnings("ignore:y holds .* and pos_label is not given")
@parametrize_with_checks(
    [a_booster()],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "LightGBM counts rows in leaves and bins, and folds change"
    },
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_the_defaults_beat_a_single_training():
    def noisy_table(n, seed):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(n, 12))
        signal = np.sin(2.0 * features[:, 0]) + features[:, 1] ** 2 / 2 + features[:, 2] - features[:, 3]
        return features, signal + rng.logistic(size=n) > 3.0

    train, (test_X, test_y) = noisy_table(1500, 0), noisy_table(20_000, 1)
    single = lightgbm.LGBMClassifier(**QUIET).fit(*train).predict(test_X, raw_score=True)
    ours = TPAUCBooster(random_state=0, n_jobs=1).fit(*train).score(test_X, test_y)
    assert ours > tpauc_score(test_y, single, alpha=0.3, beta=0.3) + 0.01


def test_candidates_are_those_of_both_losses_and_their_shares_add_up():
    names = [candidate["name"] for candidate in FITTED.candidates_]
    assert names == sorted(names)  # "log-loss" first
    assert set(names) == {"log-loss", "region"}
    assert sum(candidate["share"] for candidate in FITTED.candidates_) == pytest.approx(1.0)
    assert FITTED.chosen_
    plain = a_booster(region_rounds=0).fit(X[TRAIN], Y[TRAIN])
    assert {candidate["name"] for candidate in plain.candidates_} == {"log-loss"}
    shortest = a_booster(max_rounds=1, region_rounds=1).fit(X[TRAIN], Y[TRAIN])
    assert [(found["rounds"], found["region_rounds"]) for found in shortest.candidates_] == [(1, 0), (1, 1)]


@pytest.mark.parametrize(
    ("max_rounds", "last"),
    [(1, [1]), (10, [10]), (150, [100, 150]), (160, [150, 160]), (800, [400, 600, 800]), (2500, [1600, 2400, 2500])],
)
def test_candidates_of_log_loss_go_on_to_the_last_round(max_rounds, last):
    assert a_booster(max_rounds=max_rounds)._candidate_rounds()[-len(last) :] == last


def test_validated_values_are_those_of_rows_not_trained_on():
    shared = FITTED.out_of_fold_scores_
    value = tpauc_score(Y[TRAIN], shared, alpha=0.3, beta=0.3)
    best = max(candidate["tpauc"] for candidate in FITTED.candidates_)
    assert value == pytest.approx(best, abs=0.1)
    noise = np.random.default_rng(0).permutation(Y[TRAIN])
    assert tpauc_score(noise, a_booster().fit(X[TRAIN], noise).out_of_fold_scores_, alpha=0.3, beta=0.3) < 0.1


def test_the_threshold_is_the_operating_point_out_of_fold():
    booster = a_booster(beta=0.2).fit(X[TRAIN], Y[TRAIN])
    assert (booster.out_of_fold_scores_[Y[TRAIN] == 0] > booster.threshold_).mean() <= 0.2
    decision = booster.decision_function(X[TEST])
    assert np.array_equal(booster.predict(X[TEST]) == 1, decision > 0)
    assert np.array_equal(booster.predict_proba(X[TEST])[:, 1] > 0.5, decision > 0)
    calibrated = a_booster(calibrate=True).fit(X[TRAIN], Y[TRAIN]).predict_proba(X[TEST])
    assert calibrated[:, 1].mean() == pytest.approx(Y[TEST].mean(), abs=0.04)


def test_results_follow_from_the_random_state_and_models_pickle():
    again, other = (a_booster(random_state=seed).fit(X[TRAIN], Y[TRAIN]) for seed in (0, 1))
    decision = FITTED.decision_function(X)
    assert np.array_equal(decision, again.decision_function(X))
    assert not np.array_equal(decision, other.decision_function(X))
    assert np.array_equal(decision, pickle.loads(pickle.dumps(FITTED)).decision_function(X))


def test_all_cores_give_the_same_trees(monkeypatch):
    threads = []

    def spied(*arguments, params):
        threads.append(params["num_threads"])
        return dataset(*arguments, params=params)

    dataset = lightgbm.Dataset
    monkeypatch.setattr(lightgbm, "Dataset", spied)
    decision = a_booster(n_jobs=-1).fit(X[TRAIN], Y[TRAIN]).decision_function(X)
    assert threads == [joblib.cpu_count()]
    assert np.array_equal(decision, FITTED.decision_function(X))


def test_frames_names_and_missing_values():
    frame = pd.DataFrame(X.copy(), columns=list("abcdef"))  # pandas 2 would write into X
    frame.loc[::7, "a"] = np.nan
    booster = a_booster(pos_label="fraud").fit(frame[TRAIN], np.where(Y[TRAIN] == 1, "fraud", "fine"))
    assert list(booster.feature_names_in_) == list("abcdef")
    assert set(booster.predict(frame[TEST])) <= {"fine", "fraud"}
    assert booster.score(frame[TEST], np.where(Y[TEST] == 1, "fraud", "fine")) > 0.1
    assert cross_val_score(a_booster(), frame, Y, scoring=tpauc_scorer(0.3, 0.3), cv=2).shape == (2,)


FEW_COPIES = "copies of a row could not be kept in one fold, so the values may be too high"


def test_features_that_say_nothing_and_copies_of_one_row():
    with pytest.warns(UserWarning, match=FEW_COPIES) as caught:
        nothing = a_booster(n_repeats=2).fit(np.ones((300, 2)), Y[:300])
    assert [warning.filename for warning in caught] == [__file__]
    assert not nothing.predict(np.ones((3, 2))).any()
    few = np.repeat(X[:2], 50, axis=0)
    with pytest.warns(UserWarning, match=FEW_COPIES):
        assert np.isfinite(a_booster().fit(few, np.arange(100) % 2).decision_function(few)).all()


def test_a_tiny_region_on_one_feature_of_two_values():
    rng = np.random.default_rng(0)
    feature = rng.integers(0, 2, 2000)
    with pytest.warns(UserWarning, match=FEW_COPIES):  # and no other
        booster = a_booster(beta=0.001).fit(feature[:, None], rng.random(2000) < 0.1 + 0.2 * feature)
    zero, one = booster.decision_function([[0], [1]])
    assert zero < one < np.inf


def test_copies_of_a_row_are_not_judged_by_trees_that_saw_them():
    rng = np.random.default_rng(0)
    once, labels = rng.normal(size=(150, 4)), rng.integers(0, 2, 150)
    copied = np.repeat(once, 8, axis=0), np.repeat(labels, 8)
    value = tpauc_score(copied[1], a_booster().fit(*copied).out_of_fold_scores_, alpha=0.3, beta=0.3)
    assert value < 0.3  # labels are noise; trees that had seen the copies would rank them perfectly


def test_copies_share_a_fold_also_where_a_class_has_fewer_distinct_rows_than_folds():
    rng = np.random.default_rng(0)
    few, labels = rng.normal(size=(404, 4)), np.arange(404) < 4
    copied = np.repeat(few, np.where(labels, 100, 1), axis=0), np.repeat(labels, np.where(labels, 100, 1))
    booster = a_booster(n_folds=5).fit(*copied)
    assert len(booster.paths_) == 4
    assert tpauc_score(copied[1], booster.out_of_fold_scores_, alpha=0.3, beta=0.3) < 0.3


def test_repeated_folds_average_what_did_not_see_a_row():
    booster = a_booster(n_repeats=2, max_rounds=10, region_rounds=0).fit(X[TRAIN], Y[TRAIN])
    assert len(booster.paths_) == 6
    shares = booster.shares_
    by_path = [booster.offset_ + path.weighted(X[TRAIN], shares) for path in booster.paths_]
    # Each row is scored by the mean of one training of each repeat.
    means = [(first + second) / 2 for first in by_path[:3] for second in by_path[3:]]
    closest = np.min([np.abs(mean - booster.out_of_fold_scores_) for mean in means], axis=0)
    assert closest.max() < 1e-9


class GivenScores:
    """A path whose candidate after k rounds scores a row by its k-th feature."""

    def grow(self, candidate):
        pass

    def added(self, X, before, candidate):
        return X[:, candidate.rounds] - (0.0 if before is None else X[:, before.rounds])


def validated(positive, fold, *columns):
    validation = PathValidation(np.column_stack(columns), positive, fold[None], Region(0.3, 0.3))
    for k in range(len(columns)):
        validation.grow([GivenScores()] * 5, Rounds(k, 0))
    return validation


def test_shares_follow_the_evidence():
    rng = np.random.default_rng(0)
    positive, fold = np.arange(600) % 4 == 0, np.arange(600) // 4 % 5
    good, noise = positive + 0.7 * rng.normal(size=600), rng.normal(size=600)
    validation = validated(positive, fold, noise, good)
    values, shares = validation.tpauc().validated, validation.tpauc().shares(0.5)
    by_fold = [tpauc_score(positive[fold == k], good[fold == k], alpha=0.3, beta=0.3) for k in range(5)]
    assert values[1] == pytest.approx((np.mean(by_fold) + tpauc_score(positive, good, alpha=0.3, beta=0.3)) / 2)
    assert shares[1] > 0.99
    assert validation.best() == Rounds(1, 0)
    assert np.allclose(validation.scores(), np.column_stack((noise, good)))
    assert validated(positive, fold, good, good).tpauc().shares(0.5) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"alpha": 0.0}, ValueError, "alpha must be a share"),
        ({"beta": 1.5}, ValueError, "beta must be a share"),
        ({"n_folds": 1}, ValueError, "n_folds must be at least 2"),
        ({"n_repeats": 0}, ValueError, "n_repeats must be at least 1"),
        ({"max_rounds": 0}, ValueError, "max_rounds must be at least 1"),
        ({"region_rounds": -1}, ValueError, "region_rounds must be at least 0"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate must be above 0"),
        ({"num_leaves": 1}, ValueError, "num_leaves must be at least 2"),
        ({"min_child_samples": 2.5}, TypeError, "min_child_samples must be a whole number"),
        ({"reg_lambda": -1.0}, ValueError, "reg_lambda must be at least 0"),
        ({"subsample": 0.0}, ValueError, "subsample must be a share"),
        ({"colsample": 2.0}, ValueError, "colsample must be a share"),
        ({"calibrate": "yes"}, TypeError, "calibrate must be True or False, got 'yes'"),
        ({"n_jobs": 0}, ValueError, "n_jobs, unless None or -1 for all cores, must be at least 1, got 0"),
        ({"n_jobs": -2}, ValueError, "n_jobs, unless None or -1 for all cores, must be at least 1, got -2"),
        ({"n_jobs": "all"}, TypeError, "n_jobs, unless None or -1 for all cores, must be a whole number, got 'all'"),
    ],
)
def test_bad_parameters_name_themselves(parameters, error, message):
    with pytest.raises(error, match=message):
        a_booster(**parameters).fit(X[TRAIN], Y[TRAIN])


def test_bad_data_is_an_error_that_says_what_is_wrong():
    with pytest.raises(ValueError, match="Only binary classification"):
        a_booster().fit(X, np.arange(1500) % 3)
    with pytest.raises(ValueError, match="one class only"):
        a_booster().fit(X, np.zeros(1500))
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        a_booster().fit(sparse.csr_matrix(X), Y)
    one = np.zeros(1500, dtype=int)
    one[0] = 1
    with (
        pytest.warns(UserWarning, match="select none of the 1 positive"),
        pytest.raises(ValueError, match="at least 2 rows of each class"),
    ):
        a_booster().fit(X, one)


def test_a_missing_lightgbm_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tpauc\[lightgbm\]'"):
        a_booster().fit(X[TRAIN], Y[TRAIN])


def test_a_second_fit_that_fails_leaves_no_model():
    booster = TPAUCBooster(max_rounds=20, n_folds=2, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="one class only"):
        booster.fit(X, np.zeros(len(X)))
    with pytest.raises(NotFittedError):
        booster.predict(X)


def test_a_second_fit_leaves_nothing_of_the_first():
    booster = TPAUCBooster(max_rounds=20, n_folds=2, calibrate=True, random_state=0).fit(X, Y)
    again = booster.set_params(calibrate=False).fit(X, Y)
    fresh = TPAUCBooster(max_rounds=20, n_folds=2, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), fresh.predict_proba(X))


def test_the_positive_class_may_be_the_first_and_the_threshold_changed():
    names = np.where(Y == 1, "fraud", "ok")
    booster = a_booster(pos_label="fraud").fit(X[TRAIN], names[TRAIN])
    assert booster.threshold_ == FITTED.threshold_ == FITTED.operating_point_.threshold
    assert booster.score(X[TEST], names[TEST]) == FITTED.score(X[TEST], Y[TEST])
    np.testing.assert_array_equal(booster.predict(X) == "fraud", FITTED.predict(X) == 1)
    np.testing.assert_array_equal(booster.decision_function(X) > 0, booster.predict(X) == "ok")
    assert set(booster.set_threshold(1e3).predict(X)) == {"ok"}
    with pytest.warns(UserWarning, match="'ok' is taken as the positive class") as caught:
        a_booster(max_rounds=5).fit(X[TRAIN], names[TRAIN])
    assert [warning.filename for warning in caught] == [__file__]


def test_groups_share_a_fold():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 6)
    rows = np.repeat(rng.normal(size=(100, 6)), 6, axis=0) + 1e-6 * rng.normal(size=(600, 6))
    labels = (np.arange(100) % 3 == 0)[groups]
    values = [
        tpauc_score(labels, a_booster().fit(rows, labels, groups=given).out_of_fold_scores_, alpha=0.3, beta=0.3)
        for given in (groups, None)
    ]
    assert values[0] < 0.3  # noise
    assert values[1] > 0.8  # rows that were remembered


def test_weights_weigh_rows():
    ones = a_booster().fit(X[TRAIN], Y[TRAIN], sample_weight=np.ones(1000))
    np.testing.assert_allclose(ones.decision_function(X), FITTED.decision_function(X), rtol=1e-6, atol=1e-9)
    options = {"min_child_samples": 1, "max_rounds": 20, "colsample": 1.0}
    times = np.random.default_rng(0).integers(0, 4, 1000)
    rows = np.repeat(np.arange(1000), times)
    weighted = a_booster(**options).fit(X[TRAIN], Y[TRAIN], sample_weight=times)
    repeated = a_booster(**options).fit(X[rows], Y[rows])
    plain = a_booster(**options).fit(X[TRAIN], Y[TRAIN])
    assert np.array_equal(np.isnan(weighted.out_of_fold_scores_), times == 0)
    agreement = np.corrcoef([model.decision_function(X[TEST]) for model in (weighted, repeated, plain)])[0]
    assert agreement[1] > agreement[2]
    assert weighted.offset_ == pytest.approx(repeated.offset_)


def test_small_tables_are_boosted_by_one_thread():
    assert TPAUCBooster()._threads(999_999) == 1
    assert TPAUCBooster()._threads(1_000_000) == 0  # LightGBM's choice
    assert TPAUCBooster(n_jobs=3)._threads(10) == 3
