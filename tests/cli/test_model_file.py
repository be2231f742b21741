"""The model of a run: what a forged file may not do, whatever its checksum says."""

import hashlib
import io
import json
import re
import shutil
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from typer.testing import CliRunner

from tpauc import TPAUCClassifier
from tpauc.cli.main import app
from tpauc.cli.model_file import model_bytes, read_model
from tpauc.cli.runs import CARD, MODEL


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    y = generator.random(120) < 0.5
    return generator.normal(size=(120, 2)) + y[:, None], y


@pytest.fixture(scope="module")
def pipeline(rows):
    return Pipeline([("model", TPAUCClassifier(alpha=0.5, beta=0.5))]).fit(*rows)


def files_of(contents):
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, contents in files.items():
            archive.writestr(name, contents)
    return buffer.getvalue()


def test_a_model_gives_the_same_scores_again(pipeline, rows, tmp_path):
    again = read_model(model_bytes(pipeline), tmp_path)
    np.testing.assert_array_equal(again.decision_function(rows[0]), pipeline.decision_function(rows[0]))


FOREIGN = {
    "reads files that cells name": (CountVectorizer(input="filename"), "CountVectorizer"),
    "reads memory by index": (RandomTreesEmbedding(2), "RandomTreesEmbedding"),
    "calls a function": (FunctionTransformer(np.exp), "FunctionTransformer"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_type_that_skops_trusts_but_no_run_has_is_refused(pipeline, tmp_path, kind):
    step, name = FOREIGN[kind]
    contents = skops.io.dumps(Pipeline([("foreign", step), *pipeline.steps]))
    assert not any(name in found for found in skops.io.get_untrusted_types(data=contents))
    with pytest.raises(ValueError, match=rf"it holds .*{name}.*, which a run of this package does not"):
        read_model(contents, tmp_path)


@pytest.mark.parametrize(
    "node",
    [
        {"__class__": "str", "__module__": "builtins", "__loader__": "MethodNode"},
        {"__class__": "str", "__module__": "builtins", "__loader__": "FunctionNode"},
        {"__class__": "system", "__module__": "os", "__loader__": "TypeNode"},
        {"__class__": "dtype", "__module__": "numpy", "__loader__": "OperatorFuncNode"},
        {"__class__": ["str"], "__module__": "builtins", "__loader__": "JsonNode"},
        {"__loader__": "JsonNode"},
    ],
)
def test_a_node_of_another_kind_is_refused_wherever_it_is(pipeline, tmp_path, node):
    files = files_of(model_bytes(pipeline))
    schema = json.loads(files["schema.json"])
    schema["content"]["content"]["memory"] = {"deep": [{"inside": node | {"content": "0", "__id__": 1}}]}
    with pytest.raises(ValueError, match="which a run of this package does not"):
        read_model(packed(files | {"schema.json": json.dumps(schema).encode()}), tmp_path)


def test_a_packed_or_deep_file_is_refused(pipeline, tmp_path):
    files = files_of(model_bytes(pipeline))
    with pytest.raises(ValueError, match="is compressed, which runs are not"):
        read_model(packed(files, zipfile.ZIP_DEFLATED), tmp_path)
    with pytest.raises(ValueError, match="is not loaded"):
        read_model(packed(files | {"schema.json": b"[" * 100_000}), tmp_path)
    with pytest.raises(ValueError, match="is not loaded"):
        read_model(packed({}), tmp_path)


# ------------------------------------------------------------------------------------------------ trees of a forged run


@pytest.fixture(scope="module", params=["lightgbm", "auto-fast"])
def a_run(request, rows, tmp_path_factory):
    pytest.importorskip("lightgbm")
    folder = tmp_path_factory.mktemp("runs")
    lines = [f"{a},{b},{int(label)}" for (a, b), label in zip(*rows, strict=True)]
    (folder / "table.csv").write_text("\n".join(["a,b,y", *lines, ""]))
    options = ["--target", "y", "--alpha", "0.5", "--beta", "0.5", "--resamples", "60", "--model", request.param]
    assert CliRunner().invoke(app, ["fit", f"{folder}/table.csv", *options, "--out", f"{folder}/run"]).exit_code == 0
    return folder / "run"


@pytest.mark.parametrize(
    ("pattern", "new"),
    [
        (r"left_child=-?\d+", "left_child=0"),
        (r"left_child=-?\d+", "left_child=2000000000"),
        (r"split_feature=\d+", "split_feature=1000000000"),
        (r"num_tree_per_iteration=1", "num_tree_per_iteration=0"),
        (r"max_feature_idx=\d+", "max_feature_idx=0"),
    ],
)
def test_a_run_with_forged_trees_is_refused_and_neither_loops_nor_crashes(a_run, tmp_path, pattern, new):
    forged = tmp_path / "run"
    shutil.copytree(a_run, forged)
    files = files_of((forged / MODEL).read_bytes())
    text, n_changes = re.subn(pattern, new, files["schema.json"].decode())
    assert n_changes
    (forged / MODEL).write_bytes(packed(files | {"schema.json": text.encode()}))
    card = json.loads((forged / CARD).read_text())
    card["sha256"][MODEL] = hashlib.sha256((forged / MODEL).read_bytes()).hexdigest()
    (forged / CARD).write_text(json.dumps(card))
    arguments = ["score", str(forged), str(a_run.with_name("table.csv")), "--out", str(tmp_path / "scores.csv")]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 1
    assert re.search(r"model\.skops is not loaded: (its trees are|a tree is damaged)", result.stderr), result.stderr
