"""Augmentation: each of its three parts alone against the plain operation, all together by their properties."""

import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from tpauc.paper.experiments.recipes import Augment

# Coordinates are float32: a place is off by up to about 1e-5 of a pixel, a value by that times the largest step, 255.
ROUNDING = 255 * 2e-5


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def noise(n, height=32, width=32, channels=3, seed=0):
    return torch.randint(0, 256, (n, channels, height, width), dtype=torch.uint8, generator=generator(seed))


# ------------------------------------------------------------------------------------------------------ one at a time


def test_nothing_changes_when_nothing_may():
    images = noise(4)
    changed = Augment(degrees=0, shift=0, flip=False)(images, generator())
    assert changed.dtype == torch.float32
    assert (changed - images.float()).abs().max() <= ROUNDING


@pytest.mark.parametrize(("height", "width"), [(32, 32), (8, 12)])
def test_a_flip_turns_half_of_the_images_left_to_right(height, width):
    images = noise(400, height, width, channels=1)
    changed = Augment(degrees=0, shift=0)(images, generator())
    same = (changed - images.float()).abs().amax(dim=(1, 2, 3)) <= ROUNDING
    mirrored = (changed - images.flip(3).float()).abs().amax(dim=(1, 2, 3)) <= ROUNDING
    assert torch.equal(same, ~mirrored)
    # Four standard deviations of a fair coin thrown 400 times, and the seed is fixed.
    assert abs(int(mirrored.sum()) - 200) <= 40


@pytest.mark.parametrize(("height", "width"), [(32, 32), (8, 12)])
def test_a_shift_is_a_crop_of_the_padded_image(height, width):
    images = noise(300, height, width, channels=1)
    changed = Augment(degrees=0, shift=2, flip=False)(images, generator())
    padded = torch.nn.functional.pad(images.float(), (2, 2, 2, 2))
    found = {}
    for row in range(len(images)):
        for down in range(5):
            for across in range(5):
                crop = padded[row, :, down : down + height, across : across + width]
                if (changed[row] - crop).abs().max() <= ROUNDING:
                    found.setdefault((down, across), []).append(row)
    assert len(found) == 25  # every offset occurs, both borders included
    assert sorted(row for rows in found.values() for row in rows) == list(range(300))


def test_a_rotation_is_that_of_scipy():
    # A smooth image: between its pixels linear interpolation on either grid gives nearly the same.
    down, across = np.mgrid[:32, :32]
    smooth = 128 + 60 * np.sin(down / 6) + 60 * np.cos(across / 7)
    images = torch.from_numpy(smooth.astype(np.float32)).expand(20, 1, 32, 32)
    changed = Augment(degrees=15, shift=0, flip=False)(images, generator(1)).numpy()[:, 0]
    inside = np.hypot(down - 15.5, across - 15.5) < 13
    angles = np.linspace(-15, 15, 301)
    references = np.stack([ndimage.rotate(smooth, angle, reshape=False, order=1) for angle in angles])[:, inside]
    errors = np.abs(changed[:, None, inside] - references).max(axis=2)
    # The nearest of angles 0.1 degrees apart is at most 0.05 degrees off: 0.012 pixels, times a slope of at most 19.
    assert errors.min(axis=1).max() < 0.3
    nearest = angles[errors.argmin(axis=1)]
    assert nearest.min() < -10
    assert nearest.max() > 10


def test_a_rotation_keeps_its_shape_in_an_oblong_image():
    # A disc stays a disc; it would become an ellipse if the angle were applied to coordinates of unequal scale.
    down, across = np.mgrid[:32, :64]
    disc = (np.hypot(down - 15.5, across - 31.5) < 8).astype(np.float32)
    images = torch.from_numpy(disc).expand(20, 1, 32, 64)
    changed = Augment(degrees=90, shift=0, flip=False)(images, generator()).numpy()
    assert np.abs(changed.sum(axis=(1, 2, 3)) - disc.sum()).max() < 0.02 * disc.sum()  # interpolated edge
    assert changed[:, 0, np.hypot(down - 15.5, across - 31.5) > 10].max() == 0.0


def test_the_nearest_pixel_is_taken_as_it_is():
    images = noise(20)
    interpolated, taken = (
        Augment(degrees=15, shift=4, between=between)(images, generator()) for between in ("bilinear", "nearest")
    )
    assert torch.equal(taken, taken.round())
    assert not torch.equal(interpolated, interpolated.round())
    # Noise has no blacks to speak of, so what is 0 lies outside of the image, for both in the same places but its edge.
    assert ((taken == 0) == (interpolated == 0)).float().mean() > 0.95


