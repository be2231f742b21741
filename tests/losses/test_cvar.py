"""CVaRTPAUCLoss against the nested CVaR, its thresholds against quantiles, its dual variables against the optimum."""

import copy

import pytest
import torch
from scipy.optimize import minimize

from pair_reference import PAIR_LOSS, cvar, cvar_risk
from stateful_losses import (
    CLASSES,
    FEATURES,
    assert_only_training_changes_the_state,
    assert_resumes,
    assert_same,
    assert_survives_extreme_batches,
    sample,
    value_and_gradient,
)
from tpauc.losses import surrogates
from tpauc.losses.baselines import TruncatedLoss
from tpauc.losses.cvar import CVaRTPAUCLoss

CASES = [("square", "sigmoid"), ("squared_hinge", "sigmoid"), ("exponential", "sigmoid"), ("logistic", "logit")]
CASES += [("hinge", "logit"), ("squared_hinge", "logit")]


def expected_value_and_gradient(logits, labels, name, alpha, beta, scores):
    return value_and_gradient(lambda z, y: cvar_risk(z, y, PAIR_LOSS[name], alpha, beta, scores), logits, labels)


# ----------------------------------------------------------------------------------------------- value and gradient


def test_the_plain_cvar_is_a_minimum():
    values = torch.randn(7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    levels = torch.linspace(-4, 4, 4001, dtype=torch.float64)
    for share in (0.1, 2 / 7, 0.5, 1.0):
        on_grid = levels + torch.relu(values[:, None] - levels).mean(0) / share
        assert cvar(values, share) == pytest.approx(on_grid.min().item(), abs=1e-2)
        assert (cvar(values, share) <= on_grid + 1e-12).all()


@pytest.mark.parametrize(("name", "scores"), CASES)
@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 0.1), (0.5, 1.0), (1.0, 0.2), (1.0, 1.0), (0.1, 0.05)])
@pytest.mark.parametrize("form", ["thresholds", "indices"])
def test_at_the_optimal_duals_it_is_the_nested_cvar(name, scores, alpha, beta, form):
    for seed in range(3):
        logits, labels = sample(20, 40, seed)
        loss = CVaRTPAUCLoss(alpha, beta, surrogate=name, scores=scores, num_examples=60)
        options = {} if form == "thresholds" else {"indices": torch.arange(60)}
        loss.move_to_quantiles(logits, labels)
        expected = expected_value_and_gradient(logits, labels, name, alpha, beta, scores)
        assert_same(value_and_gradient(loss, logits, labels, **options), expected)


def test_the_comparison_can_fail():
    logits, labels = sample(20, 40)
    loss = CVaRTPAUCLoss(0.3, 0.1)
    loss.move_to_quantiles(logits, labels)
    for alpha, beta in ((0.35, 0.1), (0.3, 0.125)):
        with pytest.raises(AssertionError):
            assert_same(
                value_and_gradient(loss, logits, labels),
                expected_value_and_gradient(logits, labels, "square", alpha, beta, "sigmoid"),
            )


def test_the_first_batch_is_truncated_and_later_batches_are_not():
    loss, truncated = CVaRTPAUCLoss(0.3, 0.1), TruncatedLoss(0.3, 0.1)
    first, second = sample(20, 40, seed=0), sample(60, 120, seed=1)
    assert_same(value_and_gradient(loss, *first), value_and_gradient(truncated, *first))
    above = loss.negative_threshold.double(), loss.positive_threshold.double()
    logits, labels = second
    hard = torch.where(labels > 0, logits <= above[1], logits >= above[0])
    _, gradient = value_and_gradient(loss, *second)
    assert torch.equal(gradient != 0, hard)
    assert 0 < hard.sum() != 18 + 12


