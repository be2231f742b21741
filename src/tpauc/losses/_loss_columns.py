"""Losses of many labels in one pass: logits and labels of shape (k, n), one problem per row, values of shape (k,).

The pair mean of row ``c`` is a function of its moments, as in `tpauc.losses._moments`: with functions ``b_r`` of the
hardness (the powers 0 to 2, or 1 and the exponential) and ``P_cr = mean over the positives of row c of w b_r(x)``,

    R_c = sum_rs K_rs P_cr N_cs

and its derivative in ``w`` and ``x`` is linear in ``b_r`` and its slopes. Examples with an unknown label belong to
neither class. Other pair losses need the pairs themselves, and are computed row by row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from tpauc.losses._hardness import Hardness, Weights, constant
from tpauc.losses._moments import Batch, Kernel, PairMean, power_kernel, row_derivatives
from tpauc.losses._objective import PairObjective, constant_weight_risk, differentiable
from tpauc.losses.distributed import gather_columns, global_sum, max_over_processes, sum_over_processes
from tpauc.losses.rank_weighting import RankWeighting
from tpauc.losses.surrogates import ExponentialPair, Square, Surrogate
from tpauc.losses.weighting import Uniform, Weighting


class Problems(NamedTuple):
    """One problem per row, each tensor of shape (k, n)."""

    logits: torch.Tensor  # 0 where the label is unknown
    y: torch.Tensor  # 1.0 for a positive, 0.0 otherwise
    known: torch.Tensor  # 1.0, or 0.0 where the label is unknown

    @property
    def members(self) -> torch.Tensor:
        """The members of both classes, shape (2, k, n)."""
        return torch.stack((self.y, self.known - self.y))

    @property
    def hardness_logits(self) -> torch.Tensor:
        """``-z`` for a positive, ``z`` for a negative, 0 for an unknown label."""
        return torch.sub(self.known, self.y, alpha=2).mul_(self.logits)


def has_moments(objective: PairObjective) -> bool:
    """Return whether the pair mean is a function of moments."""
    if objective.scores == "logit":
        return type(objective.surrogate) is Square
    return objective.surrogate.kernel_on_scores() is not None or type(objective.surrogate) is ExponentialPair


def pair_risks(problems: Problems, objective: PairObjective) -> torch.Tensor:
    """Return R of each problem, shape (k,), with its gradient."""

    def pair_mean(logits: torch.Tensor) -> PairMean:
        own = problems._replace(logits=logits)
        hardness = Hardness.of(own.hardness_logits)
        return _pair_means(own, hardness, _weights(own, hardness, objective), objective)

    return differentiable(pair_mean, problems.logits, objective.across_processes)


def constant_weight_risks(
    problems: Problems, weight: torch.Tensor, surrogate: Surrogate, scores: str, across_processes: bool
) -> torch.Tensor:
    """Return R of each problem for given weights of the examples, (k, n), with its gradient at constant weights."""
    objective = PairObjective(Uniform(), Uniform(), surrogate, scores, across_processes)
    if not has_moments(objective):
        known = problems.known > 0.5
        rows = zip(problems.logits, problems.y, weight, known, strict=True)
        return torch.stack(
            [constant_weight_risk(z[k], y[k], w[k], surrogate, scores, across_processes) for z, y, w, k in rows]
        )

    def pair_mean(logits: torch.Tensor) -> PairMean:
        own = problems._replace(logits=logits)
        return _pair_means(own, Hardness.of(own.hardness_logits), Weights(weight), objective)

    return differentiable(pair_mean, problems.logits, across_processes)


def mean_terms(terms: torch.Tensor, included: torch.Tensor, across_processes: bool) -> torch.Tensor:
    """Return the mean of terms over the included examples of each problem; 0 without any."""
    count = sum_over_processes(included.sum(1), across_processes)
    return global_sum((terms * included).sum(1), across_processes) / count.clamp_min(1.0)


def selected(problems: Problems, objective: PairObjective) -> torch.Tensor:
    """Return 1.0 for the examples whose weight is not 0."""
    with torch.no_grad():
        weight = _weights(problems, Hardness.of(problems.hardness_logits), objective).value * problems.known
        return weight.clamp_max(1.0).ceil()


def _weights(problems: Problems, hardness: Hardness, objective: PairObjective) -> Weights:
    """Return the weight of each example by the weighting of its class, with its derivative."""
    hardest = None
    if objective.normalize:
        members = problems.members > 0.5
        lowest = torch.finfo(problems.logits.dtype).min
        of_class = torch.where(members, hardness.logit, lowest)
        padded = torch.nn.functional.pad(of_class, (0, 1), value=lowest)  # amax needs a column if the batch is empty
        largest = max_over_processes(padded.amax(2, keepdim=True), objective.across_processes)
        hardest = torch.where(problems.y > 0.5, largest[0], largest[1])
        hardest = torch.where(problems.known > 0.5, hardest, hardness.logit)  # others get finite weights, not used
    sides = objective.positive, objective.negative
    if sides[0] == sides[1] and not isinstance(sides[0], RankWeighting):
        weights = _side_weights(hardness, sides[0], hardest)
    else:
        by_side = []
        for side, chosen in zip(sides, problems.members > 0.5, strict=True):
            if isinstance(side, RankWeighting):
                columns = torch.stack((hardness.logit, chosen.to(hardness.logit.dtype)))
                (everyone, inside), own = gather_columns(columns, objective.across_processes)
                by_side.append(Weights(side.in_rows(everyone, inside > 0.5)[:, own]))
            else:
                by_side.append(_side_weights(hardness, side, hardest))
        weights = _chosen(by_side[0], by_side[1], problems.y > 0.5)
    return Weights(weights.value) if objective.detach_weights else weights


def _side_weights(hardness: Hardness, weighting: Weighting, hardest: torch.Tensor | None) -> Weights:
    """Return the weights of all examples; a user's function gets one flat tensor, as for a single label."""
    shape = hardness.logit.shape
    flat = Hardness(*(part.reshape(-1) for part in hardness))
    if hardest is None:
        weights = weighting.weigh(flat)
    else:
        finite = flat.logit.clamp_min(torch.finfo(flat.logit.dtype).min)
        weights = weighting.weigh_relative(flat._replace(logit=finite), hardest.reshape(-1))
    bend = None if weights.bend is None else weights.bend.view(shape)
    return Weights(weights.value.view(shape), weights.elasticity, bend)


