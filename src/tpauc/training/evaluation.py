"""How good a model is in the region: exact TPAUC, OPAUC and AUC of its scores on a data set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt
import torch
from torch import nn

from tpauc._validation import check_count, check_labels_and_scores, check_module
from tpauc.metrics.area import area_in_region
from tpauc.region import Region
from tpauc.training.data import Data, as_examples, on_device, scores_of


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
        labels, checked = check_labels_and_scores(positive, scores)
        return cls(*(area_in_region(labels, checked, r) for r in (region, Region(1.0, region.beta), Region(1.0, 1.0))))


def evaluate(model: nn.Module, data: Data, *, alpha: float, beta: float, batch_size: int = 1024) -> Evaluation:
    """Return TPAUC in the region, OPAUC up to ``beta`` and AUC of a model on a data set, all exact.

    Parameters
    ----------
    model : nn.Module
        Makes a logit of each input. Used in evaluation mode on the device it is on, and left in the mode it was in.
    data : (inputs, labels) or Dataset
        Two tensors, or a map-style data set of pairs.
    alpha, beta : float
        The region, each in (0, 1].
    batch_size : int, default=1024
        Examples at a time.

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
