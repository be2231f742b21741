"""What `tpauc.fit` costs over the same loop written by hand in plain PyTorch, on one thread, within one run.

    python benchmarks/overhead.py            both comparisons, a few minutes
    python benchmarks/overhead.py --quick    few steps: does it run?

Both train on the same batches with the same loss and optimiser, and measure TPAUC, OPAUC and AUC on the same validation
data after each epoch. `fit` does all it does by default besides: it watches for NaN, writes checkpoints, CSV and
TensorBoard files to a folder, and computes the three risks. Times are those of whole runs.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import copy
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from record import Measurement, Row, at_most, print_header, print_row, row_of
from timing import alternating_best
from tpauc import Polynomial, TPAUCLoss, auc_score, opauc_score, tpauc_score
from tpauc.samplers import StratifiedBatchSampler
from tpauc.training import TrainConfig, fit

BY_HAND = "loop by hand"


class Problem(NamedTuple):
    """A model and data to train it on."""

    make_model: Callable[[], nn.Module]
    train: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]
    config: TrainConfig


def train_by_hand(problem: Problem) -> None:
    (inputs, labels), (validation_inputs, validation_labels) = problem.train, problem.validation
    config, model, loss_of = problem.config, problem.make_model(), TPAUCLoss(Polynomial(3.0))
    optimizer = torch.optim.SGD(
        model.parameters(), lr=config.lr, momentum=0.9, nesterov=True, weight_decay=config.weight_decay
    )
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, config.decay)
    sampler = StratifiedBatchSampler(labels, config.batch_size, ratio=config.ratio)
    best, best_weights = -1.0, None
    for _ in range(config.epochs):
        model.train()
        for rows in map(torch.tensor, sampler):
            optimizer.zero_grad()
            loss_of(model(inputs[rows]), labels[rows]).backward()
            optimizer.step()
        schedule.step()
        model.eval()
        with torch.no_grad():
            scores = torch.cat([model(part) for part in validation_inputs.split(config.eval_batch_size)]).numpy()
        tpauc = tpauc_score(validation_labels, scores, alpha=config.alpha, beta=config.beta)
        opauc_score(validation_labels, scores, beta=config.beta)
        auc_score(validation_labels, scores)
        if tpauc > best:
            best, best_weights = tpauc, copy.deepcopy(model.state_dict())
    model.load_state_dict(best_weights)


def train_by_fit(problem: Problem) -> None:
    # Every round begins anew: it must not find the finished run of the one before.
    shutil.rmtree(problem.config.out, ignore_errors=True)
    fit(problem.make_model(), problem.train, problem.validation, TPAUCLoss(Polynomial(3.0)), problem.config)


def compare(problem: Problem) -> Measurement:
    ours, by_hand = alternating_best(partial(train_by_fit, problem), partial(train_by_hand, problem))
    return Measurement((ours, by_hand))


# ------------------------------------------------------------------------------------------------------- the problems


def two_layers(out: str, *, quick: bool) -> Problem:
    rows, epochs = (4_000, 1) if quick else (60_000, 10)
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(rows + 5_000, 32, generator=generator)
    labels = inputs[:, 0] + torch.randn(rows + 5_000, generator=generator) > 1.9
    return Problem(
        lambda: nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)),
        (inputs[:rows], labels[:rows]),
        (inputs[rows:], labels[rows:]),
        TrainConfig(alpha=0.3, beta=0.3, epochs=epochs, batch_size=512, lr=0.01, out=out, progress=False),
    )


def resnet20(out: str, *, quick: bool) -> Problem:
    rows = 256 if quick else 640
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(rows, 3, 32, 32, generator=generator)
    labels = torch.arange(rows) % 11 == 0
    return Problem(
        ResNet20,
        (inputs, labels),
        (inputs[:128], labels[:128]),
        TrainConfig(alpha=0.3, beta=0.3, epochs=1, batch_size=128, lr=0.01, out=out, progress=False),
    )


class ResNet20(nn.Module):
    """Three stages of three residual blocks, 16, 32 and 64 channels wide."""

    def __init__(self) -> None:
        super().__init__()
        widths = [16] * 4 + [32] * 3 + [64] * 3
        blocks = [Block(before, after) for before, after in pairwise(widths)]
        self.layers = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            *blocks,
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(64, 1),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Return a logit for each image."""
        return self.layers(images)


class Block(nn.Module):
    """Two convolutions beside a shortcut; where the width doubles, the image is halved."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        stride = after // before
        self.straight = nn.Sequential(
            nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
        )
        self.shortcut = nn.Identity() if stride == 1 else nn.Conv2d(before, after, 1, stride=stride, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        """Return the sum of both paths, rectified."""
        return torch.relu(self.straight(images) + self.shortcut(images))


def comparisons(out: str, *, quick: bool) -> list[Row]:
    rows = []
    for what, problem, required in (
        ("two layers of width 32, batch 512", two_layers(out, quick=quick), at_most(1.2)),
        ("ResNet-20, batch 128", resnet20(out, quick=quick), at_most(1.03)),
    ):
        rows.append(row_of(what, len(problem.train[1]), BY_HAND, required, partial(compare, problem)))
        print_row(rows[-1])
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Time tpauc.fit against the same loop written by hand.")
    parser.add_argument("--quick", action="store_true", help="few steps")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    print_header()
    with tempfile.TemporaryDirectory() as folder:
        rows = comparisons(os.path.join(folder, "run"), quick=options.quick)
    return 0 if options.quick or all(row.reached == "yes" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
