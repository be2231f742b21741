"""The weights of the stack: its optimum, its fallback to the average, and scores that do not flatter."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tpauc.classifiers.auto.stacking import cross_fitted, fit_stack
from tpauc.metrics.area import auc_score


def scored(n_positive, n_negative, noise, seed=0):
    """Return scores of members with so much noise each, and labels."""
    random = np.random.default_rng(seed)
    positive = np.arange(n_positive + n_negative) < n_positive
    return positive[:, None] + random.normal(size=(positive.size, len(noise))) * noise, positive


def ones(positive):
    return np.ones(positive.size)


def test_without_a_pull_it_is_logistic_regression():
    scores, positive = scored(500, 1500, [1.0, 0.7])
    stack = fit_stack(scores, positive, ones(positive), strength=1e-9)
    expected = LogisticRegression(C=1e9, tol=1e-10).fit(scores, positive)
    np.testing.assert_allclose(stack.coef, expected.coef_[0], rtol=1e-3)
    np.testing.assert_allclose(stack(scores), expected.decision_function(scores), atol=5e-3)


def test_a_strong_pull_is_the_average_of_the_log_odds():
    scores, positive = scored(500, 1500, [1.0, 0.5, 2.0])
    np.testing.assert_allclose(fit_stack(scores, positive, ones(positive), strength=1e9).shares, 1 / 3, rtol=1e-4)


def test_few_positives_stay_near_the_average_and_many_do_not():
    away = []
    for n_positive in (10, 100, 1000, 10_000):
        first, positive = scored(n_positive, 4 * n_positive, [0.7])
        more = np.random.default_rng(1).normal(size=(positive.size, 3))
        scores = np.column_stack((first, first + more))  # what the others say beyond the first is noise
        away.append(np.abs(fit_stack(scores, positive, ones(positive)).shares - 0.25).max())
    assert away == sorted(away)
    assert away[0] < 0.2
    assert away[-1] > 0.5


def test_shares_add_up_and_no_member_counts_against_itself():
    scores, positive = scored(200, 800, [0.5, 1.0, 5.0])
    stack = fit_stack(np.column_stack((scores, -scores[:, 0])), positive, ones(positive))
    assert stack.shares.sum() == pytest.approx(1.0)
    assert (stack.coef >= 0.0).all()
    assert stack.shares[3] == stack.coef[3] == 0.0  # it falls where the labels rise


def test_if_no_scores_rise_with_the_labels_the_best_member_is_taken():
    scores, positive = scored(50, 100, [0.1, 0.1])
    stack = fit_stack(-scores, positive, ones(positive), best=1)
    np.testing.assert_array_equal(stack(-scores), -scores[:, 1])
    constant = np.zeros((150, 2))
    assert fit_stack(constant, positive, ones(positive)).shares.tolist() == [1.0, 0.0]


def test_whole_weights_are_repeated_rows():
    scores, positive = scored(40, 160, [0.8, 1.5])
    times = np.random.default_rng(1).integers(1, 4, positive.size)
    weighted = fit_stack(scores, positive, times.astype(float))
    repeated = fit_stack(np.repeat(scores, times, axis=0), np.repeat(positive, times), np.ones(times.sum()))
    np.testing.assert_allclose(weighted.shares, repeated.shares, atol=0.02)  # spread is that of the rows


def test_scores_of_separate_classes_have_finite_weights():
    positive = np.arange(40) < 20
    stack = fit_stack(np.column_stack((positive, positive)).astype(float), positive, ones(positive))
    assert np.isfinite(stack.coef).all()
    assert stack(np.array([[1.0, 1.0], [0.0, 0.0]]))[0] > 0.0


def test_a_cross_fitted_logit_does_not_depend_on_the_labels_of_its_fold():
    scores, positive = scored(100, 300, [0.5, 1.0, 1.5])
    fold = np.random.default_rng(2).permutation(np.arange(400) % 5)
    before = cross_fitted(scores, positive, ones(positive), fold)
    changed = np.where(fold == 3, ~positive, positive)
    after = cross_fitted(scores, changed, ones(positive), fold)
    np.testing.assert_array_equal(before[fold == 3], after[fold == 3])
    assert (before[fold == 0] != after[fold == 0]).any()


def test_cross_fitted_scores_of_noise_do_not_flatter():
    flattering, nested = [], []
    for seed in range(20):
        random = np.random.default_rng(seed)
        positive, scores = np.arange(120) < 30, random.normal(size=(120, 8))
        fold = random.permutation(np.arange(120) % 5)
        flattering.append(auc_score(positive, fit_stack(scores, positive, ones(positive), strength=1e-3)(scores)))
        nested.append(auc_score(positive, cross_fitted(scores, positive, ones(positive), fold, strength=1e-3)))
    assert np.mean(flattering) > 0.58
    assert np.mean(nested) < 0.53
