"""The image sets from their official addresses: download, checksum, unpacking.

| name | folder made | bytes to download |
| --- | --- | --- |
| ``cifar10`` | ``cifar-10-batches-bin`` | 170,052,171 |
| ``cifar100`` | ``cifar-100-binary`` | 168,513,733 |
| ``tiny-imagenet`` | ``tiny-imagenet-200`` | 248,100,043 |

The MD5 sums of both CIFAR archives are those on their authors' page. Tiny-ImageNet's authors print none; its sum is the
one that public loaders of the set agree on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tpauc._files import locked
from tpauc._validation import check_choice
from tpauc.paper.data.downloads import Progress, RemoteFile, download
from tpauc.paper.data.unpacking import unpack


@dataclass(frozen=True)
class Archive:
    """An archive on a server, and the folder that is in it.

    Examples
    --------
    >>> ARCHIVES["cifar10"].file_name
    'cifar-10-binary.tar.gz'
    """

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
    """Download and unpack a data set, unless its folder is there.

    Parameters
    ----------
    name : {"cifar10", "cifar100", "tiny-imagenet"}
        A key of ``ARCHIVES``.
    data_dir : path
        Made if it is not there; the folder of the set is made inside. An archive that someone has put there is used.
    overwrite : bool, default=False
        Replace a folder that is there, once the new one is complete.
    progress : callable, optional
        Called with the number of bytes downloaded so far.
    say : callable, optional
        Called with a line when unpacking begins, or when another process is at it and has to be waited for.

    Returns
    -------
    bool
        False if the folder was there and nothing was done.

    Raises
    ------
    DownloadError
        If the download fails; the next call goes on where it ended.
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
