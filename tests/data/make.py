"""Write files of this version that later versions must read, or refuse clearly: ``python tests/data/make.py 0.2.0``.

They go to ``tests/data/VERSION``: runs of several models, a training that can be resumed, a checkpoint, results, scores
of an epoch and histograms, all small, and the values that are read from them. `test_earlier_versions.py` reads every
such folder. Files of a version that was released are never made again; before its release they are, with a new mark of
the format (``kind`` of a card, ``format`` of a histogram) if earlier files are no longer read.
"""

import contextlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

_SHIFTS = np.random.default_rng(0).normal(size=60).round(2)
TABLE = "x,z,town,y\n" + "".join(
    f"{shift + n % 3},{n * 7 % 11},{'AB'[n % 2]},{int(n % 3 > 1)}\n" for n, shift in enumerate(_SHIFTS.tolist())
)
MODELS = ("linear", "mlp", "lightgbm", "auto-fast")


def write_files(folder):
    """Write one file of every kind that is kept; the folder is the working directory meanwhile, so names are short."""
    folder.mkdir(parents=True)
    with contextlib.chdir(folder):
        _write_files(Path())


def _write_files(folder):
    from paper_runs import result
    from tpauc.metrics.histogram import Histogram
    from tpauc.paper.experiments.results import ResultsFile, ScoreFolder
    from tpauc.training import save_checkpoint

    (folder / "table.csv").write_text(TABLE)
    scores = {model: run_and_scores(folder, model) for model in MODELS}
    history = trained(folder / "training").history
    (folder / "training" / ".lock").unlink()
    save_checkpoint(folder / "best.ckpt", {"epoch": 3, "model": {"weight": torch.arange(4.0)}})
    ResultsFile(folder / "results.csv").add([result()])
    ScoreFolder(folder / "scores").write(1, np.arange(3.0), np.arange(4.0))
    for suffix in ("json", "parquet"):
        Histogram.from_counts([0, 1, 2], [3, 1, 0]).save(folder / f"counts.{suffix}")
    expected = {"scores": scores, "losses": [record["loss"] for record in history]}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


def run_and_scores(folder, model):
    """Make a run, and return the scores that it gives the first rows of the table."""
    region = ["--alpha", "0.5", "--beta", "0.5", "--resamples", "60"]
    command("fit", folder / "table.csv", "--target", "y", "--model", model, *region, "--out", folder / f"run-{model}")
    return scores_of(folder, model, folder)[:10]


def scores_of(folder, model, where):
    """Return the scores that a run gives the rows of the table."""
    out = where / f"scored-{model}.csv"
    command("score", folder / f"run-{model}", folder / "table.csv", "--out", out)
    scores = [float(line.split(",")[0]) for line in out.read_text().split()[1:]]
    out.unlink()
    return scores


def command(*arguments):
    """Run a command; what it prints when it fails is the error."""
    from typer.testing import CliRunner

    from tpauc.cli.main import app

    done = CliRunner().invoke(app, [str(word) for word in arguments], catch_exceptions=False)
    if done.exit_code:
        raise ValueError(done.stderr)


def trained(out):
    """Return a small training in a folder; one that is there already is resumed."""
    from training_runs import train

    return train(epochs=2, out=str(out))


if __name__ == "__main__":
    target = HERE / sys.argv[1]
    shutil.rmtree(target, ignore_errors=True)
    write_files(target)
