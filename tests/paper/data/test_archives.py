"""`tpauc data fetch` against a server on this machine: unpacking, locking, and all that can go wrong."""

import io
import json
import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import image_files
from download_server import serving
from tpauc._files import locked
from tpauc.cli.fetch import DownloadBar
from tpauc.cli.main import app
from tpauc.paper.data import archives
from tpauc.paper.data.archives import ARCHIVES, Archive, fetch, unpack
from tpauc.paper.data.datasets import load_splits
from training_runs import FORKS, start


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as running:
        yield running


# ---------------------------------------------------------------------------------------------------------- unpacking


def make_tar(path, members):
    """Write a tar file of pairs (name, content); a function as content changes the header of an empty member."""
    with tarfile.open(path, "w:gz") as file:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if callable(content):
                content(info)
                content = b""
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return path


def make_zip(path, members):
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            if callable(content):
                content(info)
                content = b"target"
            file.writestr(info, content)
    return path


def a_folder(info):
    info.type = tarfile.DIRTYPE
    info.mode = 0o755


def a_link(kind, target):
    def change(info):
        info.type, info.linkname = kind, target

    return change


def a_device(info):
    info.type, info.devmajor, info.devminor = tarfile.CHRTYPE, 1, 3


def a_zip_link(info):
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16


GOOD = [("set/a.txt", b"one"), ("set/deep/b.txt", b"two")]


@pytest.mark.parametrize(
    ("make", "name", "members"),
    [
        (make_tar, "set.tar.gz", [("set", a_folder), *GOOD]),
        (make_tar, "set.tar.gz", [(f"./{name}", content) for name, content in GOOD]),
        (make_zip, "set.zip", [("set/", b""), *GOOD]),
    ],
)
def test_a_good_archive(tmp_path, make, name, members):
    unpack(make(tmp_path / name, members), tmp_path / "set")
    assert (tmp_path / "set" / "a.txt").read_bytes() == b"one"
    assert (tmp_path / "set" / "deep" / "b.txt").read_bytes() == b"two"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set", name]


