"""What the training loop does at the end of an epoch, and when something goes wrong: NaN, signals, a kill."""

import functools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

from tpauc.losses.tpauc_loss import SquareAUCLoss
from tpauc.metrics.area import tpauc_score
from tpauc.samplers import StratifiedBatchSampler
from tpauc.training import TrainingDivergedError, TrainingInterrupted, _loop, fit, load_checkpoint
from tpauc.training._monitor import RunTimer
from tpauc.training.checkpoint import RunFolder
from training_runs import (
    assert_bit_equal,
    jitter,
    network,
    numbers_of,
    problem,
    run,
    settings,
    start,
    train,
    train_quietly,
    wait_for,
    weights,
)

TRAIN, VALIDATION = problem()
STEPS = len(StratifiedBatchSampler(TRAIN[1], 33, ratio=(1, 10)))
KILLS = 10


# ----------------------------------------------------------------------------------------------------------------- ends


def test_patience():
    result = train(lr=1e-9, patience=2, epochs=10)
    assert result.ended == "patience"
    areas = [(row["tpauc"], row["opauc"], row["auc"]) for row in result.history]
    assert len(areas) == 1 + areas.index(max(areas)) + 2


def test_a_lower_training_loss_does_not_use_up_patience():
    data = (torch.tensor([[3.0], [2.0], [1.0], [0.0]]), torch.tensor([1, 1, 0, 0]))
    model = nn.Linear(1, 1)
    nn.init.ones_(model.weight)
    result = fit(model, data, data, SquareAUCLoss(), settings(epochs=9, patience=3, batch_size=4, ratio=(1, 1)))
    losses = [row["loss"] for row in result.history]
    assert losses == sorted(losses, reverse=True)
    assert (result.ended, len(losses), result.best_epoch) == ("patience", 4, 4)


def test_time_limit_and_more_time(tmp_path):
    short = train(out=tmp_path, epochs=4, time_limit=1e-9)
    assert (short.ended, short.history, short.best_epoch) == ("time limit", [], None)
    longer = train(out=tmp_path, epochs=4, time_limit=1e9)
    assert (longer.ended, len(longer.history)) == ("epochs", 4)
    assert torch.equal(weights(longer.model), weights(train(epochs=4).model))


def test_time_limit_within_an_epoch(monkeypatch):
    calls = []

    def late(inputs, generator):
        calls.append(len(inputs))
        return inputs

    class Clock:
        def __call__(self):
            return 1000.0 * len(calls)

    # The limit is reached at step 3 of the first epoch, by the clock alone.
    monkeypatch.setattr(_loop, "RunTimer", lambda *args, **options: RunTimer(*args, **options, clock=Clock()))
    result = train(transform=late, time_limit=2500.0)
    assert (result.ended, len(calls), result.history) == ("time limit", 3, [])


# -------------------------------------------------------------------------------------------------- the end of an epoch


class Notes:
    """Keeps what it is called with; raises after so many epochs."""

    def __init__(self, out=None, fail_after=None):
        self.out, self.fail_after, self.rows = out, fail_after, []

    def __call__(self, epoch, model, scores):
        saved = None if self.out is None else RunFolder(self.out).load()
        weights = [parameter.detach().clone() for parameter in model.parameters()]
        self.rows.append((epoch, 0 if saved is None else saved["progress"]["epoch"], weights, scores))
        if epoch == self.fail_after:
            raise RuntimeError("stop here")


def train_with_hook(hook, validation=True, **options):
    training_data, validation_data = problem()
    return fit(
        network(),
        training_data,
        validation_data if validation else None,
        SquareAUCLoss(),
        settings(**options),
        on_epoch=hook,
    )


def test_called_after_every_epoch_with_the_scores_that_are_measured():
    notes = Notes()
    result = train_with_hook(notes)
    assert [row[0] for row in notes.rows] == [1, 2, 3, 4]
    labels = problem()[1][1]
    for (_, _, _, scores), row in zip(notes.rows, result.history, strict=True):
        assert tpauc_score(labels, scores.numpy(), alpha=0.5, beta=0.5) == row["tpauc"]


def test_without_validation_data_there_are_no_scores():
    notes = Notes()
    train_with_hook(notes, validation=False)
    assert [row[3] for row in notes.rows] == [None] * 4


def test_called_before_the_checkpoint_that_holds_the_epoch(tmp_path):
    notes = Notes(tmp_path)
    train_with_hook(notes, out=tmp_path, checkpoint_steps=1)
    # A checkpoint is written after each step: at the end of an epoch the last one belongs to that epoch.
    assert [(epoch, saved) for epoch, saved, _, _ in notes.rows] == [(1, 0), (2, 1), (3, 2), (4, 3)]


def test_an_epoch_that_is_trained_again_is_handed_over_again_alike(tmp_path):
    broken, whole = Notes(fail_after=3), Notes()
    with pytest.raises(RuntimeError, match="stop here"):
        train_with_hook(broken, out=tmp_path, checkpoint_steps=1)
    resumed = Notes()
    train_with_hook(resumed, out=tmp_path, checkpoint_steps=1)
    train_with_hook(whole)
    assert [row[0] for row in resumed.rows] == [3, 4]
    for rows, expected in ((broken.rows, whole.rows[:3]), (resumed.rows, whole.rows[2:])):
        for row, other in zip(rows, expected, strict=True):
            assert torch.equal(row[3], other[3])
            assert all(torch.equal(a, b) for a, b in zip(row[2], other[2], strict=True))