def test_a_batch_may_be_smaller_than_one_over_the_share():
    """One positive per batch at alpha = 0.25: a quarter of the batches has it among the hard ones."""
    loss = CVaRTPAUCLoss(0.25, 0.5, dual_lr=0.05)
    generator = torch.Generator().manual_seed(0)
    labels, counted = torch.tensor([1, 0, 0]), []
    for _ in range(2000):
        z = torch.randn(3, generator=generator, requires_grad=True)
        loss(z, labels).backward()
        counted.append(z.grad[0] != 0)
    # A positive without a hard negative in its batch has no gradient either: 3/4 of the batches have one.
    assert torch.stack(counted[500:]).double().mean().item() == pytest.approx(0.25 * 0.75, abs=0.04)


@pytest.mark.parametrize("pairs", [1, 7, 50])
def test_blocks_of_any_size_give_the_same(pairs, monkeypatch):
    logits, labels = sample(9, 13)
    whole = CVaRTPAUCLoss(0.5, 0.3, surrogate="logistic", num_examples=22)
    parts = copy.deepcopy(whole)
    for step in range(3):
        expected = value_and_gradient(whole, logits + 0.1 * step, labels, indices=torch.arange(22))
        with monkeypatch.context() as patch:
            patch.setattr(surrogates, "BLOCK_PAIRS", pairs)
            found = value_and_gradient(parts, logits + 0.1 * step, labels, indices=torch.arange(22))
        assert_same(found, expected, rtol=1e-10)


# ----------------------------------------------------------------------------------------------------------- tracking


@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 0.1), (0.05, 0.02)])
def test_stationary_thresholds_are_the_quantiles(alpha, beta):
    generator = torch.Generator().manual_seed(0)
    positives = torch.randn(4000, generator=generator) + 1
    negatives = torch.randn(4000, generator=generator).exp()  # skewed
    loss = CVaRTPAUCLoss(alpha, beta, dual_lr=0.02)
    labels = torch.arange(64) < 8
    seen = []
    for step in range(3000):
        chosen = torch.randint(0, 4000, (64,), generator=generator)
        batch = torch.where(labels, positives[chosen], negatives[chosen]).requires_grad_()
        loss(batch, labels)
        if step >= 1000:
            seen.append(torch.stack((loss.positive_threshold, loss.negative_threshold)))
    t_positive, t_negative = torch.stack(seen).mean(0)
    assert (positives <= t_positive).float().mean().item() == pytest.approx(alpha, rel=0.1)
    assert (negatives >= t_negative).float().mean().item() == pytest.approx(beta, rel=0.1)


def test_on_a_fixed_batch_thresholds_come_to_rest_at_the_quantiles():
    logits, labels = sample(20, 40)
    loss = CVaRTPAUCLoss(0.3, 0.1)
    loss.move_to_quantiles(logits + 7.0, labels)  # far from those of the batch
    for _ in range(400):
        value_and_gradient(loss, logits, labels)
    resting = loss.thresholds.levels.clone()
    expected = expected_value_and_gradient(logits, labels, "square", 0.3, 0.1, "sigmoid")
    assert_same(value_and_gradient(loss, logits, labels), expected)
    assert torch.equal(loss.thresholds.levels, resting)


def test_tracking_does_not_depend_on_the_unit_of_the_logits():
    plain, scaled = CVaRTPAUCLoss(0.3, 0.1), CVaRTPAUCLoss(0.3, 0.1)
    for seed in range(20):
        logits, labels = sample(10, 30, seed)
        plain(logits.requires_grad_(), labels)
        scaled(logits.detach() * 1024 - 5 * 1024, labels)
    torch.testing.assert_close(scaled.negative_threshold, plain.negative_threshold * 1024 - 5 * 1024)
    torch.testing.assert_close(scaled.positive_threshold, plain.positive_threshold * 1024 - 5 * 1024)


@pytest.mark.parametrize("options", [{}, {"indices": torch.arange(12)}], ids=["thresholds", "indices"])
def test_only_training_changes_the_state(options):
    assert_only_training_changes_the_state(CVaRTPAUCLoss(0.5, 0.5, num_examples=12), **options)


# -------------------------------------------------------------------------------------------------------- optimisation


