"""Networks for a region: the weighted average of the networks of the folds, or the candidates of one training.

`FoldNetworks` averages:

1. Each fold trains one network by plain and one by balanced cross-entropy on the rows of the other folds, all in one
   bank (`tpauc.classifiers.network.networks`).
2. A copy of each network is trained further: it climbs the smoothed TPAUC of its rows.
3. So there are four groups of networks. Each group has one network per fold, which scores the rows of that fold. The
   groups are weighed by these scores (`tpauc.classifiers._candidates`).
4. The model is the average of all networks with these weights, each on scores of standard deviation 1. There is no
   refit: the networks of the folds have seen all rows between them, and their average beats a single network that was
   trained on all rows.

`ModuleTrainer` makes candidates to choose from instead: cross-entropy on shuffled batches, then the method. "region"
climbs the smoothed TPAUC; the other losses take epochs of stratified batches.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from tpauc._validation import BoolArray
from tpauc.classifiers._candidates import Candidate, Fitted, Scaling, possible_folds, validate_folds
from tpauc.classifiers.base import TrainingData
from tpauc.classifiers.folds import fold_groups, stratified_folds
from tpauc.classifiers.linear.directions import as_logit, with_ones
from tpauc.classifiers.network.networks import (
    GROUPS,
    BankMaker,
    ModuleScorer,
    NetworkAverage,
    NetworkSettings,
    as_tensor,
    logits_in_parts,
    new_bank,
    train_cross_entropy,
    train_for_region,
    training,
)
from tpauc.classifiers.progress import steps
from tpauc.classifiers.training_methods import CROSS_ENTROPIES, REGION, loss_and_optimizer, powers_of_two
from tpauc.region import Region
from tpauc.samplers import StratifiedBatchSampler

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class FoldNetworks:
    """The strategy: average the networks of the folds.

    Parameters
    ----------
    make : BankMaker
        Makes a bank of networks (`tpauc.classifiers.network.networks`).
    settings : NetworkSettings
    scaling : Scaling
    device : str
        Where the networks are trained.
    """

    make: BankMaker
    settings: NetworkSettings
    scaling: Scaling
    device: str = "cpu"

    def fit(self, data: TrainingData, region: Region, random: np.random.Generator) -> Fitted:
        """Fit to rows with labels, and with the weights and groups that they may have."""
        assert data.weight is None  # refused by `TPAUCClassifier`
        positive, n_folds = data.positive, possible_folds(self.settings.folds, data.positive)
        rows, scaler = self.scaling.scaled(data)
        x = as_tensor(rows.X, self.device)
        group, n_folds = fold_groups(x.numpy(force=True), positive, n_folds, groups=data.groups, stacklevel=3)
        fold, settings = stratified_folds(positive, group, n_folds, random), replace(self.settings, folds=n_folds)
        held_out = [np.flatnonzero(fold == k) for k in range(n_folds)]
        banks = _train(x, positive, fold, self.make, region, random, settings)
        columns, scales = zip(*(_held_out_scores(bank, x, held_out) for bank in banks), strict=True)
        scores = np.concatenate(columns, axis=1)
        weighed = validate_folds(positive, scores, held_out, region).weighed(GROUPS, settings.standard_errors)
        pooled = scores @ weighed.shares
        slope, offset = as_logit(with_ones(pooled[:, None], positive), np.ones(1))
        weights = slope * np.repeat(weighed.shares, n_folds) / n_folds / np.concatenate(scales)
        logits = slope * pooled + offset
        return Fitted(
            scaler,
            ModuleScorer(NetworkAverage(banks, torch.from_numpy(weights).to(x), offset).eval(), self.device),
            weighed.chosen,
            weighed.candidates,
            logits,
            positive,
            out_of_fold_scores=logits,
        )


def _train(
    x: torch.Tensor,
    y: BoolArray,
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


def _held_out_scores(bank: nn.Module, x: torch.Tensor, held_out: list[Array]) -> tuple[Array, Array]:
    """Return the scores of all rows, shape (n, 2), by the plain and the balanced network of their fold.

    The scores of each network have standard deviation 1. The second array, shape (2 folds,), holds the deviations by
    which they were divided.
    """
    longest = np.arange(max(map(len, held_out)))
    filled = [rows[longest % len(rows)] for rows in held_out]  # up to the longest, with rows of the same fold
    own_rows = torch.from_numpy(np.stack(filled)).to(x.device)
    logits = logits_in_parts(bank, x[own_rows].repeat(2, 1, 1)).double().numpy(force=True)
    own_logits = [logits[[k, k + len(held_out)], : len(rows)] for k, rows in enumerate(held_out)]
    scale = _scales(np.column_stack([own.std(axis=1) for own in own_logits]))
    scores = np.empty((len(x), 2))
    for k, rows in enumerate(held_out):
        scores[rows] = (own_logits[k] / scale[:, [k]]).T
    return scores, scale.ravel()


def _scales(deviations: Array) -> Array:
    """Return the divisor of the logits of each network, shape (groups, folds): their standard deviation.

    A network with nearly constant logits, as on a fold of equal rows, takes the mean deviation of its group instead;
    otherwise it would outweigh all others.

    >>> _scales(np.array([[1.0, 3.0, 0.0], [0.0, 0.0, 0.0]])).round(2)
    array([[1.  , 3.  , 1.33],
           [1.  , 1.  , 1.  ]])
    """
    typical = deviations.mean(axis=1, keepdims=True)
    return np.where(deviations > 1e-3 * typical, deviations, np.where(typical > 0.0, typical, 1.0))


# ------------------------------------------------------------------------------------------------------- one training


@dataclass(frozen=True)
class ModuleTrainer:
    """Networks: steps of cross-entropy on shuffled batches, then the method.

    Parameters
    ----------
    make : BankMaker
        Makes a bank of networks (`tpauc.classifiers.network.networks`).
    method, region
        As in `tpauc.classifiers.linear.directions.LinearTrainer`.
    settings : NetworkSettings
        Of the cross-entropy, and of "region".
    epochs : int
        Epochs of a loss, on stratified batches.
    device : str
        Where the networks are trained.
    """

    make: BankMaker
    method: str
    region: Region
    settings: NetworkSettings
    epochs: int = 16
    device: str = "cpu"

    def train(self, data: TrainingData, random: np.random.Generator) -> list[Candidate]:
        """Return the candidates: cross-entropy, then the method after 1, 2, 4, ... epochs.

        For "region" there are four: both cross-entropies, and the networks that the ascent makes of them.
        """
        assert data.weight is None  # refused by `TPAUCClassifier`
        x, labels = as_tensor(data.X, self.device), torch.from_numpy(data.positive).to(self.device, torch.float32)
        generator = torch.Generator().manual_seed(int(random.integers(2**31)))
        if self.method == REGION:
            start = self._cross_entropy(x, labels, (False, True), generator)
            focused = copy.deepcopy(start)
            train_for_region(focused, x, labels, [_all_rows(x)] * 2, self.region, generator, self.settings)
            return [
                self._candidate(name, steps, bank, which)
                for bank, steps in ((start, 0), (focused, self.settings.region_steps))
                for which, name in enumerate(CROSS_ENTROPIES if bank is start else GROUPS[2:])
            ]
        name = self.method if self.method in CROSS_ENTROPIES else "balanced_cross_entropy"
        bank = self._cross_entropy(x, labels, (name != "cross_entropy",), generator)
        candidates = [self._candidate(name, self.settings.steps, bank, 0)]
        if self.method not in CROSS_ENTROPIES:
            candidates += self._epochs(bank, x, labels, generator)
        return candidates

    def _cross_entropy(
        self, x: torch.Tensor, labels: torch.Tensor, balanced: tuple[bool, ...], generator: torch.Generator
    ) -> nn.Module:
        bank = new_bank(self.make, len(balanced), x, generator)
        train_cross_entropy(bank, x, labels, [_all_rows(x)] * len(balanced), balanced, generator, self.settings)
        return bank

    def _candidate(self, name: str, steps: int, bank: nn.Module, which: int) -> Candidate:
        n_networks = 2 if self.method == REGION else 1
        alone = nn.functional.one_hot(torch.tensor(which), n_networks).float().to(self.device)
        return Candidate(name, steps, ModuleScorer(NetworkAverage([copy.deepcopy(bank)], alone), self.device))

    def _epochs(
        self, bank: nn.Module, x: torch.Tensor, labels: torch.Tensor, generator: torch.Generator
    ) -> Iterator[Candidate]:
        """Train a bank of one network further on the loss of the method."""
        loss, optimizer = loss_and_optimizer(self.method, self.region, bank, self.settings.region_lr)
        sampler = self._stratified(labels.numpy(force=True) > 0, generator)
        for epoch in steps(f"epochs of {self.method}", range(1, self.epochs + 1), self.epochs):
            with training(bank, generator, epoch):
                for rows in steps(f"batches of {self.method}, epoch {epoch} of {self.epochs}", sampler, len(sampler)):
                    optimizer.zero_grad()
                    loss(bank(x[rows][None])[0], labels[rows]).backward()
                    optimizer.step()
            if epoch in powers_of_two(self.epochs):
                yield self._candidate(self.method, epoch, bank, 0)

    def _stratified(self, y: BoolArray, generator: torch.Generator) -> StratifiedBatchSampler:
        n_positive = int(y.sum())
        n_negative = len(y) - n_positive
        # The natural ratio, unless positives are so rare that a batch would hold hardly any.
        ratio = (n_positive, n_negative) if n_positive * 10 >= n_negative else (1, 10)
        seed = int(torch.randint(2**31, (), generator=generator))
        size = min(self.settings.batch_size, len(y))
        return StratifiedBatchSampler(y, size, ratio=ratio, seed=seed, num_replicas=1, rank=0)


def _all_rows(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(len(x), device=x.device)
