import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tpauc._validation import check_labels_and_scores
from tpauc.classifiers.scorer import tpauc_scorer
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
from tpauc.classifiers.training_methods import METHODS, powers_of_two
from tpauc.metrics import area
from tpauc.metrics.area import tpauc_score
from tpauc.metrics.operating_points import operating_point


def a_table(n, d, seed=0):
    """Rare positives, and one feature with heavy tails: what a linear model says of extremes costs it the corner."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, d))
    y = (hidden[:, 0] + 0.7 * hidden[:, 1] + 0.3 * rng.normal(size=n) > 1.4).astype(int)
    hidden[:, 0] = np.sinh(1.5 * hidden[:, 0])
    return hidden, y


X, Y = a_table(700, 8)
TRAIN, TEST = slice(0, 450), slice(450, None)


# The checks fit on labels of any kind.
@pytest.mark.filterwarnings("ignore:y holds .* and pos_label is not given")
@parametrize_with_checks(
    [TPAUCClassifier(random_state=0)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "it shuffles the rows, which changes the folds"
    },
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_a_linear_model(method):
    classifier = TPAUCClassifier(method=method, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert classifier.score(X[TEST], Y[TEST]) > 0.5
    assert classifier.coef_.shape == (1, 8)
    assert classifier.intercept_.shape == (1,)
    assert classifier.chosen_
    assert np.isfinite(classifier.out_of_fold_scores_).all()


def a_network(**parameters):
    """Return a classifier with a short training."""
    return TPAUCClassifier(**{"model": "mlp", "cross_entropy_steps": 200, "random_state": 0, **parameters})


@pytest.mark.parametrize(
    "parameters",
    [
        {"method": "region", "n_folds": 2},
        {"method": "cross_entropy"},
        {"method": "minimax", "epochs": 2, "n_folds": 2},
        {"method": "polynomial", "epochs": 2, "n_folds": 2},
    ],
)
def test_methods_train_a_network(parameters):
    classifier = a_network(**parameters).fit(X[TRAIN], Y[TRAIN])
    assert classifier.score(X[TEST], Y[TEST]) > 0.3  # 56 positives are few for a network; chance has 0.0
    assert isinstance(classifier.module_, torch.nn.Module)


def test_networks_of_the_folds_are_averaged():
    classifier = a_network(n_folds=2).fit(X[TRAIN], Y[TRAIN])
    assert len(classifier.candidates_) == 4
    assert sum(candidate["share"] for candidate in classifier.candidates_) == pytest.approx(1.0)
    assert classifier.module_.weights.shape == (8,)  # plain and balanced, in two folds, before and after the region
    assert np.isfinite(classifier.out_of_fold_scores_).all()
    negatives = classifier.out_of_fold_scores_[Y[TRAIN] == 0]
    assert (negatives > classifier.threshold_).mean() <= 0.3
    assert np.array_equal(pickle.loads(pickle.dumps(classifier)).predict(X), classifier.predict(X))


def test_a_cross_entropy_is_trained_once_unless_it_is_calibrated():
    once = a_network(method="cross_entropy").fit(X[TRAIN], Y[TRAIN])
    assert not hasattr(once, "out_of_fold_scores_")
    without_choice = a_network(method="cross_entropy", validation=None).fit(X[TRAIN], Y[TRAIN])
    assert np.array_equal(once.decision_function(X), without_choice.decision_function(X))
    calibrated = a_network(method="cross_entropy", calibrate=True, n_folds=2).fit(X[TRAIN], Y[TRAIN])
    assert np.isfinite(calibrated.out_of_fold_scores_).all()


@pytest.mark.parametrize("validation", [0.3, (X[TEST], Y[TEST]), None], ids=["share", "set", "none"])
def test_networks_without_folds(validation):
    classifier = a_network(validation=validation).fit(X[TRAIN], Y[TRAIN])
    assert classifier.score(X[TEST], Y[TEST]) > 0.3
    assert hasattr(classifier, "candidates_") == (validation is not None)
    assert validation is not None or classifier.chosen_ == "region from balanced, 100 steps"


def test_a_users_module():
    def make(n_features):
        return torch.nn.Sequential(torch.nn.Linear(n_features, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))

    for parameters in ({"n_folds": 2}, {"validation": 0.3}, {"method": "square_auc", "epochs": 2, "n_folds": 2}):
        classifier = a_network(model=make, cross_entropy_steps=50, **parameters).fit(X[TRAIN], Y[TRAIN])
        assert classifier.predict(X[TEST]).shape == (250,)
    with pytest.raises(ValueError, match="the output of model must have shape"):
        a_network(model=lambda d: torch.nn.Linear(d, 2), validation=None).fit(X, Y)


def test_training_for_the_region_beats_cross_entropy_where_a_linear_model_must_choose():
    features, y = a_table(8000, 4)
    ours = TPAUCClassifier(random_state=0).fit(features[:4000], y[:4000]).score(features[4000:], y[4000:])
    for method in ("cross_entropy", "balanced_cross_entropy"):
        other = TPAUCClassifier(method=method, random_state=0).fit(features[:4000], y[:4000])
        assert ours > other.score(features[4000:], y[4000:]) + 0.005


@pytest.mark.parametrize("method", ["region", "square_auc"])
@pytest.mark.parametrize("validation", ["cv", 0.3, (X[TEST], Y[TEST]), None], ids=["cv", "share", "set", "none"])
def test_ways_of_choosing(method, validation):
    classifier = TPAUCClassifier(method=method, validation=validation, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert classifier.score(X[TEST], Y[TEST]) > 0.5
    assert hasattr(classifier, "candidates_") == (validation is not None)


def test_the_threshold_is_the_operating_point_out_of_fold():
    classifier = TPAUCClassifier(alpha=0.3, beta=0.2, random_state=0).fit(X[TRAIN], Y[TRAIN])
    negatives = classifier.out_of_fold_scores_[Y[TRAIN] == 0]
    assert (negatives > classifier.threshold_).mean() <= 0.2
    assert np.array_equal(classifier.predict(X[TEST]) == 1, classifier.decision_function(X[TEST]) > 0)
    assert np.array_equal(classifier.predict_proba(X[TEST])[:, 1] > 0.5, classifier.decision_function(X[TEST]) > 0)


def test_calibrated_probabilities_average_to_the_base_rate():
    classifier = TPAUCClassifier(calibrate=True, random_state=0).fit(X[TRAIN], Y[TRAIN])
    probabilities = classifier.predict_proba(X[TEST])
    assert probabilities[:, 1].mean() == pytest.approx(Y[TEST].mean(), abs=0.04)
    assert np.allclose(probabilities.sum(1), 1.0)


def test_results_follow_from_the_random_state():
    first, again, other = (
        a_network(cross_entropy_steps=20, n_folds=2, random_state=seed).fit(X[TRAIN], Y[TRAIN]).decision_function(X)
        for seed in (3, 3, 4)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    linear = [TPAUCClassifier(random_state=3).fit(X[TRAIN], Y[TRAIN]).coef_ for _ in range(2)]
    assert np.array_equal(*linear)


def test_the_callers_random_numbers_are_left_alone():
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    a_network(cross_entropy_steps=20, n_folds=2).fit(X[TRAIN], Y[TRAIN])
    TPAUCClassifier(method="polynomial", max_steps=2, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert torch.equal(before[0], torch.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002


def test_labels_may_be_anything_with_two_values():
    names = np.where(Y == 1, "fraud", "fine")
    by_name = TPAUCClassifier(random_state=0, pos_label="fraud").fit(X[TRAIN], names[TRAIN])
    assert list(by_name.classes_) == ["fine", "fraud"]
    assert set(by_name.predict(X[TEST])) <= {"fine", "fraud"}
    assert by_name.score(X[TEST], names[TEST]) == TPAUCClassifier(random_state=0).fit(X[TRAIN], Y[TRAIN]).score(
        X[TEST], Y[TEST]
    )


def test_pipelines_searches_and_frames():
    columns = [f"x{k}" for k in range(8)]
    frame = pd.DataFrame(X, columns=columns)
    pipeline = make_pipeline(StandardScaler(), TPAUCClassifier(random_state=0))
    assert pipeline.fit(frame, Y).decision_function(frame).shape == (700,)
    search = GridSearchCV(
        TPAUCClassifier(random_state=0), {"regularization": [0.1, 1.0]}, scoring=tpauc_scorer(0.3, 0.3), cv=2
    )
    assert search.fit(frame, Y).best_score_ > 0.5
    classifier = TPAUCClassifier(random_state=0).fit(frame, Y)
    assert list(classifier.feature_names_in_) == columns
    polars = pl.DataFrame(X, schema=columns)
    # By columns or by rows in memory: BLAS may add the same products in another order.
    np.testing.assert_allclose(classifier.decision_function(polars), classifier.decision_function(frame), rtol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame.rename(columns={"x0": "other"}))


def test_the_scorer_is_the_metric():
    scores = cross_val_score(LogisticRegression(), X, Y, scoring=tpauc_scorer(0.3, 0.3), cv=3)
    assert scores.shape == (3,)
    fitted = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    expected = tpauc_score(Y[TEST], fitted.decision_function(X[TEST]), alpha=0.3, beta=0.3)
    assert tpauc_scorer(0.3, 0.3)(fitted, X[TEST], Y[TEST]) == expected
    with pytest.raises(ValueError, match="beta must be a share"):
        tpauc_scorer(0.3, 0.0)


def test_sparse_input_is_refused_clearly():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        TPAUCClassifier().fit(sparse.csr_matrix(X), Y)


def test_pickles_clones_and_features_that_say_nothing():
    classifier = TPAUCClassifier(random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert np.array_equal(pickle.loads(pickle.dumps(classifier)).predict(X), classifier.predict(X))
    with pytest.raises(NotFittedError):
        clone(classifier).predict(X)
    constant = np.column_stack((X, np.ones(len(X))))
    assert np.isfinite(TPAUCClassifier(random_state=0).fit(constant, Y).decision_function(constant)).all()
    with pytest.warns(UserWarning, match="could not be kept in one fold"):
        nothing = TPAUCClassifier(random_state=0).fit(np.ones((700, 2)), Y)
    assert not nothing.predict(np.ones((3, 2))).any()
    unscaled = TPAUCClassifier(standardize=False, random_state=0).fit(X[TRAIN] * 3.0 + 1.0, Y[TRAIN])
    assert unscaled.score(X[TEST] * 3.0 + 1.0, Y[TEST]) > 0.5


SHORT = {"cross_entropy_steps": 20}


def a_module(n_features):
    return torch.nn.Linear(n_features, 1)


WAYS_OF_FOLDS = [
    {"model": "linear"},
    {"model": "linear", "method": "polynomial", "max_steps": 2},
    {"model": "mlp", "cross_entropy_steps": 50},
]


@pytest.mark.parametrize("parameters", WAYS_OF_FOLDS)
def test_copies_share_a_fold_also_where_a_class_has_fewer_distinct_rows_than_folds(parameters):
    labels = np.arange(204) < 4
    times = np.where(labels, 50, 1)
    features = np.random.default_rng(0).normal(size=(204, 100))  # so many that a model remembers rows
    table, positive = np.repeat(features, times, axis=0), np.repeat(labels, times)
    # Scaled by a mean that is half theirs, so few positives would be known to a network by where they lie.
    classifier = TPAUCClassifier(standardize=False, random_state=0, **parameters).fit(table, positive)
    value = tpauc_score(positive, classifier.out_of_fold_scores_, alpha=0.3, beta=0.3)
    assert value < 0.5  # noise; 1 for rows that were remembered


@pytest.mark.parametrize("parameters", [*WAYS_OF_FOLDS, {"validation": 0.3, "method": "polynomial", "max_steps": 2}])
def test_copies_that_cannot_be_kept_together_are_a_warning_at_the_line_that_called_fit(parameters):
    labels = np.arange(200) < 50
    with pytest.warns(UserWarning, match="copies: 1, without: 1; copies of a row could not be kept") as caught:
        TPAUCClassifier(random_state=0, **parameters).fit(labels[:, None].astype(float), labels)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    "parameters",
    [
        *({"model": "linear", "method": method, "n_folds": 2} for method in ("region", "polynomial")),
        *({"model": "mlp", "method": method, "n_folds": 2, **SHORT} for method in ("region", "polynomial")),
        {"model": "mlp", "method": "cross_entropy", **SHORT},
    ],
)
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_a_feature_that_is_constant_in_training_counts_for_nothing(parameters, value):
    table = np.column_stack((X, np.full(len(X), value)))
    classifier = TPAUCClassifier(random_state=0, **parameters).fit(table[TRAIN], Y[TRAIN])
    other = table.copy()
    other[:, -1] = np.linspace(-100.0, 100.0, len(X))
    for fitted in (classifier, pickle.loads(pickle.dumps(classifier))):
        np.testing.assert_array_equal(fitted.decision_function(other), classifier.decision_function(table))
        assert np.ptp(fitted.decision_function(other)) > 0


def test_a_second_fit_that_fails_leaves_no_model():
    classifier = TPAUCClassifier(random_state=0).fit(X[TRAIN], Y[TRAIN])
    for rows, labels in ((X, np.zeros(len(X))), (X[:, :2], np.arange(len(X)) % 3), (np.full_like(X, np.nan), Y)):
        with pytest.raises(ValueError, match=r"one class only|binary|NaN"):
            classifier.fit(rows, labels)
        with pytest.raises(NotFittedError):
            classifier.predict(X)
    classifier.fit(X[TRAIN], Y[TRAIN]).predict(X)


def test_a_region_without_anybody_is_trained_for_the_one_hardest_with_a_warning():
    rows = np.r_[np.flatnonzero(Y == 1)[:3], np.flatnonzero(Y == 0)[:50]]
    with pytest.warns(UserWarning, match=r"alpha=0.3, beta=0.3 select none of the 3 positive"):
        TPAUCClassifier(random_state=0).fit(X[rows], Y[rows])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"model": "forest"}, ValueError, "model must be one of 'linear', 'mlp'"),
        ({"method": "hinge"}, ValueError, "method must be one of"),
        ({"alpha": 0.0}, ValueError, "alpha must be a share"),
        ({"beta": 2.0}, ValueError, "beta must be a share"),
        ({"validation": "holdout"}, ValueError, "validation must be one of 'cv'"),
        ({"validation": 1.5}, ValueError, r"validation must be in \(0, 1\)"),
        ({"validation": (X,)}, ValueError, "validation must be a pair"),
        ({"validation": (X[TEST], np.zeros(250))}, ValueError, "validation must hold both labels"),
        ({"validation": (X[TEST], Y[TRAIN])}, ValueError, "validation has 250 rows"),
        ({"n_folds": 1}, ValueError, "n_folds must be at least 2"),
        ({"max_steps": 0}, ValueError, "max_steps must be at least 1"),
        ({"epochs": 2.5}, TypeError, "epochs must be a whole number"),
        ({"cross_entropy_steps": 0}, ValueError, "cross_entropy_steps must be at least 1"),
        ({"regularization": -1.0}, ValueError, "regularization must be above 0"),
    ],
)
def test_bad_parameters_name_themselves(parameters, error, message):
    with pytest.raises(error, match=message):
        TPAUCClassifier(**parameters).fit(X[TRAIN], Y[TRAIN])


LOSS = {"method": "polynomial"}


@pytest.mark.parametrize(
    ("parameter", "where_it_applies", "elsewhere"),
    [
        ({"max_steps": 2}, [LOSS], [{}, {"method": "cross_entropy"}, {"model": "mlp", **LOSS}]),
        ({"epochs": 2}, [{"model": "mlp", **LOSS, **SHORT}], [{}, LOSS, {"model": "mlp"}]),
        (SHORT, [{"model": "mlp", "n_folds": 2}, {"model": a_module}], [{}, LOSS, {"method": "cross_entropy"}]),
        ({"regularization": 0.5}, [{}, {"method": "cross_entropy"}], [{"model": "mlp"}, {"model": a_module}]),
        ({"device": "cpu"}, [{"model": "mlp", "validation": None, **SHORT}], [{}, LOSS]),
        (
            {"n_folds": 2},
            [
                {},
                LOSS,
                {"model": "mlp", **SHORT},
                {"model": "mlp", "method": "cross_entropy", "calibrate": True, **SHORT},
            ],
            [{"validation": None}, {"validation": 0.3}, {"model": "mlp", "method": "cross_entropy"}],
        ),
    ],
)
def test_a_parameter_without_effect_is_an_error(parameter, where_it_applies, elsewhere):
    """Each way to train uses some of the parameters; the others must not be given."""
    (name,) = parameter
    for options in elsewhere:
        classifier = TPAUCClassifier(random_state=0, **options, **parameter)
        with pytest.raises(
            ValueError, match=rf"{name}=.* has no effect for model=.*; {name} applies to .*; leave it out"
        ):
            classifier.fit(X[TRAIN], Y[TRAIN])
        classifier.set_params(**{name: None})._check_parameters()  # nothing else is wrong
    for options in where_it_applies:
        TPAUCClassifier(random_state=0, **options, **parameter).fit(X[TRAIN], Y[TRAIN]).predict(X[TEST])


def test_an_error_says_where_a_parameter_applies():
    with pytest.raises(
        ValueError,
        match=r"^epochs=3 has no effect for model='linear', method='region'; epochs applies to networks with one of "
        r"the methods exponential, focal, .*, truncated; leave it out$",
    ):
        TPAUCClassifier(epochs=3).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"n_folds=3 has no effect for .*, validation=0.3; n_folds applies to validation='cv'"
    ):
        TPAUCClassifier(validation=0.3, n_folds=3).fit(X, Y)
    with pytest.raises(ValueError, match=r"regularization=2.0 has no effect for model=a network"):
        TPAUCClassifier(a_module, regularization=2.0).fit(X, Y)


def test_parameters_that_are_not_given_have_the_documented_defaults():
    given = {"max_steps": 32, "regularization": 1.0, "n_folds": 5}
    pairs = [
        ({"method": "square_auc"}, given),
        ({}, {"regularization": 1.0, "n_folds": 5}),
        ({"model": "mlp", "validation": 0.3, **LOSS, **SHORT}, {"epochs": 16, "device": "cpu"}),
        ({"model": "mlp", **SHORT}, {"n_folds": 10}),
    ]
    for options, defaults in pairs:
        plain, explicit = (
            TPAUCClassifier(random_state=0, **options, **more).fit(X[TRAIN], Y[TRAIN]) for more in ({}, defaults)
        )
        np.testing.assert_array_equal(plain.decision_function(X), explicit.decision_function(X))
    assert clone(TPAUCClassifier(**given)).get_params() == TPAUCClassifier(**given).get_params()


def test_bad_data_is_an_error_that_says_what_to_do():
    with pytest.raises(ValueError, match="Only binary classification"):
        TPAUCClassifier().fit(X, np.arange(700) % 3)
    with pytest.raises(ValueError, match="one class only"):
        TPAUCClassifier().fit(X, np.zeros(700))
    one = np.zeros(700, dtype=int)
    one[0] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the region selects nobody
        with pytest.raises(ValueError, match="at least 2 rows of each class"):
            TPAUCClassifier().fit(X, one)


def test_steps_kept_are_powers_of_two():
    assert powers_of_two(1) == (1,)
    assert powers_of_two(8) == (1, 2, 4, 8)
    assert powers_of_two(9) == (1, 2, 4, 8, 9)


def test_a_second_fit_leaves_nothing_of_the_first():
    classifier = TPAUCClassifier(calibrate=True, random_state=0).fit(X[TRAIN], Y[TRAIN])
    classifier.set_params(model="mlp", calibrate=False, validation=None, cross_entropy_steps=200)
    classifier.fit(X[TRAIN], Y[TRAIN])
    fresh = a_network(validation=None).fit(X[TRAIN], Y[TRAIN])
    assert {name for name in vars(classifier) if name.endswith("_")} == {n for n in vars(fresh) if n.endswith("_")}
    np.testing.assert_array_equal(classifier.predict_proba(X[TEST]), fresh.predict_proba(X[TEST]))


def test_probabilities_of_a_sample_are_those_of_all_rows():
    """Of many rows the folds see as many of each class as they need, which is not the share of the class."""
    rng = np.random.default_rng(0)
    y = rng.random(60_000) < 0.02
    rows = rng.normal(size=(60_000, 2)) + y[:, None]
    classifier = TPAUCClassifier(calibrate=True, random_state=0).fit(rows, y)
    assert classifier.predict_proba(rows)[:, 1].mean() == pytest.approx(y.mean(), rel=0.1)


@pytest.mark.parametrize("parameters", [{}, {"method": "cross_entropy"}, {"validation": 0.3}])
def test_a_fit_does_not_check_its_own_scores_again(parameters, monkeypatch):
    checked = []

    def counted(*arguments, **options):
        checked.append(arguments)
        return check_labels_and_scores(*arguments, **options)

    monkeypatch.setattr(area, "check_labels_and_scores", counted)
    classifier = TPAUCClassifier(random_state=0, **parameters).fit(X[TRAIN], Y[TRAIN])
    assert checked == []
    classifier.score(X[TEST], Y[TEST])
    assert len(checked) == 1


def test_calibration_asked_for_after_the_fit_does_not_count():
    classifier = TPAUCClassifier(random_state=0).fit(X[TRAIN], Y[TRAIN])
    before = classifier.predict_proba(X[TEST])
    np.testing.assert_array_equal(classifier.set_params(calibrate=True).predict_proba(X[TEST]), before)


def test_a_held_out_share_keeps_copies_together():
    """Labels are noise, so nothing can be learnt; only a copy of a training row could be remembered."""
    rng = np.random.default_rng(0)
    rows, labels = np.repeat(rng.normal(size=(150, 20)), 4, axis=0), np.repeat(rng.random(150) < 0.5, 4)
    best = [
        max(
            c["tpauc"]
            for c in TPAUCClassifier(alpha=1, beta=1, validation=0.3, random_state=seed).fit(rows, labels).candidates_
        )
        for seed in range(8)
    ]
    assert np.mean(best) < 0.6


def test_score_takes_weights_and_refuses_strange_labels():
    names = np.array(["no", "yes"])[Y]
    classifier = TPAUCClassifier(random_state=0, pos_label="yes").fit(X[TRAIN], names[TRAIN])
    doubled = np.repeat(np.arange(450, 700), 2)
    assert classifier.score(X[TEST], names[TEST], sample_weight=np.full(250, 2)) == pytest.approx(
        classifier.score(X[doubled], names[doubled]), abs=1e-12
    )
    with pytest.raises(ValueError, match="y holds 'YES', which is neither 'no' nor 'yes'"):
        classifier.score(X[TEST], np.array(["no", "YES"])[Y[TEST]])


def test_huge_values_are_named():
    rows = pd.DataFrame(X[TRAIN].copy(), columns=list("abcdefgh"))  # pandas before 3 would write to X
    rows.loc[3, "c"] = 1e200
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"feature 'c' of X has values up to 1e\+200"):
            TPAUCClassifier().fit(rows, Y[TRAIN])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"model": torch.nn.Linear(8, 1)}, TypeError, "model must be a function that makes a module"),
        ({"calibrate": "no"}, TypeError, "calibrate must be True or False"),
        ({"standardize": 1}, TypeError, "standardize must be True or False"),
        ({"validation": [X[TEST]]}, ValueError, r"validation must be a pair \(X, y\), got a list of 1"),
    ],
)
def test_natural_mistakes_are_explained(parameters, error, message):
    with pytest.raises(error, match=message):
        TPAUCClassifier(**parameters).fit(X[TRAIN], Y[TRAIN])


def test_a_list_is_a_pair_too():
    pair = [X[TEST], Y[TEST]]
    found = [TPAUCClassifier(validation=kind(pair), random_state=0).fit(X[TRAIN], Y[TRAIN]) for kind in (list, tuple)]
    np.testing.assert_array_equal(found[0].coef_, found[1].coef_)


# ------------------------------------------------------------------------------------------------ the positive class


def named(y, positive, negative):
    return np.where(y == 1, positive, negative)


@pytest.mark.parametrize("parameters", [{}, {"method": "cross_entropy"}, {"calibrate": True}, {"validation": 0.3}])
def test_the_positive_class_may_be_the_first(parameters):
    by_number = TPAUCClassifier(random_state=0, **parameters).fit(X[TRAIN], Y[TRAIN])
    names = named(Y, "fraud", "ok")
    classifier = TPAUCClassifier(random_state=0, pos_label="fraud", **parameters).fit(X[TRAIN], names[TRAIN])
    assert list(classifier.classes_) == ["fraud", "ok"]
    assert classifier.pos_label_ == "fraud"
    assert classifier.threshold_ == by_number.threshold_
    assert classifier.score(X[TEST], names[TEST]) == by_number.score(X[TEST], Y[TEST]) > 0.5
    np.testing.assert_array_equal(classifier.predict(X) == "fraud", by_number.predict(X) == 1)
    np.testing.assert_allclose(classifier.predict_proba(X)[:, 0], by_number.predict_proba(X)[:, 1], rtol=1e-9)
    decision = classifier.decision_function(X)
    np.testing.assert_array_equal(decision > 0, classifier.predict(X) == "ok")
    np.testing.assert_allclose(decision, -by_number.decision_function(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(classifier.coef_, -by_number.coef_)
    np.testing.assert_array_equal(classifier.intercept_, -by_number.intercept_)


def test_a_network_follows_pos_label_too():
    options = {"validation": (X[TEST], named(Y, "fraud", "ok")[TEST]), "cross_entropy_steps": 50}
    classifier = a_network(pos_label="fraud", **options).fit(X[TRAIN], named(Y, "fraud", "ok")[TRAIN])
    by_number = a_network(**{**options, "validation": (X[TEST], Y[TEST])}).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(classifier.predict(X) == "fraud", by_number.predict(X) == 1)


def test_a_positive_class_that_nothing_names_is_a_warning_at_the_line_that_called_fit():
    message = r"y holds 'fraud' and 'ok', and pos_label is not given; 'ok' is taken as .*; give pos_label='fraud' for"
    with pytest.warns(UserWarning, match=message) as caught:
        classifier = TPAUCClassifier(random_state=0).fit(X[TRAIN], named(Y, "fraud", "ok")[TRAIN])
    assert [warning.filename for warning in caught] == [__file__]
    assert classifier.pos_label_ == "ok"
    with pytest.warns(UserWarning, match="y holds 1 and 2, and pos_label is not given; 2 is taken"):
        TPAUCClassifier(random_state=0).fit(X[TRAIN], Y[TRAIN] + 1)


@pytest.mark.parametrize("labels", [Y, 2 * Y - 1, Y == 1, Y.astype(float)])
def test_usual_labels_need_no_pos_label(labels):
    classifier = TPAUCClassifier(random_state=0).fit(X[TRAIN], labels[TRAIN])  # warnings are errors here
    assert classifier.pos_label_ == 1


def test_a_pos_label_that_is_no_label_is_an_error():
    for label in ("Fraud", 1, ["fraud"]):
        with pytest.raises(ValueError, match=r"pos_label=.* is not among the labels of y, 'fraud' and 'ok'"):
            TPAUCClassifier(pos_label=label).fit(X, named(Y, "fraud", "ok"))


def test_equal_scores_raise_no_alarm_whichever_class_is_positive():
    with pytest.warns(UserWarning, match="could not be kept in one fold"):
        nothing = TPAUCClassifier(random_state=0, pos_label="a").fit(np.ones((700, 2)), named(Y, "a", "b"))
    assert set(nothing.predict(np.ones((3, 2)))) == {"b"}


def test_the_scorer_takes_labels_of_any_kind():
    names, fitted = named(Y, "fraud", "ok"), LogisticRegression()
    expected = cross_val_score(fitted, X, Y, scoring=tpauc_scorer(0.3, 0.3), cv=3)
    found = cross_val_score(fitted, X, names, scoring=tpauc_scorer(0.3, 0.3, pos_label="fraud"), cv=3)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    last = named(Y, "zz", "ok")
    np.testing.assert_allclose(
        cross_val_score(fitted, X, last, scoring=tpauc_scorer(0.3, 0.3, pos_label="zz"), cv=3), expected, atol=1e-12
    )
    with pytest.warns(UserWarning, match="'zz' is taken as the positive class"):
        value = tpauc_scorer(0.3, 0.3)(LogisticRegression().fit(X[TRAIN], last[TRAIN]), X[TEST], last[TEST])
    assert value == tpauc_scorer(0.3, 0.3)(LogisticRegression().fit(X[TRAIN], Y[TRAIN]), X[TEST], Y[TEST])
    ours = TPAUCClassifier(random_state=0, pos_label="fraud").fit(X[TRAIN], names[TRAIN])
    scorer = tpauc_scorer(0.3, 0.3, pos_label="fraud")
    assert scorer(ours, X[TEST], names[TEST]) == ours.score(X[TEST], names[TEST])


def test_the_scorer_follows_the_estimators_positive_class():
    names, scorer = named(Y, "fraud", "ok"), tpauc_scorer(0.3, 0.1)
    ours = TPAUCClassifier(alpha=0.3, beta=0.1, random_state=0, pos_label="fraud")
    for estimator in (ours, make_pipeline(StandardScaler(), ours)):
        estimator.fit(X[TRAIN], names[TRAIN])
        assert scorer(estimator, X[TEST], names[TEST]) == estimator.score(X[TEST], names[TEST])
    other = tpauc_scorer(0.3, 0.1, pos_label="ok")  # what is given counts
    assert other(ours.fit(X[TRAIN], names[TRAIN]), X[TEST], names[TEST]) != ours.score(X[TEST], names[TEST])
    search = GridSearchCV(ours, {"regularization": [0.1, 1.0]}, scoring=scorer, cv=2).fit(X[TRAIN], names[TRAIN])
    np.testing.assert_allclose(search.score(X[TEST], names[TEST]), search.best_estimator_.score(X[TEST], names[TEST]))


def test_the_scorer_takes_weights():
    fitted, weight = LogisticRegression().fit(X[TRAIN], Y[TRAIN]), 1.0 + np.arange(Y[TEST].size) % 3
    rows = np.repeat(np.arange(Y[TEST].size), weight.astype(int))
    scorer = tpauc_scorer(0.3, 0.3)
    expected = scorer(fitted, X[TEST][rows], Y[TEST][rows])
    assert scorer(fitted, X[TEST], Y[TEST], sample_weight=weight) == pytest.approx(expected, abs=1e-12)
    with config_context(enable_metadata_routing=True):
        routed = tpauc_scorer(0.3, 0.3).set_score_request(sample_weight=True)
        params = {"sample_weight": np.ones(Y.size)}
        model = LogisticRegression().set_fit_request(sample_weight=False)
        found = cross_validate(model, X, Y, scoring=routed, cv=3, params=params)
        plain = cross_validate(LogisticRegression(), X, Y, scoring=scorer, cv=3)
    np.testing.assert_allclose(found["test_score"], plain["test_score"])


# ----------------------------------------------------------------------------------------------------- the threshold


def test_the_operating_point_is_the_one_out_of_fold():
    classifier = TPAUCClassifier(alpha=0.3, beta=0.2, random_state=0).fit(X[TRAIN], Y[TRAIN])
    point = operating_point(Y[TRAIN], classifier.out_of_fold_scores_, alpha=0.3, beta=0.2)
    assert classifier.operating_point_ == point
    assert classifier.threshold_ == point.threshold


@pytest.mark.parametrize("weight", [np.arange(450) % 3, 0.5 + np.arange(450) % 3], ids=["whole", "fractions"])
def test_the_operating_point_counts_rows_by_their_weight(weight):
    classifier = TPAUCClassifier(random_state=0).fit(X[TRAIN], Y[TRAIN], sample_weight=weight)
    used = weight > 0
    point = operating_point(
        Y[TRAIN][used], classifier.out_of_fold_scores_[used], alpha=0.3, beta=0.3, sample_weight=weight[used]
    )
    assert classifier.operating_point_ == point
    assert classifier.operating_point_.intervals == point.intervals


@pytest.mark.parametrize("pos_label", ["fraud", "ok"])
def test_a_threshold_may_be_changed_after_the_fit(pos_label):
    names = named(Y, "fraud", "ok")
    classifier = TPAUCClassifier(random_state=0, pos_label=pos_label).fit(X[TRAIN], names[TRAIN])
    scores = classifier.out_of_fold_scores_
    logits = classifier.decision_function(X) * (1 if pos_label == "ok" else -1) + classifier.threshold_
    point = operating_point(names[TRAIN] == pos_label, scores, alpha=0.3, beta=0.05)
    assert classifier.set_threshold(point) is classifier
    assert classifier.operating_point_ == point
    np.testing.assert_array_equal(classifier.predict(X) == pos_label, logits >= point.threshold)
    classifier.set_threshold(np.median(logits) + 1e-3)
    assert not hasattr(classifier, "operating_point_")
    assert (classifier.predict(X) == pos_label).mean() == pytest.approx(0.5, abs=0.01)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(classifier)).predict(X), classifier.predict(X))


def test_rows_at_the_threshold_are_positive_whichever_class_that_is():
    rows = np.zeros((1, 8))
    for positive in ("a", "c"):
        classifier = TPAUCClassifier(random_state=0, pos_label=positive).fit(X[TRAIN], named(Y, positive, "b")[TRAIN])
        classifier.set_threshold(float(classifier._logits(rows)[0]))
        assert classifier.predict(rows) == [positive]


@pytest.mark.parametrize(
    "threshold", [np.inf, np.nan, "0.5", None, operating_point([1, 0], [0.5, 0.5], alpha=0.1, beta=0.1)]
)
def test_a_threshold_must_be_a_finite_number(threshold):
    classifier = TPAUCClassifier(random_state=0).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises((ValueError, TypeError), match="threshold must be"):
        classifier.set_threshold(threshold)
    with pytest.raises(NotFittedError):
        TPAUCClassifier().set_threshold(0.0)


# --------------------------------------------------------------------------------------------------- groups, weights


def noise_in_groups(seed=0):
    """Return 60 groups of 6 rows: labels are noise by group, and the rows of a group are nearly equal."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(60), 6)
    rows = np.repeat(rng.normal(size=(60, 40)), 6, axis=0) + 1e-6 * rng.normal(size=(360, 40))
    return rows, (np.arange(60) % 3 == 0)[groups], groups


