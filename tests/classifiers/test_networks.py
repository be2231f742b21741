"""Networks: banks of them, their training, and the average of the folds' networks."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from tpauc.classifiers._candidates import Scaling, validate_folds
from tpauc.classifiers.base import TrainingData
from tpauc.classifiers.network.network_trainer import FoldNetworks, ModuleTrainer
from tpauc.classifiers.network.networks import (
    GROUPS,
    ModuleBank,
    NetworkAverage,
    NetworkSettings,
    PerceptronBank,
    as_tensor,
    check_device,
    logits_in_parts,
    new_bank,
    smoothed_tpauc,
    train_cross_entropy,
    train_for_region,
    training,
)
from tpauc.metrics.area import tpauc_score
from tpauc.region import Region

REGION = Region(0.3, 0.3)
SHORT = NetworkSettings(steps=60, region_steps=10, folds=3)


def a_table(n=600, d=5, seed=0):
    """Positives lie in a ring: a network finds them, a linear scorer does not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.abs(np.hypot(X[:, 0], X[:, 1]) - 2.2) + 0.1 * rng.normal(size=n) < 0.3


def tensors(X, y):
    return as_tensor(X, "cpu"), torch.from_numpy(y).float()


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def a_network(d):
    return nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))


# -------------------------------------------------------------------------------------------------------------- banks


def same_networks(count=3, d=5):
    """Return a bank of perceptrons and a bank of modules with the same weights."""
    perceptrons, modules = PerceptronBank(count, d), ModuleBank(a_network, count, d)
    with torch.no_grad():
        for k, member in enumerate(modules.members):
            linear = [layer for layer in member if isinstance(layer, nn.Linear)]
            for layer, weight, bias in zip(linear, perceptrons.weights, perceptrons.biases, strict=True):
                layer.weight.copy_(weight[k].T)
                layer.bias.copy_(bias[k, 0])
    return perceptrons, modules


@pytest.mark.parametrize("shape", [(1, 7, 5), (3, 7, 5)], ids=["same rows", "own rows"])
def test_perceptrons_by_batched_products_are_networks_one_by_one(shape):
    perceptrons, modules = same_networks()
    x = torch.randn(shape, generator=seeded())
    torch.testing.assert_close(perceptrons(x), modules(x))
    assert perceptrons(x).shape == (3, 7)


