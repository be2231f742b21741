"""The saddle form against the pairwise risk, Theorem 1 and Algorithm 1, each written out plainly here."""

import copy
import io
import math
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from processes import run_in_processes
from tpauc.losses.minimax import MinimaxTPAUCLoss, descent_ascent
from tpauc.losses.rank_weighting import Anchored, TruncatedSide
from tpauc.losses.tpauc_loss import TPAUCLoss
from tpauc.losses.weighting import Exponential, Polynomial, Uniform, Weighting

FORMS = ["paper", "compact"]
SIZES = {"paper": (10, 8), "compact": (6, 3)}


def sine(t):
    return torch.sin(t * math.pi / 2)


def above_one(t):
    return 3.0 * t.sqrt()


# name: the weightings given to the loss, psi of the positives and of the negatives in plain torch, v_inf of each
WEIGHTINGS = {
    "polynomial": ((Polynomial(3.0),), torch.sqrt, torch.sqrt, (1.0, 1.0)),
    "exponential": ((Exponential(2.0),), *[lambda t: 1 - torch.exp(-2 * t)] * 2, (1 - math.exp(-2),) * 2),
    "uniform": ((Uniform(),), torch.ones_like, torch.ones_like, (1.0, 1.0)),
    "heterogeneous": (
        (Polynomial(3.0), Exponential(2.0)),
        torch.sqrt,
        lambda t: 1 - torch.exp(-2 * t),
        (1.0, 1 - math.exp(-2)),
    ),
    "one-way": ((Uniform(), Polynomial(3.0)), torch.ones_like, torch.sqrt, (1.0, 1.0)),
    "user": ((sine,), sine, sine, (1.0, 1.0)),
    "above one": ((above_one, Weighting.from_function(sine)), above_one, sine, (3.0, 1.0)),
}


# ------------------------------------------------------------------------------------- plain references, no tpauc here


def pairwise_risk(logits, labels, psi_positive, psi_negative):
    """1/(n+ n-) sum_ij psi+(1 - f_i) psi-(f_j) (1 - (f_i - f_j))^2, pair by pair, and its gradient."""
    z = logits.detach().clone().requires_grad_()
    positives = [z[i] for i in range(len(z)) if labels[i] == 1]
    negatives = [z[j] for j in range(len(z)) if labels[j] == 0]
    total = 0.0
    for zi in positives:
        for zj in negatives:
            pair = (1 - (torch.sigmoid(zi) - torch.sigmoid(zj))) ** 2
            total = total + psi_positive(torch.sigmoid(-zi)) * psi_negative(torch.sigmoid(zj)) * pair
    risk = total / (len(positives) * len(negatives))
    risk.backward()
    return risk.detach(), z.grad


def zetas(logits, labels, psi_positive, psi_negative):
    """zeta_1 and zeta_2 of Theorem 1."""
    f = torch.sigmoid(logits)
    f_positive, f_negative = f[labels == 1], f[labels == 0]
    v_positive, v_negative = psi_positive(1 - f_positive), psi_negative(f_negative)
    cp, cn = v_positive.mean(), v_negative.mean()
    fp, fn = (v_positive * f_positive).mean(), (v_negative * f_negative).mean()
    fp2, fn2 = (v_positive * f_positive**2).mean(), (v_negative * f_negative**2).mean()
    zeta1 = -torch.stack([cp, cn, 2 * (fp + cn), 2 * cp, 2 * fn, cn, fp2, cp, fn2, 2 * (fp + fn)])
    zeta2 = torch.stack([cp + cn, 2 * cn, 2 * fp, 2 * (fn + cp), cn + fp2, cp + fn2, 2 * fp, 2 * fn])
    return zeta1, zeta2


R2 = math.sqrt(2)
C_A = torch.tensor([1, 1, R2, R2, R2, 1, 1, 1, 1, R2], dtype=torch.float64) / R2
C_B = torch.tensor([1, R2, R2, R2, 1, 1, R2, R2], dtype=torch.float64) / R2


def theorem_1(a, b, zeta1, zeta2):
    a_tilde, b_tilde = C_A * a, C_B * b
    return a @ zeta1 + b @ zeta2 - (b_tilde**2).sum() + (a_tilde**2).sum()


def boxes(vp, vn):
    """c_a and c_b with f_inf = 1; v_inf is the largest weight of the class of the variable.

    A mean of v f^k may reach v_inf, so v_inf replaces f_inf if it is above 1.
    """
    fp, fn = max(1.0, vp), max(1.0, vn)
    c_a = [vp, vn, vn + fp, vp, fn, vn, fp, vp, fn, fp + fn]
    c_b = [vp + vn, vn, fp, vp + fn, vn + fp, vp + fn, fp, fn]
    return torch.tensor(c_a, dtype=torch.float64), torch.tensor(c_b, dtype=torch.float64)


# --------------------------------------------------------------------------------------------------- shared checkers


def assert_equal(found, expected):
    """Compare at rtol 1e-10; products are differences of squares of numbers up to 8, whose rounding is absolute."""
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-13)


def assert_bit_equal(found, expected):
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert torch.equal(found[key], value), key


