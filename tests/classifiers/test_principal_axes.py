"""Wide tables: the linear procedure along principal axes gives what it gives in the features themselves."""

import tracemalloc

import numpy as np
import pytest

from tpauc.classifiers._candidates import Scaling
from tpauc.classifiers.base import TrainingData
from tpauc.classifiers.linear import directions as linear
from tpauc.classifiers.linear import logistic, principal_axes
from tpauc.classifiers.linear.ascent import covariance, unit
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region

REGION = Region(0.3, 0.3)


def a_table(n, d, seed=0):
    """Correlated features in different units, and a label that follows some of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 5)) @ rng.normal(size=(5, d))
    y = X[:, : d // 2].sum(axis=1) / np.sqrt(d) + rng.logistic(size=n) > 1.0
    return (X - X.mean(0)) / X.std(0) * np.geomspace(0.3, 3.0, d), y


def both_ways(monkeypatch, data, sample=None):
    """Return the rows as features, and along principal axes."""
    features = linear.as_rows(data, sample)
    assert features.axes is None
    monkeypatch.setattr(linear, "NARROW", 0)
    return features, linear.as_rows(data, sample)


def weights(kind, n):
    rng = np.random.default_rng(1)
    return {"none": None, "whole": rng.integers(1, 4, n).astype(float), "any": rng.uniform(0.5, 2.0, n)}[kind]


@pytest.mark.parametrize("shape", [(30, 70), (70, 30), (30, 30)])
def test_axes_are_a_rotation_that_makes_coordinates_uncorrelated(shape):
    X, _ = a_table(*shape)
    rows, axes = principal_axes.along_axes(X, covariance)
    assert rows.shape == (shape[0], min(shape))
    basis = axes.to_features(np.eye(min(shape)))
    np.testing.assert_allclose(basis.T @ basis, np.eye(min(shape)), atol=1e-12)
    np.testing.assert_allclose(rows @ basis.T, X, atol=1e-10)
    np.testing.assert_allclose(covariance(rows), np.diag(axes.variance), atol=1e-10)


def test_nothing_is_lost_whatever_the_units():
    """The Gram matrix would lose features that are 1e9 times smaller than others."""
    X, _ = a_table(20, 50)
    X *= np.geomspace(1.0, 1e-12, 50)
    rows, axes = principal_axes.along_axes(X, covariance)
    np.testing.assert_allclose((rows @ axes.to_features(np.eye(20)).T) @ np.eye(50)[:, :10], X[:, :10], rtol=1e-6)
    rotated = axes.to_features(np.eye(20))
    np.testing.assert_allclose(rotated.T @ rotated, np.eye(20), atol=1e-12)


@pytest.mark.parametrize("weight", ["none", "whole", "any"])
@pytest.mark.parametrize("shape", [(60, 150), (300, 40)])
def test_regressions_and_fishers_discriminant_are_those_of_the_features(shape, weight, monkeypatch):
    X, y = a_table(*shape)
    features, axes = both_ways(monkeypatch, TrainingData(X, y, weights(weight, len(y))))
    some = np.arange(len(y)) % 5 != 0
    fits = [
        (
            *logistic.fit_pair(rows, 1.0),
            *logistic.PairRefit(rows, logistic.fit_pair(rows, 1.0), 1.0).on(rows.take(some)),
        )
        for rows in (features, axes)
    ]
    for number, (exact, found) in enumerate(zip(*fits, strict=True)):
        assert unit(exact[:-1]) @ unit(axes.to_features(found[:-1])) > 1.0 - (1e-6 if number < 2 else 1e-4)
        assert found[-1] == pytest.approx(exact[-1], abs=0.02)
    exact = linear.fisher_direction(X, y, features.given)
    found = axes.to_features(linear.fisher_along_axes(axes))
    assert unit(exact) @ unit(found) > 1.0 - 1e-5


@pytest.mark.parametrize("weight", ["none", "whole", "any"])
@pytest.mark.parametrize("shape", [(60, 150), (300, 40)])
def test_all_six_directions_score_alike(shape, weight, monkeypatch):
    X, y = a_table(*shape)
    features, axes = both_ways(monkeypatch, TrainingData(X, y, weights(weight, len(y))))
    of_features = features.Z[:, :-1] @ linear.whitener_of(features)
    along_axes = axes.Z[:, :-1] * linear.whitener_of(axes)
    np.testing.assert_allclose(along_axes @ along_axes.T, of_features @ of_features.T, atol=1e-6)
    scores = [
        rows.Z[:, :-1]
        @ linear.six_directions(
            rows, logistic.fit_pair(rows, 1.0), linear.whitener_of(rows), REGION, linear.LinearSettings()
        )
        for rows in (features, axes)
    ]
    np.testing.assert_allclose(scores[1], scores[0], atol=0.02)


SAMPLED = linear.LinearSettings(fold_rows=(60, 150), ascent_rows=(100, 200))


@pytest.mark.parametrize("settings", [linear.LinearSettings(), SAMPLED])
def test_a_wide_fit_is_as_good_as_a_narrow_one(settings, monkeypatch):
    X, y = a_table(900, 60)
    found = []
    for narrow in (1000, 0):
        monkeypatch.setattr(linear, "NARROW", narrow)
        strategy = linear.LinearDirections(settings, Scaling())
        found.append(strategy.fit(TrainingData(X[:500], y[:500]), REGION, np.random.default_rng(0)))
    assert np.isfinite(found[1].out_of_fold_scores).sum() == (210 if settings is SAMPLED else 500)
    logits = [fit.scorer(fit.scaler.transform(X[500:])) for fit in found]
    assert np.corrcoef(*logits)[0, 1] > 0.9999
    of_narrow, of_wide = (tpauc_score(y[500:], scores, alpha=0.3, beta=0.3) for scores in logits)
    assert of_wide == pytest.approx(of_narrow, abs=2e-3)


def test_copies_of_a_wide_row_share_a_fold():
    """Each row is there twice with a random label: a copy in another fold would give the label away."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(60, 300)), 2, axis=0), np.repeat(rng.random(60) < 0.5, 2)
    scores = TPAUCClassifier(random_state=0).fit(X, y).out_of_fold_scores_
    assert tpauc_score(y, scores, alpha=1.0, beta=1.0) < 0.75


