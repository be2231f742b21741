"""Numerical duality between a weighting psi and a penalty phi, and the paper's conditions on them.

Given psi (increasing) or phi (strictly convex) on [0, 1], this module computes the other to about 1e-12:

* ``psi^-1`` and ``(phi')^-1`` by bisection, differentiated by the implicit function theorem;
* ``phi(v) = v t - integral_0^t psi`` with ``t = psi^-1(v)`` (Legendre), the integral by the tanh-sinh rule, which is
  exact even if psi has an infinite slope at 0, like ``t^0.1``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

TensorFunction = Callable[[torch.Tensor], torch.Tensor]

_BISECTIONS = 64  # halves [0, 1] below the spacing of float64 numbers
_GRID = 2048


def invert_increasing(psi: TensorFunction, weight: torch.Tensor) -> torch.Tensor:
    """Return ``t`` in [0, 1] with ``psi(t) = weight``; a weight outside the range of psi gives the nearer end.

    Differentiable in ``weight``: ``dt/dweight = 1/psi'(t)`` inside the range, 0 outside.
    """
    target = weight.detach().double()
    low, high = torch.zeros_like(target), torch.ones_like(target)
    with torch.no_grad():
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            too_low = psi(middle) < target
            low, high = torch.where(too_low, middle, low), torch.where(too_low, high, middle)
        solution = (low + high) / 2
        first, last = psi(torch.zeros_like(target)), psi(torch.ones_like(target))
        solution = torch.where(target <= first, 0.0, torch.where(target >= last, 1.0, solution))
    (slope,) = derivatives(psi, solution, order=1)
    inside = (target > first) & (target < last)
    return _attach_slope(solution, weight, torch.where(inside & (slope > 0), 1.0 / slope, 0.0))


def weight_from_penalty(phi: TensorFunction, hardness: torch.Tensor) -> torch.Tensor:
    """Return ``argmax over v in [0, 1] of v * hardness - phi(v)`` for a convex ``phi``.

    Differentiable in ``hardness``: ``dv/dt = 1/phi''(v)`` if the maximum is inside (0, 1), 0 at the ends.
    """
    target = hardness.detach().double()
    low, high = torch.zeros_like(target), torch.ones_like(target)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        # A slope of NaN, like the slope of x log x at 0, counts as too steep.
        too_low = derivatives(phi, middle, order=1)[0] < target
        low, high = torch.where(too_low, middle, low), torch.where(too_low, high, middle)
    solution = (low + high) / 2
    (steepest,) = derivatives(phi, torch.ones_like(target), order=1)
    (flattest,) = derivatives(phi, torch.zeros_like(target), order=1)
    solution = torch.where(target >= steepest, 1.0, torch.where(target <= flattest, 0.0, solution))
    (_, curvature) = derivatives(phi, solution, order=2)
    inside = (solution > 0) & (solution < 1) & (curvature > 0)
    return _attach_slope(solution, hardness, torch.where(inside, 1.0 / curvature, 0.0))


def legendre_penalty(psi: TensorFunction, weight: torch.Tensor) -> torch.Tensor:
    """Return the dual penalty ``phi(weight)`` of an increasing ``psi``, with ``phi(psi(0)) = 0``.

    Differentiable twice: ``phi' = psi^-1``, ``phi'' = 1/psi'(psi^-1)``.
    """
    value: torch.Tensor = _LegendrePenalty.apply(weight, psi)  # type: ignore[no-untyped-call]
    return value


class _LegendrePenalty(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: torch.Tensor, psi: TensorFunction) -> torch.Tensor:
        ctx.psi = psi
        ctx.save_for_backward(weight)
        hardness = invert_increasing(psi, weight).double()
        return (weight * hardness - _integral_from_zero(psi, hardness)).to(weight.dtype)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor, None]:
        (weight,) = ctx.saved_tensors
        return grad_output * invert_increasing(ctx.psi, weight), None


def _integral_from_zero(psi: TensorFunction, upper: torch.Tensor) -> torch.Tensor:
    """Integrate ``psi`` over [0, upper] by the tanh-sinh rule: substitute ``x = sigmoid(pi sinh y)``."""
    step = 1.0 / 16.0
    y = torch.arange(-64, 65, dtype=torch.float64, device=upper.device) * step
    x = torch.sigmoid(math.pi * torch.sinh(y))
    quadrature = step * math.pi * torch.cosh(y) * x * torch.sigmoid(-math.pi * torch.sinh(y))
    return upper * (psi(upper.unsqueeze(-1) * x) @ quadrature)


def _attach_slope(value: torch.Tensor, argument: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Return ``value`` in the dtype of ``argument``, with derivative ``slope`` in it."""
    return value.to(argument.dtype) + (argument - argument.detach()) * slope.to(argument.dtype)


