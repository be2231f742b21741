"""What the command line calls: files on an engine, subgroups at a common threshold, passes, errors of engines."""

from datetime import date

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import tpauc
from tpauc import frames
from tpauc.frames.commands import FileOptions, compare_files, evaluate_files


@pytest.fixture
def table():
    generator = np.random.default_rng(0)
    y = generator.random(300) < 0.4
    days = [date(2026, 1, day) for day in generator.integers(1, 3, 300)]
    scores = np.round(generator.normal(size=(2, 300)) + y, 2)
    return pyarrow.table({"y": y, "a": scores[0], "b": scores[1], "day": days, "card": generator.integers(0, 50, 300)})


@pytest.fixture
def path(table, tmp_path):
    pyarrow.parquet.write_table(table, tmp_path / "scores.parquet")
    return tmp_path / "scores.parquet"


REGION = {"alpha": 0.5, "beta": 0.5}


def options(*paths, **more):
    return FileOptions([str(path) for path in paths], **({"label": "y", "scores": ["a", "b"]} | REGION | more))


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_files_give_the_values_of_tables(table, path, engine):
    expected = frames.evaluate(table, label="y", score=["a", "b"], **REGION, groups="card")
    found = evaluate_files(options(path, engine=engine, groups="card"))
    assert [one.subgroups for one in found] == [None, None]
    assert [(one.all_rows.score, one.all_rows.point) for one in found] == [(one.score, one.point) for one in expected]
    assert [one.all_rows.interval.estimate for one in found] == [one.interval.estimate for one in expected]
    compared = compare_files(options(path, engine=engine))
    y = table["y"].to_numpy()
    assert compared.comparison.difference == frames.compare(table, label="y", score=["a", "b"], **REGION).difference
    assert (compared.n_positive, compared.n_negative) == (y.sum(), (~y).sum())


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_subgroups_are_those_of_the_library_at_the_threshold_of_all_rows(table, path, engine):
    found = evaluate_files(options(path, engine=engine, by="day"))
    y, day = table["y"].to_numpy(), np.array(table["day"].to_pylist())
    for one in found:
        score = table[one.all_rows.score].to_numpy()
        expected = tpauc.evaluate_by(y, score, day, **REGION, method="delong")
        assert one.subgroups.threshold == expected.threshold
        for here, there in zip(one.subgroups.subgroups, expected.subgroups, strict=True):
            assert (here.name, here.n_positive, here.n_negative) == (there.name, there.n_positive, there.n_negative)
            assert (here.tpr, here.fpr) == (there.tpr, there.fpr)
            assert here.tpauc.estimate == there.tpauc.estimate
        gap, wanted = one.subgroups.largest_gap, expected.largest_gap
        assert (gap.better, gap.worse, gap.difference) == (wanted.better, wanted.worse, wanted.difference)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_subgroup_without_a_class_is_listed_with_the_reason(table, tmp_path, engine):
    y = table["y"].to_numpy()
    site = np.where(y, "ill", np.where(np.arange(300) < 150, "north", "south")).astype(object)
    site[y & (np.arange(300) < 200)] = "north"
    pyarrow.parquet.write_table(table.append_column("site", [list(site)]), tmp_path / "x.parquet")
    (found,) = evaluate_files(options(tmp_path / "x.parquet", engine=engine, by="site", scores=["a"]))
    parts = {part.name: part for part in found.subgroups.subgroups}
    assert parts["north"].reason == ""
    assert parts["ill"].tpauc is None
    assert parts["ill"].fpr is None
    assert "none of the 0 negative" in parts["ill"].reason
    assert "none of the 0 positive" in parts["south"].reason
    assert found.subgroups.largest_gap is None


def test_rows_without_a_subgroup_are_an_error(table, tmp_path):
    site = ["north"] * 298 + [None, None]
    pyarrow.parquet.write_table(table.append_column("site", [site]), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="by='site' has no value in 2 of 300 rows"):
        evaluate_files(options(tmp_path / "x.parquet", by="site"))


def test_a_column_of_very_many_subgroups_is_refused(tmp_path):
    y = np.arange(3000) % 2
    pyarrow.parquet.write_table(pyarrow.table({"y": y, "a": 1.0 * y, "id": np.arange(3000)}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="by='id' has more than 100 values"):
        evaluate_files(options(tmp_path / "x.parquet", scores=["a"], by="id"))


LABELS = {
    "text": (["no", "yes"], "yes"),
    "whole numbers": ([2, 7], "7"),
    "numbers": ([2.0, 7.5], "7.5"),
    "booleans": ([False, True], "true"),
}


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("kind", LABELS)
def test_the_positive_label_is_typed_as_text(table, tmp_path, kind, engine):
    values, typed = LABELS[kind]
    y = table["y"].to_numpy().astype(int)
    labels = pyarrow.array([values[one] for one in y])
    pyarrow.parquet.write_table(table.set_column(0, "y", labels), tmp_path / "x.parquet")
    (found,) = evaluate_files(options(tmp_path / "x.parquet", scores=["a"], positive=typed, engine=engine))
    assert found.all_rows.interval.estimate == tpauc.tpauc_score(y, table["a"].to_numpy(), **REGION)


@pytest.mark.parametrize("kind", ["whole numbers", "numbers", "booleans"])
def test_a_positive_label_of_another_type_is_an_error(table, tmp_path, kind):
    values, _ = LABELS[kind]
    labels = pyarrow.array([values[int(one)] for one in table["y"].to_pylist()])
    pyarrow.parquet.write_table(table.set_column(0, "y", labels), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"pos_label must be a value of label='y'.*got 'ill'"):
        evaluate_files(options(tmp_path / "x.parquet", positive="ill"))


def test_passes_are_told_of(path):
    told = []
    evaluate_files(options(path), after_pass=lambda number, seconds: told.append((number, seconds >= 0.0)))
    assert told == [(1, True), (2, True)]


def test_an_error_of_the_engine_is_one_line(tmp_path):
    (tmp_path / "x.csv").write_text("y,a,b\n1,1,1\n0\n" * 5)
    with pytest.raises(ValueError, match=r"^duckdb: ") as error:
        evaluate_files(options(tmp_path / "x.csv"))
    assert "\n" not in str(error.value)


def test_subgroups_are_not_compared(path):
    with pytest.raises(ValueError, match="by cannot be combined with a comparison"):
        compare_files(options(path, by="day"))