@pytest.mark.parametrize("options", [{}, {"validation": None}, {"validation": 0.3}, {"method": "cross_entropy"}])
def test_a_wide_table_makes_no_matrix_of_all_pairs_of_features(options):
    X, y = a_table(40, 6000)
    tracemalloc.start()
    fit = TPAUCClassifier(random_state=0, **options).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * X.nbytes < X.shape[1] ** 2 * 8
    assert fit.coef_.shape == (1, 6000)
    assert np.isfinite(fit.decision_function(X)).all()


def test_constant_and_repeated_wide_features():
    X, y = a_table(50, 300)
    X[:, :100] = 1.0
    X[:, 100:200] = X[:, 200:]
    fit = TPAUCClassifier(random_state=0).fit(X, y)
    assert np.isfinite(fit.coef_).all()
    np.testing.assert_allclose(fit.coef_[0, 100:200], fit.coef_[0, 200:], rtol=1e-6, atol=1e-12)
    assert (fit.coef_[0, :100] == 0.0).all()


def test_too_many_rows_and_features_are_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(principal_axes, "MOST_AXES", 100)
    X, y = a_table(120, 130)
    with pytest.raises(ValueError, match=r"at most 100 rows or .* got 120 rows of 130 features; keep fewer features"):
        TPAUCClassifier().fit(X, y)
    TPAUCClassifier(validation=None).fit(X[:100], y[:100])
    TPAUCClassifier(validation=None).fit(X[:, :100], y)
