"""Small trainings on the plane: their losses, seeds and warm-ups."""

import dataclasses
from statistics import median

import numpy as np
import pytest
import torch

from tpauc import Anchored, Exponential, Polynomial, TPAUCLoss, Uniform
from tpauc.losses.baselines import ReweightedCrossEntropy
from tpauc.paper.experiments.published import BEST
from tpauc.paper.figures import trials
from tpauc.paper.figures.figure import Experiment, Trial
from tpauc.paper.figures.trials import (
    MODELS,
    USUAL,
    Budget,
    cells,
    loss_of,
    measure_on_plane,
    new_model,
    parameters_of,
    square,
    trained_scores,
)
from tpauc.paper.theory.bayes import bayes_tpauc
from tpauc.paper.theory.populations import TWO_KINDS_OF_HARD

TINY = Budget(seeds=2, steps=3, warmup=1, n_positive=12, n_negative=40, side=20)


def usual_loss(method, budget=TINY):
    return loss_of(method, parameters_of(method, square(0.5), budget), budget)


def test_training_comes_near_the_limit():
    budget = Budget(seeds=1, steps=150, n_positive=200, n_negative=800, side=40)
    scores = trained_scores("net", usual_loss("CE-RW", budget), warmup=0, seed=0, budget=budget)
    _, population = cells(budget.side)
    assert population.tpauc(scores, square(0.5)) > 0.9 * bayes_tpauc(population, square(0.5))


def test_a_line_cannot_follow_eta_where_a_net_can():
    budget = Budget(steps=200, n_positive=200, n_negative=800, side=40)
    _, population = cells(budget.side, TWO_KINDS_OF_HARD)
    linear, net = (
        population.tpauc(
            trained_scores(
                *(model, usual_loss("CE-RW", budget)), warmup=0, seed=0, budget=budget, mixture=TWO_KINDS_OF_HARD
            ),
            square(0.3),
        )
        for model in MODELS
    )
    assert net > linear + 0.1


def test_the_seed_decides_everything_and_global_random_numbers_nothing():
    scores = []
    for seed in (0, 0, 1):
        torch.manual_seed(len(scores))
        scores.append(trained_scores("net", usual_loss("SqAUC"), warmup=0, seed=seed, budget=TINY))
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])


def test_the_warm_up_is_the_square_auc_loss():
    options = {"seed": 0, "budget": TINY}
    warm = trained_scores("net", usual_loss("TPAUC-Exp"), warmup=TINY.steps, **options)
    plain = trained_scores("net", usual_loss("SqAUC"), warmup=0, **options)
    np.testing.assert_array_equal(warm, plain)


def test_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match="model must be one of 'linear', 'net', got 'tree'"):
        new_model("tree", torch.Generator())


def test_the_usual_parameters_are_in_the_middle_of_the_papers():
    for weighting, name in (("Poly", "exponent"), ("Exp", "gamma")):
        rows = [best for subsets in BEST.values() for row in subsets[weighting].values() for best in row]
        assert len(rows) == 27
        assert USUAL[name] == median(best.value for best in rows)


LOGISTIC = {"surrogate": "logistic", "scores": "logit"}
LAST_LOSSES = {
    "CE-RW": ReweightedCrossEntropy(12, 40),
    "SqAUC": TPAUCLoss(Uniform()),
    "OP-Poly": TPAUCLoss(Uniform(), Polynomial.from_exponent(0.03)),
    "OP-Exp": TPAUCLoss(Uniform(), Exponential(15.0)),
    "TPAUC-Poly": TPAUCLoss(Polynomial.from_exponent(0.03)),
    "TPAUC-Exp": TPAUCLoss(Exponential(15.0)),
    "LogisticAUC": TPAUCLoss(Uniform(), **LOGISTIC),
    "anchored": TPAUCLoss(Anchored(0.3, 0.3, 0.3), **LOGISTIC),
}


