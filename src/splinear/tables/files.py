"""What all formats share: paths, and messages about files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from splinear._types import Input

__all__ = ["checked_paths", "ending", "is_path", "listed"]


def is_path(value: object) -> bool:
    """Return whether the value names a file."""
    return isinstance(value, (str, os.PathLike))


def ending(path: Input) -> str:
    """Return how a file's name ends, in lower case: .csv, or .csv.gz of a compressed file."""
    last = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    return "".join(last if last[-1:] in ([".gz"], [".bz2"]) else last[-1:])


def checked_paths(paths: Input) -> list[Path]:
    """Return a path, or several, as a list of files that are there."""
    given: Sequence[Input] = [paths] if is_path(paths) else list(paths)
    found = [Path(os.fspath(path)) for path in given]
    if not found:
        raise ValueError("There are no files to read.")
    for path in found:
        if not path.exists():
            raise FileNotFoundError(f"There is no file {path}.")
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; a file was expected.")
    return found


def listed(paths: list[Path]) -> str:
    """Name some files in a message."""
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
