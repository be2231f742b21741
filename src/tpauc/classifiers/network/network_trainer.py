"""One training of a network: cross-entropy on shuffled batches, then the steps of a method, each a candidate.

"region" climbs the smoothed TPAUC (`networks`). The other losses take epochs of stratified batches.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from tpauc._validation import BoolArray
from tpauc.classifiers._candidates import Candidate
from tpauc.classifiers.network.networks import (
    GROUPS,
    BankMaker,
    ModuleScorer,
    NetworkAverage,
    NetworkSettings,
    as_tensor,
    new_bank,
    train_cross_entropy,
    train_for_region,
    training,
)
from tpauc.classifiers.training_methods import CROSS_ENTROPIES, REGION, loss_and_optimizer, powers_of_two
from tpauc.region import Region
from tpauc.samplers import StratifiedBatchSampler

Array = npt.NDArray[Any]


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

    def train(self, X: Array, y: BoolArray, random: np.random.Generator) -> list[Candidate]:
        """Return the candidates: cross-entropy, then the method after 1, 2, 4, ... epochs.

        For "region" there are four: both cross-entropies, and the networks that the ascent makes of them.
        """
        x, labels = as_tensor(X, self.device), torch.from_numpy(y).to(self.device, torch.float32)
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
        for epoch in range(1, self.epochs + 1):
            with training(bank, generator, epoch):
                for rows in sampler:
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
