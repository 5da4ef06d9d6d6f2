"""Output files, which are written completely or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

from splinear._types import AnyArray
from splinear._writing import written_whole
from splinear.tables.arrow import Arrow, import_arrow

__all__ = ["TABLES", "Columns", "Write", "check_output", "table_writer", "write_text"]

TABLES = (".csv", ".parquet", ".pq")

Columns: TypeAlias = Mapping[str, AnyArray | Arrow]
Write: TypeAlias = Callable[[Columns], None]


def check_output(path: Path, endings: Sequence[str] = ()) -> None:
    """Raise early if a file cannot be written."""
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder; name a file in it")
    if endings and path.suffix.lower() not in endings:
        raise ValueError(f"cannot write {path}: its name must end in one of {', '.join(endings)}")
    folder = path.parent
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
        with _writing(sys.stdout.buffer, "stdout", parquet=False) as write:
            yield write
        return
    is_parquet = path.suffix.lower() != ".csv"
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
