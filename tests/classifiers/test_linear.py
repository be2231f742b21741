"""The linear procedure: logistic regression, the ascent of the smoothed TPAUC, and the weighing of directions."""

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from tpauc.classifiers._candidates import Scaling
from tpauc.classifiers.base import TrainingData
from tpauc.classifiers.linear import ascent, logistic
from tpauc.classifiers.linear import directions as linear
from tpauc.classifiers.linear.directions import fisher_direction
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region

REGION = Region(0.3, 0.3)


def a_table(n=2000, d=5, seed=0):
    """Rare positives, and one feature with heavy tails: what a regression says of extremes costs it the corner."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + 0.7 * X[:, 1] + 0.3 * rng.normal(size=n) > 1.4
    X[:, 0] = np.sinh(1.5 * X[:, 0])
    return (X - X.mean(0)) / X.std(0), y


as_rows = linear.with_ones


def fitted(X, y, random, **settings):
    """Fit standardised rows."""
    strategy = linear.LinearDirections(linear.LinearSettings(**settings), Scaling(standardize=False))
    return strategy.fit(TrainingData(X, y), REGION, random)


def by_name(fit, key):
    return {candidate["name"]: candidate[key] for candidate in fit.candidates}


def test_regressions_are_scikit_learns():
    X, y = a_table()
    pair = logistic.fit_pair(as_rows(X, y), penalty=2.0)
    for b, class_weight in zip(pair, (None, "balanced"), strict=True):
        reference = LogisticRegression(C=0.5, class_weight=class_weight, tol=1e-10, max_iter=1000).fit(X, y)
        # Newton stops at a gain of 1e-6 of the value, some 1e-4 from the optimum in its coefficients.
        np.testing.assert_allclose(b[:-1], reference.coef_[0], atol=1e-3)
        np.testing.assert_allclose(b[-1], reference.intercept_[0], atol=1e-3)


def test_weights_stand_for_repeated_rows():
    X, y = a_table(300)
    counts = np.random.default_rng(1).integers(1, 4, y.size)
    weighted = as_rows(X, y)._replace(weight=counts.astype(float))
    repeated = as_rows(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    for a, b in zip(logistic.fit_pair(weighted, 1.0), logistic.fit_pair(repeated, 1.0), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


def test_refits_on_most_rows_are_fits():
    X, y = a_table()
    rows = as_rows(X, y)
    pair = logistic.fit_pair(rows, 1.0)
    some = np.arange(y.size) % 5 != 0
    refit = logistic.PairRefit(rows, pair, 1.0).on(rows.take(some))
    fitted = logistic.fit_pair(rows.take(some), 1.0)
    for a, b, all_rows in zip(refit, fitted, pair, strict=True):
        assert np.abs(a - b).max() < 0.02 * np.abs(all_rows - b).max() + 2e-3


def test_refits_converge_where_few_rows_decide():
    """Features with tails so heavy that a fold without some row is another problem."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_t(1.5, size=(400, 5)), np.arange(400) < 40
    rows = as_rows((X - X.mean(0)) / X.std(0), y)
    refit = logistic.PairRefit(rows, logistic.fit_pair(rows, 1.0), 1.0)
    for k in range(5):
        kept = rows.take(np.arange(400) % 5 != k)
        for a, b in zip(refit.on(kept), logistic.fit_pair(kept, 1.0), strict=True):
            assert a[:-1] @ b[:-1] > 0.999 * np.linalg.norm(a[:-1]) * np.linalg.norm(b[:-1])


def test_separable_rows_are_held_by_the_penalty():
    X = np.linspace(-1, 1, 40)[:, None]
    pair = logistic.fit_pair(as_rows(X, X[:, 0] > 0), 1.0)
    assert np.isfinite(pair.plain).all()
    assert np.isfinite(pair.balanced).all()


def test_gradient_on_the_grid_is_that_of_the_pair_sum():
    rng = np.random.default_rng(0)
    positives, negatives = rng.normal(0.3, 1.0, 30), rng.normal(0.0, 0.7, 50)
    deviations = [ascent._deviation(scores, np.full(scores.size, 1 / scores.size)) for scores in (positives, negatives)]
    width = 0.2 * sum(deviations) / 2

    def smoothed(scores):
        margins = (scores[:30, None] - scores[None, 30:]) / width
        return float((1 / (1 + np.exp(-margins))).mean())

    exact = approx_fprime(np.concatenate((positives, negatives)), smoothed, 1e-7) * width
    found = np.concatenate(ascent.pair_gradient(positives, negatives, 0.2))
    # Linear interpolation on a grid of half a temperature: up to a few per cent of the largest entry.
    np.testing.assert_allclose(found, exact, atol=0.05 * np.abs(exact).max())


@pytest.mark.parametrize("region", [REGION, Region(0.07, 0.11)])
def test_ascent_takes_whole_weights_as_repeated_rows(region):
    rng = np.random.default_rng(0)
    X, y, times = rng.normal(size=(300, 4)), rng.random(300) < 0.3, rng.integers(1, 5, 300)
    X[y] += 0.5
    w, rows = rng.normal(size=4), np.repeat(np.arange(300), times)
    weighted = ascent.SmoothedTPAUC(X, y, np.eye(4), region, times.astype(float))._gradient(w, 0.2)
    repeated = ascent.SmoothedTPAUC(X[rows], y[rows], np.eye(4), region)._gradient(w, 0.2)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-5, atol=1e-7)  # sums in float32
    np.testing.assert_allclose(ascent.whitener(X, times.astype(float)), ascent.whitener(X[rows]), rtol=1e-10)
    np.testing.assert_allclose(fisher_direction(X, y, times), fisher_direction(X[rows], y[rows]), rtol=1e-8)


