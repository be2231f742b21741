"""Data by row: tensors, data sets, workers, mappings."""

import pytest
import torch
from torch import nn
from torch.utils.data import Dataset, TensorDataset

from tpauc.losses.tpauc_loss import SquareAUCLoss
from tpauc.training.data import as_examples, on_device
from tpauc.training.fitting import fit
from training_runs import Pairs, network, problem, settings, weights

TRAIN, VALIDATION = problem()


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


class NoisyPairs(Pairs):
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
            NoisyPairs(TRAIN, labelled=True),
            None,
            SquareAUCLoss(),
            settings(seed=seed, workers=1),
            transform=noted,
        )
        first_of_epoch += [batches[epoch * len(batches) // 4][0].tolist() for epoch in range(4)]
    assert len({tuple(numbers) for numbers in first_of_epoch}) == 8


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


def test_a_data_set_of_something_else_than_pairs():
    class Triples:
        def __len__(self):
            return len(TRAIN[1])

        def __getitem__(self, row):
            return TRAIN[0][row], TRAIN[1][row], row

    with pytest.raises(TypeError, match=r"train must hold pairs \(input, label\), got 3 of"):
        fit(network(), Triples(), None, SquareAUCLoss(), settings())
