"""The engines that tables are tested on."""

import shutil
import subprocess
from importlib.util import find_spec

import pytest

MISSING = [package for package in ("duckdb", "narwhals", "polars", "pyarrow") if find_spec(package) is None]


class Skipped(pytest.File):
    """A file of tests that cannot be imported, reported as skipped."""

    def collect(self):
        pytest.skip(f"needs {', '.join(MISSING)}: the extras frames and polars", allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    """Skip all files of this folder, with a reason, where the extras are not installed."""
    return Skipped.from_parent(parent, path=module_path) if MISSING else None


def on_duckdb(table):
    import duckdb

    return duckdb.connect().from_arrow(table)


def on_polars(table):
    return pytest.importorskip("polars").DataFrame(table).lazy()


def on_ibis(table):
    return pytest.importorskip("ibis", reason="needs ibis-framework[duckdb]").memtable(table)


EMBEDDED = {"duckdb": on_duckdb, "polars": on_polars, "ibis": on_ibis}


def java_works():
    """Tell whether there is a Java to run Spark on."""
    return bool(shutil.which("java")) and subprocess.run(["java", "-version"], capture_output=True).returncode == 0


@pytest.fixture(scope="session")
def spark():
    """Return a local Spark session, started once; skipped without PySpark or Java."""
    sql = pytest.importorskip("pyspark.sql", reason="needs the extra spark")
    if not java_works():
        pytest.skip("needs Java 17, for example openjdk-17-jre-headless")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.log.level": "OFF",
    }
    builder = sql.SparkSession.builder.master("local[2]").appName("tpauc tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(params=EMBEDDED)
def on_embedded(request):
    """Return a function that puts a pyarrow table on an embedded engine, one after the other."""
    return EMBEDDED[request.param]


@pytest.fixture(params=[*EMBEDDED, "spark"])
def on_engine(request):
    """Return a function that puts a pyarrow table on an engine, one after the other; Spark takes seconds a query."""
    if request.param == "spark":
        return request.getfixturevalue("spark").createDataFrame
    return EMBEDDED[request.param]
