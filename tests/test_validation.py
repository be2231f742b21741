"""The checks that several modules share: each lets good input through unchanged in meaning, and names what is bad.

A check that a single module uses is tested with that module.
"""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch

from tpauc._validation import (
    brief,
    check_choice,
    check_count,
    check_groups,
    check_labels,
    check_labels_and_scores,
    check_logits_and_labels,
    check_moderate_weight,
    check_non_negative,
    check_number,
    check_open_share,
    check_positive,
    check_row_counts,
    check_same_length,
    check_sample_weight,
    check_scores,
    check_share,
)

# ------------------------------------------------------------------------------------------------------ plain values

# An integer that float() refuses with an OverflowError, and repr() with a ValueError; so pytest needs a name for it.
HUGE = pytest.param(10**5000, id="10**5000")
NUMBER_CHECKS = [check_number, check_share, check_open_share, check_positive, check_non_negative]


@pytest.mark.parametrize("check", NUMBER_CHECKS)
@pytest.mark.parametrize(
    "value",
    [
        *(0.5, Fraction(1, 2), Decimal("0.5"), np.array(0.5), torch.tensor(0.5)),
        *(np.float64(0.5), np.float32(0.5), np.float16(0.5), np.longdouble(0.5)),
    ],
)
def test_a_half_is_a_number_of_every_kind(check, value):
    number = check(value, "rate")
    assert type(number) is float
    assert number == 0.5


@pytest.mark.parametrize("check", NUMBER_CHECKS)
@pytest.mark.parametrize(
    "value", ["0.5", b"0.5", None, True, np.False_, np.array(True), [0.5], np.array([0.5]), 0.5j, {}]
)
def test_what_is_no_number_is_a_type_error(check, value):
    with pytest.raises(TypeError, match=r"^rate must be a number, got "):
        check(value, "rate")


@pytest.mark.parametrize("check", NUMBER_CHECKS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32(np.inf), HUGE])
def test_numbers_are_finite(check, value):
    with pytest.raises(ValueError, match=r"^rate must be finite, got "):
        check(value, "rate")


@pytest.mark.parametrize(("value", "printed"), [(0.1, 0.1), (0.7, 0.7), (1e-7, 1e-7), (-2.5, -2.5), (3e38, 3e38)])
def test_low_precision_numbers_are_read_as_they_print(value, printed):
    assert check_number(np.float32(value), "rate") == printed
    assert check_number(np.array(value, dtype=np.float32), "rate") == printed


@pytest.mark.parametrize(
    ("check", "good", "bad", "rule"),
    [
        (check_share, [5e-324, 1, 1.0], [0, -0.0, -0.5, math.nextafter(1, 2), 2], r"must be a share in \(0, 1\]"),
        (check_open_share, [5e-324, math.nextafter(1, 0)], [0, 1, -0.5, 2], r"must be in \(0, 1\)"),
        (check_positive, [5e-324, 1, 1e308], [0, -0.0, -5e-324, -1], "must be above 0"),
        (check_non_negative, [0, -0.0, 5e-324, 1e308], [-5e-324, -1], "must be at least 0"),
    ],
)
def test_ranges_hold_at_their_ends(check, good, bad, rule):
    for value in good:
        assert check(value, "rate") == value
    for value in bad:
        with pytest.raises(ValueError, match=f"^rate {rule}, got {value!r}$"):
            check(value, "rate")


def test_a_negative_number_is_a_number():
    assert check_number(-3, "rate") == -3.0


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), np.array(3), torch.tensor(3)])
def test_counts(value):
    count = check_count(value, "bins", at_least=3)
    assert type(count) is int
    assert count == 3


def test_counts_are_at_least_one_unless_told_otherwise():
    assert check_count(1, "bins") == 1
    with pytest.raises(ValueError, match=r"^bins must be at least 1, got 0$"):
        check_count(0, "bins")
    assert check_count(0, "bins", at_least=0) == 0
    with pytest.raises(ValueError, match=r"^bins must be at least 2, got 1$"):
        check_count(1, "bins", at_least=2)


@pytest.mark.parametrize("value", [3.0, np.float32(3), "3", None, True, np.True_, np.array([3]), torch.tensor(3.0)])
def test_what_is_no_whole_number_is_a_type_error(value):
    with pytest.raises(TypeError, match=r"^bins must be a whole number, got "):
        check_count(value, "bins")


