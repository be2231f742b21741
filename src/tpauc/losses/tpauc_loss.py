"""Losses over the pair objective: ``loss(logits, labels)``, pure functions of their arguments.

Labels are 0/1 (or -1/1) of any dtype, logits have any floating dtype, both of shape ``(n,)`` or ``(n, 1)``. The loss of
logits in half precision is a float32: a loss scaled by a ``GradScaler`` exceeds 65504, the largest float16. A batch
that lacks a class gives 0 with a zero gradient. If ``torch.distributed`` is initialised, every process must call the
loss: it returns the loss of the global batch, with a gradient whose average by DistributedDataParallel is the gradient
of the global batch. ``across_processes=False`` uses the local batch only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from tpauc._validation import brief, check_choice, check_count, check_flag, check_logits_and_labels
from tpauc.losses._objective import SCORES, PairObjective, pair_risk
from tpauc.losses._transforms import refuse_transforms
from tpauc.losses.distributed import gather_columns
from tpauc.losses.rank_weighting import TruncatedSide
from tpauc.losses.surrogates import Surrogate, as_surrogate
from tpauc.losses.weighting import TensorFunction, Uniform, Weighting, as_weighting
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region

SurrogateLike = str | Surrogate | Callable[[torch.Tensor], torch.Tensor]


class TPAUCLoss(nn.Module):
    """The relaxed two-way partial AUC risk, exact over all pairs of the batch.

    With hardness ``h`` (``1 - f`` for a positive, ``f`` for a negative, ``f = sigmoid(logit)``)

        R = 1/(n+ n-) sum_ij psi+(h_i) psi-(h_j) l(1 - h_i - h_j)

    If all scores move to one side, the weights of a whole class vanish and R tends to 0, whatever the ranking. With
    ``normalize=True`` the loss is instead the mean of the pair loss under the weights,

        R / (P0 N0),        P0 = mean of psi+ over the positives, N0 = mean of psi- over the negatives

    which small weights cannot lower. With uniform weights this is the AUC risk; as the weighting gets sharper, it tends
    to the risk of the hardest examples.

    Parameters
    ----------
    weighting : Weighting or callable
        ``psi`` of both classes, or of the positives if ``negative_weighting`` is given: `Polynomial`, `Exponential`,
        `Uniform`, `Anchored`, or a function of the hardness.
    negative_weighting : Weighting or callable, optional
        ``psi`` of the negatives. ``TPAUCLoss(Uniform(), Polynomial(3.0))`` is the one-way partial AUC.
    surrogate : str, Surrogate or callable, default="square"
        Pair loss ``l``: "square", "exponential", "logistic", "sigmoid", "hinge", "squared_hinge", an object such as
        ``Hinge(margin=0.5)``, or an elementwise function of the margin.
    scores : {"sigmoid", "logit"}, default="sigmoid"
        Margins are differences of sigmoid scores, as in the paper, or of logits.
    normalize : bool, default=False
        Divide by the mean weights of both classes. The weights of `Polynomial` and `Exponential` are computed relative
        to the hardest example of the class, so logits of any size are safe. If a user's ``psi`` is 0 for a whole class,
        the examples of that class get equal weights. `Anchored` weights always have a mean of 1.
    detach_weights : bool, default=False
        Treat the weights as constants in the gradient.
    across_processes : bool, default=True
        Whether pairs are formed from the examples of all processes.

    Examples
    --------
    >>> from tpauc import Polynomial
    >>> logits, labels = torch.tensor([2.0, -1.0, 0.5, -2.0], requires_grad=True), torch.tensor([1, 1, 0, 0])
    >>> loss = TPAUCLoss(Polynomial(gamma=3.0))(logits, labels)
    >>> loss.backward()
    >>> round(loss.item(), 4), logits.grad.shape
    (0.4015, torch.Size([4]))
    >>> printed, normalised = (TPAUCLoss(Polynomial(3.0), normalize=flag) for flag in (False, True))
    >>> [round(loss(logits + 20, labels).item(), 4) for loss in (printed, normalised)]  # all scores near 1
    [0.0, 1.0]
    """

    def __init__(
        self,
        weighting: Weighting | TensorFunction,
        negative_weighting: Weighting | TensorFunction | None = None,
        *,
        surrogate: SurrogateLike = "square",
        scores: str = "sigmoid",
        normalize: bool = False,
        detach_weights: bool = False,
        across_processes: bool = True,
    ) -> None:
        super().__init__()
        positive = as_weighting(weighting)
        negative = positive if negative_weighting is None else as_weighting(negative_weighting, "negative_weighting")
        self.objective = PairObjective(
            positive.for_positives(),
            negative.for_negatives(),
            as_surrogate(surrogate),
            check_choice(scores, "scores", SCORES),
            check_flag(across_processes, "across_processes"),
            check_flag(normalize, "normalize"),
            check_flag(detach_weights, "detach_weights"),
        )

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the risk, a tensor of shape (), at least float32."""
        refuse_transforms(self, logits=logits, labels=labels)
        flat_logits, y = check_logits_and_labels(logits, labels)
        return pair_risk(flat_logits, y, self.objective)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.objective._asdict().items())


class SquareAUCLoss(TPAUCLoss):
    """The square surrogate of the whole AUC: `TPAUCLoss` with `Uniform` weights for both classes.

    Examples
    --------
    >>> SquareAUCLoss()(torch.zeros(4), torch.tensor([1, 0, 0, 0]))
    tensor(1.)
    """

    def __init__(self, *, across_processes: bool = True) -> None:
        super().__init__(Uniform(), across_processes=across_processes)


