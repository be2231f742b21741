"""Weighting x surrogate over all pairs, without the pair matrix.

For logits ``z`` and labels, with hardness logits ``u = -z`` for a positive and ``u = z`` for a negative, the objective

    R = 1/(n+ n-) sum_ij psi+(u_i) psi-(u_j) l(c - x_i - x_j),        x = sigmoid(u), c = 1   or   x = u, c = 0

is one number with a gradient in closed form: the weighting gives ``psi`` and its slope (`tpauc.losses.weighting`), the
surrogate sums over pairs and gives dR/dz (`tpauc.losses.surrogates`). Value and gradient are found in one forward pass;
backward only scales. A batch without one of the classes has no pairs: its value is 0 and so is its gradient.

Normalised, R is divided by the mean weights of both classes: it is the mean of ``l`` under the weights. Such a mean
does not depend on the unit of the weights, so each class is weighed relative to its hardest example: then its weights
cannot all underflow.
"""

from __future__ import annotations

from collections.abc import Iterable
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
PART_ROWS = 1 << 17  # of a large batch at a time: some twenty vectors of that length fit into the cache of a processor
CLOSED_FORMS = (Polynomial, Exponential, Uniform)  # other weightings are differentiated by autograd


class PairObjective(NamedTuple):
    """What defines the objective; the weightings are those of each side."""

    positive: Weighting
    negative: Weighting
    surrogate: Surrogate
    scores: str = "sigmoid"
    across_processes: bool = True
    normalize: bool = False
    detach_weights: bool = False


def pair_risk(logits: torch.Tensor, y: torch.Tensor, objective: PairObjective) -> torch.Tensor:
    """Return R with its gradient, for checked flat logits and labels 1.0 / 0.0, each of shape (n,)."""
    risk: torch.Tensor = _PairRisk.apply(logits, y, objective)  # type: ignore[no-untyped-call]
    return risk


class _PairRisk(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, y: torch.Tensor, objective: PairObjective) -> torch.Tensor:
        with _full_precision(logits.device):
            mean = _pair_mean(logits, y, objective)
            n_processes = process_count(objective.across_processes)
        ctx.save_for_backward(mean.by_logit if n_processes == 1 else mean.by_logit * n_processes)
        return mean.value

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        _refuse_second_derivative()
        (gradient,) = ctx.saved_tensors
        return gradient * grad_output, None, None


def _pair_mean(logits: torch.Tensor, y: torch.Tensor, objective: PairObjective) -> PairMean:
    """Return the pair mean, of a large batch in parts where moments of its parts add up."""
    sides, kernel = (objective.positive, objective.negative), objective.surrogate.kernel_on_scores()
    hardest = _hardest(logits, y, objective.across_processes) if objective.normalize else None
    if kernel is None or objective.scores == "logit" or any(isinstance(side, RankWeighting) for side in sides):
        return objective.surrogate.pair_mean(as_batch(logits, y, objective, hardest))
    return power_pair_mean(
        (as_batch(*part, objective, hardest) for part in _parts(logits, y)),
        kernel,
        objective.across_processes,
        normalize=objective.normalize,
        records_nothing=all(isinstance(side, CLOSED_FORMS) for side in sides),
    )


def _hardest(logits: torch.Tensor, y: torch.Tensor, across_processes: bool) -> torch.Tensor:
    """Return the largest hardness logit of the positives and of the negatives of the global batch, shape (2,)."""
    lowest = torch.finfo(logits.dtype).min
    of_classes = torch.stack((torch.where(y > 0.5, -logits, lowest), torch.where(y > 0.5, lowest, logits)))
    with_one_more = torch.nn.functional.pad(of_classes, (0, 1), value=lowest)  # a batch may be empty
    return max_over_processes(with_one_more.amax(1), across_processes)