def test_choices():
    choices = {"half": 0.5, "pessimistic": 0.0}
    assert check_choice("half", "ties", choices) == "half"
    for value in ("Half", "", None, 0.5, ["half"]):
        with pytest.raises(ValueError, match=r"^ties must be one of 'half', 'pessimistic', got "):
            check_choice(value, "ties", choices)


# ------------------------------------------------------------------------------------------------------ NumPy arrays


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float16, np.float32, np.float64])
def test_labels_of_zero_and_one(dtype):
    labels = check_labels(np.array([0, 1, 1, 0], dtype=dtype))
    assert labels.dtype == np.bool_
    assert labels.tolist() == [False, True, True, False]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float16, np.float64])
def test_labels_of_minus_one_and_one(dtype):
    assert check_labels(np.array([-1, 1, -1], dtype=dtype)).tolist() == [False, True, False]


def test_labels_of_one_class_none_and_a_column():
    """Whether both classes are needed is for others to say."""
    for value, positive in ((0, False), (1, True), (-1, False)):
        assert check_labels([value] * 3).tolist() == [positive] * 3
    assert check_labels([]).shape == (0,)
    assert check_labels([[0], [1]]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 2], "must hold only 0/1 or only -1/1, found the values 0, 2"),
        ([1, 2], "found the values 1, 2"),
        ([-1, 0, 1], "found the values -1, 0, 1"),
        ([-2, 1], "found the values -2, 1"),
        ([0.5], r"found the values 0\.5"),
        ([0, 1e-9, 1], "found the values 0, 1e-09, 1"),
        ([0, math.nan], "found the values 0, nan"),
        ([0, math.inf], "found the values 0, inf"),
        (range(10), r"found the values 0, 1, 2, 3, 4, \.\.\.$"),
        (["a", "b"], "must hold 0/1 or -1/1 as numbers or booleans, got dtype <U1"),
        ([None, 1], "got dtype object"),
        ([1j], "got dtype complex128"),
        ([[0, 1]], r"must be one-dimensional, got shape \(1, 2\)"),
        (1, r"must be one-dimensional, got shape \(\)"),
        ([[0, 1], [1]], "cannot be read as an array: "),
        (np.ma.array([0, 1], mask=[True, False]), "must have no masked entries"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=f"^target .*{message}"):
        check_labels(labels, "target")


@pytest.mark.parametrize(
    ("labels", "pos_label", "positive"),
    [
        (["ok", "fraud", "ok"], "fraud", [False, True, False]),
        (["ok", "fraud", "ok"], "ok", [True, False, True]),
        (["ok", "fraud", "ok"], np.str_("ok"), [True, False, True]),
        (np.array(["ok", "fraud"], dtype=object), "fraud", [False, True]),
        ([b"ok", b"fraud"], b"fraud", [False, True]),
        ([1, 2, 2], 2, [False, True, True]),
        ([1.5, 2.5], 1.5, [True, False]),
        ([0, 1], 0, [True, False]),
        ([0, 1], True, [False, True]),
        ([-1, 1], -1, [True, False]),
        ([True, False], False, [False, True]),
        ([True, False], 1, [True, False]),
        (["ok", "ok"], "ok", [True, True]),
        (["ok", "ok"], "fraud", [False, False]),  # whether both classes are needed is for others to say
        (["nan", "ok"], "ok", [False, True]),  # text, not a missing value
        ([], "fraud", []),
    ],
)
def test_the_positive_label_can_be_named(labels, pos_label, positive):
    found = check_labels(labels, "target", pos_label)
    assert found.dtype == np.bool_
    assert found.tolist() == positive


