"""Columns of a table as features."""

import numpy as np
import pyarrow as pa
import pytest

from tpauc.cli.errors import UsageError
from tpauc.cli.features import MOST_CATEGORIES, FeatureColumns, read_features


def written(folder, name, contents):
    path = folder / name
    path.write_text(contents)
    return path


def test_kinds_of_columns():
    table = pa.table(
        {
            "whole": pa.array([1, 2, None], pa.int8()),
            "decimal": pa.array([1, 2, 3], pa.int8()).cast(pa.decimal128(5)),
            "text": ["x", None, "y"],
            "flag": [True, None, False],
            "category": pa.array([7, 7, 8]).dictionary_encode(),
            "empty": pa.nulls(3),
            "nan": [np.nan, None, np.nan],
            "day": pa.array([0, 1, None], pa.date32()),
            "when": pa.array([0, 1, None], pa.timestamp("ms")),
            "hour": pa.array([0, 1, None], pa.time32("s")),
            "took": pa.array([0, 1, None], pa.duration("s")),
            "stamp": pa.array([0, 1, None], pa.timestamp("us", "UTC")).dictionary_encode(),
            "target": [0, 1, 0],
            "id": [1, 2, 3],
        }
    )
    columns = FeatureColumns.of(table, leave_out=["target", "id"])
    times = ("day", "when", "hour", "took", "stamp")
    assert columns == FeatureColumns(("whole", "decimal"), ("text", "category"), ("flag",), ("empty", "nan"), times)
    frame = columns.frame(table)
    assert list(frame.columns) == ["whole", "decimal", "text", "category", "flag"]
    assert frame["text"].tolist() == ["x", None, "y"]
    assert frame["flag"].tolist() == ["true", None, "false"]
    assert frame["category"].tolist() == ["7", "7", "8"]
    np.testing.assert_array_equal(frame["whole"], [1.0, 2.0, np.nan])


def test_missing_and_unknown_values_become_numbers():
    training = pa.table({"number": [1.0, None, 3.0, 8.0], "town": ["Ulm", "Bonn", None, "Ulm"]})
    columns = FeatureColumns.of(training, leave_out=[])
    preprocessing = columns.preprocessing()
    X = preprocessing.fit_transform(columns.frame(training))
    names = [name.split("__")[1] for name in preprocessing.get_feature_names_out()]
    assert names == ["number", "missingindicator_number", "town_(missing)", "town_Bonn", "town_Ulm"]
    np.testing.assert_array_equal(X, [[1, 0, 0, 0, 1], [3, 1, 0, 1, 0], [3, 0, 1, 0, 0], [8, 0, 0, 0, 1]])
    other = pa.table({"number": [None], "town": ["Rome"]})
    np.testing.assert_array_equal(preprocessing.transform(columns.frame(other)), [[3, 1, 0, 0, 0]])


def test_many_columns_of_text_share_the_features():
    rng = np.random.default_rng(0)
    training = pa.table({f"text {k}": rng.integers(0, 100, 400).astype(str) for k in range(20)})
    columns = FeatureColumns.of(training, leave_out=[])
    X = columns.preprocessing().fit_transform(columns.frame(training))
    assert X.shape == (400, 500)
    assert (X.sum(axis=1) == 20).all()


def test_rare_and_unknown_categories_share_a_feature():
    names = [str(number) for number in range(MOST_CATEGORIES + 50)]
    training = pa.table({"name": names * 2 + names[:10]})
    columns = FeatureColumns.of(training, leave_out=[])
    preprocessing = columns.preprocessing().fit(columns.frame(training))
    unknown = preprocessing.transform(columns.frame(pa.table({"name": ["never seen"]})))
    assert unknown.shape == (1, MOST_CATEGORIES)
    assert unknown[0, -1] == unknown.sum() == 1


