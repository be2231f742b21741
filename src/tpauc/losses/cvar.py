"""CVaR losses: the mean pair loss over the hardest positives and the hardest negatives, by tracked thresholds.

With ``l_ij = l(f_i - f_j)`` for the scores of positive ``i`` and negative ``j``, ``l`` non-increasing, the nested
conditional value at risk is

    F = min over s', s_i of  s' + 1/(alpha n+) sum_i [g_i - s']_+,     g_i = s_i + 1/(beta n-) sum_j [l_ij - s_i]_+

(STACO; with ``alpha = 1`` it is SOPA). It is the mean of ``l_ij`` over the ``alpha`` share of the positives with the
lowest scores and the ``beta`` share of the negatives with the highest. The optimal ``s_i`` is ``l(f_i - t-)`` with the
same negative threshold ``t-`` for all positives, so two thresholds are enough, without a variable per row.
"""

from __future__ import annotations

import torch
from torch import nn

from tpauc._validation import check_choice, check_flag, check_logits_and_labels, check_positive
from tpauc.losses._hardness import inference
from tpauc.losses._moments import PairMean
from tpauc.losses._objective import SCORES, constant_weight_risk, differentiable
from tpauc.losses._pair_matrix import PairMatrix, check_indices, check_num_examples
from tpauc.losses._thresholds import UNSET, TrackedThresholds, upper_quantile
from tpauc.losses._transforms import refuse_transforms
from tpauc.losses.distributed import gather_columns
from tpauc.losses.surrogates import as_surrogate
from tpauc.losses.tpauc_loss import SurrogateLike
from tpauc.region import Region


