"""Checks for NaN, the timer of polls and checkpoints, the progress line and TensorBoard."""

import io
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn

from tpauc.training._monitor import (
    NonFiniteError,
    ProgressLine,
    RunTimer,
    StepRecorder,
    TensorBoardLog,
    first_not_finite,
)

# --------------------------------------------------------------------------------------------------- NaN and infinities


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=20), st.data())
def test_the_first_that_is_not_finite_is_found(losses, data):
    weight = nn.Parameter(torch.zeros(2))
    kind = data.draw(st.sampled_from(["none", "loss", "gradient"]))
    at = data.draw(st.integers(0, len(losses) - 1))
    recorder = StepRecorder([("other", nn.Parameter(torch.zeros(1))), ("weight", weight)])
    for step, loss in enumerate(losses):
        # Everything after the first fault is NaN, as in a real run.
        loss_is_bad = (kind == "loss" and step >= at) or (kind == "gradient" and step > at)
        weight.grad = torch.full((2,), math.nan if kind != "none" and step >= at else 1e30)
        recorder.record(torch.tensor(math.nan if loss_is_bad else loss))
    if kind == "none":
        assert recorder.collect(several_processes=False) == losses
        assert recorder.collect(several_processes=False) == []
    else:
        cause = "the loss is nan" if kind == "loss" else "the gradient of 'weight' is nan"
        with pytest.raises(NonFiniteError, match=cause) as found:
            recorder.collect(several_processes=False)
        assert found.value.steps_ago == len(losses) - 1 - at


def test_the_parameters_that_have_a_gradient_may_change_from_step_to_step():
    parameters = {name: nn.Parameter(torch.zeros(2)) for name in ("first", "second", "third")}
    recorder = StepRecorder(parameters.items())
    for with_gradient in (["second"], [], ["first", "second"], ["third"]):
        for name, parameter in parameters.items():
            parameter.grad = torch.ones(2) if name in with_gradient else None
        recorder.record(torch.tensor(1.0))
    assert recorder.collect(several_processes=False) == [1.0] * 4
    for steps_ago in range(3):
        for parameter in parameters.values():
            parameter.grad = None
        recorder.record(torch.tensor(1.0))
        parameters["third"].grad = torch.tensor([1.0, math.inf])
        recorder.record(torch.tensor(1.0))
        for _ in range(steps_ago):
            # At the time of the poll other parameters have a gradient; they are not blamed.
            parameters["first"].grad, parameters["third"].grad = torch.ones(2), None
            recorder.record(torch.tensor(1.0))
        with pytest.raises(NonFiniteError, match="the gradient of 'third' is inf") as found:
            recorder.collect(several_processes=False)
        assert found.value.steps_ago == steps_ago


def test_sparse_gradients_and_parameters_without_elements():
    table, empty = nn.Embedding(5, 2, sparse=True, dtype=torch.float64), nn.Parameter(torch.empty(0))
    recorder = StepRecorder([("empty", empty), ("table", table.weight)])
    for rows in (torch.tensor([1, 1, 3]), torch.tensor([], dtype=torch.int64)):
        table.zero_grad()
        (table(rows).sum() + empty.sum()).backward()
        recorder.record(torch.tensor(1.0))
    assert recorder.collect(several_processes=False) == [1.0, 1.0]
    table.zero_grad()
    (math.inf * table(torch.tensor([2])).sum()).backward()
    recorder.record(torch.tensor(1.0))
    with pytest.raises(NonFiniteError, match="the gradient of 'table' is inf"):
        recorder.collect(several_processes=False)


def test_large_finite_gradients_are_no_fault():
    weight = nn.Parameter(torch.zeros(1000))
    weight.grad = torch.full((1000,), 3e38)
    recorder = StepRecorder([("weight", weight)])
    recorder.record(torch.tensor(1.0))
    assert recorder.collect(several_processes=False) == [1.0]


def test_first_not_finite():
    assert first_not_finite([("a", torch.ones(2)), ("b", torch.tensor([1, 2])), ("c", "text")]) is None
    assert first_not_finite([("a", torch.ones(2)), ("b", torch.tensor([1.0, -math.inf]))]) == "b"


# ---------------------------------------------------------------------------------------------------------------- timer


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_polls_come_about_twice_per_second():
    clock = Clock()
    timer = RunTimer(60.0, None, clock=clock)
    polls = []
    for step in range(1, 2001):
        clock.now += 0.001
        if step >= timer.next_poll:
            polls.append(clock.now)
            timer.plan_next_poll(step, timer.seconds_per_step(step))
    assert polls[0] == pytest.approx(0.001)
    assert polls[-1] - polls[-2] == pytest.approx(0.5, abs=0.01)


