"""How fast the library is, side by side with its peers, on one thread; every ratio is taken within this run.

    python benchmarks/speed.py               everything, a few minutes; one comparison needs about 8 GB
    python benchmarks/speed.py --skip-large  without that one
    python benchmarks/speed.py --quick       small sizes, nothing written: does it run?
    python benchmarks/speed.py --subject tpauc_score    one subject; its rows in the CSV file are replaced

`make bench-speed` installs the peers and runs it. What each comparison must reach stands in ``REQUIRED`` alone.
"""

from __future__ import annotations

import os

# Read once, when NumPy and torch are imported below. The last silences the profiler's log.
os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", KINETO_LOG_LEVEL="99")

import argparse
import sys
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import peers
from peers import Peer
from record import (
    Measurement,
    NotMeasured,
    Requirement,
    Row,
    at_least,
    at_most,
    print_header,
    print_row,
    row_of,
    write_csv,
)
from timing import Step, alternating_best, extra_memory, once
from tpauc import tpauc_score
from tpauc.losses.cvar import CVaRTPAUCLoss
from tpauc.losses.instancewise import InstanceWiseTPAUCLoss
from tpauc.losses.kl import KLTPAUCLoss
from tpauc.losses.minimax import MinimaxTPAUCLoss
from tpauc.losses.tpauc_loss import TPAUCLoss
from tpauc.losses.weighting import Exponential, Polynomial, Weighting
from tpauc.metrics.intervals import tpauc_interval
from tpauc.samplers import StratifiedBatchSampler

CROSS_ENTROPY = "BCEWithLogitsLoss"
PAIR_MATRIX = "XCurve pair matrix"
KL = "LibAUC KL"
SAME_KL = "LibAUC KL, same objective"
CVAR = "LibAUC CVaR"
UNBIASED = "XCurve unbiased"
MINIMAX = "XCurve minimax"
LIBAUC_METRIC = "LibAUC TPAUC"
XCURVE_METRIC = "XCurve TPAUC"
SKLEARN_METRIC = "roc_auc_score(max_fpr)"
SKLEARN_LOOP = "roc_auc_score loop"
PERMUTATION = "torch.randperm"

REQUIRED: dict[tuple[str, int], Requirement] = {
    (CROSS_ENTROPY, 1_000): at_most(5, memory=20),
    (CROSS_ENTROPY, 10_000): at_most(5, memory=20),
    (CROSS_ENTROPY, 100_000): at_most(5, memory=20),
    (CROSS_ENTROPY, 1_000_000): at_most(5, memory=20),
    (PAIR_MATRIX, 8_192): at_least(20),
    (PAIR_MATRIX, 65_536): at_least(1_000),
    (KL, 8_192): at_least(50),
    (SAME_KL, 128): at_least(1),
    (SAME_KL, 8_192): at_least(10),
    (CVAR, 128): at_least(1),
    (CVAR, 8_192): at_least(10),
    (UNBIASED, 128): at_least(1),
    (UNBIASED, 8_192): at_least(10),
    (MINIMAX, 128): at_least(3),
    (LIBAUC_METRIC, 10_000): at_least(5),
    (LIBAUC_METRIC, 1_000_000): at_least(5),
    (LIBAUC_METRIC, 10_000_000): at_least(5),
    (SKLEARN_METRIC, 10_000): at_least(15),
    (SKLEARN_METRIC, 1_000_000): at_least(20, memory=4),
    (SKLEARN_METRIC, 10_000_000): at_least(20, memory=4),
    (SKLEARN_LOOP, 100_000): at_least(50),
    (PERMUTATION, 1_000_000): at_most(10),
}

