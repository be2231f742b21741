"""Pair means with a weight for each pair, from blocks of rows of the pair matrix.

    R = 1/(n+ n-) sum_ij p_ij l(s_i - s_j),        i positive, j negative, p_ij constant in the gradient

The weights may depend on the losses ``l_ij`` of a whole row, as in CVaR and KL losses. Rows are formed in blocks of
bounded memory; every process gathers the examples of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from tpauc._validation import check_count
from tpauc.losses import surrogates
from tpauc.losses._hardness import Hardness
from tpauc.losses._moments import PairMean, power_kernel
from tpauc.losses._square_exponentials import MOST_NODES, node_count
from tpauc.losses.distributed import gather_columns
from tpauc.losses.surrogates import Surrogate

SQUARE = power_kernel(2, 0.0)  # of surrogates that are the square between sigmoid scores
# Sums by interpolation pay beyond so many pairs, if they are also so many times the nodes of all examples.
FEWEST_PAIRS, PAIRS_PER_NODE = 100_000, 4


class PairMatrix:
    """The pairs of the global batch.

    Parameters
    ----------
    logits, y : Tensor of shape (n,)
        Checked logits and labels 1.0 / 0.0 of this process.
    surrogate : Surrogate
        Pair loss.
    scores : {"sigmoid", "logit"}
        What margins are differences of.
    across_processes : bool
        Whether pairs are formed from the examples of all processes.

    Attributes
    ----------
    members : Tensor of shape (N,)
        Which examples of the global batch are positive.
    n_positive, n_negative : int
        Class sizes of the global batch.
    """

    def __init__(
        self, logits: torch.Tensor, y: torch.Tensor, surrogate: Surrogate, scores: str, across_processes: bool
    ) -> None:
        everyone, self._own = gather_columns(torch.stack((logits, y)), across_processes)
        self._surrogate, self._scores_name = surrogate, scores
        self._sigmoid = Hardness.of(everyone[0]) if scores == "sigmoid" else None
        self._scores = everyone[0] if self._sigmoid is None else self._sigmoid.value
        self.members = everyone[1] > 0.5
        self._positive, self._negative = self._scores[self.members], self._scores[~self.members]
        self.n_positive, self.n_negative = len(self._positive), len(self._negative)

    def without_pairs(self) -> PairMean:
        """Return R of a batch that lacks a class: 0, with a derivative of 0."""
        return PairMean(self._scores.new_zeros(()), torch.zeros_like(self._scores)[self._own])

    def row_values(self, function: Callable[[slice, torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """Return ``function(rows, losses)``, one value or several per row, for all rows, shape (n+, ...)."""
        return torch.cat([function(rows, self._surrogate(margins)) for rows, margins in self._blocks()])

    def weighted_mean(
        self, row_weight: torch.Tensor, inside: Callable[[slice, torch.Tensor], torch.Tensor]
    ) -> PairMean:
        """Return R with ``p_ij = row_weight_i inside(rows, losses)_ij``, and its derivative in the own logits."""
        value = self._scores.new_zeros(())
        by_positive, by_negative = torch.zeros_like(self._positive), torch.zeros_like(self._negative)
        scaled = row_weight / (self.n_positive * self.n_negative)
        for rows, margins in self._blocks():
            loss, slope = self._surrogate.value_and_slope(margins)
            weight = inside(rows, loss)
            value = value + scaled[rows] @ (weight * loss).sum(1)
            by_margin = weight * slope
            by_positive[rows] = scaled[rows] * by_margin.sum(1)
            by_negative -= scaled[rows] @ by_margin
        return self._pair_mean(value, by_positive, by_negative)

    def interpolation_pays(self, lam: float) -> bool:
        """Return whether sums of ``exp(l_ij / lam)`` without the pairs exist, and are cheaper."""
        if not can_interpolate(self._surrogate, self._scores_name, lam, self._scores.device):
            return False
        fewest_pairs = max(FEWEST_PAIRS, PAIRS_PER_NODE * node_count(lam) * len(self._scores))
        return self.n_positive * self.n_negative >= fewest_pairs

    def _pair_mean(self, value: torch.Tensor, by_positive: torch.Tensor, by_negative: torch.Tensor) -> PairMean:
        """Return R and its derivative in the own logits, from those in the scores of positives and negatives."""
        by_score = torch.zeros_like(self._scores)
        by_score[self.members], by_score[~self.members] = by_positive, by_negative
        if self._sigmoid is not None:
            by_score = by_score * self._sigmoid.value * self._sigmoid.rest
        return PairMean(value, by_score[self._own])

    def _blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """Yield rows with their margins, shape (rows, n-)."""
        height = max(1, surrogates.BLOCK_PAIRS // self.n_negative)
        for top in range(0, self.n_positive, height):
            rows = slice(top, min(top + height, self.n_positive))
            yield rows, self._positive[rows, None] - self._negative[None, :]


def can_interpolate(surrogate: Surrogate, scores: str, lam: float, device: torch.device) -> bool:
    """Return whether `SquareExponentials` has the sums of a pair loss at this temperature."""
    if scores != "sigmoid" or surrogate.kernel_on_scores() != SQUARE or device.type == "mps":
        return False  # that device has no float64
    return node_count(lam) <= MOST_NODES


def check_num_examples(num_examples: int | None) -> int:
    """Return the size of the buffers with one entry per example, 0 if there are none."""
    return 0 if num_examples is None else check_count(num_examples, "num_examples")


def check_indices(indices: torch.Tensor | None, logits: torch.Tensor, num_examples: int) -> torch.Tensor | None:
    """Return the row numbers in the data set as a flat tensor beside the flat ``logits``, or None."""
    if indices is None:
        return None
    if num_examples == 0:
        raise ValueError("indices need the size of the data set: build the loss with num_examples=len(data_set)")
    if not isinstance(indices, torch.Tensor) or indices.is_floating_point() or indices.dtype == torch.bool:
        found = indices.dtype if isinstance(indices, torch.Tensor) else type(indices).__name__
        raise TypeError(f"indices must be a tensor of whole numbers, got {found}")
    if indices.numel() != logits.numel() or indices.ndim > 2:
        raise ValueError(
            f"indices must have one row number per logit, got shape {tuple(indices.shape)} for {logits.numel()} logits"
        )
    flat = indices.reshape(-1).to(logits.device, torch.int64)
    if flat.numel() and not (flat.min() >= 0 and flat.max() < num_examples):
        raise ValueError(
            f"indices must be from 0 to num_examples - 1 = {num_examples - 1}, got values from {int(flat.min())} to "
            f"{int(flat.max())}"
        )
    return flat
