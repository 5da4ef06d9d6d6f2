"""Files that are there as a whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

__all__ = ["write"]


def write(path: str | os.PathLike[str] | None, data: bytes) -> None:
    """Write a file beside its place, and move it there when it is complete; None: no file."""
    if path is None:
        return
    target = Path(path)
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
        aside = Path(file.name)
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            file.close()
            aside.chmod(_mode(target))
            os.replace(aside, target)
        except BaseException:
            file.close()
            aside.unlink(missing_ok=True)
            raise


def _mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or of any new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