HOSTILE_NAMES = [
    *("../outside.txt", "set/../../outside.txt", "/outside.txt", "other/a.txt", "a.txt", "setter/a.txt"),
    *("..\\outside.txt", "set\\..\\..\\outside.txt", "C:/outside.txt", "set/C:/outside.txt", "set/..", "."),
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize(("make", "suffix"), [(make_tar, ".tar.gz"), (make_zip, ".zip")])
def test_no_member_may_be_outside_the_folder(tmp_path, make, suffix, name):
    home = tmp_path / "home"
    home.mkdir()
    archive = make(home / f"set{suffix}", [*GOOD, (name, b"evil")])
    with pytest.raises(ValueError, match=r"must hold set/ only, found .*; it is not unpacked") as caught:
        unpack(archive, home / "set")
    assert str(archive) in str(caught.value)
    assert [path.name for path in tmp_path.rglob("*")] == ["home", archive.name]


@pytest.mark.parametrize(
    ("make", "name", "member"),
    [
        (make_tar, "set.tar.gz", a_link(tarfile.SYMTYPE, "/etc")),
        (make_tar, "set.tar.gz", a_link(tarfile.SYMTYPE, "a.txt")),
        (make_tar, "set.tar.gz", a_link(tarfile.LNKTYPE, "set/a.txt")),
        (make_tar, "set.tar.gz", a_device),
        (make_zip, "set.zip", a_zip_link),
    ],
)
def test_no_links_and_no_devices(tmp_path, make, name, member):
    archive = make(tmp_path / name, [*GOOD, ("set/link", member), ("set/link/c.txt", b"evil")])
    with pytest.raises(ValueError, match="must hold files and folders only, found 'set/link'; it is not unpacked"):
        unpack(archive, tmp_path / "set")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("spoil", [lambda content: content[: len(content) // 2], lambda content: b"no archive"])
@pytest.mark.parametrize(("make", "name"), [(make_tar, "set.tar.gz"), (make_zip, "set.zip")])
def test_a_damaged_archive_leaves_nothing(tmp_path, make, name, spoil):
    archive = make(tmp_path / name, [("set/a.bin", bytes(range(256)) * 400)])
    archive.write_bytes(spoil(archive.read_bytes()))
    with pytest.raises(ValueError, match="cannot be unpacked, it may be damaged"):
        unpack(archive, tmp_path / "set")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("make", "name"), [(make_tar, "set.tar.gz"), (make_zip, "set.zip")])
@pytest.mark.parametrize(
    "members",
    [
        [("set/a", b"a file"), ("set/a/b.txt", b"in it")],
        [("set/a/b.txt", b"in a folder"), ("set/a", b"a file")],
        [("set/a", b"a file"), ("set/a/b/c.txt", b"further in it")],
    ],
)
def test_a_name_that_is_a_file_and_a_folder(tmp_path, make, name, members):
    with pytest.raises(ValueError, match="cannot be unpacked, it may be damaged"):
        unpack(make(tmp_path / name, members), tmp_path / "set")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("place", "bits", "message"),
    [(6, b"\x01\x00", "encrypted"), (8, b"\x63\x00", "compression method is not supported")],
)
def test_a_zip_file_that_python_cannot_read(tmp_path, place, bits, message):
    archive = make_zip(tmp_path / "set.zip", [("set/a.txt", b"one")])
    content = bytearray(archive.read_bytes())
    directory = content.index(b"PK\x01\x02")  # says the same as the head of the member, two bytes further on
    content[place : place + 2] = content[directory + place + 2 : directory + place + 4] = bits
    archive.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        unpack(archive, tmp_path / "set")
    assert [path.name for path in tmp_path.iterdir()] == ["set.zip"]


@pytest.mark.parametrize(
    ("make", "name", "copy"),
    [(make_tar, "set.tar.gz", "tarfile.copyfileobj"), (make_zip, "set.zip", "shutil.copyfileobj")],
)
def test_a_full_disk_is_not_called_damage(tmp_path, monkeypatch, make, name, copy):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    archive = make(tmp_path / name, GOOD)
    monkeypatch.setattr(copy, full)
    with pytest.raises(OSError, match="No space left on device"):
        unpack(archive, tmp_path / "set")
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize(("make", "name"), [(make_tar, "set.tar.gz"), (make_zip, "set.zip")])
def test_an_archive_without_the_folder(tmp_path, make, name):
    with pytest.raises(ValueError, match="holds no folder set"):
        unpack(make(tmp_path / name, []), tmp_path / "set")
    with pytest.raises(ValueError, match="holds no folder set"):
        unpack(make(tmp_path / name, [("set", b"a file")]), tmp_path / "set")


def test_a_folder_is_replaced_only_by_a_whole_one(tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "old.txt").write_text("old")
    bad = make_tar(tmp_path / "bad.tar.gz", [*GOOD, ("../x", b"")])
    with pytest.raises(ValueError, match="not unpacked"):
        unpack(bad, tmp_path / "set")
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["old.txt"]
    unpack(make_tar(tmp_path / "good.tar.gz", GOOD), tmp_path / "set")
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == ["a.txt", "deep"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.tar.gz", "good.tar.gz", "set"]


@pytest.mark.parametrize(("make", "name"), [(make_tar, "set.tar.gz"), (make_zip, "set.zip")])
@pytest.mark.parametrize(("limit", "value"), [("_MOST_BYTES", 5), ("_MOST_MEMBERS", 1)])
def test_what_an_archive_may_grow_to_is_limited(tmp_path, monkeypatch, make, name, limit, value):
    monkeypatch.setattr(archives, limit, value)
    with pytest.raises(ValueError, match=r"is not unpacked: it holds more than 5 bytes|more than 1 files and folders"):
        unpack(make(tmp_path / name, GOOD), tmp_path / "set")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    monkeypatch.setattr(archives, limit, value + 1)
    unpack(tmp_path / name, tmp_path / "set")


def test_data_that_a_killed_process_moved_away_are_put_back_instead_of_fetched(served, tmp_path):
    fetch("cifar10", tmp_path)
    (tmp_path / "cifar-10-batches-bin").rename(tmp_path / ".cifar-10-batches-bin.former")
    asked = len(served.asked)
    assert fetch("cifar10", tmp_path) is False
    assert len(served.asked) == asked
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".cifar")] == []


def test_what_a_killed_run_left_is_cleared_away(tmp_path):
    (tmp_path / ".set.new").mkdir()
    (tmp_path / ".set.new" / "half.bin").write_bytes(b"1")
    unpack(make_tar(tmp_path / "set.tar.gz", GOOD), tmp_path / "set")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set", "set.tar.gz"]
    assert not (tmp_path / "set" / "half.bin").exists()


def test_a_folder_that_cannot_be_put_in_place_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "old.txt").write_text("old")
    rename = os.rename

    def refuse_new(source, target):
        if source.name == ".set.new":
            raise OSError(13, "Permission denied")
        return rename(source, target)

    monkeypatch.setattr("tpauc._files._exchanged", lambda first, second: False)
    monkeypatch.setattr(os, "rename", refuse_new)
    with pytest.raises(OSError, match="Permission denied"):
        unpack(make_tar(tmp_path / "set.tar.gz", GOOD), tmp_path / "set")
    assert (tmp_path / "set" / "old.txt").read_text() == "old"


