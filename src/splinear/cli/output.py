"""Output files: which may be written, and how; they are written completely or not at all."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import BinaryIO, TypeAlias

from splinear._types import AnyArray
from splinear._writing import written_whole
from splinear.cli.console import OptionError, refuse_closed_stdout
from splinear.tables.arrow import Arrow, import_arrow
from splinear.tables.files import ending

__all__ = [
    "CONVERTED",
    "MODEL",
    "PAGE",
    "PICTURE",
    "SQL_MARK",
    "TABLE",
    "Columns",
    "FileKind",
    "Write",
    "check_outputs",
    "refuse_source",
    "table_writer",
    "write_text",
]

PARQUET = (".parquet", ".pq")
READ = 2**20  # bytes of a file in which marks are looked for
SQL_MARK = "-- A model of splinear."

Columns: TypeAlias = Mapping[str, AnyArray | Arrow]
Write: TypeAlias = Callable[[Columns], None]


@dataclass(frozen=True)
class FileKind:
    """A kind of file that commands write, which is known by a mark in it.

    Attributes
    ----------
    name : str
        As in "is not {name}".
    endings : tuple of str
        The endings that its name must have; any if there are none.
    marks : tuple of bytes
        Its own files contain one of them.
    """

    name: str
    endings: tuple[str, ...] = ()
    marks: tuple[bytes, ...] = ()

    def is_kind_of(self, path: Path) -> bool:
        """Return whether a file is empty or of this kind."""
        with path.open("rb") as file:
            head = file.read(READ)
        if self is TABLE and head:
            return "prediction" in _column_names(path, head)
        return not head or any(mark in head for mark in self.marks)


MODEL = FileKind("a model of splinear", (), (b'{"format":"splinear",',))
PAGE = FileKind("a report of splinear", (".html", ".htm"), (b'content="splinear"',))
TABLE = FileKind("a table with a column 'prediction'", (".csv", *PARQUET))
CONVERTED = FileKind(
    "a model that splinear has converted",
    (),
    (b"\x12\x08splinear", b'{"format": "splinear-model"', SQL_MARK.encode()),
)
PICTURE = FileKind(
    "a picture of splinear demo",
    (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp"),
    (b"splinear demo",),
)


def _column_names(path: Path, head: bytes) -> Sequence[str]:
    """Return the names of a table's columns; none if it is no table."""
    if path.suffix.lower() in PARQUET:
        arrow = import_arrow(path)
        try:
            return list(import_arrow(path, "pyarrow.parquet").read_schema(path).names)
        except (arrow.ArrowException, OSError, UnicodeDecodeError):
            return []
    line = head.splitlines()[0].decode("utf-8-sig", errors="replace")
    return next(csv.reader([line]), [])


def check_outputs(
    outputs: Mapping[str, tuple[Path | None, FileKind]],
    inputs: Mapping[str, Path | None] | None = None,
    *,
    force: bool = False,
) -> None:
    """Raise early if a file cannot or should not be written.

    No output may be an input or another output, under whatever name. An existing file is replaced
    if it is of the kind that the command writes, or by `force`.

    Parameters
    ----------
    outputs : dict
        The path and kind of each option's file; None for a path that is not given.
    inputs : dict, optional
        The path of each argument or option that is read: a file, or a folder.
    """
    given = {option: (path, kind) for option, (path, kind) in outputs.items() if path is not None}
    paths = {option: path for option, (path, _) in given.items()}
    for name, source in (inputs or {}).items():
        if source is not None:
            refuse_source(name, source, paths)
    for (one, path), (other, known) in combinations(paths.items(), 2):
        if _are_same(path, known):
            raise OptionError(f"{one} {path} and {other} {known} are the same file; name two files")
    for path, kind in given.values():
        _check_place(path, kind.endings)
        if path.is_file() and not force and not kind.is_kind_of(path):
            raise ValueError(
                f"cannot write {path}: it exists and is not {kind.name}; name another file, or add "
                "--force to replace it"
            )


def refuse_source(name: str, source: Path, outputs: Mapping[str, Path]) -> None:
    """Raise if an output is what is read, or would be read with others of a folder."""
    if _is_stdout(source):
        raise OptionError(
            f"standard output and {name} {source}, which is read, are the same file; write to "
            "another one"
        )
    is_folder = source.is_dir()
    parts = [part for part in source.iterdir() if ending(part) in PARQUET] if is_folder else []
    for option, path in outputs.items():
        if _are_same(path, source):
            what = f"the same {'folder' if is_folder else 'file'} as"
        elif any(_are_same(path, part) for part in parts) or (
            is_folder and ending(path) in PARQUET and _are_same(path.parent, source)
        ):
            what = "in the folder"
        else:
            continue
        raise OptionError(
            f"{option} {path} is {what} {name} {source}, which is read; name another one"
        )


def _are_same(one: Path, other: Path) -> bool:
    """Return whether two paths are one file, or would be if they existed."""
    with suppress(OSError):
        return os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)


def _is_stdout(path: Path) -> bool:
    with suppress(OSError, AttributeError):  # a terminal's stream may have no number, or be closed
        found, written = os.stat(path), os.fstat(sys.stdout.fileno())
        return path.is_file() and os.path.samestat(found, written)
    return False


def _check_place(path: Path, endings: Sequence[str]) -> None:
    """Raise if the place of a file, or its name, is not one to write to."""
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder; name a file in it")
    if endings and path.suffix.lower() not in endings:
        raise ValueError(f"cannot write {path}: its name must end in one of {', '.join(endings)}")
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise ValueError(f"cannot write {path}: it is a link that leads back to itself")
    folder = target.parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise ValueError(f"cannot write {path}: there is no folder {folder}; make it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise ValueError(f"cannot write {path}: permission denied")


def write_text(path: Path, text: str) -> None:
    """Write a text file, which replaces an existing one when complete."""
    with _named(str(path)), written_whole(path) as file:
        file.write(text.encode())


@contextmanager
def table_writer(path: Path | None) -> Iterator[Write]:
    """Yield a function that writes blocks of rows as CSV or Parquet, or to stdout for None."""
    if path is None:
        refuse_closed_stdout()
        with _writing(sys.stdout.buffer, "stdout", parquet=False) as write:
            yield write
        return
    is_parquet = path.suffix.lower() in PARQUET
    with written_whole(path) as file, _writing(file, str(path), parquet=is_parquet) as write:
        yield write


@contextmanager
def _writing(file: BinaryIO, name: str, *, parquet: bool) -> Iterator[Write]:
    """Yield a function that writes blocks of rows to an open file; the first sets the columns."""
    arrow = import_arrow("a table", "pyarrow")
    module = import_arrow("a table", "pyarrow.parquet" if parquet else "pyarrow.csv")
    make = module.ParquetWriter if parquet else module.CSVWriter
    writers: list[Arrow] = []

    def write(columns: Columns) -> None:
        table = arrow.table(dict(columns))
        with _named(name):
            if not writers:
                writers.append(make(file, table.schema))
            writers[0].write_table(table)

    yield write
    with _named(name):
        for writer in writers:
            writer.close()
        file.flush()


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Add the name of the file to errors of writing."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(f"cannot write {name}: {error.strerror or error}") from error