def test_checkers_can_fail():
    with pytest.raises(AssertionError):
        assert_equal(torch.tensor(1 + 2e-10, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64))
    with pytest.raises(AssertionError):
        assert_equal(torch.tensor(2e-13, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64))
    with pytest.raises(AssertionError):
        assert_equal(torch.tensor(1.0), torch.tensor(1.0, dtype=torch.float64))
    one = torch.tensor([1.0])
    assert_bit_equal({"x": one}, {"x": one.clone()})
    with pytest.raises(AssertionError):
        assert_bit_equal({"x": one}, {"x": torch.nextafter(one, 2 * one)})
    with pytest.raises(AssertionError):
        assert_bit_equal({"x": one, "y": one}, {"x": one})


# ------------------------------------------------------------------------------------------------------------ samples


@st.composite
def batches(draw, largest=6.0):
    n_positive, n_negative = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    n = n_positive + n_negative
    labels = draw(st.permutations([1] * n_positive + [0] * n_negative))
    logits = draw(st.lists(st.floats(-largest, largest), min_size=n, max_size=n))
    return torch.tensor(logits, dtype=torch.float64), torch.tensor(labels)


def random_batch(n=30, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, generator=generator, dtype=torch.float64)
    return logits, (torch.arange(n) % 3 == 0).long()


def problem(n=40, seed=0):
    """Two overlapping clouds, 1 in 4 positive: features and labels."""
    generator = torch.Generator().manual_seed(seed)
    labels = (torch.arange(n) % 4 == 0).long()
    x = torch.randn(n, 3, generator=generator, dtype=torch.float64) + labels[:, None] * torch.tensor([1.0, 0.5, 0.0])
    return x, labels


def linear_model(seed=0):
    model = nn.Linear(3, 1).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def make(name, form="paper", **options):
    return MinimaxTPAUCLoss(*WEIGHTINGS[name][0], form=form, **options).double()


def place(loss, a, b):
    with torch.no_grad():
        loss.a.copy_(a)
        loss.b.copy_(b)


