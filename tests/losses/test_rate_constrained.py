"""RecallAtFPRLoss and FPRAtRecallLoss against the Lagrangian, and the rates that they reach."""

import copy

import pytest
import torch

from pair_reference import PAIR_LOSS
from stateful_losses import (
    assert_only_training_changes_the_state,
    assert_resumes,
    assert_same,
    assert_survives_extreme_batches,
    sample,
    value_and_gradient,
)
from tpauc.losses.rate_constrained import FPRAtRecallLoss, RecallAtFPRLoss

BOTH = pytest.mark.parametrize("kind", [RecallAtFPRLoss, FPRAtRecallLoss])


def lagrangian(kind, share, name):
    """Return the loss of a first batch by its definition, with constant t and lam in the gradient."""

    def loss(z, labels):
        positive, negative = z[labels > 0], z[labels <= 0]
        if kind is RecallAtFPRLoss:
            ordered = negative.detach().sort(descending=True).values
        else:
            ordered = positive.detach().sort().values
        count = round(share * len(ordered))
        t = (ordered[count - 1] + ordered[count]) / 2
        slopes = []
        for margins in (positive - t, t - negative):
            leaf = margins.detach().requires_grad_()
            slopes.append(torch.autograd.grad(PAIR_LOSS[name](leaf).sum(), leaf)[0].abs().mean())
        terms = PAIR_LOSS[name](positive - t).mean(), PAIR_LOSS[name](t - negative).mean()
        if kind is RecallAtFPRLoss:
            return terms[0] + slopes[0] / slopes[1] * terms[1]
        return terms[1] + slopes[1] / slopes[0] * terms[0]

    return loss


@BOTH
@pytest.mark.parametrize("name", ["sigmoid", "logistic", "squared_hinge"])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_first_batch_has_the_lagrangian_at_its_optimal_duals(kind, name, share):
    for seed in range(3):
        logits, labels = sample(20, 40, seed)
        expected = value_and_gradient(lagrangian(kind, share, name), logits, labels)
        # The threshold is kept in float32, but the first batch uses its own.
        assert_same(value_and_gradient(kind(share, surrogate=name), logits, labels), expected)
        with pytest.raises(AssertionError):
            assert_same(value_and_gradient(kind(share + 0.1, surrogate=name), logits, labels), expected)


@BOTH
def test_a_common_constant_of_the_logits_has_no_gradient(kind):
    logits, labels = sample(20, 40)
    _, gradient = value_and_gradient(kind(0.2), logits, labels)
    assert abs(gradient.sum().item()) < 1e-12
    assert gradient.abs().max() > 1e-3


@BOTH
def test_the_stationary_threshold_has_the_rate(kind):
    generator = torch.Generator().manual_seed(0)
    population = {True: torch.randn(4000, generator=generator) + 1, False: torch.randn(4000, generator=generator).exp()}
    loss, labels = kind(0.1, dual_lr=0.02), torch.arange(64) < 16
    seen = []
    for step in range(2500):
        chosen = torch.randint(0, 4000, (64,), generator=generator)
        loss(torch.where(labels, population[True][chosen], population[False][chosen]), labels)
        if step >= 1000:
            seen.append(loss.threshold.clone())
    t = torch.stack(seen).mean()
    rate = (population[False] >= t) if kind is RecallAtFPRLoss else (population[True] <= t)
    assert rate.float().mean().item() == pytest.approx(0.1, rel=0.1)


