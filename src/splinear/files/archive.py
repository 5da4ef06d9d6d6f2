"""Reads and writes the parts of a file: a zip archive without compression.

Without compression no small file becomes large in memory, and the same parts always give the same
bytes.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from splinear._writing import written_whole

__all__ = ["read_parts", "write_parts"]

LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time in zip archives
READABLE = 0o100644 << 16  # mode of a regular file, for other programs that unpack it
UNIX = 3

# Exceptions of damaged archives, besides ValueError.
DAMAGE = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    struct.error,
    EOFError,
    LookupError,
    OverflowError,
)

Part = bytes | memoryview


def write_parts(path: Path, parts: Mapping[str, Part]) -> None:
    """Write a file; an existing file is replaced at once, when the new one is complete."""
    with written_whole(path) as file:
        _write(file, parts)


def _write(file: BinaryIO, parts: Mapping[str, Part]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.create_system, entry.external_attr = UNIX, READABLE
            archive.writestr(entry, content)


def read_parts(path: Path) -> dict[str, bytearray]:
    """Return all parts of a file; raise a ValueError if it is not a valid archive."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for its writer
        raise ValueError("it is not a plain file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            with zipfile.ZipFile(file) as archive:
                return _read(archive, size)
        except DAMAGE as error:
            raise ValueError(f"it is not an archive, or a damaged one ({error})") from error
        except OSError as error:  # an offset before the beginning of the file
            raise ValueError(f"it is a damaged archive ({error})") from error


def _read(archive: zipfile.ZipFile, size: int) -> dict[str, bytearray]:
    entries = archive.infolist()
    if len({entry.filename for entry in entries}) < len(entries):
        raise ValueError("it has two parts of the same name")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise ValueError(f"its part {entry.filename!r} is compressed, which none may be")
    # Several entries may refer to the same bytes.
    if sum(entry.file_size for entry in entries) > size:
        raise ValueError("its parts are together larger than the file")
    parts = {}
    for entry in entries:
        parts[entry.filename] = bytearray(archive.read(entry))
        if len(parts[entry.filename]) != entry.file_size:
            raise ValueError(f"its part {entry.filename!r} is cut off")
    return parts
