"""The same inside the Trainer of Hugging Face: a small text classifier, from random weights, on made-up tokens.

    make examples        or, with transformers and accelerate installed:  python examples/huggingface_trainer.py

`Trainer` adds up the losses of micro-batches and leaves their scale to a loss of one's own, so the mean over pairs is
divided by ``gradient_accumulation_steps`` here.
"""

from __future__ import annotations

import tempfile
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

from tpauc import KLTPAUCLoss, StratifiedBatchSampler, tpauc_score

ALPHA, BETA = 0.3, 0.1
WORDS, LENGTH = 50, 12
ACCUMULATED = 2


class MadeUpTexts(Dataset[dict[str, Tensor]]):
    """Random tokens; in positive texts, one in ten, the first five words are more frequent."""

    def __init__(self, n: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.labels = (torch.rand(n, generator=generator) < 0.1).float()
        tokens = torch.randint(5, WORDS, (n, LENGTH), generator=generator)
        special = torch.randint(0, 5, (n, LENGTH), generator=generator)
        share = torch.where(self.labels > 0, 0.4, 0.1)[:, None]
        self.tokens = torch.where(torch.rand(n, LENGTH, generator=generator) < share, special, tokens)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        return {"input_ids": self.tokens[row], "labels": self.labels[row]}


class CornerTrainer(Trainer):
    """A Trainer whose batches have both classes."""

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return stratified batches; the sampler divides them over processes itself."""
        size = self.args.train_batch_size * self.args.world_size
        sampler = StratifiedBatchSampler(self.train_dataset.labels, size, ratio=(1, 4), seed=self.args.seed)
        return DataLoader(self.train_dataset, batch_sampler=sampler, collate_fn=self.data_collator)


def train() -> tuple[float, float]:
    """Return TPAUC on new texts before and after the training."""
    set_seed(0)
    loss = KLTPAUCLoss(tau=1.0, lam=1.0)
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LENGTH,
        num_labels=1,
    )
    trained, held_out = MadeUpTexts(3000, seed=0), MadeUpTexts(3000, seed=1)

    def loss_of_logits(outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
        value: Tensor = loss(outputs["logits"], labels)
        return value / ACCUMULATED

    def tpauc(prediction: Any) -> dict[str, float]:
        return {"tpauc": tpauc_score(prediction.label_ids, prediction.predictions[:, 0], alpha=ALPHA, beta=BETA)}

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=4,
            per_device_train_batch_size=64,
            gradient_accumulation_steps=ACCUMULATED,
            per_device_eval_batch_size=500,
            learning_rate=3e-3,
            use_cpu=True,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
            seed=0,
        )
        trainer = CornerTrainer(
            BertForSequenceClassification(config),
            arguments,
            train_dataset=trained,
            eval_dataset=held_out,
            compute_loss_func=loss_of_logits,
            compute_metrics=tpauc,
        )
        before = trainer.evaluate()["eval_tpauc"]
        trainer.train()
        return before, trainer.evaluate()["eval_tpauc"]


if __name__ == "__main__":
    before, after = train()
    print(f"TPAUC({ALPHA}, {BETA}) on new texts before {before:.3f}, after {after:.3f}")
