"""Files that are whole or not there, folders put in place, and locks."""

import errno
import os
import stat
import threading

import pytest

from tpauc._files import FileLock, locked, replaced_folder, write_atomically, write_together


def test_an_interrupted_write_leaves_the_former_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_atomically(path, b"before")

    def interrupt(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"after")
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_that_cannot_be_flushed_is_no_failed_write(tmp_path, monkeypatch):
    original = os.fsync

    def files_alone(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        original(descriptor)

    monkeypatch.setattr(os, "fsync", files_alone)
    write_atomically(tmp_path / "a.txt", b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"new"


def test_a_users_file_with_the_ending_tmp_is_left_alone(tmp_path, monkeypatch):
    (tmp_path / "a.txt.tmp").write_bytes(b"of the user")
    write_atomically(tmp_path / "a.txt", b"new")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
    with pytest.raises(OSError, match="broken"):
        write_atomically(tmp_path / "a.txt", b"newer")
    assert (tmp_path / "a.txt.tmp").read_bytes() == b"of the user"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "a.txt.tmp"]


def test_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    path, together, failures = tmp_path / "a.txt", threading.Barrier(4), []

    def write(number):
        together.wait()
        try:
            for _ in range(20):
                write_atomically(path, bytes([number]) * 10_000)
        except OSError as error:
            failures.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not failures
    assert len(set(path.read_bytes())) == 1
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_file_has_the_permissions_that_any_other_has(tmp_path):
    write_atomically(tmp_path / "a.txt", b"new")
    (tmp_path / "b.txt").write_bytes(b"new")
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode


# ------------------------------------------------------------------------------------------------------------- together


def test_files_appear_together_or_not_at_all(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("a.txt", "b.txt")]
    write_together(dict.fromkeys(paths, b"before"), what="the notes")
    original = os.fsync

    def second_fails(descriptor):
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode) and os.fstat(descriptor).st_size == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        original(descriptor)

    monkeypatch.setattr(os, "fsync", second_fails)
    with pytest.raises(OSError, match="the notes cannot be written: No space left on device"):
        write_together({paths[0]: b"after", paths[1]: b"22"}, what="the notes")
    assert [path.read_bytes() for path in paths] == [b"before", b"before"]
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"]


# -------------------------------------------------------------------------------------------------------------- folders


def test_a_folder_that_cannot_be_finished_leaves_the_former_one(tmp_path):
    run = tmp_path / "run"
    with replaced_folder(run) as new:
        (new / "note.txt").write_text("former")
    with pytest.raises(FileNotFoundError), replaced_folder(run) as new:
        (new / "missing" / "note.txt").write_text("half")
    assert (run / "note.txt").read_text() == "former"
    assert os.listdir(tmp_path) == ["run"]


def test_a_rename_that_fails_leaves_the_former_folder(tmp_path, monkeypatch):
    run = tmp_path / "run"
    with replaced_folder(run) as new:
        (new / "note.txt").write_text("former")
    original = os.rename

    def fail_for_the_new_one(source, destination):
        if source.name == ".run.new":
            raise OSError(errno.EIO, "broken")
        original(source, destination)

    monkeypatch.setattr(os, "rename", fail_for_the_new_one)
    with pytest.raises(OSError, match="broken"), replaced_folder(run):
        pass
    assert (run / "note.txt").read_text() == "former"
    assert os.listdir(tmp_path) == ["run"]


def test_what_a_killed_process_left_is_put_back_or_cleared_away(tmp_path):
    run = tmp_path / "run"
    (tmp_path / ".run.former").mkdir()
    (tmp_path / ".run.former" / "note.txt").write_text("former")
    (tmp_path / ".run.new").mkdir()
    with pytest.raises(FileNotFoundError), replaced_folder(run) as new:
        (new / "missing" / "note.txt").write_text("half")
    assert (run / "note.txt").read_text() == "former"
    assert os.listdir(tmp_path) == ["run"]


# ---------------------------------------------------------------------------------------------------------------- locks


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such locks")
def test_a_lock_follows_no_link_and_empties_no_file(tmp_path):
    target, link = tmp_path / "of_the_user.txt", tmp_path / ".lock"
    target.write_text("text")
    link.symlink_to(target)
    with pytest.raises(OSError, match="is a symbolic link, which is not followed; remove it"):
        FileLock(link).acquire()
    with pytest.raises(OSError, match="is a symbolic link"), locked(link):
        pass
    with locked(target):
        assert target.read_text() == "text"