def random_variables(form, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [2 * torch.rand(size, generator=generator, dtype=torch.float64) for size in SIZES[form]]


def step(optimizer, model, loss, x, y):
    optimizer.zero_grad()
    value = loss(model(x), y)
    value.backward()
    optimizer.step()
    return value.detach()


# ------------------------------------------------------------------------------------------------------- at the saddle


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", WEIGHTINGS)
@settings(deadline=None, max_examples=25)
@given(batch=batches())
def test_value_and_gradient_at_the_saddle_are_those_of_the_pairwise_risk(name, form, batch):
    logits, labels = batch
    _, psi_positive, psi_negative, _ = WEIGHTINGS[name]
    loss = make(name, form)
    loss.move_to_saddle(logits, labels)
    z = logits.clone().requires_grad_()
    value = loss(z, labels)
    value.backward()
    risk, gradient = pairwise_risk(logits, labels, psi_positive, psi_negative)
    assert_equal(value.detach(), risk)
    assert_equal(z.grad, gradient)
    # It is a saddle: nothing is left to gain for either player.
    assert_equal(loss.a.grad, torch.zeros_like(loss.a))
    assert_equal(loss.b.grad, torch.zeros_like(loss.b))


@pytest.mark.parametrize("form", FORMS)
def test_the_saddle_is_a_minimum_in_a_and_a_maximum_in_b(form):
    logits, labels = random_batch()
    loss = make("polynomial", form)
    loss.move_to_saddle(logits, labels)
    a, b, value = loss.a.detach().clone(), loss.b.detach().clone(), loss(logits, labels).item()
    for k in range(len(a)):
        place(loss, a + 0.01 * (torch.arange(len(a)) == k), b)
        assert loss(logits, labels).item() > value
    for k in range(len(b)):
        place(loss, a, b + 0.01 * (torch.arange(len(b)) == k))
        assert loss(logits, labels).item() < value


def test_a_weighting_and_its_numerical_twin_have_one_saddle():
    logits, labels = random_batch()
    values = []
    for weighting in (Polynomial(3.0), Weighting.from_penalty(lambda v: v**3 / 3)):
        loss = MinimaxTPAUCLoss(weighting).double()
        loss.move_to_saddle(logits, labels)
        values.append(loss(logits, labels).detach())
    # bisection leaves 1e-12 or so of the weight
    torch.testing.assert_close(values[0], values[1], rtol=1e-10, atol=0.0)


# ---------------------------------------------------------------------------------------------------------- Theorem 1


@pytest.mark.parametrize("name", WEIGHTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_paper_form_is_theorem_1_at_any_a_and_b(name, seed):
    logits, labels = random_batch(seed=seed)
    _, psi_positive, psi_negative, _ = WEIGHTINGS[name]
    zeta1, zeta2 = zetas(logits, labels, psi_positive, psi_negative)
    loss = make(name)
    for found, expected in zip(
        torch.autograd.grad(loss(logits, labels), [loss.a, loss.b]), (zeta1, zeta2), strict=True
    ):
        assert_equal(found, expected)  # at a = b = 0
    a, b = random_variables("paper", seed)
    place(loss, a, b)
    value = loss(logits, labels)
    value.backward()
    assert_equal(value.detach(), theorem_1(a, b, zeta1, zeta2))
    assert_equal(loss.a.grad, zeta1 + 2 * C_A * (C_A * a))
    assert_equal(loss.b.grad, zeta2 - 2 * C_B * (C_B * b))


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_model_gradient_away_from_the_saddle_is_that_of_theorem_1(name):
    logits, labels = random_batch()
    _, psi_positive, psi_negative, _ = WEIGHTINGS[name]
    a, b = random_variables("paper")
    z = logits.clone().requires_grad_()
    (expected,) = torch.autograd.grad(theorem_1(a, b, *zetas(z, labels, psi_positive, psi_negative)), z)
    loss = make(name)
    place(loss, a, b)
    loss(z, labels).backward()
    assert_equal(z.grad, expected)


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_boxes_of_the_paper_form_are_those_of_theorem_1(name):
    loss = make(name)
    place(loss, 1e9, 1e9)
    loss.project()
    c_a, c_b = boxes(*WEIGHTINGS[name][3])
    assert_equal(loss.a.detach(), c_a)
    assert_equal(loss.b.detach(), c_b)
    place(loss, -1e9, -1e9)
    loss.project()
    assert torch.equal(loss.a, torch.zeros(10, dtype=torch.float64))
    assert torch.equal(loss.b, torch.zeros(8, dtype=torch.float64))
    inside_a, inside_b = 0.5 * c_a, 0.5 * c_b
    place(loss, inside_a, inside_b)
    loss.project()
    assert torch.equal(loss.a, inside_a)
    assert torch.equal(loss.b, inside_b)


def test_boxes_with_one_weighting_are_the_paper_s_list():
    v, f = 1 - math.exp(-2), 1.0
    c_a, c_b = boxes(v, v)
    expected_a = [v, v, v + f, v, f, v, f**2, v, f**2, 2 * f]
    expected_b = [2 * v, v, f, v + f, v + f**2, v + f**2, f, f]
    assert c_a.tolist() == expected_a
    assert c_b.tolist() == expected_b


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", WEIGHTINGS)
@settings(deadline=None, max_examples=10)
@given(batch=batches(largest=40.0))
def test_every_saddle_lies_in_the_boxes(name, form, batch):
    """So projection never moves the solution, not even where scores saturate."""
    loss = make(name, form)
    loss.move_to_saddle(*batch)
    for gradient in torch.autograd.grad(loss(*batch), [loss.a, loss.b]):
        assert_equal(gradient, torch.zeros_like(gradient))


# -------------------------------------------------------------------------------------------------------- Algorithm 1


@pytest.mark.parametrize("name", ["polynomial", "heterogeneous", "one-way"])
def test_one_step_is_algorithm_1(name):
    x, labels = problem()
    _, psi_positive, psi_negative, v_inf = WEIGHTINGS[name]
    eta1, eta2, eta3 = 0.3, 0.2, 0.1
    model, loss = linear_model(), make(name)
    a, b = random_variables("paper")
    place(loss, a, b)
    theta = [parameter.detach().clone().requires_grad_() for parameter in model.parameters()]

    zeta1, zeta2 = zetas(nn.functional.linear(x, *theta)[:, 0], labels, psi_positive, psi_negative)
    gradients = torch.autograd.grad(theorem_1(a, b, zeta1, zeta2), theta)
    new_theta = [parameter.detach() - eta1 * gradient for parameter, gradient in zip(theta, gradients, strict=True)]
    a_tilde, b_tilde = C_A * a, C_B * b
    c_a, c_b = boxes(*v_inf)
    new_a = torch.clamp(a - eta2 * (zeta1.detach() + 2 * C_A * a_tilde), torch.zeros(10), c_a)
    new_b = torch.clamp(b + eta3 * (zeta2.detach() - 2 * C_B * b_tilde), torch.zeros(8), c_b)

    optimizer = descent_ascent(model, loss, lr=eta1, dual_lr=(eta2, eta3), momentum=0.0)
    step(optimizer, model, loss, x, labels)
    for found, expected in zip(model.parameters(), new_theta, strict=True):
        assert_equal(found.detach(), expected)
    assert_equal(loss.a.detach(), new_a)
    assert_equal(loss.b.detach(), new_b)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("nesterov", [True, False])
def test_momentum_and_weight_decay_act_on_the_model_alone(form, nesterov):
    x, labels = problem()
    eta2, eta3 = 0.2, 0.1
    options = {"lr": 0.3, "momentum": 0.9, "weight_decay": 0.05, "nesterov": nesterov}
    model, loss = linear_model(), make("polynomial", form, start="batch")
    optimizer = descent_ascent(model, loss, dual_lr=(eta2, eta3), **options)
    twin, twin_loss = linear_model(), make("polynomial", form, start="batch")
    sgd = torch.optim.SGD(twin.parameters(), **options)
    for _ in range(5):
        step(optimizer, model, loss, x, labels)
        twin_loss.zero_grad()
        step(sgd, twin, twin_loss, x, labels)
        place(twin_loss, twin_loss.a - eta2 * twin_loss.a.grad, twin_loss.b + eta3 * twin_loss.b.grad)
        twin_loss.project()
    for found, expected in zip(model.parameters(), twin.parameters(), strict=True):
        assert_equal(found.detach(), expected.detach())
    assert_equal(loss.a.detach(), twin_loss.a.detach())
    assert_equal(loss.b.detach(), twin_loss.b.detach())


def test_one_dual_step_size_serves_both_and_two_serve_each():
    model, loss = linear_model(), make("polynomial")
    for dual_lr, expected in ((0.2, [0.5, 0.2, 0.2]), ((0.2, 0.1), [0.5, 0.2, 0.1]), ([0.2, 0.1], [0.5, 0.2, 0.1])):
        optimizer = descent_ascent(model, loss, lr=0.5, dual_lr=dual_lr)
        assert [group["lr"] for group in optimizer.param_groups] == expected


@pytest.mark.parametrize("form", FORMS)
def test_boxes_hold_after_steps_that_would_leave_them(form):
    x, labels = problem()
    model, loss, free = linear_model(), make("exponential", form), make("exponential", form)
    place(free, 1e9, 1e9)
    free.project()
    ends = [free.a.detach().clone(), free.b.detach().clone()]
    optimizer = descent_ascent(model, loss, lr=0.1, dual_lr=1e3)
    seen = []
    for _ in range(4):
        optimizer.zero_grad()
        loss(model(x), labels).backward()
        free_a, free_b = loss.a - 1e3 * loss.a.grad, loss.b + 1e3 * loss.b.grad
        optimizer.step()
        for variables, free_step, end in zip((loss.a, loss.b), (free_a, free_b), ends, strict=True):
            assert ((free_step < 0) | (free_step > end)).all()
            assert ((variables >= 0) & (variables <= end)).all()
            seen += [bool((variables == 0).any()), bool((variables == end).any())]
    assert any(seen[0::2])
    assert any(seen[1::2])


@pytest.mark.parametrize("again", [copy.deepcopy, lambda parts: pickle.loads(pickle.dumps(parts))])
def test_a_copied_optimizer_projects_the_copied_loss(again):
    x, labels = problem()
    model, loss = linear_model(), make("exponential")
    parts = (model, loss, descent_ascent(model, loss, lr=0.1, dual_lr=1e3))
    notes = []
    for model, loss, optimizer in (again(again(parts)), parts):
        optimizer.register_step_post_hook(lambda *_: notes.append(1))
        for _ in range(2):
            step(optimizer, model, loss, x, labels)
    assert_bit_equal(again(parts)[1].state_dict(), loss.state_dict())
    assert len(notes) == 4
    copied = again(parts)
    before = copy.deepcopy(loss.state_dict())
    step(copied[2], *copied[:2], x, labels)
    ends = make("exponential")
    place(ends, 1e9, 1e9)
    ends.project()
    for variables, end in ((copied[1].a, ends.a), (copied[1].b, ends.b)):
        assert ((variables >= 0) & (variables <= end)).all()
    assert_bit_equal(loss.state_dict(), before)


# -------------------------------------------------------------------------------------------------------------- start


def test_zero_start_gives_the_model_nothing_at_the_first_step_and_something_at_the_second():
    x, labels = problem()
    model, loss = linear_model(), make("polynomial", start="zero")
    before = copy.deepcopy(model.state_dict())
    optimizer = descent_ascent(model, loss, lr=0.5, dual_lr=0.1)
    assert step(optimizer, model, loss, x, labels).item() == 0.0
    assert all(not parameter.grad.any() for parameter in model.parameters())
    assert_bit_equal(model.state_dict(), before)
    assert loss.a.any()
    assert loss.b.any()
    step(optimizer, model, loss, x, labels)
    assert all(parameter.grad.all() for parameter in model.parameters())


@pytest.mark.parametrize("form", FORMS)
def test_batch_start_gives_the_model_the_pairwise_gradient_at_the_first_step(form):
    x, labels = problem()
    model, loss = linear_model(), make("polynomial", form, start="batch")
    value = loss(model(x), labels)
    found = torch.autograd.grad(value, list(model.parameters()))
    risk, by_logit = pairwise_risk(model(x)[:, 0], labels, torch.sqrt, torch.sqrt)
    assert_equal(value.detach(), risk)
    assert_equal(found[0], by_logit[None] @ x)
    assert found[0].all()
    # The second batch finds them where the first one put them.
    a = loss.a.detach().clone()
    loss(model(2 * x), labels)
    assert torch.equal(loss.a, a)


@pytest.mark.parametrize("unfit", ["eval", "no_grad", "inference", "no positives", "no negatives", "empty"])
def test_batch_start_waits_for_a_training_batch_with_both_classes(unfit):
    logits, labels = random_batch()
    loss = make("polynomial", start="batch")
    if unfit == "eval":
        loss.eval()
        loss(logits, labels)
        loss.train()
    elif unfit in ("no_grad", "inference"):
        with torch.no_grad() if unfit == "no_grad" else torch.inference_mode():
            loss(logits, labels)
    else:
        keep = {"no positives": labels == 0, "no negatives": labels == 1, "empty": labels > 1}[unfit]
        loss(logits[keep], labels[keep])
    assert not loss.a.any()
    assert not loss.started
    value = loss(logits, labels)
    assert loss.started
    assert_equal(value.detach(), pairwise_risk(logits, labels, torch.sqrt, torch.sqrt)[0])


def test_move_to_saddle_counts_as_a_start():
    logits, labels = random_batch()
    loss = make("polynomial", start="batch")
    loss.move_to_saddle(logits, labels)
    a = loss.a.detach().clone()
    loss(2 * logits, labels)
    assert torch.equal(loss.a, a)


# -------------------------------------------------------------------------------------------------------- convergence


def scorer():
    """Return a linear model without bias: with one, all scores on one side have weight 0, an infimum at infinity."""
    model = nn.Linear(3, 1, bias=False).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[-0.5, 0.3, 0.8]]))
    return model


