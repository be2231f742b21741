"""What `tpauc.TrainConfig` names, as objects: Fabric, the loss with its warm-up, optimiser, learning rates, sampler."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from tpauc._validation import BoolArray, import_extra
from tpauc.losses.minimax import SaddleLoss, descent_ascent
from tpauc.losses.tpauc_loss import SquareAUCLoss, WarmUp
from tpauc.samplers import HardExampleSampler, StratifiedBatchSampler
from tpauc.training.config import TrainConfig

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def make_fabric(config: TrainConfig, *, started_here: bool) -> Fabric:
    """Return Fabric for this process, which `tpauc.fit` has started itself if ``started_here``."""
    fabric = import_extra("lightning_fabric", "train")
    _check_world_size(config.devices * config.nodes, os.environ)
    several = config.devices * config.nodes > 1 or config.strategy != "auto"
    made: Fabric = fabric.Fabric(
        accelerator=config.accelerator,
        devices=config.devices,
        num_nodes=config.nodes,
        strategy="ddp" if several else "auto",
        precision=config.precision,
        plugins=[fabric.plugins.environments.LightningEnvironment()] if started_here else None,
    )
    return made


def _check_world_size(processes: int, environment: Mapping[str, str]) -> None:
    """Raise if ``torchrun`` has started a number of processes other than ``processes``."""
    started = environment.get("WORLD_SIZE")
    if "TORCHELASTIC_RUN_ID" in environment and started is not None and int(started) != processes:
        raise ValueError(f"torchrun has started {started} processes, but devices * nodes is {processes}")


def make_loss(loss: nn.Module, config: TrainConfig) -> nn.Module:
    """Return ``loss``, preceded by ordinary AUC optimisation for ``config.warmup_epochs``."""
    if config.warmup_epochs == 0:
        return loss
    if isinstance(loss, WarmUp):
        raise ValueError(f"loss is a WarmUp already; warmup_epochs must then be 0, got {config.warmup_epochs}")
    return WarmUp(SquareAUCLoss(), loss, config.warmup_epochs)


def make_optimizer(model: nn.Module, loss: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Return the optimiser of the parameters of ``model``, and of ``loss`` if it is a minimax form."""
    saddles = [module for module in loss.modules() if isinstance(module, SaddleLoss)]
    if config.optimizer == "minimax" and len(saddles) != 1:
        raise ValueError(
            f"optimizer='minimax' needs a MinimaxTPAUCLoss or an InstanceWiseTPAUCLoss, found {len(saddles)} in loss"
        )
    if config.optimizer != "minimax" and saddles:
        name = type(saddles[0]).__name__
        raise ValueError(f"loss has a {name}, which needs optimizer='minimax', got {config.optimizer!r}")
    loss_parameters = [name for name, _ in loss.named_parameters()]
    if not saddles and loss_parameters:
        raise ValueError(f"loss has parameters that no optimizer here would move: {', '.join(loss_parameters)}")
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    common: dict[str, Any] = {"lr": config.lr, "weight_decay": config.weight_decay}
    momentum: dict[str, Any] = {"momentum": config.momentum, "nesterov": config.nesterov}
    if config.optimizer == "minimax":
        dual_lr = config.lr if config.dual_lr is None else config.dual_lr
        return descent_ascent(model, saddles[0], dual_lr=dual_lr, **common, **momentum)
    if config.optimizer == "sgd":
        return torch.optim.SGD(parameters, **common, **momentum)
    if config.optimizer == "adam":
        return torch.optim.Adam(parameters, **common)
    return torch.optim.AdamW(parameters, **common)


def rate_factor(config: TrainConfig, epoch: int) -> float:
    """Return the factor of all learning rates in an epoch, counted from 0.

    It is in closed form, so that a resumed run needs only the number of the epoch.
    """
    if config.schedule == "exponential":
        return config.decay**epoch
    if config.schedule == "cosine":
        return (1.0 + math.cos(math.pi * epoch / config.epochs)) / 2.0
    return 1.0


def make_sampler(positive: BoolArray, config: TrainConfig) -> StratifiedBatchSampler:
    """Return the sampler of training batches."""
    n_positive = int(positive.sum())
    ratio = (n_positive, positive.size - n_positive) if config.ratio is None else config.ratio
    common: dict[str, Any] = {"batch_size": config.batch_size, "ratio": ratio, "seed": config.seed}
    if config.hard_examples == "none":
        return StratifiedBatchSampler(positive, **common)
    alpha = config.alpha if config.hard_examples == "both" else 1.0
    return HardExampleSampler(positive, alpha=alpha, beta=config.beta, **common)
