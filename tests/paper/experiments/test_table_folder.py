"""Tables are filled: resumed after any stop, with rows for finished cells only, from the command line too."""

import csv
import itertools
import json
import os
import random
import re
import shutil
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from image_files import write_cifar10
from paper_runs import fill, fill_quietly, folder, numbers_in, request, result, small_network
from tpauc.cli.main import app
from tpauc.metrics.area import tpauc_score
from tpauc.metrics.intervals import tpauc_interval
from tpauc.paper.data.datasets import DATASETS, load_splits
from tpauc.paper.experiments import image_data, table_folder
from tpauc.paper.experiments.backbones import BACKBONES
from tpauc.paper.experiments.cell_training import config_of
from tpauc.paper.experiments.results import COLUMNS, ScoreFolder
from tpauc.paper.experiments.table_folder import TableFolder, known_seconds
from tpauc.region import Region
from tpauc.training.checkpoint import RunFolder
from tpauc.training.setup import make_sampler
from training_runs import run, start, wait_for

KILLS = 6


@pytest.fixture(scope="module")
def filled(data_dir, tmp_path_factory):
    """Return a table with two methods, filled."""
    out = tmp_path_factory.mktemp("filled")
    return out, fill(out, data_dir, methods=("SqAUC", "TPAUC-Poly"), epochs=3)


# --------------------------------------------------------------------------------------------------------- a table


