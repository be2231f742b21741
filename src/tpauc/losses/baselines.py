"""Baselines: cross-entropy for imbalanced classes, and truncated losses.

With ``p`` the probability given to an example's own class (``sigmoid(logit)`` for a positive, ``sigmoid(-logit)`` for a
negative) and ``n_y`` the size of its class,

| loss | term of an example |
| --- | --- |
| `ReweightedCrossEntropy` | -log p / n_y |
| `FocalLoss` | -(1 - p)^gamma log p |
| `ClassBalancedCrossEntropy` | -log p (1 - b) / (1 - b^n_y) |
| `ClassBalancedFocal` | -(1 - p)^gamma log p (1 - b) / (1 - b^n_y) |
| `TruncatedLoss` | square pair loss, or -log p, on the hardest examples of the batch only |

Class weights are scaled to a mean of 1 over the data on which the classes were counted, so learning rates stay
comparable. Means are taken over the global batch (see `tpauc.losses.distributed`).
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from tpauc._validation import (
    check_choice,
    check_count,
    check_flag,
    check_logits_and_labels,
    check_non_negative,
    check_number,
    check_open_share,
)
from tpauc.losses._objective import PairObjective, as_batch, pair_risk
from tpauc.losses._transforms import refuse_transforms
from tpauc.losses.distributed import global_sum, sum_over_processes
from tpauc.losses.rank_weighting import TruncatedSide
from tpauc.losses.surrogates import Square
from tpauc.region import Region


def _global_mean(terms: torch.Tensor, across_processes: bool) -> torch.Tensor:
    """Return the mean over the examples of all processes; for an empty batch 0, with a graph."""
    count = sum_over_processes(terms.new_tensor(float(terms.numel())), across_processes)
    return global_sum(terms.sum(), across_processes) / count.clamp_min(1.0)


def _hardness_logits(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the hardness logits ``u``, ``-z`` for a positive and ``z`` for a negative: ``1 - p = sigmoid(u)``."""
    return logits * (1.0 - 2.0 * y)


def _cross_entropy(u: torch.Tensor) -> torch.Tensor:
    """Return ``-log p`` of hardness logits; ``F.softplus`` is not exact above 20."""
    return -F.logsigmoid(-u)