@pytest.mark.parametrize(
    ("labels", "pos_label", "message"),
    [
        (["ok", "fraud"], "fruad", "pos_label='fruad' is not among the labels of target, which are 'fraud', 'ok'"),
        ([1, 2], "1", "pos_label='1' is not among the labels of target, which are 1, 2"),
        (["1", "2"], 1, "pos_label=1 is not among the labels of target, which are '1', '2'"),
        ([0, 1, 2], 1, "target must hold pos_label=1 and one other label, found 0, 1, 2"),
        (range(9), 1, r"target must hold pos_label=1 and one other label, found 0, 1, 2, 3, 4, \.\.\."),
        ([1.0, math.nan], 1, r"target must hold pos_label=1 and one other label, found 1\.0, nan"),
        (np.array(["ok", None], dtype=object), "ok", "target must hold pos_label='ok' and one other .* 'ok', None"),
    ],
)
def test_bad_labels_for_a_named_positive_one(labels, pos_label, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        check_labels(labels, "target", pos_label)


@pytest.mark.parametrize("pos_label", [["ok"], ("ok",), {"ok"}, np.array(["ok"])])
def test_the_positive_label_is_a_single_one(pos_label):
    with pytest.raises(TypeError, match=r"^pos_label must be a single label, got "):
        check_labels(["ok", "fraud"], pos_label=pos_label)


@pytest.mark.parametrize(
    ("labels", "ending"),
    [
        (["ok", "fraud"], "; of 'fraud' and 'ok' name the positive label, pos_label='fraud' or pos_label='ok', or"),
        (
            np.array(["ok", "fraud"], dtype=object),
            "; of 'ok' and 'fraud' name .* pos_label='ok' or pos_label='fraud', or",
        ),
        ([1, 2], "; of 1 and 2 name the positive label, pos_label=1 or pos_label=2, or turn them into 0 and 1$"),
    ],
)
def test_two_other_labels_ask_for_the_positive_one(labels, ending):
    with pytest.raises(ValueError, match=f"^target must hold .*{ending}"):
        check_labels(labels, "target")


@pytest.mark.parametrize("labels", [["a", "b", "c"], ["a"], [0, 2, 3], [5, 5], [0, math.nan], [None, "a"]])
def test_labels_that_are_not_two_are_not_asked_about(labels):
    with pytest.raises(ValueError, match=r"^target must hold ((?!pos_label).)*$"):
        check_labels(labels, "target")


@pytest.mark.parametrize(
    ("given_dtype", "kept"),
    [
        *((np.float32, np.float32), (np.float64, np.float64), (np.float16, np.float64)),
        *((np.longdouble, np.float64), (np.int8, np.float64), (np.uint64, np.float64)),
    ],
)
def test_scores_become_floats(given_dtype, kept):
    scores = check_scores(np.array([3, 1, 2], dtype=given_dtype))
    assert scores.dtype == kept
    assert scores.tolist() == [3.0, 1.0, 2.0]


@pytest.mark.parametrize(("dtype", "huge"), [(np.float32, 3e38), (np.float64, 1e308)])
def test_scores_whose_sum_overflows_are_finite(dtype, huge):
    scores = np.full(10, huge, dtype=dtype)
    np.testing.assert_array_equal(check_scores(scores), scores)


def test_scores_that_are_an_empty_list_a_column_or_unmasked():
    assert check_scores([]).shape == (0,)
    assert check_scores([[1.0], [2.0]]).tolist() == [1.0, 2.0]
    assert check_scores(np.ma.array([1.0, 2.0])).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0, math.nan, 1, math.inf], "must be finite, found 2 NaN or infinite values, the first is nan at position 1"),
        ([math.inf, -math.inf], "must be finite, found 2 .* the first is inf at position 0"),
        (np.array([1, -np.inf], dtype=np.float16), "must be finite, .* the first is -inf at position 1"),
        (["1"], "must hold real numbers, got dtype <U1"),
        ([True], "must hold real numbers, got dtype bool"),
        ([None], "must hold real numbers, got dtype object"),
        ([1j], "must hold real numbers, got dtype complex128"),
        ([[0.1, 0.9]], r"must be one-dimensional, got shape \(1, 2\)"),
        (0.5, r"must be one-dimensional, got shape \(\)"),
        ([[1], [2, 3]], "cannot be read as an array: "),
        (torch.ones(2, requires_grad=True), "cannot be read as an array: .* requires grad"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), "must have no masked entries"),
    ],
)
def test_bad_scores(scores, message):
    with pytest.raises(ValueError, match=f"^score_a {message}"):
        check_scores(scores, "score_a")


