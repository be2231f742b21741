"""Everything that decides how a training run goes on, as one dict of tensors and plain values.

`RunState.state_dict` goes into a checkpoint and `RunState.load_state_dict` takes it out again: model, loss, optimiser,
precision, sampler, progress, and the state of every generator of random numbers. Dropout draws from torch's global
generator; a user's data set may draw from NumPy's and Python's. A run seeds all of them, and restores the caller's.
"""

# ruff: noqa: NPY002  (user code draws from NumPy's global generator, so that is the one to seed and to save)

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from tpauc.samplers import GENERATOR_LOCK
from tpauc.training._fingerprint import data_fingerprint, function_fingerprint, stable_text, without_addresses
from tpauc.training._monitor import first_not_finite
from tpauc.training.config import TrainConfig
from tpauc.training.data import Examples
from tpauc.training.evaluation import areas_of
from tpauc.training.exceptions import CheckpointError
from tpauc.training.setup import make_loss, make_optimizer, make_sampler, rate_factor

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Transform = Callable[[Any, torch.Generator], Any]
EpochHook = Callable[[int, nn.Module, torch.Tensor | None], None]


class Task(NamedTuple):
    """The arguments of `tpauc.fit`, checked."""

    model: nn.Module
    train: Examples
    validation: Examples | None
    loss: nn.Module
    config: TrainConfig
    transform: Transform | None
    on_epoch: EpochHook | None


@dataclass
class Progress:
    """How far a run has come."""

    epoch: int = 0  # epochs done
    step: int = 0  # steps done in the current epoch
    total_steps: int = 0
    loss_sum: float = 0.0  # over the steps of the current epoch
    seconds: float = 0.0  # trained, at the time of the last save
    history: list[dict[str, float]] = field(default_factory=list)
    best: dict[str, Any] | None = None  # epoch, metrics and weights of the best model

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Progress:
        """Return the progress in what :meth:`RunState.state_dict` returns."""
        return cls(**state["progress"], history=list(state["history"]), best=state["best"])

    def end_reason(self, config: TrainConfig) -> str:
        """Return why there is no further epoch, "epochs" or "patience", or an empty string if there is one.

        Examples
        --------
        >>> config = TrainConfig(alpha=0.3, beta=0.3, epochs=5, patience=2)
        >>> rows = [{"epoch": n, "tpauc": tpauc, "opauc": 0.5, "auc": 0.7} for n, tpauc in enumerate((0.1, 0.2), 1)]
        >>> best = {"epoch": 2, "metrics": rows[1]}
        >>> [Progress(epoch=n, history=rows, best=best).end_reason(config) for n in (3, 4, 5)]
        ['', 'patience', 'epochs']
        """
        if self.epoch >= config.epochs:
            return "epochs"
        if config.patience is None or self.best is None or self.epoch - self._last_gain() < config.patience:
            return ""
        return "patience"

    def _last_gain(self) -> float:
        """Return the last epoch in which an area grew; a lower training loss alone does not count."""
        assert self.best is not None
        areas = areas_of(self.best["metrics"])
        return next(row["epoch"] for row in self.history if areas_of(row) == areas)


