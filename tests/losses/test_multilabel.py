"""`MultiLabelLoss` equals a loop over columns, in value, gradient and state."""

import pytest
import torch
from torch import nn

from processes import run_in_processes
from stateful_losses import assert_resumes_halfway, assert_same_state
from tpauc import (
    Anchored,
    ClassBalancedCrossEntropy,
    ClassBalancedFocal,
    CVaRTPAUCLoss,
    Exponential,
    FocalLoss,
    FPRAtRecallLoss,
    Hinge,
    InstanceWiseTPAUCLoss,
    KLTPAUCLoss,
    MinimaxTPAUCLoss,
    MultiLabelLoss,
    Polynomial,
    RecallAtFPRLoss,
    ReweightedCrossEntropy,
    SquareAUCLoss,
    TPAUCLoss,
    TruncatedLoss,
    Uniform,
    WarmUp,
    Weighting,
)
from tpauc.losses._thresholds import TrackedThresholds

K = 5
TIGHT = {"rtol": 1e-10, "atol": 1e-14}
AT_ONCE = {
    "polynomial": lambda: TPAUCLoss(Polynomial(3.0)),
    "exponential": lambda: TPAUCLoss(Exponential(4.0)),
    "heterogeneous": lambda: TPAUCLoss(Polynomial(2.5), Exponential(4.0)),
    "one-way": lambda: TPAUCLoss(Uniform(), Polynomial(3.0)),
    "a user's": lambda: TPAUCLoss(Weighting.from_function(torch.sqrt), surrogate="squared_hinge"),
    "normalised": lambda: TPAUCLoss(Polynomial(3.0), normalize=True),
    "normalised, heterogeneous": lambda: TPAUCLoss(Polynomial(2.5), Exponential(4.0), normalize=True),
    "constant weights": lambda: TPAUCLoss(Polynomial(3.0), normalize=True, detach_weights=True),
    "exponential pairs": lambda: TPAUCLoss(Polynomial(3.0), surrogate="exponential"),
    "exponential pairs, normalised": lambda: TPAUCLoss(Exponential(2.0), surrogate="exponential", normalize=True),
    "hinge": lambda: TPAUCLoss(Polynomial(3.0), surrogate="hinge"),
    "logits": lambda: TPAUCLoss(Polynomial(3.0), scores="logit"),
    "logits, normalised": lambda: TPAUCLoss(Polynomial(3.0), scores="logit", normalize=True),
    "auc": SquareAUCLoss,
    "anchored": lambda: TPAUCLoss(Anchored(0.4, 0.3)),
    "anchored, sharp": lambda: TPAUCLoss(Anchored(0.1, 0.3, tau=1e-4)),
    "anchored rectangle": lambda: TPAUCLoss(Anchored(1.0, 0.5, min_alpha=0.4)),
    "anchored and polynomial": lambda: TPAUCLoss(Anchored(0.4, 0.3), Polynomial(3.0)),
    "truncated": lambda: TruncatedLoss(0.4, 0.3),
    "truncated rectangle": lambda: TruncatedLoss(1.0, 0.5, min_alpha=0.3),
    "truncated cross-entropy": lambda: TruncatedLoss(0.4, 0.3, loss="cross_entropy"),
    "cross-entropy": ReweightedCrossEntropy,
    "cross-entropy, counted": lambda: ReweightedCrossEntropy(10, 90),
    "focal": lambda: FocalLoss(2.0, alpha=0.3),
    "class-balanced": lambda: ClassBalancedFocal(10, 90),
    "class-balanced cross-entropy": lambda: ClassBalancedCrossEntropy(10, 90),
    "warm-up": lambda: WarmUp(SquareAUCLoss(), TPAUCLoss(Polynomial(3.0)), epochs=0),
}
BY_COLUMN = {
    "logistic": lambda: TPAUCLoss(Polynomial(3.0), surrogate="logistic"),
    "short hinge": lambda: TPAUCLoss(Polynomial(3.0), surrogate=Hinge(0.5)),
    "torch's own": lambda: nn.BCEWithLogitsLoss(),
}


class OwnLoss(CVaRTPAUCLoss):
    """A loss of a user, which may do anything in its forward: every column has a copy."""


