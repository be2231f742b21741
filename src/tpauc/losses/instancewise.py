"""The instance-wise form of the truncated square risk (PAUCI), with the right saddle.

For hard positives and negatives with scores ``f = sigmoid(z)`` the truncated square risk is

    mean (1 - (f_i - f_j))^2 = 1 + min over a, b of max over g of  mean_i l+(f_i) + mean_j l-(f_j) - g^2,
    l+(f) = (f - a)^2 - 2 (1 + g) f,        l-(f) = (f - b)^2 + 2 (1 + g) f

with ``a, b`` in [0, 1] and ``g`` in ``[max(-a, b - 1), 1]``: sums over examples, without pairs. At the saddle ``a`` and
``b`` are the mean scores of the hard positives and of the hard negatives, and ``g = b - a``. The published codes
descend on ``g`` too and select examples by a softplus; neither gives the risk.
"""

from __future__ import annotations

import torch
from torch import nn

from tpauc._validation import check_flag, check_logits_and_labels, check_positive
from tpauc.losses._thresholds import TrackedThresholds
from tpauc.losses._transforms import refuse_transforms
from tpauc.losses.distributed import global_sum, sum_over_processes
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

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the saddle function at the current ``a``, ``b`` and ``g``, a tensor of shape (), at least float32."""
        refuse_transforms(self, logits=logits, labels=labels)
        flat_logits, y = check_logits_and_labels(logits, labels)
        update = self.training and torch.is_grad_enabled()
        positive, negative, has_pairs = self._moments(flat_logits, y, update)
        if update and not self.started and has_pairs:
            self._set_saddle(positive, negative)
        a, b, g = (variable.to(positive.dtype) for variable in (self.a, self.b, self.g))
        margin = positive[1] - negative[1]
        value = 1.0 + _spread(positive, a) + _spread(negative, b) - 2.0 * (1.0 + g) * margin - g * g
        return torch.where(has_pairs, value, 0.0 * value)

    @torch.no_grad()
    def move_to_saddle(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Set thresholds and variables to the saddle of the given batch, at which the value is the truncated risk."""
        refuse_transforms(self, logits=logits, labels=labels)
        flat_logits, y = check_logits_and_labels(logits, labels)
        self.thresholds.move_to_quantiles(flat_logits, y)
        positive, negative, _ = self._moments(flat_logits, y, update=False)
        self._set_saddle(positive, negative)

    @torch.no_grad()
    def project(self) -> None:
        """Project ``a`` and ``b`` onto [0, 1] and ``g`` onto ``[max(-a, b - 1), 1]``."""
        self.a.clamp_(0.0, 1.0)
        self.b.clamp_(0.0, 1.0)
        self.g.copy_(torch.maximum(self.g, torch.maximum(-self.a, self.b - 1.0)).clamp_max(1.0))

    def _moments(
        self, logits: torch.Tensor, y: torch.Tensor, update: bool
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return ``P_k`` and ``N_k``, ``k = 0, 1, 2``, of the global batch with gradient, and whether it has pairs."""
        weight = self.thresholds(logits.detach(), y, update).weight
        members = torch.stack((y, 1.0 - y))
        sizes = sum_over_processes(members.sum(1), self.across_processes)
        score = torch.sigmoid(logits)
        rows = torch.stack((torch.ones_like(score), score, score * score))
        # Sums instead of a matrix product, which autocast would compute in half precision.
        sums = global_sum(((members * weight)[:, None] * rows).sum(2), self.across_processes)
        positive, negative = sums / sizes.clamp_min(1.0)[:, None]
        return positive, negative, (sizes > 0.0).all()

    @torch.no_grad()
    def _set_saddle(self, positive: torch.Tensor, negative: torch.Tensor) -> None:
        for variable, moments in ((self.a, positive), (self.b, negative)):
            if moments[0] > 0.0:
                variable.copy_(moments[1] / moments[0])
        self.g.copy_(negative[1] - positive[1])
        self.project()
        self.started.fill_(True)

    def extra_repr(self) -> str:
        return f"alpha={self.region.alpha}, beta={self.region.beta}"


def _spread(moments: torch.Tensor, centre: torch.Tensor) -> torch.Tensor:
    """Return the weighted mean of ``(f - centre)^2`` from the moments 0, 1 and 2 of ``f``."""
    return moments[2] - 2.0 * centre * moments[1] + centre * centre * moments[0]