def _chosen(of_positives: Weights, of_negatives: Weights, positive: torch.Tensor) -> Weights:
    value = torch.where(positive, of_positives.value, of_negatives.value)
    slopes = of_positives.slope(), of_negatives.slope()
    if slopes[0] is None and slopes[1] is None:
        return Weights(value)
    first, second = (torch.zeros_like(value) if slope is None else slope for slope in slopes)
    return Weights(value, bend=torch.where(positive, first, second))


def _pair_means(problems: Problems, hardness: Hardness, weights: Weights, objective: PairObjective) -> PairMean:
    kernel = objective.surrogate.kernel_on_scores()
    if kernel is None or objective.scores == "logit":
        return _general_means(problems, hardness, weights, objective)
    return _power_means(problems, hardness, weights, kernel, objective)


class _Moments(NamedTuple):
    """The pair means, and their derivatives in the rows of one example per class, negated for positives."""

    value: torch.Tensor  # shape (k,)
    coefficients: torch.Tensor  # shape (k, 2, r)


def _bilinear_means(members: torch.Tensor, rows: torch.Tensor, kernel: Kernel, objective: PairObjective) -> _Moments:
    """Return the pair means from the members of both classes, shape (k, 2, n), and the rows ``w b_r``, (k, r, n)."""
    sums, sizes = torch.bmm(members, rows.transpose(1, 2)), members.sum(2, keepdim=True)
    total = sum_over_processes(torch.cat((sums, sizes), 2), objective.across_processes)
    sums, sizes = total[..., :-1], total[..., -1:]
    divisors = torch.where(sizes > 0.0, sums[..., :1], 1.0) if objective.normalize else sizes.clamp_min(1.0)
    moments = sums / divisors
    by_moment = moments.flip(1) @ constant(kernel, moments)
    value = (moments[:, 0] * by_moment[:, 0]).sum(1)
    if objective.normalize:
        by_moment[..., 0] = -(moments[..., 1:] * by_moment[..., 1:]).sum(2)
    return _Moments(value, by_moment / (divisors * constant(((-1.0,), (1.0,)), moments)))


