"""How many examples a region selects: no floating error loses or adds one, and the messages are right."""

import dataclasses
import math
import re
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

import reference
from tpauc.region import Region, hard_mass

LARGEST = 10**7


@st.composite
def counts(draw, smallest=1):
    """``(k, n)`` with ``smallest <= k <= n``; half of the time among small numbers, where most products are whole."""
    n = draw(st.one_of(st.integers(1, 200), st.integers(1, LARGEST)))
    return draw(st.integers(smallest, n)), n


# -------------------------------------------------------------------------------------------------------- rounding


@pytest.mark.parametrize(
    ("n", "share", "expected"),
    [
        (100, 0.29, 29),  # 28.999999999999996
        (100, 0.57, 57),  # 56.99999999999999
        (1000, 0.001, 1),
        (3, 1 / 3, 1),
        (10, 0.7 - 0.4, 3),  # 2.9999999999999996
        (10_000, 1 - 0.9999, 1),  # 0.9999999999998899
        (10, 0.39, 3),
        (10, 0.3999, 3),
        (100, 0.2899999, 28),
        (7, 0.1, 0),
        (10**15, 1.0, 10**15),
        (0, 0.5, 0),
        (5, 0.0, 0),
    ],
)
def test_known_counts(n, share, expected):
    count = hard_mass(n, share)
    assert type(count) is int
    assert count == expected


@given(counts())
@settings(deadline=None, max_examples=500)
@example((29, 100))
@example((LARGEST - 1, LARGEST))
@example((1, LARGEST))
def test_a_share_of_k_in_n_selects_k(pair):
    k, n = pair
    assert hard_mass(n, k / n) == k


@given(counts())
@settings(deadline=None, max_examples=500)
@example((1, LARGEST))
@example((1, 10_000))
def test_what_is_left_of_a_share_selects_the_rest(pair):
    """Users who think in true positive rates write ``alpha = 1 - tpr``, whose error is relative to 1, not to alpha."""
    k, n = pair
    assert hard_mass(n, 1 - (n - k) / n) == k


@given(st.integers(1, LARGEST), counts(smallest=0))
@settings(deadline=None, max_examples=500)
@example(LARGEST, (LARGEST - 2, LARGEST - 1))  # 1e-7 below a whole number
@example(LARGEST - 1, (LARGEST - 1, LARGEST))  # 1e-7 above a whole number
@example(LARGEST - 1, (1, LARGEST))  # 1e-7 below a whole number
def test_products_that_are_not_whole_are_rounded_down(n, pair):
    k, m = pair
    assert hard_mass(n, k / m) == (n * k) // m


@given(st.integers(1, 10**6), st.integers(1, 10**6).map(lambda millionths: millionths / 10**6))
@settings(deadline=None, max_examples=300)
def test_decimal_shares_equal_exact_decimal_arithmetic(n, share):
    assert hard_mass(n, share) == math.floor(Fraction(repr(share)) * n) == reference.hard_count(n, share)


@given(st.integers(0, 2**53), st.floats(0, 1))
@settings(deadline=None, max_examples=300)
@example(2**53, 1.0)
def test_no_more_than_all_are_selected(n, share):
    assert 0 <= hard_mass(n, share) <= n


def test_plain_rounding_would_fail_these_tests():
    """The checks above can fail: ``floor`` alone loses an example for many shares, rounding to nearest adds some."""
    pairs = [(k, 100) for k in range(1, 101)]
    assert any(math.floor(n * (k / n)) != k for k, n in pairs)
    assert any(math.floor(n * (1 - (n - k) / n)) != k for k, n in pairs)
    assert round(10 * 0.39) != hard_mass(10, 0.39)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_shares_of_low_precision_are_read_as_they_print(dtype):
    """``np.float32(0.7)`` is 0.699999988 when widened, and ten times that is not 7; so is a tensor of that type."""
    for hundredths in range(1, 101):
        share = dtype(hundredths / 100)
        for given_share in (share, np.array(share), torch.from_numpy(np.array(share))):
            region = Region(given_share, given_share)
            assert region.hard_positives(100) == region.hard_negatives(100) == hundredths
            assert region.alpha == region.beta == hundredths / 100
    assert hard_mass(10, float(np.float32(0.7))) == 6


def test_shares_of_low_precision_do_not_depend_on_how_numpy_prints():
    with np.printoptions(precision=2, legacy="1.13"):
        assert str(np.float32(0.67891234)) != "0.67891234"
        assert Region(np.float32(0.67891234), 1).alpha == 0.67891234


# ---------------------------------------------------------------------------------------------------------- Region


def test_region_counts_each_class_with_its_own_share():
    region = Region(alpha=0.1, beta=0.5)
    assert region.hard_positives(19) == 1
    assert region.hard_negatives(19) == 9
    assert region.area == 0.05


def test_whole_region_selects_everyone():
    region = Region(1, np.int64(1))
    assert region.hard_positives(7) == region.hard_negatives(7) == 7
    assert region == Region(1.0, 1.0)
    assert hash(region) == hash(Region(1.0, 1.0))
    assert type(region.alpha) is type(region.beta) is float


def test_region_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Region(0.1, 0.1).alpha = 0.2


