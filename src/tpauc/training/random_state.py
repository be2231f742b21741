"""The state of every generator of random numbers that a training run draws on, in plain values.

Dropout draws on torch's generator; data sets of others may draw on NumPy's and Python's. A run seeds them, saves where
they stand with its checkpoints, and leaves those of the caller as it found them.
"""

# ruff: noqa: NPY002  (code of others draws on NumPy's global generator, so that is the one to seed and to save)

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def random_state(generator: torch.Generator) -> dict[str, Any]:
    """Return where torch's, NumPy's and Python's global generators and ``generator`` stand.

    Examples
    --------
    >>> generator = torch.Generator()
    >>> state = random_state(generator)
    >>> first = torch.rand(3), np.random.random(), random.random(), torch.rand(2, generator=generator)
    >>> set_random_state(state, generator)
    >>> again = torch.rand(3), np.random.random(), random.random(), torch.rand(2, generator=generator)
    >>> all(bool(np.all(np.asarray(a == b))) for a, b in zip(first, again))
    True
    """
    # NumPy types this as a union that names no keys.
    numpy_state: Any = np.random.get_state(legacy=False)
    version, internal, gauss_next = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        # Of the device in use alone: asking for all would open a context on every one of them.
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None,  # type: ignore[no-untyped-call]
        "numpy": {
            "key": torch.from_numpy(numpy_state["state"]["key"].astype(np.int64)),
            "pos": numpy_state["state"]["pos"],
            "has_gauss": numpy_state["has_gauss"],
            "gauss": numpy_state["gauss"],
        },
        "python": {"version": version, "internal": torch.tensor(internal), "gauss_next": gauss_next},
        "generator": generator.get_state(),
        "device": generator.device.type,
    }


def fits(state: Mapping[str, Any], generator: torch.Generator) -> bool:
    """Whether a state was found with a generator on the same kind of device: others have states of another form.

    Examples
    --------
    >>> generator = torch.Generator()
    >>> fits(random_state(generator), generator), fits({"device": "cuda"}, generator)
    (True, False)
    """
    return bool(state.get("device", generator.device.type) == generator.device.type)


def set_random_state(state: Mapping[str, Any], generator: torch.Generator) -> None:
    """Put all generators where :func:`random_state` found them."""
    torch.set_rng_state(state["torch"])
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
    of_numpy = state["numpy"]
    key = of_numpy["key"].numpy().astype(np.uint32)
    np.random.set_state(("MT19937", key, of_numpy["pos"], of_numpy["has_gauss"], of_numpy["gauss"]))
    of_python = state["python"]
    random.setstate((of_python["version"], tuple(of_python["internal"].tolist()), of_python["gauss_next"]))
    generator.set_state(state["generator"])


def seed_all(generator: torch.Generator, *numbers: int) -> None:
    """Seed every generator from ``numbers``, each with a seed of its own.

    Examples
    --------
    >>> generator = torch.Generator()
    >>> seed_all(generator, 0, 1)
    >>> first = torch.rand(1)
    >>> seed_all(generator, 0, 1)
    >>> bool(torch.rand(1) == first)
    True
    """
    # SeedSequence keeps (0, 1) and (1, 0) apart where a sum would not.
    seeds = np.random.SeedSequence(numbers).generate_state(4)
    torch.manual_seed(int(seeds[0]))
    np.random.seed(int(seeds[1]))
    random.seed(int(seeds[2]))
    generator.manual_seed(int(seeds[3]))


@contextmanager
def callers_random_state_kept() -> Iterator[None]:
    """Leave the global generators afterwards as they were before.

    Examples
    --------
    >>> before = torch.get_rng_state()
    >>> with callers_random_state_kept():
    ...     _ = torch.rand(3)
    >>> torch.equal(before, torch.get_rng_state())
    True
    """
    unused = torch.Generator()
    before = random_state(unused)
    try:
        yield
    finally:
        set_random_state(before, unused)
