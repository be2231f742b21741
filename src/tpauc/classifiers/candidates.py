"""Training on a table: whole passes over arrays, kept as candidates to choose from.

A table that fits into memory needs no data loader. A training yields not one model but a list of `Candidate`s: the
cross-entropy solutions it starts from, and region-focused models after some further steps. Which of them is best is for
the caller to find out on rows that were not trained on (`tpauc.classifiers.tpauc_classifier`).

* `LinearTrainer`: logistic regression, plain and balanced (`logistic`), then the ascent of the smoothed TPAUC
  (`tpauc.classifiers.linear.ascent`) from each for "anchored", or full-batch steps of another loss.
* `ModuleTrainer`: networks (`networks`); steps of cross-entropy on shuffled batches, then the smoothed TPAUC for
  "anchored", or epochs of another loss on stratified batches.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn.utils import skip_init

from tpauc.classifiers.linear.ascent import whitener
from tpauc.classifiers.linear.directions import DIRECTIONS, STARTS, LinearSettings, as_logit, six_directions
from tpauc.classifiers.linear.logistic import Rows, fit_pair
from tpauc.classifiers.network.networks import (
    GROUPS,
    BankMaker,
    NetworkAverage,
    NetworkSettings,
    logits_in_parts,
    new_bank,
    train_cross_entropy,
    train_for_region,
    training,
)
from tpauc.losses.baselines import FocalLoss, TruncatedLoss
from tpauc.losses.minimax import MinimaxTPAUCLoss, descent_ascent
from tpauc.losses.tpauc_loss import SquareAUCLoss, TPAUCLoss
from tpauc.losses.weighting import Exponential, Polynomial
from tpauc.region import Region
from tpauc.samplers import StratifiedBatchSampler

Array = npt.NDArray[Any]
Labels = npt.NDArray[np.bool_]


class LinearScorer(NamedTuple):
    """``logit = X @ coef + intercept``."""

    coef: Array  # shape (d,)
    intercept: float

    def __call__(self, X: Array) -> Array:
        return np.asarray(X @ self.coef + self.intercept)


class ModuleScorer(NamedTuple):
    """The logits of networks."""

    module: NetworkAverage
    device: str

    def __call__(self, X: Array) -> Array:
        logits = logits_in_parts(self.module.eval(), as_tensor(X, self.device))
        return np.asarray(logits.double().numpy(force=True))


def as_tensor(X: Array, device: str) -> torch.Tensor:
    """Return rows as float32, the type that modules are made for."""
    return torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32)).to(device)


class Candidate(NamedTuple):
    """A model that a training passed through."""

    name: str
    steps: int
    score: LinearScorer | ModuleScorer


class Trainer(Protocol):
    """Whatever turns rows into candidates; the same number of them, in the same order, for any rows."""

    def train(self, X: Array, y: Labels, random: np.random.Generator) -> list[Candidate]:
        """Return the candidates from training on standardised rows ``X``, shape (n, d), and labels, shape (n,)."""


# What a training goes on with after cross-entropy; those that need no region ignore it.
LOSSES: dict[str, Callable[[Region], nn.Module]] = {
    "exponential": lambda _: TPAUCLoss(Exponential(10.0), across_processes=False),
    "focal": lambda _: FocalLoss(across_processes=False),
    "minimax": lambda _: MinimaxTPAUCLoss(Polynomial.from_exponent(0.1), start="batch", across_processes=False),
    "polynomial": lambda _: TPAUCLoss(Polynomial.from_exponent(0.1), across_processes=False),
    "square_auc": lambda _: SquareAUCLoss(across_processes=False),
    "truncated": lambda region: TruncatedLoss(region.alpha, region.beta, across_processes=False),
}
CROSS_ENTROPIES = ("cross_entropy", "balanced_cross_entropy")  # `fit_pair` and `train_cross_entropy` know their own
METHODS = ("anchored", *CROSS_ENTROPIES, *LOSSES)  # "anchored" climbs the smoothed TPAUC of the exact hard pairs


def powers_of_two(most: int) -> tuple[int, ...]:
    """Return 1, 2, 4, ... up to ``most``, which is the last.

    Examples
    --------
    >>> powers_of_two(10)
    (1, 2, 4, 8, 10)
    """
    return tuple(sorted({2**k for k in range(most.bit_length()) if 2**k <= most} | {most}))


def _optimizer(module: nn.Module, loss: nn.Module, lr: float, weight_decay: float) -> torch.optim.Optimizer:
    if isinstance(loss, MinimaxTPAUCLoss):
        # Sign-free descent needs a larger step than Adam's, and a dual step that follows the moments.
        return descent_ascent(module, loss, lr=10.0 * lr, dual_lr=0.1, weight_decay=weight_decay)
    return torch.optim.Adam(module.parameters(), lr=lr, weight_decay=weight_decay)


@dataclass(frozen=True)
class LinearTrainer:
    """Linear scorers: both logistic regressions, then the method.

    Parameters
    ----------
    method : str
        One of `METHODS`.
    region : Region
    settings : LinearSettings
        Of the regressions and of the ascent.
    max_steps : int
        Full-batch steps of a method other than "anchored".
    step_size : float
        Step of Adam, as a share of the typical coefficient of the start.
    """

    method: str
    region: Region
    settings: LinearSettings
    max_steps: int = 32
    step_size: float = 0.05

    def train(self, X: Array, y: Labels, random: np.random.Generator) -> list[Candidate]:
        """Return the candidates; nothing here is random."""
        rows = Rows(np.column_stack((X, np.ones(len(X)))), y, np.ones(len(y)))
        pair = fit_pair(rows, self.settings.penalty)
        starts = [
            Candidate(name, 0, LinearScorer(b[:-1], float(b[-1])))
            for name, b in zip(CROSS_ENTROPIES, pair, strict=True)
        ]
        if self.method in CROSS_ENTROPIES:
            return [start for start in starts if start.name == self.method]
        if self.method != "anchored":
            return [*starts, *self._steps(X, y, pair.balanced)]
        directions = six_directions(rows, pair, whitener(X), self.region, self.settings)
        return [
            *starts,
            *(
                Candidate(name, 0 if name in STARTS else self.settings.ascent.steps, _scorer(rows, w))
                for name, w in zip(DIRECTIONS, directions.T, strict=True)
                if name not in ("plain", "balanced")  # they are among the starts, with their own intercepts
            ),
        ]

    def _steps(self, X: Array, y: Labels, start: Array) -> Iterator[Candidate]:
        x, labels = torch.from_numpy(X), torch.from_numpy(y)
        # No first weights: they would be drawn from torch's global generator, which is the caller's.
        module: nn.Linear = skip_init(nn.Linear, X.shape[1], 1, dtype=x.dtype)  # type: ignore[no-untyped-call]
        loss = LOSSES[self.method](self.region)
        with torch.no_grad():
            module.weight.copy_(torch.from_numpy(start[:-1]))
            module.bias.fill_(float(start[-1]))
        typical = float(np.sqrt(np.square(start[:-1]).mean()))
        optimizer = _optimizer(module, loss, self.step_size * max(typical, 1e-3), 0.0)
        for step in range(1, self.max_steps + 1):
            optimizer.zero_grad()
            loss(module(x), labels.to(x.dtype)).backward()
            optimizer.step()
            if step in powers_of_two(self.max_steps):
                coef = module.weight.detach().flatten().numpy().copy()
                yield Candidate(self.method, step, LinearScorer(coef, float(module.bias.detach())))


def _scorer(rows: Rows, w: Array) -> LinearScorer:
    slope, offset = as_logit(rows, w)
    return LinearScorer(slope * w, offset)


@dataclass(frozen=True)
class ModuleTrainer:
    """Networks: steps of cross-entropy on shuffled batches, then the method.

    Parameters
    ----------
    make : BankMaker
        Makes a bank of networks (`tpauc.classifiers.network.networks`).
    method, region
        As in `LinearTrainer`.
    settings : NetworkSettings
        Of the cross-entropy, and of "anchored".
    epochs : int
        Epochs of a method other than "anchored", on stratified batches.
    device : str
        Where the networks are trained.
    """

    make: BankMaker
    method: str
    region: Region
    settings: NetworkSettings
    epochs: int = 16
    device: str = "cpu"

    def train(self, X: Array, y: Labels, random: np.random.Generator) -> list[Candidate]:
        """Return the candidates: cross-entropy, then the method after 1, 2, 4, ... epochs.

        For "anchored" they are four: both cross-entropies, and what the smoothed TPAUC makes of each.
        """
        x, labels = as_tensor(X, self.device), torch.from_numpy(y).to(self.device, torch.float32)
        generator = torch.Generator().manual_seed(int(random.integers(2**31)))
        if self.method == "anchored":
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
        n_networks = 2 if self.method == "anchored" else 1
        alone = nn.functional.one_hot(torch.tensor(which), n_networks).float().to(self.device)
        return Candidate(name, steps, ModuleScorer(NetworkAverage([copy.deepcopy(bank)], alone), self.device))

    def _epochs(
        self, bank: nn.Module, x: torch.Tensor, labels: torch.Tensor, generator: torch.Generator
    ) -> Iterator[Candidate]:
        """Go on from a bank of one network with the loss of the method."""
        loss = LOSSES[self.method](self.region)
        optimizer = _optimizer(bank, loss, self.settings.region_lr, 0.0)
        sampler = self._stratified(labels.numpy(force=True) > 0, generator)
        for epoch in range(1, self.epochs + 1):
            with training(bank, generator, epoch):
                for rows in sampler:
                    optimizer.zero_grad()
                    loss(bank(x[rows][None])[0], labels[rows]).backward()
                    optimizer.step()
            if epoch in powers_of_two(self.epochs):
                yield self._candidate(self.method, epoch, bank, 0)

    def _stratified(self, y: Labels, generator: torch.Generator) -> StratifiedBatchSampler:
        n_positive = int(y.sum())
        n_negative = len(y) - n_positive
        # The natural ratio, unless positives are so rare that a batch would hold hardly any.
        ratio = (n_positive, n_negative) if n_positive * 10 >= n_negative else (1, 10)
        seed = int(torch.randint(2**31, (), generator=generator))
        size = min(self.settings.batch_size, len(y))
        return StratifiedBatchSampler(y, size, ratio=ratio, seed=seed, num_replicas=1, rank=0)


def _all_rows(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(len(x), device=x.device)
