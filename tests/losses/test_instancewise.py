"""InstanceWiseTPAUCLoss against the truncated square risk over pairs, at its saddle and on the way to it."""

import io

import pytest
import torch
from scipy.optimize import minimize

from pair_reference import PAIR_LOSS, cvar_risk
from stateful_losses import (
    CLASSES,
    FEATURES,
    assert_only_training_changes_the_state,
    assert_resumes,
    assert_same,
    assert_same_state,
    assert_survives_extreme_batches,
    sample,
    value_and_gradient,
)
from tpauc.losses.instancewise import InstanceWiseTPAUCLoss
from tpauc.losses.minimax import descent_ascent

REGIONS = [(0.3, 0.1), (0.5, 1.0), (1.0, 0.2), (1.0, 1.0), (0.1, 0.05)]


def risk_and_gradient(logits, labels, alpha, beta):
    return value_and_gradient(lambda z, y: cvar_risk(z, y, PAIR_LOSS["square"], alpha, beta), logits, labels)


def at_saddle(logits, labels, alpha, beta):
    loss = InstanceWiseTPAUCLoss(alpha, beta).double()
    loss.move_to_saddle(logits, labels)
    return loss


@pytest.mark.parametrize(("alpha", "beta"), REGIONS)
def test_at_the_saddle_it_is_the_truncated_square_risk(alpha, beta):
    for seed in range(3):
        logits, labels = sample(20, 40, seed)
        loss = at_saddle(logits, labels, alpha, beta)
        assert_same(value_and_gradient(loss, logits, labels), risk_and_gradient(logits, labels, alpha, beta))


@pytest.mark.parametrize(("alpha", "beta"), REGIONS)
def test_the_saddle_is_a_minimum_in_a_and_b_and_a_maximum_in_g(alpha, beta):
    logits, labels = sample(20, 40)
    loss = at_saddle(logits, labels, alpha, beta).eval()
    best = loss(logits, labels)
    best.backward()
    for variable, sign in ((loss.a, 1.0), (loss.b, 1.0), (loss.g, -1.0)):
        assert variable.grad.abs() < 1e-12
        for step in (-0.1, 0.1):
            with torch.no_grad():
                variable += step
                assert sign * (loss(logits, labels) - best) > 1e-3
                variable -= step


def test_the_formula_is_the_mean_of_the_losses_of_the_examples():
    """Away from the saddle, example by example."""
    logits, labels = sample(20, 40)
    loss = at_saddle(logits, labels, 0.3, 0.1).eval()
    with torch.no_grad():
        for variable, value in zip((loss.a, loss.b, loss.g), (0.2, 0.7, 0.4), strict=True):
            variable.fill_(value)
    hard_positive = torch.sigmoid(logits[labels > 0]).sort().values[:6]
    hard_negative = torch.sigmoid(logits[labels <= 0]).sort().values[-4:]
    of_positives = (hard_positive - 0.2) ** 2 - 2 * 1.4 * hard_positive
    of_negatives = (hard_negative - 0.7) ** 2 + 2 * 1.4 * hard_negative
    expected = 1 + of_positives.mean() + of_negatives.mean() - 0.4**2
    assert loss(logits, labels).item() == pytest.approx(expected.item(), rel=1e-10)


def test_descent_on_g_as_published_misses_the_risk_and_ascent_finds_it():
    """Scores are fixed; both updates start at the same place, with the hard examples selected exactly."""
    logits, labels = sample(20, 40)
    (risk, _), found = risk_and_gradient(logits, labels, 0.3, 0.1), {}
    for sign in (1.0, -1.0):
        loss = at_saddle(logits, labels, 0.3, 0.1).eval()
        with torch.no_grad():
            for variable in (loss.a, loss.b, loss.g):
                variable.fill_(0.5)
        for _ in range(300):
            gradients = torch.autograd.grad(loss(logits, labels), [loss.a, loss.b, loss.g])
            with torch.no_grad():
                for variable, gradient, way in zip(
                    (loss.a, loss.b, loss.g), gradients, (-1.0, -1.0, sign), strict=True
                ):
                    variable += way * 0.1 * gradient
            loss.project()
        found[sign] = loss(logits, labels).item()
    assert found[1.0] == pytest.approx(risk.item(), rel=1e-8)
    assert abs(found[-1.0] - risk.item()) > 0.1


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_descent_ascent_reaches_the_optimum(alpha):
    def risk(weights):
        logits = FEATURES @ torch.as_tensor(weights, dtype=torch.float64)
        return cvar_risk(logits, CLASSES, PAIR_LOSS["square"], alpha, 0.25).item()

    best = min(
        minimize(risk, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}).fun
        for start in ([0.5, 0.5], [2.0, 1.0], [5.0, 0.0])
    )
    model = torch.nn.Linear(2, 1, bias=False).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.1, 0.0]]))
    loss = InstanceWiseTPAUCLoss(alpha, 0.25).double()
    optimizer = descent_ascent(model, loss, lr=1.0, dual_lr=0.2, momentum=0.0)
    for step in range(1500):
        optimizer.param_groups[0]["lr"] = 1.0 / (1 + step / 300)
        optimizer.zero_grad()
        loss(model(FEATURES), CLASSES).backward()
        optimizer.step()
    assert risk([0.1, 0.0]) - best > 0.02
    assert risk(model.weight[0].tolist()) == pytest.approx(best, rel=2e-3)