class CVaRTPAUCLoss(nn.Module):
    """The mean pair loss over the region, selected by two thresholds that follow the scores.

    Let ``t+`` be the tracked ``alpha`` quantile of the logits of positives and ``t-`` the ``1 - beta`` quantile of the
    logits of negatives. The loss of a batch with logits ``z`` is

        1/(alpha beta n+ n-) sum_ij l_ij [z_i <= t+] [z_j >= t-]

    with constant selection in the gradient: the gradient of ``F`` at these duals (see the module). A training batch
    (in ``train`` mode, with gradients enabled) then updates the thresholds,

        t+ <- t+ - eta d+ (mean[z_i <= t+] - alpha),        t- <- t- + eta d- (mean[z_j >= t-] - beta)

    where ``d`` is a moving average of the distance ``mean |z - t|``: the unit of the logits does not matter. The first
    training batch sets the thresholds to its own quantiles. In contrast to `TruncatedLoss`, a batch may have fewer than
    ``1/alpha`` positives or ``1/beta`` negatives.

    With ``indices``, the row numbers of the batch in the data set, it is the published algorithm instead: a threshold
    ``s_i`` and a dual variable ``y_i`` in [0, 1] per positive, and ``s'``, with step size ``eta`` on the losses,

        s_i <- s_i - eta y_i (1 - mean_j[l_ij > s_i] / beta),        y_i <- y_i + eta (g_i - s'),
        s' <- s' - eta (1 - mean_i y_i / alpha),        loss = 1/(alpha beta n+ n-) sum_ij y_i l_ij [l_ij > s_i]

    Thresholds and dual variables are buffers in the ``state_dict``, and equal in all processes.

    Parameters
    ----------
    alpha, beta : float
        The region, as in `tpauc.Region`. ``alpha=1`` is the one-way form.
    surrogate : str, Surrogate or callable, default="square"
        Non-increasing pair loss, as in `tpauc.TPAUCLoss`.
    scores : {"sigmoid", "logit"}, default="sigmoid"
        Margins are differences of sigmoid scores or of logits.
    dual_lr : float, default=0.1
        The step size ``eta`` of the thresholds and dual variables.
    num_examples : int, optional
        Number of rows of the data set; needed for ``indices``.
    across_processes : bool, default=True
        Whether pairs are formed from the examples of all processes.

    Examples
    --------
    >>> logits, labels = torch.tensor([2.0, -1.0, 0.5, -2.0], requires_grad=True), torch.tensor([1, 1, 0, 0])
    >>> loss = CVaRTPAUCLoss(alpha=0.5, beta=0.5)
    >>> value = loss(logits, labels)  # the pair of the logits -1 and 0.5
    >>> value.backward()
    >>> round(value.item(), 4), logits.grad != 0
    (1.832, tensor([False,  True,  True, False]))
    >>> loss.positive_threshold, loss.negative_threshold  # between the selected examples and the others
    (tensor(0.5000), tensor(-0.7500))
    """

    row_levels: torch.Tensor
    row_duals: torch.Tensor
    outer_level: torch.Tensor

    def __init__(
        self,
        alpha: float,
        beta: float,
        *,
        surrogate: SurrogateLike = "square",
        scores: str = "sigmoid",
        dual_lr: float = 0.1,
        num_examples: int | None = None,
        across_processes: bool = True,
    ) -> None:
        super().__init__()
        self.region = Region(alpha, beta)
        self.surrogate = as_surrogate(surrogate)
        self.scores = check_choice(scores, "scores", SCORES)
        self.dual_lr = check_positive(dual_lr, "dual_lr")
        self.num_examples = check_num_examples(num_examples)
        self.across_processes = check_flag(across_processes, "across_processes")
        self.thresholds = TrackedThresholds(self.region, self.dual_lr, across_processes)
        if self.num_examples:
            self.register_buffer("row_levels", torch.full((self.num_examples,), UNSET))
            self.register_buffer("row_duals", torch.zeros(self.num_examples))
            self.register_buffer("outer_level", torch.tensor(UNSET))

    @property
    def positive_threshold(self) -> torch.Tensor:
        """The logit ``t+`` at or below which a positive is hard; ``inf`` for ``alpha=1``, ``-inf`` before training."""
        return -self.thresholds.levels[..., 0]

    @property
    def negative_threshold(self) -> torch.Tensor:
        """The logit ``t-`` at or above which a negative is hard; ``-inf`` for ``beta=1``, ``inf`` before training."""
        return self.thresholds.levels[..., 1]

    def forward(self, logits: torch.Tensor, labels: torch.Tensor, indices: torch.Tensor | None = None) -> torch.Tensor:
        """Return the loss, a tensor of shape (), at least float32.

        Parameters
        ----------
        logits, labels : Tensor of shape (n,) or (n, 1)
            The batch.
        indices : Tensor of shape (n,), optional
            Row numbers in the data set, for a dual variable per positive.
        """
        refuse_transforms(self, logits=logits, labels=labels)
        flat_logits, y = check_logits_and_labels(logits, labels)
        rows = check_indices(indices, flat_logits, self.num_examples)
        update = self.training and torch.is_grad_enabled()
        if rows is not None:
            return differentiable(
                lambda z: self._pair_mean_of_rows(z, y, rows, update), flat_logits, self.across_processes
            )
        with inference():  # autograd does not save weights
            weight = self.thresholds(flat_logits.detach(), y, update).weight
        return constant_weight_risk(flat_logits, y, weight, self.surrogate, self.scores, self.across_processes)

    def move_to_quantiles(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Set the thresholds to the quantiles of the given examples, for instance of the training data."""
        self.thresholds.move_to_quantiles(*check_logits_and_labels(logits, labels))

    def _pair_mean_of_rows(self, z: torch.Tensor, y: torch.Tensor, indices: torch.Tensor, update: bool) -> PairMean:
        """Return the loss with a dual variable per positive; update the dual variables afterwards."""
        alpha, beta = self.region.alpha, self.region.beta
        pairs = PairMatrix(z, y, self.surrogate, self.scores, self.across_processes)
        everyone, _ = gather_columns(indices, self.across_processes)
        if pairs.n_positive == 0 or pairs.n_negative == 0:
            return pairs.without_pairs()
        rows = everyone[pairs.members]
        level = self.row_levels[rows].to(z)
        new = level == UNSET
        if bool(new.any()):
            level = torch.where(new, pairs.row_values(lambda _, loss: upper_quantile(loss, beta)), level)

        def above(r: slice, loss: torch.Tensor) -> torch.Tensor:
            return (loss > level[r, None]).to(z.dtype)

        def excess_and_fraction(r: slice, loss: torch.Tensor) -> torch.Tensor:
            selected = above(r, loss)
            return torch.stack(((selected * (loss - level[r, None])).mean(1), selected.mean(1)), 1)

        excess, fraction = pairs.row_values(excess_and_fraction).unbind(1)
        row_risk = level + excess / beta  # g_i
        outer, dual = self.outer_level.to(z), torch.ones_like(level)
        if alpha < 1.0:
            outer = torch.where(outer == UNSET, upper_quantile(row_risk, alpha), outer)
            dual = torch.where(new, (row_risk > outer).to(z.dtype), self.row_duals[rows].to(z))
        mean = pairs.weighted_mean(dual / (alpha * beta), above)
        if update and bool(torch.isfinite(row_risk).all()):
            self.row_levels[rows] = (level - self.dual_lr * dual * (1.0 - fraction / beta)).to(self.row_levels)
            if alpha < 1.0:
                self.row_duals[rows] = (dual + self.dual_lr * (row_risk - outer)).clamp(0.0, 1.0).to(self.row_duals)
                self.outer_level.copy_(outer - self.dual_lr * (1.0 - dual.mean() / alpha))
        return mean

    def extra_repr(self) -> str:
        return (
            f"alpha={self.region.alpha}, beta={self.region.beta}, surrogate={self.surrogate!r}, "
            f"scores={self.scores!r}, dual_lr={self.dual_lr}"
        )
