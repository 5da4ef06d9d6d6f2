"""Parquet files, and Arrow data sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from splinear._types import Input
from splinear.tables.arrow import Arrow, ArrowTable, import_arrow
from splinear.tables.files import checked_paths, ending, is_path, listed

__all__ = ["ArrowDataset", "ParquetFiles"]


class ParquetFiles(ArrowTable):
    """The rows of one or several Parquet files, or of all files in a folder.

    Parameters
    ----------
    paths : path or sequence of paths
        Files with the same columns, in any order; or a folder of such files, read in the order of
        their names.
    names : sequence of str, default=None
        The columns that are features; None for all except the index of a data frame.
    """

    def __init__(self, paths: Input, names: Sequence[str] | None = None) -> None:
        self.paths = _files_in(paths)
        schemas, n_rows = [], 0
        for path in self.paths:
            file = _open(path)
            schemas.append((str(path), file.schema_arrow))
            n_rows += file.metadata.num_rows
        super().__init__(schemas, n_rows, names)

    def __str__(self) -> str:
        return listed(self.paths)

    def _batches(self, columns: list[str], n_rows: int) -> Iterator[Arrow]:
        for path in self.paths:
            with _named(path):
                yield from _open(path).iter_batches(n_rows, columns=columns, use_threads=False)


class ArrowDataset(ArrowTable):
    """The rows of a `pyarrow.dataset.Dataset`.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    names : sequence of str, default=None
        The columns that are features; None for all except the index of a data frame.
    """

    def __init__(self, dataset: Arrow, names: Sequence[str] | None = None) -> None:
        self.dataset = dataset
        super().__init__([(str(self), dataset.schema)], dataset.count_rows(), names)

    def __str__(self) -> str:
        return "the data set"

    def _batches(self, columns: list[str], n_rows: int) -> Iterator[Arrow]:
        with _named("the data set"):
            yield from self.dataset.to_batches(
                columns=columns,
                batch_size=n_rows,
                batch_readahead=1,
                fragment_readahead=1,
                use_threads=False,
            )


def _files_in(paths: Input) -> list[Path]:
    """Return the files, or those of a folder sorted by name."""
    if not is_path(paths) or not Path(paths).is_dir():
        return checked_paths(paths)
    found = sorted(path for path in Path(paths).iterdir() if ending(path) in (".parquet", ".pq"))
    if not found:
        raise FileNotFoundError(f"There are no .parquet files in the folder {paths}.")
    return found


def _open(path: Path) -> Arrow:
    parquet = import_arrow(path, "pyarrow.parquet")
    with _named(path):
        # Read columns of a row group in small buffers, not as a whole.
        return parquet.ParquetFile(path, buffer_size=2**16, pre_buffer=False)


@contextmanager
def _named(where: object) -> Iterator[None]:
    """Add the name of the file to errors of Arrow."""
    arrow = import_module("pyarrow")
    try:
        yield
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{where} is not a whole Parquet file, or is damaged: {error}") from error
