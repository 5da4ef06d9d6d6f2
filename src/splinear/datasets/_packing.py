"""Contents of files: packed as the name says (.gz, .bz2), and known by a checksum."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import zlib
from collections.abc import Callable
from pathlib import PurePath
from typing import Final, TypeAlias

__all__ = ["UNPACKING_ERRORS", "checksum", "pack", "unpack"]

_Code: TypeAlias = Callable[[bytes], bytes]

_PACKERS: Final[dict[str, _Code]] = {".gz": gzip.compress, ".bz2": bz2.compress}
_UNPACKERS: Final[dict[str, _Code]] = {".gz": gzip.decompress, ".bz2": bz2.decompress}

# What the unpackers raise when a content is damaged.
UNPACKING_ERRORS: Final = (EOFError, OSError, ValueError, zlib.error)


def pack(content: bytes, name: str) -> bytes:
    """Pack a content as the ending of a file's name says; as it is, if it says nothing."""
    return _PACKERS.get(PurePath(name).suffix, bytes)(content)


def unpack(packed: bytes, name: str) -> bytes:
    """Undo `pack`."""
    return _UNPACKERS.get(PurePath(name).suffix, bytes)(packed)


def checksum(content: bytes) -> str:
    """Return the SHA-256 checksum in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
