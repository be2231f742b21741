"""The peers as plain functions of the same inputs as ours, each with a note on what it took to run it.

A peer that is not installed, or does not import, raises ``NotMeasured``, whose message goes into the table. Losses take
logits: peers that want scores in [0, 1] get ``sigmoid(logits)``, which their users have to compute as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from record import NotMeasured


@dataclass(frozen=True)
class Peer:
    """A peer's function, the parameters it learns beside the model's, and what had to be done to run it."""

    run: Callable[..., Any]
    parameters: tuple[Tensor, ...] = ()
    note: str = ""


def xcurve_pair_matrix(scheme: str = "Poly") -> Peer:
    """XCurve's pairwise TPAUC loss: builds the ``n+ x n-`` matrix. ``gamma`` is exponent and margin in one."""
    losses, note = _xcurve_with_the_missing_name()
    loss = losses.RelaxedPAUCLoss(gamma=1, weight_scheme=scheme, AUC_type="TP")
    return Peer(lambda logits, labels: loss(torch.sigmoid(logits), labels), note=note)


@cache  # the name stays defined once it is, and the note must not depend on who asked first
def _xcurve_with_the_missing_name() -> tuple[ModuleType, str]:
    losses = module("XCurve.AUROC.losses.PartialAUROC")
    try:
        losses.RelaxedPAUCLoss(gamma=1, weight_scheme="Poly", AUC_type="TP")
    except NameError as error:
        # Its constructor says super(PAUCLoss, self): the class was renamed, that line was not.
        losses.PAUCLoss = losses.RelaxedPAUCLoss
        return losses, f"as published: NameError ({error}); run with that name defined"
    return losses, ""


def xcurve_minimax() -> Peer:
    """XCurve's instance-wise minimax form, Poly, with its 10 + 8 variables."""
    losses = module("XCurve.AUROC.losses.PartialAUROC")
    options = {"gamma": 1, "weight_scheme": "Poly", "AUC_type": "TP"}
    note = ""
    try:
        loss = losses.InsRelaxedPAUCLoss(**options)
        if loss.a.is_cuda:  # as published, on a machine with a GPU: everything else here is on the CPU
            raise RuntimeError("its variables are on the GPU")
    except (AssertionError, RuntimeError) as error:
        with _CudaMeansCpu():
            loss = losses.InsRelaxedPAUCLoss(**options)
        note = f"as published: hard-wired to CUDA ({error}); run with its variables created on the CPU"
    return Peer(lambda logits, labels: loss(torch.sigmoid(logits), labels), (loss.a, loss.b), note)


def libauc_kl(size: int) -> Peer:
    """LibAUC's KL form of TPAUC, which keeps one running average per row of the data set."""
    loss = module("libauc.losses").tpAUC_KL_Loss(data_len=size, device=torch.device("cpu"))
    rows = torch.arange(size)
    return Peer(
        lambda logits, labels: loss(torch.sigmoid(logits), labels, rows), note="another objective of the same region"
    )


def libauc_cvar(size: int) -> Peer:
    """LibAUC's CVaR form of TPAUC(0.3, 0.3), which keeps a threshold and a dual variable per row of the data set."""
    loss = module("libauc.losses.auc").tpAUC_CVaR_loss(
        size, threshold=1.0, theta_0=0.3, theta_1=0.3, device=torch.device("cpu")
    )
    rows = torch.arange(size)
    return Peer(lambda logits, labels: loss(torch.sigmoid(logits), labels, rows))


def xcurve_unbiased() -> Peer:
    """XCurve's instance-wise form of TPAUC(0.3, 0.3), whose softplus selection is not the risk."""
    loss = module("XCurve.AUROC.losses.PartialAUROC").UnbiasedPAUCLoss(0.3, 0.3, torch.device("cpu"))
    variables = (loss.a, loss.b, loss.g, loss.s_p, loss.s_n)
    return Peer(
        lambda logits, labels: loss(torch.sigmoid(logits), labels),
        variables,
        "theirs is O(n) as well, of another value",
    )


def libauc_metric() -> Peer:
    """LibAUC's TPAUC(0.3, 0.3)."""
    score = module("libauc.metrics").pauc_roc_score
    return Peer(lambda labels, scores: score(labels, scores, max_fpr=0.3, min_tpr=0.7))


def xcurve_metric() -> Peer:
    """XCurve's TPAUC(0.3, 0.3); its ``min_tpr`` means alpha."""
    score = module("XCurve.Metrics").PartialAUROC
    return Peer(lambda labels, scores: score(labels, scores, min_tpr=0.3, max_fpr=0.3))


def sklearn_metric() -> Peer:
    """scikit-learn's one-way partial AUC, the nearest that it has."""
    score = module("sklearn.metrics").roc_auc_score
    return Peer(
        lambda labels, scores: score(labels, scores, max_fpr=0.3), note="one-way only: scikit-learn has no TPAUC"
    )


def module(name: str) -> ModuleType:
    """Import a module of a peer."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name == package:
            raise NotMeasured(f"peer not installed: {package}") from error
        raise NotMeasured(f"{package} does not import: {error}") from error


class _CudaMeansCpu(TorchFunctionMode):
    """Within it, tensors asked for on "cuda" are created on the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("device") == "cuda":
            kwargs["device"] = "cpu"
        return func(*args, **kwargs)
