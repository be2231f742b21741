"""Several networks trained at once: cross-entropy, then the smoothed TPAUC.

A *bank* is a module that holds ``K`` networks of one kind. It maps features of shape (K, n, d), own rows for each
network, or (1, n, d), the same rows for all, to logits of shape (K, n). A step of a small network on a CPU is mostly
overhead, so ten networks in a bank cost about as much as three single networks. The networks of a bank share nothing:
the loss is the sum of their losses, and AdamW treats each weight separately.

* `train_cross_entropy`: a fixed number of steps, a cosine schedule down to 0, decoupled weight decay.
* `train_for_region`: some further steps on large stratified batches that climb

      mean over the k+ lowest positives i and the k- highest negatives j of  sigmoid((z_i - z_j) / t)

  with ``t`` a share of the spread of these scores (as `tpauc.classifiers.linear.ascent` does for a linear scorer).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from sklearn.preprocessing import StandardScaler
from torch import nn

from tpauc._validation import brief, check_logit_count, check_module, check_text
from tpauc.classifiers.progress import steps
from tpauc.region import Region, hard_mass
from tpauc.samplers import GENERATOR_LOCK

Batch = TypeVar("Batch")
BankMaker = Callable[[int, int], nn.Module]  # number of networks, number of features

GROUPS = ("plain", "balanced", "region from plain", "region from balanced")  # networks that are trained alike


@dataclass(frozen=True)
class NetworkSettings:
    """One setting for all data."""

    steps: int = 2000  # of cross-entropy
    warm_up_steps: int = 50  # in which the learning rate rises
    lr: float = 1e-2
    weight_decay: float = 0.1
    batch_size: int = 512  # of large data; small data have smaller batches, about twenty per epoch
    region_steps: int = 100
    region_lr: float = 1e-3
    region_batch: tuple[int, int] = (256, 1024)  # most positives and negatives
    temperature: float = 0.2  # as a share of the spread of the hard examples' scores
    folds: int = 10
    standard_errors: float = 2.0  # a group of networks that far below the best has 1/e of its weight


# -------------------------------------------------------------------------------------------------------------- banks


class PerceptronBank(nn.Module):
    """Perceptrons ``d -> width -> width -> 1`` with ReLU, evaluated by batched matrix products.

    Examples
    --------
    >>> PerceptronBank(3, 8)(torch.zeros(1, 5, 8)).shape
    torch.Size([3, 5])
    """

    def __init__(self, count: int, n_features: int, width: int = 32) -> None:
        super().__init__()
        sizes = (n_features, width, width, 1)
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for n_in, n_out in pairwise(sizes):
            bound = 1.0 / math.sqrt(n_in)  # as in nn.Linear
            self.weights.append(nn.Parameter(torch.empty(count, n_in, n_out).uniform_(-bound, bound)))
            self.biases.append(nn.Parameter(torch.empty(count, 1, n_out).uniform_(-bound, bound)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return logits, shape (K, n), of features of shape (K, n, d) or (1, n, d)."""
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(bias, x.expand(len(weight), -1, -1), weight)
            if layer < len(self.weights) - 1:
                x = x.relu()
        return x.squeeze(-1)


class ModuleBank(nn.Module):
    """Modules of any kind, one after the other.

    Parameters
    ----------
    make : callable
        Given the number of features, returns a new module that maps (n, d) to (n, 1) or (n,).
    count, n_features : int

    Examples
    --------
    >>> ModuleBank(lambda d: nn.Linear(d, 1), 3, 8)(torch.zeros(1, 5, 8)).shape
    torch.Size([3, 5])
    """

    def __init__(self, make: Callable[[int], nn.Module], count: int, n_features: int) -> None:
        super().__init__()
        self.members = nn.ModuleList(check_module(make(n_features), "what model returns") for _ in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return logits, shape (K, n), of features of shape (K, n, d) or (1, n, d)."""
        own_rows = x.expand(len(self.members), -1, -1)
        pairs = zip(self.members, own_rows, strict=True)
        return torch.stack([check_logit_count(member(rows), len(rows)) for member, rows in pairs])


class NetworkAverage(nn.Module):
    """The weighted sum of all networks of some banks, plus an offset: one logit per row.

    Parameters
    ----------
    banks : sequence of bank
    weights : Tensor of shape (number of networks,)
    offset : float

    Examples
    --------
    >>> NetworkAverage([PerceptronBank(3, 8)], torch.ones(3) / 3)(torch.zeros(5, 8)).shape
    torch.Size([5])
    """

    weights: torch.Tensor
    offset: torch.Tensor

    def __init__(self, banks: Sequence[nn.Module], weights: torch.Tensor, offset: float = 0.0) -> None:
        super().__init__()
        self.banks = nn.ModuleList(banks)
        self.register_buffer("weights", weights)
        self.register_buffer("offset", torch.tensor(offset, dtype=weights.dtype))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return logits, shape (n,), of features of shape (n, d)."""
        return self.weights @ torch.cat([bank(x[None]) for bank in self.banks]) + self.offset

    @classmethod
    def of_perceptrons(cls, state: dict[str, torch.Tensor]) -> NetworkAverage:
        """Return the average of perceptrons that has the given ``state_dict``."""
        firsts = [value for key, value in state.items() if key.endswith(".weights.0")]
        with seeded(0, torch.device("cpu")):  # the first weights are drawn, then overwritten
            average = cls([PerceptronBank(*first.shape) for first in firsts], state["weights"])
        average.load_state_dict(state)
        return average


class ModuleScorer(NamedTuple):
    """The logits of an average of networks, for rows as arrays."""

    module: NetworkAverage
    device: str = "cpu"

    def __call__(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        logits = logits_in_parts(self.module.eval(), as_tensor(X, self.device))
        return np.asarray(logits.double().numpy(force=True))

    def attributes(self, scaler: StandardScaler) -> dict[str, Any]:
        """Return the scaler and the module, which takes standardised rows."""
        return {"scaler_": scaler, "module_": self.module}


def as_tensor(X: npt.NDArray[Any], device: str) -> torch.Tensor:
    """Return rows as float32, the type that modules are made for."""
    return torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32)).to(device)


