"""Areas of tensors of scores: of the positives and negatives of one problem, and of many problems at once.

Many problems are sorted together. In a row, let ``p`` and ``q`` mark the positives and negatives that the region
selects, in the order of their scores. A selected positive wins against the ``q`` before its run of equal scores, and is
tied with those inside; sums of whole numbers over the row give its area, exactly that of the problem alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tpauc._validation import check_class_counts
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
    """Return the area of each row of scores, shape (k,), float64; NaN where the region selects no examples.

    Parameters
    ----------
    scores : Tensor of shape (k, n)
        One problem per row.
    membership : Tensor of shape (k, n)
        1 for a positive, 0 for a negative, anything else for an example that does not count.
    """
    counts = torch.stack(((membership == 1).sum(1), (membership == 0).sum(1)), 1).tolist()
    empty = ((0, 0), (0, 0))
    borders = [
        empty if column_problem(p, q, region) else (region.ranks_of_positives(p), region.ranks_of_negatives(q))
        for p, q in counts
    ]
    ((first_p, last_p), (first_q, last_q)) = (
        torch.tensor([border[side] for border in borders], device=scores.device).T.unsqueeze(2) for side in (0, 1)
    )
    ordered, order = scores.sort(dim=1)
    members = membership.gather(1, order)
    positive, negative = members == 1, members == 0
    rank = positive.cumsum(1)  # 1 for the hardest positive
    selected_positive = positive & (rank > first_p) & (rank <= last_p)
    total = torch.tensor([q for _, q in counts], device=scores.device)[:, None]
    rank = total - negative.cumsum(1)  # 0 for the hardest negative
    selected_negative = negative & (rank >= first_q) & (rank < last_q)
    up_to = torch.nn.functional.pad(selected_negative.cumsum(1), (1, 0))
    won = up_to[:, :-1]
    won_or_tied = won
    differs = ordered[:, 1:] != ordered[:, :-1]
    if not bool(differs.all()):
        won, won_or_tied = _at_runs(up_to, differs)
    value = torch.stack((won, won_or_tied)).mul_(selected_positive).sum(2)
    pairs = ((last_p - first_p) * (last_q - first_q))[:, 0]
    result_type = widest_float(scores.device)
    wins, ties = value[0].to(result_type), (value[1] - value[0]).to(result_type)
    area: Tensor = (wins + tie * ties) / pairs.to(result_type)  # 0 / 0 is NaN
    return area


def _at_runs(up_to: Tensor, differs: Tensor) -> tuple[Tensor, Tensor]:
    """Return, for each place, the counts before and after its run of equal scores."""
    k, n = up_to.shape[0], up_to.shape[1] - 1
    places = torch.arange(n, device=up_to.device).expand(k, n)
    begins = torch.nn.functional.pad(differs, (1, 0), value=True)
    ends = torch.nn.functional.pad(differs, (0, 1), value=True)
    start = torch.where(begins, places, 0).cummax(1).values
    last = torch.where(ends, places, n).flip(1).cummin(1).values.flip(1)
    return up_to.gather(1, start), up_to.gather(1, last + 1)


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
