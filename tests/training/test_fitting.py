"""`fit` in one process: what is trained, kept, and refused."""

import csv
import json
import math
import os
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from tpauc.losses.baselines import ReweightedCrossEntropy
from tpauc.losses.instancewise import InstanceWiseTPAUCLoss
from tpauc.losses.minimax import MinimaxTPAUCLoss, descent_ascent
from tpauc.losses.rank_weighting import Anchored
from tpauc.losses.tpauc_loss import SquareAUCLoss, TPAUCLoss, WarmUp
from tpauc.losses.weighting import Exponential, Polynomial
from tpauc.samplers import StratifiedBatchSampler
from tpauc.training import TrainConfig, evaluate, fit, load_checkpoint
from training_runs import Pairs, network, problem, settings, train, weights

TRAIN, VALIDATION = problem()


# ------------------------------------------------------------------------------------------------------ what is trained


def train_by_hand(loss, optimizer, model, epochs):
    """Run the loop of `fit`, written out, and return the mean loss of each epoch."""
    inputs, labels = TRAIN
    first_rates = [group["lr"] for group in optimizer.param_groups]
    sampler = StratifiedBatchSampler(labels, 33, ratio=(1, 10), seed=0)
    means = []
    for epoch in range(epochs):
        for group, rate in zip(optimizer.param_groups, first_rates, strict=True):
            group["lr"] = rate * 0.99**epoch
        values = []
        for rows in sampler:
            optimizer.zero_grad()
            value = loss(model(inputs[rows]), labels[rows])
            value.backward()
            optimizer.step()
            values.append(value.item())
        means.append(sum(values) / len(values))
    return means


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("sgd", lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-5)),
        ("adam", lambda p: torch.optim.Adam(p, lr=0.05, weight_decay=1e-5)),
        ("adamw", lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=1e-5)),
    ],
)
def test_fit_is_the_plain_loop_bit_for_bit(name, make):
    by_hand, loss = network(dropout=False), TPAUCLoss(Exponential(5.0))
    means = train_by_hand(loss, make(by_hand.parameters()), by_hand, 3)
    result = fit(network(dropout=False), TRAIN, None, loss, settings(epochs=3, optimizer=name))
    assert torch.equal(weights(result.model), weights(by_hand))
    assert [row["loss"] for row in result.history] == means


def test_minimax_is_descent_ascent_bit_for_bit():
    by_hand, loss = network(dropout=False), MinimaxTPAUCLoss(Polynomial(3.0), start="batch")
    optimizer = descent_ascent(by_hand, loss, lr=0.05, dual_lr=0.2, momentum=0.9, weight_decay=1e-5, nesterov=True)
    train_by_hand(loss, optimizer, by_hand, 3)
    other = MinimaxTPAUCLoss(Polynomial(3.0), start="batch")
    config = settings(epochs=3, optimizer="minimax", dual_lr=0.2)
    result = fit(network(dropout=False), TRAIN, None, other, config)
    assert torch.equal(weights(result.model), weights(by_hand))
    assert torch.equal(other.a, loss.a)
    assert torch.equal(other.b, loss.b)


def test_hard_examples_are_trained_on_after_the_warm_up():
    seen = []

    def watch(inputs, generator):
        seen.append(inputs)
        return inputs

    options = {"hard_examples": "both", "warmup_epochs": 1, "epochs": 2, "ratio": None}
    result = train(transform=watch, loss=SquareAUCLoss(), **options)
    steps = [row["step"] for row in result.history]
    first, second = torch.cat(seen[: steps[0]]), torch.cat(seen[steps[0] :])
    n_positive = int(TRAIN[1].sum())
    assert len(torch.unique(first, dim=0)) == len(TRAIN[1])
    assert len(torch.unique(second, dim=0)) == n_positive // 2 + (len(TRAIN[1]) - n_positive) // 2


def test_transform_draws_from_a_generator_of_the_run():
    first, again, other = train(), train(), train(seed=1)
    assert torch.equal(weights(first.model), weights(again.model))
    assert not torch.equal(weights(first.model), weights(other.model))
    assert not torch.equal(weights(first.model), weights(train(transform=None).model))


