"""`TrainConfig`: all settings of a training run, checked when made, and stored as JSON in the folder of the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from tpauc._validation import (
    brief,
    check_choice,
    check_count,
    check_flag,
    check_momentum,
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

# A resumed run may change how long it trains, where it runs and what it shows, but nothing that enters its numbers.
_MAY_CHANGE_ON_RESUME = (
    *("epochs", "patience", "time_limit", "accelerator", "devices", "nodes", "strategy", "eval_batch_size", "workers"),
    *("out", "resume", "checkpoint_seconds", "checkpoint_steps", "tensorboard", "progress"),
)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of :func:`tpauc.fit`; the defaults are the paper's protocol.

    Parameters
    ----------
    alpha, beta : float
        The region, each in (0, 1]. The model with the best validation TPAUC in it is kept.
    epochs : int, default=50
        Passes over the training data.
    batch_size : int, default=128
        Examples per step, over all processes together.
    ratio : (float, float) or None, default=(1, 10)
        Positives to negatives in a batch. None keeps the ratio of the training data.
    hard_examples : {"none", "negatives", "both"}, default="none"
        After the warm-up, train only on the share ``beta`` of the negatives with the highest scores; with "both" also
        only on the share ``alpha`` of the positives with the lowest scores. They are selected before every epoch, as
        in the paper's truncated baselines.
    optimizer : {"sgd", "adam", "adamw", "minimax"}, default="sgd"
        "minimax" is descent-ascent with momentum; `MinimaxTPAUCLoss` and `InstanceWiseTPAUCLoss` need it.
    lr : float, default=1e-3
        Learning rate of the model.
    dual_lr : float, optional
        Learning rate of the variables of the loss, ``a`` (descent) and ``b`` (ascent); ``lr`` by default.
    momentum, nesterov : float, bool, default=0.9, True
        Momentum of "sgd" and "minimax", and whether it is Nesterov's.
    weight_decay : float, default=1e-5
        Weight decay of the model's parameters.
    schedule : {"exponential", "cosine", "constant"}, default="exponential"
        How learning rates change after each epoch: multiplied by ``decay``, along half a cosine down to 0, or not.
    decay : float, default=0.99
        Factor of the exponential schedule, in (0, 1].
    warmup_epochs : int, default=0
        Epochs of ordinary AUC optimisation (`SquareAUCLoss`) before the loss given to ``fit``.
    patience : int, optional
        Stop after this number of epochs without a better validation TPAUC.
    time_limit : float, optional
        Stop after this number of seconds of training, including earlier sessions of a resumed run.
    seed : int, default=0
        Seed of batches, augmentation and dropout.
    accelerator : str, default="auto"
        Fabric's "cpu", "cuda", "mps", ...; "auto" takes the best one available.
    devices, nodes : int, default=1
        Number of processes per machine, number of machines.
    strategy : {"auto", "ddp", "ddp_spawn", "ddp_fork"}, default="auto"
        How several processes are started. "ddp_spawn" starts them within the call of ``fit``: all its arguments must
        be picklable, and a script needs ``if __name__ == "__main__":``. "ddp_fork" needs neither and works in a
        notebook, as long as neither CUDA nor several threads have been used before. "ddp" runs the whole script once
        per process, or joins the processes that ``torchrun`` or SLURM has started. "auto" is "ddp" under such a
        launcher or with several machines, and "ddp_spawn" otherwise.
    precision : {"32-true", "64-true", "16-mixed", "bf16-mixed"}, default="32-true"
        Precision of the model; losses and metrics are computed at least in float32.
    eval_batch_size : int, default=256
        Examples per batch where scores are computed without gradient.
    workers : int, default=0
        Processes that read examples of a ``Dataset`` ahead, per training process.
    out : str or path, optional
        Folder of the run: checkpoints, logs and this configuration. None writes nothing.
    resume : {"auto", "never"}, default="auto"
        "auto" resumes from the last checkpoint in ``out`` if there is one. "never" raises an error if there is one.
    checkpoint_seconds : float, default=60.0
        Longest time between two checkpoints, within an epoch too.
    checkpoint_steps : int, optional
        Save also after every such number of steps.
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
            if value is not None or name not in _OPTIONAL:
                object.__setattr__(self, name, check(value, name))
        if self.nesterov and self.momentum == 0.0:
            raise ValueError(f"nesterov=True needs a momentum above 0, got {self.momentum!r}")
        if self.nodes > 1 and self.strategy in ("ddp_spawn", "ddp_fork"):
            raise ValueError(
                f"strategy={self.strategy!r} starts processes on one machine, got nodes={self.nodes}; use 'ddp'"
            )

    @property
    def region(self) -> Region:
        """The region of the ROC plane in which models are compared."""
        return Region(self.alpha, self.beta)

    def to_json(self) -> str:
        """Return all settings as JSON text."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> TrainConfig:
        """Return the configuration that :meth:`to_json` wrote; an unknown field is an error."""
        try:
            values = json.loads(check_text(text, "text"))
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"text must be JSON, got {brief(text)}: {error}") from error
        if not isinstance(values, dict):
            raise ValueError(f"text: a configuration is a JSON object, got {brief(text)}")
        return cls.from_dict(values)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainConfig:
        """Return a configuration with these settings; an unknown field is an error."""
        if not isinstance(values, Mapping):
            raise TypeError(f"values must be a mapping of settings, got {brief(values)}")
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(values) - set(known), key=str):
            names = ", ".join(map(repr, unknown))
            raise ValueError(f"values: TrainConfig has no field {names}; its fields are {', '.join(known)}")
        if missing := [name for name in ("alpha", "beta") if name not in values]:
            raise ValueError(f"values must hold {' and '.join(missing)}, got {brief(values)}")
        return cls(**values)

    def numeric_settings(self) -> dict[str, Any]:
        """Return the settings that enter the numbers of a run; they must not change when it is resumed."""
        settings = {name: value for name, value in asdict(self).items() if name not in _MAY_CHANGE_ON_RESUME}
        if self.schedule == "cosine":
            settings["epochs"] = self.epochs
        return settings


def _one_of(choices: tuple[str, ...]) -> Callable[[Any, str], str]:
    return lambda value, name: check_choice(value, name, choices)


def _at_least(least: int) -> Callable[[Any, str], int]:
    return lambda value, name: check_count(value, name, at_least=least)


_OPTIONAL = ("ratio", "dual_lr", "patience", "time_limit", "out", "checkpoint_steps")
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
    "momentum": check_momentum,
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