def derivatives(function: TensorFunction, points: torch.Tensor, *, order: int) -> list[torch.Tensor]:
    """Return the first ``order`` derivatives of an elementwise function at ``points``."""
    found = []
    # A validation pass may run in inference mode, where tensors have no graph and every slope would be 0.
    with torch.inference_mode(False), torch.enable_grad():
        leaf = points.detach().clone().requires_grad_()
        value = function(leaf)
        for k in range(order):
            slope = None
            if value.requires_grad:
                (slope,) = torch.autograd.grad(value.sum(), leaf, create_graph=k + 1 < order, allow_unused=True)
            # A value without a graph back to the argument is constant in it.
            value = torch.zeros_like(leaf) if slope is None else slope
            found.append(value.detach())
    return found


# ----------------------------------------------------------------------------------------------------- calibration


@dataclass(frozen=True)
class Calibration:
    """Which of the paper's conditions on a calibrated weighting function hold.

    Attributes
    ----------
    smooth : bool
        (A) psi has continuous second derivatives.
    increasing : bool
        (B) psi' > 0.
    concave : bool
        (C) psi'' < 0.

    Examples
    --------
    >>> print(Calibration(smooth=True, increasing=True, concave=False))
    not calibrated: (C) psi is not strictly concave
    """

    smooth: bool
    increasing: bool
    concave: bool

    @property
    def calibrated(self) -> bool:
        """Whether all three conditions hold."""
        return self.smooth and self.increasing and self.concave

    @property
    def failures(self) -> tuple[str, ...]:
        """One sentence per condition that fails."""
        conditions = (
            (self.smooth, "(A) psi does not have continuous second derivatives"),
            (self.increasing, "(B) psi is not strictly increasing"),
            (self.concave, "(C) psi is not strictly concave"),
        )
        return tuple(sentence for holds, sentence in conditions if not holds)

    def __str__(self) -> str:
        if self.calibrated:
            return "calibrated: smooth, increasing, concave"
        return "not calibrated: " + "; ".join(self.failures)


def calibration_of(psi: TensorFunction) -> Calibration:
    """Check the conditions for ``psi`` on a fine grid in (0, 1).

    The grid starts at 1/64: a power below 1 has no derivative at 0, and the paper does not require one there.
    """
    slope, curvature = derivatives(psi, _grid(_GRID), order=2)
    return Calibration(
        smooth=_continuous(lambda x: derivatives(psi, x, order=2)),
        increasing=bool((slope > 0).all()),
        concave=bool((curvature < 0).all()),
    )


def calibration_of_penalty(phi: TensorFunction) -> Calibration:
    """Check the conditions for the weighting dual to ``phi``: psi' = 1/phi'', psi'' = -phi'''/phi''^3."""
    _, second, third = derivatives(phi, _grid(_GRID)[:-1], order=3)
    return Calibration(
        smooth=_continuous(lambda x: derivatives(phi, x[:-1], order=3)),
        increasing=bool((second > 0).all()),
        concave=bool((third > 0).all()),
    )


def _grid(n: int) -> torch.Tensor:
    return torch.linspace(1.0 / 64.0, 1.0, n + 1, dtype=torch.float64)


def _continuous(curves: Callable[[torch.Tensor], list[torch.Tensor]]) -> bool:
    """Return whether the largest step between neighbours shrinks with the grid, as for a continuous curve."""

    def largest_steps(n: int) -> torch.Tensor:
        return torch.stack([curve.diff().abs().max() for curve in curves(_grid(n))])

    coarse, fine = largest_steps(_GRID), largest_steps(4 * _GRID)
    # On the finer grid the steps of a continuous curve are a quarter as large; a jump stays. Rounding errors pass.
    return bool((fine.isfinite() & ((fine <= 0.6 * coarse) | (fine <= 1e-9))).all())
