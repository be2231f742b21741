"""The models and methods of `tpauc.TPAUCClassifier` by name; torch is imported when a loss is made.

* "region" climbs the smoothed TPAUC of the exact hard pairs.
* The cross-entropies are trained to convergence.
* The other methods are losses, with which training continues after cross-entropy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tpauc._validation import import_extra
from tpauc.region import Region

if TYPE_CHECKING:
    import torch
    from torch import nn

AUTO = ("auto", "auto-fast")  # stacks of unlike models
MODELS = ("linear", "mlp", *AUTO)
REGION = "region"
CROSS_ENTROPIES = ("cross_entropy", "balanced_cross_entropy")


def _exponential(region: Region) -> nn.Module:
    from tpauc.losses.tpauc_loss import TPAUCLoss
    from tpauc.losses.weighting import Exponential

    return TPAUCLoss(Exponential(10.0), across_processes=False)


def _focal(region: Region) -> nn.Module:
    from tpauc.losses.baselines import FocalLoss

    return FocalLoss(across_processes=False)


def _minimax(region: Region) -> nn.Module:
    from tpauc.losses.minimax import MinimaxTPAUCLoss
    from tpauc.losses.weighting import Polynomial

    return MinimaxTPAUCLoss(Polynomial.from_exponent(0.1), start="batch", across_processes=False)


def _polynomial(region: Region) -> nn.Module:
    from tpauc.losses.tpauc_loss import TPAUCLoss
    from tpauc.losses.weighting import Polynomial

    return TPAUCLoss(Polynomial.from_exponent(0.1), across_processes=False)


def _square_auc(region: Region) -> nn.Module:
    from tpauc.losses.tpauc_loss import SquareAUCLoss

    return SquareAUCLoss(across_processes=False)


def _truncated(region: Region) -> nn.Module:
    from tpauc.losses.baselines import TruncatedLoss

    return TruncatedLoss(region.alpha, region.beta, across_processes=False)


# Each makes a loss for a region; most losses do not depend on it.
LOSSES: dict[str, Callable[[Region], nn.Module]] = {
    "exponential": _exponential,
    "focal": _focal,
    "minimax": _minimax,
    "polynomial": _polynomial,
    "square_auc": _square_auc,
    "truncated": _truncated,
}
METHODS = (REGION, *CROSS_ENTROPIES, *LOSSES)


def loss_and_optimizer(
    method: str, region: Region, module: nn.Module, lr: float
) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return the loss of a method, and the optimiser that trains a module on it."""
    torch = import_extra("torch", "torch")
    from tpauc.losses.minimax import MinimaxTPAUCLoss, descent_ascent

    loss = LOSSES[method](region)
    if isinstance(loss, MinimaxTPAUCLoss):
        # Descent without Adam's scaling needs a larger step, and a dual step that follows the moments.
        return loss, descent_ascent(module, loss, lr=10.0 * lr, dual_lr=0.1)
    return loss, torch.optim.Adam(module.parameters(), lr=lr)


def powers_of_two(most: int) -> tuple[int, ...]:
    """Return 1, 2, 4, ... up to ``most``, which is the last: after so many steps a model becomes a candidate."""
    return tuple(sorted({2**k for k in range(most.bit_length()) if 2**k <= most} | {most}))
