"""Files that are whole or not there, folders put in place, and locks."""

import errno
import os
import stat
import sys
import threading

import pytest

from tpauc import _files
from tpauc._files import (
    FileLock,
    finish_together,
    locked,
    recover_folder,
    replaced_folder,
    write_atomically,
    write_flushed,
    write_together,
)


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


def test_what_is_written_is_read_back_before_it_is_put_in_place(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_atomically(path, b"before")
    original = os.fsync

    def lose_the_last_byte(descriptor):
        original(descriptor)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - 1)

    monkeypatch.setattr(os, "fsync", lose_the_last_byte)
    with pytest.raises(OSError, match="what was written is not what is read back; the former file is intact"):
        write_atomically(path, b"af", b"ter")
    with pytest.raises(OSError, match="the notes cannot be written: what was written is not what is read back"):
        write_together({path: b"after"}, what="the notes")
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_large_file_is_read_back_in_blocks(tmp_path):
    write_flushed(tmp_path / "large", b"x" * 3_000_000, memoryview(b"y" * 10), b"")
    assert (tmp_path / "large").stat().st_size == 3_000_010


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


def test_moves_that_were_interrupted_are_finished(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("a.png", "b.html")]
    write_together(dict.fromkeys(paths, b"before"), what="the report")
    original = os.replace

    def stop_at_the_page(source, destination):
        if destination == paths[1]:
            raise KeyboardInterrupt
        original(source, destination)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stop_at_the_page)
        with pytest.raises(KeyboardInterrupt):
            write_together(dict.fromkeys(paths, b"after"), what="the report")
    assert [path.read_bytes() for path in paths] == [b"after", b"before"]
    finish_together(paths[1])
    assert [path.read_bytes() for path in paths] == [b"after", b"after"]
    assert sorted(os.listdir(tmp_path)) == ["a.png", "b.html"]


def test_a_list_that_was_cut_short_moves_nothing(tmp_path):
    (tmp_path / ".a.png.0123456789abcdef.tmp").write_text("new")
    (tmp_path / "a.png").write_text("former")
    (tmp_path / ".b.html.moves").write_text(".a.png.0123456789abcdef.tmp\n.b.html.01234")
    finish_together(tmp_path / "b.html")
    assert (tmp_path / "a.png").read_text() == "former"
    assert not (tmp_path / ".b.html.moves").exists()


@pytest.mark.parametrize("line", ["../.a.0123456789abcdef.tmp", "/etc/hosts", ".b.html.tmp", "", "a.txt"])
def test_a_forged_list_of_moves_moves_nothing(tmp_path, line):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("of the user")
    (tmp_path / ".a.0123456789abcdef.tmp").write_text("of the user")
    (folder / ".b.html.moves").write_text(f"{line}\nend")
    with pytest.raises(ValueError, match=r"b\.html\.moves is damaged: it lists"):
        finish_together(folder / "b.html")
    assert (folder / "a.txt").exists()
    assert not (tmp_path / "a").exists()


# -------------------------------------------------------------------------------------------------------------- folders


@pytest.fixture(params=[True, False], ids=["exchange", "two renames"])
def exchange(request, monkeypatch):
    """Swap folders as this system can, and as systems do that cannot exchange two names."""
    if not request.param:
        monkeypatch.setattr(_files, "_exchanged", lambda first, second: False)


def test_a_folder_is_replaced(tmp_path, exchange):
    for text in ("former", "new"):
        with replaced_folder(tmp_path / "run") as new:
            (new / "note.txt").write_text(text)
    assert (tmp_path / "run" / "note.txt").read_text() == "new"
    assert os.listdir(tmp_path) == ["run"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two names in one step")
def test_no_moment_without_a_folder(tmp_path, monkeypatch):
    with replaced_folder(tmp_path / "run"):
        pass
    monkeypatch.setattr(os, "rename", lambda *_: pytest.fail("the former folder is moved away first"))
    with replaced_folder(tmp_path / "run") as new:
        (new / "note.txt").write_text("new")
    assert (tmp_path / "run" / "note.txt").read_text() == "new"


def test_a_link_to_a_folder_is_replaced_and_its_target_is_left_alone(tmp_path, exchange):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "note.txt").write_text("of the user")
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    for text in ("first", "second"):
        with replaced_folder(tmp_path / "run") as new:
            (new / "note.txt").write_text(text)
    assert (tmp_path / "run" / "note.txt").read_text() == "second"
    assert (tmp_path / "elsewhere" / "note.txt").read_text() == "of the user"
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "run"]


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

    monkeypatch.setattr(_files, "_exchanged", lambda first, second: False)
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
    recover_folder(run)
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