def _power_means(
    problems: Problems, hardness: Hardness, weights: Weights, kernel: Kernel, objective: PairObjective
) -> PairMean:
    """Return the pair means on sigmoid scores, in as few passes as `tpauc.losses._moments.PowerRows` takes."""
    factors = (weights.value,) if weights.bend is None else (weights.value, weights.bend)
    k, n = weights.value.shape
    rows = weights.value.new_empty((k, 3, len(factors), n))
    for place, factor in enumerate(factors):
        rows[:, 0, place] = factor
    x = hardness.value[:, None]
    torch.mul(rows[:, 0], x, out=rows[:, 1])
    torch.mul(rows[:, 1], x, out=rows[:, 2])
    members = torch.stack((problems.y, problems.known - problems.y), 1)
    means = _bilinear_means(members, rows[:, :, 0], kernel, objective)
    by_row = means.coefficients @ constant(row_derivatives(weights.elasticity, len(factors)), means.coefficients)
    by_class = torch.bmm(by_row, rows.flatten(1, 2)).mul_(members)
    return PairMean(means.value, by_class.sum(1).mul_(hardness.rest))


def _general_means(problems: Problems, hardness: Hardness, weights: Weights, objective: PairObjective) -> PairMean:
    """Return the pair means on logits, or of exponential pairs."""
    members = torch.stack((problems.y, problems.known - problems.y), 1)
    batch = Batch(
        hardness,
        weights,
        problems.y,
        members.transpose(0, 1),
        objective.scores,
        objective.across_processes,
        objective.normalize,
    )
    x = _centred(batch, problems.known) if objective.scores == "logit" else batch.x
    basis, slopes, kernel = _basis(x, objective)
    w = weights.value
    means = _bilinear_means(members, torch.stack([w * b for b in basis], 1), kernel, objective)
    positive = problems.y > 0.5
    by_x, by_weight = torch.zeros_like(w), torch.zeros_like(w)
    for r, (b, slope) in enumerate(zip(basis, slopes, strict=True)):
        of_positives, of_negatives = means.coefficients[..., r, None].unbind(1)
        by_row = torch.where(positive, of_positives, of_negatives)
        by_weight = by_weight + by_row * b
        by_x = by_x if slope is None else by_x + by_row * slope
    return PairMean(means.value, batch.chain_rule(w * by_x, by_weight) * problems.known)


def _basis(x: torch.Tensor, objective: PairObjective) -> tuple[list[torch.Tensor], list[torch.Tensor | None], Kernel]:
    """Return the functions ``b_r``, their slopes (None for 0) and the kernel ``K``."""
    one = torch.ones_like(x)
    if type(objective.surrogate) is ExponentialPair:
        growth = torch.exp(x)
        return [one, growth], [None, growth], ((0.0, 0.0), (0.0, math.exp(-1.0)))
    return [one, x, x * x], [None, one, 2.0 * x], power_kernel(2, 1.0)


def _centred(batch: Batch, known: torch.Tensor) -> torch.Tensor:
    """Return hardness logits whose pairs have the same sums, shifted in each row to a weighted mean of 0."""
    weight, sign = batch.weights.value * known, batch.members[1] - batch.y
    sums = torch.stack(((weight * sign * batch.x).sum(1), weight.sum(1)))
    total = sum_over_processes(sums, batch.across_processes)
    centre = total[0] / total[1].clamp_min(torch.finfo(batch.x.dtype).tiny)
    return torch.addcmul(batch.x, sign, centre[:, None], value=-1.0)
