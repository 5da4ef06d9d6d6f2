"""Files that are written: all of them, or nothing."""

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
    """Refuse early what could not be written later."""
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
    """Write a file of text, at once."""
    with _named(str(path)), written_whole(path) as file:
        file.write(text.encode())


@contextmanager
def table_writer(path: Path | None) -> Iterator[Write]:
    """Yield what writes rows, some at a time, as CSV or Parquet; None: CSV to stdout."""
    if path is None:
        with _writing(sys.stdout.buffer, "stdout", parquet=False) as write:
            yield write
        return
    is_parquet = path.suffix.lower() != ".csv"
    with written_whole(path) as file, _writing(file, str(path), parquet=is_parquet) as write:
        yield write


@contextmanager
def _writing(file: BinaryIO, name: str, *, parquet: bool) -> Iterator[Write]:
    """Yield what writes rows into an open file; its columns are those of the first."""
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
    """Say what could not be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(f"cannot write {name}: {error.strerror or error}") from error
