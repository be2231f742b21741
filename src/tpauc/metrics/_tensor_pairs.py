"""Areas of tensors of scores: of the positives and negatives of one problem, and of many problems at once.

One problem is computed where its scores are; many short ones by NumPy, where a call costs less.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tpauc._validation import check_class_counts
from tpauc.metrics._row_areas import areas_in_rows
from tpauc.metrics.histogram import spread
from tpauc.region import Region


def mean_over_hard_pairs(positive_scores: Tensor, negative_scores: Tensor, region: Region, tie: float) -> Tensor:
    """Return the mean of ``[s+ > s-] + tie * [s+ == s-]`` over the pairs in the region."""
    check_class_counts(positive_scores.numel(), negative_scores.numel(), "labels")
    harder_positives, k_positive = region.ranks_of_positives(positive_scores.numel())
    harder_negatives, k_negative = region.ranks_of_negatives(negative_scores.numel())
    positives = positive_scores.topk(k_positive, largest=False).values[harder_positives:]
    negatives = negative_scores.topk(k_negative).values[harder_negatives:].flip(0)
    won = torch.searchsorted(negatives, positives).sum()
    won_or_tied = torch.searchsorted(negatives, positives, right=True).sum()
    result_type = widest_float(won.device)
    n_pairs = positives.numel() * negatives.numel()
    return (won.to(result_type) + tie * (won_or_tied - won).to(result_type)) / n_pairs


def column_problem(n_positive: int, n_negative: int, region: Region) -> str:
    """Return why a column with so many examples has no value; empty if it has one."""
    try:
        check_class_counts(n_positive, n_negative, "the column")
        region.ranks_of_positives(n_positive)
        region.ranks_of_negatives(n_negative)
    except ValueError as error:
        return str(error)
    return ""


def column_areas(scores: Tensor, membership: Tensor, region: Region, tie: float) -> Tensor:
    """Return the area of each column of scores, shape (k,), float64; NaN where the region selects no examples.

    Parameters
    ----------
    scores : Tensor of shape (n, k)
        One problem per column.
    membership : Tensor of shape (n, k)
        1 for a positive, 0 for a negative, anything else for an example that does not count.
    """
    half = scores.dtype in (torch.float16, torch.bfloat16)
    values = (scores.float() if half else scores).detach().T.contiguous().cpu().numpy()
    members = membership.T.contiguous().cpu().numpy()
    areas = areas_in_rows(members == 1, members == 0, values, region, tie)
    return torch.from_numpy(areas).to(widest_float(scores.device)).to(scores.device)


def histogram_counts(scores: Tensor, bins: int) -> Tensor:
    """Return the number of scores in each bin, counted where the scores are."""
    return torch.bincount(bin_numbers(scores, bins), minlength=bins)


def bin_numbers(scores: Tensor, bins: int) -> Tensor:
    """Return the bin of each score."""
    u: Tensor = spread(scores.to(widest_float(scores.device)), torch.where)
    return (u * bins).to(torch.int64).clamp(max=bins - 1)


def widest_float(device: torch.device) -> torch.dtype:
    """Return the type of results: Apple's devices have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def check_finite(tensor: torch.Tensor, name: str) -> None:
    """Raise if a flat tensor holds NaN or infinite values; costs one synchronisation on an accelerator."""
    bad = ~tensor.isfinite()
    if bad.any():
        positions = bad.nonzero()[:, 0]
        raise ValueError(
            f"{name} must be finite, found {positions.numel()} NaN or infinite values, the first is "
            f"{tensor[positions[0]].item()} at position {positions[0].item()}"
        )
