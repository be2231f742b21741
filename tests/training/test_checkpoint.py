"""Checkpoints are whole or not there, open with `torch.load`, and are read without running code from them."""

import enum
import errno
import hashlib
import io
import os
import pickle
import zipfile
from collections import OrderedDict, defaultdict
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from tpauc.training import TrainingInterrupted, checkpoint
from tpauc.training.checkpoint import RunFolder, load_checkpoint, save_checkpoint
from tpauc.training.exceptions import CheckpointError
from training_runs import (
    Interrupting,
    assert_bit_equal,
    numbers_of,
    run,
    start,
    train,
    train_quietly,
    train_with_file_limit,
    wait_for,
)


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


def test_torch_opens_it_without_this_package(tmp_path):
    model = torch.nn.Linear(2, 1)
    save_checkpoint(tmp_path / "best.ckpt", {"epoch": 3, "model": model.state_dict()})
    assert zipfile.ZipFile(tmp_path / "best.ckpt").testzip() is None
    for mmap in (False, True):
        loaded = torch.load(tmp_path / "best.ckpt", weights_only=True, mmap=mmap)
        assert loaded["epoch"] == 3
        torch.nn.Linear(2, 1).load_state_dict(loaded["model"])
        assert torch.equal(loaded["model"]["weight"], model.weight)


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


# -------------------------------------------------------------------------------------------------------- damaged files


def test_every_truncation_is_noticed(tmp_path):
    path = tmp_path / "a.ckpt"
    save_checkpoint(path, STATE)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="damaged" if length >= 46 else "not a checkpoint"):
            load_checkpoint(path)


def test_every_flipped_byte_is_noticed(tmp_path):
    path = tmp_path / "a.ckpt"
    save_checkpoint(path, STATE)
    whole = path.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged"):
            load_checkpoint(path)


def test_damage_that_torch_and_zip_archives_do_not_notice(tmp_path):
    """The tests above can fail: reading without the checksum returns other numbers, or does not see the damage."""
    path = tmp_path / "a.ckpt"
    save_checkpoint(path, STATE)
    whole = path.read_bytes()
    number, directory = bytearray(whole), bytearray(whole)
    number[whole.index(STATE["weight"].numpy().tobytes()) + 4] ^= 1
    assert not torch.equal(torch.load(io.BytesIO(number), weights_only=True)["weight"], STATE["weight"])
    # The directory of the archive names each record again, with its attributes 8 bytes before the name. If they say
    # that the record is a folder, torch returns uninitialised memory.
    directory[whole.rindex(b"archive/data/0") - 8] ^= 0x10
    assert zipfile.ZipFile(io.BytesIO(directory)).testzip() is None
    for damaged in (number, directory):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged"):
            load_checkpoint(path)


def _zip_of_another_kind():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("note.txt", "text")
    return buffer.getvalue()


@pytest.mark.parametrize(
    "foreign",
    [
        b"",
        b"something else",
        b"PK\x03\x04 not ours",
        b"tpauc-checkpoint 2\n" + b"0" * 65 + b"x",
        _zip_of_another_kind(),
    ],
)
def test_a_foreign_file_is_named(tmp_path, foreign):
    path = tmp_path / "a.ckpt"
    path.write_bytes(foreign)
    with pytest.raises(CheckpointError, match=r"a\.ckpt is not a checkpoint of this package"):
        load_checkpoint(path)


def test_a_file_of_torch_save_alone_has_no_checksum(tmp_path):
    torch.save(STATE, tmp_path / "named.pt")
    (tmp_path / "buffered.pt").write_bytes(_saved_by_torch(STATE))
    with pytest.raises(CheckpointError, match="is not a checkpoint of this package: save_checkpoint did not write it"):
        load_checkpoint(tmp_path / "named.pt")
    with pytest.raises(CheckpointError, match=r"or torch\.save alone has written it"):
        load_checkpoint(tmp_path / "buffered.pt")


