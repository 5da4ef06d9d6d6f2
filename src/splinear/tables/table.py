"""One kind of table: what the rest of the library knows of X, whatever the user gave.

Arrays, data frames, sparse matrices and files are subclasses, one per file beside this one;
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
from splinear.tables.chunks import Chunk, as_dense, as_sparse, in_order, ranges, window
from splinear.tables.values import Kind, Values

ColumnNumbers: TypeAlias = Sequence[int] | NDArray[np.integer]

__all__ = ["MOST_COLUMNS", "ColumnNumbers", "SomeColumns", "Table", "View", "WithZeros"]

# Values per piece of X that is read at a time, so that Ctrl-C is heard; fewer where a piece is
# copied, because its type must be converted or it comes from a file, so that the copy stays small.
READ_AT_ONCE = 2**24
COPIED_AT_ONCE = 2**20
# Where many threads read pieces in place, and each piece is one that they wait for each other at.
SHARED_AT_ONCE = 2**27
# A term takes about 1 kB and 10 microseconds, whatever its column holds: so many are 17 GB.
MOST_COLUMNS = 2**24


class Table(ABC):
    """Rows and columns of X, read in pieces.

    Attributes
    ----------
    names : list of str or None
        Names of the columns, if they have any.
    is_sparse : bool
        Whether zeros are left out, so that chunks are CSR matrices.
    is_on_disk : bool
        Whether the rows lie in files, mapped or not, and are to be read in order.
    converts : bool
        Whether values in memory are converted whenever they are read.
    zero_based : bool or None
        Whether columns are numbered from 0 on in the file; None: it does not number them.
    is_numeric : bool
        Whether it can hold nothing but numbers.
    given : object or None
        What scikit-learn may look at for names and numbers of columns; None for files.
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
        """The type of the chunks: float32 if all columns are of that type, else float64."""

    @abstractmethod
    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield all rows in order, some at a time, as the core reads them; some columns, or all.

        Columns must hold numbers. Missing values are NaN.
        """

    def long_chunks(self) -> Iterator[tuple[slice, Chunk]]:
        """Yield the same, all columns, in few pieces where none is copied: for many threads."""
        return self.chunks()

    @property
    def kinds(self) -> list[Kind]:
        """What each column holds."""
        return [Kind.NUMBER] * self.shape[1]

    @property
    def values_per_row(self) -> float:
        """Number of values that a row holds: columns, or non-zeros on average."""
        return float(self.shape[1])

    def columns(self, wanted: ColumnNumbers) -> Iterator[tuple[slice, list[Values]]]:
        """Yield all rows in order, some at a time, as columns of whatever they hold."""
        for rows, chunk in self.chunks(wanted):
            yield rows, list(as_dense(chunk).T)

    def sample(self, rows: NDArray[np.integer], columns: ColumnNumbers | None = None) -> Chunk:
        """Return some rows, whose numbers ascend, of some columns or all."""
        wanted = None if columns is None else [int(j) for j in columns]
        found = []
        for here, chunk in self.chunks(wanted):
            first, last = np.searchsorted(rows, [here.start, here.stop])
            if first < last:
                found.append(chunk[rows[first:last] - here.start])
        return _stacked(found, self)

    def in_order(
        self, rows: NDArray[np.integer], columns: ColumnNumbers, n_threads: int = 1
    ) -> AnyArray:
        """Return the values of some columns in some rows, (n_columns, n_rows), each ascending.

        NaN last; as the numbers they are.
        """
        values = as_dense(self.sample(rows, columns))
        return in_order(values, np.arange(len(values)), np.arange(values.shape[1]), n_threads)

    def window(
        self, rows: NDArray[np.integer], columns: ColumnNumbers
    ) -> tuple[AnyArray, NDArray[np.int64], NDArray[np.int64]]:
        """Return an array of floats, and which of its rows and columns are these."""
        values = as_dense(self.sample(rows, columns))
        return window(values, np.arange(len(values)), np.arange(values.shape[1]))

    def ends(
        self, kept: NDArray[np.bool_] | None, n_threads: int = 1
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return the lowest and highest value of every column, and which have missing values.

        Of the rows in `kept` (n_rows,), or all. Of a column that has no value, the lowest is
        infinity, and the highest minus that.
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
        """Return all rows at once, as the core reads them."""
        return _stacked([chunk for _, chunk in self.chunks()], self)

    def target(self, y: Input) -> Input:
        """Return the target: y itself, or the content of the files that y names."""
        return y

    def matched(self, names: list[str] | None, n_columns: int, zero_based: bool | None) -> Table:
        """Return the table with the columns of that of fit, where it is a matter of the format."""
        del names, n_columns, zero_based
        return self

    def without(self, name: str) -> Table:
        """Return the table without the column of the target."""
        del name
        return self

    def blanked(self, columns: Collection[int]) -> Table:
        """Return the table with numbers in some columns, whatever they hold: they are not read."""
        del columns
        return self

    def select(self, columns: NDArray[np.intp]) -> Table:
        """Return some columns; the table itself if they are all, in order."""
        if np.array_equal(columns, np.arange(self.shape[1])):
            return self
        return SomeColumns(self, columns)

    def rows_of(self, n_values: int) -> int:
        """Return how many rows have about that many values."""
        return max(1, n_values // max(1, int(self.values_per_row)))


class View(Table):
    """The rows of another table, `table`, in another form; subclasses say which."""

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
        """The type of the chunks."""
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
        """Number of values per row: about as many as in other columns."""
        return self.table.values_per_row * len(self.chosen) / max(1, self.table.shape[1])

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield all rows in order, some at a time."""
        here = self.chosen if columns is None else [self.chosen[int(j)] for j in columns]
        return self.table.chunks(here)

    def sample(self, rows: NDArray[np.integer], columns: ColumnNumbers | None = None) -> Chunk:
        """Return some rows of some columns or all."""
        here = self.chosen if columns is None else [self.chosen[int(j)] for j in columns]
        return self.table.sample(rows, here)


class WithZeros(View):
    """The rows of a sparse table as those of a dense one, in which zeros count."""

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield all rows in order, some at a time, zeros written out."""
        step = self.rows_of(COPIED_AT_ONCE)
        for rows, chunk in self.table.chunks(columns):
            for start in range(0, chunk.shape[0], step):
                piece = as_dense(chunk[start : start + step])
                yield slice(rows.start + start, rows.start + start + len(piece)), piece


def _stacked(chunks: list[Chunk], table: Table) -> Chunk:
    """Put chunks of rows together."""
    if len(chunks) == 1:
        return chunks[0]
    if table.is_sparse:
        return sparse.csr_array(sparse.vstack([as_sparse(chunk) for chunk in chunks]))
    return np.concatenate([as_dense(chunk) for chunk in chunks])
