"""A small training problem, and processes that start at once to run it in.

The processes are forked from a server that has already imported everything, because importing torch and Fabric takes
seconds. Forking the test process itself, with its threads, could hang.
"""

import multiprocessing
import os
import random
import resource
import signal
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset

from tpauc.losses.tpauc_loss import TPAUCLoss
from tpauc.losses.weighting import Polynomial
from tpauc.training import TrainConfig, fit, load_checkpoint

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tpauc.training", "lightning_fabric", "torch.utils.tensorboard", "training_runs"])


def problem(n=330, n_features=4):
    """Return training and validation data, one positive in ten or so, not separable."""
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(2 * n, n_features, generator=generator)
    labels = (inputs[:, 0] + 0.7 * torch.randn(2 * n, generator=generator) > 1.5).int()
    return (inputs[:n], labels[:n]), (inputs[n:], labels[n:])


def network(*, dropout=True, n_features=4):
    """Return a small network whose weights are always the same; dropout draws from torch's generator."""
    model = nn.Sequential(
        nn.Linear(n_features, 8), nn.ReLU(), nn.Dropout(0.2) if dropout else nn.Identity(), nn.Linear(8, 1)
    )
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 3.0)
    return model


def weights(model):
    """Return all parameters of a model as one flat tensor."""
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


class Pairs(Dataset):
    """The data, example by example; each read draws from the global generators if ``noisy``."""

    def __init__(self, data, *, labelled=False, noisy=False):
        self.inputs, self.targets = data
        self.noisy = noisy
        if labelled:
            self.labels = self.targets.tolist()

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, row):
        noise = 0.0
        if self.noisy:
            noise = 0.1 * (torch.randn(()) + random.gauss(0, 1) + np.random.standard_normal())  # noqa: NPY002
        return self.inputs[row] + noise, self.targets[row]


def jitter(inputs, generator):
    """Augment a batch."""
    return inputs + 0.1 * torch.randn(inputs.shape, generator=generator)


class Interrupting:
    """A transform that draws random numbers, and sends a signal at its n-th call."""

    def __init__(self, at):
        self.at, self.calls = at, 0

    def __repr__(self):
        return "jitter"  # what it does to the inputs, and what a run that goes on is asked for

    def __call__(self, inputs, generator):
        self.calls += 1
        if self.calls == self.at:
            signal.raise_signal(signal.SIGTERM)
        return jitter(inputs, generator)


def settings(**options):
    """Return a configuration for silent runs of a few seconds."""
    quick = {"alpha": 0.5, "beta": 0.5, "epochs": 4, "batch_size": 33, "lr": 0.05, "progress": False}
    return TrainConfig(**{**quick, "tensorboard": False, **options})


def train(loss=None, transform=jitter, dropout=True, **options):
    """Run the problem to its end."""
    training_data, validation_data = problem()
    loss = TPAUCLoss(Polynomial(3.0)) if loss is None else loss
    return fit(network(dropout=dropout), training_data, validation_data, loss, settings(**options), transform=transform)


def numbers_of(out):
    """Return everything in the last checkpoint that must not depend on interruptions, flat by name."""
    state = load_checkpoint(Path(out) / "last.ckpt")
    state["progress"].pop("seconds")
    for row in [*state["history"], *([state["best"]["metrics"]] if state["best"] else [])]:
        row.pop("seconds", None)  # the best row is one of the history
    return dict(_flatten(state, "state"))


def _flatten(value, name):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flatten(item, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _flatten(item, f"{name}.{number}")
    else:
        yield name, value


def assert_bit_equal(numbers, expected):
    assert list(numbers) == list(expected)
    for name, value in expected.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(numbers[name], value), name
        else:
            assert numbers[name] == value, name


# ------------------------------------------------------------------------------------------------ in other processes


def start(target, *arguments, **options):
    """Start a process that calls ``target``."""
    process = FORKS.Process(target=target, args=arguments, kwargs=options)
    process.start()
    return process


def run(target, *arguments, **options):
    """Call ``target`` in another process, wait for it and return its exit code."""
    process = start(target, *arguments, **options)
    process.join(120)
    return process.exitcode


def wait_for(path, process):
    """Return as soon as ``process`` has written a file."""
    while not path.exists():
        assert process.is_alive(), f"it ended with {process.exitcode}"
        time.sleep(0.01)


def train_quietly(errors, **options):
    """Train with stderr in a file."""
    torch.set_num_threads(1)
    with open(errors, "a") as sys.stderr:
        train(**options)


def train_with_file_limit(errors, limit, **options):
    """Train where no file may grow beyond ``limit`` bytes: a write fails half-way, as on a full disk."""
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    with open(os.devnull, "w") as sys.stderr:
        try:
            train(**options)
        except OSError as error:
            Path(errors).write_text(str(error)[:limit])
            sys.exit(3)