@pytest.mark.parametrize("parameters", WAYS_OF_FOLDS)
def test_groups_share_a_fold(parameters):
    rows, labels, groups = noise_in_groups()
    values = [
        tpauc_score(
            labels,
            TPAUCClassifier(random_state=0, **parameters).fit(rows, labels, groups=of_rows).out_of_fold_scores_,
            alpha=0.3,
            beta=0.3,
        )
        for of_rows in (groups, None)
    ]
    assert values[0] < 0.4  # noise
    assert values[1] > 0.8  # rows that were remembered


def test_groups_are_on_one_side_of_a_hold_out():
    rows, labels, groups = noise_in_groups()
    names = np.array([f"patient {number}" for number in groups])
    options = {"validation": 0.3, "alpha": 1.0, "beta": 1.0, "random_state": 0}
    best = [
        max(c["tpauc"] for c in TPAUCClassifier(**options).fit(rows, labels, groups=of_rows).candidates_)
        for of_rows in (names, None)
    ]
    assert best[0] < 0.8 < 0.95 < best[1]


@pytest.mark.parametrize(
    "parameters",
    [{"validation": None}, {"validation": (X[TEST], Y[TEST])}, {"model": "mlp", "method": "cross_entropy"}],
)
def test_groups_without_effect_are_an_error(parameters):
    with pytest.raises(ValueError, match=r"groups has no effect for model=.*which divides no rows"):
        TPAUCClassifier(**parameters).fit(X[TRAIN], Y[TRAIN], groups=np.arange(450))


