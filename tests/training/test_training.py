"""`fit` and `evaluate` in one process: what is trained, measured, kept, and refused."""

import csv
import json
import math
import random

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.utils.data import Dataset, TensorDataset

from tpauc.losses.baselines import ReweightedCrossEntropy
from tpauc.losses.minimax import MinimaxTPAUCLoss, descent_ascent
from tpauc.losses.rank_weighting import Anchored
from tpauc.losses.tpauc_loss import SquareAUCLoss, TPAUCLoss, WarmUp
from tpauc.losses.weighting import Exponential, Polynomial
from tpauc.metrics.area import tpauc_score
from tpauc.samplers import StratifiedBatchSampler
from tpauc.training import TrainConfig, evaluate, fit, load_checkpoint
from training_runs import network, problem, settings, train

TRAIN, VALIDATION = problem()


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


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


def test_ratio_none_keeps_the_ratio_of_the_data():
    shares = []

    class Watch(SquareAUCLoss):
        def forward(self, logits, labels):
            shares.append(int(labels.sum()))
            return super().forward(logits, labels)

    train(loss=Watch(), ratio=None, epochs=1)
    assert set(shares) == {round(33 * float(TRAIN[1].float().mean()))}


def test_transform_draws_from_a_generator_of_the_run():
    first, again, other = train(), train(), train(seed=1)
    assert torch.equal(weights(first.model), weights(again.model))
    assert not torch.equal(weights(first.model), weights(other.model))
    assert not torch.equal(weights(first.model), weights(train(transform=None).model))


class Pairs(Dataset):
    """The data, example by example; each read draws on the global generators if ``noisy``."""

    def __init__(self, data, *, labelled=False, noisy=False):
        self.inputs, self.targets = data
        self.noisy = noisy
        if labelled:
            self.labels = self.targets.tolist()

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, row):
        noise = 0.0
        if self.noisy:
            noise = 0.1 * (torch.randn(()) + random.gauss(0, 1) + np.random.standard_normal())  # noqa: NPY002
        return self.inputs[row] + noise, self.targets[row]


@pytest.mark.parametrize(("workers", "labelled"), [(0, False), (0, True), (2, False)])
def test_a_data_set_trains_like_its_tensors(workers, labelled):
    config = settings(epochs=2, workers=workers)
    tensors = fit(network(dropout=False), TRAIN, VALIDATION, SquareAUCLoss(), config)
    pairs = Pairs(TRAIN, labelled=labelled), Pairs(VALIDATION, labelled=labelled)
    from_pairs = fit(network(dropout=False), *pairs, SquareAUCLoss(), config)
    from_tensor_data_sets = fit(
        network(dropout=False), TensorDataset(*TRAIN), TensorDataset(*VALIDATION), SquareAUCLoss(), config
    )
    for result in (from_pairs, from_tensor_data_sets):
        assert torch.equal(weights(result.model), weights(tensors.model))
        assert [row["tpauc"] for row in result.history] == [row["tpauc"] for row in tensors.history]


