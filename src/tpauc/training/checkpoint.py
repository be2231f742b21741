"""Checkpoints, and the folder of a training run that holds them.

A checkpoint is the file that `torch.save` writes for a mapping, so ``torch.load(path, weights_only=True)`` returns the
mapping without this package. `torch.save` writes a zip archive; a zip archive may end with a comment, and here the
comment is

    tpauc-checkpoint 2 sha256 9f86d081884c7d65...        SHA-256 of all bytes before the 64 digits

`load_checkpoint` compares it, and so finds files that were cut short or altered. The CRC-32 that a zip archive has for
each record would not do: `torch.load` ignores it, and it does not cover the directory of the archive, where one wrong
bit (the mark of a folder) makes torch return uninitialised memory. The checksum is no protection against malice. That
is ``weights_only=True``, which builds tensors and plain values only; from torch 2.10 on no file is known that gets
around it. A state is loaded again before it is written, and the file is read back before it is put in place.

| file of a run | contents |
| --- | --- |
| ``config.json`` | the settings (`tpauc.TrainConfig`) |
| ``last.ckpt`` | everything that is needed to go on; ``["model"]`` holds the last weights |
| ``best.ckpt`` | ``model``, the weights with the best validation TPAUC so far, and their ``epoch`` and ``metrics`` |
| ``history.csv`` | one row per epoch |
| ``tensorboard/`` | the same for TensorBoard |

All files but TensorBoard's are written atomically (`tpauc._files`). ``last.ckpt`` holds the best weights and the
history as well: it alone decides how a run goes on, and the other files are derived from it.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from tpauc._files import FileLock, remove_leftovers, write_atomically
from tpauc._validation import check_path
from tpauc.training.exceptions import CheckpointError

_MARK = b"tpauc-checkpoint 2 sha256 "
_COMMENT_LENGTH = len(_MARK) + 64
_FIRST_BYTES_OF_FORMAT_1 = b"tpauc-checkpoint 1\n"
# By exact type: NumPy's float64 is a float too, but cannot be read back without running code.
_PLAIN = (str, bytes, bool, int, float, type(None))
_KIND = "training run"


def save_checkpoint(path: str | os.PathLike[str], state: Mapping[str, Any]) -> None:
    """Write ``state`` to ``path`` atomically: a file that is there is replaced only by a complete new one.

    ``torch.load(path, weights_only=True)`` reads the file as well, but does not notice all damage.

    Parameters
    ----------
    path : str or path
        Where to write. The folder must exist.
    state : mapping
        Tensors, numbers, strings, None, and dicts, lists and tuples of these. Anything else could not be read without
        running code from the file; it raises a ``TypeError`` that names its place.

    Raises
    ------
    OSError
        If the file cannot be written, for example because the disk is full. The former file is then unchanged.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(f"{folder}/model.ckpt", {"weight": torch.ones(2), "epoch": 3})
    ...     load_checkpoint(f"{folder}/model.ckpt")
    ...     torch.load(f"{folder}/model.ckpt", weights_only=True)
    {'weight': tensor([1., 1.]), 'epoch': 3}
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"state must be a mapping, got {type(state).__name__}")
    check_path(path, "path")
    _check_plain(state, "state")
    buffer = io.BytesIO()
    torch.save(state, buffer)
    archive = buffer.getbuffer()
    # The record that ends a zip archive without a comment has 22 bytes; the last two are the length of the comment.
    assert bytes(archive[-22:-18]) == b"PK\x05\x06", "torch.save has written a zip archive without a comment"
    _check_loadable(buffer, path)
    archive[-2:] = _COMMENT_LENGTH.to_bytes(2, "little")
    digest = hashlib.sha256(archive)
    digest.update(_MARK)
    write_atomically(path, archive, _MARK, digest.hexdigest().encode())


