"""Axes and colours."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special

from tpauc.reporting.panels import COLOURS, Axis, look_of, padded

# ----------------------------------------------------------------------------------------------------------- axes


def written(text):
    return float(text.replace("\N{MINUS SIGN}", "-"))


@settings(deadline=None, max_examples=200)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_stand_where_they_say(low, width):
    axis = Axis("", *padded(low, low + width))
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 7
    for place, text in ticks:
        value = written(text)
        assert -1e-6 <= place <= 1 + 1e-6
        # Floats near `low` are spaced by about 1e-16 of it.
        assert axis.share(value) == pytest.approx(place, abs=1e-9 + 1e-15 * abs(low) / width)


@settings(deadline=None, max_examples=100)
@given(st.floats(-34.6, 34.5), st.floats(0.1, 69.2))
@example(34.5, 1.0)
@example(-34.6, 0.1)
@example(13.0, 0.5)
def test_logit_ticks_stand_where_they_say(low, width):
    axis = Axis("", low, min(low + width, 34.6), logit=True)
    ticks = axis.ticks()
    assert len(ticks) <= 7
    assert len({text for _, text in ticks}) == len(ticks)
    for place, text in ticks:
        from_1 = text.startswith("1\N{MINUS SIGN}")  # 1 - 1e-9 is written as that
        logit = -special.logit(written(text[2:])) if from_1 else special.logit(written(text))
        # Floats near 1 are spaced by about 1e-16, of which a logit makes more.
        assert axis.share(logit) == pytest.approx(place, abs=1e-9 + 1e-15 * np.exp(logit) / (axis.high - axis.low))


def test_epochs_are_whole_numbers():
    assert [text for _, text in Axis("epoch", 0.0, 3.0, whole=True).ticks()] == ["0", "1", "2", "3"]


def test_an_axis_has_some_padding_even_around_a_single_value():
    assert padded(0.0, 10.0) == (-0.5, 10.5)
    assert padded(2.0, 2.0) == (1.5, 2.5)


# -------------------------------------------------------------------------------------------------------- colours

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear_rgb(colour):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(linear):
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = np.array(to_xyz) @ np.clip(linear, 0, 1) / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def smallest_difference(colours, vision):
    seen = [lab(np.array(vision) @ linear_rgb(colour)) for colour in colours]
    return min(np.linalg.norm(a - b) for a, b in combinations(seen, 2))


def contrast(a, b):
    low, high = sorted(linear_rgb(c) @ [0.2126, 0.7152, 0.0722] for c in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_models_and_classes_are_told_apart_by_colour_blind_readers(scheme, vision):
    # 2.3 is just noticeable in CIELAB; more than ten times that is told apart at a glance.
    models = [COLOURS[f"model-{number}"][scheme] for number in range(5)]
    assert smallest_difference(models, VISION[vision]) > 30
    assert smallest_difference([COLOURS[name][scheme] for name in ("positive", "negative")], VISION[vision]) > 30


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_lines_and_text_stand_out_from_the_page(scheme):
    paper = COLOURS["paper"][scheme]
    for name, colours in COLOURS.items():
        if name not in ("paper", "region"):
            assert contrast(colours[scheme], paper) >= 3.0, name  # WCAG 2.2, 1.4.11
    assert contrast(COLOURS["ink"][scheme], paper) >= 7.0


def test_the_colour_checks_can_fail():
    assert smallest_difference(["#ca6a00", "#a98600"], VISION["deuteranopia"]) < 30
    assert contrast("#e69f00", "#ffffff") < 3.0


def test_twenty_models_look_different():
    looks = [look_of(number) for number in range(20)]
    assert len({(look.colour, look.dash) for look in looks}) == 20
