"""The parts that `fit` is made of: clock, progress, notes of losses, data by row, signals, random numbers."""

import io
import math
import pickle
import random
import signal
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn
from torch.utils.data import Dataset

from tpauc._validation import check_logit_count
from tpauc.region import Region
from tpauc.training.config import TrainConfig
from tpauc.training.data import as_examples, block_of, on_device, scores_of
from tpauc.training.evaluation import Evaluation
from tpauc.training.interruption import StopSignals, TrainingInterrupted, interrupted
from tpauc.training.launching import _check_world_size, starts_processes
from tpauc.training.log import ProgressLine, TensorBoardLog
from tpauc.training.pacing import Pace
from tpauc.training.random_state import callers_random_state_kept, random_state, seed_all, set_random_state
from tpauc.training.setup import rate_factor
from tpauc.training.vital_signs import NonFiniteError, TrainingDivergedError, VitalSigns, first_not_finite


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


# -------------------------------------------------------------------------------------------------------------- pacing


def test_looks_come_about_twice_a_second():
    clock = Clock()
    pace = Pace(60.0, None, clock=clock)
    looks = []
    for step in range(1, 2001):
        clock.now += 0.001
        if step >= pace.next_look:
            looks.append(clock.now)
            pace.plan_next_look(step, pace.seconds_per_step(step))
    assert looks[0] == pytest.approx(0.001)
    assert looks[-1] - looks[-2] == pytest.approx(0.5, abs=0.01)


def test_slow_steps_are_each_looked_at():
    pace = Pace(60.0, None, clock=Clock())
    pace.plan_next_look(7, seconds_per_step=30.0)
    assert pace.next_look == 8


def test_checkpoints_by_steps():
    pace = Pace(60.0, 5, clock=Clock())
    pace.plan_next_look(3, seconds_per_step=1e-6)
    pace.plan_next_look(4, seconds_per_step=1e-6)
    assert pace.next_look == 5
    assert [pace.save_is_due(steps, epoch_ended=False) for steps in (4, 5, 6)] == [False, True, True]
    pace.saved(5, cost=0.0)
    assert not pace.save_is_due(6, epoch_ended=False)


def test_checkpoints_by_time_and_at_the_end_of_epochs_that_can_afford_it():
    clock = Clock()
    pace = Pace(60.0, None, seconds=100.0, steps=40, clock=clock)
    assert pace.next_look == 41
    assert pace.seconds() == 100.0
    assert pace.save_is_due(40, epoch_ended=True)  # the first costs nothing that is known
    pace.saved(40, cost=0.01)
    clock.now = 0.4
    assert not pace.save_is_due(50, epoch_ended=True)
    clock.now = 0.6
    assert pace.save_is_due(60, epoch_ended=True)
    assert not pace.save_is_due(60, epoch_ended=False)
    clock.now = 60.0
    assert pace.save_is_due(70, epoch_ended=False)
    assert pace.seconds() == 160.0


# ------------------------------------------------------------------------------------------------------------ progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


ROW = {"epoch": 1, "step": 10, "loss": 0.25, "tpauc": 0.5, "opauc": 0.75, "auc": 0.875}


def test_a_bar_with_the_time_left_on_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    clock = Clock()
    monkeypatch.setattr("tpauc.training.log.time.monotonic", clock)
    screen = Terminal()
    line = ProgressLine(epochs=3, stream=screen)
    clock.now = 10.0
    line.step(1, 5, 10, 0.5, steps_left=25, steps_done=5)
    expected = "epoch 1/3 [##########----------] 5/10  loss 0.5  0:00:50 left"
    assert screen.getvalue() == "\r\x1b[K" + expected
    line.epoch(ROW, 1, 20, 10)
    line.close()
    assert "\r\x1b[Kepoch 1/3  loss 0.25  TPAUC 0.5  OPAUC 0.75  AUC 0.875  (best: epoch 1)" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_a_bar_is_never_wider_than_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    screen = Terminal()
    ProgressLine(epochs=3, stream=screen).step(1, 5, 10, 0.5, steps_left=25, steps_done=5)
    assert len(screen.getvalue().removeprefix("\r\x1b[K")) == 29


