"""Time of many labels of n rows beside one label with all their rows, for losses and metrics.

A loss or metric of k labels and n rows each sees as many numbers as one label of k n rows. The ratio of the two times
says what the columns cost; the goal is at most 3. One thread, processor time; the two are timed in turn, and the best
of many runs counts, as other work on the machine only adds time.

    python benchmarks/several_labels.py                  # prints a line per row, and writes results/several_labels.csv
    python benchmarks/several_labels.py --rows 128       # one number of rows
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import argparse
import csv
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from tpauc import (
    Anchored,
    CVaRTPAUCLoss,
    Exponential,
    FocalLoss,
    KLTPAUCLoss,
    MultiLabelLoss,
    Polynomial,
    RecallAtFPRLoss,
    ReweightedCrossEntropy,
    TPAUCLoss,
    TruncatedLoss,
    TwoWayPartialAUC,
    tpauc_score,
)

RESULTS = Path(__file__).parent / "results" / "several_labels.csv"
LABELS, SHARE = 100, 0.1  # number of labels, share of positives
ROWS = (128, 1_024, 8_192)
SECONDS = 2.0  # at least, for a row of the table
CORNER = {"alpha": 0.3, "beta": 0.3}
LOSSES: dict[str, Callable[[], torch.nn.Module]] = {
    "TPAUCLoss polynomial": lambda: TPAUCLoss(Polynomial(3.0)),
    "TPAUCLoss exponential": lambda: TPAUCLoss(Exponential(3.0)),
    "TPAUCLoss normalised": lambda: TPAUCLoss(Polynomial(3.0), normalize=True),
    "TPAUCLoss anchored": lambda: TPAUCLoss(Anchored(0.3, 0.3)),
    "TruncatedLoss": lambda: TruncatedLoss(0.3, 0.3),
    "ReweightedCrossEntropy": ReweightedCrossEntropy,
    "FocalLoss": FocalLoss,
    "CVaRTPAUCLoss": lambda: CVaRTPAUCLoss(0.3, 0.3),
    "RecallAtFPRLoss": lambda: RecallAtFPRLoss(0.3),
    "KLTPAUCLoss": lambda: KLTPAUCLoss(1.0, 1.0),
}


def best_of_turns(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
    """Return the best times of two functions, called in turn."""
    best = [float("inf")] * 2
    end = time.perf_counter() + SECONDS
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        for place, function in enumerate((first, second)):
            start = time.process_time()
            function()
            best[place] = min(best[place], time.process_time() - start)
        rounds += 1
    return best[0], best[1]


def problems(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    labels = torch.rand(rows, LABELS, generator=generator) < SHARE
    labels[:4], labels[4:8] = True, False  # enough of both classes in every column
    return torch.randn(rows, LABELS, generator=generator) + labels, labels


def timed(name: str, rows: int) -> tuple[float, float]:
    """Return the seconds of one label and of many."""
    logits, labels = problems(rows)
    flat, flat_labels = logits.reshape(-1), labels.reshape(-1)
    if name == "tpauc_score":
        arrays = labels.numpy(), logits.numpy(), flat_labels.numpy(), flat.numpy()
        return best_of_turns(
            lambda: tpauc_score(arrays[2], arrays[3], **CORNER), lambda: tpauc_score(arrays[0], arrays[1], **CORNER)
        )
    if name == "TwoWayPartialAUC":
        return best_of_turns(
            lambda: computed(TwoWayPartialAUC(**CORNER), flat, flat_labels),
            lambda: computed(TwoWayPartialAUC(**CORNER, task="multilabel", num_labels=LABELS), logits, labels),
        )
    one, many = LOSSES[name](), MultiLabelLoss(LOSSES[name](), LABELS)
    matrix, column = logits.clone().requires_grad_(), flat.clone().requires_grad_()
    return best_of_turns(lambda: one(column, flat_labels).backward(), lambda: many(matrix, labels).backward())


def computed(metric: TwoWayPartialAUC, scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    metric.update(scores, labels)
    value: torch.Tensor = metric.compute()
    return value


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Time many labels beside one label with all their rows.")
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS), help="rows per label")
    parser.add_argument("--output", type=Path, default=RESULTS, help="CSV file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    table = []
    for rows in options.rows:
        for name in (*LOSSES, "TwoWayPartialAUC", "tpauc_score"):
            one, many = timed(name, rows)
            table.append((name, LABELS, rows, f"{1e3 * one:.3f}", f"{1e3 * many:.3f}", f"{many / one:.2f}"))
            print(
                f"{name:24} {rows:6} rows: one label {1e3 * one:9.3f} ms, {LABELS} labels {1e3 * many:9.3f} ms, "
                f"ratio {many / one:.2f}",
                flush=True,
            )
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["what", "labels", "rows", "one_label_ms", "labels_ms", "ratio"])
        writer.writerows(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
