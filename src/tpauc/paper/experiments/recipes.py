"""How a network is trained, apart from the loss: optimiser, schedule, batches, augmentation, initial weights.

A recipe is data. The same losses run under each recipe, so the effects of the loss and of the recipe can be separated.

The paper's augmentation is a flip, a rotation and a crop, all three as one affine grid. For each image a flip ``F`` (or
none), an angle ``w`` within ``degrees`` and a whole number of pixels ``s`` within ``shift`` per direction are drawn.
The pixel at ``p``, counted from the centre, is taken from

    F R(w) (p + s)

of the given image, which is flipped, then rotated, then cropped to its size at an offset of ``s`` from the middle.
Outside the image values are 0; between its pixels they are interpolated, or taken from the nearest pixel. Interpolation
blurs a rotated image, so the training images are softer than the images that are measured (`docs/paper-notes.md`, 17).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from tpauc._validation import check_choice, check_count, check_flag, check_non_negative
from tpauc.paper.experiments.backbones import IMAGENET_PIXELS


@dataclass(frozen=True)
class Augment:
    """Random changes of a batch, as ``transform`` of `tpauc.fit`.

    Examples
    --------
    >>> images = torch.full((2, 3, 32, 32), 255, dtype=torch.uint8)
    >>> changed = Augment()(images, torch.Generator().manual_seed(0))
    >>> changed.shape, changed.dtype
    (torch.Size([2, 3, 32, 32]), torch.float32)
    """

    degrees: float = 15.0  # largest angle of rotation, to either side
    shift: int = 4  # largest offset of the crop from the middle in pixels, in each direction
    flip: bool = True  # flip an image left to right in half of the cases
    between: str = "bilinear"  # or "nearest": how values between the pixels of a rotated image are found

    def __post_init__(self) -> None:
        check_non_negative(self.degrees, "degrees")
        check_count(self.shift, "shift", at_least=0)
        check_flag(self.flip, "flip")
        check_choice(self.between, "between", ("bilinear", "nearest"))

    @torch.no_grad()
    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Return randomly changed copies of images of shape (n, channels, height, width), in the same range of values.

        They are float32 for uint8 images, else of the dtype of the images. The generator, on their device, is the only
        source of random numbers.
        """
        _check_image_batch(images)
        values = images if images.is_floating_point() else images.float()
        maps = self._maps(values, generator)
        grid = affine_grid(maps, list(values.shape), align_corners=False)
        return grid_sample(values, grid, mode=self.between, padding_mode="zeros", align_corners=False)

    def _maps(self, values: Tensor, generator: torch.Generator) -> Tensor:
        """Return for each image the map from places in the result to places in the image, shape ``(n, 2, 3)``.

        Places are counted as by `affine_grid`, -1 and 1 at the borders, so a pixel is 2/width wide and 2/height high.
        """
        n, _, height, width = values.shape
        dtype, device = values.dtype, values.device
        angle = math.radians(self.degrees) * (2 * torch.rand(n, generator=generator, dtype=dtype, device=device) - 1)
        flipped = torch.randint(2 if self.flip else 1, (n,), generator=generator, dtype=dtype, device=device)
        offsets = (-self.shift, self.shift + 1)
        across, down = torch.randint(*offsets, (2, n), generator=generator, dtype=dtype, device=device)
        side, cosine, sine = 1 - 2 * flipped, torch.cos(angle), torch.sin(angle)
        return torch.stack(
            [
                side * cosine,
                -side * sine * height / width,
                side * (cosine * across - sine * down) * 2 / width,
                sine * width / height,
                cosine,
                (sine * across + cosine * down) * 2 / height,
            ],
            dim=1,
        ).view(n, 2, 3)


def _check_image_batch(images: Any) -> None:
    """Raise unless ``images`` is a non-empty batch of images, as a tensor of bytes or floating-point numbers."""
    right_dtype = images.is_floating_point() or str(images.dtype) == "torch.uint8"
    if not right_dtype or images.ndim != 4 or images.numel() == 0:
        raise ValueError(
            "images must be a uint8 or floating tensor of shape (n, channels, height, width), not empty, "
            f"got {str(images.dtype).removeprefix('torch.')} of shape {tuple(images.shape)}"
        )


@dataclass(frozen=True)
class Recipe:
    """Settings of `tpauc.TrainConfig`, the augmentation of training batches, the network, and how images are scored."""

    settings: Mapping[str, Any]
    augment: Augment = field(default_factory=Augment)
    network: Mapping[str, Any] = field(default_factory=dict)  # keyword arguments of the backbone, as of `resnet20`
    mirrored: bool = False  # whether an image is scored together with its mirror image (`Mirrored`)

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
        augment=Augment(shift=0),
        network={"pixels": IMAGENET_PIXELS, "head_init": "kaiming_uniform"},
    ),
    # The usual settings for residual networks on CIFAR. A batch of 1:3 holds 32 positives, the scarce side of all
    # pairs; a batch of 1:10 holds 12. Nothing is rotated: interpolation would blur the training images, but not the
    # images that are measured.
    "strong": Recipe(
        {**_COMMON, "ratio": (1.0, 3.0), "lr": 0.1, "weight_decay": 5e-4, "schedule": "cosine"},
        augment=Augment(degrees=0),
        mirrored=True,
    ),
}