def test_a_row_for_each_cell_and_region(filled, data_dir):
    out, outcome = filled
    assert not outcome.elsewhere
    assert not outcome.failed
    assert [(row.method, row.alpha) for row in outcome.results] == [
        (method, alpha) for method in ("SqAUC", "TPAUC-Poly") for alpha in (0.3, 0.4, 0.5)
    ]
    with open(out / "results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(COLUMNS)
    assert len(rows) == 6
    assert rows[3]["parameters"] == "exponent=0.1 warmup_epochs=0"
    assert rows[3]["chosen_for"] == "(0.3, 0.3)"
    assert all(float(row["seconds"]) > 0.0 and row["machine"] and "torch" in row["versions"] for row in rows)


def test_a_result_is_that_of_the_epoch_with_the_best_validation_tpauc(filled, data_dir):
    out, outcome = filled
    splits = load_splits("cifar10-lt", subset=1, data_dir=data_dir)
    cell = request(methods=("TPAUC-Poly",), epochs=3).cells()[0]
    scores = ScoreFolder(cell.folder(out) / "scores")
    assert scores.epochs() == 3
    for row in outcome.results[3:]:
        region = {"alpha": row.alpha, "beta": row.beta}
        values = [tpauc_score(splits.validation[1], scores.read(epoch).validation, **region) for epoch in (1, 2, 3)]
        best = values.index(max(values)) + 1
        assert row.best_epoch == best
        assert row.validation_tpauc == round(max(values), 6)
        interval = tpauc_interval(splits.test[1], scores.read(best).test, random_state=0, **region)
        assert (row.tpauc, row.low, row.high) == tuple(
            round(value, 6) for value in (interval.estimate, interval.low, interval.high)
        )
        assert row.last_tpauc == round(tpauc_score(splits.test[1], scores.read(3).test, **region), 6)
        assert (row.test_positives, row.test_negatives) == (int(splits.test[1].sum()), int((~splits.test[1]).sum()))


def test_scores_are_those_of_the_model_after_each_epoch(filled, data_dir):
    out, _ = filled
    cell = request(methods=("SqAUC",), epochs=3).cells()[0]
    splits = load_splits("cifar10-lt", subset=1, data_dir=data_dir)
    model = small_network()
    model.load_state_dict(RunFolder(cell.folder(out)).load()["model"])
    with torch.no_grad():
        expected = model.eval()(splits.test[0])[:, 0]
    scores = ScoreFolder(cell.folder(out) / "scores").read(3)
    # batches of 256 sum in another order than the whole set at once
    np.testing.assert_allclose(scores.test, expected.numpy(), rtol=1e-5, atol=1e-5)
    history = RunFolder(cell.folder(out)).load()["history"]
    assert history[2]["tpauc"] == tpauc_score(splits.validation[1], scores.validation, alpha=0.3, beta=0.3)


def test_what_is_done_is_not_done_again(filled, data_dir):
    out, outcome = filled
    before = (out / "results.csv").read_bytes()
    lines = []
    again = folder(out, data_dir).fill(request(methods=("SqAUC", "TPAUC-Poly"), epochs=3), say=lines.append)
    assert again == outcome
    assert [line.rpartition(": ")[2] for line in lines[1:]] == ["done already"] * 2
    assert (out / "results.csv").read_bytes() == before


def test_a_longer_training_goes_on_from_a_shorter_one(tmp_path, data_dir):
    fill(tmp_path / "grown", data_dir, epochs=2)
    lines = []
    grown = folder(tmp_path / "grown", data_dir).fill(request(epochs=4), say=lines.append, progress=False)
    assert lines[1:] == ["cell 1 of 1, SqAUC, seed 0: 4 epochs, 2 of them trained before"]
    assert numbers_in(grown.results) == numbers_in(fill(tmp_path / "straight", data_dir, epochs=4).results)
    # The shorter one can be read from the longer one, too.
    (tmp_path / "grown" / "results.csv").unlink()
    shorter = fill(tmp_path / "grown", data_dir, epochs=2).results
    assert numbers_in(shorter) == numbers_in(fill(tmp_path / "short", data_dir, epochs=2).results)


def test_another_region_needs_no_further_training(filled, data_dir, tmp_path):
    out, _ = filled
    planned = folder(out, data_dir).plan(request(methods=("SqAUC",), epochs=3, regions=(Region(1.0, 0.5),)))
    assert [item.epochs_left for item in planned] == [0]


def test_seeds_and_splits_change_the_scores(filled, data_dir, tmp_path):
    out, _ = filled
    folders = [request(methods=("SqAUC",), epochs=3).cells()[0].folder(out)]
    for change in ({"seeds": (1,)}, {"split": 1}):
        fill(tmp_path, data_dir, epochs=1, **change)
        folders.append(request(epochs=1, **change).cells()[0].folder(tmp_path))
    first, of_seed, of_split = (ScoreFolder(path / "scores").read(1).test for path in folders)
    assert not np.array_equal(first, of_seed)
    assert not np.array_equal(first, of_split)


def test_a_cell_that_another_process_trains_is_left_to_it(tmp_path, data_dir):
    cell = request().cells()[0]
    process = start(hold, cell.folder(tmp_path), tmp_path / "held")
    wait_for(tmp_path / "held", process)
    try:
        outcome = fill(tmp_path, data_dir, methods=("SqAUC", "CE-RW"))
    finally:
        process.kill()
        process.join()
    assert outcome.elsewhere == ["SqAUC, seed 0"]
    assert {row.method for row in outcome.results} == {"CE-RW"}
    # The other process may be writing there: nothing of its folder is touched.
    assert not (cell.folder(tmp_path) / "scores").exists()


def hold(path, sign):
    claimed = RunFolder(path)
    claimed.claim()
    sign.touch()
    time.sleep(60)


class Exploding(nn.Module):
    """Gives infinite logits."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, images):
        return images.mean(dim=(1, 2, 3)) * self.weight * float("inf")


def test_a_training_that_diverges_gets_no_row_and_stops_no_other(tmp_path, data_dir):
    networks = iter([Exploding, small_network])
    table = TableFolder(tmp_path, data_dir, backbone=lambda: next(networks)())
    outcome = table.fill(request(methods=("SqAUC", "CE-RW")), say=lambda line: None, progress=False)
    assert list(outcome.failed) == ["SqAUC, seed 0"]
    assert "training stopped in epoch 1" in outcome.failed["SqAUC, seed 0"]
    assert {row.method for row in outcome.results} == {"CE-RW"}


# ------------------------------------------------------------------------------------------------ what speaks against


# Of the small set the test data have 7 positives, of which (0.15, 0.15) selects 1; the validation data have 6.
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"regions": (Region(0.5, 0.5), Region(0.15, 0.15))},
            r"\(0.15, 0.15\) cannot be measured on the validation data: ",
        ),
        ({"regions": (Region(0.5, 0.005),)}, "beta=0.005 selects none of the 3. negative examples"),
        ({"methods": ("anchored",), "parameters": {"alpha": 0.1}}, "alpha=0.1 selects none of the 6 positive examples"),
    ],
)
@pytest.mark.parametrize("act", ["fill", "plan"])
def test_a_region_that_cannot_be_measured_is_found_before_any_training(tmp_path, data_dir, act, settings, message):
    with pytest.raises(ValueError, match=message):
        getattr(folder(tmp_path, data_dir), act)(request(**settings), say=lambda line: None)
    assert not list(tmp_path.iterdir())


def test_a_region_is_checked_on_the_test_data_too(tmp_path, monkeypatch, data_dir):
    splits = load_splits("cifar10-lt", subset=1, data_dir=data_dir)
    few = splits.test[0][:8], torch.arange(8) < 1
    monkeypatch.setattr(image_data, "load_splits", lambda *_, **__: replace(splits, test=few))
    with pytest.raises(
        ValueError, match=r"\(0.3, 0.3\) cannot be measured on the test data: alpha=0.3 selects none of the 1"
    ):
        fill(tmp_path, data_dir)


def test_results_of_other_images_are_not_taken_for_these(tmp_path, data_dir):
    fill(tmp_path / "out", data_dir, epochs=1)
    before = (tmp_path / "out" / "results.csv").read_bytes()
    write_cifar10(tmp_path / "more", 240)
    write_cifar10(tmp_path / "as-many", 120, seed=5)
    for settings in ({"epochs": 1}, {"epochs": 2}, {"methods": ("CE-RW",)}):
        for other, act in itertools.product(("more", "as-many"), ("fill", "plan")):
            with pytest.raises(ValueError, match="give the --data-dir of these results, or choose another --out"):
                getattr(folder(tmp_path / "out", tmp_path / other), act)(request(**settings), say=lambda line: None)
    assert (tmp_path / "out" / "results.csv").read_bytes() == before
    assert len(fill(tmp_path / "out", data_dir, epochs=1).results) == 3


def test_a_training_on_other_images_is_not_taken_up(tmp_path, data_dir):
    fill(tmp_path / "out", data_dir, epochs=1)
    (tmp_path / "out" / "results.csv").unlink()
    write_cifar10(tmp_path / "more", 240)
    write_cifar10(tmp_path / "as-many", 120, seed=5)
    for other in ("more", "as-many"):
        with pytest.raises(ValueError, match="are not of the validation images that are given; give the --data-dir"):
            fill(tmp_path / "out", tmp_path / other, epochs=2)


def test_results_without_their_training_are_judged_by_size(tmp_path, data_dir):
    outcome = fill(tmp_path / "out", data_dir, epochs=1)
    shutil.rmtree(tmp_path / "out" / "runs")
    assert fill(tmp_path / "out", data_dir, epochs=1) == outcome
    write_cifar10(tmp_path / "more", 240)
    with pytest.raises(ValueError, match="give the --data-dir"):
        fill(tmp_path / "out", tmp_path / "more", epochs=1)


def test_a_page_that_a_killed_process_did_not_write_is_written(tmp_path, data_dir):
    fill(tmp_path, data_dir, epochs=1)
    page = (tmp_path / "results.md").read_text()
    (tmp_path / "results.md").unlink()
    fill(tmp_path, data_dir, epochs=1)
    assert (tmp_path / "results.md").read_text() == page


def cut_short(file):
    file.write_bytes(file.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda file: file.unlink(),
            "epoch-0001.npz is missing, of an epoch that is trained already; remove the folder ",
        ),
        (
            lambda file: cut_short(file.parents[1] / "last.ckpt"),
            r"last.ckpt is damaged: its contents do not match its checksum.*; remove the folder ",
        ),
        (lambda file: file.write_bytes(b"no scores"), r"epoch-0001.npz is damaged \(.*\); remove the folder "),
        (
            lambda file: file.write_bytes(file.read_bytes()[:-9]),
            r"epoch-0001.npz is damaged \(.*\); remove the folder ",
        ),
    ],
)
def test_a_damaged_training_does_not_keep_others_from_theirs(tmp_path, data_dir, spoil, message):
    fill(tmp_path, data_dir, epochs=1)
    (tmp_path / "results.csv").unlink()
    (cell,) = request(epochs=1).cells()
    spoil(cell.folder(tmp_path) / "scores" / "epoch-0001.npz")
    outcome = fill(tmp_path, data_dir, methods=("SqAUC", "CE-RW"), epochs=1)
    assert list(outcome.failed) == [cell.title]
    assert re.search(message + re.escape(str(cell.folder(tmp_path))), outcome.failed[cell.title])
    assert {row.method for row in outcome.results} == {"CE-RW"}
    shutil.rmtree(cell.folder(tmp_path))
    assert len(fill(tmp_path, data_dir, epochs=1).results) == 3


def test_a_whole_table_is_shown_without_its_images(filled, tmp_path):
    out, outcome = filled
    known = {"methods": ("SqAUC", "TPAUC-Poly"), "epochs": 3}
    assert fill(out, tmp_path / "nowhere", **known) == outcome
    assert [item.epochs_left for item in folder(out, tmp_path / "nowhere").plan(request(**known))] == [0, 0]
    with pytest.raises(FileNotFoundError, match="tpauc data fetch cifar10"):
        fill(out, tmp_path / "nowhere", methods=("SqAUC", "CE-RW"), epochs=3)


def test_other_images_than_the_official_ones_are_told(tmp_path, data_dir, monkeypatch):
    lines = []
    folder(tmp_path, data_dir).plan(request(), say=lines.append)
    told = "has 120 images per class instead of 6,000: results for CIFAR-10-LT cannot be compared with the paper's"
    assert lines == [f"{data_dir} {told}"]
    monkeypatch.setitem(DATASETS, "cifar10-lt", replace(DATASETS["cifar10-lt"], images_per_class=120))
    folder(tmp_path, data_dir).plan(request(), say=lines.append)
    assert len(lines) == 1


def test_images_are_read_once_for_several_requests(tmp_path, data_dir, monkeypatch):
    read = []
    monkeypatch.setattr(image_data, "load_splits", lambda *a, **named: read.append(named) or load_splits(*a, **named))
    table, lines = folder(tmp_path, data_dir), []
    for split in (0, 0, 1, 1):
        table.plan(request(split=split), say=lines.append)
    assert [named["seed"] for named in read] == [0, 1]
    assert len(lines) == 2
    with pytest.raises(ValueError, match="cannot be measured"):
        table.plan(request(split=1, regions=(Region(0.01, 0.5),)), say=lines.append)


# ------------------------------------------------------------------------------------------------- stopped and killed


def test_killed_at_random_moments_ends_as_if_nothing_had_happened(tmp_path, data_dir):
    settings = {"methods": ("anchored", "Minmax-Poly", "TruncTPAUC"), "epochs": 4}
    run(fill_quietly, tmp_path / "log", tmp_path / "first", data_dir)  # the server imports what it needs
    begun = time.monotonic()
    assert run(fill_quietly, tmp_path / "log", tmp_path / "straight", data_dir, **settings) == 0
    whole = time.monotonic() - begun
    moments, killed = random.Random(0), folder(tmp_path / "killed", data_dir)
    for _ in range(KILLS):
        process = start(fill_quietly, tmp_path / "log", tmp_path / "killed", data_dir, **settings)
        process.join(moments.uniform(whole / 8, whole / 2))
        process.kill()
        process.join()
        rows = killed.results.read()
        for cell in request(**settings).cells():
            count = sum(row.method == cell.method for row in rows)
            assert count in (0, 3)
            assert not count or ScoreFolder(cell.folder(tmp_path / "killed") / "scores").epochs() == 4
    assert run(fill_quietly, tmp_path / "log", tmp_path / "killed", data_dir, **settings) == 0
    straight = folder(tmp_path / "straight", data_dir).results.read()
    assert len(straight) == 9
    assert numbers_in(killed.results.read()) == numbers_in(straight)


def test_sigterm_saves_and_the_rest_is_trained_later(tmp_path, data_dir):
    settings = {"epochs": 30}
    cell = request(**settings).cells()[0]
    process = start(fill_quietly, tmp_path / "log", tmp_path / "out", data_dir, **settings)
    wait_for(ScoreFolder(cell.folder(tmp_path / "out") / "scores").file(2), process)
    os.kill(process.pid, signal.SIGTERM)
    process.join(60)
    assert process.exitcode == 143
    assert folder(tmp_path / "out", data_dir).results.read() == []
    assert run(fill_quietly, tmp_path / "log", tmp_path / "out", data_dir, **settings) == 0
    assert len(folder(tmp_path / "out", data_dir).results.read()) == 3


def test_the_plan_counts_what_is_left(filled, data_dir):
    out, _ = filled
    left = [item.epochs_left for item in folder(out, data_dir).plan(request(methods=("SqAUC", "CE-RW"), epochs=5))]
    assert left == [2, 5]


# ---------------------------------------------------------------------------------------------------- command line


@pytest.fixture
def small_backbones(monkeypatch):
    monkeypatch.setitem(BACKBONES, "cifar10-lt", small_network)


def table(*arguments):
    return CliRunner().invoke(app, ["reproduce", "table", *map(str, arguments)], catch_exceptions=False)


def test_the_command_fills_a_table(tmp_path, data_dir, small_backbones):
    where = ("--data-dir", data_dir, "--out", tmp_path)
    done = table("cifar10-lt", "--subset", 1, "--methods", "CE-RW,SqAUC", "--seeds", 0, "--epochs", 1, *where)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("CIFAR-10-LT, subset 1: birds\nmethod ")
    assert "cell 2 of 2, SqAUC, seed 0: 1 epochs" in done.stderr
    assert (tmp_path / "results.md").read_text().count("| paper | 1 |") == 2
    again = table("cifar10-lt", "--methods", "CE-RW", "--methods", "SqAUC", "--epochs", 1, "--json", *where)
    assert [row["method"] for row in json.loads(again.stdout)["results"]] == ["CE-RW"] * 3 + ["SqAUC"] * 3


def test_the_command_shows_a_plan(tmp_path, data_dir, small_backbones):
    options = ("--methods", "TPAUC-Poly", "--epochs", 30, "--per-region", "--data-dir", data_dir, "--out", tmp_path)
    planned = table("cifar10-lt", *options, "--regions", "0.3,0.4:0.5", "--set", "warmup_epochs=2", "--plan")
    assert planned.exit_code == 0, planned.stderr
    lines = planned.stdout.splitlines()
    assert lines[0].startswith("TPAUC-Poly (exponent=0.1 warmup_epochs=2), seed 0: (0.3, 0.3): 30 of 30 epochs left")
    assert lines[1].startswith("TPAUC-Poly (exponent=0.03 warmup_epochs=2), seed 0: (0.4, 0.5): 30 of 30 epochs left")
    assert lines[2].startswith("cells: 2, about ")
    as_json = json.loads(table("cifar10-lt", *options, "--plan", "--json").stdout)
    assert [cell["epochs_left"] for cell in as_json["cells"]] == [30] * 3


@pytest.mark.parametrize("options", [["--plan"], ["--plan", "--json"], []])
def test_an_impossible_region_is_one_line(tmp_path, data_dir, small_backbones, options):
    where = ("--data-dir", data_dir, "--out", tmp_path)
    done = table("cifar10-lt", "--methods", "SqAUC", "--regions", "0.5,0.0001", *options, *where)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "tpauc: error: (0.0001, 0.0001) cannot be measured on the validation data: " in done.stderr


def test_threads_are_those_asked_for(tmp_path, data_dir, small_backbones, monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    options = ("cifar10-lt", "--methods", "SqAUC", "--plan", "--data-dir", data_dir, "--out", tmp_path)
    assert table(*options).exit_code == table(*options, "--threads", 3).exit_code == 0
    assert asked == [3]


def test_a_diverged_training_is_an_exit_code(tmp_path, data_dir, monkeypatch):
    monkeypatch.setitem(BACKBONES, "cifar10-lt", Exploding)
    done = table("cifar10-lt", "--methods", "SqAUC", "--epochs", 1, "--data-dir", data_dir, "--out", tmp_path)
    assert done.exit_code == 1
    assert done.stdout == "no results yet\n"
    assert "training stopped in epoch 1" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["mnist"], 2, "dataset must be one of"),
        (["cifar10-lt", "--methods", "CE"], 2, "each of methods must be one of"),
        (["cifar10-lt", "--seeds", "a"], 2, "--seeds cannot hold 'a'"),
        (["cifar10-lt", "--regions", "0.3:2"], 2, "--regions cannot hold '0.3:2'"),
        (["cifar10-lt", "--set", "exponent"], 2, "--set takes NAME=VALUE with a number, got 'exponent'"),
        (["cifar10-lt", "--set", "tau=1"], 2, "none of CE-RW, .* has a parameter 'tau'"),
        (["cifar10-lt", "--data-dir", "nowhere"], 1, "nowhere"),
    ],
)
def test_mistakes_are_one_line(tmp_path, arguments, code, message):
    done = table(*arguments, "--out", tmp_path)
    assert done.exit_code == code
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith("tpauc: error: ")
    assert re.search(message, done.stderr.splitlines()[-1])


# ------------------------------------------------------------------------------------------------------------- planning


def test_the_plan_knows_what_finished_cells_took():
    cell = request(epochs=30).cells()[0]
    assert known_seconds(cell, []) is None
    others = [result(method="CE-RW", seconds=600.0), result(subset=2, seconds=1.0)]
    assert known_seconds(cell, others) == 20.0
    assert known_seconds(cell, [*others, result(seconds=900.0)]) == 30.0
    assert known_seconds(cell, [result(threads=torch.get_num_threads() + 1)]) is None
    assert known_seconds(cell, [result(machine="another machine, 2 cores")]) is None
    assert known_seconds(cell, [result(recipe="strong")]) is None  # which scores each image twice


def test_the_plan_times_a_step_where_nothing_is_finished(tmp_path, data_dir):
    planned = folder(tmp_path, data_dir).plan(request(methods=("SqAUC", "Minmax-Poly"), epochs=5))
    assert [item.epochs_left for item in planned] == [5, 5]
    assert all(item.seconds > 0.0 for item in planned)
    assert not list(tmp_path.iterdir())


class Clocked(nn.Module):
    """Takes a second for a step of training and a hundred to score a batch, by a clock of its own."""

    def __init__(self, clock):
        super().__init__()
        self.weight, self.clock = nn.Parameter(torch.ones(1)), clock

    def forward(self, images):
        self.clock.now += 1.0 if self.training else 100.0 * len(images) / 256
        return images.float().mean(dim=(1, 2, 3)) * self.weight


class Clock:
    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.mark.parametrize(
    ("method", "recipe", "scored"),
    [
        ("SqAUC", "paper", "validation test"),
        ("SqAUC", "strong", "validation test validation test"),  # and the mirror images
        ("TruncTPAUC", "paper", "validation test train"),
    ],
)
def test_the_plan_counts_steps_and_scoring(tmp_path, data_dir, monkeypatch, method, recipe, scored):
    clock = Clock()
    monkeypatch.setattr(table_folder, "time", clock)
    table = TableFolder(tmp_path, data_dir, backbone=lambda: Clocked(clock))
    (planned,) = table.plan(request(methods=(method,), recipe=recipe, epochs=3), say=lambda line: None)
    splits = load_splits("cifar10-lt", subset=1, data_dir=data_dir)
    config = config_of(planned.cell, None, progress=False)
    steps = len(make_sampler(splits.train[1].numpy(), config))
    images = sum(len(getattr(splits, part)[1]) for part in scored.split())
    assert planned.seconds == pytest.approx(3 * (steps + 100.0 * images / 256))
