"""Whether CVaR and KL losses are those of LibAUC, where LibAUC's are finite: values and gradients of training steps.

    python benchmarks/agreement.py

Both see the same batches and row numbers, with the same temperatures, shares and step sizes. LibAUC starts its averages
and thresholds at 0 and ours start at the first batch, so ours are set to LibAUC's start. The CVaR loss of LibAUC also
moves a dual variable before it is used, by a step divided by the share of positives; ours moves it afterwards, as the
gradients are those of the current variables. So CVaR is compared at equal variables, batch by batch.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

import peers
from tpauc.losses.cvar import CVaRTPAUCLoss
from tpauc.losses.kl import KLTPAUCLoss

N_ROWS, BATCH, STEPS = 1_000, 128, 50
TOLERANCE = 1e-5  # LibAUC computes in float32
CPU = torch.device("cpu")


def batches(spread: float) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield row numbers, logits and labels; about every fifth row is positive."""
    generator = torch.Generator().manual_seed(0)
    labels = (torch.rand(N_ROWS, generator=generator) < 0.2).float()
    for _ in range(STEPS):
        rows = torch.randperm(N_ROWS, generator=generator)[:BATCH]
        yield rows, spread * torch.randn(BATCH, generator=generator) + labels[rows], labels[rows]


def difference(ours: Any, theirs: Any, logits: Tensor, y: Tensor, rows: Tensor) -> tuple[float, float]:
    """Return the differences of values and gradients relative to theirs; NaN where theirs are not finite."""
    found = []
    for loss, of_scores in ((ours, False), (theirs, True)):
        z = logits.clone().requires_grad_()
        value = loss(torch.sigmoid(z) if of_scores else z, y, rows)
        (gradient,) = torch.autograd.grad(value, z)
        found.append((value.detach(), gradient))
    (value, gradient), (other, other_gradient) = found
    if not (torch.isfinite(other) and torch.isfinite(other_gradient).all()) or other_gradient.abs().max() == 0.0:
        return math.nan, math.nan
    scale = float(other_gradient.abs().max())
    return abs(float(value / other) - 1.0), float((gradient - other_gradient).abs().max()) / scale


def kl(lam: float, tau: float) -> list[tuple[float, float]]:
    theirs = peers.module("libauc.losses").tpAUC_KL_Loss(data_len=N_ROWS, Lambda=lam, tau=tau, device=CPU)
    ours = KLTPAUCLoss(tau, lam, num_examples=N_ROWS)
    ours.log_u.fill_(math.log(1e-30))  # an average that starts at 0
    ours.log_w.fill_(math.log(1e-30))
    return [difference(ours, theirs, logits, y, rows) for rows, logits, y in batches(1.5)]


def cvar(alpha: float, beta: float) -> list[tuple[float, float]]:
    theirs = peers.module("libauc.losses.auc").tpAUC_CVaR_loss(
        N_ROWS, threshold=1.0, theta_0=alpha, theta_1=beta, device=CPU
    )
    ours = CVaRTPAUCLoss(alpha, beta, num_examples=N_ROWS).eval()  # its variables are set to theirs instead
    found = []
    for rows, logits, y in batches(1.5):
        before = theirs.s1.clone()
        _ = theirs(torch.sigmoid(logits), y, rows)  # moves the dual variables, then the thresholds
        theirs.s1.copy_(before)
        theirs.alpha = 0.0  # the second call sees the same thresholds, and duals that stay
        ours.row_levels.copy_(theirs.s1[:, 0])
        ours.row_duals.copy_(theirs.dual_var[:, 0])
        ours.outer_level.copy_(theirs.s2[0, 0])
        found.append(difference(ours, theirs, logits, y, rows))
        theirs.alpha = 0.1
    return found


def main() -> int:
    torch.set_num_threads(1)
    cases = [
        (f"KL, lam={lam:g} tau={tau:g}", kl(lam, tau)) for lam, tau in ((1.0, 1.0), (0.3, 1.0), (3.0, 0.5), (0.03, 1.0))
    ]
    cases += [(f"CVaR, alpha={a:g} beta={b:g}", cvar(a, b)) for a, b in ((0.3, 0.3), (0.5, 0.1))]
    agree = True
    print(f"{'loss':<26} {'finite steps':>12} {'value':>10} {'gradient':>10}")
    for name, steps in cases:
        finite = [step for step in steps if not math.isnan(step[0])]
        value, gradient = (max((step[k] for step in finite), default=math.nan) for k in range(2))
        agree &= not finite or max(value, gradient) <= TOLERANCE
        print(f"{name:<26} {len(finite):>5} of {len(steps):>3} {value:>10.1e} {gradient:>10.1e}")
    print(f"largest relative differences; {'all' if agree else 'NOT all'} within {TOLERANCE:g}")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
