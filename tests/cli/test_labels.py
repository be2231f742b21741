"""Columns of a table as labels and scores."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tpauc.cli.errors import UsageError
from tpauc.cli.labels import labels_of, read_scores


def written(folder, name, contents):
    path = folder / name
    path.write_text(contents)
    return path


# ----------------------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("values", "typed", "positive_value"),
    [
        ([1, 0, 1], None, 1),
        ([1.0, 0.0, 1.0], None, 1.0),
        ([1, -1, 1], None, 1),
        ([True, False, True], None, True),
        (["yes", "no", "yes"], "yes", "yes"),
        ([2, 1, 2], "2", 2),
        ([2.0, 1.0, 2.0], "2", 2.0),
        ([2.0, 1.0, 2.0], "2.0", 2.0),
        ([0, 1, 0], "0", 0),
        ([True, False, True], "true", True),
        ([True, False, True], "1", True),
    ],
)
def test_which_value_is_positive(values, typed, positive_value):
    labels = labels_of(pa.chunked_array([values]), "column 'y'", positive=typed)
    assert labels.positive.tolist() == [True, False, True]
    assert (labels.positive_value, labels.negative_value) == (positive_value, values[1])
    assert (labels.n_positive, labels.n_negative) == (2, 1)


@pytest.mark.parametrize(
    ("values", "other", "expected"),
    [([0, 1], 1.0, 1), ([0.0, 1.0], 1, 1.0), ([0, 1], True, 1), ([False, True], 1.0, True), (["0", "1"], 1, "1")],
)
def test_the_positive_value_of_another_table(values, other, expected):
    labels = labels_of(pa.chunked_array([values]), "column 'y'", positive=other)
    assert labels.positive.tolist() == [False, True]
    assert (labels.positive_value, type(labels.positive_value)) == (expected, type(expected))


def test_categories_are_labels_too():
    column = pa.chunked_array([pa.array(["a", "b", "a"]).dictionary_encode()])
    assert labels_of(column, "y", positive="b").positive.tolist() == [False, True, False]


@pytest.mark.parametrize(("values", "typed"), [([0, 1, 1], None), ([-1, 1, 1], None), (["a", "b", "b"], "b")])
def test_labels_in_many_chunks(values, typed):
    whole = pa.chunked_array([values * 1000])
    cut = pa.chunked_array([whole.chunk(0).slice(start, 7) for start in range(0, 3000, 7)])
    expected = np.array([False, True, True] * 1000)
    for column in (whole, cut):
        np.testing.assert_array_equal(labels_of(column, "y", positive=typed).positive, expected)


def test_zero_one_in_one_chunk_and_minus_one_in_another_are_three_values():
    with pytest.raises(ValueError, match="found 3: -1, 0, 1"):
        labels_of(pa.chunked_array([[0, 1], [-1, 1]]), "column 'y'")


@pytest.mark.parametrize(
    ("values", "typed", "usage", "message"),
    [
        (["yes", "no"], None, True, "column 'y' holds 'no', 'yes'; say with --positive which"),
        ([1, 2], None, True, "column 'y' holds 1, 2; say with --positive"),
        (["yes", "no"], "Yes", True, "--positive must be one of the values of column 'y', 'no', 'yes', got 'Yes'"),
        ([0, 1, 2], None, False, "column 'y' must have two values, one for each class, found 3: 0, 1, 2"),
        (["a", "b", "c"], "a", False, "must have two values"),
        (list(range(30)), None, False, r"found 30: 0, 1, .*, \.\.\.$"),
        ([1, 1], None, False, "column 'y' has one value only, 1; both classes are needed"),
        ([0, None, 1], None, False, "column 'y' has no value in 1 of 3 rows, the first is row 2"),
        ([0.0, 1.0, float("nan")], None, False, "column 'y' has no value in 1 of 3 rows, the first is row 3"),
    ],
)
def test_labels_that_are_refused(values, typed, usage, message):
    with pytest.raises(ValueError, match=message) as caught:
        labels_of(pa.chunked_array([values]), "column 'y'", positive=typed)
    assert isinstance(caught.value, UsageError) == usage


# ----------------------------------------------------------------------------------------------------------- scores


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y,s\n1,0.5\n0,NaN\n", "column 's' has no value in 1 of 2 rows, the first is row 2"),
        ("y,s\n1,0.5\n0,\n", "column 's' has no value"),
        ("y,s\n1,inf\n0,1\n", "column 's' must be finite"),
        ("y,s\n1,high\n0,1\n", "column 's': .*invalid value 'high'"),
    ],
)
def test_scores_that_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_scores(written(tmp_path, "scores.csv", text), "y", ["s"])


def test_scores_of_a_binary_file_that_are_refused(tmp_path):
    for values, message in (
        (["low", "high"], "column 's' must hold real numbers"),
        ([0.5, np.nan], "column 's' must be finite, found 1 NaN"),
        ([True, False], "column 's' must hold real numbers"),
    ):
        parquet.write_table(pa.table({"y": [0, 1], "s": values}), tmp_path / "scores.parquet")
        with pytest.raises(ValueError, match=message):
            read_scores(tmp_path / "scores.parquet", "y", ["s"])


def test_scores_of_all_kinds_of_numbers(tmp_path):
    columns = {"int": pa.array([3, 1], pa.int16()), "float": pa.array([3, 1], pa.float32())}
    columns["decimal"] = pa.array([3, 1], pa.int8()).cast(pa.decimal128(5))
    parquet.write_table(pa.table({"y": [1, 0]} | columns), tmp_path / "scores.parquet", row_group_size=1)
    for values in read_scores(tmp_path / "scores.parquet", "y", list(columns)).scores.values():
        np.testing.assert_array_equal(values, [3.0, 1.0])


def test_a_column_cannot_be_two_things(tmp_path):
    path = written(tmp_path, "scores.csv", "y,s\n1,1\n0,1\n")
    for columns in (["s", "s"], ["y"]):
        with pytest.raises(UsageError, match="--label and --score must name different columns"):
            read_scores(path, "y", columns)


@pytest.mark.parametrize("written_as", ["9007199254740993", " -9007199254740992", "+9007199254740992", "1" + "0" * 400])
def test_integers_that_float64_cannot_tell_apart_are_refused_in_text_as_in_arrays(tmp_path, written_as):
    path = written(tmp_path, "scores.csv", f"y,s,other\n1,{written_as},1\n0,0.5,2\n")
    with pytest.raises(ValueError, match=r"^column 's' holds integers of 2\*\*53 or more"):
        read_scores(path, "y", ["s"])
    assert read_scores(path, "y", ["other"]).scores["other"].tolist() == [1.0, 2.0]


def test_large_floats_in_text_are_floats(tmp_path):
    path = written(tmp_path, "scores.csv", "y,s\n1,1e300\n0,9007199254740994.0\n0,9007199254740991\n")
    assert read_scores(path, "y", ["s"]).scores["s"].tolist() == [1e300, 9007199254740994.0, 9007199254740991.0]
