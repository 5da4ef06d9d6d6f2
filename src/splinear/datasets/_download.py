"""Fetch files from where they are published, whole and verified or not at all."""

from __future__ import annotations

import os
import secrets
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import IO, TypeAlias

from splinear.datasets._packing import UNPACKING_ERRORS, checksum, pack, unpack

__all__ = ["Convert", "Source", "download"]

Convert: TypeAlias = Callable[[bytes], bytes]

TIMEOUT = 30.0  # seconds without an answer


@dataclass(frozen=True)
class Source:
    """Where a file is published.

    Attributes
    ----------
    urls : tuple of str
        Addresses of the same content, tried in this order.
    convert : callable
        From the published content to that of our file, both unpacked; the content as it is, if
        nothing is given.
    """

    urls: tuple[str, ...]
    convert: Convert = bytes


def download(source: Source, path: Path, sha256: str) -> None:
    """Write a published file to a path.

    The content has the given checksum, and the file appears at the path only when it is complete.

    Raises
    ------
    OSError
        If the folder cannot be written, or no address gives the expected content.
    """
    with _taking_the_place_of(path) as file:
        file.write(pack(_fetch_any(source, path, sha256), path.name))


def _fetch_any(source: Source, path: Path, sha256: str) -> bytes:
    failures = []
    for url in source.urls:
        try:
            return _fetch(url, source.convert, sha256)
        except (HTTPException, OSError, *UNPACKING_ERRORS) as error:
            failures.append(f"{url}: {error}")
    raise OSError(
        f"The file {path} could not be downloaded. {'; '.join(failures)}. Try again later, or put "
        "the file there yourself."
    )


def _fetch(url: str, convert: Convert, sha256: str) -> bytes:
    with urllib.request.urlopen(url, timeout=TIMEOUT) as response:
        content = convert(unpack(response.read(), url))
    found = checksum(content)
    if found != sha256:
        raise ValueError(f"another content than expected, SHA-256 {found} instead of {sha256}")
    return content


@contextmanager
def _taking_the_place_of(path: Path) -> Iterator[IO[bytes]]:
    """Open a file beside the path that is moved there at the end; an exception removes it."""
    _make_folder(path.parent)
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with partial.open("xb") as file:
            yield file
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    """Make sure of a folder that can be written, before anything is fetched for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError("permission denied")
    except OSError as error:
        raise OSError(
            f"Nothing can be written to the folder {folder}: {error}. data_home= must name a "
            "folder in which data sets may be stored."
        ) from error