def test_bad_groups_are_explained():
    with pytest.raises(ValueError, match=r"groups must have shape \(450,\)"):
        TPAUCClassifier().fit(X[TRAIN], Y[TRAIN], groups=np.arange(3))
    with pytest.raises(ValueError, match="each class in at least two groups"):
        TPAUCClassifier().fit(X[TRAIN], Y[TRAIN], groups=np.ones(450))


TIMES = np.random.default_rng(5).integers(0, 4, 700)


@pytest.mark.parametrize(
    "parameters", [{}, {"calibrate": True}, {"method": "cross_entropy"}, {"standardize": False, "n_folds": 3}]
)
@pytest.mark.parametrize("with_groups", [False, True])
def test_whole_weights_are_repeated_rows(parameters, with_groups):
    groups = np.arange(700) // 3
    options = {"groups": groups[TRAIN]} if with_groups else {}
    weighted = TPAUCClassifier(random_state=0, **parameters).fit(
        X[TRAIN], Y[TRAIN], sample_weight=TIMES[TRAIN], **options
    )
    rows = np.repeat(np.arange(450), TIMES[TRAIN])
    options = {"groups": groups[rows]} if with_groups else {}
    repeated = TPAUCClassifier(random_state=0, **parameters).fit(X[rows], Y[rows], **options)
    # The ascent takes sums in float32, and the calibration stops at a tolerance.
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weighted.out_of_fold_scores_[rows], repeated.out_of_fold_scores_, rtol=1e-4, atol=1e-4)
    assert weighted.threshold_ == pytest.approx(repeated.threshold_, abs=1e-4)
    assert weighted.operating_point_.fpr == pytest.approx(repeated.operating_point_.fpr, abs=1e-12)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-3)
    assert np.array_equal(np.isnan(weighted.out_of_fold_scores_), TIMES[TRAIN] == 0)
    plain = TPAUCClassifier(random_state=0, **parameters).fit(X[TRAIN], Y[TRAIN])
    assert not np.allclose(weighted.coef_, plain.coef_, rtol=1e-2)


