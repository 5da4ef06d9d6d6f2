"""Data frames of pandas, polars and Arrow, and arrays of objects."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from splinear._caching import cached_property
from splinear._types import Input
from splinear.tables import table as sizes
from splinear.tables.chunks import Chunk, float_type
from splinear.tables.table import ColumnNumbers, Table
from splinear.tables.values import Kind, Values, is_boolean, kind_of, numbers

__all__ = ["FrameTable"]


class FrameTable(Table):
    """Columns of numbers, text or other objects, in memory.

    Parameters
    ----------
    data : list of ndarray or of narwhals series
        The columns, of the same length.
    names : list of str or None
    given : object
        The user's data frame.
    n_rows : int
    kinds : list of Kind or None
        What each column holds, if known.
    """

    converts = True

    def __init__(
        self,
        data: list[Values],
        names: list[str] | None,
        given: Input,
        n_rows: int,
        kinds: list[Kind] | None = None,
    ) -> None:
        self.data, self.names, self.given, self.n_rows = data, names, given, n_rows
        if kinds is not None:
            self.__dict__["kinds"] = kinds

    @classmethod
    def of(cls, given: Input) -> FrameTable:
        """Read a data frame."""
        try:
            frame = nw.from_native(given, eager_only=True)
        except DuplicateError as error:
            found = " ".join(str(error).split())  # in one line
            raise ValueError(
                f"X has several columns of the same name, and names must differ: {found}."
            ) from error
        # As in scikit-learn, names are used only if all are text; pandas allows others.
        names = frame.columns if all(isinstance(name, str) for name in frame.columns) else None
        return cls(list(frame.iter_columns()), names, given, len(frame))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.n_rows, len(self.data)

    @cached_property
    def kinds(self) -> list[Kind]:
        """What each column holds."""
        return [kind_of(column) for column in self.data]

    @property
    def booleans(self) -> frozenset[int]:
        """The columns that hold True and False."""
        kinds = enumerate(self.kinds)
        return frozenset(j for j, kind in kinds if kind is Kind.NUMBER and is_boolean(self.data[j]))

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The data type of the chunks."""
        return float_type(*[_numpy_type(column) for column in self.data])

    def chunks(self, columns: ColumnNumbers | None = None) -> Iterator[tuple[slice, Chunk]]:
        """Yield slices of rows and their values, in order."""
        wanted = range(len(self.data)) if columns is None else columns
        dtype = self.dtype
        for rows, values in self.columns(wanted):
            out = np.empty((rows.stop - rows.start, len(values)), dtype)
            for k, j in enumerate(map(int, wanted)):
                out[:, k] = numbers(values[k], self.label(j))
            yield rows, out

    def columns(self, wanted: ColumnNumbers) -> Iterator[tuple[slice, list[Values]]]:
        """Yield slices of rows and lists of their columns, unconverted, in order."""
        step = self.rows_of(sizes.COPIED_AT_ONCE)
        for start in range(0, self.n_rows, step):
            stop = min(start + step, self.n_rows)
            data = [self.data[int(j)] for j in wanted]
            if stop - start < self.n_rows:  # slices take long if there are many columns
                data = [column[start:stop] for column in data]
            yield slice(start, stop), data

    def blanked(self, columns: Collection[int]) -> Table:
        """Return the table with 0 in some columns, whatever they hold."""
        if not columns:
            return self
        zeros = np.zeros(self.n_rows, dtype=np.float32)
        data = [zeros if j in columns else column for j, column in enumerate(self.data)]
        kinds = self.__dict__.get("kinds")  # if they are known
        if kinds is not None:
            kinds = [Kind.NUMBER if j in columns else kind for j, kind in enumerate(kinds)]
        return FrameTable(data, self.names, self.given, self.n_rows, kinds)

    def label(self, j: int) -> str:
        """Return the name of a column for messages."""
        return f"column {j}" if self.names is None else f"column {self.names[j]!r}"


def _numpy_type(column: Values) -> np.dtype[np.generic]:
    if isinstance(column, np.ndarray):
        return column.dtype
    return np.dtype(np.float32 if column.dtype == nw.Float32 else np.float64)
