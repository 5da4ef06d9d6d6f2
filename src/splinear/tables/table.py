"""The interface through which the rest of the library reads X, whatever its type.

Arrays, data frames, sparse matrices and file formats are subclasses in modules of their own;
:func:`splinear.tables.opening.open_table` chooses among them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear._types import AnyArray, Floats, Input
from splinear.tables.chunks import Chunk, as_dense, as_sparse, ranges, sorted_columns, window
from splinear.tables.values import Kind, Values

ColumnNumbers: TypeAlias = Sequence[int] | NDArray[np.integer]

__all__ = ["MOST_COLUMNS", "ColumnNumbers", "SomeColumns", "Table", "View", "WithZeros"]

# Values per chunk, so that Ctrl-C is noticed; fewer if a chunk is copied, because its type is
# converted or it comes from a file, so that the copy stays small.
READ_AT_ONCE = 2**24
COPIED_AT_ONCE = 2**20
# Values per chunk if many threads read it in place, because they wait for each other at its end.
SHARED_AT_ONCE = 2**27
# A term takes about 1 kB and 10 microseconds, whatever its column holds; this many take 17 GB.
MOST_COLUMNS = 2**24


class Table(ABC):
    """Rows and columns of X, read in chunks.

    Attributes
    ----------
    names : list of str or None
        Names of the columns, if they have any.
    is_sparse : bool
        Whether zeros are left out, so that chunks are CSR matrices.
    is_on_disk : bool
        Whether the rows are in files, memory-mapped or not, and should be read in order.
    converts : bool
        Whether values in memory are converted whenever they are read.
    zero_based : bool or None
        Whether a file's column indices begin with 0; None if it has no column indices.
    is_numeric : bool
        Whether all columns hold numbers by their type.
    given : object or None
        The user's object, from which scikit-learn reads names and number of columns; None for
        files.
    """

    names: list[str] | None = None
    is_sparse: bool = False
    is_on_disk: bool = False
    converts: bool = False
    zero_based: bool | None = None
    given: Input = None
    is_numeric: bool = False

    def __str__(self) -> str:
        return "X"

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[np.floating]:
        """The data type of the chunks: float32 if all columns have it, and float64 otherwise."""

    @abstractmethod
    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield slices of rows and their values in the core's form, in order.

        `columns` selects columns, which must hold numbers; None for all. Missing values are NaN.
        """

    def long_chunks(self) -> Iterator[tuple[slice, Chunk]]:
        """Yield chunks of all columns, long ones if they need no copy, for many threads."""
        return self.chunks()

    @property
    def kinds(self) -> list[Kind]:
        """What each column holds."""
        return [Kind.NUMBER] * self.shape[1]

    @property
    def booleans(self) -> frozenset[int]:
        """The columns that hold True and False."""
        return frozenset()

    @property
    def values_per_row(self) -> float:
        """Number of values per row: columns, or non-zeros on average."""
        return float(self.shape[1])

    def columns(self, wanted: ColumnNumbers) -> Iterator[tuple[slice, list[Values]]]:
        """Yield slices of rows and lists of their columns, unconverted, in order."""
        for rows, chunk in self.chunks(wanted):
            yield rows, list(as_dense(chunk).T)

    def sample(self, rows: NDArray[np.integer], columns: ColumnNumbers | None = None) -> Chunk:
        """Return some rows, with ascending indices, of some columns or all."""
        wanted = None if columns is None else [int(j) for j in columns]
        found = []
        for here, chunk in self.chunks(wanted):
            first, last = np.searchsorted(rows, [here.start, here.stop])
            if first < last:
                found.append(chunk[rows[first:last] - here.start])
        return _stacked(found, self)

    def sorted_columns(
        self, rows: NDArray[np.integer], columns: ColumnNumbers, n_threads: int = 1
    ) -> AnyArray:
        """Return some columns of some rows, each sorted ascending with NaN last.

        The result is (n_columns, n_rows), in the columns' own data type.
        """
        values = as_dense(self.sample(rows, columns))
        return sorted_columns(values, np.arange(len(values)), np.arange(values.shape[1]), n_threads)

    def window(
        self, rows: NDArray[np.integer], columns: ColumnNumbers
    ) -> tuple[AnyArray, NDArray[np.int64], NDArray[np.int64]]:
        """Return an array of floats, and the indices in it of these rows and columns."""
        values = as_dense(self.sample(rows, columns))
        return window(values, np.arange(len(values)), np.arange(values.shape[1]))

    def ends(
        self, kept: NDArray[np.bool_] | None, n_threads: int = 1
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return the lowest and highest value of every column, and whether it has missing values.

        Only the rows in `kept` (n_rows,) are used, unless it is None. A column without values has
        the lowest value infinity and the highest -infinity.
        """
        n = self.shape[1]
        lo, hi, has_gap = np.full(n, np.inf), np.full(n, -np.inf), np.zeros(n, dtype=bool)
        for rows, piece in self.chunks():
            counted = piece if kept is None else piece[kept[rows]]
            if counted.shape[0]:
                least, most, missing = ranges(counted, n_threads)
                lo, hi = np.fmin(lo, least), np.fmax(hi, most)
                has_gap |= missing
        return lo, hi, has_gap

    def whole(self) -> Chunk:
        """Return all rows as one chunk."""
        return _stacked([chunk for _, chunk in self.chunks()], self)

    def target(self, y: Input) -> Input:
        """Return the target: y itself, or the content of the files that y names."""
        return y

    def matched(self, names: list[str] | None, n_columns: int, zero_based: bool | None) -> Table:
        """Return the table with its columns matched to those seen in fit, if the format allows."""
        del names, n_columns, zero_based
        return self

    def expecting(self, text: Collection[int]) -> Table:
        """Return the table with these columns, and no others, as text, if types were guessed.

        This applies to CSV files at prediction time.
        """
        del text
        return self

    def without(self, name: str) -> Table:
        """Return the table without the column of the target."""
        del name
        return self

    def blanked(self, columns: Collection[int]) -> Table:
        """Return the table with 0 in some columns, unless all columns are numbers anyway."""
        del columns
        return self

    def select(self, columns: NDArray[np.intp]) -> Table:
        """Return a table of some columns; the table itself if these are all, in order."""
        if np.array_equal(columns, np.arange(self.shape[1])):
            return self
        return SomeColumns(self, columns)

    def rows_of(self, n_values: int) -> int:
        """Return the number of rows that have about `n_values` values."""
        return max(1, n_values // max(1, int(self.values_per_row)))


class View(Table):
    """Base of tables that show the rows of another table in another form."""

    def __init__(self, table: Table) -> None:
        self.table, self.is_on_disk, self.zero_based = table, table.is_on_disk, table.zero_based

    def __str__(self) -> str:
        return str(self.table)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.table.shape

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The data type of the chunks."""
        return self.table.dtype


class SomeColumns(View):
    """Some columns of a table."""

    def __init__(self, table: Table, columns: NDArray[np.intp]) -> None:
        super().__init__(table)
        self.chosen, self.is_sparse = [int(j) for j in columns], table.is_sparse

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.table.shape[0], len(self.chosen)

    @property
    def values_per_row(self) -> float:
        """Number of values per row, estimated from that of all columns."""
        return self.table.values_per_row * len(self.chosen) / max(1, self.table.shape[1])

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield slices of rows and their values, in order."""
        here = self.chosen if columns is None else [self.chosen[int(j)] for j in columns]
        return self.table.chunks(here)

    def sample(self, rows: NDArray[np.integer], columns: ColumnNumbers | None = None) -> Chunk:
        """Return some rows of some columns, or of all."""
        here = self.chosen if columns is None else [self.chosen[int(j)] for j in columns]
        return self.table.sample(rows, here)


class WithZeros(View):
    """The rows of a sparse table as dense rows."""

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield slices of rows and their values as dense arrays, in order."""
        step = self.rows_of(COPIED_AT_ONCE)
        for rows, chunk in self.table.chunks(columns):
            for start in range(0, chunk.shape[0], step):
                piece = as_dense(chunk[start : start + step])
                yield slice(rows.start + start, rows.start + start + len(piece)), piece


def _stacked(chunks: list[Chunk], table: Table) -> Chunk:
    """Concatenate chunks of rows."""
    if len(chunks) == 1:
        return chunks[0]
    if table.is_sparse:
        return sparse.csr_array(sparse.vstack([as_sparse(chunk) for chunk in chunks]))
    return np.concatenate([as_dense(chunk) for chunk in chunks])
