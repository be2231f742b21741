"""Pair means with a weight for each pair, from blocks of rows of the pair matrix.

    R = 1/(n+ n-) sum_ij p_ij l(s_i - s_j),        i positive, j negative, p_ij constant in the gradient

The weights may depend on the losses ``l_ij`` of a whole row, as in CVaR and KL losses. Rows are formed in blocks of
bounded memory; every process gathers the examples of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch

from tpauc._validation import check_count
from tpauc.losses._hardness import Hardness
from tpauc.losses._moments import PairMean
from tpauc.losses.distributed import gather_columns
from tpauc.losses.surrogates import Surrogate

_BLOCK_PAIRS = 1 << 20  # pairs in memory at once: 8 MB per matrix in float64


class _Block(NamedTuple):
    """Some rows of the pair matrix; losses and slopes have the shape (rows, n-)."""

    rows: slice
    loss: torch.Tensor
    slope: torch.Tensor


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
        self._surrogate = surrogate
        self._sigmoid = Hardness.of(everyone[0]) if scores == "sigmoid" else None
        self._scores = everyone[0] if self._sigmoid is None else self._sigmoid.value
        self.members = everyone[1] > 0.5
        self._positive, self._negative = self._scores[self.members], self._scores[~self.members]
        self.n_positive, self.n_negative = len(self._positive), len(self._negative)
        self._single: _Block | None = None  # a matrix of one block is computed once

    def row_values(self, function: Callable[[slice, torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """Return ``function(rows, losses)``, one value per row, for all rows, shape (n+,)."""
        return torch.cat([function(block.rows, block.loss) for block in self._blocks()])

    def weighted_mean(self, weights: Callable[[slice, torch.Tensor], torch.Tensor]) -> PairMean:
        """Return R with ``p_ij = weights(rows, losses)``, and its derivative in the logits of this process."""
        value = self._scores.new_zeros(())
        by_positive, by_negative = torch.zeros_like(self._positive), torch.zeros_like(self._negative)
        for rows, loss, slope in self._blocks():
            weight = weights(rows, loss) / (self.n_positive * self.n_negative)
            value = value + (weight * loss).sum()
            by_margin = weight * slope
            by_positive[rows] = by_margin.sum(1)
            by_negative -= by_margin.sum(0)
        by_score = torch.zeros_like(self._scores)
        by_score[self.members], by_score[~self.members] = by_positive, by_negative
        if self._sigmoid is not None:
            by_score = by_score * self._sigmoid.value * self._sigmoid.rest
        return PairMean(value, by_score[self._own])

    def _blocks(self) -> Iterator[_Block]:
        if self._single is not None:
            yield self._single
            return
        if self.n_positive == 0 or self.n_negative == 0:
            return
        height = max(1, _BLOCK_PAIRS // self.n_negative)
        for top in range(0, self.n_positive, height):
            rows = slice(top, min(top + height, self.n_positive))
            margins = self._positive[rows, None] - self._negative[None, :]
            block = _Block(rows, *self._surrogate.value_and_slope(margins))
            if height >= self.n_positive:
                self._single = block
            yield block


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