def _parts(logits: torch.Tensor, y: torch.Tensor) -> Iterable[tuple[torch.Tensor, torch.Tensor]]:
    if len(y) <= PART_ROWS:
        return [(logits, y)]
    return zip(torch.split(logits, PART_ROWS), torch.split(y, PART_ROWS), strict=True)


def _full_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Keep autocast from running sums over examples as half-precision matrix products."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def _refuse_second_derivative() -> None:
    """Raise where autograd would go on to treat the gradient as a constant, and be silently wrong."""
    if torch.is_grad_enabled():
        raise RuntimeError("this loss has a first derivative only: call backward() or grad() without create_graph=True")


def as_batch(
    logits: torch.Tensor, y: torch.Tensor, objective: PairObjective, hardest: torch.Tensor | None = None
) -> Batch:
    """Return the hardness of examples with the given logits, and their weights, each class by its own weighting.

    Given the largest hardness logit of each class, shape (2,), weights are relative: right up to one factor per class.
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
        weights.detached() if objective.detach_weights else weights,
        y,
        torch.stack((y, negative_y)),
        objective.scores,
        objective.across_processes,
        objective.normalize,
    )


def _weights(hardness: Hardness, weighting: Weighting, hardest: torch.Tensor | None) -> Weights:
    if hardest is None:
        return weighting.weigh(hardness)
    # A score of exactly 0 has an infinite logit, which has no distance to another one.
    finite = hardness.logit.clamp_min(torch.finfo(hardness.logit.dtype).min)
    return weighting.weigh_relative(hardness._replace(logit=finite), hardest)


def _weights_in_class(
    hardness: Hardness,
    members: torch.Tensor,
    weighting: Weighting,
    hardest: torch.Tensor | None,
    across_processes: bool,
) -> Weights:
    """Weights that are right for the members of a class; what stands at the others is not used."""
    if not isinstance(weighting, RankWeighting):
        return _weights(hardness, weighting, hardest)
    everyone, own = gather_columns(hardness.logit[members], across_processes)
    weight = torch.zeros_like(hardness.logit)
    weight[members] = weighting(everyone)[own]
    return Weights(weight)


def _blended(of_positives: Weights, of_negatives: Weights, y: torch.Tensor) -> Weights:
    """Take the positives' weights at the positives, the negatives' at the negatives; lerp is exact at its ends."""
    value = torch.lerp(of_negatives.value, of_positives.value, y)
    slopes = [weights.slope() for weights in (of_negatives, of_positives)]
    if slopes[0] is None and slopes[1] is None:
        return Weights(value)
    first, second = (torch.zeros_like(value) if slope is None else slope for slope in slopes)
    return Weights(value, bend=torch.lerp(first, second, y))


# --------------------------------------------------------------------------------------------------------- moments


def hardness_moments(
    logits: torch.Tensor, y: torch.Tensor, objective: PairObjective
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the means of ``w h^k``, ``k = 0, 1, 2``, over positives and negatives, shape (6,), with gradient.

    Also returns whether the global batch has both classes, a boolean of shape ().
    """
    moments, has_pairs = _HardnessMoments.apply(logits, y, objective)  # type: ignore[no-untyped-call]
    return moments, has_pairs


class _HardnessMoments(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: torch.Tensor, y: torch.Tensor, objective: PairObjective
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with _full_precision(logits.device):
            ctx.across_processes = objective.across_processes
            ctx.rows = PowerRows(as_batch(logits, y, objective))
            sums, sizes = ctx.rows.sums()
            ctx.moments = class_moments(sums, sizes, objective.across_processes)
        has_pairs = (ctx.moments.sizes > 0).all()
        ctx.mark_non_differentiable(has_pairs)
        return ctx.moments.value.reshape(-1), has_pairs

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor, _: Any) -> tuple[torch.Tensor, None, None]:
        _refuse_second_derivative()
        with _full_precision(grad_output.device):
            coefficients = ctx.moments.per_example(grad_output.reshape(2, 3))
            gradient = ctx.rows.turned(coefficients)
        return gradient * process_count(ctx.across_processes), None, None
