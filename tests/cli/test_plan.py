"""`tpauc plan`: the numbers of the library, in words that a practitioner reads."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import CliRunner

import tpauc
from tpauc.cli.main import app
from tpauc.cli.plan import plan_lines
from tpauc.metrics.study_planning import StudyPlan

REGION = ["--alpha", "0.5", "--beta", "0.5"]


def run(*arguments):
    return CliRunner().invoke(app, ["plan", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.3
    columns = {"ill": np.where(y, "yes", "no"), "a": rng.normal(size=300) + y, "b": rng.normal(size=300) + 1.5 * y}
    path = tmp_path_factory.mktemp("pilot") / "scores.csv"
    csv.write_csv(pa.table(columns | {"flat": np.where(y, 1, 0)}), path)
    return path, columns, y


def test_a_guess_gives_the_plan_of_the_library():
    found = json.loads(run(*REGION, "--tpauc", "0.6", "--half-width", "0.2", "--ratio", "2", "--json").stdout)
    expected = tpauc.plan_study(0.5, 0.5, tpauc=0.6, half_width=0.2, ratio=2.0)
    assert (found["n_positive"], found["n_negative"]) == (expected.n_positive, expected.n_negative)
    assert (found["pilot"], found["half_width"], found["difference"]) == (None, 0.2, None)
    assert found["fewest_positives"] == expected.fewest_positives


def test_a_pilot_gives_the_plan_of_the_library(pilot):
    path, columns, y = pilot
    arguments = ["--pilot", path, "--label", "ill", "--positive", "yes", "--score", "a"]
    found = json.loads(run(*REGION, "--half-width", "0.2", *arguments, "--json").stdout)
    expected = tpauc.plan_study(0.5, 0.5, half_width=0.2, pilot=(y, columns["a"]))
    assert (found["n_positive"], found["tpauc"]) == (expected.n_positive, expected.tpauc)
    result = run(*REGION, "--difference", "0.3", "--power", "0.7", *arguments, "--score", "b")
    wanted = tpauc.plan_study(0.5, 0.5, difference=0.3, power=0.7, pilot=(y, columns["a"], columns["b"]))
    assert f"Collect about {wanted.n_positive:,} positives and {wanted.n_negative:,} negatives." in result.stdout
    assert "With 70 % chance they show, at 95 % confidence" in result.stdout
    assert "as in the pilot" in result.stdout


def test_the_text_says_what_to_collect_and_when_the_interval_is_honest():
    plan = StudyPlan(210, 2100, 0.6, 0.1, None, None, 0.3, 0.3, 0.95, 17, 17)
    lines = plan_lines(plan)
    assert "Collect about 210 positives and 2,100 negatives." in lines
    assert "A TPAUC of 0.6 then has a 95 % interval of about ± 0.1, if the guess is right." in lines
    assert any(
        line.startswith("Below 17 positives or 17 negatives the interval is not honest, because") for line in lines
    )
    assert not any(line.startswith("Fewer rows would do") for line in lines)
    fewest = StudyPlan(17, 170, 0.6, 0.4, None, None, 0.3, 0.3, 0.95, 17, 17)
    assert plan_lines(fewest)[-1].startswith("Fewer rows would do")


GUESS = ["--tpauc", "0.6", "--half-width", "0.2"]
COLUMNS = ["--label", "ill", "--positive", "yes", "--score", "a"]
MISTAKES = {
    "no aim": (["--tpauc", "0.6"], 2, "either --half-width or --difference, got neither"),
    "two aims": ([*GUESS, "--difference", "0.1"], 2, "either --half-width or --difference, got both"),
    "power of nothing": ([*GUESS, "--power", "0.9"], 2, "--power is the chance to show a --difference"),
    "nothing expected": (["--half-width", "0.2"], 2, "plan needs --tpauc, a guess, or --pilot"),
    "columns of nothing": ([*GUESS, "--label", "y"], 2, "are for the file of --pilot"),
    "share": (["--tpauc", "1.5", "--half-width", "0.2"], 2, "--tpauc must be in (0, 1), got 1.5"),
    "width": (["--tpauc", "0.6", "--half-width", "0.6"], 2, "--half-width must be below 0.5"),
    "sum": (["--tpauc", "0.6", "--difference", "0.5"], 2, "--tpauc + --difference must be below 1"),
    "ratio": ([*GUESS, "--ratio", "-1"], 2, "--ratio must be above 0"),
    "spread": ([*GUESS, "--spread", "0"], 2, "--spread must be above 0"),
    "guess and pilot": ([*GUESS, "--pilot", "PILOT", *COLUMNS], 2, "a pilot shows what to expect"),
    "pilot columns": (["--half-width", "0.2", "--pilot", "PILOT"], 2, "needs --label and --score"),
    "one model": (["--difference", "0.2", "--pilot", "PILOT", *COLUMNS], 2, "needs --label and --score twice"),
    "no pilot": (["--half-width", "0.2", "--pilot", "none.csv", *COLUMNS], 2, "none.csv does not exist"),
    "column": (["--half-width", "0.2", "--pilot", "PILOT", *COLUMNS[:-1], "x"], 2, "has no column 'x'"),
    "perfect pilot": (["--half-width", "0.2", "--pilot", "PILOT", *COLUMNS[:-1], "flat"], 1, "must show some spread"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_one_line(pilot, mistake):
    arguments, code, message = MISTAKES[mistake]
    result = run(*REGION, *(str(pilot[0]) if word == "PILOT" else word for word in arguments))
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
