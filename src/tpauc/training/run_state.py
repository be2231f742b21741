"""All that decides how a training run goes on: put into a checkpoint, and taken from it again."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.distributed as dist
from torch import nn

from tpauc.training.checkpoints import CheckpointError
from tpauc.training.config import TrainConfig
from tpauc.training.data import Examples
from tpauc.training.random_state import fits, random_state, seed_all, set_random_state
from tpauc.training.setup import make_loss, make_optimizer, make_sampler, rate_factor
from tpauc.training.vital_signs import first_not_finite

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Transform = Callable[[Any, torch.Generator], Any]
EpochHook = Callable[[int, nn.Module, torch.Tensor | None], None]


class Task(NamedTuple):
    """What `tpauc.fit` was given, checked."""

    model: nn.Module
    train: Examples
    validation: Examples | None
    loss: nn.Module
    config: TrainConfig
    transform: Transform | None
    on_epoch: EpochHook | None = None


@dataclass
class Progress:
    """Where a run stands, in numbers."""

    epoch: int = 0  # epochs done
    step: int = 0  # steps done of the epoch under way
    total_steps: int = 0
    loss_sum: float = 0.0  # over the steps of the epoch under way
    seconds: float = 0.0  # trained, at the time of the last save
    history: list[dict[str, float]] = field(default_factory=list)
    best: dict[str, Any] | None = None  # epoch, metrics and weights of the best model


def progress_of(state: Mapping[str, Any]) -> Progress:
    """Return where a run stands from what :meth:`RunState.state_dict` returns."""
    return Progress(**state["progress"], history=list(state["history"]), best=state["best"])


def why_ended(progress: Progress, config: TrainConfig) -> str:
    """Return why there is no further epoch, "epochs" or "patience", or an empty string if there is one.

    Examples
    --------
    >>> config = TrainConfig(alpha=0.3, beta=0.3, epochs=5, patience=2)
    >>> [why_ended(Progress(epoch=epoch, best={"epoch": 2}), config) for epoch in (3, 4, 5)]
    ['', 'patience', 'epochs']
    """
    if progress.epoch >= config.epochs:
        return "epochs"
    if config.patience is None or progress.best is None or progress.epoch - progress.best["epoch"] < config.patience:
        return ""
    return "patience"


def _rows_of(examples: Examples) -> str:
    return f"{examples.positive.size} rows, {int(examples.positive.sum())} positive"


class RunState:
    """The moving parts of a run, and where it stands.

    Parameters
    ----------
    fabric : Fabric
        Launched.
    task : Task
        The model is trained in place.
    """

    def __init__(self, fabric: Fabric, task: Task) -> None:
        config = task.config
        self._fabric, self._config = fabric, config
        self._settings = {
            **config.numeric_settings(),
            # An address in memory, of a function that someone's weighting is made of, is another in each session.
            "loss": re.sub(" at 0x[0-9a-f]+", "", repr(task.loss)),
            "validation": None if task.validation is None else _rows_of(task.validation),
        }
        self.bare_model = task.model
        # Frozen BatchNorm, for one. A model that is in evaluation mode as a whole has just been used: it is trained.
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
        """Tell the parts which epoch it is."""
        epoch = self.progress.epoch
        self.bare_model.train()
        for module in self._stay_in_eval:
            module.training = False
        tell = getattr(self.loss, "set_epoch", None)
        if callable(tell):
            tell(epoch)
        self.sampler.set_epoch(epoch)
        for group, rate in zip(self.optimizer.param_groups, self._first_rates, strict=True):
            group["lr"] = rate * rate_factor(self._config, epoch)

    def named_parameters(self) -> list[tuple[str, nn.Parameter]]:
        """Return all that the optimiser moves."""
        return [*self.bare_model.named_parameters(), *self.loss.named_parameters(prefix="loss")]

    def state_dict(self) -> dict[str, Any]:
        """Return tensors and plain values. Every process must call it, for each has random numbers of its own."""
        progress = self.progress
        return {
            "settings": self._settings,
            "progress": {name: value for name, value in vars(progress).items() if name not in ("history", "best")},
            "history": progress.history,
            "best": progress.best,
            "model": self.bare_model.state_dict(),
            "loss": self.loss.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "precision": self._fabric.strategy.precision.state_dict(),
            # The position is that of the training: a loader with workers has taken more from the sampler.
            "sampler": self.sampler.state_dict(epoch=progress.epoch, position=progress.step),
            "random": self._random_states(),
        }

    def load_state_dict(self, state: Mapping[str, Any], where: object) -> None:
        """Go where ``state``, found at ``where``, stands; other settings, data or another model are an error."""
        _check_same_settings(state["settings"], self._settings, where)
        try:
            self.sampler.load_state_dict(state["sampler"])
        except ValueError as error:
            raise ValueError(f"{where} is of other training data, or other batches of them: {error}") from error
        self.bare_model.load_state_dict(state["model"])
        self.loss.load_state_dict(state["loss"])
        try:
            self.optimizer.load_state_dict(state["optimizer"])
        except ValueError as error:  # the model is the same, but more or fewer of its parameters are frozen
            raise CheckpointError(f"{where} does not fit the parameters that are trained: {error}") from error
        self._fabric.strategy.precision.load_state_dict(state["precision"])
        self.progress = progress_of(state)
        states, rank = state["random"], self._fabric.global_rank
        if len(states) == self._fabric.world_size and fits(states[rank], self.generator):
            set_random_state(states[rank], self.generator)
        else:
            seed_all(self.generator, self._config.seed, rank, self.progress.total_steps)

    def not_finite(self) -> str | None:
        """Return the name of a weight, or of an optimiser's number, that is NaN or infinite.

        Buffers are left out: a model may hold infinite ones on purpose, for one in a mask.
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

    def _random_states(self) -> list[dict[str, Any]]:
        own = random_state(self.generator)
        if self._fabric.world_size == 1:
            return [own]
        states: list[Any] = [None] * self._fabric.world_size
        dist.all_gather_object(states, own)
        return states


def _check_same_settings(saved: Mapping[str, Any], now: Mapping[str, Any], where: object) -> None:
    """Raise if a run is to be continued with other settings than it was begun with."""
    if differences := [f"{key}={now[key]!r} (there {saved.get(key)!r})" for key in now if saved.get(key) != now[key]]:
        raise ValueError(
            f"{where} holds a run with other settings: {', '.join(differences)}; "
            "go on with those, or choose another out"
        )
