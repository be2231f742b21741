"""The two networks: their size, their features, and what they make of pixels."""

import math

import pytest
import torch
from torch import nn

from tpauc.paper.data.datasets import DATASETS
from tpauc.paper.experiments.backbones import (
    BACKBONES,
    CIFAR_PIXELS,
    IMAGENET_PIXELS,
    BasicBlock,
    Mirrored,
    Normalise,
    halved_and_padded,
    resnet18,
    resnet20,
)


@pytest.mark.parametrize(
    ("make", "size", "features", "parameters", "convolutions"),
    [
        # 269,722 and 11,689,512 with the heads of 10 and 1,000 classes that they are known with
        (resnet20, 32, 64, 269_722 - 65 * 10 + 65, 19),
        (resnet18, 64, 512, 11_689_512 - 513 * 1000 + 513, 20),
    ],
)
def test_size(make, size, features, parameters, convolutions):
    model = make().eval()
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters
    assert sum(isinstance(module, nn.Conv2d) for module in model.modules()) == convolutions
    images = torch.randint(0, 256, (2, 3, size, size), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert model.features(images).shape == (2, features)
        assert model(images).shape == (2,)


def test_there_is_a_backbone_for_each_data_set():
    assert set(BACKBONES) == set(DATASETS)


def test_bytes_and_floats_give_the_same_logits():
    model = resnet20().eval()
    images = torch.randint(0, 256, (3, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(model(images), model(images.float()))


def test_normalised_pixels_have_mean_0_and_deviation_1():
    means, deviations = (torch.tensor(values) for values in CIFAR_PIXELS)
    images = torch.stack([means - deviations, means, means + deviations])[:, :, None, None]
    normalised = Normalise(CIFAR_PIXELS)(images)
    expected = torch.tensor([-1.0, 0.0, 1.0])[:, None, None, None].expand_as(images)
    # float32 numbers up to 3 are off by a few of their last digits
    torch.testing.assert_close(normalised, expected, rtol=0.0, atol=1e-6)


def test_constants_of_the_architecture_are_no_part_of_a_checkpoint():
    assert not [name for name in resnet20().state_dict() if name.startswith("normalise")]


def test_type_follows_the_module():
    assert resnet20().double()(torch.zeros(2, 3, 32, 32, dtype=torch.uint8)).dtype == torch.float64


def test_a_shortcut_without_weights_copies_every_second_pixel():
    images = torch.arange(32.0).reshape(1, 2, 4, 4)
    short = halved_and_padded(images, 6)
    assert torch.equal(short[:, 2:4], images[:, :, ::2, ::2])
    assert short[:, :2].abs().max() == short[:, 4:].abs().max() == 0.0


@pytest.mark.parametrize("learned", [False, True])
def test_a_block_whose_convolutions_are_0_passes_on_its_shortcut(learned):
    block = BasicBlock(4, 4, learned_shortcut=learned).eval()
    nn.init.zeros_(block.conv2.weight)
    images = torch.rand(2, 4, 6, 6, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(block(images), images)


@pytest.mark.parametrize(("make", "features"), [(resnet20, 64), (resnet18, 512)])
@pytest.mark.parametrize(("head_init", "gain"), [("torch", 1.0), ("kaiming_uniform", 6.0)])
def test_the_last_layer_starts_within_its_bound(make, features, head_init, gain):
    torch.manual_seed(0)
    head = make(head_init=head_init).head
    bound = math.sqrt(gain / features)
    assert 0.9 * bound < head.weight.abs().max() <= bound
    assert head.bias.abs() <= 1.0 / math.sqrt(features)


def test_the_start_of_the_last_layer_is_all_that_head_init_changes():
    states = []
    for head_init in ("torch", "kaiming_uniform"):
        torch.manual_seed(0)
        states.append(resnet20(head_init=head_init).state_dict())
    first, second = states
    assert [name for name in first if not torch.equal(first[name], second[name])] == ["head.weight"]


@pytest.mark.parametrize("head_init", ["kaiming", None])
def test_an_unknown_start_of_the_last_layer_is_an_error(head_init):
    with pytest.raises(ValueError, match=f"head_init must be one of 'torch', 'kaiming_uniform', got {head_init!r}"):
        resnet20(head_init=head_init)


def test_pixels_may_be_normalised_by_the_means_of_another_data_set():
    image = torch.tensor(IMAGENET_PIXELS[0]).view(1, 3, 1, 1)
    assert resnet20(pixels=IMAGENET_PIXELS).normalise(image).abs().max() < 1e-6
    assert resnet20().normalise(image).abs().max() > 0.01


def test_every_weight_gets_a_gradient():
    model = resnet20()
    model(torch.randint(0, 256, (4, 3, 32, 32), generator=torch.Generator().manual_seed(0)).float()).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_mirror_images_count_once_training_is_over():
    class LeftHalf(nn.Module):
        def forward(self, images):
            return images[..., : images.shape[-1] // 2].sum(dim=(1, 2, 3))

    images = torch.arange(8.0).reshape(1, 1, 2, 4)  # left halves 0, 1, 4, 5 and, mirrored, 3, 2, 7, 6
    model = Mirrored(LeftHalf())
    assert model.train()(images) == 10.0
    assert model.eval()(images) == (10.0 + 18.0) / 2