def check_device(device: str | torch.device) -> None:
    """Raise unless torch can put numbers on a device here; one that it does not know raises many kinds of errors."""
    if not isinstance(device, torch.device):
        check_text(device, "device")
    try:
        torch.ones(1).to(device).tolist()
    except (AssertionError, NotImplementedError, RuntimeError, ValueError) as error:
        reason = f"{error}".split("\n")[0]
        raise ValueError(
            f"device must be one that torch has here, such as 'cpu', got {brief(device)}: {reason}"
        ) from error


def new_bank(make: BankMaker, count: int, x: torch.Tensor, generator: torch.Generator) -> nn.Module:
    """Return a bank for features like ``x``, shape (n, d); its first weights follow from the generator."""
    seed = int(torch.randint(2**31, (), generator=generator))
    with seeded(seed, x.device):
        return make(count, x.shape[1]).to(x)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed the random numbers of modules on a device; torch's global generators are restored afterwards.

    Examples
    --------
    >>> with seeded(0, torch.device("cpu")):
    ...     first = torch.rand(3)
    >>> with seeded(0, torch.device("cpu")):
    ...     bool((torch.rand(3) == first).all())
    True
    """
    # Only the GPU in use: reading the generators of all GPUs would open a context on each.
    gpus = [] if device.type == "cpu" else [device]
    with GENERATOR_LOCK, torch.random.fork_rng(gpus):
        torch.default_generator.manual_seed(seed)
        for gpu in gpus:
            state = torch.Generator(gpu).manual_seed(seed).get_state()
            torch.get_device_module(gpu).set_rng_state(state, gpu)
        yield


@torch.no_grad()
def logits_in_parts(module: nn.Module, x: torch.Tensor, most_rows: int = 16_384) -> torch.Tensor:
    """Return ``module(x)``, computed for parts of the rows (the last dimension but one) to save memory."""
    return torch.cat([module(part) for part in torch.split(x, most_rows, dim=-2)], dim=-1)


# ----------------------------------------------------------------------------------------------------------- training


def train_cross_entropy(
    bank: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    rows: Sequence[torch.Tensor],
    balanced: Sequence[bool],
    generator: torch.Generator,
    settings: NetworkSettings,
) -> None:
    """Train each network of a bank on its own rows, by plain or by balanced cross-entropy.

    Parameters
    ----------
    bank : nn.Module
    x, y : Tensor of shape (n, d), (n,)
        Standardised features and labels 0.0 / 1.0.
    rows : sequence of Tensor
        For each network the numbers of its rows.
    balanced : sequence of bool
        For each network whether both classes have the same total weight.
    generator : torch.Generator
        Decides the order of rows.
    settings : NetworkSettings
    """
    weight = torch.stack([_class_weights(y[own], flag) for own, flag in zip(rows, balanced, strict=True)])
    size = max(2, min(settings.batch_size, max(32, min(map(len, rows)) // 20)))

    def loss(batch: torch.Tensor) -> torch.Tensor:
        labels = y[batch]
        each = F.binary_cross_entropy_with_logits(bank(x[batch]), labels, reduction="none")
        return (each * weight.gather(1, labels.long())).mean(dim=1).sum()

    def share_of_lr(step: int) -> float:
        rise = min(1.0, (step + 1) / settings.warm_up_steps)
        return rise * (1.0 + math.cos(math.pi * step / settings.steps)) / 2.0

    shuffled = islice(_shuffled(rows, size, generator), settings.steps)
    batches = steps(f"cross-entropy of {len(rows)} networks", shuffled, settings.steps)
    _descend(bank, batches, loss, settings.lr, share_of_lr, settings.weight_decay, generator)


def train_for_region(
    bank: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    rows: Sequence[torch.Tensor],
    region: Region,
    generator: torch.Generator,
    settings: NetworkSettings,
) -> None:
    """Train each network of a bank to climb the smoothed TPAUC of its rows; parameters as `train_cross_entropy`."""
    positives = _shuffled([own[y[own] > 0] for own in rows], settings.region_batch[0], generator)
    negatives = _shuffled([own[y[own] <= 0] for own in rows], settings.region_batch[1], generator)

    def loss(batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        scores = bank(x[torch.cat(batch, dim=1)]).split([part.shape[1] for part in batch], dim=1)
        return -smoothed_tpauc(scores[0], scores[1], region, settings.temperature).sum()

    def share_of_lr(step: int) -> float:
        return 1.0 - step / settings.region_steps

    pairs = islice(zip(positives, negatives, strict=False), settings.region_steps)
    batches = steps(f"training {len(rows)} networks for the region", pairs, settings.region_steps)
    _descend(bank, batches, loss, settings.region_lr, share_of_lr, settings.weight_decay, generator)


def smoothed_tpauc(
    positive_scores: torch.Tensor, negative_scores: torch.Tensor, region: Region, temperature: float
) -> torch.Tensor:
    """Return the smoothed TPAUC, shape (K,), of the scores of each network, shapes (K, n+) and (K, n-).

    Examples
    --------
    >>> smoothed_tpauc(torch.tensor([[1.0, 9.0]]), torch.tensor([[0.0, 1.0]]), Region(0.5, 0.5), 0.2)
    tensor([0.5000])
    """
    k_positive = max(1, hard_mass(positive_scores.shape[1], region.alpha))
    k_negative = max(1, hard_mass(negative_scores.shape[1], region.beta))
    positives = positive_scores.topk(k_positive, largest=False, sorted=False).values
    negatives = negative_scores.topk(k_negative, sorted=False).values
    with torch.no_grad():
        spread = (_deviation(positives) + _deviation(negatives)) / 2.0
        width = (temperature * spread).clamp_min(1e-6)[:, None, None]
    return torch.sigmoid((positives[:, :, None] - negatives[:, None, :]) / width).mean(dim=(1, 2))


def _deviation(scores: torch.Tensor) -> torch.Tensor:
    """Return the mean absolute deviation of each row, scaled to the standard deviation of normal scores."""
    return 1.25 * (scores - scores.mean(dim=1, keepdim=True)).abs().mean(dim=1)


def _class_weights(y: torch.Tensor, balanced: bool) -> torch.Tensor:
    """Return the weights of a negative and of a positive."""
    share = y.mean()
    return torch.stack((0.5 / (1.0 - share), 0.5 / share)) if balanced else torch.ones_like(y[:2])


def _shuffled(rows: Sequence[torch.Tensor], size: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
    """Yield batches without end, shape (K, about size): each network passes over its rows in ever new orders."""
    shortest = min(map(len, rows))
    # Batch normalisation fails on a last batch of one row, so the rows are spread evenly over the batches.
    n_batches = max(1, round(shortest / size))
    while True:
        # Networks with a few more rows leave out other rows in each epoch.
        orders = [own[torch.randperm(len(own), generator=generator)[:shortest].to(own.device)] for own in rows]
        yield from torch.stack(orders).tensor_split(n_batches, dim=1)


def _descend(
    bank: nn.Module,
    batches: Iterator[Batch],
    loss: Callable[[Batch], torch.Tensor],
    lr: float,
    share_of_lr: Callable[[int], float],
    weight_decay: float,
    generator: torch.Generator,
) -> None:
    optimizer = torch.optim.AdamW(bank.parameters(), lr=lr, weight_decay=weight_decay, fused=True)
    with training(bank, generator):
        for step, batch in enumerate(batches):
            for group in optimizer.param_groups:
                group["lr"] = lr * share_of_lr(step)
            optimizer.zero_grad()
            value = loss(batch)
            value.backward()  # type: ignore[no-untyped-call]
            optimizer.step()


@contextmanager
def training(bank: nn.Module, generator: torch.Generator, epoch: int = 0) -> Iterator[None]:
    """Put a bank in training mode; the random numbers of its layers (dropout) follow from the generator."""
    bank.train()
    device = next((parameter.device for parameter in bank.parameters()), torch.device("cpu"))
    with seeded(generator.initial_seed() + epoch, device):
        yield
    bank.eval()