def test_integers_that_would_tie_as_floats():
    """2**53 and 2**53 + 1 are one float64; below, all integers differ."""
    assert check_scores([2**53 - 1, 2**53 - 2, -(2**53) + 1]).size == 3
    for too_large in (2**53, 2**53 + 1, -(2**53) - 1, -(2**63), 2**64 - 1):
        with pytest.raises(ValueError, match=r"^y_score holds integers of 2\*\*53 or more"):
            check_scores(np.array([too_large]))
    assert check_scores([2.0**60]).tolist() == [2.0**60]


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(np.float64).max, reason="long double is float64 here")
def test_a_long_double_beyond_float64_is_reported_as_infinite():
    with pytest.raises(ValueError, match=r"^y_score must be finite, .* inf at position 0"):
        check_scores(np.array([np.finfo(np.longdouble).max]))


@pytest.mark.skipif(np.finfo(np.longdouble).eps == np.finfo(np.float64).eps, reason="long double is float64 here")
def test_long_doubles_that_would_tie_as_floats():
    close = np.longdouble(1) + np.finfo(np.longdouble).eps * np.arange(3)
    with pytest.raises(ValueError, match=r"^y_score holds long doubles, .* tell 2 apart; rescale"):
        check_scores(close)
    thirds = np.arange(10) / np.longdouble(3)
    assert check_scores(thirds).tolist() == [float(third) for third in thirds]


def test_labels_and_scores():
    positive, scores = check_labels_and_scores([-1, 1], [2, 1])
    assert positive.tolist() == [False, True]
    assert scores.tolist() == [2.0, 1.0]
    assert check_labels_and_scores(["a", "b"], [2, 1], pos_label="a")[0].tolist() == [True, False]


