"""How a network is trained, apart from the loss: optimiser, schedule, batches, augmentation.

A recipe is data. The same losses run under each, so that the effect of the loss and that of the schedule stand apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpauc.paper.experiments.augmentation import Augment


@dataclass(frozen=True)
class Recipe:
    """Settings of `tpauc.TrainConfig`, the augmentation of training batches, and how images are scored.

    With ``mirrored`` the score of an image is the mean over it and its mirror image (`Mirrored`).

    Examples
    --------
    >>> RECIPES["strong"].settings["schedule"]
    'cosine'
    """

    settings: Mapping[str, Any]
    augment: Augment = field(default_factory=lambda: Augment(degrees=15, shift=4, flip=True))
    mirrored: bool = False

    @property
    def depends_on_epochs(self) -> bool:
        """Whether an epoch goes another way in a longer training: then a short one cannot be prolonged."""
        return bool(self.settings["schedule"] == "cosine")


_COMMON = {"batch_size": 128, "ratio": (1.0, 10.0), "eval_batch_size": 256, "momentum": 0.9, "nesterov": True}

RECIPES: dict[str, Recipe] = {
    # The protocol of the paper.
    "paper": Recipe({**_COMMON, "lr": 1e-3, "weight_decay": 1e-5, "schedule": "exponential", "decay": 0.99}),
    # What is usual for residual networks on CIFAR. A batch of 1:3 holds 32 positives, which are the scarce side of all
    # pairs, where 1:10 holds 12. And nothing is rotated: a rotation that interpolates blurs what is trained on, but not
    # what is judged by.
    "strong": Recipe(
        {**_COMMON, "ratio": (1.0, 3.0), "lr": 0.1, "weight_decay": 5e-4, "schedule": "cosine"},
        augment=Augment(degrees=0, shift=4, flip=True),
        mirrored=True,
    ),
}
