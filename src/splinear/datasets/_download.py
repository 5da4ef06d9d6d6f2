"""Fetch published files by pooch, verified or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 30.0  # seconds without an answer


@dataclass(frozen=True)
class Published:
    """A file that a data set can be made from, as it is published.

    Attributes
    ----------
    path : str
        Where it is kept, relative to the data folder, with forward slashes.
    sha256 : str
        Checksum of the file itself, packed as it is.
    urls : tuple of str
        Addresses of the same file, tried in this order.
    convert : callable
        From its content to the one that loaders read, both unpacked; the content as it is, if
        nothing is given.
    """

    path: str
    sha256: str
    urls: tuple[str, ...]
    convert: Callable[[bytes], bytes] = bytes


def download(published: Published, home: Path) -> None:
    """Fetch a published file into the data folder, where it appears when it is verified.

    Raises
    ------
    ImportError
        If pooch is not installed.
    OSError
        If the folder cannot be written, or no address gives the expected file.
    """
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            "download=True needs pooch, which is not installed: pip install 'splinear[download]'"
        ) from error
    path = home / published.path
    failures = []
    for url in published.urls:
        try:
            pooch.retrieve(
                url,
                known_hash=f"sha256:{published.sha256}",
                fname=path.name,
                path=path.parent,
                downloader=pooch.HTTPDownloader(timeout=TIMEOUT),
            )
            return
        except (OSError, ValueError) as error:
            failures.append(f"{url}: {error}")
    raise OSError(
        f"The file {path} could not be downloaded. {'; '.join(failures)}. Try again later, put the "
        "file there yourself, or let data_home= name another folder."
    )
