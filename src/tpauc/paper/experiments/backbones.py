"""The two networks of the paper: ResNet-20 for images of 32x32, ResNet-18 for 64x64. One logit per image.

| function | blocks | features | parameters | shortcuts where the width changes |
| --- | --- | --- | --- | --- |
| `resnet20` | 3 stages of 3, widths 16, 32, 64 | 64 | 269,137 | every second pixel, new channels zero |
| `resnet18` | 4 stages of 2, widths 64 to 512 | 512 | 11,177,025 | a 1x1 convolution |

Inputs are pixels in 0..255, bytes or floats, of shape ``(n, 3, height, width)``. They are normalised inside the module,
so a saved model contains all that is done to its inputs. Images are laid out with the channels last in memory, which
saves about 30 % of the time of a step of ResNet-20 on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from tpauc._validation import check_choice

Pixels = tuple[Sequence[float], Sequence[float]]

# Mean and standard deviation of each channel, in units of a byte.
CIFAR_PIXELS = ((125.3, 123.0, 113.9), (63.0, 62.1, 66.7))
IMAGENET_PIXELS = ((123.7, 116.3, 103.5), (58.4, 57.1, 57.4))

HEAD_INITS = ("torch", "kaiming_uniform")


class Normalise(nn.Module):
    """Turn pixels in 0..255 into numbers with mean about 0 and variance about 1 per channel.

    Examples
    --------
    >>> Normalise(CIFAR_PIXELS)(torch.full((1, 3, 1, 1), 125, dtype=torch.uint8)).flatten()
    tensor([-0.0048,  0.0322,  0.1664])
    """

    shift: torch.Tensor
    scale: torch.Tensor

    def __init__(self, pixels: Pixels) -> None:
        super().__init__()
        means, deviations = (torch.tensor(values).view(-1, 1, 1) for values in pixels)
        # Constants of the architecture, not weights: they need not be in the state dict.
        self.register_buffer("scale", 1.0 / deviations, persistent=False)
        self.register_buffer("shift", -means / deviations, persistent=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return normalised images with their channels last in memory, in the type of the module."""
        laid_out = images.to(self.scale.dtype, memory_format=torch.channels_last)
        return torch.addcmul(self.shift, laid_out, self.scale)


