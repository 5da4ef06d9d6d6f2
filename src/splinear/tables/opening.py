"""From what a user gives to a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from splinear.tables.files import is_path
from splinear.tables.libsvm import LibsvmFile
from splinear.tables.npy import NpyFiles, are_npy
from splinear.tables.parquet import ArrowDataset, ParquetFiles
from splinear.tables.reading import Source

__all__ = ["as_source", "open_table"]

PARQUET = (".parquet", ".pq")
LIBSVM = (".svm", ".libsvm", ".svmlight", ".txt")


def as_source(X: Any) -> Source | None:
    """Open the files that X names, by their endings; None if X is no name of files."""
    if isinstance(X, Source):
        return X
    if hasattr(X, "scanner") and hasattr(X, "count_rows"):
        return ArrowDataset(X)
    if are_npy(X):
        return NpyFiles(X)
    if is_path(X):
        path = Path(X)
        if path.is_dir() or path.suffix in PARQUET:
            return ParquetFiles(path)
        if path.suffix in LIBSVM:
            return LibsvmFile(path)
        raise ValueError(
            f"X is the text {str(X)!r}, which does not name a folder or a file that can be read: "
            f"endings may be .npy, {', '.join(PARQUET + LIBSVM)}."
        )
    several = isinstance(X, (list, tuple)) and len(X) > 0
    if several and all(is_path(path) and Path(path).suffix in PARQUET for path in X):
        return ParquetFiles(X)
    return None


def open_table(X: Any, y: Any = None) -> tuple[Any, Any]:
    """Open X if it names files, and take y from them where it is there; all else stays as it is."""
    source: Any = as_source(X)
    if source is None:
        return X, y
    if len(source) == 0:
        raise ValueError(f"There are no rows in {source}.")
    target = source.target(y)
    if is_path(target):
        raise ValueError(
            f"y is the text {str(y)!r}, but there are no names of columns in {source}; y must be "
            "an array, or the names of .npy files."
        )
    if isinstance(y, str) and hasattr(source, "without"):
        source = source.without(y)
    if target is not None and hasattr(target, "__len__") and len(target) != len(source):
        raise ValueError(
            f"y has {len(target):,} entries, but there are {len(source):,} rows in {source}."
        )
    return source, target
