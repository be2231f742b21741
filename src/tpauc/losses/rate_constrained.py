"""Losses for one point of the ROC curve: the highest recall at a given FPR, or the lowest FPR at a given recall.

With a threshold ``t`` on the logits and a decreasing surrogate ``l``, the Lagrangian of "most recall subject to
FPR <= beta" is

    L = mean_i l(z_i - t) + lam mean_j l(t - z_j),        i positive, j negative

As in proxy Lagrangians for rate constraints, the constraint is on the true rate, the model descends on the surrogate:

* ``t`` is the tracked quantile at which ``mean_j [z_j >= t] = beta``;
* ``lam`` makes ``L`` stationary in ``t``: ``lam = mean_i |l'(z_i - t)| / mean_j |l'(t - z_j)|``, from moving averages.

These are the stationary points of descent in ``t`` and ascent in ``lam``, without their oscillation. The lowest FPR
subject to recall ``>= 1 - alpha`` has the same ``L`` up to a factor, with ``t`` at ``mean_i [z_i <= t] = alpha``.
"""

from __future__ import annotations

import torch
from torch import nn

from tpauc._validation import check_flag, check_logits_and_labels, check_open_share, check_positive
from tpauc.losses._thresholds import TrackedThresholds, class_members
from tpauc.losses._transforms import refuse_transforms
from tpauc.losses.distributed import global_sum, sum_over_processes
from tpauc.losses.surrogates import as_surrogate
from tpauc.losses.tpauc_loss import SurrogateLike
from tpauc.region import Region

_LARGEST_MULTIPLIER = 1e6  # without a bound, a class far on the right side of the threshold would have an infinite one


