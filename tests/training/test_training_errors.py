"""What `fit` does when something goes wrong: NaN, signals, input that cannot be used."""

import os
import signal
import sys

import pytest
import torch
from torch import nn

from tpauc.losses.minimax import MinimaxTPAUCLoss
from tpauc.losses.tpauc_loss import SquareAUCLoss, WarmUp
from tpauc.losses.weighting import Polynomial
from tpauc.samplers import StratifiedBatchSampler
from tpauc.training import TrainingDivergedError, TrainingInterrupted, fit, load_checkpoint
from training_runs import jitter, network, problem, settings, train

TRAIN, VALIDATION = problem()


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


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
            # The root of 0 is 0, its derivative infinite; what comes out is finite.
            return value + torch.sqrt(0.0 * logits.sum())
        return value * float(self.what)


STEPS = len(StratifiedBatchSampler(TRAIN[1], 33, ratio=(1, 10)))


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
        state = load_checkpoint(error.checkpoint)["state"]
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_raises_and_the_run_goes_on_bit_equal(tmp_path, capsys, number):
    calls = []

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


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": print}, TypeError, "model must be a torch.nn.Module"),
        ({"model": nn.Identity()}, ValueError, "model has no parameter with requires_grad=True"),
        ({"loss": "square"}, TypeError, "loss must be a torch.nn.Module"),
        ({"config": {}}, TypeError, "config must be a TrainConfig, got dict"),
        ({"transform": 3}, TypeError, "transform must be callable, got 3"),
        ({"train": 3}, TypeError, r"train must be \(inputs, labels\)"),
        ({"validation": (VALIDATION[0], torch.ones(330))}, ValueError, "the labels of validation has no negative"),
        ({"config": settings(alpha=0.001)}, ValueError, "alpha=0.001 selects none of the"),
        ({"validation": None, "config": settings(patience=2)}, ValueError, "patience=2 needs validation data"),
        ({"loss": MinimaxTPAUCLoss(Polynomial(3.0))}, ValueError, "a MinimaxTPAUCLoss needs optimizer='minimax'"),
        (
            {"config": settings(optimizer="minimax")},
            ValueError,
            "optimizer='minimax' needs a MinimaxTPAUCLoss, found 0",
        ),
        ({"loss": nn.Linear(1, 1)}, ValueError, "loss has parameters that no optimizer here would move: weight, bias"),
        (
            {"loss": WarmUp(SquareAUCLoss(), SquareAUCLoss(), 1), "config": settings(warmup_epochs=1)},
            ValueError,
            "loss is a WarmUp already",
        ),
    ],
)
def test_fit_refuses(options, error, message):
    call = {
        "model": network(),
        "train": TRAIN,
        "validation": VALIDATION,
        "loss": SquareAUCLoss(),
        "config": settings(),
        **options,
    }
    with pytest.raises(error, match=message):
        fit(**call)


def test_a_data_set_of_something_else_than_pairs():
    class Triples:
        def __len__(self):
            return len(TRAIN[1])

        def __getitem__(self, row):
            return TRAIN[0][row], TRAIN[1][row], row

    with pytest.raises(TypeError, match=r"train must hold pairs \(input, label\), got 3 of"):
        fit(network(), Triples(), None, SquareAUCLoss(), settings())


@pytest.mark.parametrize(("module", "out"), [("lightning_fabric", None), ("tensorboard", "run")])
def test_a_missing_extra_is_named(monkeypatch, module, out):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tpauc\[train\]'"):
        train(out=out, tensorboard=True)
    assert not os.path.exists("run")