METRICS: dict[str, Callable[[], Peer]] = {
    LIBAUC_METRIC: peers.libauc_metric,
    XCURVE_METRIC: peers.xcurve_metric,
    SKLEARN_METRIC: peers.sklearn_metric,
}
RESULTS = Path(__file__).parent / "results"
LARGE_BATCH = 65_536  # from here on the pair matrix is built once only
LARGE_BATCH_BYTES = 12e9  # what must be free before that, with a margin
TIMED_RESAMPLES = 20
SAME_AS_XCURVE = Polynomial.from_exponent(1.0)  # its one parameter is exponent and margin, and our margin is 1


# ------------------------------------------------------------------------------------------------------------ losses


def batch_of(size: int) -> tuple[Tensor, Tensor]:
    """Float32 logits and labels, 1 positive to 10 negatives, in random order."""
    generator = torch.Generator().manual_seed(size)
    labels = (torch.randperm(size, generator=generator) < round(size / 11)).float()
    logits = torch.randn(size, generator=generator) + labels
    return logits.requires_grad_(), labels


def forward_backward(loss: Callable[[Tensor, Tensor], Tensor], size: int, *parameters: Tensor) -> Step:
    """Return the step that computes the loss of a batch and its gradient in the logits and the loss's own variables."""
    logits, labels = batch_of(size)
    return lambda: torch.autograd.grad(loss(logits, labels), (logits, *parameters))


def in_vectors(n_bytes: int, size: int) -> float:
    """Return a memory size in multiples of the score vector."""
    return n_bytes / (size * torch.float32.itemsize)


def memory_of(ours: Step, other: Step, size: int) -> tuple[float, float]:
    """Return the extra peak memory of both steps in multiples of the score vector."""
    return in_vectors(extra_memory(ours), size), in_vectors(extra_memory(other), size)


def against_cross_entropy(weighting: Weighting, size: int) -> Measurement:
    ours = forward_backward(TPAUCLoss(weighting), size)
    other = forward_backward(torch.nn.BCEWithLogitsLoss(), size)
    return Measurement(alternating_best(ours, other), memory_of(ours, other, size))


def against_pair_matrix(size: int, skip_large: bool) -> Measurement:
    large = size >= LARGE_BATCH
    if large and skip_large:
        raise NotMeasured("left out by --skip-large")
    if large and free_memory() < LARGE_BATCH_BYTES:
        raise NotMeasured(f"needs {LARGE_BATCH_BYTES / 1e9:.0f} GB of free memory, found {free_memory() / 1e9:.0f} GB")
    peer = peers.xcurve_pair_matrix()
    loss = TPAUCLoss(SAME_AS_XCURVE)
    ours, other = forward_backward(loss, size), forward_backward(peer.run, size)
    if large:
        other_ms, other_bytes = once(other)
        times = alternating_best(ours, ours)[0], other_ms  # theirs takes too long for turns
        memory = in_vectors(extra_memory(ours), size), in_vectors(other_bytes, size)
        return Measurement(times, memory, joined(peer.note, "theirs run once"))
    with torch.no_grad():
        # The tolerance is that of float32, and of XCurve adding 1e-6 to every score.
        values = agreement(float(loss(*batch_of(size))), float(peer.run(*batch_of(size))), tolerance=1e-4)
    return Measurement(alternating_best(ours, other), memory_of(ours, other, size), joined(peer.note, values))


def against_kl(size: int) -> Measurement:
    peer = peers.libauc_kl(size)
    ours, other = forward_backward(TPAUCLoss(Polynomial(4.0)), size), forward_backward(peer.run, size)
    return Measurement(alternating_best(ours, other), memory_of(ours, other, size), peer.note)


def against_same_kl(size: int) -> Measurement:
    peer = peers.libauc_kl(size)
    ours, other = forward_backward(KLTPAUCLoss(1.0, 1.0), size), forward_backward(peer.run, size)
    return Measurement(alternating_best(ours, other), memory_of(ours, other, size))


def against_cvar(size: int) -> Measurement:
    peer = peers.libauc_cvar(size)
    ours, other = forward_backward(CVaRTPAUCLoss(0.3, 0.3), size), forward_backward(peer.run, size)
    return Measurement(alternating_best(ours, other), memory_of(ours, other, size))