def corner_problem():
    """Return features whose best direction for cross-entropy is not the best one at a low FPR.

    A tenth of the negatives has larger first features than the positives; only the second feature separates them.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1200, 2, generator=generator)
    labels = (torch.arange(1200) < 200).long()
    x[:200] += torch.tensor([2.0, 1.0])
    x[200:300] += torch.tensor([4.0, 0.0])
    return x, labels


def recall(direction, x, labels, beta):
    scores = x @ torch.as_tensor(direction, dtype=torch.float32)
    threshold = scores[labels == 0].sort(descending=True).values[int(beta * 1000)]
    return (scores[labels == 1] > threshold).float().mean().item()


def false_alarms(direction, x, labels, alpha):
    scores = x @ torch.as_tensor(direction, dtype=torch.float32)
    threshold = scores[labels == 1].sort().values[int(alpha * 200)]
    return (scores[labels == 0] >= threshold).float().mean().item()


def trained_direction(loss, x, labels):
    """Return the direction after descent; ``loss`` may have parameters of its own, such as an intercept."""
    weights = torch.tensor([1.0, 0.0], requires_grad=True)
    variables = [weights, *loss.parameters()]
    for step in range(600):
        gradients = torch.autograd.grad(loss(x @ weights, labels), variables)
        with torch.no_grad():
            for variable, gradient in zip(variables, gradients, strict=True):
                variable -= 3.0 / (1 + step / 200) * gradient
    return weights.tolist()


class CrossEntropy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.intercept = torch.nn.Parameter(torch.zeros(()))

    def forward(self, logits, labels):
        return torch.nn.functional.binary_cross_entropy_with_logits(logits + self.intercept, labels.float())


ANGLES = torch.linspace(-torch.pi, torch.pi, 721)


def test_training_finds_the_direction_of_the_highest_recall():
    """On this problem, made for it: how much is gained elsewhere is a matter of the data."""
    x, labels = corner_problem()
    best = max(recall([a.cos(), a.sin()], x, labels, 0.05) for a in ANGLES)
    loss = RecallAtFPRLoss(0.05)
    found = trained_direction(loss, x, labels)
    assert recall(found, x, labels, 0.05) >= best - 0.02
    assert recall(trained_direction(CrossEntropy(), x, labels), x, labels, 0.05) < best - 0.03
    scores = x @ torch.tensor(found)
    assert (scores[labels == 0] >= loss.threshold).float().mean().item() == pytest.approx(0.05, abs=0.01)


def test_training_finds_the_direction_of_the_lowest_false_positive_rate():
    x, labels = corner_problem()
    best = min(false_alarms([a.cos(), a.sin()], x, labels, 0.1) for a in ANGLES)
    loss = FPRAtRecallLoss(0.1)
    found = trained_direction(loss, x, labels)
    assert false_alarms(found, x, labels, 0.1) <= best + 0.02
    assert false_alarms(trained_direction(CrossEntropy(), x, labels), x, labels, 0.1) > best + 0.05
    scores = x @ torch.tensor(found)
    assert (scores[labels == 1] <= loss.threshold).float().mean().item() == pytest.approx(0.1, abs=0.02)


@BOTH
def test_only_training_changes_the_state(kind):
    assert_only_training_changes_the_state(kind(0.5))


@BOTH
def test_200_steps_equal_100_and_save_load_and_100(kind):
    assert_resumes(lambda: kind(0.3), with_indices=False)


@BOTH
@pytest.mark.parametrize("surrogate", ["sigmoid", "logistic", "hinge", "squared_hinge"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_extreme_batches_have_finite_losses_and_gradients(kind, surrogate, dtype):
    loss = kind(0.5, surrogate=surrogate)
    assert_survives_extreme_batches(loss, dtype, with_indices=False)
    assert torch.isfinite(loss.slopes).all()
    assert torch.isfinite(loss.threshold)


@BOTH
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_broken_batch_does_not_stay_in_the_state(kind, bad):
    logits, labels = sample(4, 8)
    loss = kind(0.5)
    for batch in (logits, torch.where(torch.arange(12) < 9, bad, logits), logits):
        value = loss(batch, labels)
    assert torch.isfinite(value)
    assert all(torch.isfinite(part[part > -float("inf")]).all() for part in loss.state_dict().values())


@BOTH
def test_second_derivatives_are_those_of_the_loss_at_constant_duals(kind):
    logits, labels = sample(4, 8)
    loss = kind(0.5)
    loss(logits, labels)
    frozen = copy.deepcopy(loss).eval()
    frozen.dual_lr = 1e-300  # lam then does not follow the batch
    assert torch.autograd.gradgradcheck(lambda z: frozen(z, labels), (logits.requires_grad_(),))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RecallAtFPRLoss(1.0), ValueError, r"beta must be in \(0, 1\)"),
        (lambda: RecallAtFPRLoss(0.0), ValueError, r"beta must be in \(0, 1\)"),
        (lambda: FPRAtRecallLoss("x"), TypeError, "alpha must be a number"),
        (lambda: FPRAtRecallLoss(1.2), ValueError, r"alpha must be in \(0, 1\)"),
        (lambda: RecallAtFPRLoss(0.1, surrogate="cubic"), ValueError, "surrogate must be one of"),
        (lambda: FPRAtRecallLoss(0.1, dual_lr=0.0), ValueError, "dual_lr must be above 0"),
        (lambda: RecallAtFPRLoss(0.1)(torch.zeros(2), torch.tensor([0, 2])), ValueError, "labels must hold only 0/1"),
    ],
)
def test_mistakes_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_the_loss_says_what_it_is():
    assert repr(RecallAtFPRLoss(0.05)).startswith("RecallAtFPRLoss(\n  beta=0.05, surrogate=Sigmoid(), dual_lr=0.1")
    assert "alpha=0.2" in repr(FPRAtRecallLoss(0.2))
