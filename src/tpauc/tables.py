"""Training on a table: whole passes over arrays, kept as candidates to choose from.

A table that fits into memory needs no data loader. A training yields not one model but a list of `Candidate`s: the
cross-entropy solutions it starts from, and region-focused models after some further steps. Which of them is best is for
the caller to find out on rows that were not trained on (`tpauc.estimator`).

* `LinearTrainer`: logistic regression, plain and balanced (`tpauc.logistic`), then the ascent of the smoothed TPAUC
  (`tpauc.ascent`) from each for "anchored", or full-batch steps of another loss.
* `ModuleTrainer`: any ``nn.Module``; epochs of cross-entropy on shuffled batches, then epochs of the method on
  stratified batches.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from tpauc.ascent import whitener
from tpauc.baselines import FocalLoss, ReweightedCrossEntropy, TruncatedLoss
from tpauc.linear import DIRECTIONS, LinearSettings, as_logit, four_directions
from tpauc.logistic import Rows, fit_pair
from tpauc.losses import SquareAUCLoss, TPAUCLoss
from tpauc.minimax import MinimaxTPAUCLoss, descent_ascent
from tpauc.region import Region
from tpauc.sampling import StratifiedBatchSampler
from tpauc.surrogates import SquaredHinge
from tpauc.validation import check_logit_count
from tpauc.weighting import Exponential, Polynomial, TruncatedSide

Array = npt.NDArray[Any]
Labels = npt.NDArray[np.bool_]


class LinearScorer(NamedTuple):
    """``logit = X @ coef + intercept``."""

    coef: Array  # shape (d,)
    intercept: float

    def __call__(self, X: Array) -> Array:
        return np.asarray(X @ self.coef + self.intercept)


class ModuleScorer(NamedTuple):
    """The logits of an ``nn.Module``."""

    module: nn.Module
    device: str

    @torch.no_grad()
    def __call__(self, X: Array) -> Array:
        self.module.eval()
        logits = check_logit_count(self.module(as_tensor(X, self.device)), len(X))
        return logits.double().numpy(force=True)


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


class ScaledMargins(nn.Module):
    """A loss on logits divided by their standard deviation: margins mean the same for every scale of the model."""

    def __init__(self, loss: nn.Module) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss of the standardised logits."""
        flat = logits.flatten()
        value: torch.Tensor = self.loss(flat / flat.std(unbiased=False).clamp_min(1e-12), labels)
        return value


def _anchored(region: Region) -> nn.Module:
    # The limit tau -> 0 of `Anchored`, the exact selection: for linear models it did better than a soft border.
    loss = TPAUCLoss(
        TruncatedSide(region.alpha),
        TruncatedSide(region.beta),
        surrogate=SquaredHinge(margin=0.3),
        scores="logit",
        across_processes=False,
    )
    return ScaledMargins(loss)


