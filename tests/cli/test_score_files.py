"""`tpauc evaluate` and `tpauc compare` on many files, compressed files, standard input, runs and engines."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from typer.testing import CliRunner

import tpauc
from tpauc.cli import engine_scores, score_files
from tpauc.cli._text import AREAS
from tpauc.cli.heartbeat import Heartbeat
from tpauc.cli.main import app
from tpauc.cli.score_files import opened_files

pytest.importorskip("duckdb", reason="needs the extra frames")
pytest.importorskip("narwhals", reason="needs the extra frames")

REGION = {"alpha": 0.3, "beta": 0.2}
SHARES = ["--alpha", "0.3", "--beta", "0.2"]
BOTH = ["--label", "y", "--score", "a", "--score", "b", *SHARES]
FAST = ["--resamples", "50"]


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False, **options)


def document(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def failure(*arguments, **options):
    """Return the exit code and the one line of a command that fails."""
    result = run(*arguments, **options)
    assert result.stdout == ""
    assert result.stderr.startswith("tpauc: error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    return result.exit_code, result.stderr


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.3
    return pa.table(
        {
            "y": y.astype(int),
            "ill": np.where(y, "yes", "no"),
            "a": (2 * y + rng.normal(size=600)).round(2),
            "b": y + rng.normal(size=600),
            "site": rng.choice(["north", "south", "west"], 600, p=[0.5, 0.3, 0.2]),
            "patient": rng.integers(0, 150, 600),
        }
    )


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    """Return a folder with the same rows in many forms."""
    folder = tmp_path_factory.mktemp("the scores")
    csv.write_csv(table, folder / "all.csv")
    (folder / "all.csv.gz").write_bytes(gzip.compress((folder / "all.csv").read_bytes()))
    for kind in ("parts", "text", "packed"):
        (folder / kind / "inner").mkdir(parents=True)
    for number, start in enumerate((0, 100, 350)):
        part = table.slice(start, (100, 250, 250)[number])
        inner = "inner/" if number == 2 else ""
        parquet.write_table(part, folder / "parts" / f"{inner}{number}.parquet")
        csv.write_csv(part, folder / "text" / f"{inner}{number}.csv")
        packed = gzip.compress((folder / "text" / f"{inner}{number}.csv").read_bytes())
        (folder / "packed" / f"{inner}{number}.csv.gz").write_bytes(packed)
    return folder


# ------------------------------------------------------------------------------------------- where rows come from

SOURCES = {
    "compressed": ["all.csv.gz"],
    "folder of Parquet": ["parts"],
    "folder of CSV": ["text"],
    "folder of CSV.GZ": ["packed"],
    "several": ["parts/0.parquet", "parts/1.parquet", "parts/inner/2.parquet"],
    "glob": ["parts/**/*.parquet"],
    "file and glob": ["text/0.csv", "text/1.csv", "text/inner/*.csv"],
}


@pytest.mark.parametrize("engine", [None, "duckdb"])
@pytest.mark.parametrize("source", SOURCES)
def test_the_same_rows_give_the_same_numbers_from_every_source(files, source, engine):
    more = [*FAST] if engine is None else ["--engine", engine]
    expected = document("evaluate", files / "all.csv", *BOTH, *more)
    paths = [str(files / path) for path in SOURCES[source]]
    found = document("evaluate", *paths, *BOTH, *more)
    assert found["scores"] == (paths[0] if len(paths) == 1 else paths)
    assert found["engine"] == engine
    assert (found["data"], found["models"]) == (expected["data"], expected["models"])
    if engine is None:
        compared = document("compare", *paths, *BOTH, *FAST)
        assert compared["difference"] == document("compare", files / "all.csv", *BOTH, *FAST)["difference"]


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("source", ["all.csv", "parts"])
def test_an_engine_has_the_estimates_and_rates_of_rows_in_memory(files, table, source, engine):
    pytest.importorskip(engine)
    by = ["--by", "site"]
    memory = document("evaluate", files / source, *BOTH, *by, *FAST, "--intervals", "delong")
    found = document("evaluate", files / source, *BOTH, *by, "--engine", engine)
    assert found["data"] == memory["data"]
    for here, there in zip(found["models"], memory["models"], strict=True):
        assert here["tpauc"]["estimate"] == there["tpauc"]["estimate"]
        assert here["tpauc"]["interval"] == "delong"
        assert here["operating_point"] == there["operating_point"]
        assert "auc" not in here
        names = [part["name"] for part in here["by"]["subgroups"]]
        assert names == [part["name"] for part in there["by"]["subgroups"]]
        for part, other in zip(here["by"]["subgroups"], there["by"]["subgroups"], strict=True):
            assert part["tpauc"]["estimate"] == other["tpauc"]["estimate"]
            assert (part["tpr"], part["fpr"], part["rows"]) == (other["tpr"], other["fpr"], other["rows"])
    compared = document("compare", files / source, *BOTH, "--engine", engine)["difference"]
    expected = document("compare", files / source, *BOTH, "--intervals", "delong")["difference"]
    assert compared["difference"] == expected["difference"]
    assert compared["interval"] == "delong"


@pytest.mark.parametrize("more", [FAST, ["--memory", "200MB"]])
def test_standard_input_through_a_real_pipe(files, more):
    command = [sys.executable, "-m", "tpauc", "evaluate", "-", *BOTH, *more, "--json"]
    with (files / "all.csv").open("rb") as stream:
        finished = subprocess.run(command, stdin=stream, capture_output=True, check=False, timeout=240)
    assert finished.returncode == 0, finished.stderr
    found = json.loads(finished.stdout)
    expected = document("evaluate", files / "all.csv", *BOTH, *more)
    assert found["scores"] == "-"
    assert found["models"] == expected["models"]


def test_mistakes_in_standard_input_name_it():
    code, line = failure("evaluate", "-", *BOTH, input="y,a\n1,2\n")
    assert code == 2
    assert "standard input has no column 'b'" in line
    code, line = failure("evaluate", "-", *BOTH, input="y,a,b\n1,2\n")
    assert code == 1
    assert "standard input cannot be read: " in line
    code, line = failure("evaluate", "-", "-", *BOTH, input="")
    assert (code, "can be read only once" in line) == (2, True)


def test_a_part_without_rows_is_no_error_among_others(files, table, tmp_path):
    parquet.write_table(table, tmp_path / "all.parquet")
    parquet.write_table(table.slice(0, 0), tmp_path / "empty.parquet")
    found = document("evaluate", tmp_path, *BOTH, *FAST)
    assert found["models"] == document("evaluate", files / "all.csv", *BOTH, *FAST)["models"]
    parquet.write_table(table.slice(0, 0), tmp_path / "more.parquet")
    code, line = failure("evaluate", tmp_path / "empty.parquet", tmp_path / "more.parquet", *BOTH)
    assert (code, "have no rows" in line) == (1, True)


# --------------------------------------------------------------------------------------------------- which engine


def test_many_rows_are_left_to_duckdb(files, monkeypatch):
    with opened_files([str(files / "parts")]) as found:
        assert found.fit_in_memory
    monkeypatch.setattr(score_files, "ROWS_IN_MEMORY", 500)
    with opened_files([str(files / "parts" / "0.parquet")]) as found:
        assert found.fit_in_memory
    assert document("evaluate", files / "parts", *BOTH)["engine"] == "duckdb"
    monkeypatch.setattr(score_files, "_TEXT_IN_MEMORY", 1000)
    monkeypatch.setattr(score_files, "_COMPRESSED_IN_MEMORY", 1000)
    assert document("evaluate", files / "all.csv", *BOTH)["engine"] == "duckdb"
    assert document("compare", files / "all.csv.gz", *BOTH)["engine"] == "duckdb"
    code, line = failure("evaluate", files / "all.csv", *BOTH, "--intervals", "bootstrap")
    assert (code, "too many rows for memory" in line) == (2, True)


def test_text_says_which_intervals_were_made_and_by_whom(files):
    said = run("evaluate", files / "parts", *BOTH, "--engine", "duckdb").stdout
    assert "Large-sample (DeLong) intervals for TPAUC" in said
    assert "Evaluated by duckdb: engines do not resample" in said
    assert "the bootstrap covers better" in said  # 54 hard positives
    said = run("evaluate", files / "parts", *BOTH, *FAST).stdout
    assert "Bootstrap intervals for TPAUC, OPAUC, AUC." in said
    assert "Evaluated by" not in said


@pytest.fixture(scope="module")
def java():
    if not shutil.which("java"):
        pytest.skip("needs Java 17, for example openjdk-17-jre-headless")


def test_spark_from_the_command_line(files, java, monkeypatch):
    pytest.importorskip("pyspark", reason="needs the extra spark")
    monkeypatch.setenv("SPARK_MASTER", "local[1]")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    arguments = ["--label", "ill", "--positive", "yes", "--score", "a", *SHARES]
    command = [sys.executable, "-m", "tpauc", "evaluate", files / "parts", *arguments, "--engine", "spark", "--json"]
    finished = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=500)
    assert finished.returncode == 0, finished.stderr
    found, expected = json.loads(finished.stdout), document("evaluate", files / "all.csv", *arguments, *FAST)
    assert found["data"] == expected["data"]
    assert found["models"][0]["tpauc"]["estimate"] == expected["models"][0]["tpauc"]["estimate"]
    assert found["models"][0]["operating_point"] == expected["models"][0]["operating_point"]


# --------------------------------------------------------------------------------------- subgroups, groups, marks


def test_subgroups_are_those_of_the_library(files, table):
    more = ["--by", "site", "--groups", "patient"]
    found = document("evaluate", files / "parts", *BOTH, *more, *FAST)
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    for model in found["models"]:
        expected = tpauc.evaluate_by(
            columns["y"],
            columns[model["name"]],
            columns["site"],
            groups=columns["patient"].astype(str).astype(object),
            n_resamples=50,
            random_state=0,
            **REGION,
        )
        by = model["by"]
        assert by["threshold"] == expected.threshold
        for part, wanted in zip(by["subgroups"], expected.subgroups, strict=True):
            assert (part["name"], part["rows"], part["positives"]) == (wanted.name, wanted.n_rows, wanted.n_positive)
            for name in ("tpauc", "opauc", "auc", "tpr", "fpr"):
                area = getattr(wanted, name)
                assert (part[name]["low"], part[name]["high"]) == (area.low, area.high)
        gap = expected.largest_gap
        assert by["largest_gap"] == {
            "better": gap.better,
            "worse": gap.worse,
            "difference": gap.difference,
            "p_value": gap.p_value,
            "pairs": 3,
        }


def test_groups_change_the_intervals_alone(files, table):
    arguments = ["evaluate", files / "all.csv", *BOTH, *FAST]
    rows, groups = document(*arguments), document(*arguments, "--groups", "patient")
    patients = table["patient"].to_numpy().astype(str).astype(object)
    resampling = {"groups": patients, "n_resamples": 50, "random_state": 0}
    wanted = tpauc.tpauc_interval(table["y"].to_numpy(), table["a"].to_numpy(), **resampling, **REGION)
    assert (groups["models"][0]["tpauc"]["low"], groups["models"][0]["tpauc"]["high"]) == (wanted.low, wanted.high)
    assert rows["models"][0]["tpauc"]["low"] != wanted.low
    assert document("evaluate", files / "parts", *BOTH, *FAST, "--groups", "patient")["models"] == groups["models"]
    compared = document("compare", files / "all.csv", *BOTH, *FAST, "--groups", "patient")["difference"]
    expected = tpauc.compare_tpauc(*(table[name].to_numpy() for name in ("y", "a", "b")), **resampling, **REGION)
    assert (compared["low"], compared["p_value"]) == (expected.low, expected.p_value)


def test_few_groups_are_said_to_be_few(files):
    said = run("evaluate", files / "all.csv", *BOTH, *FAST, "--groups", "site").stdout
    assert re.search(r"^Caution: .* with fewer than 5 of either the interval is too narrow", said, re.MULTILINE)
    assert "Caution" not in run("evaluate", files / "all.csv", *BOTH, *FAST, "--groups", "patient").stdout


def test_a_column_of_many_values_makes_no_subgroups(files):
    code, line = failure("evaluate", files / "all.csv", *BOTH, "--by", "patient")
    assert (code, "--by takes up to 100 subgroups" in line) == (1, True)


def test_text_of_subgroups(files):
    said = run("evaluate", files / "all.csv", *BOTH, *FAST, "--by", "site").stdout
    assert "By site, the smallest first; TPR and FPR at the threshold" in said
    rows = [int(line.split()[1]) for line in said.splitlines() if re.match(r"(north|south|west) ", line)]
    assert rows[:3] == sorted(rows[:3])
    assert len(rows) == 6
    assert re.search(r"Largest gap in TPAUC: \w+ is 0\.\d+ below \w+: .*\(p = .*, corrected for 3 pairs\)\.", said)


@pytest.mark.parametrize("engine", [[], ["--engine", "duckdb"]])
def test_a_threshold_picked_on_these_rows_is_marked(files, engine):
    arguments = ["evaluate", files / "all.csv", *BOTH, *FAST, *engine]
    assert all(model["operating_point"]["picked_here"] for model in document(*arguments)["models"])
    said = run(*arguments).stdout
    assert re.search(r"^a .* \d\.\d+\*  ", said, flags=re.MULTILINE)
    assert "* The threshold was picked on the rows it is judged by" in said


def test_equal_models_have_no_significant_difference(tmp_path, table):
    csv.write_csv(table.append_column("c", table["a"]), tmp_path / "x.csv")
    arguments = ["compare", tmp_path / "x.csv", "--label", "y", "--score", "a", "--score", "c", *SHARES, *FAST]
    assert run(*arguments).stdout.endswith("]: no significant difference (p = 1)\n")


# ------------------------------------------------------------------------------------------------------------ runs


@pytest.fixture
def a_run(table, tmp_path):
    """Return a folder that looks like a run to `evaluate`."""
    folder = tmp_path / "run"
    folder.mkdir()
    csv.write_csv(pa.table({"row": np.arange(600), "label": table["y"], "a": table["a"], "b": table["b"]}),
                  folder / "test_scores.csv")  # fmt: skip
    return folder


def card_of(**more):
    parts = {"settings": REGION, "target": {"column": "ill"}, "columns": {}, "sha256": {}}
    parts |= {"score_columns": {"row": "row", "label": "label", "groups": None, "models": ["a", "b"]}}
    threshold = {"value": 1.25, "picked_here": False}
    return parts | {"models": [{"name": "a"}, {"name": "b"}], "threshold": threshold} | more


def test_a_run_is_evaluated_on_its_test_rows_in_its_region(files, a_run, monkeypatch):
    (a_run / "card.json").write_text("{}")
    monkeypatch.setattr(score_files, "read_card", lambda path: card_of())
    monkeypatch.setattr(score_files, "run_region", lambda path, alpha, beta: tpauc.Region(alpha or 0.3, beta or 0.2))
    expected = document("evaluate", files / "all.csv", *BOTH, *FAST)
    for found, wanted in zip(document("evaluate", a_run, *FAST)["models"], expected["models"], strict=True):
        assert {area: found[area] for area in AREAS} == {area: wanted[area] for area in AREAS}
    assert (
        document("compare", a_run, *FAST)["difference"]
        == document("compare", files / "all.csv", *BOTH, *FAST)["difference"]
    )
    assert document("evaluate", a_run, "--beta", "0.4", *FAST)["beta"] == 0.4
    assert [model["name"] for model in document("evaluate", a_run, "--score", "b", *FAST)["models"]] == ["b"]
    for more, message in [
        (["--label", "y"], "a run has its own labels"),
        (["--by", "row"], "a run has its own labels"),
        (["--score", "c"], "has no model 'c'; it has 'a', 'b'"),
        ([files / "all.csv"], "is evaluated on its own"),
    ]:
        code, line = failure("evaluate", a_run, *more)
        assert (code, message in line) == (2, True)


def test_a_run_is_judged_at_its_own_threshold(a_run, table, monkeypatch):
    (a_run / "card.json").write_text("{}")
    models = [{"name": "a", "title": "model for the region"}, {"name": "b", "title": "another"}]
    card = card_of(models=models)
    monkeypatch.setattr(score_files, "read_card", lambda path: card)
    monkeypatch.setattr(score_files, "run_region", lambda path, alpha, beta: tpauc.Region(**REGION))
    first, second = document("evaluate", a_run, *FAST)["models"]
    point = tpauc.evaluate_threshold(table["y"].to_numpy(), table["a"].to_numpy(), 1.25, **REGION)
    assert first["operating_point"] == {
        "threshold": 1.25,
        "tpr": point.tpr,
        "fpr": point.fpr,
        "feasible": point.feasible,
        "picked_here": False,
    }
    assert second["operating_point"]["picked_here"]
    said = run("evaluate", a_run, *FAST).stdout
    assert re.search(r"^model for the region .* 1\.25  ", said, flags=re.MULTILINE)
    assert "TPAUC of model for the region minus another: " in run("compare", a_run, *FAST).stdout
    code, line = failure("evaluate", a_run, "--engine", "duckdb")
    assert (code, "judged in memory" in line) == (2, True)


# ---------------------------------------------------------------------------------------------------------- errors

USAGE = {
    "file twice": (["FOLDER/all.csv", "FOLDER/all.csv", *BOTH], "all.csv is given more than once"),
    "no match": (["FOLDER/*.nothing", *BOTH], "no file matches"),
    "empty folder": (["EMPTY", *BOTH], "has no file that ends in"),
    "no name": (["", *BOTH], "SCORES must not be empty"),
    "no file": (["FOLDER/none.csv", *BOTH], "the file FOLDER/none.csv does not exist"),
    "by": (["FOLDER/all.csv", *BOTH, "--by", "sight"], "has no column 'sight'"),
    "groups": (["FOLDER/all.csv", *BOTH, "--groups", "patents"], "has no column 'patents'"),
    "by the label": (["FOLDER/all.csv", *BOTH, "--by", "y"], "--by must name another column than"),
    "engine": (["FOLDER/all.csv", *BOTH, "--engine", "sparkle"], "sparkle"),
    "memory": (["FOLDER/all.csv", *BOTH, "--memory", "lots"], "--memory must be a number with a unit"),
    "memory of polars": (["FOLDER/all.csv", *BOTH, "--engine", "polars", "--memory", "1GB"], "--memory cannot limit"),
    "bootstrap": (["FOLDER/all.csv", *BOTH, "--engine", "duckdb", "--intervals", "bootstrap"], "leave out --engine"),
    "engine column": (["FOLDER/all.csv.gz", *BOTH, "--engine", "duckdb", "--by", "x"], "all.csv.gz has no column 'x'"),
    "engine label": (["FOLDER/parts", *BOTH[2:], "--label", "ill", "--engine", "duckdb"], "with --positive"),
    "engine positive": (["FOLDER/parts", *BOTH, "--positive", "ill", "--engine", "duckdb"], "--positive must be"),
    "two formats": (["FOLDER", *BOTH, "--engine", "duckdb"], "all Parquet or all CSV"),
}


@pytest.mark.parametrize("mistake", USAGE)
def test_a_mistake_in_what_was_typed(files, tmp_path, mistake):
    arguments, message = USAGE[mistake]
    places = {"FOLDER": str(files), "EMPTY": str(tmp_path)}
    for place, path in places.items():
        arguments = [word.replace(place, path) for word in arguments]
        message = message.replace(place, path)
    code, line = failure("evaluate", *arguments)
    assert message in line
    assert code == (1 if mistake == "two formats" else 2)


DATA = {
    "nulls": ("y,a,b\n1,1,1\n0,,2\n0,,3\n", "column 'a' ", "2 "),
    "NaN": ("y,a,b\n1,1,1\n0,2,NaN\n", "column 'b' ", "1 "),
    "infinite": ("y,a,b\n1,1,1\n0,inf,2\n0,2,2\n", "column 'a' must be finite", ""),
    "text": ("y,a,b\n1,1,1\n0,high,2\n", "'a'", ""),
    "label": ("y,a,b\n1,1,1\n0,2,2\n2,3,3\n", "column 'y' must h", ""),
    "missing label": ("y,a,b\n1,1,1\n,2,2\n0,1,1\n", "column 'y' has ", "1 "),
    "one class": ("y,a,b\n1,1,1\n1,2,2\n", "column 'y' has ", "both classes are needed"),
    "small region": ("y,a,b\n1,1,1\n0,2,2\n0,2,3\n", "alpha=0.3 selects none of the 1 positive", ""),
    "header alone": ("y,a,b\n", "", ""),
    "empty": ("", "", ""),
}


@pytest.mark.parametrize("engine", ["memory", "duckdb", "polars"])
@pytest.mark.parametrize("problem", DATA)
def test_a_problem_of_the_data_is_one_line_with_the_number_of_rows(tmp_path, problem, engine):
    text, *messages = DATA[problem]
    (tmp_path / "bad.csv").write_text(text)
    more = [] if engine == "memory" else ["--engine", pytest.importorskip(engine) and engine]
    for command in ("evaluate", "compare"):
        code, line = failure(command, tmp_path / "bad.csv", *BOTH, *more)
        assert code == 1, line
        assert "unexpected" not in line
        assert all(message in line for message in messages), line


@pytest.mark.parametrize("more", [[], ["--engine", "duckdb"]])
def test_a_file_of_another_schema_is_named(table, tmp_path, more):
    parquet.write_table(table, tmp_path / "0.parquet")
    parquet.write_table(table.set_column(0, "y", table["ill"]), tmp_path / "1.parquet")
    code, line = failure("evaluate", tmp_path, *BOTH, *more)
    assert code == 1
    assert "1.parquet has another schema than" in line
    assert "column 'y' is string, not int64" in line


@pytest.mark.parametrize("more", [[], ["--engine", "duckdb"]])
@pytest.mark.parametrize("name", ["bad.parquet", "bad.csv.gz"])
def test_an_unreadable_file_is_named(tmp_path, name, more):
    (tmp_path / name).write_bytes(b"not what it says it is\n" * 10)
    code, line = failure("evaluate", tmp_path / name, *BOTH, *more)
    assert code == 1
    assert f"{name} cannot be read" in line


@pytest.mark.parametrize("more", [[], ["--engine", "duckdb"]])
@pytest.mark.parametrize("column", ["site", "patient"])
def test_rows_without_a_subgroup_or_group_are_an_error(tmp_path, column, more):
    rows = [
        f"{n % 2},{n},{n},{'' if n == 7 and column == 'site' else 's'},{'' if n == 7 else n % 9}" for n in range(50)
    ]
    (tmp_path / "x.csv").write_text("\n".join(["y,a,b,site,patient", *rows, ""]))
    option = "--by" if column == "site" else "--groups"
    code, line = failure("evaluate", tmp_path / "x.csv", *BOTH, option, column, *more)
    assert code == 1
    assert f"column {column!r} has" in line
    assert re.search(r"\b1\b", line)


def test_a_missing_package_of_an_engine_is_named(files, monkeypatch):
    for package, extra, engine in (("duckdb", "frames", "duckdb"), ("polars", "polars", "polars")):
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, package, None)
            code, line = failure("evaluate", files / "parts", *BOTH, "--engine", engine)
        assert code == 1
        assert f"{package} is needed here and is not installed; run: pip install 'tpauc[{extra}]'" in line


# -------------------------------------------------------------------------------------------------------- progress


def test_the_time_left_is_told_after_the_first_step():
    beat = Heartbeat("evaluating", 3)
    assert beat.line(5.0) == "evaluating; 5 s so far"
    beat._steps.append(6.0)
    assert beat.line(8.0) == "evaluating, about 10 s left; 8 s so far"
    assert beat.line(18.0) == "evaluating; 18 s so far"


@pytest.mark.parametrize("as_json", [False, True])
def test_progress_goes_to_stderr_unless_json_is_asked_for(files, monkeypatch, as_json):
    monkeypatch.setattr("tpauc.cli.heartbeat.EVERY", 0.05)
    original = engine_scores.EngineScores.evaluated

    def slow(self, after_pass):
        time.sleep(0.3)
        return original(self, after_pass)

    monkeypatch.setattr(engine_scores.EngineScores, "evaluated", slow)
    result = run("evaluate", files / "parts", *BOTH, "--engine", "duckdb", *(["--json"] if as_json else []))
    lines = result.stderr.splitlines()
    assert all(line.startswith("tpauc: evaluating by duckdb") for line in lines)
    assert bool(lines) is not as_json


# ------------------------------------------------------------------------------------------------------ hostile files


@pytest.mark.parametrize("more", [[], ["--engine", "duckdb"], ["--engine", "polars"]])
def test_a_damaged_compressed_file_is_named(files, tmp_path, more):
    whole = (files / "all.csv.gz").read_bytes()
    for place in (20, 100, 700, len(whole) - 6):
        packed = bytearray(whole)
        for byte in (place, place + 1):
            packed[byte] ^= 255
        (tmp_path / "a.csv.gz").write_bytes(packed)
        code, line = failure("evaluate", tmp_path / "a.csv.gz", *BOTH, *FAST, *more)
        assert code == 1
        assert "unexpected" not in line.replace("unexpected end of file", "")


def test_a_compressed_file_is_not_unpacked_without_end(files, monkeypatch):
    monkeypatch.setattr(score_files, "_MOST_UNPACKED", 2000)
    code, line = failure("evaluate", files / "all.csv.gz", *BOTH)
    assert (code, "all.csv.gz cannot be read: it holds more than 2e-06 GB; take --engine duckdb" in line) == (1, True)


def test_a_file_is_not_read_twice_by_two_names(files, tmp_path):
    (tmp_path / "link.csv").symlink_to(files / "all.csv")
    code, line = failure("evaluate", files / "all.csv", tmp_path / "link.csv", *BOTH)
    assert (code, "link.csv is given more than once, also as" in line) == (2, True)


def test_a_pipe_is_refused_and_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for source in (tmp_path, tmp_path / "pipe.csv"):
        code, line = failure("evaluate", source, *BOTH)
        assert (code, "pipe.csv is not a file" in line) == (2, True)
