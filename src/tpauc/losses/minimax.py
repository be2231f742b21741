"""The instance-wise saddle-point form of the square TPAUC risk, and its descent-ascent optimiser.

Every product of a positive and a negative moment is a saddle value (the paper's lemma),

    p q = min over a1, a2 of max over b of  1/2 [ w(b, p + q) - w(a1, p) - w(a2, q) ],      w(x, y) = 2 x y - x^2,

and a product with a minus sign exchanges the roles of ``a`` and ``b``. So the risk R, a sum of such products, becomes

    min over theta, a  of  max over b  of   a . zeta1 + b . zeta2 + |a~|^2 - |b~|^2

where the zeta are *linear* in the class moments: a sum over examples, without pairs. At the saddle every variable
equals its moment, or its sum of two moments, and the value is R.

``form="paper"`` is Theorem 1: moments of the scores, six products, ``a`` in R^10 and ``b`` in R^8. ``form="compact"``
uses the moments of the hardness, ``R = P2 N0 + 2 P1 N1 + P0 N2``: three products, ``a`` in R^6 and ``b`` in R^3.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import nn

from tpauc._validation import (
    brief,
    check_choice,
    check_flag,
    check_logits_and_labels,
    check_module,
    check_momentum,
    check_non_negative,
    check_positive,
    check_trainable,
)
from tpauc.losses._objective import PairObjective, hardness_moments
from tpauc.losses._transforms import refuse_transforms
from tpauc.losses.surrogates import Square
from tpauc.losses.weighting import TensorFunction, Weighting, WeightingFunction, as_weighting


class Product(NamedTuple):
    """The term ``factor * first * second`` of the risk, a product of two moments."""

    factor: float
    first: int
    second: int


# The moments 1/n sum v x^k of each class; the paper's names, on scores: c+, f+, f+,2, c-, f-, f-,2.
POSITIVE_0, POSITIVE_1, POSITIVE_2, NEGATIVE_0, NEGATIVE_1, NEGATIVE_2 = range(6)

# (1 - (f_i - f_j))^2 expanded in the scores, in the order of the paper's proof
PAPER_PRODUCTS = (
    Product(1.0, POSITIVE_0, NEGATIVE_0),
    Product(-2.0, NEGATIVE_0, POSITIVE_1),
    Product(2.0, POSITIVE_0, NEGATIVE_1),
    Product(1.0, NEGATIVE_0, POSITIVE_2),
    Product(1.0, POSITIVE_0, NEGATIVE_2),
    Product(-2.0, POSITIVE_1, NEGATIVE_1),
)
# (h_i + h_j)^2 expanded in the hardness: without minus signs, so half the variables
COMPACT_PRODUCTS = (
    Product(1.0, POSITIVE_2, NEGATIVE_0),
    Product(2.0, POSITIVE_1, NEGATIVE_1),
    Product(1.0, POSITIVE_0, NEGATIVE_2),
)
FORMS = {"paper": PAPER_PRODUCTS, "compact": COMPACT_PRODUCTS}

# Moments of the scores from moments of the hardness h: the score of a positive is 1 - h, of a negative h.
SCORES_FROM_HARDNESS = torch.eye(6, dtype=torch.float64)
SCORES_FROM_HARDNESS[:3, :3] = torch.tensor([[1.0, 0.0, 0.0], [1.0, -1.0, 0.0], [1.0, -2.0, 1.0]])


class Player(NamedTuple):
    """One player's variables ``x`` in [0, upper], with the terms ``x . (zeta @ moments) + quadratic . x^2``."""

    zeta: torch.Tensor  # shape (k, 6)
    quadratic: torch.Tensor  # shape (k,), above 0 for the descent player, below 0 for the ascent player
    upper: torch.Tensor  # shape (k,)

    def linear(self, moments: torch.Tensor) -> torch.Tensor:
        """Return ``zeta @ moments`` without a matrix product, which autocast would compute in half precision."""
        return (self.zeta * moments).sum(1)

    def optimum(self, moments: torch.Tensor) -> torch.Tensor:
        """Return the variables at which the derivative in ``x`` vanishes for the given moments."""
        return -self.linear(moments) / (2.0 * self.quadratic)