def _check_loadable(buffer: io.BytesIO, path: object) -> None:
    """Raise, before anything is written, if torch could not load what it saved; the numbers are not copied for it."""
    try:
        for device in ("meta", "cpu"):
            buffer.seek(0)
            with suppress(NotImplementedError):  # quantised tensors have numbers only
                torch.load(buffer, map_location=device, weights_only=True)
                break
    except Exception as error:  # of many kinds, see load_checkpoint
        raise TypeError(f"state is not written to {path}, because torch could not load it again: {error}") from error


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what :func:`save_checkpoint` wrote, with all tensors on the CPU.

    ``best.ckpt`` of a training run holds ``epoch``, ``metrics`` and ``model``, a state for ``model.load_state_dict``.

    Raises
    ------
    CheckpointError
        If the file was not written by :func:`save_checkpoint`, is cut short or altered, or holds anything but tensors
        and plain values.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(f"{folder}/best.ckpt", {"epoch": 3, "model": torch.nn.Linear(1, 1).state_dict()})
    ...     list(load_checkpoint(f"{folder}/best.ckpt")["model"])
    ['weight', 'bias']
    """
    raw = Path(check_path(path, "path")).read_bytes()
    _check_intact(raw, path)
    try:
        state = torch.load(io.BytesIO(raw), map_location="cpu", weights_only=True)
    except Exception as error:  # of many kinds, depending on what a forged file holds
        raise CheckpointError(f"{path} holds more than tensors and plain values, and is not loaded") from error
    if not isinstance(state, dict):
        raise CheckpointError(f"{path} holds a {type(state).__name__} where a mapping is expected")
    return state


def _check_intact(raw: bytes, path: object) -> None:
    """Raise if ``raw`` is not, byte for byte, what :func:`save_checkpoint` wrote."""
    if raw.startswith(_FIRST_BYTES_OF_FORMAT_1):
        raise CheckpointError(
            f"{path} was written by an earlier development version of this package (its format is 'tpauc-checkpoint "
            "1', now it is 2), and cannot be read; load it with that version, or train again"
        )
    marked = raw[-_COMMENT_LENGTH:].startswith(_MARK)
    # A file that was cut short has no mark, but still begins with the first record of torch.save.
    if not marked and raw[30:46] != b"archive/data.pkl":
        raise CheckpointError(f"{path} is not a checkpoint of this package: save_checkpoint did not write it")
    if not marked or hashlib.sha256(memoryview(raw)[:-64]).hexdigest().encode() != raw[-64:]:
        raise CheckpointError(
            f"{path} is damaged: its contents do not match its checksum (cut short or altered), "
            "or torch.save alone has written it"
        )


def _check_plain(value: Any, where: str) -> None:
    """Raise at the first value that `torch.load` would refuse, and name its place."""
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


class RunFolder:
    """The folder of a training run; ``config``, ``last``, ``best``, ``history``, ``tensorboard``: the files in it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path:
    ...     folder = RunFolder(path)
    ...     folder.claim()
    ...     folder.save({"best": None, "history": [{"epoch": 1, "loss": 0.5}]})
    ...     folder.release()
    ...     folder.load()["history"], folder.history.read_text().split()
    ([{'epoch': 1, 'loss': 0.5}], ['epoch,loss', '1,0.5'])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.config = self.path / "config.json"
        self.last = self.path / "last.ckpt"
        self.best = self.path / "best.ckpt"
        self.history = self.path / "history.csv"
        self.tensorboard = self.path / "tensorboard"
        self._lock = FileLock(self.path / ".lock")
        self._best_written: int | None = None

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    def claim(self) -> None:
        """Create the folder if necessary and lock it until :meth:`release` or the end of the process."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(error.errno, f"the folder {self.path} cannot be made: {error.strerror}") from error
        try:
            self._lock.acquire()
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, f"another process is training in the folder {self.path}") from error
        remove_leftovers(self.config, self.last, self.best, self.history)

    def release(self) -> None:
        """Unlock the folder."""
        self._lock.release()

    def save(self, state: Mapping[str, Any]) -> None:
        """Write the state of a run, and the files derived from its entries ``best`` and ``history``."""
        save_checkpoint(self.last, {"kind": _KIND, **state})
        self.write_derived(state)

    def write_derived(self, state: Mapping[str, Any]) -> None:
        """Write the best weights and the history of a saved state."""
        if state["best"] is not None and state["best"]["epoch"] != self._best_written:
            save_checkpoint(self.best, state["best"])
            self._best_written = state["best"]["epoch"]
        if history := state["history"]:
            text = io.StringIO()
            writer = csv.DictWriter(text, fieldnames=list(history[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(history)
            write_atomically(self.history, text.getvalue().encode())

    def load(self) -> dict[str, Any] | None:
        """Return the state that was saved last, None if there is none."""
        if not self.last.exists():
            return None
        state = load_checkpoint(self.last)
        if state.get("kind") != _KIND:
            raise CheckpointError(f"{self.last} is a checkpoint, but not the state of a training run")
        return state
