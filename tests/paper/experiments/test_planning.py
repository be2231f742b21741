"""How long cells will take: from finished cells, or from steps that are timed."""

import pytest
import torch
from torch import nn

from paper_runs import folder, request, result
from tpauc.paper.data.datasets import load_splits
from tpauc.paper.experiments import table_folder
from tpauc.paper.experiments.cell_training import config_of
from tpauc.paper.experiments.table_folder import TableFolder, known_seconds
from tpauc.training.setup import make_sampler


def test_the_plan_knows_what_finished_cells_took():
    cell = request(epochs=30).cells()[0]
    assert known_seconds(cell, []) is None
    others = [result(method="CE-RW", seconds=600.0), result(subset=2, seconds=1.0)]
    assert known_seconds(cell, others) == 20.0
    assert known_seconds(cell, [*others, result(seconds=900.0)]) == 30.0
    assert known_seconds(cell, [result(threads=torch.get_num_threads() + 1)]) is None
    assert known_seconds(cell, [result(machine="another machine, 2 cores")]) is None
    assert known_seconds(cell, [result(recipe="strong")]) is None  # which scores each image twice


def test_the_plan_times_a_step_where_nothing_is_finished(tmp_path, data_dir):
    planned = folder(tmp_path, data_dir).plan(request(methods=("SqAUC", "Minmax-Poly"), epochs=5))
    assert [item.epochs_left for item in planned] == [5, 5]
    assert all(item.seconds > 0.0 for item in planned)
    assert not list(tmp_path.iterdir())


class Clocked(nn.Module):
    """Takes a second for a step of training and a hundred to score a batch, by a clock of its own."""

    def __init__(self, clock):
        super().__init__()
        self.weight, self.clock = nn.Parameter(torch.ones(1)), clock

    def forward(self, images):
        self.clock.now += 1.0 if self.training else 100.0 * len(images) / 256
        return images.float().mean(dim=(1, 2, 3)) * self.weight


class Clock:
    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.mark.parametrize(
    ("method", "recipe", "scored"),
    [
        ("SqAUC", "paper", "validation test"),
        ("SqAUC", "strong", "validation test validation test"),  # and the mirror images
        ("TruncTPAUC", "paper", "validation test train"),
    ],
)
def test_the_plan_counts_steps_and_scoring(tmp_path, data_dir, monkeypatch, method, recipe, scored):
    clock = Clock()
    monkeypatch.setattr(table_folder, "time", clock)
    table = TableFolder(tmp_path, data_dir, backbone=lambda: Clocked(clock))
    (planned,) = table.plan(request(methods=(method,), recipe=recipe, epochs=3), say=lambda line: None)
    splits = load_splits("cifar10-lt", subset=1, data_dir=data_dir)
    config = config_of(planned.cell, None, progress=False)
    steps = len(make_sampler(splits.train[1].numpy(), config))
    images = sum(len(getattr(splits, part)[1]) for part in scored.split())
    assert planned.seconds == pytest.approx(3 * (steps + 100.0 * images / 256))
