"""Weighting x surrogate over all pairs, without the pair matrix.

For logits ``z`` and labels, with hardness logits ``u = -z`` for a positive and ``u = z`` for a negative, the objective

    R = 1/(n+ n-) sum_ij psi+(u_i) psi-(u_j) l(c - x_i - x_j),        x = sigmoid(u), c = 1   or   x = u, c = 0

has a gradient in closed form: the weighting gives ``psi`` and its slope (`tpauc.losses.weighting`), the surrogate sums
over pairs and gives dR/dz (`tpauc.losses.surrogates`). The forward pass computes value and gradient; the backward pass
only scales. A batch that lacks a class has no pairs: its value and its gradient are 0.

Normalised, R is divided by the mean weights of both classes: it is the mean of ``l`` under the weights. A common factor
of the weights of a class cancels, so they are computed relative to the hardest example: they cannot all underflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch

from tpauc.losses._hardness import Hardness, Weights, constant
from tpauc.losses._moments import Batch, PairMean, PowerRows, class_moments, power_pair_mean
from tpauc.losses.distributed import gather_columns, max_over_processes, process_count
from tpauc.losses.rank_weighting import RankWeighting
from tpauc.losses.surrogates import Surrogate
from tpauc.losses.weighting import Exponential, Polynomial, Uniform, Weighting

SCORES = ("sigmoid", "logit")
PART_ROWS = 1 << 17  # rows per part of a large batch: about twenty such vectors fit into a processor's cache
CLOSED_FORMS = (Polynomial, Exponential, Uniform)  # autograd differentiates other weightings


class PairObjective(NamedTuple):
    """The definition of an objective, with one weighting per class."""

    positive: Weighting
    negative: Weighting
    surrogate: Surrogate
    scores: str = "sigmoid"
    across_processes: bool = True
    normalize: bool = False
    detach_weights: bool = False


def pair_risk(logits: torch.Tensor, y: torch.Tensor, objective: PairObjective) -> torch.Tensor:
    """Return R with its gradient, for checked flat logits and labels 1.0 / 0.0, each of shape (n,)."""
    return differentiable(lambda z: _pair_mean(z, y, objective), logits, objective.across_processes)


def constant_weight_risk(
    logits: torch.Tensor,
    y: torch.Tensor,
    weight: torch.Tensor,
    surrogate: Surrogate,
    scores: str,
    across_processes: bool,
) -> torch.Tensor:
    """Return R for given weights of the examples, shape (n,), with its gradient at constant weights."""
    kernel = surrogate.kernel_on_scores() if scores == "sigmoid" else None

    def batch(z: torch.Tensor) -> Batch:
        members = torch.stack((y, constant(1.0, y) - y))
        hardness = Hardness.of(torch.sub(members[1], y).mul_(z))
        return Batch(hardness, Weights(weight), y, members, scores, across_processes, False)

    def pair_mean(z: torch.Tensor) -> PairMean:
        if kernel is None:
            return surrogate.pair_mean(batch(z))
        return power_pair_mean((batch(part) for part in (z,)), kernel, without_autograd=True)

    return differentiable(pair_mean, logits, across_processes)


def differentiable(
    pair_mean: Callable[[torch.Tensor], PairMean], logits: torch.Tensor, across_processes: bool
) -> torch.Tensor:
    """Return the value of ``pair_mean(logits)``, a tensor of shape () whose gradient is ``by_logit``.

    Of several problems the value has shape (k,) and the gradient (k, n).
    """
    value: torch.Tensor = _Differentiable.apply(logits, pair_mean, across_processes)  # type: ignore[no-untyped-call]
    return value


class _Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: torch.Tensor, pair_mean: Callable[[torch.Tensor], PairMean], across_processes: bool
    ) -> torch.Tensor:
        with full_precision(logits.device):
            mean = pair_mean(logits)
            n_processes = process_count(across_processes)
        ctx.save_for_backward(mean.by_logit if n_processes == 1 else mean.by_logit * n_processes)
        return mean.value

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        refuse_second_derivative()
        (gradient,) = ctx.saved_tensors
        return gradient * (grad_output[:, None] if gradient.ndim == 2 else grad_output), None, None


def _pair_mean(logits: torch.Tensor, y: torch.Tensor, objective: PairObjective) -> PairMean:
    """Return the pair mean; a large batch goes in parts if its objective is a function of moments."""
    sides, kernel = (objective.positive, objective.negative), objective.surrogate.kernel_on_scores()
    hardest = _hardest(logits, y, objective.across_processes) if objective.normalize else None
    if kernel is None or objective.scores == "logit" or any(isinstance(side, RankWeighting) for side in sides):
        return objective.surrogate.pair_mean(as_batch(logits, y, objective, hardest))
    return power_pair_mean(
        (as_batch(*part, objective, hardest) for part in _parts(logits, y)),
        kernel,
        without_autograd=all(isinstance(side, CLOSED_FORMS) for side in sides),
    )


def _hardest(logits: torch.Tensor, y: torch.Tensor, across_processes: bool) -> torch.Tensor:
    """Return the largest hardness logit of the positives and of the negatives of the global batch, shape (2,)."""
    lowest = torch.finfo(logits.dtype).min
    hardness_logits = torch.stack((torch.where(y > 0.5, -logits, lowest), torch.where(y > 0.5, lowest, logits)))
    padded = torch.nn.functional.pad(hardness_logits, (0, 1), value=lowest)  # amax needs a column if the batch is empty
    return max_over_processes(padded.amax(1), across_processes)


def _parts(logits: torch.Tensor, y: torch.Tensor) -> Iterable[tuple[torch.Tensor, torch.Tensor]]:
    if len(y) <= PART_ROWS:
        return [(logits, y)]
    return zip(torch.split(logits, PART_ROWS), torch.split(y, PART_ROWS), strict=True)


def full_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Return a context without autocast, which would compute sums over examples in half precision."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def refuse_second_derivative() -> None:
    """Raise in a backward pass with ``create_graph``, where autograd would treat the gradient as a constant."""
    if torch.is_grad_enabled():
        raise RuntimeError("this loss has a first derivative only: call backward() or grad() without create_graph=True")


def as_batch(
    logits: torch.Tensor, y: torch.Tensor, objective: PairObjective, hardest: torch.Tensor | None = None
) -> Batch:
    """Return the examples with their hardness and weights, each class by its own weighting.

    If ``hardest`` gives the largest hardness logit of each class, shape (2,), the weights are relative to it.
    """
    negative_y = constant(1.0, y) - y
    hardness = Hardness.of(torch.sub(negative_y, y).mul_(logits))  # u = -z for a positive, z for a negative
    positive, negative = objective.positive, objective.negative
    own_hardest = None if hardest is None else torch.where(y > 0.5, hardest[0], hardest[1])
    if positive == negative and not isinstance(positive, RankWeighting):
        weights = _weights(hardness, positive, own_hardest)
    else:
        weights = _blended(
            _weights_in_class(hardness, y > 0.5, positive, own_hardest, objective.across_processes),
            _weights_in_class(hardness, y < 0.5, negative, own_hardest, objective.across_processes),
            y,
        )
    return Batch(
        hardness,
        Weights(weights.value) if objective.detach_weights else weights,
        y,
        torch.stack((y, negative_y)),
        objective.scores,
        objective.across_processes,
        objective.normalize,
    )


def _weights(hardness: Hardness, weighting: Weighting, hardest: torch.Tensor | None) -> Weights:
    if hardest is None:
        return weighting.weigh(hardness)
    # Differences of infinite logits would be NaN.
    finite = hardness.logit.clamp_min(torch.finfo(hardness.logit.dtype).min)
    return weighting.weigh_relative(hardness._replace(logit=finite), hardest)


def _weights_in_class(
    hardness: Hardness,
    members: torch.Tensor,
    weighting: Weighting,
    hardest: torch.Tensor | None,
    across_processes: bool,
) -> Weights:
    """Return weights for the members of a class; the values at other examples are not used."""
    if not isinstance(weighting, RankWeighting):
        return _weights(hardness, weighting, hardest)
    everyone, own = gather_columns(hardness.logit[members], across_processes)
    weight = torch.zeros_like(hardness.logit)
    weight[members] = weighting(everyone)[own]
    return Weights(weight)


def _blended(of_positives: Weights, of_negatives: Weights, y: torch.Tensor) -> Weights:
    """Take each example's weight from its own class; lerp is exact at its ends."""
    value = torch.lerp(of_negatives.value, of_positives.value, y)
    slopes = [weights.slope() for weights in (of_negatives, of_positives)]
    if slopes[0] is None and slopes[1] is None:
        return Weights(value)
    first, second = (torch.zeros_like(value) if slope is None else slope for slope in slopes)
    return Weights(value, bend=torch.lerp(first, second, y))