def test_a_file_of_the_former_format_is_told_apart(tmp_path):
    payload = _saved_by_torch(STATE)
    digest = hashlib.sha256(payload).hexdigest().encode()
    (tmp_path / "a.ckpt").write_bytes(b"tpauc-checkpoint 1\n" + digest + b"\n" + payload)
    with pytest.raises(CheckpointError, match=r"a\.ckpt was written by an earlier development version"):
        load_checkpoint(tmp_path / "a.ckpt")


class _RunsCode:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


def _signed(payload):
    """Return ``payload`` with a right checksum, as `save_checkpoint` appends it."""
    mark = b"tpauc-checkpoint 2 sha256 "
    payload = payload[:-2] + (len(mark) + 64).to_bytes(2, "little") + mark
    return payload + hashlib.sha256(payload).hexdigest().encode()


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


# ------------------------------------------------------------------------------------------------------- atomic writing


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_failed_write_leaves_the_former_file_and_nothing_else(tmp_path, monkeypatch, call, number):
    path = tmp_path / "a.ckpt"
    save_checkpoint(path, STATE)
    before = path.read_bytes()

    def fail(*_args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(checkpoint.os, call, fail)
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


# ------------------------------------------------------------------------------------------------------ folder of a run


def test_a_full_disk_is_a_clear_error_and_the_last_checkpoint_is_intact(tmp_path, monkeypatch):
    original, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 12:
            raise OSError(28, "No space left on device")
        original(descriptor)

    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device; the former file is intact"):
        train(out=tmp_path, checkpoint_steps=1)
    monkeypatch.undo()
    assert RunFolder(tmp_path).load()["progress"]["total_steps"] > 0
    assert not list(tmp_path.glob("*.tmp"))
    train(out=tmp_path)
    train(out=tmp_path / "straight")
    assert_bit_equal(numbers_of(tmp_path), numbers_of(tmp_path / "straight"))


def test_files_that_follow_from_the_last_checkpoint_are_written_when_the_run_is_resumed(tmp_path, monkeypatch):
    original = os.replace

    def all_but_the_best(source, target):
        if Path(target).name == "best.ckpt":
            raise OSError(28, "No space left on device")
        original(source, target)

    with monkeypatch.context() as broken:
        broken.setattr(checkpoint.os, "replace", all_but_the_best)
        with pytest.raises(OSError, match="No space left"):
            train(out=tmp_path, epochs=1)
    folder = RunFolder(tmp_path)
    assert folder.last.exists()
    assert not folder.best.exists()
    train(out=tmp_path, epochs=1)
    assert load_checkpoint(folder.best)["epoch"] == 1
    assert len(folder.history.read_text().splitlines()) == 2


def test_what_a_killed_process_left_half_written_is_removed(tmp_path):
    (tmp_path / ".last.ckpt.0123456789abcdef.tmp").write_bytes(b"half of")
    (tmp_path / "last.ckpt.tmp").write_bytes(b"of the user")
    train(out=tmp_path, epochs=1)
    assert [path.name for path in tmp_path.glob("*.tmp")] == ["last.ckpt.tmp"]


def test_a_write_that_really_fails_half_way(tmp_path):
    train(out=tmp_path / "run", epochs=1)
    before = (tmp_path / "run" / "last.ckpt").read_bytes()
    code = run(train_with_file_limit, tmp_path / "error", len(before) - 1, out=tmp_path / "run", epochs=2)
    assert code == 3
    assert "cannot write" in (tmp_path / "error").read_text()
    assert "the former file is intact" in (tmp_path / "error").read_text()
    assert (tmp_path / "run" / "last.ckpt").read_bytes() == before
    assert not list((tmp_path / "run").glob("*.tmp"))


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match=r"the folder .*file/run cannot be made"):
        train(out=tmp_path / "file" / "run")


def test_two_runs_in_one_folder(tmp_path):
    process = start(train_quietly, tmp_path / "log", out=tmp_path / "run", epochs=100_000, checkpoint_steps=5)
    try:
        wait_for(tmp_path / "run" / "last.ckpt", process)
        with pytest.raises(BlockingIOError, match="another process is training in the folder"):
            train(out=tmp_path / "run", epochs=100_000)
    finally:
        process.kill()
        process.join()
    with pytest.raises(TrainingInterrupted):
        train(out=tmp_path / "run", epochs=100_000, transform=Interrupting(1))