def normalised():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 1)))


@pytest.mark.parametrize("frozen", [False, True])
def test_a_part_in_evaluation_mode_stays_in_it(frozen):
    model = normalised()
    model[2][0].train(not frozen)
    fit(model, TRAIN, VALIDATION, SquareAUCLoss(), settings(epochs=2))
    assert model[1].num_batches_tracked > 0
    assert (model[2][0].num_batches_tracked > 0) == (not frozen)
    assert [part.training for part in (model, model[1], model[2], model[2][0])] == [True, True, True, not frozen]


def test_a_model_in_evaluation_mode_is_trained_as_a_whole():
    model = normalised().eval()
    fit(model, TRAIN, VALIDATION, SquareAUCLoss(), settings(epochs=1))
    assert model[1].num_batches_tracked > 0
    assert model[2][0].num_batches_tracked > 0


@pytest.mark.parametrize("precision", ["32-true", "64-true", "bf16-mixed"])
@pytest.mark.parametrize("minimax", [False, True])
def test_precisions(precision, minimax):
    loss = MinimaxTPAUCLoss(Polynomial(3.0)) if minimax else TPAUCLoss(Anchored(0.5, 0.5))
    result = train(loss=loss, transform=None, precision=precision, optimizer="minimax" if minimax else "sgd", epochs=2)
    expected = torch.float64 if precision == "64-true" else torch.float32
    assert {parameter.dtype for parameter in result.model.parameters()} == {expected}
    assert len(result.history) == 2


@pytest.mark.parametrize(
    "loss", [TPAUCLoss(Anchored(0.5, 0.5)), TPAUCLoss(Polynomial(3.0), surrogate="logistic"), ReweightedCrossEntropy()]
)
def test_any_loss_has_its_risks_logged(loss):
    row = train(loss=loss, epochs=1).history[0]
    assert row["truncated_risk"] >= row["zero_one_risk"] > 0.0
    assert math.isfinite(row["relaxed_risk"])


# --------------------------------------------------------------------------------------------------------- what is kept


def test_the_best_model_is_kept_and_the_files_say_so(tmp_path):
    result = train(out=tmp_path / "run", epochs=6, lr=0.5, tensorboard=True)
    tpauc = [row["tpauc"] for row in result.history]
    assert result.best_epoch == 1 + tpauc.index(max(tpauc))
    assert result.best == result.history[result.best_epoch - 1]
    assert evaluate(result.model, VALIDATION, alpha=0.5, beta=0.5).tpauc == max(tpauc)
    best = load_checkpoint(result.folder.best)
    assert best["epoch"] == result.best_epoch
    assert all(torch.equal(best["model"][name], value) for name, value in result.model.state_dict().items())
    with open(result.folder.history) as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    assert rows == result.history
    assert TrainConfig.from_json(result.folder.config.read_text()) == settings(
        out=str(tmp_path / "run"), epochs=6, lr=0.5, tensorboard=True
    )
    assert len(list((tmp_path / "run" / "tensorboard").iterdir())) == 1
    assert not list((tmp_path / "run").glob("*.tmp"))


def test_of_equally_good_models_the_one_with_the_lowest_loss_is_kept():
    data = (torch.tensor([[3.0], [2.0], [1.0], [0.0]]), torch.tensor([1, 1, 0, 0]))
    model = nn.Linear(1, 1)
    nn.init.ones_(model.weight)
    config = settings(epochs=3, batch_size=4, ratio=(1, 1))
    result = fit(model, data, data, SquareAUCLoss(), config)
    assert [row["tpauc"] for row in result.history] == [1.0, 1.0, 1.0]
    losses = [row["loss"] for row in result.history]
    assert result.best_epoch == 1 + losses.index(min(losses)) > 1


