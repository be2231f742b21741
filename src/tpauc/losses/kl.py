"""KL losses: pair losses averaged under exponential weights, with moving averages in the log domain.

With ``l_ij = l(f_i - f_j)`` for the scores of positive ``i`` and negative ``j``, the KL-regularised form of the two-way
partial AUC risk (SOTA-s) is

    F = tau log mean_i u_i^(lam / tau),        u_i = mean_j exp(l_ij / lam)

Its gradient is the mean of ``p_ij dl_ij`` with ``p_ij = u_i^(lam / tau - 1) exp(l_ij / lam) / w``,
``w = mean_i u_i^(lam / tau)``. As ``tau -> inf`` it becomes ``mean_i lam log u_i``, the one-way form (SOPA-s). Small
``lam`` concentrates the weights on the hardest negatives, small ``tau`` on the hardest positives.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
from torch import nn

from tpauc._validation import check_choice, check_flag, check_logits_and_labels, check_positive, check_share
from tpauc.losses._hardness import Hardness
from tpauc.losses._moments import PairMean
from tpauc.losses._objective import SCORES, differentiable
from tpauc.losses._pair_matrix import PairMatrix, can_interpolate, check_indices, check_num_examples
from tpauc.losses._square_exponentials import SquareExponentials
from tpauc.losses._thresholds import class_members
from tpauc.losses._transforms import refuse_transforms
from tpauc.losses.distributed import gather_columns
from tpauc.losses.surrogates import as_surrogate
from tpauc.losses.tpauc_loss import SurrogateLike

_UNSET = float("-inf")  # the logarithm of an average before its first batch


class KLTPAUCLoss(nn.Module):
    """The mean pair loss under exponential weights that grow with the losses, in bounded memory.

    The loss of a batch is ``mean p_ij l_ij`` with constant ``p_ij`` in the gradient, which is then the gradient of
    ``F`` (see the module). The averages ``u_i`` and ``w`` of the whole data set are estimated by moving averages: a
    training batch (in ``train`` mode, with gradients enabled) first updates

        u_i <- (1 - inner_rate) u_i + inner_rate mean_j exp(l_ij / lam)        if ``indices`` are given
        w <- (1 - outer_rate) w + outer_rate mean_i u_i^(lam / tau)

    where the first value of an average is the batch's. Without ``indices``, ``u_i`` is the mean over the batch. The
    logarithms of the averages are stored, so large losses do not overflow; they are buffers in the ``state_dict``, and
    equal in all processes. A large batch takes O(n) time with the square surrogate between sigmoid scores, and O(n+ n-)
    with others.

    Parameters
    ----------
    tau : float
        Temperature of the positives, above 0; ``math.inf`` is the one-way form.
    lam : float
        Temperature of the negatives, above 0.
    surrogate : str, Surrogate or callable, default="square"
        Pair loss, as in `tpauc.TPAUCLoss`.
    scores : {"sigmoid", "logit"}, default="sigmoid"
        Margins are differences of sigmoid scores or of logits.
    inner_rate, outer_rate : float, default=0.9
        Rates of the moving averages, in (0, 1]; 1 uses the batch only.
    num_examples : int, optional
        Number of rows of the data set; needed for ``indices``.
    across_processes : bool, default=True
        Whether pairs are formed from the examples of all processes.

    Examples
    --------
    >>> logits, labels = torch.tensor([2.0, -1.0, 0.5, -2.0], requires_grad=True), torch.tensor([1, 1, 0, 0])
    >>> value = KLTPAUCLoss(tau=1.0, lam=1.0)(logits, labels)
    >>> value.backward()
    >>> round(value.item(), 4)
    1.2566
    >>> one_way, sharp = KLTPAUCLoss(float("inf"), 1.0), KLTPAUCLoss(0.01, 0.01)
    >>> [round(loss(logits, labels).item(), 4) for loss in (one_way, sharp)]  # sharp: the hardest pair
    [0.96, 1.832]
    """

    log_w: torch.Tensor
    log_u: torch.Tensor

    def __init__(
        self,
        tau: float,
        lam: float,
        *,
        surrogate: SurrogateLike = "square",
        scores: str = "sigmoid",
        inner_rate: float = 0.9,
        outer_rate: float = 0.9,
        num_examples: int | None = None,
        across_processes: bool = True,
    ) -> None:
        super().__init__()
        self.tau = math.inf if isinstance(tau, float) and tau == math.inf else check_positive(tau, "tau")
        self.lam = check_positive(lam, "lam")
        self.surrogate = as_surrogate(surrogate)
        self.scores = check_choice(scores, "scores", SCORES)
        self.inner_rate = check_share(inner_rate, "inner_rate")
        self.outer_rate = check_share(outer_rate, "outer_rate")
        self.num_examples = check_num_examples(num_examples)
        self.across_processes = check_flag(across_processes, "across_processes")
        self.register_buffer("log_w", torch.tensor(_UNSET))
        if self.num_examples:
            self.register_buffer("log_u", torch.full((self.num_examples,), _UNSET))

    def forward(self, logits: torch.Tensor, labels: torch.Tensor, indices: torch.Tensor | None = None) -> torch.Tensor:
        """Return the loss, a tensor of shape (), at least float32.

        Parameters
        ----------
        logits, labels : Tensor of shape (n,) or (n, 1)
            The batch.
        indices : Tensor of shape (n,), optional
            Row numbers in the data set, for a moving average per positive.
        """
        refuse_transforms(self, logits=logits, labels=labels)
        flat_logits, y = check_logits_and_labels(logits, labels)
        rows = check_indices(indices, flat_logits, self.num_examples)
        update = self.training and torch.is_grad_enabled()
        return differentiable(lambda z: self._pair_mean(z, y, rows, update), flat_logits, self.across_processes)

    def _values(self, z: torch.Tensor, y: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
        """Return the loss of each problem, for tensors of shape (k, n) and a state of shape (k,)."""
        update = self.training and torch.is_grad_enabled()
        if can_interpolate(self.surrogate, self.scores, self.lam, z.device):
            members = class_members(y, known)
            return differentiable(
                lambda logits: self._without_pairs(logits, members, None, update), z, self.across_processes
            )
        values = []
        for column, chosen in enumerate(known > 0.5):
            pair_mean = functools.partial(self._pair_mean, y=y[column, chosen], indices=None, update=update, at=column)
            values.append(differentiable(pair_mean, z[column, chosen], self.across_processes))
        return torch.stack(values)

    def _pair_mean(
        self, z: torch.Tensor, y: torch.Tensor, indices: torch.Tensor | None, update: bool, at: Any = ...
    ) -> PairMean:
        """Return the loss of one problem whose state is ``log_w[at]``."""
        pairs = PairMatrix(z, y, self.surrogate, self.scores, self.across_processes)
        if indices is not None:
            indices, _ = gather_columns(indices, self.across_processes)
        if pairs.n_positive == 0 or pairs.n_negative == 0:
            return pairs.without_pairs()
        if pairs.interpolation_pays(self.lam):
            return self._without_pairs(z, class_members(y), indices, update, at)
        rows = None if indices is None else indices[pairs.members]
        batch_log_u = pairs.row_values(lambda _, loss: _log_mean_exp(loss / self.lam))
        log_u = batch_log_u if rows is None else _average(self.log_u[rows].to(z), batch_log_u, self.inner_rate)
        share = self._row_shares(log_u, update, at)
        if rows is not None:
            share = share * torch.exp(batch_log_u - log_u)
            if update and bool(torch.isfinite(log_u).all()):
                self.log_u[rows] = log_u.to(self.log_u)
        row_weight = share * (pairs.n_positive * pairs.n_negative)
        return pairs.weighted_mean(row_weight, lambda _, loss: torch.softmax(loss / self.lam, 1))

    def _without_pairs(
        self, z: torch.Tensor, members: torch.Tensor, indices: torch.Tensor | None, update: bool, at: Any = ...
    ) -> PairMean:
        """Return the loss by interpolation, of each problem if tensors have a leading axis of problems."""
        everyone, own = gather_columns(torch.cat((z[..., None, :], members), -2), self.across_processes)
        z, members = everyone[..., 0, :], everyone[..., 1:, :]
        positive, negative = (members > 0.5).unbind(-2)
        has_pairs = (positive.any(-1) & negative.any(-1))[..., None]
        positive = positive & has_pairs
        score = Hardness.of(z)
        sums = SquareExponentials(torch.where(members[..., 0, :] > 0.5, score.rest, score.value), members, self.lam)
        rows = sums.rows()
        log_u = rows.log_mean
        if indices is not None:
            log_u = _average(self.log_u[indices].to(log_u), rows.log_mean, self.inner_rate)
        share = self._row_shares(log_u, update, at, positive)
        if indices is not None:
            share = share * torch.exp(rows.log_mean - log_u)
            if update and bool(torch.isfinite(log_u[positive]).all()):
                self.log_u[indices[positive]] = log_u[positive].to(self.log_u)
        share = torch.where(positive, share, 0.0)
        value = torch.where(positive, share * rows.weighted_loss, 0.0).sum(-1)
        by_score = torch.where(positive, -share * rows.weighted_slope, sums.column_slopes(share))
        by_score = torch.where(has_pairs, by_score, 0.0).to(z)
        return PairMean(value.to(z), (by_score * score.value * score.rest)[..., own])

    def _row_shares(
        self, log_u: torch.Tensor, update: bool, at: Any, positive: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return ``u_i^(lam / tau) / w`` over the number of positives, after ``w`` has learned from the batch.

        Relative to the batch it is a softmax: nothing overflows, and a loss of 1e8 loses no digits of a weight.
        """
        log_power = log_u * (self.lam / self.tau)
        if positive is not None:
            log_power = torch.where(positive, log_power, -math.inf)
            count = positive.sum(-1)
        else:
            count = torch.tensor(log_u.shape[-1], device=log_u.device)
        batch_log_w = torch.logsumexp(log_power, -1) - torch.log(count.to(log_u))
        old = self.log_w[at].to(log_u)
        log_w = _average(old, batch_log_w, self.outer_rate)
        if update:
            self.log_w[at] = torch.where(torch.isfinite(batch_log_w), log_w, old).to(self.log_w)
        return torch.softmax(log_power, -1) * torch.exp(batch_log_w - log_w)[..., None]

    def extra_repr(self) -> str:
        return (
            f"tau={self.tau}, lam={self.lam}, surrogate={self.surrogate!r}, scores={self.scores!r}, "
            f"inner_rate={self.inner_rate}, outer_rate={self.outer_rate}"
        )


def _log_mean_exp(values: torch.Tensor) -> torch.Tensor:
    """Return ``log mean exp`` over the last axis."""
    return torch.logsumexp(values, -1) - math.log(values.shape[-1])


def _average(old: torch.Tensor, new: torch.Tensor, rate: float) -> torch.Tensor:
    """Return ``log((1 - rate) exp(old) + rate exp(new))``; ``new`` where ``old`` is unset."""
    keep = math.log1p(-rate) if rate < 1.0 else -math.inf
    return torch.where(old == _UNSET, new, torch.logaddexp(old + keep, new + math.log(rate)))
