"""The hardness of examples, and weights with their derivative in it: what weightings take and return.

Losses start from logits, so a weighting is evaluated from the *hardness logit* ``u`` (``-z`` for a positive, ``z`` for
a negative) with ``t = sigmoid(u)``. That keeps ``psi`` and its slope exact where ``t`` itself underflows: `Hardness`
carries all three of ``u``, ``t`` and ``1 - t``, each computed without cancellation.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F


@functools.cache
def _made_once(values: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    with torch.inference_mode(False):
        return torch.tensor(values, dtype=dtype, device=device)


def constant(values: float | tuple[Any, ...], like: torch.Tensor) -> torch.Tensor:
    """Return numbers as a tensor of the type and device of ``like``, made once; never to be written to.

    On small batches an operation with a Python number takes twice the time of one with a tensor that is there already.
    """
    return _made_once(values, like.dtype, like.device)


def log_sigmoid(logit: torch.Tensor) -> torch.Tensor:
    """Return ``log sigmoid``; `F.logsigmoid` fills a second buffer for its gradient, which on large batches costs."""
    return F.softplus(logit, beta=-1.0, threshold=40.0)  # exp(-40) is below the rounding of 40 in float64


class Hardness(NamedTuple):
    """The hardness of examples in the three forms that formulas need, each of shape (n,)."""

    logit: torch.Tensor
    value: torch.Tensor  # sigmoid(logit)
    rest: torch.Tensor  # 1 - value, as sigmoid(-logit)

    @classmethod
    def of(cls, logit: torch.Tensor) -> Hardness:
        """Return all three forms of the given hardness logits."""
        return cls(logit, torch.sigmoid(logit), torch.neg(logit).sigmoid_())


class Weights(NamedTuple):
    """Weights ``w`` of examples and how they turn with the hardness logit: ``dw/du = (1 - t) (elasticity w + bend)``.

    A power ``t^e`` has elasticity ``e`` and no bend; a weight without gradient has neither. ``bend`` None stands for 0.
    """

    value: torch.Tensor
    elasticity: float = 0.0
    bend: torch.Tensor | None = None

    def detached(self) -> Weights:
        """Return the same weights as constants."""
        return Weights(self.value)

    def slope(self) -> torch.Tensor | None:
        """Return ``elasticity w + bend``, the derivative up to the factor ``1 - t``; None for 0."""
        if self.elasticity == 0.0:
            return self.bend
        slope = self.value * self.elasticity
        return slope if self.bend is None else slope.add_(self.bend)