def test_both_kinds_of_banks_train_alike():
    # In float64: Adam turns the rounding of tiny gradients into steps of a share of lr = 0.01.
    x, y = (values.double() for values in tensors(*a_table(200)))
    rows = [torch.arange(150), torch.arange(50, 200), torch.arange(200)]
    perceptrons, modules = (bank.double() for bank in same_networks())
    settings = NetworkSettings(steps=5, region_steps=3)
    for bank in (perceptrons, modules):
        generator = seeded(1)
        train_cross_entropy(bank, x, y, rows, [False, True, True], generator, settings)
        train_for_region(bank, x, y, rows, REGION, generator, settings)
    torch.testing.assert_close(perceptrons(x[None]), modules(x[None]), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("train", ["cross-entropy", "region"])
def test_a_network_knows_nothing_of_rows_that_are_not_its_own(train):
    x, y = tensors(*a_table(200))
    rows = [torch.arange(100), torch.arange(100, 200)]
    scores = []
    for labels in (y, torch.cat((y[:100], 1.0 - y[100:]))):
        bank, generator = new_bank(PerceptronBank, 2, x, seeded()), seeded(1)
        if train == "region":
            # As many batches of each class as before, or the first network would draw another order.
            settings = NetworkSettings(region_steps=4, region_batch=(500, 500))
            train_for_region(bank, x, labels, [rows[0], rows[0]], REGION, generator, settings)
        else:
            train_cross_entropy(bank, x, labels, rows, [True, True], generator, NetworkSettings(steps=10))
        scores.append(bank(x[None]).detach())
    assert torch.equal(scores[0][0], scores[1][0])
    assert torch.equal(scores[0][1], scores[1][1]) == (train == "region")


def test_first_weights_follow_from_the_generator_and_leave_the_global_one_alone():
    x = torch.zeros(4, 3)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first, again, other = (new_bank(PerceptronBank, 2, x, seeded(seed)).weights[0] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("draws", ["first weights", "training"])
def test_threads_do_not_share_random_numbers(draws):
    x = torch.zeros(4, 3)

    def slow(count, d):
        time.sleep(0.05)  # the others have seeded the generator by now, if they may
        return PerceptronBank(count, d)

    def numbers(seed):
        if draws == "first weights":
            return new_bank(slow, 2, x, seeded(seed)).weights[0].detach()
        with training(nn.Identity(), seeded(seed)):
            time.sleep(0.05)
            return torch.rand(3)

    torch.manual_seed(0)
    before = torch.get_rng_state()
    alone = [numbers(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(numbers, range(4)))
    torch.testing.assert_close(together, alone, rtol=0, atol=0)
    assert torch.equal(before, torch.get_rng_state())


def test_gpus_that_are_not_in_use_are_left_alone(monkeypatch):
    called = []
    for function in ("device_count", "get_rng_state", "set_rng_state", "manual_seed_all"):
        monkeypatch.setattr(torch.cuda, function, lambda *_, name=function: called.append(name) or 0)
    x = torch.zeros(4, 3)
    with training(new_bank(PerceptronBank, 1, x, seeded()), seeded()):
        torch.rand(1)
    assert called == []


def test_a_module_with_several_outputs_is_refused():
    with pytest.raises(ValueError, match="the output of model must have shape"):
        ModuleBank(lambda d: nn.Linear(d, 2), 1, 3)(torch.zeros(1, 5, 3))


def test_many_rows_in_parts():
    bank = PerceptronBank(2, 3)
    x = torch.randn(1, 10, 3, generator=seeded())
    torch.testing.assert_close(logits_in_parts(bank, x, most_rows=4), bank(x))
    average = NetworkAverage([bank], torch.ones(2))
    torch.testing.assert_close(logits_in_parts(average, x[0], most_rows=4), bank(x).sum(dim=0))


def test_an_average_is_made_again_from_its_state():
    banks = [PerceptronBank(2, 4, width=6), PerceptronBank(3, 4, width=6)]
    average = NetworkAverage(banks, torch.rand(5, generator=seeded()), offset=0.7)
    x = torch.randn(9, 4, generator=seeded())
    before = torch.get_rng_state()
    again = NetworkAverage.of_perceptrons(average.state_dict())
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(again(x), average(x))
    expected = sum(w * z for w, z in zip(average.weights, torch.cat([b(x[None]) for b in banks]), strict=True)) + 0.7
    torch.testing.assert_close(average(x), expected)


# ----------------------------------------------------------------------------------------------------------- training


def test_smoothed_tpauc_is_the_mean_over_hard_pairs():
    generator = seeded()
    positives = torch.randn(2, 20, generator=generator, dtype=torch.float64)
    negatives = torch.randn(2, 30, generator=generator, dtype=torch.float64)
    found = smoothed_tpauc(positives, negatives, Region(0.3, 0.2), 0.5)
    for k in range(2):
        hard_positives, hard_negatives = positives[k].sort().values[:6], negatives[k].sort().values[-6:]
        spread = sum(1.25 * (z - z.mean()).abs().mean() for z in (hard_positives, hard_negatives)) / 2
        margins = (hard_positives[:, None] - hard_negatives[None, :]) / (0.5 * spread)
        torch.testing.assert_close(found[k], margins.sigmoid().mean())
    # The sharper, the closer to the metric itself.
    labels = np.r_[np.ones(20), np.zeros(30)]
    metric = tpauc_score(labels, torch.cat((positives[0], negatives[0])).numpy(), alpha=0.3, beta=0.2)
    assert smoothed_tpauc(positives, negatives, Region(0.3, 0.2), 1e-5)[0].item() == pytest.approx(metric, abs=1e-3)


def test_equal_scores_give_one_half_and_finite_gradients():
    scores = torch.zeros(1, 6, requires_grad=True)
    value = smoothed_tpauc(scores[:, :2], scores[:, 2:], REGION, 0.2)
    value.sum().backward()
    assert value.item() == 0.5
    assert torch.isfinite(scores.grad).all()


def test_balanced_networks_score_rare_positives_higher():
    x, y = tensors(*a_table(400))
    bank = new_bank(PerceptronBank, 2, x, seeded())
    train_cross_entropy(bank, x, y, [torch.arange(400)] * 2, [False, True], seeded(1), SHORT)
    plain, balanced = bank(x[None]).detach().sigmoid().mean(dim=1)
    assert plain.item() == pytest.approx(y.mean().item(), abs=0.05)
    assert balanced.item() > plain.item() + 0.1


def test_the_region_is_climbed():
    X, y = a_table(1500)
    x, labels = tensors(X, y)
    bank = new_bank(PerceptronBank, 1, x, seeded())
    train_cross_entropy(bank, x, labels, [torch.arange(1500)], [False], seeded(1), NetworkSettings(steps=300))
    before = tpauc_score(y, bank(x[None])[0].detach().numpy(), alpha=0.3, beta=0.3)
    train_for_region(bank, x, labels, [torch.arange(1500)], REGION, seeded(2), NetworkSettings(region_steps=60))
    after = tpauc_score(y, bank(x[None])[0].detach().numpy(), alpha=0.3, beta=0.3)
    assert after > before + 0.02


# ------------------------------------------------------------------------------------------------------------ average


def fitted(X, y, make=PerceptronBank, settings=SHORT, region=REGION):
    strategy = FoldNetworks(make, settings, Scaling(standardize=False))
    return strategy.fit(TrainingData(X, y), region, np.random.default_rng(0))


def test_the_average_beats_its_parts_on_new_rows():
    X, y = a_table(2400)
    train, test = slice(0, 1200), slice(1200, None)
    settings = NetworkSettings(steps=200, region_steps=20, folds=5)
    average = fitted(X[train], y[train], settings=settings)
    x = as_tensor(X[test], "cpu")
    alone = torch.cat([logits_in_parts(bank, x[None]) for bank in average.scorer.module.banks]).numpy()
    values = [tpauc_score(y[test], z, alpha=0.3, beta=0.3) for z in alone]
    assert len(values) == 20
    assert tpauc_score(y[test], average.scorer(X[test]), alpha=0.3, beta=0.3) > np.mean(values)


def test_shares_and_held_out_logits():
    X, y = a_table()
    found = fitted(X, y)
    assert [candidate["name"] for candidate in found.candidates] == list(GROUPS)
    shares, values = ([candidate[key] for candidate in found.candidates] for key in ("share", "tpauc"))
    assert sum(shares) == pytest.approx(1.0)
    assert np.argmax(shares) == np.argmax(values)
    # Logits of a probability that is right on average.
    assert (1 / (1 + np.exp(-found.out_of_fold_scores))).mean() == pytest.approx(y.mean(), abs=0.01)


def test_held_out_rows_were_not_trained_on():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 4)), rng.random(300) < 0.3  # nothing to learn but the rows themselves
    found = fitted(X, y, settings=NetworkSettings(steps=800, folds=3))
    on_training_rows = found.scorer(X)
    assert tpauc_score(y, on_training_rows, alpha=1.0, beta=1.0) > 0.85
    # 90 positives and 210 negatives: a random score has a standard deviation of 0.037.
    assert tpauc_score(y, found.out_of_fold_scores, alpha=1.0, beta=1.0) < 0.5 + 3 * 0.037


def test_a_clearly_worse_group_counts_for_nothing():
    y = np.arange(4000) % 4 == 0
    rng = np.random.default_rng(0)
    good = 2 * y + rng.normal(size=4000)
    scores = np.column_stack((good, good, good, rng.normal(size=4000)))
    folds = np.arange(4000).reshape(5, 800)
    shares = validate_folds(y, scores, folds, Region(0.5, 0.5)).shares(NetworkSettings().standard_errors)
    assert shares == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0], abs=0.01)