def halved_and_padded(images: torch.Tensor, width: int) -> torch.Tensor:
    """Return every second row and column, with channels of zeros added on both sides up to ``width``.

    Examples
    --------
    >>> halved_and_padded(torch.ones(1, 2, 4, 4), 4)[0, :, 0, 0]
    tensor([0., 1., 1., 0.])
    """
    missing = width - images.shape[1]
    return F.pad(images[:, :, ::2, ::2], (0, 0, 0, 0, missing // 2, missing - missing // 2))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with batch normalisation, added to a shortcut.

    If the channels before (``inputs``) and after (``width``) differ, the image is halved. Its shortcut is then
    `halved_and_padded`, or a convolution if it is learned.

    Examples
    --------
    >>> BasicBlock(16, 32, learned_shortcut=False)(torch.zeros(2, 16, 8, 8)).shape
    torch.Size([2, 32, 4, 4])
    """

    def __init__(self, inputs: int, width: int, *, learned_shortcut: bool) -> None:
        super().__init__()
        stride = 1 if inputs == width else 2
        self.conv1 = nn.Conv2d(inputs, width, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.width, self.narrows = width, inputs != width
        self.shortcut: nn.Module | None = None
        if self.narrows and learned_shortcut:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, width, 1, stride=2, bias=False), nn.BatchNorm2d(width))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return images of ``width`` channels."""
        inner = F.relu(self.norm1(self.conv1(images)), inplace=True)
        inner = self.norm2(self.conv2(inner))
        return F.relu(inner + self._short(images), inplace=True)

    def _short(self, images: torch.Tensor) -> torch.Tensor:
        if self.shortcut is not None:
            out: torch.Tensor = self.shortcut(images)
            return out
        return halved_and_padded(images, self.width) if self.narrows else images


class ResNet(nn.Module):
    """A residual network with one logit: a stem, then stages of these ``widths`` with ``blocks`` blocks each.

    ``pixels`` has the means and the standard deviations of the channels. ``head_init`` says how the weights of the last
    layer are drawn: uniformly within ``1 / sqrt(features)`` of 0, as torch does, or within ``sqrt(6 / features)``, as
    `torch.nn.init.kaiming_uniform_` does. Torch draws the bias in both cases.

    Examples
    --------
    >>> stem = nn.Conv2d(3, 4, 3, padding=1)
    >>> tiny = ResNet(stem, (4, 8), 1, learned_shortcuts=False, pixels=CIFAR_PIXELS)
    >>> tiny(torch.zeros(5, 3, 8, 8, dtype=torch.uint8)).shape, tiny.features(torch.zeros(5, 3, 8, 8)).shape
    (torch.Size([5]), torch.Size([5, 8]))
    """

    def __init__(
        self,
        stem: nn.Module,
        widths: Sequence[int],
        blocks: int,
        *,
        learned_shortcuts: bool,
        pixels: Pixels,
        head_init: str = "torch",
    ) -> None:
        check_choice(head_init, "head_init", HEAD_INITS)
        super().__init__()
        self.normalise, self.stem = Normalise(pixels), stem
        channels = [widths[0], *(width for width in widths for _ in range(blocks))]
        self.blocks = nn.Sequential(
            *(BasicBlock(before, after, learned_shortcut=learned_shortcuts) for before, after in pairwise(channels))
        )
        self.head = nn.Linear(widths[-1], 1)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if head_init == "kaiming_uniform":
            nn.init.kaiming_uniform_(self.head.weight)
        # mypy: torch's stubs give `memory_format` to tensors only.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def features(self, images: torch.Tensor) -> torch.Tensor:
        """Return the inputs of the last layer, of shape ``(n, widths[-1])``."""
        maps: torch.Tensor = self.blocks(self.stem(self.normalise(images)))
        return maps.mean(dim=(2, 3))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the logits, of shape ``(n,)``."""
        logits: torch.Tensor = self.head(self.features(images))
        return logits[:, 0]


def resnet20(*, pixels: Pixels = CIFAR_PIXELS, head_init: str = "torch") -> ResNet:
    """Return a new ResNet-20 for images of 32x32: 64 features.

    Examples
    --------
    >>> sum(parameter.numel() for parameter in resnet20().parameters())
    269137
    """
    stem = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
    return ResNet(stem, (16, 32, 64), 3, learned_shortcuts=False, pixels=pixels, head_init=head_init)


def resnet18(*, pixels: Pixels = IMAGENET_PIXELS, head_init: str = "torch") -> ResNet:
    """Return a new ResNet-18 for images of 64x64 (or larger): 512 features.

    Examples
    --------
    >>> sum(parameter.numel() for parameter in resnet18().parameters())
    11177025
    """
    stem = nn.Sequential(
        nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, stride=2, padding=1),
    )
    return ResNet(stem, (64, 128, 256, 512), 2, learned_shortcuts=True, pixels=pixels, head_init=head_init)


class Mirrored(nn.Module):
    """A network that in evaluation scores an image by the mean logit of the image and its mirror image.

    Training images are flipped at random, so a flip changes the logits little; the mean removes the rest. In training
    the logits of the network are passed on unchanged.

    Examples
    --------
    >>> model = Mirrored(resnet20()).eval()
    >>> images = torch.randint(0, 256, (2, 3, 32, 32), generator=torch.Generator().manual_seed(0))
    >>> torch.allclose(model(images), model(images.flip(-1)))
    True
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the logits, of shape ``(n,)``."""
        logits: torch.Tensor = self.network(images)
        return logits if self.training else (logits + self.network(images.flip(-1))) / 2.0


BACKBONES: dict[str, Callable[..., nn.Module]] = {
    "cifar10-lt": resnet20,
    "cifar100-lt": resnet20,
    "tiny-imagenet": resnet18,
}
