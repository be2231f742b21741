"""The command line as a whole: what it prints, where, and with which exit code."""

import html
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from typer.testing import CliRunner

import reference
import tpauc
from tpauc.cli._text import facts_line, region_line
from tpauc.cli.errors import UsageError, explained
from tpauc.cli.main import app
from tpauc.metrics.comparison import compare_tpauc
from tpauc.metrics.intervals import tpauc_interval
from tpauc.metrics.operating_points import operating_point

COMMANDS = ["fit", "score", "threshold", "evaluate", "compare", "report", "demo"]
REGION = ["--alpha", "0.3", "--beta", "0.2"]
FAST = ["--resamples", "50"]


def run(*arguments):
    """Run a command in this process; an exception that is not an exit would be a traceback for the user."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def program(*arguments, **options):
    """Run the program in a process of its own."""
    command = [sys.executable, "-W", "error", "-m", "tpauc", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, **options)


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """Return a file of scores, and what is in it."""
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.25
    columns = {
        "ill": np.where(y, "yes", "no"),
        "y": y.astype(int),
        "good model": 2 * y + rng.normal(size=400),
        "rival": y + rng.normal(size=400).round(1),
    }
    path = tmp_path_factory.mktemp("some folder") / "the scores.csv"
    csv.write_csv(pa.table(columns), path)
    return path, columns


# ---------------------------------------------------------------------------------------------------- help, version


def test_version():
    assert run("--version").stdout == f"tpauc {tpauc.__version__}\n"


def test_help_lists_all_commands_and_the_exit_codes():
    result = run("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in result.stdout
    assert "Exit codes: 0 done; 2" in result.stdout
    assert "..." not in result.stdout.partition("Commands:")[2]  # no description is cut


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_an_example_of_it(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    example = result.stdout.partition("Example")[2].splitlines()[1]
    assert example.startswith(f"    tpauc {command} ")
    for option in ("--json", "--debug"):
        assert option in result.stdout


def test_without_a_command_the_help_is_shown_as_an_error():
    result = run()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Commands:" in result.stderr


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom tpauc.cli.main import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'sklearn', 'pandas', 'pyarrow', 'scipy', 'matplotlib', 'skops', 'rich'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


def test_evaluate_needs_neither_torch_nor_scikit_learn(scores):
    path, _ = scores
    code = (
        f"import sys\nfrom tpauc.cli.main import app\n"
        f"try:\n    app({['evaluate', str(path), '--label', 'y', '--score', 'rival', *REGION, *FAST]})\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "assert not {'torch', 'sklearn', 'pandas'} & set(sys.modules)"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


# ------------------------------------------------------------------------------------------------ evaluate, compare


@pytest.mark.parametrize("label", [["--label", "y"], ["--label", "ill", "--positive", "yes"]])
def test_evaluate_prints_the_values_of_the_library(scores, label):
    path, columns = scores
    result = run("evaluate", path, *label, "--score", "good model", "--score", "rival", *REGION, *FAST, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    y = columns["y"]
    assert document["data"]["rows"] == 400
    assert document["data"]["positives"] == y.sum()
    assert document["data"]["hard_positives"] == reference.hard_count(int(y.sum()), 0.3)
    assert document["data"]["hard_negatives"] == reference.hard_count(400 - int(y.sum()), 0.2)
    assert [model["name"] for model in document["models"]] == ["good model", "rival"]
    for model in document["models"]:
        s = columns[model["name"]]
        assert model["tpauc"]["estimate"] == pytest.approx(reference.tpauc(y, s, 0.3, 0.2), rel=1e-12)
        assert model["opauc"]["estimate"] == pytest.approx(reference.tpauc(y, s, 1.0, 0.2), rel=1e-12)
        assert model["auc"]["estimate"] == pytest.approx(reference.tpauc(y, s, 1.0, 1.0), rel=1e-12)
        interval = tpauc_interval(y, s, alpha=0.3, beta=0.2, n_resamples=50, random_state=0)
        assert (model["tpauc"]["low"], model["tpauc"]["high"]) == (interval.low, interval.high)
        point = operating_point(y, s, alpha=0.3, beta=0.2)
        assert model["operating_point"]["threshold"] == point.threshold
        assert model["operating_point"]["feasible"] == point.feasible


def test_evaluate_as_text_shows_the_values_of_the_document(scores):
    path, _ = scores
    arguments = ["evaluate", path, "--label", "y", "--score", "good model", *REGION, *FAST]
    model = json.loads(run(*arguments, "--json").stdout)["models"][0]
    text = run(*arguments).stdout
    for metric in ("tpauc", "opauc", "auc"):
        assert "{estimate:.4f} [{low:.4f}, {high:.4f}]".format(**model[metric]) in text
    assert f"{model['operating_point']['threshold']:.6g}" in text
    assert "catch at least 70 % of the positives with false alarms on at most 20 % of the negatives" in text


def test_tiny_shares_are_not_rounded_away():
    line = region_line({"alpha": 1e-5, "beta": 2.5e-6})
    assert "catch at least 99.999 % of the positives with false alarms on at most 0.00025 % of the negatives" in line
    facts = {"rows": 10**7, "positives": 12, "hard_positives": 3, "hard_negatives": 5}
    assert "12 positive (0.00012 %)" in facts_line(facts)
    assert "30 positive (30 %)" in facts_line(facts | {"rows": 100, "positives": 30})


def test_the_same_seed_gives_the_same_text_and_the_confidence_counts(scores):
    path, _ = scores
    arguments = ["evaluate", path, "--label", "y", "--score", "rival", *REGION, *FAST, "--json"]
    assert run(*arguments).stdout == run(*arguments, "--seed", "0").stdout
    wide, narrow = (
        json.loads(run(*arguments, "--confidence", level).stdout)["models"][0]["auc"] for level in ("0.95", "0.5")
    )
    assert wide["low"] < narrow["low"] <= narrow["high"] < wide["high"]


def test_a_model_without_a_usable_threshold_is_still_json(tmp_path):
    path = tmp_path / "scores.csv"
    csv.write_csv(pa.table({"y": [0] * 20 + [1] * 20, "s": [1.0] * 20 + [0.0] * 20}), path)
    arguments = ["evaluate", path, "--label", "y", "--score", "s", "--alpha", "0.5", "--beta", "0.1", *FAST]
    result = run(*arguments, "--json")
    point = json.loads(result.stdout)["models"][0]["operating_point"]
    assert point["feasible"] is False
    assert run(*arguments).exit_code == 0


def test_large_files_get_large_sample_intervals_and_say_so(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(60_000) < 0.1
    path = tmp_path / "large.parquet"
    parquet.write_table(pa.table({"y": y.astype(int), "a": rng.normal(size=y.size) + y, "b": 2.0 * y}), path)
    arguments = ["--label", "y", "--score", "a", *REGION]
    document = json.loads(run("evaluate", path, *arguments, "--json").stdout)
    model = document["models"][0]
    assert (model["tpauc"]["interval"], model["auc"]["interval"]) == ("bootstrap", "delong")
    assert "Large-sample (DeLong) intervals for AUC; see --intervals." in run("evaluate", path, *arguments).stdout
    s = parquet.read_table(path)["a"].to_numpy()
    point = operating_point(y, s, alpha=0.3, beta=0.2)
    expected = tpauc_interval(y, s, alpha=1.0, beta=1.0, method="delong")
    assert (model["auc"]["low"], model["auc"]["high"]) == (expected.low, expected.high)
    assert model["operating_point"]["threshold"] == point.threshold
    compared = json.loads(run("compare", path, *arguments, "--score", "b", "--json").stdout)
    assert compared["difference"]["interval"] == "delong"
    assert compared["difference"]["difference"] < 0


def test_few_hard_positives_are_resampled_among_however_many_rows_and_said_to_be_few(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60_000) < 30
    path = tmp_path / "rare.parquet"
    columns = {"y": y.astype(int), "a": rng.normal(size=y.size) + y, "b": rng.normal(size=y.size) + y}
    parquet.write_table(pa.table(columns), path)
    arguments = [path, "--label", "y", "--score", "a", "--alpha", "0.1", "--beta", "0.1"]
    document = json.loads(run("evaluate", *arguments, "--json").stdout)
    assert {document["models"][0][area]["interval"] for area in ("tpauc", "opauc", "auc")} == {"bootstrap"}
    assert document["models"][0]["tpauc"]["hard_positives"] == 3
    assert "95 % bootstrap interval" in run("compare", *arguments, "--score", "b").stdout
    said = run("evaluate", *arguments).stdout
    assert "Caution: the region selects 3 positives and 5,997 negatives; with fewer than 5 of either" in said
    assert "fewer than 5" not in run("evaluate", *arguments[:-4], "--alpha", "0.2", "--beta", "0.1").stdout


@pytest.mark.parametrize("kind", ["bootstrap", "delong"])
def test_a_report_has_the_kind_of_interval_that_is_asked_for(scores, tmp_path, kind):
    out = tmp_path / "page.html"
    run("report", scores[0], "--label", "y", "--score", "rival", *REGION, *FAST, "--intervals", kind, "--out", out)
    assert ("large-sample" in out.read_text()) == (kind == "delong")


@pytest.mark.parametrize("kind", ["bootstrap", "delong"])
def test_the_kind_of_interval_can_be_asked_for(scores, kind):
    arguments = ["evaluate", scores[0], "--label", "y", "--score", "rival", *REGION, *FAST, "--intervals", kind]
    model = json.loads(run(*arguments, "--json").stdout)["models"][0]
    assert {model[metric]["interval"] for metric in ("tpauc", "opauc", "auc")} == {kind}


def test_compare_prints_the_difference_of_the_library(scores):
    path, columns = scores
    arguments = ["compare", path, "--label", "y", "--score", "good model", "--score", "rival", *REGION, *FAST]
    document = json.loads(run(*arguments, "--json").stdout)
    expected = compare_tpauc(
        columns["y"], columns["good model"], columns["rival"], alpha=0.3, beta=0.2, n_resamples=50, random_state=0
    )
    assert document["difference"]["difference"] == expected.difference > 0
    assert document["difference"]["p_value"] == expected.p_value
    assert (document["difference"]["low"], document["difference"]["high"]) == (expected.low, expected.high)
    assert "TPAUC of good model minus rival: +0." in run(*arguments).stdout


@pytest.mark.parametrize("kind", ["parquet", "tsv", "npz"])
def test_all_kinds_of_files_give_the_same(scores, tmp_path, kind):
    path, columns = scores
    arguments = ["--label", "y", "--score", "rival", *REGION, *FAST, "--json"]
    other = tmp_path / f"scores.{kind}"
    numbers = {name: columns[name] for name in ("y", "rival")}
    if kind == "npz":
        np.savez(other, **numbers)
    else:
        from tpauc.cli.table_io import write_table

        write_table(other, pa.table(numbers))
    expected, found = (json.loads(run("evaluate", file, *arguments).stdout) for file in (path, other))
    assert found["models"] == expected["models"]


# ---------------------------------------------------------------------------------------------------------- reports


def test_a_report_on_a_file_is_written_beside_it_once(scores, tmp_path):
    copy = tmp_path / "the scores.csv"
    copy.write_bytes(scores[0].read_bytes())
    arguments = ["report", copy, "--label", "ill", "--positive", "yes", "--score", "rival", *REGION, *FAST]
    result = run(*arguments, "--json")
    page = tmp_path / "the scores-report.html"
    assert json.loads(result.stdout) == {"report": str(page)}
    text = " ".join(html.unescape(page.read_text(encoding="utf-8")).split())
    assert "<h1>Catching ill: rival, at least " in text
    assert f"<code>tpauc report '{copy}' --label ill --score rival --positive yes --alpha " in text
    before = page.stat().st_mtime_ns
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert f"{page} exists; choose another --out, or give --overwrite" in refused.stderr
    assert page.stat().st_mtime_ns == before
    assert run(*arguments, "--overwrite").exit_code == 0
    other = run(*arguments, "--out", tmp_path / "x.html")
    assert other.stdout == f"The report is {tmp_path / 'x.html'}\n"


def test_a_plot_that_is_there_is_not_replaced(scores, tmp_path):
    (tmp_path / "x-roc.png").write_bytes(b"mine")
    arguments = ["--label", "y", "--score", "rival", *REGION, *FAST, "--out", tmp_path / "x.html"]
    refused = run("report", scores[0], *arguments)
    assert (refused.exit_code, (tmp_path / "x-roc.png").read_bytes()) == (2, b"mine")


# ----------------------------------------------------------------------------------------------------------- errors

GOOD = ["--label", "y", "--score", "rival", *REGION]

USAGE_MISTAKES = {
    "unknown command": (["evalute"], "No such command 'evalute'. Did you mean 'evaluate'?"),
    "unknown option": (["evaluate", "SCORES", *GOOD, "--alhpa", "1"], "No such option: --alhpa"),
    "missing option": (["evaluate", "SCORES", "--label", "y", *REGION], "Missing option '--score'"),
    "missing argument": (["evaluate", *GOOD], "Missing argument 'SCORES...'"),
    "not a number": (["evaluate", "SCORES", *GOOD[:4], "--alpha", "many", "--beta", "1"], "--alpha"),
    "share": (["evaluate", "SCORES", *GOOD[:4], "--alpha", "1.5", "--beta", "1"], "--alpha must be a share in (0, 1]"),
    "zero": (["evaluate", "SCORES", *GOOD[:4], "--alpha", "1", "--beta", "0"], "--beta must be a share in (0, 1]"),
    "nan": (["evaluate", "SCORES", *GOOD[:4], "--alpha", "nan", "--beta", "1"], "--alpha must be finite"),
    "confidence": (["evaluate", "SCORES", *GOOD, "--confidence", "95"], "--confidence must be in (0, 1), got 95.0"),
    "resamples": (["evaluate", "SCORES", *GOOD, "--resamples", "0"], "--resamples"),
    "few resamples": (["evaluate", "SCORES", *GOOD, "--resamples", "10"], "--resamples must be at least 39 for"),
    "intervals": (["evaluate", "SCORES", *GOOD, "--intervals", "exact"], "exact"),
    "seed": (["evaluate", "SCORES", *GOOD, "--seed", "-1"], "--seed"),
    "missing file": (["evaluate", "nowhere.csv", *GOOD], "the file nowhere.csv does not exist"),
    "kind of file": (["evaluate", __file__, *GOOD], "must end in .csv"),
    "label column": (
        ["evaluate", "SCORES", "--label", "z", *GOOD[2:]],
        "has no column 'z'; its columns are 'ill', 'y', 'good model', 'rival'",
    ),
    "score column": (["evaluate", "SCORES", *GOOD, "--score", "z"], "has no column 'z'"),
    "column twice": (["evaluate", "SCORES", *GOOD, "--score", "rival"], "must name different columns"),
    "positive": (["evaluate", "SCORES", "--label", "ill", *GOOD[2:]], "say with --positive which of them"),
    "positive value": (["evaluate", "SCORES", *GOOD, "--positive", "2"], "--positive must be one of the values of"),
    "compare one": (["compare", "SCORES", *GOOD], "compare needs two models, --score twice; got 1"),
    "report options": (["report", "SCORES"], "needs --label, --score, --alpha and --beta"),
    "report nothing": (["report", "nowhere"], "the run or file nowhere does not exist"),
    "report of no run": (["report", "FOLDER"], "is not a run: it has no card.json"),
    "report name": (["report", "SCORES", *GOOD, "--out", "report.pdf"], "--out must end in .html"),
    "model": (["fit", "SCORES", "--target", "y", *REGION, "--out", "x", "--model", "forest"], "forest"),
    "method": (["fit", "SCORES", "--target", "y", *REGION, "--out", "x", "--method", "luck"], "luck"),
    "test size": (["fit", "SCORES", "--target", "y", *REGION, "--out", "x", "--test-size", "1"], "--test-size must be"),
    "target": (["fit", "SCORES", "--target", "z", *REGION, "--out", "FOLDER/x"], "has no column 'z'"),
    "target by its other name": (["fit", "SCORES", "--label", "z", *REGION, "--out", "FOLDER/x"], "has no column 'z'"),
    "drop": (["fit", "SCORES", "--target", "y", "--drop", "z", *REGION, "--out", "FOLDER/x"], "has no column 'z'"),
    "fit out": (["fit", "SCORES", "--target", "y", *REGION, "--out", "FOLDER"], "exists and is not a run"),
    "fit out folder": (["fit", "SCORES", "--target", "y", *REGION, "--out", "no/x"], "does not exist"),
    "score no run": (["score", "FOLDER", "SCORES", "--out", "new.csv"], "is not a run"),
    "score missing run": (["score", "nowhere", "SCORES", "--out", "new.csv"], "the run nowhere does not exist"),
    "score run is a file": (["score", "SCORES", "SCORES", "--out", "new.csv"], "is a file; a run is the folder"),
    "score out": (["score", "FOLDER", "SCORES", "--out", "SCORES"], "--out must be another file than DATA"),
}


def one_line_of(stderr):
    assert stderr.startswith("tpauc: error: ")
    assert stderr.count("\n") == 1, stderr
    assert "Traceback" not in stderr
    return stderr.rstrip("\n")


@pytest.mark.parametrize("mistake", USAGE_MISTAKES)
def test_a_mistake_in_what_was_typed_is_one_line_and_exit_code_2(scores, mistake):
    arguments, message = USAGE_MISTAKES[mistake]
    path, _ = scores
    filled = [word.replace("SCORES", str(path)).replace("FOLDER", str(path.parent)) for word in arguments]
    before = sorted(path.parent.iterdir())
    result = run(*filled)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in one_line_of(result.stderr)
    assert sorted(path.parent.iterdir()) == before


DATA_PROBLEMS = {
    "one class": ("y,s\n1,1\n1,2\n", "column 'y' has one value only, 1; both classes are needed"),
    "three classes": ("y,s\n1,1\n2,2\n0,3\n", "column 'y' must have two values, one for each class, found 3: 0, 1, 2"),
    "small region": (
        "y,s\n1,1\n0,2\n0,3\n",
        "alpha=0.3 selects none of the 1 positive examples; at least 4 are needed, or a larger alpha",
    ),
    "NaN": ("y,s\n1,1\n0,NaN\n", "column 's' has no value in 1 of 2 rows, the first is row 2"),
    "infinite": ("y,s\n1,1\n0,-inf\n", "column 's' must be finite"),
    "text": ("y,s\n1,1\n0,high\n", "invalid value 'high'"),
    "missing label": ("y,s\n1,1\n,2\n", "column 'y' has no value in 1 of 2 rows"),
    "empty file": ("", "cannot be read: Empty CSV file"),
    "header alone": ("y,s\n", "has no rows"),
    "broken row": ("y,s\n1,1\n0\n", "Expected 2 columns, got 1"),
    "column twice": ("y,s,s\n1,1,1\n", "more than one column called 's'; rename them"),
}


@pytest.mark.parametrize("command", ["evaluate", "compare", "report"])
@pytest.mark.parametrize("problem", DATA_PROBLEMS)
def test_a_problem_of_the_data_is_one_line_and_exit_code_1(tmp_path, command, problem):
    text, message = DATA_PROBLEMS[problem]
    text = re.sub(r"^(.*?),(.*)$", r"\1,\2,\2", text, flags=re.MULTILINE).replace("y,s,s", "y,s,t")
    if problem == "column twice":
        text = "y,s,s,t\n1,1,1,1\n"
    if problem == "broken row":
        text, message = "y,s,t\n1,1,1\n0\n", "Expected 3 columns, got 1"
    path = tmp_path / "bad.csv"
    path.write_text(text)
    result = run(command, path, "--label", "y", "--score", "s", "--score", "t", *REGION)
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in one_line_of(result.stderr)
    assert list(tmp_path.iterdir()) == [path]


def test_errors_with_json_leave_stdout_empty(scores):
    result = run("evaluate", scores[0], "--label", "z", *GOOD[2:], "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    one_line_of(result.stderr)


def test_debug_shows_the_traceback_before_the_line(scores):
    result = run("evaluate", scores[0], "--label", "z", *GOOD[2:], "--debug")
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert result.stderr.splitlines()[-1].startswith("tpauc: error: ")


def test_an_unexpected_error_is_one_line_too(scores, monkeypatch):
    def broken(*_, **__):
        raise KeyError("inner\nworkings")

    monkeypatch.setattr("tpauc.cli.evaluate.read_rows", broken)
    result = run("evaluate", scores[0], *GOOD)
    assert result.exit_code == 1
    assert "unexpected KeyError" in one_line_of(result.stderr)


@pytest.mark.parametrize(
    ("error", "line", "code"),
    [
        (UsageError("a\nb"), "a b", 2),
        (ValueError("no"), "no", 1),
        (ValueError(), "ValueError", 1),
        (OSError(28, "No space left on device"), "No space left on device", 1),
        (PermissionError(13, "Permission denied", "x.csv"), "Permission denied: x.csv", 1),
        (MemoryError(), "not enough memory", 1),
        (ModuleNotFoundError("run: pip install 'tpauc[cli]'"), "run: pip install 'tpauc[cli]'", 1),
    ],
)
def test_lines_and_codes(error, line, code):
    assert explained(error) == (line, code)


def test_warnings_are_one_line_on_stderr(scores, monkeypatch):
    import warnings

    from tpauc.cli import score_files

    original = score_files.read_rows

    def warned(*arguments, **options):
        warnings.warn("look\nout", stacklevel=2)
        return original(*arguments, **options)

    monkeypatch.setattr("tpauc.cli.evaluate.read_rows", warned)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = run("evaluate", scores[0], *GOOD, *FAST, "--json")
    assert result.stderr == "tpauc: warning: look out\n"
    assert json.loads(result.stdout)


# ---------------------------------------------------------------------------------------------------- the program


def test_the_program_exits_with_the_codes_of_the_commands(scores, tmp_path):
    path, _ = scores
    good = program("evaluate", path, *GOOD, *FAST, "--json")
    assert (good.returncode, good.stderr) == (0, "")
    assert json.loads(good.stdout)["models"]
    usage = program("evaluate", path, "--label", "z", *GOOD[2:])
    assert (usage.returncode, usage.stdout) == (2, "")
    one_line_of(usage.stderr)
    bad = tmp_path / "bad.csv"
    bad.write_text("y,rival\n1,1\n1,2\n")
    data = program("evaluate", bad, *GOOD)
    assert (data.returncode, data.stdout) == (1, "")
    assert "both classes are needed" in one_line_of(data.stderr)


def test_an_unreadable_file(scores, tmp_path):
    path = tmp_path / "locked.csv"
    path.write_bytes(scores[0].read_bytes())
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    result = run("evaluate", path, *GOOD)
    assert result.exit_code == 1
    assert "Permission denied" in one_line_of(result.stderr)


MISSING = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
sys.argv = {arguments!r}
from tpauc.__main__ import main
main()
"""


