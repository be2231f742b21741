"""Download a file: resumed where an earlier attempt ended, and checked against its size and MD5 sum.

An incomplete file is kept beside the target as ``NAME.part``. The next attempt asks the server for the rest (HTTP
``Range``); if the server sends the whole file again, the whole file is taken. An answer whose headers do not fit the
file, such as the page of a proxy, is refused before a byte of it is written.
"""

from __future__ import annotations

import hashlib
import http.client
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

_BLOCK = 1 << 18
_SECONDS_OF_SILENCE = 30.0
_AGAIN = "what has arrived is kept, try again to go on from there"

Progress = Callable[[int], None]


class RemoteFile(NamedTuple):
    """A file on a server, with its size and MD5 sum."""

    url: str
    size: int
    md5: str


class DownloadError(OSError):
    """A download failed. The bytes that have arrived are kept unless they are known to be wrong."""


def download(remote: RemoteFile, target: Path, progress: Progress) -> None:
    """Download a file to ``target``, which appears only when it is complete.

    Parameters
    ----------
    remote : RemoteFile
        What to fetch.
    target : path
        The file to write. An earlier attempt may have left ``NAME.part`` beside it.
    progress : callable
        Called with the number of bytes that have arrived.

    Raises
    ------
    DownloadError
        If the server cannot be reached, refuses, ends too early, or sends another file than expected.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> remote = RemoteFile("https://localhost/data", size=5, md5="5d41402abc4b2a76b9719d911017c592")
    >>> (folder / "data.part").write_bytes(b"hello")  # all has arrived, but has not been checked yet
    5
    >>> download(remote, folder / "data", progress=print)
    >>> (folder / "data").read_bytes()
    b'hello'
    """
    if target.exists() and _md5(target) == remote.md5:
        return
    part = target.with_name(f"{target.name}.part")
    have = part.stat().st_size if part.exists() else 0
    if have != remote.size:
        _complete(remote, part, have if have < remote.size else 0, progress)
    if (found := _md5(part)) != remote.md5:
        raise _wrong_file(part, f"{remote.url} has the MD5 sum {found} instead of {remote.md5}")
    part.replace(target)


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


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
        with part.open("r+b" if part.exists() else "wb") as file:
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