def pairwise_optimum(x, labels, pairwise):
    """Minimise the pairwise loss itself; return its least value and where that is."""
    model = scorer()
    optimizer = torch.optim.LBFGS(
        model.parameters(), max_iter=200, tolerance_grad=1e-12, tolerance_change=0.0, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        value = pairwise(model(x), labels)
        value.backward()
        return value

    optimizer.step(closure)
    return pairwise(model(x), labels).item(), model.weight.detach()


@pytest.mark.parametrize("start", ["zero", "batch"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighting", [Polynomial(3.0), Exponential(2.0)], ids=str)
def test_the_iteration_converges_to_the_pairwise_optimum(weighting, form, start):
    x, labels = problem()
    pairwise = TPAUCLoss(weighting)
    risk, theta = pairwise_optimum(x, labels, pairwise)
    assert pairwise(scorer()(x), labels).item() > 1.5 * risk  # there is something to learn
    model, loss = scorer(), MinimaxTPAUCLoss(weighting, form=form, start=start).double()
    optimizer = descent_ascent(model, loss, lr=0.5, dual_lr=0.5, momentum=0.8)
    for _ in range(300):
        value = step(optimizer, model, loss, x, labels)
    assert value.item() == pytest.approx(risk, rel=1e-10)
    assert pairwise(model(x), labels).item() == pytest.approx(risk, rel=1e-10)
    # Where the risk is flat to 1e-16 the weights are known to its square root.
    torch.testing.assert_close(model.weight.detach(), theta, rtol=0.0, atol=1e-7)


# -------------------------------------------------------------------------------------------- checkpoints and copies


def run(model, loss, optimizer, scheduler, steps):
    x, labels = problem()
    for number in steps:
        rows = torch.arange(10) + number % 31  # a batch of every step's own
        step(optimizer, model, loss, x[rows], labels[rows])
        scheduler.step()


def everything(loss, seed=0):
    model = linear_model(seed)
    optimizer = descent_ascent(model, loss, lr=0.3, dual_lr=(0.2, 0.1), weight_decay=1e-3)
    return model, loss, optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.99)


@pytest.mark.parametrize("start", ["zero", "batch"])
@pytest.mark.parametrize("form", FORMS)
def test_200_steps_equal_100_and_save_load_and_100(form, start):
    straight = everything(make("polynomial", form, start=start))
    run(*straight, range(200))

    first = everything(make("polynomial", form, start=start))
    run(*first, range(100))
    file = io.BytesIO()
    torch.save([part.state_dict() for part in first], file)
    file.seek(0)
    second = everything(make("polynomial", form, start=start), seed=9)
    for part, state in zip(second, torch.load(file, weights_only=True), strict=True):
        part.load_state_dict(state)
    run(*second, range(100, 200))

    halfway = {key: value.clone() for key, value in first[0].state_dict().items()}
    assert_bit_equal(second[0].state_dict(), straight[0].state_dict())
    assert_bit_equal(second[1].state_dict(), straight[1].state_dict())
    # Had the second half done nothing, or the loaded state not mattered, this would not hold.
    assert not torch.equal(halfway["weight"], straight[0].weight)
    assert "a" in straight[1].state_dict()
    assert "b" in straight[1].state_dict()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda loss: pickle.loads(pickle.dumps(loss))])