def test_few_positives_and_a_normalising_module():
    X, y = a_table(80)
    y = y & (np.cumsum(y) <= 3)

    def make(d):
        return nn.Sequential(nn.Linear(d, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))

    found = fitted(X, y, make=lambda count, d: ModuleBank(make, count, d), region=Region(0.34, 0.3))
    assert np.isfinite(found.out_of_fold_scores).all()


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("region", ["cross_entropy", "balanced_cross_entropy", "region from plain", "region from balanced"]),
        ("cross_entropy", ["cross_entropy"]),
        ("balanced_cross_entropy", ["balanced_cross_entropy"]),
        ("square_auc", ["balanced_cross_entropy", "square_auc", "square_auc"]),
    ],
)
def test_candidates_of_one_training(method, names):
    X, y = a_table(200)
    trainer = ModuleTrainer(PerceptronBank, method, REGION, SHORT, epochs=2)
    candidates = trainer.train(TrainingData(X, y), np.random.default_rng(0))
    assert [candidate.name for candidate in candidates] == names
    scores = np.array([candidate.score(X) for candidate in candidates])
    assert len(np.unique(scores, axis=0)) == len(names)


def test_a_fold_of_equal_rows_does_not_decide_everything():
    """Rare flags: in some folds all held-out rows are equal, so a network gives them one logit."""
    rng = np.random.default_rng(1)
    X = (rng.random((400, 3)) < 0.01).astype(float)
    y = rng.random(400) < np.where(X.any(axis=1), 0.8, 0.1)
    with pytest.warns(UserWarning, match="could not be kept in one fold"):
        found = fitted(X, y)
    assert np.abs(found.out_of_fold_scores).max() < 100
    assert np.abs(found.scorer(X)).max() < 100


def test_dropout_follows_from_the_seed_and_leaves_global_random_numbers_alone():
    X, y = a_table(200)

    def make(d):
        return nn.Sequential(nn.Linear(d, 8), nn.Dropout(0.5), nn.Linear(8, 1))

    logits = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        logits.append(fitted(X, y, make=lambda count, d: ModuleBank(make, count, d)).out_of_fold_scores)
        drawn = torch.rand(1)
        torch.manual_seed(seed)
        assert torch.equal(drawn, torch.rand(1))
    np.testing.assert_array_equal(*logits)


@pytest.mark.parametrize("device", ["foo", "meta", "cuda:99"])
def test_a_device_that_torch_has_not_is_named(device):
    with pytest.raises(ValueError, match=f"device must be one that torch has here, such as 'cpu', got '{device}': "):
        check_device(device)


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")])
def test_a_device_may_be_text_or_an_object_of_torch(device):
    check_device(device)
