"""Training in several processes is training in one, with the same global batch; signals stop it cleanly."""

import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn

from tpauc.losses.baselines import ReweightedCrossEntropy
from tpauc.losses.minimax import MinimaxTPAUCLoss
from tpauc.losses.rank_weighting import Anchored
from tpauc.losses.tpauc_loss import TPAUCLoss
from tpauc.losses.weighting import Polynomial
from tpauc.training import TrainConfig, TrainingDivergedError, TrainingInterrupted, evaluate, fit
from tpauc.training._processes import StopSignals, starts_processes
from tpauc.training.exceptions import interrupted
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
    wait_for,
)

# -------------------------------------------------------------------------------------------------------------- signals


def signalled_twice(heard):
    with StopSignals() as stop:
        signal.raise_signal(signal.SIGINT)
        assert (stop.requested, heard) == (signal.SIGINT, [])
        signal.raise_signal(signal.SIGINT)
        raise interrupted(stop.requested, "in epoch 1", None)


def test_a_second_signal_acts_as_before_and_an_answered_one_is_not_repeated():
    heard = []
    former = signal.signal(signal.SIGINT, lambda *_: heard.append("before"))
    try:
        with pytest.raises(KeyboardInterrupt, match="Interrupted by SIGINT in epoch 1"):
            signalled_twice(heard)
    finally:
        signal.signal(signal.SIGINT, former)
    assert heard == ["before"]


def test_a_signal_that_is_not_answered_is_delivered_at_the_end():
    heard = []
    former = signal.signal(signal.SIGTERM, lambda *_: heard.append("before"))
    try:
        with StopSignals():
            signal.raise_signal(signal.SIGTERM)
            assert heard == []
        assert heard == ["before"]
    finally:
        signal.signal(signal.SIGTERM, former)


def test_every_signal_is_recorded_where_a_parent_forwards_them():
    handed = []
    with StopSignals(handed.append, record_all=True) as stop:
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(number)
    assert handed == [signal.SIGINT, signal.SIGINT, signal.SIGTERM]
    assert stop.requested == signal.SIGTERM


def test_other_threads_are_left_alone():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work():
        with StopSignals() as stop:
            seen.append((signal.getsignal(signal.SIGINT), stop.requested))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, 0)]


@pytest.mark.parametrize(
    "error",
    [
        interrupted(signal.SIGTERM, "in epoch 1", None),
        interrupted(signal.SIGINT, "in epoch 1", None),
        TrainingDivergedError(2, 3, "the loss is nan", None),
    ],
)
def test_errors_can_be_sent_between_processes(error):
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
    assert isinstance(error, TrainingInterrupted | FloatingPointError)


# -------------------------------------------------------------------------------------------------------- two processes


LOSSES = {
    "moments": (lambda: TPAUCLoss(Polynomial(3.0)), {}),
    "ranks": (lambda: TPAUCLoss(Anchored(0.5, 0.5)), {}),
    "minimax": (lambda: MinimaxTPAUCLoss(Polynomial(3.0), start="batch"), {"optimizer": "minimax"}),
    "cross-entropy": (ReweightedCrossEntropy, {"hard_examples": "negatives"}),
}


class Recorded(nn.Module):
    """A loss that writes its value at every step to a file of its process."""

    def __init__(self, loss, path):
        super().__init__()
        self.loss, self.path = loss, str(path)

    def forward(self, logits, labels):
        value = self.loss(logits, labels)
        rank = dist.get_rank() if dist.is_initialized() else 0
        with open(f"{self.path}-{rank}", "a") as file:
            file.write(f"{value.item():.17g}\n")
        return value


def record(path, name, **options):
    torch.set_num_threads(1)
    make_loss, more = LOSSES[name]
    train(loss=Recorded(make_loss(), path), transform=None, dropout=False, **{**more, **options})


def curve(path):
    return torch.tensor([float(line) for line in Path(path).read_text().split()], dtype=torch.float64)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("precision", ["32-true", "64-true"])
def test_the_loss_curve_of_two_processes_is_that_of_one(tmp_path, name, precision):
    options = {"epochs": 2, "precision": precision, "checkpoint_steps": 5}
    assert run(record, tmp_path / "one", name, out=tmp_path / "run1", **options) == 0
    two = {**options, "devices": 2, "strategy": "ddp_fork"}
    assert run(record, tmp_path / "two", name, out=tmp_path / "run2", **two) == 0
    one, first, second = curve(tmp_path / "one-0"), curve(tmp_path / "two-0"), curve(tmp_path / "two-1")
    assert len(one) == len(first) == len(second) > 20
    # The difference comes from the order of sums, a few 1e-7 in float32. The saddle function subtracts terms about 1.
    tolerance = 1e-6 if precision == "32-true" else 1e-12
    size = one.clamp_min(1.0) if name == "minimax" else one
    for several in (first, second):
        assert ((several - one).abs() / size).max() < tolerance
    alone, together = numbers_of(tmp_path / "run1"), numbers_of(tmp_path / "run2")
    for metric in ("tpauc", "opauc", "auc"):
        for epoch in range(2):
            key = f"state.history.{epoch}.{metric}"
            assert together[key] == pytest.approx(alone[key], abs=1e-12 if precision == "64-true" else 5e-3)