@pytest.mark.parametrize(
    ("y", "s", "message"),
    [
        ([0, 1], [1], "y_true and score_b must have equal length, got 2 and 1"),
        ([0, 0], [1, 2], "y_true has no positive example among its 2; both classes are needed"),
        ([1], [1], "y_true has no negative example among its 1; both classes are needed"),
        ([], [], "y_true has no positive example among its 0; both classes are needed"),
        ([0, 3], [1, 2], "y_true must hold only 0/1"),
        ([0, 1], [1, math.nan], "score_b must be finite"),
    ],
)
def test_bad_labels_and_scores(y, s, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        check_labels_and_scores(y, s, score_name="score_b")


BOTH_CLASSES = np.array([True, False, True, False])


@pytest.mark.parametrize("weight", [[1, 2, 0, 3], [1.0, 2.0, 0.0, 3.0], np.array([1, 2, 0, 3], dtype=np.uint8)])
def test_whole_weights_are_counts_of_rows(weight):
    counts = check_row_counts(weight, BOTH_CLASSES)
    assert counts.dtype == np.int64
    assert counts.tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 0.5, 1, 2.5], r"sample_weight must hold whole numbers here, .* found 0\.5 at position 1; "),
        ([2.0**53, 1, 2, 1], r"sample_weight must stand for at most 2\*\*53 rows, found 9\.0072e\+15"),
        ([1, -1, 1, 1], "sample_weight must not be negative, found -1"),
        ([0, 1, 0, 1], "sample_weight is zero for every positive example"),
        ([1, 1, 1], "y_true and sample_weight must have equal length, got 4 and 3"),
    ],
)
def test_weights_that_are_no_counts(weight, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        check_row_counts(weight, BOTH_CLASSES)


@pytest.mark.parametrize(
    "groups",
    [
        *([4, 9, 9, 4], ["a", "b", "b", "a"], [0.5, 1.5, 1.5, 0.5], [True, False, False, True]),
        *([["x"], ["y"], ["y"], ["x"]], np.array(["x", 7, 7, "x"], dtype=object)),
    ],
)
def test_groups_are_numbered(groups):
    codes = check_groups(groups, BOTH_CLASSES)
    assert sorted(set(codes.tolist())) == [0, 1]
    assert codes[0] == codes[3] != codes[1] == codes[2]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2, 3], "y_true and groups must have equal length, got 4 and 3"),
        ([1, 2, math.nan, 3], "groups must name the group of every row, found nan"),
        (np.array(["a", "b", None, "c"], dtype=object), "groups must name the group of every row, found None"),
        ([[1, 2]] * 4, r"groups must be one-dimensional, got shape \(4, 2\)"),
        ([1, 2, 1, 3], "groups must hold at least 2 groups with a positive row"),
        ([1, 2, 3, 2], "groups must hold at least 2 groups with a negative row"),
    ],
)
def test_bad_groups(groups, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        check_groups(groups, BOTH_CLASSES)


def test_same_length():
    check_same_length("a", np.zeros(2), "b", np.ones(2))
    with pytest.raises(ValueError, match=r"^a and b must have equal length, got 2 and 3$"):
        check_same_length("a", np.zeros(2), "b", np.ones(3))


@pytest.mark.parametrize("weight", [[1, 0, 2], [1e308, 1e308, 5e-324], np.array([1, 0, 1], dtype=np.float32)])
def test_sample_weight(weight):
    checked = check_sample_weight(weight, np.array([True, True, False]))
    assert checked.dtype == np.float64
    assert checked.tolist() == list(weight)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1], "y_true and sample_weight must have equal length, got 3 and 2"),
        ([1, 1, -0.5], r"sample_weight must not be negative, found -0\.5"),
        ([1, math.inf, 1], "sample_weight must be finite, .* inf at position 1"),
        ([0, 0, 1], "sample_weight is zero for every positive example"),
        ([1, 0, 0], "sample_weight is zero for every negative example"),
        ([[1, 1, 1]], "sample_weight must be one-dimensional"),
    ],
)
def test_bad_sample_weight(weight, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        check_sample_weight(weight, np.array([True, True, False]))


# ----------------------------------------------------------------------------------------------------------- tensors


@pytest.mark.parametrize(
    ("dtype", "computed"),
    [
        *((torch.float16, torch.float32), (torch.bfloat16, torch.float32)),
        *((torch.float32, torch.float32), (torch.float64, torch.float64)),
    ],
)
@pytest.mark.parametrize(
    "labels",
    [torch.tensor([0, 1, 1]), torch.tensor([-1, 1, 1]), torch.tensor([-1.0, 1, 1]), torch.tensor([0, 1, 1]).bool()]
    + [torch.tensor([0, 1, 1], dtype=dtype) for dtype in (torch.uint8, torch.int8, torch.float16, torch.float64)]
    + [torch.tensor([0, 1, 1]).to(dtype) for dtype in (torch.uint16, torch.uint32, torch.uint64)],
)
@pytest.mark.parametrize("column", [False, True])
def test_logits_and_labels(dtype, computed, labels, column):
    logits = torch.tensor([1.0, -2.0, 3.0], dtype=dtype)
    flat_logits, flat_labels = check_logits_and_labels(logits[:, None] if column else logits, labels)
    assert flat_logits.dtype == flat_labels.dtype == computed
    assert flat_logits.tolist() == [1.0, -2.0, 3.0]
    assert flat_labels.tolist() == [0.0, 1.0, 1.0]


def test_logits_keep_their_graph():
    logits = torch.ones((2, 1), dtype=torch.bfloat16, requires_grad=True)
    check_logits_and_labels(logits, torch.tensor([[0], [1]]))[0].sum().backward()
    assert logits.grad.tolist() == [[1.0], [1.0]]


def test_an_empty_batch_and_a_single_class_pass():
    """A loss gives them the value 0; it is not for this check to refuse them."""
    logits, labels = check_logits_and_labels(torch.zeros(0), torch.zeros(0))
    assert logits.shape == labels.shape == (0,)
    for value, number in ((0, 0.0), (1, 1.0), (-1, 0.0)):
        assert check_logits_and_labels(torch.zeros(2), torch.full((2,), value))[1].tolist() == [number] * 2


@pytest.mark.parametrize(
    ("logits", "labels", "error", "message"),
    [
        (np.zeros(2), torch.zeros(2), TypeError, r"scores must be a torch\.Tensor, got ndarray"),
        (torch.zeros(2), [0, 1], TypeError, r"labels must be a torch\.Tensor, got list"),
        (
            torch.zeros(2, dtype=torch.int64),
            torch.zeros(2),
            TypeError,
            r"scores must be floating point, got torch\.int64",
        ),
        (torch.zeros(2, dtype=torch.complex64), torch.zeros(2), TypeError, "scores must be floating point"),
        (torch.zeros(2), torch.zeros(2, dtype=torch.complex64), TypeError, "labels must be bool, integer or floating"),
        (torch.zeros(2, 2), torch.zeros(2), ValueError, r"scores must have shape \(n,\) or \(n, 1\), got \(2, 2\)"),
        (torch.zeros(2), torch.zeros(1, 2), ValueError, r"labels must have shape \(n,\) or \(n, 1\), got \(1, 2\)"),
        (torch.tensor(0.0), torch.zeros(1), ValueError, r"scores must have shape .* got \(\)"),
        (
            torch.zeros(2),
            torch.zeros(3),
            ValueError,
            r"scores and labels must have equal length, got shapes \(2,\) and",
        ),
        (torch.zeros(2), torch.zeros(2, device="meta"), ValueError, "scores and labels must be on one device, got cpu"),
        (torch.zeros(2), torch.tensor([0, 2]), ValueError, "labels must hold only 0/1 or only -1/1, found .* 0, 2"),
        (torch.zeros(2), torch.tensor([0, 0.5]), ValueError, r"labels .* found the values 0, 0\.5"),
        (torch.zeros(3), torch.tensor([-1, 0, 1]), ValueError, "labels .* found the values -1, 0, 1"),
        (torch.zeros(2), torch.tensor([1, math.nan]), ValueError, "labels .* found the values 1, nan"),
        (torch.zeros(2), torch.tensor([255, 1], dtype=torch.uint8), ValueError, "labels .* found the values 1, 255"),
        (torch.zeros(2), torch.tensor([1, 7]).to(torch.uint16), ValueError, "labels .* found the values 1, 7"),
        (torch.zeros(9), torch.arange(9), ValueError, r"labels .* found the values 0, 1, 2, 3, 4, \.\.\."),
    ],
)
def test_bad_logits_and_labels(logits, labels, error, message):
    with pytest.raises(error, match=f"^{message}"):
        check_logits_and_labels(logits, labels, logits_name="scores")


# --------------------------------------------------------------------------------------------- what only looks right


@pytest.mark.parametrize(
    "value",
    [0.3 + 5j, np.complex128(0.3 + 5j), 0.3 + 0j, np.timedelta64(1), np.timedelta64(1, "D"), torch.tensor(0.3j)],
)
def test_complex_numbers_and_times_are_no_numbers(value):
    with pytest.raises(TypeError, match=r"^rate must be a number, got "):
        check_number(value, "rate")


@pytest.mark.parametrize("labels", [np.array([0, 1], dtype=complex), np.array([0, 1], dtype="m8[D]")])
def test_complex_labels_and_times_are_no_labels_even_with_pos_label(labels):
    with pytest.raises(ValueError, match=r"^target must hold numbers, booleans or text, got dtype "):
        check_labels(labels, "target", 1)


@pytest.mark.parametrize("pos_label", [1 + 0j, np.timedelta64(1), np.datetime64("2026-01-01"), [1], None.__class__])
def test_the_positive_label_is_a_number_or_text(pos_label):
    with pytest.raises(TypeError, match=r"^pos_label must be a single label, got "):
        check_labels([0, 1], "target", pos_label)


@pytest.mark.parametrize("weight", [1e308, 1e131, 1e-131, 5e-324])
def test_weights_whose_products_float64_cannot_hold_are_refused(weight):
    positive = np.array([True, False])
    with pytest.raises(ValueError, match=r"^sample_weight must have its largest weight between 1e-130 and 1e\+130"):
        check_moderate_weight([weight, weight], positive)
    assert check_moderate_weight([1e130, 1e-300], positive).tolist() == [1e130, 1e-300]
    assert check_sample_weight([weight, weight], positive).tolist() == [weight, weight]  # metrics scale them


@pytest.mark.parametrize("value", [2**63, 10**400])
def test_counts_fit_in_64_bits(value):
    with pytest.raises(ValueError, match=r"^bins must be at most 9223372036854775807, got [19]"):
        check_count(value, "bins")
    assert check_count(2**63 - 1, "bins") == 2**63 - 1


def test_a_wrong_value_is_shown_in_one_short_line():
    class Silent:
        def __repr__(self):
            raise RuntimeError("no text")

    assert brief("a\nb") == "'a\\nb'"
    assert brief(np.zeros((3, 3))) == "array([[0., 0., 0.], [0., 0., 0.], [0., 0., 0.]])"
    assert brief(list(range(100))).endswith("... (list)")
    assert brief(Silent()) == "a Silent"
