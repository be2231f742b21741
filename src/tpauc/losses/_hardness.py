"""The hardness of examples, and weights with their derivative: the argument and the result of a weighting.

Losses get logits, so a weighting is evaluated at the *hardness logit* ``u`` (``-z`` for a positive, ``z`` for a
negative) with ``t = sigmoid(u)``. This keeps ``psi`` and its slope exact where ``t`` itself underflows: `Hardness`
holds ``u``, ``t`` and ``1 - t``, each computed without cancellation.
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F


@functools.cache
def _cached_tensor(values: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    with torch.inference_mode(False):
        return torch.tensor(values, dtype=dtype, device=device)


def constant(values: float | tuple[Any, ...], like: torch.Tensor) -> torch.Tensor:
    """Return numbers as a cached tensor with the dtype and device of ``like``; the caller must not write to it.

    On small batches an operation with a Python number takes twice as long as one with an existing tensor.
    """
    return _cached_tensor(values, like.dtype, like.device)


def inference() -> AbstractContextManager[Any]:
    """Return a context without autograd: inference mode, which saves a fifth of the time of an operation on few rows.

    While ``torch.compile`` traces it is ``no_grad``, because compiled graphs refuse views of inference tensors.
    """
    return torch.no_grad() if torch.compiler.is_compiling() else torch.inference_mode()


def log_sigmoid(logit: torch.Tensor) -> torch.Tensor:
    """Return ``log sigmoid``, faster than `F.logsigmoid`, which fills a second buffer for its gradient."""
    return F.softplus(logit, beta=-1.0, threshold=40.0)  # exp(-40) is below the rounding of 40 in float64


class Hardness(NamedTuple):
    """The hardness of examples in three forms, each of shape (n,)."""

    logit: torch.Tensor
    value: torch.Tensor  # sigmoid(logit)
    rest: torch.Tensor  # 1 - value, as sigmoid(-logit)

    @classmethod
    def of(cls, logit: torch.Tensor) -> Hardness:
        """Return all three forms of the given hardness logits."""
        return cls(logit, torch.sigmoid(logit), torch.neg(logit).sigmoid_())


class Weights(NamedTuple):
    """Weights ``w`` of examples and their derivative in the hardness logit, ``dw/du = (1 - t) (elasticity w + bend)``.

    A power ``t^e`` has elasticity ``e`` and no bend; constant weights have neither. ``bend=None`` means 0.
    """

    value: torch.Tensor
    elasticity: float = 0.0
    bend: torch.Tensor | None = None

    def slope(self) -> torch.Tensor | None:
        """Return ``elasticity w + bend``, the derivative divided by ``1 - t``; None means 0."""
        if self.elasticity == 0.0:
            return self.bend
        slope = self.value * self.elasticity
        return slope if self.bend is None else slope.add_(self.bend)