def test_copies_are_equal_and_independent(copied):
    logits, labels = random_batch()
    loss = make("polynomial")
    place(loss, *random_variables("paper"))
    value = loss(logits, labels).detach()
    twin = copied(loss)
    assert torch.equal(twin(logits, labels).detach(), value)
    place(twin, 0.0, 0.0)
    assert twin(logits, labels).item() == 0.0
    assert torch.equal(loss(logits, labels).detach(), value)


# ------------------------------------------------------------------------------------------------- as one of many parts


@pytest.mark.parametrize(
    "make_scheduler",
    [
        lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5),
        lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4),
    ],
    ids=["exponential", "cosine"],
)
def test_schedulers_scale_every_group(make_scheduler):
    x, labels = problem()
    model, loss = linear_model(), make("polynomial", start="batch")
    optimizer = descent_ascent(model, loss, lr=0.4, dual_lr=(0.2, 0.1))
    scheduler = make_scheduler(optimizer)
    factors = []
    for _ in range(3):
        step(optimizer, model, loss, x, labels)
        scheduler.step()
        rates = [group["lr"] for group in optimizer.param_groups]
        assert rates == pytest.approx([rates[0], rates[0] / 2, rates[0] / 4], rel=1e-12)
        factors.append(rates[0] / 0.4)
    assert factors[0] < 1
    assert factors == sorted(factors, reverse=True)
    before = loss.a.detach().clone(), loss.b.detach().clone()
    step(optimizer, model, loss, 2 * x, labels)
    assert_equal(loss.a.detach(), before[0] - optimizer.param_groups[1]["lr"] * loss.a.grad)
    assert_equal(loss.b.detach(), before[1] + optimizer.param_groups[2]["lr"] * loss.b.grad)