def players(products: tuple[Product, ...], bounds: torch.Tensor) -> tuple[Player, Player]:
    """Apply the lemma to every product; return the descent player and the ascent player.

    ``bounds``, shape (6,), are upper bounds of the moments.
    """
    moments = torch.eye(6, dtype=bounds.dtype)
    descent: list[tuple[float, torch.Tensor]] = []
    ascent: list[tuple[float, torch.Tensor]] = []
    for factor, first, second in products:
        alone, together = (descent, ascent) if factor > 0 else (ascent, descent)
        alone += [(abs(factor), moments[first]), (abs(factor), moments[second])]
        together.append((abs(factor), moments[first] + moments[second]))

    def collect(rows: list[tuple[float, torch.Tensor]], sign: float) -> Player:
        # size/2 * w(x, y) = size (x y - x^2 / 2), with a minus for the descent player
        sizes = torch.tensor([size for size, _ in rows], dtype=bounds.dtype)
        stands_for = torch.stack([moment for _, moment in rows])
        return Player(sign * sizes[:, None] * stands_for, -sign * sizes / 2.0, stands_for @ bounds)

    return collect(descent, -1.0), collect(ascent, 1.0)


class _Game(NamedTuple):
    """All constants of the saddle function, on one device and with one dtype."""

    descent: Player
    ascent: Player
    both: Player  # the variables of both players, concatenated for fewer and larger operations per step
    scores_from_hardness: torch.Tensor


class SaddleLoss(nn.Module, ABC):
    """A loss with variables of its own, which `descent_ascent` moves towards a saddle."""

    @abstractmethod
    def descent_variables(self) -> list[nn.Parameter]:
        """Return the variables in which the loss is minimised."""

    @abstractmethod
    def ascent_variables(self) -> list[nn.Parameter]:
        """Return the variables in which the loss is maximised."""

    @abstractmethod
    def project(self) -> None:
        """Project all variables onto their ranges."""


