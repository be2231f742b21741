"""What makes the strong recipe strong: short trainings on CIFAR-10-LT, subset 1, that differ in one thing at a time.

    python benchmarks/image_recipes.py --data-dir data                   all six, about 10 minutes each on one core
    python benchmarks/image_recipes.py --data-dir data --only "1:3"      one of them
    python benchmarks/image_recipes.py --data-dir data --epochs 1        does it run?

Each is a training of about 1,200 steps with the logistic pair loss and otherwise the strong recipe. Printed is what the
validation data say at the end; the test data, by which the recipe is judged in the table, are not looked at.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import torch

from tpauc import TrainConfig, fit
from tpauc.paper.data.datasets import Splits, load_splits
from tpauc.paper.experiments.backbones import Mirrored, resnet20
from tpauc.paper.experiments.image_data import sizes_of
from tpauc.paper.experiments.methods import METHODS
from tpauc.paper.experiments.recipes import RECIPES, Augment

STRONG = RECIPES["strong"]
METHOD = "LogisticAUC"


@dataclass(frozen=True)
class Variant:
    """The ratio of positives to negatives in a batch, the augmentation, and epochs for about 1,200 steps."""

    ratio: tuple[float, float] | None
    augment: Augment
    epochs: int


VARIANTS = {
    "1:10, rotated": Variant((1.0, 10.0), Augment(degrees=15), 10),
    "ratio of the data, rotated": Variant(None, Augment(degrees=15), 15),
    "ratio of the data": Variant(None, Augment(degrees=0), 15),
    "1:3, rotated": Variant((1.0, 3.0), Augment(degrees=15), 13),
    "1:3, rotated by nearest pixels": Variant((1.0, 3.0), Augment(degrees=15, between="nearest"), 13),
    "1:3": Variant((1.0, 3.0), STRONG.augment, 13),
}


def train(variant: Variant, splits: Splits, epochs: int | None) -> dict[str, float]:
    """Return the last row of the history."""
    settings = {**STRONG.settings, "ratio": variant.ratio, "epochs": epochs or variant.epochs}
    torch.manual_seed(0)
    model = Mirrored(resnet20())
    loss = METHODS[METHOD].make_loss({}, sizes_of(splits.train, "train"))
    config = TrainConfig(alpha=0.3, beta=0.3, **settings)
    return fit(model, splits.train, splits.validation, loss, config, transform=variant.augment).history[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", required=True, help="folder with the binary version of CIFAR-10")
    parser.add_argument("--only", choices=VARIANTS, metavar="NAME", help=f"one of: {'; '.join(VARIANTS)}")
    parser.add_argument("--epochs", type=int, help="instead of each variant's own")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    splits = load_splits("cifar10-lt", subset=1, data_dir=arguments.data_dir)
    print(f"{'batches and images':32}  steps  TPAUC(0.3, 0.3)  OPAUC(0.3)    AUC")
    for name in VARIANTS if arguments.only is None else [arguments.only]:
        row = train(VARIANTS[name], splits, arguments.epochs)
        print(f"{name:32}  {row['step']:5}  {row['tpauc']:15.4f}  {row['opauc']:10.4f}  {row['auc']:.4f}", flush=True)


if __name__ == "__main__":
    main()
