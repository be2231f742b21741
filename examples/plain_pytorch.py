"""Train a small network for the corner of the ROC plane in plain PyTorch, with exact gradient accumulation.

    python examples/plain_pytorch.py

A loss of pairs couples all rows of a batch, so the mean over micro-batches is not the loss of the batch: pairs between
two micro-batches are missing. `accumulate` has the exact gradient in the memory of one micro-batch: it computes all
logits without a graph, differentiates the loss in the logits, and passes each part of that gradient through the model.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tpauc import Polynomial, StratifiedBatchSampler, TPAUCLoss, tpauc_score

ALPHA, BETA = 0.3, 0.1
EPOCHS, MICRO_BATCH = 4, 32


def made_up_rows(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return ten features and labels; one row in twenty is positive."""
    generator = torch.Generator().manual_seed(seed)
    labels = (torch.rand(n, generator=generator) < 0.05).float()
    return torch.randn(n, 10, generator=generator) + 0.8 * labels[:, None], labels


def accumulate(model: nn.Module, loss: nn.Module, x: Tensor, y: Tensor, micro_batch: int) -> Tensor:
    """Add the gradient of the whole batch to the parameters, micro-batch by micro-batch; return the loss.

    The model must give a row the same logit in both passes: no dropout, no batch normalisation in ``train`` mode.
    """
    with torch.no_grad():
        logits = torch.cat([model(part) for part in x.split(micro_batch)])
    logits.requires_grad_()
    value: Tensor = loss(logits, y)  # once per step, so that what a loss tracks moves once
    (by_logit,) = torch.autograd.grad(value, logits)
    for part, gradient in zip(x.split(micro_batch), by_logit.split(micro_batch), strict=True):
        model(part).backward(gradient)
    return value.detach()


def train() -> tuple[float, float]:
    """Return TPAUC on new rows before and after the training."""
    x, y = made_up_rows(4000, seed=0)
    test_x, test_y = made_up_rows(4000, seed=1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
    loss = TPAUCLoss(Polynomial.from_exponent(1.0), normalize=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    batches = StratifiedBatchSampler(y, batch_size=128, ratio=(1, 4), seed=0)

    @torch.no_grad()
    def tpauc() -> float:
        return tpauc_score(test_y.numpy(), model(test_x).flatten().numpy(), alpha=ALPHA, beta=BETA)

    before = tpauc()
    for epoch in range(EPOCHS):
        for rows in batches:
            optimizer.zero_grad()
            value = accumulate(model, loss, x[rows], y[rows], MICRO_BATCH)
            optimizer.step()
        print(
            f"epoch {epoch + 1}: loss of the last batch {value:.3f}, TPAUC({ALPHA}, {BETA}) on new rows {tpauc():.3f}"
        )
    return before, tpauc()


if __name__ == "__main__":
    before, after = train()
    print(f"TPAUC before {before:.3f}, after {after:.3f}")
