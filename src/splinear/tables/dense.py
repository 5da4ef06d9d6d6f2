"""Arrays, in memory or mapped from a file."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from splinear._types import AnyArray
from splinear.tables import table as sizes
from splinear.tables.chunks import Chunk, as_floats, float_type, sorted_columns, window
from splinear.tables.table import ColumnNumbers, Table

__all__ = ["ArrayTable", "pieces"]


class ArrayTable(Table):
    """A two-dimensional array of numbers.

    Parameters
    ----------
    array : ndarray of shape (n_rows, n_columns)
    """

    is_numeric = True

    def __init__(self, array: AnyArray) -> None:
        self.array = self.given = array
        self.is_on_disk = _map_of(array) is not None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.array.shape[0], self.array.shape[1]

    @property
    def booleans(self) -> frozenset[int]:
        """The columns that hold True and False: all of an array of them."""
        return frozenset(range(self.shape[1]) if self.array.dtype == bool else ())

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The data type of the chunks."""
        return float_type(self.array.dtype)

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield slices of rows and their values, in order."""
        for rows, piece in self._pieces(sizes.READ_AT_ONCE):
            yield rows, as_floats(_some(piece, columns))

    def long_chunks(self) -> Iterator[tuple[slice, Chunk]]:
        """Yield long chunks if they need no copy."""
        for rows, piece in self._pieces(sizes.SHARED_AT_ONCE):
            yield rows, as_floats(piece)

    def _pieces(self, n_values: int) -> Iterator[tuple[slice, AnyArray]]:
        """Yield slices and rows in order, about `n_values` at a time; fewer if they are copied."""
        is_read = self.array.dtype == self.dtype and self.array.flags.aligned
        copied = self.is_on_disk or not is_read
        start = 0
        for piece in pieces(self.array, self.rows_of(sizes.COPIED_AT_ONCE if copied else n_values)):
            yield slice(start, start + len(piece)), piece
            start += len(piece)

    def sample(self, rows: NDArray[np.integer], columns: ColumnNumbers | None = None) -> Chunk:
        """Return some rows of some columns, or of all."""
        if self.is_on_disk:  # read in order, without keeping pages in memory
            return super().sample(rows, columns)
        if columns is None:
            return np.asarray(self.array[rows])
        return np.asarray(self.array[np.ix_(rows, np.asarray(columns))])

    def sorted_columns(
        self, rows: NDArray[np.integer], columns: ColumnNumbers, n_threads: int = 1
    ) -> AnyArray:
        """Return some columns of some rows, (n_columns, n_rows), each sorted ascending."""
        if self.is_on_disk:
            return super().sorted_columns(rows, columns, n_threads)
        return sorted_columns(self.array, rows, np.asarray(columns), n_threads)

    def window(
        self, rows: NDArray[np.integer], columns: ColumnNumbers
    ) -> tuple[AnyArray, NDArray[np.int64], NDArray[np.int64]]:
        """Return an array of floats, and the indices in it of these rows and columns."""
        if self.is_on_disk:
            return super().window(rows, columns)
        return window(self.array, rows, np.asarray(columns))

    def whole(self) -> Chunk:
        """Return all rows at once."""
        return as_floats(self.array)


def pieces(array: AnyArray, n_rows: int) -> Iterator[AnyArray]:
    """Yield an array n_rows at a time; pages of a memory-mapped file are released."""
    pages = _map_of(array)
    for start in range(0, len(array), n_rows):
        yield array[start : start + n_rows]
        if pages is not None:
            pages.madvise(mmap.MADV_DONTNEED)


def _some(piece: AnyArray, columns: ColumnNumbers | None) -> AnyArray:
    return piece if columns is None else piece[:, columns]


def _map_of(array: AnyArray) -> mmap.mmap | None:
    """Return the memory map that holds an array, if its pages can be released without loss."""
    base: object = array
    while isinstance(base, np.ndarray):
        # Pages of a map with mode "c" hold changes that are not in the file.
        if isinstance(base, np.memmap) and base.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
            pages: mmap.mmap | None = getattr(base, "_mmap", None)
            return pages
        base = base.base
    return None
