"""Scores of a model on a data set, and the metrics on them: exact TPAUC, OPAUC, AUC, and the risks of the bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import nn

from tpauc._validation import (
    BoolArray,
    brief,
    check_both_classes,
    check_count,
    check_labels,
    check_logit_count,
    check_module,
    check_same_length,
    check_scores,
)
from tpauc.losses.distributed import gather_columns
from tpauc.losses.tpauc_loss import class_weightings, empirical_risks
from tpauc.metrics.area import area_in_region
from tpauc.region import Region
from tpauc.training.config import TrainConfig
from tpauc.training.data import Data, Examples, as_examples, on_device

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True)
class Evaluation:
    """What :func:`evaluate` measures; each in [0, 1], higher is better.

    Examples
    --------
    >>> Evaluation.of([True, True, False, False], [0.9, 0.6, 0.7, 0.1], Region(0.5, 0.5))
    Evaluation(tpauc=0.0, opauc=0.5, auc=0.75)
    """

    tpauc: float
    opauc: float
    auc: float

    @classmethod
    def of(cls, positive: npt.ArrayLike, scores: npt.ArrayLike, region: Region) -> Evaluation:
        """Measure given scores."""
        if not isinstance(region, Region):
            raise TypeError(f"region must be a Region, got {brief(region)}")
        labels, checked = check_labels(positive, "positive"), check_scores(scores, "scores")
        check_same_length("positive", labels, "scores", checked)
        check_both_classes(labels, "positive")
        return cls(*(area_in_region(labels, checked, r) for r in (region, Region(1.0, region.beta), Region(1.0, 1.0))))


def evaluate(model: nn.Module, data: Data, *, alpha: float, beta: float, batch_size: int = 1024) -> Evaluation:
    """Return TPAUC in the region, OPAUC up to ``beta`` and AUC of a model on a data set, all exact.

    Parameters
    ----------
    model : nn.Module
        Returns one logit per input. It is used in evaluation mode on its device, and left in the mode it was in.
    data : (inputs, labels) or Dataset
        Two tensors, or a map-style data set of pairs.
    alpha, beta : float
        The region, each in (0, 1].
    batch_size : int, default=1024
        Examples per batch.

    Returns
    -------
    Evaluation
        With ``tpauc``, ``opauc`` and ``auc``.

    Examples
    --------
    >>> inputs, labels = torch.tensor([[0.9], [0.6], [0.7], [0.1]]), torch.tensor([1, 1, 0, 0])
    >>> evaluate(nn.Identity(), (inputs, labels), alpha=0.5, beta=0.5)
    Evaluation(tpauc=0.0, opauc=0.5, auc=0.75)
    """
    region, examples = Region(alpha, beta), as_examples(data, "data")
    parameter = next(check_module(model, "model").parameters(), None)
    device = torch.device("cpu") if parameter is None else parameter.device
    scores = scores_of(
        model,
        examples,
        batch_size=check_count(batch_size, "batch_size"),
        forward=lambda inputs: model(on_device(inputs, device)),
    )
    return Evaluation.of(examples.positive, scores.numpy(), region)


# -------------------------------------------------------------------------------------------------------------- scores


@torch.no_grad()
def scores_of(
    model: nn.Module,
    examples: Examples,
    *,
    batch_size: int,
    rows: range | None = None,
    workers: int = 0,
    forward: Callable[[Any], torch.Tensor] | None = None,
) -> torch.Tensor:
    """Return the logits of consecutive rows, all by default, as a flat tensor on the CPU, float32 or float64.

    The model is used in evaluation mode, and every submodule is left in the mode it was in. ``forward`` computes logits
    from inputs with ``model``, for example on another device; ``model`` itself by default.
    """
    rows = range(len(examples.positive)) if rows is None else rows
    logits: list[torch.Tensor] = []
    with evaluating(model):
        for inputs in examples.in_order(rows, batch_size, workers=workers):
            output = (forward or model)(inputs)
            flat = check_logit_count(output, min(batch_size, len(rows) - batch_size * len(logits)))
            logits.append(flat if flat.dtype == torch.float64 else flat.float())
    return torch.cat(logits).cpu() if logits else torch.empty(0)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model in evaluation mode, and afterwards every submodule back in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def scores_over_processes(fabric: Fabric, model: nn.Module, examples: Examples, config: TrainConfig) -> torch.Tensor:
    """Return the logits of all rows, in order, on the CPU of every process; each process computes a block of rows.

    ``model`` is the bare model. A wrapper that communicates at every batch would wait forever where another process has
    fewer batches.
    """

    def forward(inputs: Any) -> torch.Tensor:
        precision = fabric.strategy.precision
        with precision.forward_context():
            logits: torch.Tensor = model(precision.convert_input(on_device(inputs, fabric.device)))
        return logits

    several = fabric.world_size > 1
    if several:
        # Each process has its own BatchNorm statistics; the model that is saved has those of the first process.
        for buffer in model.buffers():
            dist.broadcast(buffer, src=0)
    rows = block_of(len(examples.positive), fabric.global_rank, fabric.world_size)
    own = scores_of(
        model, examples, batch_size=config.eval_batch_size, rows=rows, workers=config.workers, forward=forward
    )
    joined, _ = gather_columns(own.to(fabric.device), several)
    return joined.cpu()


def block_of(n_rows: int, part: int, parts: int) -> range:
    """Return the rows of one of ``parts`` consecutive blocks whose sizes differ by at most 1."""
    return range(part * n_rows // parts, (part + 1) * n_rows // parts)


# ------------------------------------------------------------------------------------------------------------- metrics


def areas_of(row: Mapping[str, float]) -> tuple[float, float, float]:
    """Return what counts as better on the validation data: TPAUC, of equal ones OPAUC, of equal ones AUC.

    Where the region is not reached TPAUC is 0, and the other areas still tell which model is closer to it.
    """
    return row["tpauc"], row["opauc"], row["auc"]


def rank_of_epoch(row: Mapping[str, float]) -> tuple[float, ...]:
    """Return the rank of an epoch, the highest being the best: its areas, then a lower training loss, then the later.

    Examples
    --------
    >>> first = {"epoch": 1, "loss": 0.8, "tpauc": 0.0, "opauc": 0.1, "auc": 0.67}
    >>> second = {"epoch": 2, "loss": 0.9, "tpauc": 0.0, "opauc": 0.1, "auc": 0.9}
    >>> max([first, second], key=rank_of_epoch)["epoch"]
    2
    """
    return *areas_of(row), -row["loss"], row["epoch"]


def measure(scores: torch.Tensor, positive: BoolArray, loss: nn.Module, region: Region) -> dict[str, float]:
    """Return TPAUC, OPAUC and AUC, and the three risks of the paper's bound.

    The risks always have the square surrogate, so that they take O(n) and can be compared between losses. The relaxed
    risk has the weighting of the loss, or the uniform one if the loss has none.

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