@pytest.mark.parametrize("method", LAST_LOSSES)
def test_a_name_means_the_loss_that_the_table_of_methods_says(method):
    generator = torch.Generator().manual_seed(0)
    logits, labels = 3 * torch.randn(TINY.n_positive + TINY.n_negative, generator=generator), torch.arange(52) < 12
    loss = loss_of(method, parameters_of(method, square(0.3), TINY), TINY)
    first, last = LAST_LOSSES["LogisticAUC" if method == "anchored" else method], LAST_LOSSES[method]
    for step, expected in ((0, first), (TINY.steps - 1, last)):
        if hasattr(loss, "set_epoch"):
            loss.set_epoch(step)
        assert loss(logits, labels) == expected(logits, labels)


def test_no_two_of_these_losses_have_the_same_value():
    logits, labels = torch.linspace(-3, 3, 52), torch.arange(52) % 4 == 0
    values = [loss(logits, labels).item() for loss in LAST_LOSSES.values()]
    assert len(set(values)) == len(LAST_LOSSES)


def test_anchored_trains_on_logits_and_begins_with_the_logistic_loss():
    loss = usual_loss("anchored", Budget(steps=10))
    plain = usual_loss("LogisticAUC")
    logits, labels = torch.linspace(-3, 3, 40), torch.arange(40) % 4 == 0
    values = []
    for step in (0, 4, 5):
        loss.set_epoch(step)
        values.append(loss(logits, labels) == plain(logits, labels))
    assert values == [True, True, False]


def test_a_loss_made_for_a_region_is_trained_for_each(monkeypatch):
    made_for = []

    def recorded(model, loss, **options):
        made_for.append(loss.objective.negative.share)
        return trained_scores(model, loss, **options)

    monkeypatch.setattr(trials, "trained_scores", recorded)
    one = Budget(**{**TINY._asdict(), "seeds": 1})
    experiment = Experiment([Trial("TruncTPAUC")], [square(0.3), square(0.5)])
    measure_on_plane(experiment, one)
    assert made_for == [0.3, 0.5]
    rows = measure_on_plane(dataclasses.replace(experiment, by_opauc=True), one)
    assert made_for == [0.3, 0.5, 0.3, 0.5]  # for both measures the same
    assert [(row["alpha"], row["beta"]) for row in rows] == [(0.3, 0.3), (1.0, 0.3), (0.5, 0.5), (1.0, 0.5)]


def test_a_loss_that_knows_no_region_is_trained_once(monkeypatch):
    trained = []

    def recorded(model, loss, **options):
        trained.append((loss, options["warmup"]))
        return trained_scores(model, loss, **options)

    monkeypatch.setattr(trials, "trained_scores", recorded)
    one = Budget(**{**TINY._asdict(), "seeds": 1})
    # The paper has another exponent and another warm-up for each of these regions.
    chosen = [Trial("TPAUC-Poly", warmup=0.34), Trial("TPAUC-Poly", 0.5, 0.3), Trial("SqAUC", warmup=0.34)]
    rows = measure_on_plane(Experiment(chosen, [square(0.3), square(0.4), square(0.5)]), one)
    assert [warmup for _, warmup in trained] == [1, 1, 0]
    assert [loss.objective.negative.exponent for loss, _ in trained[:2]] == pytest.approx([0.03, 0.5])
    assert [row["value"] for row in rows[::3]] == ["", 0.5, ""]


def test_each_class_gets_its_own_gamma(monkeypatch):
    losses = []

    def recorded(model, loss, **options):
        losses.append(loss.objective)
        return trained_scores(model, loss, **options)

    monkeypatch.setattr(trials, "trained_scores", recorded)
    trial = Trial("TPAUC-Exp-two-sided", 5.0, negative_value=9.0)
    (row,) = measure_on_plane(Experiment([trial], [square(0.5)]), Budget(**{**TINY._asdict(), "seeds": 1}))
    assert (losses[0].positive.gamma, losses[0].negative.gamma) == (5.0, 9.0)
    assert (row["value"], row["negative_value"]) == (5.0, 9.0)