def test_a_column_may_be_empty_in_the_training_rows():
    columns = FeatureColumns(("number",), (), ())
    empty = columns.frame(pa.table({"number": pa.nulls(3, pa.float64())}))
    assert np.isfinite(columns.preprocessing().fit_transform(empty)).all()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"day": pa.array([0, 1], pa.date32())}, "no column is left to learn from"),
        ({"list": [[1], [2]]}, "column 'list' holds list"),
        ({"price": ["1,5", "-2,25"]}, r"column 'price' holds numbers with a decimal comma \('1,5'\)"),
        ({"price": ["2", "1,5", "+3"]}, r"column 'price' holds numbers with a decimal comma \('1,5'\)"),
        (
            {"key": [1, 2**53 + 1]},
            r"column 'key' holds integers beyond 2\*\*53, such as 9007.*, leave it out with --drop",
        ),
        ({"key": [-(2**60), None]}, r"column 'key' holds integers beyond 2\*\*53, such as -1152921504606846976"),
        ({"empty": pa.nulls(2)}, "no column is left to learn from"),
    ],
)
def test_columns_that_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        FeatureColumns.of(pa.table(table), leave_out=[])


@pytest.mark.parametrize("codes", [["2", "3"], ["1,5", "x"], ["1,5", "1,2,3"]])
def test_codes_are_no_numbers_with_a_decimal_comma(codes):
    assert FeatureColumns.of(pa.table({"code": codes}), leave_out=[]).texts == ("code",)


def test_large_integers():
    training = pa.table({"x": [-(2**53), 2**53], "category": pa.array([2**60, 2]).dictionary_encode()})
    columns = FeatureColumns.of(training, leave_out=[])
    assert columns.numbers == ("x",)
    other = pa.table({"x": [2**60 + 1, None], "category": ["2", "3"]})
    np.testing.assert_array_equal(columns.frame(other)["x"], [2.0**60, np.nan])


def test_infinite_features_are_refused():
    with pytest.raises(ValueError, match="column 'x' has infinite values in 1 rows, the first is row 2"):
        FeatureColumns(("x",), (), ()).frame(pa.table({"x": [1.0, np.inf]}))


def test_text_in_a_column_of_numbers_is_refused():
    with pytest.raises(ValueError, match="column 'x' must hold numbers, as it did in training"):
        FeatureColumns(("x",), (), ()).frame(pa.table({"x": ["one"]}))


@pytest.mark.parametrize(
    "column",
    [[1, 0, None], [1.0, 0.0, None], ["true", "0", None], [True, False, None], pa.array(["1", "0", None])],
)
def test_booleans_may_be_written_in_other_ways(column):
    frame = FeatureColumns((), (), ("x",)).frame(pa.table({"x": column}))
    assert frame["x"].tolist() == ["true", "false", None]


@pytest.mark.parametrize("column", [[2], [0.5], ["yes"], pa.array(["yes"]).dictionary_encode()])
def test_other_values_in_a_column_of_booleans_are_refused(column):
    with pytest.raises(ValueError, match="column 'x' must hold booleans, as it did in training"):
        FeatureColumns((), (), ("x",)).frame(pa.table({"x": column}))


def test_booleans_of_a_text_file(tmp_path):
    columns = FeatureColumns((), (), ("flag",))
    path = written(tmp_path, "new.csv", "flag,more\n1,a\n0,b\nTrue,c\nNA,d\n")
    assert columns.frame(read_features(path, columns))["flag"].tolist() == ["true", "false", "true", None]
    path = written(tmp_path, "new.csv", "flag\nyes\n")
    with pytest.raises(ValueError, match=r"column 'flag': (Row #2: )?CSV .* error to bool: invalid value 'yes'"):
        read_features(path, columns)


def test_other_tables_are_read_as_the_training_table_was(tmp_path):
    columns = FeatureColumns(("x",), ("code",), ("flag",))
    path = written(tmp_path, "new.csv", "more,id,code,flag,x\nignored,01,007,True,1\n")
    table = read_features(path, columns, keep=["id", "x"])
    assert table.to_pydict() == {"x": [1.0], "code": ["007"], "flag": [True], "id": ["01"]}
    with pytest.raises(ValueError, match="lacks 2 of the columns the model was trained on: 'y', 'z'") as caught:
        read_features(path, FeatureColumns(("x", "y", "z"), (), ()))
    assert not isinstance(caught.value, UsageError)
    with pytest.raises(UsageError, match="has no column 'name'"):
        read_features(path, columns, keep=["name"])