# ----------------------------------------------------------------------------------------------------- whole data sets


@pytest.fixture
def served(server, tmp_path, monkeypatch):
    """Serve a small CIFAR-10 under the name of the real one."""
    image_files.write_cifar10(tmp_path / "origin", 60)
    archive = tmp_path / "cifar-10-binary.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(tmp_path / "origin" / "cifar-10-batches-bin", "cifar-10-batches-bin")
    server.body = archive.read_bytes()
    small = Archive(server.remote(archive.name), "cifar-10-batches-bin")
    monkeypatch.setitem(archives.ARCHIVES, "cifar10", small)
    return server


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False, **options)


def test_fetched_data_can_be_loaded(served, tmp_path):
    assert fetch("cifar10", tmp_path / "new" / "data") is True
    assert [path.name for path in (tmp_path / "new" / "data").iterdir()] == ["cifar-10-batches-bin"]
    folders = (tmp_path / "new" / "data", tmp_path / "origin")
    splits, original = (load_splits("cifar10-lt", subset=1, data_dir=folder) for folder in folders)
    assert splits.train[0].equal(original.train[0])


def test_data_that_are_there_are_left_alone(served, tmp_path):
    (tmp_path / "data" / "cifar-10-batches-bin").mkdir(parents=True)
    assert fetch("cifar10", tmp_path / "data") is False
    assert served.asked == []
    assert fetch("cifar10", tmp_path / "data", overwrite=True) is True
    assert len(list((tmp_path / "data" / "cifar-10-batches-bin").iterdir())) == 6


def hold_lock(path, held, let_go):
    with locked(path):
        held.set()
        let_go.wait(60)


def count_up(lock, counter, times):
    """Read a number and write the next one; two at a time would lose some."""
    for _ in range(times):
        with locked(lock):
            counter.write_text(str(int(counter.read_text()) + 1))