def test_gradient_clipping_bounds_the_step():
    x, labels = problem()
    model, loss = linear_model(), make("polynomial", start="batch")
    optimizer = descent_ascent(model, loss, lr=0.5, dual_lr=0.1, momentum=0.0)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    loss(model(x), labels).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1e-3)
    assert norm > 1e-2
    optimizer.step()
    moved = torch.cat([(new - old).flatten() for new, old in zip(model.parameters(), before, strict=True)])
    assert moved.norm().item() == pytest.approx(0.5 * 1e-3, rel=1e-3)  # torch divides by norm + 1e-6
    nn.utils.clip_grad_value_([loss.a, loss.b], 1e-9)
    assert loss.a.grad.abs().max() <= 1e-9


def test_a_closure_is_run_and_the_boxes_hold_after_it():
    x, labels = problem()
    model, loss = linear_model(), make("polynomial")
    optimizer = descent_ascent(model, loss, lr=0.5, dual_lr=1e3)

    def closure():
        optimizer.zero_grad()
        value = loss(model(x), labels)
        value.backward()
        return value

    assert optimizer.step(closure).item() == 0.0
    assert loss.a.max() <= 2.0


class WithLoss(nn.Module):
    """A model that holds its loss, as a LightningModule does, and a frozen part."""

    def __init__(self):
        super().__init__()
        self.frozen = linear_model(1).requires_grad_(False)
        self.head = linear_model(0)
        self.loss = make("polynomial", start="batch")

    def forward(self, x):
        return self.head(x) + self.frozen(x)


def test_a_model_may_hold_its_loss_and_frozen_parts():
    x, labels = problem()
    model = WithLoss()
    frozen = copy.deepcopy(model.frozen.state_dict())
    optimizer = descent_ascent(model, model.loss, lr=0.5, dual_lr=0.1)
    groups = [group["params"] for group in optimizer.param_groups]
    assert [len(group) for group in groups] == [2, 1, 1]
    assert groups[1][0] is model.loss.a
    assert groups[2][0] is model.loss.b
    first = step(optimizer, model, model.loss, x, labels)
    for _ in range(20):
        last = step(optimizer, model, model.loss, x, labels)
    assert last < first
    assert_bit_equal(model.frozen.state_dict(), frozen)


# --------------------------------------------------------------------------------------------------- several processes

SHARDS = [slice(0, 15), slice(15, 23)]  # the second process holds no positives
LABELS = torch.tensor([1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1] + 8 * [0])


def train_on(x, labels, wrap, losses):
    """Six steps with each loss; the fourth batch has no positive anywhere."""
    results = []
    for loss in losses:
        model = wrap(linear_model())
        optimizer = descent_ascent(model, loss, lr=0.5, dual_lr=(0.2, 0.1), weight_decay=1e-3)
        values = [step(optimizer, model, loss, x + 0.1 * number, labels * (number != 3)).item() for number in range(6)]
        plain = [parameter.detach().flatten() for parameter in model.parameters()]
        results.append(torch.cat([*plain, loss.a.detach(), loss.b.detach(), torch.tensor(values, dtype=torch.float64)]))
    return results


def process_losses():
    return [make(name, form, start=s) for name, form, s in PROCESS_CASES]


PROCESS_CASES = [
    ("polynomial", "paper", "zero"),
    ("polynomial", "paper", "batch"),
    ("heterogeneous", "compact", "batch"),
    ("one-way", "compact", "zero"),
    ("user", "paper", "batch"),
]


def in_process(rank, world_size, built_before):
    x, _ = problem(23)
    shard = SHARDS[rank]
    after = train_on(x[shard], LABELS[shard], DistributedDataParallel, process_losses())
    # What is handed to a process lies in memory shared with the others, whose steps would be felt here.
    before = train_on(x[shard], LABELS[shard], DistributedDataParallel, copy.deepcopy(built_before))
    local = MinimaxTPAUCLoss(Polynomial(3.0), across_processes=False).double()
    local.move_to_saddle(torch.arange(3.0).double() + rank, torch.tensor([0, 1, 0]))
    return {"before": before, "after": after, "local": local.a.detach()}


