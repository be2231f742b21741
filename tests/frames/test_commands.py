"""What the command line calls: files, standard input, progress, plain values."""

import io
import json
from datetime import date

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import tpauc
from tpauc import frames
from tpauc.frames import commands
from tpauc.frames.commands import FileOptions, as_records, compare_files, evaluate_files


@pytest.fixture
def table():
    generator = np.random.default_rng(0)
    y = generator.random(300) < 0.4
    days = [date(2026, 1, day) for day in generator.integers(1, 3, 300)]
    scores = np.round(generator.normal(size=(2, 300)) + y, 2)
    return pyarrow.table({"y": y, "a": scores[0], "b": scores[1], "day": days, "card": generator.integers(0, 50, 300)})


def options(paths, **more):
    return FileOptions(
        [str(path) for path in paths], **({"label": "y", "scores": ["a", "b"], "alpha": 0.5, "beta": 0.5} | more)
    )


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_files_give_the_values_of_tables(table, tmp_path, engine):
    pyarrow.parquet.write_table(table, tmp_path / "scores.parquet")
    given = options([tmp_path / "scores.parquet"], engine=engine, by=["day"], groups="card")
    expected = frames.evaluate(table, label="y", score=["a", "b"], alpha=0.5, beta=0.5, by="day", groups="card")
    found = evaluate_files(given)
    assert [(one.score, one.by, one.point) for one in found] == [(one.score, one.by, one.point) for one in expected]
    compared = compare_files(options([tmp_path / "scores.parquet"], engine=engine))
    assert compared.difference == frames.compare(table, label="y", score=["a", "b"], alpha=0.5, beta=0.5).difference


def test_records_are_plain(table):
    found = frames.evaluate(table, label="y", score="a", alpha=0.5, beta=0.5, by="day", groups="card")
    records = as_records(found)
    assert json.loads(json.dumps(records)) == records
    assert [record["by"] for record in records] == [{"day": "2026-01-01"}, {"day": "2026-01-02"}]
    assert records[0]["tpauc"] == found[0].interval.estimate


def test_standard_input_is_csv(table):
    lines = "y,a\n" + "".join(
        f"{int(y)},{a}\n" for y, a in zip(table["y"].to_pylist(), table["a"].to_pylist(), strict=True)
    )
    (found,) = evaluate_files(options(["-"], scores=["a"]), stdin=io.BytesIO(lines.encode()))
    expected = tpauc.tpauc_score(table["y"].to_numpy(), table["a"].to_numpy(), alpha=0.5, beta=0.5)
    assert found.interval.estimate == expected


def test_long_evaluations_say_how_far_they_are(table, tmp_path, monkeypatch):
    pyarrow.parquet.write_table(table, tmp_path / "scores.parquet")
    given, said = options([tmp_path / "scores.parquet"]), []
    evaluate_files(given, say=said.append)
    assert said == []
    monkeypatch.setattr(commands, "_SILENT_SECONDS", -1.0)
    evaluate_files(given, say=said.append)
    assert [line.partition(" done")[0] for line in said] == ["pass 1", "pass 2"]
    assert "left" in said[0]


def test_subgroups_are_not_compared(tmp_path):
    with pytest.raises(ValueError, match="by cannot be combined with a comparison"):
        compare_files(options([tmp_path], by=["day"]))
