"""Candidates on held-out rows: the region of a small fold, and the weights."""

import numpy as np
import pytest

from tpauc.classifiers._candidates import (
    Candidate,
    CandidatesByFolds,
    FoldTPAUC,
    Scaling,
    SingleTraining,
    joined,
    tpauc_of_fold,
    validate_folds,
)
from tpauc.classifiers.base import TrainingData
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
from tpauc.metrics import area
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region

BY_FOLD = np.array([[0.50, 0.40, 0.46], [0.60, 0.58, 0.52], [0.55, 0.43, 0.53]])
FOUND = FoldTPAUC(BY_FOLD, BY_FOLD.mean(axis=0, keepdims=True))  # pooled scores have the mean of the folds


def test_a_fold_that_the_region_fits_is_judged_in_it():
    random = np.random.default_rng(0)
    positive, scores = np.arange(50) < 20, random.standard_normal(50)
    assert tpauc_of_fold(positive, scores, Region(0.3, 0.2)) == tpauc_score(positive, scores, alpha=0.3, beta=0.2)


def test_a_fold_too_small_for_the_region_is_judged_on_its_hardest_examples():
    positive, scores = np.array([True, True, False, False]), np.array([4.0, 2.0, 3.0, 1.0])
    with pytest.raises(ValueError, match="alpha"):
        tpauc_score(positive, scores, alpha=0.3, beta=0.3)
    assert tpauc_of_fold(positive, scores, Region(0.3, 0.3)) == 0.0  # 2 against 3
    assert tpauc_of_fold(positive, scores + positive * 2, Region(0.3, 0.3)) == 1.0


def test_weights_follow_the_formula():
    found = FOUND.shares(0.5)
    for other in (1, 2):
        difference = BY_FOLD[:, other] - BY_FOLD[:, 0]
        error = difference.std(ddof=1) / np.sqrt(3)
        assert found[other] / found[0] == pytest.approx(np.exp(difference.mean() / (0.5 * error)), rel=1e-6)
    assert found.sum() == pytest.approx(1.0, abs=1e-15)


def test_more_standard_errors_are_more_careful():
    sharp, careful = (FOUND.shares(c) for c in (0.5, 2.0))
    assert sharp[0] > careful[0] > 1 / 3


def test_repeats_do_not_count_as_more_folds():
    once, twice = FOUND.shares(0.5), joined([FOUND, FOUND]).shares(0.5)
    # The deviation has 5 instead of 2 degrees of freedom; its division by the root of the number of folds stays.
    assert twice[0] == pytest.approx(once[0], abs=0.01)
    assert twice[0] < FoldTPAUC(np.vstack((BY_FOLD, BY_FOLD)), FOUND.pooled).shares(0.5)[0]


def test_candidates_without_a_difference_weigh_the_same():
    assert FoldTPAUC(np.zeros((4, 3)), np.zeros((1, 3))).shares(0.5).tolist() == pytest.approx([1 / 3] * 3)


def test_the_validated_tpauc_is_the_mean_of_the_folds_and_of_all_rows():
    random = np.random.default_rng(0)
    positive, region = np.arange(90) % 3 == 0, Region(0.4, 0.3)
    scores, folds = random.standard_normal((90, 2)) + positive[:, None], np.arange(90).reshape(3, 30)
    found = validate_folds(positive, scores, folds, region)
    assert found.by_fold.shape == (3, 2)
    for column, value in zip(scores.T, found.validated, strict=True):
        by_fold = [tpauc_score(positive[rows], column[rows], alpha=0.4, beta=0.3) for rows in folds]
        assert value == pytest.approx((np.mean(by_fold) + tpauc_score(positive, column, alpha=0.4, beta=0.3)) / 2)
    weighed = found.weighed(["a", "b"], 0.5)
    assert [candidate["tpauc"] for candidate in weighed.candidates] == found.validated.tolist()
    assert [candidate["share"] for candidate in weighed.candidates] == weighed.shares.tolist()


def test_small_shares_are_not_described():
    found = FoldTPAUC(np.array([[0.9, 0.1, 0.9], [0.8, 0.1, 0.8]]), np.array([[0.9, 0.1, 0.9]]))
    assert found.weighed(["plain", "fisher", "balanced"], 0.5).chosen == "0.50 plain + 0.50 balanced"


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_of_a_model_that_diverged_are_an_error(bad):
    with pytest.raises(ValueError, match=r"^held-out scores must be finite, found 1 NaN or infinite values"):
        tpauc_of_fold(np.array([True, False, False]), np.array([1.0, bad, 0.0]), Region(1.0, 1.0))


def test_a_linear_fit_does_not_check_its_own_rows_again(monkeypatch):
    calls, check = [], area.check_labels_and_scores

    def counted(*rows, **options):
        calls.append(rows)
        return check(*rows, **options)

    monkeypatch.setattr(area, "check_labels_and_scores", counted)
    generator = np.random.default_rng(0)
    y = generator.permutation(np.arange(100) < 30)
    X = y[:, np.newaxis] + generator.random((100, 2))
    classifier = TPAUCClassifier("linear", alpha=0.3, beta=0.3, random_state=0).fit(X, y)
    assert calls == []
    classifier.score(X, y)
    assert len(calls) == 1


class FromColumns:
    """A trainer whose candidates are the columns."""

    def train(self, data, random):
        return [Candidate(f"column {place}", place, lambda X, place=place: X[:, place]) for place in range(3)]


@pytest.mark.parametrize("folds", [False, True])
def test_candidates_that_miss_the_region_are_told_apart_by_the_wider_areas(folds):
    random = np.random.default_rng(0)
    positive = np.arange(60) % 3 == 0
    X = random.normal(size=(60, 3)) + positive[:, None] * [0.5, 2.0, 2.0]
    X[0], X[1] = -9.0, 9.0  # the hardest positive and negative of the region, for all candidates
    X[:, 2] = X[:, 1]  # as good as the second, which has less training
    data, region = TrainingData(X, positive), Region(0.05, 0.025)
    training = (
        CandidatesByFolds(FromColumns(), Scaling(standardize=False), 2)
        if folds
        else SingleTraining(FromColumns(), Scaling(standardize=False), (X, positive))
    )
    found = training.fit(data, region, random)
    assert [candidate["tpauc"] for candidate in found.candidates] == [0.0, 0.0, 0.0]
    assert found.chosen == "column 1, 1 steps"