def test_slow_steps_are_each_polled():
    timer = RunTimer(60.0, None, clock=Clock())
    timer.plan_next_poll(7, seconds_per_step=30.0)
    assert timer.next_poll == 8


def test_checkpoints_by_steps():
    timer = RunTimer(60.0, 5, clock=Clock())
    timer.plan_next_poll(3, seconds_per_step=1e-6)
    timer.plan_next_poll(4, seconds_per_step=1e-6)
    assert timer.next_poll == 5
    assert [timer.save_is_due(steps, epoch_ended=False) for steps in (4, 5, 6)] == [False, True, True]
    timer.saved(5, cost=0.0)
    assert not timer.save_is_due(6, epoch_ended=False)


def test_checkpoints_by_time_and_at_the_end_of_epochs_that_can_afford_it():
    clock = Clock()
    timer = RunTimer(60.0, None, seconds=100.0, steps=40, clock=clock)
    assert timer.next_poll == 41
    assert timer.seconds() == 100.0
    assert timer.save_is_due(40, epoch_ended=True)  # the cost of the first is not known yet
    timer.saved(40, cost=0.01)
    clock.now = 0.4
    assert not timer.save_is_due(50, epoch_ended=True)
    clock.now = 0.6
    assert timer.save_is_due(60, epoch_ended=True)
    assert not timer.save_is_due(60, epoch_ended=False)
    clock.now = 60.0
    assert timer.save_is_due(70, epoch_ended=False)
    assert timer.seconds() == 160.0


# ----------------------------------------------------------------------------------------------------------------- logs


class Terminal(io.StringIO):
    def isatty(self):
        return True


ROW = {"epoch": 1, "step": 10, "loss": 0.25, "tpauc": 0.5, "opauc": 0.75, "auc": 0.875}


def test_a_bar_with_the_time_left_on_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    clock = Clock()
    monkeypatch.setattr("tpauc.training._monitor.time.monotonic", clock)
    screen = Terminal()
    line = ProgressLine(epochs=3, stream=screen)
    clock.now = 10.0
    line.step(1, 5, 10, 0.5, steps_left=25, steps_done=5)
    expected = "epoch 1/3 [##########----------] 5/10  loss 0.5  0:00:50 left"
    assert screen.getvalue() == "\r\x1b[K" + expected
    line.epoch(ROW, ROW, 20, 10)
    line.close()
    assert "\r\x1b[Kepoch 1/3  loss 0.25  TPAUC 0.5  OPAUC 0.75  AUC 0.875  (best: epoch 1)" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_a_bar_is_never_wider_than_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    screen = Terminal()
    ProgressLine(epochs=3, stream=screen).step(1, 5, 10, 0.5, steps_left=25, steps_done=5)
    assert len(screen.getvalue().removeprefix("\r\x1b[K")) == 29


def test_plain_lines_elsewhere_at_most_one_per_second(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("tpauc.training._monitor.time.monotonic", clock)
    file = io.StringIO()
    line = ProgressLine(epochs=9, stream=file)
    for epoch in range(1, 10):
        clock.now += 0.3
        line.step(epoch, 5, 10, 0.5, steps_left=1, steps_done=1)
        line.epoch({**ROW, "epoch": epoch}, ROW, 10 * (9 - epoch), 10 * epoch)
    line.close()
    lines = file.getvalue().splitlines()
    assert [text.split()[1] for text in lines] == ["1/9", "5/9", "9/9"]
    assert "\r" not in file.getvalue()
    assert lines[0].endswith("0:00:02 left")
    assert not lines[-1].endswith("left")


def test_a_time_limit_shortens_the_time_left(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("tpauc.training._monitor.time.monotonic", clock)
    file = io.StringIO()
    line = ProgressLine(epochs=9, time_limit=30.0, stream=file)
    clock.now = 10.0
    line.epoch(ROW, None, 1000, 10)
    assert file.getvalue().endswith("0:00:20 left\n")


def test_tensorboard_files_can_be_read_and_a_resumed_run_overwrites(tmp_path):
    log = TensorBoardLog(tmp_path, first_step=0, first_row=0)
    log.step(5, 0.7)
    log.epochs([ROW])
    log.step(15, 0.6)
    log.close()
    log = TensorBoardLog(tmp_path, first_step=10, first_row=1)
    log.step(14, 0.5)
    log.epochs([ROW, {**ROW, "epoch": 2, "step": 20, "tpauc": 0.6}])
    log.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(event.step, event.value) for event in events.Scalars("epoch/tpauc")] == [(10, 0.5), (20, np.float32(0.6))]
    assert [event.step for event in events.Scalars("step/loss")] == [5, 14]