class _RateConstrainedLoss(nn.Module):
    """The Lagrangian; the class whose share in ``region`` is below 1 has the constraint."""

    slopes: torch.Tensor  # shape (2,): moving averages of |l'| over positives and over negatives; 0 before training

    def __init__(self, region: Region, surrogate: SurrogateLike, dual_lr: float, across_processes: bool) -> None:
        super().__init__()
        self._region = region
        self.surrogate = as_surrogate(surrogate)
        self.dual_lr = check_positive(dual_lr, "dual_lr")
        self.across_processes = check_flag(across_processes, "across_processes")
        self.thresholds = TrackedThresholds(region, self.dual_lr, across_processes)
        self.register_buffer("slopes", torch.zeros(2))

    @property
    def threshold(self) -> torch.Tensor:
        """The threshold ``t`` on the logits; infinite before training."""
        return self._on_logits(self.thresholds.levels)

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss, a tensor of shape (), at least float32."""
        refuse_transforms(self, logits=logits, labels=labels)
        return self._values(*check_logits_and_labels(logits, labels))

    def _values(self, z: torch.Tensor, y: torch.Tensor, known: torch.Tensor | None = None) -> torch.Tensor:
        """Return the loss, of each problem if tensors and state have a leading axis of problems."""
        update = self.training and torch.is_grad_enabled()
        threshold = self._on_logits(self.thresholds(z.detach(), y, update, known).levels)[..., None]
        margin = (2.0 * y - 1.0) * (z - torch.where(torch.isfinite(threshold), threshold, 0.0))
        members = class_members(y, known)
        sizes = sum_over_processes(members.sum(-1), self.across_processes)
        has_pairs = (sizes > 0.0).all(-1)
        weights = self._weights(margin.detach(), members / sizes.clamp_min(1.0)[..., None], has_pairs, update)
        losses = self.surrogate(margin.reshape(-1)).view_as(margin)
        terms = (members * losses[..., None, :]).sum(-1) / sizes.clamp_min(1.0)
        value = global_sum((weights * terms).sum(-1), self.across_processes)
        return torch.where(has_pairs, value, 0.0 * value)

    def _on_logits(self, levels: torch.Tensor) -> torch.Tensor:
        """Return the threshold of the class with the constraint; levels are hardness logits."""
        return -levels[..., 0] if self._region.alpha < 1.0 else levels[..., 1]

    @torch.no_grad()
    def _weights(
        self, margin: torch.Tensor, averaging: torch.Tensor, has_pairs: torch.Tensor, update: bool
    ) -> torch.Tensor:
        """Return the factors of the terms of positives and negatives, shape (2,): 1, and the multiplier."""
        _, slope = self.surrogate.value_and_slope(margin.reshape(-1))
        in_classes = (averaging * slope.abs().view_as(margin)[..., None, :]).sum(-1)
        batch = sum_over_processes(in_classes, self.across_processes)
        slopes = self.slopes.to(margin)
        averaged = torch.lerp(slopes, batch, min(self.dual_lr, 1.0))  # beyond 1 an average diverges
        slopes = torch.where((slopes > 0.0).all(-1, keepdim=True), averaged, batch)
        if update:
            usable = has_pairs & torch.isfinite(slopes).all(-1)
            self.slopes.copy_(torch.where(usable[..., None], slopes.to(self.slopes), self.slopes))
        constrained = 0 if self._region.alpha < 1.0 else 1
        weights = torch.ones_like(slopes)
        quotient = slopes[..., 1 - constrained] / slopes[..., constrained].clamp_min(torch.finfo(slopes.dtype).tiny)
        weights[..., constrained] = quotient.clamp_max(_LARGEST_MULTIPLIER)
        return weights


class RecallAtFPRLoss(_RateConstrainedLoss):
    """A loss for the highest recall at a false positive rate of at most ``beta``; see the module for its formula.

    A training batch (in ``train`` mode, with gradients enabled) updates the threshold and the averages in ``lam``; the
    first one sets them. They are buffers in the ``state_dict``, and equal in all processes. The loss does not change
    to first order if all logits move by a constant. A batch that lacks a class gives 0 with a zero gradient. Before
    use, set the threshold on held-out data, for instance by `tpauc.operating_point`.

    Parameters
    ----------
    beta : float
        The false positive rate, in (0, 1).
    surrogate : str, Surrogate or callable, default="sigmoid"
        Decreasing loss of the distance of a logit to the threshold, as in `tpauc.TPAUCLoss`. With "sigmoid" the terms
        are smooth versions of the rates themselves, bounded and not convex. "logistic" is convex, and its gradient does
        not vanish for examples far on the wrong side.
    dual_lr : float, default=0.1
        Step size of the threshold, relative to the spread of the logits, and rate of the averages.
    across_processes : bool, default=True
        Whether means are taken over the examples of all processes.

    Examples
    --------
    >>> logits, labels = torch.tensor([2.0, -1.0, 0.5, -2.0], requires_grad=True), torch.tensor([1, 1, 0, 0])
    >>> loss = RecallAtFPRLoss(beta=0.5)
    >>> value = loss(logits, labels)
    >>> value.backward()
    >>> round(value.item(), 4), loss.threshold
    (0.7482, tensor(-0.7500))
    """

    def __init__(
        self,
        beta: float,
        *,
        surrogate: SurrogateLike = "sigmoid",
        dual_lr: float = 0.1,
        across_processes: bool = True,
    ) -> None:
        self.beta = check_open_share(beta, "beta")
        super().__init__(Region(1.0, self.beta), surrogate, dual_lr, across_processes)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, surrogate={self.surrogate!r}, dual_lr={self.dual_lr}"


class FPRAtRecallLoss(_RateConstrainedLoss):
    """A loss for the lowest false positive rate at a recall of at least ``1 - alpha``.

    The mirror image of `RecallAtFPRLoss`: the constraint is on the positives.

    Parameters
    ----------
    alpha : float
        The share of positives that may be missed, in (0, 1).
    surrogate, dual_lr, across_processes
        As in `RecallAtFPRLoss`.

    Examples
    --------
    >>> logits, labels = torch.tensor([2.0, -1.0, 0.5, -2.0]), torch.tensor([1, 1, 0, 0])
    >>> loss = FPRAtRecallLoss(alpha=0.5)
    >>> round(loss(logits, labels).item(), 4), loss.threshold
    (0.8245, tensor(0.5000))
    """

    def __init__(
        self,
        alpha: float,
        *,
        surrogate: SurrogateLike = "sigmoid",
        dual_lr: float = 0.1,
        across_processes: bool = True,
    ) -> None:
        self.alpha = check_open_share(alpha, "alpha")
        super().__init__(Region(self.alpha, 1.0), surrogate, dual_lr, across_processes)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}, surrogate={self.surrogate!r}, dual_lr={self.dual_lr}"
