"""Losses inside ``torch.func``: right, or refused with what to do instead."""

import pytest
import torch

from tpauc.losses.baselines import ClassBalancedCrossEntropy, FocalLoss, ReweightedCrossEntropy, TruncatedLoss
from tpauc.losses.cvar import CVaRTPAUCLoss
from tpauc.losses.instancewise import InstanceWiseTPAUCLoss
from tpauc.losses.kl import KLTPAUCLoss
from tpauc.losses.minimax import MinimaxTPAUCLoss
from tpauc.losses.rate_constrained import FPRAtRecallLoss, RecallAtFPRLoss
from tpauc.losses.tpauc_loss import SquareAUCLoss, TPAUCLoss
from tpauc.losses.weighting import Polynomial

LOGITS = torch.randn(2, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
LABELS = (torch.arange(12) % 3 == 0).int()

OF_PAIRS = [
    lambda: TPAUCLoss(Polynomial(3.0)),
    lambda: SquareAUCLoss(),
    lambda: TruncatedLoss(0.5, 0.5),
    lambda: TruncatedLoss(0.5, 0.5, loss="cross_entropy"),
    lambda: CVaRTPAUCLoss(0.5, 0.5),
    lambda: InstanceWiseTPAUCLoss(0.5, 0.5),
    lambda: KLTPAUCLoss(1.0, 1.0),
    lambda: MinimaxTPAUCLoss(Polynomial(3.0)),
    lambda: RecallAtFPRLoss(0.5),
    lambda: FPRAtRecallLoss(0.5),
]
OF_EXAMPLES = [
    lambda: FocalLoss(),
    lambda: ReweightedCrossEntropy(),
    lambda: ClassBalancedCrossEntropy(4, 8),
]
TRANSFORMS = {
    "grad": lambda f: torch.func.grad(f)(LOGITS[0]),
    "vmap": lambda f: torch.vmap(f)(LOGITS),
    "vmap of grad": lambda f: torch.vmap(torch.func.grad(f))(LOGITS),
    "jvp": lambda f: torch.func.jvp(f, (LOGITS[0],), (LOGITS[1],)),
    "jacrev": lambda f: torch.func.jacrev(f)(LOGITS[0]),
}


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch's own, at the first jvp
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("make", OF_PAIRS)
def test_pair_losses_refuse_and_say_what_to_do(make, transform):
    loss = make().double()
    before = {name: value.clone() for name, value in loss.state_dict().items()}
    message = rf"{type(loss).__name__} takes no logits inside torch.func .* loss.backward\(\)"
    with pytest.raises(RuntimeError, match=message):
        TRANSFORMS[transform](lambda logits: loss(logits, LABELS))
    assert all(torch.equal(value, before[name]) for name, value in loss.state_dict().items())


@pytest.mark.parametrize("make", OF_EXAMPLES)
def test_losses_of_single_examples_work(make):
    loss = make()
    leaf = LOGITS.clone().requires_grad_()
    values = torch.stack([loss(row, LABELS) for row in leaf])
    (expected,) = torch.autograd.grad(values.sum(), leaf)
    torch.testing.assert_close(torch.vmap(lambda row: loss(row, LABELS))(LOGITS), values.detach())
    found = torch.vmap(torch.func.grad(lambda row: loss(row, LABELS)))(LOGITS)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("make", OF_EXAMPLES)
def test_labels_are_not_batched(make):
    """Their values are checked, which no transform can follow."""
    loss = make()
    with pytest.raises(RuntimeError, match=f"{type(loss).__name__} takes no labels inside torch.func"):
        torch.vmap(loss)(LOGITS, LABELS.repeat(2, 1))