def test_plain_lines_elsewhere_at_most_one_a_second(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("tpauc.training.log.time.monotonic", clock)
    file = io.StringIO()
    line = ProgressLine(epochs=9, stream=file)
    for epoch in range(1, 10):
        clock.now += 0.3
        line.step(epoch, 5, 10, 0.5, steps_left=1, steps_done=1)
        line.epoch({**ROW, "epoch": epoch}, 1, 10 * (9 - epoch), 10 * epoch)
    line.close()
    lines = file.getvalue().splitlines()
    assert [text.split()[1] for text in lines] == ["1/9", "5/9", "9/9"]
    assert "\r" not in file.getvalue()
    assert lines[0].endswith("0:00:02 left")
    assert not lines[-1].endswith("left")


def test_a_time_limit_shortens_the_time_left(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("tpauc.training.log.time.monotonic", clock)
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


# -------------------------------------------------------------------------------------------------------- vital signs


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=20), st.data())
def test_the_first_that_is_not_finite_is_found(losses, data):
    weight = nn.Parameter(torch.zeros(2))
    kind = data.draw(st.sampled_from(["none", "loss", "gradient"]))
    at = data.draw(st.integers(0, len(losses) - 1))
    signs = VitalSigns([("other", nn.Parameter(torch.zeros(1))), ("weight", weight)])
    for step, loss in enumerate(losses):
        # From the first fault on everything is NaN, as in a real run.
        loss_is_bad = (kind == "loss" and step >= at) or (kind == "gradient" and step > at)
        weight.grad = torch.full((2,), math.nan if kind != "none" and step >= at else 1e30)
        signs.note(torch.tensor(math.nan if loss_is_bad else loss))
    if kind == "none":
        assert signs.read(several_processes=False) == losses
        assert signs.read(several_processes=False) == []
    else:
        cause = "the loss is nan" if kind == "loss" else "the gradient of 'weight' is nan"
        with pytest.raises(NonFiniteError, match=cause) as found:
            signs.read(several_processes=False)
        assert found.value.steps_ago == len(losses) - 1 - at


def test_the_parameters_that_have_a_gradient_may_change_from_step_to_step():
    parameters = {name: nn.Parameter(torch.zeros(2)) for name in ("first", "second", "third")}
    signs = VitalSigns(parameters.items())
    for with_gradient in (["second"], [], ["first", "second"], ["third"]):
        for name, parameter in parameters.items():
            parameter.grad = torch.ones(2) if name in with_gradient else None
        signs.note(torch.tensor(1.0))
    assert signs.read(several_processes=False) == [1.0] * 4
    for steps_ago in range(3):
        for parameter in parameters.values():
            parameter.grad = None
        signs.note(torch.tensor(1.0))
        parameters["third"].grad = torch.tensor([1.0, math.inf])
        signs.note(torch.tensor(1.0))
        for _ in range(steps_ago):
            # Other parameters by the time of the look: they are not blamed.
            parameters["first"].grad, parameters["third"].grad = torch.ones(2), None
            signs.note(torch.tensor(1.0))
        with pytest.raises(NonFiniteError, match="the gradient of 'third' is inf") as found:
            signs.read(several_processes=False)
        assert found.value.steps_ago == steps_ago


def test_sparse_gradients_and_parameters_without_elements():
    table, empty = nn.Embedding(5, 2, sparse=True, dtype=torch.float64), nn.Parameter(torch.empty(0))
    signs = VitalSigns([("empty", empty), ("table", table.weight)])
    for rows in (torch.tensor([1, 1, 3]), torch.tensor([], dtype=torch.int64)):
        table.zero_grad()
        (table(rows).sum() + empty.sum()).backward()
        signs.note(torch.tensor(1.0))
    assert signs.read(several_processes=False) == [1.0, 1.0]
    table.zero_grad()
    (math.inf * table(torch.tensor([2])).sum()).backward()
    signs.note(torch.tensor(1.0))
    with pytest.raises(NonFiniteError, match="the gradient of 'table' is inf"):
        signs.read(several_processes=False)


def test_large_finite_gradients_are_no_fault():
    weight = nn.Parameter(torch.zeros(1000))
    weight.grad = torch.full((1000,), 3e38)
    signs = VitalSigns([("weight", weight)])
    signs.note(torch.tensor(1.0))
    assert signs.read(several_processes=False) == [1.0]


def test_first_not_finite():
    assert first_not_finite([("a", torch.ones(2)), ("b", torch.tensor([1, 2])), ("c", "text")]) is None
    assert first_not_finite([("a", torch.ones(2)), ("b", torch.tensor([1.0, -math.inf]))]) == "b"


# --------------------------------------------------------------------------------------------------------------- data


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 100), st.integers(1, 9))
def test_blocks_cover_all_rows_once(n_rows, parts):
    blocks = [block_of(n_rows, part, parts) for part in range(parts)]
    assert [row for block in blocks for row in block] == list(range(n_rows))
    assert max(map(len, blocks)) - min(map(len, blocks)) <= 1


