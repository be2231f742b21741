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

from tpauc._validation import check_choice, check_logits_and_labels, check_positive
from tpauc.losses._hardness import constant
from tpauc.losses._moments import PairMean
from tpauc.losses._objective import SCORES, constant_weight_risk, differentiable
from tpauc.losses._pair_matrix import PairMatrix, check_indices, check_num_examples
from tpauc.losses.distributed import gather_columns, sum_over_processes
from tpauc.losses.surrogates import as_surrogate
from tpauc.losses.tpauc_loss import SurrogateLike
from tpauc.region import Region, hard_mass

_UNSET = float("inf")  # a threshold before the first training batch


class CVaRTPAUCLoss(nn.Module):
    """The mean pair loss over the region, selected by two thresholds that follow the scores.

    Let ``t+`` be the tracked ``alpha`` quantile of the logits of positives and ``t-`` the ``1 - beta`` quantile of the
    logits of negatives. The loss of a batch with logits ``z`` is

        1/(alpha beta n+ n-) sum_ij l_ij [z_i <= t+] [z_j >= t-]

    with constant selection in the gradient: the gradient of ``F`` at these duals (see the module). A training batch
    (in ``train`` mode, with gradients enabled) then updates the thresholds,

        t+ <- t+ - eta d+ (mean[z_i <= t+] - alpha),        t- <- t- + eta d- (mean[z_j >= t-] - beta)

    where ``d`` is a moving average, of rate ``eta``, of the distance ``mean |z - t|`` in earlier batches: the update
    does not depend on the unit of the logits, and its expectation vanishes at the quantiles. The first training batch
    sets the thresholds to its own quantiles. In contrast to `TruncatedLoss`, a batch may be smaller than ``1/alpha``
    or ``1/beta`` examples.

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

    thresholds: torch.Tensor
    distances: torch.Tensor
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
        self.across_processes = across_processes
        # Both thresholds apply to hardness logits, -z for a positive: the hard examples are at or above them.
        start = [-_UNSET if share == 1.0 else _UNSET for share in self._shares]
        self.register_buffer("thresholds", torch.tensor(start))
        self.register_buffer("distances", torch.zeros(2))
        if self.num_examples:
            self.register_buffer("row_levels", torch.full((self.num_examples,), _UNSET))
            self.register_buffer("row_duals", torch.zeros(self.num_examples))
            self.register_buffer("outer_level", torch.tensor(_UNSET))

    @property
    def _shares(self) -> tuple[float, float]:
        return self.region.alpha, self.region.beta

    @property
    def positive_threshold(self) -> torch.Tensor:
        """The logit ``t+`` at or below which a positive is hard; ``inf`` for ``alpha=1``, ``-inf`` before training."""
        return -self.thresholds[0]

    @property
    def negative_threshold(self) -> torch.Tensor:
        """The logit ``t-`` at or above which a negative is hard; ``-inf`` for ``beta=1``, ``inf`` before training."""
        return self.thresholds[1]

    def forward(self, logits: torch.Tensor, labels: torch.Tensor, indices: torch.Tensor | None = None) -> torch.Tensor:
        """Return the loss, a tensor of shape (), at least float32.

        Parameters
        ----------
        logits, labels : Tensor of shape (n,) or (n, 1)
            The batch.
        indices : Tensor of shape (n,), optional
            Row numbers in the data set, for a dual variable per positive.
        """
        flat_logits, y = check_logits_and_labels(logits, labels)
        rows = check_indices(indices, flat_logits, self.num_examples)
        update = self.training and torch.is_grad_enabled()
        if rows is not None:
            return differentiable(
                lambda z: self._pair_mean_of_rows(z, y, rows, update), flat_logits, self.across_processes
            )
        weight = self._selection(flat_logits.detach(), y, update)
        return constant_weight_risk(flat_logits, y, weight, self.surrogate, self.scores, self.across_processes)

    @torch.no_grad()
    def move_to_quantiles(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Set the thresholds to the quantiles of the given examples, for instance of the training data."""
        flat_logits, y = check_logits_and_labels(logits, labels)
        u = (1.0 - 2.0 * y) * flat_logits
        found = self._quantiles(u, y)
        self._set(torch.where(torch.isfinite(found), found, self.thresholds.to(found)), u, y)

    @torch.no_grad()
    def _selection(self, logits: torch.Tensor, y: torch.Tensor, update: bool) -> torch.Tensor:
        """Return the weights ``[z_i <= t+] / alpha`` and ``[z_j >= t-] / beta``; update the thresholds afterwards."""
        u = (1.0 - 2.0 * y) * logits
        thresholds = self.thresholds.to(u)
        if bool((thresholds == _UNSET).any()):
            thresholds = torch.where(thresholds == _UNSET, self._quantiles(u, y), thresholds)
            if update:
                self._set(thresholds, u, y)
        selected = u >= _by_class(thresholds, y)
        weight = selected / _by_class(constant(self._shares, u), y)
        if update:
            self._track(u, y, selected)
        return weight

    def _quantiles(self, u: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Return the thresholds of the global batch, shape (2,); those of a class that it lacks stay unset."""
        (everyone, members), _ = gather_columns(torch.stack((u, y)), self.across_processes)
        found = [
            _upper_quantile(everyone[chosen], share)
            for chosen, share in zip((members > 0.5, members < 0.5), self._shares, strict=True)
        ]
        return torch.stack(found)

    def _set(self, thresholds: torch.Tensor, u: torch.Tensor, y: torch.Tensor) -> None:
        """Store thresholds with the mean distances to them in classes that have one."""
        _, distance, present = self._class_means(u, y, thresholds, torch.zeros_like(u))
        self.distances.copy_(torch.where(present & torch.isfinite(thresholds), distance, self.distances.to(u)))
        self.thresholds.copy_(thresholds)

    def _track(self, u: torch.Tensor, y: torch.Tensor, selected: torch.Tensor) -> None:
        thresholds, distances = self.thresholds.to(u), self.distances.to(u)
        fraction, distance, present = self._class_means(u, y, thresholds, selected.to(u.dtype))
        moved = thresholds + self.dual_lr * distances * (fraction - constant(self._shares, u))
        averaged = distances + self.dual_lr * (distance - distances)
        # Infinite or NaN logits must not stay in the state.
        usable = present & torch.isfinite(moved) & torch.isfinite(averaged)
        self.thresholds.copy_(torch.where(usable, moved, thresholds))
        self.distances.copy_(torch.where(usable, averaged, distances))

    def _class_means(
        self, u: torch.Tensor, y: torch.Tensor, thresholds: torch.Tensor, selected: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the mean selection and the mean ``|u - t|`` of each class, and whether it has examples; shape (2,)."""
        own = _by_class(thresholds, y)
        distance = torch.where(torch.isfinite(own), (u - own).abs(), 0.0)
        rows = torch.stack((selected, distance, torch.ones_like(u)))
        total = sum_over_processes(torch.stack((rows @ y, rows @ (1.0 - y))), self.across_processes)
        size = total[:, 2].clamp_min(1.0)
        return total[:, 0] / size, total[:, 1] / size, total[:, 2] > 0.0

    def _pair_mean_of_rows(self, z: torch.Tensor, y: torch.Tensor, indices: torch.Tensor, update: bool) -> PairMean:
        """Return the loss with a dual variable per positive; update the dual variables afterwards."""
        alpha, beta = self._shares
        pairs = PairMatrix(z, y, self.surrogate, self.scores, self.across_processes)
        everyone, _ = gather_columns(indices, self.across_processes)
        if pairs.n_positive == 0 or pairs.n_negative == 0:
            return pairs.weighted_mean(lambda _, loss: torch.zeros_like(loss))
        rows = everyone[pairs.members]
        level = self.row_levels[rows].to(z)
        new = level == _UNSET
        if bool(new.any()):
            level = torch.where(new, pairs.row_values(lambda _, loss: _upper_quantile(loss, beta)), level)
        excess = pairs.row_values(lambda r, loss: (loss - level[r, None]).clamp_min(0.0).mean(1))
        fraction = pairs.row_values(lambda r, loss: (loss > level[r, None]).to(z.dtype).mean(1))
        row_risk = level + excess / beta  # g_i
        outer, dual = self.outer_level.to(z), torch.ones_like(level)
        if alpha < 1.0:
            outer = torch.where(outer == _UNSET, _upper_quantile(row_risk, alpha), outer)
            dual = torch.where(new, (row_risk > outer).to(z.dtype), self.row_duals[rows].to(z))
        mean = pairs.weighted_mean(lambda r, loss: (loss > level[r, None]) * (dual[r, None] / (alpha * beta)))
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


def _by_class(values: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the first of two values at positives and the second at negatives."""
    return torch.where(y > 0.5, values[0], values[1])


def _upper_quantile(values: torch.Tensor, share: float) -> torch.Tensor:
    """Return, along the last axis, a number between the ``floor(n * share)`` largest values, at least 1, and the rest.

    It is ``inf`` without values. Halfway, so that rounding does not change which values are above it.
    """
    n = values.shape[-1]
    if n == 0:
        return values.new_full(values.shape[:-1], _UNSET)
    count = max(1, hard_mass(n, share))
    if count == n:
        return values.min(-1).values - 1.0
    largest = values.topk(count + 1, dim=-1).values
    return (largest[..., -1] + largest[..., -2]) / 2
