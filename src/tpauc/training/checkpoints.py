"""Checkpoints: files that are either whole or not there, and that are read without running code from them.

A checkpoint is three lines of bytes:

    tpauc-checkpoint 1                 what the file is, and the version of its format
    9f86d081884c7d65...                SHA-256 of all that follows
    ...                                a mapping of tensors and plain values, as `torch.save` writes it

The checksum finds files that were cut short or altered by accident. Against malice it is no help, and need not be: the
contents are read with ``weights_only=True``, which builds tensors and plain values and nothing else.
`tpauc._files` says how a file is written.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from tpauc._files import write_atomically

_FIRST_LINE = b"tpauc-checkpoint 1\n"
_DIGEST_LENGTH = 64
# By exact type: NumPy's float64 is a float too, but cannot be read back without running code.
_PLAIN = (str, bytes, bool, int, float, type(None))


class CheckpointError(ValueError):
    """A file that is not a checkpoint of this package, not an intact one, or of another model.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     load_checkpoint(file.name)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tpauc.training.checkpoints.CheckpointError: ... is not a checkpoint of this package: it does not begin with ...
    """


def save_checkpoint(path: str | os.PathLike[str], state: Mapping[str, Any]) -> None:
    """Write ``state`` to ``path``; a file that was there is replaced only by a complete new one.

    Parameters
    ----------
    path : str or path
        Where to write. The folder must exist.
    state : mapping
        Tensors, numbers, strings, None, and dicts, lists and tuples of these. Anything else could not be read without
        running code from the file, and is a ``TypeError`` that says where it stands.

    Raises
    ------
    OSError
        If it cannot be written, for one because the disk is full; the former file is then as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(f"{folder}/model.ckpt", {"weight": torch.ones(2), "epoch": 3})
    ...     load_checkpoint(f"{folder}/model.ckpt")
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"state must be a mapping, got {type(state).__name__}")
    _check_plain(state, "state")
    buffer = io.BytesIO()
    torch.save(state, buffer)
    contents = buffer.getbuffer()
    digest = hashlib.sha256(contents).hexdigest().encode()
    write_atomically(path, _FIRST_LINE, digest + b"\n", contents)


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what :func:`save_checkpoint` wrote, on the CPU.

    ``best.ckpt`` of a training run holds ``epoch``, ``metrics`` and ``model``, a state for ``model.load_state_dict``.

    Raises
    ------
    CheckpointError
        If the file is foreign, cut short, altered, or holds anything but tensors and plain values.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(f"{folder}/best.ckpt", {"epoch": 3, "model": torch.nn.Linear(1, 1).state_dict()})
    ...     list(load_checkpoint(f"{folder}/best.ckpt")["model"])
    ['weight', 'bias']
    """
    raw = Path(path).read_bytes()
    if not raw.startswith(_FIRST_LINE):
        raise CheckpointError(f"{path} is not a checkpoint of this package: it does not begin with {_FIRST_LINE!r}")
    start = len(_FIRST_LINE) + _DIGEST_LENGTH + 1
    digest, contents = raw[len(_FIRST_LINE) : start - 1], memoryview(raw)[start:]
    if hashlib.sha256(contents).hexdigest().encode() != digest:
        raise CheckpointError(f"{path} is damaged: its contents do not match its checksum (cut short, or altered)")
    try:
        state = torch.load(io.BytesIO(contents), map_location="cpu", weights_only=True)
    except Exception as error:  # of many kinds, according to what a forged file holds
        raise CheckpointError(f"{path} holds more than tensors and plain values, and is not loaded") from error
    if not isinstance(state, dict):
        raise CheckpointError(f"{path} holds a {type(state).__name__} where a mapping is expected")
    return state


def _check_plain(value: Any, where: str) -> None:
    """Raise at the first value that `torch.load` would refuse, and say where it stands."""
    if type(value) in (dict, OrderedDict):
        for key, item in value.items():
            if type(key) not in (str, int, bool):
                raise TypeError(f"keys of {where} must be strings or whole numbers, got {key!r} ({type(key).__name__})")
            _check_plain(item, f"{where}[{key!r}]")
        for name, item in getattr(value, "__dict__", {}).items():  # such as the _metadata of a model's state
            _check_plain(item, f"{where}.{name}")
    elif type(value) in (list, tuple):
        for number, item in enumerate(value):
            _check_plain(item, f"{where}[{number}]")
    elif type(value) not in (torch.Tensor, torch.nn.Parameter, *_PLAIN):
        raise TypeError(f"{where} must be a tensor or a plain value to be saved without code, got {value!r:.80}")