class MinimaxTPAUCLoss(SaddleLoss):
    """The saddle function of Theorem 1: a loss for `descent_ascent` that is a sum over examples.

    ``a`` (descent) and ``b`` (ascent) are parameters of the loss: they are in its ``state_dict``, and an optimiser must
    update them. With the paper's start ``a = b = 0``, the first step has no gradient for the model; ``start="batch"``
    instead sets them to the saddle of the first training batch (with gradients enabled). A batch that lacks a class has
    no pairs: its value and its gradients are 0.

    Parameters
    ----------
    weighting, negative_weighting : Weighting or callable
        As in `tpauc.TPAUCLoss`; ``Uniform()`` for the positives is the one-way form. The boxes need
        ``0 <= psi(t) <= psi(1)``. A weighting by rank (`Anchored`) is not a function of the score and has no minimax
        form.
    form : {"paper", "compact"}, default="paper"
        18 variables on moments of the scores, or 9 on moments of the hardness. Both have the same saddle value.
    start : {"zero", "batch"}, default="zero"
        Initial values of ``a`` and ``b``.
    across_processes : bool, default=True
        Whether moments are taken over the examples of all processes.

    Examples
    --------
    >>> from tpauc import Polynomial, TPAUCLoss
    >>> logits, labels = torch.tensor([2.0, -1.0, 0.5, -2.0]), torch.tensor([1, 1, 0, 0])
    >>> loss = MinimaxTPAUCLoss(Polynomial(3.0))
    >>> loss.move_to_saddle(logits, labels)
    >>> saddle, risk = loss(logits, labels), TPAUCLoss(Polynomial(3.0))(logits, labels)
    >>> torch.allclose(saddle, risk)
    True
    """

    started: torch.Tensor

    def __init__(
        self,
        weighting: Weighting | TensorFunction,
        negative_weighting: Weighting | TensorFunction | None = None,
        *,
        form: str = "paper",
        start: str = "zero",
        across_processes: bool = True,
    ) -> None:
        super().__init__()
        positive = _weighting_function(weighting, "weighting")
        negative = positive
        if negative_weighting is not None:
            negative = _weighting_function(negative_weighting, "negative_weighting")
        self.form = check_choice(form, "form", FORMS)
        self.start = check_choice(start, "start", ("zero", "batch"))
        flag = check_flag(across_processes, "across_processes")
        self.objective = PairObjective(positive, negative, Square(), "sigmoid", flag)
        self._players = players(FORMS[self.form], _moment_bounds(positive, negative))
        # One copy per device and dtype, always made from the float64 original.
        self._games: dict[tuple[torch.device, torch.dtype], _Game] = {}
        self.a, self.b = (nn.Parameter(torch.zeros(len(player.upper))) for player in self._players)
        self.register_buffer("started", torch.tensor(self.start == "zero"))

    def descent_variables(self) -> list[nn.Parameter]:
        return [self.a]

    def ascent_variables(self) -> list[nn.Parameter]:
        return [self.b]

    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the saddle function at the current ``a`` and ``b``, a tensor of shape (), at least float32."""
        moments, has_pairs = self._moments(logits, labels)
        if self.start == "batch" and self.training and torch.is_grad_enabled() and not self.started and has_pairs:
            self._set_saddle(moments)
        game = self._game(moments)
        x = torch.cat((self.a, self.b)).to(moments.dtype)
        value = (x * torch.addcmul(game.both.linear(moments), game.both.quadratic, x)).sum()
        return value * has_pairs

    @torch.no_grad()
    def move_to_saddle(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Set ``a`` and ``b`` to the saddle of the given batch, at which the value is the pairwise risk."""
        moments, _ = self._moments(logits, labels)
        self._set_saddle(moments)

    @torch.no_grad()
    def project(self) -> None:
        """Project ``a`` and ``b`` onto their boxes ``[0, c_a]`` and ``[0, c_b]``, a step missing in Algorithm 1."""
        for variables, player in self._sides(self.a):
            variables.copy_(torch.minimum(variables.clamp_min(0.0), player.upper))

    def _moments(self, logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the six moments of the (global) batch, and whether it has both classes."""
        refuse_transforms(self, logits=logits, labels=labels)
        flat_logits, y = check_logits_and_labels(logits, labels)
        moments, has_pairs = hardness_moments(flat_logits, y, self.objective)
        if self.form == "paper":
            moments = (self._game(moments).scores_from_hardness * moments).sum(1)
        return moments, has_pairs

    def _game(self, like: torch.Tensor) -> _Game:
        """Return the constants with the dtype and device of ``like``."""
        kind = (like.device, like.dtype)
        if kind not in self._games:
            # A validation pass may come first, and autograd cannot use tensors made in inference mode.
            with torch.inference_mode(False):
                descent, ascent = (Player(*(part.to(*kind) for part in player)) for player in self._players)
                both = Player(*(torch.cat(parts) for parts in zip(descent, ascent, strict=True)))
                self._games[kind] = _Game(descent, ascent, both, SCORES_FROM_HARDNESS.to(*kind))
        return self._games[kind]

    def _sides(self, like: torch.Tensor) -> tuple[tuple[nn.Parameter, Player], tuple[nn.Parameter, Player]]:
        game = self._game(like)
        return (self.a, game.descent), (self.b, game.ascent)

    @torch.no_grad()
    def _set_saddle(self, moments: torch.Tensor) -> None:
        for variables, player in self._sides(moments):
            variables.copy_(player.optimum(moments))
        self.project()
        self.started.fill_(True)

    def extra_repr(self) -> str:
        return (
            f"positive={self.objective.positive!r}, negative={self.objective.negative!r}, "
            f"form={self.form!r}, start={self.start!r}"
        )


_RANGE_GRID = 1025


def _weighting_function(weighting: Weighting | TensorFunction, name: str) -> WeightingFunction:
    function = as_weighting(weighting, name)
    if not isinstance(function, WeightingFunction):
        raise ValueError(f"{name} must be a function of the score for the minimax form, got {weighting!r}")
    with torch.no_grad():
        weight = function(torch.linspace(0.0, 1.0, _RANGE_GRID, dtype=torch.float64))
    smallest, largest, last = weight.min().item(), weight.max().item(), weight[-1].item()
    # The boxes of the saddle end at psi(1). The slack allows for rounding in a psi that is computed numerically.
    if not (smallest >= 0.0 and largest <= last * (1.0 + 1e-12) and math.isfinite(last)):
        raise ValueError(
            f"{name} must satisfy 0 <= psi(t) <= psi(1) for the minimax form, found psi(1) = {last:g} and values from "
            f"{smallest:g} to {largest:g}"
        )
    return function


def _moment_bounds(positive: WeightingFunction, negative: WeightingFunction) -> torch.Tensor:
    """Return the paper's upper bounds of ``c, f, f^2`` for each class: ``v_inf, f_inf, f_inf^2`` with ``f_inf = 1``.

    The mean of ``v f^k`` is at most ``v_inf``, so a weighting above 1 needs a larger box.
    """
    bounds = []
    for weighting in (positive, negative):
        largest = weighting.supremum()
        bounds += [largest, max(1.0, largest), max(1.0, largest)]
    return torch.tensor(bounds, dtype=torch.float64)


class DescentAscent(torch.optim.SGD):
    """`torch.optim.SGD` that projects the variables of a loss after each step; :func:`descent_ascent` makes it.

    A copy together with its loss (``copy.deepcopy((model, loss, optimizer))``) projects the copy of the loss.
    """

    def __init__(self, groups: list[dict[str, Any]], loss: SaddleLoss, **options: Any) -> None:
        super().__init__(groups, **options)
        self.loss = loss
        self.register_step_post_hook(_project)

    # torch copies and pickles an optimiser without its hooks, and without what a class adds.
    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"loss": self.loss}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self.register_step_post_hook(_project)


def _project(optimizer: Any, _args: Any, _kwargs: Any) -> None:
    optimizer.loss.project()


def descent_ascent(
    model: nn.Module,
    loss: SaddleLoss,
    *,
    lr: float,
    dual_lr: float | tuple[float, float],
    momentum: float = 0.9,
    weight_decay: float = 0.0,
    nesterov: bool = True,
) -> torch.optim.Optimizer:
    """Return Algorithm 1 as one `torch.optim.SGD`: descent for the model and ``a``, ascent for ``b``, then projection.

    ``a`` and ``b`` stand for the descent and the ascent variables of the loss.
    Momentum and weight decay apply to the model only. As an ordinary optimiser it works with schedulers, gradient
    clipping, checkpoints, Lightning and DistributedDataParallel. A scheduler that cycles momentum would also change the
    momentum of ``a`` and ``b``: use ``OneCycleLR(..., cycle_momentum=False)``.

    Parameters
    ----------
    model : nn.Module
        The model, or its DistributedDataParallel wrapper; it may hold the loss as a part of itself.
    loss : MinimaxTPAUCLoss or InstanceWiseTPAUCLoss
        The loss whose variables are updated.
    lr : float
        Step size of the model, the paper's ``eta_1``.
    dual_lr : float or (float, float)
        Step size of both ``a`` and ``b``, or one for each, ``eta_2`` and ``eta_3``.
    momentum, weight_decay, nesterov
        As in `torch.optim.SGD`, except that ``nesterov`` has no effect without momentum.

    Examples
    --------
    >>> from tpauc import Polynomial
    >>> model, loss = nn.Linear(3, 1), MinimaxTPAUCLoss(Polynomial(3.0), start="batch")
    >>> optimizer = descent_ascent(model, loss, lr=0.1, dual_lr=0.1)
    >>> x, y = torch.eye(3), torch.tensor([1, 0, 0])
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     loss(model(x), y).backward()
    ...     optimizer.step()
    """
    check_trainable(check_module(model, "model"))
    if not isinstance(loss, SaddleLoss):
        raise TypeError(f"loss must be a MinimaxTPAUCLoss or InstanceWiseTPAUCLoss, got {type(loss).__name__}")
    descent, ascent = loss.descent_variables(), loss.ascent_variables()
    variables = {id(variable) for variable in (*descent, *ascent)}
    a_lr, b_lr = _step_sizes(dual_lr)
    momentum = check_momentum(momentum)
    plain: dict[str, Any] = {"momentum": 0.0, "nesterov": False, "weight_decay": 0.0}
    groups: list[dict[str, Any]] = [
        {"params": [p for p in model.parameters() if p.requires_grad and id(p) not in variables]},
        {"params": descent, "lr": a_lr, **plain},
        {"params": ascent, "lr": b_lr, "maximize": True, **plain},
    ]
    return DescentAscent(
        groups,
        loss,
        lr=check_positive(lr, "lr"),
        momentum=momentum,
        weight_decay=check_non_negative(weight_decay, "weight_decay"),
        nesterov=check_flag(nesterov, "nesterov") and momentum > 0.0,
    )


def _step_sizes(dual_lr: float | tuple[float, ...] | list[float]) -> tuple[float, float]:
    """Return the step sizes of ``a`` and ``b``, each above 0, from one number for both or from two."""
    if not isinstance(dual_lr, tuple | list):
        size = check_positive(dual_lr, "dual_lr")
        return size, size
    if len(dual_lr) != 2:
        raise ValueError(f"dual_lr must be one number or two, the steps of a and of b, got {brief(dual_lr)}")
    return check_positive(dual_lr[0], "dual_lr[0]"), check_positive(dual_lr[1], "dual_lr[1]")