# What `method` may be. Losses that need no region ignore it.
METHODS: dict[str, Callable[[Region], nn.Module]] = {
    "anchored": _anchored,
    "balanced_cross_entropy": lambda _: ReweightedCrossEntropy(across_processes=False),
    "cross_entropy": lambda _: nn.BCEWithLogitsLoss(),
    "exponential": lambda _: TPAUCLoss(Exponential(10.0), across_processes=False),
    "focal": lambda _: FocalLoss(across_processes=False),
    "minimax": lambda _: MinimaxTPAUCLoss(Polynomial.from_exponent(0.1), start="batch", across_processes=False),
    "polynomial": lambda _: TPAUCLoss(Polynomial.from_exponent(0.1), across_processes=False),
    "square_auc": lambda _: SquareAUCLoss(across_processes=False),
    "truncated": lambda region: TruncatedLoss(region.alpha, region.beta, across_processes=False),
}
CROSS_ENTROPIES = ("cross_entropy", "balanced_cross_entropy")


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
        A key of `METHODS`.
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
        directions = four_directions(rows, pair, whitener(X), self.region, self.settings)
        return [
            *starts,
            *(
                Candidate(name, self.settings.ascent.steps, _scorer(rows, w))
                for name, w in list(zip(DIRECTIONS, directions.T, strict=True))[2:]
            ),
        ]

    def _steps(self, X: Array, y: Labels, start: Array) -> Iterator[Candidate]:
        x, labels = torch.from_numpy(X), torch.from_numpy(y)
        module, loss = nn.Linear(X.shape[1], 1, dtype=x.dtype), METHODS[self.method](self.region)
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
    """Any ``nn.Module``: epochs of cross-entropy on shuffled batches, then of the method on stratified ones.

    Parameters
    ----------
    make_module : callable
        Given the number of features, returns a new module that maps (n, d) to (n, 1) or (n,).
    method, region
        As in `LinearTrainer`.
    warm_up_epochs, epochs : int
        Epochs of cross-entropy, then of the method.
    batch_size : int
        Of large data; small data take smaller batches, for some twenty steps an epoch.
    lr, weight_decay : float
        Of Adam.
    device : str
        Where the module is trained.
    """

    make_module: Callable[[int], nn.Module]
    method: str
    region: Region
    warm_up_epochs: int = 20
    epochs: int = 16
    batch_size: int = 512
    lr: float = 3e-3
    weight_decay: float = 1e-4
    device: str = "cpu"

    def train(self, X: Array, y: Labels, random: np.random.Generator) -> list[Candidate]:
        """Return the candidates: the warm-up at a quarter, half and end, then the method after 1, 2, 4, ... epochs."""
        x, labels = as_tensor(X, self.device), torch.from_numpy(y).to(self.device)
        generator = torch.Generator().manual_seed(int(random.integers(2**31)))
        module = self._new_module(x, generator)
        warm_up_name = self.method if self.method in CROSS_ENTROPIES else "balanced_cross_entropy"
        warm_up = METHODS[warm_up_name](self.region)
        optimizer = _optimizer(module, warm_up, self.lr, self.weight_decay)
        candidates = []
        for epoch in range(1, self.warm_up_epochs + 1):
            self._epoch(module, warm_up, optimizer, x, labels, self._shuffled(len(y), generator))
            if epoch in (math.ceil(self.warm_up_epochs / 4), math.ceil(self.warm_up_epochs / 2), self.warm_up_epochs):
                candidates.append(self._candidate(warm_up_name, epoch, module))
        if self.method in CROSS_ENTROPIES:
            return candidates
        loss = METHODS[self.method](self.region)
        optimizer = _optimizer(module, loss, self.lr / 3.0, self.weight_decay)
        sampler = self._stratified(y, generator)
        for epoch in range(1, self.epochs + 1):
            self._epoch(module, loss, optimizer, x, labels, iter(sampler))
            if epoch in powers_of_two(self.epochs):
                candidates.append(self._candidate(self.method, epoch, module))
        return candidates

    def _candidate(self, name: str, epoch: int, module: nn.Module) -> Candidate:
        return Candidate(name, epoch, ModuleScorer(copy.deepcopy(module), self.device))

    def _new_module(self, x: torch.Tensor, generator: torch.Generator) -> nn.Module:
        seed = int(torch.randint(2**31, (), generator=generator))
        with torch.random.fork_rng():  # modules draw their first weights from the global generator
            torch.manual_seed(seed)
            return self.make_module(x.shape[1]).to(x)

    def _batch_size(self, n: int) -> int:
        return max(2, min(n, self.batch_size, max(32, n // 20)))

    def _shuffled(self, n: int, generator: torch.Generator) -> Iterator[list[int]]:
        # Batch normalisation cannot take a last batch of one row; spread the rows evenly instead.
        n_batches = max(1, round(n / self._batch_size(n)))
        yield from (rows.tolist() for rows in torch.randperm(n, generator=generator).tensor_split(n_batches))

    def _stratified(self, y: Labels, generator: torch.Generator) -> StratifiedBatchSampler:
        n_positive = int(y.sum())
        n_negative = len(y) - n_positive
        # The natural ratio, unless positives are so rare that a batch would hold hardly any.
        ratio = (n_positive, n_negative) if n_positive * 10 >= n_negative else (1, 10)
        seed = int(torch.randint(2**31, (), generator=generator))
        return StratifiedBatchSampler(y, min(self.batch_size, len(y)), ratio=ratio, seed=seed, num_replicas=1, rank=0)

    @staticmethod
    def _epoch(
        module: nn.Module,
        loss: nn.Module,
        optimizer: torch.optim.Optimizer,
        x: torch.Tensor,
        y: torch.Tensor,
        batches: Iterator[list[int]],
    ) -> None:
        module.train()
        for rows in batches:
            optimizer.zero_grad()
            loss(check_logit_count(module(x[rows]), len(rows)), y[rows].to(x.dtype)).backward()
            optimizer.step()
        module.eval()


def two_layers(width: int) -> Callable[[int], nn.Module]:
    """Return a maker of the two-layer perceptron ``d -> width -> width -> 1`` with ReLU."""

    def make(n_features: int) -> nn.Module:
        return nn.Sequential(
            nn.Linear(n_features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
        )

    return make
