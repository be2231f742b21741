"""Scores of a whole data set by the processes of a run together, and what is measured on them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import nn

from tpauc._validation import BoolArray
from tpauc.losses.distributed import gather_columns
from tpauc.losses.tpauc_loss import class_weightings, empirical_risks
from tpauc.region import Region
from tpauc.training.config import TrainConfig
from tpauc.training.data import Examples, block_of, on_device, scores_of
from tpauc.training.evaluation import Evaluation

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class Scorer:
    """A model that scores data sets, each process a block of rows.

    Parameters
    ----------
    fabric : Fabric
        Launched.
    model : nn.Module
        The bare model: a wrapper that talks to the other processes at every batch would wait forever where they have
        fewer batches.
    config : TrainConfig
        For batch size and workers.
    """

    def __init__(self, fabric: Fabric, model: nn.Module, config: TrainConfig) -> None:
        self._fabric, self._model, self._config = fabric, model, config

    def scores(self, examples: Examples) -> torch.Tensor:
        """Return the logits of all rows, in their order, on the CPU of every process."""
        several = self._fabric.world_size > 1
        if several:
            # Each process has statistics of its own (BatchNorm); the model that is saved has those of the first.
            for buffer in self._model.buffers():
                dist.broadcast(buffer, src=0)
        own = scores_of(
            self._model,
            examples,
            batch_size=self._config.eval_batch_size,
            rows=block_of(len(examples.positive), self._fabric.global_rank, self._fabric.world_size),
            workers=self._config.workers,
            forward=self._forward,
        )
        joined, _ = gather_columns(own.to(self._fabric.device), several)
        return joined.cpu()

    def _forward(self, inputs: Any) -> torch.Tensor:
        precision = self._fabric.strategy.precision
        with precision.forward_context():
            logits: torch.Tensor = self._model(precision.convert_input(on_device(inputs, self._fabric.device)))
        return logits


def measure(scores: torch.Tensor, positive: BoolArray, loss: nn.Module, region: Region) -> dict[str, float]:
    """Return TPAUC, OPAUC and AUC, and the three risks of the paper's bound.

    The risks have the square surrogate whatever the loss has, so that they take O(n) and can be compared between
    losses; the relaxed one has the loss's weighting, the uniform one where it has none.

    Examples
    --------
    >>> import numpy as np
    >>> from tpauc import SquareAUCLoss
    >>> scores, positive = torch.tensor([2.0, 0.0, 0.5, -2.0]), np.array([True, True, False, False])
    >>> list(measure(scores, positive, SquareAUCLoss(), Region(0.5, 0.5)))
    ['tpauc', 'opauc', 'auc', 'relaxed_risk', 'truncated_risk', 'zero_one_risk']
    """
    risks = empirical_risks(
        scores,
        torch.from_numpy(positive),
        *class_weightings(loss),
        alpha=region.alpha,
        beta=region.beta,
        across_processes=False,
    )
    measured = asdict(Evaluation.of(positive, scores.numpy(), region))
    return {**measured, **{f"{name}_risk": value for name, value in risks._asdict().items()}}
