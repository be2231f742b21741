"""What `tpauc.TrainConfig` names, as objects: the loss with its warm-up, optimiser, learning rates, sampler."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import torch
from torch import nn

from tpauc._validation import BoolArray
from tpauc.losses.minimax import MinimaxTPAUCLoss, descent_ascent
from tpauc.losses.tpauc_loss import SquareAUCLoss, WarmUp
from tpauc.samplers import HardExampleSampler, StratifiedBatchSampler
from tpauc.training.config import TrainConfig


def make_loss(loss: nn.Module, config: TrainConfig) -> nn.Module:
    """Return ``loss``, after the epochs of ordinary AUC optimisation that ``config`` asks for.

    Examples
    --------
    >>> from tpauc import Polynomial, TPAUCLoss
    >>> config = TrainConfig(alpha=0.3, beta=0.3, warmup_epochs=5)
    >>> type(make_loss(TPAUCLoss(Polynomial(3.0)), config).current).__name__
    'SquareAUCLoss'
    """
    if config.warmup_epochs == 0:
        return loss
    _check_single_warmup(isinstance(loss, WarmUp), config.warmup_epochs)
    return WarmUp(SquareAUCLoss(), loss, config.warmup_epochs)


def make_optimizer(model: nn.Module, loss: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Return the optimiser for the parameters of ``model``, and of ``loss`` if that is a minimax form.

    Examples
    --------
    >>> from tpauc import SquareAUCLoss
    >>> config = TrainConfig(alpha=0.3, beta=0.3, optimizer="adam", lr=0.01)
    >>> type(make_optimizer(nn.Linear(2, 1), SquareAUCLoss(), config)).__name__
    'Adam'
    """
    minimax = [module for module in loss.modules() if isinstance(module, MinimaxTPAUCLoss)]
    loss_parameters = [name for name, _ in loss.named_parameters()]
    _check_optimizer_fits(config.optimizer, len(minimax), loss_parameters)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with_momentum: dict[str, Any] = {"momentum": config.momentum, "nesterov": config.nesterov}
    if config.optimizer == "minimax":
        dual_lr = config.lr if config.dual_lr is None else config.dual_lr
        return descent_ascent(
            model, minimax[0], lr=config.lr, dual_lr=dual_lr, weight_decay=config.weight_decay, **with_momentum
        )
    if config.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=config.lr, weight_decay=config.weight_decay, **with_momentum)
    if config.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=config.lr, weight_decay=config.weight_decay)
    return torch.optim.AdamW(parameters, lr=config.lr, weight_decay=config.weight_decay)


def rate_factor(config: TrainConfig, epoch: int) -> float:
    """Return what the learning rates are multiplied by in an epoch, counted from 0.

    In closed form, so that a resumed run needs nothing but the number of the epoch.

    Examples
    --------
    >>> config = TrainConfig(alpha=0.3, beta=0.3, epochs=4, schedule="cosine")
    >>> [round(rate_factor(config, epoch), 3) for epoch in range(4)]
    [1.0, 0.854, 0.5, 0.146]
    """
    if config.schedule == "exponential":
        return config.decay**epoch
    if config.schedule == "cosine":
        return (1.0 + math.cos(math.pi * epoch / config.epochs)) / 2.0
    return 1.0


def make_sampler(positive: BoolArray, config: TrainConfig) -> StratifiedBatchSampler:
    """Return the sampler of training batches.

    Examples
    --------
    >>> import numpy as np
    >>> positive = np.arange(100) < 20
    >>> config = TrainConfig(alpha=0.3, beta=0.3, batch_size=10, ratio=None)
    >>> make_sampler(positive, config).positives_per_batch
    2
    """
    n_positive = int(positive.sum())
    ratio = (n_positive, positive.size - n_positive) if config.ratio is None else config.ratio
    common: dict[str, Any] = {"batch_size": config.batch_size, "ratio": ratio, "seed": config.seed}
    if config.hard_examples == "none":
        return StratifiedBatchSampler(positive, **common)
    alpha = config.alpha if config.hard_examples == "both" else 1.0
    return HardExampleSampler(positive, alpha=alpha, beta=config.beta, **common)


def _check_single_warmup(loss_warms_up: bool, warmup_epochs: int) -> None:
    """Raise if a loss that has a warm-up of its own is to get another."""
    if loss_warms_up and warmup_epochs:
        raise ValueError(f"loss is a WarmUp already; warmup_epochs must then be 0, got {warmup_epochs}")


def _check_optimizer_fits(optimizer: str, n_minimax: int, loss_parameters: Collection[str]) -> None:
    """Raise if the optimiser would not move the parameters of the loss, or finds none to move by ascent."""
    if optimizer == "minimax" and n_minimax != 1:
        raise ValueError(f"optimizer='minimax' needs a MinimaxTPAUCLoss, found {n_minimax} in loss")
    if optimizer != "minimax" and n_minimax:
        raise ValueError(f"a MinimaxTPAUCLoss needs optimizer='minimax', got {optimizer!r}")
    if not n_minimax and loss_parameters:
        raise ValueError(f"loss has parameters that no optimizer here would move: {', '.join(loss_parameters)}")