def against_unbiased(size: int) -> Measurement:
    peer = peers.xcurve_unbiased()
    loss = InstanceWiseTPAUCLoss(0.3, 0.3)
    ours = forward_backward(loss, size, *loss.parameters())
    other = forward_backward(peer.run, size, *peer.parameters)
    return Measurement(alternating_best(ours, other), memory_of(ours, other, size), peer.note)


def against_minimax(size: int) -> Measurement:
    peer = peers.xcurve_minimax()
    loss = MinimaxTPAUCLoss(SAME_AS_XCURVE)
    ours = forward_backward(loss, size, *loss.parameters())
    other = forward_backward(peer.run, size, *peer.parameters)
    return Measurement(alternating_best(ours, other), memory_of(ours, other, size), peer.note)


# ------------------------------------------------------------------------------------------- metric, intervals, batches


def scored_rows(size: int, order: str = "random") -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Labels with exactly 10 % positives, and scores that tell the classes apart but not perfectly."""
    generator = np.random.default_rng(size)
    labels = generator.permutation(np.arange(size) < size // 10).astype(np.int64)
    scores = generator.normal(size=size) + 3 * labels
    if order == "ties":  # about 100 values
        return labels, np.round(scores, 1)
    places = np.argsort(scores) if order == "sorted" else slice(None)
    return labels[places], scores[places]


def against_metric(load: Callable[[], Peer], size: int, order: str = "random") -> Measurement:
    peer = load()
    labels, scores = scored_rows(size, order)

    def ours() -> float:
        return tpauc_score(labels, scores, alpha=0.3, beta=0.3)

    def other() -> float:
        return peer.run(labels, scores)

    times = alternating_best(ours, other)
    memory = peak_of_arrays(ours) / scores.nbytes, None
    return Measurement(times, memory, peer.note or agreement(ours(), other(), tolerance=1e-12))


def peak_of_arrays(step: Callable[[], float]) -> int:
    """Return the most bytes that NumPy's arrays take at once, beyond those that are there before."""
    tracemalloc.start()
    step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def against_bootstrap_loop(size: int, resamples: int) -> Measurement:
    peer = peers.sklearn_metric()
    labels, scores = scored_rows(size)
    generator = np.random.default_rng(0)

    def loop() -> None:
        for _ in range(TIMED_RESAMPLES):
            drawn = generator.integers(size, size=size)
            peer.run(labels[drawn], scores[drawn])

    def ours() -> None:
        tpauc_interval(labels, scores, alpha=0.3, beta=0.3, method="bootstrap", n_resamples=resamples, random_state=0)

    ours_ms, loop_ms = alternating_best(ours, loop)
    note = f"theirs: {TIMED_RESAMPLES} resamples timed, then scaled"
    return Measurement((ours_ms, loop_ms * resamples / TIMED_RESAMPLES), note=note)


def against_permutation(size: int, batch_size: int) -> Measurement:
    sampler = StratifiedBatchSampler(scored_rows(size)[0], batch_size, ratio=(1, 10), seed=0)
    times = alternating_best(lambda: deque(sampler, maxlen=0), lambda: torch.randperm(size))
    return Measurement(times, note=f"one epoch of {len(sampler):,} batches")


# -------------------------------------------------------------------------------------------------------------- run


def agreement(ours: float, other: float, *, tolerance: float) -> str:
    """Say whether both compute the same number, without which the times could not be compared."""
    if abs(ours - other) <= tolerance * abs(other):
        return "same value"
    return f"VALUES DIFFER: ours {ours:.12g}, theirs {other:.12g}"


def joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def free_memory() -> float:
    """Return the bytes that are free, or infinity where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return float("inf")
    return next((float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")), float("inf"))


def comparisons(*, quick: bool, skip_large: bool, only: Sequence[str] = (), subject: str = "") -> Iterator[Row]:
    """Make every comparison at the sizes that ``REQUIRED`` lists, or at a small one.

    With ``only``, of these peers; with ``subject``, of what starts with it.
    """
    return (make() for what, make in _all_comparisons(quick, skip_large, only) if what.startswith(subject))


def _all_comparisons(quick: bool, skip_large: bool, only: Sequence[str]) -> Iterator[tuple[str, Callable[[], Row]]]:
    """Yield the subject of each comparison and what makes it."""

    def sizes(other: str, *, small: int) -> list[int]:
        if only and other not in only:
            return []
        return [small] if quick else [size for name, size in REQUIRED if name == other]

    def row(
        what: str, other: str, size: int, measure: Callable[..., Measurement], *arguments: Any
    ) -> tuple[str, Callable[[], Row]]:
        return what, partial(row_of, what, size, other, REQUIRED.get((other, size)), partial(measure, *arguments))

    for size in sizes(CROSS_ENTROPY, small=1_000):
        for weighting in (Polynomial(4.0), Exponential(4.0)):
            what = f"TPAUCLoss {type(weighting).__name__}"
            yield row(what, CROSS_ENTROPY, size, against_cross_entropy, weighting, size)
    for size in sizes(PAIR_MATRIX, small=500):
        yield row("TPAUCLoss Polynomial", PAIR_MATRIX, size, against_pair_matrix, size, skip_large)
    for size in sizes(KL, small=500):
        yield row("TPAUCLoss Polynomial", KL, size, against_kl, size)
    for size in sizes(SAME_KL, small=128):
        yield row("KLTPAUCLoss", SAME_KL, size, against_same_kl, size)
    for size in sizes(CVAR, small=128):
        yield row("CVaRTPAUCLoss", CVAR, size, against_cvar, size)
    for size in sizes(UNBIASED, small=128):
        yield row("InstanceWiseTPAUCLoss", UNBIASED, size, against_unbiased, size)
    for size in sizes(MINIMAX, small=128):
        yield row("MinimaxTPAUCLoss Polynomial", MINIMAX, size, against_minimax, size)
    for size in sizes(SKLEARN_METRIC, small=1_000):
        for other, load in METRICS.items():
            yield row("tpauc_score", other, size, against_metric, load, size)
        for order in ("sorted", "ties"):
            load = METRICS[SKLEARN_METRIC]
            yield row(f"tpauc_score, {order}", SKLEARN_METRIC, size, against_metric, load, size, order)
    for size in sizes(SKLEARN_LOOP, small=1_000):
        resamples = 100 if quick else 2_000
        what = f"tpauc_interval, {resamples:,} resamples"
        yield row(what, SKLEARN_LOOP, size, against_bootstrap_loop, size, resamples)
    for size in sizes(PERMUTATION, small=10_000):
        for batch_size in (128, 1_024):
            what = f"StratifiedBatchSampler, batch {batch_size:,}"
            yield row(what, PERMUTATION, size, against_permutation, size, batch_size)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Time tpauc side by side with its peers, on one thread.")
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    parser.add_argument("--skip-large", action="store_true", help="leave out the comparison that needs about 8 GB")
    parser.add_argument("--only", nargs="+", default=[], metavar="PEER", help="these peers alone, nothing written")
    parser.add_argument("--subject", default="", help="what starts with this alone, such as tpauc_score")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the CSV file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    rows = []
    print_header()
    chosen = {"only": options.only, "subject": options.subject}
    for row in comparisons(quick=options.quick, skip_large=options.skip_large, **chosen):
        print_row(row)
        rows.append(row)
    missed = [row for row in rows if row.reached == "no"]
    reached = sum(row.reached == "yes" for row in rows)
    print(f"\n{reached} requirements reached, {len(missed)} missed, {len(rows)} comparisons")
    if options.quick or options.only:
        return 0
    print(f"written to {os.path.relpath(write_csv(rows, options.output, only=options.subject))}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
