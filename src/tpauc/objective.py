"""Weighting x surrogate over all pairs, without the pair matrix.

For logits ``z`` and labels, with hardness logits ``u = -z`` for a positive and ``u = z`` for a negative, the objective

    R = 1/(n+ n-) sum_ij psi+(u_i) psi-(u_j) l(c - x_i - x_j),        x = sigmoid(u), c = 1   or   x = u, c = 0

is one number with a gradient in closed form: the surrogate gives dR/dw and dR/dx (`tpauc.surrogates`), the weighting
gives dw/du (`tpauc.weighting`), and the chain rule is three products. Value and gradient are found in one forward pass;
backward only scales. A batch without one of the classes has no pairs: its value is 0 and so is its gradient.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch

from tpauc.distributed import gather_columns, process_count
from tpauc.surrogates import Surrogate, class_members, class_sums, power_rows
from tpauc.weighting import Hardness, RankWeighting, Weighting

SCORES = ("sigmoid", "logit")


class PairObjective(NamedTuple):
    """What defines the objective; the weightings are those of each side."""

    positive: Weighting
    negative: Weighting
    surrogate: Surrogate
    scores: str = "sigmoid"
    across_processes: bool = True


def pair_risk(logits: torch.Tensor, y: torch.Tensor, objective: PairObjective) -> torch.Tensor:
    """Return R with its gradient, for checked flat logits and labels 1.0 / 0.0, each of shape (n,)."""
    risk: torch.Tensor = _PairRisk.apply(logits, y, objective)  # type: ignore[no-untyped-call]
    return risk


class _PairRisk(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, y: torch.Tensor, objective: PairObjective) -> torch.Tensor:
        with _full_precision(logits.device):
            sign = torch.rsub(y, 1.0, alpha=2.0)
            hardness = Hardness.of(logits * sign)
            weight, weight_slope = class_weights(hardness, y, objective)
            if objective.scores == "sigmoid":
                x, x_slope, offset = hardness.value, hardness.rest.mul_(hardness.value), 1.0
            else:
                x, x_slope, offset = hardness.logit, torch.ones_like(hardness.logit), 0.0
            mean = objective.surrogate.pair_mean(
                x, weight, y, offset=offset, across_processes=objective.across_processes
            )
            gradient = mean.by_x.mul_(x_slope).addcmul_(mean.by_weight, weight_slope).mul_(sign)
            n_processes = process_count(objective.across_processes)
        ctx.save_for_backward(gradient if n_processes == 1 else gradient * n_processes)
        return mean.value

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        _refuse_second_derivative()
        (gradient,) = ctx.saved_tensors
        return gradient * grad_output, None, None


def _full_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Keep autocast from running sums over examples as half-precision matrix products."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def _refuse_second_derivative() -> None:
    """Raise where autograd would go on to treat the gradient as a constant, and be silently wrong."""
    if torch.is_grad_enabled():
        raise RuntimeError("this loss has a first derivative only: call backward() or grad() without create_graph=True")


def class_weights(hardness: Hardness, y: torch.Tensor, objective: PairObjective) -> tuple[torch.Tensor, torch.Tensor]:
    """Return every example's weight and its derivative in the hardness logit, each class by its own weighting."""
    positive, negative = objective.positive, objective.negative
    if positive == negative and not isinstance(positive, RankWeighting):
        return positive.weigh(hardness)
    of_positives = _weights_in_class(hardness, y > 0.5, positive, objective.across_processes)
    of_negatives = _weights_in_class(hardness, y < 0.5, negative, objective.across_processes)
    # lerp is exact at its two ends.
    weight, slope = (torch.lerp(n, p, y) for p, n in zip(of_positives, of_negatives, strict=True))
    return weight, slope


def _weights_in_class(
    hardness: Hardness, members: torch.Tensor, weighting: Weighting, across_processes: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights that are right for the members of a class; what stands at the others is not used."""
    if not isinstance(weighting, RankWeighting):
        return weighting.weigh(hardness)
    everyone, own = gather_columns(hardness.logit[members], across_processes)
    weight = torch.zeros_like(hardness.logit)
    weight[members] = weighting(everyone)[own]
    return weight, torch.zeros_like(hardness.logit)


# --------------------------------------------------------------------------------------------------------- moments


def class_moments(logits: torch.Tensor, y: torch.Tensor, objective: PairObjective, *, of: str) -> torch.Tensor:
    """Return the mean of ``w x^k``, ``k = 0, 1, 2``, over each class, with gradient.

    ``of="score"`` takes ``x = f`` for both classes, ``of="hardness"`` takes ``x = 1 - f`` for positives. The result has
    shape (2, 3), positives first.
    """
    moments: torch.Tensor = _ClassMoments.apply(logits, y, objective, of)  # type: ignore[no-untyped-call]
    return moments


class _ClassMoments(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, y: torch.Tensor, objective: PairObjective, of: str) -> torch.Tensor:
        with _full_precision(logits.device):
            sign = torch.rsub(y, 1.0, alpha=2.0)
            hardness = Hardness.of(logits * sign)
            weight, weight_slope = class_weights(hardness, y, objective)
            x = hardness.value if of == "hardness" else torch.lerp(hardness.value, hardness.rest, y)
            members = class_members(y)
            rows = power_rows(x, weight)
            sums, counts = class_sums(rows, members, objective.across_processes)
            # d(w x^k)/dlogit = x^k dw/dlogit + k w x^(k-1) dx/dlogit; dx/dlogit = x (1 - x) times the sign of x in z
            by_logit = power_rows(x, weight_slope * sign)
            x_slope = hardness.value * hardness.rest
            if of == "hardness":
                x_slope *= sign
            by_logit[1].addcmul_(rows[0], x_slope)
            by_logit[2].addcmul_(rows[1], x_slope, value=2.0)
        ctx.n_processes = process_count(objective.across_processes)
        ctx.save_for_backward(by_logit, members, counts)
        return (sums / counts).T

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        _refuse_second_derivative()
        by_logit, members, counts = ctx.saved_tensors
        per_example = (grad_output.T / counts) @ members  # shape (3, n): each example's share in its class's moments
        return per_example.mul_(by_logit).sum(0) * ctx.n_processes, None, None, None
