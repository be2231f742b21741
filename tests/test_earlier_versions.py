"""Files that earlier versions wrote are read, or refused with one clear line; see `tests/data/make.py`.

A format that changes without a new mark would be read as something else, or refused as damaged. So what this code
writes has the same fields as the files of the last version that is kept, as long as the mark is the same.
"""

import importlib.util
import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from tpauc.metrics.histogram import Histogram
from tpauc.paper.experiments.results import ResultsFile, ScoreFolder
from tpauc.training import CheckpointError, load_checkpoint

pytest.importorskip("lightgbm")

DATA = Path(__file__).parent / "data"
KEPT = sorted(path.name for path in DATA.iterdir() if (path / "expected.json").is_file())

spec = importlib.util.spec_from_file_location("make", DATA / "make.py")
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)


@pytest.fixture(scope="module")
def of_now(tmp_path_factory):
    folder = tmp_path_factory.mktemp("now") / "files"
    make.write_files(folder)
    return folder


@pytest.fixture(params=["now", *KEPT])
def version(request):
    return request.param


@pytest.fixture
def folder(version, request, tmp_path):
    """Return a copy of the files of this code, and of each version that is kept."""
    source = request.getfixturevalue("of_now") if version == "now" else DATA / version
    return shutil.copytree(source, tmp_path / "files")


def expected_in(folder):
    return json.loads((folder / "expected.json").read_text())


@pytest.mark.parametrize("model", make.MODELS)
def test_a_run_gives_the_scores_that_it_gave(folder, version, model):
    try:
        scores = make.scores_of(folder, model, folder)
    except ValueError as error:
        if version != "now" and re.fullmatch(r"tpauc: error: .* of (an earlier|this) version of tpauc.*\n", str(error)):
            return
        raise
    # Scores of other versions of NumPy and torch are rounded elsewhere.
    assert scores[:10] == pytest.approx(expected_in(folder)["scores"][model], rel=1e-6)


def test_a_training_goes_on(folder, version, monkeypatch):
    monkeypatch.chdir(folder)
    try:
        result = make.trained("training")
    except CheckpointError as error:
        if version != "now" and "version of tpauc" in str(error):
            return
        raise
    losses = [record["loss"] for record in result.history]
    assert losses == expected_in(folder)["losses"], "the epochs of the folder, and no new ones"


def test_other_files_are_read(folder):
    assert load_checkpoint(folder / "best.ckpt")["model"]["weight"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert len(ResultsFile(folder / "results.csv").read()) == 1
    assert ScoreFolder(folder / "scores").read(1).test.tolist() == [0.0, 1.0, 2.0, 3.0]
    for suffix in ("json", "parquet"):
        assert Histogram.load(folder / f"counts.{suffix}") == Histogram.from_counts([0, 1, 2], [3, 1, 0])


# --------------------------------------------------------------------------------------------------------- formats


def shape_of(value):
    """Return the names and types in a document; of equal items of a list one is enough."""
    if isinstance(value, dict):
        return {str(key): shape_of(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [shape for n, item in enumerate(value) if (shape := shape_of(item)) not in map(shape_of, value[:n])]
    return type(value).__name__


def types_in(node, found):
    """Collect the attributes of each of our types in the schema of a skops file; those of others are not ours."""
    if isinstance(node, dict):
        if str(node.get("__module__", "")).startswith("tpauc."):
            content = node["content"].get("content", {})
            found[f"{node['__module__']}.{node['__class__']}"] = sorted(content)
        for item in node.values():
            types_in(item, found)
    elif isinstance(node, list):
        for item in node:
            types_in(item, found)
    return found


def formats(folder):
    """Return for each kind of file its mark, and the names and types in it."""
    found = {}
    for model in make.MODELS:
        run = folder / f"run-{model}"
        card = json.loads((run / "card.json").read_text())
        card["settings"].pop("versions", None)
        with zipfile.ZipFile(run / "model.skops") as archive:
            types = types_in(json.loads(archive.read("schema.json")), {})
        headers = {path.name: path.read_text().split("\n")[0] for path in sorted(run.glob("*.csv"))}
        found[run.name] = card["kind"], {"card": shape_of(card), "types": types, "headers": headers}
    state = load_checkpoint(folder / "training" / "last.ckpt")
    found["last.ckpt"] = state.get("format"), shape_of(state)
    found["results.csv"] = None, (folder / "results.csv").read_text().split("\n")[0]
    counts = json.loads((folder / "counts.json").read_text())
    found["counts.json"] = counts["format"], shape_of(counts)
    return found


def changed(now, kept):
    """Return the files with other fields than before, under the same mark."""
    return [name for name, (mark, fields) in now.items() if kept[name][0] == mark and kept[name][1] != fields]


def test_no_format_has_changed_without_a_new_mark(of_now):
    assert KEPT, "files of a version are kept"
    names = changed(formats(of_now), formats(DATA / KEPT[-1]))
    assert not names, (
        f"{', '.join(names)} has other fields than in {KEPT[-1]}: give the format a new mark, and say in the error "
        "what to do with earlier files; or, if they are still read, `python tests/data/make.py VERSION`"
    )


def test_a_changed_format_would_be_found(of_now, tmp_path):
    other = shutil.copytree(of_now, tmp_path / "other")
    card = other / "run-linear" / "card.json"
    for change, names in (
        (lambda found: found["threshold"].pop("alpha"), ["run-linear"]),
        (lambda found: found["settings"].update(new=1), ["run-linear"]),
        (lambda found: found.update(kind="tpauc run 99", new=1), []),
    ):
        document = json.loads((of_now / "run-linear" / "card.json").read_text())
        change(document)
        card.write_text(json.dumps(document))
        assert changed(formats(other), formats(of_now)) == names
    shutil.copy(of_now / "run-linear" / "card.json", card)
    shutil.copy(of_now / "run-mlp" / "model.skops", other / "run-linear" / "model.skops")
    (other / "results.csv").write_text("dataset,subset\n")
    assert changed(formats(other), formats(of_now)) == ["run-linear", "results.csv"]