def hardness_moments(
    logits: torch.Tensor, y: torch.Tensor, objective: PairObjective
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the means of ``w h^k``, ``k = 0, 1, 2``, over positives and negatives, shape (6,), with gradient.

    The second result is a boolean of shape (): whether the global batch has both classes.
    """
    moments, has_pairs = _HardnessMoments.apply(logits, y, objective)  # type: ignore[no-untyped-call]
    return moments, has_pairs


class _HardnessMoments(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: torch.Tensor, y: torch.Tensor, objective: PairObjective
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with full_precision(logits.device):
            ctx.across_processes = objective.across_processes
            ctx.rows = PowerRows(as_batch(logits, y, objective))
            sums, sizes = ctx.rows.sums()
            ctx.moments = class_moments(sums, sizes, across_processes=objective.across_processes, normalize=False)
        has_pairs = (ctx.moments.sizes > 0).all()
        ctx.mark_non_differentiable(has_pairs)
        return ctx.moments.value.reshape(-1), has_pairs

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor, _: Any) -> tuple[torch.Tensor, None, None]:
        refuse_second_derivative()
        with full_precision(grad_output.device):
            coefficients = ctx.moments.per_example(grad_output.reshape(2, 3))
            gradient = ctx.rows.gradient(coefficients)
        return gradient * process_count(ctx.across_processes), None, None
