"""What the input pipeline of the paper costs beside the training step that it feeds, on one thread, within one run.

    python benchmarks/image_pipeline.py            both backbones, about half a minute
    python benchmarks/image_pipeline.py --quick    few rounds: does it run?

The pipeline draws a stratified batch of 128, takes its images (bytes in memory for CIFAR, JPEG files for
Tiny-ImageNet) and augments them. The step is forward, loss, backward and optimiser. The images are noise of the right
size: what they show takes no time. On two threads the step can at best take half the time, and the pipeline at worst as
long as on one: at most 0.05x here is at most 0.10x there.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

import timing
from record import Measurement, Row, at_most, print_header, print_row, row_of
from tpauc import Polynomial, TPAUCLoss
from tpauc.paper.data.image_files import TinyImages
from tpauc.paper.experiments.backbones import resnet18, resnet20
from tpauc.paper.experiments.recipes import Augment
from tpauc.samplers import StratifiedBatchSampler
from tpauc.training.data import Data, as_examples

BATCH = 128
REQUIRED = at_most(0.10)


def batches(data: Data, labels: Tensor) -> Iterator[tuple[Any, Tensor]]:
    """Yield augmented batches without end, as `tpauc.fit` makes them."""
    examples, augment, generator = as_examples(data, "train"), Augment(), torch.Generator().manual_seed(0)
    sampler = StratifiedBatchSampler(labels, BATCH)
    while True:
        for images, batch_labels in examples.batches(sampler):
            yield augment(images, generator), batch_labels


def training_step(model: nn.Module, images: Tensor, labels: Tensor) -> Callable[[], None]:
    loss_of = TPAUCLoss(Polynomial(3.0))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, nesterov=True, weight_decay=1e-5)

    def step() -> None:
        optimizer.zero_grad()
        loss_of(model(images), labels).backward()
        optimizer.step()

    return step


def compare(data: Data, labels: Tensor, model: nn.Module) -> Measurement:
    pipeline = batches(data, labels)
    step = training_step(model.train(), *next(pipeline))
    return Measurement(timing.alternating_best(lambda: next(pipeline), step))


# ----------------------------------------------------------------------------------------------------------- the data


def labels_of(rows: int) -> Tensor:
    return torch.arange(rows) % 7 == 0


def cifar(rows: int) -> tuple[Tensor, Tensor]:
    images = torch.randint(0, 256, (rows, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    return images, labels_of(rows)


def tiny_imagenet(folder: Path, rows: int) -> TinyImages:
    """Return noise as JPEG files; it compresses worse than photographs do, so it takes longer to decode."""
    pixels = np.random.default_rng(0).integers(0, 256, (rows, 64, 64, 3), dtype=np.uint8)
    paths = [folder / f"{row}.JPEG" for row in range(rows)]
    for path, picture in zip(paths, pixels, strict=True):
        Image.fromarray(picture).save(path)
    return TinyImages([str(path) for path in paths], labels_of(rows))


def comparisons(folder: Path) -> list[Row]:
    images, labels = cifar(10_000)
    files = tiny_imagenet(folder, 1_000)
    rows = []
    for what, other, measure in (
        ("CIFAR batch, augmented", "ResNet-20 step", partial(compare, (images, labels), labels, resnet20())),
        ("Tiny-ImageNet batch, augmented", "ResNet-18 step", partial(compare, files, files.labels, resnet18())),
    ):
        rows.append(row_of(what, BATCH, other, REQUIRED, measure))
        print_row(rows[-1])
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Time the input pipeline against the training step that it feeds.")
    parser.add_argument("--quick", action="store_true", help="few rounds")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if options.quick:
        timing.FEWEST_ROUNDS, timing.BUDGET_SECONDS = 1, 0.0
    print_header()
    with tempfile.TemporaryDirectory() as folder:
        rows = comparisons(Path(folder))
    return 0 if options.quick or all(row.reached == "yes" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