def test_variables_stay_in_their_ranges():
    loss = InstanceWiseTPAUCLoss(0.5, 0.5)
    optimizer = descent_ascent(torch.nn.Linear(2, 1), loss, lr=0.1, dual_lr=50.0)
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        optimizer.zero_grad()
        loss(torch.randn(30, generator=generator), torch.arange(30) < 10).backward()
        optimizer.step()
        a, b, g = loss.a.item(), loss.b.item(), loss.g.item()
        assert 0 <= a <= 1
        assert 0 <= b <= 1
        assert max(-a, b - 1) - 1e-6 <= g <= 1


def test_a_second_derivative_is_refused():
    logits, labels = sample(4, 8)
    z = logits.requires_grad_()
    with pytest.raises(RuntimeError, match="first derivative only"):
        torch.autograd.grad(InstanceWiseTPAUCLoss(0.5, 0.5)(z, labels), z, create_graph=True)


def test_the_gradient_is_right_away_from_the_saddle():
    """In the logits, with the selection held fixed, and in the three variables."""
    logits, labels = sample(20, 40)
    loss = at_saddle(logits, labels, 0.3, 0.1).eval()
    with torch.no_grad():
        for variable, value in zip((loss.a, loss.b, loss.g), (0.2, 0.7, 0.4), strict=True):
            variable.fill_(value)

    def value(z, a, b, g):
        return torch.func.functional_call(loss, {"a": a, "b": b, "g": g}, (z, labels))

    variables = [variable.detach().clone().requires_grad_() for variable in (loss.a, loss.b, loss.g)]
    assert torch.autograd.gradcheck(value, (logits.requires_grad_(), *variables))


def test_only_training_changes_the_state():
    assert_only_training_changes_the_state(InstanceWiseTPAUCLoss(0.5, 0.5))


def test_200_steps_equal_100_and_save_load_and_100():
    assert_resumes(lambda: InstanceWiseTPAUCLoss(0.4, 0.3), with_indices=False)


def test_200_steps_of_descent_and_ascent_equal_100_and_save_load_and_100():
    """With the variables, and the momentum of the optimiser that moves them."""

    def new():
        torch.manual_seed(0)
        model, loss = torch.nn.Linear(3, 1), InstanceWiseTPAUCLoss(0.4, 0.3)
        return model, loss, descent_ascent(model, loss, lr=0.1, dual_lr=0.1, momentum=0.9)

    def train(parts, first, last):
        model, loss, optimizer = parts
        for step in range(first, last):
            x = torch.randn(24, 3, generator=torch.Generator().manual_seed(step))
            optimizer.zero_grad()
            loss(model(x), torch.arange(24) < 8).backward()
            optimizer.step()

    whole, half, resumed = new(), new(), new()
    train(whole, 0, 200)
    train(half, 0, 100)
    file = io.BytesIO()
    torch.save([part.state_dict() for part in half], file)
    file.seek(0)
    for part, state in zip(resumed, torch.load(file, weights_only=True), strict=True):
        part.load_state_dict(state)
    train(resumed, 100, 200)
    start = InstanceWiseTPAUCLoss(0.4, 0.3)
    for name in ("a", "b", "g"):
        assert getattr(whole[1], name) != getattr(start, name)
    for part, expected in zip(resumed[:2], whole[:2], strict=True):
        assert_same_state(part.state_dict(), expected.state_dict())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_extreme_batches_have_finite_losses_and_gradients(dtype):
    loss = InstanceWiseTPAUCLoss(0.5, 0.5)
    assert_survives_extreme_batches(loss, dtype, with_indices=False)
    assert all(torch.isfinite(value).all() for value in loss.state_dict().values())


def test_autocast_changes_nothing():
    logits, labels = sample(20, 40)
    loss = at_saddle(logits, labels, 0.5, 0.5).eval()
    expected = value_and_gradient(loss, logits.float(), labels)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = value_and_gradient(loss, logits.float(), labels)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"alpha": 0.0}, ValueError, "alpha must be a share"),
        ({"beta": "x"}, TypeError, "beta must be a number"),
        ({"threshold_lr": 0.0}, ValueError, "threshold_lr must be above 0"),
    ],
)
def test_wrong_losses_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        InstanceWiseTPAUCLoss(**({"alpha": 0.5, "beta": 0.5} | arguments))


def test_wrong_batches_are_refused():
    loss = InstanceWiseTPAUCLoss(0.5, 0.5)
    for use in (loss, loss.move_to_saddle):
        with pytest.raises(ValueError, match="labels must hold only 0/1"):
            use(torch.zeros(2), torch.tensor([0, 2]))
