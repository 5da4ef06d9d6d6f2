"""Find the files of a data set, and make sure that they hold what the loaders expect."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from splinear._types import AnyArray
from splinear.datasets._download import Published, download

HOME_VARIABLE = "SPLINEAR_DATA"

_UNPACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
}

PathLike: TypeAlias = str | os.PathLike[str]
Arrays: TypeAlias = dict[str, AnyArray]


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes
    ----------
    path : str
        Path relative to the data folder, with forward slashes.
    sha256 : str
        Checksum of the content after unpacking (.gz, .bz2), so that a file that was packed anew
        is still recognized.
    published : Published or None
        What is downloaded and read in its place; None if it was made from an original in another
        form.
    """

    path: str
    sha256: str
    published: Published | None = None


@dataclass(frozen=True)
class DataSet:
    """What is known of a data set before its files are read.

    Attributes
    ----------
    title : str
        Name and authors as they are usually cited.
    url : str
        Where the original is published.
    files : tuple of DataFile
        The files, in the order in which the loader wants them.
    summary : str
        What a row, its columns and its target are, and what to mind.
    """

    title: str
    url: str
    files: tuple[DataFile, ...]
    summary: str

    @property
    def description(self) -> str:
        """Text for the `DESCR` of a Bunch."""
        return f"{self.title}\n\n{self.summary}\n\nOriginal: {self.url}"


def read_files(
    data_set: DataSet, data_home: PathLike | None, download_missing: bool
) -> list[bytes]:
    """Return the unpacked and verified contents of all files of a data set.

    Parameters
    ----------
    data_set : DataSet
        Which files.
    data_home : path-like or None
        The data folder; None for the one that ``SPLINEAR_DATA`` names.
    download_missing : bool
        Whether files that are not there are fetched, if they are published as they are needed.

    Raises
    ------
    FileNotFoundError
        If no data folder is known or a file is not in it.
    OSError
        If a file is damaged, another one than expected, or cannot be downloaded.
    """
    home = _find_home(data_set, data_home)
    if download_missing:
        _download_missing(data_set, home)
    return [_read(home, file, data_set) for file in data_set.files]


def read_arrays(content: bytes) -> Arrays:
    """Return the arrays of an .npz file by name."""
    with np.load(BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _find_home(data_set: DataSet, data_home: PathLike | None) -> Path:
    home = os.environ.get(HOME_VARIABLE) if data_home is None else data_home
    if not home:
        wanted = ", ".join(file.path for file in data_set.files)
        raise FileNotFoundError(
            f"No data folder is set, so {wanted} could not be looked for. {_advice(data_set)}"
        )
    return Path(home).expanduser()


def _download_missing(data_set: DataSet, home: Path) -> None:
    for file in data_set.files:
        if (home / file.path).exists():
            continue
        if file.published is None:
            raise FileNotFoundError(
                f"The file {home / file.path} does not exist and cannot be downloaded: it was made "
                f"from an original in another form. {_advice(data_set)}"
            )
        if not (home / file.published.path).exists():
            download(file.published, home)


def _read(home: Path, file: DataFile, data_set: DataSet) -> bytes:
    """Return the content of a file, from the published one if only that is there."""
    path, published = home / file.path, file.published
    if published is not None and not path.is_file() and (home / published.path).is_file():
        path = home / published.path
        content = published.convert(_unpack(path, data_set))
    else:
        content = _unpack(path, data_set)
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise OSError(
            f"The file {path} is not the expected one: its content has the SHA-256 checksum "
            f"{found}, expected is {file.sha256}. {_advice(data_set)}"
        )
    return content


def _unpack(path: Path, data_set: DataSet) -> bytes:
    """Read a file that is packed as the ending of its name says."""
    if not path.is_file():
        raise FileNotFoundError(f"The file {path} does not exist. {_advice(data_set)}")
    packed = path.read_bytes()
    try:
        return _UNPACKERS.get(path.suffix, bytes)(packed)
    except (EOFError, OSError, ValueError, zlib.error) as error:
        raise OSError(f"The file {path} cannot be unpacked: {error}") from error


def _advice(data_set: DataSet) -> str:
    wanted = ", ".join(file.path for file in data_set.files)
    published = all(file.published is not None for file in data_set.files)
    return (
        f"Pass data_home=, or set the environment variable {HOME_VARIABLE}, to a folder that "
        f"holds {wanted}. {'With download=True, missing files are fetched. ' if published else ''}"
        f"The original data set, {data_set.title}, is published at {data_set.url}."
    )