class Noise(Pairs):
    def __getitem__(self, row):
        return torch.randn(4), self.targets[row]


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork")
def test_workers_draw_other_numbers_in_every_epoch_and_with_every_seed():
    first_of_epoch = []

    def noted(inputs, generator):
        batches.append(inputs)
        return inputs

    for seed in (0, 1):
        batches = []
        fit(
            network(),
            Noise(TRAIN, labelled=True),
            None,
            SquareAUCLoss(),
            settings(seed=seed, workers=1),
            transform=noted,
        )
        first_of_epoch += [batches[epoch * len(batches) // 4][0].tolist() for epoch in range(4)]
    assert len({tuple(numbers) for numbers in first_of_epoch}) == 8


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


class OfMappings(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)

    def forward(self, inputs):
        return self.linear(inputs["table"])


class Mappings(Pairs):
    def __getitem__(self, row):
        return {"table": self.inputs[row]}, self.targets[row]


def test_inputs_may_be_mappings_of_tensors():
    result = fit(OfMappings(), Mappings(TRAIN), Mappings(VALIDATION), SquareAUCLoss(), settings(epochs=1))
    assert 0.0 < result.history[0]["tpauc"] < 1.0


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


# ---------------------------------------------------------------------------------------------------- what is measured


def test_evaluate_is_exact():
    model = network()
    with torch.no_grad():
        scores = model.eval()(VALIDATION[0])[:, 0].numpy()
    model.train()
    for batch_size in (1, 7, 10_000):
        found = evaluate(model, VALIDATION, alpha=0.4, beta=0.3, batch_size=batch_size)
        # A matrix product may round differently for another number of rows; the ranking is the same but for ties.
        assert found.tpauc == pytest.approx(tpauc_score(VALIDATION[1], scores, alpha=0.4, beta=0.3), abs=1e-12)
        assert found.auc == pytest.approx(roc_auc_score(VALIDATION[1], scores), abs=1e-12)
    assert model.training


def test_evaluate_leaves_every_submodule_in_its_mode():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    model[1].eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    evaluate(model, VALIDATION, alpha=0.5, beta=0.5)
    assert [module.training for module in model] == [True, False, True]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": "net"}, TypeError, "model must be a torch.nn.Module, got 'net'"),
        ({"data": VALIDATION[0]}, TypeError, r"data must be \(inputs, labels\) or a map-style Dataset, got Tensor"),
        ({"data": (VALIDATION[0], VALIDATION[1][:-1])}, ValueError, "data must have as many labels as inputs"),
        ({"data": (VALIDATION[0][:0], VALIDATION[1][:0])}, ValueError, "data must hold at least one example"),
        ({"data": (VALIDATION[0],) * 3}, TypeError, "data must be two tensors"),
        ({"alpha": 0.0}, ValueError, r"alpha must be a share in \(0, 1\]"),
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1"),
        ({"model": nn.Linear(4, 2)}, ValueError, r"the output of model must have shape \(n,\) or \(n, 1\)"),
        ({"model": nn.Flatten(0)}, ValueError, "model must return one logit for each of 330 inputs"),
        ({"data": (VALIDATION[0], torch.zeros(330))}, ValueError, "the labels of data has no positive example"),
        (
            {"data": (VALIDATION[0], VALIDATION[1] * 2)},
            ValueError,
            "the labels of data must hold only 0/1 or only -1/1",
        ),
    ],
)
def test_evaluate_refuses(options, error, message):
    call = {"model": nn.Linear(4, 1), "data": VALIDATION, "alpha": 0.5, "beta": 0.5, **options}
    with pytest.raises(error, match=message):
        evaluate(call.pop("model"), call.pop("data"), **call)


# -------------------------------------------------------------------------------------------------------- what is kept


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


def test_of_equally_good_models_the_first_is_kept():
    data = (torch.tensor([[3.0], [2.0], [1.0], [0.0]]), torch.tensor([1, 1, 0, 0]))
    model = nn.Linear(1, 1)
    nn.init.ones_(model.weight)
    config = settings(epochs=3, batch_size=4, ratio=(1, 1))
    result = fit(model, data, data, SquareAUCLoss(), config)
    assert [row["tpauc"] for row in result.history] == [1.0, 1.0, 1.0]
    assert result.best_epoch == 1


def test_without_validation_the_last_model_is_kept():
    result = fit(network(), TRAIN, None, SquareAUCLoss(), settings())
    assert (result.best_epoch, result.best, result.folder, result.ended) == (None, None, None, "epochs")
    assert set(result.history[0]) == {"epoch", "step", "loss", "lr", "seconds"}


def test_patience():
    result = train(lr=1e-9, patience=2, epochs=10)
    assert result.ended == "patience"
    assert len(result.history) == result.best_epoch + 2


def test_time_limit_and_more_time(tmp_path):
    short = train(out=tmp_path, epochs=4, time_limit=1e-9)
    assert (short.ended, short.history, short.best_epoch) == ("time limit", [], None)
    longer = train(out=tmp_path, epochs=4, time_limit=1e9)
    assert (longer.ended, len(longer.history)) == ("epochs", 4)
    assert torch.equal(weights(longer.model), weights(train(epochs=4).model))


def test_time_limit_within_an_epoch():
    calls = []

    def late(inputs, generator):
        calls.append(len(inputs))
        return inputs

    class Clock:
        def __call__(self):
            return 1000.0 * len(calls)

    # The limit is reached at step 3 of the first epoch, by the clock alone.
    from tpauc.training import loop, pacing

    def with_clock(*args, **kwargs):
        return pacing.Pace(*args, **kwargs, clock=Clock())

    original = loop.Pace
    loop.Pace = with_clock
    try:
        result = train(transform=late, time_limit=2500.0)
    finally:
        loop.Pace = original
    assert (result.ended, len(calls), result.history) == ("time limit", 3, [])


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