def test_two_processes_equal_one():
    x, _ = problem(23)
    alone = train_on(x, LABELS, lambda model: model, process_losses())
    results = run_in_processes(in_process, 2, process_losses())
    for result in results:
        for found in (result["before"], result["after"]):
            for number, case in enumerate(PROCESS_CASES):
                torch.testing.assert_close(found[number], alone[number], rtol=1e-10, atol=1e-13, msg=str(case))
    # The shards matter: a process that kept to its own would have got elsewhere.
    on_shard = train_on(x[SHARDS[0]], LABELS[SHARDS[0]], lambda model: model, process_losses())
    for case in range(len(PROCESS_CASES)):
        assert (on_shard[case] - alone[case]).abs().max() > 1e-3
    # Without across_processes each process has its own saddle.
    assert not torch.equal(results[0]["local"], results[1]["local"])


# ---------------------------------------------------------------------------------------------------------- hard cases


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_logits_of_every_type_with_variables_of_the_usual_one(form, dtype):
    logits, labels = random_batch()
    loss = MinimaxTPAUCLoss(Polynomial(3.0), form=form)
    z = logits.to(dtype).requires_grad_()
    loss.move_to_saddle(z, labels)
    value = loss(z, labels)
    value.backward()
    assert value.dtype == torch.promote_types(dtype, torch.float32)
    assert z.grad.dtype == dtype
    assert loss.a.dtype == loss.a.grad.dtype == torch.float32
    risk, gradient = pairwise_risk(logits.to(dtype).double(), labels, torch.sqrt, torch.sqrt)
    rounding = max(torch.finfo(dtype).eps, torch.finfo(torch.float32).eps)  # of the result, or of a and b
    torch.testing.assert_close(value.double(), risk, rtol=16 * rounding, atol=0.0)
    torch.testing.assert_close(z.grad.double(), gradient, rtol=0.0, atol=16 * rounding)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_changes_nothing(form, dtype):
    logits, labels = random_batch()
    loss = MinimaxTPAUCLoss(Polynomial(3.0), form=form, start="batch")
    z = logits.to(dtype).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = loss(z, labels)
    value.backward()
    twin = MinimaxTPAUCLoss(Polynomial(3.0), form=form, start="batch")
    w = logits.to(dtype).requires_grad_()
    expected = twin(w, labels)
    expected.backward()
    assert torch.equal(value, expected)
    assert torch.equal(z.grad, w.grad)
    assert_bit_equal(loss.state_dict(), twin.state_dict())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_training_works_after_a_validation_pass_in_inference_mode(dtype):
    logits, labels = random_batch()
    loss = MinimaxTPAUCLoss(Polynomial(3.0), start="batch")
    with torch.inference_mode():
        assert loss(logits.to(dtype), labels).item() == 0.0
    z = logits.to(dtype).requires_grad_()
    loss(z, labels).backward()
    assert z.grad.all()
    with torch.inference_mode():
        loss.move_to_saddle(2 * logits.to(dtype), labels)
    loss(z, labels).backward()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("missing", ["positives", "negatives", "both"])
def test_a_batch_that_lacks_a_class_is_zero_with_zero_gradients(form, missing):
    logits, labels = random_batch()
    keep = {"positives": labels == 0, "negatives": labels == 1, "both": labels > 1}[missing]
    loss = make("polynomial", form)
    place(loss, *random_variables(form))
    z = logits[keep].clone().requires_grad_()
    value = loss(z, labels[keep])
    value.backward()
    assert value.item() == 0.0
    for gradient in (z.grad, loss.a.grad, loss.b.grad):
        assert torch.equal(gradient, torch.zeros_like(gradient))


@pytest.mark.parametrize("name", WEIGHTINGS)
@pytest.mark.parametrize("form", FORMS)
def test_extreme_logits_in_float32_are_finite(form, name):
    z = torch.tensor([1e4, -1e4, 0.0, 1e4, -1e4, 0.0], requires_grad=True)
    labels = torch.tensor([1, 1, 1, 0, 0, 0])
    loss = MinimaxTPAUCLoss(*WEIGHTINGS[name][0], form=form)
    for _ in range(2):
        value = loss(z, labels)
        gradients = torch.autograd.grad(value, [z, loss.a, loss.b])
        assert value.isfinite()
        assert all(gradient.isfinite().all() for gradient in gradients)
        loss.move_to_saddle(z, labels)


@pytest.mark.parametrize("form", FORMS)
def test_columns_strided_logits_and_labels_in_every_form(form):
    logits, labels = random_batch()
    loss = make("polynomial", form)
    loss.move_to_saddle(logits, labels)
    expected = loss(logits, labels).detach()
    strided = torch.stack([logits, -logits], dim=1)[:, :1]
    for same in (labels.bool(), labels.float(), 2 * labels - 1, labels.to(torch.uint8)[:, None]):
        assert torch.equal(loss(strided, same).detach(), expected)


def test_the_loss_moves_with_to_and_says_what_it_is():
    loss = MinimaxTPAUCLoss(Uniform(), Polynomial(3.0), form="compact", start="batch")
    assert loss.double().a.dtype == torch.float64
    assert loss.started.dtype == torch.bool
    assert repr(loss) == (
        "MinimaxTPAUCLoss(positive=Uniform(), negative=Polynomial(gamma=3.0), form='compact', start='batch')"
    )


