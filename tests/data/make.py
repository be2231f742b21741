"""Write the files of this version that later versions must read, or refuse clearly: ``python tests/data/make.py``.

They go to ``tests/data/VERSION``: a run folder, a checkpoint, results, scores of an epoch and a histogram, all small.
`test_earlier_versions.py` reads every such folder. Files of a version that was released are never made again.
"""

import sys
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

TABLE = "x,town,y\n" + "".join(f"{n % 7 + n / 100},{'AB'[n % 2]},{int(n % 7 > 3)}\n" for n in range(60))


def write_files(folder):
    """Write one file of every kind that is kept."""
    from typer.testing import CliRunner

    from paper_runs import result
    from tpauc.cli.main import app
    from tpauc.metrics.histogram import Histogram
    from tpauc.paper.experiments.results import ResultsFile, ScoreFolder
    from tpauc.training import save_checkpoint

    folder.mkdir(parents=True)
    table = folder / "table.csv"
    table.write_text(TABLE)
    region = ["--alpha", "0.5", "--beta", "0.5", "--resamples", "60"]
    options = ["--target", "y", "--method", "cross_entropy", *region, "--out", str(folder / "run")]
    done = CliRunner().invoke(app, ["fit", str(table), *options], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    save_checkpoint(folder / "best.ckpt", {"epoch": 3, "model": {"weight": torch.arange(4.0)}})
    ResultsFile(folder / "results.csv").add([result()])
    ScoreFolder(folder / "scores").write(1, np.arange(3.0), np.arange(4.0))
    histogram = Histogram(8)
    histogram.positives[5], histogram.negatives[2] = 3, 4
    histogram.save(folder / "counts.json")


if __name__ == "__main__":
    import tpauc

    write_files(HERE / tpauc.__version__)
