"""The losses that are compared, ours and the peers', as functions of logits, labels and row numbers.

What a loss learns beside the model (thresholds, dual variables) stands with it: ``descend`` takes steps down like the
model, ``ascend`` steps up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

import peers
from tpauc.classifiers.training_methods import LOSSES
from tpauc.losses.cvar import CVaRTPAUCLoss
from tpauc.losses.instancewise import InstanceWiseTPAUCLoss
from tpauc.losses.kl import KLTPAUCLoss
from tpauc.losses.minimax import SaddleLoss, descent_ascent
from tpauc.losses.rate_constrained import FPRAtRecallLoss, RecallAtFPRLoss
from tpauc.losses.tpauc_loss import TPAUCLoss
from tpauc.losses.weighting import Polynomial
from tpauc.region import Region

DUAL_LR = 0.1
SADDLE_FACTOR = 10.0  # descent without Adam's scaling takes steps that much larger
STRENGTHS = (0.3, 1.0, 3.0)  # temperatures of KL, exponents of the normalised risk
DUAL_STEPS = (0.03, 0.1, 0.3)  # of thresholds and of other variables that a loss learns


@dataclass(frozen=True)
class Objective:
    """A loss, the optimiser of a module and of what the loss learns, and what it took to run it."""

    value: Callable[[Tensor, Tensor, Tensor], Tensor]
    optimizer: Callable[[nn.Module, float], torch.optim.Optimizer]
    note: str = ""


@dataclass(frozen=True)
class Loss:
    """How to make an objective, for a region and a number of training rows.

    Parameters
    ----------
    make : callable
        Given a setting, the region and the number of rows.
    uses_region : bool
        Without it one training serves all regions, and only the choice of its length differs.
    settings : tuple
        What the validation has to choose from beside the length.
    """

    make: Callable[[Any, Region, int], Objective]
    uses_region: bool = False
    settings: tuple[Any, ...] = (None,)


def _adam(module: nn.Module, lr: float) -> torch.optim.Optimizer:
    return torch.optim.Adam(module.parameters(), lr=lr, fused=True)


def _saddle(descend: list[Tensor], ascend: list[Tensor]) -> Callable[[nn.Module, float], torch.optim.Optimizer]:
    """Descent in the module and ``descend``, ascent in ``ascend``, in one step."""

    def make(module: nn.Module, lr: float) -> torch.optim.Optimizer:
        groups = [
            {"params": list(module.parameters()), "lr": SADDLE_FACTOR * lr, "momentum": 0.9, "nesterov": True},
            {"params": descend, "lr": DUAL_LR},
            {"params": ascend, "lr": DUAL_LR, "maximize": True},
        ]
        return torch.optim.SGD(groups, lr=lr)

    return make


# -------------------------------------------------------------------------------------------------------------- ours


def ours(name: str, *, uses_region: bool = False) -> Loss:
    """Return a loss of the library by its name in the estimator."""
    return Loss(lambda _, region, n_rows: _objective(LOSSES[name](region)), uses_region)


def _objective(loss: nn.Module, dual_lr: float = DUAL_LR) -> Objective:
    optimizer = _adam
    if isinstance(loss, SaddleLoss):

        def optimizer(module: nn.Module, lr: float) -> torch.optim.Optimizer:
            return descent_ascent(module, loss, lr=SADDLE_FACTOR * lr, dual_lr=dual_lr)

    return Objective(lambda logits, labels, rows: loss(logits, labels), optimizer)


def normalised() -> Loss:
    """Return the normalised risk of the paper's family; its exponent is chosen by validation."""
    return Loss(
        lambda exponent, region, n_rows: _objective(TPAUCLoss(Polynomial.from_exponent(exponent), normalize=True)),
        settings=STRENGTHS,
    )


def cvar() -> Loss:
    """Return the mean over the hard pairs by tracked thresholds; their step size is chosen by validation."""

    def make(step: float, region: Region, n_rows: int) -> Objective:
        return _objective(CVaRTPAUCLoss(region.alpha, region.beta, dual_lr=step))

    return Loss(make, uses_region=True, settings=DUAL_STEPS)


def kl() -> Loss:
    """Our KL form without row numbers; lam = tau is chosen by validation, as for LibAUC's."""
    return Loss(lambda strength, region, n_rows: _objective(KLTPAUCLoss(strength, strength)), settings=STRENGTHS)