def test_two_processes_resume_bit_equal(tmp_path):
    options = {"epochs": 20, "devices": 2, "strategy": "ddp_fork", "checkpoint_steps": 7}
    assert run(train_quietly, tmp_path / "log", out=tmp_path / "straight", **options) == 0
    process = start(train_quietly, tmp_path / "log", out=tmp_path / "halting", **options)
    wait_for(tmp_path / "halting" / "last.ckpt", process)
    os.kill(process.pid, signal.SIGTERM)
    process.join(60)
    assert process.exitcode == 143
    assert numbers_of(tmp_path / "halting")["state.progress.epoch"] < 20
    assert run(train_quietly, tmp_path / "log", out=tmp_path / "halting", **options) == 0
    assert_bit_equal(numbers_of(tmp_path / "halting"), numbers_of(tmp_path / "straight"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_to_the_parent_saves_in_the_children(tmp_path, number, code):
    options = {"epochs": 100_000, "devices": 2, "strategy": "ddp_fork", "checkpoint_steps": 5}
    process = start(train_quietly, tmp_path / "log", out=tmp_path / "run", **options)
    wait_for(tmp_path / "run" / "last.ckpt", process)
    os.kill(process.pid, number)
    process.join(60)
    assert process.exitcode == code
    assert "to resume, run the same again" in (tmp_path / "log").read_text()


def test_the_number_of_processes_may_change(tmp_path):
    options = {"precision": "64-true", "transform": None, "dropout": False, "out": tmp_path / "changed"}
    assert run(train_quietly, tmp_path / "log", **{**options, "epochs": 1, "devices": 2, "strategy": "ddp_fork"}) == 0
    assert run(train_quietly, tmp_path / "log", **{**options, "epochs": 3}) == 0
    assert run(train_quietly, tmp_path / "log", **{**options, "epochs": 3, "out": tmp_path / "one"}) == 0
    changed, alone = numbers_of(tmp_path / "changed"), numbers_of(tmp_path / "one")
    for key, value in alone.items():
        if key.startswith("state.model"):
            torch.testing.assert_close(changed[key], value, rtol=1e-10, atol=1e-12)


class Spoiled(TPAUCLoss):
    def forward(self, logits, labels):
        value = super().forward(logits, labels)
        return value * float("nan") if torch.is_grad_enabled() else value


def expect_divergence(path):
    torch.set_num_threads(1)
    try:
        train(loss=Spoiled(Polynomial(3.0)), devices=2, strategy="ddp_fork")
    except TrainingDivergedError as error:
        Path(path).write_text(str(error))


def test_an_error_in_the_processes_is_raised_as_what_it_is(tmp_path):
    assert run(expect_divergence, tmp_path / "error") == 0
    expected = "training stopped in epoch 1 at step 1: the loss is nan; nothing was saved before"
    assert (tmp_path / "error").read_text() == expected


class WithBatchNorm(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))


def check_batch_norm(path):
    torch.set_num_threads(1)
    training_data, validation_data = problem()
    config = settings(epochs=2, devices=2, strategy="ddp_fork", batch_size=34)
    result = fit(WithBatchNorm(), training_data, validation_data, TPAUCLoss(Polynomial(3.0)), config)
    found = evaluate(result.model, validation_data, alpha=0.5, beta=0.5, batch_size=165)
    Path(path).write_text(f"{found.tpauc} {result.best['tpauc']}")


def test_what_is_validated_is_the_model_that_is_kept(tmp_path):
    assert run(check_batch_norm, tmp_path / "found") == 0
    found, validated = map(float, (tmp_path / "found").read_text().split())
    assert found == pytest.approx(validated, abs=1e-12)


# --------------------------------------------------------------------------------------------------- ways to start them


@pytest.mark.parametrize(
    ("options", "environment", "expected"),
    [
        ({}, {}, False),
        ({"devices": 2}, {}, True),
        ({"devices": 2}, {"SLURM_PROCID": "0"}, False),
        ({"devices": 2, "nodes": 2}, {}, False),
        ({"devices": 2, "strategy": "ddp"}, {}, False),
        ({"devices": 2, "strategy": "ddp_fork"}, {"LOCAL_RANK": "0"}, True),
        ({"strategy": "ddp_spawn"}, {}, True),
    ],
)
def test_who_starts_processes(options, environment, expected):
    assert starts_processes(TrainConfig(alpha=0.3, beta=0.3, **options), environment) is expected


SCRIPT = """
import sys
import torch
from training_runs import train

if __name__ == "__main__":
    torch.set_num_threads(1)
    options = {"devices": 2, "strategy": sys.argv[2], "epochs": 2, "precision": "64-true"}
    for name in ("first", "second"):
        result = train(transform=None, dropout=False, out=f"{sys.argv[1]}/{name}", **options)
    print(f"trained {len(result.history)} epochs")
"""


@pytest.mark.parametrize(
    ("launcher", "strategy"),
    [(["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"], "auto"), ([], "ddp")],
    ids=["torchrun", "ddp"],
)
def test_scripts_that_are_run_by_every_process(tmp_path, launcher, strategy):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, *launcher, str(tmp_path / "script.py"), str(tmp_path), strategy]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("trained 2 epochs") == 2
    assert_bit_equal(numbers_of(tmp_path / "first"), numbers_of(tmp_path / "second"))
    train(transform=None, dropout=False, out=tmp_path / "one", epochs=2, precision="64-true")
    together, alone = numbers_of(tmp_path / "second"), numbers_of(tmp_path / "one")
    for epoch in range(2):
        key = f"state.history.{epoch}.loss"
        assert together[key] == pytest.approx(alone[key], rel=1e-12)


def test_spawned_from_here_the_model_given_is_the_one_trained():
    training_data, validation_data = problem()
    model = network(dropout=False)
    result = fit(
        model, training_data, validation_data, TPAUCLoss(Polynomial(3.0)), settings(epochs=2, devices=2, lr=0.5)
    )
    assert result.model is model
    assert result.folder is None
    assert evaluate(model, validation_data, alpha=0.5, beta=0.5).tpauc == result.best["tpauc"]
