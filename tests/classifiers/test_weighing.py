"""Candidates on held-out rows: the region of a small fold, and the weights."""

import numpy as np
import pytest

from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
from tpauc.classifiers.weighing import held_out_tpauc, shares
from tpauc.metrics import area
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region

BY_FOLD = np.array([[0.50, 0.40, 0.46], [0.60, 0.58, 0.52], [0.55, 0.43, 0.53]])
VALUES = BY_FOLD.mean(axis=0)


def test_a_fold_that_the_region_fits_is_judged_in_it():
    random = np.random.default_rng(0)
    positive, scores = np.arange(50) < 20, random.standard_normal(50)
    assert held_out_tpauc(positive, scores, Region(0.3, 0.2)) == tpauc_score(positive, scores, alpha=0.3, beta=0.2)


def test_a_fold_too_small_for_the_region_is_judged_on_its_hardest_examples():
    positive, scores = np.array([True, True, False, False]), np.array([4.0, 2.0, 3.0, 1.0])
    with pytest.raises(ValueError, match="alpha"):
        tpauc_score(positive, scores, alpha=0.3, beta=0.3)
    assert held_out_tpauc(positive, scores, Region(0.3, 0.3)) == 0.0  # 2 against 3
    assert held_out_tpauc(positive, scores + positive * 2, Region(0.3, 0.3)) == 1.0


def test_weights_follow_the_formula():
    found = shares(VALUES, BY_FOLD, 3, 0.5)
    for other in (1, 2):
        difference = BY_FOLD[:, other] - BY_FOLD[:, 0]
        error = difference.std(ddof=1) / np.sqrt(3)
        assert found[other] / found[0] == pytest.approx(np.exp(difference.mean() / (0.5 * error)), rel=1e-6)
    assert found.sum() == pytest.approx(1.0, abs=1e-15)


def test_more_standard_errors_are_more_careful():
    sharp, careful = (shares(VALUES, BY_FOLD, 3, c) for c in (0.5, 2.0))
    assert sharp[0] > careful[0] > 1 / 3


def test_repeats_do_not_count_as_more_folds():
    once, twice = shares(VALUES, BY_FOLD, 3, 0.5), shares(VALUES, np.vstack((BY_FOLD, BY_FOLD)), 3, 0.5)
    # The deviation is divided by 5 instead of 2 degrees of freedom, that by the root of the folds stays.
    assert twice[0] == pytest.approx(once[0], abs=0.01)
    assert twice[0] < shares(VALUES, np.vstack((BY_FOLD, BY_FOLD)), 6, 0.5)[0]


def test_candidates_without_a_difference_weigh_the_same():
    assert shares(np.zeros(3), np.zeros((4, 3)), 4, 0.5).tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_of_a_model_that_diverged_are_an_error(bad):
    with pytest.raises(ValueError, match=r"^held-out scores must be finite, found 1 NaN or infinite values"):
        held_out_tpauc(np.array([True, False, False]), np.array([1.0, bad, 0.0]), Region(1.0, 1.0))


def test_a_linear_fit_does_not_check_its_own_rows_again(monkeypatch):
    calls, check = [], area.check_labels_and_scores
    monkeypatch.setattr(area, "check_labels_and_scores", lambda *rows: calls.append(rows) or check(*rows))
    generator = np.random.default_rng(0)
    y = generator.permutation(np.arange(100) < 30)
    X = y[:, np.newaxis] + generator.random((100, 2))
    classifier = TPAUCClassifier("linear", alpha=0.3, beta=0.3, random_state=0).fit(X, y)
    assert calls == []
    classifier.score(X, y)
    assert len(calls) == 1