class Noise(Dataset):
    labels = torch.tensor([1, 0, 0, 0])

    def __len__(self):
        return 4

    def __getitem__(self, row):
        return torch.rand(()), self.labels[row]


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork")
def test_workers_draw_by_the_seed_and_leave_the_global_generator_alone():
    examples, before = as_examples(Noise(), "train"), torch.get_rng_state()

    def drawn(*seed):
        (inputs, _), *_ = examples.batches([[0, 1]], workers=1, seed=seed)
        return tuple(inputs.tolist())

    seeds = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), ()]
    assert len({drawn(*seed) for seed in seeds}) == len(seeds)
    assert drawn(0, 1, 0) == drawn(0, 1, 0)
    assert torch.equal(torch.get_rng_state(), before)


class Moved(torch.Tensor):
    def to(self, *args, **options):
        return options["non_blocking"]


def test_only_towards_an_accelerator_the_processor_does_not_wait():
    tensor = torch.zeros(2).as_subclass(Moved)
    assert on_device([tensor], torch.device("cpu")) == [False]
    assert on_device({"a": tensor}, torch.device("cuda")) == {"a": True}


class Pairs(Dataset):
    def __init__(self, pairs):
        self.pairs = list(pairs)

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, row):
        return self.pairs[row]


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 12), st.integers(0, 10), st.integers(0, 10))
def test_scores_of_rows(batch_size, start, length):
    inputs = torch.arange(10.0)[:, None]
    labels = torch.arange(10) % 2
    rows = range(start, min(start + length, 10))
    for data in ((inputs, labels), Pairs(zip(inputs, labels, strict=True))):
        examples = as_examples(data, "data")
        scores = scores_of(nn.Identity(), examples, batch_size=batch_size, rows=rows)
        assert scores.tolist() == [float(row) for row in rows]


def test_what_a_model_returns_is_checked():
    assert check_logit_count(torch.zeros(3, 1), 3).shape == (3,)
    with pytest.raises(TypeError, match=r"model must return a floating-point tensor of logits, got torch\.int64"):
        check_logit_count(torch.zeros(3, dtype=torch.int64), 3)
    with pytest.raises(TypeError, match="got tuple"):
        check_logit_count((torch.zeros(3),), 3)


def test_evaluation_of_given_scores():
    found = Evaluation.of(np.array([True, True, False, False]), [0.9, 0.6, 0.7, 0.1], Region(0.5, 0.5))
    assert found == Evaluation(tpauc=0.0, opauc=0.5, auc=0.75)


# ------------------------------------------------------------------------------------------------------------- signals


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


def test_every_one_is_noted_where_a_parent_hands_them_on():
    handed = []
    with StopSignals(handed.append, every_one=True) as stop:
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


# -------------------------------------------------------------------------------------------- random numbers, settings


def draw(generator):
    numbers = [random.random(), random.gauss(0, 1), np.random.random(), np.random.standard_normal()]  # noqa: NPY002
    return [*numbers, *torch.rand(3).tolist(), *torch.rand(3, generator=generator).tolist()]


def test_random_numbers_go_on_where_they_were_saved():
    generator = torch.Generator()
    with callers_random_state_kept():
        seed_all(generator, 7, 1)
        draw(generator)  # leaves the second half of a pair of Gaussian numbers behind
        state = random_state(generator)
        expected = draw(generator)
        draw(generator)
        set_random_state(state, generator)
        assert draw(generator) == expected
        seed_all(generator, 1, 7)
        assert draw(generator) != expected


def test_learning_rates():
    base = {"alpha": 0.3, "beta": 0.3, "epochs": 10}
    assert rate_factor(TrainConfig(**base, decay=0.9), 3) == 0.9**3
    assert rate_factor(TrainConfig(**base, schedule="constant"), 7) == 1.0
    cosine = TrainConfig(**base, schedule="cosine")
    assert [rate_factor(cosine, epoch) for epoch in (0, 5, 10)] == pytest.approx([1.0, 0.5, 0.0], abs=1e-15)


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


def test_torchrun_and_the_configuration_must_agree():
    launched = {"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "2"}
    _check_world_size(2, launched)
    _check_world_size(1, {"WORLD_SIZE": "2"})
    with pytest.raises(ValueError, match=r"torchrun has started 2 processes, but devices \* nodes is 1"):
        _check_world_size(1, launched)
