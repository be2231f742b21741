"""What `TrainConfig` names becomes the right loss, learning rate, sampler and Fabric."""

import math

import pytest
import torch

from tpauc.losses.minimax import MinimaxTPAUCLoss
from tpauc.losses.tpauc_loss import SquareAUCLoss, TPAUCLoss, WarmUp
from tpauc.losses.weighting import Polynomial
from tpauc.training.config import TrainConfig
from tpauc.training.fitting import fit
from tpauc.training.setup import _check_world_size, rate_factor
from training_runs import network, problem, settings, train, weights

TRAIN, _ = problem()


@pytest.mark.parametrize("optimizer", ["sgd", "minimax"])
def test_warm_up_epochs_optimise_the_auc_first(optimizer):
    def make(kind):
        return MinimaxTPAUCLoss(Polynomial(3.0)) if kind == "minimax" else TPAUCLoss(Polynomial(3.0))

    by_config = fit(network(), TRAIN, None, make(optimizer), settings(warmup_epochs=2, optimizer=optimizer))
    by_loss = WarmUp(SquareAUCLoss(), make(optimizer), 2)
    by_hand = fit(network(), TRAIN, None, by_loss, settings(optimizer=optimizer))
    without = fit(network(), TRAIN, None, make(optimizer), settings(optimizer=optimizer))
    assert torch.equal(weights(by_config.model), weights(by_hand.model))
    assert not torch.equal(weights(by_config.model), weights(without.model))


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("exponential", [0.1, 0.05, 0.025, 0.0125]),
        ("cosine", [0.1 * (1 + math.cos(math.pi * epoch / 4)) / 2 for epoch in range(4)]),
        ("constant", [0.1] * 4),
    ],
)
def test_schedules(schedule, rates):
    result = train(lr=0.1, decay=0.5, schedule=schedule)
    assert [row["lr"] for row in result.history] == pytest.approx(rates, rel=1e-12)


def test_learning_rates():
    base = {"alpha": 0.3, "beta": 0.3, "epochs": 10}
    assert rate_factor(TrainConfig(**base, decay=0.9), 3) == 0.9**3
    assert rate_factor(TrainConfig(**base, schedule="constant"), 7) == 1.0
    cosine = TrainConfig(**base, schedule="cosine")
    assert [rate_factor(cosine, epoch) for epoch in (0, 5, 10)] == pytest.approx([1.0, 0.5, 0.0], abs=1e-15)


def test_ratio_none_keeps_the_ratio_of_the_data():
    shares = []

    class Watch(SquareAUCLoss):
        def forward(self, logits, labels):
            shares.append(int(labels.sum()))
            return super().forward(logits, labels)

    train(loss=Watch(), ratio=None, epochs=1)
    assert set(shares) == {round(33 * float(TRAIN[1].float().mean()))}


def test_torchrun_and_the_configuration_must_agree():
    launched = {"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "2"}
    _check_world_size(2, launched)
    _check_world_size(1, {"WORLD_SIZE": "2"})
    with pytest.raises(ValueError, match=r"torchrun has started 2 processes, but devices \* nodes is 1"):
        _check_world_size(1, launched)
