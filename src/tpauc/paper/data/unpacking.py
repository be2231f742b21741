"""Archives, unpacked without trust: regular files and folders only, and none outside the folder that is expected.

Everything is written to a folder beside the final one and renamed when it is complete, so that a half-unpacked data set
never stands where a whole one is looked for. Two processes must not unpack the same at a time: `fetching`
sees to that.
"""

from __future__ import annotations

import gzip
import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Generator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO

from tpauc._files import replaced_folder

Members = Generator[tuple[PurePosixPath, IO[bytes] | None], None, None]

# What reading an archive raises that is damaged, encrypted, or compressed in a way that Python does not know
# (NotImplementedError, a RuntimeError), and writing one whose members want the same name as a file and as a folder.
_UNREADABLE = (
    *(tarfile.TarError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError),
    *(FileExistsError, IsADirectoryError, NotADirectoryError),
)


def unpack(archive: Path, destination: Path) -> None:
    """Unpack an archive whose members are all in one folder.

    Parameters
    ----------
    archive : path
        A ``.zip`` file, or else a tar file compressed by gzip.
    destination : path
        Folder to make, or to replace; its name is that of the folder in the archive.

    Raises
    ------
    ValueError
        If the archive is damaged or encrypted, or has a link, a device, or a member outside its folder. Nothing is
        written then.

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
    with replaced_folder(destination) as unfinished:
        _write_members(archive, destination.name, unfinished)


def _write_members(archive: Path, folder: str, where: Path) -> None:
    members = _zip_members if archive.suffix == ".zip" else _tar_members
    try:
        with closing(members(archive, folder)) as found:
            for name, content in found:
                if name == PurePosixPath(folder) and content is not None:
                    raise ValueError(f"{archive} holds no folder {folder}")
                _write(where / name.relative_to(folder), content)
    except _UNREADABLE as error:
        raise ValueError(f"{archive} cannot be unpacked, it may be damaged ({error})") from error
    if not any(where.iterdir()):
        raise ValueError(f"{archive} holds no folder {folder}")


def _write(target: Path, content: IO[bytes] | None) -> None:
    if content is None:
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with content, target.open("wb") as file:
        shutil.copyfileobj(content, file)


def _tar_members(archive: Path, folder: str) -> Members:
    """Yield the path and the content of each member, once it is known to be safe; a folder has no content."""
    with tarfile.open(archive, "r:gz") as file:
        for info in file:
            path = _safe_path(info.name, folder, archive, allowed=info.isreg() or info.isdir())
            yield path, file.extractfile(info)


def _zip_members(archive: Path, folder: str) -> Members:
    """Yield the same of a zip file."""
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)  # 0 where the archive was not made on Unix
            path = _safe_path(info.filename, folder, archive, allowed=kind in (0, stat.S_IFREG, stat.S_IFDIR))
            yield path, None if info.is_dir() else file.open(info)


def _safe_path(name: str, folder: str, archive: Path, *, allowed: bool) -> PurePosixPath:
    """Return where a member belongs; it must be of an allowed kind, and inside ``folder`` on every system."""
    if not allowed:
        raise ValueError(f"{archive} must hold files and folders only, found {name!r}; it is not unpacked")
    path = PurePosixPath(name)
    if "\\" in name or ":" in name or ".." in path.parts or path.parts[:1] != (folder,):
        raise ValueError(f"{archive} must hold {folder}/ only, found {name!r}; it is not unpacked")
    return path