@pytest.mark.parametrize("validation", ["cv", 0.3, (X[TEST], Y[TEST]), None], ids=["cv", "share", "set", "none"])
def test_equal_weights_change_nothing_and_fractions_are_weights_too(validation):
    def fit(weight):
        return TPAUCClassifier(random_state=0, validation=validation).fit(X[TRAIN], Y[TRAIN], sample_weight=weight)

    np.testing.assert_allclose(fit(np.ones(450)).coef_, fit(None).coef_, rtol=1e-4, atol=1e-5)
    assert fit(np.random.default_rng(0).random(450)).score(X[TEST], Y[TEST]) > 0.5


@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_rows_of_large_weight_decide(unit):
    """Positives of two kinds point in two directions; weights say which kind matters."""
    rng = np.random.default_rng(0)
    rows, kind = rng.normal(size=(900, 2)), np.repeat([0, 1, 2], 300)
    rows[kind == 0, 0] += 3.0
    rows[kind == 1, 1] += 3.0
    weight = unit * np.where(kind == 0, 1e-3, 0.9)
    coef = TPAUCClassifier(random_state=0).fit(rows, kind < 2, sample_weight=weight).coef_[0]
    assert abs(coef[0]) < 0.2 * coef[1]


@pytest.mark.parametrize("parameters", [{"model": "mlp"}, {"method": "polynomial"}, {"model": a_module}])
def test_weights_without_a_meaning_are_an_error(parameters):
    with pytest.raises(ValueError, match="sample_weight is for model='linear' with the methods region"):
        TPAUCClassifier(**parameters).fit(X[TRAIN], Y[TRAIN], sample_weight=np.ones(450))


def test_bad_weights_are_explained():
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        TPAUCClassifier().fit(X[TRAIN], Y[TRAIN], sample_weight=np.full(450, -1.0))
    with pytest.raises(ValueError, match="sample_weight is zero for every positive example; both classes are needed"):
        TPAUCClassifier().fit(X[TRAIN], Y[TRAIN], sample_weight=1 - Y[TRAIN])


@pytest.mark.parametrize("parameters", [{}, {"model": "mlp", "n_folds": 2, **SHORT}])
def test_probabilities_are_calibrated_on_scores_out_of_fold(parameters):
    """Nothing can be learnt from noise, although a model of 150 features separates 200 training rows."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(200, 150)), rng.random(200) < 0.3
    classifier = TPAUCClassifier(calibrate=True, random_state=0, **parameters).fit(rows, labels)
    assert tpauc_score(labels, classifier.decision_function(rows), alpha=1.0, beta=1.0) > 0.8
    assert classifier.predict_proba(rows)[:, 1].std() < 0.2  # 0.46 for probabilities that know the labels
    expected = LogisticRegression(C=1e6).fit(classifier.out_of_fold_scores_[:, None], labels)
    np.testing.assert_allclose(classifier.calibrator_.coef_, expected.coef_, rtol=1e-6)
