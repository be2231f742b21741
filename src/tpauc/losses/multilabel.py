"""One loss for several labels: `MultiLabelLoss` applies a loss to every column of logits and labels.

A loss treats all columns in one pass where its formula allows it (`tpauc.losses._loss_columns`): pair losses by
moments, truncated losses, cross-entropies, and the losses of this package with state, whose buffers then have a leading
axis of columns. Surrogates that need the pairs themselves are called column by column; of other losses with state,
every column has a copy.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

import torch
from torch import nn

from tpauc._validation import brief, check_choice, check_count, check_logit_matrix
from tpauc.losses._loss_columns import Problems, constant_weight_risks, has_moments, mean_terms, pair_risks, selected
from tpauc.losses._transforms import refuse_transforms
from tpauc.losses.baselines import (
    ClassBalancedCrossEntropy,
    ClassBalancedFocal,
    FocalLoss,
    ReweightedCrossEntropy,
    TruncatedLoss,
)
from tpauc.losses.cvar import CVaRTPAUCLoss
from tpauc.losses.distributed import sum_over_processes
from tpauc.losses.kl import KLTPAUCLoss
from tpauc.losses.minimax import SaddleLoss
from tpauc.losses.rate_constrained import FPRAtRecallLoss, RecallAtFPRLoss
from tpauc.losses.tpauc_loss import SquareAUCLoss, TPAUCLoss, WarmUp

REDUCTIONS = ("mean", "sum", "none")


class MultiLabelLoss(nn.Module):
    """A loss for several labels: the mean over the columns of the loss of each column.

    Equal to a loop over columns in value and gradient. Rows whose label in a column is NaN do not count in that column;
    a column that lacks a class has the loss that the inner loss gives to a batch without pairs, for most of them 0.

    Each column has state of its own (thresholds, moving averages). The buffers of `CVaRTPAUCLoss`, `KLTPAUCLoss`,
    `RecallAtFPRLoss` and `FPRAtRecallLoss` get a first axis of ``num_labels``; other losses with state are copied.

    Parameters
    ----------
    loss : nn.Module
        A loss called as ``loss(logits, labels)``, for instance ``TPAUCLoss(Polynomial(3.0), normalize=True)``. Losses
        with variables for `tpauc.descent_ascent` are refused.
    num_labels : int, optional
        Number of columns. Needed if the loss has state; otherwise it is only checked.
    reduction : {"mean", "sum", "none"}, default="mean"
        The mean over columns, their sum, or one value per column.

    Attributes
    ----------
    losses : nn.ModuleList
        A single loss for all columns, or one per column.

    Examples
    --------
    >>> from tpauc import CVaRTPAUCLoss, Polynomial
    >>> logits = torch.tensor([[2.0, 0.3], [-1.0, 0.1], [0.5, -0.2], [-2.0, 0.4]], requires_grad=True)
    >>> labels = torch.tensor([[1, 1], [1, 0], [0, 1], [0, float("nan")]])
    >>> loss = MultiLabelLoss(TPAUCLoss(Polynomial(3.0), normalize=True))
    >>> value = loss(logits, labels)
    >>> value.backward()
    >>> alone = TPAUCLoss(Polynomial(3.0), normalize=True)
    >>> columns = [alone(logits[:, 0], labels[:, 0]), alone(logits[:3, 1], labels[:3, 1])]
    >>> torch.allclose(value, sum(columns) / 2)
    True
    >>> MultiLabelLoss(CVaRTPAUCLoss(0.5, 0.5), num_labels=2).losses[0].negative_threshold
    tensor([inf, inf])
    """

    def __init__(self, loss: nn.Module, num_labels: int | None = None, *, reduction: str = "mean") -> None:
        super().__init__()
        if not isinstance(loss, nn.Module):
            raise TypeError(f"loss must be a loss module such as SquareAUCLoss(), got {brief(loss)}")
        if any(isinstance(part, SaddleLoss) for part in loss.modules()):
            raise ValueError(
                f"loss must not have variables for descent_ascent, got {type(loss).__name__}; sum one loss per label"
            )
        self.num_labels = None if num_labels is None else check_count(num_labels, "num_labels")
        self.reduction = check_choice(reduction, "reduction", REDUCTIONS)
        if _has_state(loss) and self.num_labels is None:
            raise ValueError(f"num_labels is needed for {type(loss).__name__}, which keeps state for every label")
        if not _has_state(loss) or self.num_labels is None:
            self.losses = nn.ModuleList([loss])
        elif all(type(part) in AT_ONCE or not _has_state(part) for part in _phases(loss)):
            self.losses = nn.ModuleList([_widened(loss, self.num_labels)])
        else:
            self.losses = nn.ModuleList([copy.deepcopy(loss) for _ in range(self.num_labels)])

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss, a tensor of shape (), or (k,) without a reduction; at least float32.

        Parameters
        ----------
        logits, labels : Tensor of shape (n, k)
            Labels are 0/1 or -1/1, as bool, integer or float, with NaN where unknown.
        """
        refuse_transforms(self, logits=logits, labels=labels)
        z, y, known = check_logit_matrix(logits, labels)
        if self.num_labels is not None and z.shape[1] != self.num_labels:
            raise ValueError(f"logits must have num_labels = {self.num_labels} columns, got {z.shape[1]}")
        values = self._values(z, y, known)
        if self.reduction == "none":
            return values
        return values.sum() if self.reduction == "sum" else values.mean()

    def _values(self, z: torch.Tensor, y: torch.Tensor, known: torch.Tensor | None) -> torch.Tensor:
        losses = [_current(loss) for loss in self.losses]
        at_once = None if len(losses) > 1 else AT_ONCE.get(type(losses[0]))
        if at_once is not None:
            values = at_once(losses[0], _problems(z, y, known))
            if values is not None:
                return values
        if len(losses) == 1:
            losses = losses * z.shape[1]
        columns = []
        for column, loss in enumerate(losses):
            rows = slice(None) if known is None else known[:, column]
            columns.append(loss(z[rows, column], y[rows, column]))
        return torch.stack(columns)

    def set_epoch(self, epoch: int) -> None:
        """Tell the losses the current epoch, counted from 0, if they have this method, as `WarmUp` has."""
        check_count(epoch, "epoch", at_least=0)
        for loss in self.losses:
            set_epoch = getattr(loss, "set_epoch", None)
            if callable(set_epoch):
                set_epoch(epoch)

    def extra_repr(self) -> str:
        return f"num_labels={self.num_labels}, reduction={self.reduction!r}"