def test_it_must_be_callable():
    with pytest.raises(TypeError, match="on_epoch must be callable, got 'print'"):
        train_with_hook("print")


# --------------------------------------------------------------------------------------------------- NaN and infinities


class Spoils(SquareAUCLoss):
    """A loss that is spoiled at one call."""

    def __init__(self, at, what):
        super().__init__()
        self.calls, self.at, self.what = 0, at, what

    def forward(self, logits, labels):
        self.calls += 1
        value = super().forward(logits, labels)
        if self.calls != self.at:
            return value
        if self.what == "gradient":
            # The root of 0 is 0 and its derivative infinite; the loss stays finite.
            return value + torch.sqrt(0.0 * logits.sum())
        return value * float(self.what)


@pytest.mark.parametrize(
    ("what", "cause"),
    [("nan", "the loss is nan"), ("inf", "the loss is inf"), ("gradient", "the gradient of '0.weight'")],
)
@pytest.mark.parametrize("at", [1, STEPS, STEPS + 3])
def test_what_is_not_finite_stops_training_with_place_and_cause(tmp_path, what, cause, at):
    with pytest.raises(TrainingDivergedError, match=cause) as stopped:
        train(loss=Spoils(at, what), out=tmp_path, checkpoint_steps=2)
    error = stopped.value
    assert (error.epoch, error.step) == ((at - 1) // STEPS + 1, (at - 1) % STEPS + 1)
    assert f"epoch {error.epoch} at step {error.step}" in str(error)
    if at == 1:
        assert error.checkpoint is None
        assert "nothing was saved before" in str(error)
        assert not (tmp_path / "last.ckpt").exists()
    else:
        state = load_checkpoint(error.checkpoint)
        assert state["progress"]["total_steps"] < at
        assert all(value.isfinite().all() for value in state["model"].values())


def test_weights_that_overflow_are_not_saved(tmp_path):
    with pytest.raises(TrainingDivergedError, match=r"0\.weight has NaN or infinite values"):
        train(out=tmp_path, lr=1e38, weight_decay=1e3, checkpoint_steps=1, epochs=1)
    assert not (tmp_path / "last.ckpt").exists()


def test_validation_scores_that_are_not_finite():
    bad = (VALIDATION[0].clone(), VALIDATION[1])
    bad[0][3, 1] = float("nan")
    with pytest.raises(TrainingDivergedError, match=r"epoch 1 at step .*scores of the validation data"):
        fit(network(), TRAIN, bad, SquareAUCLoss(), settings())


@pytest.mark.parametrize(("warmup_epochs", "place"), [(0, (1, 0)), (1, (1, STEPS))])
def test_training_scores_that_are_not_finite(warmup_epochs, place):
    class NaNWhenEvaluated(nn.Linear):
        def forward(self, inputs):
            return super().forward(inputs) if self.training else inputs[:, 0] * float("nan")

    config = settings(hard_examples="both", warmup_epochs=warmup_epochs)
    with pytest.raises(TrainingDivergedError, match="scores of the training data are NaN or infinite") as stopped:
        fit(NaNWhenEvaluated(4, 1), TRAIN, None, SquareAUCLoss(), config)
    assert (stopped.value.epoch, stopped.value.step) == place


def test_layers_that_are_skipped_at_random_have_no_gradient_at_times():
    class Skips(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.last = nn.ModuleList(nn.Linear(4, 4) for _ in range(3)), nn.Linear(4, 1)

        def forward(self, inputs):
            for layer in self.layers:
                inputs = layer(inputs) if torch.rand(()) < 0.5 else inputs
            return self.last(inputs)

    assert len(fit(Skips(), TRAIN, None, SquareAUCLoss(), settings()).history) == 4


# ---------------------------------------------------------------------------------------------------- signals and kills


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_raises_and_the_run_goes_on_bit_equal(tmp_path, capsys, number):
    calls = []

    @functools.wraps(jitter)
    def signalled(inputs, generator):
        calls.append(0)
        if len(calls) == STEPS + 2:
            signal.raise_signal(number)
        return jitter(inputs, generator)

    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(TrainingInterrupted) as stopped:
        train(transform=signalled, out=tmp_path)
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before
    assert stopped.value.code == 128 + number
    assert isinstance(stopped.value, KeyboardInterrupt) == (number == signal.SIGINT)
    assert stopped.value.checkpoint == tmp_path / "last.ckpt"
    name = signal.Signals(number).name
    assert f"Interrupted by {name} in epoch 2 after 2 of {STEPS} steps. Saved in" in capsys.readouterr().err
    resumed, straight = train(out=tmp_path), train()
    assert torch.equal(weights(resumed.model), weights(straight.model))
    for row, expected in zip(resumed.history, straight.history, strict=True):
        assert {**row, "seconds": 0} == {**expected, "seconds": 0}


def test_a_signal_without_a_folder_says_that_nothing_is_saved(capsys):
    def signalled(inputs, generator):
        signal.raise_signal(signal.SIGTERM)
        return inputs

    with pytest.raises(TrainingInterrupted):
        train(transform=signalled)
    assert "Nothing was saved." in capsys.readouterr().err


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
    assert load_checkpoint(tmp_path / "run" / "last.ckpt")["progress"]["total_steps"] > 0


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
