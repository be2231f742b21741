"""Every loss under autocast, with gradient accumulation and through torch.compile; the example in plain PyTorch."""

import copy
import runpy
from pathlib import Path

import pytest
import torch

from tpauc import (
    Anchored,
    CVaRTPAUCLoss,
    FPRAtRecallLoss,
    InstanceWiseTPAUCLoss,
    KLTPAUCLoss,
    MinimaxTPAUCLoss,
    Polynomial,
    RecallAtFPRLoss,
    SquareAUCLoss,
    TPAUCLoss,
    Uniform,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
LOSSES = {
    "square AUC": SquareAUCLoss,
    "Poly": lambda: TPAUCLoss(Polynomial(3.0)),
    "normalised": lambda: TPAUCLoss(Polynomial(3.0), normalize=True),
    "logistic on logits": lambda: TPAUCLoss(Uniform(), surrogate="logistic", scores="logit"),
    "anchored": lambda: TPAUCLoss(Anchored(0.3, 0.3)),
    "minimax": lambda: MinimaxTPAUCLoss(Polynomial(3.0), start="batch"),
    "cvar": lambda: CVaRTPAUCLoss(0.3, 0.3),
    "kl": lambda: KLTPAUCLoss(1.0, 1.0),
    "instance-wise": lambda: InstanceWiseTPAUCLoss(0.3, 0.3),
    "recall at FPR": lambda: RecallAtFPRLoss(0.3),
    "FPR at recall": lambda: FPRAtRecallLoss(0.3),
}
EACH = pytest.mark.parametrize("name", list(LOSSES))


def batch(seed, n=331):
    """Return features and labels of a batch whose counts have more digits than bfloat16."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.rand(n, generator=generator) < 0.3
    return torch.randn(n, 4, generator=generator) + labels[:, None], labels


def new_model():
    model = torch.nn.Linear(4, 1)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.7, -0.2, 0.4, 0.2]]))
        model.bias.fill_(-0.3)
    return model


def trained(loss, compute):
    """Return values and gradients in the logits of three steps, and the state of the loss."""
    found = []
    for seed in range(3):
        x, y = batch(seed)
        z = new_model()(x).detach().requires_grad_()
        value = compute(loss, z, y)
        value.backward()
        found += [value.detach(), z.grad]
    return [*found, *(part for part in loss.state_dict().values() if isinstance(part, torch.Tensor))]


def plainly(loss, z, y):
    return loss(z, y)


@EACH
def test_autocast_changes_neither_values_nor_states(name):
    """Sums over rows stay in float32; 331 rows would become 332 in bfloat16."""

    def under_autocast(loss, z, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return loss(z, y)

    expected, found = (trained(LOSSES[name](), compute) for compute in (plainly, under_autocast))
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@EACH
def test_a_model_under_autocast_trains(name):
    model, loss = new_model(), LOSSES[name]()
    x, y = batch(0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(x)
        value = loss(logits, y)
    assert logits.dtype == torch.bfloat16
    assert value.dtype == torch.float32
    value.backward()
    assert model.weight.grad.isfinite().all()
    assert model.weight.grad.abs().max() > 0


@EACH
@pytest.mark.parametrize("micro_batch", [7, 64, 1000])
def test_accumulated_gradients_are_those_of_the_whole_batch(name, micro_batch):
    accumulate = runpy.run_path(str(EXAMPLES / "plain_pytorch.py"))["accumulate"]
    whole, parts = new_model().double(), new_model().double()
    loss = LOSSES[name]()
    twin = copy.deepcopy(loss)
    for seed in range(2):
        x, y = batch(seed)
        expected = loss(whole(x.double()), y)
        expected.backward()
        found = accumulate(parts, twin, x.double(), y, micro_batch)
        torch.testing.assert_close(found, expected.detach(), rtol=1e-10, atol=0.0)
    for a, b in zip(parts.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-8, atol=1e-12)


def test_the_mean_over_micro_batches_is_another_loss():
    """Which is why the example does not take it: pairs between micro-batches are missing."""
    x, y = batch(0)
    loss, model = LOSSES["Poly"](), new_model()
    whole = loss(model(x), y)
    parts = torch.stack([loss(model(x[rows]), y[rows]) for rows in torch.arange(331).split(32)]).mean()
    assert abs(parts / whole - 1) > 1e-3


# Those without a state and without a choice by value; the others need graph breaks.
FULL_GRAPH = ("square AUC", "Poly", "normalised")


@EACH
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.filterwarnings("ignore")  # dynamo looks at gradients and classes in ways that torch itself warns of
def test_compiled_losses_are_the_same(name, backend):
    """By dynamo alone, and with autograd traced ahead of time as for generated code, which takes minutes to compile."""
    expected = trained(LOSSES[name](), plainly)
    torch._dynamo.reset()
    loss = LOSSES[name]()
    compiled = torch.compile(loss, backend=backend, dynamic=False, fullgraph=name in FULL_GRAPH)
    found = trained(loss, lambda _, z, y: compiled(z, y))
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-7)


@EACH
@pytest.mark.filterwarnings("ignore")  # as above
def test_compiled_losses_are_not_compiled_again_in_every_step(name):
    """Dynamo raises at the limit, which is 8 compilations of a function."""
    torch._dynamo.reset()
    loss, network = LOSSES[name](), new_model()
    compiled = torch.compile(loss, backend="eager", dynamic=False)
    with torch._dynamo.config.patch(fail_on_recompile_limit_hit=True):
        _, y = batch(0)  # the same number of rows of each class: another one is another shape, which is compiled again
        for seed in range(12):
            x, _ = batch(seed)
            compiled(network(x), y).backward()


def test_the_example_in_plain_pytorch_runs_and_learns(capsys):
    before, after = runpy.run_path(str(EXAMPLES / "plain_pytorch.py"))["train"]()
    assert after > before + 0.1
    assert capsys.readouterr().out.count("epoch") == 4
