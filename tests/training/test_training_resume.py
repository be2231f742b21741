"""A run that is stopped, killed or starved of disk space goes on, and ends as if nothing had happened."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tpauc.losses.baselines import ReweightedCrossEntropy
from tpauc.losses.minimax import MinimaxTPAUCLoss
from tpauc.losses.tpauc_loss import SquareAUCLoss, TPAUCLoss
from tpauc.losses.weighting import Polynomial
from tpauc.training import TrainingInterrupted, checkpoints, fit
from tpauc.training.checkpoints import CheckpointError, load_checkpoint, save_checkpoint
from tpauc.training.run_folder import RunFolder
from training_runs import (
    assert_bit_equal,
    network,
    numbers_of,
    problem,
    run,
    settings,
    start,
    train,
    train_quietly,
    train_with_file_limit,
    wait_for,
)

KILLS = 10


class Interrupting:
    """A transform that draws random numbers, and sends a signal at its n-th call."""

    def __init__(self, at):
        self.at, self.calls = at, 0

    def __call__(self, inputs, generator):
        self.calls += 1
        if self.calls == self.at:
            signal.raise_signal(signal.SIGTERM)
        return inputs + 0.1 * torch.randn(inputs.shape, generator=generator)


# --------------------------------------------------------------------------------------------------------- bit-equal


@pytest.mark.parametrize(
    ("make_loss", "options"),
    [
        (lambda: TPAUCLoss(Polynomial(3.0)), {"schedule": "cosine"}),
        (lambda: TPAUCLoss(Polynomial(3.0)), {"warmup_epochs": 2, "optimizer": "adam"}),
        (lambda: MinimaxTPAUCLoss(Polynomial(3.0), start="batch"), {"optimizer": "minimax", "warmup_epochs": 1}),
        (ReweightedCrossEntropy, {"hard_examples": "negatives", "warmup_epochs": 1, "optimizer": "adamw"}),
        (SquareAUCLoss, {"hard_examples": "both", "precision": "64-true"}),
    ],
    ids=["cosine", "adam and warm-up", "minimax", "hard negatives", "hard examples"],
)
def test_a_run_resumed_at_any_step_is_bit_equal(tmp_path, make_loss, options):
    options = {"epochs": 3, **options}
    train(loss=make_loss(), transform=Interrupting(None), out=tmp_path / "straight", **options)
    expected = numbers_of(tmp_path / "straight")
    n_steps = expected["state.progress.total_steps"]
    for at in {1, 2, n_steps // 3, n_steps // 3 + 1, n_steps - 1, n_steps}:
        out = tmp_path / str(at)
        with pytest.raises(TrainingInterrupted):
            train(loss=make_loss(), transform=Interrupting(at), out=out, **options)
        train(loss=make_loss(), transform=Interrupting(None), out=out, **options)
        assert_bit_equal(numbers_of(out), expected)


def test_interrupted_at_every_step(tmp_path):
    train(transform=Interrupting(None), out=tmp_path / "straight", epochs=2)
    expected = numbers_of(tmp_path / "straight")
    interruptions = 0
    while True:
        try:
            train(transform=Interrupting(1), out=tmp_path / "halting", epochs=2)
        except TrainingInterrupted:
            interruptions += 1
        else:
            break
    assert interruptions == expected["state.progress.total_steps"]
    assert_bit_equal(numbers_of(tmp_path / "halting"), expected)


def test_bit_equality_can_fail(tmp_path):
    for name, seed in (("one", 0), ("other", 1)):
        train(out=tmp_path / name, epochs=1, seed=seed)
    with pytest.raises(AssertionError):
        assert_bit_equal(numbers_of(tmp_path / "one"), numbers_of(tmp_path / "other"))


class Noisy(torch.utils.data.Dataset):
    """Examples whose reading draws on torch's, NumPy's and Python's global generators."""

    labels = problem()[0][1]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, row):
        import numpy as np

        noise = torch.randn(()) + random.gauss(0, 1) + np.random.standard_normal()  # noqa: NPY002
        return problem()[0][0][row] + 0.1 * noise, self.labels[row]


def test_random_numbers_of_a_data_set_go_on_as_well(tmp_path):
    data, validation = Noisy(), problem()[1]
    config = {name: settings(out=tmp_path / name, epochs=1, batch_size=110) for name in ("straight", "halting")}
    fit(network(), data, validation, SquareAUCLoss(), config["straight"])
    with pytest.raises(TrainingInterrupted):
        fit(network(), data, validation, SquareAUCLoss(), config["halting"], transform=_signal_only)
    fit(network(), data, validation, SquareAUCLoss(), config["halting"])
    assert_bit_equal(numbers_of(tmp_path / "halting"), numbers_of(tmp_path / "straight"))


def _signal_only(inputs, generator):
    signal.raise_signal(signal.SIGTERM)
    return inputs


def test_a_finished_run_is_returned_as_it_is(tmp_path):
    first = train(out=tmp_path)
    before = (tmp_path / "last.ckpt").read_bytes()
    again = train(out=tmp_path)
    assert again.history == first.history
    assert (again.best_epoch, again.ended) == (first.best_epoch, "epochs")
    assert (tmp_path / "last.ckpt").read_bytes() == before


