"""What a run was trained on, in a few words, so that a run goes on with the data and functions that it began with.

Data are known by their number of rows, the shapes and types of their inputs, and the SHA-256 sum of their labels and of
a sample of their rows. Functions are known by their names, other callables by their text. What has neither, such as a
lambda expression, cannot be verified: its fingerprint is None.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from tpauc.training.data import Examples


def data_fingerprint(examples: Examples) -> str | None:
    """Return what data are known by, or None if they cannot be told from others.

    The rows are read as for a training batch. Whoever calls this restores the global random numbers, from which a data
    set may draw. A data set that draws from elsewhere reads differently each time, and cannot be verified.

    Examples
    --------
    >>> from tpauc.training.data import as_examples
    >>> one, two = (as_examples((factor * torch.eye(3), torch.tensor([1, 0, 0])), "train") for factor in (1, 2))
    >>> data_fingerprint(one)
    '3 rows of 3 float32, checksum 8c3cc510f8b4b480'
    >>> data_fingerprint(one) == data_fingerprint(two)
    False
    """
    first, second = _read(examples), _read(examples)
    return first if first == second else None


def _read(examples: Examples) -> str | None:
    n_rows = examples.positive.size
    rows = np.linspace(0, n_rows - 1, min(n_rows, examples.sampled_rows)).astype(int).tolist()
    # The generators that a data set may draw from.
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    random.seed(0)
    inputs, _ = next(iter(examples.batches([rows])))
    digest = hashlib.sha256(np.packbits(examples.positive).tobytes())
    kind = _add(inputs, digest)
    return None if kind is None else f"{n_rows} rows of {kind}, checksum {digest.hexdigest()[:16]}"


def _add(value: Any, digest: Any) -> str | None:
    """Add a batch to a digest, and return its kind; None if it holds anything but tensors and plain values."""
    if isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_quantized:
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        shape = "x".join(map(str, value.shape[1:])) or "one"
        return f"{shape} {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, Mapping):
        kinds = [(str(key), _add(item, digest)) for key, item in value.items()]
        return None if any(kind is None for _, kind in kinds) else ", ".join(f"{key}: {kind}" for key, kind in kinds)
    if isinstance(value, str | bytes | int | float | bool):
        digest.update(repr(value).encode())
        return type(value).__name__
    if isinstance(value, Sequence):
        parts = [_add(item, digest) for item in value]
        found = list(dict.fromkeys(part for part in parts if part is not None))
        return None if None in parts else f"[{', '.join(found)}]"
    return None


def function_fingerprint(function: Any) -> str | None:
    """Return the name or the text of a function or another callable; None if another one may look alike.

    Examples
    --------
    >>> function_fingerprint(torch.nn.functional.relu), function_fingerprint(lambda x: x), function_fingerprint(None)
    ('relu', None, 'None')
    """
    name = getattr(function, "__qualname__", None)
    return stable_text(repr(function) if name is None else name)


def stable_text(text: str) -> str | None:
    """Return text without addresses in memory; None if it names something that has no name.

    Examples
    --------
    >>> stable_text("<function sine at 0x7f12>"), stable_text("<function <lambda> at 0x7f12>")
    ('<function sine>', None)
    """
    if "<lambda>" in text or "<locals>" in text or re.search(r" object at 0x|functools\.partial", text):
        return None
    return without_addresses(text)


def without_addresses(text: str) -> str:
    """Return text without addresses in memory, which differ between sessions."""
    return re.sub(" at 0x[0-9a-f]+", "", text)