def test_whitened_features_have_unit_covariance():
    X, _ = a_table()
    X = X @ (np.eye(5) + 0.3 * np.random.default_rng(2).normal(size=(5, 5)))
    np.testing.assert_allclose(np.cov(X @ ascent.whitener(X), rowvar=False), np.eye(5), atol=0.05)
    assert np.isfinite(ascent.whitener(np.zeros((10, 2)))).all()


def test_the_ascent_climbs():
    X, y = a_table()
    start = logistic.fit_pair(as_rows(X, y), 1.0).plain[:-1]
    end = ascent.SmoothedTPAUC(X, y, ascent.whitener(X), REGION).climb(start, ascent.AscentSettings())
    before = tpauc_score(y, X @ start, alpha=0.3, beta=0.3)
    after = tpauc_score(y, X @ end, alpha=0.3, beta=0.3)
    assert after > before + 0.02


def test_a_linear_scorer_for_the_region_beats_both_regressions():
    X, y = a_table(6000)
    train = np.arange(6000) < 3000
    fit = fitted(X[train], y[train], np.random.default_rng(0))
    ours = tpauc_score(y[~train], X[~train] @ fit.scorer.coef, alpha=0.3, beta=0.3)
    for b in logistic.fit_pair(as_rows(X[train], y[train]), 1.0):
        assert ours > tpauc_score(y[~train], X[~train] @ b[:-1], alpha=0.3, beta=0.3)
    shares = by_name(fit, "share")
    assert sum(shares.values()) == pytest.approx(1.0)
    assert sum(share for name, share in shares.items() if name.startswith("region")) > 0.5
    # The logits are those of a probability that is right on average.
    probability = 1 / (1 + np.exp(-fit.scorer(X[train])))
    assert probability.mean() == pytest.approx(y[train].mean(), abs=0.02)
    assert fit.scores.shape == (3000,)


def test_of_large_data_folds_and_ascent_see_a_sample():
    X, y = a_table(4000)
    fit = fitted(X, y, np.random.default_rng(0), fold_rows=(100, 300), ascent_rows=(200, 500))
    assert fit.scores.size == 400
    assert fit.positive.sum() == 100
    of_sample = np.isfinite(fit.out_of_fold_scores)
    np.testing.assert_array_equal(fit.out_of_fold_scores[of_sample], fit.scores)
    np.testing.assert_array_equal(y[of_sample], fit.positive)
    assert np.isfinite(fit.scorer.coef).all()


def test_a_long_table_is_held_about_twice():
    """Once with a column of ones, and once more: before as standardised rows, then as rows of a Hessian."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300_000, 20))
    y = X[:, 0] + rng.logistic(size=len(X)) > 2.0
    strategy = linear.LinearDirections(linear.LinearSettings(), Scaling())
    tracemalloc.start()
    strategy.fit(TrainingData(X, y), REGION, rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.6 * X.nbytes


def test_fishers_discriminant_is_scikit_learns_for_classes_of_equal_size():
    X, y = a_table(400)
    rows = np.concatenate((np.flatnonzero(y)[:40], np.flatnonzero(~y)[:40]))
    reference = LinearDiscriminantAnalysis(solver="eigen").fit(X[rows], y[rows]).coef_[0]
    found = fisher_direction(X[rows], y[rows], ridge=0.0)
    np.testing.assert_allclose(found / np.linalg.norm(found), reference / np.linalg.norm(reference), atol=1e-6)


def test_fishers_discriminant_does_not_depend_on_the_share_of_a_class():
    X, y = a_table(400)
    repeated = np.repeat(np.arange(400), np.where(y, 7, 1))
    np.testing.assert_allclose(fisher_direction(X[repeated], y[repeated]), fisher_direction(X, y), rtol=1e-8)


@pytest.mark.parametrize("X", [np.zeros((6, 2)), np.ones((6, 1)), np.arange(12.0).reshape(6, 2)])
def test_fishers_discriminant_of_features_without_spread(X):
    assert np.isfinite(fisher_direction(X, np.arange(6) == 0)).all()


def test_a_region_far_from_both_regressions_is_reached_from_fishers_discriminant():
    """Most positives lie far out along the first feature, which leads the regressions; the hard ones do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = rng.random(4000) < 0.1
    easy = y & (rng.random(4000) < 0.6)
    X[easy, 0] += 8.0
    X[y, 1] += 1.5
    values = by_name(fitted((X - X.mean(0)) / X.std(0), y, rng), "tpauc")
    assert tuple(values) == linear.DIRECTIONS
    assert values["region from fisher"] > values["plain"]


def test_the_region_is_widened_for_few_positives_and_not_for_many():
    assert linear.widened(REGION, 10_000, 10, 5.0) == REGION
    assert linear.widened(REGION, 5, 100, 5.0) == Region(1.0, 1.0)
    assert linear.widened(Region(0.1, 0.2), 100, 4, 5.0) == Region(0.2, 0.4)
