"""Files that earlier versions wrote are read, or refused with one clear line; see `tests/data/make.py`."""

import importlib.util
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tpauc.cli.main import app
from tpauc.metrics.histogram import Histogram
from tpauc.paper.experiments.results import ResultsFile, ScoreFolder
from tpauc.training import load_checkpoint

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def of_now(tmp_path_factory):
    spec = importlib.util.spec_from_file_location("make", DATA / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    folder = tmp_path_factory.mktemp("now") / "files"
    make.write_files(folder)
    return folder


@pytest.fixture(params=["now", *sorted(path.name for path in DATA.iterdir() if (path / "run").is_dir())])
def folder(request):
    """Return the files of this code, and those of each version that are kept."""
    return request.getfixturevalue("of_now") if request.param == "now" else DATA / request.param


def test_a_run_scores_the_table_it_was_made_from(folder, tmp_path):
    out = tmp_path / "scores.csv"
    arguments = ["score", str(folder / "run"), str(folder / "table.csv"), "--out", str(out)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    if result.exit_code:
        assert result.stderr.startswith("tpauc: error: ")
        assert "of this version of tpauc" in result.stderr
    else:
        assert len(out.read_text().split()) == 61


def test_other_files_are_read(folder):
    assert load_checkpoint(folder / "best.ckpt")["model"]["weight"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert len(ResultsFile(folder / "results.csv").read()) == 1
    assert ScoreFolder(folder / "scores").read(1).test.tolist() == [0.0, 1.0, 2.0, 3.0]
    counts = Histogram.load(folder / "counts.json")
    assert (counts.positives[5], counts.negatives[2]) == (3, 4)
