"""Writes files of exports."""

from __future__ import annotations

import os

from splinear._writing import written_whole

__all__ = ["write"]


def write(path: str | os.PathLike[str] | None, data: bytes) -> None:
    """Write a file, which replaces an existing one when complete; do nothing for None."""
    if path is not None:
        with written_whole(path) as file:
            file.write(data)
