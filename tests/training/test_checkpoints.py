"""Checkpoints are whole or not there, and are read without running code from them."""

import enum
import errno
import hashlib
import io
import os
import pickle
from collections import OrderedDict, defaultdict
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from tpauc.training import checkpoints
from tpauc.training.checkpoints import CheckpointError, load_checkpoint, save_checkpoint


class Number(enum.IntEnum):
    ONE = 1


class Labelled(torch.Tensor):
    pass


STATE = {"weight": torch.arange(3.0), "epoch": 2, "rows": [{"loss": 0.5}, (1, None, True)], 7: "seven"}


def test_round_trip(tmp_path):
    save_checkpoint(tmp_path / "a.ckpt", STATE)
    loaded = load_checkpoint(tmp_path / "a.ckpt")
    assert torch.equal(loaded.pop("weight"), STATE["weight"])
    assert loaded == {key: value for key, value in STATE.items() if key != "weight"}
    assert os.listdir(tmp_path) == ["a.ckpt"]


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": [1, np.float64(0.5)]}, r"state\['a'\]\[1\]"),
        ({"a": {"b": np.zeros(2)}}, r"state\['a'\]\['b'\]"),
        ({"a": print}, r"state\['a'\]"),
        ({(1, 2): 3}, "keys of state"),
        ({np.str_("a"): 3}, r"keys of state .* \(str_\)"),
        ({"a": {Number.ONE: 3}}, r"keys of state\['a'\]"),
        ({"a": defaultdict(int, b=3)}, r"state\['a'\] must be"),
        (defaultdict(int, b=3), "state must be"),
        ({"a": torch.zeros(2).as_subclass(Labelled)}, r"state\['a'\] must be"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, value, where):
    with pytest.raises(TypeError, match=where):
        save_checkpoint(tmp_path / "a.ckpt", value)
    assert os.listdir(tmp_path) == []


def test_what_is_written_can_be_read_back(tmp_path):
    state = {"model": torch.nn.BatchNorm1d(2).state_dict(), "parameter": torch.nn.Parameter(torch.ones(2))}
    save_checkpoint(tmp_path / "a.ckpt", {**state, "ordered": OrderedDict(a=1), True: 1, b"".decode(): b"x"})
    assert load_checkpoint(tmp_path / "a.ckpt")["model"]._metadata == {"": {"version": 2}}
    state["model"]._metadata["made by"] = np.float64(1.0)
    with pytest.raises(TypeError, match=r"state\['model'\]._metadata\['made by'\]"):
        save_checkpoint(tmp_path / "a.ckpt", state)


def test_a_state_is_a_mapping(tmp_path):
    with pytest.raises(TypeError, match="state must be a mapping, got list"):
        save_checkpoint(tmp_path / "a.ckpt", [1])


# ----------------------------------------------------------------------------------------------------- damaged files


def test_every_truncation_is_noticed(tmp_path):
    path = tmp_path / "a.ckpt"
    save_checkpoint(path, STATE)
    whole = path.read_bytes()
    for length in [*range(100), *range(100, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=r"not a checkpoint|damaged"):
            load_checkpoint(path)


def test_every_flipped_byte_is_noticed(tmp_path):
    path = tmp_path / "a.ckpt"
    save_checkpoint(path, STATE)
    whole = bytearray(path.read_bytes())
    for position in range(0, len(whole), 31):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"not a checkpoint|damaged"):
            load_checkpoint(path)


@pytest.mark.parametrize("foreign", [b"", b"PK\x03\x04 not ours", b"tpauc-checkpoint 2\n" + b"0" * 65 + b"x"])
def test_a_foreign_file_is_named(tmp_path, foreign):
    path = tmp_path / "a.ckpt"
    path.write_bytes(foreign)
    with pytest.raises(CheckpointError, match=r"a\.ckpt is not a checkpoint of this package"):
        load_checkpoint(path)


class _RunsCode:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


def _signed(payload):
    return b"tpauc-checkpoint 1\n" + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload


def _saved_by_torch(state):
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("dump", [partial(pickle.dumps, protocol=2), _saved_by_torch], ids=["pickle", "torch.save"])
def test_code_in_a_file_is_not_run_even_if_its_checksum_is_right(tmp_path, dump):
    trace = tmp_path / "was-here"
    path = tmp_path / "a.ckpt"
    path.write_bytes(_signed(dump({"model": _RunsCode(str(trace))})))
    with pytest.raises(CheckpointError, match="more than tensors and plain values"):
        load_checkpoint(path)
    assert not trace.exists()
    # The same file, trusted, does run it: so the check above can fail.
    torch.load(io.BytesIO(_saved_by_torch({"model": _RunsCode(str(trace))})), weights_only=False)
    assert trace.exists()


def test_contents_must_be_a_mapping(tmp_path):
    path = tmp_path / "a.ckpt"
    path.write_bytes(_signed(_saved_by_torch([1, 2])))
    with pytest.raises(CheckpointError, match="holds a list where a mapping is expected"):
        load_checkpoint(path)


def test_a_missing_file_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "none.ckpt")


# ------------------------------------------------------------------------------------------------------ atomic writing


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_failed_write_leaves_the_former_file_and_nothing_else(tmp_path, monkeypatch, call, number):
    path = tmp_path / "a.ckpt"
    save_checkpoint(path, STATE)
    before = path.read_bytes()

    def fail(*_args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(checkpoints.os, call, fail)
    message = rf"cannot write .*a\.ckpt: {os.strerror(number)}; the former file is intact"
    with pytest.raises(OSError, match=message) as raised:
        save_checkpoint(path, {"epoch": 3})
    monkeypatch.undo()
    assert raised.value.errno == number
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.ckpt"]


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(OSError, match=r"cannot write .*gone.*: No such file or directory$"):
        save_checkpoint(tmp_path / "gone" / "a.ckpt", STATE)
