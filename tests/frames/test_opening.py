"""Files of Parquet and CSV, alone, by globs and in folders, on every engine that reads files."""

import gzip
import os
import shutil
from types import SimpleNamespace

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

import tpauc
from numpy_values import assert_same_point
from tpauc import frames
from tpauc.frames import opening
from tpauc.frames._engines import duckdb_connection
from tpauc.frames.opening import find_files

REGION = {"alpha": 0.5, "beta": 0.4}
COLUMNS = {"label": "y", "scores": ["s"]}


@pytest.fixture
def arrays():
    generator = np.random.default_rng(0)
    y = generator.random(600) < 0.4
    return y, np.round(generator.normal(size=600) + y, 2)


@pytest.fixture
def folder(tmp_path, arrays):
    """Return a folder with three files of each format, Parquet in a folder inside it."""
    y, scores = arrays
    (tmp_path / "parquet" / "day=1").mkdir(parents=True)
    (tmp_path / "csv").mkdir()
    for part in range(3):
        table = pyarrow.table({"y": y[part::3].astype(np.int8), "s": scores[part::3], "site": ["x"] * 200})
        name = f"day=1/{part}.parquet" if part else "0.parquet"
        pyarrow.parquet.write_table(table, tmp_path / "parquet" / name)
        pyarrow.csv.write_csv(table, tmp_path / "csv" / f"{part}.csv")
    with open(tmp_path / "csv" / "2.csv", "rb") as plain, gzip.open(tmp_path / "csv" / "2.csv.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    (tmp_path / "csv" / "2.csv").unlink()
    return tmp_path


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_are_read_by_duckdb(folder, arrays, kind, monkeypatch):
    monkeypatch.chdir(folder)
    expected = tpauc.tpauc_score(*arrays, **REGION)
    files = sorted(str(file) for file in (folder / kind).rglob("*.*") if file.is_file())
    for paths in (folder / kind, f"{kind}/**/*.*", files, [files[0], f"{kind}/**/[12].*"]):
        assert frames.tpauc_score(paths, label="y", score="s", **REGION) == expected
    assert not list(folder.glob(".tmp")), "DuckDB's temporary files belong elsewhere"


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_are_read_by_polars_and_spark(folder, arrays, kind, request):
    expected = tpauc.operating_point(*arrays, **REGION)
    for engine in ("polars", "spark"):
        if engine == "spark":
            request.getfixturevalue("spark")
        table = frames.open_files(folder / kind, **COLUMNS, engine=engine)
        (found,) = frames.evaluate(table, label="y", score="s", **REGION)
        assert_same_point(found.point, expected)


def test_settings_of_duckdb_hold(folder):
    relation = frames.open_files(folder / "parquet", **COLUMNS, memory="200MB", threads=1)
    assert len(relation) == 600
    for given, limit in (("200MB", "143.0 MiB"), ("1 gib", "768.0 MiB"), ("1.5GB", "1.0 GiB")):  # three quarters
        setting = duckdb_connection(given).sql("select current_setting('memory_limit')").fetchall()
        assert setting == [(limit,)]
    with pytest.raises(ValueError, match="DuckDB does not accept memory='much'"):
        frames.open_files(folder / "parquet", **COLUMNS, memory="much")


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_labels_and_numbers_in_text(tmp_path, engine):
    path = tmp_path / "a.csv"
    path.write_text('y;s;extra\nTrue;0.1;"a;b"\nfalse;1e-3;\ntrue; 2 ;\nFALSE;-1;\n')
    table = frames.open_files(path, **COLUMNS, engine=engine)
    assert frames.auc_score(table, label="y", score="s") == 1.0


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_text_labels_of_csv_need_the_positive_one(tmp_path, engine):
    path = tmp_path / "a.csv"
    path.write_text("y,s\nfraud,0.9\nok,0.1\nfraud,0.2\n")
    table = frames.open_files(path, **COLUMNS, pos_label="fraud", engine=engine)
    assert frames.auc_score(table, label="y", score="s", pos_label="fraud") == 1.0
    table = frames.open_files(path, **COLUMNS, engine=engine)
    with pytest.raises(ValueError, match=r"label='y' must hold only 0/1 or only -1/1, found .* 3 with other values"):
        frames.auc_score(table, label="y", score="s")


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_text_among_the_scores_of_csv_is_counted(tmp_path, engine):
    path = tmp_path / "a.csv"
    path.write_text("y,s\n1,0.9\n0,high\n1,\n0,low\n1,inf\n")
    table = frames.open_files(path, **COLUMNS, engine=engine)
    with pytest.raises(ValueError, match="score='s' must be finite, found 1 null and 2 NaN and 1 infinite values"):
        frames.auc_score(table, label="y", score="s")


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_integers_of_csv_that_would_become_equal_are_counted(tmp_path, engine):
    path = tmp_path / "a.csv"
    path.write_text(
        "y,s\n1,9007199254740993\n0, -9007199254740992\n1,9007199254740991\n0,9007199254740994.0\n1,1e300\n"
    )
    table = frames.open_files(path, **COLUMNS, engine=engine)
    with pytest.raises(ValueError, match="score='s' must be finite, found 2 NaN values"):
        frames.auc_score(table, label="y", score="s")


OTHER_SCHEMAS = {
    "type": ({"y": [0, 1], "s": ["a", "b"]}, "column 's' is string, not double"),
    "missing": ({"y": [0, 1]}, "column 's' is missing, not double"),
}


@pytest.mark.parametrize("name", OTHER_SCHEMAS)
def test_a_parquet_file_with_another_schema_is_named(folder, name):
    columns, message = OTHER_SCHEMAS[name]
    table = pyarrow.table(
        {"y": pyarrow.array(columns["y"], pyarrow.int8())} | {k: v for k, v in columns.items() if k != "y"}
    )
    pyarrow.parquet.write_table(table, folder / "parquet" / "odd.parquet")
    with pytest.raises(ValueError, match=rf"odd.parquet has another schema than .*0.parquet: {message}"):
        frames.auc_score(folder / "parquet", label="y", score="s")


def test_a_csv_file_with_another_header_is_named(folder):
    (folder / "csv" / "odd.csv").write_text("s,y,site\n0.5,1,x\n")
    with pytest.raises(ValueError, match=r"odd.csv has another header than .*0.csv"):
        frames.auc_score(folder / "csv", label="y", score="s")


def test_a_file_that_is_no_parquet_is_named(folder):
    (folder / "parquet" / "bad.parquet").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"bad.parquet cannot be read as Parquet"):
        frames.auc_score(folder / "parquet", label="y", score="s")