def test_more_epochs_go_on_from_the_end(tmp_path):
    train(out=tmp_path / "grown", epochs=2)
    train(out=tmp_path / "grown", epochs=4)
    train(out=tmp_path / "straight", epochs=4)
    assert_bit_equal(numbers_of(tmp_path / "grown"), numbers_of(tmp_path / "straight"))


# ------------------------------------------------------------------------------------------------------ kill, signals


def test_killed_ten_times_at_random_moments(tmp_path):
    options = {"epochs": 12, "checkpoint_steps": 1, "tensorboard": True}
    run(train_quietly, tmp_path / "log", epochs=1)  # the server imports what it needs
    begun = time.monotonic()
    assert run(train_quietly, tmp_path / "log", out=tmp_path / "straight", **options) == 0
    whole = time.monotonic() - begun
    moments = random.Random(0)
    steps = []
    for _ in range(KILLS):
        process = start(train_quietly, tmp_path / "log", out=tmp_path / "killed", **options)
        process.join(moments.uniform(0.0, whole / 8))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, (tmp_path / "log").read_text()
        if (tmp_path / "killed" / "last.ckpt").exists():
            state = RunFolder(tmp_path / "killed").load()
            steps.append(state["progress"]["total_steps"])
    assert run(train_quietly, tmp_path / "log", out=tmp_path / "killed", **options) == 0
    assert_bit_equal(numbers_of(tmp_path / "killed"), numbers_of(tmp_path / "straight"))
    assert steps == sorted(steps)
    assert len(set(steps)) > 2, "the kills came before anything was trained"
    assert not list((tmp_path / "killed").glob("*.tmp"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_from_outside_saves_and_says_how_to_resume(tmp_path, number, code):
    options = {"epochs": 100_000, "checkpoint_steps": 5}
    process = start(train_quietly, tmp_path / "log", out=tmp_path / "run", **options)
    wait_for(tmp_path / "run" / "last.ckpt", process)
    os.kill(process.pid, number)
    process.join(60)
    assert process.exitcode == code
    log = (tmp_path / "log").read_text()
    assert f"Interrupted by {signal.Signals(number).name} in epoch" in log
    assert "to resume, run the same again (resume='auto')" in log
    assert load_checkpoint(tmp_path / "run" / "last.ckpt")["state"]["progress"]["total_steps"] > 0


SCRIPT = """
import sys
import torch
from training_runs import train
torch.set_num_threads(1)
train(out=sys.argv[1], epochs=100_000, checkpoint_steps=5)
"""


def test_ctrl_c_ends_a_script_without_a_traceback(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "run")]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "run" / "last.ckpt").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted by SIGINT" in errors
    assert "Traceback" not in errors


# ---------------------------------------------------------------------------------------------------- disk and folder


def test_a_full_disk_is_a_clear_error_and_the_last_checkpoint_is_intact(tmp_path, monkeypatch):
    original, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 12:
            raise OSError(28, "No space left on device")
        original(descriptor)

    monkeypatch.setattr(checkpoints.os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device; the former file is intact"):
        train(out=tmp_path, checkpoint_steps=1)
    monkeypatch.undo()
    assert RunFolder(tmp_path).load()["progress"]["total_steps"] > 0
    assert not list(tmp_path.glob("*.tmp"))
    train(out=tmp_path)
    train(out=tmp_path / "straight")
    assert_bit_equal(numbers_of(tmp_path), numbers_of(tmp_path / "straight"))


def test_files_that_follow_from_the_last_checkpoint_are_written_when_the_run_is_resumed(tmp_path, monkeypatch):
    original = os.replace

    def all_but_the_best(source, target):
        if Path(target).name == "best.ckpt":
            raise OSError(28, "No space left on device")
        original(source, target)

    with monkeypatch.context() as broken:
        broken.setattr(checkpoints.os, "replace", all_but_the_best)
        with pytest.raises(OSError, match="No space left"):
            train(out=tmp_path, epochs=1)
    folder = RunFolder(tmp_path)
    assert folder.last.exists()
    assert not folder.best.exists()
    train(out=tmp_path, epochs=1)
    assert load_checkpoint(folder.best)["epoch"] == 1
    assert len(folder.history.read_text().splitlines()) == 2


def test_what_a_killed_process_left_half_written_is_removed(tmp_path):
    (tmp_path / ".last.ckpt.0123456789abcdef.tmp").write_bytes(b"half of")
    (tmp_path / "last.ckpt.tmp").write_bytes(b"of the user")
    train(out=tmp_path, epochs=1)
    assert [path.name for path in tmp_path.glob("*.tmp")] == ["last.ckpt.tmp"]


def test_a_write_that_really_fails_half_way(tmp_path):
    train(out=tmp_path / "run", epochs=1)
    before = (tmp_path / "run" / "last.ckpt").read_bytes()
    code = run(train_with_file_limit, tmp_path / "error", len(before) - 1, out=tmp_path / "run", epochs=2)
    assert code == 3
    assert "cannot write" in (tmp_path / "error").read_text()
    assert "the former file is intact" in (tmp_path / "error").read_text()
    assert (tmp_path / "run" / "last.ckpt").read_bytes() == before
    assert not list((tmp_path / "run").glob("*.tmp"))


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match=r"the folder .*file/run cannot be made"):
        train(out=tmp_path / "file" / "run")


