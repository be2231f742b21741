"""Losses in 2 and 3 real processes: DDP's average of the gradients equals the gradient of the global batch."""

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from processes import run_in_processes
from tpauc.losses.cvar import CVaRTPAUCLoss
from tpauc.losses.instancewise import InstanceWiseTPAUCLoss
from tpauc.losses.kl import KLTPAUCLoss
from tpauc.losses.rank_weighting import Anchored
from tpauc.losses.rate_constrained import FPRAtRecallLoss, RecallAtFPRLoss
from tpauc.losses.surrogates import Hinge
from tpauc.losses.tpauc_loss import TPAUCLoss, empirical_risks
from tpauc.losses.weighting import Exponential, Polynomial, Uniform

# Global batch of 23: shards of unequal size, the last process without positives.
LABELS = torch.tensor([1, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
SHARDS = {2: [slice(0, 15), slice(15, 23)], 3: [slice(0, 4), slice(4, 14), slice(14, 23)]}

LOSSES = {
    "polynomial": lambda: TPAUCLoss(Polynomial(3.0)),
    "heterogeneous": lambda: TPAUCLoss(Polynomial(3.0), Exponential(4.0)),
    "one-way": lambda: TPAUCLoss(Uniform(), Exponential(4.0)),
    "exponential": lambda: TPAUCLoss(Exponential(4.0), surrogate="exponential"),
    "linear hinge": lambda: TPAUCLoss(Polynomial(3.0), surrogate="hinge"),
    "sorted hinge": lambda: TPAUCLoss(Polynomial(3.0), surrogate=Hinge(0.9)),
    "blocks": lambda: TPAUCLoss(Polynomial(3.0), surrogate="logistic"),
    "anchored": lambda: TPAUCLoss(Anchored(0.5, 0.4)),
    "anchored rectangle": lambda: TPAUCLoss(Anchored(1.0, 0.6, min_alpha=0.4, min_beta=0.1)),
    "normalised": lambda: TPAUCLoss(Polynomial(3.0), normalize=True),
    "normalised, constant weights": lambda: TPAUCLoss(Polynomial(3.0), normalize=True, detach_weights=True),
    "normalised heterogeneous": lambda: TPAUCLoss(Polynomial(3.0), Exponential(4.0), normalize=True),
    "normalised exponential": lambda: TPAUCLoss(Exponential(4.0), surrogate="exponential", normalize=True),
    "normalised blocks": lambda: TPAUCLoss(Polynomial(3.0), surrogate="logistic", normalize=True),
    "normalised on logits": lambda: TPAUCLoss(Polynomial(3.0), scores="logit", normalize=True),
    "square on logits": lambda: TPAUCLoss(Polynomial(3.0), scores="logit"),
    "anchored logistic on logits": lambda: TPAUCLoss(Anchored(0.5, 0.4), surrogate="logistic", scores="logit"),
}


STATEFUL = {
    "cvar": lambda: CVaRTPAUCLoss(0.5, 0.4),
    "cvar, indices": lambda: CVaRTPAUCLoss(0.5, 0.4, surrogate="logistic", num_examples=len(LABELS)),
    "cvar one-way, indices": lambda: CVaRTPAUCLoss(1.0, 0.4, num_examples=len(LABELS)),
    "instance-wise": lambda: InstanceWiseTPAUCLoss(0.5, 0.4),
    "recall at FPR": lambda: RecallAtFPRLoss(0.3),
    "FPR at recall": lambda: FPRAtRecallLoss(0.4),
    "kl": lambda: KLTPAUCLoss(1.0, 0.5),
    "kl, indices": lambda: KLTPAUCLoss(0.5, 1.0, inner_rate=0.3, outer_rate=0.4, num_examples=len(LABELS)),
}


def features():
    return torch.randn(len(LABELS), 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def new_model():
    model = torch.nn.Linear(4, 1).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[0.7, -1.1, 0.4, 0.2]]))
        model.bias.fill_(-0.3)
    return model


def on_one_process(name):
    model = new_model()
    value = LOSSES[name]()(model(features()), LABELS)
    value.backward()
    return value.detach(), torch.cat([p.grad.flatten() for p in model.parameters()])


def after_four_steps(name, shard=slice(None), wrapped=lambda model: model):
    """Train on a moving batch, part of which lacks positives; return value, parameters and state of the loss."""
    loss, model = STATEFUL[name](), wrapped(new_model())
    for step in range(4):
        rows = torch.arange(len(LABELS)).roll(step)[: 23 - 3 * step][shard]
        options = {"indices": rows} if "indices" in name else {}
        model.zero_grad()
        value = loss(model(features()[rows]), LABELS[rows], **options)
        loss.zero_grad()
        value.backward()
        with torch.no_grad():
            for parameter in (*model.parameters(), *loss.parameters()):
                parameter -= 0.5 * parameter.grad
    return [value.detach(), *(p.detach().flatten() for p in model.parameters()), *loss.state_dict().values()]