class WarmUp(nn.Module):
    """One loss for the first epochs, another from then on.

    Parameters
    ----------
    first, then : nn.Module
        Losses called as ``loss(logits, labels)``.
    epochs : int
        Number of epochs with ``first``; 0 means ``then`` from the start.

    Examples
    --------
    >>> from tpauc import Polynomial
    >>> loss = WarmUp(SquareAUCLoss(), TPAUCLoss(Polynomial(3.0)), epochs=2)
    >>> loss.set_epoch(2)
    >>> type(loss.current).__name__
    'TPAUCLoss'
    """

    def __init__(self, first: nn.Module, then: nn.Module, epochs: int) -> None:
        super().__init__()
        for name, loss in (("first", first), ("then", then)):
            if not isinstance(loss, nn.Module):
                raise TypeError(f"{name} must be a loss module such as SquareAUCLoss(), got {brief(loss)}")
        self.first, self.then = first, then
        self.epochs = check_count(epochs, "epochs", at_least=0)
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the current epoch, counted from 0, here and in the two losses if they have this method."""
        self._epoch = check_count(epoch, "epoch", at_least=0)
        for loss in (self.first, self.then):
            set_epoch = getattr(loss, "set_epoch", None)
            if callable(set_epoch):
                set_epoch(epoch)

    @property
    def current(self) -> nn.Module:
        """The loss of this epoch."""
        return self.first if self._epoch < self.epochs else self.then

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the current loss."""
        value: torch.Tensor = self.current(logits, labels)
        return value

    def get_extra_state(self) -> dict[str, int]:
        """Return the epoch, which determines the current loss of a resumed run."""
        return {"epoch": self._epoch}

    def set_extra_state(self, state: dict[str, int]) -> None:
        """Restore the epoch of a saved state."""
        if not isinstance(state, Mapping) or "epoch" not in state:
            raise ValueError(f"state must be what get_extra_state() returns, with an epoch, got {brief(state)}")
        self._epoch = check_count(state["epoch"], "epoch", at_least=0)


def class_weightings(loss: nn.Module) -> tuple[Weighting, Weighting]:
    """Return the weightings of positives and of negatives in ``loss``, in its second phase if it is a `WarmUp`.

    A loss without weightings, such as cross-entropy, counts as `Uniform`.

    Examples
    --------
    >>> class_weightings(WarmUp(SquareAUCLoss(), TPAUCLoss(Uniform(), torch.sqrt), epochs=2))[0]
    Uniform()
    """
    if isinstance(loss, WarmUp):
        return class_weightings(loss.then)
    objective = getattr(loss, "objective", None)
    if isinstance(objective, PairObjective):
        return objective.positive, objective.negative
    return Uniform(), Uniform()


class EmpiricalRisks(NamedTuple):
    """Three risks that the paper's bounds compare, each a mean over all ``n+ n-`` pairs."""

    relaxed: float
    truncated: float
    zero_one: float


@torch.no_grad()
def empirical_risks(
    logits: torch.Tensor,
    labels: torch.Tensor,
    weighting: Weighting | TensorFunction,
    negative_weighting: Weighting | TensorFunction | None = None,
    *,
    alpha: float,
    beta: float,
    surrogate: SurrogateLike = "square",
    across_processes: bool = True,
) -> EmpiricalRisks:
    """Return the relaxed risk, the truncated surrogate risk and the 0-1 risk of a batch or data set.

    ``relaxed`` is `TPAUCLoss`; ``truncated`` sums the surrogate over the pairs of the region only; ``zero_one`` counts
    the wrong pairs of the region. All three are divided by ``n+ n-``, as in the paper's Proposition 2, which gives
    conditions for ``relaxed >= truncated``; an upper-bound surrogate gives ``truncated >= zero_one``.

    Parameters
    ----------
    logits, labels : Tensor of shape (n,) or (n, 1)
        Both classes must be present and the region must select at least one example of each.
    weighting, negative_weighting, surrogate, across_processes
        As in `TPAUCLoss`.
    alpha, beta : float
        The region.

    Examples
    --------
    >>> from tpauc import Polynomial
    >>> logits, labels = torch.tensor([2.0, -1.0, 0.5, -2.0]), torch.tensor([1, 1, 0, 0])
    >>> risks = empirical_risks(logits, labels, Polynomial(3.0), alpha=0.5, beta=0.5)
    >>> [round(risk, 4) for risk in risks]
    [0.4015, 0.458, 0.25]
    """
    region = Region(alpha, beta)
    flat_logits, y = check_logits_and_labels(logits, labels)
    check_flag(across_processes, "across_processes")
    if not flat_logits.isfinite().all():
        raise ValueError("logits must be finite here, found NaN or infinite values")
    (flat_logits, y), _ = gather_columns(torch.stack((flat_logits, y)), across_processes)
    n_positive = int(y.sum())
    n_negative = y.numel() - n_positive
    share = region.hard_positives(n_positive) * region.hard_negatives(n_negative) / (n_positive * n_negative)
    relaxed = TPAUCLoss(weighting, negative_weighting, surrogate=surrogate, across_processes=False)
    truncated = TPAUCLoss(
        TruncatedSide(region.alpha), TruncatedSide(region.beta), surrogate=surrogate, across_processes=False
    )
    tpauc = tpauc_score(
        y.cpu().numpy(), flat_logits.cpu().numpy().astype(np.float64), alpha=region.alpha, beta=region.beta
    )
    return EmpiricalRisks(
        relaxed=relaxed(flat_logits, y).item(),
        truncated=share * truncated(flat_logits, y).item(),
        zero_one=share * (1.0 - tpauc),
    )
