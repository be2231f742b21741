"""Fuzzing of what reads files: CSV, NPZ and Parquet tables, run cards, trees of LightGBM, checkpoints, histograms.

A reader may refuse bytes with a ``ValueError``, an ``OSError`` or a ``MemoryError``, which the command line shows in
one line. Every other exception, a crash and a run without end are findings. `run_fuzz` starts one process per reader:

    python tests/fuzz/fuzz_readers.py csv FOLDER -max_total_time=60
"""

import hashlib
import io
import json
import sys
import tempfile
import warnings
from pathlib import Path

REFUSALS = (ValueError, OSError, MemoryError)


def _table(suffix):
    def read(contents, folder):
        from tpauc.cli.labels import read_scores
        from tpauc.cli.table_io import read_table

        path = folder / f"table{suffix}"
        path.write_bytes(contents)
        columns = read_table(path).column_names
        if len(columns) > 1:
            read_scores(path, columns[0], columns[1:2])

    return read


def _card(contents, folder):
    from tpauc.cli.runs import CARD, load_run, read_card, run_region

    (folder / CARD).write_bytes(contents)
    card = read_card(folder)
    assert all(isinstance(model["name"], str) for model in card["models"])
    run_region(folder, None, None)
    load_run(folder)  # there is no model, so this is refused at the latest


def _checkpoint(contents, folder):
    from tpauc.training.checkpoint import load_checkpoint

    path = folder / "last.ckpt"
    path.write_bytes(sealed(contents[1:]) if contents[:1] == b"s" else contents)
    load_checkpoint(path)


def sealed(archive):
    """Return bytes with the checksum of a checkpoint, so that they get as far as `torch.load`."""
    from tpauc.training import checkpoint

    digest = hashlib.sha256(archive)
    digest.update(checkpoint._MARK)
    return archive + checkpoint._MARK + digest.hexdigest().encode()


def _histogram(suffix):
    def read(contents, folder):
        from tpauc.metrics.histogram import Histogram

        path = folder / f"counts{suffix}"
        path.write_bytes(contents)
        found = Histogram.load(path)
        assert found.positives.min() >= 0
        assert found.negatives.min() >= 0

    return read


def _trees(contents, _folder):
    from tpauc.classifiers.boosting.tree_text import read_booster

    found = read_booster(contents.decode("utf-8"), 2)
    assert found.predict([[0.0, 1.0], [float("nan"), -1.0]], raw_score=True, num_threads=1).shape == (2,)


def _config(contents, _folder):
    from tpauc.training.config import TrainConfig

    TrainConfig.from_json(contents.decode("utf-8"))


READERS = {
    "csv": _table(".csv"),
    "tsv": _table(".tsv"),
    "npz": _table(".npz"),
    "parquet": _table(".parquet"),
    "card": _card,
    "checkpoint": _checkpoint,
    "trees": _trees,
    "histogram": _histogram(".json"),
    "histogram-parquet": _histogram(".parquet"),
    "config": _config,
}


def check(name, contents):
    """Read bytes; raise what is neither a result nor a refusal."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            READERS[name](contents, Path(folder))
        except (*REFUSALS, *_own_errors(name)):
            return


def _own_errors(name):
    if name == "checkpoint":
        from tpauc.training.exceptions import CheckpointError

        return (CheckpointError,)
    return (TypeError,) if name == "config" else ()


# --------------------------------------------------------------------------------------------------------------- seeds


def seeds(name):
    """Return valid contents for a reader, from which it is fuzzed."""
    import numpy as np

    if name in ("csv", "tsv"):
        mark = "," if name == "csv" else "\t"
        rows = [("y", "s"), ("1", "0.5"), ("0", "-1e3"), ("1", "NA"), ('"a b"', "nan")]
        return [("\n".join(mark.join(row) for row in rows[: 2 + more]) + "\n").encode() for more in range(4)]
    if name == "npz":
        buffer = io.BytesIO()
        np.savez(buffer, y=np.array([0, 1, 1]), s=np.array([0.5, 0.25, 1.0]))
        return [buffer.getvalue()]
    if name == "parquet":
        return [_parquet_seed()]
    if name == "histogram-parquet":
        return [_histogram_seed()]
    if name == "trees":
        return [_trees_seed()]
    if name == "checkpoint":
        return _checkpoint_seeds()
    return [json.dumps(document).encode() for document in _documents(name)]


def _parquet_seed():
    import pyarrow
    from pyarrow import parquet

    buffer = io.BytesIO()
    table = pyarrow.table({"y": [0, 1, 1], "s": [0.5, 0.25, 1.0]})
    parquet.write_table(table, buffer, write_page_checksum=True)
    return buffer.getvalue()


def _histogram_seed():
    from tpauc.metrics.histogram import Histogram

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "counts.parquet")
        Histogram.from_counts([0, 1, 2], [3, 1, 0]).save(path)
        return path.read_bytes()


def _trees_seed():
    header = "tree\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=1\n\nTree=0\nnum_leaves=3\nnum_cat=0\n"
    nodes = "split_feature=0 1\nthreshold=0.5 -1e-3\ndecision_type=2 8\nleft_child=1 -1\nright_child=-2 -3\n"
    tree = f"{header}{nodes}leaf_value=0.1 -0.2 1\n\n\nTree=1\nnum_leaves=1\nnum_cat=0\nleaf_value=0.5\n\n\n"
    return f"{tree}end of trees\n".encode()


def _checkpoint_seeds():
    import torch

    from tpauc.training.checkpoint import save_checkpoint

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "last.ckpt")
        save_checkpoint(path, {"weight": torch.ones(2), "epoch": 3})
        whole = path.read_bytes()
    return [whole, b"s" + whole[: whole.rindex(b"tpauc-checkpoint")]]


def _documents(name):
    if name == "card":
        from tpauc.cli import runs

        settings = {"method": "region", "alpha": 0.3, "beta": 0.3}
        parts = {"settings": settings, "target": {"column": "y"}, "columns": {}, "models": [{"name": "region"}]}
        return [{"kind": runs._KIND, **parts, "sha256": {}}]
    if name == "histogram":
        from tpauc.metrics import histogram

        return [{"format": histogram._FORMAT, "bins": 4, "bin": [0, 2], "positives": [1, 0], "negatives": [0, 2]}]
    return [{"alpha": 0.3, "beta": 0.3, "epochs": 2, "ratio": [1, 10], "out": None}]


# ----------------------------------------------------------------------------------------------------------------- main


def main(arguments):
    """Fuzz one reader with atheris; the other arguments are those of libFuzzer."""
    import atheris

    name, *others = arguments
    with atheris.instrument_imports(include=["tpauc"]):
        if name == "checkpoint":
            import tpauc.training.checkpoint
        import tpauc.classifiers.boosting.tree_text
        import tpauc.cli.labels
        import tpauc.cli.runs
        import tpauc.metrics.histogram
        import tpauc.training.config  # noqa: F401

    for contents in seeds(name):  # what is imported on first use must not count as the time that an input takes
        check(name, contents)
    atheris.Setup([sys.argv[0], *others], lambda contents: check(name, contents))
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
