"""Paths of files, and how messages name them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from splinear._types import Input

__all__ = ["checked_paths", "ending", "is_path", "listed"]


def is_path(value: object) -> bool:
    """Return whether the value is a path."""
    return isinstance(value, (str, os.PathLike))


def ending(path: Input) -> str:
    """Return the ending of a file's name in lower case: .csv, or .csv.gz if compressed."""
    last = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    return "".join(last if last[-1:] in ([".gz"], [".bz2"]) else last[-1:])


def checked_paths(paths: Input) -> list[Path]:
    """Return one or several paths as a list; raise if one is not an existing file."""
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
    """Return the names of files for a message."""
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
