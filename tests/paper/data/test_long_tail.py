"""Long-tailed class sizes, and the split of each class."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc.paper.data.datasets import class_counts, distinct_rows, part_sizes, split_rows


def test_counts_of_cifar10():
    assert class_counts(10, largest=6000, ratio=0.01) == [6000, 3596, 2156, 1292, 774, 464, 278, 166, 100, 60]


def test_no_rounding_error_loses_an_image():
    assert class_counts(3, largest=100, ratio=0.01) == [100, 10, 1]
    assert class_counts(2, largest=100, ratio=0.29)[1] == 29  # 100 * 0.29 is 28.999999999999996


@given(st.integers(2, 300), st.integers(1, 10_000), st.floats(0.001, 1.0))
@settings(deadline=None, max_examples=100)
def test_counts_fall_from_the_largest_to_the_smallest(n_classes, largest, ratio):
    counts = class_counts(n_classes, largest=largest, ratio=ratio)
    assert len(counts) == n_classes
    assert counts[0] == largest
    assert counts == sorted(counts, reverse=True)
    assert abs(counts[-1] - largest * ratio) <= 1.0  # a floor


@pytest.mark.parametrize(
    ("n_classes", "largest", "ratio", "message"),
    [
        (1, 10, 0.1, "n_classes must be at least 2, got 1"),
        (2, 0, 0.1, "largest must be at least 1, got 0"),
        (2, 10, 0.0, r"ratio must be a share in \(0, 1\], got 0.0"),
    ],
)
def test_wrong_counts(n_classes, largest, ratio, message):
    with pytest.raises(ValueError, match=message):
        class_counts(n_classes, largest=largest, ratio=ratio)


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=50)
def test_parts_of_a_class_add_up(count):
    train, validation, test = part_sizes(count)
    assert train + validation + test == count
    assert (train, validation) == (int(count * 70 / 100), int(count * 15 / 100))


@given(st.lists(st.integers(0, 4), max_size=200), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=50)
def test_parts_are_disjoint_and_as_large_as_asked(classes, seed):
    classes = np.array(classes, dtype=np.int64)
    keep = [50, 20, 10, 5, 0]
    parts = split_rows(classes, keep, seed=seed)
    rows = np.concatenate(parts)
    assert len(set(rows.tolist())) == rows.size
    for number, most in enumerate(keep):
        of_class = tuple(int(np.count_nonzero(classes[part] == number)) for part in parts)
        assert of_class == part_sizes(min(most, int(np.count_nonzero(classes == number))))


def test_split_depends_on_the_seed_alone():
    classes = np.arange(200) % 2
    first, again, other = (split_rows(classes, [100, 50], seed=seed) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    # A class is drawn from its own rows: the other may have more or fewer images.
    fewer = split_rows(classes, [100, 10], seed=3)
    assert all(np.array_equal(a[classes[a] == 0], b[classes[b] == 0]) for a, b in zip(first, fewer, strict=True))


def test_distinct_rows_keep_the_lowest_class_of_each_content():
    rows = distinct_rows([b"z", b"a", b"z", b"a", b"m"], np.array([2, 0, 1, 0, 5]))
    assert rows.tolist() == [1, 4, 2]