STATEFUL_AT_ONCE = {
    "cvar": lambda: CVaRTPAUCLoss(0.5, 0.4),
    "kl": lambda: KLTPAUCLoss(1.0, 0.5),
    "recall at FPR": lambda: RecallAtFPRLoss(0.3),
    "FPR at recall": lambda: FPRAtRecallLoss(0.4),
    "warm-up": lambda: WarmUp(SquareAUCLoss(), CVaRTPAUCLoss(0.5, 0.4), epochs=0),
    "one-way cvar": lambda: CVaRTPAUCLoss(1.0, 0.4, surrogate="exponential"),
    "one-way kl": lambda: KLTPAUCLoss(float("inf"), 0.2),
    "recall, logistic": lambda: RecallAtFPRLoss(0.3, surrogate="logistic"),
    "recall, a user's": lambda: RecallAtFPRLoss(0.3, surrogate=lambda t: torch.exp(-t)),
}
STATEFUL = STATEFUL_AT_ONCE | {
    "cvar, pairs": lambda: CVaRTPAUCLoss(0.5, 0.4, surrogate="logistic", scores="logit"),
    "kl, pairs": lambda: KLTPAUCLoss(1.0, 0.5, surrogate="logistic", scores="logit"),
    "kl, sharp": lambda: KLTPAUCLoss(0.001, 0.0005),
    "a user's subclass": lambda: OwnLoss(0.5, 0.4),
}


