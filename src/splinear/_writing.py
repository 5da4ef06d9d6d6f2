"""Files that are there as a whole, or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["write", "written_whole"]


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a file beside `path`, which takes its place at once when all is written.

    If anything is raised it is gone, and what was at `path` stays as it was. A symbolic link stays
    one: the file that it points to is replaced. A device or a pipe is written to directly.
    """
    if _is_special(path):
        with open(path, "wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    handle, name = _beside(target)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):  # permissions are those of the file that is replaced
            os.chmod(name, stat.S_IMODE(target.stat().st_mode))
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
    _settle(target.parent)


def _is_special(path: str | os.PathLike[str]) -> bool:
    """Return whether there is something at `path` that is neither a plain file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _beside(target: Path) -> tuple[int, Path]:
    """Open a new file in the folder of another, with the permissions that new files get."""
    name = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        return os.open(name, flags, 0o666), name
    except OSError as error:  # of the file that was asked for, not of the one beside it
        raise OSError(error.errno, error.strerror, str(target)) from None


def _settle(folder: Path) -> None:
    """Let the new name outlive a loss of power, where folders can be synchronized."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write(path: str | os.PathLike[str] | None, data: bytes) -> None:
    """Write a file, which replaces an existing one when complete; do nothing for None."""
    if path is not None:
        with written_whole(path) as file:
            file.write(data)
