"""Networks for a region: those of the folds, averaged by how well they do on held-out rows.

1. Each fold trains one network by plain and one by balanced cross-entropy on the other folds' rows, all in one bank
   (`tpauc.classifiers.network.networks`).
2. A copy of each goes on to climb the smoothed TPAUC of its rows.
3. So there are four groups of networks, and in each a network for every fold, which scores the rows of that fold. A
   group whose TPAUC on held-out rows is ``delta`` below the best one's, with the standard error ``s`` of that
   difference over the folds, has the weight ``exp(-delta / (2 s))``.
4. The model is the average of all networks with these weights, each on scores of standard deviation 1. There is no
   refit: the networks of the folds have seen all rows between them, and their average beats a single network that saw
   all of them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from tpauc.classifiers.folds import fold_groups, stratified_folds
from tpauc.classifiers.linear.directions import as_logit
from tpauc.classifiers.linear.logistic import Rows
from tpauc.classifiers.network.networks import (
    GROUPS,
    BankMaker,
    NetworkAverage,
    NetworkSettings,
    logits_in_parts,
    new_bank,
    train_cross_entropy,
    train_for_region,
)
from tpauc.classifiers.weighing import held_out_tpauc, shares
from tpauc.region import Region

Array = npt.NDArray[Any]
Labels = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class NetworkFit:
    """A fitted average of networks."""

    module: NetworkAverage
    shares: dict[str, float]  # weight of each group
    validated: dict[str, float]  # held-out TPAUC of each group
    held_out_logits: Array  # shape (n,): by the networks of the folds that did not train on a row


def fit_networks(
    x: torch.Tensor,
    y: Labels,
    make: BankMaker,
    region: Region,
    random: np.random.Generator,
    settings: NetworkSettings,
) -> NetworkFit:
    """Train on standardised rows ``x``, shape (n, d), with boolean labels ``y``, at least ``folds`` of each class."""
    group, n_folds = fold_groups(x.numpy(force=True), y, settings.folds, stacklevel=4)
    fold, settings = stratified_folds(y, group, n_folds, random), replace(settings, folds=n_folds)
    held_out = [torch.from_numpy(np.flatnonzero(fold == k)).to(x.device) for k in range(settings.folds)]
    banks = _train(x, y, fold, make, region, random, settings)
    columns, scales = zip(*(_held_out_scores(bank, x, held_out) for bank in banks), strict=True)
    scores = np.concatenate(columns, axis=1)
    judged = _judge(y, scores, fold, region, settings)
    pooled = scores @ judged.shares
    slope, offset = as_logit(Rows(np.column_stack((pooled, np.ones(y.size))), y, np.ones(y.size)), np.ones(1))
    weights = slope * np.repeat(judged.shares, settings.folds) / settings.folds / np.concatenate(scales)
    return NetworkFit(
        NetworkAverage(banks, torch.from_numpy(weights).to(x), offset).eval(),
        dict(zip(GROUPS, judged.shares.tolist(), strict=True)),
        dict(zip(GROUPS, judged.values.tolist(), strict=True)),
        slope * pooled + offset,
    )


def _train(
    x: torch.Tensor,
    y: Labels,
    fold: npt.NDArray[np.intp],
    make: BankMaker,
    region: Region,
    random: np.random.Generator,
    settings: NetworkSettings,
) -> tuple[nn.Module, nn.Module]:
    """Return the bank after cross-entropy and after the region; plain networks first, then balanced ones."""
    generator = torch.Generator().manual_seed(int(random.integers(2**31)))
    labels = torch.from_numpy(y).to(x)
    kept = [torch.from_numpy(np.flatnonzero(fold != k)).to(x.device) for k in range(settings.folds)]
    start = new_bank(make, 2 * settings.folds, x, generator)
    balanced = [False] * settings.folds + [True] * settings.folds
    train_cross_entropy(start, x, labels, kept * 2, balanced, generator, settings)
    focused = copy.deepcopy(start)
    train_for_region(focused, x, labels, kept * 2, region, generator, settings)
    return start, focused


def _held_out_scores(bank: nn.Module, x: torch.Tensor, held_out: list[torch.Tensor]) -> tuple[Array, Array]:
    """Scores of all rows, shape (n, 2), by the plain and the balanced network of their fold, each of deviation 1.

    The second array, shape (2 folds,), is the standard deviation by which the scores of each network were divided.
    """
    longest = torch.arange(max(map(len, held_out)), device=x.device)
    own_rows = torch.stack([rows[longest % len(rows)] for rows in held_out])  # filled up by rows of the same fold
    logits = logits_in_parts(bank, x[own_rows].repeat(2, 1, 1)).double().numpy(force=True)
    own_logits = [logits[[k, k + len(held_out)], : len(rows)] for k, rows in enumerate(held_out)]
    scale = _scales(np.column_stack([own.std(axis=1) for own in own_logits]))
    scores = np.empty((len(x), 2))
    for k, rows in enumerate(held_out):
        scores[rows.numpy(force=True)] = (own_logits[k] / scale[:, [k]]).T
    return scores, scale.ravel()


def _scales(deviations: Array) -> Array:
    """Return what to divide the logits of each network by, shape (groups, folds): their deviation.

    A network with hardly any, as on a fold of equal rows, takes that of its group: else it would drown all others.

    >>> _scales(np.array([[1.0, 3.0, 0.0], [0.0, 0.0, 0.0]])).round(2)
    array([[1.  , 3.  , 1.33],
           [1.  , 1.  , 1.  ]])
    """
    typical = deviations.mean(axis=1, keepdims=True)
    return np.where(deviations > 1e-3 * typical, deviations, np.where(typical > 0.0, typical, 1.0))


class _Judged(NamedTuple):
    shares: Array  # shape (4,)
    values: Array  # shape (4,)


def _judge(y: Labels, scores: Array, fold: npt.NDArray[np.intp], region: Region, settings: NetworkSettings) -> _Judged:
    """Weigh the groups by their TPAUC on held-out rows: the mean of the folds' own and the pooled one."""
    by_fold = np.array([_tpaucs(y[fold == k], scores[fold == k], region) for k in range(settings.folds)])
    values = (by_fold.mean(axis=0) + _tpaucs(y, scores, region)) / 2.0
    return _Judged(shares(values, by_fold, settings.folds, settings.standard_errors), values)


def _tpaucs(y: Labels, scores: Array, region: Region) -> Array:
    return np.array([held_out_tpauc(y, column, region) for column in scores.T])
