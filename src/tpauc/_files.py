"""Files and folders that are either whole or not there, and locks between processes.

A file is written beside its destination, flushed to the disk and then renamed over it. Whoever reads the name finds the
former file or the new one, whatever happens in between: a kill, a full disk, a power cut. A folder is filled beside its
destination and then put in its place by :func:`replaced_folder`.

A lock is one on a file, which a process that dies lets go of. A name that is a symbolic link is refused: the file that
it points to is none of ours.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

# --------------------------------------------------------------------------------------------------------------- files


def write_atomically(path: str | os.PathLike[str], *parts: bytes | memoryview) -> None:
    """Write ``parts`` one after the other to ``path``, or leave the file that is there as it is.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/note.txt", b"first ", b"second")
    ...     Path(folder, "note.txt").read_text(), os.listdir(folder)
    ('first second', ['note.txt'])
    """
    target = Path(path)
    temporary = _name_beside(target)
    try:
        write_flushed(temporary, *parts)
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        kept = "; the former file is intact" if target.exists() else ""
        raise OSError(error.errno, f"cannot write {target}: {error.strerror or error}{kept}") from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(target.parent)


def write_together(files: Mapping[Path, bytes], *, what: str) -> None:
    """Write all files beside their places first, then move them there: a full disk leaves what was there unharmed.

    ``what`` is what an error says could not be written. Missing folders are made.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_together({Path(folder, "sub", name): b"text" for name in ("a.txt", "b.txt")}, what="the notes")
    ...     sorted(os.listdir(f"{folder}/sub"))
    ['a.txt', 'b.txt']
    """
    waiting = {path: _name_beside(path) for path in files}
    try:
        for path, contents in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_flushed(waiting[path], contents)
        for path, complete in waiting.items():
            os.replace(complete, path)
    except OSError as error:
        raise type(error)(error.errno, f"{what} cannot be written: {error.strerror}", str(path)) from error
    finally:
        for part in waiting.values():
            with suppress(OSError):  # where nothing could be written there is nothing to remove
                part.unlink()
    for folder in {path.parent for path in files}:
        _flush_folder(folder)


def remove_leftovers(*paths: Path) -> None:
    """Remove what processes that were killed while writing left beside the paths; nobody may be writing them now.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, ".note.txt.0123456789abcdef.tmp").touch()
    ...     remove_leftovers(Path(folder, "note.txt"))
    ...     os.listdir(folder)
    []
    """
    for path in paths:
        for other in path.parent.iterdir():
            if other.name.startswith(f".{path.name}.") and other.suffix == ".tmp":
                other.unlink(missing_ok=True)


def _name_beside(target: Path) -> Path:
    """Return a name that nobody else has: neither a user's file nor another writer of the same one is in its way."""
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")


def write_flushed(path: Path, *parts: bytes | memoryview) -> None:
    """Write a new file through to the disk."""
    with open(path, "xb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where the file system can."""
    if os.name == "nt":  # Windows opens no folders.
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ------------------------------------------------------------------------------------------------------------- folders


@contextmanager
def replaced_folder(destination: Path) -> Iterator[Path]:
    """Give a new folder to be filled; at the end it is put in place of ``destination``, on an error it is removed.

    A folder that stands at ``destination`` is removed once the new one is in its place, and stays if anything fails.
    What a process that was killed here left behind is cleared away, or put back, by the next one. Processes that
    replace the same folder wait for each other.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for text in ("former", "new"):
    ...         with replaced_folder(Path(folder, "run")) as new:
    ...             _ = (new / "note.txt").write_text(text)
    ...     Path(folder, "run", "note.txt").read_text(), os.listdir(folder)
    ('new', ['run'])
    """
    new, former = (destination.with_name(f".{destination.name}.{end}") for end in ("new", "former"))
    with locked(destination.with_name(f".{destination.name}.lock")):
        recover_folder(destination)
        new.mkdir()
        try:
            yield new
            if destination.exists():
                os.rename(destination, former)
            os.rename(new, destination)
            _flush_folder(destination.parent)
        finally:
            recover_folder(destination)


def recover_folder(destination: Path) -> None:
    """Clear away what an unfinished :func:`replaced_folder` left, or put the former folder back if none is in place."""
    new, former = (destination.with_name(f".{destination.name}.{end}") for end in ("new", "former"))
    if former.exists() and not destination.exists():
        os.rename(former, destination)
    for leftover in (new, former):
        shutil.rmtree(leftover, ignore_errors=True)


# --------------------------------------------------------------------------------------------------------------- locks


class FileLock:
    """A lock on a file, held from :meth:`acquire` to :meth:`release` or to the end of the process.

    Forked processes inherit nothing of it, so a reader of data that outlives a killed run for a moment does not keep
    it. Without ``fcntl`` (Windows) nobody is kept out.

    Parameters
    ----------
    path : path
        The file, which is made if it is not there and never emptied. Its folder must exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = FileLock(Path(folder) / ".lock")
    ...     lock.acquire()
    ...     lock.release()
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self, *, waiting: Callable[[], None] | None = None) -> None:
        """Take the lock. If another process has it: call ``waiting`` and wait, or without it raise BlockingIOError."""
        try:
            import fcntl
        except ImportError:
            return
        descriptor = _open_lock_file(self.path)
        try:
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if waiting is None:
                    raise
                waiting()
                fcntl.lockf(descriptor, fcntl.LOCK_EX)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def release(self) -> None:
        """Let others in again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def stands(self) -> bool:
        """Tell whether the file that is locked is still the one at the path; whoever had it before may remove it."""
        if self._descriptor is None:
            return True
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._descriptor))
        except FileNotFoundError:
            return False


@contextmanager
def locked(path: Path, *, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Keep other processes that lock the same file out, once they have left it themselves.

    Parameters
    ----------
    path : path
        The file, which is made and removed again. Its folder must exist.
    waiting : callable, optional
        Called before a wait for another process.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with locked(Path(folder) / ".lock"):
    ...         print(os.listdir(folder))
    ...     print(os.listdir(folder))
    ['.lock']
    []
    """
    lock = FileLock(path)
    while True:
        lock.acquire(waiting=waiting)
        try:
            if lock.stands():
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return
        finally:
            lock.release()


def _open_lock_file(path: Path) -> int:
    """Open a file without following a link and without emptying it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, f"{path} is a symbolic link, which is not followed; remove it") from error
        raise