def example_batch(seed=0, n=40, unknown=0.0, lacking=False, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    logits = 2.0 * torch.randn(n, K, generator=generator, dtype=dtype)
    labels = (torch.rand(n, K, generator=generator) < torch.linspace(0.2, 0.6, K)).to(dtype)
    if lacking:
        labels[:, 1], labels[:, 2] = 0.0, 1.0
    labels[torch.rand(n, K, generator=generator) < unknown] = torch.nan
    if lacking:
        labels[:, 3] = torch.nan
    return logits, labels


def loop(losses, logits, labels):
    """Return the losses of the columns and the gradient of their sum."""
    z = logits.clone().requires_grad_()
    values = []
    for j, loss in enumerate(losses):
        known = ~labels[:, j].isnan()
        values.append(loss(z[known, j], labels[known, j]))
    torch.stack(values).sum().backward()
    return torch.stack(values).detach(), z.grad


def together(loss, logits, labels):
    z = logits.clone().requires_grad_()
    values = loss(z, labels)
    values.sum().backward()
    return values.detach(), z.grad


@pytest.mark.parametrize("make", (AT_ONCE | BY_COLUMN).values(), ids=AT_ONCE | BY_COLUMN)
@pytest.mark.parametrize(
    "options", [{}, {"unknown": 0.3}, {"lacking": True, "unknown": 0.1}], ids=["all", "unknown", "lacking"]
)
def test_columns_equal_a_loop(make, options, request):
    if "torch's own" in request.node.name and options.get("lacking"):
        pytest.skip("the mean of no examples is NaN there")
    for seed in range(3):
        batch = example_batch(seed, **options)
        found = together(MultiLabelLoss(make(), reduction="none"), *batch)
        torch.testing.assert_close(found, loop([make()] * K, *batch), **TIGHT)


@pytest.mark.parametrize("make", AT_ONCE.values(), ids=AT_ONCE)
def test_no_loop_where_the_formula_allows_it(make, monkeypatch):
    loss = MultiLabelLoss(make(), K)
    expected = loss(*example_batch())
    monkeypatch.setattr(type(loss.losses[0]), "forward", None)
    assert loss(*example_batch()) == expected


@pytest.mark.parametrize("make", STATEFUL.values(), ids=STATEFUL)
def test_every_column_has_its_own_state(make):
    loss, alone = MultiLabelLoss(make(), K, reduction="none"), [make() for _ in range(K)]
    for seed in range(6):
        batch = example_batch(seed, unknown=0.2, lacking=seed == 2)
        torch.testing.assert_close(together(loss, *batch), loop(alone, *batch), **TIGHT)
    for column, other in enumerate(alone):
        assert_same_state(state_of_column(loss, column), other.state_dict())
    if make is not STATEFUL["one-way kl"]:  # whose only average is 1
        states = torch.stack([torch.cat([buffer.reshape(-1) for buffer in other.buffers()]) for other in alone])
        assert states.unique(dim=0).shape[0] == K


def state_of_column(loss, column):
    """Return the state of a column: of its copy, or its row of every buffer."""
    if len(loss.losses) > 1:
        return loss.losses[column].state_dict()
    state = loss.losses[0].state_dict()
    return {name: value[column] if isinstance(value, torch.Tensor) else value for name, value in state.items()}


@pytest.mark.parametrize("make", STATEFUL_AT_ONCE.values(), ids=STATEFUL_AT_ONCE)
def test_no_loop_over_states(make, monkeypatch):
    loss, twin = MultiLabelLoss(make(), K), MultiLabelLoss(make(), K)
    expected = loss(*example_batch(unknown=0.1))
    for kind in {type(part) for part in twin.losses.modules()} - {nn.ModuleList, TrackedThresholds}:
        monkeypatch.setattr(kind, "forward", None)
    assert torch.equal(twin(*example_batch(unknown=0.1)), expected)


@pytest.mark.parametrize("name", [name for name in STATEFUL if name != "recall, a user's"])  # that one overflows
def test_states_survive_extreme_batches(name):
    make = STATEFUL[name]
    loss = MultiLabelLoss(make(), K, reduction="none")
    for seed, (scale, n) in enumerate([(1e4, 40), (1.0, 40), (1.0, 0), (1e4, 7), (1.0, 1)]):
        logits, labels = example_batch(seed, n=n, lacking=seed == 1, unknown=0.2, dtype=torch.float32)
        values, gradient = together(loss, scale * logits, labels)
        assert values.isfinite().all()
        assert gradient.isfinite().all()
        if n == 0:
            assert (values == 0.0).all()
    state = [value for value in loss.state_dict().values() if isinstance(value, torch.Tensor)]
    assert not any(value.isnan().any() for value in state)


def test_kl_of_larger_batches_equals_a_loop():
    """The loop forms sums by interpolation as well, or all pairs."""
    for lam, n in ((1.0, 900), (0.02, 300)):
        batch = example_batch(1, n=n, unknown=0.1)
        loss = MultiLabelLoss(KLTPAUCLoss(0.5, lam), K, reduction="none")
        alone = [KLTPAUCLoss(0.5, lam) for _ in range(K)]
        for _ in range(2):
            torch.testing.assert_close(together(loss, *batch), loop(alone, *batch), **TIGHT)


@pytest.mark.parametrize("make", STATEFUL.values(), ids=STATEFUL)
def test_200_steps_equal_100_and_save_load_and_100(make):
    """With the model that the loss trains."""

    def batch_of(step):
        _, labels = example_batch(step, n=12, unknown=0.1)
        return torch.randn(12, 3, generator=torch.Generator().manual_seed(step)), labels, {}

    trained = assert_resumes_halfway(lambda: nn.Linear(3, K), lambda: MultiLabelLoss(make(), K), batch_of)
    assert all(name.startswith("losses.") for name in trained.state_dict())


@pytest.mark.parametrize(("reduction", "reduce"), [("mean", torch.mean), ("sum", torch.sum)])
def test_reductions(reduction, reduce):
    batch = example_batch()
    found = MultiLabelLoss(SquareAUCLoss(), reduction=reduction)(*batch)
    torch.testing.assert_close(found, reduce(loop([SquareAUCLoss()] * K, *batch)[0]), **TIGHT)


@pytest.mark.parametrize("name", ["polynomial", "normalised", "anchored", "truncated", "focal"])
@pytest.mark.parametrize("scale", [1e4, 1.0])
def test_large_logits_stay_finite_in_float32(name, scale):
    logits, labels = example_batch(dtype=torch.float32, lacking=True)
    value, gradient = together(MultiLabelLoss(AT_ONCE[name]()), scale * logits, labels)
    assert value.isfinite()
    assert gradient.isfinite().all()


def test_logits_of_unknown_labels_do_not_matter():
    logits, labels = example_batch(unknown=0.3)
    loss = MultiLabelLoss(TPAUCLoss(Polynomial(3.0)))
    expected, gradient = together(loss, logits, labels)
    changed = torch.where(labels.isnan(), torch.inf, logits)
    value, other = together(loss, changed, labels)
    assert torch.equal(value, expected)
    assert torch.equal(other, gradient)
    assert (gradient[labels.isnan()] == 0.0).all()


def test_types_of_labels_and_empty_batches():
    logits, labels = example_batch()
    loss = MultiLabelLoss(TPAUCLoss(Polynomial(3.0)))
    expected = loss(logits, labels)
    for other in (labels.bool(), labels.long(), 2 * labels - 1):
        assert loss(logits, other) == expected
    assert loss(logits.half(), labels).dtype == torch.float32
    empty = torch.zeros(0, K, requires_grad=True)
    for make in AT_ONCE.values():
        value = MultiLabelLoss(make())(empty, torch.zeros(0, K))
        value.backward()
        assert value == 0.0
        assert empty.grad.shape == (0, K)


def test_epochs_reach_the_losses():
    loss = MultiLabelLoss(WarmUp(SquareAUCLoss(), TPAUCLoss(Polynomial(3.0)), epochs=1))
    batch = example_batch()
    before = loss(*batch)
    loss.set_epoch(1)
    assert before == MultiLabelLoss(SquareAUCLoss())(*batch)
    assert loss(*batch) == MultiLabelLoss(TPAUCLoss(Polynomial(3.0)))(*batch)
    fresh = MultiLabelLoss(WarmUp(SquareAUCLoss(), TPAUCLoss(Polynomial(3.0)), epochs=1))
    fresh.load_state_dict(loss.state_dict())
    assert fresh(*batch) == loss(*batch)


def test_second_derivatives_are_refused():
    logits, labels = example_batch()
    value = MultiLabelLoss(SquareAUCLoss())(logits.requires_grad_(), labels)
    with pytest.raises(RuntimeError, match="first derivative only"):
        torch.autograd.grad(value, logits, create_graph=True)
    with pytest.raises(RuntimeError, match=r"takes no logits inside torch\.func"):
        torch.func.grad(MultiLabelLoss(SquareAUCLoss()))(logits.detach(), labels)


def test_training_improves_every_label():
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(400, 8, generator=generator)
    truth = torch.randn(8, K, generator=generator)
    labels = (inputs @ truth + torch.randn(400, K, generator=generator) > 2.0).float()
    model = nn.Linear(8, K)
    with torch.no_grad():
        model.weight.zero_()
    loss = MultiLabelLoss(CVaRTPAUCLoss(0.3, 0.3), K, reduction="none")
    optimizer = torch.optim.SGD([*model.parameters()], lr=0.5)
    first = loss.eval()(model(inputs), labels).detach()
    loss.train()
    for _ in range(100):
        optimizer.zero_grad()
        loss(model(inputs), labels).mean().backward()
        optimizer.step()
    assert (loss(model(inputs), labels) < first - 0.1).all()


# ------------------------------------------------------------------------------------------------- several processes


def in_process(rank, world):
    results = []
    for make in [*AT_ONCE.values(), *BY_COLUMN.values(), *STATEFUL.values()]:
        inner = make()
        if isinstance(inner, nn.BCEWithLogitsLoss):
            continue  # not a loss of the global batch
        loss = MultiLabelLoss(inner, K, reduction="none")
        for seed in range(2):
            logits, labels = example_batch(seed, n=41, unknown=0.1)
            rows = slice(rank, None, world)
            value, gradient = together(loss, logits[rows], labels[rows])
            whole = torch.zeros_like(logits)
            whole[rows] = gradient / world  # what DistributedDataParallel makes of it
            results.append((value, whole))
    return results


def test_two_processes_equal_one():
    alone = in_process(0, 1)
    first, second = run_in_processes(in_process, 2)
    for (value, gradient), one, other in zip(alone, first, second, strict=True):
        torch.testing.assert_close(one[0], value, **TIGHT)
        torch.testing.assert_close(other[0], value, **TIGHT)
        torch.testing.assert_close(one[1] + other[1], gradient, rtol=1e-9, atol=1e-13)


# ------------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MultiLabelLoss(torch.sigmoid), TypeError, "loss must be a loss module such as SquareAUCLoss"),
        (lambda: MultiLabelLoss(CVaRTPAUCLoss(0.3, 0.3)), ValueError, "num_labels is needed for CVaRTPAUCLoss"),
        (lambda: MultiLabelLoss(SquareAUCLoss(), 0), ValueError, "num_labels must be at least 1"),
        (lambda: MultiLabelLoss(SquareAUCLoss(), reduction="max"), ValueError, "reduction must be one of"),
        (lambda: MultiLabelLoss(InstanceWiseTPAUCLoss(0.3, 0.3), 3), ValueError, "variables for descent_ascent"),
        (lambda: MultiLabelLoss(MinimaxTPAUCLoss(Polynomial(3.0)), 3), ValueError, "variables for descent_ascent"),
    ],
)
def test_mistakes_of_construction(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("logits", "labels", "error", "message"),
    [
        (
            torch.zeros(4),
            torch.zeros(4),
            ValueError,
            r"logits must have shape \(n, k\), one column per label, got \(4,\)",
        ),
        (torch.zeros(4, 5), torch.zeros(4, 3), ValueError, r"must have equal shapes, got \(4, 5\) and \(4, 3\)"),
        (torch.zeros(4, 3), torch.zeros(4, 3), ValueError, "logits must have num_labels = 5 columns, got 3"),
        (torch.zeros(4, 5), torch.full((4, 5), 2.0), ValueError, "labels must hold only 0/1 or only -1/1"),
        (torch.zeros(4, 5).long(), torch.zeros(4, 5), TypeError, "logits must be floating point"),
        ([[0.0] * 5], torch.zeros(1, 5), TypeError, r"logits must be a torch\.Tensor, got list"),
        (torch.zeros(4, 5), torch.zeros(4, 5, dtype=torch.complex64), TypeError, "labels must be bool, integer or"),
    ],
)
def test_mistakes_of_batches(logits, labels, error, message):
    with pytest.raises(error, match=message):
        MultiLabelLoss(SquareAUCLoss(), K)(logits, labels)