@pytest.mark.parametrize("flip", [False, True])
def test_without_rotation_there_is_nothing_between_pixels(flip):
    images = noise(50)
    interpolated, taken = (
        Augment(degrees=0, shift=4, flip=flip, between=between)(images, generator())
        for between in ("bilinear", "nearest")
    )
    assert (interpolated - taken).abs().max() <= ROUNDING


def test_angles_stay_within_degrees():
    # A bright bar to the right of the centre: where it goes tells the angle.
    images = torch.zeros(200, 1, 65, 65)
    images[:, :, 31:34, 52:55] = 255.0
    changed = Augment(degrees=15, shift=0, flip=False)(images, generator()).numpy()[:, 0]
    down, across = np.mgrid[:65, :65] - 32
    weight = changed / changed.sum(axis=(1, 2), keepdims=True)
    angles = np.degrees(np.arctan2((weight * down).sum(axis=(1, 2)), (weight * across).sum(axis=(1, 2))))
    assert np.abs(angles).max() <= 15.2  # the centre of mass is known to a fraction of a pixel, 21 pixels out
    assert angles.min() < -13
    assert angles.max() > 13


# -------------------------------------------------------------------------------------------------------- all together


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(2, 20),
    st.integers(2, 20),
    st.floats(0, 180),
    st.integers(0, 6),
    st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_shape_and_range_are_kept(n, channels, height, width, degrees, shift, flip):
    images = noise(n, height, width, channels)
    changed = Augment(degrees=degrees, shift=shift, flip=flip)(images, generator())
    assert changed.shape == images.shape
    assert changed.dtype == torch.float32
    assert changed.min() >= 0.0
    assert changed.max() <= 255.0 + ROUNDING


def test_the_generator_decides_and_nothing_else():
    images, augment = noise(8), Augment()
    torch.manual_seed(0)
    before = torch.get_rng_state()
    source = generator(3)
    first, second = augment(images, source), augment(images, source)
    assert not torch.equal(first, second)
    torch.manual_seed(1)
    assert torch.equal(augment(images, generator(3)), first)
    torch.manual_seed(0)
    augment(images, generator(3))
    assert torch.equal(torch.get_rng_state(), before)


def test_images_of_a_batch_are_changed_each_in_its_own_way():
    images = noise(1).expand(20, -1, -1, -1)
    changed = Augment()(images, generator())
    assert len({image.numpy().tobytes() for image in changed}) == 20


def test_the_input_is_left_as_it_was():
    images = noise(3).float()
    copy = images.clone()
    changed = Augment(degrees=0, shift=0, flip=False)(images, generator())
    changed.zero_()
    assert torch.equal(images, copy)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_floating_images_keep_their_dtype(dtype):
    images = noise(3).to(dtype)
    assert Augment()(images, generator()).dtype == dtype


def test_no_gradient_is_kept():
    assert not Augment()(noise(2).float().requires_grad_(), generator()).requires_grad


def test_it_can_be_sent_to_another_process():
    augment = pickle.loads(pickle.dumps(Augment(degrees=10, shift=2, flip=False)))
    assert augment == Augment(degrees=10, shift=2, flip=False)


# ----------------------------------------------------------------------------------------------------- wrong arguments


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"degrees": -1}, ValueError, "degrees must be at least 0, got -1"),
        ({"degrees": math.nan}, ValueError, "degrees must be finite, got nan"),
        ({"shift": -1}, ValueError, "shift must be at least 0, got -1"),
        ({"shift": 1.5}, TypeError, "shift must be a whole number, got 1.5"),
        ({"flip": 1}, TypeError, "flip must be True or False, got 1"),
        ({"between": "cubic"}, ValueError, "between must be one of 'bilinear', 'nearest', got 'cubic'"),
    ],
)
def test_wrong_settings(arguments, error, message):
    with pytest.raises(error, match=message):
        Augment(**arguments)


@pytest.mark.parametrize(
    ("images", "found"),
    [
        (torch.zeros(3, 32, 32), r"float32 of shape \(3, 32, 32\)"),
        (torch.zeros(0, 3, 32, 32), r"float32 of shape \(0, 3, 32, 32\)"),
        (torch.zeros(1, 3, 32, 32, dtype=torch.int64), r"int64 of shape \(1, 3, 32, 32\)"),
    ],
)
def test_wrong_images(images, found):
    with pytest.raises(ValueError, match=f"images must be a uint8 or floating tensor of shape .*, got {found}"):
        Augment()(images, generator())
