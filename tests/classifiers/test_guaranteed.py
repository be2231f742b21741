"""A wrapped classifier keeps its promise on new rows, and is a scikit-learn classifier."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from scored_samples import assert_rate
from tpauc.classifiers.guaranteed import GuaranteedThresholdClassifier
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
from tpauc.metrics.operating_points import operating_point

# The checks fit a dozen rows. A single held-out row of a class can promise this much.
SMALL = {"alpha": 0.1, "beta": 0.1, "guarantee": 0.1, "cv": 0.5, "random_state": 0}


@pytest.mark.filterwarnings("ignore:y holds .* and pos_label is not given")
@parametrize_with_checks(
    [
        GuaranteedThresholdClassifier(LinearSVC(), **SMALL),
        GuaranteedThresholdClassifier(LinearSVC(), **SMALL, rule="min_fpr"),
        GuaranteedThresholdClassifier(LogisticRegression(), **SMALL),
    ],
    # As of scikit-learn's own threshold classifiers.
    expected_failed_checks=lambda wrapper: (
        {"check_classifiers_train": "probabilities are the estimator's own, and predict does not cut them at 0.5"}
        if hasattr(wrapper, "predict_proba")
        else {}
    ),
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def a_table(n, seed=0, shift=2.0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return rng.normal(size=(n, 3)) + shift * y[:, None] * [1.0, 0.5, 0.0], y


X, Y = a_table(1000)
REGION = {"alpha": 0.2, "beta": 0.1}


def guaranteed(estimator=None, **options):
    return GuaranteedThresholdClassifier(estimator or LogisticRegression(), **{**REGION, "random_state": 0, **options})


class Recording(LogisticRegression):
    """Remembers what it was fitted to."""

    def fit(self, X, y, sample_weight=None):
        self.fitted_to_ = X.copy()
        self.weight_ = sample_weight
        return super().fit(X, y)


# ------------------------------------------------------------------------------------------------------------- promise


@pytest.mark.parametrize("rule", ["max_tpr", "min_fpr"])
def test_the_promise_holds_on_new_rows(rule):
    new_X, new_y = a_table(20_000, seed=10**6)
    broken = broken_without = 0
    for seed in range(200):
        rows = a_table(300, seed)
        for guarantee in (0.9, None):
            alarms = guaranteed(rule=rule, guarantee=guarantee, cv=0.5, random_state=seed).fit(*rows).predict(new_X)
            fpr, tpr = alarms[new_y == 0].mean(), alarms[new_y == 1].mean()
            is_broken = fpr > 0.1 if rule == "max_tpr" else tpr < 0.8
            if guarantee is None:
                broken_without += is_broken
            else:
                broken += is_broken
    assert_rate(broken, 200, 0.02, 0.1)
    assert broken_without > 50


def test_the_rows_that_decide_are_not_trained_on():
    y = Y.copy()
    fitted = guaranteed(Recording(), cv=0.4).fit(X, y, sample_weight=np.arange(1.0, 1001.0))
    is_trained = (X[:, None, 0] == fitted.estimator_.fitted_to_[None, :, 0]).any(axis=1)
    assert [is_trained[y == label].sum() for label in (0, 1)] == [
        (y == label).sum() - round(0.4 * (y == label).sum()) for label in (0, 1)
    ]
    assert np.array_equal(fitted.estimator_.weight_, np.arange(1.0, 1001.0)[is_trained])
    held_out = ~is_trained
    scores = fitted.estimator_.decision_function(X[held_out])
    point = operating_point(y[held_out], scores, **REGION, guarantee=0.95)
    assert fitted.operating_point_ == point
    assert fitted.threshold_ == point.threshold
    assert np.array_equal(fitted.predict(X) == 1, fitted.estimator_.decision_function(X) >= point.threshold)


def test_groups_stay_on_one_side():
    groups = np.random.default_rng(0).integers(200, size=1000)
    fitted = guaranteed(Recording(), guarantee=0.5).fit(X, Y, groups=[f"patient {g}" for g in groups])
    is_trained = (X[:, None, 0] == fitted.estimator_.fitted_to_[None, :, 0]).any(axis=1)
    trained, held_out = set(groups[is_trained]), set(groups[~is_trained])
    assert not trained & held_out
    assert 50 <= len(held_out) <= 70
    scores = fitted.estimator_.decision_function(X[~is_trained])
    point = operating_point(Y[~is_trained], scores, **REGION, guarantee=0.5, groups=groups[~is_trained])
    assert fitted.threshold_ == point.threshold


@pytest.mark.parametrize("frozen", [False, True])
def test_a_fitted_estimator_is_left_as_it_is(frozen):
    base = LogisticRegression().fit(X[:500], Y[:500])
    before = base.coef_.copy()
    wrapper = guaranteed(FrozenEstimator(base)) if frozen else guaranteed(base, cv="prefit")
    fitted = wrapper.fit(X[500:], Y[500:])
    assert np.array_equal(base.coef_, before)
    point = operating_point(Y[500:], base.decision_function(X[500:]), **REGION, guarantee=0.95)
    assert fitted.operating_point_ == point
    with pytest.raises(ValueError, match=r"^sample_weight has no effect here, as the estimator is fitted already"):
        wrapper.fit(X[500:], Y[500:], sample_weight=np.ones(500))


def test_without_a_guarantee_nothing_may_alarm_where_nothing_can():
    # All held-out scores tie: no threshold keeps the false alarms in bounds.
    constant = np.zeros((100, 1))
    fitted = guaranteed(guarantee=None).fit(constant, np.arange(100) % 2)
    assert fitted.operating_point_.threshold == np.inf
    assert np.isfinite(fitted.decision_function(constant)).all()
    assert not fitted.predict(constant).any()


# ------------------------------------------------------------------------------------------------------ positive class


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC(), GaussianNB()])
@pytest.mark.parametrize("positive", ["fraud", "ok"])
def test_either_class_may_be_positive(estimator, positive):
    y = np.where(Y == 1, positive, "ok" if positive == "fraud" else "fraud")
    fitted = guaranteed(estimator, pos_label=positive).fit(X, y)
    plain = guaranteed(estimator).fit(X, Y)
    assert fitted.classes_.tolist() == ["fraud", "ok"]
    assert fitted.pos_label_ == positive
    assert np.array_equal(fitted.predict(X) == positive, plain.predict(X) == 1)
    assert fitted.threshold_ == pytest.approx(plain.threshold_)
    assert np.array_equal(fitted.decision_function(X) > 0, fitted.predict(X) == "ok")
    assert (fitted.predict(X) == positive)[Y == 0].mean() < 0.12


def test_labels_without_an_order_bring_a_warning():
    y = np.where(Y == 1, "ill", "well")
    message = "y holds 'ill' and 'well', and pos_label is not given; 'well' is taken as the positive class; give"
    with pytest.warns(UserWarning, match=message) as caught:
        fitted = guaranteed().fit(X, y)
    assert caught[0].filename == __file__
    assert fitted.pos_label_ == "well"
    with pytest.warns(UserWarning, match=message):  # the same words
        TPAUCClassifier(random_state=0).fit(X, y)
    for labels in (2 * Y - 1, Y.astype(bool), Y.astype(float)):
        assert guaranteed().fit(X, labels).pos_label_ == 1


# ------------------------------------------------------------------------------------------------------------ estimator


def test_probabilities_are_the_estimators_own():
    fitted = guaranteed().fit(X, Y)
    assert np.array_equal(fitted.predict_proba(X), fitted.estimator_.predict_proba(X))
    assert not hasattr(guaranteed(LinearSVC()), "predict_proba")
    by_probability = guaranteed(response_method="predict_proba").fit(X, Y)
    assert 0 < by_probability.threshold_ < 1
    assert np.array_equal(by_probability.predict(X), fitted.predict(X))


def test_single_precision_is_cut_where_it_was_promised():
    rows = X.astype(np.float32)
    fitted = guaranteed(FrozenEstimator(LogisticRegression().fit(rows[:500], Y[:500]))).fit(rows[500:], Y[500:])
    alarms = fitted.predict(rows[500:]) == 1
    assert alarms[Y[500:] == 0].sum() == fitted.operating_point_.false_positives
    assert alarms[Y[500:] == 1].sum() == fitted.operating_point_.true_positives


def test_the_threshold_can_be_changed_and_the_model_kept():
    fitted = pickle.loads(pickle.dumps(guaranteed().fit(X, Y)))
    fitted.threshold_ = 0.0
    assert np.array_equal(fitted.predict(X), fitted.estimator_.predict(X))
    with pytest.raises(NotFittedError):
        clone(fitted).predict(X)


def test_frames_and_pipelines_work():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = guaranteed(make_pipeline(StandardScaler(), LogisticRegression())).fit(frame, pd.Series(Y))
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    assert fitted.n_features_in_ == 3
    assert set(fitted.predict(frame)) == {0, 1}


# ------------------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alpha": 0}, ValueError, r"alpha must be a share in \(0, 1\], got 0"),
        ({"rule": "cost"}, ValueError, "rule must be one of 'max_tpr', 'min_fpr', got 'cost'"),
        ({"guarantee": 1}, ValueError, r"guarantee must be in \(0, 1\), got 1"),
        ({"cv": 5}, ValueError, r"cv must be a share in \(0, 1\) or 'prefit', got 5; folds promise nothing"),
        ({"cv": "folds"}, ValueError, r"cv must be a share in \(0, 1\) or 'prefit', got 'folds'"),
        ({"cv": None}, TypeError, "cv must be a number, got None"),
        (
            {"response_method": "predict"},
            ValueError,
            "response_method must be one of 'auto', 'decision_function', 'pre",
        ),
        ({"pos_label": 2}, ValueError, r"pos_label=2 is not among the labels of y, 0 and 1"),
        ({"cv": "prefit"}, NotFittedError, "This LogisticRegression instance is not fitted yet"),
        (
            {"guarantee": 0.999999999999},
            ValueError,
            r"guarantee=0.999999999999 for beta=0.1 needs at least 263 negative examples, found \d+; give",
        ),
    ],
)
def test_bad_options_are_named(options, error, message):
    fitted = guaranteed().fit(X, Y)
    fitted.set_params(**options)
    with pytest.raises(error, match=rf"^{message}"):
        fitted.fit(X, Y)
    with pytest.raises(NotFittedError):  # a failed fit leaves no model
        fitted.predict(X)


def test_bad_rows_are_named():
    with pytest.raises(ValueError, match=r"^no positive row is left to be held out with cv=0.3; give more rows"):
        guaranteed().fit(X[:20], np.arange(20) == 3)
    with pytest.raises(ValueError, match=r"^y has one class only, 1"):
        guaranteed().fit(X, np.ones(1000, int))
    with pytest.raises(ValueError, match=r"^sample_weight is zero for every negative example"):
        guaranteed().fit(X, Y, sample_weight=Y)
    with pytest.raises(ValueError, match=r"^groups must hold at least 2 groups with a positive row"):
        guaranteed().fit(X, Y, groups=np.zeros(1000))
    with pytest.raises(
        ValueError, match=r"^the estimator was fitted to the classes \[False  True\], but y holds \[-1  1\]"
    ):
        guaranteed(LogisticRegression().fit(X, Y == 1), cv="prefit").fit(X, 2 * Y - 1)
    with pytest.raises(AttributeError, match=r"^the estimator LinearSVC has no predict_proba, which gives the scores"):
        guaranteed(LinearSVC(), response_method="predict_proba").fit(X, Y)