# ----------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((Polynomial(3.0),), {"form": "short"}, ValueError, "form must be one of 'paper', 'compact', got 'short'"),
        ((Polynomial(3.0),), {"start": "one"}, ValueError, "start must be one of 'zero', 'batch', got 'one'"),
        ((Anchored(0.3, 0.3),), {}, ValueError, "^weighting must be a function of the score .* got Anchored"),
        ((Uniform(), Anchored(0.3, 0.3)), {}, ValueError, "^negative_weighting must be a function of the score"),
        ((TruncatedSide(0.3),), {}, ValueError, "^weighting must be a function of the score"),
        ((3.0,), {}, TypeError, "^weighting must be a Weighting .* got 3.0"),
        ((Uniform(), "poly"), {}, TypeError, "^negative_weighting must be a Weighting .* got 'poly'"),
        ((Polynomial,), {}, TypeError, "^weighting must be a Weighting"),
        ((lambda t: 1 - t,), {}, ValueError, r"^weighting must satisfy 0 <= psi\(t\) <= psi\(1\) .* psi\(1\) = 0"),
        ((Uniform(), lambda t: t - 0.5), {}, ValueError, "^negative_weighting must satisfy .* from -0.5 to 0.5"),
        ((lambda t: 1 / (1 - t),), {}, ValueError, "^weighting must satisfy .* = inf"),
        ((lambda t: torch.log(t - 1),), {}, ValueError, "^weighting must satisfy .* nan"),
    ],
)
def test_wrong_losses_are_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        MinimaxTPAUCLoss(*arguments, **options)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"lr": 0.0}, ValueError, "^lr must be above 0, got 0.0"),
        ({"lr": math.nan}, ValueError, "^lr must be finite, got nan"),
        ({"dual_lr": -1.0}, ValueError, "^dual_lr must be above 0, got -1.0"),
        ({"dual_lr": (0.1, 0.0)}, ValueError, r"^dual_lr\[1\] must be above 0, got 0.0"),
        ({"dual_lr": (0.1, 0.1, 0.1)}, ValueError, r"^dual_lr must be one number or two, .* got \(0.1, 0.1, 0.1\)"),
        ({"dual_lr": "fast"}, TypeError, "^dual_lr must be a number, got 'fast'"),
        ({"momentum": -0.1}, ValueError, "^momentum must be at least 0, got -0.1"),
        ({"weight_decay": -0.1}, ValueError, "^weight_decay must be at least 0, got -0.1"),
        ({"model": [1.0]}, TypeError, r"^model must be a torch.nn.Module, got \[1.0\]"),
        ({"model": nn.ReLU()}, ValueError, "^model has no parameter with requires_grad=True"),
        ({"loss": TPAUCLoss(Uniform())}, TypeError, "^loss must be a MinimaxTPAUCLoss or .*, got TPAUCLoss"),
    ],
)
def test_wrong_optimisers_are_refused(changes, error, message):
    good = {"model": linear_model(), "loss": make("uniform"), "lr": 0.1, "dual_lr": 0.1}
    descent_ascent(good.pop("model"), good.pop("loss"), **good)
    given = {"model": linear_model(), "loss": make("uniform"), **good, **changes}
    with pytest.raises(error, match=message):
        descent_ascent(given.pop("model"), given.pop("loss"), **given)


@pytest.mark.parametrize(
    ("logits", "labels", "error", "message"),
    [
        ([1.0, 2.0], [0, 2], ValueError, "labels must hold only 0/1 or only -1/1, found the values 0, 2"),
        ([1.0, 2.0], [0], ValueError, "logits and labels must have equal length"),
        ([[1.0, 2.0]], [[0, 1]], ValueError, r"logits must have shape \(n,\) or \(n, 1\)"),
        ([1, 2], [0, 1], TypeError, "logits must be floating point, got torch.int64"),
    ],
)
def test_wrong_batches_are_refused(logits, labels, error, message):
    loss = make("polynomial")
    for use in (loss, loss.move_to_saddle):
        with pytest.raises(error, match=message):
            use(torch.tensor(logits), torch.tensor(labels))


def test_a_state_of_the_other_form_is_refused():
    with pytest.raises(RuntimeError, match="size mismatch for a"):
        make("polynomial", "compact").load_state_dict(make("polynomial", "paper").state_dict())


@pytest.mark.parametrize("psi", [torch.sqrt, torch.ones_like, Weighting.from_penalty(lambda v: v**3 / 3)])
def test_increasing_functions_are_accepted(psi):
    MinimaxTPAUCLoss(psi)


@pytest.mark.parametrize(("dual_lr", "expected"), [(1, [1.0, 1.0]), ((1, 2.0), [1.0, 2.0]), ([3, 4], [3.0, 4.0])])
def test_one_or_two_step_sizes_are_accepted(dual_lr, expected):
    optimizer = descent_ascent(linear_model(), make("uniform"), lr=0.1, dual_lr=dual_lr)
    assert [group["lr"] for group in optimizer.param_groups[1:]] == expected