def program_without(packages, *arguments):
    """Run the program in an environment that lacks some packages."""
    code = MISSING.format(packages=packages, arguments=["tpauc", *map(str, arguments)])
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


TABLE = ["SCORES", "--target", "y", *REGION]
CELLS = ["cifar10-lt", "--data-dir", "FOLDER", "--out", "FOLDER/table"]


@pytest.mark.parametrize(
    ("package", "arguments", "extra"),
    [
        ("typer", ["--help"], "cli"),
        ("pyarrow", ["evaluate", "SCORES", *GOOD], "cli"),
        ("pyarrow", ["score", "FOLDER", "SCORES", "--out", "x.csv"], "cli"),
        ("skops", ["fit", *TABLE, "--out", "x"], "cli"),
        ("pandas", ["fit", *TABLE, "--out", "x"], "cli"),
        ("sklearn", ["fit", *TABLE, "--out", "x"], "cli"),
        ("torch", ["fit", *TABLE, "--out", "x", "--model", "mlp"], "torch"),
        ("sklearn", ["advise", *TABLE], "cli"),
        ("lightgbm", ["advise", *TABLE, "--model", "lightgbm"], "lightgbm"),
        ("torch", ["advise", *TABLE, "--model", "mlp"], "torch"),
        ("sklearn", ["demo"], "cli"),
        ("lightgbm", ["demo"], "lightgbm"),
        ("jinja2", ["report", "SCORES", *GOOD], "report"),
        ("matplotlib", ["report", "SCORES", *GOOD], "report"),
        ("torch", ["reproduce", "table", *CELLS], "paper"),
        ("torch", ["reproduce", "search", *CELLS, "--method", "SqAUC"], "paper"),
        ("optuna", ["reproduce", "search", *CELLS, "--method", "SqAUC"], "paper"),
        ("torch", ["reproduce", "differences", "FOLDER"], "paper"),
        ("torch", ["reproduce", "figure", "--list"], "paper"),
    ],
)
def test_a_missing_package_is_one_line_that_says_what_to_install(scores, package, arguments, extra):
    path, _ = scores
    filled = [word.replace("SCORES", str(path)).replace("FOLDER", str(path.parent)) for word in arguments]
    before = sorted(path.parent.iterdir())
    finished = program_without([package], *filled)
    assert (finished.returncode, finished.stdout) == (1, "")
    line = one_line_of(finished.stderr)
    assert f"error: {package} is needed here and is not installed; run: pip install 'tpauc[{extra}]'" in line
    assert sorted(path.parent.iterdir()) == before


def test_the_version_needs_no_extra():
    extras = ["typer", "torch", "sklearn", "pandas", "pyarrow", "skops", "jinja2", "matplotlib", "joblib"]
    finished = program_without(extras, "--version")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, f"tpauc {tpauc.__version__}\n", "")
    finished = program_without(extras, "evaluate", "x.csv")
    assert (finished.returncode, finished.stdout) == (1, "")
    assert one_line_of(finished.stderr).endswith("run: pip install 'tpauc[cli]'")


def test_ctrl_c_ends_quietly_with_130(tmp_path):
    command = [sys.executable, "-m", "tpauc", "demo", "--out", str(tmp_path / "demo")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline().startswith("tpauc: 8 against the other digits")  # it is at work
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stdout == ""
    assert all(line.startswith("tpauc: training ") for line in stderr.splitlines())
    assert not (tmp_path / "demo").exists()


def test_a_closed_pipe_is_no_traceback(scores):
    command = [sys.executable, "-m", "tpauc", "evaluate", str(scores[0]), *GOOD, *FAST]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    _, stderr = process.communicate(timeout=60)
    assert "Traceback" not in stderr
