"""Refuse tensors inside ``torch.func``: what a loss does there would fail deep inside, or change its state wrongly.

Pair losses compute value and gradient at once, outside autograd, and some move thresholds as they go. ``torch.func``
(grad, vjp, jvp, vmap, jacrev, ...) differentiates or batches single operations, so it cannot see through them.
"""

from __future__ import annotations

import torch


def refuse_transforms(loss: torch.nn.Module, **tensors: torch.Tensor) -> None:
    """Raise if one of the named tensors is inside a transform of ``torch.func``.

    Examples
    --------
    >>> refuse_transforms(torch.nn.Identity(), logits=torch.zeros(2))
    >>> torch.vmap(lambda row: refuse_transforms(torch.nn.Identity(), logits=row))(torch.zeros(2, 3))
    Traceback (most recent call last):
        ...
    RuntimeError: Identity takes no logits inside torch.func (grad, vjp, jvp, vmap, ...), which cannot see through it...
    """
    if torch.compiler.is_compiling():
        return
    for name, tensor in tensors.items():
        if isinstance(tensor, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            raise RuntimeError(
                f"{type(loss).__name__} takes no {name} inside torch.func (grad, vjp, jvp, vmap, ...), which cannot "
                "see through it; call the loss outside, on one batch at a time, with loss.backward() or "
                "torch.autograd.grad(loss, parameters)"
            )