@pytest.mark.parametrize("form", ["thresholds", "indices"])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_descent_reaches_the_optimum_of_a_convex_problem(form, alpha):
    def risk(weights):
        logits = FEATURES @ torch.as_tensor(weights, dtype=torch.float64)
        return cvar_risk(logits, CLASSES, PAIR_LOSS["logistic"], alpha, 0.25, "logit").item()

    best = minimize(risk, [0.5, 0.5], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}).fun
    # The published form alternates around its optimum, by more the larger its steps are.
    dual_lr, options = (0.1, {}) if form == "thresholds" else (0.02, {"indices": torch.arange(60)})
    loss = CVaRTPAUCLoss(alpha, 0.25, surrogate="logistic", scores="logit", dual_lr=dual_lr, num_examples=60)
    weights = torch.tensor([0.05, 0.0], dtype=torch.float64, requires_grad=True)  # at 0 all scores are equal
    average = torch.zeros(2, dtype=torch.float64)
    for step in range(1500):
        (gradient,) = torch.autograd.grad(loss(FEATURES @ weights, CLASSES, **options), weights)
        with torch.no_grad():
            weights -= gradient / (1 + step / 100)
            average += weights / 750 if step >= 750 else 0.0
    assert risk([0.0, 0.0]) - best > 0.05
    assert risk(average.tolist()) == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("form", ["thresholds", "indices"])
def test_200_steps_equal_100_and_save_load_and_100(form):
    assert_resumes(lambda: CVaRTPAUCLoss(0.4, 0.3, num_examples=90), form == "indices")


# ----------------------------------------------------------------------------------------------------------- numerics


