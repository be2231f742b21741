"""The image sets from their official addresses: download, checksum, unpacking.

| name | folder | bytes to download |
| --- | --- | --- |
| ``cifar10`` | ``cifar-10-batches-bin`` | 170,052,171 |
| ``cifar100`` | ``cifar-100-binary`` | 168,513,733 |
| ``tiny-imagenet`` | ``tiny-imagenet-200`` | 248,100,043 |

The authors of the CIFAR archives publish MD5 sums, the authors of Tiny-ImageNet none. The SHA-256 sums here are the
ones on which independent public loaders of the sets agree.

**Downloads** are resumed where an earlier attempt ended. An incomplete file is kept beside the target as ``NAME.part``,
and the next attempt asks the server for the rest (HTTP ``Range``); if the server sends the whole file again, the whole
file is taken. An answer whose headers do not fit the file, such as the page of a proxy, is refused before a byte of it
is written.

**Archives** are not trusted: they may hold regular files and folders only, all inside the expected folder, and no more
than several times what the largest set here has. Everything is written to a folder beside the final one and renamed
when it is complete, so a half-unpacked data set never has the final name.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import lzma
import os
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from tpauc._files import locked, open_unfollowed, recover_folder, replaced_folder
from tpauc._validation import check_choice

_BLOCK = 1 << 18
_SECONDS_OF_SILENCE = 30.0
_MOST_BYTES, _MOST_MEMBERS = 2 << 30, 500_000  # of an unpacked archive; Tiny-ImageNet has 0.5 GB and 120,609
_AGAIN = "what has arrived is kept, try again to go on from there"

Progress = Callable[[int], None]


class RemoteFile(NamedTuple):
    """A file on a server, with its size and SHA-256 sum."""

    url: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Archive:
    """An archive on a server, and the folder in it."""

    remote: RemoteFile
    folder: str

    @property
    def file_name(self) -> str:
        """The last part of its address."""
        return self.remote.url.rpartition("/")[2]


ARCHIVES: dict[str, Archive] = {
    "cifar10": Archive(
        RemoteFile(
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            170_052_171,
            "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        ),
        folder="cifar-10-batches-bin",
    ),
    "cifar100": Archive(
        RemoteFile(
            "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
            168_513_733,
            "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
        ),
        folder="cifar-100-binary",
    ),
    "tiny-imagenet": Archive(
        RemoteFile(
            "https://cs231n.stanford.edu/tiny-imagenet-200.zip",
            248_100_043,
            "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
        ),
        folder="tiny-imagenet-200",
    ),
}


def fetch(
    name: str,
    data_dir: Path,
    *,
    overwrite: bool = False,
    progress: Progress = lambda arrived: None,
    say: Callable[[str], None] = lambda line: None,
) -> bool:
    """Download and unpack a data set into ``data_dir``; return False if its folder exists and nothing was done.

    An archive that is already there is used. With ``overwrite`` an existing folder is replaced, once the new one is
    complete. ``progress`` is called with the number of bytes downloaded so far; ``say`` with a line when unpacking
    begins, or before a wait for another process that fetches the same set. A failed download is a `DownloadError`, and
    the next call continues where it ended; an archive that cannot be unpacked safely is a ``ValueError``.

    Examples
    --------
    >>> import tempfile
    >>> data_dir = Path(tempfile.mkdtemp())
    >>> (data_dir / "cifar-100-binary").mkdir()
    >>> fetch("cifar100", data_dir)
    False
    """
    archive = ARCHIVES[check_choice(name, "name", ARCHIVES)]
    folder = data_dir / archive.folder
    if data_dir.is_dir():
        recover_folder(folder)
    if folder.exists() and not overwrite:
        return False
    data_dir.mkdir(parents=True, exist_ok=True)
    packed = data_dir / archive.file_name
    lock = packed.with_name(f".{packed.name}.lock")
    with locked(lock, waiting=lambda: say(f"another process is fetching {packed}; waiting for it")):
        if folder.exists() and not overwrite:
            return False
        download(archive.remote, packed, progress)
        say(f"unpacking {packed}")
        unpack(packed, folder)
        packed.unlink()
    return True


# ---------------------------------------------------------------------------------------------------------- downloads


class DownloadError(OSError):
    """A download failed. The bytes that have arrived are kept unless they are known to be wrong."""


def download(remote: RemoteFile, target: Path, progress: Progress) -> None:
    """Download a file to ``target``, which appears only when it is complete; failures are a `DownloadError`.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> remote = RemoteFile("https://localhost/data", size=5, sha256=hashlib.sha256(b"hello").hexdigest())
    >>> (folder / "data.part").write_bytes(b"hello")  # all has arrived, but has not been checked yet
    5
    >>> download(remote, folder / "data", progress=print)
    >>> (folder / "data").read_bytes()
    b'hello'
    """
    if target.exists() and _sha256(target) == remote.sha256:
        return
    part = target.with_name(f"{target.name}.part")
    have = part.stat().st_size if part.exists() else 0
    if have != remote.size:
        _complete(remote, part, have if have < remote.size else 0, progress)
    if (found := _sha256(part)) != remote.sha256:
        raise _wrong_file(part, f"{remote.url} has the SHA-256 sum {found} instead of {remote.sha256}")
    part.replace(target)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wrong_file(part: Path, message: str) -> DownloadError:
    """Remove a wrong ``part``, and return the error that says why."""
    part.unlink(missing_ok=True)
    return DownloadError(f"{message}; what has arrived is removed, try again")


def _complete(remote: RemoteFile, part: Path, have: int, progress: Progress) -> None:
    """Add the missing bytes to the first ``have`` bytes of ``part``."""
    try:
        arrived = _append(remote, part, have, progress)
    except HTTPError as error:
        error.close()
        answer = f"the server answered {error.code} {error.reason} for {remote.url}"
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise _wrong_file(part, answer) from error
        raise DownloadError(answer) from error
    except (URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise DownloadError(f"no connection to {remote.url} ({reason}); {_AGAIN}") from error
    if arrived < remote.size:
        raise DownloadError(f"{remote.url} ended after {arrived:,} of {remote.size:,} bytes; {_AGAIN}")
    if arrived > remote.size:
        raise _wrong_file(part, f"{remote.url} is longer than the {remote.size:,} bytes that it should have")


def _append(remote: RemoteFile, part: Path, have: int, progress: Progress) -> int:
    """Write the answer of the server to its place in ``part``, and return the new length."""
    request = Request(remote.url, headers={"Range": f"bytes={have}-"} if have else {})
    with urlopen(request, timeout=_SECONDS_OF_SILENCE) as response:
        start = _first_byte(response, remote, have)
        with os.fdopen(open_unfollowed(part), "r+b") as file:
            file.seek(start)
            file.truncate()
            return _copy(response, file, start, remote, progress)


def _first_byte(response: http.client.HTTPResponse, remote: RemoteFile, have: int) -> int:
    """Return the place in the file at which the body of an answer begins; refuse an answer that does not fit."""
    if response.status == http.client.PARTIAL_CONTENT:
        sent = response.headers.get("Content-Range", "")
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", sent.strip())
        if found is None or int(found[1]) != have or found[2] not in ("*", str(remote.size)):
            raise _refused(remote, f"the range {sent!r} when it was asked for from byte {have} on")
        return have
    length = response.headers.get("Content-Length", "an unknown number of")
    if length != str(remote.size):
        raise _refused(remote, f"{length} bytes")
    return 0


def _refused(remote: RemoteFile, sent: str) -> DownloadError:
    return DownloadError(f"{remote.url} has {remote.size} bytes, but the server sent {sent}; {_AGAIN}")


def _copy(
    response: http.client.HTTPResponse, file: IO[bytes], arrived: int, remote: RemoteFile, progress: Progress
) -> int:
    """Write a body to a file, stopping if it is too long, and return the number of bytes in the file."""
    progress(arrived)
    while arrived <= remote.size and (block := response.read(_BLOCK)):
        file.write(block)
        arrived += len(block)
        progress(arrived)
    return arrived


# ---------------------------------------------------------------------------------------------------------- unpacking

# Errors of archives that are damaged, encrypted, or compressed in a way that Python does not know (NotImplementedError,
# a RuntimeError), or that have a file and a folder of the same name.
_UNREADABLE = (
    *(tarfile.TarError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError),
    *(FileExistsError, IsADirectoryError, NotADirectoryError),
)


def unpack(archive: Path, destination: Path) -> None:
    """Unpack a ``.zip`` file, or else a tar file compressed by gzip, whose members are all in one folder.

    The folder ``destination`` of the same name is made or replaced. If the archive is damaged or encrypted, or has a
    link, a device, or a member outside its folder, a ``ValueError`` is raised and nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with zipfile.ZipFile(folder / "set.zip", "w") as file:
    ...     file.writestr("set/labels.txt", "0 1")
    >>> unpack(folder / "set.zip", folder / "set")
    >>> (folder / "set" / "labels.txt").read_text()
    '0 1'
    """
    extract = _extract_zip if archive.suffix == ".zip" else _extract_tar
    with replaced_folder(destination) as unfinished:
        try:
            extract(archive, destination.name, unfinished)
        except _UNREADABLE as error:
            raise ValueError(f"{archive} cannot be unpacked, it may be damaged ({error})") from error
        if not any(unfinished.iterdir()):
            raise ValueError(f"{archive} holds no folder {destination.name}")
        if hasattr(os, "sync"):  # once for all files: the archive is removed when they are in place
            os.sync()


def _extract_tar(archive: Path, folder: str, where: Path) -> None:
    total = _Total(archive)

    def checked(info: tarfile.TarInfo, path: str) -> tarfile.TarInfo:
        """Check a member, take the folder off its name, and apply the filter "data", which also removes odd modes."""
        total.add(info.size)
        allowed = info.isreg() or info.isdir()
        inside = _path_inside(info.name, folder, archive, allowed=allowed, is_folder=info.isdir())
        return tarfile.data_filter(info.replace(name=str(inside), deep=False), path)

    with tarfile.open(archive, "r:gz") as file:
        file.extractall(where, filter=checked)


def _extract_zip(archive: Path, folder: str, where: Path) -> None:
    total = _Total(archive)
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            total.add(info.file_size)  # of a larger member zipfile reads so many bytes, and finds a wrong checksum
            kind = stat.S_IFMT(info.external_attr >> 16)  # 0 if the archive was not made on Unix
            allowed = kind in (0, stat.S_IFREG, stat.S_IFDIR)
            target = where / _path_inside(info.filename, folder, archive, allowed=allowed, is_folder=info.is_dir())
            if info.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with file.open(info) as content, target.open("wb") as copy:
                shutil.copyfileobj(content, copy)


class _Total:
    """What the members of an archive come to, which is limited."""

    def __init__(self, archive: Path) -> None:
        self._archive, self._members, self._bytes = archive, 0, 0

    def add(self, size: int) -> None:
        self._members, self._bytes = self._members + 1, self._bytes + size
        if self._bytes > _MOST_BYTES:
            raise ValueError(f"{self._archive} is not unpacked: it holds more than {_MOST_BYTES:,} bytes")
        if self._members > _MOST_MEMBERS:
            raise ValueError(f"{self._archive} is not unpacked: it holds more than {_MOST_MEMBERS:,} files and folders")


def _path_inside(name: str, folder: str, archive: Path, *, allowed: bool, is_folder: bool) -> PurePosixPath:
    """Return the path of a member inside ``folder``; it must be of an allowed kind, and inside on every system."""
    if not allowed:
        raise ValueError(f"{archive} must hold files and folders only, found {name!r}; it is not unpacked")
    path = PurePosixPath(name)
    if "\\" in name or ":" in name or ".." in path.parts or path.parts[:1] != (folder,):
        raise ValueError(f"{archive} must hold {folder}/ only, found {name!r}; it is not unpacked")
    if path == PurePosixPath(folder) and not is_folder:
        raise ValueError(f"{archive} holds no folder {folder}")
    return path.relative_to(folder)