class RunState:
    """Model, loss, optimiser, sampler, generators and progress of a run, under a Fabric that is launched."""

    def __init__(self, fabric: Fabric, task: Task) -> None:
        config, validation = task.config, task.validation
        self._fabric, self._config = fabric, config
        self._settings = {
            **config.numeric_settings(),
            # A weighting may be made from a function, whose address in memory differs between sessions.
            "loss": without_addresses(repr(task.loss)),
            "validation": None
            if validation is None
            else f"{validation.positive.size} rows, {int(validation.positive.sum())} positive",
        }
        self._begun_with = {} if config.out is None else _fingerprints(task)
        self.bare_model = task.model
        # Frozen BatchNorm, for example. A whole model in evaluation mode has just been used: all of it is trained.
        self._stay_in_eval = [module for module in task.model.modules() if task.model.training and not module.training]
        self.loss: nn.Module = fabric.strategy.precision.convert_module(fabric.to_device(make_loss(task.loss, config)))
        optimizer = make_optimizer(task.model, self.loss, config)
        self.model, self.optimizer = fabric.setup(task.model, optimizer)
        self._first_rates = [group["lr"] for group in optimizer.param_groups]
        self.sampler = make_sampler(task.train.positive, config)
        self.generator = torch.Generator(fabric.device)
        self.progress = Progress()
        seed_all(self.generator, config.seed, fabric.global_rank)

    def begin_epoch(self) -> None:
        """Set training mode, loss, sampler and learning rates for the current epoch."""
        epoch = self.progress.epoch
        self.bare_model.train()
        for module in self._stay_in_eval:
            module.training = False
        set_epoch = getattr(self.loss, "set_epoch", None)
        if callable(set_epoch):
            set_epoch(epoch)
        self.sampler.set_epoch(epoch)
        for group, rate in zip(self.optimizer.param_groups, self._first_rates, strict=True):
            group["lr"] = rate * rate_factor(self._config, epoch)

    def named_parameters(self) -> list[tuple[str, nn.Parameter]]:
        """Return the parameters of the model and of the loss."""
        return [*self.bare_model.named_parameters(), *self.loss.named_parameters(prefix="loss")]

    def not_finite(self) -> str | None:
        """Return the name of a parameter, or of an optimiser's number, that is NaN or infinite.

        Buffers are not checked: a model may hold infinite values on purpose, for example in a mask.
        """
        named: list[tuple[str, Any]] = [*self.named_parameters()]
        for number, moments in self.optimizer.state_dict()["state"].items():
            named += [(f"optimizer.{number}.{name}", value) for name, value in moments.items()]
        return first_not_finite(named)

    def weights(self) -> dict[str, Any]:
        """Return a copy of the model's state on the CPU."""
        return {
            name: value.detach().to("cpu", copy=True) if isinstance(value, torch.Tensor) else copy.deepcopy(value)
            for name, value in self.bare_model.state_dict().items()
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the state. Every process must call it, because each has its own random numbers."""
        progress = self.progress
        own = random_state(self.generator)
        states: list[Any] = [own] * self._fabric.world_size
        if self._fabric.world_size > 1:
            dist.all_gather_object(states, own)
        return {
            "settings": self._settings,
            "begun with": self._begun_with,
            "progress": {name: value for name, value in vars(progress).items() if name not in ("history", "best")},
            "history": progress.history,
            "best": progress.best,
            "model": self.bare_model.state_dict(),
            "loss": self.loss.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "precision": self._fabric.strategy.precision.state_dict(),
            # The position of the training, because a loader with workers has taken more batches from the sampler.
            "sampler": self.sampler.state_dict(epoch=progress.epoch, position=progress.step),
            "random": states,
        }

    def load_state_dict(self, state: Mapping[str, Any], where: object) -> None:
        """Restore ``state``, found at ``where``; other settings, other data or another model are an error."""
        saved, now = state["settings"], self._settings
        if others := [f"{key}={now[key]!r} (there {saved.get(key)!r})" for key in now if saved.get(key) != now[key]]:
            raise ValueError(
                f"{where} holds a run with other settings: {', '.join(others)}; go on with those, or choose another out"
            )
        try:
            self.sampler.load_state_dict(state["sampler"])
        except ValueError as error:
            raise ValueError(f"{where} is of other training data, or other batches of them: {error}") from error
        self._check_begun_with(state.get("begun with", {}), where)
        self.bare_model.load_state_dict(state["model"])
        self.loss.load_state_dict(state["loss"])
        try:
            self.optimizer.load_state_dict(state["optimizer"])
        except ValueError as error:  # the model is the same, but more or fewer of its parameters are frozen
            raise CheckpointError(f"{where} does not fit the parameters that are trained: {error}") from error
        self._fabric.strategy.precision.load_state_dict(state["precision"])
        self.progress = Progress.from_state(state)
        states, rank = state["random"], self._fabric.global_rank
        # With another number of processes, or another kind of device, the random numbers begin anew.
        if len(states) == self._fabric.world_size and states[rank]["device"] == self.generator.device.type:
            set_random_state(states[rank], self.generator)
        else:
            seed_all(self.generator, self._config.seed, rank, self.progress.total_steps)

    def _check_begun_with(self, saved: Mapping[str, str | None], where: object) -> None:
        """Raise if the data or functions are others than in the run at ``where``; warn if that cannot be told."""
        unknown = [name for name, now in self._begun_with.items() if now is None or saved.get(name) is None]
        for name, now in self._begun_with.items():
            if name not in unknown and now != saved[name]:
                raise ValueError(
                    f"{where} was begun with another {name}: {saved[name]}, now {now}; "
                    "go on with that one, or choose another out"
                )
        if unknown and self._fabric.is_global_zero:
            warnings.warn(
                f"{where} goes on, but it cannot be verified that these are the ones that it was begun with: "
                f"{', '.join(unknown)}; functions are known by their names, objects by their repr",
                stacklevel=2,
            )


def _fingerprints(task: Task) -> dict[str, str | None]:
    """Return what the data and functions of a run are known by; None for what cannot be told from others."""
    with preserved_random_state():
        found = {"set of training data": data_fingerprint(task.train)}
        if task.validation is not None:
            found["set of validation data"] = data_fingerprint(task.validation)
    return found | {"transform": function_fingerprint(task.transform), "loss": stable_text(repr(task.loss))}


# ------------------------------------------------------------------------------------------------------ random numbers


def random_state(generator: torch.Generator) -> dict[str, Any]:
    """Return the state of ``generator`` and of torch's, NumPy's and Python's global generators, in plain values."""
    # NumPy types this as a union that names no keys.
    numpy_state: Any = np.random.get_state(legacy=False)
    version, internal, gauss_next = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        # Only of the device in use: asking for all would open a context on every one of them.
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None,  # type: ignore[no-untyped-call]
        "numpy": {
            "key": torch.from_numpy(numpy_state["state"]["key"].astype(np.int64)),
            "pos": numpy_state["state"]["pos"],
            "has_gauss": numpy_state["has_gauss"],
            "gauss": numpy_state["gauss"],
        },
        "python": {"version": version, "internal": torch.tensor(internal), "gauss_next": gauss_next},
        "generator": generator.get_state(),
        "device": generator.device.type,  # generators on other kinds of devices have other states
    }


