"""Arrays, in memory or mapped from a file."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from splinear._types import AnyArray
from splinear.tables import table as sizes
from splinear.tables.chunks import Chunk, as_floats, float_type, in_order, window
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
    def dtype(self) -> np.dtype[np.floating]:
        """The type of the chunks."""
        return float_type(self.array.dtype)

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield all rows in order, some at a time."""
        for rows, piece in self._pieces(sizes.READ_AT_ONCE):
            yield rows, as_floats(_some(piece, columns))

    def long_chunks(self) -> Iterator[tuple[slice, Chunk]]:
        """Yield the same, in few pieces where none is copied."""
        for rows, piece in self._pieces(sizes.SHARED_AT_ONCE):
            yield rows, as_floats(piece)

    def _pieces(self, n_values: int) -> Iterator[tuple[slice, AnyArray]]:
        """Yield all rows in order, so many values at a time; fewer where they are copied."""
        is_read = self.array.dtype == self.dtype and self.array.flags.aligned
        copied = self.is_on_disk or not is_read
        start = 0
        for piece in pieces(self.array, self.rows_of(sizes.COPIED_AT_ONCE if copied else n_values)):
            yield slice(start, start + len(piece)), piece
            start += len(piece)

    def sample(self, rows: NDArray[np.integer], columns: ColumnNumbers | None = None) -> Chunk:
        """Return some rows of some columns or all."""
        if self.is_on_disk:  # in order, and pages do not stay
            return super().sample(rows, columns)
        if columns is None:
            return np.asarray(self.array[rows])
        return np.asarray(self.array[np.ix_(rows, np.asarray(columns))])

    def in_order(
        self, rows: NDArray[np.integer], columns: ColumnNumbers, n_threads: int = 1
    ) -> AnyArray:
        """Return the values of some columns in some rows, (n_columns, n_rows), each ascending."""
        if self.is_on_disk:
            return super().in_order(rows, columns, n_threads)
        return in_order(self.array, rows, np.asarray(columns), n_threads)

    def window(
        self, rows: NDArray[np.integer], columns: ColumnNumbers
    ) -> tuple[AnyArray, NDArray[np.int64], NDArray[np.int64]]:
        """Return an array of floats, and which of its rows and columns are these."""
        if self.is_on_disk:
            return super().window(rows, columns)
        return window(self.array, rows, np.asarray(columns))

    def whole(self) -> Chunk:
        """Return all rows at once."""
        return as_floats(self.array)


def pieces(array: AnyArray, n_rows: int) -> Iterator[AnyArray]:
    """Yield an array n_rows at a time; pages of a mapped file do not stay in memory."""
    pages = _map_of(array)
    for start in range(0, len(array), n_rows):
        yield array[start : start + n_rows]
        if pages is not None:
            pages.madvise(mmap.MADV_DONTNEED)


def _some(piece: AnyArray, columns: ColumnNumbers | None) -> AnyArray:
    return piece if columns is None else piece[:, columns]


def _map_of(array: AnyArray) -> mmap.mmap | None:
    """Return the map of a file that an array lies in, if its pages can be let go without a loss."""
    base: object = array
    while isinstance(base, np.ndarray):
        # Pages of a map of mode "c" hold changes that are nowhere else.
        if isinstance(base, np.memmap) and base.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
            pages: mmap.mmap | None = getattr(base, "_mmap", None)
            return pages
        base = base.base
    return None
