"""What torch.compile makes of each loss: graphs, seconds to compile, and the time of a step beside the plain loss.

    python benchmarks/compile_time.py

One thread, a batch of 1,024, forward and backward. Without a C++ compiler use ``--backend aot_eager``, which generates
no code.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported

import argparse
import time
import warnings
from collections.abc import Callable

import torch
from torch import nn

from timing import alternating_best
from tpauc import (
    Anchored,
    CVaRTPAUCLoss,
    InstanceWiseTPAUCLoss,
    KLTPAUCLoss,
    Polynomial,
    RecallAtFPRLoss,
    SquareAUCLoss,
    TPAUCLoss,
    Uniform,
)

LOSSES: dict[str, Callable[[], nn.Module]] = {
    "SquareAUCLoss": SquareAUCLoss,
    "TPAUCLoss, polynomial": lambda: TPAUCLoss(Polynomial(3.0)),
    "TPAUCLoss, normalised": lambda: TPAUCLoss(Polynomial(3.0), normalize=True),
    "TPAUCLoss, anchored": lambda: TPAUCLoss(Anchored(0.3, 0.3)),
    "TPAUCLoss, logistic on logits": lambda: TPAUCLoss(Uniform(), surrogate="logistic", scores="logit"),
    "CVaRTPAUCLoss": lambda: CVaRTPAUCLoss(0.3, 0.3),
    "KLTPAUCLoss": lambda: KLTPAUCLoss(1.0, 1.0),
    "InstanceWiseTPAUCLoss": lambda: InstanceWiseTPAUCLoss(0.3, 0.3),
    "RecallAtFPRLoss": lambda: RecallAtFPRLoss(0.1),
}


def model_and_loss(loss: nn.Module) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return a step's forward pass: what users compile is a network together with its loss."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = loss(network(x), y)
        return value

    return forward


def measure(make: Callable[[], nn.Module], size: int, backend: str) -> tuple[int, float, float]:
    """Return the graphs that one step needs, the seconds of the first two steps, and compiled time over plain time."""
    generator = torch.Generator().manual_seed(0)
    y = torch.rand(size, generator=generator) < 0.1  # labels of other types are checked by value: a graph break
    x = torch.randn(size, 32, generator=generator) + 0.3 * y[:, None].float()
    torch._dynamo.reset()
    graphs = torch._dynamo.explain(model_and_loss(make()))(x, y).graph_count
    torch._dynamo.reset()
    plain, compiled = model_and_loss(make()), torch.compile(model_and_loss(make()), backend=backend, dynamic=False)
    start = time.perf_counter()
    for _ in range(2):  # the second step of a loss with a state takes another path than the first
        compiled(x, y).backward()
    seconds = time.perf_counter() - start
    ours, other = alternating_best(lambda: compiled(x, y).backward(), lambda: plain(x, y).backward())
    return graphs, seconds, ours / other


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Time torch.compile on each loss.")
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--rows", type=int, default=1_024)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # dynamo looks at classes in ways that torch itself warns of
    torch.set_num_threads(1)
    print("| network and | graphs | seconds to compile | time of a step, compiled / plain |")
    print("| --- | --- | --- | --- |")
    for name, make in LOSSES.items():
        graphs, seconds, ratio = measure(make, options.rows, options.backend)
        print(f"| {name} | {graphs} | {seconds:.0f} | {ratio:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