class ReweightedCrossEntropy(nn.Module):
    """Cross-entropy with each example weighted by ``1/n_y``, so that both classes have the same total weight.

    Parameters
    ----------
    n_positive, n_negative : int, optional
        Class sizes of the training data. Without them the classes are counted in each (global) batch; the loss of a
        batch that lacks a class is then plain cross-entropy.
    across_processes : bool, default=True
        Whether the batch consists of the examples of all processes.

    Examples
    --------
    >>> ReweightedCrossEntropy()(torch.zeros(4), torch.tensor([1, 0, 0, 0]))
    tensor(0.6931)
    """

    def __init__(
        self, n_positive: int | None = None, n_negative: int | None = None, *, across_processes: bool = True
    ) -> None:
        super().__init__()
        if (n_positive is None) != (n_negative is None):
            raise ValueError(f"give both n_positive and n_negative, or neither, got {n_positive!r} and {n_negative!r}")
        self.counts = None
        if n_positive is not None and n_negative is not None:
            self.counts = (check_count(n_positive, "n_positive"), check_count(n_negative, "n_negative"))
        self.across_processes = check_flag(across_processes, "across_processes")

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean weighted cross-entropy, a tensor of shape (), at least float32."""
        refuse_transforms(self, labels=labels)
        flat_logits, y = check_logits_and_labels(logits, labels)
        counts = None
        if self.counts is None:
            sums = torch.stack((y.sum(), y.new_tensor(float(y.numel()))))
            counts = sum_over_processes(sums, self.across_processes)
        return _global_mean(self._terms(flat_logits, y, counts), self.across_processes)

    def _terms(self, logits: torch.Tensor, y: torch.Tensor, counts: torch.Tensor | None) -> torch.Tensor:
        """Return the term of each example, given the number of positives and of all examples, if they are counted."""
        if counts is None:
            assert self.counts is not None
            positive, negative = (y.new_tensor(sum(self.counts) / (2.0 * count)) for count in self.counts)
        else:
            n_positive, total = counts
            both = (n_positive > 0) & (n_positive < total)
            positive = torch.where(both, total / (2.0 * n_positive), 1.0)
            negative = torch.where(both, total / (2.0 * (total - n_positive)), 1.0)
        weight = y * positive + (1.0 - y) * negative
        return weight * _cross_entropy(_hardness_logits(logits, y))

    def extra_repr(self) -> str:
        return f"counts={self.counts}"


class FocalLoss(nn.Module):
    """Cross-entropy times ``(1 - p)^gamma``, a small factor for easy examples.

    Parameters
    ----------
    gamma : float, default=2.0
        At least 0; 0 is cross-entropy.
    alpha : float, optional
        Weight of the positives in (0, 1); the negatives have the weight ``1 - alpha``. Without it both weights are 1.
    across_processes : bool, default=True
        Whether the batch consists of the examples of all processes.

    Examples
    --------
    >>> FocalLoss(gamma=2.0)(torch.zeros(2), torch.tensor([1, 0]))
    tensor(0.1733)
    """

    def __init__(self, gamma: float = 2.0, *, alpha: float | None = None, across_processes: bool = True) -> None:
        super().__init__()
        self.gamma = check_non_negative(gamma, "gamma")
        self.alpha = None if alpha is None else check_open_share(alpha, "alpha")
        self.across_processes = check_flag(across_processes, "across_processes")

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean focal loss, a tensor of shape (), at least float32."""
        refuse_transforms(self, labels=labels)
        flat_logits, y = check_logits_and_labels(logits, labels)
        return _global_mean(self._terms(flat_logits, y), self.across_processes)

    def _terms(self, logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the term of each example."""
        terms = _focal_terms(logits, y, self.gamma)
        return terms if self.alpha is None else terms * (y * self.alpha + (1.0 - y) * (1.0 - self.alpha))

    def extra_repr(self) -> str:
        return f"gamma={self.gamma}, alpha={self.alpha}"


def _focal_terms(logits: torch.Tensor, y: torch.Tensor, gamma: float) -> torch.Tensor:
    u = _hardness_logits(logits, y)
    # (1 - p)^gamma as exp(gamma log(1 - p)) has a finite gradient even if 1 - p underflows.
    return torch.exp(gamma * F.logsigmoid(u)) * _cross_entropy(u)


class ClassBalancedFocal(nn.Module):
    """Focal loss weighted by the inverse *effective number* of examples, ``(1 - b) / (1 - b^n_y)``.

    Parameters
    ----------
    n_positive, n_negative : int
        Class sizes of the training data.
    beta : float, default=0.9999
        In [0, 1): 0 gives equal weights; towards 1 they tend to ``1/n_y``.
    gamma : float, default=2.0
        As in `FocalLoss`.
    across_processes : bool, default=True
        Whether the batch consists of the examples of all processes.

    Examples
    --------
    >>> ClassBalancedFocal(100, 900, beta=0.99)(torch.zeros(2), torch.tensor([1, 0]))
    tensor(0.2111)
    """

    def __init__(
        self,
        n_positive: int,
        n_negative: int,
        *,
        beta: float = 0.9999,
        gamma: float = 2.0,
        across_processes: bool = True,
    ) -> None:
        super().__init__()
        self.counts = (check_count(n_positive, "n_positive"), check_count(n_negative, "n_negative"))
        self.beta = check_number(beta, "beta")
        if not 0.0 <= self.beta < 1.0:
            raise ValueError(f"beta must be in [0, 1), got {beta!r}")
        self.gamma = check_non_negative(gamma, "gamma")
        self.across_processes = check_flag(across_processes, "across_processes")
        inverse = [_inverse_effective_number(count, self.beta) for count in self.counts]
        scale = sum(self.counts) / sum(count * weight for count, weight in zip(self.counts, inverse, strict=True))
        self.positive_weight, self.negative_weight = (weight * scale for weight in inverse)

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean weighted loss, a tensor of shape (), at least float32."""
        refuse_transforms(self, labels=labels)
        flat_logits, y = check_logits_and_labels(logits, labels)
        return _global_mean(self._terms(flat_logits, y), self.across_processes)

    def _terms(self, logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the term of each example."""
        weight = y * self.positive_weight + (1.0 - y) * self.negative_weight
        return weight * _focal_terms(logits, y, self.gamma)

    def extra_repr(self) -> str:
        return f"counts={self.counts}, beta={self.beta}, gamma={self.gamma}"


def _inverse_effective_number(count: int, beta: float) -> float:
    """Return ``(1 - beta) / (1 - beta^count)`` without cancellation for a beta close to 1."""
    if beta == 0.0:
        return 1.0
    return (1.0 - beta) / -math.expm1(count * math.log(beta))


class ClassBalancedCrossEntropy(ClassBalancedFocal):
    """Cross-entropy weighted by the inverse effective number of examples: `ClassBalancedFocal` with ``gamma = 0``.

    Examples
    --------
    >>> ClassBalancedCrossEntropy(100, 900, beta=0.0)(torch.zeros(2), torch.tensor([1, 0]))
    tensor(0.6931)
    """

    def __init__(
        self, n_positive: int, n_negative: int, *, beta: float = 0.9999, across_processes: bool = True
    ) -> None:
        super().__init__(n_positive, n_negative, beta=beta, gamma=0.0, across_processes=across_processes)


class TruncatedLoss(nn.Module):
    """A loss on the hardest examples of the batch only.

    Selects the ``floor(n+ * alpha)`` lowest-scored positives and the ``floor(n- * beta)`` highest-scored negatives of
    the (global) batch, at least one of each. A rectangle (``min_alpha``, ``min_beta``) leaves out the hardest ones of
    them: ``alpha=1, min_alpha=1 - a`` is the lower-left partial AUC of recommenders, ``TPR <= a``.

    The paper ranks the whole training set once per epoch instead: use `tpauc.HardExampleSampler` with
    `tpauc.SquareAUCLoss` or cross-entropy for that.

    Parameters
    ----------
    alpha : float or None
        Share of the positives; ``None`` selects all of them, the one-way form.
    beta : float
        Share of the negatives.
    loss : {"square", "cross_entropy"}, default="square"
        The square pair loss over the selected pairs, or the mean cross-entropy over the selected examples.
    min_alpha, min_beta : float, default=0.0
        Shares of the hardest positives and negatives that do not count, as in `tpauc.Region`.
    across_processes : bool, default=True
        Whether the batch consists of the examples of all processes.

    Examples
    --------
    >>> logits, labels = torch.tensor([2.0, -1.0, 0.5, -2.0]), torch.tensor([1, 1, 0, 0])
    >>> TruncatedLoss(0.5, 0.5)(logits, labels)
    tensor(1.8320)
    >>> TruncatedLoss(1.0, 0.5, min_alpha=0.5)(logits, labels)  # the lower left: the easier positive
    tensor(0.5501)
    """

    def __init__(
        self,
        alpha: float | None,
        beta: float,
        *,
        loss: str = "square",
        min_alpha: float = 0.0,
        min_beta: float = 0.0,
        across_processes: bool = True,
    ) -> None:
        super().__init__()
        self.loss = check_choice(loss, "loss", ("square", "cross_entropy"))
        region = Region(1.0 if alpha is None else alpha, beta, min_alpha, min_beta)
        self.objective = PairObjective(
            TruncatedSide(region.alpha, region.min_alpha),
            TruncatedSide(region.beta, region.min_beta),
            Square(),
            "sigmoid",
            check_flag(across_processes, "across_processes"),
        )

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of the selected examples, a tensor of shape (), at least float32."""
        refuse_transforms(self, logits=logits, labels=labels)
        flat_logits, y = check_logits_and_labels(logits, labels)
        if self.loss == "square":
            return pair_risk(flat_logits, y, self.objective)
        with torch.no_grad():
            weight = as_batch(flat_logits.detach(), y, self.objective).weights.value
            selected = weight.clamp_max(1.0).ceil()
        count = sum_over_processes(selected.sum(), self.objective.across_processes)
        total = global_sum((selected * self._terms(flat_logits, y)).sum(), self.objective.across_processes)
        return total / count.clamp_min(1.0)

    def _terms(self, logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the cross-entropy of each example."""
        return _cross_entropy(_hardness_logits(logits, y))

    def extra_repr(self) -> str:
        return f"positive={self.objective.positive!r}, negative={self.objective.negative!r}, loss={self.loss!r}"
