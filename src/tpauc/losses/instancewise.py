"""The instance-wise form of the truncated square risk (PAUCI), with the right saddle.

For hard positives and negatives with scores ``f = sigmoid(z)`` the truncated square risk is

    mean (1 - (f_i - f_j))^2 = 1 + min over a, b of max over g of  mean_i l+(f_i) + mean_j l-(f_j) - g^2,
    l+(f) = (f - a)^2 - 2 (1 + g) f,        l-(f) = (f - b)^2 + 2 (1 + g) f

with ``a, b`` in [0, 1] and ``g`` in ``[max(-a, b - 1), 1]``: sums over examples, without pairs. At the saddle ``a`` and
``b`` are the mean scores of the hard positives and of the hard negatives, and ``g = b - a``. The published codes
descend on ``g`` too and select examples by a softplus; neither gives the risk.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

from tpauc._validation import check_flag, check_logits_and_labels, check_positive
from tpauc.losses._hardness import inference
from tpauc.losses._objective import full_precision, refuse_second_derivative
from tpauc.losses._thresholds import TrackedThresholds
from tpauc.losses._transforms import refuse_transforms
from tpauc.losses.distributed import process_count, sum_over_processes
from tpauc.losses.minimax import SaddleLoss
from tpauc.region import Region


class InstanceWiseTPAUCLoss(SaddleLoss):
    """The saddle function of the truncated square risk: a loss for `descent_ascent` that is a sum over examples.

    Hard examples are selected by two tracked thresholds, as in `CVaRTPAUCLoss`. With ``P_k = mean over positives of
    [z <= t+] f^k / alpha`` and ``N_k = mean over negatives of [z >= t-] f^k / beta`` of the batch, the loss is

        1 + P2 - 2 a P1 + a^2 P0 + N2 - 2 b N1 + b^2 N0 - 2 (1 + g) (P1 - N1) - g^2

    ``a`` and ``b`` (descent) and ``g`` (ascent) are parameters: they are in the ``state_dict``, and an optimiser must
    update them. The first training batch (in ``train`` mode, with gradients enabled) sets them to its saddle. A batch
    that lacks a class has the value 0, and its gradients are 0.

    Parameters
    ----------
    alpha, beta : float
        The region, as in `tpauc.Region`. ``alpha=1`` is the one-way form.
    threshold_lr : float, default=0.1
        Step size of the thresholds, relative to the spread of the logits.
    across_processes : bool, default=True
        Whether means are taken over the examples of all processes.

    Examples
    --------
    >>> from tpauc import TruncatedLoss, descent_ascent
    >>> logits, labels = torch.tensor([2.0, -1.0, 0.5, -2.0]), torch.tensor([1, 1, 0, 0])
    >>> loss = InstanceWiseTPAUCLoss(alpha=0.5, beta=0.5)
    >>> loss.move_to_saddle(logits, labels)
    >>> saddle, risk = loss(logits, labels), TruncatedLoss(0.5, 0.5)(logits, labels)
    >>> torch.allclose(saddle, risk)
    True
    >>> optimizer = descent_ascent(nn.Linear(3, 1), loss, lr=0.1, dual_lr=0.1)
    """

    started: torch.Tensor

    def __init__(self, alpha: float, beta: float, *, threshold_lr: float = 0.1, across_processes: bool = True) -> None:
        super().__init__()
        self.region = Region(alpha, beta)
        self.thresholds = TrackedThresholds(self.region, check_positive(threshold_lr, "threshold_lr"), across_processes)
        self.across_processes = check_flag(across_processes, "across_processes")
        self.a, self.b, self.g = (nn.Parameter(torch.zeros(())) for _ in range(3))
        self.register_buffer("started", torch.tensor(False))

    def descent_variables(self) -> list[nn.Parameter]:
        return [self.a, self.b]

    def ascent_variables(self) -> list[nn.Parameter]:
        return [self.g]

    # Its sums are numbers, which torch.compile would compile in, anew in every step.
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the saddle function at the current ``a``, ``b`` and ``g``, a tensor of shape (), at least float32."""
        refuse_transforms(self, logits=logits, labels=labels)
        flat_logits, y = check_logits_and_labels(logits, labels)
        update = self.training and torch.is_grad_enabled()
        with inference():  # autograd saves what `_Saddle` makes of the result
            hard = self._hard_examples(flat_logits.detach(), y, update)
        if update and hard.has_pairs and not self.started:
            self._set_saddle(hard)
        value: torch.Tensor = _Saddle.apply(flat_logits, self.a, self.b, self.g, hard)  # type: ignore[no-untyped-call]
        return value

    @torch.no_grad()
    def move_to_saddle(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Set thresholds and variables to the saddle of the given batch, at which the value is the truncated risk."""
        refuse_transforms(self, logits=logits, labels=labels)
        flat_logits, y = check_logits_and_labels(logits, labels)
        self.thresholds.move_to_quantiles(flat_logits, y)
        self._set_saddle(self._hard_examples(flat_logits.detach(), y, update=False))

    @torch.no_grad()
    def project(self) -> None:
        """Project ``a`` and ``b`` onto [0, 1] and ``g`` onto ``[max(-a, b - 1), 1]``."""
        self.a.clamp_(0.0, 1.0)
        self.b.clamp_(0.0, 1.0)
        self.g.copy_(torch.maximum(self.g, torch.maximum(-self.a, self.b - 1.0)).clamp_max(1.0))

    def _hard_examples(self, logits: torch.Tensor, y: torch.Tensor, update: bool) -> _HardExamples:
        weight = self.thresholds(logits, y, update).weight
        score = torch.sigmoid(logits)
        rest = torch.sigmoid(-logits)
        members = torch.stack((y, 1.0 - y))
        with full_precision(logits.device):
            # The last row counts the examples; weights apply to the others.
            first = weight * score
            rows = torch.stack((weight, first, first * score, torch.ones_like(score)))
            sums = sum_over_processes(members @ rows.mT, self.across_processes).tolist()
        positive, negative = ([moment / max(row[3], 1.0) for moment in row[:3]] for row in sums)
        n_positive, n_negative = sums[0][3], sums[1][3]
        # By process and class: what an example adds to the mean of its class.
        of_positives, of_negatives = (
            process_count(self.across_processes) / max(n, 1.0) for n in (n_positive, n_negative)
        )
        slope = first * rest * (y * (of_positives - of_negatives) + of_negatives)
        return _HardExamples(positive, negative, min(n_positive, n_negative) > 0.0, score, y, slope)

    @torch.no_grad()
    def _set_saddle(self, hard: _HardExamples) -> None:
        for variable, moments in ((self.a, hard.positive), (self.b, hard.negative)):
            if moments[0] > 0.0:
                variable.fill_(moments[1] / moments[0])
        self.g.fill_(hard.negative[1] - hard.positive[1])
        self.project()
        self.started.fill_(True)

    def extra_repr(self) -> str:
        return f"alpha={self.region.alpha}, beta={self.region.beta}"


class _HardExamples(NamedTuple):
    """The hard examples of a batch: their moments in the global batch, and what the gradient needs of this process."""

    positive: list[float]  # P_0, P_1, P_2
    negative: list[float]  # N_0, N_1, N_2
    has_pairs: bool
    score: torch.Tensor  # shape (n,)
    y: torch.Tensor
    slope: torch.Tensor  # the derivative of the weighted mean of the scores in each logit


class _Saddle(torch.autograd.Function):
    """The saddle function with its gradient in closed form."""

    @staticmethod
    def forward(
        ctx: Any, logits: torch.Tensor, a: torch.Tensor, b: torch.Tensor, g: torch.Tensor, hard: _HardExamples
    ) -> torch.Tensor:
        p0, p1, p2 = hard.positive
        n0, n1, n2 = hard.negative
        a_, b_, g_ = torch.stack((a, b, g)).tolist()
        spread = p2 - 2.0 * a_ * p1 + a_ * a_ * p0 + n2 - 2.0 * b_ * n1 + b_ * b_ * n0
        value = 1.0 + spread - 2.0 * (1.0 + g_) * (p1 - n1) - g_ * g_ if hard.has_pairs else 0.0
        factor = 2.0 if hard.has_pairs else 0.0
        ctx.by_variable = factor * (a_ * p0 - p1), factor * (b_ * n0 - n1), -factor * (p1 - n1 + g_)
        # l+ has the derivative 2 (f - a - 1 - g), l- has 2 (f - b + 1 + g)
        centre = hard.y * (a_ - b_ + 2.0 + 2.0 * g_) + (b_ - 1.0 - g_)
        ctx.save_for_backward(factor * (hard.score - centre) * hard.slope)
        return hard.score.new_tensor(value)

    @staticmethod
    def backward(
        ctx: Any, grad_output: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, None]:
        refuse_second_derivative()
        (by_logit,) = ctx.saved_tensors
        a, b, g = ((factor * grad_output) for factor in ctx.by_variable)
        return by_logit * grad_output, a, b, g, None