def needed_by_message(share):
    with pytest.raises(ValueError, match="selects none of the 0 positive examples") as caught:
        Region(share, 1).hard_positives(0)
    return int(re.search(r"at least (\d+) are needed", str(caught.value)).group(1))


@given(st.one_of(st.floats(1e-9, 1), counts().map(lambda pair: pair[0] / pair[1])))
@settings(deadline=None, max_examples=500)
@example(1.0)
@example(0.1)
@example(1 / 3)
@example(math.nextafter(0.5, 1))
@example(math.nextafter(0.5, 0))
@example(1 / 2 - 2.0**-51)  # two times the padded share is exactly 1
@example(1 / 161 - 2.0**-51)  # its padded inverse is 161, yet 161 times the padded share falls short of 1
def test_the_number_needed_is_the_smallest_that_works(share):
    needed = needed_by_message(share)
    assert hard_mass(needed, share) >= 1
    assert hard_mass(needed - 1, share) == 0


@pytest.mark.parametrize(("share", "needed"), [(0.1, 10), (1 / 3, 3), (0.29, 4), (1e-7, LARGEST), (1.0, 1), (0.5, 2)])
def test_known_numbers_needed(share, needed):
    assert needed_by_message(share) == needed


@pytest.mark.parametrize("share", [5e-324, 1e-300, 1e-20])
def test_vanishing_shares_have_a_message_too(share):
    needed = needed_by_message(share)
    assert hard_mass(needed, share) >= 1


def test_an_empty_selection_names_class_share_and_count():
    region = Region(alpha=0.1, beta=0.9999999)
    with pytest.raises(
        ValueError, match=r"^alpha=0\.1 selects none of the 9 positive examples; at least 10 are needed"
    ):
        region.hard_positives(9)
    assert region.hard_positives(10) == 1
    # All digits of the share: "beta=1 selects none of 1" would be a riddle.
    with pytest.raises(ValueError, match=r"^beta=0\.9999999 selects none of the 1 negative examples; at least 2 are"):
        region.hard_negatives(1)
    assert region.hard_negatives(2) == 1


@pytest.mark.parametrize("share", [0, 0.0, -0.0, -1e-9, 1.0000001, 2, math.nan, math.inf, -math.inf])
def test_shares_outside_the_range_are_named(share):
    with pytest.raises(ValueError, match=r"^alpha must be"):
        Region(share, 0.5)
    with pytest.raises(ValueError, match=r"^beta must be"):
        Region(0.5, share)


@pytest.mark.parametrize("share", ["0.5", None, True, np.True_, [0.5], np.array([0.5]), 1j])
def test_shares_that_are_no_numbers_are_named(share):
    with pytest.raises(TypeError, match=r"^alpha must be a number, got"):
        Region(share, 0.5)
    with pytest.raises(TypeError, match=r"^beta must be a number, got"):
        Region(0.5, share)


@pytest.mark.parametrize("side", ["positive", "negative"])
def test_numbers_of_examples_are_whole(side):
    count = getattr(Region(0.5, 0.5), f"hard_{side}s")
    with pytest.raises(TypeError, match=f"^n_{side} must be a whole number, got 10.0"):
        count(10.0)
    with pytest.raises(ValueError, match=f"^n_{side} must be at least 0, got -1"):
        count(-1)
    assert count(np.int32(10)) == 5


def test_a_region_is_widened_to_one_example_and_not_for_a_rounding():
    assert Region(0.3, 0.3).holding_one(2, 100) == Region(0.5, 0.3)
    assert Region(0.3, 0.001).holding_one(50, 100) == Region(0.3, 0.01)
    region = Region(1 - 0.9, 0.3)  # a little below 0.1
    assert region.holding_one(10, 100) == region


@pytest.mark.parametrize(("sizes", "name"), [((0, 5), "n_positive"), ((5, 0), "n_negative")])
def test_no_region_holds_one_example_of_an_empty_class(sizes, name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        Region(0.3, 0.3).holding_one(*sizes)


# ------------------------------------------------------------------------------------------------------- rectangles


@pytest.mark.parametrize("minimum", [-0.1, 0.3, 0.4, math.nan])
@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_minima_lie_below_the_share(name, minimum):
    with pytest.raises(ValueError, match=f"min_{name} must be"):
        Region(0.3, 0.3, **{f"min_{name}": minimum})


def test_corners_add_up_to_the_rectangle():
    region = Region(0.5, 0.4, min_alpha=0.2, min_beta=0.1)
    assert math.isclose(sum(sign * corner.area for sign, corner in region.signed_corners()), region.area)
    assert all(corner.is_corner for _, corner in region.signed_corners())
    assert repr(region) == "Region(alpha=0.5, beta=0.4, min_alpha=0.2, min_beta=0.1)"
    assert eval(repr(region)) == region


def test_ranks_in_a_rectangle():
    region = Region(0.5, 0.4, min_alpha=0.29, min_beta=0.1)
    assert region.ranks_of_positives(100) == (29, 50)
    assert region.hard_positives(100) == 21
    assert region.ranks_of_negatives(10) == (1, 4)
    with pytest.raises(
        ValueError, match=r"no positive lies between miss rates of 0\.34 and 0\.5: there are only 3 pos"
    ):
        Region(0.5, 0.4, min_alpha=0.34).hard_positives(3)
