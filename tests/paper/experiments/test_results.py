"""What trainings leave: rows that are read as written, whole after a kill, refused if damaged; and their origin."""

import random
import signal
import subprocess
from dataclasses import asdict, fields

import pytest

from paper_runs import request, result
from tpauc.paper.experiments import results
from tpauc.paper.experiments.cells import (
    parameters_text,
)
from tpauc.paper.experiments.results import COLUMNS, Key, ResultsFile, key_of
from tpauc.region import Region
from training_runs import start

REGIONS = (Region(0.3, 0.3), Region(0.4, 0.4), Region(0.5, 0.5))
KILLS = 6


def test_results_are_read_as_they_were_written(tmp_path):
    file = ResultsFile(tmp_path / "new" / "results.csv")
    rows = [result(), result(alpha=0.4, beta=0.4, machine='a "quoted", name')]
    file.add(rows[:1])
    file.add(rows)  # the first is there already
    assert file.read() == rows
    assert not list((tmp_path / "new").glob("*.tmp"))


def test_a_row_that_is_there_stays(tmp_path):
    file = ResultsFile(tmp_path / "results.csv")
    file.add([result(tpauc=0.2)])
    file.add([result(tpauc=0.9)])
    assert [row.tpauc for row in file.read()] == [0.2]


def test_a_foreign_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="not a file of results of this version: its columns are a, b"):
        ResultsFile(path).add([result()])
    assert path.read_text() == "a,b\n1,2\n"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda line: line.rpartition(",")[0], "it has 24 values for 25 columns"),
        (lambda line: line[: len(line) // 2], "it has .* values for 25 columns"),
        (lambda line: f"{line},1", "it has 26 values for 25 columns"),
        (lambda line: line.replace(",0.25,", ",many,"), "could not convert string to float: 'many'"),
        (lambda line: line.replace("SqAUC", "FooAUC"), "method must be one of .* got 'FooAUC'"),
        (lambda line: line.replace("cifar10-lt,", "mnist,"), "dataset must be one of .* got 'mnist'"),
        (lambda line: line.replace("cifar10-lt,1,", "cifar10-lt,7,"), "subset must be one of .* got 7"),
        (lambda line: line.replace(",paper,", ",home,"), "recipe must be one of .* got 'home'"),
        (lambda line: line.replace(",0.3,0.3,", ",0.3,7,"), "beta must be .* got 7"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, spoil, message):
    path = tmp_path / "results.csv"
    ResultsFile(path).add([result(), result(seed=1)])
    header, first, second = path.read_text().splitlines()
    assert spoil(second) != second
    path.write_text("\n".join([header, first, spoil(second)]) + "\n")
    damaged = path.read_bytes()
    with pytest.raises(ValueError, match=rf"results.csv, line 3 is damaged: {message}.*; remove the line to train it"):
        ResultsFile(path).add([result(seed=2)])
    assert path.read_bytes() == damaged


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "results.csv"
    path.write_bytes(bytes(range(128, 256)))
    with pytest.raises(ValueError, match=r"results.csv is damaged, it is no text .*; choose another --out"):
        ResultsFile(path).read()


def test_what_a_killed_process_left_is_removed(tmp_path):
    (tmp_path / ".results.csv.0123456789abcdef.tmp").touch()
    ResultsFile(tmp_path / "results.csv").add([result()])
    assert not list(tmp_path.glob(".*.tmp"))


def add_rows(path, seeds):
    for seed in seeds:
        ResultsFile(path).add([result(seed=seed, alpha=alpha, beta=alpha) for alpha in (0.3, 0.4, 0.5)])


def test_several_processes_add_to_one_file(tmp_path):
    path = tmp_path / "results.csv"
    processes = [start(add_rows, path, range(first, first + 10)) for first in (0, 10, 20)]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert sorted(row.seed for row in ResultsFile(path).read()) == sorted([*range(30)] * 3)


def test_a_killed_process_leaves_all_rows_of_a_cell_or_none(tmp_path):
    path = tmp_path / "results.csv"
    moments = random.Random(0)
    for first in range(KILLS):
        process = start(add_rows, path, range(1000 * first, 1000 * (first + 1)))
        while not any(row.seed >= 1000 * first for row in ResultsFile(path).read()):
            assert process.is_alive()
        process.join(moments.uniform(0.0, 0.2))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        seeds = [row.seed for row in ResultsFile(path).read()]
        assert all(seeds.count(seed) == 3 for seed in set(seeds))


def test_keys_and_columns_agree():
    cell = request(methods=("TPAUC-Poly",), epochs=30).cells()[0]
    row = result(
        method="TPAUC-Poly",
        chosen_for=cell.chosen_for,
        parameters=parameters_text(cell.parameters),
        alpha=0.4,
        beta=0.4,
    )
    assert row.key == key_of(cell, REGIONS[1])
    assert set(asdict(row)) == set(COLUMNS)
    key_columns = tuple(field.name for field in fields(Key))
    assert COLUMNS[: len(key_columns)] == key_columns


# ---------------------------------------------------------------------------------------------- where numbers come from


def test_commit_is_that_of_the_package(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "_PACKAGE", tmp_path)
    look = results.commit.__wrapped__

    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    assert look() == ""
    git("init")
    (tmp_path / "__init__.py").write_text("")
    assert look() == ""  # a repository that knows nothing of these files
    git("add", ".")
    git("commit", "-m", "first")
    commit = look()
    assert len(commit) == 40
    (tmp_path / "__init__.py").write_text("changed")
    assert look() == f"{commit}+changes"


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert results.commit.__wrapped__() == ""
