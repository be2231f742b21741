"""Files and folders that are either whole or not there, and locks between processes.

A file is written beside its destination, flushed to the disk, read back and then renamed over it. Whoever reads the
name finds the former file or the new one, whatever happens in between: a kill, a full disk, a power cut. A folder is
filled beside its destination and then put in its place by :func:`replaced_folder`. Files that belong together are moved
to their places by :func:`write_together`; a move that was interrupted is finished by :func:`finish_together`.

A lock is one on a file, which a process that dies lets go of. A name that is a symbolic link is refused: the file that
it points to is none of ours.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
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
        _discard(temporary)
        kept = "; the former file is intact" if target.exists() else ""
        raise OSError(error.errno, f"cannot write {target}: {error.strerror or error}{kept}") from error
    except BaseException:
        _discard(temporary)
        raise
    flush_folder(target.parent)


def write_together(files: Mapping[Path, bytes], *, what: str) -> None:
    """Write files of one folder beside their places first, then move them there: all of them, or none.

    ``what`` is what an error says could not be written. A missing folder is made. Between the first and the last move
    a list of them stands beside the last file: if the process is killed then, :func:`finish_together` makes the rest.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_together({Path(folder, "sub", name): b"text" for name in ("a.txt", "b.txt")}, what="the notes")
    ...     sorted(os.listdir(f"{folder}/sub"))
    ['a.txt', 'b.txt']
    """
    last = list(files)[-1]
    assert all(path.parent == last.parent for path in files), "the moves are listed by name alone"
    waiting = {path: _name_beside(path) for path in files}
    where: Path | None = last
    try:
        last.parent.mkdir(parents=True, exist_ok=True)
        with locked(_lock_of(last)):
            _finish_moves(last)
            remove_leftovers(*files)
            for where, contents in files.items():
                write_flushed(waiting[where], contents)
            where = None  # an error of a move has its own name
            write_flushed(_list_of_moves(last), "\n".join([*(part.name for part in waiting.values()), _END]).encode())
            _finish_moves(last)
    except OSError as error:
        _withdraw(last, waiting.values())
        raise type(error)(
            error.errno, f"{what} cannot be written: {error.strerror}", str(where or error.filename)
        ) from error
    except BaseException:
        _withdraw(last, waiting.values())
        raise


def _withdraw(last: Path, parts: Collection[Path]) -> None:
    """Remove what was prepared, unless a file was moved already: then the list stays, and the rest is moved later."""
    moves = _list_of_moves(last)
    if moves.exists() and not all(part.exists() for part in parts):
        return
    with suppress(OSError):  # where nothing could be written there is nothing to remove
        moves.unlink(missing_ok=True)
        for part in parts:
            part.unlink(missing_ok=True)


def finish_together(last: Path) -> None:
    r"""Finish what a :func:`write_together` that was killed had begun; ``last`` is the last one of its files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a.txt", "b.txt"):
    ...         _ = Path(folder, f".{name}.0123456789abcdef.tmp").write_text("new")
    ...     moves = ".a.txt.0123456789abcdef.tmp\n.b.txt.0123456789abcdef.tmp\nend"
    ...     _ = Path(folder, ".b.txt.moves").write_text(moves)
    ...     finish_together(Path(folder, "b.txt"))
    ...     sorted(os.listdir(folder))
    ['a.txt', 'b.txt']
    """
    if _list_of_moves(last).exists():
        with locked(_lock_of(last)):
            _finish_moves(last)


def _finish_moves(last: Path) -> None:
    """Move the files that are listed and have not been moved yet; whoever calls this holds the lock."""
    moves, folder = _list_of_moves(last), last.parent
    try:
        *names, end = moves.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        return
    if end == _END:  # or else the process was killed while it wrote the list
        found = [_TEMPORARY.fullmatch(name) for name in names]
        for name, match in zip(names, found, strict=True):
            if match is None:  # anybody may have put the list there: it moves nothing but files of ours, in the folder
                raise ValueError(f"{moves} is damaged: it lists {name!r:.80}; remove it")
        for match in filter(None, found):
            _move(folder / match[0], folder / match[1])
        flush_folder(folder)
    moves.unlink()


def _move(part: Path, path: Path) -> None:
    try:
        os.replace(part, path)
    except FileNotFoundError:  # it was moved before the process was killed
        return
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


_END = "end"
_TEMPORARY = re.compile(r"\.([^/\\]+)\.[0-9a-f]{16}\.tmp")


def _list_of_moves(last: Path) -> Path:
    return last.with_name(f".{last.name}.moves")


def _lock_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


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
    """Write a new file through to the disk, and read it back."""
    with open(path, "xb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    with open(path, "rb") as file:
        whole = all(file.read(len(block)) == block for part in parts for block in _blocks(part)) and not file.read(1)
    if not whole:
        raise OSError(errno.EIO, "what was written is not what is read back")


def _blocks(part: bytes | memoryview, size: int = 1 << 20) -> Iterator[memoryview]:
    view = memoryview(part)
    return (view[start : start + size] for start in range(0, len(view), size))


def _discard(path: Path) -> None:
    """Remove a file if that is possible: the error that made it useless is the one to tell."""
    with suppress(OSError):
        path.unlink()


def flush_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, where the file system can."""
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
    new, former = _names_beside(destination)
    with locked(_lock_of(destination)):
        _recover(destination)
        new.mkdir()
        try:
            yield new
            flush_folder(new)
            if not destination.exists():
                os.rename(new, destination)
            elif not _exchanged(new, destination):
                os.rename(destination, former)
                os.rename(new, destination)
            flush_folder(destination.parent)
        finally:
            _recover(destination)


def recover_folder(destination: Path) -> None:
    """Clear away what a :func:`replaced_folder` that was killed left, or put the former folder back if none is there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, ".run.former").mkdir()
    ...     recover_folder(Path(folder, "run"))
    ...     os.listdir(folder)
    ['run']
    """
    if any(os.path.lexists(leftover) for leftover in _names_beside(destination)):
        with locked(_lock_of(destination)):
            _recover(destination)


def _recover(destination: Path) -> None:
    new, former = _names_beside(destination)
    if former.exists() and not destination.exists():
        os.rename(former, destination)
    for leftover in (new, former):
        if leftover.is_symlink():
            leftover.unlink()
        else:
            shutil.rmtree(leftover, ignore_errors=True)


def _names_beside(destination: Path) -> tuple[Path, Path]:
    """Return the names of a folder that is being filled, and of one that is being replaced."""
    new, former = (destination.with_name(f".{destination.name}.{end}") for end in ("new", "former"))
    return new, former


def _exchanged(first: Path, second: Path) -> bool:
    """Swap two names in one step, so that neither is missing in between; tell whether the system could (Linux)."""
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of <linux/fs.h>
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    swapped: int = rename(here, os.fsencode(first), here, os.fsencode(second), exchange)
    return swapped == 0


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
        descriptor = open_unfollowed(self.path)
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


def open_unfollowed(path: Path) -> int:
    """Open a file for reading and writing, or make it, without following a link and without emptying it."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    flags |= getattr(os, "O_BINARY", 0)  # Windows
    try:
        return os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, f"{path} is a symbolic link, which is not followed; remove it") from error
        raise