def test_a_second_fetch_waits_for_the_first_and_finds_its_data(served, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    held, let_go = FORKS.Event(), FORKS.Event()
    first = start(hold_lock, data / ".cifar-10-binary.tar.gz.lock", held, let_go)
    assert held.wait(60)
    lines = []

    def say(line):
        """Let the first process put the data there and end, as soon as the second says that it waits."""
        lines.append(line)
        (data / "cifar-10-batches-bin").mkdir()
        let_go.set()

    assert fetch("cifar10", data, say=say) is False
    first.join()
    assert lines == [f"another process is fetching {data / 'cifar-10-binary.tar.gz'}; waiting for it"]
    assert served.asked == []
    assert [path.name for path in data.iterdir()] == ["cifar-10-batches-bin"]


def test_a_lock_lets_one_process_in_at_a_time(tmp_path):
    (tmp_path / "counter").write_text("0")
    processes = [start(count_up, tmp_path / ".lock", tmp_path / "counter", 200) for _ in range(3)]
    for process in processes:
        process.join()
    assert (tmp_path / "counter").read_text() == "600"
    assert [path.name for path in tmp_path.iterdir()] == ["counter"]


def test_zip_archives_are_fetched_too(server, tmp_path, monkeypatch):
    server.body = make_zip(tmp_path / "x.zip", [("tiny-imagenet-200/wnids.txt", b"n1\n")]).read_bytes()
    monkeypatch.setitem(ARCHIVES, "tiny-imagenet", Archive(server.remote("tiny-imagenet-200.zip"), "tiny-imagenet-200"))
    fetch("tiny-imagenet", tmp_path / "data")
    assert (tmp_path / "data" / "tiny-imagenet-200" / "wnids.txt").read_bytes() == b"n1\n"


def test_the_official_addresses():
    assert {name: (archive.file_name, archive.folder) for name, archive in ARCHIVES.items()} == {
        "cifar10": ("cifar-10-binary.tar.gz", "cifar-10-batches-bin"),
        "cifar100": ("cifar-100-binary.tar.gz", "cifar-100-binary"),
        "tiny-imagenet": ("tiny-imagenet-200.zip", "tiny-imagenet-200"),
    }
    assert all(len(bytes.fromhex(archive.remote.sha256)) == 32 for archive in ARCHIVES.values())
    assert all(archive.remote.url.startswith("https://") for archive in ARCHIVES.values())


def test_an_unknown_name():
    with pytest.raises(ValueError, match="name must be one of 'cifar10', 'cifar100', 'tiny-imagenet', got 'mnist'"):
        fetch("mnist", Path("data"))


# ---------------------------------------------------------------------------------------------------- the command line


def test_the_command_fetches(served, tmp_path):
    folder = tmp_path / "data" / "cifar-10-batches-bin"
    result = run("data", "fetch", "cifar10", "--data-dir", tmp_path / "data")
    assert (result.exit_code, result.stdout) == (0, f"cifar10 is in {folder}\n")
    assert "tpauc: cifar10" in result.stderr
    assert f"tpauc: unpacking {tmp_path / 'data' / 'cifar-10-binary.tar.gz'}" in result.stderr
    again = run("data", "fetch", "cifar10", "--data-dir", tmp_path / "data", "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout) == {"name": "cifar10", "folder": str(folder), "fetched": False}
    assert again.stderr == ""
    assert len(served.asked) == 1


def test_the_directory_may_come_from_the_environment(served, tmp_path):
    result = run("data", "fetch", "cifar10", env={"TPAUC_DATA": str(tmp_path / "elsewhere")})
    assert result.exit_code == 0
    assert (tmp_path / "elsewhere" / "cifar-10-batches-bin" / "test_batch.bin").exists()


def test_no_directory_is_an_error_of_usage(monkeypatch):
    monkeypatch.delenv("TPAUC_DATA", raising=False)
    result = run("data", "fetch", "cifar10")
    assert result.exit_code == 2
    assert "--data-dir" in result.stderr
    assert "TPAUC_DATA" in result.stderr


def test_an_unknown_set_is_an_error_of_usage(tmp_path):
    result = run("data", "fetch", "mnist", "--data-dir", tmp_path)
    assert result.exit_code == 2
    assert "'cifar10', 'cifar100', 'tiny-imagenet'" in result.stderr


def test_a_failed_download_is_one_line_and_is_resumed(served, tmp_path):
    served.stops_after = 500
    result = run("data", "fetch", "cifar10", "--data-dir", tmp_path / "data")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("tpauc: error: http://127.0.0.1")
    assert result.stderr.endswith("bytes; what has arrived is kept, try again to go on from there\n")
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["cifar-10-binary.tar.gz.part"]
    served.stops_after = None
    assert run("data", "fetch", "cifar10", "--data-dir", tmp_path / "data").exit_code == 0
    assert served.asked[-1] == "bytes=500-"


def test_a_directory_that_cannot_be_written(served, tmp_path):
    (tmp_path / "data").write_text("a file")
    result = run("data", "fetch", "cifar10", "--data-dir", tmp_path / "data")
    assert result.exit_code == 1
    assert str(tmp_path / "data") in result.stderr


def test_the_bar_shows_how_much_has_arrived(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    bar = DownloadBar("cifar10", 1000)
    assert stream.getvalue() == ""
    bar.show(0)
    bar.show(500)
    bar.show(1000)
    bar.end()
    bar.end()
    assert "cifar10" in stream.getvalue()
    assert "50%" in stream.getvalue()
    assert "100%" in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


def test_help_of_the_command_loads_nothing_heavy():
    code = (
        "import sys; from typer.testing import CliRunner; from tpauc.cli.main import app; "
        "assert CliRunner().invoke(app, ['data', 'fetch', '--help']).exit_code == 0; "
        "import tpauc.paper.data.archives; assert 'torch' not in sys.modules"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