def test_two_runs_in_one_folder(tmp_path):
    process = start(train_quietly, tmp_path / "log", out=tmp_path / "run", epochs=100_000, checkpoint_steps=5)
    try:
        wait_for(tmp_path / "run" / "last.ckpt", process)
        with pytest.raises(BlockingIOError, match="another process is training in the folder"):
            train(out=tmp_path / "run", epochs=100_000)
    finally:
        process.kill()
        process.join()
    with pytest.raises(TrainingInterrupted):
        train(out=tmp_path / "run", epochs=100_000, transform=Interrupting(1))


# ------------------------------------------------------------------------------------------------- what is not resumed


def test_resume_never_leaves_a_checkpoint_alone(tmp_path):
    train(out=tmp_path, epochs=1, resume="never")
    before = (tmp_path / "last.ckpt").read_bytes()
    with pytest.raises(FileExistsError, match=r"resume='never', but there is a checkpoint in .*last\.ckpt"):
        train(out=tmp_path, epochs=1, resume="never")
    assert (tmp_path / "last.ckpt").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": 0.1}, r"lr=0\.1 \(there 0\.05\)"),
        ({"seed": 5, "ratio": (1, 2)}, r"ratio=\(1\.0, 2\.0\) \(there \(1\.0, 10\.0\)\), seed=5 \(there 0\)"),
        ({"schedule": "cosine"}, r"schedule='cosine' \(there 'exponential'\)"),
    ],
)
def test_other_settings_are_named(tmp_path, options, message):
    train(out=tmp_path, epochs=1)
    with pytest.raises(ValueError, match=message):
        train(out=tmp_path, epochs=2, **options)


def test_another_length_is_another_cosine(tmp_path):
    train(out=tmp_path, epochs=1, schedule="cosine")
    with pytest.raises(ValueError, match=r"epochs=2 \(there 1\)"):
        train(out=tmp_path, epochs=2, schedule="cosine")


def test_another_model_other_data_another_loss(tmp_path):
    training_data, validation_data = problem()
    config = settings(out=tmp_path, epochs=1)
    fit(network(), training_data, validation_data, SquareAUCLoss(), config)
    with pytest.raises(CheckpointError, match=r"last\.ckpt does not fit the model"):
        fit(torch.nn.Linear(4, 1), training_data, validation_data, SquareAUCLoss(), config)
    with pytest.raises(ValueError, match=r"last\.ckpt is of other training data.*: state comes from"):
        fit(network(), validation_data, validation_data, SquareAUCLoss(), config)
    with pytest.raises(ValueError, match=r"loss=.TPAUCLoss.*Polynomial.* \(there .SquareAUCLoss"):
        fit(network(), training_data, validation_data, TPAUCLoss(Polynomial(3.0)), config)
    with pytest.raises(ValueError, match=r"validation=None \(there '330 rows, \d+ positive'\)"):
        fit(network(), training_data, None, SquareAUCLoss(), config)
    with pytest.raises(ValueError, match="warmup_epochs=1"):
        fit(network(), training_data, validation_data, SquareAUCLoss(), settings(out=tmp_path, warmup_epochs=1))


def test_other_frozen_parameters(tmp_path):
    train(out=tmp_path, epochs=1)
    model = network()
    model[0].requires_grad_(False)
    with pytest.raises(CheckpointError, match=r"last\.ckpt does not fit the parameters that are trained: .*group"):
        fit(model, *problem(), TPAUCLoss(Polynomial(3.0)), settings(out=tmp_path, epochs=2))


def test_a_run_goes_on_with_another_kind_of_device(tmp_path):
    """The state of a generator of a GPU has another form; here a checkpoint pretends to come from one."""
    train(out=tmp_path, epochs=1)
    saved = load_checkpoint(tmp_path / "last.ckpt")
    saved["state"]["random"][0] |= {"device": "cuda", "generator": torch.zeros(16, dtype=torch.uint8)}
    save_checkpoint(tmp_path / "last.ckpt", saved)
    assert len(train(out=tmp_path, epochs=2).history) == 2


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "is damaged"),
        (lambda path: path.write_bytes(b"something else"), "is not a checkpoint of this package"),
        (lambda path: save_checkpoint(path, {"model": {}}), "is a checkpoint, but not the state of a training run"),
        (lambda path: save_checkpoint(path, {"kind": "training run", "state": {}}), "does not fit the model"),
    ],
)
def test_a_file_that_is_damaged_or_foreign(tmp_path, spoil, message):
    train(out=tmp_path, epochs=1)
    spoil(tmp_path / "last.ckpt")
    spoiled = (tmp_path / "last.ckpt").read_bytes()
    with pytest.raises(CheckpointError, match=message):
        train(out=tmp_path, epochs=2)
    assert (tmp_path / "last.ckpt").read_bytes() == spoiled
