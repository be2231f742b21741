"""How a network is trained, apart from the loss: optimiser, schedule, batches, augmentation, initial weights.

A recipe is data. The same losses run under each recipe, so the effects of the loss and of the recipe can be separated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpauc.paper.experiments.augmentation import Augment
from tpauc.paper.experiments.backbones import IMAGENET_PIXELS


@dataclass(frozen=True)
class Recipe:
    """Settings of `tpauc.TrainConfig`, the augmentation of training batches, the network, and how images are scored.

    Attributes
    ----------
    settings : mapping
        Of `tpauc.TrainConfig`.
    augment : Augment
        Applied to every training batch.
    network : mapping
        Keyword arguments of the backbone, such as ``head_init`` and ``pixels`` of `resnet20`.
    mirrored : bool
        Whether the score of an image is the mean over the image and its mirror image (`Mirrored`).

    Examples
    --------
    >>> RECIPES["strong"].settings["schedule"]
    'cosine'
    """

    settings: Mapping[str, Any]
    augment: Augment = field(default_factory=lambda: Augment(degrees=15, shift=4, flip=True))
    network: Mapping[str, Any] = field(default_factory=dict)
    mirrored: bool = False

    @property
    def depends_on_epochs(self) -> bool:
        """Whether an epoch depends on the length of the training, so that a short training cannot be prolonged."""
        return bool(self.settings["schedule"] == "cosine")


_COMMON = {"batch_size": 128, "ratio": (1.0, 10.0), "eval_batch_size": 256, "momentum": 0.9, "nesterov": True}

_PAPER = {**_COMMON, "lr": 1e-3, "weight_decay": 1e-5, "schedule": "exponential", "decay": 0.99}

RECIPES: dict[str, Recipe] = {
    # The protocol of the paper.
    "paper": Recipe(_PAPER),
    # The settings of the authors' published code on which the paper is silent: batches of 12 positives and 117
    # negatives, larger initial weights in the last layer, pixels normalised by ImageNet's means, and no shift, because
    # they crop 32x32 pixels out of 32x32. Their weights (h + 1e-6)^e are not copied: the losses need no such constant.
    "authors": Recipe(
        {**_PAPER, "batch_size": 129, "ratio": (12.0, 117.0)},
        augment=Augment(degrees=15, shift=0, flip=True),
        network={"pixels": IMAGENET_PIXELS, "head_init": "kaiming_uniform"},
    ),
    # The usual settings for residual networks on CIFAR. A batch of 1:3 holds 32 positives, the scarce side of all
    # pairs; a batch of 1:10 holds 12. Nothing is rotated: interpolation would blur the training images, but not the
    # images that are measured.
    "strong": Recipe(
        {**_COMMON, "ratio": (1.0, 3.0), "lr": 0.1, "weight_decay": 5e-4, "schedule": "cosine"},
        augment=Augment(degrees=0, shift=4, flip=True),
        mirrored=True,
    ),
}
