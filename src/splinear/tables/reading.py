"""Reading tables: as the core takes them, in pieces, as floats; and column by column.

A table is an array, or a `Source`: rows in files, which can be read in pieces only.
"""

from __future__ import annotations

import mmap
from collections.abc import Collection, Iterator
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear._compat import is_pandas_na
from splinear._types import AnyArray, Table
from splinear.tables.sparse import as_csr, is_sparse

__all__ = [
    "Source",
    "as_array",
    "as_dense",
    "as_floats",
    "as_frame",
    "as_matrix",
    "as_missing",
    "as_one_csr",
    "chunks_of",
    "column_of",
    "csr_chunks",
    "factor",
    "float_chunks",
    "is_frame",
    "is_missing",
    "is_on_disk",
    "left_out_zeros",
    "numbers",
    "pieces",
    "raw_pieces",
    "select_columns",
    "some_rows",
    "values_per_row",
    "with_zeros",
    "without",
]

# Values per piece of X that is read at a time, so that Ctrl-C is heard; fewer where a piece is
# copied, because its type must be converted or it comes from a file, so that the copy stays small.
_PIECE = 2**24
_COPIED_PIECE = 2**20


@runtime_checkable
class Source(Protocol):
    """A table in files."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        ...

    @property
    def names(self) -> list[str] | None:
        """Names of the columns, if they have any."""
        ...

    def __len__(self) -> int:
        """Give the number of rows."""
        ...

    def chunks(self, n_rows: int) -> Iterator[Any]:
        """Give all rows in order, at most n_rows at a time: float arrays, or sparse ones."""
        ...


def left_out_zeros(X: Table) -> bool:
    """Tell whether X is sparse: a matrix, or files that do not hold zeros."""
    return is_sparse(X) or (isinstance(X, Source) and hasattr(X, "nnz"))


def values_per_row(X: Table) -> float:
    """Give the number of values that a row holds: columns, or non-zeros on average."""
    return float(X.nnz / max(1, X.shape[0]) if left_out_zeros(X) else X.shape[1])


def csr_chunks(X: Table) -> Iterator[tuple[slice, Any]]:
    """Give a sparse X in pieces of rows, as CSR matrices that the core reads."""
    if is_sparse(X):
        yield slice(0, X.shape[0]), X
        return
    start = 0
    for chunk in X.chunks(_rows_of(_COPIED_PIECE, X)):
        yield slice(start, start + chunk.shape[0]), as_csr(chunk)
        start += chunk.shape[0]


def as_one_csr(X: Table) -> Any:
    """Give all of a sparse X as one CSR matrix."""
    return X if is_sparse(X) else sparse.vstack([piece for _, piece in csr_chunks(X)], format="csr")


def as_floats(X: AnyArray) -> AnyArray:
    """Give X as the core reads it: float32 and float64 as they are, other types as float64."""
    native = X.dtype.newbyteorder("=")
    wanted = native if native in (np.float32, np.float64) else np.dtype(np.float64)
    return X if X.dtype == wanted and X.flags.aligned else X.astype(wanted)


def chunks_of(X: Table) -> Iterator[tuple[slice, Any]]:
    """Give X in pieces of rows, as the core reads them: CSR matrices if X is sparse."""
    return csr_chunks(X) if left_out_zeros(X) else float_chunks(X)


def as_matrix(X: Table) -> Any:
    """Give all of X in memory, as the core reads it: a CSR matrix if X is sparse."""
    return as_one_csr(X) if left_out_zeros(X) else as_array(X)


def float_chunks(X: Table) -> Iterator[tuple[slice, AnyArray]]:
    """Give X in pieces of rows, as the core reads them."""
    start = 0
    if isinstance(X, Source):
        for chunk in X.chunks(_rows_of(_COPIED_PIECE, X)):
            piece = as_floats(as_dense(chunk))
            yield slice(start, start + len(piece)), piece
            start += len(piece)
        return
    in_memory = X.dtype in (np.float32, np.float64) and _map_of(X) is None
    for part in pieces(X, _rows_of(_PIECE if in_memory else _COPIED_PIECE, X)):
        yield slice(start, start + len(part)), as_floats(part)
        start += len(part)


def pieces(X: AnyArray, n_rows: int) -> Iterator[AnyArray]:
    """Give an array n_rows at a time; pages of a mapped file do not stay in memory."""
    pages = _map_of(X)
    for start in range(0, len(X), n_rows):
        yield X[start : start + n_rows]
        if pages is not None:
            pages.madvise(mmap.MADV_DONTNEED)


def raw_pieces(
    X: Any, n_rows: int | None = None, *, as_frames: bool
) -> Iterator[tuple[slice, Any]]:
    """Give a table as it is, in pieces of rows.

    If n_rows is None, a table in memory is one piece. `as_frames`: a table in files as data frames,
    if its columns may be of other things than numbers.
    """
    if n_rows is None:
        n_rows = _rows_of(_COPIED_PIECE, X) if is_on_disk(X) else max(1, len(X))
    if isinstance(X, Source):
        parts = X.frames(n_rows) if as_frames and hasattr(X, "frames") else X.chunks(n_rows)
    elif hasattr(X, "iloc"):
        parts = (X.iloc[start : start + n_rows] for start in range(0, len(X), n_rows))
    else:
        parts = pieces(X, n_rows)
    start = 0
    for part in parts:
        yield slice(start, start + len(part)), part
        start += len(part)


def _rows_of(n_values: int, X: Table) -> int:
    return max(1, n_values // max(1, int(values_per_row(X))))


def as_dense(X: Any) -> AnyArray:
    """Give a piece of a table as an array."""
    dense: AnyArray = X.toarray() if hasattr(X, "toarray") else X
    return dense


def as_array(X: Table) -> AnyArray:
    """Give all of X as one array that the core reads."""
    if not isinstance(X, Source):
        return as_floats(X)
    return np.concatenate([piece for _, piece in float_chunks(X)])


def some_rows(X: Table, chosen: NDArray[np.integer[Any]]) -> Table:
    """Give the chosen rows of X, whose numbers ascend: an array, or a CSR matrix."""
    if not is_on_disk(X):
        return X[chosen]
    found = []
    for rows, piece in chunks_of(X):
        first, last = np.searchsorted(chosen, [rows.start, rows.stop])
        found.append(piece[chosen[first:last] - rows.start])
    return sparse.vstack(found, format="csr") if left_out_zeros(X) else np.concatenate(found)


def select_columns(X: Table, columns: NDArray[np.intp]) -> Table:
    """Return some columns of X; X itself if they are all, in order."""
    if len(columns) == X.shape[1] and np.array_equal(columns, np.arange(X.shape[1])):
        return X
    return _SomeColumns(X, columns) if isinstance(X, Source) else X[:, columns]


class _SomeColumns:
    """Some columns of a table in files: a Source."""

    names = None

    def __init__(self, table: Any, columns: NDArray[np.intp]) -> None:
        self.table, self.columns = table, columns
        self.shape, self.dtype = (len(table), len(columns)), table.dtype
        if hasattr(table, "nnz"):  # about as many as in other columns
            self.nnz = table.nnz * len(columns) // max(1, table.shape[1])

    def __len__(self) -> int:
        return int(self.shape[0])

    def chunks(self, n_rows: int) -> Iterator[Any]:
        """Yield all rows in order, at most n_rows at a time."""
        for chunk in self.table.chunks(n_rows):
            yield chunk[:, self.columns]


def with_zeros(X: Source) -> Source:
    """Return the rows of a sparse file as those of a dense one, in which zeros count."""
    return _Dense(X)


class _Dense:
    """The rows of a sparse file as arrays: a Source."""

    names = None

    def __init__(self, table: Any) -> None:
        self.table, self.shape, self.dtype = table, table.shape, table.dtype

    def __len__(self) -> int:
        return int(self.shape[0])

    def __str__(self) -> str:
        return str(self.table)

    def chunks(self, n_rows: int) -> Iterator[AnyArray]:
        """Yield all rows in order, at most n_rows at a time."""
        return map(as_dense, self.table.chunks(n_rows))


def without(X: Any, columns: Collection[int]) -> Any:
    """Return a table with 0 in some columns, which may hold anything; arrays of numbers as is."""
    if not columns or len(getattr(X, "shape", ())) != 2:
        return X
    if hasattr(X, "blanked"):
        return X.blanked(columns)
    if hasattr(X, "iloc"):
        X = X.copy(deep=False)
        for j in columns:
            X.isetitem(j, 0.0)
    elif is_frame(X):
        X = X.with_columns(**{X.columns[j]: 0.0 for j in columns})
    elif isinstance(X, np.ndarray) and X.dtype.kind in "OUS":
        X = X.astype(object)
        X[:, list(columns)] = 0.0
    return X


def is_on_disk(X: Table) -> bool:
    """Tell whether the rows lie in files, mapped or not, and are to be read in order."""
    return isinstance(X, Source) or (isinstance(X, np.ndarray) and _map_of(X) is not None)


def _map_of(X: AnyArray) -> mmap.mmap | None:
    """Give the map of a file that an array lies in, if its pages can be let go without a loss."""
    array: Any = X
    while isinstance(array, np.ndarray):
        # Pages of a map of mode "c" hold changes that are nowhere else.
        if isinstance(array, np.memmap) and array.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
            pages: mmap.mmap | None = getattr(array, "_mmap", None)
            return pages
        array = array.base
    return None


def as_frame(X: Any) -> Any:
    """Give a polars or Arrow table as a pandas one, if pandas is there; all else as it is.

    Without pandas, Arrow tables become polars ones. What is masked, or pandas.NA, is missing.
    """
    if isinstance(X, np.ndarray):
        return _with_gaps(X)
    if hasattr(X, "iloc") or is_sparse(X):
        return X
    if hasattr(X, "collect_schema") and not hasattr(X, "to_pandas"):
        raise TypeError(f"X is a {type(X).__name__}, which has no rows yet; give X.collect().")
    try:
        if hasattr(X, "to_pandas"):
            return X.to_pandas()
        if hasattr(X, "__arrow_c_stream__"):
            return import_module("pyarrow").table(X).to_pandas()
    except ImportError:
        if not is_frame(X):
            return _as_polars(X)
    return X


def _with_gaps(X: AnyArray) -> AnyArray:
    """Put NaN, or None among objects and text, where an array is masked or holds pandas.NA."""
    if isinstance(X, np.ma.MaskedArray):
        data, gaps = X.data, np.ma.getmaskarray(X)
        if data.dtype.kind in "OUS":
            X = as_missing(data, gaps)
        elif data.dtype.kind in "fiub":
            X = data.astype(data.dtype if data.dtype.kind == "f" else np.float64)
            X[gaps] = np.nan
        else:
            X = data  # dates, for example, which are refused
    if X.dtype != object:
        return X
    na = np.array([is_pandas_na(value) for value in X.ravel().tolist()], dtype=bool)
    return as_missing(X, na.reshape(X.shape)) if na.any() else X


def as_missing(values: AnyArray, gaps: AnyArray) -> AnyArray:
    """Return the values as objects, with None where there are gaps."""
    out = values.astype(object)
    out[gaps] = None
    return out


def _as_polars(X: Any) -> Any:
    try:
        return import_module("polars").from_arrow(import_module("pyarrow").table(X))
    except ImportError as error:
        raise ImportError(
            f"Reading a {type(X).__name__} needs pandas, or pyarrow and polars: pip install "
            "'splinear[data]'."
        ) from error


def is_frame(X: Any) -> bool:
    """Tell whether X is a data frame of pandas, or of polars where pandas is not there."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def column_of(X: Any, j: int) -> Any:
    """Give column j of a data frame, an array or a sparse matrix."""
    if is_sparse(X):
        return X[:, [j]].toarray()[:, 0]
    return X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]