def train_outside_the_region(out, **options):
    """Train on data whose hardest positive is below and whose hardest negative is above all else: TPAUC stays 0."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(300) % 3 == 0
    inputs = torch.randn(300, 2, generator=generator) + 1.5 * labels[:, None]
    inputs[0], inputs[1] = -9.0, 9.0
    model = nn.Linear(2, 1)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, -1.0]]))
        model.bias.zero_()
    config = settings(alpha=0.015, beta=0.0075, lr=0.05, ratio=(1, 2), out=out, **options)
    return fit(model, (inputs, labels), (inputs, labels), SquareAUCLoss(), config)


def test_where_no_epoch_reaches_the_region_the_best_auc_is_kept(tmp_path, capsys):
    result = train_outside_the_region(tmp_path, epochs=5, progress=True)
    assert {row["tpauc"] for row in result.history} == {0.0}
    keys = [(row["opauc"], row["auc"]) for row in result.history]
    assert result.best_epoch == 1 + keys.index(max(keys)) > 1
    assert load_checkpoint(result.folder.best)["epoch"] == result.best_epoch
    assert f"(region not reached; best by OPAUC and AUC: epoch {result.best_epoch})" in capsys.readouterr().err


def test_a_resumed_run_outside_the_region_keeps_the_same_epoch(tmp_path):
    straight = train_outside_the_region(tmp_path / "straight", epochs=5)
    train_outside_the_region(tmp_path / "resumed", epochs=3)
    resumed = train_outside_the_region(tmp_path / "resumed", epochs=5)
    assert resumed.best_epoch == straight.best_epoch > 3
    assert torch.equal(weights(resumed.model), weights(straight.model))


def test_without_validation_the_last_model_is_kept():
    result = fit(network(), TRAIN, None, SquareAUCLoss(), settings())
    assert (result.best_epoch, result.best, result.folder, result.ended) == (None, None, None, "epochs")
    assert set(result.history[0]) == {"epoch", "step", "loss", "lr", "seconds"}


def test_threads_give_what_one_gives():
    """Dropout draws from torch's global generator, which the threads share."""
    start = threading.Barrier(2)

    def trained(together):
        inputs, labels = TRAIN
        model = nn.Sequential(nn.Dropout(0.5), nn.Linear(inputs.shape[1], 1))
        with torch.no_grad():
            model[1].weight.fill_(0.1)
            model[1].bias.zero_()
        if together:
            start.wait(timeout=60)
        fit(model, (inputs, labels), None, SquareAUCLoss(), settings(epochs=3))
        return model[1].weight.detach().clone()

    alone = trained(together=False)
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(trained, [True, True]):
            assert torch.equal(found, alone)


def test_the_callers_random_numbers_are_left_alone():
    model = network()
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    python, numpy = random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    fit(model, Pairs(TRAIN, noisy=True), VALIDATION, SquareAUCLoss(), settings(epochs=1))
    assert torch.equal(torch.rand(2), expected)
    assert random.getstate() == python
    assert np.array_equal(np.random.get_state()[1], numpy)  # noqa: NPY002


def test_config_file_is_plain_json(tmp_path):
    train(out=tmp_path, epochs=1)
    assert json.loads((tmp_path / "config.json").read_text())["batch_size"] == 33


# ------------------------------------------------------------------------------------------------------ what is refused


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
        (
            {"loss": MinimaxTPAUCLoss(Polynomial(3.0))},
            ValueError,
            "loss has a MinimaxTPAUCLoss, which needs",
        ),
        ({"loss": InstanceWiseTPAUCLoss(0.3, 0.3)}, ValueError, "loss has a InstanceWiseTPAUCLoss, which needs"),
        (
            {"config": settings(optimizer="minimax")},
            ValueError,
            "optimizer='minimax' needs a MinimaxTPAUCLoss or an InstanceWiseTPAUCLoss, found 0",
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


@pytest.mark.parametrize(("module", "out"), [("lightning_fabric", None), ("tensorboard", "run")])
def test_a_missing_extra_is_named(monkeypatch, module, out):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tpauc\[train\]'"):
        train(out=out, tensorboard=True)
    assert not os.path.exists("run")