def on_this_process(rank, world_size, built_before):
    """Value and gradient of every loss, built before the process group and after it, and what else sees the shards."""
    shard = SHARDS[world_size][rank]
    built_after = {name: make() for name, make in LOSSES.items()}
    results = {}
    for when, losses in (("before", built_before), ("after", built_after)):
        for name, loss in losses.items():
            model = DistributedDataParallel(new_model())
            value = loss(model(features()[shard]), LABELS[shard])
            value.backward()
            results[f"{name}, built {when}"] = (
                value.detach(),
                torch.cat([p.grad.flatten() for p in model.parameters()]),
            )
    with torch.no_grad():
        logits = new_model()(features()[shard])
    local = TPAUCLoss(Polynomial(3.0), across_processes=False)(logits, LABELS[shard])
    risks = empirical_risks(logits, LABELS[shard], Polynomial(3.0), alpha=0.5, beta=0.3)
    trained = {name: after_four_steps(name, shard, DistributedDataParallel) for name in STATEFUL}
    return results, local, list(risks), trained


@pytest.mark.parametrize("world_size", [2, 3])
def test_losses_in_several_processes_are_those_of_one(world_size):
    assert not dist.is_initialized()
    built_before = {name: make() for name, make in LOSSES.items()}
    whole = empirical_risks(new_model()(features()), LABELS, Polynomial(3.0), alpha=0.5, beta=0.3)
    everywhere = run_in_processes(on_this_process, world_size, built_before)
    for shard, (results, local, risks, trained) in zip(SHARDS[world_size], everywhere, strict=True):
        assert len(results) == 2 * len(LOSSES)
        for name, found in results.items():
            for part, expected in zip(found, on_one_process(name.split(", built")[0]), strict=True):
                torch.testing.assert_close(part, expected, rtol=1e-10, atol=1e-14, msg=f"{name}: {part} {expected}")
        alone = TPAUCLoss(Polynomial(3.0))(new_model()(features()[shard]), LABELS[shard])
        torch.testing.assert_close(local, alone.detach(), rtol=1e-12, atol=0.0)
        assert risks == pytest.approx(list(whole), rel=1e-12)
        for name, found in trained.items():
            for part, expected in zip(found, after_four_steps(name), strict=True):
                # Buffers are float32: sums in another order may round to a neighbour.
                rtol = 1e-6 if part.dtype == torch.float32 else 1e-7
                torch.testing.assert_close(part, expected, rtol=rtol, atol=1e-12, msg=f"{name}: {part} {expected}")


def test_the_comparison_can_fail():
    """A loss of the local shard differs by far more than the tolerance, so the test above notices a missing sum."""
    model = new_model()
    shard = SHARDS[2][0]
    alone = TPAUCLoss(Polynomial(3.0))(model(features()[shard]), LABELS[shard])
    whole, _ = on_one_process("polynomial")
    assert abs(alone.item() / whole.item() - 1) > 1e-3


# ---------------------------------------------------------------------------------------------------- sharded models


def trained_in_shards(rank, world_size):
    """Train with FSDP2, whose parameters are shared out over the processes; return each loss's value and parameters."""
    mesh, shard, found = init_device_mesh("cpu", (world_size,)), SHARDS[world_size][rank], []
    for make in (LOSSES["polynomial"], STATEFUL["cvar"], STATEFUL["kl"], STATEFUL["recall at FPR"]):
        loss, model = make(), fully_shard(new_model(), mesh=mesh)
        value = descend(model, loss, shard)
        found.append((value, [parameter.full_tensor().detach() for parameter in model.parameters()]))
    return found


def descend(model, loss, shard=slice(None)):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(4):
        optimizer.zero_grad()
        value = loss(model(features()[shard]), LABELS[shard])
        value.backward()
        optimizer.step()
    return value.detach()


def test_a_sharded_model_trains_like_one_process():
    expected = []
    for make in (LOSSES["polynomial"], STATEFUL["cvar"], STATEFUL["kl"], STATEFUL["recall at FPR"]):
        model = new_model()
        expected.append((descend(model, make()), [parameter.detach() for parameter in model.parameters()]))
    for found in run_in_processes(trained_in_shards, 2):
        torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-12)
