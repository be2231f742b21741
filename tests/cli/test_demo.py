"""`tpauc demo`: that it tells its story without torch, and that it says no more than its numbers do."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import tpauc
from tpauc.cli.demo import LIGHTGBM, LOGISTIC, OURS, REGION, demo_lines, models_by_name, three_parts, verdict
from tpauc.cli.main import app
from tpauc.reporting.wording import signed_text

WITHOUT_TORCH = """
import sys
from importlib.abc import MetaPathFinder

class NoTorch(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "torchmetrics", "lightning"):
            raise ModuleNotFoundError(f"no {name} here", name=name)

sys.meta_path.insert(0, NoTorch())
from tpauc.__main__ import main
sys.exit(main())
"""


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the folder of a demo, its document, and what it printed on the way; torch is not there."""
    folder = tmp_path_factory.mktemp("demo") / "with spaces"
    command = [sys.executable, "-W", "error", "-c", WITHOUT_TORCH, "demo", "--out", str(folder), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return folder, json.loads(result.stdout), result.stderr


def test_the_rows_are_divided_once_and_keep_the_share_of_positives():
    parts = three_parts()
    assert [y.size for _, y in parts] == [718, 360, 719]
    assert sum(y.sum() for _, y in parts) == 174
    for _, y in parts:
        assert y.mean() == pytest.approx(174 / 1797, abs=0.002)
    rows = np.concatenate([X for X, _ in parts])
    assert len(rows) == len(np.unique(rows, axis=0)) == 1797  # no two rows are alike, so no part knows another


def test_the_document_holds_every_model_and_the_report_shows_it(finished):
    folder, document, stderr = finished
    assert [model["name"] for model in document["models"]] == [LOGISTIC, LIGHTGBM, OURS]
    assert [found["minus"] for found in document["differences"]] == [LOGISTIC, LIGHTGBM]
    assert document["report"] == str(folder / "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Guarantee: FPR \u2264 5\N{NO-BREAK SPACE}% on new rows with probability 95\N{NO-BREAK SPACE}%." in page
    assert all(name in page for name in (LOGISTIC, LIGHTGBM, OURS))
    for found in document["differences"]:  # the page has them the other way round
        limits = f"{signed_text(-found['high'])} to {signed_text(-found['low'])}"
        assert limits in page
    assert "<code>tpauc demo</code>" in page
    assert [line.partition(" on ")[0] for line in stderr.splitlines() if "training" in line] == [
        f"tpauc: training {name}" for name in (LOGISTIC, LIGHTGBM, OURS)
    ]
    areas = {model["name"]: model["tpauc"] for model in document["models"]}
    for found in document["differences"]:
        expected = areas[OURS]["estimate"] - areas[found["minus"]]["estimate"]
        assert found["difference"] == pytest.approx(expected, abs=1e-12)
        assert found["low"] <= found["difference"] <= found["high"]
    assert document["threshold"]["found"] + document["threshold"]["missed"] == 70


def test_the_baseline_is_what_anybody_would_train(finished):
    (X, y), _, (X_test, y_test) = three_parts()
    score_rows = models_by_name()[LOGISTIC](X, y)
    expected = tpauc.tpauc_score(y_test, score_rows(X_test), alpha=REGION.alpha, beta=REGION.beta)
    assert finished[1]["models"][0]["tpauc"]["estimate"] == pytest.approx(expected, abs=1e-12)


def test_the_report_is_not_replaced_without_being_asked(finished, monkeypatch):
    monkeypatch.setattr("tpauc.cli.demo.three_parts", lambda: pytest.fail("the work has begun"))
    folder = finished[0]
    before = (folder / "report.html").stat().st_mtime_ns
    result = run("demo", "--out", folder)
    assert result.exit_code == 2
    assert "report.html exists; choose another --out, or give --overwrite" in result.stderr
    assert (folder / "report.html").stat().st_mtime_ns == before


def test_a_folder_that_cannot_be_made_is_noticed_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("tpauc.cli.demo.three_parts", lambda: pytest.fail("the work has begun"))
    (tmp_path / "file").touch()
    result = run("demo", "--out", tmp_path / "file")
    assert result.exit_code in (1, 2)
    assert result.stderr.startswith("tpauc: error: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system in which nobody makes folders")
def test_a_file_system_that_takes_no_folder_is_noticed_before_the_work(monkeypatch):
    monkeypatch.setattr("tpauc.cli.demo.three_parts", lambda: pytest.fail("the work has begun"))
    result = run("demo", "--out", "/proc/tpauc")
    assert result.exit_code == 1
    assert "the folder /proc is not writable" in result.stderr


# ------------------------------------------------------------------------------------------------------------- words


def difference(low, high, minus="B"):
    return {"minus": minus, "low": low, "high": high, "difference": (low + high) / 2}


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([difference(0.1, 0.3, "A"), difference(0.01, 0.2)], f"So {OURS} is better in the corner than A and B."),
        (
            [difference(0.1, 0.3, "A"), difference(-0.1, 0.2)],
            f"So {OURS} is better in the corner than A; {OURS} is not shown to differ from B.",
        ),
        ([difference(0.0, 0.0, "A")], f"So {OURS} is not shown to differ from A."),
        ([difference(-0.3, -0.1, "A"), difference(-0.1, -0.01)], f"So {OURS} is WORSE in the corner than A and B."),
    ],
)
def test_the_verdict_claims_no_more_than_the_intervals(differences, expected):
    assert verdict(differences) == expected


def test_the_lines_say_what_the_document_says(finished):
    document = finished[1]
    lines = demo_lines(document)
    text = "\n".join(lines)
    assert max(map(len, text.splitlines())) <= 160
    assert "1,797 handwritten digits, 64 columns; 174 (9.68 %) are an 8" in text
    assert verdict(document["differences"]) in lines
    assert f"finds {document['threshold']['found']} of 70 positives" in text
    missed = {**document, "threshold": {**document["threshold"], "feasible": False}}
    assert "These rates do NOT lie in the region." in demo_lines(missed)
    assert lines[-1] == f"The report: {document['report']} (open it in a browser)"
