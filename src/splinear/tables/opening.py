"""Opens X, whatever the user passes, as a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from splinear._lookup import closest
from splinear._types import AnyArray, Input
from splinear.tables.arrow import ArrowTable
from splinear.tables.csv import CsvFile
from splinear.tables.dense import ArrayTable
from splinear.tables.device import DeviceTable, is_on_device, to_cupy
from splinear.tables.files import ending, is_path
from splinear.tables.frame import FrameTable
from splinear.tables.libsvm import LibsvmFile
from splinear.tables.npy import NpyFiles, are_npy
from splinear.tables.parquet import ArrowDataset, ParquetFiles
from splinear.tables.sparse import SparseTable
from splinear.tables.table import Table
from splinear.tables.values import as_missing

__all__ = ["FORMATS", "open_files", "open_table", "open_target"]

# The class that opens a file, by the ending of its name in lower case. A new format is a subclass
# of Table and a line here.
FORMATS: dict[str, Callable[[Path], Table]] = {
    ".npy": NpyFiles,
    ".parquet": ParquetFiles,
    ".pq": ParquetFiles,
    ".csv": CsvFile,
    ".csv.gz": CsvFile,
    ".csv.bz2": CsvFile,
    ".tsv": CsvFile,
    ".svm": LibsvmFile,
    ".libsvm": LibsvmFile,
    ".svmlight": LibsvmFile,
    ".txt": LibsvmFile,
}

# Methods that collect a lazy frame, in Spark, Dask, DuckDB and polars.
_COLLECTING = ("toArrow", "compute", "arrow", "collect")


def open_table(X: Input, estimator: str | None = None) -> Table:
    """Return X as a table; raise an error that names the estimator if it is not 2-dimensional.

    What its columns hold is not checked yet. Data in memory is copied only if it must be converted.
    """
    table = open_files(X)
    if table is not None:
        return table
    if is_on_device(X):
        return DeviceTable(to_cupy(X))
    if nw.dependencies.is_into_dataframe(X):
        return FrameTable.of(X)
    if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        how = next((name for name in _COLLECTING if hasattr(X, name)), "collect")
        raise TypeError(f"X is a {type(X).__name__}, which has no rows yet; use X.{how}().")
    _refuse_dict(X)
    if nw.dependencies.is_into_series(X):
        raise ValueError(
            f"X must be a table, but is one column or row, a {type(X).__name__}. Expected 2D "
            "array, got 1D array instead: select a table, for example df[['age']] or df.iloc[[0]]."
        )
    if hasattr(X, "__arrow_c_stream__"):
        return FrameTable.of(nw.from_arrow(X, backend="pyarrow").to_native())
    X = _as_rows(X)
    of_objects = isinstance(X, np.ndarray) and X.dtype.kind in "OUSmM"
    if of_objects and X.ndim == 2:
        return FrameTable(list(X.T), None, X, len(X))
    checked = check_array(
        X,
        dtype=None if of_objects else "numeric",
        accept_sparse=("csr", "csc"),
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name="X",
        estimator=estimator,
    )
    if isinstance(checked, np.ndarray):
        return ArrayTable(checked)
    return SparseTable(checked)


def _refuse_dict(X: Input) -> None:
    if isinstance(X, Mapping) and not sparse.issparse(X):  # a matrix of SciPy may be a dict
        raise TypeError(
            f"X is a {type(X).__name__}, not a table; use pandas.DataFrame(X) if it has the values "
            "of each column, or pandas.DataFrame([X]) if it is one row."
        )


def open_files(X: Input) -> Table | None:
    """Open the files that X names, by their endings; None if X does not name files."""
    if isinstance(X, Table):
        return X
    if hasattr(X, "scanner") and hasattr(X, "count_rows"):
        return ArrowDataset(X)
    if is_path(X):
        path = Path(X)
        if path.is_dir():
            return ParquetFiles(path)
        if ending(path) in FORMATS:
            return FORMATS[ending(path)](path)
        raise ValueError(
            f"X is the text {str(X)!r}, which does not name a folder or a file that can be read: "
            f"endings may be {', '.join(FORMATS)}."
        )
    several = isinstance(X, (list, tuple)) and len(X) > 0 and all(map(is_path, X))
    endings = set(map(ending, X)) if several else set()
    if are_npy(X):
        return NpyFiles(X)
    return ParquetFiles(X) if endings and endings <= {".parquet", ".pq"} else None


def open_target(
    table: Table, y: Input, classes: Collection[object] | None = None
) -> tuple[Table, Input]:
    """Return the table without the target's column, and y, read from files if it names them.

    `classes` are those seen in fit, by whose type a CSV file is read; None in fit itself.
    """
    if table.given is not None:
        if isinstance(y, str):
            raise ValueError(_name_as_target(table, y))
        return table, y
    if table.shape[0] == 0:
        raise ValueError(f"There are no rows in {table}.")
    source = table
    if isinstance(y, str) and isinstance(table, ArrowTable):
        source = table.target_column(y, classes)
    target = source.target(y)
    if is_path(target):
        raise ValueError(
            f"y is the text {str(y)!r}, but there are no names of columns in {table}; y must be "
            "an array, or the names of .npy files."
        )
    if isinstance(y, str):
        table = table.without(y)
    if target is not None and hasattr(target, "__len__") and len(target) != table.shape[0]:
        raise ValueError(
            f"y has {len(target):,} entries, but there are {table.shape[0]:,} rows in {table}."
        )
    return table, target


def _name_as_target(table: Table, y: str) -> str:
    """Return the message for a name as y, which only files can look up."""
    if table.names is not None and y in table.names:
        return (
            f"y is the text {y!r}; for a table in memory y must hold the values: "
            f"fit(df.drop(columns={y!r}), df[{y!r}])."
        )
    meant = None if table.names is None else closest(y, table.names)
    guess = "" if meant is None else f" Did you mean the column {meant!r}: fit(..., df[{meant!r}])?"
    return f"y is the text {y!r}; for a table in memory y must hold one value per row.{guess}"


def _as_rows(X: Input) -> Input:
    """Return a list of rows as an array of numbers, or of objects if it contains text."""
    if isinstance(X, np.ma.MaskedArray):
        return _unmasked(X)
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return X
    try:
        array = np.asarray(X)
    except ValueError:
        return X  # ragged, which check_array reports
    return np.array(X, dtype=object) if array.dtype.kind in "US" else array


def _unmasked(X: np.ma.MaskedArray) -> AnyArray:
    """Return a masked array with NaN, or None among objects and text, where it is masked."""
    data, gone = X.data, np.ma.getmaskarray(X)
    if data.dtype.kind in "OUS":
        return as_missing(data, gone)
    if data.dtype.kind not in "fiub":
        return data  # for example dates, which raise an error later
    out = data.astype(data.dtype if data.dtype.kind == "f" else np.float64)
    out[gone] = np.nan
    return out