def numbers(values: Any, label: str) -> AnyArray:
    """Read a column as floats, missing values as NaN."""
    dtype = getattr(values, "dtype", None)
    of_levels = getattr(getattr(dtype, "categories", None), "dtype", None)
    kind = getattr(dtype if of_levels is None else of_levels, "kind", None)
    if kind in ("m", "M"):
        raise ValueError(f"X must hold numbers in {label}; it holds dates or times.")
    if kind == "c":
        raise ValueError(f"X must hold real numbers in {label}; it holds complex ones.")
    try:
        if hasattr(values, "isna"):
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        wanted = np.float32 if dtype == np.float32 else np.float64
        return np.asarray(values).astype(wanted, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X must hold numbers in {label}: {error}. Text is for categories, which "
            "categorical_features='from_dtype' finds, or a list there names."
        ) from error


def factor(values: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """Give the distinct values of a column, and the place of every row among them; -1: missing."""
    if hasattr(values, "factorize"):  # a column of a data frame
        rows, distinct = values.factorize()
        return distinct.tolist(), rows
    places: dict[Any, int] = {}
    found = [
        -1 if is_missing(value) else places.setdefault(value, len(places))
        for value in np.asarray(values).tolist()
    ]
    return list(places), np.array(found, dtype=np.intp)


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, pandas.NA, or not equal to itself, as NaN and NaT are."""
    if value is None or is_pandas_na(value):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # an array, for example
        return False
