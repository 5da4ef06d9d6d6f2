"""Files of exports."""

from __future__ import annotations

import os

from splinear._writing import written_whole

__all__ = ["write"]


def write(path: str | os.PathLike[str] | None, data: bytes) -> None:
    """Write a file as a whole, or leave what was there as it was; None: no file."""
    if path is not None:
        with written_whole(path) as file:
            file.write(data)
