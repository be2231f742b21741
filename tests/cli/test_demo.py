"""`tpauc demo`: that it runs, and that it says no more than its numbers do."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tpauc.classifiers.cross_validation import corrected_comparison
from tpauc.classifiers.training_methods import METHODS as ALL_METHODS
from tpauc.cli.demo import METHODS, demo_lines
from tpauc.cli.main import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the folder of a quick demo and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "with spaces"
    result = run("demo", "--quick", "--out", folder, "--json")
    assert result.exit_code == 0, result.stderr
    return folder, result


def test_the_methods_are_known():
    assert set(METHODS) <= set(ALL_METHODS)


def test_the_document_holds_every_method_with_an_interval_and_the_report(finished):
    folder, result = finished
    document = json.loads(result.stdout)
    assert [method["name"] for method in document["methods"]] == list(METHODS)
    assert document["report"] == str(folder / "report.html")
    first, *others = document["methods"]
    assert first["difference"] is None
    for method in others:
        assert method["tpauc"] == pytest.approx(np.mean(method["values"]), rel=1e-12)
        differences = np.subtract(method["values"], first["values"])
        # Both halves have about as many rows.
        expected = corrected_comparison(differences, 1.0)
        found = method["difference"]
        assert (found["estimate"], found["low"], found["high"]) == pytest.approx(
            (expected.difference, expected.low, expected.high), rel=1e-9, abs=1e-12
        )
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in METHODS)
    # The shaded corner is the region, the model has another name.
    assert "<span>for the region</span></div></th>" in page
    assert "<span>region</span></div></th>" not in page
    assert re.findall(r"split (\d) of 2", result.stderr) == ["1", "2"]


def test_the_report_is_not_replaced_without_being_asked(finished):
    folder, _ = finished
    before = (folder / "report.html").stat().st_mtime_ns
    result = run("demo", "--quick", "--out", folder)
    assert result.exit_code == 2
    assert "report.html exists; choose another --out, or give --overwrite" in result.stderr
    assert (folder / "report.html").stat().st_mtime_ns == before


def test_a_folder_that_cannot_be_made_is_noticed_before_the_work(tmp_path):
    (tmp_path / "file").touch()
    result = run("demo", "--out", tmp_path / "file")
    assert result.exit_code in (1, 2)
    assert result.stderr.startswith("tpauc: error: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system in which nobody makes folders")
def test_a_file_system_that_takes_no_folder_is_noticed_before_the_work(monkeypatch):
    monkeypatch.setattr("tpauc.cli.demo._split", lambda *_, **__: pytest.fail("the work has begun"))
    result = run("demo", "--out", "/proc/tpauc")
    assert result.exit_code == 1
    assert "the folder /proc is not writable" in result.stderr


# ----------------------------------------------------------------------------------------------------------- verdict


def document_with(*differences):
    methods = [{"name": "cross_entropy", "tpauc": 0.5, "difference": None}]
    for number, (low, estimate, high) in enumerate(differences):
        interval = {"low": low, "estimate": estimate, "high": high}
        methods.append({"name": f"method{number}", "tpauc": 0.5 + estimate, "difference": interval})
    head = {"digit": 8, "alpha": 0.3, "beta": 0.3, "confidence": 0.95, "splits": 5, "report": "x/report.html"}
    return head | {"methods": methods}


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([(0.01, 0.02, 0.03), (-0.01, 0.02, 0.05)], "Better than cross-entropy beyond chance: method0."),
        ([(-0.01, 0.02, 0.05), (-0.03, -0.02, 0.0)], "Ahead of cross-entropy on average, but within chance: method0."),
        ([(-0.01, 0.0, 0.01), (-0.03, -0.02, -0.01)], "No method beats cross-entropy here."),
    ],
)
def test_the_verdict_claims_no_more_than_the_intervals(differences, verdict):
    lines = demo_lines(document_with(*differences))
    assert verdict in lines
    assert lines[-1] == "The report on the first split is x/report.html"
    table = "\n".join(lines)
    for low, estimate, high in differences:
        assert re.search(rf"{re.escape(f'{estimate:+.4f}')} +{re.escape(f'[{low:+.4f}, {high:+.4f}]')}", table)