def _problems(z: torch.Tensor, y: torch.Tensor, known: torch.Tensor | None) -> Problems:
    rows, by_row = z.T.contiguous(), y.T.contiguous()
    if known is None:
        return Problems(rows, by_row, torch.ones_like(by_row))
    return Problems(torch.where(known.T, rows, 0.0), by_row, known.T.to(z.dtype).contiguous())


def _current(loss: nn.Module) -> nn.Module:
    while isinstance(loss, WarmUp):
        loss = loss.current
    return loss


def _phases(loss: nn.Module) -> list[nn.Module]:
    """Return the losses of which a `WarmUp` consists, or the loss itself."""
    return [*_phases(loss.first), *_phases(loss.then)] if isinstance(loss, WarmUp) else [loss]


def _has_state(loss: nn.Module) -> bool:
    return next(loss.parameters(), None) is not None or next(loss.buffers(), None) is not None


def _widened(loss: nn.Module, num_labels: int) -> nn.Module:
    """Return a copy of the loss with a first axis of ``num_labels`` in all buffers."""
    loss = copy.deepcopy(loss)
    for part in loss.modules():
        for name, buffer in list(part.named_buffers(recurse=False)):
            part.register_buffer(name, buffer.expand(num_labels, *buffer.shape).clone())
    return loss


# ------------------------------------------------------------------------------------------- losses of all columns


def _pair_losses(loss: TPAUCLoss, problems: Problems) -> torch.Tensor | None:
    return pair_risks(problems, loss.objective) if has_moments(loss.objective) else None


def _truncated_losses(loss: TruncatedLoss, problems: Problems) -> torch.Tensor | None:
    if loss.loss == "square":
        return pair_risks(problems, loss.objective)
    detached = problems._replace(logits=problems.logits.detach())
    terms = loss._terms(problems.logits, problems.y)
    return mean_terms(terms, selected(detached, loss.objective), loss.objective.across_processes)


def _reweighted(loss: ReweightedCrossEntropy, problems: Problems) -> torch.Tensor | None:
    counts = None
    if loss.counts is None:
        counts = sum_over_processes(torch.stack((problems.y.sum(1), problems.known.sum(1))), loss.across_processes)
    terms = loss._terms(problems.logits, problems.y, None if counts is None else counts.unsqueeze(2))
    return mean_terms(terms, problems.known, loss.across_processes)


def _elementwise(loss: FocalLoss | ClassBalancedFocal, problems: Problems) -> torch.Tensor | None:
    return mean_terms(loss._terms(problems.logits, problems.y), problems.known, loss.across_processes)


def _cvar(loss: CVaRTPAUCLoss, problems: Problems) -> torch.Tensor:
    update = loss.training and torch.is_grad_enabled()
    weight = loss.thresholds(problems.logits.detach(), problems.y, update, problems.known).weight
    return constant_weight_risks(problems, weight, loss.surrogate, loss.scores, loss.across_processes)


def _rates(loss: RecallAtFPRLoss | FPRAtRecallLoss, problems: Problems) -> torch.Tensor:
    return loss._values(*problems)


def _kl(loss: KLTPAUCLoss, problems: Problems) -> torch.Tensor:
    return loss._values(*problems)


# How a loss treats all columns at once; None if its formula does not allow it. Subclasses of users are not in it.
AT_ONCE: Mapping[type[nn.Module], Callable[..., torch.Tensor | None]] = {
    TPAUCLoss: _pair_losses,
    SquareAUCLoss: _pair_losses,
    TruncatedLoss: _truncated_losses,
    ReweightedCrossEntropy: _reweighted,
    FocalLoss: _elementwise,
    ClassBalancedFocal: _elementwise,
    ClassBalancedCrossEntropy: _elementwise,
    CVaRTPAUCLoss: _cvar,
    RecallAtFPRLoss: _rates,
    FPRAtRecallLoss: _rates,
    KLTPAUCLoss: _kl,
}