def instance_wise() -> Loss:
    """Return the instance-wise form by descent and ascent; the step size of its variables is chosen by validation."""

    def make(step: float, region: Region, n_rows: int) -> Objective:
        return _objective(InstanceWiseTPAUCLoss(region.alpha, region.beta, threshold_lr=step), dual_lr=step)

    return Loss(make, uses_region=True, settings=DUAL_STEPS)


def recall_at_fpr() -> Loss:
    """Return the loss of the most recall at FPR beta; the step size of the threshold is chosen by validation."""
    return Loss(
        lambda step, region, n_rows: _objective(RecallAtFPRLoss(region.beta, dual_lr=step)),
        uses_region=True,
        settings=DUAL_STEPS,
    )


def fpr_at_recall() -> Loss:
    """Return the loss of the lowest FPR at recall 1 - alpha; the step size of the threshold is chosen by validation."""
    return Loss(
        lambda step, region, n_rows: _objective(FPRAtRecallLoss(region.alpha, dual_lr=step)),
        uses_region=True,
        settings=DUAL_STEPS,
    )


# ------------------------------------------------------------------------------------------------------------- peers


def libauc_kl() -> Loss:
    """LibAUC's KL form, on sigmoid scores; it has no region, and lambda = tau is chosen by validation instead."""

    def make(strength: float, region: Region, n_rows: int) -> Objective:
        module = peers.module("libauc.losses")
        loss = module.tpAUC_KL_Loss(data_len=n_rows, Lambda=strength, tau=strength, device=torch.device("cpu"))
        return Objective(lambda logits, labels, rows: loss(torch.sigmoid(logits), labels, rows), _adam)

    return Loss(make, settings=STRENGTHS)


def libauc_cvar() -> Loss:
    """LibAUC's CVaR form (STACO), on sigmoid scores; the step size of its dual variables is chosen by validation."""

    def make(step: float, region: Region, n_rows: int) -> Objective:
        loss = peers.module("libauc.losses.auc").tpAUC_CVaR_loss(
            n_rows,
            threshold=1.0,
            alpha=step,
            beta_0=step,
            beta_1=step,
            theta_0=region.alpha,
            theta_1=region.beta,
            device=torch.device("cpu"),
        )
        return Objective(lambda logits, labels, rows: loss(torch.sigmoid(logits), labels, rows), _adam)

    return Loss(make, uses_region=True, settings=DUAL_STEPS)


def xcurve_pairs(scheme: str) -> Loss:
    """XCurve's pairwise loss; its one parameter is exponent and margin at once, so it is 1."""

    def make(_: None, region: Region, n_rows: int) -> Objective:
        peer = peers.xcurve_pair_matrix(scheme)
        return Objective(lambda logits, labels, rows: peer.run(logits, labels), _adam, peer.note)

    return Loss(make)


def xcurve_minimax() -> Loss:
    """XCurve's instance-wise minimax form, Poly, by plain steps: its own optimiser leaves the weights as they are."""

    def make(_: None, region: Region, n_rows: int) -> Objective:
        peer = peers.xcurve_minimax()
        a, b = peer.parameters
        return Objective(lambda logits, labels, rows: peer.run(logits, labels), _saddle([a], [b]), peer.note)

    return Loss(make)


# Where the variables of the saddle lie for scores in [0, 1]; without this the training diverges.
_UNBIASED_BOXES = {
    **dict.fromkeys(("a", "b"), (0.0, 1.0)),
    "g": (-1.0, 1.0),
    "s_p": (-4.0, 1.0),
    "s_n": (0.0, 5.0),
    **dict.fromkeys(("lam_a", "lam_b"), (0.0, 10.0)),
}


def xcurve_unbiased() -> Loss:
    """XCurve's asymptotically unbiased loss, the only one of the peers' with a region."""

    def make(_: None, region: Region, n_rows: int) -> Objective:
        losses = peers.module("XCurve.AUROC.losses.PartialAUROC")
        loss = losses.UnbiasedPAUCLoss(region.alpha, region.beta, torch.device("cpu"))
        boxes = {name: (getattr(loss, name), *limits) for name, limits in _UNBIASED_BOXES.items()}

        @torch.no_grad()
        def project(*_: Any) -> None:
            for variable, low, high in boxes.values():
                variable.clamp_(low, high)

        def optimizer(module: nn.Module, lr: float) -> torch.optim.Optimizer:
            made = _saddle([loss.a, loss.b, loss.s_p, loss.s_n], [loss.g, loss.lam_a, loss.lam_b])(module, lr)
            made.register_step_post_hook(project)
            return made

        return Objective(lambda logits, labels, rows: loss(torch.sigmoid(logits), labels), optimizer)

    return Loss(make, uses_region=True)