def set_random_state(state: Mapping[str, Any], generator: torch.Generator) -> None:
    """Restore all generators to what :func:`random_state` returned."""
    torch.set_rng_state(state["torch"])
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
    of_numpy = state["numpy"]
    key = of_numpy["key"].numpy().astype(np.uint32)
    np.random.set_state(("MT19937", key, of_numpy["pos"], of_numpy["has_gauss"], of_numpy["gauss"]))
    of_python = state["python"]
    random.setstate((of_python["version"], tuple(of_python["internal"].tolist()), of_python["gauss_next"]))
    generator.set_state(state["generator"])


def seed_all(generator: torch.Generator, *numbers: int) -> None:
    """Seed every generator from ``numbers``, each with its own seed."""
    # SeedSequence keeps (0, 1) and (1, 0) apart where a sum would not.
    seeds = np.random.SeedSequence(numbers).generate_state(4)
    torch.manual_seed(int(seeds[0]))
    np.random.seed(int(seeds[1]))
    random.seed(int(seeds[2]))
    generator.manual_seed(int(seeds[3]))


@contextmanager
def preserved_random_state() -> Iterator[None]:
    """Keep the global generators from other threads, and restore them at the end of a ``with`` statement."""
    unused = torch.Generator()
    with GENERATOR_LOCK:
        before = random_state(unused)
        try:
            yield
        finally:
            set_random_state(before, unused)
