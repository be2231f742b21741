"""A table of small networks on small files of the official layout, to be filled in seconds."""

import sys
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import nn

from tpauc.paper.experiments.backbones import CIFAR_PIXELS, Normalise
from tpauc.paper.experiments.cells import ANY_REGION, Request
from tpauc.paper.experiments.results import Result, machine
from tpauc.paper.experiments.table_folder import TableFolder

# Of a result, what another session, machine or hour may change.
CIRCUMSTANCES = ("seconds", "finished", "commit", "versions", "machine", "threads")


def small_network():
    """Return a network of a few hundred weights; BatchNorm has buffers, as the real ones have."""
    layers = (nn.AvgPool2d(8), nn.Flatten(), nn.BatchNorm1d(48), nn.Linear(48, 8), nn.ReLU(), nn.Linear(8, 1))
    return nn.Sequential(Normalise(CIFAR_PIXELS), *layers)


def request(**settings):
    """Return a request for CIFAR-10-LT, subset 1."""
    return Request(
        **{"dataset": "cifar10-lt", "subset": 1, "methods": ("SqAUC",), "seeds": (0,), "epochs": 2, **settings}
    )


def folder(out, data_dir):
    return TableFolder(Path(out), Path(data_dir), backbone=small_network)


def fill(out, data_dir, **settings):
    """Fill a table, silently."""
    return folder(out, data_dir).fill(request(**settings), say=lambda line: None, progress=False)


def fill_quietly(errors, out, data_dir, **settings):
    """Fill a table in another process, with stderr in a file."""
    torch.set_num_threads(1)
    with open(errors, "a") as sys.stderr:
        fill(out, data_dir, **settings)


def numbers_in(results):
    """Return what must not depend on interruptions."""
    rows = [asdict(row) for row in results]
    return [{name: value for name, value in row.items() if name not in CIRCUMSTANCES} for row in rows]


def result(**changes):
    """Return a result of SqAUC with some values changed."""
    row = Result(
        dataset="cifar10-lt",
        subset=1,
        split=0,
        recipe="paper",
        epochs=30,
        method="SqAUC",
        seed=0,
        alpha=0.3,
        beta=0.3,
        chosen_for=ANY_REGION,
        parameters="",
        tpauc=0.2,
        low=0.1,
        high=0.3,
        validation_tpauc=0.25,
        best_epoch=7,
        last_tpauc=0.19,
        test_positives=324,
        test_negatives=1916,
        seconds=900.0,
        threads=torch.get_num_threads(),
        commit="abc",
        versions="torch 2",
        machine=machine(),
        finished="2026-01-01T00:00:00+00:00",
    )
    return replace(row, **changes)
