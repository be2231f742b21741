"""The same inside Lightning: the loss is a part of the module, so checkpoints hold its state.

make examples        or, with lightning installed:  python examples/lightning_module.py
"""

from __future__ import annotations

import lightning as L
import torch
from plain_pytorch import ALPHA, BETA, made_up_rows
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from tpauc import InstanceWiseTPAUCLoss, StratifiedBatchSampler, TwoWayPartialAUC, descent_ascent


class CornerModel(L.LightningModule):
    """A small network, trained by descent and ascent on the instance-wise form."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
        self.loss = InstanceWiseTPAUCLoss(ALPHA, BETA)
        self.tpauc = TwoWayPartialAUC(ALPHA, BETA)

    def training_step(self, batch: list[Tensor], number: int) -> Tensor:
        """Return the loss of a batch."""
        x, y = batch
        value: Tensor = self.loss(self.network(x), y)
        self.log("loss", value)
        return value

    def validation_step(self, batch: list[Tensor], number: int) -> None:
        """Collect scores; Lightning asks the metric for its value at the end of the epoch."""
        x, y = batch
        self.tpauc.update(self.network(x).flatten(), y.int())
        self.log("tpauc", self.tpauc, on_epoch=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return one optimiser for the network and the variables of the loss; a plain loss takes any optimiser."""
        return descent_ascent(self.network, self.loss, lr=0.1, dual_lr=0.1)


def train() -> tuple[float, float]:
    """Return TPAUC on new rows before and after the training."""
    L.seed_everything(0, verbose=False)
    (x, y), validation = made_up_rows(4000, seed=0), made_up_rows(4000, seed=1)
    loader = DataLoader(
        TensorDataset(x, y), batch_sampler=StratifiedBatchSampler(y, batch_size=128, ratio=(1, 4), seed=0)
    )
    held_out = DataLoader(TensorDataset(*validation), batch_size=1000)
    model = CornerModel()
    trainer = L.Trainer(
        max_epochs=4,
        accelerator="cpu",
        use_distributed_sampler=False,  # the sampler divides the rows itself
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    before = trainer.validate(model, held_out, verbose=False)[0]["tpauc"]
    trainer.fit(model, loader)
    return before, trainer.validate(model, held_out, verbose=False)[0]["tpauc"]


if __name__ == "__main__":
    before, after = train()
    print(f"TPAUC({ALPHA}, {BETA}) on new rows before {before:.3f}, after {after:.3f}")
