"""All settings of a training run, in one place: checked when made, stored as JSON beside the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from tpauc._validation import (
    check_choice,
    check_count,
    check_flag,
    check_non_negative,
    check_path,
    check_positive,
    check_ratio,
    check_seed,
    check_share,
    check_text,
)
from tpauc.region import Region

OPTIMIZERS = ("sgd", "adam", "adamw", "minimax")
SCHEDULES = ("exponential", "cosine", "constant")
HARD_EXAMPLES = ("none", "negatives", "both")
STRATEGIES = ("auto", "ddp", "ddp_spawn", "ddp_fork")
PRECISIONS = ("32-true", "64-true", "16-mixed", "bf16-mixed")
RESUME = ("auto", "never")

# What may differ when a run goes on: how long, where, and how it is shown, but nothing that enters its numbers.
_FREE_TO_CHANGE = (
    *("epochs", "patience", "time_limit", "accelerator", "devices", "nodes", "strategy", "eval_batch_size", "workers"),
    *("out", "resume", "checkpoint_seconds", "checkpoint_steps", "tensorboard", "progress"),
)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of :func:`tpauc.fit`; the defaults are the paper's protocol.

    Parameters
    ----------
    alpha, beta : float
        The region, each in (0, 1]: validation measures TPAUC in it and keeps the best model by that.
    epochs : int, default=50
        Passes over the training data.
    batch_size : int, default=128
        Examples in a step, of all processes together.
    ratio : (float, float) or None, default=(1, 10)
        Positives to negatives in a batch. None keeps the ratio of the training data.
    hard_examples : {"none", "negatives", "both"}, default="none"
        After the warm-up train only on the share ``beta`` of the negatives with the highest scores, or also on only the
        share ``alpha`` of the positives with the lowest; chosen anew before each epoch, as the paper's truncated
        baselines do.
    optimizer : {"sgd", "adam", "adamw", "minimax"}, default="sgd"
        "sgd" has Nesterov momentum. "minimax" is descent-ascent, and is needed by `MinimaxTPAUCLoss`.
    lr : float, default=1e-3
        Learning rate of the model.
    dual_lr : float, optional
        Learning rate of the variables ``a`` (descent) and ``b`` (ascent) of `MinimaxTPAUCLoss`; ``lr`` by default.
    momentum, nesterov : float, bool, default=0.9, True
        Of "sgd" and "minimax".
    weight_decay : float, default=1e-5
        Of the model's weights.
    schedule : {"exponential", "cosine", "constant"}, default="exponential"
        How learning rates change after each epoch: times ``decay``, along half a cosine to 0 at the end, or not at all.
    decay : float, default=0.99
        Factor of the exponential schedule, in (0, 1].
    warmup_epochs : int, default=0
        Epochs of ordinary AUC optimisation (`SquareAUCLoss`) before the loss given to ``fit``.
    patience : int, optional
        Stop after so many epochs without a better validation TPAUC.
    time_limit : float, optional
        Stop after so many seconds of training, earlier sessions of a resumed run included.
    seed : int, default=0
        Decides batches, augmentation and dropout.
    accelerator : str, default="auto"
        Fabric's "cpu", "cuda", "mps", ...; "auto" takes what there is.
    devices, nodes : int, default=1
        Processes on each machine, machines.
    strategy : {"auto", "ddp", "ddp_spawn", "ddp_fork"}, default="auto"
        How several processes come about. "ddp_spawn" starts them within the call of ``fit``: all that is given to it
        must be picklable, and a script needs ``if __name__ == "__main__":``. "ddp_fork" needs neither and works in a
        notebook, as long as neither CUDA nor several threads have been used before. "ddp" runs the whole script once
        more for each, or joins what ``torchrun`` or SLURM has started. "auto" is "ddp" under such a launcher or with
        several machines, and "ddp_spawn" otherwise.
    precision : {"32-true", "64-true", "16-mixed", "bf16-mixed"}, default="32-true"
        Of the model; losses and metrics are never below float32.
    eval_batch_size : int, default=256
        Examples at a time where scores are computed without gradient.
    workers : int, default=0
        Processes that read examples of a ``Dataset`` ahead, for each training process.
    out : str or path, optional
        Folder of the run: checkpoints, logs and this configuration. None writes nothing.
    resume : {"auto", "never"}, default="auto"
        "auto" goes on from the last checkpoint in ``out`` if there is one. "never" wants a folder without one.
    checkpoint_seconds : float, default=60.0
        Longest time between two checkpoints, also within an epoch.
    checkpoint_steps : int, optional
        Also save after so many steps.
    tensorboard, progress : bool, default=True
        Write TensorBoard files to ``out``; show progress on stderr.

    Examples
    --------
    >>> config = TrainConfig(alpha=0.3, beta=0.3, epochs=10, optimizer="adam", lr=1e-2)
    >>> TrainConfig.from_json(config.to_json()) == config
    True
    >>> TrainConfig(alpha=0.3, beta=0.3, schedule="linear")
    Traceback (most recent call last):
    ...
    ValueError: schedule must be one of 'exponential', 'cosine', 'constant', got 'linear'
    """

    alpha: float
    beta: float
    epochs: int = 50
    batch_size: int = 128
    ratio: tuple[float, float] | None = (1.0, 10.0)
    hard_examples: str = "none"
    optimizer: str = "sgd"
    lr: float = 1e-3
    dual_lr: float | None = None
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 1e-5
    schedule: str = "exponential"
    decay: float = 0.99
    warmup_epochs: int = 0
    patience: int | None = None
    time_limit: float | None = None
    seed: int = 0
    accelerator: str = "auto"
    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"
    precision: str = "32-true"
    eval_batch_size: int = 256
    workers: int = 0
    out: str | None = None
    resume: str = "auto"
    checkpoint_seconds: float = 60.0
    checkpoint_steps: int | None = None
    tensorboard: bool = True
    progress: bool = True

    def __post_init__(self) -> None:
        for name, check in _CHECKS.items():
            value = getattr(self, name)
            if value is not None or name not in _MAY_BE_NONE:
                object.__setattr__(self, name, check(value, name))
        _check_momentum(self.momentum, self.nesterov)
        _check_strategy(self.strategy, self.nodes)

    @property
    def region(self) -> Region:
        """The corner of the ROC plot in which models are compared."""
        return Region(self.alpha, self.beta)

    def to_json(self) -> str:
        """Return all settings as JSON text."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> TrainConfig:
        """Return the configuration that :meth:`to_json` wrote; an unknown field is an error."""
        values = json.loads(text)
        if not isinstance(values, dict):
            raise ValueError(f"a configuration is a JSON object, got {text!r:.80}")
        return cls.from_dict(values)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainConfig:
        """Return a configuration with these settings; an unknown field is an error."""
        _check_fields(values, [field.name for field in fields(cls)], "TrainConfig")
        return cls(**values)

    def numeric_settings(self) -> dict[str, Any]:
        """Return the settings that decide the numbers of a run, which must not change when it is resumed."""
        settings = {name: value for name, value in asdict(self).items() if name not in _FREE_TO_CHANGE}
        if self.schedule == "cosine":
            settings["epochs"] = self.epochs
        return settings


def _one_of(choices: tuple[str, ...]) -> Callable[[Any, str], str]:
    return lambda value, name: check_choice(value, name, choices)


def _at_least(least: int) -> Callable[[Any, str], int]:
    return lambda value, name: check_count(value, name, at_least=least)


_MAY_BE_NONE = ("ratio", "dual_lr", "patience", "time_limit", "out", "checkpoint_steps")
_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "alpha": check_share,
    "beta": check_share,
    "epochs": _at_least(1),
    "batch_size": _at_least(2),
    "ratio": check_ratio,
    "hard_examples": _one_of(HARD_EXAMPLES),
    "optimizer": _one_of(OPTIMIZERS),
    "lr": check_positive,
    "dual_lr": check_positive,
    "momentum": check_non_negative,
    "nesterov": check_flag,
    "weight_decay": check_non_negative,
    "schedule": _one_of(SCHEDULES),
    "decay": check_share,
    "warmup_epochs": _at_least(0),
    "patience": _at_least(1),
    "time_limit": check_positive,
    "seed": check_seed,
    "accelerator": check_text,
    "devices": _at_least(1),
    "nodes": _at_least(1),
    "strategy": _one_of(STRATEGIES),
    "precision": _one_of(PRECISIONS),
    "eval_batch_size": _at_least(1),
    "workers": _at_least(0),
    "out": check_path,
    "resume": _one_of(RESUME),
    "checkpoint_seconds": check_positive,
    "checkpoint_steps": _at_least(1),
    "tensorboard": check_flag,
    "progress": check_flag,
}


def _check_fields(given: Collection[str], known: Collection[str], what: str) -> None:
    """Raise if a mapping for ``what`` has a key that is not a field of it."""
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"{what} has no field {', '.join(map(repr, unknown))}; its fields are {', '.join(known)}")


def _check_momentum(momentum: float, nesterov: bool) -> float:
    """Return ``momentum`` in [0, 1), above 0 where Nesterov's step needs one."""
    number = check_non_negative(momentum, "momentum")
    if number >= 1.0:
        raise ValueError(f"momentum must be below 1, got {momentum!r}")
    if nesterov and number == 0.0:
        raise ValueError(f"nesterov=True needs a momentum above 0, got {momentum!r}")
    return number


def _check_strategy(strategy: str, nodes: int) -> None:
    """Raise if processes on several machines are to be started from one of them."""
    if nodes > 1 and strategy in ("ddp_spawn", "ddp_fork"):
        raise ValueError(f"strategy={strategy!r} starts processes on one machine, got nodes={nodes}; use 'ddp'")