def test_paths_are_checked(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="there is no file"):
        find_files(tmp_path / "nothing.csv")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        find_files(str(tmp_path / "*.json"))
    with pytest.raises(FileNotFoundError, match="has no file that ends in"):
        find_files(tmp_path / "empty")
    with pytest.raises(ValueError, match="all Parquet or all CSV"):
        frames.open_files(folder, **COLUMNS)
    with pytest.raises(ValueError, match=r"must end in .parquet, .csv or .csv.gz"):
        frames.open_files(__file__, **COLUMNS)
    with pytest.raises(ValueError, match="at least one file"):
        find_files([])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "dask"}, "engine must be one of"),
        ({"engine": "polars", "memory": "1GB"}, "memory cannot be limited"),
        ({"engine": "spark", "threads": 2}, "threads is a setting of engine='duckdb'"),
    ],
)
def test_options_are_checked(folder, options, message):
    with pytest.raises(ValueError, match=message):
        frames.open_files(folder / "csv", **COLUMNS, **options)


# --------------------------------------------------------------------------------------------------- where Spark is


def fake_spark(active, told):
    """Return what stands in for `pyspark.sql`: its builder keeps its settings in ``told``, and makes itself."""
    builder = SimpleNamespace(getOrCreate=lambda: builder, appName=lambda name: builder)

    def config(name, value):
        told[name] = value
        return builder

    builder.config, builder.master = config, lambda address: config("master", address)
    return SimpleNamespace(SparkSession=SimpleNamespace(builder=builder, getActiveSession=lambda: active))