@pytest.mark.parametrize("form", ["thresholds", "indices"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("name", "scores"), CASES)
def test_extreme_batches_have_finite_losses_gradients_and_states(name, scores, dtype, form):
    loss = CVaRTPAUCLoss(0.5, 0.5, surrogate=name, scores=scores, num_examples=6)
    assert_survives_extreme_batches(loss, dtype, form == "indices")
    assert torch.isfinite(loss.thresholds.levels).all() or form == "indices"


@pytest.mark.parametrize("first", ["good", "broken"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_broken_batch_does_not_stay_in_the_state(bad, first):
    logits, labels = sample(4, 8)
    broken = torch.where(torch.arange(12) < 9, bad, logits)
    for options in ({}, {"indices": torch.arange(12)}):
        loss = CVaRTPAUCLoss(0.5, 0.5, scores="logit", num_examples=12)
        if first == "good":
            loss(logits, labels, **options)
        loss(broken, labels, **options)
        loss(logits, labels, **options)
        assert torch.isfinite(loss(logits, labels, **options))
        assert not any(torch.isnan(value).any() for value in loss.state_dict().values())


@pytest.mark.parametrize("rate", [1e-45, 5.0, 1e39, 1e308])
def test_rates_that_float32_cannot_hold_leave_a_finite_state(rate):
    """Torch converts the weight of lerp to the type of the tensors, and refuses one that overflows."""
    loss = CVaRTPAUCLoss(0.5, 0.5, dual_lr=rate)
    for seed, (positives, negatives) in enumerate([(4, 8), (1, 0), (30, 70), (0, 0), (4, 8)]):
        logits, labels = sample(positives, negatives, seed)
        assert torch.isfinite(loss(logits.float(), labels))
        assert all(torch.isfinite(value).all() for value in loss.state_dict().values())


def test_a_class_that_the_first_batch_lacks_starts_later():
    loss = CVaRTPAUCLoss(0.5, 0.5)
    loss(torch.tensor([1.0, 2.0]), torch.tensor([0, 0]))
    assert loss.negative_threshold == 1.5
    assert loss.positive_threshold == -float("inf")
    loss(torch.tensor([1.0, 2.0]), torch.tensor([1, 1]))
    assert loss.positive_threshold == 1.5


def test_a_nan_shows_in_the_loss():
    logits, labels = sample(4, 8)
    logits[3] = float("nan")
    for options in ({}, {"indices": torch.arange(12)}):
        for surrogate in ("square", "logistic"):
            loss = CVaRTPAUCLoss(0.5, 0.5, surrogate=surrogate, num_examples=12)
            assert torch.isnan(loss(logits, labels, **options))


def test_quantiles_of_a_whole_class_select_all_of_it():
    logits, labels = sample(4, 8)
    loss = CVaRTPAUCLoss(1.0, 0.5)
    loss.move_to_quantiles(logits, labels)
    assert loss.positive_threshold == float("inf")
    _, gradient = value_and_gradient(loss, logits - 100 * labels, labels)
    assert (gradient[labels > 0] != 0).all()


def test_a_second_derivative_is_refused():
    for options in ({}, {"indices": torch.arange(2)}):
        z = torch.tensor([0.1, 0.2], requires_grad=True)
        loss = CVaRTPAUCLoss(1.0, 1.0, num_examples=2)(z, torch.tensor([1, 0]), **options)
        with pytest.raises(RuntimeError, match="first derivative only"):
            torch.autograd.grad(loss, z, create_graph=True)


def test_columns_and_labels_of_other_types():
    logits, labels = sample(4, 8)
    expected = CVaRTPAUCLoss(0.5, 0.5)(logits, labels)
    assert torch.equal(CVaRTPAUCLoss(0.5, 0.5)(logits[:, None], labels[:, None].bool()), expected)
    assert torch.equal(CVaRTPAUCLoss(0.5, 0.5)(logits, 2.0 * labels - 1.0), expected)
    assert "alpha=0.5, beta=0.5, surrogate=Square()" in repr(CVaRTPAUCLoss(0.5, 0.5))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"alpha": 0.0}, ValueError, "alpha must be a share"),
        ({"beta": 1.5}, ValueError, "beta must be a share"),
        ({"surrogate": "cubic"}, ValueError, "surrogate must be one of"),
        ({"scores": "probit"}, ValueError, "scores must be one of"),
        ({"dual_lr": 0.0}, ValueError, "dual_lr must be above 0"),
        ({"num_examples": 0}, ValueError, "num_examples must be at least 1"),
        ({"num_examples": 2.5}, TypeError, "num_examples must be a whole number"),
    ],
)
def test_wrong_losses_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        CVaRTPAUCLoss(**({"alpha": 0.5, "beta": 0.5} | arguments))


@pytest.mark.parametrize(
    ("indices", "error", "message"),
    [
        ([0, 1], TypeError, "indices must be a tensor of whole numbers, got list"),
        (torch.tensor([0.0, 1.0]), TypeError, "whole numbers, got torch.float32"),
        (torch.tensor([True, False]), TypeError, "whole numbers, got torch.bool"),
        (torch.tensor([0, 1, 2]), ValueError, r"one row number per logit, got shape \(3,\) for 2 logits"),
        (torch.tensor([0, 5]), ValueError, "from 0 to num_examples - 1 = 4, got values from 0 to 5"),
        (torch.tensor([-1, 0]), ValueError, "got values from -1 to 0"),
    ],
)
def test_wrong_indices_are_refused(indices, error, message):
    with pytest.raises(error, match=message):
        CVaRTPAUCLoss(0.5, 0.5, num_examples=5)(torch.zeros(2), torch.tensor([0, 1]), indices)
    with pytest.raises(ValueError, match="build the loss with num_examples"):
        CVaRTPAUCLoss(0.5, 0.5)(torch.zeros(2), torch.tensor([0, 1]), torch.tensor([0, 1]))


def test_wrong_batches_are_refused():
    with pytest.raises(ValueError, match="labels must hold only 0/1"):
        CVaRTPAUCLoss(0.5, 0.5)(torch.zeros(2), torch.tensor([0, 2]))
    with pytest.raises(ValueError, match="equal length"):
        CVaRTPAUCLoss(0.5, 0.5).move_to_quantiles(torch.zeros(2), torch.tensor([0]))
