"""The image sets from their official addresses: download, checksum, unpacking.

| name | folder | bytes to download |
| --- | --- | --- |
| ``cifar10`` | ``cifar-10-batches-bin`` | 170,052,171 |
| ``cifar100`` | ``cifar-100-binary`` | 168,513,733 |
| ``tiny-imagenet`` | ``tiny-imagenet-200`` | 248,100,043 |

The MD5 sums of both CIFAR archives are published on their authors' page. The authors of Tiny-ImageNet publish none; its
sum is the one on which public loaders of the set agree.

Archives are not trusted: they may hold regular files and folders only, all inside the expected folder. Everything is
written to a folder beside the final one and renamed when it is complete, so a half-unpacked data set never has the
final name.
"""

from __future__ import annotations

import gzip
import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tpauc._files import locked, replaced_folder
from tpauc._validation import check_choice
from tpauc.paper.data.downloads import Progress, RemoteFile, download


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
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", 170_052_171, "c32a1d4ab5d03f1284b67883e8d87530"
        ),
        folder="cifar-10-batches-bin",
    ),
    "cifar100": Archive(
        RemoteFile(
            "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz", 168_513_733, "03b5dce01913d631647c71ecec9e9cb8"
        ),
        folder="cifar-100-binary",
    ),
    "tiny-imagenet": Archive(
        RemoteFile("http://cs231n.stanford.edu/tiny-imagenet-200.zip", 248_100_043, "90528d7ca1a48142e341f4ef8d21d0de"),
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
    """Download and unpack a data set, unless its folder exists.

    Parameters
    ----------
    name : {"cifar10", "cifar100", "tiny-imagenet"}
        A key of ``ARCHIVES``.
    data_dir : path
        Made if necessary; the folder of the set is made inside. An archive that is already there is used.
    overwrite : bool, default=False
        Replace an existing folder, once the new one is complete.
    progress : callable, optional
        Called with the number of bytes downloaded so far.
    say : callable, optional
        Called with a line when unpacking begins, or before a wait for another process that fetches the same set.

    Returns
    -------
    bool
        False if the folder exists and nothing was done.

    Raises
    ------
    DownloadError
        If the download fails; the next call continues where it ended.
    ValueError
        If the archive cannot be unpacked safely.

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


# ---------------------------------------------------------------------------------------------------------- unpacking

# Errors of archives that are damaged, encrypted, or compressed in a way that Python does not know (NotImplementedError,
# a RuntimeError), or that have a file and a folder of the same name.
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
        Folder to make, or to replace; the folder in the archive has the same name.

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
    extract = _extract_zip if archive.suffix == ".zip" else _extract_tar
    with replaced_folder(destination) as unfinished:
        try:
            extract(archive, destination.name, unfinished)
        except _UNREADABLE as error:
            raise ValueError(f"{archive} cannot be unpacked, it may be damaged ({error})") from error
        if not any(unfinished.iterdir()):
            raise ValueError(f"{archive} holds no folder {destination.name}")


def _extract_tar(archive: Path, folder: str, where: Path) -> None:
    def checked(info: tarfile.TarInfo, path: str) -> tarfile.TarInfo:
        """Check a member, take the folder off its name, and apply the filter "data", which also removes odd modes."""
        allowed = info.isreg() or info.isdir()
        inside = _path_inside(info.name, folder, archive, allowed=allowed, is_folder=info.isdir())
        return tarfile.data_filter(info.replace(name=str(inside), deep=False), path)

    with tarfile.open(archive, "r:gz") as file:
        file.extractall(where, filter=checked)


def _extract_zip(archive: Path, folder: str, where: Path) -> None:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)  # 0 if the archive was not made on Unix
            allowed = kind in (0, stat.S_IFREG, stat.S_IFDIR)
            target = where / _path_inside(info.filename, folder, archive, allowed=allowed, is_folder=info.is_dir())
            if info.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with file.open(info) as content, target.open("wb") as copy:
                shutil.copyfileobj(content, copy)


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