@pytest.mark.parametrize(
    ("environment", "master"),
    [
        ({}, "local[*]"),
        ({"SPARK_MASTER": "spark://host:7077"}, "spark://host:7077"),
        ({"SPARK_REMOTE": "sc://host:15002"}, None),  # PySpark reads it itself and refuses a master beside it
        ({"SPARK_REMOTE": "sc://host:15002", "SPARK_MASTER": "local[2]"}, None),
    ],
)
def test_where_spark_is_found(monkeypatch, environment, master):
    for name in ("SPARK_REMOTE", "SPARK_MASTER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    told, active = {}, object()
    monkeypatch.setattr(opening, "import_extra", lambda module, extra: fake_spark(None, told))
    opening.spark_session("2GB")
    assert told.get("master") == master
    assert told.get("spark.driver.memory") == (None if master is None else "2g")
    assert ("spark.sql.shuffle.partitions" in told) == (master == "local[*]")
    monkeypatch.setattr(opening, "import_extra", lambda module, extra: fake_spark(active, told))
    assert opening.spark_session() is active


# -------------------------------------------------------------------------------------------------- names and folders


@pytest.fixture
def rows():
    y = np.arange(60) % 2
    return pyarrow.table({"y": y, "s": np.arange(60) * 37 % 101 / 101.0 + 0.3 * y})


def written(table, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    (pyarrow.csv.write_csv if path.suffix == ".csv" else pyarrow.parquet.write_table)(table, path)
    return path


ODD_NAMES = ["a[1]", "*", "a?", "a{1,2}", "qu'ote", 'qu"ote', "new\nline", "x'); drop table t; --", "a b"]


@pytest.mark.parametrize("engine", ["duckdb", "polars", "spark"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_is_read_and_no_other_that_its_name_would_match_as_a_pattern(tmp_path, rows, suffix, engine, request):
    if engine == "spark":
        request.getfixturevalue("spark")
    others = rows.set_column(1, "s", rows["s"].take(list(range(59, -1, -1))))
    for other in ("a1", "ab", "a2"):
        written(others, tmp_path / f"{other}{suffix}")
    expected = tpauc.tpauc_score(rows["y"].to_numpy(), rows["s"].to_numpy(), **REGION)
    for name in ODD_NAMES[:4] if engine == "spark" else ODD_NAMES:
        path = written(rows, tmp_path / f"{name}{suffix}")
        table = frames.open_files(path, **COLUMNS, engine=engine)
        assert frames.tpauc_score(table, label="y", score="s", **REGION) == expected, name


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_folder_named_as_a_partition_does_not_replace_a_column(tmp_path, rows, suffix, engine):
    path = written(rows, tmp_path / "s=0.5" / f"a{suffix}")
    table = frames.open_files(path, **COLUMNS, engine=engine)
    expected = tpauc.tpauc_score(rows["y"].to_numpy(), rows["s"].to_numpy(), **REGION)
    assert frames.tpauc_score(table, label="y", score="s", **REGION) == expected


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_columns_with_names_of_sql_are_columns(tmp_path, rows, engine):
    for name in ('a"; drop table x; --', "a`b", "select", "a'b", "a\\b", "s.t"):
        path = written(rows.rename_columns(["y", name]), tmp_path / "a.parquet")
        table = frames.open_files(path, label="y", scores=[name], engine=engine)
        expected = tpauc.tpauc_score(rows["y"].to_numpy(), rows["s"].to_numpy(), **REGION)
        assert frames.tpauc_score(table, label="y", score=name, **REGION) == expected


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_whose_names_differ_in_case_alone(tmp_path, rows, suffix):
    table = pyarrow.table({"y": rows["y"], "S": rows["s"].take(list(range(59, -1, -1))), "s": rows["s"]})
    path = written(table, tmp_path / f"a{suffix}")
    for engine in ("duckdb", "spark"):
        with pytest.raises(ValueError, match=rf"has columns 'S' and 's', which {engine} does not tell apart"):
            frames.open_files(path, **COLUMNS, engine=engine)
    y = rows["y"].to_numpy()
    opened = frames.open_files(path, label="y", scores=["S"])
    assert frames.auc_score(opened, label="y", score="S") == tpauc.auc_score(y, table["S"].to_numpy())
    opened = frames.open_files(path, label="y", scores=["s", "S"], engine="polars")
    assert frames.auc_score(opened, label="y", score="s") == tpauc.auc_score(y, table["s"].to_numpy())


def test_a_file_that_is_found_twice_is_refused(tmp_path, rows):
    written(rows, tmp_path / "a.csv")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    for paths in ([tmp_path / "a.csv"] * 2, [tmp_path / "a.csv", tmp_path / "b.csv"], f"{tmp_path}/**/a.csv"):
        with pytest.raises(ValueError, match="are one file, and its rows would count more than once"):
            find_files(paths)


def test_what_is_no_file_is_refused_and_folders_are_searched(tmp_path, rows):
    inner = written(rows, tmp_path / "table.csv" / "part.csv")
    assert find_files(tmp_path) == [str(inner)]
    for name, make in {"loop.csv": lambda path: path.symlink_to(path), "pipe.csv": os.mkfifo}.items():
        make(tmp_path / name)
        with pytest.raises(ValueError, match=f"{name} is not a file"):
            find_files(tmp_path)
        (tmp_path / name).unlink()
    with pytest.raises(ValueError, match="is not a file"):
        find_files(f"{tmp_path}/*.csv")


@pytest.mark.parametrize("text", ['5" pipe', '12"', 'a"b', '"a\nb"'])
def test_polars_refuses_quotes_that_would_join_rows(tmp_path, text):
    lines = [f"{n % 2},{n / 100},{text}" for n in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["y,s,t", *lines, ""]))
    with pytest.raises(ValueError, match=r"polars cannot read the line .* take engine='duckdb'"):
        frames.open_files(tmp_path / "a.csv", **COLUMNS, engine="polars")
    assert frames.auc_score(tmp_path / "a.csv", label="y", score="s") > 0.5


def test_polars_reads_fields_that_are_quoted_as_usual(tmp_path):
    lines = [f'{n % 2},"{n / 100}","a, ""b"""' for n in range(60)]
    (tmp_path / "a.csv").write_bytes("\r\n".join(['y,s,"t"', *lines, ""]).encode())
    table = frames.open_files(tmp_path / "a.csv", **COLUMNS, engine="polars")
    assert frames.auc_score(table, label="y", score="s") == frames.auc_score(tmp_path / "a.csv", label="y", score="s")


def test_a_damaged_gz_file_is_named_and_a_long_header_refused(tmp_path, monkeypatch):
    packed = bytearray(gzip.compress(b"y,s\n" + b"".join(b"%d,%d\n" % (n % 2, n * 7919) for n in range(5000))))
    packed[20] ^= 255
    packed[100] ^= 255
    (tmp_path / "a.csv.gz").write_bytes(packed)
    with pytest.raises(ValueError, match=r"a\.csv\.gz cannot be read"):
        frames.open_files(tmp_path / "a.csv.gz", **COLUMNS)
    monkeypatch.setattr(opening, "_LONGEST_HEADER", 1000)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"y,s" + b" " * 100_000 + b"\n1,2\n"))
    with pytest.raises(ValueError, match=r"a\.csv\.gz cannot be read: its first line is longer than 1,000 characters"):
        frames.open_files(tmp_path / "a.csv.gz", **COLUMNS)
